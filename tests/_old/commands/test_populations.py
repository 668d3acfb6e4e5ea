"""Other populations on the command line: `on=` names their rows."""

import json

import pytest

import ratebound._old as rb
from ratebound._old.tables.table import read_table

from .conftest import PROMISE, make_people, write_csv

POOL = 'positive_rate(sex == "Female", on="pool") <= 0.45'


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """Rows without labels and weights."""
    columns = make_people(150, seed=5)
    del columns["income"], columns["weight"]
    return write_csv(tmp_path_factory.mktemp("pool") / "pool.csv", columns)


def asked(people, *promises, command="explain"):
    require = [part for promise in promises for part in ("--require", promise)]
    label = ["--label", "income", "--positive", ">50K"]
    return [command, people, *label, "--exclude", "id", "live", "weight", *require]


def test_explaining_a_promise_on_a_pool_without_labels(run, people, pool):
    answer = run(*asked(people, POOL, "recall() >= 0.5"), "--population", f"pool={pool}")
    women = [sex == "Female" for sex in make_people(150, seed=5)["sex"]]
    assert answer.status == 0
    assert f"{POOL}: {sum(women)} rows; met by" in answer.out


def test_a_run_file_has_a_table_of_them(run, people, pool, tmp_path):
    (tmp_path / "pool.csv").write_bytes(pool.read_bytes())
    source = tmp_path / "run.toml"
    source.write_text(
        f"data = {str(people)!r}\nlabel = 'income'\npositive = '>50K'\n"
        f"exclude = ['id', 'live', 'weight']\nrequire = '{POOL}'\n[population]\npool = 'pool.csv'\n"
    )
    assert run("explain", source) == run(*asked(people, POOL), "--population", f"pool={pool}")


def test_auditing_on_two_tables(run, model, new_people, pool, tmp_path, monkeypatch):
    """As if the saved model had promised it, audited with the command and in Python."""
    mixture = rb.load(model)
    promised = mixture.recorded(problem=mixture.problem.promising([PROMISE, POOL]))
    monkeypatch.setattr("ratebound._old.commands.audit.load_model", lambda *_: promised)
    data = tmp_path / "audit.json"
    named = ["--population", f"pool={pool}", "--json", data]
    answer = run("audit", model, new_people, "--label", "income", *named)
    report = json.loads(data.read_text("utf-8"))
    assert answer.status == any(promise["verdict"] == "broken" for promise in report["promises"])
    assert report["populations"] == {"audited": 400, "pool": 150}
    table = read_table(pool)
    women = table["sex"] == "Female"
    said_yes = mixture.decision_proba(table)[women, 1].mean()
    assert report["promises"][1]["value"] == pytest.approx(said_yes)


def test_training_holds_out_a_share_of_each(run, people, pool, tmp_path):
    named = ["--population", f"pool={pool}", "--out", tmp_path / "model"]
    answer = run(*asked(people, POOL, command="train"), *named)
    report = json.loads((tmp_path / "model" / "audit.json").read_text("utf-8"))
    assert answer.status == any(promise["verdict"] == "broken" for promise in report["promises"])
    assert report["populations"] == {"audited": 160, "pool": 30}
    assert str(rb.load(tmp_path / "model").problem.subject_to[0]) == POOL
    again = run("audit", tmp_path / "model", people, "--label", "income", *named[:2])
    assert again.status in (0, 1)
    assert "Audit of" in again.out
    assert (
        "Add --population pool=FILE" in run("audit", tmp_path / "model", people, "--label", "income").err
    )


REFUSED = [
    ([], "population 'pool' is not given. Add --population pool=FILE"),
    (["--population", "pol={pool}"], "is not given, did you mean 'pol'? Add --population pool=FILE"),
    (["--population", "pool"], "--population takes NAME=FILE"),
    (["--population", "pool={pool}", "--population", "pool={pool}"], "each name once"),
    (["--population", "pool={pool}", "--population", "model={pool}"], "not be one of train, X, y"),
    (["--population", "pool={pool}.not"], "there is no file"),
]


@pytest.mark.parametrize(("flags", "message"), REFUSED)
def test_what_is_refused(refused, people, pool, flags, message):
    assert message in refused(*asked(people, POOL), *(flag.format(pool=pool) for flag in flags))


def test_columns_are_those_of_the_table(refused, people, tmp_path):
    columns = make_people(20, seed=5)
    without = write_csv(tmp_path / "a.csv", {n: v for n, v in columns.items() if n != "age"})
    assert "has no feature column 'age'" in refused(
        *asked(people, POOL), "--population", f"pool={without}"
    )
    other = write_csv(tmp_path / "b.csv", columns | {"age": ["young"] * 20})
    assert "column 'age' holds texts such as 'young'" in refused(
        *asked(people, POOL), "--population", f"pool={other}"
    )
    labels = write_csv(tmp_path / "c.csv", columns | {"income": ["much"] * 20})
    assert "label column 'income' holds 'much'" in refused(
        *asked(people, POOL), "--population", f"pool={labels}"
    )
