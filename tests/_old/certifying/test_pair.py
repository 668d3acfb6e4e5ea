"""The test of two proportions, against enumeration: no sampling, no approximation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import barnard_exact, binom

from ratebound._old.certifying._bounds import Aim
from ratebound._old.certifying._nested import Inside, Nested, _Nodes, _Samples
from ratebound._old.certifying._pair import FAR_OUT, Line, Pair, Share, one_sided, pair_p_value, window

# Promises a p1 + b p2 + k >= 0: what they are, and the p1 at which they are just kept, given p2.
LINES = {
    "ratio": (1.0, -0.8, 0.0),
    "ratio above 1": (1.0, -1.25, 0.0),
    "at most a multiple": (-1.0, 1.25, 0.0),
    "at most a share": (-1.0, 0.8, 0.0),
    "equal": (1.0, -1.0, 0.0),
    "difference": (1.0, -1.0, 0.1),
    "at most a difference": (-1.0, 1.0, 0.05),
    "ratio and slack": (1.0, -0.9, 0.05),
    "sum": (1.0, 0.5, -0.9),
}


def p_values(n, m, line, gamma):
    a, b, k = line
    return np.array(
        [[pair_p_value(Share(i, n, a), Share(j, m, b), k, gamma) for j in range(m + 1)]
         for i in range(n + 1)]
    )  # fmt: skip


def boundary(line, points=201):
    """Rates at which the promise is just kept, all along the line."""
    a, b, k = line
    for q in np.linspace(0, 1, points):
        p = -(b * q + k) / a
        if 0 <= p <= 1:
            yield p, q


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("sizes", [(7, 12), (12, 5)], ids=str)
def test_the_size_is_exact_whatever_the_nuisance(name, sizes):
    """P(p-value <= δ) <= δ for every δ, by summing over all samples at every point of a fine grid."""
    n, m = sizes
    found = p_values(n, m, LINES[name], 0.001)
    for p, q in boundary(LINES[name]):
        masses = np.outer(binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, q))
        order = np.argsort(found, axis=None)
        reached = np.cumsum(masses.ravel()[order])
        sizes_at = found.ravel()[order]
        last = np.append(np.diff(sizes_at) > 0, True)  # samples with one p-value come together
        assert (reached[last] <= sizes_at[last] + 1e-9).all(), (p, q)


@pytest.mark.parametrize("name", LINES)
def test_inside_where_it_is_broken_it_is_rarer_still(name):
    n, m = 8, 9
    found = p_values(n, m, LINES[name], 0.001) <= 0.05
    a, b, k = LINES[name]
    for p, q in product(np.linspace(0, 1, 21), repeat=2):
        if a * p + b * q + k <= 0:
            masses = np.outer(binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, q))
            assert masses[found].sum() <= 0.05


def enumerated(first, second, constant):
    """Barnard's p-value with the score statistic, by all samples and a fine grid: a lower bound."""
    one, two = first.turned, second.turned
    bound = -constant + sum(-share.times for share in (first, second) if share.times < 0)
    line = Line(one.times, two.times, bound, one.rows, two.rows)
    scores = np.array([[line.score(i, j) for j in range(two.rows + 1)] for i in range(one.rows + 1)])
    seen = line.score(one.successes, two.successes)
    if seen <= 0:
        return scores, None
    region = scores >= seen * (1 - 1e-9)
    low, high = line.ends
    q1 = np.linspace(low, high, 1001)[:, None]
    q2 = np.asarray(line.second(q1))
    mass1 = binom.pmf(range(one.rows + 1), one.rows, q1)
    mass2 = binom.pmf(range(two.rows + 1), two.rows, q2)
    return scores, float(np.einsum("gi,ij,gj->g", mass1, region, mass2).max())


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(list(LINES.values())),
    st.integers(1, 8),
    st.integers(1, 8),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_the_p_value_is_the_largest_tail(line, n, m, p, q):
    a, b, k = line
    first, second = Share(round(p * n), n, a), Share(round(q * m), m, b)
    scores, largest = enumerated(first, second, k)
    assert (np.diff(scores, axis=0) >= -1e-9).all()  # more successes of either kind speak for it
    assert (np.diff(scores, axis=1) >= -1e-9).all()
    ours = pair_p_value(first, second, k, 0.0)
    if largest is None:
        assert ours == 1.0
    else:
        assert largest - 1e-9 <= ours <= largest * 1.02 + 2e-4


def test_of_equal_rates_it_is_barnards():
    for k, j in [(7, 2), (5, 1), (8, 0), (4, 3)]:
        scipy = barnard_exact([[k, j], [8 - k, 9 - j]], alternative="greater", n=256).pvalue
        ours = pair_p_value(Share(k, 8, 1.0), Share(j, 9, -1.0), 0.0, 0.0)
        assert scipy - 1e-6 <= ours <= 1.02 * scipy + 2e-4


def test_the_score_of_a_ratio_is_koopmans():
    """The constrained estimate is the smaller root of a quadratic; so is the statistic known."""
    ratio, n, m = 0.95, 590, 3256
    line = Line(1.0, ratio, ratio, n, m)  # of p1 and of 1 - p2
    for k, j in [(380, 2019), (400, 2100), (590, 3000), (1, 0)]:
        a, b, c = ratio * (n + m), -(ratio * (n + j) + k + m), k + j
        rest = (-b - np.sqrt(b * b - 4 * a * c)) / (2 * a)
        group = ratio * rest
        deviation = np.sqrt(group * (1 - group) / n + ratio**2 * rest * (1 - rest) / m)
        expected = (k / n - ratio * j / m) / deviation
        assert line.score(k, m - j) == pytest.approx(expected, rel=1e-7)


def test_large_samples_agree_with_the_normal_tail():
    from scipy.stats import norm

    n, m = 40_000, 90_000
    line = Line(1.0, 0.9, 0.9, n, m)
    k, j = round(n * 0.566), round(m * 0.62)
    ours = pair_p_value(Share(k, n, 1.0), Share(j, m, -0.9), 0.0, 0.001)
    assert ours == pytest.approx(norm.sf(line.score(k, m - j)) + 0.001, rel=0.05)


@pytest.mark.parametrize("rows", [3, 50, 1000, 10**6])
@pytest.mark.parametrize("rate", [0.0, 1e-7, 1e-4, 0.01, 0.3, 0.62, 0.999])
def test_what_lies_far_out_is_added(rows, rate):
    looked_at = window(rows, rate, rate)
    missed = binom.cdf(looked_at[0] - 1, rows, rate) + binom.sf(looked_at[-1], rows, rate)
    assert 2 * missed < FAR_OUT


def test_rates_that_cannot_break_or_keep_it():
    half = Share(5, 10, 0.5)
    assert pair_p_value(half, half, 0.1, 0.001) == 0.0
    assert pair_p_value(half, half, -1.0, 0.001) == 1.0
    nothing = Share(3, 10, 0.0)
    alone = pair_p_value(Share(9, 10, 1.0), nothing, -0.5, 0.001)
    assert alone == pytest.approx(binom.sf(8, 10, 0.5))


def test_bounds_of_one_proportion():
    for k, n in [(0, 5), (3, 5), (5, 5), (40, 100)]:
        low, high = one_sided(k, n, 0.05)
        assert binom.sf(k - 1, n, low) == pytest.approx(0.05 if k else 1.0)
        assert binom.cdf(k, n, high) == pytest.approx(0.05 if k < n else 1.0)


# --- a group inside everyone -------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "slack", "above"), [(0.8, 0, True), (1.25, 0, False), (1.0, 0.1, True)])
def test_a_group_inside_everyone_by_enumeration(c, slack, above):
    """All samples of seven rows, each in the group or not and a success or not: P(p-value <= δ) <= δ."""
    total, aim = 7, Aim(0.2)
    sign = 1.0 if above else -1.0  # recall(g) >= c recall() - slack, or <= c recall() + slack
    samples = np.array(
        [(n, k, j) for n in range(1, total)
         for k, j in product(range(n + 1), range(total - n + 1))]
    )  # fmt: skip
    found = np.array(
        [
            Nested(k, n, j, total - n, (0.0, sign), (0.0, -sign * c), (0.0, -sign * c))
            .tested(slack, aim)
            .p_value
            for n, k, j in samples
        ]
    )
    order = np.argsort(found)
    last = np.append(np.diff(found[order]) > 0, True)  # samples with one p-value come together
    n, k, j = samples[order].T
    for share, q in product((0.1, 0.3, 0.6, 0.9, 0.97), np.linspace(0.05, 1, 20)):
        p = (c * (1 - share) * q - sign * slack) / (1 - c * share)
        if 0 <= p <= 1:
            mass = binom.pmf(n, total, share) * binom.pmf(k, n, p) * binom.pmf(j, total - n, q)
            assert (np.cumsum(mass)[last] <= found[order][last] + 1e-9).all(), (share, q)


def drawn_inside(random, rows, share, p, q):
    n = random.binomial(rows, share)
    return random.binomial(n, p), n, random.binomial(rows - n, q), rows - n


def test_the_probability_of_samples_inside_everyone_is_their_frequency():
    """At a node, and never above the bound anywhere between nodes."""
    rows, share, f, q = 600, 0.85, 0.9, 0.75
    promise = Inside(rows, (1.0, -f), f, (0.0, 0.0))
    seen = 510, 253, 67
    intervals = [one_sided(*each, 1e-4) for each in ((510, rows), (253, 510), (67, 90))]
    score = promise.score(510, 253, 67)
    samples = _Samples.of(promise, score, seen, intervals)
    grid = _Nodes.of(promise, 510, intervals, 0.9)
    bound, _ = samples.largest(grid)
    random = np.random.default_rng(0)
    p = float(promise.worst(np.asarray(share), np.asarray(q), False))
    own = slice(0, len(samples.start))
    (exact,) = samples.probability(own, share, np.array([p]), np.array([q]))
    scores = []
    for k, n, j, _ in (drawn_inside(random, rows, share, p, q) for _ in range(1000)):
        scores.append(promise.score(n, k, j))
    frequency = np.mean(np.array(scores) >= score)
    assert frequency == pytest.approx(exact, abs=4 * np.sqrt(exact / 1000))
    for _ in range(30):
        s, rate = (random.uniform(*ends) for ends in intervals[::2])
        p = float(promise.worst(np.asarray(s), np.asarray(rate), False))
        if intervals[1][0] <= p <= intervals[1][1]:
            assert samples.probability(own, s, np.array([p]), np.array([rate])) <= bound


def test_a_large_group_is_tested_as_sharply_as_the_delta_method_would():
    """With 2.49 deviations of room a normal test of the same level shows 80%."""
    random, aim, shown = np.random.default_rng(1), Aim(0.05), 0
    for _ in range(25):
        k, n, j, rest = drawn_inside(random, 600, 0.85, 0.527, 0.75)
        shown += (
            Nested(k, n, j, rest, (0.0, 1.0), (0.0, -0.9), (0.0, -0.9)).tested(0.0, aim).p_value <= 0.05
        )
    assert 0.6 <= shown / 25 <= 0.95


def test_planning_is_about_right():
    pair = Pair(Share(365, 590, 1.0), Share(2019, 3256, -0.95), 0.0)
    assert pair.spread(Aim(0.05)) == pytest.approx(0.054, abs=0.002)  # as benchmarked
