"""The four solutions of a trace made by hand, where the right choice is plain; ranks by counting."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.game.trace import Trace, Values, on_frontier
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.solution.solutions import best_by_rank

CONSTRAINTS = (rb.recall() >= 0.9, rb.positive_rate() <= 0.5)
X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])


def trace_of(objectives, violations, *, setting=None, watched=None, weights=None, swap=True, **options):
    """Candidates whose model i says yes to the rows x >= i - 2."""
    count = len(objectives)
    violations = np.asarray(violations, float).reshape(count, -1)
    multipliers = np.full((count, 1 + violations.shape[1]), 0.5)
    if weights is not None:
        multipliers[:, 0] = weights
    return Trace(
        problem=rb.Problem(rb.error_rate()),
        constraints=CONSTRAINTS[: violations.shape[1]],
        objectives=np.asarray(objectives, float),
        violations=violations,
        watched={} if watched is None else {"validation": Values(*map(np.asarray, watched))},
        multipliers=multipliers,
        parameters=np.column_stack([np.ones(count), 2.0 - np.arange(count)]),
        thresholds={},
        setting=np.zeros(count, int) if setting is None else np.asarray(setting),
        round=np.arange(1, count + 1),
        scorer=LinearScorer(),
        averaging="by objective" if swap else "alike",
        **options,
    )


def member(mixture):
    """Which candidate a mixture of one is."""
    assert len(mixture) == 1
    np.testing.assert_array_equal(mixture.weights, [1.0])
    return int(2 - mixture.parameters[0, 1])


# --- the four solutions --------------------------------------------------------------------------


def test_the_last_iterate_is_the_last():
    trace = trace_of([0.1, 0.2, 0.3], [[0.1], [-0.2], [0.05]])
    mixture = rb.last_iterate(trace)
    assert member(mixture) == 2
    assert mixture.objectives == {"train": 0.3}
    assert mixture.setting == 0
    np.testing.assert_allclose(mixture.violations["train"], [0.05])


def test_shrink_mixes_two_to_just_keep_a_constraint():
    trace = trace_of([0.1, 0.3], [[0.1], [-0.3]], watched=([0.2, 0.4], [[0.0], [0.4]]))
    mixture = rb.shrink(trace)
    np.testing.assert_allclose(mixture.weights, [0.75, 0.25])
    assert mixture.objectives["train"] == pytest.approx(0.15)
    assert mixture.objectives["validation"] == pytest.approx(0.25)
    np.testing.assert_allclose(mixture.violations["train"], [0], atol=1e-15)
    np.testing.assert_allclose(mixture.violations["validation"], [0.1])
    assert mixture.status.feasible
    # Both say yes from -1 on, and only the first to -2.
    np.testing.assert_allclose(mixture.decision_proba(X)[:, 1], [0.75, 1, 1, 1, 1])
    np.testing.assert_allclose(mixture.decision_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(mixture.member_scores(X), np.column_stack([X + 2, X + 1]))


def test_shrink_pools_settings_and_says_where_members_come_from():
    trace = trace_of([0.1, 0.3, 0.15], [[0.1], [-0.3], [-0.1]], setting=[0, 0, 1])
    assert rb.shrink(trace).setting is None
    assert rb.shrink(trace).objectives["train"] < rb.shrink(trace.of_setting(0)).objectives["train"]
    assert rb.shrink(trace.of_setting(1)).setting == 1


@pytest.mark.parametrize(
    ("swap", "weighting", "expected"),
    [
        (True, "theorem", [0.1, 0.3, 0.6]),
        (True, "uniform", [1 / 3] * 3),
        (False, "theorem", [1 / 3] * 3),
        (False, "uniform", [1 / 3] * 3),
    ],
)
def test_the_average_weighs_as_the_theorem_says(swap, weighting, expected):
    trace = trace_of([0.1, 0.2, 0.4], [[0.1], [0], [-0.1]], weights=[0.05, 0.15, 0.3], swap=swap)
    mixture = rb.average(trace, weighting=weighting)
    np.testing.assert_allclose(mixture.weights, expected)
    assert mixture.objectives["train"] == pytest.approx(np.dot(expected, [0.1, 0.2, 0.4]))


def test_an_average_with_no_weight_on_the_objective_is_uniform():
    trace = trace_of([0.1, 0.2], [[0.1], [0.2]], weights=[0.0, 0.0])
    np.testing.assert_allclose(rb.average(trace).weights, 0.5)


def test_an_average_of_a_real_game_is_that_of_its_multipliers():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2))
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    compiled = rb.compile(problem, rb.Population(rows, rows.sum(axis=1) > 0))
    trace = rb.play(compiled, rb.Linear(0.1), player=rb.SwapRegret(0.1), rounds=50, keep=rb.Keep(1))
    share = trace.multipliers[:, 0] / trace.multipliers[:, 0].sum()
    assert share.max() > 1.5 * share.min()
    assert rb.average(trace).objectives["train"] == pytest.approx(share @ trace.objectives)
    uniform = rb.average(trace, weighting="uniform")
    np.testing.assert_allclose(uniform.violations["train"], trace.violations.mean(axis=0))
    other = rb.play(compiled, rb.Linear(0.1), player=rb.ExternalRegret(), rounds=50, keep=rb.Keep(1))
    assert rb.average(other).objectives["train"] == pytest.approx(other.objectives.mean())


def test_without_constraints_the_lowest_objective_wins():
    trace = trace_of([0.3, 0.1, 0.2], np.zeros((3, 0)))
    assert member(rb.shrink(trace)) == member(rb.best_iterate(trace)) == 1
    assert rb.shrink(trace).status.feasible
    assert "feasible" in str(rb.shrink(trace))


# --- ranks ---------------------------------------------------------------------------------------

RANKS = {  # objectives, worst violations, the clipped choice, the literal choice
    "the feasible are alike: the better objective": ([0.1, 0.2, 0.3], [-0.1, -0.4, -0.5], 0, 1),
    "literally, a margin is rewarded": ([0.10, 0.11, 0.3, 0.4], [0.0, -0.1, -0.3, -0.4], 0, 1),
    "what is kept goes first, at any price": ([0.1, 0.2, 0.3], [0.5, 0.2, -0.1], 2, 1),
    "kept but for rounding is kept": ([0.1, 0.2, 0.3], [0.5, 1e-16, -0.1], 1, 1),
    "ties in rank go to the objective": ([0.1, 0.2], [0.2, 0.1], 0, 0),
    "ties share the lowest rank": ([0.1, 0.1, 0.1], [0.3, 0.0, 0.3], 1, 1),
    "rounding makes no ranks": ([0.1, 0.2, 0.3], [2e-17, 1e-17, 0.0], 0, 0),
    "nor if nothing is kept": ([0.1, 0.2, 0.3], [0.1 + 9e-10, 0.1 + 4e-10, 0.1], 0, 0),
    "more than the tolerance does": ([0.1, 0.2, 0.3], [0.1 + 4e-9, 0.1 + 2e-9, 0.1], 1, 1),
    "equal in all": ([0.1, 0.1], [0.2, 0.2], 0, 0),
    "one": ([0.7], [3.0], 0, 0),
    "all broken": ([0.3, 0.2, 0.1], [0.1, 0.2, 0.3], 1, 1),
    "the errata's case": ([0.14, 0.15, 0.16, 0.25], [0.05, 0.0, -0.01, -0.2], 1, 1),
    "the always-negative model": ([0.1126, 0.09, 0.088], [-0.02, 0.001, 0.1], 0, 1),
    "kept by many": ([0.5, 0.4, 0.3, 0.2, 0.1], [-0.5, -0.4, -0.3, -0.2, 0.1], 3, 2),
}


@pytest.mark.parametrize("name", RANKS)
@pytest.mark.parametrize("ranking", ["clipped", "literal"])
def test_the_rank_heuristic(name, ranking):
    objectives, worst, clipped, literal = RANKS[name]
    chosen = best_by_rank(np.array(objectives), np.array(worst), ranking)
    assert chosen == (clipped if ranking == "clipped" else literal)
    trace = trace_of(objectives, np.column_stack([worst, np.array(worst) - 1]))
    assert member(rb.best_iterate(trace, ranking=ranking)) == chosen


def by_counting(objectives, worst, ranking):
    """The paper's formula, ranks by counting those strictly better; all choices that attain it."""
    if ranking == "clipped" and min(worst) <= 0:
        least = min(o for o, v in zip(objectives, worst, strict=True) if v <= 0)
        pairs = enumerate(zip(objectives, worst, strict=True))
        return [i for i, (o, v) in pairs if o == least and v <= 0]
    score = [
        (max(sum(o < own for o in objectives), sum(v < mine for v in worst)), own)
        for own, mine in zip(objectives, worst, strict=True)
    ]
    return [i for i, value in enumerate(score) if value == min(score)]


pairs = st.lists(st.tuples(st.integers(0, 8), st.integers(-5, 5)), min_size=1, max_size=15)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(pairs, st.sampled_from(["clipped", "literal"]))
def test_ranks_equal_those_by_counting(values, ranking):
    objectives, worst = np.array(values, float).T
    chosen = best_by_rank(objectives, worst, ranking)
    assert chosen in by_counting(objectives.tolist(), worst.tolist(), ranking)
    # The paper's promise: no other is better in both.
    shown = np.maximum(worst, 0) if ranking == "clipped" else worst
    assert not ((objectives < objectives[chosen]) & (shown < shown[chosen])).any()


@settings(derandomize=True, deadline=None, max_examples=100)
@given(pairs, st.integers(0, 2**32 - 1), st.sampled_from(["clipped", "literal"]))
def test_rounding_of_violations_changes_no_choice(values, seed, ranking):
    """Distinct objectives, so that only ranks can decide."""
    objectives, worst = np.array(list(dict(values).items()), float).T
    rounded = worst + np.random.default_rng(seed).uniform(-4e-10, 4e-10, len(worst))
    assert best_by_rank(objectives, rounded, ranking) == best_by_rank(objectives, worst, ranking)


# --- choosing a setting --------------------------------------------------------------------------


def two_settings():
    """Setting 0 is better on the training rows, setting 1 where it counts."""
    return trace_of(
        [0.10, 0.12, 0.20, 0.22],
        [[-0.1], [-0.1], [-0.1], [-0.1]],
        setting=[0, 0, 1, 1],
        watched=([0.30, 0.40, 0.21, 0.23], [[-0.1], [-0.1], [-0.1], [-0.2]]),
    )


@pytest.mark.parametrize("solution", [rb.shrink, rb.last_iterate, rb.best_iterate, rb.average])
def test_select_chooses_the_setting_on_validation(solution):
    trace = two_settings()
    chosen = rb.select(trace, solution)
    assert chosen.setting == 1
    assert chosen.objectives == solution(trace.of_setting(1)).objectives
    assert rb.select(trace, solution, on="train").setting == 0


def test_select_prefers_what_is_kept_on_validation():
    trace = trace_of(
        [0.10, 0.20],
        [[-0.1], [-0.1]],
        setting=[0, 1],
        watched=([0.10, 0.11], [[0.3], [-0.1]]),
    )
    # Ranks (0, 1) and (1, 0) tie, and a tie goes to the lower objective: that is the paper's choice.
    assert rb.select(trace).setting == 1
    assert rb.select(trace, ranking="literal").setting == 0
    worse = trace_of(
        [0.10, 0.20, 0.30],
        [[-0.1], [-0.1], [-0.1]],
        setting=[0, 1, 2],
        watched=([0.10, 0.11, 0.12], [[0.3], [-0.1], [0.2]]),
    )
    assert rb.select(worse).setting == 1


def test_mixtures_at_the_bound_are_told_apart_by_their_objectives():
    """The violations of mixtures that just keep a constraint differ by rounding alone."""
    violations = [[0.1 + 0.2 - 0.3], [0.0], [-1e-17]]
    trace = trace_of(
        [0.1, 0.2, 0.3], violations, setting=[0, 1, 2], watched=([0.1, 0.2, 0.3], violations)
    )
    assert rb.select(trace, ranking="literal").setting == 0


def test_a_promise_kept_by_some_settings_is_kept_by_the_one_selected():
    """Ranks (1, 2) of a setting that breaks it tied with (2, 0) of one that keeps it, and won."""
    trace = trace_of(
        [0.30, 0.20, 0.10, 0.25],
        [[-0.01], [0.2], [0.3], [0.0]],
        setting=[0, 1, 2, 3],
        watched=([0.30, 0.20, 0.10, 0.25], [[-0.01], [0.2], [0.3], [0.0]]),
    )
    assert rb.select(trace).setting == 3
    assert rb.select(trace, on="train").setting == 3
    assert rb.select(trace, ranking="literal").setting == 1
    assert member(rb.best_iterate(trace)) == 3


def test_of_settings_that_keep_a_promise_there_those_that_keep_it_in_training_go_first():
    """A promise that holds on a few other rows by luck does not count as kept."""
    trace = trace_of(
        [0.1, 0.2, 0.3],
        [[0.4], [-0.1], [-0.1]],
        setting=[0, 1, 2],
        watched=([0.1, 0.2, 0.3], [[-0.1], [-0.1], [-0.1]]),
    )
    assert rb.select(trace).setting == 1
    # If none keeps it there, one that keeps it in training is chosen.
    missed = replace(
        trace, watched={"validation": Values(np.array([0.1, 0.2, 0.3]), np.full((3, 1), 0.01))}
    )
    assert rb.select(missed).setting == 1


def test_rows_and_shares_are_compared_in_their_units():
    """Six rows of 2,000 too many are less than a share of .01, wherever something must give."""
    objectives, violations = [0.2, 0.1], np.array([[6.0, 0.0], [0.0, 0.01]])
    scale = np.array([2000.0, 1.0])
    trace = trace_of(objectives, violations, scale=scale)
    shares = trace_of(objectives, violations / scale)
    for solution in (rb.shrink, rb.best_iterate):
        np.testing.assert_allclose(solution(trace).weights, solution(shares).weights, atol=1e-9)
    weights = rb.shrink(trace).weights
    np.testing.assert_allclose(weights, [10 / 13, 3 / 13], atol=1e-6)
    watched = {"validation": Values(np.array(objectives), violations, scale)}
    split = replace(trace, setting=np.array([0, 1]), watched=watched, objectives=np.array([0.1, 0.1]))
    equal = replace(split, watched={"validation": Values(np.array([0.1, 0.1]), violations, scale)})
    assert rb.select(equal).setting == 0
    assert trace.only(np.array([1])).scale is trace.scale


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rb.last_iterate(two_settings()), r"last_iterate.*2.*rb.select"),
        (lambda: rb.average(two_settings()), r"average.*2.*of_setting"),
        (lambda: rb.average(trace_of([0.1], [[0.0]], frontier=True)), "frontier"),
        (lambda: rb.average(trace_of([0.1], [[0.0]]), weighting="equal"), "weighting"),
        (lambda: rb.best_iterate(trace_of([0.1], [[0.0]]), ranking="best"), "ranking"),
        (
            lambda: rb.select(two_settings(), on="test"),
            r"'test' was not watched, only train, validation",
        ),
        (lambda: two_settings().of_setting(7), r"no candidates of setting 7; there are \[0, 1\]"),
    ],
)
def test_what_makes_no_sense_raises(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# --- the frontier --------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=20))
def test_the_frontier_by_comparing_every_two(rows):
    table = np.array(rows, float)
    stays = on_frontier(table[:, 0], table[:, 1:])
    for i, row in enumerate(rows):
        beaten = any(
            other != row and all(a <= b for a, b in zip(other, row, strict=True)) for other in rows
        )
        assert stays[i] == (not beaten and row not in rows[:i])


def test_a_mixture_prints_what_it_is():
    text = str(rb.shrink(trace_of([0.1, 0.3], [[0.1], [-0.3]], watched=([0.2, 0.4], [[0.0], [0.4]]))))
    assert text.splitlines() == [
        "a mixture of 2 models: feasible: every constraint is kept on the training rows",
        "  train: objective 0.1500, worst violation +0.0000",
        "  validation: objective 0.2500, worst violation +0.1000",
    ]


SOLUTIONS = [rb.shrink, rb.best_iterate, rb.last_iterate, rb.average, rb.select, rb.duality_gap]


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda solution: solution.__name__)
@pytest.mark.parametrize(
    "given", [None, [], rb.Problem("error_rate()")], ids=["none", "list", "problem"]
)
def test_only_traces_have_solutions(solution, given):
    with pytest.raises(TypeError, match=f"{solution.__name__} takes a trace first, as rb.play gives it"):
        solution(given)
