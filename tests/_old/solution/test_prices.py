"""Prices against what relaxing a bound really gains, found by other solvers and by training again."""

import numpy as np
import pytest
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.base.linear_program import mixture_prices
from ratebound._old.solution.prices import find
from ratebound._old.solution.thresholds import pool_on, thresholds_on

from ..small_tables import people


def best_objective(f, G):
    """By interior points; infinite if no mixture keeps everything."""
    ones = np.ones((1, len(f)))
    solved = linprog(f, A_ub=G.T, b_ub=np.zeros(G.shape[1]), A_eq=ones, b_eq=[1], method="highs-ipm")
    return solved.fun if solved.status == 0 else np.inf


def gained(f, G, step):
    """What relaxing each constraint alone gains, per unit, over `step` (m,)."""
    before = best_objective(f, G)
    after = [best_objective(f, G - step[i] * np.eye(G.shape[1])[i]) for i in range(G.shape[1])]
    return (before - np.array(after)) / step


@pytest.mark.parametrize("seed", range(12))
def test_a_price_is_what_relaxing_gains(seed):
    rng = np.random.default_rng(seed)
    count, m = rng.integers(5, 40), rng.integers(1, 5)
    scale = rng.choice([1.0, 500.0], size=m)
    f, G = rng.normal(size=count), (rng.normal(size=(count, m)) - 0.2) * scale
    found = mixture_prices(f, G, scale)
    if best_objective(f, G) == np.inf:
        assert np.isnan(found).all()
        return
    assert (found >= 0).all()
    np.testing.assert_allclose(found * scale, gained(f, G, 1e-5 * scale) * scale, atol=2e-5)
    assert (gained(f, G, 0.1 * scale) <= found + 1e-7).all()  # more gains less, per unit


@pytest.mark.parametrize(
    ("f", "G", "expected"),
    [
        ([0.0, 1.0], [[0.3], [-0.1]], [2.5]),
        ([0.0, 1.0], [[-0.3], [-0.1]], [0.0]),  # kept with a margin
        # The candidate in between is just kept: tightened it would cost 7 a unit, relaxed it gains 5.
        ([0.0, 0.5, 4.0], [[0.1], [0.0], [-0.5]], [5.0]),
        # The same bound twice: relaxing one of them alone gains nothing.
        ([0.0, 1.0], [[0.3, 0.3], [-0.1, -0.1]], [0.0, 0.0]),
        ([0.0, 1.0], [[0.3], [0.1]], [np.nan]),  # cannot be kept
        ([0.0, 1.0], np.zeros((2, 0)), []),
    ],
)
def test_prices_by_hand(f, G, expected):
    np.testing.assert_allclose(mixture_prices(f, G), expected, atol=1e-6)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    group = rng.choice(["a", "b"], 1500)
    X[:, 2] = group == "a"
    y = X[:, 0] + 0.8 * X[:, 2] + rng.normal(size=1500) > 0
    return X, y, group


PROMISES = {
    "share": (lambda b: rb.positive_rate() <= b, 0.3, 0.001),
    "group": (lambda b: rb.positive_rate(group="a") <= b, 0.4, 0.001),
    "count": (lambda b: rb.predicted_positives() <= b, 450.0, 1.0),
    "floor": (lambda b: rb.recall() >= b, 0.9, -0.001),
}


@pytest.mark.parametrize("known", [[], ["group"]], ids=["one threshold", "by group"])
@pytest.mark.parametrize("name", PROMISES)
def test_prices_of_thresholds_are_what_other_bounds_gain(rows, name, known):
    """In rows for counts: each further yes is worth at most a row of error."""
    X, y, group = rows
    promise, bound, step = PROMISES[name]
    people = rb.Population(X, y, columns={"group": group})

    def solved(at, solve=thresholds_on):
        problem = rb.Problem(rb.error_rate(), [promise(at)])
        return solve(X[:, 0] + 0.8 * X[:, 2], rb.compile(problem, people), known)

    (price,) = solved(bound, pool_on).paid()
    relaxed, tightened = (solved(bound + sign * step).objectives["train"] for sign in (1, -1))
    here = solved(bound).objectives["train"]
    assert price > 0
    assert (here - relaxed) / abs(step) <= price + 1e-9  # the objective is convex in the bound
    assert price <= (tightened - here) / abs(step) + 1e-9
    nearby = solved(bound + 1e-4 * step).objectives["train"]
    assert (here - nearby) / abs(1e-4 * step) == pytest.approx(price, rel=1e-3)


def test_the_estimators_prices_are_what_its_own_iterates_gain(rows):
    X, y, group = rows
    promises = ["predicted_positives() <= 450.0", "recall() >= 0.2"]
    played = {
        "player": rb.SwapRegret(0.1, objective_weight=0.9),
        "solution": lambda trace: rb.shrink(trace),
    }  # no threshold moved
    model = rb.RateConstrainedClassifier(
        promises, training=rb.Training(epochs=200), random_state=0, **played
    )
    model.fit(X, y, columns={"group": group})
    count = next(iter(model.prices_))  # with the number of rows it is out of
    assert list(model.prices_) == list(model.multipliers_) == list(model.violations_)
    own = model.trace_.of_setting(model.solution_.setting)
    step = np.array([0.01, 1e-6])
    expected = gained(own.objectives, own.violations, step)
    np.testing.assert_allclose(list(model.prices_.values()), expected, rtol=0.02, atol=1e-6)
    assert 0 < model.prices_[count] < 2 / len(y)  # a row's worth of error, hardly more
    by_group = rb.RateConstrainedClassifier(
        promises, training=rb.Training(epochs=50), known=["group"], random_state=0
    )
    by_group.fit(X, y, columns={"group": group})
    assert 0 < by_group.prices_[count] < 2 / len(y)


@pytest.mark.parametrize(
    "words",
    [
        "equal_opportunity(group, slack=0.02)",
        'equal_opportunity(group, slack=0.02, against="pairwise")',
        'abs(recall(group == "a") - recall()) <= 0.01',
        "0.2 <= positive_rate() <= 0.3",
    ],
)
def test_a_goal_has_the_price_of_all_its_promises_loosened_together(words):
    """Against the same linear program, solved by SciPy with every bound moved."""
    rows = people(400, lift=1.0, cut=0.5, groups=("a", "b", "c"), share=0.33).population()
    others = ['recall(group == "a") >= 0.05', "accuracy() >= 0.3"]
    compiled = rb.compile(rb.Problem("error_rate()", [words, *others]), rows)
    trace = rb.play(compiled, rb.Linear(0.1), rounds=60, batch_size=None)
    found = rb.price(trace, words)
    assert found.said == str(rb.parse(words))
    assert found.said in str(found)
    loosened = np.append(np.ones(len(compiled.constraints) - 2), [0, 0])
    for room in (-0.01, 0.0, 0.03):
        solved = linprog(
            trace.objectives, trace.violations.T, room * loosened, np.ones((1, len(trace))), [1.0]
        )
        expected = solved.fun if solved.status == 0 else np.inf
        assert found.at(room) == pytest.approx(expected, abs=1e-6)
    again = rb.Price.from_dict(found.to_dict())
    assert str(again) == str(found)


def test_a_goal_that_was_not_promised_has_no_price():
    people = rb.Population(np.zeros((4, 1)), [0, 1, 0, 1], columns={"group": ["a", "a", "b", "b"]})
    promised = rb.compile(rb.Problem("error_rate()", ["equal_opportunity(group, slack=0.1)"]), people)
    for other in ("equalized_odds(group, slack=0.1)", "equal_opportunity(group, slack=0.2)"):
        with pytest.raises(ValueError, match="is not among the promises"):
            find(promised.problem, other)
