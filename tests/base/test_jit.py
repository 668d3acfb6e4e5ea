"""Loops that numba compiles: once, where it is installed; where it is not, nobody asks for it."""

import subprocess
import sys

import numpy as np
import pytest

from ratebound.base import jit


@jit.loop(fastmath=True)
def _sum_of_squares(values):
    found = 0.0
    for value in values:
        found += value * value
    return found


@jit.loop()
def _mean_square(values):
    return _sum_of_squares(values) / len(values)


def test_a_loop_says_what_its_function_says():
    pytest.importorskip("numba")
    assert _sum_of_squares(np.arange(4.0)) == 14.0
    assert _sum_of_squares.__name__ == "_sum_of_squares"
    assert _mean_square(np.arange(4.0)) == 3.5


def test_numba_is_imported_with_the_first_call_only_and_can_be_left_alone():
    words = "import sys; from ratebound.base import jit; print(jit.available(), 'numba' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", words],
        env={"RATEBOUND_PLAIN": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["False", "False"]
