"""Commands on rows that stay on disk, against the same rows in memory."""

import json

import numpy as np
import pytest

from ratebound._old.commands import on_disk
from ratebound._old.tables import parquet
from ratebound._old.tables.table import read_table

from .conftest import PROMISE

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def written(source, folder):
    """The rows of a CSV in a folder of two Parquet files."""
    table = read_table(source)
    whole = pa.table({name: pa.array(table[name].tolist()) for name in table.columns})
    folder.mkdir()
    half = len(whole) // 2
    for place, part in enumerate((whole.slice(0, half), whole.slice(half))):
        pq.write_table(part, folder / f"{place}.parquet", row_group_size=100)
    return folder


@pytest.fixture(scope="module")
def rows(new_people, tmp_path_factory):
    return written(new_people, tmp_path_factory.mktemp("disk") / "rows")


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch):
    monkeypatch.setattr(on_disk, "ROWS_AT_ONCE", 64)


def without_other_groups(text):
    """An audit without its line on groups that no promise names: on disk these are not measured."""
    return [line for line in text.splitlines() if "No promise names" not in line]


def test_audits_certificates_and_predictions_are_those_of_rows_in_memory(run, model, rows, tmp_path):
    files = str(rows / "*.parquet")
    for use in (["audit", "--label", "income"], ["certify", "--label", "income", "--in-expectation"]):
        memory, disk = (run(use[0], model, at, *use[1:], *how) for at, how in ((files, []), (rows, [])))
        assert without_other_groups(disk.out) == without_other_groups(memory.out)
        assert disk.status == memory.status
        assert "stay on disk" in disk.err
        left = run(use[0], model, files, *use[1:], "--on-disk")
        assert without_other_groups(left.out) == without_other_groups(memory.out)
    asked = ["--key", "id", "--probability"]
    memory = run("predict", model, files, *asked)
    assert run("predict", model, rows, *asked).out == memory.out
    out = tmp_path / "decisions.csv"
    assert run("predict", model, rows, *asked, "--out", out).status == 0
    assert out.read_text() == memory.out


def test_the_monitor_sees_the_same(run, model, rows, tmp_path):
    files, told = str(rows / "*.parquet"), []
    for state, at in (("memory", files), ("disk", rows)):
        told.append(run("monitor", model, at, "--label", "income", "--state", tmp_path / state))
    assert told[0].out == told[1].out


def test_inspecting_finds_the_same(run, rows):
    files, found = str(rows / "*.parquet"), []
    for at in (files, rows):
        answer = run("inspect", at, "--label", "income", "--json")
        found.append(json.loads(answer.out))
    memory, disk = found
    assert disk["columns"] == memory["columns"]
    assert disk["rows"] == memory["rows"]
    assert disk["notices"] == ["its rows stay on disk", *memory["notices"]]


def test_training_reads_a_sample(run, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(on_disk, "SAMPLED", 300)
    out = tmp_path / "model"
    asked = ["--label", "income", "--require", PROMISE, "--exclude", "sex", "id", "--weight", "weight"]
    asked += ["--confidence", "none", "--fail-on", "training", "--quiet"]
    answer = run("train", rows, *asked, "--out", out, "--json", tmp_path / "told.json")
    assert answer.status in (0, 1)
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["feasible"]
    assert told["classes"] == ["<=50K", ">50K"]
    assert "randomly chosen rows stand for the 400 rows" in answer.err
    audited = run("audit", out, str(rows / "*.parquet"), "--label", "income", "--weight", "weight")
    assert PROMISE in audited.out
    refused = run("certify", out, rows, "--label", "income")
    assert "is the table that the model was trained on" in refused.err


def test_explaining_looks_at_a_sample(run, rows, monkeypatch):
    monkeypatch.setattr(on_disk, "SAMPLED", 200)
    answer = run("explain", rows, "--label", "income", "--require", PROMISE)
    assert "stand for the 400 rows" in answer.err
    assert PROMISE in answer.out


def test_rows_without_a_label_are_left_out_if_asked_for(run, model, rows, tmp_path):
    whole = pq.read_table(rows)
    place = whole.column_names.index("income")
    labels = [label if row % 5 else None for row, label in enumerate(whole["income"].to_pylist())]
    pq.write_table(whole.set_column(place, "income", pa.array(labels)), tmp_path / "some.parquet")
    ask = ["audit", model, tmp_path / "some.parquet", "--label", "income"]
    assert "drop" in run(*ask, "--on-disk").err
    memory = run(*ask, "--drop-unlabelled")
    assert "320 rows" in memory.out
    disk = run(*ask, "--drop-unlabelled", "--on-disk")
    assert without_other_groups(disk.out) == without_other_groups(memory.out)
    train = [tmp_path / "some.parquet", "--label", "income", "--on-disk"]
    answer = run("train", *train, "--drop-unlabelled", "--out", tmp_path / "trained")
    assert "80 of 400 rows" in answer.err


def test_what_is_refused(refused, model, rows):
    where = ["--label", "income"]
    assert "standard input" in refused("audit", model, "-", *where, "--on-disk")
    assert "leave it out" in refused("predict", model, rows, "--json")
    assert "no label column 'incom'" in refused(
        "train", rows, "--label", "incom", "--out", rows.parent / "m"
    )


def test_large_files_stay_on_disk(rows, monkeypatch):
    files = [str(rows / "*.parquet")]
    assert not parquet.stays_on_disk(files)
    monkeypatch.setattr(parquet, "SMALL_FILES", 0)
    assert not parquet.stays_on_disk(files)
    monkeypatch.setattr(parquet, "MOST_ROWS", 399)
    assert parquet.stays_on_disk(files)
    assert parquet.stays_on_disk([str(rows)])
    assert not parquet.stays_on_disk(["nowhere.parquet"])
    assert not parquet.stays_on_disk(["-"])
    assert np.isclose(len(parquet.files_in(files)), 2)
