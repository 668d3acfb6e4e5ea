"""Change plans: what is spent, which rows may serve, the ledger, and how often they are wrong."""

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy

PROMISES = ["recall() >= 0.8", 'churn(versus="live") <= 0.1']
BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "releases.py"


def drawn(seed, rows=600, **columns):
    """Rows that a threshold at 0 decides well, with ids that no other seed has."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 2))
    y = X[:, 0] + random.normal(0, 0.2, rows) > 0
    site = np.where(random.random(rows) < 0.5, "a", "b")
    ids = np.arange(rows) + 1_000_000 * seed
    return rb.Population(X, y, columns={"site": site, "id": ids, **columns})


class Threshold:
    def __init__(self, at):
        self.at = at

    def predict(self, X):
        return np.asarray(X)[:, 0] > self.at


GOOD, LIVE, BAD = Threshold(-0.2), Threshold(-0.15), Threshold(1.0)


def test_a_refusal_spends_its_share_and_says_what_it_would_take():
    plan = rb.ChangePlan(PROMISES, error=0.04, releases=4)
    refused = plan.release(live=LIVE, candidate=BAD, rows=drawn(1))
    assert not refused.certified
    assert refused.rows_needed is None
    assert "no number of rows would show it" in refused.reasons[0]
    with pytest.raises(ValueError, match="refused, so it is not saved"):
        refused.save("nowhere")
    few = plan.release(live=LIVE, candidate=GOOD, rows=drawn(2, rows=60))
    assert not few.certified
    assert few.rows_needed > 60
    assert f"about {few.rows_needed:,} would" in " ".join(few.reasons)
    enough = plan.release(live=LIVE, candidate=GOOD, rows=drawn(3, rows=few.rows_needed + 300))
    assert enough.certified
    assert (plan.spent, plan.level, plan.left) == (3, pytest.approx(0.01), pytest.approx(0.01))
    assert plan.rows_used == 600 + 60 + few.rows_needed + 300
    plan.release(live=GOOD, candidate=GOOD, rows=drawn(4))
    with pytest.raises(ValueError, match="all 4 tests of this plan are spent: begin a new plan"):
        plan.release(live=GOOD, candidate=GOOD, rows=drawn(5))
    assert plan.left == plan.level == 0


def test_rows_that_would_show_it_where_both_models_decide_alike():
    """No row differs, so nothing varies here, and yet a few rows show little."""
    plan = rb.ChangePlan('accuracy() >= accuracy_of(versus="live") - 0.05', error=0.01, releases=1)
    few = plan.release(live=GOOD, candidate=GOOD, rows=drawn(1, rows=40))
    assert not few.certified
    assert 80 < few.rows_needed < 140  # (1 - .05) ** 90 is .01


def test_carried_shares_cost_only_refusals():
    plan = rb.ChangePlan("recall() >= 0.8", error=0.04, releases=4, spending="carried")
    levels = []
    for seed, candidate in enumerate([GOOD, GOOD, BAD, GOOD]):
        levels.append(plan.level)
        plan.release(candidate=candidate, rows=drawn(seed), live=None if seed == 0 else GOOD)
    assert levels == pytest.approx([0.01, 0.02, 0.03, 0.01])
    refused = [level for level, each in zip(levels, plan.record, strict=True) if not each.certified]
    assert sum(refused) + levels[-1] == pytest.approx(0.04)  # which all tests of broken ones could use


def test_without_a_model_in_use_comparisons_are_not_tested_and_only_at_first():
    plan = rb.ChangePlan(PROMISES)
    first = plan.release(candidate=GOOD, rows=drawn(1), version="v1")
    assert first.certified
    assert first.entry["not_tested"] == [PROMISES[1]]
    assert len(first.certificate.promises) == 1
    with pytest.raises(ValueError, match="now the live model: give it, live="):
        plan.release(candidate=GOOD, rows=drawn(2))
    assert plan.release(candidate=GOOD, live=GOOD, rows=drawn(2)).certified
    with pytest.raises(ValueError, match="nothing can be tested without one: give live="):
        rb.ChangePlan(PROMISES[1]).release(candidate=GOOD, rows=drawn(1))
    recorded = drawn(3, live=drawn(3).y)
    assert plan.release(candidate=drawn(3).y, rows=recorded).entry["live"]["words"] == "the column live"
    with pytest.raises(ValueError, match="a column 'live', and live= is given too"):
        plan.release(candidate=GOOD, live=GOOD, rows=drawn(4, live=drawn(4).y))


@pytest.mark.parametrize("key", [None, "id"])
def test_no_row_serves_twice_unseen(key):
    plan = rb.ChangePlan(PROMISES, key=key)
    rows = drawn(1)
    plan.release(live=LIVE, candidate=GOOD, rows=rows)
    assert plan.served(rows).all()
    assert not plan.served(drawn(2)).any()
    mixed = drawn(2, rows=300)
    X = np.r_[rows.X[:300], mixed.X]
    columns = {name: np.r_[rows.column(name)[:300], mixed.column(name)] for name in ("site", "id")}
    both = rb.Population(X, np.r_[rows.y[:300], mixed.y], columns=columns)
    if key is None:
        with pytest.raises(ValueError, match="300 of 600 rows were used in an earlier test"):
            plan.release(live=LIVE, candidate=GOOD, rows=both)
        assert plan.spent == 1
        with pytest.raises(ValueError, match="rows have no column 'id'"):
            plan.release(live=LIVE, candidate=GOOD, rows=(X, both.y))
    else:
        release = plan.release(live=LIVE.predict(X), candidate=GOOD.predict(X), rows=both)
        assert (release.rows, release.left_out) == (300, 300)
        with pytest.raises(ValueError, match="all 600 rows were used"):
            plan.release(live=LIVE, candidate=GOOD, rows=both)
        twice = rb.Population(X, both.y, columns=columns | {"id": np.arange(600) // 2 + 10**9})
        with pytest.raises(ValueError, match="300 rows have an id that another row has"):
            plan.release(live=LIVE, candidate=GOOD, rows=twice)


def test_rows_are_the_same_whatever_they_are_given_as():
    """Whole numbers or fractions, texts or numbers, one more column or another order of columns."""
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"p": random.integers(0, 10**6, 200), "site": ["a", "b"] * 100})
    frame["bought"] = random.random(200) < 0.5
    plan = rb.ChangePlan("positive_rate() <= 0.9")
    plan.release(candidate=np.zeros(200, dtype=int), rows=frame, label="bought")
    other = frame.assign(p=frame.p.astype(float), more=1)[["more", "bought", "site", "p"]]
    assert plan.served(other[::-1], label="bought").all()
    assert not plan.served(frame.assign(p=frame.p + 1), label="bought").any()
    polars = pytest.importorskip("polars")
    assert plan.served(polars.from_pandas(frame), label="bought").all()


def test_a_ledger_goes_on_in_another_process_and_is_not_changed_quietly(tmp_path):
    path = tmp_path / "plan.ledger"
    plan = rb.ChangePlan(PROMISES, releases=5, ledger=path)
    plan.release(live=LIVE, candidate=GOOD, rows=drawn(1))
    plan.release(live=GOOD, candidate=BAD, rows=drawn(2))
    again = rb.ChangePlan.open(path)
    assert again.entries == plan.entries
    assert str(again) == str(plan)
    assert rb.ChangePlan(PROMISES, releases=5, ledger=path).spent == 2
    with pytest.raises(ValueError, match=r"of another plan, whose error is 0\.05, not 0\.1"):
        rb.ChangePlan(PROMISES, error=0.1, releases=5, ledger=path)
    with pytest.raises(ValueError, match="whose promises is"):
        rb.ChangePlan(PROMISES[:1], releases=5, ledger=path)
    with pytest.raises(FileNotFoundError, match="there is no ledger at"):
        rb.ChangePlan.open(tmp_path / "none")


def changed(path, how):
    lines = path.read_bytes().splitlines(keepends=True)
    new = {
        "a line edited": [
            lines[0],
            lines[1].replace(b'"released": false', b'"released": true '),
            lines[2],
        ],
        "the plan edited": [lines[0].replace(b'"error": 0.05', b'"error": 0.06'), *lines[1:]],
        "the last line edited": [*lines[:2], lines[2].replace(b'"number": 2', b'"number": 3')],
        "a line left out": [lines[0], lines[2]],
        "lines swapped": [lines[0], lines[2], lines[1]],
        "the last line left out": lines[:2],
        "cut in a line": [*lines[:2], lines[2][:50]],
        "emptied": [],
        "not JSON": [lines[0], b"nothing\n", lines[2]],
    }[how]
    assert b"".join(new) != path.read_bytes()
    path.write_bytes(b"".join(new))


@pytest.mark.parametrize(
    "how",
    ["a line edited", "the plan edited", "the last line edited", "a line left out", "lines swapped",
     "the last line left out", "cut in a line", "emptied", "not JSON"],
)  # fmt: skip
def test_a_changed_ledger_is_noticed(tmp_path, how):
    path = tmp_path / "plan.ledger"
    plan = rb.ChangePlan(PROMISES, ledger=path)
    for seed in (1, 2):
        plan.release(live=LIVE, candidate=BAD, rows=drawn(seed))
    changed(path, how)
    with pytest.raises(ValueError, match=r"was changed|was cut|not JSON|is empty"):
        rb.ChangePlan.open(path)
    with pytest.raises(ValueError, match=r"plan\.ledger"):  # nor does a plan that is open go on
        plan.release(live=LIVE, candidate=GOOD, rows=drawn(3))


def test_a_ledger_without_its_last_digest_or_without_lines(tmp_path):
    path = tmp_path / "plan.ledger"
    rb.ChangePlan(PROMISES, ledger=path)
    head = path.with_name("plan.ledger.head")
    kept = head.read_bytes()
    head.unlink()
    with pytest.raises(ValueError, match="is missing"):
        rb.ChangePlan.open(path)
    head.write_bytes(kept)
    path.unlink()
    with pytest.raises(ValueError, match="is gone"):
        rb.ChangePlan(PROMISES, ledger=path)


def test_a_crash_between_the_two_files_loses_nothing(tmp_path):
    path = tmp_path / "plan.ledger"
    plan = rb.ChangePlan(PROMISES, ledger=path)
    head = path.with_name("plan.ledger.head")
    before = head.read_bytes()
    plan.release(live=LIVE, candidate=GOOD, rows=drawn(1))
    head.write_bytes(before)  # as if the process had died after the first
    assert rb.ChangePlan.open(path).spent == 1


ONE_OF_TWO = """
import sys, numpy as np, ratebound as rb
plan = rb.ChangePlan.open(sys.argv[1])
for step in range(3):
    X = np.random.default_rng([int(sys.argv[2]), step]).normal(size=(50, 2))
    rows = rb.Population(X, [0, 1] * 25)
    plan.release(candidate=[0, 1] * 25, live=[0, 1] * 25, rows=rows)
"""


def test_two_at_once_lose_nothing(tmp_path):
    path = tmp_path / "plan.ledger"
    rb.ChangePlan(PROMISES, releases=6, ledger=path)
    runs = [subprocess.Popen([sys.executable, "-c", ONE_OF_TWO, str(path), str(i)]) for i in (1, 2)]
    assert [run.wait() for run in runs] == [0, 0]
    plan = rb.ChangePlan.open(path)
    assert [each.number for each in plan.record] == [1, 2, 3, 4, 5, 6]


def test_models_of_every_kind(tmp_path):
    random = np.random.default_rng(0)
    table = pandas.DataFrame(random.normal(size=(1500, 3)), columns=["p", "q", "r"])
    table["site"] = np.where(random.random(1500) < 0.5, "a", "b")
    table["bought"] = np.where(table.p + random.normal(0, 0.3, 1500) > 0, "yes", "no")
    train, *fresh = (table[i * 300 : (i + 1) * 300] for i in range(5))
    features = train[["p", "q", "r"]]
    ours = RateConstrainedClassifier("recall() >= 0.85", random_state=0).fit(features, train.bought)
    theirs = LogisticRegression().fit(features, train.bought)
    ours.save(tmp_path / "old")
    plan = rb.ChangePlan(["minimum_recall(site, at_least=0.7)", 'churn(versus="live") <= 0.2'])
    kinds = [
        (str(tmp_path / "old"), theirs),
        (theirs, ours),
        (make_policy(ours), rb.load(tmp_path / "old")),
        (theirs.predict(fresh[3][["p", "q", "r"]]), tmp_path / "old"),
    ]
    for place, (live, candidate) in enumerate(kinds):
        release = plan.release(live=live, candidate=candidate, rows=fresh[place], label="bought")
        assert [str(each.constraint) for each in release.certificate.promises] == [
            'recall(site == "a") >= 0.7', 'recall(site == "b") >= 0.7', 'churn(versus="live") <= 0.2',
        ]  # fmt: skip
        assert release.certified
    second, third, fourth = plan.record[1:]
    assert second.entry["candidate"]["digest"] == third.entry["candidate"]["digest"]
    assert third.entry["notes"] == ["The same candidate was in test 2."]
    assert "The same candidate was in test 2, 3." in fourth.entry["notes"]


def test_a_saved_release_is_the_next_model_in_use(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 2))
    y = (X[:, 0] > 0).astype(int)
    model = RateConstrainedClassifier("recall() >= 0.8").fit(X[:300], y[:300])
    plan = rb.ChangePlan(PROMISES, ledger=tmp_path / "plan.ledger")
    first = plan.release(candidate=model, rows=(X[300:600], y[300:600]), version="v1")
    folder = first.save(tmp_path / "v1")
    assert {"release.json", "release.html", "model.safetensors"} < {
        each.name for each in folder.iterdir()
    }
    assert rb.load(folder).certificate == first.certificate
    assert "row_digests" not in json.loads((folder / "release.json").read_text())
    second = plan.release(live=folder, candidate=folder, rows=(X[600:], y[600:]))
    assert second.certified
    with pytest.raises(ValueError, match="holds another release"):
        second.save(folder)
    other = rb.ChangePlan(PROMISES)
    with pytest.raises(ValueError, match="another plan, or it was cut"):
        other.release(live=folder, candidate=model, rows=(X[300:600], y[300:600]))


def test_a_group_that_has_no_rows_any_more_is_noticed():
    plan = rb.ChangePlan("minimum_recall(site, at_least=0.7)")
    plan.release(candidate=GOOD, rows=drawn(1))
    rows = drawn(2, rows=900)
    later = plan.release(candidate=GOOD, live=GOOD, rows=rows.only(rows.column("site") == "a"))
    assert not later.certified
    assert later.reasons[0].startswith('recall(site == "b") >= 0.7 was tested before')


WRONG = {
    "labels missing": (lambda r: {"rows": (r.X, [None, *r.y[1:]])}, "1 missing labels"),
    "decisions missing": (lambda r: {"candidate": [np.nan] * 600}, "no decision on 600 of 600 rows"),
    "decisions short": (lambda r: {"candidate": [1] * 10}, r"shape \(10,\) for 600 rows"),
    "other classes": (lambda r: {"live": ["cat", "dog"] * 300}, "column 'live' holds 'cat', 'dog'"),
    "probabilities": (lambda r: {"candidate": np.linspace(0, 1, 600)}, "Pass decisions"),
    "not fitted": (lambda r: {"candidate": LogisticRegression()}, "not fitted"),
    "no path": (lambda r: {"live": "nowhere/"}, "there is no saved model"),
    "no rows": (lambda r: {"rows": [1, 2]}, "rows takes a rb.Population"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_and_costs_nothing(name):
    rows, plan = drawn(1), rb.ChangePlan(PROMISES)
    given, words = WRONG[name]
    asked = {"live": LIVE, "candidate": GOOD, "rows": rows} | given(rows)
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=words):
        plan.release(**asked)
    assert plan.spent == 0


@pytest.mark.parametrize(
    ("promises", "words"),
    [([], "at least one promise"), (['wins(versus="live") >= 3'], "wins\\(per=1000\\)"),
     (['recall(on="pool") >= 0.5'], "certify it separately")],
)  # fmt: skip
def test_what_a_plan_does_not_take(promises, words):
    with pytest.raises(ValueError, match=words):
        rb.ChangePlan(promises)
    for wrong in ({"error": 1.0}, {"releases": 0}, {"releases": True}, {"spending": "equl"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            rb.ChangePlan(PROMISES, **wrong)


def test_alarms_are_on_the_ledger_once(tmp_path):
    monitor = rb.Monitor("recall() >= 0.9")
    monitor.update([1, 0] * 40, labels=[1] * 80)
    plan = rb.ChangePlan(PROMISES, ledger=tmp_path / "plan.ledger")
    assert (plan.alarm(monitor), plan.alarm(monitor.alarms), plan.alarm(monitor.alarms[0])) == (1, 0, 0)
    assert "recall() >= 0.9 is broken: after 24 rows" in str(
        rb.ChangePlan.open(tmp_path / "plan.ledger")
    )


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_the_page_that_a_regulator_reads(form):
    plan = rb.ChangePlan(PROMISES, releases=4)
    plan.release(live=LIVE, candidate=GOOD, rows=drawn(1), version="v7")
    refused = plan.release(live=GOOD, candidate=BAD, rows=drawn(2), version="v8")
    page = plan.render(form)
    for words in ("v7", "v8", "Threshold", "600"):
        assert words in page
    assert "row_digests" not in page
    if form == "text":
        assert page.splitlines()[-1].startswith("2 of 4 tests spent, 1 released; 1,200 rows used")
    assert "Refused" in refused.render("text")


# --- how often it is wrong ---------------------------------------------------------------------------


def test_false_releases_are_rare_and_a_reused_test_set_is_not():
    """Candidates that just break a promise, twelve in each of 300 plans; the naive rule beside it.

    Both sides draw decisions alone, so that it is fast; `benchmarks/releases.py` retrains models.
    """
    random, rows, repeats, broken = np.random.default_rng(1), 150, 300, 0.8
    false = {"equal": 0, "carried": 0, "one test set": 0}
    labels = rb.Population(None, [1] * rows, classes=[0, 1])
    problem = rb.Problem("error_rate()", "recall() >= 0.8")
    at = {}  # the p-value by the number of yeses, which is all that a test looks at
    for yeses in range(rows + 1):
        decisions = np.arange(rows) < yeses
        model = type("Model", (), {"predict": lambda self, X, decided=decisions: decided})()
        people = rb.Population(np.zeros((rows, 1)), labels.y, classes=[False, True])
        at[yeses] = rb.certify(problem, model, people, confidence=0.99).promises[0].p_value
    for _ in range(repeats):
        good = random.random(12) < 0.5
        yeses = random.binomial(rows, np.where(good, 0.95, broken - 1e-9))
        p_values = np.array([at[int(each)] for each in yeses])
        false["one test set"] += bool((yeses[~good] / rows >= 0.8).any())
        false["equal"] += bool((p_values[~good] <= 0.05 / 12).any())
        level, wrong = 0.0, False
        for p_value, is_good in zip(p_values, good, strict=True):
            level += 0.05 / 12
            wrong |= p_value <= level and not is_good
            level = level if p_value <= level else 0.0
        false["carried"] += wrong
    assert false["equal"] <= 0.05 * repeats + 12  # four standard deviations
    assert false["carried"] <= 0.05 * repeats + 12
    assert false["one test set"] > 0.9 * repeats


def test_a_small_version_of_the_benchmark():
    spec = spec_from_file_location("releases", BENCHMARK)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    rules = ("plan, carried", "one test set")
    outcomes = module.repeat(module.World(3, periods=4, pool=4000), 3, rules, rows=1500)
    assert outcomes.shape == (2, 4, 2)
    truth, released = outcomes[0, :, 0], outcomes[0, :, 1]
    assert released.any()
    assert not (released & ~truth).any()
