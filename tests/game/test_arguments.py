"""What `play` takes is checked before training, for every learner alike."""

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import ratebound as rb

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 2))
PROBLEM = rb.Problem("error_rate()", ["positive_rate() <= 0.3"])
COMPILED = rb.compile(PROBLEM, rb.Population(X, X[:, 0] > 0))


class Untrained:
    """Stands in for a learner and fails the test if it is asked to train."""

    def __init__(self, **flags):
        vars(self).update(settings=1, rounds=2, tolerance=0.0, **flags)

    def start(self, *args, **options):
        pytest.fail("training began")


LEARNERS = {
    "descending": Untrained(),
    "boosting": Untrained(newton=True),
    "answering": Untrained(answers=True),
}
WHOLE = "takes a whole number from 1 on"
SLIPS = [
    ({"rounds": 1, "epochs": 1}, "rounds or epochs"),
    *(({"rounds": value}, f"rounds {WHOLE}") for value in (0, -1, 2.5, math.nan, math.inf, "a", True)),
    *(({"epochs": value}, f"epochs {WHOLE}") for value in (0, 2.5, math.nan, "a")),
    *(({"batch_size": value}, f"batch_size {WHOLE}") for value in (0, -1, 2.5, math.nan, "a")),
    *(({"window": value}, f"window {WHOLE}") for value in (0, -3, math.nan, "a", None)),
    *(({"keep_at_most": value}, f"keep_at_most {WHOLE}") for value in (0, 2.5, math.nan)),
    *(({"keep_every": value}, f"keep_every.* {WHOLE}") for value in (0, 1.5, "round", True, math.nan)),
    *(({"seed": value}, "seed takes a whole number from 0 on") for value in (-1, 1.5, "a", None)),
    ({"loss": "square"}, "loss must be one of hinge, logistic, sigmoid, got 'square'"),
    ({"proxy": "step"}, "proxy must be one of hinge, logistic, sigmoid"),
    ({"proxy": None}, "proxy must be one of hinge, logistic, sigmoid"),
    ({"estimate": "exact"}, "estimate must be one of running, unbiased"),
    *(({"max_time": value}, "max_time takes a number") for value in (-1, math.nan, math.inf, "a")),
    ({"multipliers": "swap"}, "a player such as rb.SwapRegret"),
    ({"stop": 5}, "stop takes a function"),
    ({"watch": [COMPILED]}, "watch takes compiled populations by name"),
    ({"watch": {"test": PROBLEM}}, "watch takes compiled populations by name"),
]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("options", "words"), SLIPS, ids=lambda given: str(given)[:40])
def test_slips_are_refused_before_training(learner, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        rb.play(COMPILED, LEARNERS[learner], **options)


@pytest.mark.parametrize("learner", [None, "linear", rb.Linear, DecisionTreeClassifier()])
def test_no_learner(learner):
    with pytest.raises(TypeError, match="play takes a learner such as"):
        rb.play(COMPILED, learner)


def test_no_compiled_problem():
    with pytest.raises(TypeError, match=r"play takes what rb\.compile gives first, got Problem"):
        rb.play(PROBLEM, rb.Linear())


@pytest.mark.parametrize("start", ["a", np.zeros(7), np.zeros((2, 3)), None])
def test_starts_have_the_shape_of_parameters(start):
    if start is None:
        assert len(rb.play(COMPILED, rb.Linear(), rounds=1, start=np.zeros((1, 3)))) == 1
        return
    with pytest.raises(
        ValueError, match="start takes the parameters of a trace, 3 numbers for each of 1"
    ):
        rb.play(COMPILED, rb.Linear(), rounds=1, start=start)


def test_what_a_learner_has_no_use_for_is_ignored():
    oracle = rb.Oracle(DecisionTreeClassifier(max_depth=1))
    given = rb.play(COMPILED, oracle, rounds=2, batch_size=7, loss="hinge", window=3, keep_every=2)
    plain = rb.play(COMPILED, oracle, rounds=2)
    np.testing.assert_array_equal(given.violations, plain.violations)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rb.Game(COMPILED, window="a"), f"window {WHOLE}"),
        (lambda: rb.Game(COMPILED, settings=0), f"settings {WHOLE}"),
        (lambda: rb.Game(COMPILED, precision="half"), "precision must be one of float32, float64"),
        (lambda: rb.Game(COMPILED, threshold_rate=0), "threshold_rate takes a number that is above 0"),
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
