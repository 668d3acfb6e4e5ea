"""Scorers from outside the package: deployed, saved and loaded like ours once they are registered."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game.scorer import Saved, read_scorer
from ratebound._old.learners.linear import LinearScorer

from ..small_tables import people

TABLE = people()
X, PEOPLE = TABLE.X, TABLE.population()
PROBLEM = rb.Problem(rb.error_rate(), [rb.positive_rate(group="a") <= 0.3])


@rb.register_scorer
@dataclass(frozen=True, eq=False)
class Bumps(rb.Scorer):
    """Sums of bumps around fixed centers, with heights and an intercept as parameters."""

    kind: ClassVar[str] = "test bumps"
    centers: np.ndarray  # (k, d)
    sharpness: float = 1.0

    def scores(self, parameters, X):
        away = ((X[:, None] - self.centers) ** 2).sum(axis=2)
        sums = parameters[:, :-1] @ np.exp(-self.sharpness * away).T + parameters[:, -1:]
        return sums[:, None]

    def width(self, parameters):
        return self.centers.shape[1]

    def describe(self):
        return {"sharpness": self.sharpness}, {"centers": self.centers}

    @classmethod
    def read(cls, saved):
        return cls(saved.arrays["centers"], float(saved.description["sharpness"]))


class Unregistered(Bumps):
    kind = "test unregistered"


@pytest.fixture(scope="module")
def trace():
    """The trace of a game, its models replaced by bumps of random heights."""
    compiled = rb.compile(PROBLEM, PEOPLE)
    played = rb.play(compiled, rb.Linear(0.1), rounds=20, progress=False)
    heights = np.random.default_rng(1).normal(size=(len(played), 5))
    scorer = Bumps(X[:4], 0.5)
    objectives, violations = compiled.evaluate(scorer.scores(heights, X))
    bumps = replace(played, scorer=scorer, parameters=heights)
    return replace(bumps, objectives=objectives, violations=violations)


@pytest.mark.parametrize("solution", [rb.shrink, rb.average, rb.best_iterate])
def test_an_outsiders_models_are_saved_and_loaded(trace, tmp_path, solution):
    mixture = solution(trace)
    again = rb.load(mixture.save(tmp_path))
    assert type(again.scorer) is Bumps
    assert again.scorer.sharpness == 0.5
    np.testing.assert_array_equal(again.decision_proba(X), mixture.decision_proba(X))
    np.testing.assert_array_equal(again.predict(X), mixture.predict(X))
    assert 0 < again.predict(X).mean() < 1


def test_models_that_nobody_registered_are_refused_with_the_remedy(trace, tmp_path):
    own = replace(trace, scorer=Unregistered(X[:4]))
    path = rb.average(own).save(tmp_path)
    with pytest.raises(ValueError, match=r"'test unregistered', which is not registered.*rb\.register"):
        rb.load(path)


def test_a_kind_belongs_to_one_class():
    class Other(Bumps):
        pass

    with pytest.raises(ValueError, match=r"'test bumps' are .*Bumps: give .*Other another kind"):
        rb.register_scorer(Other)
    assert rb.register_scorer(Bumps) is Bumps  # as when a notebook's cell is run again


def test_a_file_that_does_not_fit_is_one_error(trace, tmp_path):
    """Any error from a user's `read` becomes an error that names the file."""
    path = rb.average(replace(trace, scorer=Bumps(X[:4], sharpness="steep"))).save(tmp_path)
    with pytest.raises(ValueError, match=r"model\.safetensors cannot be loaded"):
        rb.load(path)


def test_models_without_a_graph_say_so(trace, tmp_path):
    pytest.importorskip("onnx")
    from ratebound._old.solution.onnx import to_onnx

    with pytest.raises(ValueError, match="kind 'test bumps': their scorer, Bumps, has no to_graph"):
        to_onnx(rb.average(trace), tmp_path / "m.onnx")


def test_ours_are_registered():
    described = {"kind": "linear", "dtype": "float64", "decisions": 2}
    read = read_scorer(Saved(described, {}, np.ones((1, 3))))
    assert read == LinearScorer("float64")
