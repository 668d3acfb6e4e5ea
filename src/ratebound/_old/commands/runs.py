"""The request to a command: a `Run` by flags or a TOML file, or a `Use` of a saved model."""

from __future__ import annotations

import json
import math
import os
import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from ratebound._old.base.checks import nearest
from ratebound._old.base.choices import CONFIDENCE, FAIL_ON, MODELS
from ratebound._old.solution.files import NAME
from ratebound._old.tables.contents import STANDARD_INPUT
from ratebound._old.tables.texts import Reading


@dataclass(frozen=True)
class Run:
    """Everything that can be asked for; the names are the keys of a run file."""

    data: tuple[str, ...]  # paths or patterns, or "-"
    label: str | None = None  # only inspecting can do without it
    out: Path | None = None  # only training needs it
    positive: Any = None  # the label that means yes; if not given, the last in sorted order
    refer: str | None = None  # the name of the decision that refers a row to a person
    require: tuple[str, ...] = ()
    minimize: str | None = None  # error_rate(), if nothing is maximized either
    maximize: str | None = None
    model: str = "linear"
    features: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()  # columns of numbers that are codes of categories
    known: tuple[str, ...] | None = None  # the columns to set thresholds by
    weight: str | None = None
    groups: str | None = None  # the column that says which rows belong together
    population: dict[str, str] = field(default_factory=dict)  # others, named by on="..."
    drop_unlabelled: bool = False  # leave out rows without a label
    sep: str | None = None
    encoding: str | None = None
    header: bool | None = None
    on_disk: bool = False  # learn from a sample of rows that stay on disk
    confidence: float | None = CONFIDENCE  # that all constraints hold on new rows
    certify: float | None = None  # share of the rows to certify on
    holdout: float = 0.2
    holdout_by_label: bool = False  # the same rows for any constraints
    seed: int = 0
    max_time: float | None = None
    force: bool = False  # replace a model that is in `out` already
    fail_on: str = "broken"
    json: str | None = None  # a path, or "-"
    html: Path | None = None  # only inspecting writes it
    quiet: bool = False

    @property
    def reading(self) -> Reading:
        """How the files are to be read."""
        return Reading(self.sep, self.encoding, self.header)


Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_texts(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, list | tuple) and all(map(_is_text, value)))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_files(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _one_of(names: tuple[str, ...]) -> tuple[str, Check]:
    return "one of " + ", ".join(map(repr, names)), lambda value: value in names


KEYS: dict[str, tuple[str, Check]] = {  # the values of each, in words and as a check
    "data": ("a path, or a list of them", _is_texts),
    "label": ("a column's name", _is_text),
    "out": ("a path", _is_text),
    "positive": (
        "a text, a number or a truth value",
        lambda v: _is_text(v) or isinstance(v, int | float),
    ),
    "refer": ("the name of a referral", _is_text),
    "require": ("a constraint in quotes, or a list of them", _is_texts),
    "minimize": ("a rate, or what is made of rates, in quotes", _is_text),
    "maximize": ("a rate, or what is made of rates, in quotes", _is_text),
    "model": _one_of(MODELS),
    "features": ("a list of columns' names", _is_texts),
    "exclude": ("a list of columns' names", _is_texts),
    "categorical": ("a list of columns' names", _is_texts),
    "known": ("a list of columns' names", _is_texts),
    "weight": ("a column's name", _is_text),
    "groups": ("a column's name", _is_text),
    "population": ("a table of names and files, as in steering = 'experts.csv'", _is_files),
    "drop_unlabelled": ("true or false", _is_truth),
    "sep": ("one character, or 'tab'", _is_text),
    "encoding": ("the name of an encoding", _is_text),
    "header": ("true or false", _is_truth),
    "on_disk": ("true or false", _is_truth),
    "confidence": (
        "a probability between 0 and 1, or 'none'",
        lambda v: v == "none" or (_is_number(v) and 0 < v < 1),
    ),
    "certify": ("a share of the rows between 0 and 1", lambda v: _is_number(v) and 0 < v < 1),
    "holdout": ("a share of the rows, from 0 to below 1", lambda v: _is_number(v) and 0 <= v < 1),
    "holdout_by_label": ("true or false", _is_truth),
    "seed": ("a whole number from 0 on", lambda v: _is_whole(v) and 0 <= v < 2**32),
    "max_time": ("a number of seconds above 0", lambda v: _is_number(v) and v > 0),
    "force": ("true or false", _is_truth),
    "fail_on": _one_of(FAIL_ON),
    "json": ("a path, or '-'", _is_text),
    "html": ("a path", _is_text),
    "quiet": ("true or false", _is_truth),
}
LISTS = ("data", "require", "features", "exclude", "categorical", "known")
PATHS = ("out", "html")
NUMBERS = ("certify", "holdout", "max_time")


def read_run(flags: dict[str, Any]) -> Run:
    """The run that flags ask for; if `data` is a run file, from that file and the other flags."""
    for key, value in flags.items():
        _check(key, value, f"--{key.replace('_', '-')}")
    given = flags
    suffixes = {Path(path).suffix.lower() for path in flags["data"]}
    if suffixes & {".toml", ".yaml", ".yml"}:
        if len(flags["data"]) > 1:
            raise ValueError("a run file names its tables itself: give it alone")
        source = Path(flags["data"][0])
        given = _read_file(source) | {key: value for key, value in flags.items() if key != "data"}
        if "data" not in given:
            raise ValueError(f"{source} names no table: add data = 'table.csv'")
    return Run(**{key: _value(key, value) for key, value in given.items()})


def _read_file(source: Path) -> dict[str, Any]:
    """The keys of a run file, checked; its paths are relative to its own folder."""
    if not source.exists():
        raise FileNotFoundError(f"there is no file {source}")
    if source.suffix.lower() != ".toml":
        raise ValueError(
            f"{source} is YAML, and run files are TOML: write key = value, texts in quotes, in "
            f"{source.with_suffix('.toml').name}"
        )
    try:
        entries = tomllib.loads(source.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{source} is not TOML: {error}") from None
    given = {}
    for written, value in entries.items():
        key = written.replace("-", "_")
        if key not in KEYS:
            raise ValueError(f"{source}: unknown key {written!r}{nearest(written, KEYS)}")
        _check(key, value, f"{source}: key {written!r}")
        given[key] = _from_folder_of(source, key, value)
    return given


def _from_folder_of(source: Path, key: str, value: Any) -> Any:
    """Paths in a run file, relative to the file's folder."""

    def path(given: str) -> str:
        return given if given == STANDARD_INPUT else str(source.parent / given)

    if key == "population":
        return {name: path(given) for name, given in value.items()}
    if key == "data" and not isinstance(value, str):
        return [path(given) for given in value]
    return path(value) if key in ("data", "json", *PATHS) else value


def _check(key: str, value: Any, what: str) -> None:
    words, is_right = KEYS[key]
    if not is_right(value):
        raise ValueError(f"{what} takes {words}, got {value!r}")


def _value(key: str, value: Any) -> Any:
    if key in PATHS:
        return Path(value)
    if key in LISTS:
        return (value,) if isinstance(value, str) else tuple(value)
    if key == "confidence":
        return None if value == "none" else value
    if key in NUMBERS:  # a run file may have whole numbers here
        return float(value)
    return value


@dataclass(frozen=True)
class Use:
    """Everything that can be asked for; each command reads its own part."""

    data: tuple[str, ...]  # paths or patterns, or "-"
    model: Path | None = None  # None if there are decisions without a model
    decision: str | None = None  # the column of these decisions, or the condition that they meet
    require: tuple[str, ...] = ()  # the promises about them
    template: str | None = None  # the form of a report that others require
    by: tuple[str, ...] = ()  # columns of categories, for impact ratios
    score: str | None = None  # the column of scores, for impact ratios
    about: Path | None = None  # a TOML file with what people state about the model
    label: str | None = None
    positive: Any = None  # the label that means yes; if not given, the last in sorted order
    drop_unlabelled: bool = False  # leave out rows without a label
    weight: str | None = None
    key: str | None = None  # the column of ids
    clusters: str | None = None  # the column that says which rows were drawn together
    population: dict[str, str] = field(default_factory=dict)  # other tables, by name
    sep: str | None = None
    encoding: str | None = None
    header: bool | None = None
    on_disk: bool = False  # leave rows on disk, and read some at a time
    trusted: tuple[str, ...] = ()  # further types that the model may hold
    confidence: float | None = None
    in_expectation: bool = False
    save: bool = False  # save the certificate with the model
    state: Path | None = None  # the file of a monitor
    ledger: Path | None = None  # the file of a change plan that alarms are written to
    strata: tuple[str, ...] = ()  # groups are compared within each value of these columns
    decided: str | None = None  # the column that says when a row was decided
    wait: float | None = None  # days until labels are known
    now: str | None = None  # the present day; today by default
    month_of: str | None = None  # the column that says in which month a row is counted
    html: Path | None = None  # a page
    probability: bool = False  # also the label's probability
    decision_probability: bool = False
    reasons: bool = False  # also the parts of each score
    safe_csv: bool = False
    fail_on: str = "broken"
    out: Path | None = None
    json: str | None = None  # a path, or "-"
    quiet: bool = False

    @property
    def reading(self) -> Reading:
        """How the files are to be read."""
        return Reading(self.sep, self.encoding, self.header)

    @property
    def files(self) -> list[str | Path]:
        """All input files: tables, and the model's own file."""
        tables: list[str | Path] = [*self.data, *self.population.values()]
        if self.model is None:
            return tables
        return [*tables, self.model / NAME if self.model.is_dir() else self.model]

    @property
    def name(self) -> str:
        """The table's name, for headings."""
        return Path(self.data[0]).name + (
            f" and {len(self.data) - 1} more" if len(self.data) > 1 else ""
        )


WHERE = ("out", "json", "html", "quiet", "force")  # these do not change the answer


def as_command(name: str, request: Run | Use) -> str:
    """The command line that asks for this, without where to write the answer and how to show it.

    >>> as_command("train", Run(("people.csv",), label="income", require=("recall() >= 0.9",), seed=3))
    "ratebound train people.csv --label income --require 'recall() >= 0.9' --seed 3"
    """
    of_saved = isinstance(request, Use)
    words = [
        "ratebound",
        name,
        *([str(request.model)] if of_saved and request.model else []),
        *request.data,
    ]
    for each in fields(request):
        if each.name in ("data", *WHERE) or (each.name == "model" and of_saved):
            continue
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        value = getattr(request, each.name)
        if value != default:
            words += _flags(each.name, value)
    return shlex.join(words)


def _flags(key: str, value: Any) -> Iterator[str]:
    """A key as it is written on the command line."""
    flag = f"--{key.replace('_', '-')}"
    if isinstance(value, bool) and key != "positive":
        yield flag if value else f"--no-{key}"
    elif key == "require":
        for words in value:
            yield from (flag, words)
    elif isinstance(value, dict):
        for name, path in value.items():
            yield from (flag, f"{name}={path}")
    elif isinstance(value, tuple):
        yield from (flag, *value)
    elif str(value).startswith("-"):
        yield f"{flag}={value}"
    else:
        yield from (flag, "none" if value is None else str(value))


def as_run_file(run: Run, folder: Path) -> str:
    """The run file, to be written into `folder`, that asks for the same as `run`.

    Paths are relative to the folder if possible. Defaults are left out.

    >>> print(as_run_file(Run(("people.csv",), label="income", require=("recall() >= 0.9",)), Path()))
    data = ["people.csv"]
    label = "income"
    require = ["recall() >= 0.9"]
    <BLANKLINE>
    """
    lines = []
    for each in fields(run):
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        value = getattr(run, each.name)
        if value == default:
            continue
        if each.name in ("data", *PATHS):
            value = [_seen_from(folder, p) for p in value] if each.name == "data" else str(value)
        elif each.name == "population":
            value = {name: _seen_from(folder, path) for name, path in value.items()}
        lines.append(f"{each.name} = {_toml('none' if value is None else value)}\n")
    return "".join(lines)


def _seen_from(folder: Path, path: str) -> str:
    if path == STANDARD_INPUT:
        return path
    return Path(os.path.relpath(path, folder)).as_posix()


def _toml(value: Any) -> str:
    """A value in TOML, whose texts are JSON's except for one character."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(own)}" for key, own in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
