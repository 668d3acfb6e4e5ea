"""Oracle rounds on problems whose optimum over all mixtures of classifiers is known by enumeration.

The features distinguish a few kinds of rows, so there are 2^kinds classifiers, a decision tree
is an exact oracle, and SciPy's linear program over all of them gives the best mixture.
"""

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb
from ratebound._old.game.players_by_fits import elastic, lower_bounds

KINDS = 5
TREE = DecisionTreeClassifier(random_state=0)


def population(seed, rows=60, **options):
    rng = np.random.default_rng(seed)
    kind = np.append(np.arange(KINDS), rng.integers(KINDS, size=rows - KINDS))
    group = np.where((kind + rng.integers(2, size=rows)) % 3 > 0, "a", "b")
    label = rng.random(rows) < np.linspace(0.1, 0.9, KINDS)[kind]
    label[:2], group[:2] = [True, True], ["a", "b"]
    X = np.eye(KINDS)[kind]
    return rb.Population(X, label, columns={"group": group, "kind": kind}, **options)


def goals():
    """Some cost little, some cost much, and two cannot be kept together."""
    return {
        "one": [rb.positive_rate() <= 0.3],
        "recall": [rb.recall(group="b") >= 0.9, rb.positive_rate(group="b") <= 0.7],
        "parity": rb.statistical_parity({"group": ("a", "b")}, slack=0.02, against="overall"),
        "odds": [*rb.equalized_odds({"group": ("a", "b")}, slack=0.05), rb.recall() >= 0.7],
        "impossible": [rb.recall() >= 0.9, rb.positive_rate() <= 0.2],
        "none": [],
    }


def compiled_on(seed, subject_to, **options):
    problem = rb.Problem(rb.error_rate(), subject_to)
    return rb.compile(problem, population(seed, **options))


def all_values(compiled):
    """Objective and violations (2^KINDS, 1+m), of counts per row, of every possible classifier."""
    rules = np.array(list(itertools.product([-1.0, 1.0], repeat=KINDS)))
    objectives, violations = compiled.evaluate(rules @ compiled.features.T)
    return np.column_stack([objectives, violations / compiled.scale[1:]])


def best_mixture(values, fine=None):
    """The best objective of mixtures that keep the constraints, or with violations fined."""
    count, m = len(values), values.shape[1] - 1
    solved = linprog(
        np.append(values[:, 0], fine or 0.0),
        A_ub=np.column_stack([values[:, 1:].T, -np.ones(m)]) if m else None,
        b_ub=np.zeros(m) if m else None,
        A_eq=[[1.0] * count + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(0, 0 if fine is None else None)],
    )
    return solved.fun if solved.success else None


# --- the optimum is found ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", goals())
def test_cutting_planes_find_the_best_of_all_mixtures(name, seed):
    compiled = compiled_on(seed, goals()[name])
    trace = rb.play(compiled, rb.Oracle(TREE, tolerance=0.0))
    mixture, gap = rb.shrink(trace), rb.duality_gap(trace)
    values = all_values(compiled)
    optimum = best_mixture(values)
    assert trace.ended == "gap"
    assert len(trace) < 30
    if optimum is None:  # then it is the best at the fine that the multipliers reached
        assert not mixture.status.feasible
        assert not gap.feasible
        assert gap.upper == pytest.approx(best_mixture(values, fine=gap.radius), abs=1e-9)
        assert "worst violation" in repr(gap)
        return
    assert mixture.status.feasible
    assert mixture.objectives["train"] == pytest.approx(optimum, abs=1e-9)
    assert gap.upper == pytest.approx(optimum, abs=1e-9)
    assert gap.lower == pytest.approx(optimum, abs=1e-9)


@pytest.mark.parametrize("name", ["one", "recall", "parity"])
def test_external_regret_comes_as_close_as_its_theorem_says(name):
    compiled = compiled_on(1, goals()[name])
    radius, rounds = 2.0, 200
    player = rb.ExternalRegret("theorem", "sgd", radius=radius)
    trace = rb.play(compiled, rb.Oracle(TREE, tolerance=0.0), player=player, rounds=rounds)
    bound = rb.Game(compiled, player).bound()
    values = np.column_stack([trace.objectives, trace.violations])
    mean = values.mean(axis=0)
    paid = mean[0] + radius * max(mean[1:].max(), 0)
    lower = lower_bounds(values, trace.multipliers).max()
    if len(trace) == rounds:
        assert paid - lower <= radius * bound * math.sqrt(2 / rounds)
    assert best_mixture(all_values(compiled), fine=radius) >= lower - 1e-9
    assert rb.shrink(trace).objectives["train"] <= best_mixture(all_values(compiled)) + 0.02


@pytest.mark.parametrize("name", ["one", "recall", "parity"])
def test_swap_regret_comes_as_close_as_its_theorem_says(name):
    compiled = compiled_on(1, goals()[name])
    player, rounds = rb.SwapRegret("theorem", "sgd"), 150
    trace = rb.play(compiled, rb.Oracle(TREE, tolerance=0.0), player=player, rounds=rounds)
    m, bound = len(compiled.constraints), rb.Game(compiled, player).bound()
    regret = 2 * bound * math.sqrt((m + 1) * math.log(m + 1) / rounds)
    share = trace.multipliers[:, 0].mean()
    average, optimum = rb.average(trace), best_mixture(all_values(compiled))
    assert trace.averaging == "by objective"
    assert average.objectives["train"] <= optimum + regret / share
    assert average.violations["train"].max() <= regret / share
    assert rb.shrink(trace).objectives["train"] <= optimum + 0.02


def test_a_grid_brackets_the_optimum():
    compiled = compiled_on(2, goals()["one"])
    trace = rb.play(compiled, rb.Oracle(TREE), player=rb.Grid(64))
    optimum = best_mixture(all_values(compiled))
    assert trace.settings == list(range(64))
    assert (trace.round == 1).all()
    assert rb.shrink(trace).objectives["train"] == pytest.approx(optimum, abs=1e-3)
    gap = rb.duality_gap(trace)
    assert gap.lower - 1e-9 <= optimum <= gap.upper + 1e-9


# --- the gap -------------------------------------------------------------------------------------

RATES = st.sampled_from(
    [
        lambda bound: rb.positive_rate() <= bound,
        lambda bound: rb.positive_rate(group="a") >= bound,
        lambda bound: rb.recall(group="b") >= bound,
        lambda bound: rb.recall(group="a") >= bound * rb.recall(),
        lambda bound: rb.false_positive_rate(group="a") <= bound / 2,
        lambda bound: rb.precision() >= bound,
        lambda bound: rb.predicted_positives() <= round(60 * bound),
    ]
)
GOALS = st.lists(st.tuples(RATES, st.floats(0.05, 0.95)), max_size=3)
PLAYERS = st.sampled_from(
    [rb.CuttingPlane(), rb.ExternalRegret(0.1), rb.SwapRegret(0.5), rb.Grid(8, radius=2.0)]
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(GOALS, PLAYERS, st.integers(0, 5), st.integers(1, 12))
def test_the_optimum_lies_between_the_bounds(wanted, player, seed, rounds):
    compiled = compiled_on(seed, [rate(bound) for rate, bound in wanted])
    trace = rb.play(compiled, rb.Oracle(TREE), player=player, rounds=rounds)
    gap, values = rb.duality_gap(trace), all_values(compiled)
    optimum = best_mixture(values, None if gap.feasible else gap.radius)
    assert gap.lower <= optimum + 1e-8
    assert optimum <= gap.upper + 1e-8
    assert gap.upper - optimum <= gap.gap + 1e-8
    always = best_mixture(values)
    assert always is None or gap.lower <= always + 1e-8


def test_the_gap_of_a_model_that_descends_is_not_known():
    trace = rb.play(compiled_on(0, goals()["one"]), rb.Linear(), epochs=2)
    with pytest.raises(ValueError, match=r"rb\.Oracle"):
        rb.duality_gap(trace)


def test_the_gap_says_what_it_means():
    trace = rb.play(compiled_on(0, goals()["one"]), rb.Oracle(TREE))
    words = str(rb.duality_gap(trace))
    assert "keeps the constraints" in words
    assert "provided that the estimator's answers are the best there are" in words


def test_players_end_when_the_gap_is_small_enough():
    compiled = compiled_on(0, goals()["one"])
    for player in (rb.CuttingPlane(), rb.ExternalRegret(0.2)):
        loose = rb.play(compiled, rb.Oracle(TREE, tolerance=0.1), player=player)
        tight = rb.play(compiled, rb.Oracle(TREE, tolerance=0.001), player=player)
        assert loose.ended == tight.ended == "gap"
        assert len(loose) < len(tight)
        assert rb.duality_gap(tight).gap <= 0.001


# --- the multipliers -----------------------------------------------------------------------------


def test_cutting_planes_begin_without_constraints_and_stay_within_the_radius():
    compiled = compiled_on(0, goals()["impossible"])
    trace = rb.play(compiled, rb.Oracle(TREE), player=rb.CuttingPlane(radius=3.0))
    assert trace.multipliers[0].tolist() == [1.0, 0.0, 0.0]
    assert (trace.multipliers >= 0).all()
    assert trace.multipliers[:, 1:].sum(axis=1).max() <= 3.0 + 1e-9


def test_elastic_prices_are_those_of_the_bound():
    """At its prices, the iterates' least Lagrangian is the program's value: strong duality."""
    values = np.random.default_rng(4).normal(size=(20, 4))
    for radius in (0.1, 1.0, 50.0):
        solved = elastic(values, radius)
        assert solved.weights[1:].sum() <= radius + 1e-9
        assert lower_bounds(values, solved.weights[None])[0] == pytest.approx(solved.value, abs=1e-9)


@pytest.mark.parametrize("m", [1, 2, 7])
def test_a_grid_lies_in_the_simplex_and_begins_at_zero(m):
    grid = rb.Grid(16, radius=5.0)
    weights = grid.start(m).weights
    assert weights.shape == (16, 1 + m)
    assert (weights[:, 0] == 1).all()
    assert (weights >= 0).all()
    assert not weights[0, 1:].any()
    assert len(np.unique(weights, axis=0)) == 16
    assert weights[:, 1:].sum(axis=1).max() == pytest.approx(5.0)
    assert np.array_equal(weights, rb.Grid(16, radius=5.0).start(m).weights)
    assert repr(grid) == "Grid(radius=5.0, points=16)"


def test_a_grid_plays_with_models_that_descend():
    compiled = compiled_on(0, goals()["recall"])
    grid = rb.Grid(3, radius=1.0)
    trace = rb.play(compiled, rb.Linear(), player=grid, epochs=2)
    assert np.allclose(trace.of_setting(1).multipliers, grid.start(2).weights[1])


class Fading(ClassifierMixin, BaseEstimator):
    """A poor oracle: good without constraints; otherwise it says no to everyone."""

    def fit(self, X, y, sample_weight):
        self.good_ = np.ptp(sample_weight) == 0
        self.tree_ = DecisionTreeClassifier().fit(X, y)
        return self

    def predict(self, X):
        return self.tree_.predict(X) if self.good_ else np.zeros(len(X))


def test_multipliers_move_by_the_best_answer_so_far():
    compiled = compiled_on(3, [rb.recall(group="b") >= 0.99])
    player = rb.ExternalRegret(0.01, "sgd")
    trace = rb.play(compiled, rb.Oracle(Fading()), player=player, rounds=4)
    assert trace.objectives[1:] == pytest.approx(compiled.populations["train"].y.mean())
    moved = 0.01 * trace.violations[0, 0] * np.arange(4)  # by the first iterate's violation, every time
    assert trace.multipliers[:, 1] == pytest.approx(moved)
    assert rb.duality_gap(trace).gap >= 0


def test_counts_are_played_per_row_and_reported_in_counts():
    rows = 60
    by_rate = compiled_on(0, [rb.positive_rate() <= 0.25])
    by_count = compiled_on(0, [rb.predicted_positives() <= 0.25 * rows])
    rates, counts = (rb.play(c, rb.Oracle(TREE)) for c in (by_rate, by_count))
    assert counts.violations == pytest.approx(rows * rates.violations)
    assert counts.multipliers[:, 1] == pytest.approx(rates.multipliers[:, 1] / rows)
    assert rb.duality_gap(counts).lower == pytest.approx(rb.duality_gap(rates).lower)


def test_weights_count_rows_that_often():
    rng = np.random.default_rng(0)
    once = population(4)
    times = rng.integers(0, 3, size=len(once))
    columns = {name: np.repeat(once.column(name), times) for name in ("group", "kind")}
    twice = rb.Population(np.repeat(once.X, times, axis=0), np.repeat(once.y, times), columns)
    problem = rb.Problem(rb.error_rate(), goals()["recall"])
    weighted = rb.compile(problem, population(4, weights=times))
    traces = [rb.play(c, rb.Oracle(TREE)) for c in (weighted, rb.compile(problem, twice))]
    assert traces[0].multipliers[:3] == pytest.approx(traces[1].multipliers[:3])
    results = [(rb.shrink(trace).objectives["train"], rb.duality_gap(trace).gap) for trace in traces]
    assert results[0] == pytest.approx(results[1], abs=1e-9)


def test_several_populations():
    """A promise on rows of another population, which the objective does not count."""
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(on="pool") <= 0.2])
    pool = rb.Population(population(9).X[:25], columns={"group": ["a"] * 25})
    compiled = rb.compile(problem, population(0), pool=pool)
    trace = rb.play(compiled, rb.Oracle(TREE, tolerance=0.0))
    values = all_values(compiled)
    assert rb.shrink(trace).objectives["train"] == pytest.approx(best_mixture(values), abs=1e-9)
    unconstrained = rb.compile(rb.Problem(rb.error_rate()), population(0))
    assert trace.objectives[0] == all_values(unconstrained)[:, 0].min()


def test_one_class_needs_no_fit():
    """If all labels agree, or nothing is counted, the best answer is one decision for everyone."""
    people = rb.Population(np.eye(3), [1, 1, 1], columns={"group": ["a", "a", "b"]})
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.5]), people)
    trace = rb.play(compiled, rb.Oracle(Refusing()))
    assert trace.ended == "gap"
    assert rb.shrink(trace).objectives["train"] == pytest.approx(0.5)
    assert set(trace.objectives.tolist()) == {0.0, 1.0}


# --- how rounds end ------------------------------------------------------------------------------


class Refusing(ClassifierMixin, BaseEstimator):
    """Raises when it must fit rows that are not all alike."""

    def __init__(self, error=None):
        self.error = error

    def fit(self, X, y, sample_weight):
        if self.error is None or np.ptp(sample_weight) > 0:
            raise self.error or AssertionError("never to be fitted")
        self.tree_ = DecisionTreeClassifier().fit(X, y)
        return self

    def predict_proba(self, X):
        return self.tree_.predict_proba(X)


def test_an_interrupted_game_hands_over_what_there_is():
    compiled = compiled_on(0, goals()["recall"])
    trace = rb.play(compiled, rb.Oracle(Refusing(KeyboardInterrupt())))
    assert trace.ended == "interrupted"
    assert len(trace) == 1
    assert len(rb.shrink(trace)) == 1
    crowded = rb.compile(compiled.problem, population(0, weights=np.arange(1, 61)))
    with pytest.raises(KeyboardInterrupt):  # in the first fit: there is nothing to return
        rb.play(crowded, rb.Oracle(Refusing(KeyboardInterrupt())))


@pytest.mark.parametrize(("kind", "shown"), [(ValueError, ValueError), (KeyError, RuntimeError)])
def test_a_fit_that_fails_says_in_which_round_and_why(kind, shown):
    with pytest.raises(shown, match=r"round 2: Refusing could not be fitted: '?too much") as caught:
        rb.play(compiled_on(0, goals()["recall"]), rb.Oracle(Refusing(kind("too much"))))
    assert isinstance(caught.value.__cause__, kind)


def test_rounds_time_and_stop_end_a_game():
    compiled, oracle = compiled_on(0, goals()["odds"]), rb.Oracle(TREE, tolerance=0.0)
    assert rb.play(compiled, oracle, rounds=3).ended == "rounds"
    assert len(rb.play(compiled, oracle, rounds=3)) == 3
    late = rb.play(compiled, oracle, stop=rb.Stop(max_time=0.0))
    assert (late.ended, len(late)) == ("time", 1)
    seen = []
    stopped = rb.play(
        compiled,
        oracle,
        stop=rb.Stop(when=lambda trace: seen.append(trace) or len(trace) == 2),
    )
    assert (stopped.ended, len(seen)) == ("stopped", 2)
    assert rb.duality_gap(seen[-1]).gap > 0


def test_watch_and_frontier():
    compiled, other = (compiled_on(seed, goals()["odds"]) for seed in (0, 1))
    trace = rb.play(compiled, rb.Oracle(TREE, tolerance=0.0), watch={"other": other})
    scores = trace.scorer.scores(trace.parameters, other.features)
    objectives, violations = other.evaluate(scores)
    assert np.array_equal(trace.watched["other"].objectives, objectives)
    assert np.array_equal(trace.watched["other"].violations, violations)
    thin = rb.play(compiled, rb.Oracle(TREE, tolerance=0.0), keep=rb.Keep(frontier=True))
    assert len(thin) <= len(trace)
    assert rb.shrink(thin).objectives["train"] == pytest.approx(rb.shrink(trace).objectives["train"])


def test_settings_are_played_side_by_side():
    compiled = compiled_on(0, goals()["recall"])
    player = rb.ExternalRegret((0.01, 0.1))
    trace = rb.play(compiled, rb.Oracle(TREE, tolerance=0.0), player=player, rounds=5)
    assert trace.settings == [0, 1]
    assert len(rb.average(trace.of_setting(1))) == 5
    assert rb.select(trace, rb.last_iterate, on="train").setting in (0, 1)


# --- what cannot be asked ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"player": rb.Lagrangian()}, r"Lagrangian watches proxies.*rb\.ExternalRegret"),
        ({"epochs": 3}, "give rounds="),
        ({"rounds": 0}, "rounds takes a whole number from 1 on"),
    ],
    ids=["Lagrangian", "epochs", "rounds"],
)
def test_what_does_not_apply_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        rb.play(compiled_on(0, goals()["one"]), rb.Oracle(TREE), **options)


@pytest.mark.parametrize(
    "constraint",
    [rb.recall(at=0.5) >= 0.7, rb.roc_auc() >= 0.8, rb.recall(at="cut") >= 0.7],
    ids=["at", "roc_auc", "learned"],
)
def test_other_thresholds_are_refused(constraint):
    with pytest.raises(ValueError, match=r"(recall|roc_auc).*decides only at 0.*rb\.Linear"):
        rb.play(compiled_on(0, [constraint]), rb.Oracle(TREE))


def test_cutting_planes_need_whole_fits():
    with pytest.raises(ValueError, match=r"rb\.CuttingPlane moves by whole fits.*rb\.Oracle"):
        rb.play(compiled_on(0, goals()["one"]), rb.Linear(), player=rb.CuttingPlane())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rb.CuttingPlane(radius=0), "radius takes a number that is above 0"),
        (lambda: rb.CuttingPlane(smoothing=1.0), "smoothing takes a number"),
        (lambda: rb.Grid(0), "points takes a whole number from 1 on"),
        (lambda: rb.Grid(radius=-1.0), "radius takes a number that is above 0"),
        (lambda: rb.Oracle(LogisticRegression(), tolerance=-1.0), "tolerance takes a number"),
    ],
    ids=["radius", "smoothing", "points", "grid radius", "tolerance"],
)
def test_players_check_their_numbers(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# --- what is averaged ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "player", [rb.ExternalRegret(0.2, "sgd", radius=5.0), rb.SwapRegret(1.0, "sgd")]
)
def test_the_average_is_of_the_answers_that_moved_the_multipliers(player):
    """A shallow tree is often a worse answer than an earlier tree, which is then the answer."""
    random = np.random.default_rng(0)
    X, group = random.normal(size=(400, 3)), random.choice(["a", "b"], 400)
    y = X[:, 0] * X[:, 1] + 0.5 * (group == "a") + 0.5 * random.normal(size=400) > 0
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(group="a") <= 0.2])
    compiled = rb.compile(problem, rb.Population(X, y, columns={"group": group}))
    oracle = rb.Oracle(DecisionTreeClassifier(max_depth=2), tolerance=0.0)
    trace = rb.play(compiled, oracle, player=player, rounds=60)
    values = np.column_stack([trace.objectives, trace.violations])
    lagrangians = trace.multipliers @ values.T  # rounds x fits
    answers = [t if row[: t + 1].min() >= row[t] - 1e-12 else int(row[: t + 1].argmin())
               for t, row in enumerate(lagrangians)]  # fmt: skip
    assert len(set(answers)) < 50
    weights = trace.multipliers[:, 0] if trace.averaging == "by objective" else np.ones(len(trace))
    expected = weights @ values[answers] / weights.sum()
    mixture = rb.average(trace)
    assert mixture.objectives["train"] == pytest.approx(expected[0], abs=1e-9)
    assert mixture.violations["train"] == pytest.approx(expected[1:], abs=1e-9)
