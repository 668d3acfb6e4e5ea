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
from ratebound.base.types import Array
from ratebound.tables.amounts import CODE, are_amounts, read_numbers
from ratebound.tables.columns import BEYOND, Name, name_from_json
from ratebound.tables.kinds import Cells, as_texts, looked_up
from ratebound.tables.moments import parts_of, read_durations

MOST = 100  # texts of a column that get a feature of their own
FEW = 20  # distinct texts that are categories even where no two rows share one
DIFFERING = 0.9  # share of distinct texts above which a column holds names or ids
COUNTING = 50  # whole numbers needed to say that they count the rows
DENSE = 0.25  # least share of their range that numbers which count rows fill, also in a part of the rows
NAMED_AS_ID = re.compile(r"(?i:(.*[\W_])?(id|uuid|guid|index|idx)|unnamed: ?\d+)|.*[a-z]I[dD]")

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
    """A treatment, and the cells as they were read for it."""

    treatment: Treatment
    cells: Cells
    dates: DateOrder = "ymd"  # how dates that are texts are read


def planned(name: Name, cells: Cells, *, named: bool = False, categorical: bool = False) -> Planned:
    """What is done with a column; `named` says that a user asked for it, `categorical` as what.

    >>> from ratebound.tables.kinds import read_cells
    >>> planned("day", read_cells(np.array(["31.1.2024", "1.2.2024"]))).treatment.words
    'read from texts, day first: days since 1970, month, weekday'
    """
    missing = int(cells.missing.sum())
    if cells.holds == "objects":
        words = "left out: it holds lists, bytes or other objects"
        return Planned(Treatment(name, "objects", missing, 0, "left out", words, True), cells)
    distinct = _distinct(cells)
    found = Treatment(name, cells.holds, missing, distinct, "left out", "")
    if not distinct:
        words = "left out: it holds no value"
        return Planned(replace(found, holds="nothing", words=words, unusual=True), cells)
    declared = categorical or cells.category
    if declared:
        cells = as_texts(cells)
    plan = Planned(found, cells) if declared else _read_texts(Planned(found, cells))
    if distinct == 1 and not missing and not named:
        return _left_out(plan, "it never varies")
    if plan.cells.levels is not None:
        return _as_category(plan, keep=named or declared)
    if plan.cells.holds == "numbers":
        return _as_number(plan, named)
    if plan.cells.holds == "durations":
        return _done(plan, "duration", "its days")
    parts = ["days since 1970", *parts_of(plan.cells.values)[1:]]
    return _done(plan, "date", ", ".join(parts))


def as_it_is(name: Name, cells: Cells) -> Treatment:
    """The treatment of a column by a pipeline, which does with it what it likes."""
    distinct = 0 if cells.holds == "objects" else _distinct(cells)
    words = "passed to the pipeline as it is"
    return Treatment(name, cells.holds, int(cells.missing.sum()), distinct, "as it is", words)


def _distinct(cells: Cells) -> int:
    if cells.levels is None:
        return len(np.unique(cells.values[~cells.missing]))
    return int(np.count_nonzero(occurring(cells)))


def occurring(cells: Cells, weights: Array | None = None) -> Array:
    """How often each level occurs, each row counted with its weight."""
    assert cells.levels is not None
    present = cells.values >= 0
    weights = None if weights is None else weights[present]
    return np.bincount(cells.values[present], weights, minlength=len(cells.levels))


def _read_texts(plan: Planned) -> Planned:
    """Texts that are all dates, durations or numbers, as such; all else as it is."""
    cells, found = plan.cells, plan.treatment
    if cells.holds != "texts" or cells.levels is None:
        return plan
    places = np.flatnonzero(occurring(cells))
    texts = [cells.levels[place] for place in places]
    orders = date_orders(texts)
    if len(orders) == 1:
        words = FROM_TEXTS[orders[0]]
        read = looked_up("dates", read_dates(texts, orders[0]), places, cells)
        return Planned(replace(found, words=words, unusual=True), read, orders[0])
    if orders:
        words = "day and month cannot be told apart, so not read as dates (write 2024-01-31): "
        return replace(plan, treatment=replace(found, words=words, unusual=True))
    others = _as_durations(texts, places, cells) or _as_numbers(texts, places, cells)
    if others is None:
        return plan
    return Planned(replace(found, words=FROM_TEXTS["ymd"], unusual=True), others)


def _as_durations(texts: Sequence[str], places: Array, cells: Cells) -> Cells | None:
    for part in (texts[:20], texts):  # a few tell most columns apart
        durations = read_durations(part)
        if np.isnat(durations).any():
            return None
    return looked_up("durations", durations, places, cells)


def _as_numbers(texts: Sequence[str], places: Array, cells: Cells) -> Cells | None:
    many = len(texts) > MOST and not any(map(CODE.match, texts))
    if not many and not are_amounts(texts):
        return None
    numbers = read_numbers(texts)
    return None if np.isnan(numbers).any() else looked_up("numbers", numbers, places, cells)


def _as_category(plan: Planned, keep: bool) -> Planned:
    found = plan.treatment
    rows = int((plan.cells.values >= 0).sum())
    if not keep and found.distinct > FEW:
        plan = _with_hint(plan)
        if found.distinct >= DIFFERING * rows:
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
    assert plan.cells.levels is not None
    numbers = ~np.isnan(read_numbers(plan.cells.levels))
    if plan.treatment.holds != "texts" or 2 * numbers.sum() < len(numbers):
        return plan
    other = plan.cells.levels[int(np.flatnonzero(~numbers)[0])] if not numbers.all() else ""
    if not other:
        return plan
    words = f"mostly numbers, a number if cells such as {other!r} were empty: "
    return replace(plan, treatment=replace(plan.treatment, words=words, unusual=True))


def _as_number(plan: Planned, named: bool) -> Planned:
    values, found = plan.cells.values, plan.treatment
    present = values[~plan.cells.missing]
    if not (np.abs(present.astype(float)) <= BEYOND).all():
        words = f"refused: it holds infinite values, or some beyond {BEYOND:g}"
        return replace(plan, treatment=replace(found, action="refused", words=words, unusual=True))
    if not named and found.distinct == len(present) > 2 and (present == np.floor(present)).all():
        if NAMED_AS_ID.fullmatch(str(found.name)):
            return _left_out(plan, "an id, a different number in every row")
        span = float(present.max()) - float(present.min()) + 1
        dense = len(present) >= COUNTING and len(present) >= DENSE * span
        if dense and present.dtype.kind in "iu":  # measured as decimals, they are no ids
            return _left_out(plan, "it counts the rows, as an id does")
    return _done(plan, "number", "a number")


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
