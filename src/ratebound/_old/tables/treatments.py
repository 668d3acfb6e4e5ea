"""How each column of a table is treated: the one place that decides it.

`rb.inspect` shows these treatments, and fitting an encoding follows them. The rules, in order: a column
without usable values is left out; dates, durations and numbers in texts are read; a column that never
varies is left out; texts are categories unless almost all differ; whole numbers that count the rows are
ids and left out. Columns that a user names are kept if they hold anything usable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from ratebound._old.base.dates import DateOrder, date_orders, read_dates
from ratebound._old.base.layout import printable
from ratebound._old.base.parameters import Adjustable
from ratebound._old.tables.cells import CODE, are_alike, are_amounts, read_numbers
from ratebound._old.tables.column_statistics import ColumnStatistics, read_again_as
from ratebound._old.tables.columns import BEYOND, Name, name_from_json
from ratebound._old.tables.kinds import read_durations

MOST_CATEGORIES = 100  # texts of a column that get a feature of their own
FEW_TEXTS = 20  # up to this many distinct texts are categories even if no two rows share one
DIFFERING = 0.9  # with a larger share of distinct texts, a column holds names or ids
COUNTING = 50  # fewest whole numbers that can be said to count the rows
DENSE = 0.25  # numbers that count rows fill at least this share of their range, also in a sample of rows
NAMED_AS_ID = re.compile(r"(?i:(.*[\W_])?(id|uuid|guid|index|idx)|unnamed: ?\d+)|.*[a-z]I[dD]")
NAMED_AS_WEIGHT = re.compile(
    r"(?i:(.*[\W_])?(sample|instance|case|row|survey|person|final|fnl|per|hh|p)?(weights?|wgt|wt))"
)
NAMED_AS_CODE = re.compile(
    r"(?i:(.*[\W_])?([a-z]*codes?|zip\d?|plz|postal|fips|naics|sic|isco|icd\d*|msa|occupation|industry))"
)
FROM_TEXTS: dict[DateOrder, str] = {
    "ymd": "read from texts: ",
    "dmy": "read from texts, day first: ",
    "mdy": "read from texts, month first: ",
}
Action = Literal["number", "category", "date", "duration", "left out", "refused", "as it is"]


@dataclass(frozen=True)
class Features(Adjustable):
    """What a model may see of a table.

    Parameters
    ----------
    only : sequence of str or int, default=None
        The columns it may see. A column named here is used even if it looks like an id or never varies.
        By default all columns except such ones.
    exclude : sequence of str or int, default=()
        Columns it may not see; promises may still use them. By default none.
    categorical : sequence of str or int, default=()
        Columns that hold categories, even if these are numbers, such as postcodes. By default numbers
        are numbers and texts are categories.

    Examples
    --------
    >>> import pandas, ratebound._old as rb
    >>> people = pandas.DataFrame({"age": [20, 40, 30], "postcode": [101, 202, 101]})
    >>> print(rb.inspect(people, features=rb.Features(categorical=["postcode"])))
    the table: 3 rows
    <BLANKLINE>
    Column    Holds    Missing  Distinct  Examples    What is done
    ──────────────────────────────────────────────────────────────
    age       numbers        0         3  20, 40, 30  a number
    postcode  numbers        0         2  101, 202    categories
    """

    only: Sequence[Name] | None = None
    exclude: Sequence[Name] = ()
    categorical: Sequence[Name] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if isinstance(given, str) or not isinstance(given or (), Iterable):
                raise TypeError(f"{field.name} takes a list of columns, as in ['age'], got {given!r}")

    def chosen(self, columns: Sequence[Name]) -> list[Name]:
        """The columns of a table that the model may see.

        Parameters
        ----------
        columns : sequence of str or int
            The table's columns.

        Returns
        -------
        list
            Some of them, in order.

        Raises
        ------
        ValueError
            If a named column does not exist, or is in both `only` and `exclude`.
        """
        for name in (*(self.only or ()), *self.exclude, *self.categorical):
            if name not in columns:
                there = printable(", ".join(map(str, columns)), "")
                raise ValueError(f"features: there is no column {name!r}; the columns are {there}")
        excluded = list(self.exclude)
        both = [name for name in self.only or () if name in excluded]
        if both:
            raise ValueError(f"features: column {both[0]!r} is both in only= and in exclude=")
        return [name for name in (columns if self.only is None else self.only) if name not in excluded]


def as_features(given: Any) -> Features:
    """The `Features` for a parameter `features`: itself, a list of columns, or None for all columns."""
    if isinstance(given, Features):
        return given
    if isinstance(given, str) or not isinstance(given or (), Iterable):
        raise TypeError(
            f"features takes a list of columns, as in ['age'], or rb.Features(...), got {given!r}"
        )
    return Features(only=given)


@dataclass(frozen=True)
class Treatment:
    """What a column holds and what is done with it, in words and as an action."""

    name: Name
    holds: str
    missing: int
    distinct: int
    action: Action
    words: str
    unusual: bool = False  # whether a warning should mention it


def treatment_to_json(treatment: Treatment) -> dict[str, Any]:
    name = list(treatment.name) if isinstance(treatment.name, tuple) else treatment.name
    return asdict(treatment) | {"name": name}


def treatment_from_json(entry: dict[str, Any]) -> Treatment:
    """A treatment as `treatment_to_json` wrote it, checked."""
    treatment = Treatment(**entry | {"name": name_from_json(entry["name"])})
    sound = [type(value) for value in (treatment.holds, treatment.words, treatment.unusual)] == [
        str,
        str,
        bool,
    ]
    counts = all(type(count) is int and count >= 0 for count in (treatment.missing, treatment.distinct))
    if not (sound and counts and treatment.action in get_args(Action)):
        raise ValueError(f"the treatment of column {treatment.name!r} is not as it was saved")
    return treatment


@dataclass(frozen=True)
class Planned:
    """A treatment, and the statistics of the column as the treatment reads it."""

    treatment: Treatment
    known: ColumnStatistics
    dates: DateOrder = "ymd"  # how dates that are texts are read


def planned(name: Name, known: ColumnStatistics, *, named: bool = False) -> Planned:
    """How a column is treated; `named` means that a user named it.

    >>> from ratebound._old.tables.column_statistics import statistics_of
    >>> from ratebound._old.tables.kinds import read_cells
    >>> known = statistics_of(read_cells(np.array(["31.1.2024", "1.2.2024"])))
    >>> planned("day", known).treatment.words
    'read from texts, day first: days since 1970, month, weekday'
    """
    if known.holds == "objects":
        words = "left out: it holds lists, bytes or other objects"
        return Planned(Treatment(name, "objects", known.missing, 0, "left out", words, True), known)
    treatment = Treatment(name, known.holds, known.missing, known.distinct_count, "left out", "")
    if not known.present:
        words = "left out: it holds no value"
        return Planned(replace(treatment, holds="nothing", words=words, unusual=True), known)
    plan = Planned(treatment, known) if known.category else _read_texts(Planned(treatment, known))
    if treatment.distinct == 1 and not treatment.missing and not named:
        return _left_out(plan, "it never varies")
    if plan.known.texts is not None:
        return _as_category(plan, keep=named or known.category)
    if plan.known.holds == "numbers":
        return _as_number(plan, named)
    if plan.known.holds == "durations":
        return _done(plan, "duration", "its days")
    parts = ["days since 1970", *plan.known.parts[1:]]
    return _done(plan, "date", ", ".join(parts))


def as_it_is(name: Name, known: ColumnStatistics) -> Treatment:
    """The treatment of a column for a pipeline, which encodes it itself."""
    distinct = 0 if known.holds == "objects" else known.distinct_count
    words = "passed to the pipeline as it is"
    return Treatment(name, known.holds, known.missing, distinct, "as it is", words)


def _read_texts(plan: Planned) -> Planned:
    """Texts that are all dates, durations or numbers are read as such; others stay texts."""
    known, treatment, texts = plan.known, plan.treatment, plan.known.texts
    if known.holds != "texts" or texts is None:
        return plan
    orders = date_orders(texts)
    if len(orders) == 1:
        words = FROM_TEXTS[orders[0]]
        read = read_again_as("dates", read_dates(texts, orders[0]), known)
        return Planned(replace(treatment, words=words, unusual=True), read, orders[0])
    if orders:
        words = "day and month are ambiguous, so not read as dates (write 2024-01-31): "
        return replace(plan, treatment=replace(treatment, words=words, unusual=True))
    if (others := _as_durations(texts, known)) is not None:  # includes times of day
        return Planned(replace(treatment, words="read as a duration: ", unusual=True), others)
    if (others := _as_numbers(texts, known)) is not None:
        return Planned(replace(treatment, words=FROM_TEXTS["ymd"], unusual=True), others)
    return plan


def _as_durations(texts: Sequence[str], known: ColumnStatistics) -> ColumnStatistics | None:
    for part in (texts[:20], texts):  # the first few rule out most columns
        durations = read_durations(part)
        if np.isnat(durations).any():
            return None
    return read_again_as("durations", durations, known)


def _as_numbers(texts: Sequence[str], known: ColumnStatistics) -> ColumnStatistics | None:
    many = len(texts) > MOST_CATEGORIES and not any(map(CODE.match, texts)) and are_alike(texts)
    if not many and not are_amounts(texts):
        return None
    numbers = read_numbers(texts)
    return None if np.isnan(numbers).any() else read_again_as("numbers", numbers, known)


def _as_category(plan: Planned, keep: bool) -> Planned:
    treatment = plan.treatment
    if not keep and treatment.distinct > FEW_TEXTS:
        plan = _with_hint(plan)
        if treatment.distinct >= DIFFERING * plan.known.present:
            return _left_out(plan, f"{plan.treatment.words}almost all values differ, as names or ids do")
        treatment = plan.treatment
    holds = "categories" if keep and treatment.holds == "texts" else treatment.holds
    plan = replace(plan, treatment=replace(treatment, holds=holds))
    if treatment.distinct > MOST_CATEGORIES:
        words = f"categories, the {MOST_CATEGORIES} most frequent, and one for all other values"
        return _done(plan, "category", words, unusual=True)
    if treatment.holds == "mixed":
        return _done(plan, "category", "mixed kinds, read as texts: categories", unusual=True)
    words = differing_in_case(plan.known.texts or ())
    return _done(plan, "category", f"categories{words and '; ' + words}", unusual=bool(words))


def differing_in_case(texts: Iterable[str]) -> str:
    """A hint if values are the same but for upper and lower case; empty if none are.

    >>> differing_in_case(["Male", "F", "male"]), differing_in_case(["Male", "Female"])
    ("'Male' and 'male' differ only in case: write them alike if they mean the same", '')
    """
    seen: dict[str, str] = {}
    for text in texts:
        first = seen.setdefault(text.casefold(), text)
        if first != text:
            return f"{first!r} and {text!r} differ only in case: write them alike if they mean the same"
    return ""


def _with_hint(plan: Planned) -> Planned:
    """Say how to make a numeric column of texts that mostly are numbers."""
    texts = plan.known.texts
    assert texts is not None
    numbers = ~np.isnan(read_numbers(texts))
    if plan.treatment.holds != "texts" or 2 * numbers.sum() < len(numbers):
        return plan
    other = texts[int(np.flatnonzero(~numbers)[0])] if not numbers.all() else ""
    if not other:
        return plan
    words = f"mostly numbers, a number if cells such as {other!r} were empty: "
    return replace(plan, treatment=replace(plan.treatment, words=words, unusual=True))


def _as_number(plan: Planned, named: bool) -> Planned:
    known, treatment = plan.known, plan.treatment
    spread, present = known.spreads["number"], known.present
    if not spread.finite:
        words = f"refused: it holds infinite values, or values beyond {BEYOND:g}"
        return replace(plan, treatment=replace(treatment, action="refused", words=words, unusual=True))
    if not named and known.all_differ and present > 2 and spread.whole:
        if NAMED_AS_ID.fullmatch(str(treatment.name)):
            return _left_out(plan, "an id, a different number in every row")
        dense = present >= COUNTING and present >= DENSE * (spread.highest - spread.lowest + 1)
        if dense and not known.measured:  # numbers stored as decimals are not ids
            return _left_out(plan, "it counts the rows, as an id does")
    hint = "" if named else _hint_of_name(str(treatment.name), spread.whole, known.distinct_count)
    return _done(plan, "number", f"a number{hint}", unusual=bool(hint))


def _hint_of_name(name: str, whole: bool, distinct: int) -> str:
    """What to do if a column's name suggests that its numbers are not measurements."""
    if NAMED_AS_WEIGHT.fullmatch(name):
        return "; if it says how many rows each row stands for, give it as the weights, not as a feature"
    if whole and distinct > 2 and NAMED_AS_CODE.fullmatch(name):
        return "; if its numbers are codes, name it among the categorical columns"
    return ""


def _left_out(plan: Planned, why: str) -> Planned:
    words = f"left out: {why}"
    return replace(plan, treatment=replace(plan.treatment, action="left out", words=words, unusual=True))


def _done(plan: Planned, action: Action, words: str, unusual: bool = False) -> Planned:
    treatment = plan.treatment
    unusual = unusual or treatment.unusual
    done = replace(treatment, action=action, words=treatment.words + words, unusual=unusual)
    return replace(plan, treatment=done)


def notice(treatments: Iterable[Treatment]) -> str | None:
    """A sentence about all columns that are treated in an unusual way; None if no column is."""
    unusual = summed_up([each for each in treatments if each.unusual])
    return f"columns {unusual}. rb.inspect(X) shows what is done with every column" if unusual else None


def summed_up(treatments: Iterable[Treatment]) -> str:
    """The treatments of columns; columns with the same treatment are listed together."""
    said: dict[str, list[str]] = {}
    for each in treatments:
        said.setdefault(each.words, []).append(repr(each.name))
    return "; ".join(f"{_listed(names)}: {words}" for words, names in said.items())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
