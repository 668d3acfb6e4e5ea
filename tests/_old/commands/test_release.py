"""Releasing a model from the command line, as a CI job would."""

import json

import pytest

import ratebound._old as rb

from .conftest import make_people, write_csv

PLAN = ["--require", "recall() >= 0.3", "--require", 'churn(versus="live") <= 0.2', "--releases", "4"]


@pytest.fixture
def fresh(tmp_path):
    def write(seed, rows=400):
        columns = make_people(rows, seed=seed)
        columns.pop("live")  # or its decisions would be those of the model in use
        columns["id"] = [str(1000 * seed + row) for row in range(rows)]
        return write_csv(tmp_path / f"fresh{seed}.csv", columns)

    return write


def test_a_plan_from_its_first_release_to_a_refusal(run, refused, model, fresh, tmp_path):
    ledger, folder, page = tmp_path / "plan.ledger", tmp_path / "v1", tmp_path / "plan.html"
    ask = ["--label", "income", "--candidate", model]
    assert "a new plan needs --require PROMISE" in refused("release", ledger, fresh(11), *ask)
    first = run(
        "release", ledger, *PLAN, "--key", "id", *ask, "--version", "v1", "--out", folder, fresh(11)
    )
    assert first.status == 0, first.err
    assert "Released: these rows show that v1 keeps every promise" in first.out
    assert "1 of 4 tests spent, 1 released; 400 rows used" in first.out
    second = run("release", ledger, fresh(12), *ask, "--live", folder, "--html", page, "--json")
    assert second.status == 0
    assert json.loads(second.out)["released"] is True
    assert "Change-control plan" in page.read_text("utf-8")
    few = run("release", ledger, fresh(13, rows=12), *ask, "--live", folder, "--out", tmp_path / "v3")
    assert few.status == 1
    assert "REFUSED" in run("release", ledger).out
    assert "rows do not show it" in few.out
    assert not (tmp_path / "v3").exists()
    again = refused("release", ledger, fresh(12), *ask, "--live", folder)
    assert "all 400 rows were used in an earlier test" in again
    assert "is the ledger of another plan" in refused("release", ledger, "--error", "0.2")
    assert rb.ChangePlan.open(ledger).spent == 3


def test_a_plan_from_a_file(run, refused, model, fresh, tmp_path):
    ledger, plan = tmp_path / "plan.ledger", tmp_path / "plan.toml"
    plan.write_text("require = ['recall() >= 0.3']\nerror = 0.1\nreleases = 3\nspending = 'carried'\n")
    shown = run("release", ledger, "--plan", plan)
    assert shown.status == 0
    assert "0 of 3 tests spent" in shown.out
    assert run("release", ledger, fresh(11), "--label", "income", "--candidate", model).status == 0
    assert rb.ChangePlan.open(ledger).level == pytest.approx(0.1 / 3 * 2)
    plan.write_text("errors = 0.1\n")
    assert "unknown key 'errors', did you mean 'error'?" in refused("release", ledger, "--plan", plan)
    assert "takes a candidate and fresh rows" in refused("release", ledger, fresh(12))


def test_an_alarm_of_the_monitor_is_on_the_ledger(run, model, fresh, tmp_path):
    ledger = tmp_path / "plan.ledger"
    run("release", ledger, *PLAN)
    columns = make_people(400, seed=2)
    columns["income"] = ["<=50K" if label == ">50K" else ">50K" for label in columns["income"]]
    wrong = write_csv(tmp_path / "wrong.csv", columns)
    answer = run(
        "monitor", model, wrong, "--label", "income", "--state", tmp_path / "s", "--ledger", ledger
    )
    assert len(rb.Monitor.load(tmp_path / "s").alarms) == len(
        rb.ChangePlan.open(ledger).to_dict()["alarms"]
    )
    assert answer.status in (0, 1)
