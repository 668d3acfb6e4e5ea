"""Claims about new rows come true: a few draws of the simulations in benchmarks/claims.py.

A confidence belongs to a test: claims of c or more are false in at most a share 1 - c of all samples.
"""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ratebound._old as rb

FOLDER = Path(__file__).parents[3] / "benchmarks"
DRAWS = 10
LEVELS = (0.5, 0.7, 0.8, 0.9)
RARELY = 1e-3  # with seeds that are fixed, what is as rare as this is a false claim, not bad luck


@pytest.fixture(scope="module")
def claims():
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(FOLDER))
        yield importlib.import_module("claims")
    for name in ("claims", "_common"):
        sys.modules.pop(name, None)


def chance_of_so_many(false, draws, level):
    """The probability of so many false claims at a level, if each draw makes one with 1 - level."""
    from scipy.stats import binom

    return binom.sf(false - 1, draws, 1 - level)


def assert_true(results):
    for level in LEVELS:
        false = sum(each.claimed >= level and not each.kept for each in results)
        assert chance_of_so_many(false, len(results), level) > RARELY, (level, false, len(results))


def test_claims_that_were_false_would_be_noticed():
    assert chance_of_so_many(10, 10, 0.9) < RARELY  # copies of rows
    assert chance_of_so_many(18, 44, 0.85) < RARELY  # an easy pair
    assert chance_of_so_many(1, 10, 0.9) == pytest.approx(1 - 0.9**10)


@pytest.mark.parametrize("case", ["easy", "once", "four", "weights", "customers"])
def test_few_claims_are_false(claims, case):
    options = {"method": "plug-in", "fresh": 20_000}
    assert_true(
        [claims.measured(claims.CASES[case], "linear", seed, **options) for seed in range(DRAWS)]
    )


def test_few_claims_of_a_top_are_false(claims):
    """The game's claims: the benchmark has more draws, at bounds that are kept, hard and impossible."""
    case = replace(claims.CASES["top turned"], rows=500)
    learner = rb.Linear(0.1)
    assert_true([claims.measured(case, learner, seed, fresh=10_000) for seed in (1, 2)])


def test_few_claims_of_trees_are_false(claims):
    pytest.importorskip("lightgbm")
    assert_true(
        [claims.measured(claims.CASES["small"], "lightgbm", seed, fresh=20_000) for seed in range(8)]
    )


def test_promises_that_can_be_kept_are_claimed_and_kept(claims):
    """A bound with room: the confidence asked for is reached, and the promises hold."""
    case = claims.CASES["easy"]
    easier = replace(case, promises=tuple(p.replace("0.95", "0.75") for p in case.promises))
    results = [
        claims.measured(easier, "linear", seed, method="plug-in", fresh=20_000) for seed in range(DRAWS)
    ]
    assert all(each.claimed >= 0.88 for each in results)
    assert sum(each.kept for each in results) >= DRAWS - 2
