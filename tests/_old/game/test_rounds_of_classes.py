"""Rounds and traces with a score for each of several classes."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb
from ratebound._old.game.learner import Descending, Learner
from ratebound._old.game.trace import scores_on

from ..extras import lightgbm, xgboost

N, D = 450, 3
rng = np.random.default_rng(8)
X = rng.normal(size=(N, 3))
Y = (X + 0.7 * rng.normal(size=(N, D)) + [0.4, 0.0, -0.4]).argmax(axis=1)
GROUP = np.where(X[:, 1] + rng.normal(size=N) > 0.4, "a", "b")
PROMISES = [rb.recall(of=2, group="b") >= 0.7, rb.positive_rate(of=0) <= 0.45]
PROBLEM = rb.Problem(rb.error_rate(), PROMISES)

LEARNERS = {
    "linear": lambda: rb.Linear(0.05),
    "linear, settings": lambda: rb.Linear((0.01, 0.1)),
    "mlp": lambda: rb.MLP((4,), 0.05),
    "lattice": lambda: rb.Lattice(2, 2, keypoints=5),
    "lightgbm": lambda: rb.Boosted(
        lightgbm.LGBMClassifier(n_estimators=8, num_leaves=6, verbosity=-1, n_jobs=1)
    ),
    "xgboost": lambda: rb.Boosted(xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)),
    "logistic": lambda: rb.Oracle(LogisticRegression()),
    "tree": lambda: rb.Oracle(DecisionTreeClassifier(max_depth=3, random_state=0)),
}
ANSWERING = ("logistic", "tree")
NEEDED = {"mlp": "torch", "lattice": "torch", "lightgbm": "lightgbm", "xgboost": "xgboost"}
every = pytest.mark.parametrize("learner", LEARNERS)


def compiled(rows=slice(None)):
    columns = {"group": GROUP[rows]}
    return rb.compile(PROBLEM, rb.Population(X[rows], Y[rows], columns=columns, classes=range(D)))


def play(learner, train, **options):
    if learner in NEEDED:
        pytest.importorskip(NEEDED[learner])
    how = {} if learner in ANSWERING else {"batch_size": 64, "keep": rb.Keep(4)}
    how = {"rounds": 8, "progress": False} | how | options
    return rb.play(train, LEARNERS[learner](), **how)


@every
def test_values_of_a_trace_are_those_of_its_models(learner):
    train, new = compiled(rows=slice(0, 300)), compiled(rows=slice(300, None))
    trace = play(learner, train, watch={"new": new})
    scores = scores_on(train, trace.scorer, trace.parameters)
    assert scores.shape == (len(trace), D, 300)
    objectives, violations = train.evaluate(scores)
    np.testing.assert_array_equal(objectives, trace.objectives)
    np.testing.assert_array_equal(violations, trace.violations)
    deployed = trace.scorer.scores(trace.parameters, X[300:])
    np.testing.assert_array_equal(trace.watched["new"].violations, new.evaluate(deployed)[1])
    again = trace.only(np.array([1, 0]))
    np.testing.assert_array_equal(again.violations, trace.violations[[1, 0]])
    copied = pickle.loads(pickle.dumps(trace))
    again = scores_on(train, copied.scorer, copied.parameters)
    np.testing.assert_allclose(again, scores, atol=1e-6)
    assert rb.shrink(trace).classes == (0, 1, 2)


def test_a_learner_with_one_score_a_row_is_told_what_is_missing():
    class Lines(Descending):
        def __init__(self, features, settings):
            self.X, self.w = features, np.zeros((settings, features.shape[1]))
            self.scorer = rb.Linear().start(rb.Population(features, Y[: len(features)] > 0), 1, 0).scorer

        def scores(self, rows):
            return self.w @ self.X.T

        def descend(self, gradient):
            self.w -= gradient @ self.X

        def parameters(self):
            return self.w

        def all_scores(self):
            return self.w @ self.X.T

    class Old(Learner):
        def start(self, rows, settings, seed):
            return Lines(rows.features, settings)

    with pytest.raises(ValueError, match=r"3 classes need a score for each .* rows.decisions"):
        rb.play(compiled(), Old(), rounds=2, progress=False)
