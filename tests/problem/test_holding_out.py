"""Rows held out: every cell gives its share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratebound as rb
from ratebound.problem.holding_out import held_out, parted


@given(
    cells=st.lists(st.integers(0, 5), min_size=1, max_size=200),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 2**31),
)
def test_every_cell_gives_its_share_to_rounding(cells, share, seed):
    cells = np.array(cells)
    chosen = held_out(cells, share, seed)
    sizes = np.bincount(cells)
    found = np.bincount(cells[chosen], minlength=len(sizes))
    np.testing.assert_array_less(abs(found - share * sizes), 1)


def test_seeds_differ_and_repeat():
    cells = np.repeat([0, 1], 500)
    first = held_out(cells, 0.3, 0)
    np.testing.assert_array_equal(first, held_out(cells, 0.3, 0))
    assert (first != held_out(cells, 0.3, 1)).any()
    assert first.sum() == pytest.approx(300, abs=1)


def test_a_row_of_every_group_stays_to_train_on():
    groups = np.where(np.arange(200) == 7, 2, np.arange(200) % 2)
    people = rb.Population(None, [0, 1] * 100, columns={"group": groups})
    everyone = rb.compile(rb.Problem("error_rate()", []), people)
    for seed in range(20):
        training, aside = parted(everyone, 0.9, seed, groups)
        assert set(training.first.column("group").tolist()) == {0, 1, 2}
        assert len(training.first) + len(aside.first) == 200
