"""Which test a promise gets: of one mean, of two proportions, of a group and everyone, or a box."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ratebound.certifying._aim import Aim, Finding
from ratebound.certifying._box import Box
from ratebound.certifying._joint import Bets, Chernoff
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


def spread(parts: Sequence[Mean], constant: float, aim: Aim) -> float:
    """The room that as many rows as here would show with the power aimed at, at the rates seen."""
    varying, constant = without_constants(parts, constant)
    if not varying:
        return fixed(constant).spread
    if len(varying) == 1:
        return tested_alone(varying[0], constant, aim).spread
    return arranged(varying).spread(aim)


def without_constants(parts: Sequence[Mean], constant: float) -> tuple[list[Mean], float]:
    """The means that can vary; the others are part of the constant."""
    constant += sum(part.low for part in parts if part.reach == 0)
    return [part for part in parts if part.reach > 0], constant


def arranged(parts: Sequence[Mean]) -> Pair | Nested | Chernoff | Bets | Box:
    """Several means as what their rows are: independent, one inside the other, or neither."""
    if all(_independent(*two) for two in combinations(parts, 2)):
        return _apart(parts)
    if len(parts) == 2 and all(part.binary for part in parts):
        first, second = parts
        whole = nested(first, second) or nested(second, first)
        if whole is not None:
            return whole
    return Box.of(parts)


def _apart(parts: Sequence[Mean]) -> Pair | Chernoff | Bets | Box:
    """Several means of independent rows."""
    if len(parts) == 2 and all(part.binary for part in parts):
        one, two = (Share(part.successes, part.rows, part.reach) for part in parts)
        return Pair(one, two, parts[0].low + parts[1].low)
    box = Box.of(parts)
    if all(part.weights is None and len(part.possible) == 2 for part in parts):
        jointly, aim = Chernoff.of(parts), Aim(0.05)
        # Which of them is sharper must not depend on what the rows show beyond their number.
        sharper = jointly.at_rate(0.5).spread(aim) <= box.at_rate(0.5).spread(aim)
        return jointly if sharper else box
    return Bets.of(parts) if len(parts) == 2 else box


def _independent(first: Mean, second: Mean) -> bool:
    """Whether no row is in both sets, or whether they are of other populations."""
    if first.population != second.population:
        return second.population in first.beside
    one, two = first.over_kinds, second.over_kinds
    return one is not None and two is not None and not (one & two).any()
