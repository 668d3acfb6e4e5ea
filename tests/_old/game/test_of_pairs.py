"""Models of rows trained on pairs: by hand on differences of features, and row by row for trees."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game.of_pairs import OfPairsScorer, apart, of_pairs, onto_rows
from ratebound._old.learners.linear import LinearScorer

RULE = 'ranked_right(first.group == "b", second.group == "a") >= 0.9'


def compiled(size=120, rule=(), **how):
    random = np.random.default_rng(0)
    X = random.normal(size=(size, 3))
    y = X[:, 0] + 0.5 * X[:, 1] + random.normal(size=size) > 0
    group = random.choice(["a", "b"], size)
    return rb.compile(rb.Problem("1 - ranked_right()", rule), rb.Pairs(X, y, {"group": group}, **how))


def test_values_of_pairs_are_added_up_on_their_rows():
    random = np.random.default_rng(0)
    values, first, second = random.normal(size=(2, 1, 50)), *random.integers(9, size=(2, 50))
    for sign in (1.0, -1.0):
        summed = np.zeros((2, 1, 9))
        for pair in range(50):
            summed[:, :, first[pair]] += values[:, :, pair]
            summed[:, :, second[pair]] += sign * values[:, :, pair]
        assert onto_rows(values, first, second, 9, sign) == pytest.approx(summed)


def test_tensors_are_treated_as_arrays_are():
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    values, first, second = random.normal(size=(2, 1, 50)), *random.integers(9, size=(2, 50))
    as_tensor = onto_rows(torch.as_tensor(values), first, second, 9, -1.0)
    assert as_tensor.numpy() == pytest.approx(onto_rows(values, first, second, 9, -1.0))
    scores = random.normal(size=(2, 1, 9))
    assert apart(torch.as_tensor(scores), first, second).numpy() == pytest.approx(
        apart(scores, first, second)
    )


@pytest.mark.parametrize("batch", [None, 16, 400])
def test_a_linear_model_steps_as_on_differences_of_features(batch):
    problem = compiled()
    pairs = problem.first
    rows = None if batch is None else np.random.default_rng(1).integers(len(pairs), size=batch)
    chosen = np.arange(len(pairs)) if rows is None else rows
    apart_by = pairs.rows.X[pairs.first[chosen]] - pairs.rows.X[pairs.second[chosen]]
    learner = rb.Linear(0.1, "sgd", dtype="float64")
    fit = of_pairs(learner).start(problem, 2, 0)
    plain = learner.start(rb.Population(apart_by), 2, 0)
    for _ in range(3):
        scores, by_hand = fit.scores(rows), plain.scores(None)
        assert scores == pytest.approx(by_hand, abs=1e-9)
        gradient = -1 / (1 + np.exp(scores)) / len(chosen)
        fit.descend(gradient)
        plain.descend(gradient)
        # The intercept cancels in a difference, so it never moves.
        assert fit.parameters()[:, :-1] == pytest.approx(plain.parameters()[:, :-1])
        assert fit.parameters()[:, -1] == pytest.approx(0.0, abs=1e-12)
        plain.weights[:, -1] = 0.0


def test_trees_grow_by_both_ends():
    problem = compiled()
    pairs = problem.first
    grown = []

    class Noting:
        device, dtype, scorer = None, "float64", LinearScorer()

        def scores(self, rows):
            return np.zeros((1, 1, pairs.rows.size))

        def grow(self, gradient, curvature):
            grown.extend([gradient, curvature])

    from ratebound._old.game.of_pairs import GrowingOnPairs

    fit = GrowingOnPairs(Noting(), pairs.inputs)
    assert (fit.scores(None) < 0).all()  # a tie is not right
    random = np.random.default_rng(0)
    slopes, bends = random.normal(size=(1, 1, len(pairs))), random.random((1, 1, len(pairs)))
    fit.grow(slopes, bends)
    for row in (0, 7, 50):
        first, second = pairs.first == row, pairs.second == row
        share = pairs.rows.size / (2 * len(pairs))
        assert grown[0][0, 0, row] == pytest.approx(
            share * (slopes[0, 0, first].sum() - slopes[0, 0, second].sum())
        )
        assert grown[1][0, 0, row] == pytest.approx(share * bends[0, 0, first | second].sum())


@pytest.mark.parametrize("name", ["linear", "mlp", "lightgbm", "xgboost"])
def test_a_game_on_pairs_lowers_their_error(name):
    if name != "linear":
        pytest.importorskip({"mlp": "torch"}.get(name, name))
    learner = {"linear": rb.Linear(0.1), "mlp": rb.MLP((8,), 0.03)}.get(name) or rb.Boosted(name)
    problem = compiled(rule=[RULE])
    trace = rb.play(problem, learner, rounds=60, batch_size=1000, keep=rb.Keep(every=10))
    best = rb.best_iterate(trace)
    assert best.objectives["train"] < 0.25
    scores = best.decision_function(problem.first.rows.X)  # of rows
    objective, violations = problem.evaluate(problem.first.differences(scores))
    assert objective == pytest.approx(best.objectives["train"])
    assert violations == pytest.approx(best.violations["train"])


def test_the_scorer_of_pairs_scores_rows_and_pairs():
    problem = compiled()
    pairs, scorer = problem.first, OfPairsScorer(LinearScorer("float64"))
    parameters = np.array([[1.0, -2.0, 0.5, 0.3]])
    own = scorer.scores(parameters, pairs.rows.X)
    few = pairs.features[np.array([5, 3])]
    assert scorer.scores(parameters, pairs.features) == pytest.approx(pairs.differences(own))
    assert scorer.scores(parameters, few) == pytest.approx(pairs.differences(own)[..., [5, 3]])


def test_whole_fits_are_refused():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(ValueError, match="learns from pairs by the gradient"):
        rb.play(compiled(), rb.Oracle(LogisticRegression()))
