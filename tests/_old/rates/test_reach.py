"""Promises that no model keeps are refused when the problem is stated, with what was perhaps meant."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb

REFUSED = {
    "recall() >= 95": "no model can keep this, since recall() is never above 1; did you mean recall() ",
    "0.95 <= 0.01 * recall()": "is never above 0.01",
    "precision() >= 1.2": "precision() is never above 1",
    "precision() >= 80": "did you mean precision() >= 0.8?",
    "roc_auc() >= 90": "did you mean roc_auc(bins=10) >= 0.9?",
    "positive_rate() <= -0.1": "positive_rate() is never below 0",
    "win_loss_ratio(versus='live') <= -1": 'win_loss_ratio(versus="live") is never below 0',
    "recall(a == 1) >= recall() + 5": "recall(a == 1) - recall() is never above 1; did you mean",
    "recall(a == 1) - recall(a == 2) >= 1.1": "is never above 1",
    "churn(versus='live') <= -0.02": "is never below 0",
    "error_rate() + 0.5 * positive_rate() >= 2": "is never above 1.5; did you mean",
    "predicted_positives() <= -1": "is never below 0",
    "predicted_positives(per=100) >= 200": "is never above 100",
    "predicted_positives(per=60) - false_positives(per=30) <= -31": "is never below -30",
    # kept by every model, and surely not what was meant
    "false_positive_rate() <= 5": "did you mean false_positive_rate() <= 0.05?",
    "recall(a == 1) >= 95 * recall()": "95 is a factor, not a percentage; did you mean 0.95 * recall()?",
    "120 * recall(a == 1) >= recall(a == 2)": "did you mean 1.2 * recall(a == 1)?",
    "precision() <= 80": "every model keeps this",
    "churn(versus='live') <= 2": 'did you mean churn(versus="live") <= 0.02?',
}
ALLOWED = [
    "recall() >= 0",
    "recall() >= 1",
    "recall() <= 1",
    "recall() >= -0.5",
    "positive_rate() <= 1.05",
    "recall() >= 1.0000000000001",
    "recall(a == 1) >= 1.05 * recall()",
    "recall(a == 1) - recall(a == 2) <= 3",
    "100 * recall() >= 95",
    "recall() >= 50 * false_positive_rate()",
    "positive_rate(a == 1) >= 20 * positive_rate()",
    "recall(a == 1) >= 0.01 * recall()",
    "50 * recall(a == 1) >= 49 * recall()",
    "win_loss_ratio(versus='live') >= 50",
    "win_loss_ratio(versus='live') <= 50",
    "predicted_positives() >= 1e6",
    "predicted_positives(per=100) <= 2000",
    "recall() - 0.001 * predicted_positives() >= -5",
]


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words):
    with pytest.raises(ValueError, match=re.escape(REFUSED[words])) as found:
        rb.Problem("error_rate()", [words])
    assert str(found.value).startswith(f"{rb.parse(words)}: ")


@pytest.mark.parametrize("words", ALLOWED)
def test_allowed(words):
    rb.Problem("error_rate()", [words])


def test_counts_never_say_percent():
    with pytest.raises(ValueError, match=r"never above 60$"):
        rb.Problem("error_rate()", ["predicted_positives(per=60) >= 90"])


def test_a_count_of_more_rows_than_there_are_is_refused_once_they_are_known():
    problem = rb.Problem("error_rate()", ["predicted_positives() >= 5"])
    with pytest.raises(ValueError, match=r"predicted_positives\(per=4\) is never above 4"):
        rb.compile(problem, rb.Population(None, [0, 1, 0, 1]))


def test_goals_too():
    with pytest.raises(ValueError, match=r"did you mean recall\(sex == \"F\"\) >= 0.9\?"):
        rb.Problem("error_rate()", rb.minimum_recall({"sex": ["F"]}, at_least=90))
    rb.Problem("error_rate()", rb.equal(rb.positive_rate(), 0.95, slack=0.1))


terms = st.lists(
    st.tuples(st.sampled_from([-2.0, -1.0, -0.5, 0.3, 1.0, 4.0]), st.sampled_from("abcd")),
    min_size=1, max_size=4, unique_by=lambda term: term[1],
)  # fmt: skip


@settings(derandomize=True, deadline=None)
@given(terms, st.sampled_from([-3.0, -1.0, -0.2, 0.0, 0.7, 1.0, 2.5]), st.booleans())
def test_refused_exactly_where_no_corner_reaches_the_bound(found, bound, least):
    """Rates of groups that share no row are free of each other: every corner of the cube occurs."""
    left = sum((c * rb.positive_rate(group=name) for c, name in found), rb.Expression())
    corners = np.stack(np.meshgrid(*[[0, 1]] * len(found)), -1).reshape(-1, len(found))
    values = corners @ [c for c, _ in found]
    possible = (values >= bound).any() if least else (values <= bound).any()
    constraint = left >= bound if least else left <= bound
    try:
        rb.Problem("error_rate()", [constraint])
        refused = ""
    except ValueError as error:
        refused = str(error)
    assert ("no model can keep" in refused) == (not possible)
    if "every model" in refused:
        assert (values <= bound).all()
