"""A command's answer: words, JSON, one notice, progress, an exit status."""

from __future__ import annotations

import json as json_text
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ratebound._old.base.layout import printable
from ratebound._old.base.writing import write_whole
from ratebound._old.commands.folders import OUTPUT

if TYPE_CHECKING:
    from ratebound._old.auditing.report import Audit


IN_PYTHON = {  # remedies, and their names on the command line
    "rb.inspect(X)": "ratebound inspect",
    "pass clusters=np.arange(len(X))": "give --groups a column that tells them apart",
}


def tell(words: str, data: Any, json: str | None) -> None:
    """Print the words and write the data as JSON; only the JSON if it goes to the standard output."""
    if json is not None:
        write_json(data, json)
    if json != OUTPUT:
        print(printable(words))


def write_json(data: Any, target: str) -> None:
    """Write data as JSON to a file or to the standard output."""
    text = json_text.dumps(data, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if target == OUTPUT:
        write_data(text)
    else:
        write_whole(target, text.encode())


def write_data(text: str) -> None:
    """Write data to the standard output: unchanged to a program, as readable text to a terminal."""
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


def note(words: str) -> None:
    """Give a notice, or inside `one_notice` a part of it."""
    warnings.warn(words, RuntimeWarning, stacklevel=2)


@contextmanager
def one_notice() -> Iterator[None]:
    """Gather all warnings into one notice, given at the end; none if there is an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", RuntimeWarning)
        warnings.filterwarnings("always", category=UserWarning, module=r"ratebound\.|__main__")
        yield
    notices = list(dict.fromkeys(_for_command_line(str(warning.message)) for warning in caught))
    if notices:
        note("\n".join(notices))


def _for_command_line(words: str) -> str:
    for remedy, here in IN_PYTHON.items():
        words = words.replace(remedy, here)
    return words


def failing(report: Audit, feasible: bool, fail_on: str) -> bool:
    """Whether the command fails: by training alone, by a violated constraint, or by one not shown.

    A constraint that is violated on these rows, but not beyond its interval, may hold on new rows. If
    no constraint could be measured, nothing was checked.
    """
    if fail_on == "training":
        return not feasible
    verdicts = {promise.verdict for promise in report.promises}
    if fail_on == "uncertain":
        return not verdicts <= {"holds"}
    return "broken" in verdicts or verdicts == {"not measured"}
