"""Rounds, folds, judges and traces with a score for each of several classes."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb
from ratebound._old.game.folding import _out_of_fold, folded
from ratebound._old.game.learner import Descending, Learner
from ratebound._old.game.moving import with_moved_thresholds
from ratebound._old.game.trace import beside, judged_on

from ..extras import lightgbm, torch, xgboost

N, D, COUNT = 450, 3, 3
rng = np.random.default_rng(8)
X = rng.normal(size=(N, 3))
Y = (X + 0.7 * rng.normal(size=(N, D)) + [0.4, 0.0, -0.4]).argmax(axis=1)
GROUP = np.where(X[:, 1] + rng.normal(size=N) > 0.4, "a", "b")
PROMISES = [rb.recall(of=2, group="b") >= 0.7, rb.positive_rate(of=0) <= 0.45]
PROBLEM, FREE = rb.Problem(rb.error_rate(), PROMISES), rb.Problem(rb.error_rate())
STILL = rb.ExternalRegret(1e-30)  # multipliers that do not move

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


def compiled(problem=PROBLEM, rows=slice(None), labels=Y, columns=None):
    own = {"group": GROUP[rows]} if columns is None else columns
    return rb.compile(problem, rb.Population(X[rows], labels[rows], columns=own, classes=range(D)))


def play(learner, train, judge=rb.Folds(COUNT), **options):  # noqa: B008  # frozen
    if learner in NEEDED:
        pytest.importorskip(NEEDED[learner])
    how = {} if learner in ANSWERING else {"batch_size": 64, "keep": rb.Keep(4)}
    how = {"rounds": 8, "progress": False} | how | options
    return rb.play(train, LEARNERS[learner](), judge=judge, **how)


@every
def test_labels_of_a_fold_do_not_reach_the_model_that_judges_it(learner, monkeypatch):
    """Whatever they are, it makes the same decisions there."""
    folds = folded(compiled(FREE), COUNT, seed=0)
    monkeypatch.setattr("ratebound._old.game.rounds.folded", lambda *_: folds)
    inside = folds.of == 1
    shares = [rb.positive_rate(inside=True, of=each) <= 1 for each in range(D)]
    problem = rb.Problem(rb.error_rate(), shares)
    decided = []
    for labels in (Y, np.where(inside, (Y + 1) % D, Y)):
        train = compiled(problem, labels=labels, columns={"inside": inside})
        player = rb.Grid(1) if learner in ANSWERING else STILL
        decided.append(play(learner, train, player=player).violations)
    np.testing.assert_allclose(*decided, atol=1e-9)
    assert len(np.unique(decided[0].round(6))) > 1


@every
def test_scores_of_a_trace_are_out_of_fold_on_its_own_rows_alone(learner):
    train, new = compiled(rows=slice(0, 300)), compiled(rows=slice(300, None))
    trace = play(learner, train, watch={"new": new})
    scores = trace.scores(train)
    assert scores.shape == (len(trace), D, 300)
    objectives, violations = train.evaluate(scores)
    np.testing.assert_array_equal(objectives, trace.objectives)
    np.testing.assert_array_equal(violations, trace.violations)
    deployed = trace.scorer.scores(trace.parameters, X[300:])
    np.testing.assert_array_equal(trace.scores(new), deployed)
    np.testing.assert_array_equal(trace.watched["new"].violations, new.evaluate(deployed)[1])
    again = judged_on(trace.only(np.array([1, 0])), compiled(rows=slice(0, 300)))
    np.testing.assert_array_equal(again.violations, trace.violations[[1, 0]])
    copied = pickle.loads(pickle.dumps(trace))
    np.testing.assert_allclose(copied.scores(train), scores, atol=1e-6)
    assert rb.shrink(trace).classes == (0, 1, 2)


@pytest.mark.parametrize("learner", ["linear", "mlp", "lightgbm"])
def test_deployed_is_the_model_of_all_rows(learner):
    """If multipliers do not move, it is the model that would be trained without a judge."""
    one, other = (play(learner, compiled(), judge, player=STILL) for judge in (rb.Folds(COUNT), None))
    scores = [trace.scorer.scores(trace.parameters, X) for trace in (one, other)]
    np.testing.assert_allclose(*scores, atol=1e-3)
    assert not np.array_equal(one.objectives, other.objectives)


@pytest.mark.parametrize("learner", ["linear", "lightgbm", "logistic"])
def test_candidates_of_another_game_keep_their_own_folds(learner):
    train, errors = compiled(), compiled(FREE)
    trace = play(learner, train)
    plain = judged_on(play(learner, errors), train)
    both = beside(trace, plain)
    np.testing.assert_array_equal(both.scores(train)[: len(trace)], trace.scores(train))
    np.testing.assert_array_equal(both.scores(train)[len(trace) :], plain.scores(train))
    np.testing.assert_array_equal(train.evaluate(both.scores(train))[1], both.violations)


@pytest.mark.parametrize("learner", ["linear", "lightgbm", "tree"])
def test_moved_offsets_are_out_of_fold_too(learner):
    train = compiled()
    trace = play(learner, train)
    moved = with_moved_thresholds(trace, train)
    assert moved.at.shape == (len(moved), D)
    values = train.evaluate(moved.scores(train).astype(float) - moved.at[:, :, None])
    np.testing.assert_allclose(moved.objectives, values[0], atol=1e-12)
    np.testing.assert_allclose(moved.violations, values[1], atol=1e-12)
    assert len(moved.iterates) == len(trace)


def test_judging_a_few_candidates_at_a_time_changes_nothing(monkeypatch):
    train = compiled()
    trace = play("linear", train, None, keep=rb.Keep(1))
    whole = judged_on(trace, train)
    monkeypatch.setattr("ratebound._old.game.trace.AT_ONCE", D * N)
    np.testing.assert_array_equal(judged_on(trace, train).violations, whole.violations)


def test_tensors_are_put_out_of_fold_like_arrays():
    pytest.importorskip("torch")
    of = rng.integers(0, COUNT, 20)
    for shape in ((8, 20), (8, D, 20)):
        scores = rng.normal(size=shape)
        chosen = _out_of_fold(torch.tensor(scores), COUNT, torch.tensor(of))
        np.testing.assert_array_equal(chosen, _out_of_fold(scores, COUNT, of))
        expected = scores.reshape(2, COUNT + 1, *shape[1:])
        for row, fold in enumerate(of):
            np.testing.assert_array_equal(chosen[..., row], expected[:, fold, ..., row])


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
