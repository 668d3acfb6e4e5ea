"""What is printed: every byte of it or a failure, and exit statuses that mean one thing each."""

import os
import resource
import signal
import subprocess
import sys

import pytest

from ratebound._old.cli import main

from .conftest import make_people, write_csv

FAILED, CLOSED, TERMINATED = 3, 141, 143
LABEL = ["--label", "income", "--positive", ">50K", "--exclude", "id"]
IMPOSSIBLE = "recall() - positive_rate() >= 0.9"
buffered_or_not = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def call(*arguments, unbuffered="", **settings):
    """The command line as a program, with Python's buffer or without; it shows no progress."""
    quiet = [] if arguments == ("--help",) else ["--quiet"]
    command = [sys.executable, "-m", "ratebound._old.cli", *map(str, arguments), *quiet]
    whole = {"PYTHONDONTWRITEBYTECODE": "1"}  # Python would keep the part that a full disk took
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered} | whole
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | settings
    return subprocess.Popen(command, env=environment, **given)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Rows whose decisions are longer than a pipe holds."""
    return write_csv(tmp_path_factory.mktemp("data") / "many.csv", make_people(8000, seed=2))


@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [("train", "1"), ("explain", "1"), ("audit", ""), ("audit", "1"), ("predict", "1"), ("help", "")],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_is_a_failure(flags, model, people, new_people, tmp_path, command, unbuffered):
    arguments = {
        "train": [*flags, "--out", tmp_path / "model", "--quiet"],
        "audit": ["audit", model, new_people, "--label", "income"],
        "predict": ["predict", model, new_people],
        "explain": ["explain", people, *LABEL, "--exclude", "weight", "--require", IMPOSSIBLE],
        "help": ["--help"],
    }[command]
    with open("/dev/full", "w") as full:
        child = call(*arguments, unbuffered=unbuffered, stdout=full)
        assert child.communicate()[1] == "ratebound: standard output: No space left on device\n"
    assert child.returncode == FAILED


@buffered_or_not
def test_a_disk_that_takes_a_part_is_a_failure(model, many, tmp_path, unbuffered):
    """The first write ends short, and only the next one gets the error."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    with open(tmp_path / "found.csv", "w") as file:
        child = call("predict", model, many, unbuffered=unbuffered, stdout=file, preexec_fn=limit)
        assert child.communicate()[1] == "ratebound: File too large\n"
    assert child.returncode == FAILED
    assert (tmp_path / "found.csv").stat().st_size == 8192


@buffered_or_not
def test_a_reader_that_has_enough(model, many, unbuffered):
    child = call("predict", model, many, "--key", "id", unbuffered=unbuffered)
    assert child.stdout.readline() == "id,prediction\n"
    child.stdout.close()
    assert child.stderr.read() == ""
    assert child.wait() == CLOSED
    child.stderr.close()


@buffered_or_not
def test_all_rows_come_through_a_pipe_that_is_read_slowly(model, many, tmp_path, unbuffered):
    child = call("predict", model, many, "--key", "id", unbuffered=unbuffered)
    main(["predict", str(model), str(many), "--key", "id", "--out", str(tmp_path / "found.csv")])
    assert child.communicate() == ((tmp_path / "found.csv").read_text("utf-8"), "")
    assert child.returncode == 0


@buffered_or_not
def test_a_closed_output_is_a_failure(model, new_people, unbuffered):
    child = call("predict", model, new_people, unbuffered=unbuffered, preexec_fn=lambda: os.close(1))
    assert child.communicate()[1] == "ratebound: the standard output is closed\n"
    assert child.returncode == FAILED


def test_letters_that_the_output_cannot_hold(model, new_people, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    child = call("audit", model, new_people, "--label", "income")
    words = "ratebound: the output cannot be written as ascii: set PYTHONIOENCODING=utf-8\n"
    assert child.communicate()[1] == words
    assert child.returncode == FAILED


@pytest.mark.parametrize("error", [RuntimeError("x"), KeyError("x"), AssertionError("x")])
def test_a_defect_is_not_a_broken_promise(run, model, new_people, monkeypatch, error):
    def defect(*_, **__):
        raise error

    monkeypatch.setattr("ratebound._old.commands.audit.table_for", defect)
    answer = run("audit", model, new_people, "--label", "income")
    assert (answer.status, answer.out) == (FAILED, "")
    assert f"{type(error).__name__}: " in answer.err
    assert answer.err.endswith("this is a defect of ratebound: please report it with these lines\n")


@pytest.mark.parametrize("error", [MemoryError("out of memory"), OSError(28, "No space left")])
def test_a_machine_that_cannot_is_not_bad_input(run, flags, tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr("ratebound._old.commands.rows.read_table", fail)
    answer = run(*flags, "--out", tmp_path / "model")
    assert answer.status == FAILED
    assert answer.err.count("\n") == 1


def test_terminated_while_training(run, flags, tmp_path, monkeypatch):
    from ratebound._old.base import progress

    class Terminating(progress.Lines):
        def update(self, count=1):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(progress, "Lines", Terminating)
    assert run(*flags, "--out", tmp_path / "model") == (TERMINATED, "", "")
    assert list(tmp_path.iterdir()) == []


def test_terminated_while_writing(run, flags, tmp_path, monkeypatch):
    """The folder that was not yet whole is removed."""
    from ratebound._old.auditing.report import Audit

    monkeypatch.setattr(Audit, "save_html", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    assert run(*flags, "--out", tmp_path / "model").status == TERMINATED
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_full_disk_names_the_file(model, new_people, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    found = tmp_path / "found.csv"
    child = call("predict", model, new_people, "--out", found, preexec_fn=limit)
    assert child.communicate() == ("", f"ratebound: {found}: File too large\n")
    assert child.returncode == FAILED
    assert list(tmp_path.iterdir()) == []
