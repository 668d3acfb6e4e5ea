"""Which of several settings is chosen on held-out rows: what it costs to keep the promises decides."""

import numpy as np
import pytest

import ratebound._old as rb

lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

PROMISE = 'positive_rate(group == "b") >= 0.9 * positive_rate(group == "a")'


def sample(rows, seed):
    """Rows of a population in which group "b" is said yes to less often, and about half deserve one."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(rows) < 0.3, "b", "a")
    X = rng.normal(size=(rows, 6))
    X[:, 0] -= 0.7 * (group == "b")
    y = X @ [1.5, 1, 0.8, 0.5, 0.2, 0] + rng.normal(size=rows) > 0
    return X, y, {"group": group}


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_setting_that_keeps_a_promise_by_deciding_alike_does_not_win_by_chance(seed):
    """The slower of two players never pays for the promise: what it keeps it with is worthless.

    The other breaks the promise on held-out rows by chance, or by somewhat more.
    """
    X, y, columns = sample(4000, seed)
    trees = lightgbm.LGBMClassifier(n_estimators=60, num_leaves=8, verbose=-1, n_jobs=1)
    player = rb.SwapRegret((0.005, 0.1), objective_weight=0.9)
    model = rb.RateConstrainedClassifier(
        PROMISE, model=trees, player=player, confidence=None, random_state=0
    )
    model.fit(X, y, columns=columns)
    there, labels, _ = sample(40_000, 999)
    chances = model.decision_proba(there)[:, 1]
    assert np.where(labels, 1 - chances, chances).mean() < 0.26  # the slower one's is .36 and more


def test_out_of_reach_nobody_is_decided_by_a_member_of_almost_no_weight():
    """The least violation needs a member that decides one row in two hundred, for .0004 of .13."""
    rng = np.random.default_rng(3)
    X, group = rng.normal(size=(800, 3)), np.where(rng.random(800) < 0.3, "a", "b")
    y = X @ [1, 0.5, 0] + 0.8 * (group == "b") + rng.logistic(size=800) > 1.2
    promises = ["equal_opportunity(g, ratio=0.98)", "precision() >= 0.9", "recall() >= 0.7"]
    model = rb.RateConstrainedClassifier(
        promises, confidence=None, random_state=3, training=rb.Training(epochs=8)
    )
    model.fit(X, y, columns={"g": group})
    assert not model.status_.feasible
    assert model.solution_.weights.min() >= 0.01
    least = rb.shrink(model.trace_).violations["train"].max()
    assert model.solution_.violations["train"].max() <= 1.05 * least
