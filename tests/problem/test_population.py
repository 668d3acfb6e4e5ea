"""Rows in memory: what they may be made of, their classes, and which of them meet a condition."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ratebound as rb

DAYS = [dt.date(2024, 1, 31), None, dt.date(2024, 2, 1)]


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [dict, pa.table, pd.DataFrame, pl.DataFrame])
def test_columns_may_be_a_table(make):
    table = make({"sex": ["F", "M", "F"], "day": DAYS})
    rows = rb.Population(None, ["no", "yes", "no"], table)
    assert list(rows.columns) == ["sex", "day"]
    late = rb.where(sex="F") & (rb.column("day") >= "2024-02-01")
    assert rows.mask(late).tolist() == [False, False, True]
    assert rows.select([1]).mask(rb.missing("day")).tolist() == [True]


def test_a_lazy_table_is_to_be_collected():
    with pytest.raises(
        TypeError, match=r"this table is lazy: collect it first, as in table.collect"
    ):
        rb.Population(columns=pl.LazyFrame({"c": [1]}))


def test_a_table_may_name_its_columns_by_numbers():
    rows = rb.Population(columns=pd.DataFrame(np.eye(2), columns=[7, 3]))
    assert rows.mask(rb.column(3) == 1).tolist() == [False, True]
    with pytest.raises(ValueError, match="there is no column 1; choose from 7, 3"):
        rows.mask(rb.column(1) == 1)


def test_a_feature_of_an_array_is_a_column():
    features = np.array([[0.0, 1.0], [2.0, 3.0]])
    rows = rb.Population(features)
    assert rows.mask(rb.column(1) > 2).tolist() == [False, True]
    for absent in (2, -1):
        with pytest.raises(ValueError, match=f"there is no column {absent}"):
            rows.mask(rb.column(absent) > 2)


def test_a_named_column_comes_before_a_feature():
    rows = rb.Population(np.zeros((2, 1)), columns={0: [1, 2]})
    assert rows.mask(rb.column(0) == 2).tolist() == [False, True]


def test_features_may_be_sparse():
    sparse = pytest.importorskip("scipy.sparse")
    rows = rb.Population(sparse.csr_matrix(np.eye(4)), [0, 1, 0, 1])
    assert rows.select(np.array([True, False, True, False])).X.shape == (2, 4)
    assert rows.mask(rb.column(1) == 1).tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("chosen", "ages"),
    [
        ([2, 0], [30, 10]),
        (np.array([True, False, True]), [10, 30]),
        (slice(1, None), [20, 30]),
        (np.array([0, 0]), [10, 10]),
    ],
    ids=str,
)
def test_rows_are_selected_with_all_that_is_known_of_them(chosen, ages):
    features = np.array([[10.0], [20.0], [30.0]])
    rows = rb.Population(features, [0, 1, 1], {"age": [10, 20, 30]}, [1, 2, 3], refer="ask")
    part = rows.select(chosen)
    assert part.columns["age"].tolist() == ages
    assert part.X[:, 0].tolist() == ages
    assert part.weights.tolist() == [age / 10 for age in ages]
    assert part.y.tolist() == [int(age > 10) for age in ages]
    assert (part.classes, part.refer, len(part)) == ((0, 1), "ask", len(ages))


def test_a_piece_may_weigh_nothing():
    rows = rb.Population(None, [0, 1, 0, 1], weights=[1, 2, 0, 0])
    pieces = [rows.select([0, 1]), rows.select([2, 3])]
    compiled = rb.compile(rb.Problem("error_rate()"), pieces)
    assert compiled.evaluate([1.0] * 4)[0] == pytest.approx(1 / 3)


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_features_in_a_table_are_columns_too(make):
    table = make({"sex": ["F", "M", "F"], "age": [20, 30, 40]})
    rows = rb.Population(table, [0, 1, 0])
    assert rows.mask(rb.where(sex="F")).tolist() == [True, False, True]
    part = rows.select(np.array([False, True, True]))
    assert type(part.X) is type(table)
    assert part.X.shape == (2, 2)
    assert part.mask(rb.column("age") > 30).tolist() == [False, True]
    other = rb.Population(table, [0, 1, 0], {"site": list("abc")})
    with pytest.raises(ValueError, match="there is no column 'sex'"):
        other.mask(rb.where(sex="F"))


def test_a_part_may_lack_a_value():
    rows = rb.Population(columns={"sex": ["F", "M"]})
    with pytest.raises(ValueError, match="no row has"):
        rows.mask(rb.where(sex="X"))
    assert rows.select([0]).mask(rb.where(sex="M")).tolist() == [False]


# --- what is wrong --------------------------------------------------------------------------------

NAN = float("nan")
WRONG = {  # arguments of Population, and a part of the error
    "nothing": ({}, "the same number of rows, not 0"),
    "no rows": ({"columns": {"a": []}}, "the same number of rows, not 0"),
    "no labels": ({"y": []}, "y holds only [], but two classes are needed"),
    "y short": ({"X": np.zeros((3, 1)), "y": [0, 1]}, "got {'X': 3, 'y': 2}"),
    "column short": ({"y": [0, 1], "columns": {"a": [1]}}, "\"column 'a'\": 1"),
    "weights short": ({"y": [0, 1], "weights": [1]}, "'weights': 1"),
    "negative weight": ({"y": [0, 1], "weights": [1, -1]}, "weights must be finite, not negative"),
    "NaN weight": ({"y": [0, 1], "weights": [1, NAN]}, "weights must be finite"),
    "infinite weight": ({"y": [0, 1], "weights": [1, np.inf]}, "weights must be finite"),
    "zero weights": ({"y": [0, 1], "weights": [0, 0]}, "not all zero"),
    "one label": ({"y": ["a", "a"]}, "y holds only ['a'], but two classes are needed"),
    "three labels": ({"y": list("abc"), "positive": "a"}, "positive='a' must be one of two labels"),
    "no such label": ({"y": ["a", "b"], "positive": "c"}, "positive='c' must be one of two labels"),
    "yes twice": ({"y": [0, 1], "classes": [0, 1], "positive": 1}, "so leave out positive="),
    "one class": ({"y": [0, 0], "classes": [0]}, "two classes are needed: give classes=[no, yes]"),
    "complex labels": ({"y": np.array([1j, 2])}, "y holds values of type complex128"),
    "labels in a table": ({"y": np.zeros((2, 2))}, "(2, 2)"),
    "weights in a table": ({"y": [0, 1], "weights": [[1], [1]]}, "(2, 1)"),
    "column in a table": ({"columns": {"grid": np.zeros((2, 2))}}, "(2, 2)"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_population_says_what_is_wrong(wrong):
    arguments, message = WRONG[wrong]
    with pytest.raises(ValueError, match=re.escape(message)):
        rb.Population(**arguments)


@pytest.mark.parametrize("known", [{"sex": ["F"], "age": [1]}, {}])
def test_an_unknown_column_is_named(known):
    rows = rb.Population(None, [1], known, classes=[0, 1])
    hint = "; did you mean sex?" if known else ""
    with pytest.raises(ValueError, match=re.escape(f"there is no column 'sx'{hint}")):
        rows.mask(rb.column("sx") == "F")


AMOUNTS = {"loan": [1.5, 0, 2], "text": list("abc"), "debt": [1, -2, 3], "gaps": [1, None, None]}


def test_amounts_are_0_where_no_cost_needs_them():
    rows = rb.Population(columns=AMOUNTS)
    needed = np.array([True, False, True])
    assert rows.amounts("loan", needed).tolist() == [1.5, 0, 2]
    assert rows.amounts("gaps", np.array([True, False, False])).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("text", "is used as a cost, but does not hold numbers"),
        ("debt", "finite and not negative"),
        ("gaps", "has no value in 2 rows whose errors it prices"),
        ("gaps", "leave them out, as in cost(not missing(gaps), ...)"),
    ],
)
def test_amounts_that_are_no_costs(name, message):
    rows = rb.Population(columns=AMOUNTS)
    with pytest.raises(ValueError, match=re.escape(message)):
        rows.amounts(name, np.ones(3, dtype=bool))


# --- classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "positive", "classes"),
    [
        ([0, 1, 1], None, (0, 1)),
        ([1, 1], None, (0, 1)),
        ([-1, 1], None, (-1, 1)),
        ([-1, -1], None, (-1, 1)),
        (["yes", "no"], None, ("no", "yes")),
        (["no", "no"], None, ("no", "yes")),
        (["0", "1"], None, ("0", "1")),
        ([True, True], None, (False, True)),
        ([1.0, 0.0], None, (0, 1)),
        (np.array([0, 1], dtype=np.int8), None, (0, 1)),
        (pd.Series(["no", "yes"], dtype="category"), None, ("no", "yes")),
        (pl.Series([False, True]), None, (False, True)),
        (["good", "bad"], None, ("bad", "good")),
        (["good", "bad"], "bad", ("good", "bad")),
        ([0, 1], 0, (1, 0)),
        (["no", "no"], "no", ("yes", "no")),
        (["b", "a", "c"], None, ("a", "b", "c")),
        ([3, 1, 2], None, (1, 2, 3)),
        ([2, "a", 1], None, (1, 2, "a")),
    ],
    ids=str,
)
def test_classes_of_labels(labels, positive, classes):
    assert rb.Population(None, labels, positive=positive).classes == classes


def test_classes_are_plain_values():
    rows = rb.Population(None, np.array([1.0, 0.0]), classes=np.array([0, 1]))
    assert rows.classes == (0, 1)
    assert {type(value) for value in rows.classes} == {int}


def test_positive_says_which_label_recall_is_of():
    rows = rb.Population(None, ["good", "bad", "bad"], positive="bad")
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 1"]), rows)
    assert compiled.evaluate([-1.0, 1.0, -1.0])[1] == pytest.approx([0.5])
    assert rows.select([0]).classes == ("good", "bad")


def test_populations_share_their_classes():
    three = rb.Population(None, ["a", "b", "c", "a"])
    two = rb.Population(None, ["a", "c"])
    problem = rb.Problem("error_rate()", ['recall(of="c", on="pool") >= 0.5'])
    compiled = rb.compile(problem, three, pool=two)
    assert compiled.classes.values == ("a", "b", "c")
    decisions = np.array([0, 0, 0, 0, 0, 2])
    values = compiled.values(compiled.count_decisions(decisions))
    np.testing.assert_allclose(values[0], [1 / 2, 0.5 - 1])


def test_an_unlabelled_population_takes_the_classes_of_others():
    rows = rb.Population(None, ["no", "yes"])
    pool = rb.Population(columns={"a": [1, 2]})
    problem = rb.Problem("error_rate()", ['positive_rate(of="yes", on="pool") <= 0.5'])
    compiled = rb.compile(problem, rows, pool=pool)
    assert compiled.classes.values == ("no", "yes")
    assert compiled.evaluate([1.0, 1.0, 1.0, -1.0])[1] == pytest.approx([0.0])


def test_labels_that_are_missing_are_found_when_needed():
    rows = rb.Population(None, [0, 1, None], {"a": [1, 2, 3]})
    rb.compile(rb.Problem("positive_rate()"), rows)
    with pytest.raises(ValueError, match="y holds None, which is not one of the classes 0, 1"):
        rb.compile(rb.Problem("error_rate()"), rows)


@pytest.mark.parametrize("columns", ["ab", np.zeros((2, 2)), [1, 2], 3])
def test_columns_have_names(columns):
    with pytest.raises(TypeError, match="columns are a mapping or a data frame, got"):
        rb.Population(None, [0, 1], columns)


def test_labels_are_classes_and_not_measurements():
    with pytest.raises(ValueError, match=r"y holds numbers such as 0.1: give classes="):
        rb.Population(None, [0.3, 0.1, 0.7])
    assert rb.Population(None, [0.5, 0.1], classes=[0.1, 0.5]).classes == (0.1, 0.5)
    assert rb.Population(None, [1.0, 0.0]).classes == (0, 1)


@pytest.mark.parametrize(
    "live", [[True, False, True, True], [1, 0, 1, 1], ["yes", "no", "yes", "yes"]]
)
def test_decisions_of_a_live_model_may_be_truth_values(live):
    rows = rb.Population(None, ["yes", "no", "no", "yes"], {"live": live})
    compiled = rb.compile(rb.Problem("error_rate()", ['churn(versus="live") <= 0']), rows)
    assert compiled.evaluate([1.0, -1.0, -1.0, -1.0])[1] == pytest.approx([0.5])


def test_a_population_is_shown_in_a_line():
    rows = rb.Population(np.zeros((1000, 2)), [0, 1] * 500, {"sex": ["F", "M"] * 500})
    assert repr(rows) == "Population(1,000 rows, classes (0, 1), columns ['sex'])"


@pytest.mark.parametrize("labels", ["income", {0, 1}, pd.DataFrame({"y": [0, 1]})])
def test_labels_are_one_column(labels):
    with pytest.raises(TypeError, match="expected one value for each row"):
        rb.Population(None, labels)


def test_weights_are_a_column_and_not_its_name():
    with pytest.raises(TypeError, match="expected one value for each row, got str"):
        rb.Population(None, [0, 1], weights="w")
