"""The best of all thresholds against brute force, and statements about new rows against simulation."""

import numpy as np
import pytest
from scipy.special import ndtr

import ratebound._old as rb
from ratebound._old.estimators.one_threshold import every_threshold, least_broken


def sample(seed, rows=40, ties=True, weighted=True):
    """Scores with ties, labels, a group and weights."""
    random = np.random.default_rng(seed)
    y = random.random(rows) < 0.4
    y[:4] = [True, True, False, False]
    group = np.where(random.random(rows) < 0.5, "a", "b")
    group[:4] = ["a", "b", "a", "b"]
    scores = random.normal(size=rows) + y
    scores = scores.round(1) if ties else scores
    weights = random.choice([0.5, 1.0, 3.0], rows) if weighted else np.ones(rows)
    return scores, y, group, weights


def rate(yes, inside, weights):
    """The share of yeses among the rows inside, as anyone would count it."""
    return (weights * yes * inside).sum() / (weights * inside).sum()


def values(yes, y, group, weights):
    """Rates of decisions by their definitions."""
    a, said = group == "a", (weights * yes).sum()
    right = (weights * yes * y).sum()
    return {
        "recall": rate(yes, y, weights),
        "recall a": rate(yes, y & a, weights),
        "recall b": rate(yes, y & ~a, weights),
        "false_positive_rate": rate(yes, ~y, weights),
        "positive_rate": rate(yes, np.ones(len(y), dtype=bool), weights),
        "error": (weights * (yes != y)).sum() / weights.sum(),
        "precision": right / said if said else 0.0,
        "above": right - 0.5 * said,  # of precision >= .5
        "f_score": 2 * right / (said + (weights * y).sum()),
        "cost": (weights * (5.0 * (~yes & y) + 1.0 * (yes & ~y))).sum() / weights.sum(),
    }


CASES = {
    "precision at a recall": (
        {"maximize": "precision()", "subject_to": "recall() >= 0.7"},
        lambda v: -v["precision"],
        lambda v: [0.7 - v["recall"]],
    ),
    "recall at a precision": (
        {"maximize": "recall()", "subject_to": "precision() >= 0.5"},
        lambda v: -v["recall"],
        lambda v: [-v["above"]],
    ),
    "groups": (
        {"minimize": "error_rate()", "subject_to": "minimum_recall(group, at_least=0.6)"},
        lambda v: v["error"],
        lambda v: [0.6 - v["recall a"], 0.6 - v["recall b"]],
    ),
    "several": (
        {
            "maximize": "f_score()",
            "subject_to": ["positive_rate() <= 0.6", 'recall(group == "a") >= 0.8 * recall()'],
        },
        lambda v: -v["f_score"],
        lambda v: [v["positive_rate"] - 0.6, 0.8 * v["recall"] - v["recall a"]],
    ),
    "costs": (
        {
            "minimize": "cost(false_negative=5, false_positive=1)",
            "subject_to": "false_positive_rate() <= 0.3",
        },
        lambda v: v["cost"],
        lambda v: [v["false_positive_rate"] - 0.3],
    ),
    "no promise": ({"maximize": "f_score()"}, lambda v: -v["f_score"], lambda v: [-1.0]),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("case", CASES)
def test_the_best_of_all_thresholds_by_brute_force(case, weighted):
    words, objective, violations = CASES[case]
    problem, feasible = rb.Problem(**words), 0
    for seed in range(12):
        scores, y, group, weights = sample(seed, weighted=weighted)
        people = rb.Population(None, y, columns={"group": group}, weights=weights if weighted else None)
        every = every_threshold(rb.compile(problem, people), scores)
        at = np.append(np.unique(scores)[::-1], np.inf)  # all that there are
        each = [values(scores >= t, y, group, weights) for t in at]
        fine = [max(violations(v)) <= 1e-9 for v in each]
        place = every.best()
        own = values(scores >= every.at[place], y, group, weights)
        if any(fine):
            feasible += 1
            assert max(violations(own)) <= 1e-9
            best = min(objective(v) for v, ok in zip(each, fine, strict=True) if ok)
            assert objective(own) == pytest.approx(best, abs=1e-9)
            assert every.objectives[place] == pytest.approx(best, abs=1e-9)
        elif "precision" not in str(problem.subject_to):  # whose violation has a scale of its own
            assert max(violations(own)) == pytest.approx(min(max(violations(v)) for v in each))
        assert len(every.at) == len(at)
    assert feasible >= 4


def test_every_threshold_says_what_its_decisions_do():
    scores, y, group, weights = sample(3)
    people = rb.Population(None, y, columns={"group": group}, weights=weights)
    problem = rb.Problem(maximize="precision()", subject_to=["recall() >= 0.7", "precision() >= 0.5"])
    compiled = rb.compile(problem, people)
    every = every_threshold(compiled, scores)
    for place, at in enumerate(every.at):
        decided = np.where(scores >= at, 1.0, -1.0)
        objective, violations = compiled.evaluate(decided)
        assert every.objectives[place] == pytest.approx(objective, abs=1e-12)
        np.testing.assert_allclose(every.violations[place], violations, atol=1e-12)
        assert every.yeses[place] == (scores >= at).sum()


def test_only_some_thresholds():
    scores, y, *_ = sample(5, weighted=False)
    compiled = rb.compile(rb.Problem(maximize="recall()", subject_to="precision() >= 0.5"),
                          rb.Population(None, y))  # fmt: skip
    every = every_threshold(compiled, scores, only=np.array([0.5, scores[0], -9.0, 0.5]))
    assert every.at.tolist() == sorted({0.5, float(scores[0]), -9.0}, reverse=True)
    assert every.yeses.tolist() == [(scores >= at).sum() for at in every.at]


def test_scores_that_differ_by_rounding_are_not_told_apart():
    scores = np.array([0.1 + 0.2, 0.3, 0.7, 0.7])
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(None, [1, 0, 0, 1]))
    assert every_threshold(compiled, scores).yeses.tolist() == [0, 2, 4]


def test_of_equal_thresholds_the_one_with_the_most_room():
    """Recall is one from the third row on; precision is best there."""
    y = np.array([1, 1, 1, 0, 0, 0], dtype=bool)
    problem = rb.Problem(maximize="recall()", subject_to="precision() >= 0.5")
    every = every_threshold(rb.compile(problem, rb.Population(None, y)), -np.arange(6.0))
    assert every.yeses[every.best()] == 3


@pytest.mark.parametrize("promise", ["roc_auc() >= 0.8", "recall(at=0.5) >= 0.8"])
def test_what_one_threshold_cannot_say(promise):
    compiled = rb.compile(rb.Problem("error_rate()", promise), rb.Population(None, [0, 1, 1]))
    with pytest.raises(ValueError, match="threshold other than the one to be set"):
        every_threshold(compiled, np.arange(3.0))


# --- if promises are at odds -----------------------------------------------------------------------


def test_the_status_names_the_conflict_and_relaxing_by_what_it_says_is_enough():
    scores, y, *_ = sample(1, rows=60, weighted=False)
    promises = ["recall() >= 0.9", "positive_rate() <= 0.3", "false_positive_rate() <= 0.9"]
    compiled = rb.compile(rb.Problem("error_rate()", promises), rb.Population(None, y))
    every = every_threshold(compiled, scores)
    status = every.status(every.best(), "fine")
    assert not status.feasible
    assert {str(each) for each in status.conflict} == set(promises[:2])
    by = float(status.message.split("relax recall() >= 0.9 alone by ")[1].split(",")[0])
    for amount, feasible in ((by, True), (by - 0.002, False)):
        relaxed = rb.Problem("error_rate()", [f"recall() >= {0.9 - amount}", *promises[1:]])
        again = every_threshold(rb.compile(relaxed, rb.Population(None, y)), scores)
        assert again.status(again.best(), "fine").feasible == feasible


def test_least_broken_among_several():
    violations = np.array([[0.5, -1.0, 0.0], [-1.0, 0.3, 0.0], [0.2, 0.4, -0.5]])
    least = least_broken(violations, np.zeros(3), np.ones(3))
    assert (least.violation, least.prices.tolist()) == (0.3, [0.5, 0.5, 0.0])
    hard = least_broken(violations, np.zeros(3), np.array([1.0, 0.0, 1.0]))  # the second must be kept
    assert hard.violation == 0.5
    assert least_broken(violations, np.array([0.5, 0.0, 0.0]), np.ones(3)).violation == 0


# --- on new rows -------------------------------------------------------------------------------------

APART, PREVALENCE = 1.5, 0.3


def truth(at):
    """Recall, false positive rate and precision at a threshold, of normal scores."""
    recall, false = 1 - ndtr(at - APART), 1 - ndtr(at)
    yes = PREVALENCE * recall + (1 - PREVALENCE) * false
    return recall, false, PREVALENCE * recall / yes if yes > 0 else 1.0


SIMULATED = {
    "recall() >= 0.9": (200, "accuracy()", lambda at: truth(at)[0] >= 0.9),
    "false_positive_rate() <= 0.1": (200, "recall()", lambda at: truth(at)[1] <= 0.1),
    "precision() >= 0.6": (500, "recall()", lambda at: truth(at)[2] >= 0.6),
}


@pytest.mark.parametrize("promise", SIMULATED)
def test_promises_hold_on_new_rows_as_often_as_is_said(promise):
    """On 100 samples; 90% less three standard errors is .81. Without confidence it is about half."""
    rows, objective, holds = SIMULATED[promise]
    problem, kept, plain, said = rb.Problem(maximize=objective, subject_to=promise), [], [], []
    for seed in range(100):
        random = np.random.default_rng(seed)
        y = random.random(rows) < PREVALENCE
        scores = random.normal(size=rows) + APART * y
        every = every_threshold(rb.compile(problem, rb.Population(None, y)), scores)
        place = every.sure(0.9)
        plain.append(holds(every.at[every.best()]))
        if place is not None:
            kept.append(holds(every.at[place]))
            said.append(every.confidence(place))
    assert len(kept) >= 80
    assert np.mean(kept) >= 0.81
    assert min(said) >= 0.9
    assert 0.3 <= np.mean(plain) <= 0.7


def test_the_deviation_that_counts():
    """One normal number if every yes harms or helps, and the largest along all thresholds if not."""
    random = np.random.default_rng(0)
    y = random.random(2000) < 0.4
    scores = random.normal(size=2000) + y
    problem = rb.Problem("error_rate()", ["recall() >= 0.8", "precision() >= 0.5"])
    every = every_threshold(rb.compile(problem, rb.Population(None, y)), scores)
    assert every.one_sided.tolist() == [True, False]
    points = np.quantile(every.varying.largest, 0.9, axis=0)
    assert points[0] == pytest.approx(1.28, abs=0.1)
    assert 2.0 <= points[1] <= 3.0
    place = int(np.abs(every.violations[:, 0]).argmin())
    assert every.varying.errors[place, 0] == pytest.approx((0.8 * 0.2 / y.sum()) ** 0.5, rel=0.03)


def test_rows_that_were_drawn_together_count_as_one():
    scores, y, *_ = sample(0, rows=200, ties=False, weighted=False)
    problem = rb.Problem(maximize="precision()", subject_to="recall() >= 0.8")
    once = every_threshold(rb.compile(problem, rb.Population(None, y)), scores)
    people = rb.Population(None, np.repeat(y, 5))
    ids = np.repeat(np.arange(len(y)), 5)
    five = every_threshold(rb.compile(problem, people), np.repeat(scores, 5), together=ids)
    apart = every_threshold(rb.compile(problem, people), np.repeat(scores, 5))
    assert five.varying.errors[0, 0] == pytest.approx(once.varying.errors[0, 0], rel=0.05)
    assert apart.varying.errors[0, 0] == pytest.approx(once.varying.errors[0, 0] / 5**0.5, rel=0.05)


def test_more_confidence_has_more_room():
    scores, y, *_ = sample(2, rows=500, ties=False, weighted=False)
    problem = rb.Problem(maximize="precision()", subject_to="recall() >= 0.8")
    every = every_threshold(rb.compile(problem, rb.Population(None, y)), scores)
    places = [every.sure(confidence) for confidence in (0.5, 0.8, 0.95)]
    assert None not in places
    assert (np.diff(every.violations[places, 0]) < 0).all()
    assert every.sure(0.999999) is None or every.violations[every.sure(0.999999), 0] < -0.1


def test_nobody_missed_here_is_not_nobody_missed_ever():
    """A recall of 1 is kept here below the lowest positive row, and that says little of new rows."""
    scores, y, *_ = sample(2, rows=300, ties=False, weighted=False)
    every = every_threshold(
        rb.compile(rb.Problem("error_rate()", "recall() >= 1"), rb.Population(None, y)), scores
    )
    assert every.keeps()[every.best()]
    assert every.confidence(every.best()) < 0.6
    assert every.sure(0.9) is None
