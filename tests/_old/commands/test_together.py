"""``torchrun -m ratebound train``: a process that dies ends the others, and all go on with --resume."""

import os
import socket
import subprocess
import sys

import pytest

from .conftest import PROMISE, make_people, write_csv

pytest.importorskip("torch")

TRAIN = """
import os, signal, sys
from ratebound._old.cli import main
from ratebound._old.game import _resuming
from ratebound._old.game.turns import Taken

_resuming.SECONDS = 0.0
dies_after, take, taken = int(sys.argv[1]), Taken.step, []

def mortal(turns):
    taken.append(1)
    if len(taken) == dies_after:
        os.kill(os.getpid(), signal.SIGKILL)
    take(turns)

Taken.step = mortal
sys.exit(main(sys.argv[2:]))
"""


def together(*arguments, dies_after=(0, 0)):
    """Train in two processes as torchrun starts them: status, output and errors of each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", TRAIN, str(dies_after[rank]), *map(str, arguments)],
            env={**os.environ, **told, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [each.communicate(timeout=300) for each in running]
    return [(each.returncode, *words) for each, words in zip(running, said, strict=True)]


@pytest.mark.slow  # for all the libraries that every process imports
def test_a_process_that_dies_ends_the_other_and_both_go_on(tmp_path):
    table = write_csv(tmp_path / "people.csv", make_people(3000))
    flags = ["train", table, "--label", "income", "--positive", ">50K", "--require", PROMISE]
    flags += ["--exclude", "id", "sex", "live", "weight", "--epochs", "20", "--out"]
    model, whole = tmp_path / "model", tmp_path / "whole"
    (first, out, err), (second, _, _) = together(*flags, model, dies_after=(0, 150))
    assert (first, second, out) == (3, -9, "")
    assert "process 0 of 2 (counted from 0) has lost another one" in err
    assert "--resume" in err
    assert list((model / "unfinished").iterdir())

    (first, out, err), (second, nothing, silent) = together(*flags, model, "--resume")
    assert first == second
    assert first in (0, 1), err
    assert "Training on 2,400 rows" in out
    assert (nothing, silent) == ("", "")
    assert not (model / "unfinished").exists()

    assert together(*flags, whole)[0][0] == first
    for name in ("model.safetensors", "audit.json"):
        assert (model / name).read_bytes() == (whole / name).read_bytes()
