"""Tables in which many rows have the same features: statements are about decisions as they fall."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import check_random_state

import ratebound._old as rb

PROMISES = {
    "positive_rate() <= 0.3": lambda yes, y: yes.mean() - 0.3,
    "recall() >= 0.85": lambda yes, y: 0.85 - yes[y == 1].mean(),
    "false_positive_rate() <= 0.1": lambda yes, y: yes[y == 0].mean() - 0.1,
}


def rows(seed, n=2000):
    """Eight distinct rows among n, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 3)).astype(float)
    odds = -1 + 1.5 * X[:, 0] + X[:, 1] - 0.5 * X[:, 2]
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def fitted(promise, X, y, seed, **how):
    how = {"training": rb.Training(epochs=4), "random_state": seed} | how
    return rb.RateConstrainedClassifier(promise, **how).fit(X, y)


@pytest.mark.filterwarnings("ignore:.*different features to choose a member by")
@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_status_and_audit_are_about_what_predict_does(promise, confidence):
    for seed in range(2):
        X, y = rows(seed)
        model = fitted(promise, X, y, seed, confidence=confidence)
        violation = PROMISES[promise](model.predict(X).astype(float), y)
        assert model.status_.feasible == (violation <= 1e-9)
        (found,) = model.audit(X, y).promises
        assert found.kept == (violation <= 1e-9)
        assert found.violation == pytest.approx(violation, abs=1e-12)
        assert model.violations_[promise] == pytest.approx(violation, abs=1e-12)
        assert confidence or model.status_.feasible  # one member keeps a single rate alone


@pytest.mark.filterwarnings("ignore:.*different features to choose a member by")
def test_where_no_draw_keeps_the_promise_the_status_says_so():
    X, y = np.ones((400, 1)), np.arange(400) % 4 == 0  # a yes to all or to none
    model = fitted("0.3 <= positive_rate() <= 0.5", X, y, 0)
    assert not model.status_.feasible
    assert "key=" in model.status_.message
    assert model.status_.violation == pytest.approx(0.3 if not model.predict(X).any() else 0.5)
    ids = np.arange(400)
    assert 0.2 < model.predict(X, key=ids).mean() < 0.6


@pytest.mark.filterwarnings("ignore:.*different features to choose a member by")
def test_rows_that_none_shares_are_expected_and_the_others_counted():
    X, y = rows(0)
    X = np.column_stack([X, np.random.default_rng(1).normal(size=len(X))])
    same = np.arange(len(X)) < 300
    X[same] = X[0]
    table = pd.DataFrame(X, columns=list("abcd"))
    model = fitted("positive_rate() <= 0.3", table, y, 0)
    chance = model.decision_proba(table)[:, 1]
    # If the members agree on the shared row there is nothing to draw; no other rows are shared.
    expected = np.where(same, model.predict(table), chance).mean()
    assert model.audit(table, y).promises[0].value == pytest.approx(expected, abs=1e-12)
    assert expected <= 0.3 + 1e-9


def test_rows_that_differ_keep_the_seed_as_their_salt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600) > 0
    model = fitted("positive_rate() <= 0.3", X, y, 3)
    assert model.solution_.decider.draw.salt == check_random_state(3).randint(2**31 - 1)
    assert model.solution_.record.seed == 3  # as it was given
    chance = model.decision_proba(X)[:, 1]
    assert model.audit(X, y).promises[0].value == pytest.approx(chance.mean(), abs=1e-12)
    assert model.status_.feasible
