"""Groups known by probabilities: rates are those of a loop over rows and values."""

import numpy as np
import pytest

import ratebound as rb
from ratebound.learning.uncertain import ROW

PROBABILITIES = ["p_black", "p_brown", "p_white"]


def make_rows(seed=0, rows=200):
    random = np.random.default_rng(seed)
    shares = random.dirichlet([1, 1, 2], rows)
    columns = dict(zip(PROBABILITIES, shares.T, strict=True))
    labels = random.integers(0, 2, rows)
    weights = random.random(rows)
    return rb.Population(random.normal(size=(rows, 2)), labels, columns, weights), shares


def test_a_row_counts_in_each_group_by_its_probability():
    rows, shares = make_rows()
    race = rb.uncertain_group("race", probabilities=PROBABILITIES)
    copies = race.copy_rows(rows)
    texts = ['positive_rate(race == "black") <= 0', 'recall(race == "white") <= 0', "recall() <= 0"]
    compiled = rb.compile(rb.Problem("error_rate()", texts), copies)
    scores = np.random.default_rng(1).normal(size=len(rows))
    _, violations = compiled.evaluate(scores[copies.columns[ROW]])
    yes = scores >= 0
    positive = rows.y == 1
    black = rows.weights * shares[:, 0]
    white = rows.weights * shares[:, 2] * positive
    recall = (rows.weights * positive * yes).sum() / (rows.weights * positive).sum()
    expected = [black @ yes / black.sum(), white @ yes / white.sum(), recall]
    assert violations == pytest.approx(expected)


def test_a_known_value_needs_no_probabilities():
    table = {"race": ["a", None, "b"], "p_a": [None, 0.25, 0.5], "p_b": [None, 0.75, 0.5]}
    rows = rb.Population(None, [1, 0, 1], table)
    copies = rb.uncertain_group("race", ["p_a", "p_b"]).copy_rows(rows)
    assert copies.columns["race"].tolist() == ["a", "a", "b", "b"]
    assert copies.weights.tolist() == [1, 0.25, 0.75, 1]
    assert copies.columns[ROW].tolist() == [0, 1, 1, 2]


def test_values_are_named_by_columns_or_by_a_mapping():
    by_columns = rb.uncertain_group("race", PROBABILITIES)
    assert list(by_columns.probabilities) == ["black", "brown", "white"]
    by_mapping = rb.uncertain_group("race", {1: "p_one", 2: "p_two"})
    assert list(by_mapping.probabilities) == [1, 2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"p_a": [0.5], "p_b": [0.2]}, "do not add up to 1, as in row 0 with 0.7"),
        ({"p_a": [1.5], "p_b": [-0.5]}, "numbers below 0 or above 1"),
        ({"p_a": ["x"], "p_b": [1.0]}, "holds no probabilities"),
        ({"p_a": [1.0]}, "there is no column 'p_b'"),
        ({"p_a": [0.5], "p_b": [0.5], "race": ["c"]}, "holds 'c', which has no probabilities"),
    ],
)
def test_probabilities_that_are_wrong(columns, message):
    rows = rb.Population(None, None, columns)
    with pytest.raises(ValueError, match=message):
        rb.uncertain_group("race", ["p_a", "p_b"]).copy_rows(rows)


@pytest.mark.parametrize("probabilities", [["p"], [], {"a": "p"}])
def test_two_values_are_needed(probabilities):
    with pytest.raises(ValueError, match="a column for each of two values"):
        rb.uncertain_group("race", probabilities)
