"""How many rows a certificate needs, against exact power."""

import numpy as np
import pytest
from scipy.stats import binom

import ratebound._old as rb

from .conftest import people

PILOT = people(np.ones(1000, dtype=bool), np.arange(1000) % 2 == 0, g=np.arange(1000) % 10 == 0)


def needed(promise, population=PILOT, **options):
    return rb.rows_needed(rb.Problem(rb.error_rate(), [promise]), population, **options).promises


@pytest.mark.parametrize("at", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("margin", [0.02, 0.04])
def test_of_one_rate_the_power_is_as_asked(at, margin):
    (found,) = needed(rb.recall() >= at, margin=margin)
    critical = binom.isf(0.05, found.rows_needed, at) + 1
    power = binom.sf(critical - 1, found.rows_needed, at + margin)
    assert power == pytest.approx(0.8, abs=0.03)
    assert found.rows == 500
    assert found.rows_in_all == pytest.approx(2 * found.rows_needed, abs=2)


def test_a_half_of_the_margin_takes_four_times_the_rows():
    many, few = needed(rb.recall(g=True) >= 0.9 * rb.recall(), margin=[0.02, 0.04])
    assert many.rows_needed == pytest.approx(4 * few.rows_needed, rel=0.01)
    assert many.rows == few.rows == 100
    (clear,) = needed(rb.recall(g=True) >= 0.9 * rb.recall(), margin=0.02, rate=0.9)
    assert clear.rows_needed == pytest.approx(many.rows_needed * 0.09 / 0.25, rel=0.08)


def test_margins_are_one_number_several_or_by_constraint():
    promise = rb.recall() >= 0.9
    assert [each.margin for each in needed(promise)] == [0.01, 0.02, 0.05]
    assert [each.margin for each in needed(rb.predicted_positives(per=500) <= 100)] == [5, 10, 25]
    assert [each.margin for each in needed(promise, margin={promise: 0.03})] == [0.03]
    with pytest.raises(ValueError, match=r"margin says nothing of recall\(\) >= 0\.9"):
        needed(promise, margin={})
    with pytest.raises(ValueError, match="margin, by how much a promise is kept"):
        needed(promise, margin=0)


def test_what_no_number_of_rows_shows():
    (found,) = needed(rb.recall() >= 0.97, margin=0.05)
    assert found.rows_needed is None
    for each in needed(rb.roc_auc() >= 0.8):
        assert "not certified" in each.why
    table = str(rb.rows_needed(rb.Problem(rb.error_rate(), [rb.roc_auc() >= 0.8]), PILOT))
    assert "–" in table
    assert table.endswith("are not certified")


def test_ratios_take_a_share_of_rows_to_be_counted():
    (found,) = needed(rb.precision() >= 0.8, margin=0.05)
    (plain,) = needed(rb.positive_rate() >= 0.8, margin=0.05)
    assert found.rows_needed == pytest.approx(2 * plain.rows_needed, rel=0.01)
    (ratio,) = needed(rb.positive_rate(g=True) / rb.recall() >= 0.8, margin=0.1)
    (sums,) = needed(rb.positive_rate(g=True) >= 0.8 * rb.recall(), margin=0.05)
    assert ratio.rows_needed == sums.rows_needed


def test_slips():
    with pytest.raises(TypeError, match="rows_needed takes promises first"):
        rb.rows_needed(5, PILOT)
    with pytest.raises(TypeError, match=r"second argument must be a rb\.Population"):
        rb.rows_needed(rb.Problem(rb.error_rate()), [1, 2])
    with pytest.raises(ValueError, match="no row has"):
        needed(rb.recall(g="x") >= 0.9, people([1, 0], g=["a", "b"]))
