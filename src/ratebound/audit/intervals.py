"""How far the numbers of one sample can be trusted.

A single rate of a single model is a proportion: its interval is exact (Clopper and Pearson). Anything
else is counted again on rows drawn anew, by the Bayesian bootstrap: the number of rows of each kind is
drawn from a gamma distribution about its count (Rubin, 1981; the same mean and variance as drawing
rows with replacement, but no group is ever empty). As with Jeffreys' prior, half a row of each
decision is imagined in every set of rows, so that ten right decisions of ten are not taken for
certainty. For a mixture, each drawn row draws its member too: the interval is that of decisions as they
fall in use, not only of their expectation. An area under the curve has DeLong's interval, over the
areas' mean.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betaincinv, ndtri

from ratebound.audit.decided import Array
from ratebound.audit.measure import Tally

Interval = tuple[float, float]
CHUNK = 2**22  # numbers drawn at a time


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """The exact interval of a proportion.

    >>> low, high = clopper_pearson(0, 10)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.3085)
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"a proportion needs 0 <= successes <= trials, got {successes} of {trials}")
    tail = (1.0 - level) / 2
    misses = trials - successes
    low = float(betaincinv(successes, misses + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, misses, 1.0 - tail)) if misses else 1.0
    return low, high


def resampled(
    tally: Tally,
    statistic: Callable[[Array], Array],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """The percentile interval of `statistic`, a function of totals (draws, kinds) -> (draws,)."""
    rng = np.random.default_rng(seed)
    shape = tally.count + tally.prior
    step = max(1, CHUNK // max(1, len(shape)))
    values = []
    for start in range(0, resamples, step):
        drawn = min(step, resamples - start)
        values.append(statistic(rng.standard_gamma(shape, (drawn, len(shape))) * tally.size))
    found = np.concatenate(values)
    found = found[np.isfinite(found)]
    if not len(found):
        return None
    tail = (1.0 - level) / 2
    low, high = np.quantile(found, [tail, 1.0 - tail])
    return float(low), float(high)


def around_area(
    positives: Array,
    negatives: Array,
    members: Array,
    positive_weights: Array,
    negative_weights: Array,
    level: float = 0.95,
) -> float:
    """Half the width of DeLong's interval for the mean area of members (M,) on scores (M, rows).

    Each row's placement is the share of the other class on its right side, averaged over members; the
    variance is that of the two mean placements. One row placed best and one placed worst are
    imagined in each class: a perfect ranking of three rows proves little.
    """
    above = sum(
        w * _share_below(n, negative_weights, p)
        for w, p, n in zip(members, positives, negatives, strict=True)
    )
    below = sum(
        w * _share_below(-p, positive_weights, -n)
        for w, p, n in zip(members, positives, negatives, strict=True)
    )
    variance = _variance_of_mean(np.asarray(above), positive_weights)
    variance += _variance_of_mean(np.asarray(below), negative_weights)
    return float(ndtri((1.0 + level) / 2) * np.sqrt(variance))


def _share_below(values: Array, weights: Array, at: Array) -> Array:
    """Share of `weights` whose values lie below each of `at`, those equal counting half."""
    order = np.argsort(values, kind="stable")
    totals = np.concatenate([[0.0], np.cumsum(weights[order])])
    left = np.searchsorted(values[order], at, side="left")
    right = np.searchsorted(values[order], at, side="right")
    return (totals[left] + totals[right]) / (2 * totals[-1])


def _variance_of_mean(values: Array, weights: Array) -> float:
    typical = (weights**2).sum() / weights.sum()
    values = np.append(values, [0.0, 1.0])
    weights = np.append(weights, [typical, typical])
    mean = weights @ values / weights.sum()
    return float((weights**2 @ (values - mean) ** 2) / weights.sum() ** 2)
