"""Intervals: exact where they can be, and covering about as often as they say where they cannot."""

import numpy as np
import pytest
from scipy.stats import beta, binomtest

import ratebound as rb
from ratebound.audit import audit
from ratebound.audit.intervals import clopper_pearson

from .conftest import draw, mixture


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (250, 1000)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_clopper_pearson_is_scipys(k, n, level):
    wanted = binomtest(k, n).proportion_ci(level, method="exact")
    assert clopper_pearson(k, n, level) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_clopper_pearson_refuses_what_is_no_proportion():
    with pytest.raises(ValueError, match="5 of 4"):
        clopper_pearson(5, 4)


def yes(count, n):
    """A population of `n` positive rows of which the model says yes to `count`."""
    return rb.Population(np.where(np.arange(n) < count, 1.0, -1.0)[:, None], np.ones(n, int))


@pytest.mark.parametrize(
    ("constraint", "ends"),
    [
        (rb.recall() >= 0.5, lambda low, high: (low - 0.5, high - 0.5)),
        (rb.recall() <= 0.9, lambda low, high: (0.9 - high, 0.9 - low)),
        (rb.false_negative_rate() <= 0.5, lambda low, high: (low - 0.5, high - 0.5)),
        (2 * rb.recall() - 0.1 >= 0.9, lambda low, high: (2 * low - 1, 2 * high - 1)),
    ],
    ids=["at least", "at most", "of noes", "scaled"],
)
def test_one_rate_of_one_model_is_exact(constraint, ends):
    report = audit(rb.Problem(rb.error_rate(), [constraint]), mixture([1.0]), yes(14, 20))
    promise = report.promises[0]
    assert promise.method == "exact"
    assert (promise.slack_low, promise.slack_high) == pytest.approx(ends(*clopper_pearson(14, 20)))
    assert promise.rows == 20


@pytest.mark.parametrize("case", ["mixture", "weights", "two rates", "count"])
def test_everything_else_is_drawn(case):
    people = draw(weighted=case == "weights")
    constraint = {"two rates": rb.recall() >= rb.recall(sex="F"), "count": rb.true_positives() >= 9}
    promise = audit(
        rb.Problem(rb.error_rate(), [constraint.get(case, rb.recall() >= 0.5)]),
        mixture([0.5, 0.5] if case == "mixture" else [1.0]),
        people,
    ).promises[0]
    assert promise.method == "bootstrap"
    assert promise.slack_low < promise.slack < promise.slack_high


def test_draws_are_the_same_every_time_and_another_seed_differs():
    problem = rb.Problem(rb.error_rate(), [rb.recall(sex="F") >= rb.recall()])
    first, again, other = (audit(problem, mixture([1.0]), draw(), seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first.promises[0].slack_low != other.promises[0].slack_low


def test_a_perfect_small_group_is_not_taken_for_certainty():
    """All of ten women found, and nearly all men: drawing rows again alone would give no width."""
    sex = np.array(["F"] * 10 + ["M"] * 1000)
    scores = np.ones((1010, 1))
    scores[10:60] = -1
    people = rb.Population(scores, np.ones(1010, int), columns={"sex": sex})
    report = audit(
        rb.Problem(rb.error_rate(), [rb.recall(sex="F") >= rb.recall()]), mixture([1.0]), people
    )
    promise = report.promises[0]
    assert promise.kept
    assert promise.verdict == "uncertain"
    # About Jeffreys' interval for ten of ten, less everyone's recall.
    assert promise.slack_low == pytest.approx(beta.ppf(0.025, 10.5, 0.5) - 0.95, abs=0.03)


def test_a_mixture_varies_as_decisions_do_not_as_their_expectation():
    """Every row has probability one half of a yes: the expectation is certain, decisions are not."""
    people = rb.Population(np.tile([1.0, -1.0], (100, 1)), np.ones(100, int))
    promise = audit(
        rb.Problem(rb.error_rate(), [rb.recall() >= 0.5]), mixture([0.5, 0.5]), people
    ).promises[0]
    low, high = beta.ppf([0.025, 0.975], 50.5, 50.5) - 0.5
    assert (promise.slack_low, promise.slack_high) == pytest.approx((low, high), abs=0.01)


def simulated(rng, weighted=False):
    """A sample of 300, a third women; members say yes to positives with 0.8 (women) or 0.7 (men)."""
    women, y = rng.random(300) < 1 / 3, rng.random(300) < 0.5
    chance = np.where(y, np.where(women, 0.8, 0.7), 0.2)
    X = np.where(rng.random((300, 2)) < chance[:, None], 1.0, -1.0)
    weights = rng.choice([1.0, 4.0], 300) if weighted else None
    return rb.Population(X, y, columns={"sex": np.where(women, "F", "M")}, weights=weights)


CASES = {  # constraint, the true value of left less right
    "difference": (rb.recall(sex="F") >= rb.recall(sex="M"), 0.1),
    "share": (rb.recall(sex="F") >= 0.9 * rb.recall(), 0.8 - 0.9 * (0.8 + 2 * 0.7) / 3),
    "precision": (rb.precision() >= 0.5, (2.2 / 3) / (2.2 / 3 + 0.2) - 0.5),
}


@pytest.mark.parametrize(
    ("name", "members", "weighted"),
    [
        ("difference", 1, False),
        ("difference", 1, True),
        ("share", 1, False),
        ("share", 2, False),
        ("precision", 1, False),
    ],
)
def test_coverage(name, members, weighted):
    constraint, truth = CASES[name]
    problem = rb.Problem(rb.error_rate(), [constraint])
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(200):
        people = simulated(rng, weighted)
        promise = audit(
            problem, mixture(np.full(members, 1 / members)), people, level=0.9, resamples=300
        ).promises[0]
        covered.append(promise.slack_low <= truth <= promise.slack_high)
    # Unequal weights leave fewer effective rows. Two members vary less in expectation than one drawn.
    assert (0.81 if weighted else 0.84) <= np.mean(covered) <= (0.96 if members == 1 else 1.0)


def test_coverage_of_areas():
    rng = np.random.default_rng(2)
    problem = rb.Problem(rb.error_rate(), [rb.roc_auc(bins=50) >= 0.5])
    truth = 0.76025  # of scores one standard deviation apart: Phi(1 / sqrt(2))
    covered = []
    for _ in range(100):
        y = rng.random(200) < 0.4
        people = rb.Population((rng.normal(size=200) + y)[:, None], y)
        promise = audit(problem, mixture([1.0]), people, level=0.9).promises[0]
        covered.append(promise.slack_low <= truth - 0.5 <= promise.slack_high)
    assert 0.84 <= np.mean(covered) <= 0.97


@pytest.mark.parametrize(
    ("count", "kept", "verdict"),
    [(95, True, "kept"), (82, True, "uncertain"), (78, False, "uncertain"), (50, False, "broken")],
)
def test_kept_here_and_beyond(count, kept, verdict):
    report = audit(rb.Problem(rb.error_rate(), [rb.recall() >= 0.8]), mixture([1.0]), yes(count, 100))
    promise = report.promises[0]
    assert (promise.kept, promise.verdict) == (kept, verdict)
    assert (report.kept, report.certain) == (kept, verdict == "kept")
