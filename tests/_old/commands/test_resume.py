"""``ratebound train --resume``: an interrupted run goes on, and writes what it would have written."""

import json
import os
import signal

import pytest

from ratebound._old.game import _resuming
from ratebound._old.game.turns import Taken


@pytest.fixture
def flags(flags):
    """A plug-in keeps nothing on its way: it begins anew."""
    return [*flags, "--method", "game"]


@pytest.fixture
def failing_after(monkeypatch):
    """Let training fail after so many rounds in all, or not at all for None; how many were played."""
    take, played = Taken.step, []

    def after(rounds):
        played.clear()

        def taken(turns):
            if len(played) == rounds:
                raise OSError("the power went off")
            played.append(1)
            take(turns)

        monkeypatch.setattr(Taken, "step", taken)
        return played

    monkeypatch.setattr(_resuming, "SECONDS", 0.0)
    return after


def test_an_interrupted_run_goes_on_where_it_was(run, flags, tmp_path, failing_after):
    out, whole = tmp_path / "model", tmp_path / "whole"
    played = failing_after(None)
    said = run(*flags, "--out", whole, "--epochs", "20")
    rounds = len(played)
    failing_after(rounds * 3 // 4)
    broken = run(*flags, "--out", out, "--epochs", "20")
    assert broken.status == 3
    assert "the power went off" in broken.err
    played = failing_after(None)
    found = run(*flags, "--out", out, "--epochs", "20", "--resume")
    assert (found.status, found.out) == (said.status, said.out.replace(str(whole), str(out)))
    assert len(played) < rounds / 2
    for name in ("model.safetensors", "audit.json"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()
    assert not (out / "unfinished").exists()


def test_without_resume_a_run_begins_anew(run, flags, tmp_path, failing_after):
    out = tmp_path / "model"
    failing_after(20)
    run(*flags, "--out", out, "--epochs", "20")
    left = list((out / "unfinished").iterdir())
    assert left
    failing_after(0)
    assert run(*flags, "--out", out, "--epochs", "20").status == 3
    assert not any(file.exists() for file in left)


def test_what_another_run_has_kept_is_left_alone(run, flags, tmp_path, failing_after):
    out = tmp_path / "model"
    failing_after(20)
    run(*flags, "--out", out, "--epochs", "20")
    (left,) = (out / "unfinished").iterdir()
    kept = {file: file.read_bytes() for file in left.iterdir()}
    failing_after(None)
    for words in (["--epochs", "2", "--resume"], ["--epochs", "2", "--force"]):
        found = run(*flags, "--out", out, *words)
        told = f"{out}/unfinished holds runs with other settings or rows" in found.err
        assert (found.status in (0, 1), told) == (True, "--resume" in words)
        assert {file: file.read_bytes() for file in left.iterdir()} == kept
        assert list((out / "unfinished").iterdir()) == [left]


def test_an_interrupt_from_the_keyboard_says_how_to_go_on(run, flags, tmp_path, monkeypatch):
    out, whole, take, played = tmp_path / "model", tmp_path / "whole", Taken.step, []
    run(*flags, "--out", whole, "--epochs", "5")

    def pressing(turns):
        played.append(1)
        if len(played) == 10:
            signal.raise_signal(signal.SIGINT)
        take(turns)

    monkeypatch.setattr(Taken, "step", pressing)
    found = run(*flags, "--out", out, "--epochs", "5")
    assert found.status == 130
    assert "the model so far; the same command with --resume continues from there." in found.out
    assert run(*flags, "--out", out, "--epochs", "5", "--resume").status in (0, 1)
    assert (out / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert not (out / "unfinished").exists()


@pytest.mark.parametrize(("model", "goes_on"), [("linear", True), ("lightgbm", False)])
def test_out_of_time(run, flags, tmp_path, model, goes_on):
    pytest.importorskip({"linear": "numpy"}.get(model, model))
    words = ["--out", tmp_path / "model", "--model", model, "--epochs", "1000000", "--max-time", "0.1"]
    found = run(*flags, *words)
    assert "Training ended early, out of time" in found.out
    assert (tmp_path / "model" / "unfinished").exists() == goes_on
    assert ("--resume" in found.out) == goes_on


def test_two_trainings_into_one_folder_are_one_too_many(run, refused, flags, tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    out, take, said = tmp_path / "model", Taken.step, []

    def beginning_another(turns):
        if not said:
            said.append(None)
            said.append(refused(*flags, "--out", out, "--epochs", "2"))
        take(turns)

    monkeypatch.setattr(Taken, "step", beginning_another)
    assert run(*flags, "--out", out, "--epochs", "2").status in (0, 1)
    assert "another process trains into this folder now: wait for it, or give another" in said[1]
    assert sorted(os.listdir(out)) == ["audit.json", "model.safetensors", "report.html"]


def test_a_run_file_may_say_so(run, flags, tmp_path, people):
    words = {"data": str(people), "label": "income", "out": "model", "resume": True, "epochs": 2}
    (tmp_path / "run.toml").write_text("\n".join(f"{k} = {json.dumps(v)}" for k, v in words.items()))
    assert run("train", tmp_path / "run.toml", "--positive", ">50K").status in (0, 1)
    assert (tmp_path / "model" / "model.safetensors").exists()
