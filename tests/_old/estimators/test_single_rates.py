"""One rate capped or floored: kept by every model, at no more than a plain model's threshold costs."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb

from ..extras import lightgbm, xgboost

pytestmark = pytest.mark.usefixtures("brief")

ASKS = {
    "precision": ("-recall()", "precision() >= 0.8"),
    "capacity": ("error_rate()", "positive_rate() <= 0.15"),
    "false alarms": ("error_rate()", "false_positive_rate() <= 0.05"),
    "recall": ("error_rate()", "recall() >= 0.9"),
    "all alarms": ("false_positive_rate()", "recall() >= 0.95"),
    "few noes": ("error_rate()", "negative_rate() <= 0.2"),
}
# The libraries' own estimators would start from the share of positives; ours start from 0.
MODELS = {
    "linear": lambda: "linear",
    "lightgbm": lambda: lightgbm.LGBMClassifier(
        n_estimators=20, n_jobs=1, verbosity=-1, boost_from_average=False
    ),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, base_score=0.5),
    "logistic": LogisticRegression,
    "forest": lambda: RandomForestClassifier(20, max_depth=4, random_state=0),
}


def rows(count, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=count) > 1.0


def expected(model, problem, X, y):
    """Objective and worst violation of the model's probabilities of yes, on these rows."""
    compiled = rb.compile(problem, rb.Population(X, y))
    objectives, violations = compiled.evaluate(model.solution_.member_scores(X).T)
    weights = model.solution_.weights
    return weights @ objectives, (weights @ violations).max()


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("kind", MODELS)
def test_one_rate_is_always_kept(kind, ask):
    X, y = rows(500)
    objective, promise = ASKS[ask]
    model = rb.RateConstrainedClassifier(
        promise, objective=objective, model=MODELS[kind](), random_state=0, confidence=None
    ).fit(X, y)
    assert model.status_.feasible
    _, worst = expected(model, model.solution_.problem, X, y)
    assert worst <= 1e-9


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("kind", ["lightgbm", "xgboost", "logistic"])
@pytest.mark.parametrize("count", [500, 2500], ids=["few rows", "rows held out"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM's own, at times
def test_the_plain_models_best_threshold_is_never_better(kind, ask, count):
    X, y = rows(count, seed=1)
    objective, promise = ASKS[ask]
    model = rb.RateConstrainedClassifier(
        promise, objective=objective, model=MODELS[kind](), random_state=0, confidence=None
    ).fit(X, y)
    found, _ = expected(model, model.solution_.problem, X, y)
    plain = MODELS[kind]().fit(X, y)
    scores = plain.predict_proba(X)[:, 1]
    compiled = rb.compile(model.solution_.problem, rb.Population(X, y))
    cuts = np.append(np.unique(scores), 2.0)
    objectives, violations = compiled.evaluate(scores - cuts[:, None])
    kept = (violations <= 1e-9).all(axis=1)
    assert kept.any()
    assert found <= objectives[kept].min() + 1e-9


SINGLE = [
    "recall() >= 0.9",
    "recall(g == 0) >= 0.999",
    "false_positive_rate(g == 1) <= 0.02",
    "positive_rate() <= 0.05",
    "precision() >= 0.95",
    "negative_predictive_value() >= 0.99",
    "predicted_positives() <= 7",
    "error_rate(g == 0) <= 0.2",
    "accuracy(g == 1) >= 0.8",
    'churn(versus="live") <= 0.02',
    "cost(false_negative=5, false_positive=1) <= 0.4",
]


@pytest.mark.parametrize("promise", SINGLE)
@pytest.mark.parametrize("table", ["distinct", "binary", "constant"])
@pytest.mark.filterwarnings("ignore:.*different features to choose a member by")
def test_what_one_decision_for_everyone_keeps_is_always_kept(table, promise):
    random = np.random.default_rng(0)
    X = {"distinct": random.normal(size=(200, 3)), "constant": np.ones((200, 1))}.get(table)
    X = random.integers(0, 2, (200, 2)).astype(float) if X is None else X
    y = X[:, 0] + random.normal(size=200) > 0.7
    columns = {"g": random.integers(0, 2, 200), "live": (random.random(200) < 0.2 + 0.5 * y).astype(int)}
    model = rb.RateConstrainedClassifier(
        promise, random_state=0, training=rb.Training(epochs=2), confidence=None
    )
    model.fit(X, y, columns=columns)
    compiled = rb.compile(model.solution_.problem, rb.Population(X, y, columns=columns))
    _, violations = compiled.evaluate(np.outer([-1.0, 1.0], np.ones(200)))
    if (violations <= 1e-9).any():
        assert model.status_.feasible
    by_chance = compiled.evaluate(np.where(model.predict(X), 1.0, -1.0))[1][0]
    if table != "distinct":  # as decisions fall
        assert model.status_.feasible == (by_chance <= 1e-9)


def test_the_best_single_model_keeps_one_rate_too():
    X, y = rows(500)
    for kind in ("linear", "lightgbm"):
        model = rb.RateConstrainedClassifier(
            "positive_rate() <= 0.15",
            model=MODELS[kind](),
            solution="best",
            random_state=0,
            confidence=None,
        ).fit(X, y)
        assert model.status_.feasible
        assert len(model.solution_) == 1


def test_without_promises_no_threshold_is_moved():
    X, y = rows(500)
    assert (
        rb.RateConstrainedClassifier(random_state=0, confidence=None).fit(X, y).solution_.decider.kind
        == "draw"
    )
