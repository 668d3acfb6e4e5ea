"""Intervals: exact where they can be, and covering about as often as they say where they cannot."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom, binomtest, norm

import ratebound._old as rb
from ratebound._old.auditing._intervals import clopper_pearson

from .conftest import draw, mixture

audit = partial(rb.audit, confidence=0.975)  # whose bounds are the ends of intervals of 95%


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


@pytest.mark.parametrize("case", ["mixture", "weights", "two rates", "two counts"])
def test_everything_else_is_by_scores(case):
    people = draw(weighted=case == "weights")
    constraint = {
        "two rates": rb.recall() >= rb.recall(sex="F"),
        "two counts": rb.true_positives() >= 2 * rb.false_positives(),
    }
    promise = audit(
        rb.Problem(rb.error_rate(), [constraint.get(case, rb.recall() >= 0.5)]),
        mixture([0.5, 0.5] if case == "mixture" else [1.0]),
        people,
    ).promises[0]
    assert promise.method == "score"
    assert promise.slack_low < promise.slack < promise.slack_high


def test_a_count_is_exact():
    report = audit(rb.Problem(rb.error_rate(), [rb.true_positives() >= 9]), mixture([1.0]), yes(14, 20))
    promise = report.promises[0]
    assert promise.method == "exact"
    ends = 20 * np.array(clopper_pearson(14, 20)) - 9
    assert (promise.slack_low, promise.slack_high) == pytest.approx(ends)


def two_groups(hits, sizes):
    """All labels positive; so many yeses among so many rows of the groups 0, 1, ..."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    places = np.concatenate([np.arange(n) for n in sizes])
    scores = np.where(places < np.repeat(hits, sizes), 1.0, -1.0)
    return rb.Population(scores[:, None], np.ones(len(groups), int), columns={"g": groups})


def miettinen_nurminen(x, n, level=0.95):
    """The score interval of a difference of two proportions, by maximizing the likelihood numerically.

    Corrected as ours is: by skewness, by a quarter of what one row changes, and by n / (n - 1) a group.
    """
    z = norm.ppf((1 + level) / 2)
    found = x[0] / n[0] - x[1] / n[1]

    def excess(difference):
        def minus_likelihood(p):
            return -binom.logpmf(x, n, np.clip([p + difference, p], 0.0, 1.0)).sum()

        ends = max(0.0, -difference), min(1.0, 1.0 - difference)
        p = minimize_scalar(minus_likelihood, bounds=ends, method="bounded", options={"xatol": 1e-13}).x
        rates, m = np.array([p + difference, p]), np.array(n)
        variance = (rates * (1 - rates) / (m - 1)).sum()
        third = ([1, -1] * rates * (1 - rates) * (1 - 2 * rates) / m**2).sum()
        side = np.sign(difference - found)
        skewness = side * third / variance**1.5 * (z * z - 1) / 6
        return abs(found - difference) - 0.25 / max(n) - (z - skewness) * variance**0.5

    return brentq(excess, -1 + 1e-9, found - 1e-6), brentq(excess, found + 1e-6, 1 - 1e-9)


@pytest.mark.parametrize(
    ("hits", "sizes"), [((14, 9), (20, 20)), ((45, 30), (50, 60)), ((3, 5), (8, 11))]
)
def test_a_difference_is_the_corrected_score_interval(hits, sizes):
    problem = rb.Problem(rb.error_rate(), [rb.recall(g=0) >= rb.recall(g=1)])
    promise = audit(problem, mixture([1.0]), two_groups(hits, sizes)).promises[0]
    wanted = miettinen_nurminen(hits, sizes)
    assert (promise.slack_low, promise.slack_high) == pytest.approx(wanted, abs=2e-5)


def test_intervals_do_not_depend_on_how_a_sum_is_written():
    """The difference with everyone is a multiple of that with the others; noes are yeses reversed."""
    people = draw()

    def ends(constraint):
        promise = audit(rb.Problem(rb.error_rate(), [constraint]), mixture([1.0]), people).promises[0]
        return promise.slack_low, promise.slack_high

    plain = ends(rb.recall(sex="F") >= rb.recall(sex="M"))
    turned = ends(rb.false_negative_rate(sex="F") <= rb.false_negative_rate(sex="M"))
    moved = ends(2 * rb.recall(sex="F") - 1 >= 2 * rb.recall(sex="M") - 1)
    assert turned == pytest.approx(plain, abs=1e-6)
    assert np.array(moved) / 2 == pytest.approx(np.array(plain), abs=1e-6)


def test_a_perfect_small_group_is_not_taken_for_certainty():
    """All of ten women found, and nearly all men: the sample alone shows no variation among women."""
    report = audit(
        rb.Problem(rb.error_rate(), [rb.recall(g=0) >= rb.recall()]),
        mixture([1.0]),
        two_groups((10, 950), (10, 1000)),
    )
    promise = report.promises[0]
    assert promise.kept
    assert promise.verdict == "may not hold"
    low, _ = clopper_pearson(10, 10)
    assert promise.slack_low == pytest.approx(low - 0.95, abs=0.06)


def test_a_set_that_happens_to_be_empty_is_not_taken_for_empty():
    """None of twenty labels is positive here; elsewhere some may be."""
    people = rb.Population(np.full((20, 1), -1.0), np.zeros(20, int))
    promise = audit(
        rb.Problem(rb.error_rate(), [rb.positive_rate() >= rb.prevalence()]), mixture([1.0]), people
    ).promises[0]
    assert (promise.kept, promise.verdict) == (True, "may not hold")
    assert -0.35 < promise.slack_low < -0.1


def test_a_mixture_varies_as_its_expectation_does():
    """If members disagree on every row alike, a hundred rows show much, and ten show less."""
    widths = []
    for rows in (10, 100):
        people = rb.Population(np.tile([1.0, -1.0], (rows, 1)), np.ones(rows, int))
        problem = rb.Problem(rb.error_rate(), [rb.recall() >= 0.5])
        promise = audit(problem, mixture([0.5, 0.5]), people).promises[0]
        drawn = clopper_pearson(rows / 2, rows)
        widths.append((promise.slack_high - promise.slack_low) / (drawn[1] - drawn[0]))
    assert 0.2 < widths[0] < 0.6
    assert 0.02 < widths[1] < 0.2


def test_rows_of_weight_zero_are_no_rows():
    rng = np.random.default_rng(3)
    X, sex = rng.normal(size=(90, 1)), np.repeat(["F", "M", "other"], 30)
    weights = np.repeat([1.0, 2.0, 0.0], 30)
    problem = rb.Problem(rb.error_rate(), [rb.recall(sex="F") >= 0.9 * rb.recall()])
    found = [
        audit(
            problem,
            mixture([1.0]),
            rb.Population(X[:n], np.ones(n, int), columns={"sex": sex[:n]}, weights=weights[:n]),
        ).promises[0]
        for n in (60, 90)
    ]
    assert found[0].slack_low == pytest.approx(found[1].slack_low)
    assert found[0].slack_high == pytest.approx(found[1].slack_high)


@pytest.mark.parametrize("counts", [(8, 2), (10, 0), (0, 10)])
def test_precision_is_a_proportion_of_the_yeses(counts):
    right, wrong = counts
    y = np.r_[np.ones(right), np.zeros(wrong), np.ones(20)].astype(int)
    scores = np.where(np.arange(len(y)) < right + wrong, 1.0, -1.0)
    people = rb.Population(scores[:, None], y)
    promise = audit(rb.Problem(rb.error_rate(), [rb.precision() >= 0]), mixture([1.0]), people).promises[
        0
    ]
    assert promise.method == "exact"
    assert (promise.slack_low, promise.slack_high) == pytest.approx(clopper_pearson(*counts[:1], 10))


def test_wins_to_losses_are_the_odds_of_a_proportion():
    live, y = np.repeat([0, 1, 1], [12, 6, 30]), np.ones(48, int)
    scores = np.where((live == 0) | (np.arange(48) >= 18), 1.0, -1.0)
    people = rb.Population(scores[:, None], y, columns={"live": live})
    problem = rb.Problem(rb.error_rate(), [rb.win_loss_ratio(versus="live") >= 1])
    promise = audit(problem, mixture([1.0]), people).promises[0]
    low, high = clopper_pearson(12, 18)
    assert (promise.value, promise.method, promise.rows) == (2.0, "exact", 6)
    wanted = low / (1 - low) - 1, high / (1 - high) - 1
    assert (promise.slack_low, promise.slack_high) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("count", "kept", "verdict"),
    [
        (95, True, "holds"),
        (82, True, "may not hold"),
        (78, False, "may not hold"),
        (50, False, "broken"),
    ],
)
def test_on_these_rows_and_on_new_ones(count, kept, verdict):
    report = audit(rb.Problem(rb.error_rate(), [rb.recall() >= 0.8]), mixture([1.0]), yes(count, 100))
    promise = report.promises[0]
    assert (promise.kept, promise.verdict) == (kept, verdict)
    assert (report.kept, report.certain) == (kept, verdict == "holds")


def two_precisions(hits, sizes):
    """Every row is a yes; so many of them are right among so many of the groups 0, 1, ..."""
    people = two_groups(hits, sizes)
    right = np.asarray(people.X)[:, 0] > 0
    return rb.Population(np.ones((len(right), 1)), right, columns=people.columns)


def test_two_precisions_have_the_interval_of_two_recalls():
    """Given the yeses, a precision is a proportion of them as a recall is of the positive rows."""
    hits, sizes = [14, 30], [20, 35]
    precisions = audit(
        rb.Problem("error_rate()", [rb.precision(g=0) >= rb.precision(g=1)]),
        mixture([1.0]),
        two_precisions(hits, sizes),
    ).promises[0]
    low, high = miettinen_nurminen(hits, sizes)
    assert precisions.method == "score"
    assert (precisions.slack_low, precisions.slack_high) == pytest.approx((low, high), abs=1e-6)


def test_a_ratio_that_decisions_are_above_the_line_of_counts_expectations():
    """The share of positive rows that are a yes, written as a ratio, of a mixture of yes and no."""
    n = 60
    people = rb.Population(np.column_stack([np.ones(n), -np.ones(n)]), np.ones(n, int))
    recall = rb.true_positives() / (rb.true_positives() + rb.false_negatives())
    promise = audit(rb.Problem("error_rate()", [recall >= 0.4]), mixture([0.5, 0.5]), people).promises[0]
    assert promise.value == pytest.approx(0.5)
    assert promise.slack_low + 0.4 < 0.5 < promise.slack_high + 0.4
    assert promise.slack_high + 0.4 < 0.7


def test_a_ratio_at_its_largest_value_ends_there():
    """An F-score of 1, times a number whose multiples are rounded."""
    people = two_groups([4, 9], [8, 9])
    problem = rb.Problem("error_rate()", [rb.f_score(g=0) >= 0.84 * rb.f_score(g=1)])
    promise = audit(problem, mixture([1.0]), people).promises[0]
    assert promise.bound == pytest.approx(0.84)
    assert promise.slack_low < promise.slack < promise.slack_high


@pytest.mark.parametrize("seed", range(20))
def test_weights_that_round_above_one(seed):
    """If every yes is right, the weights of the right yeses may add up to 1 + 2e-16 of all."""
    random = np.random.default_rng(seed)
    labels = random.random(60) < 0.5
    scores = np.where(labels & (random.random(60) < 0.6), 1.0, -1.0)[:, None]
    people = rb.Population(scores, labels, weights=random.random(60))
    promise = audit(rb.Problem("error_rate()", "precision() >= 0.7"), mixture([1.0]), people).promises[0]
    assert promise.value == pytest.approx(1.0)
    assert promise.slack_high == pytest.approx(0.3)


def test_two_ratios_of_which_one_has_no_rows_are_not_measured():
    people = rb.Population([[1.0], [-1.0]], [0, 0])
    problem = rb.Problem("positive_rate()", "precision() >= negative_rate() / recall()")
    report = audit(problem, mixture([1.0]), people)
    assert report.promises[0].verdict == "not measured"
    assert "no row" in report.promises[0].why
    assert not report.kept
