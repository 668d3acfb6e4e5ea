"""Rates of the rows with the largest scores: their exact values, and how these vary.

Rows are sorted by their scores, and the first `most` of their weight are the top. Rows that tie with the
last of them share the remaining places, which gives the mean over all ways to break ties.

The score that separates the top from the rest varies with the sample too. If rows at the margin are
positive with probability m, one more row above it pushes a row at the margin out. So it moves the number
of positives in the top by y - m, not by y.
"""

from __future__ import annotations

import math

import numpy as np

from ratebound._old.auditing._intervals import clopper_pearson
from ratebound._old.auditing.influence import effect_of_clusters
from ratebound._old.auditing.report import Measured
from ratebound._old.auditing.tally import Lines, Tally
from ratebound._old.base.types import Array
from ratebound._old.rates.expressions import Rate, Top
from ratebound._old.rates.kinds import is_top_count
from ratebound._old.rates.subsets import Label

MARGIN = 0.25  # rows on either side of the margin that represent it, as a share of the top
FEWEST = 5.0  # such rows on either side, at least


def measured_top(metric: Top, bound: float, tally: Tally, confidence: float) -> tuple[Measured, int]:
    """The value of a rate of the top against its bound, and the number of rows it rests on.

    It is the mean over a mixture's members, each with its own top.
    """
    rate, lines = metric.rate, tally[metric.rate.population]
    assert lines.answers is not None
    inside = lines.inside(rate.subset)
    value, moved, among = 0.0, np.zeros(len(lines)), np.zeros(len(lines))
    for chance, scores in zip(tally.model.chances, lines.answers[:, 0], strict=True):
        of_member, moves, counts = _of_member(rate, lines, scores, inside)
        value, moved, among = value + chance * of_member, moved + chance * moves, among + chance * counts
    rows = round(float(lines.rows @ among))
    alike = 1.0
    if tally.clustered is not None:
        alike = effect_of_clusters(tally, {rate.population: (moved, inside)}, confidence)
    if math.isinf(alike):
        return (float(value), bound, None, "none"), rows
    equal = float((lines.total @ among) ** 2 / (lines.total @ (lines.weight * among)))
    variance = float(lines.rows @ moved**2)
    value = min(float(value), 1.0)  # sums of weights are rounded
    trials = (value * (1.0 - value) + 0.25 / equal) / (variance + 0.25 / equal**2) / alike
    low, high = clopper_pearson(value * trials, trials, confidence)
    return (value, bound, (low - bound, high - bound), "top"), rows


def _of_member(rate: Rate, lines: Lines, scores: Array, inside: Array) -> tuple[float, Array, Array]:
    """A rate of one member's top, how far each line's row moves it, and the rows it is taken among."""
    assert rate.top is not None
    weight, positive = lines.total * inside, lines.inside(rate.subset & Label())
    if is_top_count(rate):  # out of so many rows of the whole population
        assert rate.per is not None
        base, most = np.ones(len(lines)), rate.top / rate.per * float(lines.total.sum())
    else:
        base, most = inside.astype(float), rate.top * float(weight.sum())
    top = in_top(scores, weight, most)
    margin = _margin(scores, weight, positive, most, float(weight.sum() / lines.rows[inside].sum()))
    share = most / float(lines.total @ base)
    right = float(weight @ (top * positive))
    if rate.kind == "precision":
        value, counts, over = right / most, top, most
        moved = (positive - margin) * top - (value - margin) * share * base
    else:
        over = float(weight @ positive)
        value, counts = right / over, positive.astype(float)
        moved = positive * (top - value) - margin * (top - share * base)
    return value, lines.weight * moved / over, counts


def in_top(scores: Array, weights: Array, most: float) -> Array:
    """The share (n,) of each row that belongs to the top `most`, by weight, of the scores.

    >>> in_top(np.array([3.0, 1.0, 2.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0]), 3.0)
    array([1. , 0.5, 1. , 0.5])
    """
    counting = weights > 0
    share = np.zeros(len(scores))
    _, place = np.unique(-scores[counting], return_inverse=True)
    each = np.bincount(place, weights[counting])
    share[counting] = ((most - (np.cumsum(each) - each)) / each).clip(0.0, 1.0)[place]
    return share


def _margin(scores: Array, weights: Array, positive: Array, most: float, typical: float) -> float:
    """The probability that a row at the margin of the top is positive, from the rows on either side."""
    width = max(MARGIN * most, FEWEST * typical)
    beside = in_top(scores, weights, most + width) - in_top(scores, weights, max(most - width, 0.0))
    return float(weights @ (beside * positive) / (weights @ beside))
