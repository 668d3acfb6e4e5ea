"""Splits: every row in one part, in the published sizes, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratebound._old.datasets.splits import dealt, in_tenths, split
from ratebound._old.problem.population import Population


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (101_249, [70_874, 10_125, 20_250]),  # Thresholding, as published
        (6_172, [4_320, 617, 1_235]),  # COMPAS
        (45_211, [31_648, 4_521, 9_042]),  # Bank, as published but for the row it lost
    ],
)
def test_tenths_are_rounded_as_published(rows, sizes):
    assert [len(part) for part in in_tenths(rows, seed=0)] == sizes


@given(rows=st.integers(10, 300), seed=st.integers(0, 2**32 - 1))
def test_every_row_is_dealt_once_and_the_same_again(rows, seed):
    parts = dealt(rows, train=rows // 2, validation=rows // 5, seed=seed)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(rows))
    again = dealt(rows, train=rows // 2, validation=rows // 5, seed=seed)
    for part, same in zip(parts, again, strict=True):
        np.testing.assert_array_equal(part, same)


def test_a_population_is_cut_with_its_columns():
    X = np.arange(10.0)[:, None]
    everyone = Population(X, X[:, 0] > 4, columns={"row": np.arange(10)})
    splits = split(everyone, in_tenths(10, seed=1), ("row",), monotone={0: 1})
    for part in (splits.train, splits.validation, splits.test):
        np.testing.assert_array_equal(part.X[:, 0], part.columns["row"])
        np.testing.assert_array_equal(part.y, part.columns["row"] > 4)
    assert splits.others == {}
    assert splits.monotone == {0: 1}
