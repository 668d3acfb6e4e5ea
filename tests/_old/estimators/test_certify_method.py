"""`certify` is a parameter and a method: scikit-learn sees the one, users call the other."""

import pickle

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from tests._old.small_tables import people

import ratebound._old as rb

PROMISE = "positive_rate() <= 0.6"


def fitted(rows=800, **options):
    X, y, group = people(rows, seed=1)
    model = rb.RateConstrainedClassifier(PROMISE, random_state=0, **options)
    return model.fit(X, y, columns={"group": group})


@pytest.mark.parametrize(
    "make",
    [rb.RateConstrainedClassifier, lambda **options: rb.TunedThreshold(LogisticRegression(), **options)],
)
def test_the_parameter_is_set_cloned_pickled_and_printed(make):
    model = make(certify=0.3)
    assert model.get_params()["certify"] == 0.3
    assert "certify=0.3" in repr(model)
    assert clone(model).get_params()["certify"] == 0.3
    assert pickle.loads(pickle.dumps(model)).get_params()["certify"] == 0.3
    assert model.set_params(certify=0.2).get_params()["certify"] == 0.2
    model.certify = None
    assert model.get_params()["certify"] is None
    assert callable(model.certify)
    assert callable(type(model).certify)


def test_the_method_certifies_as_the_solution_does():
    model, (X, y, _) = fitted(), people(600, seed=2)
    certificate = model.certify(X, y)
    assert str(certificate) == str(model.solution_.certify(X, y))
    assert certificate.holds
    assert str(pickle.loads(pickle.dumps(model)).certify(X, y)) == str(certificate)


def test_the_method_is_there_beside_a_certificate_of_the_fit():
    model = fitted(certify=0.3)
    assert model.certificate_.promises[0].rows == 240
    X, y, _ = people(600, seed=2)
    assert model.certify(X, y).promises[0].rows == 600


def test_a_threshold_certifies_too():
    model = rb.TunedThreshold(LogisticRegression(), PROMISE, random_state=0)
    model.fit(*list(people(800, seed=1))[:2])
    X, y, _ = people(600, seed=2)
    certificate = model.certify(X, y)
    assert certificate.promises[0].rows == 600
    assert certificate.holds


def test_before_fit_it_is_not_fitted():
    with pytest.raises(NotFittedError):
        rb.RateConstrainedClassifier(PROMISE).certify([[0.0]], [1])


def test_a_search_reaches_the_parameter(brief):
    X, y, _ = people(400, seed=1)
    search = GridSearchCV(
        rb.RateConstrainedClassifier(PROMISE, random_state=0), {"certify": [None, 0.3]}, cv=2
    ).fit(X, y)
    assert search.best_params_["certify"] in (None, 0.3)
