"""Which rows are alike, which were drawn together, and how they are dealt."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ratebound.learning.folds import deal_folds, digest_rows, find_shared_rows, find_units

pandas = pytest.importorskip("pandas")


def make_features(n=300, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 4)), random.integers(0, 2, n)


def number_distinct(values):
    return len(np.unique(values))


# --- rows that are alike --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "distinct"),
    [
        (np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]), 2),
        (np.array([[np.nan], [np.nan], [0.0]]), 2),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), 2),  # the order of columns counts
        (np.array([[1, 2], [1, 2]]), 1),
        (csr_matrix([[0.0, 2.0], [0.0, 2.0], [2.0, 0.0], [0.0, 0.0]]), 3),
        (pandas.DataFrame({"town": ["A", None, 3, float("nan"), "A", 3.0]}, dtype=object), 3),
        (pandas.DataFrame({"x": [1.0, 1.0, np.nan], "t": ["a", "a", "a"]}), 2),
    ],
)
def test_rows_have_the_same_digest_if_their_features_are_equal(rows, distinct):
    assert number_distinct(digest_rows(rows)) == distinct


def test_sparse_rows_have_the_digests_of_dense_ones():
    dense = np.random.default_rng(0).integers(0, 3, size=(50, 6)).astype(float)
    assert digest_rows(csr_matrix(dense)).tolist() == digest_rows(dense).tolist()


def test_different_rows_have_different_digests():
    many = np.random.default_rng(0).integers(0, 1000, size=(20_000, 3)).astype(float)
    assert number_distinct(digest_rows(many)) == len(np.unique(many, axis=0))


def test_rows_that_many_share_are_found():
    X = np.concatenate([np.zeros((60, 2)), np.arange(100).reshape(50, 2)])
    assert find_shared_rows(digest_rows(X)).tolist() == list(range(60))


# --- rows drawn together --------------------------------------------------------------------------


def find(X, y, clusters=None):
    return find_units(X, digest_rows(X), y, clusters)


def test_copies_are_one_unit_and_a_warning_says_so():
    X, y = make_features()
    rows = np.repeat(np.arange(300), 4)
    with pytest.warns(UserWarning, match=r"900 of 1,200 rows are copies .* pass clusters="):
        unit = find(X[rows], y[rows])
    assert number_distinct(unit) == 300
    assert all(number_distinct(unit[rows == row]) == 1 for row in range(300))


def test_children_of_a_census_are_one_unit_without_a_warning():
    """They have few distinct features and one label: that is chance, and costs confidence only."""
    random = np.random.default_rng(0)
    children = random.integers(0, 3, size=(400, 3)).astype(float)
    adults = random.normal(size=(100, 3))
    X = np.concatenate([children, 10 + adults.round(1)])
    y = np.repeat([0, 1], [400, 100])
    unit = find(X, y)
    assert number_distinct(unit[:400]) == 27
    assert number_distinct(unit) < 130


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (np.random.default_rng(0).integers(0, 3, size=(500, 2)), "random"),  # people who are alike
        (np.random.default_rng(0).normal(size=(500, 2)), "random"),
        (np.vstack([np.arange(998).reshape(499, 2), [[0, 1]]]), "same"),  # a pair in 500 rows
    ],
)
def test_people_who_are_alike_are_not_copies(rows, labels):
    y = np.random.default_rng(1).integers(0, 2, 500) if labels == "random" else np.zeros(500, int)
    assert number_distinct(find(rows.astype(float), y)) == 500


def test_clusters_are_units_whatever_is_copied():
    X, y = make_features()
    rows = np.repeat(np.arange(300), 2)
    ids = np.array([f"customer {number}" for number in np.arange(600) % 50])
    unit = find(X[rows], y[rows], ids)
    assert number_distinct(unit) == 50
    assert number_distinct(np.char.add(ids, unit.astype(str))) == 50
    every_row_alone = find(X[rows], y[rows], np.arange(600))
    assert number_distinct(every_row_alone) == 600


@pytest.mark.parametrize(
    ("clusters", "words"),
    [(np.arange(30) % 19, "has 19 ids, too few"), (np.arange(29), r"has the shape \(29,\)")],
)
def test_clusters_that_cannot_be_are_refused(clusters, words):
    X, y = make_features(30)
    with pytest.raises(ValueError, match=words):
        find(X, y, clusters)


# --- folds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [5, 3])
def test_units_stay_together_and_kinds_are_spread(most):
    random = np.random.default_rng(0)
    unit = random.integers(0, 400, 1000)
    kind_of_unit = random.integers(0, 3, 400)
    fold = deal_folds(unit, kind_of_unit[unit], seed=1, most=most)
    assert number_distinct(fold) == most
    assert number_distinct(unit * 10 + fold) == number_distinct(unit)
    example = np.unique(unit, return_index=True)[1]
    table = np.zeros((3, most))
    np.add.at(table, (kind_of_unit[unit[example]], fold[example]), 1)
    assert np.ptp(table, axis=1).max() <= 2


def test_rows_that_were_all_drawn_together_are_refused():
    with pytest.raises(ValueError, match="all rows were drawn together"):
        deal_folds(np.zeros(10, int), np.zeros(10, int), 0)
