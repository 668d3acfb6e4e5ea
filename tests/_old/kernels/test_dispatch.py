"""Loops that numba compiles: once, if it is installed; otherwise it is never imported."""

import subprocess
import sys

import numpy as np
import pytest

from ratebound._old.kernels import dispatch


@dispatch.loop(fastmath=True)
def _sum_of_squares(values):
    total = 0.0
    for value in values:
        total += value * value
    return total


@dispatch.loop()
def _mean_square(values):
    return _sum_of_squares(values) / len(values)


def test_a_loop_says_what_its_function_says():
    pytest.importorskip("numba")
    assert _sum_of_squares(np.arange(4.0)) == 14.0
    assert _sum_of_squares.__name__ == "_sum_of_squares"
    assert _mean_square(np.arange(4.0)) == 3.5


def test_numba_is_imported_with_the_first_call_only_and_can_be_left_alone():
    words = (
        "import sys; from ratebound._old.kernels import dispatch as d; "
        "print(d.numba_works(), 'numba' in sys.modules)"
    )
    process = subprocess.run(
        [sys.executable, "-c", words],
        env={"RATEBOUND_PLAIN": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.split() == ["False", "False"]


def ran(code, path, **environment):
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "PYTHONPATH": ":".join([*path, *sys.path])},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return process.stdout.split()


def test_a_numba_that_cannot_be_imported_is_done_without(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('needs an older NumPy')")
    code = """
import warnings
from ratebound._old.kernels import dispatch
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    print(dispatch.numba_works(), dispatch.numba_works(), len(said), "older" in str(said[0].message))
"""
    assert ran(code, [str(tmp_path)]) == ["False", "False", "1", "True"]


def test_where_nothing_can_be_kept_on_disk_loops_are_compiled_all_the_same(monkeypatch):
    numba = pytest.importorskip("numba")
    from numba.core.dispatcher import Dispatcher

    def nowhere(self):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(Dispatcher, "enable_caching", nowhere)
    assert numba is not None
    assert dispatch.Loop(_sum_of_squares.function, {})(np.arange(4.0)) == 14.0
