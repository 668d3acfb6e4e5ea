"""Goals on the values of a column become constraints once there are rows, or an error says why not."""

import datetime

import numpy as np
import pytest

import ratebound._old as rb

N = 300
RNG = np.random.default_rng(0)
COLUMNS = {
    "sex": RNG.choice(["M", "F"], N),
    "band": RNG.choice([30, 20, 40], N),
    "member": RNG.random(N) < 0.5,
    "mixed": np.array([3, "x", 1] * (N // 3), dtype=object),
    "id": np.arange(N),
    "income": RNG.normal(size=N),
    "town": np.array(["Rome", None, "Oslo"] * (N // 3), dtype=object),
    "day": [datetime.date(2020, 1, 1)] * N,
    "live": RNG.random(N) < 0.5,
}
Y = RNG.random(N) < 0.5
PEOPLE = rb.Population(None, Y, columns=COLUMNS)
POOL = rb.Population(None, columns={"sex": ["F", "X"] * 10})


def spelled(*promises):
    return list(
        map(str, rb.compile(rb.Problem("error_rate()", promises), PEOPLE, pool=POOL).constraints)
    )


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("sex", ['"F"', '"M"']),
        ("band", ["20", "30", "40"]),
        ("member", ["False", "True"]),
        ("mixed", ["1", "3", '"x"']),
    ],
)
def test_every_value_is_a_group_in_order(column, values):
    wanted = [f"recall({column} == {value}) >= 0.1" for value in values]
    assert spelled(f"minimum_recall({column}, at_least=0.1)") == wanted
    turned = PEOPLE.only(np.arange(N)[::-1])
    again = rb.compile(rb.Problem("error_rate()", f"minimum_recall({column}, at_least=0.1)"), turned)
    assert list(map(str, again.constraints)) == wanted


def test_several_columns_and_conditions():
    assert spelled("minimum_coverage(sex, member, band < 30, at_least=0)") == [
        f"positive_rate({group}) >= 0.0"
        for group in ('sex == "F"', 'sex == "M"', "member == False", "member == True", "band < 30")
    ]


def test_the_values_are_those_of_the_goals_own_population():
    assert spelled("minimum_coverage(sex, at_least=0.1, on='pool')") == [
        'positive_rate(sex == "F", on="pool") >= 0.1',
        'positive_rate(sex == "X", on="pool") >= 0.1',
    ]


def test_goals_keep_their_place_among_other_promises():
    problem = rb.Problem(
        "error_rate()",
        ["recall() >= 0.2", "minimum_recall(sex, at_least=0.1)", "roc_auc(bins=2) >= 0.1"],
    )
    compiled = rb.compile(problem, PEOPLE)
    assert [len(part) for part in compiled.parts] == [1, 1, 1, 3]
    assert [demand.promise for demand in compiled.problem.demands] == [0, 1, 2, 3, 3, 3]
    assert rb.compile(compiled.problem, PEOPLE).problem == compiled.problem
    with pytest.raises(ValueError, match="not known before there are rows"):
        _ = problem.constraints


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (
            "minimum_recall(id, at_least=0.1)",
            r"column 'id' holds 300 different values.*id in \(\.\.\.\)",
        ),
        (
            "minimum_recall(income, at_least=0.1)",
            "'income' holds 300 different values.*group values into bands",
        ),
        ("minimum_recall(sx, at_least=0.1)", "no column 'sx', did you mean 'sex'"),
        ("minimum_recall(day, at_least=0.1)", "a text, a truth value or a finite number"),
        ("minimum_recall(sex, at_least=0.1, on='experts')", "population 'experts' is not given"),
        (
            "minimum_recall(sex, at_least=90)",
            r"no model can keep this.*did you mean recall\(sex == \"F\"\) >= 0.9",
        ),
    ],
)
def test_columns_that_make_no_groups(goal, message):
    with pytest.raises(ValueError, match=message):
        spelled(goal)


def test_a_promise_said_twice_has_two_labels():
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.5", "recall() >= 0.5"]), PEOPLE)
    assert compiled.labels == ("recall() >= 0.5", "recall() >= 0.5 (2)")


def test_an_audit_spells_goals_out_on_its_own_rows():
    class Yes:
        def predict(self, X):
            return np.ones(len(X))

    people = rb.Population(np.zeros((N, 1)), Y, columns=COLUMNS)
    report = rb.audit(rb.Problem("error_rate()", ["equalized_odds(sex, slack=0.1)"]), Yes(), people)
    assert len(report.promises) == 8
    assert {group.words for group in report.groups} == {"everyone", 'sex == "F"', 'sex == "M"'}


def test_problems_list_their_rates_goals_included():
    problem = rb.Problem(
        "error_rate()", ["not_worse_off(sex, versus='live', on='pool')", "precision(sex == 'F') >= 0.1"]
    )
    assert list(map(str, problem.rates)) == [
        "error_rate()",
        'accuracy(on="pool")',
        'accuracy_of(versus="live", on="pool")',
        'precision(sex == "F")',
    ]


def few_of_one_race():
    """Twelve rows of one race among 300, some of which have a positive label."""
    random = np.random.default_rng(0)
    race = np.repeat(["White", "Black", "Other"], [200, 88, 12])
    y = random.random(300) < 0.5
    X = random.normal(size=(300, 2)) + y[:, None]
    return X, y.astype(int), race


def test_groups_that_min_rows_leaves_out_are_named_wherever_promises_are_reported(tmp_path):
    X, y, race = few_of_one_race()
    people = rb.Population(X, y, columns={"race": race})
    problem = rb.Problem("error_rate()", "statistical_parity(race, slack=0.2, min_rows=30)")
    with pytest.warns(UserWarning, match="left out"):
        compiled = rb.compile(problem, people)
    (group,) = compiled.problem.left_out
    assert (group.group, group.rows) == ('race == "Other"', 12)
    named = 'too few rows to count on for min_rows=: race == "Other" (12).'
    with pytest.warns(UserWarning, match="left out"):
        model = rb.RateConstrainedClassifier(problem.subject_to, random_state=0).fit(
            X, y, columns={"race": race}
        )
    with pytest.warns(UserWarning, match="left out"):
        assert named in str(rb.explain(problem, people))
    loaded = rb.load(model.save(tmp_path / "model"))
    for each in (model, loaded):
        report = each.audit(X, y, columns={"race": race})
        assert named in str(report)
        assert any(named in limit for limit in report.limits)
        assert report.to_dict()["left_out"][0]["rows"] == 12
    assert named in str(model.status_)
    assert named in str(loaded.status)


def test_without_min_rows_nothing_is_left_out():
    X, y, race = few_of_one_race()
    problem = rb.Problem("error_rate()", "statistical_parity(race, slack=0.2)")
    compiled = rb.compile(problem, rb.Population(X, y, columns={"race": race}))
    assert compiled.problem.left_out == ()
