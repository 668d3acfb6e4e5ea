"""Maps from rows to slices: every way against membership written out as a matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratebound._old.base.arrays import as_like, namespace
from ratebound._old.game._costs import BYTES, AllPlaces, BitPlaces, Cells, RowPlaces, slice_lists
from ratebound._old.kernels import dispatch
from ratebound._old.kernels.bits import Bits

WAYS = ["rows", "rows, loops", "cells", "cells, loops", "cells, rows counted", "torch", "torch, cells"]


class Members:
    """The part of a compiled problem from which the lists of slices are made."""

    def __init__(self, inside):
        self.membership = np.packbits(inside, axis=1)
        self.cell_count, self.slice_count = inside.shape

    def unpacked(self, cells):
        return np.unpackbits(self.membership[cells], axis=1, count=self.slice_count)


def places_of(way, inside, cells, longest, precision):
    """The places of a batch, given which cell is in which slice (cells, S), and the batch's cells."""
    members, size = Members(inside), inside.shape[1]
    if "torch" in way:
        torch = pytest.importorskip("torch")
        example = torch.empty(0, dtype=getattr(torch, precision))
        packed, index = torch.as_tensor(members.membership), torch.as_tensor(cells)
        if way == "torch":
            return BitPlaces(size, packed[index], as_like(BYTES, example)), example
        whole = BitPlaces(size, packed, as_like(BYTES, example))
        return AllPlaces(index, len(inside), whole, example, None), example
    example = np.empty(0, dtype=precision)
    loops = dispatch.numba_works() and ("loops" in way or "counted" in way)
    of = Cells(Bits(size, members.membership, loops), *slice_lists(members, longest), example)
    if "rows" in way and "cells" not in way:
        return RowPlaces(of, cells), example
    whole, each = RowPlaces(of, np.arange(len(inside))), RowPlaces(of, cells)
    return AllPlaces(cells, len(inside), whole, example, each if "counted" in way else None), example


@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**16),
    shape=st.tuples(st.integers(1, 20), st.sampled_from([1, 9, 40])),
    rows=st.sampled_from([0, 1, 5, 70]),
    models=st.sampled_from([1, 2, 7]),
    share=st.sampled_from([0.05, 0.3, 1.0]),
    longest=st.sampled_from([-1, 2, 8, 40]),
    precision=st.sampled_from(["float32", "float64"]),
)
def test_every_way_is_membership_written_out(way, seed, shape, rows, models, share, longest, precision):
    random = np.random.default_rng(seed)
    inside = random.random(shape) < share
    inside[: shape[0] // 2, 1:] = False  # cells in one slice or none
    cells = random.integers(0, shape[0], rows)
    places, example = places_of(way, inside, cells, longest, precision)
    each = inside[cells].astype(float)  # (b, S)
    table = random.normal(size=(models, 2, shape[1])) * (random.random(shape[1]) < 0.5)
    values, weight = random.normal(size=(models, 3, rows)), random.random(rows)
    kinds = random.integers(0, 3, (models, rows))
    marks = np.stack([kinds == kind for kind in range(3)], 1)
    close = {"rtol": 1e-4, "atol": 1e-4} if precision == "float32" else {"rtol": 1e-9, "atol": 1e-9}

    def like(array):
        return as_like(array, example)

    own = kinds if namespace(example) is np else namespace(example).as_tensor(kinds)
    spread = places.spread(like(table))
    assert str(spread.dtype).endswith(precision)
    np.testing.assert_allclose(spread, table @ each.T, **close)
    np.testing.assert_allclose(places.total(like(values)), values @ each, **close)
    np.testing.assert_allclose(places.total_kinds(own, 3, like(weight)), marks * weight @ each, **close)
    assert (np.asarray(places.total_kinds(own, 3, 1.0)) == marks @ each).all()
    assert (np.asarray(places.count()) == each.sum(0)).all()
    if namespace(example) is np:
        assert (places.total(marks) == marks @ each).all()
