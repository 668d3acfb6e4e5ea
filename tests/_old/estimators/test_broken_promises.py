"""A fit warns once of promises that cannot be kept, and once if a constant is as good."""

import warnings

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.solution.baselines import ConstantAsGood
from ratebound._old.solution.status import PromisesBroken, Status, warn_if_broken

from ..small_tables import people

TABLE = people(n=120, slopes=(1.0, -0.5), by="group")
IMPOSSIBLE = ["recall() >= 0.95", "positive_rate() <= 0.1"]
FEW = {"training": rb.Training(epochs=5), "random_state": 0}


def told(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [each for each in caught if each.category is PromisesBroken]


def test_a_classifier_says_it_once():
    model = rb.RateConstrainedClassifier(IMPOSSIBLE, model=rb.Linear(0.1), **FEW)
    (warning,) = told(lambda: model.fit(TABLE.X, TABLE.y))
    assert str(warning.message).startswith("RateConstrainedClassifier: infeasible: ")
    assert str(warning.message).endswith("). See status_.")
    assert warning.filename == __file__
    assert not told(lambda: model.set_params(constraints="recall() >= 0.5").fit(TABLE.X, TABLE.y))


def test_a_ranker_says_it_once():
    pairs = rb.Pairs(TABLE.X, TABLE.y, columns=TABLE.columns)
    model = rb.RateConstrainedRanker("ranked_right() >= 0.999", model=rb.Linear(0.1), **FEW)
    (warning,) = told(lambda: model.fit(pairs))
    assert "RateConstrainedRanker: infeasible: 1 of 1 constraints broken" in str(warning.message)


def test_questions_about_promises_answer_in_their_own_words():
    fitted = rb.RateConstrainedClassifier("recall() >= 0.5", method="plug-in", random_state=0)
    fitted.fit(TABLE.X, TABLE.y)
    assert not told(lambda: fitted.with_constraints(IMPOSSIBLE))
    assert not told(lambda: rb.explain(rb.Problem("error_rate()", IMPOSSIBLE), TABLE.population()))


def test_a_stop_inside_a_value_ends_no_sentence():
    words = 'infeasible: 1 of 1 broken: recall(city == "St. Ives") >= 0.9 (by 0.1). Relax it.'
    with pytest.warns(PromisesBroken, match=r'St. Ives"\) >= 0.9 \(by 0.1\). See status_.$'):
        warn_if_broken(Status(False, 0.1, (), (), words), np.zeros(1))


def test_a_constant_that_is_as_good_is_named_with_a_remedy():
    labels = np.arange(len(TABLE.y)) % 20 == 0  # which no feature tells
    model = rb.RateConstrainedClassifier("positive_rate() <= 0.5", **FEW)
    with pytest.warns(ConstantAsGood, match=r"no to everyone.*ask for a floor, such as pos") as caught:
        model.fit(TABLE.X, labels)
    assert [each.filename for each in caught if each.category is ConstantAsGood] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstantAsGood)
        model.fit(TABLE.X, TABLE.y)
