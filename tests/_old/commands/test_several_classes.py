"""The command line on a table whose label has several values."""

import csv
import io
import json

import numpy as np
import pytest

import ratebound._old as rb

from .conftest import write_csv

ANIMALS = np.array(["bird", "cat", "dog"])
PROMISE = 'recall(sex == "Female", of="cat") >= 0.5'


def make_animals(rows=500, seed=0, labels=ANIMALS):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, rows, p=[0.5, 0.2, 0.3])
    X = 1.5 * np.eye(3)[y] + rng.normal(size=(rows, 3))
    columns = {name: X[:, i].round(4).tolist() for i, name in enumerate("abc")}
    sex = rng.choice(["Female", "Male"], rows).tolist()
    return {"id": list(range(rows)), **columns, "sex": sex, "kind": np.asarray(labels)[y].tolist()}


@pytest.fixture(scope="module", params=["texts", "numbers"])
def told(request, tmp_path_factory):
    """A folder with tables, what a cat is called there, and a trained model."""
    labels, cat = (ANIMALS, '"cat"') if request.param == "texts" else (np.array([1, 2, 3]), "2")
    folder = tmp_path_factory.mktemp(request.param)
    for name, seed in (("old", 0), ("new", 1)):
        write_csv(folder / f"{name}.csv", make_animals(seed=seed, labels=labels))
    return folder, labels.tolist(), PROMISE.replace('"cat"', cat)


@pytest.fixture(scope="module")
def model(told):
    from ratebound._old.cli import main

    folder, _, promise = told
    status = main([
        "train", str(folder / "old.csv"), "--label", "kind", "--exclude", "id", "sex",
        "--require", promise, "--out", str(folder / "model"), "--confidence", "none", "--quiet",
        "--fail-on", "training", "--json", str(folder / "train.json"),
    ])  # fmt: skip
    assert status == 0
    return folder / "model"


def test_training_says_the_classes(told, model):
    folder, labels, _ = told
    document = json.loads((folder / "train.json").read_text("utf-8"))
    assert document["classes"] == labels
    assert document["positive"] is None
    assert document["negative"] is None
    assert document["audit"]["confusions"][0]["classes"] == labels
    assert rb.load(model).classes == tuple(labels)


def test_predictions_have_a_probability_for_each_class(told, model, run):
    folder, labels, _ = told
    asked = ["--key", "id", "--probability", "--decision-probability"]
    answer = run("predict", model, folder / "new.csv", *asked)
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    of_label = [f"probability_{label}" for label in labels]
    of_decision = [f"decision_probability_{label}" for label in labels]
    assert list(rows[0]) == ["id", "prediction", *of_label, *of_decision]
    assert {row["prediction"] for row in rows} == set(map(str, labels))
    for names in (of_label, of_decision):
        assert sum(float(rows[0][name]) for name in names) == pytest.approx(1, abs=1e-5)
    data = json.loads(run("predict", model, folder / "new.csv", *asked, "--json", "-").out)
    assert data["prediction"][0] in labels
    assert isinstance(data[of_label[0]][0], float)


def test_audit_certify_and_monitor(told, model, run):
    folder, _labels, promise = told
    answer = run("audit", model, folder / "new.csv", "--label", "kind", "--out", folder / "page.html")
    assert promise in answer.out
    assert "everyone: what rows of each label" in answer.out
    assert "Labels and decisions" in (folder / "page.html").read_text("utf-8")
    certified = run("certify", model, folder / "new.csv", "--label", "kind", "--json", "-")
    assert json.loads(certified.out)["promises"][0]["method"] == "exact binomial test"
    state = ["--state", folder / "state.json"]
    watched = run("monitor", model, folder / "new.csv", "--label", "kind", *state)
    assert watched.status in (0, 1)
    assert "Monitor after 500 rows" in watched.out
    (folder / "copy.csv").write_bytes((folder / "new.csv").read_bytes() + b"\n")  # another file
    assert "1,000 rows" in run("monitor", model, folder / "copy.csv", "--label", "kind", *state).out


def test_explain_and_inspect(told, run):
    folder, _labels, promise = told
    asked = ["--label", "kind", "--exclude", "id", "sex"]
    answer = run("explain", folder / "old.csv", *asked, "--require", promise)
    assert answer.status == 0
    assert "kind has 3 classes" in answer.out
    assert "kind has 3 classes" in run("inspect", folder / "old.csv", *asked).out


def test_what_is_refused(told, model, run, refused, tmp_path):
    folder, labels, promise = told
    asked = ["--label", "kind", "--require", promise, "--out", tmp_path / "out"]
    said = refused("train", folder / "old.csv", *asked, "--positive", labels[1])
    assert "3 classes" in said
    assert "--positive says which of two is yes" in said
    assert "recall(of=" in said
    said = refused(
        "train", folder / "old.csv", "--label", "a", "--require", promise, "--out", tmp_path / "o"
    )
    assert "not class labels; put them into bands" in said
    strange = make_animals(
        seed=2, labels=[labels[0], labels[1], "fox" if isinstance(labels[0], str) else 7]
    )
    write_csv(tmp_path / "strange.csv", strange)
    said = refused("audit", model, tmp_path / "strange.csv", "--label", "kind")
    assert "'fox'" in said or "7" in said
    assert f"{labels[1]!r} and {labels[2]!r}" in said
    said = refused("train", folder / "old.csv", *asked[:2], "--require", "recall() >= 0.5", *asked[4:])
    assert "there are 3 classes" in said


def test_labels_spelled_in_two_ways_are_no_classes(refused, tmp_path):
    animals = make_animals()
    animals["kind"] = [each + "." * (i % 2) for i, each in enumerate(animals["kind"])]
    write_csv(tmp_path / "ugly.csv", animals)
    said = refused("train", tmp_path / "ugly.csv", "--label", "kind", "--out", tmp_path / "out")
    assert "looks like" in said
    assert "spell labels alike everywhere" in said


@pytest.mark.parametrize("of", ["cat", "other"])
def test_either_of_two_classes_may_be_named(of, run, tmp_path):
    write_csv(tmp_path / "two.csv", make_animals(labels=["other", "cat", "other"]))
    asked = ["--label", "kind", "--positive", "cat", "--exclude", "id", "sex", "--json", "-"]
    promise = f'recall(of="{of}") >= 0.5'
    found = json.loads(run("explain", tmp_path / "two.csv", *asked, "--require", promise).out)
    alike = "'other' for everyone" if of == "other" else "'cat' for everyone"
    (constraint,) = found["constraints"]
    assert [name for name in constraint["met_by"] if "everyone" in name] == [alike]
