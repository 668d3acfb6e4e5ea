"""The scorer that puts promises first: its scale, and searches that go by it."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ratebound._old as rb
from ratebound import ConstrainedThresholdClassifier, RateConstrainedClassifier
from ratebound._old.estimators.scoring import score_of

from ..extras import pd


class Says:
    """Decides as given, by the numbers of the rows with a yes."""

    def __init__(self, yes, classes=(0, 1)):
        self.yes, self.classes_ = yes, np.array(classes)

    def predict(self, X):
        return self.classes_[np.isin(X[:, 0], self.yes).astype(int)]


X = np.arange(20)[:, None]
Y = np.r_[np.ones(10, dtype=int), np.zeros(10, dtype=int)]


def test_the_scale():
    """Recall .8 and precision 8/10; recall .6; and what an error and a cost make of it."""
    good, bad = Says([*range(8), 18, 19]), Says(range(6))
    scorer = rb.make_scorer("recall() >= 0.8", maximize="precision()")
    assert scorer(good, X, Y) == pytest.approx(1.8)
    assert scorer(bad, X, Y) == pytest.approx(1 / 1.2)
    assert rb.make_scorer("recall() >= 0.8")(good, X, Y) == pytest.approx(1 + 1 - 4 / 20)
    cost = rb.make_scorer("recall() >= 0.8", minimize="cost(false_negative=50, false_positive=10)")
    mean = (2 * 50 + 2 * 10) / 20
    assert cost(good, X, Y) == pytest.approx(1.5 - mean / (2 * (1 + mean)))
    assert rb.make_scorer(rb.Problem(maximize="recall()"))(bad, X, Y) == pytest.approx(1.6)
    precise = rb.make_scorer(maximize="precision()")
    assert precise(good, X, Y) == pytest.approx(1.8)
    assert precise(Says([]), X, Y) == pytest.approx(1.0)  # without a yes it has no value


def test_any_model_that_keeps_the_promises_beats_any_that_does_not():
    """All decisions that say yes to the first so many, against every objective there is a kind of."""
    objectives = [
        {"maximize": "precision()"},
        {"maximize": "f_score()"},
        {"minimize": "error_rate()"},
        {"minimize": "cost(false_negative=500, false_positive=100)"},
        {"minimize": "false_positives()"},
        {"maximize": "smallest(recall(), true_negative_rate())"},
    ]
    models = [Says(range(start, stop)) for start in range(0, 20, 6) for stop in range(start, 21, 3)]
    for objective in objectives:
        scorer = rb.make_scorer(["recall() >= 0.55", "positive_rate() <= 0.7"], **objective)
        kept, broken = [], []
        for model in models:
            yes = np.isin(X[:, 0], model.yes)
            fine = yes[Y == 1].mean() >= 0.55 and yes.mean() <= 0.7
            report = scorer.audit(model, X, Y)
            (kept if fine else broken).append((score_of(scorer.problem, report), report))
        assert kept
        assert broken
        assert min(kept, key=lambda each: each[0])[0] >= 1 > max(each[0] for each in broken)
        assert min(each[0] for each in broken) > 0
        order = [report.objective.cost for _, report in sorted(kept, key=lambda each: -each[0])]
        assert np.all(np.diff(order) >= -1e-12)


def test_by_how_far_is_what_counts_below_one():
    scorer = rb.make_scorer("recall() >= 0.9")
    scores = [scorer(Says(range(k)), X, Y) for k in (2, 5, 8)]
    assert scores == sorted(scores)
    assert scores[-1] == pytest.approx(1 / 1.1)


def test_with_a_confidence_a_promise_has_to_be_shown_to_be_broken():
    """Eight of ten may come from a recall of .9; two of ten may not."""
    near, far = Says(range(8)), Says(range(2))
    lenient = rb.make_scorer("recall() >= 0.9", maximize="precision()", confidence=0.95)
    assert lenient(near, X, Y) == pytest.approx(2.0)
    assert lenient(far, X, Y) < 1
    assert rb.make_scorer("recall() >= 0.9", maximize="precision()")(near, X, Y) < 1


def test_what_rows_cannot_tell_is_not_held_against_a_model():
    """Group b has no positive label here."""
    group = pd.DataFrame({"group": ["a"] * 15 + ["b"] * 5})
    promises = ['recall(group == "b") >= 0.9', 'recall(group == "a") >= 0.5']
    scorer = rb.make_scorer(promises, maximize="precision()")
    assert scorer(Says(range(10)), X, Y, columns=group) == pytest.approx(2.0)


def test_which_label_means_yes():
    labels = np.where(Y == 1, "bad", "good")
    model = Says(range(6), classes=("bad", "good"))  # says good to six who are bad, bad to the others
    assert rb.make_scorer("recall() >= 0.9", maximize="recall()")(model, X, labels) < 1
    bad = rb.make_scorer(maximize="recall()", positive_label="bad")
    assert bad(model, X, labels) == pytest.approx(1.4)
    model.positive_label = "bad"
    assert rb.make_scorer(maximize="recall()")(model, X, labels) == pytest.approx(1.4)


def data(n=500):
    return make_classification(n, 8, weights=[0.7], flip_y=0.15, class_sep=0.7, random_state=3)


def test_a_search_takes_what_keeps_the_promise_where_accuracy_would_not():
    X, y = data()
    grid = {"class_weight": [None, {0: 1, 1: 6}]}
    by_accuracy = GridSearchCV(LogisticRegression(), grid, cv=3).fit(X, y)
    scorer = rb.make_scorer("recall() >= 0.8", maximize="precision()")
    by_promise = GridSearchCV(LogisticRegression(), grid, cv=3, scoring=scorer).fit(X, y)
    assert by_accuracy.best_params_ == {"class_weight": None}
    assert by_promise.best_params_ == {"class_weight": {0: 1, 1: 6}}
    assert by_promise.score(X, y) == scorer(by_promise.best_estimator_, X, y) > 1


@pytest.mark.parametrize(
    "model",
    [
        ConstrainedThresholdClassifier(LogisticRegression(), "recall() >= 0.7", cv=2, random_state=0),
        RateConstrainedClassifier("recall() >= 0.7", random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["tuned", "trained", "pipeline"],
)
def test_all_kinds_of_classifiers(model):
    X, y = data(300)
    scorer = rb.make_scorer("recall() >= 0.7", maximize="precision()")
    scores = cross_val_score(model, X, y, scoring=scorer, cv=2)
    assert scores.shape == (2,)
    assert ((scores > 0) & (scores <= 2)).all()
    beside = cross_validate(model, X, y, scoring={"ours": scorer, "accuracy": "accuracy"}, cv=2)
    np.testing.assert_allclose(beside["test_ours"], scores)


def test_random_searches_several_classes_and_copies():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    scorer = rb.make_scorer("recall(of=2) >= 0.5", minimize="error_rate()")
    scorer = pickle.loads(pickle.dumps(clone(scorer)))
    search = RandomizedSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2, scoring=scorer)
    assert search.fit(X, y).best_score_ > 1


def test_columns_and_weights_by_metadata_routing():
    X, y = data(300)
    columns = pd.DataFrame({"group": np.random.default_rng(0).choice(["a", "b"], 300)})
    weights = np.random.default_rng(1).choice([1.0, 5.0], 300)
    promise = 'recall(group == "a") >= 0.5'
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = rb.make_scorer(promise, maximize="precision()").set_score_request(sample_weight=True)
        plain = LogisticRegression().set_fit_request(sample_weight=False)
        given = {"columns": columns, "sample_weight": weights}
        scores = cross_val_score(plain, X, y, scoring=scorer, cv=2, params=given)
        tuned = ConstrainedThresholdClassifier(plain, promise, cv=2)
        tuned.set_fit_request(sample_weight=True)
        search = GridSearchCV(tuned, {"confidence": [None, 0.8]}, scoring=scorer, cv=2)
        assert search.fit(X, y, **given).best_score_ > 0
        with pytest.raises(TypeError, match="may request columns and sample_weight"):
            scorer.set_score_request(weights=True)
    train, test = next(StratifiedKFold(2).split(X, y))
    own = plain.fit(X[train], y[train]).predict(X[test]) == 1
    inside = (columns["group"].to_numpy()[test] == "a") & (y[test] == 1)
    recall = np.average(own[inside], weights=weights[test][inside])
    precision = np.average(y[test][own], weights=weights[test][own])
    assert scores[0] == pytest.approx(1 + precision if recall >= 0.5 else 1 / (1 + 0.5 - recall))


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        ({"maximize": "recall()", "minimize": "error_rate()"}, TypeError, "one objective"),
        ({"minimize": "recall()"}, ValueError, "recall"),
        ({"promises": "recal() >= 0.9"}, ValueError, "recall"),
        ({"confidence": 0.3}, ValueError, "confidence"),
        (
            {"promises": rb.Problem("error_rate()"), "maximize": "recall()"},
            TypeError,
            "its own objective",
        ),
    ],
)
def test_what_is_refused(words, error, match):
    with pytest.raises(error, match=match):
        rb.make_scorer(**words)


def test_a_column_that_is_not_there():
    with pytest.raises(ValueError, match="'sex'"):
        rb.make_scorer('recall(sex == "F") >= 0.9')(Says([1]), X, Y)
