"""Two processes give the same result as one on the same batches, and agree to the last bit."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from .in_processes import judged, numbers, people, played

pytest.importorskip("torch")
arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with rows in a Parquet file."""
    rows, place = people(2500, 7), tmp_path_factory.mktemp("processes")
    columns = {f"x{i}": rows.X[:, i] for i in range(5)} | {"y": rows.y, "sex": rows.columns["sex"]}
    parquet.write_table(arrow.table(columns), place / "rows.parquet", row_group_size=100)
    return place


@pytest.fixture(scope="module")
def both(folder):
    """The results of each of two processes, by game and name."""
    command = [sys.executable, "-m", "tests._old.game.in_processes", str(folder)]
    given = {"cwd": ROOT, "env": os.environ | {"WORLD_SIZE": "2"}, "text": True}
    given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen([*command, str(rank), "2"], **given) for rank in range(2)]
    said = [each.communicate(timeout=300) for each in running]
    assert [each.returncode for each in running] == [0, -signal.SIGKILL], said[0][1] + said[1][1]
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(2)]


def test_two_processes_agree_to_the_last_bit(both):
    first, second = both
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_two_processes_give_what_one_gives(both, folder):
    alone = {game: numbers(trace) for game, trace in played(0, 1, folder).items()} | judged(0, 1)
    assert {f"{game}/{name}" for game in alone for name in alone[game]} == both[0].keys() - {"refused"}
    for game, expected in alone.items():
        for name, array in expected.items() if not game.startswith("OWN") else ():
            together = both[0][f"{game}/{name}"]
            np.testing.assert_allclose(together, array, rtol=1e-6, atol=1e-6, err_msg=f"{game}: {name}")


def test_what_would_drift_apart_is_refused(both):
    drifting, oracle, norm, *differing = both[1]["refused"].tolist()
    assert "its models differ between processes" in drifting
    assert "each of 2 processes has a share" in oracle
    assert "use LayerNorm" in norm
    for what, words in zip(("the problem", "with the features", "to play"), differing, strict=True):
        assert f"was given {what}" in words.replace("population 'train' ", "")


def test_a_process_that_dies_ends_the_other_with_a_message(both, folder):
    words = (folder / "lost").read_text()
    assert words.startswith("process 0 of 2 (counted from 0) has lost another one")
    assert f"what was kept so far is in {folder}/games" in words
    assert list((folder / "games").iterdir())
