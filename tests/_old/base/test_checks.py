"""Arguments and their ranges."""

import math

import numpy as np
import pytest

from ratebound._old.base.checks import check_number, check_whole, check_word


@pytest.mark.parametrize("value", [1, 7, np.int64(3), np.uint8(1)])
def test_whole_numbers(value):
    check_whole("n", value)


@pytest.mark.parametrize(
    "value", [0, -1, 2.0, 2.5, math.nan, math.inf, "2", None, True, np.float64(2), [2]]
)
def test_what_is_no_whole_number_from_one_on(value):
    with pytest.raises(ValueError, match="n takes a whole number from 1 on, got"):
        check_whole("n", value)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.25), np.int64(0)])
def test_numbers_in_their_range(value):
    check_number("share", value, least=0, below=1)


@pytest.mark.parametrize(
    "value", [-0.1, 1, 1.0, math.nan, math.inf, -math.inf, "0.5", None, False, [0.5], 1j]
)
def test_numbers_out_of_their_range(value):
    with pytest.raises(ValueError, match="share takes a number that is at least 0 and below 1, got"):
        check_number("share", value, least=0, below=1)


def test_ends():
    with pytest.raises(ValueError, match=r"x takes a number that is above 0, got 0$"):
        check_number("x", 0, above=0)
    with pytest.raises(ValueError, match=r"x takes a number that is at least 0, got inf$"):
        check_number("x", math.inf, least=0)


@pytest.mark.parametrize("value", ["c", "", None, 1, ["a"]])
def test_words(value):
    check_word("w", "a", {"a": 1, "b": 2})
    with pytest.raises(ValueError, match="w must be one of a, b, got"):
        check_word("w", value, {"a": 1, "b": 2})
