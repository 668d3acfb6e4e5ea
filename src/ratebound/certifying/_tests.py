"""Which test a promise gets: of one mean, of two proportions, of a group and everyone, or a box."""

from __future__ import annotations

from collections.abc import Sequence

from ratebound.certifying._aim import Aim, Finding
from ratebound.certifying._box import Box
from ratebound.certifying._means import Mean
from ratebound.certifying._nested import Nested, nested
from ratebound.certifying._one import fixed, tested_alone
from ratebound.certifying._pair import Pair, Share


def tested(parts: Sequence[Mean], constant: float, aim: Aim) -> Finding:
    """The test of ``constant + Σ mean >= 0``."""
    varying, constant = without_constants(parts, constant)
    if not varying:
        return fixed(constant)
    if len(varying) == 1:
        return tested_alone(varying[0], constant, aim)
    return arranged(varying).tested(constant, aim)


def without_constants(parts: Sequence[Mean], constant: float) -> tuple[list[Mean], float]:
    """The means that can vary; the others are part of the constant."""
    constant += sum(part.low for part in parts if part.reach == 0)
    return [part for part in parts if part.reach > 0], constant


def arranged(parts: Sequence[Mean]) -> Pair | Nested | Box:
    """Several means as what their rows are: independent, one inside the other, or neither."""
    if len(parts) == 2 and all(part.binary for part in parts):
        first, second = parts
        if second.population in first.beside or _disjoint(first, second):
            one, two = (Share(part.successes, part.rows, part.reach) for part in parts)
            return Pair(one, two, first.low + second.low)
        whole = nested(first, second) or nested(second, first)
        if whole is not None:
            return whole
    return Box.of(parts)


def _disjoint(first: Mean, second: Mean) -> bool:
    one, two = first.over_kinds, second.over_kinds
    if first.population != second.population or one is None or two is None:
        return False
    return not (one & two).any()
