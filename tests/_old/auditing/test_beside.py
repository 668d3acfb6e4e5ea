"""The simplest models beside an audited one, against counting by hand; protected columns and groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.auditing.unpromised import looks_protected
from ratebound._old.solution.baselines import NO, OWN, YES, Baseline, as_good_as_a_constant


def table(n=600, seed=0):
    random = np.random.default_rng(seed)
    sex, y = random.choice(["f", "m"], n, p=[0.3, 0.7]), random.random(n) < 0.3
    said = random.random(n) < np.where(y, 0.7, 0.2)
    live = random.random(n) < np.where(y, 0.6, 0.1)
    return sex, y, said, live


def by_name(report):
    return {each.name: each for each in report.baselines}


@pytest.mark.parametrize("weighted", [False, True])
def test_constants_and_the_live_model_are_those_counted_by_hand(weighted):
    sex, y, said, live = table()
    weights = np.random.default_rng(1).random(len(y)) if weighted else None
    people = rb.Population(None, y, columns={"sex": sex, "live": live.astype(int)}, weights=weights)
    promises = ["recall() >= 0.65", 'churn(versus="live") <= 0.1', 'positive_rate(sex == "f") <= 0.4']
    own = by_name(rb.audit(rb.Problem("error_rate()", promises), decisions=said, rows=people))
    w = np.ones(len(y)) if weights is None else weights
    for name, decided in {OWN: said, NO: 0 * y, YES: 0 * y + 1, "the model in 'live'": live}.items():
        decided = np.asarray(decided, dtype=bool)
        kept = [
            w[y] @ decided[y] >= 0.65 * w[y].sum(),
            w @ (decided != live) <= 0.1 * w.sum(),
            w[sex == "f"] @ decided[sex == "f"] <= 0.4 * w[sex == "f"].sum(),
        ]
        assert own[name].objective == pytest.approx(w @ (decided != y) / w.sum())
        assert own[name].kept == sum(kept)
        assert own[name].positive_rate == pytest.approx(w @ decided / w.sum())


@given(st.floats(0.01, 0.4), st.integers(0, 5))
def test_a_constant_that_is_as_good_is_said(share, seed):
    random = np.random.default_rng(seed)
    y = random.random(400) < share
    if not y.any():
        return
    report = rb.audit(
        "positive_rate() <= 0.9", decisions=~y, rows=rb.Population(None, y, columns={"a": y})
    )
    assert any("not better than no to everyone" in each for each in report.beside)
    assert any("positive_rate() >= " in each for each in report.beside)
    right = rb.audit("positive_rate() <= 0.9", decisions=y, rows=rb.Population(None, y))
    assert not any("better than" in each for each in right.beside)


def test_saying_no_to_everyone_is_said():
    y = np.arange(100) < 6
    report = rb.audit("positive_rate() <= 0.9", decisions=0 * y, rows=rb.Population(None, y))
    assert report.beside[-1].startswith("It says no to everyone. ")
    assert "positive_rate() >= 0.06" in report.beside[-1]


@pytest.mark.parametrize(
    ("promise", "said", "floor"),
    [
        ("positive_rate() <= 0.02", False, "positive_rate() >= 0.01."),
        ("positive_rate() <= 0.9", False, "positive_rate() >= 0.5."),
        ("positive_rate() >= 0.6", True, "positive_rate() <= 0.8."),
        ('positive_rate(g == "a") <= 0.02', False, "positive_rate() >= 0.5."),
    ],
)
def test_a_floor_is_one_that_the_promises_leave_room_for(promise, said, floor):
    columns = {"g": ["a", "b"] * 50}
    rows = rb.Population(None, [True, False] * 50, columns=columns)
    report = rb.audit(promise, decisions=[said] * 100, rows=rows)
    assert floor in " ".join(report.beside)


# --- groups by protected columns -----------------------------------------------------------------------

NAMES = {
    "sex": True, "Gender": True, "race": True, "raceEthnicity": True, "AGE": True, "age_group": True,
    "applicant age": True, "marital-status": True, "native-country": True, "has_disability": True,
    "usage": False, "account_age": False, "average": False, "mortgage": False, "essex": False,
    "income": False, "country": False, "Age_at_application": True,
}  # fmt: skip


@pytest.mark.parametrize(("name", "protected"), NAMES.items())
def test_names(name, protected):
    assert looks_protected(name) is protected


def test_every_group_has_its_rates_worst_first():
    random = np.random.default_rng(0)
    n = 2000
    race = random.choice(["A", "B", "C", "D"], n, p=[0.6, 0.3, 0.0955, 0.0045])
    age = random.integers(18, 80, n).astype(float)
    age[:40] = np.nan
    y = random.random(n) < 0.5
    said = random.random(n) < np.where(race == "C", 0.2, 0.6)
    columns = {"race": race, "age": age, "sex": random.choice(["f", "m"], n), "income": age}
    report = rb.audit(
        'positive_rate(sex == "f") >= 0.1', decisions=said, rows=rb.Population(None, y, columns=columns)
    )
    own = report.protected
    assert own.columns == ("race", "age", "sex")
    assert own.unnamed == ("race", "age")
    groups = {each.words: each for each in own.groups}
    assert own.groups[0].words == 'race == "C"'
    for words, inside in {
        'race == "B"': race == "B",
        "25 <= age < 40": (age >= 25) & (age < 40),
        "missing(age)": np.isnan(age),
    }.items():
        assert groups[words].rows == inside.sum()
        assert groups[words].positive_rate == pytest.approx(said[inside].mean())
        assert groups[words].others == pytest.approx(said[~inside].mean())
        assert groups[words].error_rate == pytest.approx(np.mean(said[inside] != y[inside]))
        assert groups[words].low < groups[words].positive_rate < groups[words].high
    assert own.too_few == (f'race == "D" ({(race == "D").sum()})',)
    assert groups['sex == "f"'].note == "promised"
    assert 'race == "C"' in str(report)
    for form in ("html", "markdown", "text"):
        assert 'race == "D"' in report.render(form).replace("&quot;", '"').replace("\\", "")


def test_no_group_differs_most_if_all_are_decided_alike():
    sex = np.array(["f", "m"] * 50)
    no = np.zeros(100, dtype=bool)
    rows = rb.Population(None, columns={"sex": sex})
    said = str(rb.audit("positive_rate() <= 0.5", decisions=no, rows=rows))
    assert "No promise names sex. All groups" in said
    assert "differs most" in str(rb.audit("positive_rate() <= 0.5", decisions=sex == "f", rows=rows))


def test_intervals_are_those_of_scipy():
    from scipy.stats import binomtest

    sex, y, said, _ = table()
    report = rb.audit(
        "recall() >= 0.1", decisions=said, rows=rb.Population(None, y, columns={"sex": sex})
    )
    for group in report.protected.groups:
        inside = sex == group.words[-2]
        exact = binomtest(int(said[inside].sum()), int(inside.sum())).proportion_ci(0.9)
        assert (group.low, group.high) == pytest.approx((exact.low, exact.high))


def test_groups_left_out_by_min_rows_are_listed_with_the_reason():
    random = np.random.default_rng(0)
    race = random.choice(["A", "B", "C"], 1000, p=[0.6, 0.3, 0.1])
    y, said = random.random(1000) < 0.5, random.random(1000) < 0.5
    with pytest.warns(UserWarning, match="left out"):
        report = rb.audit(
            "minimum_recall(race, at_least=0.1, min_rows=100)",
            decisions=said,
            rows=rb.Population(None, y, columns={"race": race}),
        )
    notes = {each.words: each.note for each in report.protected.groups}
    assert notes['race == "A"'] == "promised"
    assert "too few for min_rows=" in notes['race == "C"']


@pytest.mark.parametrize(("broken_by", "named"), [(0.7, False), (0.01, True)])
def test_a_constant_that_breaks_promises_by_more_is_not_as_good(broken_by, named):
    problem = rb.Problem("error_rate()", ["recall() >= 0.7", "precision() >= 0.5"])
    own, constant = Baseline(OWN, 0.3, 1, 2, 0.0125), Baseline(NO, 0.2, 1, 2, broken_by, True, 0.0)
    assert bool(as_good_as_a_constant(problem, own, [constant], 0.2)) == named
