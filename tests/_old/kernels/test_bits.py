"""Products with bits, against products with the unpacked numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratebound._old.kernels import bits, dispatch
from ratebound._old.kernels.bits import Bits

WAYS = ["numbers", "loops"]


def some(seed, rows, width, share):
    inside = np.random.default_rng(seed).random((rows, width)) < share
    return inside, np.packbits(inside, axis=1)


@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**16),
    rows=st.sampled_from([0, 1, 2, 31, 64, 65, 200]),
    width=st.sampled_from([1, 8, 31, 33, 64, 65, 100]),
    share=st.sampled_from([0.0, 0.2, 1.0]),
    vectors=st.sampled_from([1, 2, 4, 5, 9]),
    zeros=st.sampled_from([0.0, 0.5, 0.95]),
    dtype=st.sampled_from([np.float32, np.float64]),
    at_once=st.sampled_from([64, 1024, bits.AT_ONCE]),
    kept=st.sampled_from([0, bits.KEPT]),
)
def test_products_are_those_with_the_numbers(
    way, seed, rows, width, share, vectors, zeros, dtype, at_once, kept
):
    if way == "loops" and not dispatch.numba_works():
        pytest.skip("numba is not installed")
    inside, packed = some(seed, rows, width, share)
    random = np.random.default_rng(seed + 1)
    table = random.normal(size=(vectors, width)) * (random.random(width) >= zeros)
    values = random.normal(size=(vectors, rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "AT_ONCE", at_once)
        patch.setattr(bits, "KEPT", kept)
        made = Bits(width, packed, loops=way == "loops")
        spread, total = made.spread(table.astype(dtype)), made.total(values.astype(dtype))
        counted = made.count(values > 0)
    assert (spread.dtype, total.dtype) == (dtype, dtype)
    exact = {"rtol": 1e-10, "atol": 1e-10} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(spread, table @ inside.T, **exact)
    np.testing.assert_allclose(total, values @ inside, **exact)
    assert (counted == (values > 0).astype(int) @ inside).all()


@pytest.mark.parametrize("way", WAYS)
def test_sums_of_whole_numbers_are_exact(way):
    if way == "loops" and not dispatch.numba_works():
        pytest.skip("numba is not installed")
    inside, packed = some(0, 500, 70, 0.5)
    counts = np.random.default_rng(1).integers(0, 1000, (2, 500))
    totals = Bits(70, packed, way == "loops").total(counts.astype(np.float32))
    assert (totals == counts @ inside).all()


@pytest.mark.parametrize("way", WAYS)
def test_some_of_the_rows_are_those_rows(way):
    if way == "loops" and not dispatch.numba_works():
        pytest.skip("numba is not installed")
    inside, packed = some(0, 50, 40, 0.3)
    rows = np.array([3, 3, 49, 0])
    values = np.random.default_rng(1).normal(size=(1, 4))
    totals = Bits(40, packed, way == "loops").of(rows).total(values)
    np.testing.assert_allclose(totals, values @ inside[rows])
