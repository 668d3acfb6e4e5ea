"""Rates as functions of a few totals, so that they can be counted again on rows drawn anew.

Rows that lie in the same sets of a constraint and get the same decisions are of one *kind*; a handful
of kinds stand for all rows. A rate is a quotient of sums over kinds. Unlike in a compiled problem its
denominator is not a constant: another sample would hold another number of women.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ratebound.audit.decided import Array, Decided, used
from ratebound.problem.compiling import FIRST
from ratebound.rates.expressions import Expression, Rate
from ratebound.rates.named import ANY, Atom, atoms
from ratebound.rates.subsets import EVERYONE, Subset


@dataclass(frozen=True, eq=False)
class Part:
    """One atom of a rate over the kinds: `scale` · Σ `counted` / Σ `over`."""

    counted: Array  # (kinds,) bool
    over: Array  # (kinds,) bool
    scale: float  # 1 for shares; out of how many rows where they are counted


@dataclass(frozen=True, eq=False)
class Tally:
    """The kinds of rows that some rates tell apart, and how much of each there is.

    A row of a mixture counts among the yeses with the probability of a yes. With weights v of rows, a
    kind has Σv of weight; drawn anew it varies as (Σv)²/Σv² rows would, each of weight Σv²/Σv.
    """

    weight: Array  # (kinds,)
    count: Array  # (kinds,) effective number of rows
    size: Array  # (kinds,) weight of an effective row
    prior: Array  # (kinds,) rows imagined beforehand, one for each set of rows, whatever its decision
    rates: dict[Rate, tuple[Part, ...]]

    def value(self, rate: Rate, weight: Array | None = None) -> Array:
        """The rate at these totals, (..., kinds) -> (...); NaN where nothing is divided by nothing."""
        weight = self.weight if weight is None else weight
        total = np.zeros(weight.shape[:-1])
        for part in self.rates[rate]:
            with np.errstate(invalid="ignore", divide="ignore"):
                total += part.scale * (weight @ part.counted) / (weight @ part.over)
        return total

    def sum(self, expression: Expression, weight: Array | None = None) -> Array:
        """An expression of the tallied rates at these totals."""
        weight = self.weight if weight is None else weight
        total = np.full(weight.shape[:-1], expression.constant)
        for rate, coefficient in expression.terms:
            total += coefficient * self.value(rate, weight)
        return total


def tally(decided: Decided, rates: Iterable[Rate]) -> Tally:
    """Count the kinds of rows that `rates` tell apart, population by population."""
    rates = list(dict.fromkeys(rates))
    names = used((rate.on for rate in rates), FIRST)
    blocks = [_tally_one(decided, n, [r for r in rates if (r.on or FIRST) == n]) for n in names]
    ends = np.cumsum([0] + [len(block.weight) for block in blocks])
    placed: dict[Rate, tuple[Part, ...]] = {}
    for block, start in zip(blocks, ends[:-1], strict=True):
        around = (start, ends[-1] - start - len(block.weight))
        for rate, parts in block.rates.items():
            placed[rate] = tuple(
                Part(np.pad(p.counted, around), np.pad(p.over, around), p.scale) for p in parts
            )

    def joined(name: str) -> Array:
        return np.concatenate([getattr(block, name) for block in blocks])

    return Tally(joined("weight"), joined("count"), joined("size"), joined("prior"), placed)


def rows_behind(decided: Decided, rates: Iterable[Rate]) -> int:
    """Rows, unweighted, of the smallest set that one of `rates` is a share of."""
    sizes = []
    for rate in rates:
        for atom in atoms(rate):
            rows = rate.subset if atom.over is None else atom.over
            sizes.append(int(decided.mask(rate.on or FIRST, rows).sum()))
    return min(sizes)


def _tally_one(decided: Decided, name: str, rates: list[Rate]) -> Tally:
    """The kinds of one population: sets of rows × decisions at the thresholds in use."""
    sets: dict[Subset, int] = {}
    overs: set[int] = set()
    for rate in rates:
        for atom in atoms(rate):
            sets.setdefault(atom.given, len(sets))
            overs.add(sets.setdefault(_over(atom), len(sets)))
    patterns, pattern = _patterns([decided.mask(name, subset) for subset in sets])
    thresholds = list(dict.fromkeys(_at(rate) for rate in rates))
    decisions, shares = _decisions(decided, name, thresholds)
    v = decided.row_weights(name)
    weight, size = _weighed(v, pattern, (len(patterns), len(decisions)), shares)

    def parts(rate: Rate) -> tuple[Part, ...]:
        found = []
        for atom in atoms(rate):
            given, over = patterns[:, sets[atom.given]], patterns[:, sets[_over(atom)]]
            decision = decisions[:, thresholds.index(_at(rate))] == atom.predicted
            chosen = np.ones(len(decisions), bool) if atom.predicted is ANY else decision
            scale = float(rate.out_of or v.sum()) if atom.over is None else 1.0
            repeated = np.repeat(over, len(decisions))
            found.append(Part(np.logical_and.outer(given, chosen).ravel(), repeated, scale))
        return tuple(found)

    counted = np.repeat(patterns[:, sorted(overs)].any(axis=1), len(decisions))
    return Tally(
        weight=np.where(counted, weight, 0.0),
        count=np.where(counted, weight / size, 0.0),
        size=size,
        prior=counted / len(decisions),
        rates={rate: parts(rate) for rate in rates},
    )


def _weighed(
    v: Array, pattern: Array, shape: tuple[int, int], shares: list[tuple[Array, Array]]
) -> tuple[Array, Array]:
    """The weight of each kind, and the weight of one effective row of it, both flat.

    Few rows say little about how unequal weights of their kind are, and too little on average: so
    the second is no smaller than for all rows of the same sets, whatever their decision.
    """
    weight, square = np.zeros(shape), np.zeros(shape)
    for code, share in shares:
        kind = pattern * shape[1] + code
        weight += np.bincount(kind, v * share, weight.size).reshape(shape)
        square += np.bincount(kind, v * v * share, weight.size).reshape(shape)
    total = weight.sum(axis=1, keepdims=True)
    typical = np.full(total.shape, (v * v).sum() / v.sum())
    together = np.divide(square.sum(axis=1, keepdims=True), total, where=total > 0, out=typical)
    together = np.broadcast_to(together, shape)
    alone = np.divide(square, weight, where=weight > 0, out=together.copy())
    return weight.ravel(), np.maximum(alone, together).ravel()


def _over(atom: Atom) -> Subset:
    return EVERYONE if atom.over is None else atom.over


def _at(rate: Rate) -> float | str:
    return 0.0 if rate.at is None else rate.at


def _patterns(masks: list[Array]) -> tuple[Array, Array]:
    """The distinct combinations (p, k) of `masks` that occur, and which of them each row has."""
    code = np.zeros(len(masks[0]), dtype=np.int64)
    representative = np.zeros(1, dtype=np.int64)
    for start in range(0, len(masks), 12):  # a dozen at a time, so that codes stay small
        for mask in masks[start : start + 12]:
            code = 2 * code + mask
        present, code = _renumbered(code)
        representative = np.zeros(present, dtype=np.int64)
        representative[code] = np.arange(len(code))
    return np.column_stack([mask[representative] for mask in masks]), code


def _renumbered(code: Array) -> tuple[int, Array]:
    """How many distinct codes there are, and the codes numbered from 0; sorting only if need be."""
    if code.max() >= 2**20:
        distinct, code = np.unique(code, return_inverse=True)
        return len(distinct), code
    present = np.bincount(code) > 0
    return int(present.sum()), (np.cumsum(present) - 1)[code]


def _decisions(
    decided: Decided, name: str, thresholds: list[float | str]
) -> tuple[Array, list[tuple[Array, Array]]]:
    """Which decisions (c, thresholds) go together, and pairs of codes (n,) with their shares (n,).

    At one threshold that is no and yes. At several, a member's score passes those below it: its level
    among the sorted thresholds says all.
    """
    if len(thresholds) == 1:
        yes = decided.yes(name, thresholds[0])
        none = np.zeros(len(yes), dtype=np.int64)
        return np.array([[False], [True]]), [(none, 1.0 - yes), (none + 1, yes)]
    by_member = np.column_stack([decided.levels(at) for at in thresholds])  # (M, thresholds)
    orders: dict[tuple[int, ...], int] = {}
    shares = []
    for scores, levels, weight in zip(decided.scores[name], by_member, decided.weights, strict=True):
        order = np.argsort(levels, kind="stable")
        first = orders.setdefault(tuple(order.tolist()), len(orders)) * (len(thresholds) + 1)
        passed = np.searchsorted(levels[order], scores, side="right")
        shares.append((first + passed, np.full(len(scores), weight)))
    below = np.arange(len(thresholds) + 1)[:, None]
    return np.concatenate([np.argsort(order)[None] < below for order in orders]), shares
