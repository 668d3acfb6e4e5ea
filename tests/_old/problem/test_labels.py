"""Labels: one rule for classes, and for which of two is yes, wherever they are read."""

import numpy as np
import pytest
from sklearn.preprocessing import LabelEncoder

import ratebound._old as rb

TWO_LABELS = {
    "no and yes": ["no", "yes", "yes"],
    "texts": ["good", "bad", "bad"],
    "texts of numbers": ["1", "0", "1"],
    "0 and 1": [0, 1, 1],
    "-1 and 1": [-1, 1, 1],
    "numbers": [1, 2, 2],
    "fractions that are whole": [0.0, 1.0, 1.0],
    "truth values": [True, False, True],
}
ROWS = 40
PROMISE = rb.Problem("error_rate()", ["recall() >= 0.5"])


@pytest.mark.parametrize("labels", TWO_LABELS.values(), ids=TWO_LABELS)
def test_the_later_of_two_is_yes_as_scikit_learn_sorts_them(labels):
    known = LabelEncoder().fit(labels)
    people = rb.Population(None, labels)
    assert people.classes == tuple(known.classes_.tolist())
    assert people.y.tolist() == (known.transform(labels) == 1).tolist()


@pytest.mark.parametrize("labels", TWO_LABELS.values(), ids=TWO_LABELS)
@pytest.mark.parametrize("positive", [None, 0, 1])
def test_a_population_and_a_monitor_agree_on_which_is_yes(labels, positive):
    y = np.array([*labels, *labels[:2]] * (ROWS // 5))
    said = y[::-1]
    yes = None if positive is None else np.unique(y)[positive].item()
    X = np.random.default_rng(0).normal(size=(len(y), 1))
    people = rb.Population(X, y, positive=yes)
    model = type("Model", (), {"predict": lambda self, X: said})()
    audited = rb.audit(PROMISE, model, people).promises[0].value
    expected = np.unique(y)[1 if positive is None else positive]
    assert audited == np.mean(said[y == expected] == expected)
    monitor = rb.Monitor(PROMISE, positive=yes, classes=people.classes if yes is None else (False, True))
    monitor.update(said, y)
    assert monitor.watches[0].sides[0] == audited


@pytest.mark.parametrize("positive", [None, "no"])
def test_the_estimator_says_yes_to_the_same_label(positive):
    y = np.array(["no", "yes"] * 20)
    X = np.random.default_rng(0).normal(size=(len(y), 1))
    estimator = rb.RateConstrainedClassifier(
        PROMISE.subject_to, positive_label=positive, confidence=None, training=rb.Training(epochs=1)
    )
    assert estimator.fit(X, y).solution_.classes == rb.Population(X, y, positive=positive).classes


def test_a_monitor_is_asked_about_the_class_that_a_promise_names():
    promise = rb.Problem("error_rate()", ['recall(of="bad") >= 0.5'])
    for positive in ("bad", "good"):
        monitor = rb.Monitor(promise, positive=positive, classes=["bad", "good"])
        monitor.update(["bad", "good", "bad"], ["bad", "bad", "good"])
        assert monitor.watches[0].sides[0] == 0.5


def test_a_label_may_be_the_only_one_here_if_both_are_given():
    assert rb.Population(None, ["good", "good"], classes=["bad", "good"]).y.all()
    assert rb.Population(None, ["good", "good"], positive="good").classes == ("not good", "good")
    assert rb.Population(None, [-1, -1]).classes == (-1, 1)
