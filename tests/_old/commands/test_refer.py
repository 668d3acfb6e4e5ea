"""The command line where rows may be referred to a person."""

import csv
import io

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.cli import main

from .conftest import write_csv

REFER = "ask a person"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 700)).round(4)
    y = np.where(a + 0.5 * b + 0.8 * random.normal(size=700) > 0.4, "yes", "no")
    doctor = np.where(random.random(700) < 0.9, y, "no")
    place = tmp_path_factory.mktemp("refer")
    table = {"a": a.tolist(), "b": b.tolist(), "doctor": doctor.tolist(), "y": y.tolist()}
    write_csv(place / "rows.csv", table)
    return place


def test_a_model_is_trained_decides_and_is_watched(folder, capsys):
    rows, out = str(folder / "rows.csv"), str(folder / "model")
    promises = ["--require", "referred() <= 0.25", "--require", "error_rate(decided) <= 0.25"]
    asked = ["train", rows, "--label", "y", "--refer", REFER, "--exclude", "doctor", *promises]
    main([*asked, "--out", out, "--quiet"])
    assert "promises" in capsys.readouterr().out
    main(["predict", out, rows, "--probability", "--decision-probability"])
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {line["prediction"] for line in lines} == {"no", "yes", REFER}
    assert all(float(line[f"decision_probability_{line['prediction']}"]) == 1 for line in lines)
    assert all(0 < float(line["probability"]) < 1 for line in lines)
    main(["monitor", out, rows, "--label", "y", "--state", str(folder / "state.json")])
    assert "error_rate(decided) <= 0.25" in capsys.readouterr().out
    assert rb.load(out).decisions_.tolist() == ["no", "yes", REFER]


def test_a_referral_has_a_name_of_its_own(folder, capsys):
    asked = ["train", str(folder / "rows.csv"), "--label", "y", "--refer", "yes"]
    assert main([*asked, "--require", "referred() <= 0.2", "--out", str(folder / "bad")]) == 2
    assert "one of the labels" in capsys.readouterr().err
