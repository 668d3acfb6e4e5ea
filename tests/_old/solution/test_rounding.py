"""Rounding, units and failing solvers, from words to models: nothing better is lost to any of them."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import ratebound._old as rb
from ratebound._old.base.linear_program import mixture_prices

from ..small_tables import people


@pytest.mark.parametrize("bound", [0.3, 0.7])
def test_rows_that_are_all_alike_can_be_trained_on(bound):
    """All candidates break or keep the promise by roundings of about 1e-16."""
    rows = rb.Population(np.zeros((10, 1)), np.arange(10) < 3)
    compiled = rb.compile(rb.Problem("error_rate()", [f"error_rate() <= {bound}"]), rows)
    mixture = rb.shrink(rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None))
    assert mixture.status.feasible
    assert mixture.objectives["train"] == pytest.approx(0.3)


@pytest.fixture
def no_solver(monkeypatch):
    monkeypatch.setattr(
        "scipy.optimize.linprog", lambda *_, **__: OptimizeResult(x=None, status=4, message="it is lost")
    )


def people_of(rows=200, seed=0):
    return people(rows, seed, noise=0.5, by="one", groups=(True, False)).population()


@pytest.mark.parametrize("promises", [[rb.positive_rate() <= 0.3], [rb.positive_rate() <= -0.0]])
def test_a_solver_that_fails_leaves_the_best_iterate(no_solver, promises):
    compiled = rb.compile(rb.Problem(rb.error_rate(), promises), people_of())
    trace = rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None)
    mixture = rb.shrink(trace)
    worst = trace.violations.max(axis=1)
    kept = worst <= 1e-9
    assert len(mixture) == 1
    if kept.any():
        assert mixture.status.feasible
        assert mixture.objectives["train"] == trace.objectives[kept].min()
    else:
        assert mixture.violations["train"].max() == worst.min()
    assert "(it is lost): a better mixture may exist" in mixture.status.message
    assert np.isnan(mixture_prices(trace.objectives, trace.violations)).all()


def test_a_solver_that_fails_does_not_end_oracle_rounds(no_solver):
    from sklearn.linear_model import LogisticRegression

    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3]), people_of())
    trace = rb.play(compiled, rb.Oracle(LogisticRegression()), rounds=3)
    assert len(rb.shrink(trace)) == 1


def test_promises_in_rows_and_in_shares_give_the_same_model():
    """Two counts are 6 rows apart; what gives must not depend on how they are written."""
    rng = np.random.default_rng(0)
    n = 400
    X, g = rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.5, "a", "b")
    X[:, 1] = g == "a"
    y = X[:, 0] + 1.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0.5
    people = rb.Population(X, y, columns={"g": g})
    parity = rb.positive_rate(g="a") <= rb.positive_rate(g="b") + 0.02
    written = (
        [rb.predicted_positives() <= 100, rb.predicted_positives() >= 106],
        [rb.positive_rate() <= 100 / n, rb.positive_rate() >= 106 / n],
    )
    found = []
    for counts in written:
        problem = rb.Problem(rb.error_rate(), [*counts, parity])
        trace = rb.play(rb.compile(problem, people), rb.Linear(0.05), rounds=200, batch_size=None)
        solutions = [rb.shrink(trace), rb.best_iterate(trace)]
        found.append([one.violations["train"][2] for one in solutions])
        assert all(len(one.status.conflict) >= 2 for one in solutions)
    np.testing.assert_allclose(*found, atol=1e-6)
