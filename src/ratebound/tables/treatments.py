"""What is done with each column of a table: the one place where that is decided.

`rb.inspect` shows these treatments, and fitting an encoding does as they say. The rules, in order: what
holds no value or no usable one is left out; dates, durations and numbers in texts are read; what never
varies is left out; texts are categories unless almost all differ; whole numbers that count the rows are
ids and left out. Columns that a user names are kept where anything can be made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from ratebound.base.dates import DateOrder, date_orders, read_dates
from ratebound.tables.amounts import CODE, are_alike, are_amounts, read_numbers
from ratebound.tables.columns import BEYOND, Name, name_from_json
from ratebound.tables.moments import read_durations
from ratebound.tables.tally import Tally, read_as

MOST = 100  # texts of a column that get a feature of their own
FEW = 20  # distinct texts that are categories even where no two rows share one
DIFFERING = 0.9  # share of distinct texts above which a column holds names or ids
COUNTING = 50  # whole numbers needed to say that they count the rows
DENSE = 0.25  # least share of their range that numbers which count rows fill, also in a part of the rows
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
class Treatment:
    """What a column holds and what is done with it, in words and as an action."""

    name: Name
    holds: str
    missing: int
    distinct: int
    action: Action
    words: str
    unusual: bool = False  # whether people should be told without asking


def treatment_to_json(treatment: Treatment) -> dict[str, Any]:
    name = list(treatment.name) if isinstance(treatment.name, tuple) else treatment.name
    return asdict(treatment) | {"name": name}


def treatment_from_json(entry: dict[str, Any]) -> Treatment:
    """A treatment as `treatment_to_json` wrote it, checked."""
    found = Treatment(**entry | {"name": name_from_json(entry["name"])})
    sound = [type(value) for value in (found.holds, found.words, found.unusual)] == [str, str, bool]
    counts = all(type(count) is int and count >= 0 for count in (found.missing, found.distinct))
    if not (sound and counts and found.action in get_args(Action)):
        raise ValueError(f"what was done with column {found.name!r} is not as it was saved")
    return found


@dataclass(frozen=True)
class Planned:
    """A treatment, and what is known of the column as it was read for it."""

    treatment: Treatment
    tally: Tally
    dates: DateOrder = "ymd"  # how dates that are texts are read


def planned(name: Name, tally: Tally, *, named: bool = False) -> Planned:
    """What is done with a column; `named` says that a user asked for it.

    >>> from ratebound.tables.kinds import read_cells
    >>> from ratebound.tables.tally import tally
    >>> planned("day", tally(read_cells(np.array(["31.1.2024", "1.2.2024"])))).treatment.words
    'read from texts, day first: days since 1970, month, weekday'
    """
    if tally.holds == "objects":
        words = "left out: it holds lists, bytes or other objects"
        return Planned(Treatment(name, "objects", tally.missing, 0, "left out", words, True), tally)
    found = Treatment(name, tally.holds, tally.missing, tally.distinct_count, "left out", "")
    if not tally.present:
        words = "left out: it holds no value"
        return Planned(replace(found, holds="nothing", words=words, unusual=True), tally)
    plan = Planned(found, tally) if tally.category else _read_texts(Planned(found, tally))
    if found.distinct == 1 and not found.missing and not named:
        return _left_out(plan, "it never varies")
    if plan.tally.texts is not None:
        return _as_category(plan, keep=named or tally.category)
    if plan.tally.holds == "numbers":
        return _as_number(plan, named)
    if plan.tally.holds == "durations":
        return _done(plan, "duration", "its days")
    parts = ["days since 1970", *plan.tally.parts[1:]]
    return _done(plan, "date", ", ".join(parts))


def as_it_is(name: Name, tally: Tally) -> Treatment:
    """The treatment of a column by a pipeline, which does with it what it likes."""
    distinct = 0 if tally.holds == "objects" else tally.distinct_count
    words = "passed to the pipeline as it is"
    return Treatment(name, tally.holds, tally.missing, distinct, "as it is", words)


def _read_texts(plan: Planned) -> Planned:
    """Texts that are all dates, durations or numbers, as such; all else as it is."""
    tally, found, texts = plan.tally, plan.treatment, plan.tally.texts
    if tally.holds != "texts" or texts is None:
        return plan
    orders = date_orders(texts)
    if len(orders) == 1:
        words = FROM_TEXTS[orders[0]]
        read = read_as("dates", read_dates(texts, orders[0]), tally)
        return Planned(replace(found, words=words, unusual=True), read, orders[0])
    if orders:
        words = "day and month cannot be told apart, so not read as dates (write 2024-01-31): "
        return replace(plan, treatment=replace(found, words=words, unusual=True))
    if (others := _as_durations(texts, tally)) is not None:  # as times of day in a file are given
        return Planned(replace(found, words="read as a duration: ", unusual=True), others)
    if (others := _as_numbers(texts, tally)) is not None:
        return Planned(replace(found, words=FROM_TEXTS["ymd"], unusual=True), others)
    return plan


def _as_durations(texts: Sequence[str], tally: Tally) -> Tally | None:
    for part in (texts[:20], texts):  # a few tell most columns apart
        durations = read_durations(part)
        if np.isnat(durations).any():
            return None
    return read_as("durations", durations, tally)


def _as_numbers(texts: Sequence[str], tally: Tally) -> Tally | None:
    many = len(texts) > MOST and not any(map(CODE.match, texts)) and are_alike(texts)
    if not many and not are_amounts(texts):
        return None
    numbers = read_numbers(texts)
    return None if np.isnan(numbers).any() else read_as("numbers", numbers, tally)


def _as_category(plan: Planned, keep: bool) -> Planned:
    found = plan.treatment
    if not keep and found.distinct > FEW:
        plan = _with_hint(plan)
        if found.distinct >= DIFFERING * plan.tally.present:
            return _left_out(plan, f"{plan.treatment.words}almost all values differ, as names or ids do")
        found = plan.treatment
    holds = "categories" if keep and found.holds == "texts" else found.holds
    plan = replace(plan, treatment=replace(found, holds=holds))
    if found.distinct > MOST:
        words = f"categories, the {MOST} most frequent, and one for all other values"
        return _done(plan, "category", words, unusual=True)
    if found.holds == "mixed":
        return _done(plan, "category", "mixed kinds, read as texts: categories", unusual=True)
    return _done(plan, "category", "categories")


def _with_hint(plan: Planned) -> Planned:
    """Say how to make a number of texts that mostly are numbers."""
    texts = plan.tally.texts
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
    tally, found = plan.tally, plan.treatment
    spread, present = tally.spreads["number"], tally.present
    if not spread.finite:
        words = f"refused: it holds infinite values, or some beyond {BEYOND:g}"
        return replace(plan, treatment=replace(found, action="refused", words=words, unusual=True))
    if not named and tally.all_differ and present > 2 and spread.whole:
        if NAMED_AS_ID.fullmatch(str(found.name)):
            return _left_out(plan, "an id, a different number in every row")
        dense = present >= COUNTING and present >= DENSE * (spread.highest - spread.lowest + 1)
        if dense and not tally.measured:  # measured as decimals, they are no ids
            return _left_out(plan, "it counts the rows, as an id does")
    hint = "" if named else _hint_of_name(str(found.name), spread.whole, tally.distinct_count)
    return _done(plan, "number", f"a number{hint}", unusual=bool(hint))


def _hint_of_name(name: str, whole: bool, distinct: int) -> str:
    """What to do where a name says that numbers are no measurements."""
    if NAMED_AS_WEIGHT.fullmatch(name):
        return (
            "; if it says how many rows each row stands for, give it as the weights and not as a feature"
        )
    if whole and distinct > 2 and NAMED_AS_CODE.fullmatch(name):
        return "; if its numbers are codes, name it among the categorical columns"
    return ""


def _left_out(plan: Planned, why: str) -> Planned:
    words = f"left out: {why}"
    return replace(plan, treatment=replace(plan.treatment, action="left out", words=words, unusual=True))


def _done(plan: Planned, action: Action, words: str, unusual: bool = False) -> Planned:
    found = plan.treatment
    unusual = unusual or found.unusual
    done = replace(found, action=action, words=found.words + words, unusual=unusual)
    return replace(plan, treatment=done)


def notice(treatments: Iterable[Treatment]) -> str | None:
    """What is unusual about the columns, in one sentence for all; None where nothing is."""
    told = summed_up([each for each in treatments if each.unusual])
    return f"columns {told}. rb.inspect(X) shows what is done with every column" if told else None


def summed_up(treatments: Iterable[Treatment]) -> str:
    """What is done with columns, said once for those that are treated alike."""
    said: dict[str, list[str]] = {}
    for each in treatments:
        said.setdefault(each.words, []).append(repr(each.name))
    return "; ".join(f"{_listed(names)}: {words}" for words, names in said.items())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
