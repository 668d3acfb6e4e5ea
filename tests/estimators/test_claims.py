"""What is claimed of new rows comes true: a few draws of the simulations in benchmarks/claims.py."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
DRAWS = 12
SURE = 0.7  # what is claimed by those that are looked at alone
RARELY = 1e-3  # with seeds that are fixed, what is as rare as this is a false claim and no bad luck


@pytest.fixture(scope="module")
def claims():
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(FOLDER))
        yield importlib.import_module("claims")
    for name in ("claims", "_common"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def found(claims):
    """What came of each draw of each case, by the plug-in alone."""
    cases, seeds = ("easy", "once", "four", "weights", "customers"), range(DRAWS)
    options = {"method": "plug-in", "fresh": 20_000}
    return [claims.measured(case, "linear", seed, **options) for case in cases for seed in seeds]


def chance_of_so_few(kept, claimed):
    """The probability that no more draws keep their promises, if each does with what it claims."""
    counts = np.ones(1)
    for chance in claimed:
        counts = np.convolve(counts, [1 - chance, chance])
    return counts[: sum(kept) + 1].sum()


def test_claims_that_were_false_are_found():
    assert chance_of_so_few([False] * 10, [0.91] * 10) < RARELY  # copies of rows
    assert chance_of_so_few([True] * 26 + [False] * 18, [0.85] * 44) < RARELY  # an easy pair
    assert chance_of_so_few([True] * 9 + [False], [0.9] * 10) == pytest.approx(1 - 0.9**10)


def test_promises_are_kept_as_often_as_is_claimed(found):
    assert_true(found)


def test_promises_are_kept_as_often_as_is_claimed_by_the_sure(found):
    assert_true([each for each in found if each.claimed >= SURE])


def test_copies_of_rows_make_no_model_surer(claims):
    found = [claims.measured("four", "linear", seed, fresh=20_000) for seed in range(6)]
    assert_true([each for each in found if each.claimed >= SURE], enough=0)


def assert_true(found, enough=3):
    kept, claimed = [each.kept for each in found], [each.claimed for each in found]
    assert sum(claimed) >= enough, "too few to tell"
    assert chance_of_so_few(kept, claimed) > RARELY, (sum(kept), sum(claimed))
