"""What a promise asks of a stream of rows: numbers whose mean is at most 0 if it is kept.

A promise is a sum of means over sets of rows. Over one set, each of its rows gives such a number. Over
two sets, of which a row may be in both, each pair of two rows gives one; pairs come from windows of
adjacent rows, so that what differs between earlier and later rows does not matter. Two ratios are
compared in the same way: what counts above the line in one row times what counts below it in another.
Over more sets, the next row of each makes a block: the sum over a block has the right mean, and rows
that a block has no place for are lost. Windows and blocks have rows of one stratum only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ratebound._old.auditing.judged import scored
from ratebound._old.auditing.tally import Countable, Lines, counted, over_of
from ratebound._old.auditing.tallying import asked_of, lines_of
from ratebound._old.base.types import Array
from ratebound._old.certifying._means import RowKinds, row_kinds, unbounded
from ratebound._old.certifying._wealth import PAIRS, WINDOW, DrawRange
from ratebound._old.problem.population import Population
from ratebound._old.rates.costs import largest_cost
from ratebound._old.rates.demands import demands, is_even
from ratebound._old.rates.expressions import Constraint, OfScores, Rate
from ratebound._old.rates.kinds import TWO, Classes, is_count
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import Subset

MOST_STRATA = 1000  # more are ids, of which none has a window of rows
Kind = Literal["one set", "pairs", "blocks"]
Terms = tuple[tuple[Rate, float], ...]
Open = tuple[tuple[float, ...] | None, ...]  # the rows of a window, or of a block, that wait for others


class Unwatchable(ValueError):
    """A promise that no monitor can watch, whatever its settings."""


@dataclass(frozen=True)
class StreamBatch:
    """Rows of a stream, in the order in which they came."""

    rows: Population
    scores: Array  # (1, A, n) by which the decisions would be taken
    strata: tuple[tuple[str, Array], ...]  # the name of each, and its rows

    def lines(self, rates: Iterable[Rate], classes: Classes) -> Lines:
        """The rows, counted by what `rates` of one population tell apart; `place` has their order."""
        spoken_of = tuple(rates)
        asked = asked_of(spoken_of, spoken_of[0].population, classes)
        return lines_of(self.rows, asked, scored({}, ""), self.scores, len(classes), partial=True)


@dataclass(frozen=True)
class Part:
    """A sum of rates that are shares of one set of rows, or one side of a comparison of two ratios."""

    above: Terms
    below: Subset | Terms  # the set; of a ratio, what counts below the line

    def values(self, rows: Countable, classes: Classes) -> tuple[Array, Array]:
        """What each row, or kind of row, adds above the line, and below it: (n,) each."""
        above = _total(self.above, rows, classes)
        if isinstance(self.below, Subset):
            below = rows.inside(self.below).astype(float)
            return below * above, below
        return above, _total(self.below, rows, classes)

    def possible(self, kinds: RowKinds | None, classes: Classes) -> tuple[Array, Array]:
        """What rows may add above and below; if kinds are not known, the ends of either."""
        if kinds is not None:
            return self.values(kinds, classes)
        ends = [np.array(_ends(self.above)), np.ones(2)]
        if not isinstance(self.below, Subset):
            ends[1] = np.array(_ends(self.below))
        above, below = np.meshgrid(*(np.append(end, 0.0) for end in ends))
        return above.ravel(), below.ravel()


@dataclass(frozen=True)
class Draws:
    """How the rows of a population become numbers."""

    kind: Kind
    parts: tuple[Part, ...]
    constant: float
    population: str
    classes: Classes
    range: DrawRange


def draws_of(promise: Constraint | Parity, classes: Classes = TWO) -> Draws:
    """How a promise is watched; refused if decisions alone cannot tell, with the reason.

    >>> from ratebound._old import precision, recall
    >>> draws_of(precision() >= 0.8).kind, draws_of(recall(sex="Female") >= 0.9 * recall()).kind
    ('one set', 'pairs')
    """
    if isinstance(promise, Parity):
        parts, constant, per_row = _compared(promise), 0.0, True
    elif isinstance(promise.left, OfScores):
        raise Unwatchable(
            f"the promise {promise} cannot be watched: it is about the order of scores, and a monitor "
            "sees decisions. Audit it, or promise recall() and false_positive_rate() instead"
        )
    else:
        (demand,) = demands(promise)
        parts, per_row = _shares(demand.expression.terms, demand.per_row, classes), demand.per_row
        constant = demand.expression.constant
    rates = [rate for part in parts for rate in _rates(part)]
    populations = {rate.population for rate in rates}
    if len(populations) > 1:
        raise Unwatchable(
            f"the promise {promise} cannot be watched: it compares the populations "
            f"{', '.join(sorted(populations))}, whose rows have no shared order. Audit it instead"
        )
    _check_rates(promise, rates, per_row)
    kind: Kind = ("one set", "pairs", "blocks")[min(len(parts), 3) - 1]
    given = _range(kind, parts, constant, row_kinds(rates, classes), classes)
    return Draws(kind, parts, constant, populations.pop(), classes, given)


def numbers(
    draws: Draws, lines: Lines, strata: Sequence[tuple[str, Array]], waiting: Mapping[str, Open]
) -> tuple[Array, Array, dict[str, Open]]:
    """The rows that complete a draw, its numbers (n, 1 or P), and the rows that wait, by stratum."""
    of_lines = (part.values(lines, draws.classes) for part in draws.parts)
    values = [(above[lines.place], below[lines.place]) for above, below in of_lines]
    if draws.kind == "one set":
        above, below = values[0]
        totals = above + draws.constant * below
        at = np.flatnonzero(totals != 0)
        return at, totals[at, None], {}
    after, drawn_here = dict(waiting), []
    for stratum, rows in strata:
        own = [(above[rows], below[rows]) for above, below in values]
        gathered = _windows if draws.kind == "pairs" else _blocks
        at, drawn, after[stratum] = gathered(own, draws.constant, after.get(stratum, ()))
        drawn_here.append((rows[at], drawn))
    if len(after) > MOST_STRATA:
        raise ValueError(
            f"there are more than {MOST_STRATA:,} strata, and each compares its own rows only: choose "
            "columns with few values"
        )
    at, drawn = (np.concatenate(part) for part in zip(*drawn_here, strict=True))
    order = np.argsort(at, kind="stable")
    return at[order], drawn[order], after


def pair_numbers(first: Array, second: Array) -> Array:
    """What two rows of either order give together: above of one times below of the other, summed.

    Each argument is (4, ...): above and below of the first part, and of the second.
    """
    (a, b, c, d), (e, f, g, h) = first, second
    return a * h + b * g + e * d + f * c


def _total(terms: Terms, rows: Countable, classes: Classes) -> Array:
    added = np.zeros(len(rows))
    for rate, coefficient in terms:
        added += coefficient * counted(rows, rate, classes)
    return added


def _rates(part: Part) -> list[Rate]:
    below = () if isinstance(part.below, Subset) else part.below
    return [rate for rate, _ in (*part.above, *below)]


def _compared(promise: Parity) -> tuple[Part, ...]:
    """Two ratios whose difference is to be at most 0."""
    sign = 1.0 if promise.relation == "<=" else -1.0
    parts = []
    for ratio, times in ((promise.left, sign), (promise.right, -sign)):
        if not is_even(ratio):
            raise Unwatchable(
                f"the promise {promise} cannot be watched: {ratio} does not count the same rows above "
                "and below the line. Audit it instead"
            )
        above = tuple((rate, times * coefficient) for rate, coefficient in ratio.numerator.terms)
        parts.append(Part(above, ratio.denominator.terms))
    return tuple(parts)


def _shares(terms: Terms, per_row: bool, classes: Classes) -> tuple[Part, ...]:
    """Rates by the rows that they are shares of."""
    by_subset: dict[Subset, list[tuple[Rate, float]]] = {}
    for rate, coefficient in terms:
        over = over_of(rate, classes, per_row)
        by_subset.setdefault(over, []).append((rate, coefficient * (rate.per or 1.0)))
    return tuple(Part(tuple(own), over) for over, own in by_subset.items())


def _check_rates(promise: Constraint | Parity, rates: list[Rate], per_row: bool) -> None:
    """Raise if a rate needs scores, or counts out of nobody knows how many rows."""
    for rate in rates:
        if rate.at not in (None, 0):
            raise Unwatchable(
                f"the promise {promise} cannot be watched: {rate} is taken at a threshold, which "
                "needs scores, and a monitor sees decisions. Audit it instead"
            )
        if why := unbounded(rate):
            raise Unwatchable(f"the promise {promise} cannot be watched: {why}. Audit it instead")
        if is_count(rate) and rate.per is None and not per_row:
            raise Unwatchable(
                f"the promise {promise} cannot be watched: say out of how many rows it counts, as "
                f"in {rate.kind}(per=1000)"
            )


def _range(
    kind: Kind, parts: tuple[Part, ...], constant: float, kinds: RowKinds | None, classes: Classes
) -> DrawRange:
    """Between which ends numbers lie, of all rows that the words allow."""
    possible = [part.possible(kinds, classes) for part in parts]
    if kind != "pairs":
        own = [above[below > 0] for above, below in possible]
        return DrawRange(constant + sum(map(np.min, own)), constant + sum(map(np.max, own)))
    (a, b), (c, d) = possible
    if kinds is None:  # any row may be in both
        places = np.meshgrid(np.arange(len(a)), np.arange(len(c)))
        a, b, c, d = (
            a[places[0].ravel()],
            b[places[0].ravel()],
            c[places[1].ravel()],
            d[places[1].ravel()],
        )
    rows = np.unique(np.stack([a + constant * b, b, c, d]), axis=1)
    given = pair_numbers(rows[:, :, None], rows[:, None, :])
    return DrawRange(float(given.min()), float(given.max()), windows=True)


def _ends(terms: Terms) -> tuple[float, float]:
    """The least and the most that a row can add, whatever kind of row it is."""
    signed = [coefficient * (largest_cost(rate) or 1.0) for rate, coefficient in terms]
    return sum(min(c, 0.0) for c in signed), sum(max(c, 0.0) for c in signed)


def _windows(
    values: list[tuple[Array, Array]], constant: float, waiting: Open
) -> tuple[Array, Array, Open]:
    """The ends of full windows, what their pairs give (n, P), and the rows of the open window.

    Rows that are in neither set, or in neither denominator, are skipped.
    """
    (a, b), (c, d) = values
    rows = np.stack([a + constant * b, b, c, d], axis=1)
    at = np.flatnonzero((b != 0) | (d != 0))
    before = np.array(waiting, dtype=float).reshape(len(waiting), 4)
    rows = np.concatenate([before, rows[at]])
    full = len(rows) // WINDOW
    ends = at[WINDOW * np.arange(1, full + 1) - len(before) - 1]
    windows = rows[: full * WINDOW].reshape(full, WINDOW, 4).transpose(2, 1, 0)  # (4, WINDOW, full)
    first, second = (windows[:, [pair[i] for pair in PAIRS]] for i in (0, 1))
    return ends, pair_numbers(first, second).T, tuple(map(tuple, rows[full * WINDOW :].tolist()))


def _blocks(
    values: list[tuple[Array, Array]], constant: float, waiting: Open
) -> tuple[Array, Array, Open]:
    """The places at which blocks are full, their sums (n, 1), and the block left open.

    Each has the next row of every set; None stands for a row that is still to come.
    """
    places = [np.flatnonzero(below) for _, below in values]
    block: list[tuple[float, ...] | None] = list(waiting) or [None] * len(values)
    at: list[int] = []
    totals: list[float] = []
    start = 0
    while True:
        end = start - 1
        for i, rows in enumerate(places):
            position = np.searchsorted(rows, start)
            if block[i] is None and position < len(rows):
                block[i] = (float(values[i][0][rows[position]]),)
                end = max(end, int(rows[position]))
        full = [each[0] for each in block if each is not None]
        if len(full) < len(block):
            return np.array(at, dtype=int), np.array(totals).reshape(-1, 1), tuple(block)
        at.append(end)
        totals.append(constant + sum(full))
        block, start = [None] * len(values), end + 1
