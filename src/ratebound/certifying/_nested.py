"""A group inside everyone, as a group beside the rest.

Everyone's rate is the group's and the rest's, mixed by the group's share π of everyone, which is not
known either. `_inside.py` has the test. Of very many rows, or if π decides whether the group's rate
speaks for the promise, the two rates are tested at the ends of an interval of π: for fixed rates the
room is linear in π, so a promise that is broken for some π in an interval is broken at one of its ends;
and the lines on which the room is 0 all meet in one point, so that one end is enough unless that point
lies among the possible rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ratebound.base.types import Array
from ratebound.certifying._aim import Aim, Finding, normal
from ratebound.certifying._inside import MOST, Inside, window
from ratebound.certifying._means import Mean, same_once
from ratebound.certifying._pair import SCORE, Share, one_sided, pair_p_value

TURNING = 0.02  # of the rest's part in the promise: the group's must be more, whatever its share


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
        p_value = self._jointly(constant, aim)
        if p_value is None:
            found = [
                pair_p_value(*self.at(share, constant), aim.gamma / 2)
                for share in self.ends(constant, aim.gamma / 2)
            ]
            p_value = max(found) + aim.gamma / 2
        return Finding(min(p_value, 1.0), SCORE, self.spread(aim))

    def _jointly(self, constant: float, aim: Aim) -> float | None:
        """The p-value with the share's variance in the score, as `Inside` has it.

        None if it depends on the share whether a larger rate of the group speaks for the promise, or if
        there are too many rows. Then the share is tested at the ends of its interval.
        """
        everyone = self.rows + self.rest_rows
        tail = aim.gamma / 6  # both ends of three intervals
        shares = one_sided(self.rows, everyone, tail)
        start, slope = self.alone[1] - self.alone[0], self.among[1] - self.among[0]
        rest, sign = self.rest[1] - self.rest[0], np.sign(start + slope * self.share)
        times = sign * (start + slope * window(everyone, *shares) / everyone)
        if not rest or everyone > MOST or times.min() <= TURNING * max(abs(start), abs(rest)):
            return None
        failed = int(sign < 0)  # whether failures of the group speak for the promise
        offset = constant + self.alone[failed] + max(self.rest)
        change = self.among[failed] - max(self.rest)
        promise = Inside(everyone, (sign * start, sign * slope), abs(rest), (offset, change))
        good = self.successes if sign > 0 else self.rows - self.successes
        bad = self.rest_successes if rest < 0 else self.rest_rows - self.rest_successes
        rates = [one_sided(*each, tail) for each in ((good, self.rows), (bad, self.rest_rows))]
        enough = aim.delta - aim.gamma
        return promise.p_value(self.rows, good, bad, (shares, rates[0], rates[1]), enough) + aim.gamma

    def spread(self, aim: Aim) -> float:
        """The room that would be shown, with what the group's share may be off by."""
        group, rest, _ = self.at(self.share, 0.0)
        gain = self._gain(self.successes / self.rows, self.rest_successes / self.rest_rows)
        share = math.sqrt(self.share * (1 - self.share) / (self.rows + self.rest_rows)) * gain
        deviation = math.hypot(group.deviation, rest.deviation, share)
        return (normal(aim.delta - aim.gamma) + aim.luck) * deviation

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
    over, everyone = inner.over_kinds, outer.over_kinds
    if over is None or everyone is None or inner.population != outer.population:
        return None
    assert inner.value_kinds is not None
    assert outer.value_kinds is not None
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
