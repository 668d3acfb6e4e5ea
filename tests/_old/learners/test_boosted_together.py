"""XGBoost in two processes, each with some of the rows, against one process that has them all."""

import json
import subprocess
import sys

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.base import processes

from ..extras import lightgbm, xgboost
from . import boosted_together as script

NUMBERS = ("multipliers", "objectives", "violations", "watched", "scores")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder with the results of two processes."""
    tracker = xgboost.tracker.RabitTracker(n_workers=2, host_ip="127.0.0.1", sortby="task")
    tracker.start()
    told = [f"{name}={json.dumps(value)}" for name, value in tracker.worker_args().items()]
    place = tmp_path_factory.mktemp("together")
    command = [sys.executable, script.__file__, str(place), *told]
    both = [
        subprocess.Popen([*command, f'dmlc_task_id="{rank}"'], stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=120)[1] for process in both]
    finally:
        for process in both:
            process.kill()
    assert [process.returncode for process in both] == [0, 0], "\n".join(said)
    tracker.wait_for()
    return place


def test_processes_talk_by_its_collective(folder):
    for rank in range(2):
        assert json.loads((folder / f"talked {rank}.json").read_text("utf-8")) == {
            "processes": [2, rank],
            "gathered": [{"rank": 0, "nothing": None}, {"rank": 1, "nothing": None}],
            "of the first": None,
            "total": [[2.0, 2.0]],
            "counted": [2, 1],
            "rows": [0, 1, 0],
        }


@pytest.mark.parametrize("name", script.GAMES)
def test_two_processes_grow_the_trees_of_one(folder, name):
    alone = script.found(script.played(**script.GAMES[name]))
    first, second = (np.load(folder / f"{name} {rank}.npz") for rank in range(2))
    for what in first:
        np.testing.assert_array_equal(first[what], second[what])
    for what in NUMBERS:
        np.testing.assert_allclose(first[what], alone[what], rtol=0, atol=1e-6)


def test_trees_of_processes_that_do_not_talk_are_refused(monkeypatch):
    people = rb.Population(script.X, script.TWO)
    compiled = rb.compile(rb.Problem(rb.error_rate()), people)
    monkeypatch.setattr(processes, "count", lambda: 2)
    with pytest.raises(ValueError, match=r"2 processes, of which XGBoost knows 1.*CommunicatorContext"):
        rb.play(compiled, rb.Boosted(xgboost.XGBClassifier()), rounds=1)
    with pytest.raises(
        ValueError, match=r'LightGBM is not trained by 2 processes.*Boosted\("xgboost"\)'
    ):
        rb.play(compiled, rb.Boosted(lightgbm.LGBMClassifier()), rounds=1)
