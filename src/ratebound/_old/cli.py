"""The command line: what a command prints, and the exit status that every way to end has.

What a command needs is imported once the command is known.
"""

from __future__ import annotations

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
from importlib.util import find_spec
from typing import Any, NoReturn

from ratebound._old.arguments import BAD_INPUT, parser
from ratebound._old.base.layout import printable

FAILED, INTERRUPTED, CLOSED, TERMINATED = 3, 130, 141, 143
BAD_PATHS = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    try:
        with _tidy_termination(), _whole_output(), warnings.catch_warnings():
            words = sys.argv[1:] if arguments is None else arguments
            given = vars(parser(words).parse_args(words))
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
    call = _called(command)
    if command in ("train", "explain", "inspect"):
        from ratebound._old.commands.runs import read_run

        return int(call(read_run(given)))
    if command in ("convert", "release", "reproduce", "serve", "studio"):
        return int(call(**given))
    from ratebound._old.commands.runs import Use

    asked: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in given.items()}
    return int(call(Use(**asked)))


def _called(command: str) -> Any:
    """The function that a command runs."""
    if command == "studio":
        return import_module("ratebound._old.studio.server").studio
    if command != "reproduce":
        return getattr(import_module(f"ratebound._old.commands.{command}"), command)
    if find_spec("ratebound_experiments") is None:
        raise ImportError(
            "the paper's experiments are not part of the installed package: clone the repository and "
            "run `make demo`, or `pip install --editable '.[torch,dev]'` in it, and then this command"
        )
    return import_module("ratebound_experiments.reproduce").reproduce


def _note(message: Warning | str, *_: Any) -> None:
    """Print one notice, with each of several sentences on its own line."""
    said = str(message).splitlines()
    _say(f"note: {said[0]}" if len(said) == 1 else "\n  ".join(["note:", *said]))


def _say(words: str) -> None:
    with suppress(OSError):  # where it cannot be said, the exit status still is
        print(f"ratebound: {printable(words)}", file=sys.stderr, flush=True)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    said, _, shown = str(error).partition("\n\n")  # what comes after an empty line is shown as it is
    return (" ".join(said.split()) or type(error).__name__) + (f"\n\n{shown}" if shown else "")


if __name__ == "__main__":
    sys.exit(main())
