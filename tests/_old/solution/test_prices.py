"""Prices against what relaxing a bound really gains, found by other solvers and by training again."""

import numpy as np
import pytest
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.base.linear_program import mixture_prices
from ratebound._old.solution.prices import find

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
