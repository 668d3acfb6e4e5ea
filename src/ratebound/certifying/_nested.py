"""A group inside everyone, as a group beside the rest.

Everyone's rate is the group's and the rest's, mixed by the group's share π of everyone. For fixed rates
the room is linear in π, so where the promise is broken for some π in an interval it is broken at one of
its ends; and the lines on which the room is 0 all meet in one point, so that one end is enough unless
that point lies among the possible rates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ratebound.base.types import Array
from ratebound.certifying._aim import Aim, Finding, normal
from ratebound.certifying._means import Mean, same_once
from ratebound.certifying._pair import SCORE, Share, one_sided, pair_p_value, pair_spread


@dataclass(frozen=True)
class Nested:
    """What rows of the group and rows of the rest add, by whether they are successes."""

    successes: int  # of the group's rows
    rows: int
    rest_successes: int
    rest_rows: int
    alone: tuple[float, float]  # what a row of the group adds to the group's mean
    among: tuple[float, float]  # and to everyone's
    rest: tuple[float, float]  # what a row of the rest adds to everyone's

    def tested(self, constant: float, aim: Aim) -> Finding:
        """The test of ``constant + the group's mean + everyone's mean >= 0``."""
        found = [
            pair_p_value(*self.at(share, constant), aim.gamma / 2)
            for share in self.ends(constant, aim.gamma / 2)
        ]
        return Finding(min(max(found) + aim.gamma / 2, 1.0), SCORE, self.spread(aim))

    def spread(self, aim: Aim) -> float:
        """The room that would be shown; some of it goes to the group's share of everyone."""
        group, rest, _ = self.at(self.share, 0.0)
        gain = self._gain(self.successes / self.rows, self.rest_successes / self.rest_rows)
        share = self.share * (1 - self.share) / (self.rows + self.rest_rows)
        return pair_spread(group, rest, aim) + normal(aim.gamma / 2) * float(np.sqrt(share)) * abs(gain)

    def at_rate(self, rate: float) -> Nested:
        """The same, were the rate this one, in the group and in the rest alike."""
        alike = self.among[1] >= self.among[0]  # whether successes are the same thing in both
        rest = round((rate if alike else 1 - rate) * self.rest_rows)
        return replace(self, successes=round(rate * self.rows), rest_successes=rest)

    @property
    def share(self) -> float:
        """Of the group among everyone, here."""
        return self.rows / (self.rows + self.rest_rows)

    def at(self, share: float, constant: float) -> tuple[Share, Share, float]:
        """The promise where the group has this share: two proportions and a constant."""
        offset = constant + self.alone[0] + share * self.among[0] + (1 - share) * self.rest[0]
        group = self.alone[1] - self.alone[0] + share * (self.among[1] - self.among[0])
        rest = (1 - share) * (self.rest[1] - self.rest[0])
        return (
            Share(self.successes, self.rows, group),
            Share(self.rest_successes, self.rest_rows, rest),
            offset,
        )

    def ends(self, constant: float, tail: float) -> list[float]:
        """Shares of the group that may be the worst, none of them missed but with probability `tail`."""
        rows = self.rows + self.rest_rows
        low, high = one_sided(self.rows, rows, tail)
        signs = [self._gain(p, q) for p, q in self._corners(low, constant)]
        if signs and min(signs) >= 0:
            return [low]
        if signs and max(signs) <= 0:
            return [high]
        return list(one_sided(self.rows, rows, tail / 2))

    def _gain(self, p: float, q: float) -> float:
        """What a larger share of the group adds to the room at these rates."""
        (a, b), (c, d) = self.among, self.rest
        return a + (b - a) * p - c - (d - c) * q

    def _corners(self, share: float, constant: float) -> list[tuple[float, float]]:
        """Where the line on which the room is 0 enters and leaves the possible rates."""
        group, rest, offset = self.at(share, constant)
        found = []
        for q in (0.0, 1.0):
            if group.times and 0 <= (p := -(offset + rest.times * q) / group.times) <= 1:
                found.append((p, q))
        for p in (0.0, 1.0):
            if rest.times and 0 <= (q := -(offset + group.times * p) / rest.times) <= 1:
                found.append((p, q))
        return found


def nested(inner: Mean, outer: Mean) -> Nested | None:
    """The two means as a group's and everyone's, if the one set lies inside the other by its words.

    What a row of the group adds to everyone's mean must follow from what it adds to its own.
    """
    if inner.kinds is None or inner.population != outer.population:
        return None
    over, everyone = inner.over_kinds, outer.over_kinds
    rest = everyone & ~over
    if (over & ~everyone).any() or not rest.any():
        return None
    yes = inner.value_kinds > inner.possible.mean()
    among = [_only(outer.value_kinds[over & (yes == state)]) for state in (False, True)]
    others = same_once(outer.value_kinds[rest])
    aside = outer.inside & ~inner.inside
    if among[0] is None or among[1] is None or len(others) > 2 or not aside.any():
        return None
    others_rows = aside[outer.inside]
    successes = outer.count(others_rows & (outer.values > others.mean())) if len(others) == 2 else 0
    return Nested(
        successes=inner.successes,
        rows=inner.rows,
        rest_successes=successes,
        rest_rows=outer.count(others_rows),
        alone=(float(inner.possible[0]), float(inner.possible[1])),
        among=(among[0], among[1]),
        rest=(float(others[0]), float(others[-1])),
    )


def _only(values: Array) -> float | None:
    """The one value that all of these are; None where they differ."""
    found = same_once(values) if len(values) else values
    return float(found[0]) if len(found) == 1 else None
