"""Boosted trees of several classes: stock LightGBM's and XGBoost's, tree by tree, and through files."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax

import ratebound._old as rb
from ratebound._old.game.scorer import Saved
from ratebound._old.learners.boosted import BoostedScorer

rng = np.random.default_rng(3)
N, D = 700, 4
X = rng.normal(size=(N, 5))
X[:, 4] = rng.integers(0, 7, N)  # codes of a category
SIGNAL = np.stack([X[:, 0], X[:, 1], 0.5 + 0 * X[:, 0], np.isin(X[:, 4], (1, 4)) * 1.5])
Y = (SIGNAL + 0.5 * rng.gumbel(size=(D, N))).argmax(axis=0)
X[rng.random(X.shape) < 0.05] = np.nan
WEIGHTS = rng.integers(1, 4, N).astype(float)
both = pytest.mark.parametrize("library", ["lightgbm", "xgboost"])


def estimator(library, **given):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    plain = {"n_estimators": 8, "learning_rate": 0.3, "n_jobs": 1}
    if library == "lightgbm":
        plain |= {"num_leaves": 6, "verbosity": -1, "boost_from_average": False}
        return module.LGBMClassifier(**plain | given)
    return module.XGBClassifier(**plain | {"max_depth": 3} | given)


def grown(library, weights=None, settings=1, categorical=(), rounds=8, **given):
    """Trees grown on the softmax cross-entropy, whose curvature is counted twice as in the game."""
    rows = SimpleNamespace(inputs=X, weights=weights, decisions=D)
    fit = rb.Boosted(estimator(library, **given), categorical).start(rows, settings, 0)
    counted = np.ones(N) if weights is None else weights
    for _ in range(rounds):
        odds = softmax(fit.scores(None), axis=1)
        gradient = odds - (np.arange(D)[:, None] == Y)
        fit.grow(gradient * counted, 2 * odds * (1 - odds) * counted)
    return fit


def stock_margins(library, model, X, rounds=None):
    if library == "lightgbm":
        return model.booster_.predict(X, raw_score=True, num_iteration=rounds).T
    return model.predict(X, output_margin=True, iteration_range=(0, rounds or 8)).T


@both
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
@pytest.mark.parametrize("categorical", [(), (4,)], ids=["numbers", "codes"])
def test_the_trees_of_a_cross_entropy_are_those_of_the_library(library, weights, categorical):
    fit = grown(library, weights, categorical=categorical)
    if library == "lightgbm":
        stock = estimator(library)
        stock.fit(X, Y, sample_weight=weights, categorical_feature=list(categorical) or "auto")
    else:
        kinds = ["c" if i in categorical else "q" for i in range(X.shape[1])]
        stock = estimator(library, base_score=0.0, feature_types=kinds)
        stock.fit(X, Y, sample_weight=weights)
    scores = fit.scorer.scores(np.array([[0.0, 8.0], [0.0, 3.0]]), X)
    assert scores.shape == (2, D, N)
    for found, rounds in zip(scores, (8, 3), strict=True):
        expected = stock_margins(library, stock, X, rounds)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@both
def test_scores_in_training_are_those_deployed_to_the_last_bit(library):
    fit = grown(library, settings=2)
    assert fit.all_scores().shape == (2, D, N)
    np.testing.assert_array_equal(fit.parameters(), [[0, 8], [1, 8]])
    np.testing.assert_array_equal(fit.scorer.scores(fit.parameters(), X), fit.all_scores())
    other = SimpleNamespace(inputs=X[:50])
    np.testing.assert_array_equal(fit.watched_scores(other), fit.all_scores()[..., :50])


@both
def test_a_rows_scores_are_the_same_alone_and_among_others(library):
    fit = grown(library)
    together = fit.scorer.scores(fit.parameters(), X[:40])
    alone = [fit.scorer.scores(fit.parameters(), X[i : i + 1])[..., 0] for i in range(40)]
    np.testing.assert_array_equal(np.stack(alone, axis=-1), together)


@both
def test_models_share_trees_and_a_file_holds_only_those_needed(library):
    fit = grown(library, settings=2)
    parameters = np.array([[1.0, 5.0], [1.0, 2.0], [1.0, 0.0]])
    expected = fit.scorer.scores(parameters, X)
    assert (expected[2] == 0).all()
    short, renamed = fit.scorer.kept(parameters)
    assert [each.count for each in short.ensembles] == [5]
    description, arrays = short.describe()
    read = BoostedScorer.read(Saved(description, arrays, renamed))
    assert read.ensembles[0].outputs == D
    np.testing.assert_array_equal(read.scores(renamed, X), expected)
    np.testing.assert_array_equal(read.scores(renamed, X[:1]), expected[..., :1])


@pytest.mark.parametrize(
    ("library", "given"),
    [
        ("lightgbm", {"objective": "multiclass", "num_class": 9}),
        ("xgboost", {"objective": "multi:softprob", "num_class": 9}),
        ("xgboost", {"objective": "multi:softmax"}),
    ],
)
def test_the_rows_say_how_many_classes_there_are(library, given):
    assert grown(library, rounds=1, **given).all_scores().shape == (1, D, N)


def in_graph(fit, parameters):
    """The scores of a graph, (M, D, n)."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from ratebound._old.solution.onnx import GraphBuilder

    graph = GraphBuilder(frozenset())
    features = graph.input("features", "float64", X.shape[1])
    graph.output("scores", fit.scorer.to_graph(graph, parameters, features), "float64", 3, D)
    session = runtime.InferenceSession(graph.model({}).SerializeToString())
    return session.run(None, {"features": X})[0].transpose(1, 2, 0)


@both
@pytest.mark.parametrize("categorical", [(), (4,)], ids=["numbers", "codes"])
def test_graphs_have_the_scores_of_the_library_to_the_last_bit(library, categorical):
    fit = grown(library, settings=2, categorical=categorical, rounds=4)
    parameters = np.array([[0.0, 4.0], [1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(in_graph(fit, parameters), fit.scorer.scores(parameters, X))


def test_several_trees_of_a_class_in_a_round_are_rounds_of_their_own():
    fit = grown("xgboost", rounds=2, num_parallel_tree=3, subsample=0.5)
    np.testing.assert_array_equal(fit.parameters(), [[0, 6]])
    np.testing.assert_array_equal(fit.scorer.scores(fit.parameters(), X), fit.all_scores())
    parameters = np.array([[0.0, 6.0], [0.0, 3.0], [0.0, 1.0]])
    np.testing.assert_array_equal(in_graph(fit, parameters), fit.scorer.scores(parameters, X))
