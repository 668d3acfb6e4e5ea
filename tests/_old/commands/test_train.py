"""Training from the command line: what is written, what is said, and when nothing is."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.commands.holdout import draw_held_out
from ratebound._old.commands.promises import read_problem
from ratebound._old.commands.rows import read_given
from ratebound._old.commands.runs import Run
from ratebound._old.tables.table import read_table

from .conftest import PROMISE, make_people, write_csv

FILES = ["audit.json", "model.safetensors", "report.html"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_from_table_to_audited_model(run, flags, tmp_path):
    answer = run(*flags, "--out", tmp_path / "deep" / "model")
    assert answer.status in (0, 1)
    assert 'recall(sex == "Female") >= 0.95 * recall()' in answer.out
    assert "on 160 rows" in answer.out  # a fifth is held out
    assert "Training on 640 rows: " in answer.out
    assert answer.err == ""  # no bar without a terminal
    assert names(tmp_path / "deep" / "model") == FILES
    assert names(tmp_path) == ["deep"]
    assert names(tmp_path / "deep") == ["model"]
    saved = rb.load(tmp_path / "deep" / "model")
    audited = json.loads((tmp_path / "deep" / "model" / "audit.json").read_text("utf-8"))
    own = {"provenance": None, "card": None}
    told = {"limits": saved.record.audited["limits"]}  # without what is known of the model
    assert saved.record.audited == audited | own | told
    assert saved.classes == ("<=50K", ">50K")
    assert [column.name for column in saved.encoding.columns] == ["age", "hours", "city"]
    broken = any(promise["verdict"] == "broken" for promise in audited["promises"])
    assert answer.status == (1 if broken or not saved.status.feasible else 0)


@pytest.mark.parametrize(("bound", "status"), [("0.01", 0), ("0.999", 1)])
def test_the_status_says_whether_promises_are_kept(run, flags, tmp_path, bound, status):
    flags[flags.index("--require") + 1] = f"accuracy() >= {bound}"
    answer = run(*flags, "--out", tmp_path / "model", "--quiet")
    assert answer.status == status
    assert answer.out.startswith(f"{1 - status} of 1 promises kept on 160 rows")
    assert answer.out.count("\n") == 1
    assert names(tmp_path / "model") == FILES  # a broken promise is an answer, not a failure


def test_no_promise_is_kept_too(run, flags, tmp_path):
    at = flags.index("--require")
    assert run(*flags[:at], *flags[at + 2 :], "--out", tmp_path / "model").status == 0


def test_a_run_file_equals_its_flags(run, flags, people, tmp_path):
    (tmp_path / "runs").mkdir()
    source = tmp_path / "runs" / "run.toml"
    source.write_text(
        f"""
        data = {str(people)!r}
        label = "income"
        positive = ">50K"
        require = ['recall(sex == "Female") >= 0.95 * recall()']
        minimize = "error_rate()"
        exclude = ["id", "sex", "live", "weight"]
        weight = "weight"
        model = "linear"
        seed = 3
        holdout = 0.25
        max-time = 600
        quiet = true
        out = "../from_file"
        """
    )
    by_file = run("train", source)
    by_flags = run(
        *flags, "--minimize", "error_rate()", "--weight", "weight",
        "--model", "linear", "--holdout", "0.25",
        "--max-time", "600", "--quiet", "--out", tmp_path / "from_flags",
    )  # fmt: skip
    assert by_file == by_flags
    assert by_file.out
    found = contents(tmp_path / "from_file")  # its paths are meant from where it lies
    assert found == contents(tmp_path / "from_flags")
    run("train", source, "--seed", "4", "--out", tmp_path / "other")  # flags go before the file
    assert contents(tmp_path / "other") != found


def test_the_other_label_can_be_yes(run, flags, tmp_path):
    run(*flags, "--positive", "<=50K", "--out", tmp_path / "model")
    assert rb.load(tmp_path / "model").classes == (">50K", "<=50K")


def test_an_existing_model_spelled_as_the_labels(run, flags, tmp_path):
    flags[flags.index("--require") + 1] = 'churn(versus="live") <= 0.3'
    answer = run(*flags, "--out", tmp_path / "model")
    assert 'churn(versus="live") <= 0.3' in answer.out
    assert run("audit", tmp_path / "model", flags[1], "--label", "income").status in (0, 1)


def test_audit_on_the_training_rows_where_none_are_held_out(run, flags, tmp_path):
    answer = run(*flags, "--holdout", "0", "--out", tmp_path / "model")
    assert answer.out.startswith("Training rows:")
    assert "on 800 rows" in answer.out


def test_features_by_name(run, flags, tmp_path):
    run(*flags, "--features", "age", "--out", tmp_path / "model")
    assert [column.name for column in rb.load(tmp_path / "model").encoding.columns] == ["age"]


def test_an_mlp(run, flags, new_people, tmp_path):
    pytest.importorskip("torch")
    assert run(*flags, "--model", "mlp", "--out", tmp_path / "model").status in (0, 1)
    assert run("predict", tmp_path / "model", new_people).status == 0


def test_boosted_trees(run, flags, new_people, tmp_path):
    pytest.importorskip("lightgbm")
    answer = run(*flags, "--model", "lightgbm", "--out", tmp_path / "model")
    assert answer.status in (0, 1)
    saved = rb.load(tmp_path / "model")
    assert f"Training on 640 rows: {saved.status}" in answer.out
    predicted = run("predict", tmp_path / "model", new_people).out.split()[1:]
    assert predicted == saved.predict(read_table(new_people)).tolist()


@pytest.mark.parametrize("model", ["linear", "mlp", "lightgbm", "xgboost"])
def test_the_same_seed_writes_the_same_bytes(run, flags, tmp_path, model):
    pytest.importorskip({"linear": "numpy", "mlp": "torch"}.get(model, model))
    found = []
    for name in ("one", "other"):
        assert run(*flags, "--model", model, "--out", tmp_path / name).status in (0, 1)
        found.append(contents(tmp_path / name))
    assert sorted(found[0]) == FILES
    assert found[0] == found[1]


def test_the_same_seed_writes_the_same_bytes_in_another_process(run, flags, tmp_path):
    run(*flags, "--out", tmp_path / "here")
    call = [
        sys.executable,
        "-m",
        "ratebound._old.cli",
        *map(str, flags),
        "--out",
        str(tmp_path / "there"),
    ]
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # of hashes, which order sets
    subprocess.run(call, env=os.environ | {"PYTHONHASHSEED": other}, capture_output=True, check=False)
    assert sorted(contents(tmp_path / "here")) == FILES
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_thresholds_by_a_known_column(run, flags, people, new_people, tmp_path):
    folder = tmp_path / "model"
    answer = run(*flags, "--known", "sex", "--holdout", "0", "--out", folder)
    assert answer.status == 0
    assert "of thresholds by sex on 800 rows" in answer.out
    saved = rb.load(folder)
    assert saved.decider.columns == ("sex",)
    assert [column.name for column in saved.encoding.columns] == ["age", "hours", "city"]
    table = read_table(new_people)
    # The audit's number is the definition's, from how often yes would be said.
    run("audit", folder, new_people, "--label", "income", "--json", tmp_path / "audit.json")
    (row,) = json.loads((tmp_path / "audit.json").read_text("utf-8"))["promises"]
    rows = csv.DictReader(io.StringIO(run("predict", folder, new_people, "--decision-probability").out))
    yes = np.array([float(row["decision_probability"]) for row in rows])
    good = table["income"] == ">50K"
    assert row["value"] == pytest.approx(yes[good & (table["sex"] == "Female")].mean(), abs=1e-6)
    assert row["bound"] == pytest.approx(0.95 * yes[good].mean(), abs=1e-6)


def test_a_run_file_with_known_columns_and_a_model(run, flags, people, tmp_path):
    pytest.importorskip("lightgbm")
    source = tmp_path / "run.toml"
    keys = {
        "data": str(people), "label": "income", "positive": ">50K",
        "require": flags[flags.index("--require") + 1],
        "exclude": ["id", "sex", "live", "weight"], "known": "sex", "model": "lightgbm",
        "seed": 3, "out": "from_file",
    }  # fmt: skip
    source.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))
    run("train", source)
    run(*flags, "--known", "sex", "--model", "lightgbm", "--out", tmp_path / "from_flags")
    assert contents(tmp_path / "from_file") == contents(tmp_path / "from_flags")
    assert rb.load(tmp_path / "from_file").decider.columns == ("sex",)


def test_the_decisions_of_a_model_in_use_may_be_known(run, flags, new_people, tmp_path):
    """Its decisions are spelled as the labels are, and are a feature besides."""
    flags[flags.index("--require") + 1] = 'churn(versus="live") <= 0.1'
    flags.remove("live")
    folder = tmp_path / "model"
    assert run(*flags, "--known", "live", "--out", folder).status in (0, 1)
    audited = run("audit", folder, new_people, "--label", "income", "--json", tmp_path / "audit.json")
    assert audited.status in (0, 1)
    (row,) = json.loads((tmp_path / "audit.json").read_text("utf-8"))["promises"]
    rows = csv.DictReader(io.StringIO(run("predict", folder, new_people, "--decision-probability").out))
    yes = np.array([float(row["decision_probability"]) for row in rows])
    live = read_table(new_people)["live"] == ">50K"
    assert row["value"] == pytest.approx(np.where(live, 1 - yes, yes).mean(), abs=1e-6)
    by_id = run("predict", folder, new_people, "--key", "id")
    assert by_id.status == 0


def test_truth_values_of_a_parquet_file_are_known_in_a_csv(run, flags, people, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = read_table(people)
    values = {name: table[name].tolist() for name in table.columns} | {
        "old": (table["age"] > 44).tolist()
    }
    parquet.write_table(arrow.table(values), tmp_path / "people.parquet")
    flags[1] = tmp_path / "people.parquet"
    run(*flags, "--known", "old", "--out", tmp_path / "model")
    assert rb.load(tmp_path / "model").decider.groups == ((False,), (True,))
    with open(tmp_path / "people.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(values), *zip(*values.values(), strict=True)])
    found = [
        run("predict", tmp_path / "model", tmp_path / f"people.{kind}") for kind in ("csv", "parquet")
    ]
    assert found[0].status == 0
    assert found[0] == found[1]
    audited = [
        run("audit", tmp_path / "model", tmp_path / f"people.{kind}", "--label", "income").out
        for kind in ("csv", "parquet")
    ]
    assert "given to fit" in audited[1]  # it is the file that the model was made from
    groups = [out.partition("\ngroup")[2].partition("\n\n")[0] for out in audited]
    assert groups[0] == groups[1] != ""


def test_a_model_is_one_rule_and_says_so(run, flags, tmp_path):
    answer = run(*flags, "--out", tmp_path / "model")
    assert re.search(r"\d% sure", answer.out)
    saved = rb.load(tmp_path / "model")
    assert (len(saved), saved.drawn) == (1, 0.0)
    audited = json.loads((tmp_path / "model" / "audit.json").read_text("utf-8"))
    card = audited["card"]
    assert (card["randomised"], card["drawn"]) == (False, {"decisions": 0.0, "yeses": 0.0})
    assert (card["confidence"], card["rows"]) == (saved.status.confidence, {"trained on": 640})
    assert f"error_rate() is {card['objectives']['out of fold']:.4f}" in answer.out
    page = (tmp_path / "model" / "report.html").read_text("utf-8")
    for words in ("No decision is left to a draw.", "judged by models that did not see it"):
        assert words in page


def test_rows_that_belong_together_are_not_parted(run, refused, flags, tmp_path):
    """Each person is in the table four times, in rows that differ in what the model sees."""
    random, people = np.random.default_rng(0), make_people(300)
    often = {name: list(values) * 4 for name, values in people.items()}
    often["hours"] = (np.array(often["hours"]) + random.normal(0, 1, 1200)).round(2).tolist()
    flags[1] = write_csv(tmp_path / "often.csv", often)
    flags.remove("id")
    reports = {}
    for name, words in (("rows", ["--exclude", "id"]), ("people", ["--groups", "id"])):
        out = tmp_path / name
        answer = run(*flags, *words, "--out", out)
        assert answer.status in (0, 1)
        reports[name] = json.loads((out / "audit.json").read_text("utf-8"))
        assert "id" not in [c.name for c in rb.load(out).encoding.columns]
    assert reports["rows"]["clusters"] is None
    held = reports["people"]["populations"]["audited"]
    assert "clusters by 'id'" in answer.out
    assert f"drawn as {held // 4} clusters" in answer.out  # with all their rows
    widths = {
        name: report["promises"][0]["slack_high"] - report["promises"][0]["slack_low"]
        for name, report in reports.items()
    }
    assert widths["people"] > 1.4 * widths["rows"]
    assert "no groups column 'nobody'" in refused(*flags, "--groups", "nobody", "--out", tmp_path / "no")
    few = refused(*flags, "--groups", "sex", "--out", tmp_path / "no")
    assert "2 ids, too few to judge rows" in few


def test_copies_of_rows_are_told_of_once(run, flags, tmp_path):
    people = make_people(300)
    copied = {name: list(values) * 3 for name, values in people.items()}
    flags[1] = write_csv(tmp_path / "copied.csv", copied)
    answer = run(*flags, "--out", tmp_path / "model")
    assert answer.err.count("are copies of others") == 1
    assert "If they are not copies, give --groups a column that tells them apart" in answer.err
    held = json.loads((tmp_path / "model" / "audit.json").read_text("utf-8"))["populations"]["audited"]
    assert held % 3 == 0


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_interrupting_keeps_the_model_so_far(run, flags, tmp_path, monkeypatch):
    monkeypatch.setattr("ratebound.learning.learning.find_best_rule", interrupt)
    answer = run(*flags, "--out", tmp_path / "model", "--json", tmp_path / "told.json")
    assert answer.status == 130
    assert "Training was interrupted: this is the best rule so far." in answer.out
    assert names(tmp_path / "model") == FILES
    assert len(rb.load(tmp_path / "model"))
    assert json.loads((tmp_path / "told.json").read_text("utf-8"))["ended"] == "interrupted"


@pytest.mark.parametrize(
    "moment",
    [
        "_old.commands.rows.read_table",
        "_old.base.progress.Lines.update",
        "learning.learning.learn_forecast",
    ],
)
def test_interrupting_before_there_is_a_model(run, flags, tmp_path, monkeypatch, moment):
    monkeypatch.setattr(f"ratebound.{moment}", interrupt)
    answer = run(*flags, "--out", tmp_path / "model")
    assert (answer.status, answer.err) == (130, "ratebound: interrupted\n")
    assert names(tmp_path) == []


def test_out_of_time(run, flags, tmp_path):
    answer = run(*flags, "--max-time", "0.001", "--out", tmp_path / "model")
    assert "The time was over: this is the best rule so far." in answer.out
    assert answer.status in (0, 1)
    quiet = run(*flags, "--max-time", "0.001", "--out", tmp_path / "model", "--force", "--quiet")
    assert quiet.out.startswith("The time was over")


@pytest.mark.parametrize("existing", [False, True])
def test_nothing_is_half_written(run, flags, model, tmp_path, monkeypatch, existing):
    if existing:
        shutil.copytree(model, tmp_path / "model")
        (tmp_path / "model" / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.glob("**/*") if path.is_file()}

    def full(*_, **__):
        raise OSError(28, "No space left on device", "report.html")

    with monkeypatch.context() as patch:
        patch.setattr(rb.Audit, "save_html", full)
        answer = run(*flags, "--seed", "9", "--force", "--out", tmp_path / "model")
    assert (answer.status, answer.err) == (3, "ratebound: report.html: No space left on device\n")
    assert {path: path.read_bytes() for path in tmp_path.glob("**/*") if path.is_file()} == before
    assert names(tmp_path) == (["model"] if existing else [])
    if existing:
        run(*flags, "--seed", "9", "--force", "--out", tmp_path / "model")
        assert names(tmp_path / "model") == sorted([*FILES, "notes.txt"])
        assert (tmp_path / "model" / FILES[1]).read_bytes() != before[tmp_path / "model" / FILES[1]]


def test_another_model_is_not_replaced_unasked(run, refused, flags, model, tmp_path):
    out = shutil.copytree(model, tmp_path / "model")
    before = {name: (out / name).read_bytes() for name in FILES}
    message = refused(*flags, "--seed", "9", "--out", out)
    assert "model.safetensors, report.html, audit.json is there already: give another folder" in message
    assert "--force to replace it" in message
    assert {name: (out / name).read_bytes() for name in FILES} == before
    assert run(*flags, "--seed", "9", "--out", out, "--force").status in (0, 1)
    assert (out / "audit.json").read_bytes() != before["audit.json"]
    (out / "model.safetensors").unlink()
    assert "report.html, audit.json is there already" in refused(*flags, "--out", out)


def test_columns_may_be_parted_by_commas(run, refused, tmp_path):
    columns = make_people(60)
    given = {"age": columns["age"], "hours": columns["hours"], "sex": columns["sex"]}
    given |= {"age,sex": columns["hours"], "y": columns["income"]}
    table = write_csv(tmp_path / "t.csv", given)
    quick = ["--label", "y", "--confidence", "none", "--quiet"]

    def seen(name, *flags):
        assert run("train", table, *quick, "--out", tmp_path / name, *flags).status in (0, 1)
        return [column.name for column in rb.load(tmp_path / name).encoding.columns]

    assert seen("a", "--features", "age,hours") == ["age", "hours"]
    assert seen("b", "--features", "age,", "sex") == ["age", "sex"]
    assert seen("c", "--features", "age,sex") == ["age,sex"]  # as one column is called
    assert seen("d", "--exclude", "hours,sex") == ["age", "age,sex"]
    assert seen("e", "--features", "age,hours", "--known", "sex,") == ["age", "hours"]
    coded = ["--features", "hours,age", "--categorical", "age,hours"]
    assert seen("f", *coded) == ["hours", "age"]
    assert {type(c).__name__ for c in rb.load(tmp_path / "f").encoding.columns} == {"Category"}
    said = run("inspect", table, "--label", "y", "--features", "age,hours").out
    assert said.count("left out: not among the features") == 2
    assert "no feature column 'agee', did you mean 'age'?" in refused(
        "train", table, *quick, "--out", tmp_path / "g", "--features", "agee,hours"
    )


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.73])
def test_every_group_has_its_share_held_out(people, share):
    asked = {"label": "income", "positive": ">50K", "require": (PROMISE,), "holdout": share}
    run = Run((str(people),), **asked, exclude=("id", "sex", "live", "weight"))
    given = read_given(run, read_problem(run))
    is_held = draw_held_out(given, read_problem(run))
    table = given.people.X
    for sex in ("Female", "Male"):
        for label in ("<=50K", ">50K"):
            group = (table["sex"] == sex) & (table["income"] == label)
            assert abs(is_held[group].sum() - share * group.sum()) <= 2
    assert (is_held == draw_held_out(given, read_problem(run))).all()
    run = replace(run, seed=2)
    assert (is_held != draw_held_out(replace(given, run=run), read_problem(run))).any()


def test_help_is_light():
    """The words of the command line need none of what the commands do, beyond `import ratebound`."""
    heavy = ["sklearn", "torch", "pandas", "pyarrow", "scipy.optimize", "ratebound._old.commands"]
    code = (
        "import sys; from ratebound._old.cli import main\n"
        "try: main(['train', '--help'])\n"
        f"except SystemExit: print('loaded', [m for m in {heavy} if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--require" in found.stdout
    assert found.stdout.endswith("loaded []\n")


def test_as_a_program(model, new_people):
    call = [sys.executable, "-m", "ratebound._old.cli", "predict", str(model), str(new_people)]
    call.append("--quiet")  # a slow machine would show that it is alive
    found = subprocess.run(call, capture_output=True, text=True, check=True)
    assert len(found.stdout.splitlines()) == 401
    assert found.stderr == ""


def test_counts_speak_of_all_rows_of_the_table(run, flags, new_people, tmp_path):
    flags[flags.index("--require") + 1] = "predicted_positives() <= 160"
    trained = run(*flags, "--out", tmp_path / "model")
    audited = run("audit", tmp_path / "model", new_people, "--label", "income",
                  "--json", tmp_path / "new.json")  # fmt: skip
    model = rb.load(tmp_path / "model")
    assert list(map(str, model.problem.subject_to)) == ["predicted_positives(per=800) <= 160.0"]
    for answer, report in ((trained, "model/audit.json"), (audited, "new.json")):
        (promise,) = json.loads((tmp_path / report).read_text("utf-8"))["promises"]
        assert promise["words"] == "predicted_positives(per=800) <= 160.0"
        assert promise["words"] in answer.out
        assert answer.status == (1 if promise["verdict"] == "broken" else 0)
    yes = model.decision_proba(read_table(new_people))[:, 1]
    assert promise["value"] == pytest.approx(800 * yes.mean())


def test_a_goal_is_maximized_by_a_flag_or_a_key(run, flags, people, tmp_path):
    source = tmp_path / "run.toml"
    source.write_text(
        f"""
        data = {str(people)!r}
        label = "income"
        positive = ">50K"
        maximize = "f_score()"
        exclude = ["id", "sex", "live", "weight"]
        confidence = "none"
        out = "model"
        """
    )
    found = run("train", source)
    assert "maximize f_score():" in found.out
    both = run("train", source, "--minimize", "error_rate()")
    assert "give --minimize or --maximize, not both" in both.err


def test_a_live_models_decisions_are_no_feature_unless_listed(run, flags, tmp_path):
    flags[flags.index("--require") + 1] = 'churn(versus="live") <= 0.3'
    flags.remove("live")
    columns = {}
    for name, features in {"left_out": [], "listed": ["--features", "age", "live"]}.items():
        run(*flags, *features, "--out", tmp_path / name)
        columns[name] = {column.name for column in rb.load(tmp_path / name).encoding.columns}
    assert columns == {"left_out": {"age", "hours", "city"}, "listed": {"age", "live"}}


def test_rows_are_kept_for_a_certificate(run, flags, tmp_path):
    flags[flags.index("--require") + 1] = "accuracy() >= 0.6"
    words = ["--certify", "0.3", "--holdout", "0", "--json", tmp_path / "told.json"]
    answer = run(*flags, *words, "--out", tmp_path / "model")
    told = json.loads((tmp_path / "told.json").read_text("utf-8"))
    certified = told["certificate"]["populations"]["certified"]
    assert (answer.status, told["certificate"]["holds"]) == (0, True)
    assert told["rows"] + certified == 800
    assert abs(certified - 240) <= 4
    assert f"Certificate of one model on {certified} rows" in answer.out
    assert str(rb.load(tmp_path / "model").certificate) in answer.out
