"""Watching a saved model from the command line."""

import json
import sys

import pytest

import ratebound._old as rb
from ratebound._old.tables.table import read_table

from .conftest import PROMISE, make_people, write_csv


def test_a_table_at_a_time(run, model, tmp_path):
    state = tmp_path / "state.json"
    columns = make_people(600, seed=2)
    whole = write_csv(tmp_path / "whole.csv", columns)
    ask = ["--label", "income", "--now", "2026-03-31", "--state"]
    for start in range(0, 600, 200):
        some = {name: values[start : start + 200] for name, values in columns.items()}
        answer = run("monitor", model, write_csv(tmp_path / "some.csv", some), *ask, state)
        assert answer.status == 0
    assert PROMISE in answer.out
    assert "Monitor after 600 rows, confidence 0.95" in answer.out
    assert run("monitor", model, whole, *ask, tmp_path / "once.json").out == answer.out
    states = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "once.json", state)]
    assert [len(each.pop("batches")["train"]) for each in states] == [1, 3]
    assert states[0] == states[1]
    mixture, table = rb.load(model), read_table(whole)
    python = rb.Monitor(mixture.problem, classes=mixture.classes, training=mixture)
    python.update(mixture.predict(table), table["income"], table.values, now="2026-03-31")
    assert states[1] | {"batches": {"train": []}} == json.loads(python.to_json())
    with_no_month = rb.Monitor(mixture.problem, classes=mixture.classes)  # the labels keep their names
    said = mixture.predict(table) == ">50K"
    with_no_month.update(said, table["income"] == ">50K", {"sex": table["sex"]})
    assert states[1]["promises"] == json.loads(with_no_month.to_json())["promises"]


def test_strata(run, refused, model, new_people, tmp_path):
    ask = ["monitor", model, new_people, "--label", "income", "--state", tmp_path / "state.json"]
    assert "no column 'sx', did you mean 'sex'?" in refused(*ask, "--strata", "sx")
    assert "confidence 0.95, within each sex and age" in run(*ask, "--strata", "sex", "age").out
    assert rb.Monitor.load(tmp_path / "state.json").strata == ("sex", "age")


def test_rows_wait_for_their_labels(run, model, tmp_path):
    state, columns = tmp_path / "state.json", make_people(300, seed=2)
    columns["day"] = [f"2024-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(300)]
    columns["income"] = ["" if i % 7 == 6 else label for i, label in enumerate(columns["income"])]
    table = write_csv(tmp_path / "rows.csv", columns)
    ask = ["monitor", model, table, "--label", "income", "--state", state]
    ask += ["--decided", "day", "--wait", "30", "--now"]
    answer = run(*ask, "2024-03-02")  # 28 rows of January and one of February
    assert "Monitor after 25 rows" in answer.out
    assert "4 rows had no label by their time" in answer.out
    assert "was taken in before" in run(*ask, "2024-03-02").err
    answer = run(*ask, "2025-01-01")
    assert f"Monitor after {300 - 300 // 7} rows" in answer.out
    assert "29 rows are passed over: their time was over before" in answer.out


def test_a_file_counts_once_wherever_it_lies(run, model, tmp_path):
    state, first = tmp_path / "state.json", write_csv(tmp_path / "a.csv", make_people(200, seed=2))
    copy, other = tmp_path / "copy.csv", write_csv(tmp_path / "b.csv", make_people(100, seed=3))
    copy.write_bytes(first.read_bytes())
    ask = ["--label", "income", "--state", state]
    run("monitor", model, first, *ask)
    answer = run("monitor", model, other, copy, other, *ask)
    assert "Monitor after 300 rows" in answer.out
    assert "copy.csv was taken in before and is skipped" in answer.err
    assert "b.csv was taken in before" in answer.err
    before = state.read_bytes()
    assert "Monitor after 300 rows" in run("monitor", model, tmp_path / "*.csv", *ask).out
    assert state.read_bytes() == before


def test_two_runs_at_once_lose_nothing(run, model, tmp_path, monkeypatch):
    """Another run ends while this one reads its rows."""
    state = tmp_path / "state.json"
    tables = [write_csv(tmp_path / f"{i}.csv", make_people(100, seed=i)) for i in range(3)]
    ask = ["--label", "income", "--state", state]
    run("monitor", model, tables[0], *ask)
    update, other = rb.Monitor.update, []

    def slow(self, *rows, **given):
        if not other:
            other.append(True)
            run("monitor", model, tables[1], *ask)
        return update(self, *rows, **given)

    monkeypatch.setattr(rb.Monitor, "update", slow)
    assert "after 300 rows" in run("monitor", model, tables[2], *ask).out
    kept = json.loads(state.read_text("utf-8"))
    assert kept["rows"] == {"train": 300}
    assert sum(each["rows"] for each in rb.Monitor.load(state).to_dict()["months"]) == 300
    assert len(kept["batches"]["train"]) == 3


def test_rows_of_a_pipe_are_not_taken_for_none_if_another_run_was_faster(
    run, refused, model, tmp_path, monkeypatch
):
    state, table = tmp_path / "state.json", write_csv(tmp_path / "rows.csv", make_people(100, seed=2))
    ask, update, other = ["--label", "income", "--state", state], rb.Monitor.update, []

    def slow(self, *rows, **given):
        if not other:
            other.append(True)
            run("monitor", model, table, *ask)
        return update(self, *rows, **given)

    monkeypatch.setattr(rb.Monitor, "update", slow)
    with table.open() as rows:
        monkeypatch.setattr(sys, "stdin", rows)
        assert "load it and take in these rows again" in refused("monitor", model, "-", *ask)
    assert rb.Monitor.load(state).rows == {"train": 100}


def test_an_alarm_is_the_exit_status_and_stays(run, model, tmp_path):
    columns = make_people(3000, seed=3)
    wrong = columns | {  # the model finds hardly any of the women who are called positive here
        "income": [
            ">50K" if (sex == "Female" and age < 40) or (sex == "Male" and age > 45) else "<=50K"
            for sex, age in zip(columns["sex"], columns["age"], strict=True)
        ]
    }
    state = tmp_path / "state.json"
    ask = ["--label", "income", "--state", state]
    answer = run("monitor", model, write_csv(tmp_path / "wrong.csv", wrong), *ask)
    assert answer.status == 1
    assert "BROKEN" in answer.out
    assert f"ALARM: {PROMISE} is broken: after " in answer.out
    calm = write_csv(tmp_path / "calm.csv", make_people(50, seed=4))
    assert run("monitor", model, calm, *ask).status == 1


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ([], "cannot be watched without labels: give --label COLUMN"),
        (["--label", "incme"], "did you mean 'income'?"),
        (["--label", "income", "--confidence", "0.9"], "was begun with confidence 0.95"),
        (["--label", "income", "--population", "pool=new.csv"], "there is no file"),
        (["--label", "income", "--strata", "sex"], "was begun with strata left out"),
    ],
)
def test_refusals(run, refused, model, new_people, tmp_path, flags, reason):
    state = tmp_path / "state.json"
    begun = write_csv(tmp_path / "begun.csv", make_people(50, seed=9))
    run("monitor", model, begun, "--label", "income", "--state", state)
    before = state.read_bytes()
    assert reason in refused("monitor", model, new_people, "--state", state, *flags)
    assert state.read_bytes() == before


def test_a_broken_or_foreign_state_is_refused(refused, model, new_people, tmp_path):
    state = tmp_path / "state.json"
    ask = ["monitor", model, new_people, "--label", "income", "--state", state]
    state.write_text("{", "utf-8")
    assert "the monitor's state cannot be read" in refused(*ask)
    state.unlink()
    rb.Monitor(rb.Problem("error_rate()", ["recall() >= 0.1"])).save(state)
    assert "is of another problem; it watches recall() >= 0.1" in refused(*ask)


def test_an_area_is_refused_once_and_with_its_own_remedy(refused, model, people, tmp_path):
    area = rb.Problem("error_rate()", ["roc_auc() >= 0.5"])
    status = rb.Status(True, 0.0, (), (), "")
    values = {"violations": {}, "objectives": {}}
    rb.load(model).recorded(problem=area, status=status, **values).save(tmp_path / "model")
    said = refused("monitor", tmp_path / "model", people, "--label", "income", "--state", tmp_path / "s")
    assert said.count("the promise roc_auc") == 1
    assert said.endswith("promise recall() and false_positive_rate() instead\n")


def test_labels_that_come_later_and_the_page_by_month(run, model, tmp_path):
    """Rows once without labels, then a file of ids and labels alone."""
    state, page, columns = tmp_path / "state.json", tmp_path / "page.html", make_people(300, seed=2)
    columns["id"] = [f"{i:04}" for i in range(300)]
    columns["day"] = [f"2026-{1 + i // 100:02}-{1 + i % 28:02}" for i in range(300)]
    labels = {"id": columns["id"], "income": columns["income"]}
    rows = columns | {"income": [""] * 300}
    ask = ["--label", "income", "--state", state, "--decided", "day", "--wait", "30", "--key", "id"]
    answer = run("monitor", model, write_csv(tmp_path / "rows.csv", rows), *ask, "--now", "2026-03-31")
    assert "Monitor after 0 rows" in answer.out
    later = write_csv(tmp_path / "labels.csv", labels)
    ask += ["--now", "2026-04-10", "--html", page, "--json", tmp_path / "said.json"]
    answer = run("monitor", model, later, *ask)
    said = json.loads((tmp_path / "said.json").read_text("utf-8"))
    assert [each["labelled"] for each in said["months"]] == [100, 100, 100]
    assert said["rows"]["train"] == sum("2026-03-01" < day <= "2026-03-11" for day in columns["day"])
    assert said["left_out"]["train"]["unlabelled"] == sum(day <= "2026-03-01" for day in columns["day"])
    assert {each["name"] for each in said["months"][0]["features"]} >= {"age", "city"}
    assert "Drift of features" in page.read_text("utf-8")
    assert "was taken in before" in run("monitor", model, later, *ask).err
    other = write_csv(tmp_path / "more.csv", {"id": ["0001", "9999"], "income": [">50K", ">50K"]})
    assert "2 of 2 labels are of rows that wait for none" in run("monitor", model, other, *ask).err
    assert json.loads((tmp_path / "said.json").read_text("utf-8")) == said


def test_rows_without_a_label_are_left_out_on_request(run, refused, model, tmp_path):
    columns = make_people(100, seed=2)
    columns["income"] = ["" if i % 7 == 6 else label for i, label in enumerate(columns["income"])]
    table, state = write_csv(tmp_path / "rows.csv", columns), tmp_path / "s.json"
    ask = ["monitor", model, table, "--label", "income", "--state", state]
    assert "missing in 14 of 100 rows, first in row 7" in refused(*ask)
    answer = run(*ask, "--drop-unlabelled")
    assert "Monitor after 86 rows" in answer.out
    assert "rows.csv have no label and are left out" in answer.err


def test_months_of_decisions_without_a_model(run, tmp_path):
    columns = make_people(200, seed=2)
    columns["month"] = ["2026-01"] * 120 + ["2026-02"] * 80
    columns["said"] = ["yes" if age > 40 else "no" for age in columns["age"]]
    table, said = write_csv(tmp_path / "rows.csv", columns), tmp_path / "said.json"
    ask = ["--decision", "said", "--require", 'positive_rate(sex == "Female") >= 0.1']
    ask += ["--state", tmp_path / "s.json", "--month-of", "month", "--json", said]
    assert "2026-02" in run("monitor", table, *ask).out
    assert [each["rows"] for each in json.loads(said.read_text("utf-8"))["months"]] == [120, 80]
