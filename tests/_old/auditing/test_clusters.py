"""Rows that are drawn together: several of one customer say less than as many of different ones."""

import numpy as np
import pytest

import ratebound._old as rb

from ..pieces import InPieces
from .conftest import draw, mixture

PROMISES = {
    "one rate": "recall() >= 0.7",
    "two groups": 'recall(sex == "F") >= 0.9 * recall()',
    "precision": "precision() >= 0.6",
    "two precisions": 'precision(sex == "F") >= 0.9 * precision(sex == "M")',
    "F-scores": 'f_score(sex == "F") >= 0.9 * f_score()',
    "wins": "win_loss_ratio(versus='live') >= 1",
    "area": "roc_auc() >= 0.6",
    "cost": "cost(column='amount') <= 3",
}


def table(rows, copies, **more):
    """Rows, each so many times under one number."""
    people, amounts = draw(n=rows), np.random.default_rng(1).lognormal(0, 0.5, rows)
    which = np.repeat(np.arange(rows), copies)
    columns = {name: np.asarray(column)[which] for name, column in people.columns.items()}
    columns |= {"customer": which, "amount": amounts[which]}
    return rb.Population(np.asarray(people.X)[which], people.y[which], columns=columns, **more)


def interval(promise, people, **more):
    problem = rb.Problem("error_rate()", promise)
    found = rb.audit(problem, mixture([1.0]), people, confidence=0.975, **more).promises[0]
    return np.array([found.slack_low, found.slack_high])


@pytest.mark.parametrize("form", PROMISES)
def test_copies_of_rows_say_no_more_than_the_rows(form):
    promise = PROMISES[form]
    once, copied = table(400, 1), table(400, 5)
    alone = interval(promise, once)
    width = np.diff(alone)[0]
    assert interval(promise, copied, clusters="customer") == pytest.approx(alone, abs=0.08 * width)
    assert np.diff(interval(promise, copied))[0] < 0.6 * width  # as if the copies were others


@pytest.mark.parametrize("form", PROMISES)
def test_clusters_of_one_row_are_rows(form):
    people = table(400, 1)
    alone = interval(PROMISES[form], people)
    together = interval(PROMISES[form], people, clusters="customer")
    assert together == pytest.approx(alone, abs=0.1 * np.diff(alone)[0])


def drawn(random, clusters):
    """Up to nine rows of each customer, whose recall is its own; 0.8 over all customers."""
    sizes = random.integers(1, 10, clusters)
    customer = np.repeat(np.arange(clusters), sizes)
    yes = random.random(len(customer)) < random.beta(3.2, 0.8, clusters)[customer]
    scores = np.where(yes, 1.0, -1.0)[:, None]
    return rb.Population(scores, np.ones(len(yes), int), columns={"customer": customer})


@pytest.mark.parametrize("clusters", [10, 40])
def test_coverage(clusters):
    random = np.random.default_rng(clusters)
    found = [
        interval("recall() >= 0.8", drawn(random, clusters), clusters="customer") for _ in range(150)
    ]
    covered = np.mean([low <= 0 <= high for low, high in found])
    assert covered >= 0.95 - 3 * (0.95 * 0.05 / len(found)) ** 0.5


def test_few_clusters_of_hits_are_not_certainty():
    """All of 50 rows are hits, of 5 customers: that is what 5 hits of 5 are, or less."""
    people = rb.Population(
        np.ones((50, 1)), np.ones(50, int), columns={"customer": np.repeat(np.arange(5), 10)}
    )
    low, high = interval("recall() >= 0.0", people, clusters="customer")
    five = interval("recall() >= 0.0", rb.Population(np.ones((5, 1)), np.ones(5, int)))
    assert low <= five[0] + 1e-9
    assert high == 1.0


def test_what_is_said_of_clusters():
    people = table(100, 3)
    report = rb.audit(
        rb.Problem("error_rate()", "recall() >= 0.5"), mixture([1.0]), people, clusters="customer"
    )
    assert "drawn as 100 clusters by 'customer'" in str(report)
    assert "new values of customer" in " ".join(report.limits)
    assert report.to_dict()["clusters"] == ["customer", 100]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("customers", "clusters='customers': population 'audited': there is no column 'customers'"),
        ("gaps", "2 rows of population 'audited' have no value"),
        ("same", "are one cluster"),
    ],
)
def test_columns_that_are_not_clusters(column, message):
    columns = {"customer": [1, 1, 2, 2], "gaps": ["a", None, "b", None], "same": ["x"] * 4}
    people = rb.Population(np.ones((4, 1)), [1, 1, 0, 1], columns=columns)
    with pytest.raises(ValueError, match=message):
        interval("recall() >= 0.5", people, clusters=column)


def test_a_promise_that_rests_on_one_cluster_has_no_interval():
    columns = {"customer": [1, 1, 2, 2], "g": ["a", "a", "b", "b"]}
    people = rb.Population(np.ones((4, 1)), [1, 1, 1, 1], columns=columns)
    problem = rb.Problem("positive_rate()", 'recall(g == "a") >= 0.5')
    promise = rb.audit(problem, mixture([1.0]), people, clusters="customer").promises[0]
    assert promise.slack_low is None
    assert "they all have the same 'customer'" in promise.why


@pytest.mark.parametrize("form", PROMISES)
def test_clusters_of_rows_in_pieces_are_those_of_all_rows(form):
    people = table(60, 4)
    wanted = interval(PROMISES[form], people, clusters="customer")
    found = interval(PROMISES[form], InPieces.of(people, 50), clusters="customer")
    assert found == pytest.approx(wanted, rel=1e-6)
