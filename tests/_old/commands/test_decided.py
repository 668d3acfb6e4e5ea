"""Commands on decisions that someone made: without a model, on tables as people have them."""

import json

import numpy as np
import pytest

from ratebound._old.cli import main

PROMISE = 'positive_rate(sex == "f") >= 0.8 * positive_rate(sex == "m")'


@pytest.fixture
def decided(tmp_path):
    """A table as it comes: semicolons, a byte order mark, and an outcome that only some rows have."""
    random = np.random.default_rng(0)
    sex, granted = random.choice(["f", "m"], 300), random.random(300)
    granted = np.where(granted < np.where(sex == "f", 0.3, 0.6), "Approved", "Denied")
    repaid = np.where(granted == "Approved", random.choice(["0", "1"], 300), "")
    lines = ["sex;status;ok;repaid"]
    lines += [
        f"{s};{g};{'Yes' if g == 'Approved' else 'No'};{r}"
        for s, g, r in zip(sex, granted, repaid, strict=True)
    ]
    path = tmp_path / "decisions.csv"
    path.write_text("\ufeff" + "\n".join(lines) + "\n")
    return path, sex, granted == "Approved"


def run(capsys, *words):
    status = main([*map(str, words)])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_audit(decided, capsys):
    path, sex, yes = decided
    for said in ("ok", 'status == "Approved"', "status"):
        extra = ["--positive", "Approved"] if said == "status" else []
        status, out, _ = run(
            capsys, "audit", path, "--decision", said, "--require", PROMISE, "--json", *extra
        )
        data = json.loads(out)
        assert data["promises"][0]["value"] == pytest.approx(yes[sex == "f"].mean())
        assert data["decided"]
        assert status == 1  # women get half as many
        assert f"--decision {said}" in data["provenance"]["command"].replace("'", "")


def test_certify(decided, capsys):
    path, _, _ = decided
    loose = PROMISE.replace("0.8", "0.1")
    status, out, _ = run(capsys, "certify", path, "--decision", "ok", "--require", loose)
    assert status == 0
    assert "Certified" in out


def test_monitor(decided, capsys, tmp_path):
    path, _, _ = decided
    words = ["--decision", "ok", "--require", "positive_rate() >= 0.9", "--state", tmp_path / "s.json"]
    status, out, _ = run(capsys, "monitor", path, *words)
    assert status == 1
    assert "ALARM" in out
    _, _, told = run(capsys, "monitor", path, *words)
    assert "taken in before" in told


def test_labels_known_of_one_decision_are_noted(decided, capsys):
    path, _, _ = decided
    words = ["--decision", "ok", "--require", PROMISE, "--label", "repaid", "--drop-unlabelled"]
    _, _, told = run(capsys, "audit", path, *words)
    assert "'repaid' is missing in" in told
    assert "100% of the rows decided False" in told.replace("No", "False")


def test_page(decided, capsys, tmp_path):
    path, _, _ = decided
    page = tmp_path / "page.html"
    run(capsys, "audit", path, "--decision", "ok", "--require", PROMISE, "--out", page)
    assert "Decisions are taken as they were made" in page.read_text()


REFUSED = {
    "no promise": (["--decision", "ok"], "which promises?"),
    "a slip": (["--decision", "okk", "--require", PROMISE], "did you mean 'ok'"),
    "a value that no row has": (
        ["--decision", 'status == "approved"', "--require", PROMISE],
        "the column holds",
    ),
    "labels are missing": (["--decision", "ok", "--require", "recall() >= 0.5"], "needs labels"),
    "some labels": (
        ["--decision", "ok", "--require", "recall() >= 0.5", "--label", "repaid"],
        "--drop-unlabelled",
    ),
    "of a model": (
        ["--decision", "ok", "--require", PROMISE, "--trusted", "x"],
        "--trusted needs a saved model",
    ),
    "promises beside a model": (["x.csv", "--require", PROMISE, "--label", "y"], "goes with --decision"),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(decided, capsys, words, message):
    status, _, told = run(capsys, "audit", decided[0], *words)
    assert status == 2
    assert message in told
