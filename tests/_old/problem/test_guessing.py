"""Guessed groups on rows, against direct sums and against every completion of the missing values."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.problem.guessing import COPIES

RACES = ("a", "b", "c")


class Decided:
    """A model whose decisions are its first feature."""

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


def room_on(promise: str, yes, y, race, way) -> float | None:
    rows = rb.Population(np.asarray(yes, float)[:, None], y, {"race": race})
    problem = rb.Problem("error_rate()", [promise], guessed=way)
    return rb.audit(problem, Decided(), rows).promises[0].slack


# --- whatever is missing -----------------------------------------------------------------------------

PROMISES = [
    'positive_rate(race == "a") >= 0.8 * positive_rate(race == "b")',
    'positive_rate(race == "a") <= positive_rate(race == "b") + 0.1',
    'negative_rate(race == "a") >= 0.7 * negative_rate()',
    'accuracy(race == "a") >= 0.6',
    'error_rate(race != "a") <= 0.3',
    'positive_rate(race in ("a", "b")) >= 0.4',
]


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("seed", range(2))
def test_worst_case_is_that_of_all_completions(promise: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    yes, y = random.random(14) < 0.5, random.random(14) < 0.5
    y[:2] = False, True
    race = np.array([*RACES * 3, "a", "b", *[None] * 3], dtype=object)
    hidden = [place for place, value in enumerate(race) if value is None]
    rooms = []
    for filled in itertools.product(RACES, repeat=len(hidden)):
        whole = race.copy()
        whole[hidden] = filled
        rooms.append(room_on(promise, yes, y, whole, ()))
    worst = room_on(promise, yes, y, race, rb.guessed("race", missing="anything"))
    assert worst == pytest.approx(min(rooms), abs=1e-12)


@pytest.mark.parametrize(
    "promise",
    ['recall(race == "a") >= 0.8 * recall(race == "b")', 'precision(race == "a") >= 0.5'],
)
def test_worst_case_of_rates_among_labels_or_decisions(promise: str) -> None:
    yes = np.array([1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1], bool)
    y = np.array([1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0], bool)
    race = np.array(["a", "a", "a", "b", "b", "b", "c", "a", "a", None, None, None], dtype=object)
    rooms = []
    for filled in itertools.product(RACES, repeat=3):
        whole = race.copy()
        whole[9:] = filled
        rooms.append(room_on(promise, yes, y, whole, ()))
    worst = room_on(promise, yes, y, race, rb.guessed("race", missing="anything"))
    assert worst == pytest.approx(min(rooms), abs=1e-12)


def test_where_nothing_is_missing_it_is_the_promise_itself() -> None:
    random = np.random.default_rng(0)
    yes, y, race = random.random(60) < 0.5, random.random(60) < 0.5, random.choice(RACES, 60)
    for promise in PROMISES:
        plain = room_on(promise, yes, y, race, ())
        assert room_on(promise, yes, y, race, rb.guessed("race", missing="anything")) == pytest.approx(
            plain
        )


# --- probabilities -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_rates_are_weighted_by_probabilities(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 12
    likely = random.dirichlet([0.4, 0.4, 0.4], n).round(3)
    likely[:, 2] = 1 - likely[:, :2].sum(axis=1)
    weights, y = random.uniform(0.5, 2, n), np.arange(n) % 2 == 0
    yes = random.random(n) < 0.5
    columns = {f"p_{value}": likely[:, place] for place, value in enumerate(RACES)}
    race = rb.guessed("race", probabilities=list(columns))
    promises = ['positive_rate(race == "a") >= 0.3', 'recall(race == "b") <= 0.5 * recall()']
    problem = rb.Problem("error_rate()", promises, guessed=race)
    rows = rb.Population(np.where(yes, 1.0, -1.0)[:, None], y, columns, weights=weights)
    compiled = rb.compile(problem, rows)
    objective, violations = compiled.evaluate(compiled.first.X[:, 0])
    a, b = weights * likely[:, 0], weights * likely[:, 1]
    assert objective == pytest.approx(weights @ (yes != y) / weights.sum())
    assert violations[0] == pytest.approx(0.3 - a @ yes / a.sum())
    recall = weights @ (yes & y) / (weights @ y)
    assert violations[1] == pytest.approx(b @ (yes & y) / (b @ y) - 0.5 * recall)
    report = rb.audit(problem, Signs(), rows)
    assert [-each.slack for each in report.promises] == pytest.approx(violations)
    assert report.populations == {"audited": n}


class Signs:
    """A model that says yes if its first feature is positive."""

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def test_copies_are_made_once_and_weigh_what_the_row_did() -> None:
    rows = rb.Population(
        [[0.0], [1.0], [2.0]],
        [0, 1, 1],
        {"p_a": [1.0, 0.25, 0.5], "p_b": [0.0, 0.75, 0.5]},
        weights=[1, 2, 4],
    )
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    problem = rb.Problem("error_rate()", ['recall(race == "a") >= 0.5'], guessed=race)
    compiled = rb.compile(problem, rows)
    people = compiled.first
    assert people.column(COPIES).tolist() == [0, 1, 1, 2, 2]
    assert people.weights.tolist() == [1.0, 0.5, 1.5, 2.0, 2.0]
    assert rb.compile(compiled.problem, people).first.size == 5


def test_known_values_are_taken_as_known() -> None:
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    columns = {"race": ["b", None], "p_a": [np.nan, 0.25], "p_b": [np.nan, 0.75]}
    rows = rb.Population([[0.0], [1.0]], [0, 1], columns)
    problem = rb.Problem("error_rate()", ['positive_rate(race == "a") >= 0.5'], guessed=race)
    people = rb.compile(problem, rows).first
    assert people.column("race").tolist() == ["b", "a", "b"]
    assert people.weights.tolist() == [1.0, 0.25, 0.75]


def test_a_problem_that_does_not_name_the_group_leaves_rows_alone() -> None:
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    rows = rb.Population([[0.0], [1.0]], [0, 1])
    assert rb.compile(rb.Problem("error_rate()", ["recall() >= 0.5"], guessed=race), rows).first is rows


@pytest.mark.parametrize(
    ("p_a", "p_b", "words"),
    [
        ([0.5, 0.5], [0.5, 0.4], "sum to 1, but in 1 of 2 rows they do not: in row 1 they sum to 0.9"),
        ([0.5, -0.1], [0.5, 1.1], "holds -0.1, but a probability is between 0 and 1"),
        ([0.5, np.nan], [0.5, 1.0], "no probability in 1 rows"),
        (["x", "y"], [0.5, 0.5], "'p_a' holds text, but probabilities are numbers"),
    ],
)
def test_probabilities_that_are_none_are_refused(p_a: list, p_b: list, words: str) -> None:
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    problem = rb.Problem("error_rate()", ['recall(race == "a") >= 0.5'], guessed=race)
    with pytest.raises(ValueError, match=words) as told:
        rb.compile(problem, rb.Population([[0.0], [1.0]], [0, 1], {"p_a": p_a, "p_b": p_b}))
    assert "race" in str(told.value)


def test_a_value_without_a_probability_is_refused() -> None:
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    problem = rb.Problem("error_rate()", ['recall(race == "c") >= 0.5'], guessed=race)
    columns = {"p_a": [0.5, 0.5], "p_b": [0.5, 0.5]}
    with pytest.raises(ValueError, match='no probability that race is "c"'):
        rb.compile(problem, rb.Population([[0.0], [1.0]], [0, 1], columns))
    with pytest.raises(ValueError, match="no column 'p_a'"):
        rb.compile(
            rb.Problem("error_rate()", ['recall(race == "a") >= 0.5'], guessed=race),
            rb.Population([[0.0], [1.0]], [0, 1], {"p_b": [0.5, 0.5]}),
        )


def test_guesses_in_the_column_itself_are_told() -> None:
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    problem = rb.Problem("error_rate()", ['recall(race == "a") >= 0.5'], guessed=race)
    columns = {"race": ["z", "a"], "p_a": [0.5, 0.5], "p_b": [0.5, 0.5]}
    with pytest.raises(ValueError, match="'z': its values are taken as known"):
        rb.compile(problem, rb.Population([[0.0], [1.0]], [0, 1], columns))


@pytest.mark.parametrize(
    ("way", "columns"),
    [
        (rb.guessed("race", missing="anything"), {"race": [None, None]}),
        (rb.guessed("race", audited="seen"), {"race": ["a", "b"], "seen": [None, None]}),
    ],
)
def test_a_column_that_is_all_missing_is_refused(way: rb.Guessed, columns: dict) -> None:
    problem = rb.Problem("error_rate()", ['recall(race == "a") >= 0.5'], guessed=way)
    with pytest.raises(ValueError, match="is missing in every row"):
        rb.compile(problem, rb.Population([[0.0], [1.0]], [0, 1], columns))


def test_audited_rows_tell_the_group() -> None:
    way = rb.guessed("race", audited="seen")
    rows = rb.Population(
        [[1.0], [-1.0], [1.0], [1.0]],
        [1, 1, 1, 0],
        {"race": ["b", "a", "a", "a"], "seen": ["a", "a", None, None]},
    )
    problem = rb.Problem("error_rate()", ['recall(race == "a") >= 0.9'], guessed=way)
    compiled = rb.compile(problem, rows)
    objective, violations = compiled.evaluate([1.0, -1.0, 1.0, 1.0])
    assert (objective, violations[0]) == pytest.approx((0.5, 0.9 - 0.5))


def test_a_missing_value_among_alternatives_need_not_occur() -> None:
    rows = rb.Population(None, [0, 1], {"race": ["a", "b"]})
    either = rb.Problem("error_rate()", ['positive_rate(race == "a" or missing(race)) <= 0.5'])
    assert rb.compile(either, rows).constraints
    with pytest.raises(ValueError, match="selects no rows"):
        rb.compile(rb.Problem("error_rate()", ["positive_rate(missing(race)) <= 0.5"]), rows)


def test_scores_of_rows_are_those_of_their_copies() -> None:
    random = np.random.default_rng(0)
    p, y, scores = random.random(40), random.random(40) < 0.5, random.normal(size=40)
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    problem = rb.Problem("error_rate()", ['positive_rate(race == "a") >= 0.6'], guessed=race)
    rows = rb.Population(scores[:, None], y, {"p_a": p, "p_b": 1 - p})
    compiled = rb.compile(problem, rows)
    assert compiled.evaluate(scores)[1] == compiled.evaluate(compiled.first.X[:, 0])[1]
    policy = rb.thresholds(problem, scores, rows, known=[])
    assert p @ policy.decision_proba(scores)[:, 1] / p.sum() >= 0.6 - 1e-9
    assert "assumed to be right" in str(rb.explain(problem, rows)) + str(policy.status)
