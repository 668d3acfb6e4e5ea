"""Certificates of rows that come in pieces are those of all rows at once."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.certifying import _bounds

from ..auditing.test_tally import SEVERAL, TWO, alike, drawn, mixture
from ..pieces import InPieces

bounded = settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@st.composite
def cases(draw):
    """A problem, a model and rows."""
    classes = draw(st.sampled_from([("no", "yes"), ("bird", "cat", "dog")]))
    rows = drawn(draw(st.integers(0, 10_000)), draw(st.sampled_from([60, 150])), False, classes)
    promises = SEVERAL if len(classes) > 2 else TWO[:-1]
    chosen = draw(st.lists(st.sampled_from(promises), min_size=1, max_size=3, unique=True))
    problem = rb.Problem("error_rate()", [p for p in chosen if ">= 0.8 * precision" not in p])
    return problem, mixture(classes, draw(st.sampled_from([1, 2]))), rows, draw(st.sampled_from([9, 64]))


@bounded
@given(cases())
def test_certificates_of_pieces_are_those_of_all_rows(case):
    problem, model, rows, size = case
    wanted = rb.certify(problem, model, rows, in_expectation=True)
    found = rb.certify(problem, model, InPieces.of(rows, size), in_expectation=True)
    assert found.populations == wanted.populations
    for one, two in zip(found.promises, wanted.promises, strict=True):
        parts = dict(vars(one)), dict(vars(two))
        if "betting" in two.method:  # whose rows are in another order
            for part in parts:
                del part["p_value"], part["holds"]
        alike(*parts, rel=1e-7)


def test_rows_that_are_needed_are_the_same_of_pieces():
    rows = drawn(0, 300, False, ("no", "yes"))
    problem = rb.Problem("error_rate()", [p for p in TWO[:-1] if ">= 0.8 * precision" not in p])
    wanted, found = (rb.rows_needed(problem, each) for each in (rows, InPieces.of(rows, 70)))
    assert found == wanted


@pytest.fixture(scope="module")
def trained():
    """A mixture of several members, and rows that it has not seen."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1200, 3))
    y = X[:, 0] + random.normal(size=1200) > 0.3
    columns = {"sex": random.choice(["F", "M"], 1200)}
    rows = rb.Population(X, y, columns=columns)
    problem = rb.Problem("error_rate()", ["recall(sex == 'F') >= 0.83", "positive_rate() <= 0.5"])
    trace = rb.play(rb.compile(problem, rows.only(np.arange(600))), rb.Linear(), rounds=40)
    solution = rb.average(trace)
    assert len(solution) > 1
    return problem, solution, rows.only(np.arange(600, 1200)), rows.only(np.arange(600))


@pytest.mark.parametrize("in_expectation", [False, True])
def test_mixtures_are_certified_on_what_they_decide(trained, in_expectation):
    problem, solution, rows, _ = trained
    wanted, found = (
        rb.certify(problem, solution, each, in_expectation=in_expectation)
        for each in (rows, InPieces.of(rows, 100))
    )
    assert found.model == wanted.model
    for one, two in zip(found.promises, wanted.promises, strict=True):
        alike(dict(vars(one)), dict(vars(two)), rel=1e-7)


@pytest.mark.parametrize("most", [100, 10_000])
def test_rows_are_bet_on_in_a_random_order_and_not_too_many_of_them(most, monkeypatch):
    monkeypatch.setattr(_bounds, "MOST_BETS", most)
    values, times = np.array([-1.0, 0.5, 2.0]), np.array([300, 500, 200])
    found = _bounds.shuffled(values, times)
    counts = np.array([(found == value).sum() for value in values])
    if most > times.sum():
        np.testing.assert_array_equal(counts, times)
        assert (np.diff(found) != 0).sum() > 400
    else:
        assert (counts <= times).all()
        assert abs(len(found) - most) < 40


def test_calibrations_are_the_same_of_pieces(trained):
    _, solution, rows, _ = trained
    wanted, found = (solution.calibrated(each) for each in (rows, InPieces.of(rows, 100)))
    np.testing.assert_allclose(found.predict_proba(rows.X), wanted.predict_proba(rows.X), rtol=1e-6)


def test_rows_that_were_trained_on_are_known_again(trained):
    problem, solution, _, seen = trained
    with pytest.raises(ValueError, match="the rows that the model was trained on"):
        rb.certify(problem, solution, InPieces.of(seen, 100))
