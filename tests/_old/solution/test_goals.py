"""Objectives that are not sums of rates, against brute force over thresholds and mixtures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.metrics import f1_score, fbeta_score, jaccard_score, precision_score

import ratebound._old as rb
from ratebound._old.game.programs import best_goal_mixture

SCORES = np.array([0.1, 0.15, 0.2, 0.3, 0.35, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9])
LABELS = np.array([0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1])
SEX = np.array(["F", "M"] * 6)
PEOPLE = rb.Population(SCORES[:, None], LABELS, columns={"sex": SEX})
CUTS = np.append(SCORES - 0.01, 2.0)
YES = CUTS[:, None] <= SCORES  # (thresholds, rows): every decision that one threshold makes


def best(problem):
    """What the best mixture of all thresholds reaches."""
    compiled = rb.compile(problem, PEOPLE)
    _, violations, pieces = compiled.measure(SCORES - CUTS[:, None])
    weights, least, solved = best_goal_mixture(compiled.goal, pieces, violations)
    assert least.violation == 0
    assert solved.value == pytest.approx(float(compiled.goal.value(weights @ pieces)), abs=1e-8)
    return problem.shown(solved.value)


def rates(rows, yes=YES):
    """The share of some rows that every threshold says yes to."""
    return yes[:, rows].mean(axis=1)


@pytest.mark.parametrize(
    ("metric", "measured"),
    [
        (rb.f_score(), f1_score),
        (rb.f_score(beta=2), lambda y, d: fbeta_score(y, d, beta=2)),
        (rb.jaccard(), jaccard_score),
    ],
)
def test_a_ratio_is_maximized_by_the_best_threshold(metric, measured):
    problem = rb.Problem(maximize=metric)
    assert best(problem) == pytest.approx(max(measured(LABELS, yes) for yes in YES), abs=1e-9)


def test_precision_at_a_recall_is_that_of_the_best_mixture_of_two_thresholds():
    problem = rb.Problem(maximize=rb.precision(), subject_to=["recall() >= 0.75"])
    right, said = (YES & (LABELS == 1)).sum(axis=1), YES.sum(axis=1)
    found = 0.0
    for i in range(len(YES)):
        for j in range(len(YES)):
            for p in np.append(np.linspace(0, 1, 101), _share(right[i], right[j], 0.75 * 6)):
                hits = p * right[i] + (1 - p) * right[j]
                if hits >= 0.75 * 6 - 1e-12:
                    found = max(found, hits / (p * said[i] + (1 - p) * said[j]))
    assert best(problem) == pytest.approx(found, abs=1e-9)


def _share(one, other, wanted):
    return np.clip((wanted - other) / (one - other), 0, 1) if one != other else 0.0


def test_the_worst_group_is_a_linear_program_with_one_more_variable():
    parts = [rb.recall(sex=s) for s in ("F", "M")]
    problem = rb.Problem(maximize=rb.smallest(parts), subject_to=["error_rate() <= 0.34"])
    recalls = np.array([rates((sex == SEX) & (LABELS == 1)) for sex in ("F", "M")])
    errors = (YES != LABELS).mean(axis=1)
    k = len(YES)
    solved = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.vstack([np.column_stack([-recalls, np.ones(2)]), np.append(errors, 0.0)]),
        b_ub=[0, 0, 0.34],
        A_eq=[np.append(np.ones(k), 0.0)],
        b_eq=[1],
    )
    assert best(problem) == pytest.approx(-solved.fun, abs=1e-8)


def test_the_worst_precision_of_several_groups_is_the_best_that_levels_allow():
    """By bisection over the level, each a program of its own."""
    parts = [rb.precision(sex=s) for s in ("F", "M")]
    floors = [f'recall(sex == "{s}") >= 0.5' for s in ("F", "M")]
    groups = [s == SEX for s in ("F", "M")]

    def possible(level):
        rows = [
            [-(yes & g & (LABELS == 1)).sum() + level * (yes & g).sum() for yes in YES] for g in groups
        ]
        rows += [-rates(g & (LABELS == 1)) for g in groups]
        bounds = [0, 0, -0.5, -0.5]
        return linprog(np.zeros(13), rows, bounds, [np.ones(13)], [1]).status == 0

    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    problem = rb.Problem(maximize=rb.smallest(parts), subject_to=floors)
    assert best(problem) == pytest.approx(low, abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["f_score", "smallest", "ratios"]))
def test_no_mixture_is_better_than_the_one_found(seed, kind):
    random = np.random.default_rng(seed)
    metric = {
        "f_score": rb.f_score(),
        "smallest": rb.smallest(rb.recall(sex=s) for s in ("F", "M")),
        "ratios": rb.smallest(rb.f_score(sex=s) for s in ("F", "M")),
    }[kind]
    problem = rb.Problem(maximize=metric, subject_to=["positive_rate() <= 0.6", "recall() >= 0.2"])
    compiled = rb.compile(problem, PEOPLE)
    objectives, violations, pieces = compiled.measure(random.normal(size=(9, 12)))
    weights, least, solved = best_goal_mixture(compiled.goal, pieces, violations)
    assert solved.value == pytest.approx(float(compiled.goal.value(weights @ pieces)))
    assert solved.gap <= 1e-6
    if least.violation > 0:
        return
    others = random.dirichlet(np.full(9, 0.3), size=2000)
    kept = (others @ violations <= 0).all(axis=1)
    assert (compiled.goal.value(others[kept] @ pieces) >= solved.value - 1e-8).all()
    single = (violations <= 0).all(axis=1)
    assert (objectives[single] >= solved.value - 1e-8).all()


def test_scores_are_evaluated_as_scikit_learn_does():
    scores = np.random.default_rng(1).normal(size=(20, 12))
    decided = scores >= 0
    for metric, measured in [(rb.f_score(), f1_score), (rb.precision(), precision_score)]:
        compiled = rb.compile(rb.Problem(maximize=metric, subject_to=["recall() >= 0.1"]), PEOPLE)
        expected = [measured(LABELS, yes, zero_division=0) for yes in decided]
        np.testing.assert_allclose(-compiled.evaluate(scores)[0], expected)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: rb.Problem(maximize=rb.largest(rb.recall(), rb.accuracy())), "write maximize=smallest"),
        (
            lambda: rb.Problem(minimize=rb.smallest(rb.recall(), rb.error_rate())),
            "write minimize=largest",
        ),
        (lambda: rb.smallest(), "got no rates"),
        (lambda: rb.compile(rb.Problem(maximize=rb.precision()), PEOPLE), "can be 0 while all promises"),
    ],
)
def test_what_has_no_best_is_refused_with_what_to_write(build, words):
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: rb.smallest(rb.roc_auc(), rb.recall()), "takes rates, sums of rates and ratios"),
        (lambda: rb.Problem(minimize=abs(rb.recall() - 0.5)), "minimize largest"),
        (lambda: rb.Problem(maximize=rb.roc_auc()), "bound it instead"),
        (lambda: rb.smallest(rb.recall(), rb.accuracy()) >= 0.7, "bound each part: recall"),
    ],
)
def test_what_makes_no_objective_or_promise_is_refused(build, words):
    with pytest.raises(TypeError, match=words):
        build()
