"""Features against scikit-learn and pandas, which make the same ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ratebound._old.datasets.features import bins, one_hots, quantiles, standardised, thermometer

from ..extras import pd

EDGES = (-1.5, 0.0, 4.0)


def test_one_hots_are_scikit_learns():
    column = np.random.default_rng(0).choice(["a", "b", "c d", "?"], 50)
    block, names = one_hots("kind", column)
    encoder = OneHotEncoder(sparse_output=False).fit(column[:, None])
    np.testing.assert_array_equal(block, encoder.transform(column[:, None]))
    assert names == tuple(f"kind={value}" for value in encoder.categories_[0])
    assert block.dtype == np.float32


@given(st.lists(st.integers(-5, 9), min_size=1, max_size=40))
def test_bins_are_pandas_cuts(values):
    column = np.array(values)
    block, names = bins("x", column, EDGES)
    cut = pd.cut(column, [-np.inf, *EDGES, np.inf], labels=False)
    np.testing.assert_array_equal(block.argmax(axis=1), cut)
    np.testing.assert_array_equal(block.sum(axis=1), 1)
    assert names == ("x<=-1.5", "-1.5<x<=0", "0<x<=4", "x>4")


@given(st.lists(st.integers(-5, 9), min_size=1, max_size=40))
def test_a_thermometer_counts_the_edges_passed(values):
    column = np.array(values)
    block, names = thermometer("x", column, EDGES)
    np.testing.assert_array_equal(block.sum(axis=1), np.searchsorted(EDGES, column))
    assert (np.diff(block, axis=1) <= 0).all()  # never an edge without those below it
    assert names == ("x>-1.5", "x>0", "x>4")


def test_numbers_are_standardised_on_the_training_rows_only():
    random = np.random.default_rng(0)
    values = random.normal(size=(60, 3)) * (1, 100, 0) + (0, 2024, 7)  # the last one is constant
    train_rows = random.permutation(60)[:40]
    scaler = StandardScaler().fit(values[train_rows])
    scaled = standardised(values, train_rows)
    np.testing.assert_allclose(scaled, scaler.transform(values), rtol=1e-5, atol=1e-5)
    assert scaled.dtype == np.float32


def test_quantiles_are_of_the_training_rows_only():
    column = np.array([1, 2, 3, 1_000])
    assert quantiles(column, np.array([0, 1, 2]), (0.0, 0.5, 1.0)) == pytest.approx((1, 2, 3))
