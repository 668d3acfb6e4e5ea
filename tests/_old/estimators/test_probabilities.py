"""Probabilities of labels where scikit-learn's tools ask for them, and which rows they come from."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import brier_score_loss, get_scorer, log_loss, recall_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb
from ratebound._old.estimators import search

from ..extras import pd

pytestmark = pytest.mark.usefixtures("brief")

PROMISE = "positive_rate() <= 0.1"  # far below the share of positive labels, .5
QUICK = rb.Training(epochs=15)


def rows(count=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3))
    return X, X[:, 0] + 0.5 * X[:, 1] + random.logistic(size=count) * 0.5 > 0


def classifier(**options):
    usual = {"constraints": PROMISE, "model": rb.Linear(0.05), "training": QUICK, "random_state": 0}
    return rb.RateConstrainedClassifier(**usual | {"confidence": None} | options)


X, Y = rows()


@pytest.fixture(scope="module")
def model():
    return classifier().fit(X, Y)


def test_the_two_probabilities(model):
    """Few get a yes; that does not make the label less probable."""
    new, labels = rows(2000, seed=1)
    chances, decided = model.predict_proba(new)[:, 1], model.decision_proba(new)[:, 1]
    assert decided.mean() < 0.15
    assert chances.mean() == pytest.approx(labels.mean(), abs=0.04)
    assert log_loss(labels, chances) < 0.5
    for low in np.arange(0, 1, 0.25):  # what comes true of each quarter
        chosen = (chances >= low) & (chances < low + 0.25)
        assert labels[chosen].mean() == pytest.approx(chances[chosen].mean(), abs=0.08)


@pytest.mark.parametrize(
    ("count", "options", "on", "calibrated"),
    [
        (300, {}, "training rows", 300),
        (2500, {"model": rb.Linear([0.02, 0.05]), "solution": "last"}, "held-out rows", 250),
        (2500, {"model": rb.Linear([0.02, 0.05])}, "held-out rows", 250),
        (2500, {"model": rb.Linear(0.05), "player": rb.SwapRegret()}, "training rows", 2500),
        (300, {"confidence": 0.8}, "out of fold", 300),
    ],
    ids=["few rows", "several settings", "moved thresholds", "one setting", "new rows"],
)
def test_it_says_which_rows_it_was_calibrated_on(count, options, on, calibrated):
    found = classifier(training=rb.Training(epochs=2), **options).fit(*rows(count))
    assert found.solution_.calibration.on == on
    assert found.solution_.calibration.rows == pytest.approx(calibrated, abs=5)


def test_a_model_that_has_seen_all_rows_is_calibrated_by_a_stand_in():
    """A tree knows all its rows by heart, and labels at random are a coin elsewhere."""
    X, Y = rows(2400)
    Y = np.random.default_rng(2).permutation(Y)
    tree = DecisionTreeClassifier(random_state=0)
    promise = "positive_rate() <= 0.6"  # which the tree keeps without being asked
    noise = classifier(constraints=promise, model=tree, player=rb.Grid(points=3), training=None).fit(
        X, Y
    )
    assert noise.score(X, Y) == 1  # also on the rows held out
    assert noise.solution_.calibration.on == "held-out rows"
    new, _ = rows(500, seed=1)
    assert np.abs(noise.predict_proba(new)[:, 1] - 0.5).max() < 0.15


def test_what_training_rows_flatter_is_taken_back():
    """With few rows, none are held out: the tree is judged out of fold beside itself."""
    X, Y = rows(300)
    noise = np.random.default_rng(2).permutation(Y)
    model = classifier(
        constraints="positive_rate() <= 0.6", model=DecisionTreeClassifier(random_state=0), training=None
    )
    assert model.fit(X, noise).score(X, noise) == 1
    assert model.solution_.calibration.on == "training rows, corrected out of fold"
    new, labels = rows(500, seed=1)
    assert np.abs(model.predict_proba(new)[:, 1] - 0.5).max() < 0.2
    assert model.fit(X, Y).predict_proba(new)[labels, 1].mean() > 0.55  # of labels that can be learned
    few = np.r_[:2, np.flatnonzero(Y)[:1], np.flatnonzero(~Y)[:1]]
    assert model.set_params(constraints=()).fit(X[few], Y[few]).predict_proba(new).shape == (500, 2)


def test_without_time_for_a_stand_in_it_is_the_training_rows(monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    played, count = search.play_plainly, []

    def cut_short(*how):
        count.append(1)
        return played(*how) if len(count) == 1 else played(*how).only(np.array([0]))

    monkeypatch.setattr(search, "play_plainly", cut_short)
    X, Y = rows(2400)
    trees = rb.Boosted(lightgbm.LGBMClassifier(n_estimators=12, n_jobs=1, verbosity=-1))
    found = classifier(model=trees, training=None).fit(X, np.random.default_rng(2).permutation(Y))
    assert len(count) == 2
    assert found.solution_.calibration.on == "training rows"


def test_out_of_fold_does_not_flatter():
    """A model that learns its rows by heart gives them probabilities it cannot keep elsewhere."""
    lightgbm = pytest.importorskip("lightgbm")
    steep = lightgbm.LGBMClassifier(n_estimators=15, min_child_samples=2, n_jobs=1, verbosity=-1)
    new, labels = rows(2000, seed=1)
    losses = [
        log_loss(
            labels,
            classifier(model=steep, training=None, confidence=sure).fit(X, Y).predict_proba(new)[:, 1],
        )
        for sure in (0.8, None)
    ]
    assert losses[0] < losses[1]


def test_without_promises_the_likelier_label_is_decided():
    plain = rb.RateConstrainedClassifier(training=QUICK, random_state=0).fit(X, Y)
    new, _ = rows(500, seed=1)
    np.testing.assert_array_equal(plain.predict(new), plain.predict_proba(new)[:, 1] >= 0.5)


# --- scikit-learn's tools ------------------------------------------------------------------------


def test_scorers_and_searches():
    for scoring in ("neg_log_loss", "roc_auc", "neg_brier_score"):
        search = GridSearchCV(classifier(), {"model__l2": [0.0, 0.1]}, scoring=scoring, cv=2)
        search.fit(X, Y)
        theirs = get_scorer(scoring)(search.best_estimator_, X, Y)
        assert np.isfinite(theirs)
        # A constant .5 has a log loss of -.69 and a Brier score of -.25.
        least = {"neg_log_loss": -0.6, "roc_auc": 0.8, "neg_brier_score": -0.2}[scoring]
        assert search.best_score_ > least


def test_cross_validated_probabilities():
    chances = cross_val_predict(classifier(), X, Y, method="predict_proba", cv=3)
    assert chances.shape == (300, 2)
    assert brier_score_loss(Y, chances[:, 1]) < 0.2
    assert cross_val_score(classifier(), X, Y, scoring="neg_log_loss", cv=3).mean() > -0.6


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_again(model, method):
    new, labels = rows(500, seed=1)
    frozen = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(new, labels)
    fresh = CalibratedClassifierCV(classifier(), method=method, cv=2).fit(X, Y)
    own = log_loss(labels, model.predict_proba(new))
    for each in (frozen, fresh):
        assert log_loss(labels, each.predict_proba(new).clip(0.01, 0.99)) == pytest.approx(own, abs=0.1)


def test_thresholds(model):
    """They cut the probability of the label, whatever was promised."""
    new, labels = rows(500, seed=1)
    for at in (0.2, 0.5, 0.8):
        cut = FixedThresholdClassifier(
            FrozenEstimator(model), threshold=at, response_method="predict_proba"
        ).fit(X, Y)
        np.testing.assert_array_equal(cut.predict(new), model.predict_proba(new)[:, 1] >= at)
    tuned = TunedThresholdClassifierCV(
        classifier(), scoring="accuracy", response_method="predict_proba", cv=2, thresholds=20
    ).fit(X, Y)
    assert tuned.score(new, labels) > model.score(new, labels) + 0.1


def test_inspection(model):
    importance = permutation_importance(model, X, Y, scoring="neg_log_loss", n_repeats=3, random_state=0)
    assert importance.importances_mean.argmax() == 0
    for method in ("predict_proba", "decision_function"):
        curve = partial_dependence(model, X, [0], response_method=method, grid_resolution=5)
        assert (np.diff(curve["average"][0]) > 0).all()


def test_metrics_by_group(model):
    """As fairlearn's MetricFrame does it, a metric of decisions by group; the audit has the same."""
    group = np.where(X[:, 1] > 0, "a", "b")
    frame = pd.DataFrame({"said": model.decision_proba(X)[:, 1], "group": group})
    found = frame.groupby("group")["said"].mean()
    promises = [rb.positive_rate(group=name) <= 1 for name in found.index]
    people = rb.Population(X, Y, columns={"group": group})
    audited = rb.audit(rb.Problem(rb.error_rate(), promises), model, people)
    for promise, share in zip(audited.promises, found, strict=True):
        assert promise.value == pytest.approx(share)


def test_metrics_by_group_of_fairlearn(model):
    metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    group = np.where(X[:, 1] > 0, "a", "b")
    given = {"y_true": Y, "y_pred": model.predict(X), "sensitive_features": group}
    found = metrics.MetricFrame(metrics=recall_score, **given).by_group
    for name in ("a", "b"):
        own = group == name
        assert found[name] == recall_score(Y[own], model.predict(X)[own])


def test_in_a_pipeline_with_encoded_columns():
    table = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "town": np.where(X[:, 2] > 0, "Oslo", "Rome")})
    encode = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder="passthrough")
    pipeline = make_pipeline(encode, classifier()).fit(table, Y)
    assert pipeline.predict_proba(table).shape == (300, 2)
    assert pipeline.score(table, Y) > 0.5
    assert cross_val_score(pipeline, table, Y, scoring="roc_auc", cv=2).min() > 0.8


def test_copies_answer_alike(model, tmp_path):
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
