"""Which rows are possible, from the conditions of a promise and the rows at hand.

Two groups are disjoint, or one lies inside the other, because their conditions leave no other row, never
because a sample happens to look so. So every combination of truth values that the conditions allow is
drawn up: a row holds one value of a column, passes a low threshold if it passes a high one, has one
label, and is decided as one class. What the conditions leave open is taken to be possible.

What a condition means is decided by the column and not by its letters: `"2024-10-1"` comes after
`"2024-2-1"` among dates and before it among texts. So values are ordered as the column reads them, by
every order that it might have if no column is given, and each combination that a row has is possible.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ratebound.auditing.tally import Lines, at_of
from ratebound.base.dates import DateOrder, read_dates
from ratebound.base.types import Array
from ratebound.problem.masks import patterns
from ratebound.problem.values import Comparable
from ratebound.rates.kinds import Classes, atoms
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import Compare, In, Missing, Name, Subset, Value, holds, leaves

MOST = 200_000  # combinations; where the words allow more, nothing is concluded from them
ORDERS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


Answer = tuple[float | str, Value | None]  # a threshold, and the class that is decided there
Said = dict[object, bool]  # what holds of one row
DATES: tuple[DateOrder, ...] = ("ymd", "dmy", "mdy")


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Every kind of row: whether it meets each condition, and what is decided at each threshold."""

    classes: Classes
    conditions: dict[Subset, Array]  # (kinds,) bool
    decisions: dict[Answer, Array]  # (kinds,) bool, whether it is given

    def __len__(self) -> int:
        return len(next(iter(self.decisions.values())))

    def inside(self, subset: Subset) -> Array:
        """Which kinds of row are in a subset, (kinds,) bool."""
        held = holds(subset, self.conditions.__getitem__)
        return np.broadcast_to(np.asarray(held, dtype=bool), (len(self),))

    def chance(self, at: float | str, of: Value | None) -> Array:
        """Which kinds of row are decided as a class at a threshold, (kinds,)."""
        return self.decisions[at, of].astype(float)

    def amounts(self, column: Name) -> Array:
        """What errors cost by a column is not known from the words."""
        raise ValueError(f"column {column!r} may hold any amount")


def row_kinds(rates: Sequence[Rate], classes: Classes, lines: Lines | None = None) -> RowKinds | None:
    """The kinds of row that `rates`, of one population, can tell apart; None if they are too many.

    Without the `lines` of its rows, it is not known how columns read what conditions name.

    >>> from ratebound import recall
    >>> female, male = recall(sex="Female").rates + recall(sex="Male").rates
    >>> kinds = row_kinds([female, male], (False, True))
    >>> both = female.subset & male.subset
    >>> bool(kinds.inside(both).any())
    False
    """
    counted = [(rate, atom) for rate in rates for atom in atoms(rate, classes)]
    sets = (subset for _, atom in counted for subset in (atom.given, atom.over) if subset is not None)
    conditions = list(dict.fromkeys(leaf for subset in sets for leaf in leaves(subset)))
    columns: dict[Name, list[Compare | In | Missing]] = {}
    said: dict[object, list[Subset]] = {}  # by labels, and by each existing model
    for condition in conditions:
        if isinstance(condition, Compare | In | Missing):
            columns.setdefault(condition.column, []).append(condition)
        else:
            said.setdefault(getattr(condition, "versus", None), []).append(condition)
    answers = list(dict.fromkeys((at_of(rate), atom.of) for rate, atom in counted))
    axes = [_values(each, lines) for each in columns.values()]
    axes += [_one_of(each, len(classes)) for each in said.values()]
    axes += _decided(answers, len(classes))
    if float(np.prod([float(len(axis)) for axis in axes])) > MOST:
        return None
    rows = list(product(*axes))
    truth = {key: np.array([part[key] for part in parts]) for parts in zip(*rows, strict=True)
             for key in parts[0]}  # fmt: skip
    return RowKinds(
        classes,
        {condition: truth[condition] for condition in conditions},
        {answer: truth[answer] for answer in answers},
    )


def _decided(answers: Sequence[Answer], classes: int) -> list[list[Said]]:
    """What may be decided of one row; of several classes, at each threshold by itself."""
    if classes == 2:
        return [_thresholds(answers)]
    by_threshold: dict[float | str, list[Answer]] = {}
    for answer in answers:
        by_threshold.setdefault(answer[0], []).append(answer)
    return [_one_of(each, classes) for each in by_threshold.values()]


def _one_of(keys: Sequence[Any], classes: int) -> list[Said]:
    """What may be said of one row: each key that it has one class, of which at most one is true.

    >>> _one_of(["cat", "dog"], 2)
    [{'cat': True, 'dog': False}, {'cat': False, 'dog': True}]
    """
    chosen = [*([None] if len(keys) < classes else []), *keys]
    return [{key: key == one for key in keys} for one in chosen]


def _values(conditions: Sequence[Compare | In | Missing], rows: Lines | None) -> list[Said]:
    """What the conditions on one column say of each value it may hold, and of a missing one."""
    compared = [c for c in conditions if not isinstance(c, Missing)]
    named = list({v: None for c in compared for v in (c.values if isinstance(c, In) else (c.value,))})
    in_order = any(isinstance(c, Compare) and c.relation not in ("==", "!=") for c in compared)
    if rows is None:
        readings, seen = _readings(named), []
    else:
        readings = [{value: rows.read(conditions[0].column, value, in_order) for value in named}]
        masks = [rows.inside(condition) for condition in conditions]
        seen = [
            {condition: bool(mask[row]) for condition, mask in zip(conditions, masks, strict=True)}
            for row in patterns(masks, len(rows))[0]
        ]
    found = [kind for reading in readings for kind in _placed(conditions, reading, in_order)]
    lacking: Said = {
        c: isinstance(c, Missing) or (isinstance(c, Compare) and c.relation == "!=") for c in conditions
    }
    return _once([*found, lacking, *seen])


def _placed(
    conditions: Sequence[Compare | In | Missing], read: dict[Value, Comparable], in_order: bool
) -> list[Said]:
    """What the conditions say of each value that is not missing, if named ones are read so.

    Values are told apart by their place in the order: at one that is named, or between two of them.
    """
    ordered = sorted(set(read.values()), key=lambda value: (isinstance(value, str), value))
    place = {value: 2 * index + 1 for index, value in enumerate(ordered)}

    def said(condition: Compare | In | Missing, at: int) -> bool:
        if isinstance(condition, Missing):
            return False
        if isinstance(condition, In):
            return any(place[read[value]] == at for value in condition.values)
        return bool(ORDERS[condition.relation](at, place[read[condition.value]]))

    places = range(2 * len(ordered) + 1) if in_order else [0, *place.values()]
    return [{c: said(c, at) for c in conditions} for at in places]


def _readings(named: Sequence[Value]) -> list[dict[Value, Comparable]]:
    """All that the named values may be to a column that is not known yet: as they stand, or dates.

    >>> len(_readings(["a", 1])), len(_readings(["2024-2-1", "2024-10-1"]))
    (1, 2)
    """
    found: list[dict[Value, Comparable]] = [{value: value for value in named}]
    texts = [value for value in named if isinstance(value, str)]
    for order in DATES if texts and len(texts) == len(named) else ():
        reading: dict[Value, Comparable] = {}
        reading.update(zip(texts, read_dates(texts, order).tolist(), strict=True))
        if None not in reading.values() and reading not in found:
            found.append(reading)
    return found


def _once(said: Sequence[Said]) -> list[Said]:
    return list({tuple(each.values()): each for each in said}.values())


def _thresholds(answers: Sequence[Answer]) -> list[Said]:
    """What may be decided of two classes: a score that passes a number passes those below it."""
    numbers = sorted(at for at, _ in answers if not isinstance(at, str))
    names = [at for at, _ in answers if isinstance(at, str)]
    found: list[Said] = []
    for count in range(len(numbers) + 1):
        for learned in product((False, True), repeat=len(names)):
            said: Said = {(at, None): i < count for i, at in enumerate(numbers)}
            said.update({(at, None): yes for at, yes in zip(names, learned, strict=True)})
            found.append(said)
    return found
