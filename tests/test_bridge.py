"""What new rooms make means the same in old ones, for as long as there are any."""

import numpy as np
import pytest

import ratebound as rb
from ratebound import _old
from ratebound._bridge import to_old
from ratebound._old.rates import grouping, kinds
from ratebound.rates import goals, table

ROWS = 60
RANDOM = np.random.default_rng(0)
SEX = RANDOM.choice(["F", "M"], ROWS)
X = RANDOM.normal(size=(ROWS, 2))
Y = X[:, 0] + RANDOM.normal(size=ROWS) > 0


@pytest.fixture(autouse=True)
def forget_names():
    tables = (table.KINDS, goals.GOALS, kinds.KINDS, grouping.GOALS)
    before = [dict(names) for names in tables]
    yield
    for names, kept in zip(tables, before, strict=True):
        names.clear()
        names.update(kept)


def make_rows(room):
    live = X[:, 0] > 0.2
    columns = {"sex": SEX, "hours per week": np.arange(ROWS), "live": live, "amount": X[:, 1] ** 2}
    return room.Population(X, Y, columns=columns)


@pytest.mark.parametrize(
    "text",
    [
        'recall(sex in ("F", "M")) >= 0.9 * accuracy(sex in ("F",), by="live")',
        'error_rate(column("hours per week") < 30, by="live") - error_rate() <= 0.1',
        "recall(10 <= column(\"hours per week\") < 40 and not sex == 'F') >= 0.8",
        'abs(recall(sex == "F") - recall(sex == "M")) <= 0.05 * recall()',
        '0.7 <= recall(missing(sex) or sex == "F") <= 0.8',
        "recall(sex) >= 0.9 * recall()",
        'recall() / false_positive_rate(sex == "F") >= 2',
        'cost(false_negative=10, false_positive="amount") <= 4',
        "predicted_positives(per=100) - 2 * errors(per=100) <= 10",
        'statistical_parity(sex in ("F", "M"), slack=0.1, against="pairwise")',
        "equalized_odds(sex, slack=0.1, intersection=True)",
        'own_rate(sex == "F") <= 0.3',
        "own_goal(sex, at_least=0.2)",
    ],
)
def test_a_constraint_has_the_same_violations(text):
    rb.rate("own_rate", "d & ~y", among="~y")
    rb.goal(own_goal)
    problem = rb.Problem("error_rate()", [text])
    objective, violations = rb.compile(problem, make_rows(rb)).evaluate(X[:, 0])
    compiled = _old.compile(to_old(problem), make_rows(_old))
    old_objective, old_violations = compiled.evaluate(X[:, 0])
    assert objective == pytest.approx(old_objective)
    assert sorted(violations) == pytest.approx(sorted(old_violations))


def own_goal(groups, *, at_least):
    return [rb.recall(group) >= at_least for group in groups]


@pytest.mark.parametrize(
    "text",
    [
        'smallest(recall(sex == "F"), recall())',
        "f_score(beta=2)",
        'recall() - 0.2 * churn(versus="live")',
    ],
)
def test_an_objective_has_the_same_value(text):
    problem = rb.Problem(maximize=text, subject_to=["positive_rate() >= 0.1"])
    objective, _ = rb.compile(problem, make_rows(rb)).evaluate(X[:, 0])
    old_objective, _ = _old.compile(to_old(problem), make_rows(_old)).evaluate(X[:, 0])
    assert objective == pytest.approx(old_objective)


def test_texts_for_old_rooms_name_rates_of_ones_own_as_they_are_now():
    for event in ("d & ~y", "d & y"):
        rb.rate("own_rate", event)
        (finding,) = rb.audit(["own_rate() >= 0"], decisions=Y, rows=make_rows(rb)).promises
        assert finding.value == pytest.approx(Y.mean() if event == "d & y" else 0)


def test_old_rows_are_compiled_by_the_new_room_and_what_it_does_not_know_by_the_old_one():
    problem = rb.Problem("error_rate()", ['recall(sex == "F") >= 0.5'])
    compiled = rb.compile(problem, make_rows(_old))
    assert isinstance(compiled, rb.Compiled)
    assert compiled.labels == ('recall(sex == "F") >= 0.5',)
    assert isinstance(rb.compile(to_old(problem), make_rows(rb)), _old.Compiled)
    with_function = rb.Problem("error_rate()", [rb.constraint(lambda model, rows: 0, name="own")])
    assert isinstance(rb.compile(with_function, make_rows(rb)), _old.Compiled)


def test_labels_and_referrals_of_old_rows_are_what_they_were():
    rows = _old.Population(X, np.where(Y, "good", "bad"), classes=["bad", "good"], refer="ask")
    compiled = rb.compile(rb.Problem("error_rate()", ["referred() <= 0.2"]), rows)
    assert compiled.classes.values == ("bad", "good", "ask")


def test_a_rate_that_old_rooms_do_not_know_is_refused_with_its_name():
    with pytest.raises(ValueError, match=r'precision\(by="live"\): here by= is of one of'):
        rb.audit(rb.precision(by="live") >= 0.1, decisions=Y, rows=make_rows(rb))
