"""The same lines from every container and from a plain loop; lines evaluate as their rows do."""

from functools import reduce

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ratebound as rb
from ratebound.problem.columns import fold
from ratebound.problem.comparison import meets
from ratebound.problem.counting import count_lines
from ratebound.problem.lines import Lines, evaluate_lines, make_lines
from ratebound.problem.needs import find_needs

from .lines_by_loop import HELD, count_by_loop, leaves, tables

ARROW_TYPES = [
    pa.string(),
    pa.int64(),
    pa.int8(),
    pa.uint64(),
    pa.float64(),
    pa.float32(),
    pa.decimal128(10, 2),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us"),
]
TYPES = dict(zip(HELD, ARROW_TYPES, strict=True))
SLOW = settings(max_examples=60, derandomize=True, suppress_health_check=list(HealthCheck))


def make_arrow(table):
    types = TYPES | {"y": pa.bool_(), "said yes": pa.bool_(), "w": pa.float64()}
    return pa.table({name: pa.array(values, types[name]) for name, values in table.items()})


def make_containers(table):
    arrow = make_arrow(table)
    polars = pl.from_arrow(arrow)
    return {
        "lists": table,
        "arrow": arrow,
        "polars": polars,
        "lazy polars": polars.lazy(),
        "pandas of arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
    }


def require_same(lines, expected):
    assert lines.counts.keys() == expected.keys()
    for kind, sums in expected.items():
        assert lines.counts[kind] == pytest.approx(sums, rel=1e-12)


@given(tables(), st.lists(leaves(), min_size=1, max_size=8))
@SLOW
def test_every_container_counts_as_a_loop(table, conditions):
    constraints = [rb.positive_rate(condition) <= 0.9 for condition in conditions]
    problem = rb.Problem("error_rate()", constraints)
    needs = find_needs(problem)
    expected = count_by_loop(table, needs)
    for rows in make_containers(table).values():
        lines = count_lines(problem, rows, "y", "said yes", "w")
        require_same(lines, expected)
    if lines.total("weight").any():
        require_examples(lines)


def require_examples(lines):
    """Examples meet just the conditions of their lines."""
    examples = lines.make_examples()
    for index, leaf in enumerate(lines.needs.conditions):
        expected = lines.values(f"c{index}").tolist()
        assert [meets(value, leaf) for value in examples.columns[leaf.column]] == expected
        assert examples.mask(leaf).tolist() == expected


@given(tables())
@settings(SLOW, max_examples=30)
def test_values_of_columns_are_kept_alike(table):
    texts = ["equalized_odds(text, slack=0.1)", "positive_rate(tiny < 5) >= 0.1"]
    problem = rb.Problem("error_rate()", [*texts, 'churn(versus="flag") <= 0.1'])
    needs = find_needs(problem, by=["tiny", "day"])
    expected = count_by_loop(table, needs)
    assert needs.conditions == ()
    for rows in make_containers(table).values():
        lines = count_lines(problem, rows, "y", "said yes", "w", by=["tiny", "day"])
        require_same(lines, expected)
        assert sum(map(len, lines.split("day").values())) == len(lines)


# --- values ---------------------------------------------------------------------------------------

TEXTS = [
    "recall(sex) >= 0.9 * recall()",
    'churn(age < 30.5 or missing(age), versus="live") <= 0.1',
    'cost(age >= 40, false_negative="amount") <= 1',
    "equal_opportunity(sex, slack=0.1, min_rows=5)",
    'positive_rate(sex != "F", by="live") >= 0.2',
    "precision(not (age < 40) and sex == 'F') >= 0.5",
    "0.1 <= predicted_positives(per=100) <= 80",
]


def make_table(seed, rows=700):
    random = np.random.default_rng(seed)
    sex = random.choice(np.array(["F", "M", None], dtype=object), rows)
    age = random.integers(18, 80, rows).astype(float)
    age[random.random(rows) < 0.1] = np.nan
    return {
        "sex": sex,
        "age": age,
        "amount": random.random(rows) * 10,
        "live": random.integers(0, 2, rows),
        "y": random.integers(0, 2, rows),
        "yes": random.integers(0, 2, rows),
        "w": random.integers(0, 4, rows) + 0.5,
        "month": random.choice(["jan", "feb", "mar"], rows),
    }


def evaluate_rows(problem, table, weights):
    rows = rb.Population(None, table["y"], table, weights)
    compiled = rb.compile(problem, rows)
    (values,) = compiled.values(compiled.count_decisions(table["yes"]))
    pieces = len(compiled.objective.pieces)
    return compiled.objective.value(values[:pieces]), values[pieces:]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("seed", range(3))
def test_lines_evaluate_as_their_rows(seed, weight):
    table = make_table(seed)
    problem = rb.Problem("error_rate()", TEXTS)
    weights = None if weight is None else table["w"]
    objective, violations = evaluate_rows(problem, table, weights)
    lines = count_lines(problem, pd.DataFrame(table), "y", "yes", weight, by=["month"])
    parts = lines.split("month")
    for counted in (lines, reduce(Lines.__add__, parts.values())):
        counted_objective, counted_violations = evaluate_lines(counted)
        assert counted_objective == pytest.approx(objective, abs=1e-12)
        assert counted_violations == pytest.approx(violations, abs=1e-9)


def test_lines_know_which_rows_they_count():
    table = make_table(0)
    lines = count_lines(rb.Problem("error_rate()", TEXTS[:2]), table, "y", "yes")
    counts = np.bincount(lines.line_of_row)
    assert counts.tolist() == lines.total("rows").tolist()
    decisions = lines.values("decision")[lines.line_of_row]
    assert decisions.tolist() == table["yes"].tolist()


def test_groups_of_a_report_are_kept_apart():
    table = make_table(1)
    problem = rb.Problem("error_rate()", ["recall() >= 0.5"])
    lines = count_lines(problem, table, "y", "yes", by=["sex", rb.column("age") < 40])
    examples = lines.make_examples()
    young = examples.mask(rb.column("age") < 40) & examples.mask(rb.where(sex="F"))
    expected = np.sum((table["age"] < 40) & (table["sex"] == "F"))
    assert lines.total("rows")[young].sum() == expected


def test_small_groups_are_told_by_rows_and_not_by_lines():
    table = {"sex": ["F"] * 50 + ["M"] * 50, "y": [0, 1] * 50, "yes": [0, 1] * 50}
    problem = rb.Problem("error_rate()", ["minimum_recall(sex, at_least=0.5, min_rows=20)"])
    lines = count_lines(problem, table, "y", "yes")
    assert len(evaluate_lines(lines)[1]) == 2


def test_fold_numbers_distinct_rows():
    random = np.random.default_rng(0)
    columns = [random.integers(-1, 2**size, 500) for size in (1, 20, 30, 3, 25)]
    first, line_of_row = fold(columns)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert len(first) == len(set(rows))
    for row, line in enumerate(line_of_row):
        assert rows[first[line]] == rows[row]


# --- errors ---------------------------------------------------------------------------------------

PROBLEM = rb.Problem("error_rate()", ["recall(age < 30) >= 0.5", "recall(age < 20) >= 0.5"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "there is no column 'y'"),
        ({"age": None}, "there is no column 'age'"),
        ({"w": [1.0, -1.0]}, "1 rows have a weight|weights must be finite and not negative"),
        ({"y": [1, None]}, "1 rows have no label"),
        ({"yes": [1, None]}, "1 rows have no decision"),
        ({"age": ["a", "b"]}, "holds text but is compared with"),
    ],
)
@pytest.mark.parametrize("container", [dict, pl.DataFrame])
def test_rows_that_cannot_be_counted(change, message, container):
    table = {"age": [20, 40], "y": [0, 1], "yes": [0, 1], "w": [1.0, 1.0]} | change
    present = {name: values for name, values in table.items() if values is not None}
    with pytest.raises(ValueError, match=message):
        count_lines(PROBLEM, container(present), "y", "yes", "w")


def test_a_problem_that_needs_labels_or_scores_says_so():
    with pytest.raises(ValueError, match="name their column"):
        count_lines(PROBLEM, {"age": [1], "decision": [1]})
    with pytest.raises(ValueError, match="needs scores"):
        find_needs(rb.Problem("error_rate()", ["recall(at=0.3) >= 0.5"]))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([True, False, 1, 1, 5, 5, 5], "no row has age < 20: True, age < 30: False"),
        ([False, True, 1, 1, 5, 9, 5], "no rows have these sums"),
        ([False, True, 1, 1, 0, 0, 0], "no rows have these sums"),
        ([False, True, 1, 1, 2.5, 2.5, 2.5], "no rows have these sums"),
        ([False, True, 1, 1, 5, 5], "a line has 7 values"),
    ],
)
def test_edited_lines_are_noticed(record, message):
    problem = rb.Problem("error_rate()", ["recall(age < 20) >= 0.5", "recall(age < 30) >= 0.5"])
    with pytest.raises(ValueError, match=message):
        evaluate_lines(make_lines(find_needs(problem), [record]))


def test_lines_of_two_problems_do_not_add_up():
    table = {"age": [20, 40], "y": [0, 1], "yes": [0, 1]}
    one = count_lines(PROBLEM, table, "y", "yes")
    other = count_lines(rb.Problem("error_rate()"), table, "y", "yes")
    with pytest.raises(ValueError, match="two problems do not add up"):
        one + other
    doubled = one + one
    assert doubled.total("rows").tolist() == (2 * one.total("rows")).tolist()


@pytest.mark.parametrize(
    "day", [["2019-12-31", "2020-02-01", None], pd.to_datetime(["2019-12-31", "2020-02-01", None])]
)
def test_lines_before_and_after_a_date(day):
    table = {"day": day, "y": [0, 1, 1], "yes": [0, 1, 0]}
    problem = rb.Problem("error_rate()", ['recall(day < "2020-01-01" or missing(day)) >= 0.5'])
    lines = count_lines(problem, table, "y", "yes")
    assert evaluate_lines(lines)[1] == pytest.approx([0.5])
