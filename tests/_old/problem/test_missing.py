"""Missing values in the columns that promises use, compared with plain loops over the rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.auditing.tally import over_of
from ratebound._old.certifying._means import row_kinds
from ratebound._old.problem.masks import masker

from ..extras import pd, pl

N = 240
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 2))
Y = X[:, 0] + RNG.normal(size=N) > 0
RACE = RNG.choice(["Black", "White", None], N).tolist()
AGE = [float(age) if age > 0 else math.nan for age in RNG.integers(0, 5, N)]
PEOPLE = rb.Population(X, Y, columns={"race": RACE, "age": AGE})


def lacks(value):
    return value is None or value != value


# What each condition means for a race and an age, as a person would read it.
CONDITIONS = {
    'race == "Black"': lambda race, age: race == "Black",
    'race != "Black"': lambda race, age: race != "Black",
    'not race == "Black"': lambda race, age: race != "Black",
    'race in ("Black", "White")': lambda race, age: race is not None,
    "missing(race)": lambda race, age: race is None,
    "not missing(race)": lambda race, age: race is not None,
    "age < 3": lambda race, age: not lacks(age) and age < 3,
    "age >= 3": lambda race, age: not lacks(age) and age >= 3,
    "not age < 3": lambda race, age: lacks(age) or age >= 3,
    "age != 3": lambda race, age: lacks(age) or age != 3,
    "2 <= age < 4": lambda race, age: not lacks(age) and 2 <= age < 4,
    "missing(age) or missing(race)": lambda race, age: lacks(age) or race is None,
    'missing(age) and race == "White"': lambda race, age: lacks(age) and race == "White",
}
RATES = {
    "positive_rate": lambda label, yes: (yes, True),
    "recall": lambda label, yes: (yes, label),
    "false_positive_rate": lambda label, yes: (yes, not label),
    "accuracy": lambda label, yes: (label == yes, True),
}


def by_hand(rate, holds, decisions):
    counted = [
        RATES[rate](bool(label), bool(yes))
        for race, age, label, yes in zip(RACE, AGE, Y, decisions, strict=True)
        if holds(race, age)
    ]
    among = [hit for hit, inside in counted if inside]
    return sum(among) / len(among)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_rates_are_those_counted_by_hand(rate, condition):
    wanted = by_hand(rate, CONDITIONS[condition], X[:, 0] > 0)
    problem = rb.Problem("error_rate()", [f"{rate}({condition}) >= 0.5"])
    _, (violation,) = rb.compile(problem, PEOPLE).evaluate(X[:, 0])
    assert 0.5 - violation == pytest.approx(wanted)


class Sign:
    def predict(self, X):
        return X[:, 0] > 0


def test_an_audit_counts_them_as_a_group():
    report = rb.audit(
        rb.Problem("error_rate()", ["equalized_odds(race, age, slack=0.9)"]), Sign(), PEOPLE
    )
    values = {promise.words: promise.value for promise in report.promises}
    assert sum("missing(race)" in words for words in values) == 4
    rows = {group.words: group for group in report.groups}
    assert rows["missing(race)"].rows == RACE.count(None)
    wanted = by_hand("recall", CONDITIONS["missing(race)"], X[:, 0] > 0)
    assert rows["missing(race)"].recall == pytest.approx(wanted)


def test_a_certificate_counts_them_as_a_group():
    problem = rb.Problem(
        "error_rate()", ["minimum_recall(race, at_least=0.3)", "recall(age < 3) >= 0.3"]
    )
    certificate = rb.certify(problem, Sign(), PEOPLE)
    rows = {str(promise.constraint): promise.rows for promise in certificate.promises}
    labels = [(race, age) for race, age, label in zip(RACE, AGE, Y, strict=True) if label]
    assert rows["recall(missing(race)) >= 0.3"] == sum(race is None for race, _ in labels)
    assert rows["recall(age < 3) >= 0.3"] == sum(age < 3 for _, age in labels)


def test_a_monitor_says_the_same_however_batches_are_cut():
    promises = [
        'recall(race == "Black") >= 0.3',
        "recall(missing(race)) >= 0.3",
        "recall(age < 3) >= 0.3",
    ]
    whole, cut = (rb.Monitor(rb.Problem("error_rate()", promises)) for _ in range(2))
    yes = X[:, 0] > 0
    whole.update(yes, Y, PEOPLE.columns)
    for row in range(N):  # a batch of one row, in which a column may be empty
        one = slice(row, row + 1)
        cut.update(yes[one], Y[one], {name: values[one] for name, values in PEOPLE.columns.items()})
    assert str(cut) == str(whole)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.Series(["a", None, "b", "a"], dtype="string"),
        lambda: pd.Series(["a", None, "b", "a"], dtype="category"),
        lambda: pl.Series(["a", None, "b", "a"]),
        lambda: np.array(["a", np.nan, "b", "a"], dtype=object),
        lambda: np.ma.array(["a", "b", "b", "a"], mask=[False, True, False, False]),
    ],
    ids=["pandas", "categories", "polars", "objects", "masked"],
)
def test_tables_of_any_kind(make):
    mask = masker(rb.Population(None, columns={"c": make()}))
    assert mask(rb.missing("c")).tolist() == [False, True, False, False]
    assert mask(rb.column("c") == "a").tolist() == [True, False, False, True]
    assert mask(rb.column("c") != "a").tolist() == [False, True, True, False]
    assert mask(rb.column("c") < "b").tolist() == [True, False, False, True]


def test_thresholds_by_a_column_with_gaps(tmp_path):
    problem = rb.Problem("error_rate()", ["positive_rate(missing(race)) >= 0.9"])
    compiled = rb.compile(problem, PEOPLE)
    policy = rb.thresholds(problem, X[:, 0], PEOPLE, known=["race"])
    assert policy.decider.groups == (("Black",), ("White",), (None,))
    assert policy.rule.splitlines()[2].startswith("missing(race): yes from ")
    _, violations = compiled.evaluate(
        np.where(policy.predict(X[:, 0], columns=PEOPLE.columns), 1.0, -1.0)
    )
    assert violations[0] <= 0.02
    again = rb.load(policy.save(tmp_path / "policy"))
    assert again.decider.groups == policy.decider.groups
    one = {"race": [float("nan")]}
    assert again.predict([9.0], columns=one).tolist() == policy.predict([9.0], columns=one).tolist()


conditions = st.sampled_from(list(CONDITIONS))


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(conditions, min_size=1, max_size=3))
def test_kinds_of_rows_cover_every_row_that_occurs(chosen):
    """What is concluded without data must hold for any data."""
    rates = [rb.parse(f"recall({condition}) >= 0.5").rates[0] for condition in chosen]
    kinds = row_kinds(rates, (False, True))
    overs = [kinds.inside(over_of(rate, (False, True))) for rate in rates]
    possible = {tuple(row) for row in np.column_stack(overs).tolist()}
    mask = masker(PEOPLE)
    occurring = np.column_stack([mask(rate.subset) & PEOPLE.y for rate in rates])
    assert {tuple(row) for row in occurring.tolist()} <= possible


# --- every value, and every combination ----------------------------------------------------------


def test_combinations_are_those_that_occur():
    town = ["Rome" if race == "Black" else "Oslo" for race in RACE]
    people = rb.Population(None, Y, columns={"race": RACE, "town": town})
    problem = rb.Problem(
        "error_rate()", ["minimum_coverage(race, town, at_least=0.1, intersection=True)"]
    )
    with pytest.warns(UserWarning, match=r'3 of 6 combinations .*race == "Black" and town == "Oslo"'):
        constraints = rb.compile(problem, people).constraints
    groups = [
        'race == "Black" and town == "Rome"',
        'race == "White" and town == "Oslo"',
        'missing(race) and town == "Oslo"',
    ]
    assert list(map(str, constraints)) == [f"positive_rate({group}) >= 0.1" for group in groups]


def test_combinations_of_many_columns_are_a_frames_groups():
    columns = {name: RNG.integers(0, 3, N) for name in ("a", "b", "c")}
    columns["b"] = np.where(columns["b"] == 2, np.nan, columns["b"])
    goal = rb.minimum_accuracy(["c", "b", "a"], at_least=0.1, intersection=True, min_rows=8)
    problem = rb.Problem("error_rate()", goal)
    with pytest.warns(UserWarning, match="groups with fewer than 8 rows to count on are left out"):
        constraints = rb.compile(problem, rb.Population(None, Y, columns=columns)).constraints
    sizes = pd.DataFrame(columns).groupby(["c", "b", "a"], dropna=False).size()
    kept = sizes[sizes >= 8].index
    b_is = {0.0: "b == 0", 1.0: "b == 1"}
    wanted = [f"c == {c} and {b_is.get(b, 'missing(b)')} and a == {a}" for c, b, a in kept]
    assert sorted(map(str, constraints)) == sorted(f"accuracy({group}) >= 0.1" for group in wanted)


def test_groups_without_a_row_to_count_on_are_named_with_the_remedy():
    labels = Y & np.array([race is not None for race in RACE])
    people = rb.Population(X, labels, columns=PEOPLE.columns)
    problem = rb.Problem("error_rate()", ["minimum_recall(race, at_least=0.1)"])
    with pytest.raises(
        ValueError, match=r"no row to count recall\(\) on where missing\(race\): min_rows=1"
    ):
        rb.compile(problem, people)
    assert rb.audit(problem, Sign(), people).promises[2].verdict == "not measured"
    with pytest.raises(
        ValueError, match=r'for each of the others, as in recall\(race == "\w+"\) >= 0.1'
    ):
        rb.compile(rb.Problem("error_rate()", "recall(race) >= 0.1"), people)  # it takes no min_rows=
    problem = rb.Problem("error_rate()", ["minimum_recall(race, at_least=0.1, min_rows=1)"])
    with pytest.warns(UserWarning, match=r"1 groups with fewer than 1 rows.*: missing\(race\)"):
        assert len(rb.compile(problem, people).constraints) == 2


# --- columns that are numbers ----------------------------------------------------------------------


def test_a_feature_of_an_array_is_a_column():
    problem = rb.Problem("error_rate()", ["positive_rate(column(1) > 0) >= 0.5"])
    _, (violation,) = rb.compile(problem, PEOPLE).evaluate(X[:, 0])
    assert 0.5 - violation == pytest.approx((X[X[:, 1] > 0, 0] >= 0).mean())
    with pytest.raises(ValueError, match="there is no column 2"):
        rb.compile(rb.Problem("error_rate()", ["recall(column(2) > 0) >= 0.5"]), PEOPLE)


def test_a_tables_columns_may_be_numbers():
    people = rb.Population(pd.DataFrame(X, columns=[7, 3]), Y)
    assert people.column(3).tolist() == X[:, 1].tolist()
    with pytest.raises(ValueError, match="there is no column 1"):
        people.column(1)


def test_a_name_that_is_no_plain_word_is_offered_as_it_is_written():
    people = rb.Population(None, Y, columns={"hours per week": AGE})
    problem = rb.Problem("error_rate()", ["recall(hours_per_week > 2) >= 0.5"])
    with pytest.raises(
        ValueError, match=r'did you mean .*In text it is written column\("hours per week"\)'
    ):
        rb.compile(problem, people)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "lists"])
def test_blanks_around_texts_do_not_count(library):
    """A condition selects the same rows as in the same table without blanks."""
    blank = {"sex": ["Female", " Female", "Male\t", "  ", None, "Male"]}
    frame = {"lists": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame}.get(library)
    if library == "pyarrow":
        arrow = pytest.importorskip("pyarrow")
        coded = arrow.array(blank["sex"]).dictionary_encode()
        tables = [arrow.table(blank), arrow.table({"sex": coded})]
    else:
        tables = [frame(blank)]
    for table in tables:
        people = rb.Population(None, [1, 0, 1, 0, 1, 0], columns=table)
        assert people.plain_column("sex") == ["Female", "Female", "Male", None, None, "Male"]
        for value in ("Female", " Female "):
            counted = rb.compile(rb.Problem(rb.predicted_positives(sex=value)), people)
            assert counted.evaluate(np.ones(6))[0] == 2
        missing = rb.Problem(rb.predicted_positives(rb.missing("sex")))
        assert rb.compile(missing, people).evaluate(np.ones(6))[0] == 2
        promises = rb.equal_opportunity("sex", slack=0.1)
        goal = rb.compile(rb.Problem(rb.error_rate(), promises), people)
        assert len(goal.constraints) == 2 * len(["Female", "Male", "missing"])
