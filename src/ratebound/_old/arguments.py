"""The arguments of the command line and their help; the commands themselves are in `commands`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ratebound import __version__
from ratebound._old.base.choices import (
    CONFIDENCE,
    EXPERIMENTS,
    FAIL_ON,
    MODELS,
    PLAYERS,
    PROXIES,
    SPENDING,
    TEMPLATES,
)
from ratebound._old.base.layout import printable

BAD_INPUT = 2
EXAMPLE = """example:
  ratebound inspect people.csv --label income
  ratebound train people.csv --label income --positive '>50K' --out model/ \\
      --require 'recall(sex == "Female") >= 0.95 * recall()'
  ratebound audit model/ new.csv --label income
  ratebound audit decisions.csv --decision approved --label repaid \\
      --require 'positive_rate(sex == "Female") >= 0.8 * positive_rate(sex == "Male")'
  ratebound certify model/ unseen.csv --label income
  ratebound predict model/ new.csv --key id
  ratebound serve model/ --key id
  ratebound monitor model/ today.csv --label income --state state.json
  ratebound release plan.ledger fresh.csv --label income --live v6/ --candidate new/ --out v7/
  ratebound studio people.csv
  ratebound convert rows.csv --out rows.parquet
  ratebound reproduce adult

exit status:
  0    no constraint is shown to be violated (predict, inspect, convert, reproduce: everything is
       written; serve: it was asked to stop)
  1    some constraint is shown to be violated (train: or training could not meet them all; certify: one
       is not shown to hold; release: refused; explain: no classifier could meet them all);
       --fail-on changes this
  2    bad usage or input
  3    another failure: no space left, out of memory, a bug in ratebound
  130  interrupted: train has written the best model so far, if any; reproduce, the games that had ended
  141  the reader of the output has closed it, as head does
  143  terminated"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments:") and any(
            sign in message for sign in (">=", "<=")
        ):
            message += ": give --require before each constraint"
        self.exit(BAD_INPUT, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


class _Interleaved(_Parser):
    """A command whose tables may be left out, and may stand after its flags."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, extras = super().parse_known_args(args, namespace)
        late = [each for each in extras if not each.startswith("-")]
        if late:
            known.data = [*getattr(known, "data", []), *late]
        return known, [each for each in extras if each not in late]


class _NamedFile(argparse.Action):
    """Gathers flags ``NAME=FILE`` in a dictionary."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        name, _, path = values.partition("=")
        earlier = getattr(namespace, self.dest, {})
        if not path or name in earlier:
            parser.error(f"{option} takes NAME=FILE, each name once, as in steering=experts.csv")
        setattr(namespace, self.dest, {**earlier, name: path})


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of the command line. Flags that are not given are absent from its result.

    If `words` contain ``--decision``, the commands take no model.
    """
    with_model = not any(word.partition("=")[0] == "--decision" for word in words)
    whole = _Parser(
        prog="ratebound",
        description="Train classifiers that meet constraints on their rates, and test whether they do.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"ratebound {__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="command")
    _add_inspect(commands)
    _add_train(commands)
    _add_audit(commands, with_model)
    _add_certify(commands, with_model)
    _add_predict(commands)
    _add_serve(commands)
    _add_monitor(commands, with_model)
    _add_release(commands)
    _add_explain(commands)
    _add_studio(commands)
    _add_convert(commands)
    _add_reproduce(commands)
    return whole


def _add_inspect(commands: Any) -> None:
    inspect = _command(commands, "inspect", "show how training would treat each column of a table")
    _add_table(inspect)
    inspect.add_argument("--html", metavar="FILE", help="also write it as a page")


def _add_train(commands: Any) -> None:
    train = _command(
        commands, "train", "train a model on a table, audit it on held-out rows, and save it"
    )
    _add_problem(train)
    add = train.add_argument
    add("--out", metavar="FOLDER", help="where to write model.safetensors, report.html and audit.json")
    add("--holdout", type=float, metavar="SHARE", help="share of the rows to hold out (default 0.2)")
    add(
        "--holdout-by-label",
        action="store_true",
        help="hold out the same rows for any constraints: by label alone, not of every group",
    )
    add(
        "--confidence",
        type=_probability,
        metavar="P",
        help=f"confidence that all constraints hold on new rows (default {CONFIDENCE}), or none",
    )
    add(
        "--groups",
        metavar="COLUMN",
        help="which rows were drawn together, such as one customer's (default: each row alone)",
    )
    add("--certify", type=float, metavar="SHARE", help="share of the rows to certify the model on")
    add(
        "--max-time",
        type=float,
        metavar="SECONDS",
        help="search for no better rule after this many seconds; models are trained in any case",
    )
    add("--force", action="store_true", help="replace the model in that folder, if there is one")
    _add_fail_on(train)


def _probability(text: str) -> float | str:
    """A number, or a word that is checked later with the other arguments."""
    try:
        return float(text)
    except ValueError:
        return text


def _add_explain(commands: Any) -> None:
    _add_problem(_command(commands, "explain", "say whether constraints can be met, and what they cost"))


def _add_problem(command: argparse.ArgumentParser) -> None:
    """What training and explaining have in common."""
    _add_table(command)
    add = command.add_argument
    add("--require", metavar="CONSTRAINT", action="append", help="a constraint; may be repeated")
    add("--minimize", metavar="RATE", help="the objective, such as error_rate(), the default")
    add("--maximize", metavar="RATE", help="an objective to maximize instead, such as f_score()")
    add("--model", choices=MODELS, help="what to train (default linear)")
    add("--known", **COLUMNS, help="columns known at prediction time, to set thresholds by")
    add("--population", **POPULATION)
    add("--seed", type=int, metavar="N", help="the seed of everything random (default 0)")


def _add_table(command: argparse.ArgumentParser) -> None:
    """The table to train on, and the columns that the model sees."""
    add = command.add_argument
    add("data", nargs="+", help=f"{TABLES}; or a TOML file whose keys are data and these flags")
    add("--label", metavar="COLUMN", help="the column to predict")
    add("--positive", metavar="VALUE", help="the one of two labels that means yes (default: the last)")
    add("--refer", metavar="NAME", help="the name of the decision that refers a row to a person")
    add("--drop-unlabelled", action="store_true", help="leave out rows without a label")
    add("--features", **COLUMNS, help="columns the model sees (default: all but the label)")
    add("--exclude", **COLUMNS, help="columns the model must not see; constraints may name them")
    add("--categorical", **COLUMNS, help="columns whose numbers are codes of categories")
    add("--weight", metavar="COLUMN", help="a column with the weight of each row")
    _add_reading(command)


def _add_audit(commands: Any, with_model: bool) -> None:
    audit = _command(
        commands, "audit", "check promises on rows, for a saved model or for decisions that were made"
    )
    _add_model(audit, with_model)
    _add_decision(audit)
    _add_labels(audit)
    add = audit.add_argument
    add("--out", type=Path, metavar="FILE", help="write the report as a page, or .md as Markdown")
    add(
        "--clusters",
        metavar="COLUMN",
        help="which rows were drawn together, such as one customer's (default: each row alone)",
    )
    add(
        "--template",
        choices=TEMPLATES,
        help="a standard form in place of the report: impact ratios of New York's Local Law "
        "144 or of lenders, the headings of Annex IV of the EU AI Act, or a model card",
    )
    add("--by", **COLUMNS, help="ll144, lending: columns of the categories (default: found by name)")
    add("--score", metavar="COLUMN", help="ll144, lending: a column of scores to measure too")
    add(
        "--about",
        type=Path,
        metavar="FILE",
        help="annex-iv, model-card: TOML with owner, intended_use, version, sign_off, expires, ...",
    )
    add("--key", metavar="COLUMN", help="ids, as for predict: the same decisions are counted")
    _add_fail_on(audit)


def _add_certify(commands: Any, with_model: bool) -> None:
    certify = _command(
        commands,
        "certify",
        "show that promises hold on new rows, by a saved model's unseen rows, or by decisions",
    )
    _add_model(certify, with_model)
    _add_decision(certify)
    _add_labels(certify)
    add = certify.add_argument
    add("--confidence", type=float, metavar="P", help="the confidence (default 0.95)")
    add("--in-expectation", action="store_true", help="certify a mixture's average, not its draw")
    add("--key", metavar="COLUMN", help="ids, as for predict: the same decisions are counted")
    add("--save", action="store_true", help="keep the certificate with the model")


def _add_predict(commands: Any) -> None:
    predict = _command(commands, "predict", "decide on new rows, the same row always the same way")
    _add_model(predict)
    add = predict.add_argument
    add("--key", metavar="COLUMN", help="ids; the same id is always decided by the same model")
    add("--out", type=Path, metavar="FILE", help="the CSV to write (default: standard output)")
    add(
        "--probability",
        action="store_true",
        help="also write the probability of each label, or only of yes if there are two",
    )
    add("--decision-probability", action="store_true", help="also write the decision's probability")
    add(
        "--reasons",
        action="store_true",
        help="also write what the label and each promise add to a score, and for each no, the columns "
        "that count most against a yes",
    )
    add(
        "--safe-csv",
        action=argparse.BooleanOptionalAction,
        help="put an apostrophe before texts, including ids, that a spreadsheet would run as formulas",
    )


def _add_serve(commands: Any) -> None:
    words = "decide on rows that are sent as JSON over HTTP: POST /decide, GET /health"
    serve = _command(commands, "serve", words, json=False)
    add = serve.add_argument
    add("model", type=Path, help="the folder that train wrote, or its model file")
    add("--host", metavar="ADDRESS", help="where to listen (default 127.0.0.1, this machine only)")
    add("--port", type=int, metavar="N", help="the port, or 0 for any free port (default 8000)")
    add("--key", metavar="NAME", help="ids, as for predict: each row must have one")
    add("--max-bytes", type=int, metavar="N", help="the largest request (default 1048576)")
    add("--trusted", nargs="+", action="extend", metavar="TYPE", help="types the model may contain")


def _add_monitor(commands: Any, with_model: bool) -> None:
    monitor = _command(
        commands,
        "monitor",
        "watch promises on rows as they arrive, for a saved model or for decisions that were made",
    )
    _add_model(monitor, with_model)
    _add_decision(monitor)
    add = monitor.add_argument
    add("--state", required=True, type=Path, metavar="FILE", help="the state so far; created if absent")
    add("--label", metavar="COLUMN", help="the column with the labels, if promises need them")
    add("--drop-unlabelled", action="store_true", help="leave out rows without a label")
    add("--key", metavar="COLUMN", help="ids, as for predict; with --decided, to match labels")
    add("--confidence", type=float, metavar="P", help="that no alarm is ever false (default 0.95)")
    add("--html", type=Path, metavar="FILE", help="write a page: rates, evidence and drift by month")
    add("--month-of", metavar="COLUMN", help="the month of a row (default: by --decided, or --now)")
    add("--strata", **COLUMNS, help="compare groups within each value of these columns, such as a site")
    add("--decided", metavar="COLUMN", help="when each row was decided; rows are taken in that order")
    add("--wait", type=float, metavar="DAYS", help="days until a row's label is known")
    add("--ledger", type=Path, metavar="FILE", help="a change plan's ledger, to write alarms to")
    add("--now", metavar="DATE", help="the current day, or number if --decided holds numbers (today)")
    add("--population", **POPULATION)


def _add_release(commands: Any) -> None:
    release = _command(
        commands,
        "release",
        "test a candidate under a change plan, on fresh rows; without one, show the plan",
    )
    release.__class__ = _Interleaved
    add = release.add_argument
    add("ledger", type=Path, help="the file with the plan and the record of every test; made if absent")
    add("data", nargs="*", help=TABLES)
    add("--candidate", type=Path, metavar="MODEL", help="the model that may come into use")
    add(
        "--live", type=Path, metavar="MODEL", help="the one in use (default: a column live, or none yet)"
    )
    add("--label", metavar="COLUMN", help="the column with the labels")
    add("--drop-unlabelled", action="store_true", help="leave out rows without a label")
    add("--version", metavar="NAME", help="what the release is called, such as v7")
    add("--out", type=Path, metavar="FOLDER", help="where to write the model, if it is released")
    add("--html", type=Path, metavar="FILE", help="write the plan and its record as a page")
    add(
        "--require",
        metavar="PROMISE",
        action="append",
        help="of a new plan: what every release must keep; may be repeated",
    )
    add("--error", type=float, metavar="P", help="of a new plan: that any release is wrong (0.05)")
    add("--releases", type=int, metavar="N", help="of a new plan: how many are tested (default 12)")
    add("--spending", choices=SPENDING, help="of a new plan: how the error is shared (default equal)")
    add("--key", metavar="COLUMN", help="of a new plan: ids, by which rows are known again")
    add("--plan", type=Path, metavar="FILE", help="a TOML file with these keys, in their place")
    add("--trusted", nargs="+", action="extend", metavar="TYPE", help="types the models may be built of")
    _add_reading(release)


def _add_studio(commands: Any) -> None:
    studio = commands.add_parser(
        "studio",
        help="open a page on this machine: from a table to a signed report, without code",
        description="Open a page on this machine: from a table to a signed report, without code.",
        argument_default=argparse.SUPPRESS,
    )
    add = studio.add_argument
    add("data", help="a table, as for train, or the folder of a model")
    add("--out", type=Path, metavar="FOLDER", help="where a signed model goes (default: TABLE-model)")
    add("--port", type=int, metavar="N", help="the port to listen on (default: any that is free)")
    add("--no-browser", dest="browser", action="store_false", help="only print the address")


def _add_convert(commands: Any) -> None:
    convert = _command(commands, "convert", "write CSVs as Parquet, for tables larger than memory")
    add = convert.add_argument
    add("data", nargs="+", help="CSV files, compressed or not; a pattern in quotes; or -")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="one file for all (default: one beside each, as rows.csv.parquet, unless it exists)",
    )
    _add_reading(convert)


def _add_reproduce(commands: Any) -> None:
    reproduce = _command(commands, "reproduce", "run the paper's experiments, compared with its tables")
    add = reproduce.add_argument
    add("name", help=f"{', '.join(EXPERIMENTS)}; or all, for each whose files are present")
    add(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="the folder of data files that do not ship with the package",
    )
    add("--seeds", type=int, metavar="N", help="how many random splits to average over (default 1)")
    add("--out", type=Path, metavar="FOLDER", help="where to write everything (default reproduced)")
    add("--epochs", type=int, metavar="N", help="passes over the rows (default: each experiment's own)")
    add("--device", metavar="NAME", help="where PyTorch trains, such as cuda (default: the CPU)")
    own = "(default: each experiment's own)"
    add(
        "--proxy",
        choices=PROXIES,
        help=f"what swap and external descend in place of each rate {own}; lagrangian, the paper's "
        "baseline, always uses the hinge",
    )
    add("--loss", choices=PROXIES, help=f"what stands in for errors in the objective {own}")
    add(
        "--player",
        nargs="+",
        action="extend",
        choices=PLAYERS[1:],
        help="the players in the table, beside the rows without constraints (default: all)",
    )
    add(
        "--rates",
        nargs="+",
        action="extend",
        type=_pair_of_rates,
        metavar="MODEL/MULTIPLIERS",
        help="the only learning rates to try, written as the table shows them: 0.01/0.1 (default: the "
        "experiment's grid)",
    )


def _pair_of_rates(given: str) -> tuple[float, float]:
    """Two learning rates.

    >>> _pair_of_rates("0.01/1")
    (0.01, 1.0)
    """
    try:
        model, multipliers = map(float, given.split("/"))
    except ValueError:
        model = multipliers = math.nan
    if not all(0 < rate < math.inf for rate in (model, multipliers)):
        raise argparse.ArgumentTypeError(
            f"{given!r} is not a pair of learning rates above 0, as in 0.01/0.1: the model's rate, then "
            "the multipliers'"
        )
    return model, multipliers


# --- what several commands have in common --------------------------------------------------------

TABLES = (
    "CSV, Parquet or Arrow files, compressed or not; a pattern in quotes; a folder of Parquet files; or "
    "- for the standard input"
)
COLUMNS: Any = {"nargs": "+", "action": "extend", "metavar": "COLUMN"}  # a b, or a,b
POPULATION: Any = {
    "action": _NamedFile,
    "metavar": "NAME=FILE",
    "help": 'another table, for constraints with on="NAME"; may be repeated',
}


def _add_model(command: argparse.ArgumentParser, with_model: bool = True) -> None:
    add = command.add_argument
    if with_model:
        add("model", type=Path, help="the folder that train wrote, or its model file")
    add("data", nargs="+", help=TABLES)
    add("--trusted", nargs="+", action="extend", metavar="TYPE", help="types the model may contain")
    _add_reading(command)


def _add_decision(command: argparse.ArgumentParser) -> None:
    """The flags for decisions that someone made, instead of a model."""
    add = command.add_argument
    add(
        "--decision",
        metavar="COLUMN",
        help="without a model: the column of the decisions that were made, or a condition such as "
        "'status == \"approved\"'; then give only the tables, not a model",
    )
    add("--require", metavar="PROMISE", action="append", help="with --decision: a promise about them")
    add("--positive", metavar="VALUE", help="with --decision: the one of two labels that means yes")


def _add_labels(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    words = "the column with the labels; with --decision, only if promises need them"
    add("--label", metavar="COLUMN", help=words)
    add("--drop-unlabelled", action="store_true", help="leave out rows without a label")
    add("--weight", metavar="COLUMN", help="a column with the weight of each row")
    add("--population", **POPULATION)


def _add_reading(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--sep", metavar="CHARACTER", help="the separator, such as ; or tab (default: detected)")
    add("--encoding", metavar="NAME", help="the text encoding, such as cp1252 (default: detected)")
    add(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line names the columns (default: it must look like that)",
    )
    add(
        "--on-disk",
        action="store_true",
        help="keep rows on disk and read them in parts (always, if Parquet is too large for memory)",
    )


def _add_fail_on(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        help="when to exit with 1: if a constraint is shown to be violated (default), also if one is "
        "not shown to hold, or only if training could not meet them all",
    )


def _command(commands: Any, name: str, words: str, *, json: bool = True) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.",
        argument_default=argparse.SUPPRESS,
    )
    add = added.add_argument
    if json:
        add(
            "--json",
            nargs="?",
            const="-",
            metavar="FILE",
            help="also write the answer as JSON; without a file, or with -, print only the JSON",
        )
    add("--quiet", action="store_true", help="show no progress; train: print one line at the end")
    return added
