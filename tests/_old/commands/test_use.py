"""Auditing, predicting and explaining from the command line."""

import csv
import io
import json
import sys
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.solution.mixture import Members
from ratebound._old.tables.table import read_table

from .conftest import PROMISE, make_people, write_csv


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_audit_on_new_rows(run, model, new_people, tmp_path):
    page, data = tmp_path / "report.html", tmp_path / "audit.json"
    answer = run("audit", model, new_people, "--label", "income", "--out", page, "--json", data)
    report = json.loads(data.read_text("utf-8"))
    assert answer.status == any(promise["verdict"] == "broken" for promise in report["promises"])
    assert PROMISE in answer.out
    assert report["populations"] == {"audited": 400}
    assert "<html" in page.read_text("utf-8")
    again = run("audit", model / "model.safetensors", new_people, "--label", "income")
    assert again == answer


def test_weights_count_in_an_audit(run, model, new_people):
    plain = run("audit", model, new_people, "--label", "income")
    assert run("audit", model, new_people, "--label", "income", "--weight", "weight").out != plain.out


def test_rows_of_one_cluster_count_as_drawn_together(run, refused, model, tmp_path):
    """Each person is in the table four times, and says no more than once."""
    people = make_people(300, seed=1)
    once = write_csv(tmp_path / "once.csv", people)
    often = write_csv(tmp_path / "often.csv", {name: list(v) * 4 for name, v in people.items()})
    widths = {}
    for name, path, flags in (
        ("people", once, ()), ("rows", often, ()), ("clusters", often, ("--clusters", "id"))
    ):  # fmt: skip
        report = json.loads(run("audit", model, path, "--label", "income", *flags, "--json").out)
        promise = report["promises"][0]
        widths[name] = promise["slack_high"] - promise["slack_low"]
    assert widths["rows"] < 0.6 * widths["people"]
    assert widths["clusters"] == pytest.approx(widths["people"], rel=0.1)
    answer = run("audit", model, often, "--label", "income", "--clusters", "id")
    assert "1,200 rows, drawn as 300 clusters by 'id'" in answer.out
    assert "there is no column 'nobody'" in refused(
        "audit", model, often, "--label", "income", "--clusters", "nobody"
    )


@pytest.fixture(scope="module")
def mixed(model, people, tmp_path_factory):
    """A model with two members that disagree on every row: always no, and always yes."""
    whole, table = rb.load(model), read_table(people)
    rows = rb.Population(whole.encoding.transform(table), table["income"], positive=">50K")
    played = rb.play(rb.compile(rb.Problem("error_rate()"), rows), rb.Linear(0.1), rounds=2)
    scorer = rb.last_iterate(played).scorer
    parameters = np.zeros((2, rows.X.shape[1] + 1), dtype=np.float32)
    parameters[:, -1] = [-1.0, 1.0]  # the bias
    folder = tmp_path_factory.mktemp("mixed")
    replace(whole, members=Members(np.array([0.3, 0.7]), parameters, scorer)).save(folder)
    return folder


def test_predictions_are_reproducible_and_of_the_row_alone(run, mixed, new_people, tmp_path):
    answer = run("predict", mixed, new_people, "--key", "id", "--decision-probability")
    assert answer.status == 0
    rows = read(answer.out)
    assert list(rows[0]) == ["id", "prediction", "decision_probability"]
    assert {row["prediction"] for row in rows} == {"<=50K", ">50K"}
    assert {row["decision_probability"] for row in rows} == {"0.7"}
    assert run("predict", mixed, new_people, "--key", "id", "--decision-probability") == answer
    columns = make_people(400, seed=1)
    some = write_csv(tmp_path / "some.csv", {n: v[250:] for n, v in columns.items() if n != "income"})
    assert read(run("predict", mixed, some, "--key", "id", "--decision-probability").out) == rows[250:]


def test_an_id_is_decided_alike_in_whatever_company(run, mixed, tmp_path):
    """Ids alone are numbers and beside a text they are texts; a row's decision must not hang on that."""
    columns = make_people(60)
    alone = write_csv(tmp_path / "alone.csv", columns | {"id": list(range(60))})
    beside = write_csv(tmp_path / "beside.csv", columns | {"id": [*range(59), "last"]})
    found = [read(run("predict", mixed, path, "--key", "id").out) for path in (alone, beside)]
    assert found[0][:59] == found[1][:59]
    assert len({row["prediction"] for row in found[0]}) == 2
    python = rb.load(mixed).predict(read_table(alone), key=np.arange(60))
    assert [row["prediction"] for row in found[0]] == python.tolist()


def test_predictions_to_a_file(run, model, new_people, tmp_path):
    to_file = run("predict", model, new_people, "--out", tmp_path / "found.csv")
    assert to_file.out == ""
    assert (tmp_path / "found.csv").read_text("utf-8") == run("predict", model, new_people).out
    assert [path.name for path in tmp_path.iterdir()] == ["found.csv"]
    python = rb.load(model).predict(read_table(new_people))
    assert [row["prediction"] for row in read(run("predict", model, new_people).out)] == python.tolist()


FORMULAS = {  # what is written for a text that a spreadsheet would run, or would not
    '=HYPERLINK("http://x.y","z")': '\'=HYPERLINK("http://x.y","z")',
    "+1+1": "'+1+1", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "＝1+1": "'＝1+1",
    "\tcmd": "'\tcmd", "\rcmd": "'\rcmd", " =1": "' =1", "-inf": "'-inf", "+49 171": "'+49 171",
    "'=1": "''=1", "'@x": "''@x",
    "-5": "-5", "+3.25": "+3.25", "-.5e-3": "-.5e-3", "-": "-", "it's": "it's", "'quoted'": "'quoted'",
    "a=b": "a=b", "p-1": "p-1", "né": "né", "00-1": "00-1",
}  # fmt: skip


@pytest.mark.parametrize("to_file", [False, True], ids=["output", "file"])
def test_texts_that_a_spreadsheet_would_run_are_defused(run, model, tmp_path, to_file):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    columns = make_people(len(FORMULAS)) | {"=id": list(FORMULAS)}
    columns["city"] = [city or None for city in columns["city"]]
    parquet.write_table(arrow.table(columns), tmp_path / "new.parquet")
    ask = ["predict", model, tmp_path / "new.parquet", "--key", "=id"]
    out = ["--out", tmp_path / "found.csv"] if to_file else []

    def cells(*flags):
        answer = run(*ask, *out, *flags)
        assert answer.status == 0
        text = (tmp_path / "found.csv").read_bytes().decode() if to_file else answer.out
        names, *rows = csv.reader(io.StringIO(text, newline=""))
        return names[0], [row[0] for row in rows], answer.err

    assert cells() == cells("--no-safe-csv") == ("=id", list(FORMULAS), "")
    name, found, note = cells("--safe-csv")
    assert name == "'=id"
    assert found == list(FORMULAS.values())
    changed = sum(given != written for given, written in FORMULAS.items()) + 1
    assert note.startswith(f"ratebound: note: {changed} texts that a spreadsheet would run as formulas")


def test_labels_are_defused_and_numbers_are_not(run, tmp_path):
    columns = make_people(300)
    labels = ["-no" if label == "<=50K" else "+" for label in columns.pop("income")]
    ids = list(range(-150, 150))
    table = write_csv(tmp_path / "t.csv", {"age": columns["age"], "id": ids, "y": labels})
    run("train", table, "--label", "y", "--exclude", "id", "--out", tmp_path / "model")
    for flags, said in (([], "-no"), (["--safe-csv"], "'-no")):
        rows = read(run("predict", tmp_path / "model", table, "--key", "id", *flags).out)
        assert [int(row["id"]) for row in rows] == ids
        assert {row["prediction"] for row in rows} == {said, "+"}


CENSUS = ("- 50000.", "50000+.")  # as the census spells its labels


@pytest.mark.parametrize("ids", ["whole", "odd", "exponents", "signs", "amounts"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_decisions_can_be_joined_with_their_table(run, model, tmp_path, ids, kind):
    """Ids and labels come back as they were given, whatever they look like."""
    given = {
        "whole": [str(i) for i in range(-20, 40)],
        "odd": [*FORMULAS, *(f"- {i}000." for i in range(60))][:60],
        "exponents": [f"{i}e3" for i in range(60)],
        "signs": [f"+{i}" for i in range(30)] + [f"{i}.50" for i in range(30)],
        "amounts": [f"${i},000" for i in range(60)],
    }[ids]
    given = [text.strip() for text in given]
    columns = make_people(60)
    labels = [CENSUS[label == ">50K"] for label in columns["income"]]
    table = {"age": columns["age"], "id": given, "y": labels}
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        write_csv(path, table)
    else:
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(table), path)
    out = tmp_path / "model"
    run("train", path, "--label", "y", "--exclude", "id", "--quiet", "--out", out)
    rows = read(run("predict", out, path, "--key", "id").out)
    assert [row["id"] for row in rows] == given
    assert {row["prediction"] for row in rows} <= set(CENSUS)
    found = json.loads(run("predict", out, path, "--key", "id", "--json", "-").out)
    assert list(map(str, found["id"])) == given
    assert {type(each) for each in found["id"]} == {int if ids == "whole" else str}


def test_columns_are_read_as_the_model_knows_them(run, tmp_path):
    """A column of codes stays one where new rows happen to hold numbers only, and so does the label."""
    columns = make_people(300)
    codes = {"city": ["A1" if c == "Lyon" else "12" for c in columns["city"]], "id": [1] * 300}
    train = write_csv(tmp_path / "train.csv", columns | codes)
    flags = ["--label", "income", "--quiet", "--out", tmp_path / "model"]
    assert run("train", train, *flags, "--require", 'recall(city == "12") >= 0.1').status in (0, 1)
    new = write_csv(tmp_path / "new.csv", columns | {"city": ["12"] * 300, "id": [1] * 300})
    assert run("audit", tmp_path / "model", new, "--label", "income").status in (0, 1)


def test_numeric_labels(run, tmp_path):
    columns = make_people(300)
    y = [int(label == ">50K") for label in columns.pop("income")]
    table = write_csv(tmp_path / "t.csv", {k: columns[k] for k in ("age", "hours")} | {"y": y})
    out = tmp_path / "model"
    call = ["train", table, "--label", "y", "--positive", "1", "--quiet", "--out", out]
    assert run(*call).status == 0
    assert set(run("predict", out, table).out.split()) <= {"prediction", "0", "1"}


def test_parquet(run, model, new_people, tmp_path):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    columns = make_people(400, seed=1)
    columns["city"] = [city or None for city in columns["city"]]
    columns["day"] = [date(2024, 1, 1)] * 400
    parquet.write_table(arrow.table(columns), tmp_path / "new.parquet")
    by_csv = run("predict", model, new_people, "--key", "id")
    assert run("predict", model, tmp_path / "new.parquet", "--key", "id") == by_csv
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"nothing of the sort")
    assert "cannot be read as Parquet" in run("predict", model, broken).err


def test_parquet_without_pyarrow(refused, model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "new.parquet").write_bytes(b"")
    assert "pip install 'ratebound[parquet]'" in refused("predict", model, tmp_path / "new.parquet")


def test_a_model_is_never_overwritten_by_what_it_says(refused, run, model, new_people):
    for target in (model / "model.safetensors", model / ".." / model.name / "model.safetensors"):
        assert "is read here: write to another" in refused("predict", model, new_people, "--out", target)
    assert run("audit", model, new_people, "--label", "income", "--json", model / "a.json").status == 0
    (model / "a.json").unlink()


def explain(run, people, *promises):
    asked = [part for promise in promises for part in ("--require", promise)]
    flags = ["--label", "income", "--positive", ">50K", "--exclude", "id", "live", "weight"]
    return run("explain", people, *flags, *asked)


def test_explaining_one_promise(run, people):
    answer = explain(run, people, PROMISE)
    columns = make_people(800)
    pairs = zip(columns["sex"], columns["income"], strict=True)
    women = sum(pair == ("Female", ">50K") for pair in pairs)
    assert f"{PROMISE}: {women} rows; met by '<=50K' for everyone, '>50K' for everyone" in answer.out
    assert "Feasible: on these rows all constraints are met by" in answer.out
    assert answer.status == 0


def test_explaining_what_cannot_be_known(run, refused, people):
    given = ["explain", people, "--label", "income", "--require", PROMISE, "--exclude", "id"]
    assert "column 'income' is the label" in refused(*given, "--known", "income")
    assert "known=['id'] makes 800 groups" in refused(*given, "--known", "id")


def test_explaining_what_no_classifier_keeps(run, people):
    answer = explain(run, people, "recall() - positive_rate() >= 0.9")
    assert "Infeasible: no classifier meets all constraints on these rows" in answer.out
    assert answer.status == 1


def test_explaining_a_conflict(run, people):
    answer = explain(run, people, "positive_rate() <= 0.1", "recall() >= 0.9", "accuracy() >= 0.2")
    assert "In conflict: positive_rate() <= 0.1 (relax by " in answer.out
    assert "accuracy() >= 0.2: 800 rows; met by '<=50K' for everyone" in answer.out
    assert answer.status == 1


def test_explaining_what_only_training_tells(run, people):
    answer = explain(run, people, "false_positive_rate() <= 0.001", "recall() >= 0.95")
    assert "Not shown: no conflict" in answer.out
    assert answer.status == 0


def test_explaining_a_run_file(run, people, tmp_path):
    source = tmp_path / "run.toml"
    source.write_text(
        f"data = {str(people)!r}\nlabel = 'income'\npositive = '>50K'\nout = 'model'\n"
        f"exclude = ['id', 'live', 'weight']\nrequire = '{PROMISE}'\n"
    )
    assert run("explain", source) == explain(run, people, PROMISE)
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


KINDS = [
    "precision() >= 0.5",
    "true_positives() >= 5",
    'churn(versus="live") <= 0.5',
]


@pytest.mark.parametrize("promise", KINDS)
def test_explaining_every_kind_of_promise(run, people, promise):
    answer = explain(run, people, promise)
    assert answer.status == 0
    assert answer.err == ""


def test_reasons_sum_to_the_score(run, flags, new_people, tmp_path):
    folder = tmp_path / "model"
    assert run(*flags, "--holdout", "0", "--confidence", "0.5", "--out", folder).status == 0
    rows = read(run("predict", folder, new_people, "--reasons").out)
    names = [name for name in rows[0] if name not in ("prediction", "score", "reasons")]
    assert names[0] == "error_rate()"
    assert all(bool(row["reasons"]) == (row["prediction"] != ">50K") for row in rows)
    for row in rows:
        assert float(row["score"]) == pytest.approx(sum(float(row[name]) for name in names), abs=1e-4)
        assert (row["prediction"] == ">50K") == (float(row["score"]) >= 0)
