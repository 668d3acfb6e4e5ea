"""Which rows are possible, from the words of a promise alone.

Two groups are disjoint, or one lies inside the other, because of what their conditions say, never
because a sample happens to look so. So every combination of truth values that the conditions allow is
drawn up: a row holds one value of a column, passes a low threshold where it passes a high one, has one
label, and is decided as one class. What the words leave open is taken to be possible.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ratebound.auditing.decided import over_of
from ratebound.auditing.measure import at_of, chance
from ratebound.base.types import Array
from ratebound.rates.kinds import Classes, atoms
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import Compare, In, Missing, Name, Subset, Value, holds, leaves

MOST = 200_000  # combinations; where the words allow more, nothing is concluded from them
ORDERS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


Answer = tuple[float | str, Value | None]  # a threshold, and the class that is decided there


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Every kind of row: whether it meets each condition, and what is decided at each threshold."""

    classes: Classes
    conditions: dict[Subset, Array]  # (kinds,) bool
    decisions: dict[Answer, Array]  # (kinds,) bool, whether it is given

    def over(self, rate: Rate) -> Array:
        """Which kinds of row a rate is a share of, (kinds,) bool."""
        return self._inside(over_of(atoms(rate, self.classes)[0]))

    def counted(self, rate: Rate) -> Array:
        """How often it counts each kind of row, (kinds,); of a cost, what such a row costs."""
        found = np.zeros(self.size)
        for atom in atoms(rate, self.classes):
            decided = chance(atom, lambda of: self.decisions[at_of(rate), of])
            found += atom.factor * (self._inside(atom.given) * decided)
        return found

    @property
    def size(self) -> int:
        """How many kinds there are."""
        return len(next(iter(self.decisions.values())))

    def _inside(self, subset: Subset) -> Array:
        found = holds(subset, self.conditions.__getitem__)
        return np.broadcast_to(np.asarray(found, dtype=bool), (self.size,))


def row_kinds(rates: Sequence[Rate], classes: Classes) -> RowKinds | None:
    """The kinds of row that `rates`, of one population, can tell apart; None where they are too many.

    >>> from ratebound import recall
    >>> female, male = recall(sex="Female").rates + recall(sex="Male").rates
    >>> kinds = row_kinds([female, male], (False, True))
    >>> bool((kinds.over(female) & kinds.over(male)).any())
    False
    """
    counted = [(rate, atom) for rate in rates for atom in atoms(rate, classes)]
    found = [leaf for _, atom in counted for subset in (atom.given, over_of(atom))
             for leaf in leaves(subset)]  # fmt: skip
    conditions = list(dict.fromkeys(found))
    columns: dict[Name, list[Compare | In | Missing]] = {}
    said: dict[object, list[Subset]] = {}  # by labels, and by each existing model
    for condition in conditions:
        if isinstance(condition, Compare | In | Missing):
            columns.setdefault(condition.column, []).append(condition)
        else:
            said.setdefault(getattr(condition, "versus", None), []).append(condition)
    answers = list(dict.fromkeys((at_of(rate), atom.of) for rate, atom in counted))
    axes: list[list[dict[object, bool]]] = [_values(each) for each in columns.values()]
    axes += [_one_of(each, len(classes)) for each in said.values()]
    axes.append(_thresholds(answers) if len(classes) == 2 else _one_of(answers, len(classes)))
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


def _one_of(keys: Sequence[Any], classes: int) -> list[dict[object, bool]]:
    """What may be said of one row: each key that it has one class, of which at most one is true.

    >>> _one_of(["cat", "dog"], 2)
    [{'cat': True, 'dog': False}, {'cat': False, 'dog': True}]
    """
    chosen = [*([None] if len(keys) < classes else []), *keys]
    return [{key: key == one for key in keys} for one in chosen]


def _values(conditions: Sequence[Compare | In | Missing]) -> list[dict[object, bool]]:
    """What the conditions on one column say of each value it may hold, and of a missing one.

    Values are told apart by their place in the order: at one that is named, or between two of them. A
    missing value is neither below nor above any, and differs from all.
    """
    compared = [c for c in conditions if not isinstance(c, Missing)]
    named = {v for c in compared for v in (c.values if isinstance(c, In) else (c.value,))}
    ordered = sorted(named, key=lambda value: (isinstance(value, str), value))
    place = {value: 2 * index + 1 for index, value in enumerate(ordered)}

    def said(condition: Compare | In | Missing, at: int) -> bool:
        if isinstance(condition, Missing):
            return False
        if isinstance(condition, In):
            return any(place[value] == at for value in condition.values)
        return bool(ORDERS[condition.relation](at, place[condition.value]))

    between = any(isinstance(c, Compare) and c.relation not in ("==", "!=") for c in compared)
    places = range(2 * len(ordered) + 1) if between else [0, *place.values()]
    lacking: dict[object, bool] = {
        c: isinstance(c, Missing) or (isinstance(c, Compare) and c.relation == "!=") for c in conditions
    }
    found: list[dict[object, bool]] = [{c: said(c, at) for c in conditions} for at in places]
    return [*found, lacking]


def _thresholds(answers: Sequence[Answer]) -> list[dict[object, bool]]:
    """What may be decided of two classes: a score that passes a number passes those below it."""
    numbers = sorted(at for at, _ in answers if not isinstance(at, str))
    names = [at for at, _ in answers if isinstance(at, str)]
    found: list[dict[object, bool]] = []
    for count in range(len(numbers) + 1):
        for learned in product((False, True), repeat=len(names)):
            said: dict[object, bool] = {(at, None): i < count for i, at in enumerate(numbers)}
            said.update({(at, None): yes for at, yes in zip(names, learned, strict=True)})
            found.append(said)
    return found
