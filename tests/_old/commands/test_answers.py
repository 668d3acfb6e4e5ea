"""What every command answers: JSON for programs, one notice, signs of progress, the exit status."""

import csv
import io
import json
import re
import sys
import time

import pytest

import ratebound._old as rb
from ratebound._old.auditing.report import Audit, Objective, Promise
from ratebound._old.base.progress import Lines, bar, working
from ratebound._old.commands.answers import failing, note, one_notice
from ratebound._old.tables.table import read_table

from .conftest import PROMISE, make_people, write_csv


def test_the_version(run):
    assert run("--version").out == f"ratebound {rb.__version__}\n"


def test_remedies_are_those_of_the_command_line():
    with pytest.warns(RuntimeWarning, match=r"^ratebound inspect shows more$"), one_notice():
        note("rb.inspect(X) shows more")


# --- JSON ----------------------------------------------------------------------------------------

KEYS = {
    "inspect": {"name", "rows", "notices", "columns"},
    "train": {"feasible", "status", "ended", "rows", "positive", "negative", "audit", "certificate",
              "written"},
    "audit": {"summary", "kept", "certain", "confidence", "model", "populations", "objective",
              "promises", "groups"},
    "certify": {"holds", "confidence", "populations", "promises"},
    "predict": {"id", "prediction", "probability"},
    "monitor": {"confidence", "rows", "kept", "alarms", "promises"},
    "explain": {"positive", "negative", "verdict", "objective", "constraints", "conflict", "met_by",
                "best", "quick"},
}  # fmt: skip


@pytest.fixture
def asked(flags, model, people, new_people, tmp_path):
    labels = ["--label", "income"]
    return {
        "inspect": ["inspect", people, *labels],
        "train": [*flags, "--out", tmp_path / "model"],
        "audit": ["audit", model, new_people, *labels],
        "certify": ["certify", model, new_people, *labels],
        "predict": ["predict", model, new_people, "--key", "id", "--probability"],
        "monitor": ["monitor", model, new_people, *labels, "--state", tmp_path / "state.json"],
        "explain": [
            "explain",
            people,
            *labels,
            "--positive",
            ">50K",
            "--exclude",
            "id",
            "weight",
            "--require",
            PROMISE,
        ],
    }


@pytest.mark.parametrize("command", KEYS)
def test_every_command_answers_in_json(run, asked, tmp_path, command):
    to_output = run(*asked[command], "--json", "-")
    assert to_output.err == ""
    found = json.loads(to_output.out)
    assert KEYS[command] <= set(found)
    if command not in ("monitor", "explain"):  # the one has seen the rows by now, the other takes long
        again = ["--force"] if command == "train" else []
        to_file = run(*asked[command], *again, "--json", tmp_path / "answer.json")
        assert json.loads((tmp_path / "answer.json").read_text("utf-8")) == found
        assert to_file.status == to_output.status
        assert to_file.out not in ("", to_output.out)


def test_the_json_of_predictions_is_the_csv(run, asked):
    rows = list(csv.DictReader(io.StringIO(run(*asked["predict"]).out)))
    found = json.loads(run(*asked["predict"], "--json").out)
    assert found["id"] == [row["id"] for row in rows]
    assert found["prediction"] == [row["prediction"] for row in rows]
    assert found["probability"] == [float(row["probability"]) for row in rows]


def test_inspecting_shows_what_training_then_does(run, flags, people, tmp_path):
    page = tmp_path / "columns.html"
    answer = run("inspect", people, "--label", "income", "--exclude", "live", "--html", page)
    assert answer.status == 0
    said = dict(re.split(r" {2,}", line)[::5] for line in answer.out.splitlines()[5:])
    assert said["id"] == "left out: almost all values differ, as names or ids do"
    assert said["income"] == "the label"
    assert said["live"] == "left out: not among the features"
    assert "yes is income == '>50K', and no '<=50K'" in answer.out
    assert "<html" in page.read_text("utf-8")
    quick = ["--confidence", "none", "--quiet", "--out", tmp_path / "model"]
    run("train", people, "--label", "income", "--exclude", "live", *quick)
    done = {one.name: one.words for one in rb.load(tmp_path / "model").encoding.treatments}
    assert done == {name: words for name, words in said.items() if name in done}
    assert set(said) - set(done) == {"live", "income"}
    report = (tmp_path / "model" / "report.html").read_text("utf-8")
    assert "What the model sees" in report
    assert said["id"] in report


def test_inspecting_names_what_training_would_refuse(run, people):
    assert "training would refuse this: " in run("inspect", people, "--label", "city").out
    assert "note:" not in run("inspect", people).err


def test_json_that_cannot_be_written_is_refused_first(refused, flags, tmp_path):
    line = refused(*flags, "--out", tmp_path / "model", "--json", tmp_path / "no" / "answer.json")
    assert "--json" in line
    assert "cannot write in" in line


# --- exit statuses -------------------------------------------------------------------------------


def report(*verdicts):
    promises = tuple(Promise("p", "p", ">=", verdict=verdict) for verdict in verdicts)
    objective = Objective("error_rate()", 0.1, None, None, 10, "none")
    return Audit(0.95, "one model", {"audited": 10}, objective, promises, (), None)


@pytest.mark.parametrize(
    ("verdicts", "feasible", "failed"),
    [  # by which of broken, uncertain and training
        (["holds"], True, []),
        ([], True, []),
        (["holds", "may not hold"], True, ["uncertain"]),
        (["holds", "not measured"], True, ["uncertain"]),
        (["not measured", "not measured"], True, ["broken", "uncertain"]),
        (["holds", "broken"], True, ["broken", "uncertain"]),
        (["may not hold"], False, ["uncertain", "training"]),
    ],
)
def test_what_fails(verdicts, feasible, failed):
    kinds = ("broken", "uncertain", "training")
    assert [kind for kind in kinds if failing(report(*verdicts), feasible, kind)] == failed


def test_an_audit_fails_on_what_is_asked(run, model, new_people, tmp_path):
    """A promise that is broken, but within its interval; of a training that could not keep it."""
    whole = rb.load(model)
    near = rb.Problem("error_rate()", ["positive_rate() >= 0"])
    values = {"violations": {}, "objectives": {}}
    base = whole.recorded(problem=near, status=rb.Status(True, 0.0, (), (), ""), **values)
    rate = base.audit(*_rows(new_people)).promises[0].value
    promise = f"positive_rate() >= {rate + 0.01:.4f}"
    close = rb.Problem("error_rate()", [promise])
    status = rb.Status(False, 0.1, close.subject_to, (), "infeasible")
    base.recorded(problem=close, status=status).save(tmp_path / "model")
    ask = ["audit", tmp_path / "model", new_people, "--label", "income"]
    assert "BROKEN" in run(*ask).out
    found = [run(*ask, "--fail-on", kind).status for kind in ("broken", "uncertain", "training")]
    assert [run(*ask).status, *found] == [0, 0, 1, 1]


def _rows(path):
    table = read_table(path)
    return table, table["income"]


def test_training_that_cannot_keep_its_promises_fails(run, flags, tmp_path):
    flags[flags.index("--require") + 1] = "recall() - positive_rate() >= 0.9"
    quick = ["--confidence", "none", "--quiet", "--out", tmp_path / "model"]
    for kind in ("broken", "training"):
        assert run(*flags, *quick, "--force", "--fail-on", kind).status == 1


# --- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("no", "yes", "said"),
    [
        ("bad", "good", "yes is y == 'good', and no 'bad'"),
        ("1", "2", "yes is y == 2, and no 1"),
        ("N", "Y", "yes is y == 'Y', and no 'N'"),
        ("no", "yes", "yes is y == 'yes', and no 'no'"),
        ("0", "1", ""),
        ("-1", "1", ""),
        ("False", "True", ""),
        ("ja", "nein", "yes is y == 'nein', and no 'ja'"),
    ],
)
def test_which_label_is_yes_is_said(run, tmp_path, no, yes, said):
    columns = make_people(120)
    y = [yes if label == ">50K" else no for label in columns["income"]]
    table = write_csv(tmp_path / "t.csv", {"age": columns["age"], "y": y})
    ask = ["train", table, "--label", "y", "--confidence", "none", "--quiet"]
    answer = run(*ask, "--out", tmp_path / "model")
    assert answer.status == 0
    doubt = ", and 'nein' reads like a no: check this first" if yes == "nein" else ""
    assert answer.err == (f"ratebound: note: {said}; --positive changes that{doubt}\n" if said else "")
    assert run(*ask, "--positive", no, "--force", "--out", tmp_path / "model").err == ""
    assert str(rb.load(tmp_path / "model").classes[1]) == no


@pytest.mark.parametrize("mark", ["", "NA"])
def test_labels_that_are_missing(run, refused, tmp_path, mark):
    columns = make_people(120)
    for name, labels in {"word": columns["income"], "number": [*map(int, range(120))]}.items():
        y = [v if name == "word" else v % 2 + 1 for v in labels]
        y[3], y[50] = mark, mark
        table = write_csv(tmp_path / f"{name}.csv", {"age": columns["age"], "y": y})
        ask = [table, "--label", "y"]
        train = ["train", *ask, "--confidence", "none", "--quiet"]
        out = ["--out", tmp_path / name]
        line = refused(*train, *out)
        assert "label column 'y' is missing in 2 of 120 rows, first in row 4" in line
        answer = run(*train, *out, "--drop-unlabelled")
        assert "2 of 120 rows of" in answer.err
        classes = rb.load(tmp_path / name).classes
        assert classes == (("<=50K", ">50K") if name == "word" else (1, 2))
        assert "is missing in 2 of 120 rows" in refused("audit", tmp_path / name, *ask)
        assert "2 of 120 rows of" in run("audit", tmp_path / name, *ask, "--drop-unlabelled").err


def test_labels_that_are_spelled_a_little_differently(refused, model, tmp_path):
    columns = make_people(50)
    dotted = [f"{label}." for label in columns["income"]]
    table = write_csv(tmp_path / "t.csv", columns | {"income": dotted})
    line = refused("audit", model, table, "--label", "income")
    assert "looks like" in line
    assert "spell labels alike everywhere" in line
    half = [*dotted[:25], *columns["income"][25:]]
    table = write_csv(tmp_path / "t.csv", columns | {"income": half})
    line = refused("train", table, "--label", "income", "--out", tmp_path / "model")
    assert "'<=50K.' looks like '<=50K': spell labels alike everywhere" in line


# --- run files -----------------------------------------------------------------------------------


def test_a_run_file_in_yaml_is_refused(refused, tmp_path):
    source = tmp_path / "run.yaml"
    source.write_text("data: people.csv\n")
    said = refused("train", source)
    assert "run.yaml is YAML, and run files are TOML: write key = value" in said
    assert said.endswith("in run.toml\n")


def test_a_table_that_is_named_twice_is_refused(refused, tmp_path):
    """Its rows would be both trained on and held out."""
    table = write_csv(tmp_path / "people-1.csv", make_people(50))
    (tmp_path / "link.csv").symlink_to(table)
    for again in (table, tmp_path / "people-*.csv", tmp_path / "link.csv"):
        said = refused("train", table, again, "--label", "income", "--out", tmp_path / "m")
        assert "is named twice" in said
        assert "name it once" in said


def test_run_files_where_tables_are_expected(refused, model, tmp_path):
    (tmp_path / "run.toml").write_text("label = 'y'")
    assert "is a run file, and a table was expected" in refused("predict", model, tmp_path / "run.toml")
    assert "is a saved model" in refused("predict", model, model / "model.safetensors")
    twice = refused("train", tmp_path / "run.toml", tmp_path / "run.toml", "--out", tmp_path / "m")
    assert "a run file names its tables itself" in twice


# --- several tables, notices, progress -----------------------------------------------------------


def test_several_tables_and_the_standard_input(run, model, new_people, tmp_path, monkeypatch):
    columns = make_people(400, seed=1)
    for part in range(2):
        some = {name: values[200 * part : 200 * part + 200] for name, values in columns.items()}
        write_csv(tmp_path / f"new-{part}.csv", some)
    whole = run("predict", model, new_people, "--key", "id")
    parts = [tmp_path / "new-0.csv", tmp_path / "new-1.csv"]
    assert run("predict", model, *parts, "--key", "id") == whole
    assert run("predict", model, tmp_path / "new-*.csv", "--key", "id") == whole
    with open(new_people, encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert run("predict", model, "-", "--key", "id") == whole


def test_notices_are_one(run, model, tmp_path):
    """A guess about the encoding, a mark among numbers, values that training has not seen: one note."""
    columns = make_people(50, seed=1)
    columns["age"][0], columns["city"][0] = "NA", "Orléans"
    path = write_csv(tmp_path / "t.csv", columns)
    path.write_bytes(path.read_text("utf-8").encode("cp1252"))
    answer = run("predict", model, path)
    assert answer.status == 0
    first, *lines = answer.err.splitlines()
    assert first == "ratebound: note:"
    assert "is read as cp1252" in lines[0]
    assert lines[1].strip() == "among numbers, these count as missing values: 1 'NA' in 'age'"
    assert "'age' in 1" in lines[2]
    assert "'city' in 1 ('Orléans')" in answer.err


def test_work_that_takes_long_shows_that_it_goes_on(capsys, monkeypatch):
    monkeypatch.setattr("ratebound._old.base.progress.AFTER", 0.01)
    with working("deciding", True), working("a part of it", True):
        while "ratebound: deciding, 0 s\n" not in capsys.readouterr().err:
            pass
    capsys.readouterr()
    for progress in (False, None):  # nobody watches
        with working("deciding", progress):
            time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_training_says_how_far_it_is(run, flags, tmp_path, monkeypatch):
    monkeypatch.setattr("ratebound._old.base.progress.AFTER", 0.0)
    assert "5 of 5 fits" in run(*flags, "--out", tmp_path / "model").err
    assert run(*flags, "--out", tmp_path / "model", "--force", "--quiet").err == ""


def test_progress_is_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("ratebound._old.base.progress.AFTER", 0.0)
    shown = bar(10, "round", True)
    assert isinstance(shown, Lines)
    with shown:
        shown.set_postfix_str("error 0.1")
        shown.update(5)
    assert capsys.readouterr().err == "ratebound: 5 of 10 rounds, 0 s, about 0 s left; error 0.1\n"
    for quiet in (None, False):
        with bar(10, "round", quiet) as silent:
            silent.update(10)
    assert capsys.readouterr().err == ""


@pytest.fixture
def coded(run, tmp_path):
    """A function that trains, by these flags, on a table with a column of codes; and the table."""
    columns = make_people(120)
    y = [int(label == ">50K") for label in columns["income"]]
    codes = [10 + i % 4 for i in range(120)]
    table = write_csv(tmp_path / "t.csv", {"age": columns["age"], "code": codes, "y": y})
    quick = ["--confidence", "none", "--quiet", "--out", tmp_path / "model"]

    def train(*flags):
        return run("train", table, "--label", "y", "--categorical", "code", *flags, *quick)

    return train, table


def test_codes_of_categories_are_said(run, tmp_path, coded):
    train, table = coded
    train()
    names = rb.load(tmp_path / "model").encoding.names
    assert names == ["age", "code == 10", "code == 11", "code == 12", "code == 13"]
    assert run("predict", tmp_path / "model", table).err == ""


def test_codes_may_be_compared_with_numbers(run, tmp_path, coded):
    train, table = coded
    assert train("--require", "positive_rate(code == 11) >= 0").status == 0
    assert "code == 11" in rb.load(tmp_path / "model").encoding.names
    assert run("audit", tmp_path / "model", table, "--label", "y").status == 0
    assert run("predict", tmp_path / "model", table).err == ""


def test_codes_where_texts_were_trained_on_are_told_of(run, tmp_path):
    columns = make_people(120)
    y = [int(label == ">50K") for label in columns["income"]]
    given = {"age": columns["age"], "sex": columns["sex"], "y": y}
    table = write_csv(tmp_path / "t.csv", given)
    quick = ["--confidence", "none", "--quiet", "--out", tmp_path / "model"]
    assert run("train", table, "--label", "y", *quick).status == 0
    codes = given | {"sex": [int(s == "Male") for s in columns["sex"]]}
    coded = run("predict", tmp_path / "model", write_csv(tmp_path / "u.csv", codes))
    assert "values are unlike any in training, of 120 rows: 'sex' in 120 ('" in coded.err
    one = {name: values[:1] for name, values in codes.items()}
    alone = run("predict", tmp_path / "model", write_csv(tmp_path / "one.csv", one))
    assert alone.out.splitlines() == coded.out.splitlines()[:2]
