"""Two processes give what one gives on the same batches, and are the same to the last bit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from .in_processes import judged, numbers, played

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What each of two processes found, by game and name."""
    folder = tmp_path_factory.mktemp("processes")
    command = [sys.executable, "-m", "tests.game.in_processes", str(folder)]
    running = [
        subprocess.Popen([*command, str(rank), "2"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    said = [each.communicate(timeout=120)[1] for each in running]
    assert [each.returncode for each in running] == [0, 0], "\n".join(said)
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(2)]


def test_two_processes_agree_to_the_last_bit(both):
    first, second = both
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_two_processes_give_what_one_gives(both):
    alone = {game: numbers(trace) for game, trace in played(0, 1).items()} | judged(0, 1)
    assert {f"{game}/{name}" for game in alone for name in alone[game]} == both[0].keys()
    for game, expected in alone.items():
        for name, array in expected.items():
            found = both[0][f"{game}/{name}"]
            np.testing.assert_allclose(found, array, rtol=1e-6, atol=1e-6, err_msg=f"{game}: {name}")
