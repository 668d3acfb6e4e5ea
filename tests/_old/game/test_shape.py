"""Few parameters, in groups, and parts that scikit-learn can clone and search."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb

from ..small_tables import people

X, Y, GROUP = people(slopes=(1.0, 0.0, 0.0), lift=0.5, share=0.4)
PARTS = {
    "linear": lambda: rb.Linear([0.01, 0.1], l2=0.1),
    "mlp": lambda: rb.MLP(hidden=[4, 4], learning_rate=(0.1, 0.2)),
    "oracle": lambda: rb.Oracle(LogisticRegression(C=2.0)),
    "swap": lambda: rb.SwapRegret([0.1, 0.2], objective_weight=0.7),
    "external": lambda: rb.ExternalRegret("theorem", "sgd", radius=3.0),
    "cutting planes": lambda: rb.CuttingPlane(radius=5.0),
    "grid": lambda: rb.Grid(7, radius=2.0),
    "rules": lambda: rb.Rules(proxy="hinge", window=9),
    "keep": lambda: rb.Keep(5, frontier=True),
    "stop": lambda: rb.Stop(max_time=3),
}


def test_few_parameters():
    assert len(inspect.signature(rb.play).parameters) <= 16


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_cloned_with_their_parameters(name):
    part = PARTS[name]()
    copy = clone(part)
    assert copy is not part
    assert {key: repr(value) for key, value in copy.get_params().items()} == {
        key: repr(value) for key, value in part.get_params().items()
    }
    for each in fields(part):
        if each.init:
            part.set_params(**{each.name: getattr(copy, each.name)})
    assert repr(part) == repr(copy)
    with pytest.raises(ValueError, match="has no parameter 'depth', only"):
        part.set_params(depth=3)


def test_what_is_set_is_checked_as_what_is_made():
    with pytest.raises(ValueError, match="l2 takes a number"):
        rb.Linear().set_params(l2=-1)
    oracle = rb.Oracle(LogisticRegression()).set_params(estimator__C=0.5, tolerance=0.1)
    assert (oracle.estimator.C, oracle.tolerance) == (0.5, 0.1)
    with pytest.raises(ValueError, match="Linear has no parameter 'l2__size', only"):
        rb.Linear().set_params(l2__size=3)


def test_what_cannot_be_set_changes_nothing():
    learner = rb.Linear(0.1)
    with pytest.raises(ValueError, match="a learning rate is"):
        learner.set_params(l2=1.0, learning_rate=-1)
    assert learner == rb.Linear(0.1)


class Biased(rb.Descending):
    """A fit that deploys other scores than its own."""

    def __init__(self, rows, settings):
        self.inner = rb.Linear().start(rows, settings, 0)
        self.scorer = self.inner.scorer

    def scores(self, rows):
        return self.inner.scores(rows)

    def descend(self, gradient):
        self.inner.descend(gradient)

    def parameters(self):
        return self.inner.parameters()

    def all_scores(self):
        return self.inner.all_scores() + 1


def learner_of(start, fit=rb.Descending):
    kind = type("Mine", (rb.Learner,), {"start": lambda self, *given: start(*given), "fit": fit})
    return kind()


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (learner_of(lambda rows, k, seed: Biased(rows, k)), "differs from its scorer's scores"),
        (learner_of(lambda rows, k, seed: Biased(rows, 3)), r"shape \(1, 1, 300\).* got \(3, 1, 300\)"),
        (
            learner_of(lambda rows, k, seed: Biased(rows, k), rb.Answering),
            "but Mine.fit says rb.Answering",
        ),
        (learner_of(lambda rows, k, seed: None), "Mine.start gave a NoneType"),
    ],
    ids=["another model", "settings", "kind", "nothing"],
)
def test_learners_are_held_to_their_type(learner, words):
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(X, Y))
    with pytest.raises((TypeError, ValueError), match=words):
        rb.play(compiled, learner, rounds=2)


def test_players_are_held_to_their_type():
    class Careless(rb.Player):
        def start(self, constraints, **_):
            return rb.Multipliers(np.ones(1 + constraints), None)

        def step(self, multipliers, violations):
            return multipliers

    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.5"]), rb.Population(X, Y))
    with pytest.raises(TypeError, match=r"Careless.start must give rb.Multipliers .* \(1, 2\)"):
        rb.play(compiled, rb.Linear(), player=Careless(), rounds=2)


def test_what_answers_plays_cutting_planes_for_few_rounds_unless_told():
    class Solver(rb.Learner):
        fit = rb.Answering

        def start(self, rows, settings, seed):
            return rb.Oracle(LogisticRegression()).start(rows, settings, seed)

    assert Solver().rounds == 50
    assert isinstance(Solver().player, rb.CuttingPlane)
    problem = rb.Problem("error_rate()", ["positive_rate() <= 0.4"])
    trace = rb.play(rb.compile(problem, rb.Population(X, Y)), Solver())
    assert trace.round.max() <= 50
    assert rb.shrink(trace).status.feasible
