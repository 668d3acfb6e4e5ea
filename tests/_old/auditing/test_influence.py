"""Standard errors of promises against redrawn samples, and against formulas that textbooks have."""

from types import SimpleNamespace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.auditing.influence import covariance
from ratebound._old.auditing.judged import judged, scored
from ratebound._old.auditing.tallying import tallied

PROMISES = [
    'recall(group == "a") >= 0.95 * recall()',
    'precision(group == "b") >= 0.2',
    "false_positive_rate() <= 0.4",
    "predicted_positives(per=2000) <= 900",
    'accuracy(group == "a") - accuracy(group == "b") <= 0.1',
]


def rows(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.1, 0.5, 0.4])
    y = rng.random(n) < 0.3
    return group, y, rng.normal(size=n) + y, rng.exponential(size=n)


@pytest.mark.parametrize("weighted", [False, True])
def test_as_violations_vary_over_redrawn_samples(weighted):
    group, y, scores, weights = rows()

    def compiled(chosen):
        given = {"weights": weights[chosen]} if weighted else {}
        people = rb.Population(None, y[chosen], columns={"group": group[chosen]}, **given)
        return rb.compile(rb.Problem("error_rate()", PROMISES), people)

    whole = compiled(np.arange(len(y)))
    tally = tallied(scored({"train": scores}, ""), whole.populations, whole.problem.rates)
    found = covariance(tally, whole.problem.demands)
    rng = np.random.default_rng(1)
    samples = [rng.integers(0, len(y), len(y)) for _ in range(300)]
    redrawn = np.cov(np.array([compiled(s).evaluate(scores[s])[1] for s in samples]).T)
    sizes, theirs = np.sqrt(np.diag(found)), np.sqrt(np.diag(redrawn))
    np.testing.assert_allclose(sizes, theirs, rtol=0.2)
    apart = found / np.outer(sizes, sizes) - redrawn / np.outer(theirs, theirs)
    assert np.abs(apart).max() < 0.2


def test_one_rate_has_the_error_of_a_proportion():
    people = rb.Population(None, [1] * 400 + [0] * 100)
    scores = np.where(np.arange(500) < 100, 1.0, -1.0)
    problem = rb.Problem("error_rate()", [rb.recall() >= 0.1])
    tally = tallied(scored({"train": scores}, ""), {"train": people}, problem.rates)
    assert covariance(tally, problem.demands)[0, 0] ** 0.5 == pytest.approx(
        (0.25 * 0.75 / 400) ** 0.5, rel=0.01
    )


def test_ten_of_ten_are_no_certainty():
    people = rb.Population(None, [1] * 10)
    problem = rb.Problem("error_rate()", [rb.recall() >= 0.1])
    tally = tallied(scored({"train": np.ones(10)}, ""), {"train": people}, problem.rates)
    assert covariance(tally, problem.demands)[0, 0] ** 0.5 == pytest.approx(0.1)


def test_other_populations_are_independent():
    first = rb.Population(None, [1] * 50 + [0] * 50)
    steering = rb.Population(None, [1] * 20 + [0] * 20)
    problem = rb.Problem("error_rate()", [rb.recall() >= 0.1, rb.recall(on="steering") >= 0.1])
    rng = np.random.default_rng(0)
    scores = {"train": rng.normal(size=100), "steering": rng.normal(size=40)}
    people = {"train": first, "steering": steering}
    found = covariance(tallied(scored(scores, ""), people, problem.rates), problem.demands)
    assert found[0, 1] == 0.0
    assert found[1, 1] > found[0, 0] > 0.0


def test_decisions_as_they_fall_vary_more_than_expected_ones():
    """A coin for everyone has the same rates in expectation on every sample; drawn, those of a coin."""
    people = rb.Population(np.zeros((400, 1)), [1] * 300 + [0] * 100)
    coin = SimpleNamespace(
        weights=[0.5, 0.5], thresholds={}, member_scores=lambda X: np.outer(np.ones(len(X)), [1.0, -1.0])
    )
    problem = rb.Problem("error_rate()", [rb.recall() >= 0.1, rb.error_rate() <= 0.9])
    tally = tallied(judged(coin), {"train": people}, problem.rates)
    expected = covariance(tally, problem.demands)
    drawn = covariance(tally, problem.demands, drawn=True)
    rng = np.random.default_rng(0)
    samples = rng.integers(0, 400, (2000, 400))
    redrawn = []
    for sample in samples:
        y, yes = sample < 300, rng.random(400) < 0.5
        redrawn.append((0.1 - yes[y].mean(), (yes != y).mean() - 0.9))
    assert np.sqrt(expected[0, 0]) < 0.01
    np.testing.assert_allclose(drawn, np.cov(np.array(redrawn).T), rtol=0.15, atol=1e-5)
