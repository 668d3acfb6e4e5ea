"""What the page may ask, without HTTP: the answers beside counts by hand, and what is refused."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import ratebound as rb
from ratebound._old.commands.rows import list_fit_arguments
from ratebound._old.commands.runs import Run, as_run_file, read_run
from ratebound._old.commands.train import make, train
from ratebound._old.studio import learning, making, session
from ratebound._old.studio.learning import Asked, exact, promised, quick, quietly

CHOICES = {"label": "approved", "positive": "yes", "hidden": ["sex", "age"], "live": "live"}
EIGHTY = {"kind": "eighty", "column": "sex", "bound": 0.8, "against": "each"}
CAPACITY = {"kind": "capacity", "bound": 0.3}


def asked(*promises, **others):
    return {"promises": list(promises), "confidence": 0.9, **others}


@pytest.fixture(scope="module")
def learned(start):
    state, _ = session.choosing(start, CHOICES)
    return session.learning(state, asked(EIGHTY, CAPACITY))[0]


@pytest.fixture(scope="module")
def every(people_csv):
    """All rows with a label."""
    with people_csv.open() as file:
        return [row for row in csv.DictReader(file) if row["approved"]]


@pytest.fixture(scope="module")
def rows(every, learned):
    """Those that are not held out; no two have the same skill and hours."""
    shown = known_by(learned.rows.opened.table)
    return [row for row in every if (row["skill"], row["hours"]) in shown]


def known_by(table):
    return {(f"{s:.4f}", f"{h:g}") for s, h in zip(table["skill"], table["hours"], strict=True)}


def test_the_table_is_shown_as_it_is(start):
    told = session.start(start, {})[1]["table"]
    columns = {each["name"]: each for each in told["columns"]}
    assert told["rows"] == 1500
    assert [name for name, each in columns.items() if each["protected"]] == ["sex", "age"]
    assert columns["applied_on"]["dates"][0].startswith("2023-01-0")
    assert columns["approved"]["missing"] == 15
    assert (told["label"], told["live"]) == ("approved", "live")


def test_rows_without_a_label_are_left_out_and_counted(start, rows, every):
    state, told = session.choosing(start, CHOICES)
    assert (told["rows"], told["unlabelled"]) == (len(rows), 15)
    assert told["held"] == len(every) - len(rows) == pytest.approx(0.2 * len(every), abs=2)
    assert told["labels"]["yes"] == sum(row["approved"] == "yes" for row in rows)
    groups = session.groups(state, {"column": "age"})[1]["groups"]
    assert [each["name"] for each in groups] == ["age under 40", "age 40 or more"]
    assert groups[0]["rows"] == sum(int(row["age"]) < 40 for row in rows)


@pytest.mark.parametrize("kind", list(session.promises.KINDS))
def test_every_sentence_is_a_promise_that_the_library_reads(start, kind):
    state, _ = session.choosing(start, CHOICES)
    column = "live" if kind == "churn" else "sex"
    group, other = ({"column": "sex", "value": value} for value in ("Female", "Male"))
    spec = {"kind": kind, "bound": 0.5, "column": column, "group": group, "other": other}
    (told,) = session.evident(state, asked(spec))[1]["promises"]
    assert all(str(rb.parse(text)) == text for text in told["require"])
    assert all(each["sentence"].endswith(".") and each["rows"] > 0 for each in told["rows"])


def test_small_groups_are_said_to_show_nothing(start):
    state, _ = session.choosing(start, CHOICES)
    name = next(each for each in state.opened.table.columns if each.startswith("site"))
    by_name = {each["name"]: each for each in session.groups(state, {"column": name})[1]["groups"]}
    assert by_name[f"{name}: south"]["rows"] < 30
    assert by_name[f"{name}: south"]["margin"] is None
    assert by_name[f"{name}: north"]["margin"] <= 0.2  # of some 150 held out


@pytest.mark.parametrize("find", [quick, exact])
def test_what_is_shown_is_what_is_counted_by_hand(learned, rows, find):
    own = learned.learned
    found = find(own, Asked.read(asked(EIGHTY, CAPACITY)))
    sex = np.array([row["sex"] for row in rows])
    women, men = (found.yes[sex == each].mean() for each in ("Female", "Male"))
    by_words = {each["words"]: each for each in promised(own, found)}
    eighty = by_words['positive_rate(sex == "Female") >= 0.8 * positive_rate(sex == "Male")']
    assert (eighty["value"], eighty["bound"]) == pytest.approx((women, 0.8 * men))
    assert eighty["kept"] == (women >= 0.8 * men)
    assert by_words["positive_rate() <= 0.3"]["value"] == pytest.approx(found.yes.mean())
    right = np.array([row["approved"] == "yes" for row in rows])
    told = session.answering(learned, asked(EIGHTY, CAPACITY, false_positive=2, false_negative=5))[1]
    for model, yes in {
        "live": np.array([row["live"] == "yes" for row in rows]),
        "nobody": right & False,
    }.items():
        own = told["models"][model]
        assert own["error"] == pytest.approx((yes != right).mean())
        assert own["money"] == 2 * (yes & ~right).sum() + 5 * (~yes & right).sum()


@pytest.mark.filterwarnings("ignore:columns 'applied_on'")
def test_the_exact_answer_is_that_of_a_fit(learned):
    """A model fitted for these promises has the same error and confidence."""
    constraints = ['positive_rate(sex == "Female") >= 0.6 * positive_rate(sex == "Male")']
    model = rb.RateConstrainedClassifier(constraints, positive_label="yes", random_state=0)
    model.fit(*list_fit_arguments(learned.rows.people, learned.rows.given))
    ratio = {"kind": "as_often", "bound": 0.6, "group": {"column": "sex", "value": "Female"}}
    told = session.answering(
        learned, asked(ratio | {"other": {"column": "sex", "value": "Male"}}, exact=True)
    )[1]
    assert told["models"]["asked"]["error"] == pytest.approx(model.status_.reached, abs=0.01)
    assert told["confidence"] == pytest.approx(model.status_.confidence, abs=0.05)
    assert told["kept"]


def test_a_rule_by_a_sample_nearly_keeps_promises_on_all_rows(learned, monkeypatch):
    monkeypatch.setattr(learning, "FEW_ROWS", 700)
    own = learned.learned
    assert own.sample == 700
    for promises in ((EIGHTY, CAPACITY), (EIGHTY,), ()):
        found = quick(own, Asked.read(asked(*promises)))
        if promises:
            assert 500 <= found.rules.sample.row_count <= 900 < len(own.plain)
        assert len(found.yes) == len(own.plain)
        assert all(each["room"] > -0.1 for each in promised(own, found))
    assert np.array_equal(found.yes, own.plain)  # without a promise


@pytest.mark.parametrize("rows", [300, 4000])
def test_nothing_is_infeasible_if_a_rule_is_known_that_keeps_everything(learned, monkeypatch, rows):
    monkeypatch.setattr(learning, "FEW_ROWS", rows)
    kept = 0
    for bound in (0.7, 0.9, 1.0):
        for most in (0.1, 0.2, 0.3):
            request = asked(EIGHTY | {"bound": bound}, CAPACITY | {"bound": most}, confidence=None)
            told = session.answering(learned, request)[1]
            searched = session.answering(learned, request | {"exact": True})[1]
            kept += told["kept"]
            assert searched["feasible"] == searched["kept"]
            assert searched["kept"] or not told["kept"]
    assert kept


def test_stricter_bounds_cost_more_and_move_the_groups(learned):
    errors, women = [], []
    for bound in (0.5, 0.7, 0.85):
        told = session.answering(learned, asked(EIGHTY | {"bound": bound}, exact=True))[1]
        errors.append(told["models"]["asked"]["error"])
        by_name = {each["name"]: each for each in told["groups"]}
        women.append(by_name["sex: Female"]["rates"]["asked"]["yes"])
    assert errors[0] <= errors[1] <= errors[2]
    assert women[0] < women[2]


def test_other_groups_are_learned_first(learned):
    told = session.answering(learned, asked({"kind": "eighty", "column": "age", "bound": 0.8}))[1]
    assert "age" in told["learn"]


def test_more_groups_than_can_be_learned_are_refused(learned):
    site = next(name for name in learned.opened.table.columns if name.startswith("site"))
    columns = ("sex", "age", "skill", "hours", site)
    every = [EIGHTY | {"column": column} for column in columns]
    with pytest.raises(ValueError, match="groups at once"):
        session.learning(learned, asked(*every))


def test_who_gains_and_who_loses_adds_up(learned, rows):
    sides = {"one": {"model": "live"}, "other": {"model": "asked", "asked": asked(EIGHTY)}}
    told = session.comparison(learned, sides | {"columns": ["sex"]})[1]
    live = np.array([row["live"] == "yes" for row in rows])
    yes = quick(learned.learned, Asked.read(asked(EIGHTY))).yes
    assert (
        told["everyone"]["gain"] == (yes & ~live).sum() == sum(each["gain"] for each in told["groups"])
    )
    assert told["same"] + told["everyone"]["gain"] + told["everyone"]["lose"] == len(rows)
    for case in told["cases"]["gain"]:
        assert yes[case["row"] - 1]
        assert sum(part["part"] for part in case["other"]) >= 0


def test_what_makes_no_sense_is_refused_in_words(learned, start):
    for action, given, words in (
        (session.choosing, {"label": "skill"}, "not class labels"),
        (session.choosing, {"label": None}, "choose the column"),
        (session.choosing, CHOICES | {"live": "sex"}, "not a decision"),
        (session.answering, asked(confidence=2), "from 50%"),
        (session.answering, asked({"kind": "nothing", "bound": 1}), "no promise of the kind"),
        (session.answering, asked({"kind": "eighty", "bound": 0.8}), "choose a column"),
        (session.comparison, {}, "choose two models"),
        (session.sign, {}, "make the model first"),
        (session.verify, {"folder": "nowhere at all"}, "there is no folder"),
    ):
        with pytest.raises(ValueError, match=words):
            action(learned, given)


@pytest.fixture(scope="module")
def made(learned, tmp_path_factory):
    state = replace(learned, out=tmp_path_factory.mktemp("made") / "model")
    return session.make(state, asked(EIGHTY))


def test_rows_held_out_are_seen_by_nobody_before_the_model_is_made(made, every, rows):
    """The model is trained on the rows that were shown, and audited on all others."""
    state, told = made
    assert told["rows"] == {"trained": len(rows), "audited": len(every) - len(rows)}
    held = state.made.held.people.X
    assert not known_by(held) & {(row["skill"], row["hours"]) for row in rows}
    others = asked({"kind": "recall", "bound": 0.7, "group": {"column": "age", "below": 30.0}})
    run = making.run_for(state.opened, state.rows.choices, Asked.read(others), state.out)
    with quietly():
        other = make(run).held.people.X
    assert np.array_equal(held["skill"], other["skill"])  # whatever is promised


def test_the_rows_held_out_are_opened_once_or_it_is_said(made):
    state, told = made
    certificate = state.made.solution.record.certificate
    assert told["openings"] == 1
    assert list(certificate.populations.values()) == [told["rows"]["audited"]]
    assert certificate.holds == told["headline"].startswith("Certified")
    assert "opened once" in told["limits"][-1]
    state, told = session.make(state, asked(EIGHTY | {"bound": 0.5}))
    assert told["openings"] == 2
    assert state.made.solution.record.certificate is None
    assert "opened 2 times" in told["limits"][-1]
    assert session.make(state, asked(EIGHTY))[1]["openings"] == 2  # the first again


def test_a_sign_off_needs_all_of_it(made):
    state, told = made
    whole = {
        "owner": "Ada",
        "purpose": "loans",
        "expires": "2999-01-01",
        "accepted": len(told["limits"]),
    }
    for part, words in (
        ({"owner": " "}, "owner"), ({"purpose": None}, "purpose"), ({"expires": "soon"}, "day until"),
        ({"expires": "2001-01-01"}, "expired already"), ({"accepted": 0}, "accept all"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            session.sign(state, whole | part)


def test_what_is_signed_can_be_verified_and_made_again(made, people_csv, tmp_path):
    state, told = made
    given = {
        "owner": "Ada",
        "purpose": "loans",
        "expires": "2999-01-01",
        "accepted": len(told["limits"]),
    }
    state, answer = session.sign(state, given)
    folder = state.written
    assert {each["name"] for each in answer["files"]} == {
        "model.safetensors", "report.html", "audit.json", "run.toml"
    }  # fmt: skip
    page = (folder / "report.html").read_text()
    assert "Sign-off" in page
    assert "Ada" in page
    with pytest.raises(ValueError, match="already"):
        session.sign(state, given)

    checks = session.verify(state, {"folder": str(folder)})[1]["checks"]
    assert [each["right"] for each in checks] == [True] * 5

    with quietly():
        train(
            read_run({"data": [str(folder / "run.toml")], "out": str(tmp_path / "again"), "quiet": True})
        )
    half = tmp_path / "half.csv"  # other rows, by whose certificate alone new rows are judged
    half.write_text("".join(people_csv.read_text().splitlines(True)[:700]))
    told = session.verify(state, {"folder": str(folder), "data": str(half)})[1]
    shown = {each["words"]: each["holds"] for each in told["certificate"]["promises"]}
    assert len(shown) == len(told["audit"]["promises"]) == 2
    for each in told["audit"]["promises"]:
        assert (each["new"] == "certified") == shown[each["words"]]

    one, other = (json.loads((path / "audit.json").read_text()) for path in (folder, tmp_path / "again"))
    assert one["promises"] == other["promises"]
    models = rb.load(folder), rb.load(tmp_path / "again")
    assert np.array_equal(models[0].parameters, models[1].parameters)

    file = folder / "model.safetensors"
    file.write_bytes((tmp_path / "again" / "model.safetensors").read_bytes() + b"")
    audit = json.loads((folder / "audit.json").read_text())
    audit["signed"]["model"] = "0" * 64
    (folder / "audit.json").write_text(json.dumps(audit))
    checks = {
        each["what"]: each["right"]
        for each in session.verify(state, {"folder": str(folder)})[1]["checks"]
    }
    assert checks["The file is the one that was signed"] is False


def test_a_run_file_says_what_the_run_says(tmp_path):
    run = Run(
        (str(tmp_path / "a b.csv"),),
        label='x "y"\n\x7f',
        positive=1,
        require=("recall() >= 0.9",),
        exclude=("é", "\\"),
        confidence=None,
        population={"p q": str(tmp_path / "q.csv")},
        certify=0.25,
    )
    (tmp_path / "run.toml").write_text(as_run_file(run, tmp_path))
    assert read_run({"data": [str(tmp_path / "run.toml")]}) == run
