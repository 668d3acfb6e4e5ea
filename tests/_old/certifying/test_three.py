"""The exact test of a mean of three values, against all samples enumerated and against a normal tail."""

import numpy as np
import pytest
from scipy.stats import multinomial, norm

from ratebound._old.certifying._bounds import betting, shuffled
from ratebound._old.certifying._three import Boundary, three_values_p_value

VALUES = [(-0.9, 0.1, 1.1), (-1.2, -0.2, 0.8), (-0.5, 0.05, 2.0), (-2.0, 0.3, 0.4), (-0.3, -0.2, 3.0)]


def samples(rows):
    return np.array([(b, rows - b - g, g) for b in range(rows + 1) for g in range(rows + 1 - b)])


def on_the_boundary(values, points=400):
    """Probabilities (points, 3) with a mean of 0."""
    low, middle, high = values
    bad = np.linspace(0.0, 1.0, points)
    good = -(low * bad + middle * (1 - bad)) / (high - middle)
    probabilities = np.column_stack([bad, 1 - bad - good, good])
    return probabilities[(probabilities >= 0).all(axis=1)]


@pytest.mark.parametrize("values", VALUES)
def test_more_good_rows_and_fewer_bad_ones_never_make_a_sample_worse(values):
    for rows in (5, 30, 120):
        line = Boundary(*values, rows=rows)
        good, bad = np.meshgrid(np.arange(rows + 1), np.arange(rows + 1), indexing="ij")
        there = good + bad <= rows
        score = np.where(there, line.score(np.where(there, good, 0), np.where(there, bad, 0)), np.nan)
        above = score > 0
        assert not ((np.diff(score, axis=0) < -1e-9) & above[1:]).any()
        assert not ((np.diff(score, axis=1) > 1e-9) & above[:, :-1]).any()


@pytest.mark.parametrize("values", VALUES)
def test_the_p_value_is_the_largest_probability_of_so_good_a_sample(values):
    rows = 14
    line, every = Boundary(*values, rows=rows), samples(rows)
    scores = line.score(every[:, 2], every[:, 0])
    just_kept = on_the_boundary(values)
    chances = np.array([multinomial.pmf(every, rows, p / p.sum()) for p in just_kept])
    for seen in [(1, 8, 5), (0, 12, 2), (2, 9, 3), (0, 2, 12), (5, 5, 4)]:
        score = float(line.score(np.array(seen[2]), np.array(seen[0])))
        ours = three_values_p_value(values, seen, 0.0)
        if score <= 0:
            assert ours == 1.0
            continue
        brute = chances[:, scores >= score * (1 - 1e-9)].sum(axis=1).max()
        assert brute - 1e-6 <= ours <= 1.02 * brute + 5e-4


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_a_mean_that_is_not_above_zero_is_rarely_shown_to_be(values, delta):
    """Over all samples of 16 rows, at every point of a grid that just keeps the promise."""
    every = samples(16)
    p_values = np.array([three_values_p_value(values, tuple(map(int, s)), 0.02 * delta) for s in every])
    shown = every[p_values <= delta]
    for p in on_the_boundary(values, 100):
        assert multinomial.pmf(shown, 16, p / p.sum()).sum() <= delta + 1e-9


def test_large_samples_agree_with_the_normal_tail():
    values, counts = (-0.99, 0.01, 1.01), (680, 18_800, 520)
    score = float(Boundary(*values, rows=20_000).score(np.array(520), np.array(680)))
    assert three_values_p_value(values, counts, 1e-6) == pytest.approx(norm.sf(score), rel=0.05)


def test_the_score_is_tangos():
    """His constrained estimate is the root of a quadratic in the share of one kind of pair."""
    rows, gains, lost, margin = 200, 6, 9, 0.08
    line = Boundary(-1 + margin, margin, 1 + margin, rows=rows)
    a, b = 2 * rows, -gains - lost - (2 * rows - gains + lost) * margin
    c = lost * margin * (1 + margin)
    share = (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a)
    expected = (gains - lost + rows * margin) / np.sqrt(rows * (2 * share - margin * (1 + margin)))
    assert float(line.score(np.array(gains), np.array(lost))) == pytest.approx(expected, rel=1e-9)


def test_it_shows_more_than_betting():
    """Not worse by more than .01 in truth equal models that differ on 3% of 4,000 rows: power."""
    random, rows, margin, level = np.random.default_rng(0), 4000, 0.01, 0.05 / 12
    shown = np.zeros(2)
    for _ in range(200):
        bad, same, good = map(int, random.multinomial(rows, [0.015, 0.97, 0.015]))
        values = np.repeat([-1 + margin, margin, 1 + margin], [bad, same, good])
        shown[0] += three_values_p_value((-0.99, 0.01, 1.01), (bad, same, good), 0.02 * level) <= level
        shown[1] += betting(shuffled(values, np.ones(rows, dtype=int)), -1 + margin) <= level
    assert shown[0] / 200 > 0.8
    assert shown[0] > shown[1] + 10
