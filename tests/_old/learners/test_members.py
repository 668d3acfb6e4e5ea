"""The weighted problems that classifiers are asked: exact against brute force, and scores in order."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ratebound._old.game.scorer import Saved
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.learners.oracle import OracleScorer, as_linear, member_scores, weighted_rows

D = 4
rng = np.random.default_rng(0)
X = rng.normal(size=(240, 3))
Y = (X @ rng.normal(size=(3, D)) + rng.gumbel(size=(240, D))).argmax(axis=1)
COSTS = arrays(float, st.tuples(st.integers(1, 8), st.integers(2, 5)), elements=st.integers(-6, 6))


def stumps(values):
    """Every stump's decisions (n,) on one feature: a class up to each threshold, another above."""
    cuts = [-np.inf, *np.unique(values)]
    for cut, low, high in itertools.product(cuts, range(D), range(D)):
        yield np.where(values <= cut, low, high)


# --- the weighted problem ---------------------------------------------------------------------------


@given(COSTS, st.integers(0, 2**32 - 1))
def test_weighted_errors_are_costs_but_for_a_constant_and_a_factor(costs, seed):
    asked = weighted_rows(costs)
    choices = np.random.default_rng(seed).integers(0, costs.shape[1], (6, len(costs)))
    paid = np.array([costs[np.arange(len(costs)), h].sum() for h in choices])
    errors = np.array([asked.weights @ (h[asked.rows] != asked.labels) for h in choices])
    if not len(asked.rows):
        assert (paid == paid[0]).all()
        return
    gains = costs.max(axis=1, keepdims=True) - costs
    factor = gains.sum() / asked.weights.sum()
    np.testing.assert_allclose(factor * (errors - errors[0]), paid - paid[0], atol=1e-9)
    assert (asked.weights > 0).all()
    assert asked.weights.sum() == pytest.approx(len(np.unique(asked.rows)))


@given(arrays(float, st.integers(1, 12), elements=st.integers(-5, 5)))
def test_of_two_classes_the_cheaper_is_the_label(cost):
    asked = weighted_rows(np.column_stack([np.zeros(len(cost)), cost]))
    np.testing.assert_array_equal(asked.rows, np.flatnonzero(cost))
    np.testing.assert_array_equal(asked.labels, cost[cost != 0] < 0)
    size = np.abs(cost[cost != 0])
    np.testing.assert_allclose(asked.weights * size.sum(), size * len(size))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_stump_of_least_weighted_error_has_the_least_cost_of_all(seed):
    chance = np.random.default_rng(seed)
    values, costs = chance.normal(size=15), chance.normal(size=(15, D))
    weights = chance.integers(1, 4, 15)
    asked = weighted_rows(costs * weights[:, None], weights)
    every = list(stumps(values))
    errors = [asked.weights @ (h[asked.rows] != asked.labels) for h in every]
    paid = [(costs[np.arange(15), h] * weights).sum() for h in every]
    assert paid[int(np.argmin(errors))] == pytest.approx(min(paid))
    assert asked.weights.sum() == pytest.approx(weights.sum())


def test_errors_and_recalls_leave_one_copy_of_each_row():
    costs = (np.arange(D) != Y[:, None]) / len(Y)
    asked = weighted_rows(costs)
    np.testing.assert_array_equal(asked.rows, np.arange(len(Y)))
    np.testing.assert_array_equal(asked.labels, Y)
    assert (asked.weights == 1).all()
    costs[Y == 2, 2] -= 0.7 / (Y == 2).sum()  # the price of a recall
    asked = weighted_rows(costs)
    np.testing.assert_array_equal(asked.labels, Y)
    assert len(np.unique(asked.weights)) == 2


def test_rounding_makes_no_copies():
    costs = 0.1 + (np.arange(D) != Y[:, None]) * 3 * 0.1
    costs[:, 1] += 1e-17
    assert len(weighted_rows(costs + 1e-16 * rng.normal(size=costs.shape)).rows) == len(Y)


# --- scores -----------------------------------------------------------------------------------------

ANY = {
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(8, random_state=0),
    "hist": HistGradientBoostingClassifier(max_iter=5),
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(max_depth=3),
    "svc": LinearSVC(),
    "ridge": RidgeClassifier(),
    "pairs": SVC(decision_function_shape="ovo", kernel="linear"),
}


@pytest.mark.parametrize("kept", [(0, 1, 2, 3), (0, 2, 3), (1, 3)], ids=["all", "three", "two"])
@pytest.mark.parametrize("name", ANY)
def test_the_largest_score_is_the_class_it_predicts_among_those_it_saw(name, kept):
    seen = np.isin(Y, kept)
    member = ANY[name].fit(X[seen], Y[seen])
    scores = member_scores(member, X, D)
    assert scores.shape == (D, len(X))
    assert np.isfinite(scores).all()
    decided = scores.argmax(axis=0)
    assert set(decided) <= set(kept)
    top = np.sort(scores, axis=0)
    clear = top[-1] - top[-2] > 1e-9
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(decided[clear], member.predict(X)[clear])


def test_probabilities_become_their_logarithms():
    member = RandomForestClassifier(8, random_state=0).fit(X, Y)
    odds = member.predict_proba(X).T
    scores = member_scores(member, X, D)
    np.testing.assert_allclose(np.exp(scores), odds, atol=1e-11)


def test_a_class_decides_alone():
    scores = member_scores(2, X, D)
    assert (scores.argmax(axis=0) == 2).all()
    assert scores.shape == (D, len(X))
    assert (member_scores(1, X, 2) == 1).all()
    assert (member_scores(0, X, 2) == -1).all()


def test_regressors_are_refused_for_several_classes():
    with pytest.raises(TypeError, match=r"LinearRegression has no classes_ .* need a classifier"):
        member_scores(LinearRegression().fit(X, Y), X, D)


# --- linear members ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [(0, 1, 2, 3), (0, 2, 3), (1, 3)], ids=["all", "three", "two"])
@pytest.mark.parametrize("name", ["logistic", "svc", "ridge"])
def test_linear_members_are_numbers_with_the_same_scores(name, kept):
    seen = np.isin(Y, kept)
    member = ANY[name].fit(X[seen], Y[seen])
    flat, scores = as_linear(member, X, D)
    assert flat is not None
    np.testing.assert_allclose(scores, member_scores(member, X, D), atol=1e-9)
    np.testing.assert_array_equal(scores, LinearScorer("float64", D).scores(flat[None], X)[0])


@pytest.mark.parametrize("name", ["forest", "pairs", "pipeline", "bayes"])
def test_other_members_are_not(name):
    member = ANY[name].fit(X, Y)
    flat, scores = as_linear(member, X, D)
    assert flat is None
    np.testing.assert_array_equal(scores, member_scores(member, X, D))


def test_a_class_that_decides_alone_is_linear_too():
    flat, scores = as_linear(3, X, D)
    assert (scores.argmax(axis=0) == 3).all()
    assert np.count_nonzero(flat) == D


# --- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"constants": [3], "decisions": 3}, "classes there are not"),
        ({"constants": [-1], "decisions": 3}, "classes there are not"),
        ({"constants": ["cat"], "decisions": 3}, "classes there are not"),
        ({"constants": [1.0], "decisions": 3}, "classes there are not"),
        ({"constants": [1], "decisions": 1}, "decide between 1 classes"),
        ({"constants": [1], "decisions": 2**40}, "classes"),
        ({"constants": [1], "decisions": "3"}, "decide between '3' classes"),
    ],
)
def test_crafted_files_are_refused(description, words):
    with pytest.raises(ValueError, match=words):
        OracleScorer.read(Saved(description, {}, np.array([[0.0]])))


def test_estimators_of_other_classes_are_refused():
    member = LogisticRegression().fit(X, Y + 2)
    with pytest.raises(ValueError, match=f"LogisticRegression was not fitted to {D} classes"):
        member_scores(member, X, D)
