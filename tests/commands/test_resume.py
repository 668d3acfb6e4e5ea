"""``ratebound train --resume``: an interrupted run goes on, and writes what it would have written."""

import json

import pytest

from ratebound.game import _resuming
from ratebound.game._turns import Taken


@pytest.fixture
def failing_after(monkeypatch):
    """Let training fail after so many rounds in all, or not at all for None; how many were played."""
    take, played = Taken.take, []

    def after(rounds):
        played.clear()

        def taken(turns):
            if len(played) == rounds:
                raise OSError("the power went off")
            played.append(1)
            take(turns)

        monkeypatch.setattr(Taken, "take", taken)
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


def test_a_run_file_may_say_so(run, flags, tmp_path, people):
    words = {"data": str(people), "label": "income", "out": "model", "resume": True, "epochs": 2}
    (tmp_path / "run.toml").write_text("\n".join(f"{k} = {json.dumps(v)}" for k, v in words.items()))
    assert run("train", tmp_path / "run.toml", "--positive", ">50K").status in (0, 1)
    assert (tmp_path / "model" / "model.safetensors").exists()
