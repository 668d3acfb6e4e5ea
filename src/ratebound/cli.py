"""The command line: ``ratebound train``, ``audit``, ``certify``, ``monitor`` and the others.

Only the arguments are parsed here; what a command needs is imported once the command is known.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from ratebound.base.choices import CONFIDENCE, EXPERIMENTS, MODELS, PLAYERS, SOLUTIONS

BAD_INPUT, FAILED, INTERRUPTED, CLOSED, TERMINATED = 2, 3, 130, 141, 143
EXAMPLE = """example:
  ratebound train people.csv --label income --positive '>50K' --out model/ \\
      --require 'recall(sex == "Female") >= 0.95 * recall()'
  ratebound audit model/ new.csv --label income
  ratebound certify model/ unseen.csv --label income
  ratebound predict model/ new.csv --key id
  ratebound monitor model/ today.csv --label income --state state.json
  ratebound reproduce adult

exit status:
  0    every promise is kept (predict, reproduce: everything is written)
  1    some promise is broken (certify: not shown to hold; monitor: found to be broken; explain: no
       classifier could keep them all)
  2    bad usage or input
  3    failed otherwise: no space left, out of memory, a defect of ratebound
  130  interrupted: train has written the model so far, reproduce the games that had ended
  141  whoever read the output has closed it, as head does
  143  terminated"""
BAD_PATHS = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _NamedFile(argparse.Action):
    """Gathers flags ``NAME=FILE`` in a dictionary."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        name, _, path = values.partition("=")
        found = getattr(namespace, self.dest, {})
        if not path or name in found:
            parser.error(f"{option} takes NAME=FILE, each name once, as in steering=experts.csv")
        setattr(namespace, self.dest, {**found, name: path})


POPULATION: Any = {
    "action": _NamedFile,
    "metavar": "NAME=FILE",
    "help": 'another table, for promises with on="NAME"; may be repeated',
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    try:
        with _tidy_termination(), _whole_output(), warnings.catch_warnings():
            given = vars(_parser().parse_args(arguments))
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", RuntimeWarning)
            warnings.showwarning = _note  # type: ignore[assignment]  # it takes more than is said here
            return _run(given.pop("command"), given)
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has enough
        return CLOSED
    except UnicodeEncodeError as error:
        _say(f"the output cannot be written as {error.encoding}: set PYTHONIOENCODING=utf-8")
        return FAILED
    except (ValueError, TypeError, ImportError, FloatingPointError, *BAD_PATHS) as error:
        _say(_one_line(error))
        return BAD_INPUT
    except (OSError, MemoryError) as error:
        _say(_one_line(error))
        return FAILED
    except Exception:
        _say(f"{traceback.format_exc()}this is a defect of ratebound: please report it with these lines")
        return FAILED


@contextmanager
def _whole_output() -> Iterator[None]:
    """Write every byte that is printed, or raise an error before the command ends.

    If a disk is full or a reader gone, unbuffered Python (PYTHONUNBUFFERED) may write part of a text
    without noticing, and buffered Python notices only after the exit status was decided.
    """
    given = sys.stdout
    if given is None:
        raise OSError("the standard output is closed")
    if isinstance(getattr(given, "buffer", None), io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115  # it must not be closed
            given.fileno(), "w", 1, encoding=given.encoding, errors=given.errors, closefd=False
        )
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        except OSError as error:
            with open(os.devnull, "wb") as nowhere:  # or Python would try again on leaving
                os.dup2(nowhere.fileno(), given.fileno())
            error.filename = "standard output"
            raise
        finally:
            sys.stdout = given


@contextmanager
def _tidy_termination() -> Iterator[None]:
    """Let a command that is terminated remove what it has half written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: Any) -> NoReturn:
        sys.exit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(command: str, given: dict[str, Any]) -> int:
    call = getattr(import_module(f"ratebound.commands.{command}"), command)
    if command in ("train", "explain"):
        from ratebound.commands.runs import read_run

        return int(call(read_run(given)))
    return int(call(**given))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ratebound",
        description="Train classifiers to keep promises, and check whether they do.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_train(commands)
    _add_audit(commands)
    _add_certify(commands)
    _add_predict(commands)
    _add_monitor(commands)
    _add_explain(commands)
    _add_reproduce(commands)
    return parser


def _add_train(commands: Any) -> None:
    train = _command(
        commands, "train", "train a model on a table, audit it on held-out rows, and save it"
    )
    _add_problem(train)
    add = train.add_argument
    add("--out", metavar="FOLDER", help="where to write model.safetensors, report.html and audit.json")
    add("--holdout", type=float, metavar="SHARE", help="share of the rows to hold out (default 0.2)")
    add(
        "--confidence",
        type=_probability,
        metavar="P",
        help=f"how likely all promises should hold on new rows (default {CONFIDENCE}), or none",
    )
    add("--certify", type=float, metavar="SHARE", help="share of the rows to certify the promises on")
    add("--epochs", type=int, metavar="N", help="passes over the rows (40), or trees (100)")
    add("--max-time", type=float, metavar="SECONDS", help="stop training after this many seconds")
    add("--player", choices=PLAYERS, help="which algorithm sets the multipliers (default auto)")
    add("--solution", choices=SOLUTIONS, help="what to make of the iterates (default shrink)")
    add("--quiet", action="store_true", help="print one line at the end, and no progress")


def _probability(text: str) -> float | str:
    """A number, or a word that is checked with everything else that was asked for."""
    try:
        return float(text)
    except ValueError:
        return text


def _add_explain(commands: Any) -> None:
    _add_problem(_command(commands, "explain", "say whether promises can be kept, and at what price"))


def _add_problem(parser: argparse.ArgumentParser) -> None:
    """What training and explaining have in common."""
    add = parser.add_argument
    add("data", help="a CSV or Parquet table; or a TOML file whose keys are data and these flags")
    add("--label", metavar="COLUMN", help="the column to predict")
    add("--positive", metavar="VALUE", help="the label that means yes (default: the last one sorted)")
    add("--require", metavar="PROMISE", action="append", help="a promise to keep; may be repeated")
    add("--minimize", metavar="RATE", help="the objective, a sum of rates (default error_rate())")
    names: Any = {"nargs": "+", "action": "extend", "metavar": "COLUMN"}
    add("--features", **names, help="columns the model sees (default: all but the label)")
    add("--exclude", **names, help="columns the model must not see; promises may speak of them")
    add("--known", **names, help="columns known at prediction time, to set thresholds by")
    add("--model", choices=MODELS, help="what to train (default linear)")
    add("--weight", metavar="COLUMN", help="a column with the weight of each row")
    add("--population", **POPULATION)
    add("--seed", type=int, metavar="N", help="the seed of everything random (default 0)")


def _add_audit(commands: Any) -> None:
    audit = _command(commands, "audit", "check a saved model's promises on other rows")
    _add_model(audit)
    add = audit.add_argument
    add("--label", required=True, metavar="COLUMN", help="the column with the labels")
    add("--weight", metavar="COLUMN", help="a column with the weight of each row")
    add("--population", **POPULATION)
    add("--out", type=Path, metavar="FILE", help="write the report as a page")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON")


def _add_certify(commands: Any) -> None:
    certify = _command(
        commands,
        "certify",
        "show that a saved model's promises hold on new rows, on rows it has not seen",
    )
    _add_model(certify)
    add = certify.add_argument
    add("--label", required=True, metavar="COLUMN", help="the column with the labels")
    add("--confidence", type=float, metavar="P", help="how sure to be (default 0.95)")
    add("--weight", metavar="COLUMN", help="a column with the weight of each row")
    add("--population", **POPULATION)
    add("--in-expectation", action="store_true", help="of a mixture, what it does on average")
    add("--save", action="store_true", help="keep the certificate with the model")
    add("--json", type=Path, metavar="FILE", help="write the certificate as JSON")


def _add_predict(commands: Any) -> None:
    predict = _command(commands, "predict", "decide on new rows, the same row always the same way")
    _add_model(predict)
    add = predict.add_argument
    add("--key", metavar="COLUMN", help="ids; the same id is always decided by the same model")
    add("--out", type=Path, metavar="FILE", help="the CSV to write (default: standard output)")
    add("--probability", action="store_true", help="also write the probability of a yes")
    add(
        "--safe-csv",
        action=argparse.BooleanOptionalAction,
        help="put an apostrophe before texts that a spreadsheet would run as formulas (default on)",
    )


def _add_monitor(commands: Any) -> None:
    monitor = _command(commands, "monitor", "watch a saved model's promises on rows as they come")
    _add_model(monitor)
    add = monitor.add_argument
    add("--state", required=True, type=Path, metavar="FILE", help="what was seen so far; made if absent")
    add("--label", metavar="COLUMN", help="the column with the labels, if promises need them")
    add("--key", metavar="COLUMN", help="ids, as for predict")
    add("--confidence", type=float, metavar="P", help="that no alarm is false, ever (default 0.95)")
    add("--population", **POPULATION)


def _add_reproduce(commands: Any) -> None:
    reproduce = _command(commands, "reproduce", "run the paper's experiments, beside its tables")
    add = reproduce.add_argument
    add("name", help=f"{', '.join(EXPERIMENTS)}; or all of those whose files are found")
    add(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="where data files are that do not ship with the package",
    )
    add("--seeds", type=int, metavar="N", help="how many random splits to average over (default 1)")
    add("--json", type=Path, metavar="FILE", help="also write the tables as JSON")
    add("--out", type=Path, metavar="FOLDER", help="where to write everything (default reproduced)")
    add("--epochs", type=int, metavar="N", help="passes over the rows (default: each experiment's own)")
    add("--device", metavar="NAME", help="where PyTorch trains, such as cuda (default: the CPU)")
    add("--quiet", action="store_true", help="show no progress")


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the folder that train wrote, or its model file")
    parser.add_argument("data", type=Path, help="a CSV or Parquet table")


def _command(commands: Any, name: str, words: str) -> argparse.ArgumentParser:
    found: argparse.ArgumentParser = commands.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.",
        argument_default=argparse.SUPPRESS,
    )
    return found


def _note(message: Warning | str, *_: Any) -> None:
    _say(f"note: {message}")


def _say(words: str) -> None:
    with suppress(OSError):  # where it cannot be said, the exit status still is
        print(f"ratebound: {words}", file=sys.stderr, flush=True)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
