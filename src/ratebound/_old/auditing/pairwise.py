"""The uncertainty of rates of pairs: pairs share rows, so they carry less information than as many rows.

A rate of pairs is a U-statistic. By its Hoeffding projection its variance is the variance of a sum over
*rows*: each row adds what its pairs add to the rate, less their expectation. So the influence of pairs
is summed by row, or by query if whole queries were drawn, and these sums are independent. This also
counts the randomness of which pairs were drawn, slightly more than once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.auditing._measured import around, verdict_of
from ratebound._old.auditing.provenance import card_of, provenance
from ratebound._old.auditing.report import Audit, Objective, Promise
from ratebound._old.base.linear_program import kept
from ratebound._old.base.types import Array
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import NoRows, compile, compile_on
from ratebound._old.problem.masks import NoSuchValue, masker
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.spelling_out import spelled_out
from ratebound._old.rates.expressions import FIRST, Constraint, Expression, Metric, Rate, Ratio
from ratebound._old.rates.formulas import formula, sentence
from ratebound._old.rates.subsets import Compare, In, leaves
from ratebound._old.solution.mixture import Mixture

AUDITED = "audited"
ERROR = Expression(((Rate("ranked_right"), -1.0),), 1.0)  # any pairs have it


@dataclass(frozen=True, eq=False)
class PairErrors:
    """The sampling error of the objective and the violations of scores on pairs.

    Each rate is bounded by Clopper–Pearson, as a share of independent rows, as many as give the same
    variance. Bounds of sums of rates follow from the bounds of each rate and from their correlations
    (the method of variance estimates recovery, Zou 2008): near 0 and 1 a rate is skewed, and a standard
    error alone would be too optimistic.
    """

    times: Array  # (1+m, slices): each value in terms of the rates
    shares: Array  # (slices,) the rates
    rows: Array  # (slices,) how many independent rows have the same variance
    alike: Array  # (slices, slices) correlations of the rates

    def above(self, confidence: float) -> Array:
        """How far each true value may be above the observed one, (1+m,), at a one-sided confidence."""
        return self._off(confidence, self.times)

    def below(self, confidence: float) -> Array:
        """How far each true value may be below the observed one, (1+m,)."""
        return self._off(confidence, -self.times)

    def _off(self, confidence: float, times: Array) -> Array:
        from scipy.stats import beta

        right, wrong = self.shares * self.rows, (1 - self.shares) * self.rows
        high = np.where(wrong > 0, beta.ppf(confidence, right + 1, np.maximum(wrong, 1e-9)), 1.0)
        low = np.where(right > 0, beta.ppf(1 - confidence, np.maximum(right, 1e-9), wrong + 1), 0.0)
        off = times * np.where(times > 0, high - self.shares, low - self.shares)
        signed = off * np.sign(times)
        squares = np.einsum("ri,ij,rj->r", signed, self.alike, signed)
        return np.sqrt(np.maximum(squares, 0.0))

    def below_zero(self, values: Array) -> Array:
        """The confidence that each true value is at most 0, given the observed `values` (1+m,)."""
        sizes, below = np.abs(values), values <= 0
        low, high = np.full(len(values), 0.5), np.full(len(values), 1.0)
        for _ in range(12):
            middle = (low + high) / 2
            reach = [
                (self.above(float(level)) if under else self.below(float(level)))[row]
                for row, (level, under) in enumerate(zip(middle, below, strict=True))
            ]
            within = np.array(reach) <= sizes
            low, high = np.where(within, middle, low), np.where(within, high, middle)
        return np.where(below, low, 1 - low)


@dataclass(frozen=True, eq=False)
class PairMoves:
    """How far each row moves what is measured of pairs, whatever their order; or each query."""

    places: tuple[Array, ...]  # (P,) each: what is drawn that a pair rests on
    drawn: int  # how many rows or queries were drawn
    weights: Array  # (P,)
    among: tuple[Array, ...]  # for each slice, its pairs
    total: Array  # (slices,) their weights
    few: Array  # (slices,) the fewest independent rows that a rate may be worth
    many: Array  # (slices,) the most
    times: Array  # (1+m, slices) what each value is of the rates

    @property
    def alone(self) -> Array:
        """How many rows (slices,) the side of a rate with fewer has; or how many queries."""
        return self.many if len(self.places) == 1 else self.few

    @property
    def more(self) -> Array:
        """The factor (slices,) of a variance over the variance of these rows around their mean."""
        return np.asarray(self.alone / np.maximum(self.alone - 1, 0.5))

    def rates(self, right: Array) -> tuple[Array, Array]:
        """The rates (slices,) where pairs are ranked right (P,) so, and what rows add to them."""
        shares, influence = np.zeros(len(self.among)), np.zeros((len(self.among), self.drawn))
        for place, among in enumerate(self.among):
            weights, total = self.weights[among], max(self.total[place], 1e-300)
            shares[place] = weights @ right[among] / total
            own = weights * (right[among] - shares[place]) / total
            for ends in self.places:
                influence[place] += np.bincount(ends[among], own, self.drawn)
        return shares, influence

    def errors(self, right: Array) -> PairErrors:
        """How the objective and all violations vary."""
        shares, influence = self.rates(right)
        variances = (influence**2).sum(axis=1) * self.more
        rows = np.clip(shares * (1 - shares) / np.maximum(variances, 1e-300), self.few, self.many)
        size = np.sqrt(np.maximum((influence**2).sum(axis=1), 1e-300))
        alike = (influence @ influence.T) / np.outer(size, size)
        np.fill_diagonal(alike, 1.0)
        told = (variances > 0) & (self.alone > 1)
        return PairErrors(self.times, shares, np.where(told, rows, self.few), alike)

    def of(self, decided: Array, some: Array | slice = slice(None)) -> tuple[Array, Array, Array]:
        """How far `some` rows or queries move each promise, (m, k), where pairs are so ranked (P,).

        Also the variances (m,) by all rows and by two imagined ones of each rate, one that is ranked
        right in all pairs and one in none, and the share (m,) of them that is not imagined. Imagined
        rows are of the side with fewer, of which one may say all and show no variance.
        """
        right, times = np.asarray(decided) > 0, self.times[1:]
        shares, influence = self.rates(right)
        moved = times @ influence
        spoken_of = times != 0
        more = np.where(spoken_of, self.more, 1.0).max(axis=1, initial=1.0)
        variances = (moved**2).sum(axis=1) * more
        imagined = ((1 - shares) ** 2 + shares**2) / (self.alone + 1) ** 2
        whole = variances + times**2 @ imagined
        return moved[:, some], whole, variances / np.maximum(whole, 1e-300)


def pair_moves(compiled: Compiled) -> PairMoves:
    """How rows move the rates of a problem on pairs."""
    pairs: Any = compiled.first
    (block,) = compiled.at_zero
    total, together = compiled.slice_weight(block), pairs.drawn_together
    inside = compiled.unpacked(slice(None)).astype(bool)  # (cells, slices)
    among = tuple(np.flatnonzero(own[compiled.cells]) for own in inside.T)
    few, many = np.array([_ends(pairs, own, together) for own in among]).reshape(-1, 2).T
    return PairMoves(
        (pairs.first, pairs.second) if together is None else (together[pairs.first],),
        pairs.rows.size if together is None else int(together.max()) + 1,
        pairs.row_weights,
        among,
        total,
        few,
        many,
        np.asarray(block.net.todense()) * total,
    )


def pair_errors(compiled: Compiled, scores: Array) -> PairErrors:
    """How the objective and all violations vary, given scores (P,) of pairs.

    A rate that is 0 or 1 on all pairs shows no variance. It counts as a rate of as many rows as the
    smaller number of its first or second rows, which bounds the variance of any rate of pairs from
    above.
    """
    return pair_moves(compiled).errors(scores >= 0)


def _ends(pairs: Any, among: Array, together: Array | None) -> tuple[float, float]:
    """The fewest and the most independent rows that a rate of these pairs may count as.

    Rows of one query may be alike, so there is no lower limit for rows that were drawn as queries.
    """
    first, second = (np.unique(ends[among]) for ends in (pairs.first, pairs.second))
    if together is not None:
        return 1.0, float(len(np.unique(together[first])))
    return float(min(len(first), len(second))), float(len(np.union1d(first, second)))


# --- the audit ---------------------------------------------------------------------------------------


def audit_pairs(problem: Problem, model: Any, pairs: Any, confidence: float) -> Audit:
    """Which promises about pairs a ranker keeps, on these pairs."""
    problem = spelled_out(problem, {FIRST: pairs}, AUDITED)
    scores = pairs.differences(row_scores(model, pairs.rows))
    known = getattr(getattr(model, "solution_", model), "constraints", ())
    promises = [
        _promise(promise, pairs, scores, confidence, promise in known) for promise in problem.constraints
    ]
    compiled = compile_on(problem.promising(()), {FIRST: pairs}, AUDITED)
    value = problem.shown(float(compiled.evaluate(scores)[0]))
    low = high = None
    if compiled.goal is None:
        errors = pair_errors(compiled, scores)
        up, down = errors.above(confidence)[0], errors.below(confidence)[0]
        wide = (down, up) if problem.sense == "minimize" else (up, down)
        low, high = around(value, (value - float(wide[0]), value + float(wide[1])))
    mixture = getattr(model, "solution_", model)
    return Audit(
        confidence=confidence,
        model="one ranker" if isinstance(mixture, Mixture) else type(model).__name__,
        populations={AUDITED: pairs.rows.size, "pairs": len(pairs)},
        objective=Objective(
            str(problem.objective),
            value,
            low,
            high,
            pairs.rows.size,
            "none" if low is None else "pairs",
            problem.sense,
            formula(problem.objective),
        ),
        promises=tuple(promises),
        groups=(),
        training=_training(mixture),
        provenance=provenance(pairs.digest, pairs.weights is not None),
        card=card_of(model, problem, pairs),
    )


def _promise(promise: Constraint, pairs: Any, scores: Array, confidence: float, known: bool) -> Promise:
    said: dict[str, Any] = {"formula": formula(promise), "sentence": sentence(promise)}
    try:
        compiled = compile_on(Problem(ERROR, [promise]), {FIRST: pairs}, AUDITED)
    except (NoRows, NoSuchValue) as error:
        if isinstance(error, NoSuchValue) and not known:
            _check_values(promise, pairs)
        return Promise(str(promise), promise.name, promise.relation, why=str(error), **said)
    violation = float(compiled.evaluate(scores)[1][0])
    rates = _rates(compiled.problem.rates, pairs, scores)
    left, right = (_value(side, rates) for side in (promise.left, promise.right))
    slack = None
    low = high = None
    if left is not None and right is not None:
        slack = (left - right) if promise.relation == ">=" else (right - left)
        errors, below = pair_errors(compiled, scores), 1.0
        if isinstance(promise.left, Ratio):  # the ratio's violation times its denominator
            below = _value(promise.left.denominator, rates) or 1.0
        up, down = errors.above(confidence)[1] / below, errors.below(confidence)[1] / below
        low, high = around(slack, (slack - float(up), slack + float(down)))
    return Promise(
        words=str(promise),
        name=promise.name,
        relation=promise.relation,
        value=left,
        bound=right,
        slack=slack,
        slack_low=low,
        slack_high=high,
        violation=violation,
        kept=bool(kept(violation, 1.0)),
        verdict=verdict_of(low, high),
        rows=_rows_behind(promise, pairs),
        method="none" if low is None else "pairs",
        why="" if low is not None else "it is a share of no pairs here",
        **said,
    )


def _check_values(promise: Constraint, pairs: Any) -> None:
    """Raise if a promise names a value that no row has: that is a mistake, not a lack of pairs."""
    inside = masker(pairs.rows)
    for rate in promise.rates:
        for leaf in leaves(rate.subset):
            if isinstance(leaf, Compare | In):
                inside(replace(leaf, column=pairs.own_name(leaf.column)))


def _rates(rates: Any, pairs: Population, scores: Array) -> dict[Rate, float]:
    """The value of each rate on the pairs."""
    distinct_rates = list(dict.fromkeys(rates))
    promises = [Expression(((rate, 1.0),)) >= 0 for rate in distinct_rates]
    compiled = compile(Problem(ERROR, promises), pairs)
    return dict(zip(distinct_rates, (-compiled.evaluate(scores)[1]).tolist(), strict=True))


def _value(side: Metric, rates: Mapping[Rate, float]) -> float | None:
    """The value of a side of a promise; None for a ratio with an empty denominator."""
    if isinstance(side, Ratio):
        above, below = _value(side.numerator, rates), _value(side.denominator, rates)
        return side.factor * above / below if above is not None and below else None
    assert isinstance(side, Expression)
    return side.constant + sum(times * rates[rate] for rate, times in side.terms)


def _rows_behind(promise: Constraint, pairs: Any) -> int:
    """The fewest rows that some rate of a promise rests on, at either end of its pairs."""
    inside, fewest = masker(pairs), [pairs.rows.size]
    for rate in promise.rates:
        among = inside(rate.subset)
        fewest += [len(np.unique(end[among])) for end in (pairs.first, pairs.second)]
    return min(fewest)


def _training(mixture: Any) -> tuple[float, float] | None:
    """Objective and worst violation on the training rows, judged out of fold."""
    if not isinstance(mixture, Mixture) or not mixture.objectives:
        return None
    violations = mixture.violations["train"]
    return mixture.objectives["train"], float(violations.max(initial=-np.inf))


def row_scores(model: Any, rows: Population) -> Array:
    """The score of every row (n,) by a ranker, a classifier or a regression from any library."""
    if callable(getattr(model, "decision_function", None)):
        scores = np.asarray(model.decision_function(rows.X))
    elif callable(getattr(model, "predict_proba", None)):
        scores = np.asarray(model.predict_proba(rows.X))[:, -1]
    elif callable(getattr(model, "predict", None)):
        scores = np.asarray(model.predict(rows.X))
    else:
        raise TypeError(
            f"pairs are compared by scores, but {type(model).__name__} has no decision_function, "
            "predict_proba or predict: give a fitted ranker, classifier or regression"
        )
    if scores.shape != (rows.size,) or scores.dtype.kind not in "buif":
        raise ValueError(
            f"pairs are compared by one score for each of the {rows.size:,} rows, but "
            f"{type(model).__name__} gives {scores.dtype} of shape {scores.shape}"
        )
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"row {row} has no score: {type(model).__name__} gives {scores[row]}")
    return scores.astype(float)
