"""Audits of tiny and lopsided tables: whatever is hit, missed or missing, an audit is an answer."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb

from .conftest import mixture

PROMISES = [
    "precision() >= 0.7",
    'precision(g == "a") >= 0.84 * precision()',
    'precision(g == "a") <= 0.9 * precision(g == "b")',
    'precision(g == "a") >= 0.9 * negative_predictive_value(g == "a")',
    "false_discovery_rate() <= 0.3",
    "f_score() >= 0.4",
    'f_score(g == "a") >= 0.84 * f_score(g == "b")',
    'f_score(g == "a", beta=2) <= f_score()',
    "win_loss_ratio(versus='live') >= 1",
    "recall() / positive_rate() >= 1.1",
    "precision() >= negative_rate() / recall()",
    'recall(g == "a") >= 0.9 * recall()',
    'positive_rate(g == "a") - positive_rate(g == "b") <= 0.1',
    "cost(column='amount') <= 1",
    'cost(g == "a", column="amount") <= 1.2 * cost(column="amount")',
    "cost(column='amount') / positive_rate() <= 4",
    "roc_auc() >= 0.6",
]


@st.composite
def tables(draw):
    """Few rows; labels and decisions may all be alike, groups of one row, and weights far apart."""
    n = draw(st.integers(1, 14))
    random = np.random.default_rng(draw(st.integers(0, 100_000)))
    labels = random.random(n) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    members = draw(st.sampled_from([1, 2]))
    right = draw(st.sampled_from([0.0, 0.5, 1.0]))
    says = np.where(random.random((members, n)) < right, labels, ~labels)
    if draw(st.booleans()):
        says[:] = draw(st.booleans())
    scores = np.where(says, 1.0, -1.0).T * random.random((n, members))
    groups = np.where(random.random(n) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])), "a", "b")
    weights = {
        "none": None,
        "some": random.random(n) + 1e-3,
        "far apart": 10.0 ** random.uniform(-9, 9, n),
        "zeros": np.append(1.0, random.random(n - 1) < 0.5),
    }[draw(st.sampled_from(["none", "some", "far apart", "zeros"]))]
    columns = {
        "g": groups,
        "live": random.random(n) < 0.5,
        "amount": np.append(1.0, np.exp(2 * random.normal(size=n - 1))),
    }
    chances = [1.0] if members == 1 else [0.3, 0.7]
    return mixture(chances), rb.Population(scores, labels, columns=columns, weights=weights)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(tables(), st.sampled_from(PROMISES))
def test_every_table_gets_an_answer(table, promise):
    model, people = table
    try:
        problem = rb.Problem("positive_rate()", promise)
        report = rb.audit(problem, model, people)
    except ValueError as error:
        if "no row" in str(error):
            return
        raise
    for found in report.promises:
        assert (found.verdict == "not measured") == (found.kept is None)
        if found.slack_low is not None and found.slack is not None:
            assert found.slack_low <= found.slack <= found.slack_high
    assert str(report)
    assert report.render("json")
