"""The arguments of `play` are checked before training, for every learner."""

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb

from ..small_tables import people

PROBLEM = rb.Problem("error_rate()", ["positive_rate() <= 0.3"])
COMPILED = rb.compile(PROBLEM, people(60, noise=0).population())


class Untrained(rb.Learner):
    """A learner that fails the test if it is asked to train."""

    def start(self, rows, settings, seed):
        pytest.fail("training began")


WHOLE = "takes a whole number from 1 on"
SLIPS = [
    ({"rounds": 1, "epochs": 1}, "rounds or epochs"),
    *(({"rounds": value}, f"rounds {WHOLE}") for value in (0, -1, 2.5, math.nan, math.inf, "a", True)),
    *(({"epochs": value}, f"epochs {WHOLE}") for value in (0, 2.5, math.nan, "a")),
    *(({"batch_size": value}, f"batch_size {WHOLE}") for value in (0, -1, 2.5, math.nan, "a")),
    *(({"seed": value}, "seed takes a whole number from 0 on") for value in (-1, 1.5, "a", None)),
    ({"player": "swap"}, "player takes one such as rb.SwapRegret"),
    ({"rules": "hinge"}, r"rules takes rb.Rules\(...\), got 'hinge'"),
    ({"keep": 5}, r"keep takes rb.Keep\(...\), got 5"),
    ({"stop": 60.0}, r"stop takes rb.Stop\(...\), got 60.0"),
    ({"watch": [COMPILED]}, "watch takes compiled populations by name"),
    ({"watch": {"test": PROBLEM}}, "watch takes compiled populations by name"),
]


@pytest.mark.parametrize(("options", "words"), SLIPS, ids=lambda given: str(given)[:40])
def test_slips_are_refused_before_training(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        rb.play(COMPILED, Untrained(), **options)


GROUPS = [
    *((rb.Rules, {"window": value}, f"window {WHOLE}") for value in (0, -3, math.nan, "a", None)),
    *((rb.Keep, {"at_most": value}, f"at_most {WHOLE}") for value in (0, 2.5, math.nan)),
    *((rb.Keep, {"every": value}, f"every.* {WHOLE}") for value in (0, 1.5, "round", True, math.nan)),
    (rb.Rules, {"loss": "square"}, "loss must be one of hinge, logistic, sigmoid, got 'square'"),
    (rb.Rules, {"proxy": "step"}, "proxy must be one of hinge, logistic, sigmoid"),
    (rb.Rules, {"proxy": None}, "proxy must be one of hinge, logistic, sigmoid"),
    (rb.Rules, {"estimate": "exact"}, "estimate must be one of running, unbiased"),
    *((rb.Stop, {"max_time": v}, "max_time takes a number") for v in (-1, math.nan, math.inf, "a")),
    (rb.Stop, {"when": 5}, "when takes a function"),
]


@pytest.mark.parametrize(("group", "options", "words"), GROUPS, ids=lambda given: str(given)[:40])
def test_groups_check_their_own(group, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        group(**options)


@pytest.mark.parametrize("learner", [None, "linear", rb.Linear, DecisionTreeClassifier()])
def test_no_learner(learner):
    with pytest.raises(TypeError, match="play takes a learner such as"):
        rb.play(COMPILED, learner)


def test_no_compiled_problem():
    with pytest.raises(TypeError, match=r"play takes what rb\.compile gives first, got Problem"):
        rb.play(PROBLEM, rb.Linear())


def test_training_goes_on_from_where_it_is_told_to():
    trace = rb.play(COMPILED, rb.Linear(), rounds=5, batch_size=None, keep=rb.Keep(1))
    on = rb.Linear(1e-9).starting_at(trace.parameters[-1])
    again = rb.play(COMPILED, on, rounds=1, batch_size=None)
    np.testing.assert_allclose(again.parameters, trace.parameters[-1:], atol=1e-8)


@pytest.mark.parametrize("initial", ["a", np.zeros(7), np.zeros((2, 3))])
def test_starts_have_the_shape_of_parameters(initial):
    words = "initial takes the parameters of a trace, 3 numbers for each of 1"
    with pytest.raises(ValueError, match=words):
        rb.play(COMPILED, rb.Linear().starting_at(initial), rounds=1)


@pytest.mark.parametrize("learner", [rb.Oracle(DecisionTreeClassifier()), Untrained()])
def test_what_is_fitted_anew_cannot_go_on(learner):
    with pytest.raises(ValueError, match="fitted anew"):
        learner.starting_at(np.zeros(3))


def test_what_a_learner_has_no_use_for_is_ignored():
    oracle = rb.Oracle(DecisionTreeClassifier(max_depth=1))
    given = rb.play(
        COMPILED, oracle, rounds=2, batch_size=7, rules=rb.Rules(loss="hinge", window=3), keep=rb.Keep(2)
    )
    plain = rb.play(COMPILED, oracle, rounds=2)
    np.testing.assert_array_equal(given.violations, plain.violations)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rb.Game(COMPILED, rules=rb.Rules(window="a")), f"window {WHOLE}"),
        (lambda: rb.Game(COMPILED, settings=0), f"settings {WHOLE}"),
        (lambda: rb.Game(COMPILED, precision="half"), "precision must be one of float32, float64"),
        (
            lambda: rb.Game(COMPILED, rules=rb.Rules(threshold_rate=0)),
            "threshold_rate takes a number that is above 0",
        ),
        (lambda: rb.Linear(l2=math.nan), "l2 takes a number"),
        (lambda: rb.Linear(l2="a"), "l2 takes a number"),
        (lambda: rb.Linear(radius=0), "radius takes a number that is above 0"),
        (lambda: rb.Linear(dtype="half"), "dtype must be one of float32, float64"),
        (lambda: rb.Oracle(DecisionTreeClassifier(), tolerance="a"), "tolerance takes a number"),
        (lambda: rb.Grid(points=2.5), f"points {WHOLE}"),
        (lambda: rb.CuttingPlane(radius="a"), "radius takes a number"),
    ],
)
def test_learners_and_players_check_their_own(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rb.Torch(None), "Torch takes a module"),
        (lambda: rb.Torch(lambda: None, l2=-1), "l2 takes a number"),
        (lambda: rb.Lattice(rank=2.5), f"rank {WHOLE}"),
        (lambda: rb.Lattice(l2=-1), "l2 takes a number"),
    ],
)
def test_networks_and_lattices_check_their_own(make, words):
    pytest.importorskip("torch")
    with pytest.raises((ValueError, TypeError), match=words):
        make()
