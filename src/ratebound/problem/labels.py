"""Labels and decisions as they are spelled: which classes there are, and which of two is yes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.frames import as_array, distinct, is_missing, some
from ratebound.rates.kinds import TWO, Classes
from ratebound.rates.subsets import Value, plain_value

MOST = 1000  # classes; more than that are no classes


@dataclass(frozen=True)
class Spelling:
    """How a population spells its labels."""

    positive: Any = None  # the label that is yes, where that was said
    held: tuple[Any, ...] = ()  # the labels that occur, where they are two or fewer
    several: Classes | None = None  # all classes, where they were given or are more than two

    @property
    def classes(self) -> Classes | None:
        """What labels may be, in order, of two no and then yes; None where nothing says so."""
        if self.several is not None:
            return self.several
        if not self.held and self.positive is None:
            return None
        if set(self.held) <= {0, 1} or set(self.held) <= {-1, 1}:
            if self.held and all(isinstance(value, bool) for value in self.held):
                return TWO if self.positive is not False else TWO[::-1]
            ends = (-1, 1) if -1 in self.held else (0, 1)
            return ends if self.positive != ends[0] else ends[::-1]
        no = [value for value in self.held if value != self.positive]
        return (plain_value(no[0]) if no else f"not {self.positive}", plain_value(self.positive))

    @property
    def yes(self) -> Any:
        """The label that is yes; None where labels are truth values, whose True is yes by any name."""
        if self.positive is not None and self.positive is not True:
            return self.positive
        return None if all(isinstance(value, bool) for value in self.held) else 1

    def as_yes(self, values: Array, what: str) -> Array:
        """Two-valued `values` as booleans, True where they say yes.

        Decisions may be spelled as the labels are; otherwise True, or 1 of 0 and 1 or of -1 and 1, is
        yes.
        """
        found, is_label = distinct(values), what == "y"
        as_labels = self.positive in found or set(found) <= set(self.held)
        labels = self.held or (self.positive,)
        same_kind = (values.dtype == bool) == all(isinstance(value, bool) for value in labels)
        if self.positive is not None and (is_label or (as_labels and same_kind)):
            if len(found) > 2 or (len(found) == 2 and self.positive not in found):
                raise ValueError(
                    f"{what} needs two values, one of them {self.positive!r}; it holds {some(found)}"
                )
            return np.asarray(values == self.positive)
        if values.dtype == bool:
            return values
        if set(found) <= {0, 1} or set(found) <= {-1, 1}:
            return np.asarray(values == 1)
        remedy = (
            "say which of the two is yes: Population(..., positive=...)"
            if len(found) == 2
            else "two classes are needed; make it yes or no first"
        )
        raise ValueError(f"{what} holds {some(found)}: {remedy}")

    def where(self, values: Array, of: Value, what: str) -> Array:
        """Where `values`, spelled as the labels are, hold this class."""
        strange = [v for v in distinct(values, None) if v not in (self.classes or (v,))]
        if strange:
            known = some(list(self.classes or ()))
            raise ValueError(f"{what} holds {strange[0]!r}, which is none of the classes {known}")
        return np.asarray(values == of, dtype=bool)

    def as_codes(self, values: Array, what: str) -> Array:
        """The place of each value among the classes."""
        codes = np.full(len(values), -1)
        for place, each in enumerate(self.classes or ()):
            codes[np.asarray(values == each, dtype=bool)] = place
        if (codes < 0).any():
            strange, known = some(distinct(values[codes < 0])), some(list(self.classes or ()))
            raise ValueError(f"{what} holds {strange}, which is none of the classes {known}")
        return codes


def spelling_of(positive: Any, classes: Sequence[Any] | None) -> Spelling:
    """How labels will be spelled, before there are any: the yes of two, or all classes in order."""
    if classes is None:
        return Spelling(positive)
    if isinstance(classes, str) or positive is not None:
        raise ValueError(
            "classes takes all labels in order, as in ['bird', 'cat', 'dog'], and without positive="
        )
    found = tuple(plain_value(each) for each in classes)
    if len(set(found)) < max(len(found), 2):
        raise ValueError(f"classes takes two or more different labels, got {some(list(found))}")
    return Spelling(found[1] if len(found) == 2 else None, several=found)


def read_labels(y: Any, spelling: Spelling) -> tuple[Spelling, Array]:
    """How labels are spelled, and what they say (n,): whether yes, or of several classes the place."""
    values = as_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"y has shape {values.shape}, expected one label per row")
    if is_missing(values).any():
        raise ValueError(
            f"y has {int(is_missing(values).sum())} missing labels: leave those rows out, or pass "
            "them as an unlabelled population of their own"
        )
    found = distinct(values)
    if len(spelling.several or ()) > 2:
        return spelling, spelling.as_codes(values, "y")
    if spelling.positive is None and len(found) > 2:
        spelling = replace(spelling, several=_all_classes(values, found))
        return spelling, spelling.as_codes(values, "y")
    spelling = replace(spelling, held=tuple(found))
    return spelling, spelling.as_yes(values, "y")


def _all_classes(values: Array, found: list[Any]) -> Classes:
    """All labels that occur, in order."""
    if any(isinstance(value, float) and not value.is_integer() for value in found):
        raise ValueError(f"y holds {some(found)}, which are numbers and no classes: make it yes or no")
    try:
        classes: list[Any] = np.unique(values).tolist()
    except TypeError:
        raise ValueError(
            f"y mixes labels of different kinds, {some(found)}: make all of them texts, or all of them "
            "numbers, or give classes= in order"
        ) from None
    if len(classes) > MOST:
        raise ValueError(
            f"y holds {len(classes):,} different labels, {some(found)}: that many are no classes "
            f"(at most {MOST:,}); put them into bands, or make it yes or no"
        )
    return tuple(plain_value(each) for each in classes)
