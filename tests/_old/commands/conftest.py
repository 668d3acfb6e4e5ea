"""A small table of people on disk, and the command line called as a person would."""

import csv
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import pytest

from ratebound._old.cli import main

PROMISE = 'recall(sex == "Female") >= 0.95 * recall()'


class Answer(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def no_progress(monkeypatch):
    """However slow the machine is, there is no sign of progress among what is compared."""
    monkeypatch.setattr("ratebound._old.base.progress.AFTER", 1e6)


@pytest.fixture
def run(capsys):
    """`run("train", ...)`: exit status, standard output and standard error."""

    def call(*arguments):
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # argparse's own
            status = ended.code
        return Answer(status, *capsys.readouterr())

    return call


@pytest.fixture
def refused(run):
    """The one line that a call is refused with."""

    def call(*arguments):
        answer = run(*arguments)
        assert answer.status == 2
        assert answer.out == ""
        assert answer.err.count("\n") == 1, answer.err
        assert answer.err.startswith("ratebound")
        return answer.err

    return call


def killed_at_any_moment(code, folder, seed):
    """Run a program that says "ready" and goes on writing into `folder`, and kill it soon after."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(np.random.default_rng(seed).uniform(0.0, 0.05))  # any moment will do
    finally:
        child.kill()
        child.communicate()


def make_people(rows, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["Female", "Male"], rows, p=[0.4, 0.6])
    age, hours = rng.integers(18, 70, rows), rng.normal(40, 8, rows).round(1)
    score = 0.08 * (age - 44) + 0.06 * (hours - 40) + 1.2 * (sex == "Male") - 0.7
    yes = score + rng.logistic(size=rows) > 0
    return {
        "id": [f"p{i}" for i in range(rows)],
        "age": age.tolist(),
        "hours": hours.tolist(),
        "sex": sex.tolist(),
        "city": rng.choice(["Paris", "Lyon", ""], rows, p=[0.5, 0.4, 0.1]).tolist(),
        "live": np.where(score > 0, ">50K", "<=50K").tolist(),
        "weight": rng.integers(1, 4, rows).tolist(),
        "income": np.where(yes, ">50K", "<=50K").tolist(),
    }


def write_csv(path, columns):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("data") / "people.csv", make_people(800))


@pytest.fixture(scope="session")
def new_people(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("data") / "new.csv", make_people(400, seed=1))


@pytest.fixture
def flags(people):
    """A training that takes a moment; `--out` is still to be said."""
    return [
        "train", people, "--label", "income", "--require", PROMISE, "--seed", "3",
        "--positive", ">50K", "--exclude", "id", "sex", "live", "weight",
    ]  # fmt: skip


@pytest.fixture(scope="session")
def model(tmp_path_factory, people):
    """A model trained once, for those who read it."""
    out = tmp_path_factory.mktemp("models") / "model"
    main([
        "train", str(people), "--label", "income", "--require", PROMISE, "--quiet",
        "--exclude", "id", "sex", "live", "weight", "--out", str(out),
    ])  # fmt: skip
    return out
