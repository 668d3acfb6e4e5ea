"""Values compare by one rule, whatever container holds them."""

import datetime as dt
import operator
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound as rb

from .containers import find_rows, list_containers

BIG = 2**53  # from here on, floats hold only some whole numbers
BERLIN = dt.timezone(dt.timedelta(hours=1))
HALF_PAST = dt.datetime(2024, 1, 31, 0, 30, tzinfo=dt.UTC)
SAME_MOMENT = dt.datetime(2024, 1, 31, 1, 30, tzinfo=BERLIN)
HOUR_BEFORE = dt.datetime(2024, 1, 31, 0, 30, tzinfo=BERLIN)
CENTS = [Decimal("0.10"), Decimal("0.30"), Decimal("2.00"), None]
TEXTS = [" a", "b", "a ", "  ", "", None]
DAYS = [dt.date(2024, 1, 31), dt.date(1969, 12, 31), None]
HOURS = [dt.datetime(2024, 1, 31, 8), dt.datetime(2024, 1, 31)]


def shorten(value):
    """Return the name of a case: one short line."""
    return " ".join(str(value).split())[:50]


CASES = [  # values, their type, a condition, and which rows meet it
    # decimals are their digits
    (CENTS, pa.decimal128(10, 2), "c >= 0.1", [1, 1, 1, 0]),
    (CENTS, pa.decimal128(10, 2), "c < 0.3", [1, 0, 0, 0]),
    (CENTS, pa.decimal128(10, 2), "c == 0.1", [1, 0, 0, 0]),
    (CENTS, pa.decimal128(10, 2), "c == 0.1000000001", [0, 0, 0, 0]),
    (CENTS, pa.decimal128(10, 2), "c != 2", [1, 1, 0, 1]),
    (CENTS, pa.decimal128(10, 2), "c in (0.3, 2)", [0, 1, 1, 0]),
    # whole numbers are exact at any size, also beside gaps
    ([BIG, BIG + 1, 1], pa.int64(), f"c == {BIG}", [1, 0, 0]),
    ([BIG, BIG + 1, 1], pa.int64(), f"c > {BIG}", [0, 1, 0]),
    ([BIG, BIG + 1, 1, None], pa.int64(), f"c == {BIG}", [1, 0, 0, 0]),
    ([BIG, BIG + 1, 1, None], pa.int64(), f"c != {BIG}", [0, 1, 1, 1]),
    ([BIG, BIG + 1, 1], pa.int64(), f"c == {float(BIG)}", [1, 0, 0]),
    ([7, 8, 9], pa.int64(), "c <= 7.5", [1, 0, 0]),
    ([7, 8, 9], pa.int64(), "c == 7.5", [0, 0, 0]),
    ([7, 8, 9], pa.int64(), "c > -1e300", [1, 1, 1]),
    ([2**64 - 1, 2**63 + 1, 0], pa.uint64(), f"c >= {2**63 + 1}", [1, 1, 0]),
    ([2**64 - 1, 2**63 + 1, 0], pa.uint64(), "c > -1", [1, 1, 1]),
    ([2**64 - 1, 2**63 + 1, 0], pa.uint64(), f"c < {2**64}", [1, 1, 1]),
    ([-128, 127, 0], pa.int8(), "c < 300", [1, 1, 1]),
    ([-128, 127, 0], pa.int8(), "c == 300", [0, 0, 0]),
    ([1, 2, None], pa.int64(), "missing(c)", [0, 0, 1]),
    # floats are what they hold
    ([0.1 + 0.2, 0.3, -1.5], pa.float64(), "c <= 0.3", [0, 1, 1]),
    ([0.1, float("nan"), 3.0], pa.float64(), "c < 3", [1, 0, 0]),
    ([0.1, float("nan"), 3.0], pa.float64(), "c != 3", [1, 1, 0]),
    ([0.1, float("nan"), 3.0], pa.float64(), "missing(c)", [0, 1, 0]),
    ([float("inf"), float("-inf"), 3.0], pa.float64(), "c > 1e308", [1, 0, 0]),
    ([-0.0, 0.0, 1.0], pa.float64(), "c == 0", [1, 1, 0]),
    ([float(np.float32(0.1)), 1.5], pa.float32(), "c == 0.1", [0, 0]),
    ([float(np.float32(0.1)), 1.5], pa.float32(), "c > 0.1", [1, 1]),
    ([float(np.float32(0.1)), 1.5], pa.float32(), "c <= 0.1", [0, 0]),
    # a truth value is 1 or 0
    ([True, False, None], pa.bool_(), "c == True", [1, 0, 0]),
    ([True, False, None], pa.bool_(), "c == 1", [1, 0, 0]),
    ([True, False, None], pa.bool_(), "c < 0.5", [0, 1, 0]),
    ([True, False, None], pa.bool_(), "c != 7", [1, 1, 1]),
    ([1, 0, 2], pa.int64(), "c == True", [1, 0, 0]),
    # texts compare as they are stored, blanks and empty texts included
    (TEXTS, pa.string(), 'c == " a"', [1, 0, 0, 0, 0, 0]),
    (TEXTS, pa.string(), 'c == "a"', [0, 0, 0, 0, 0, 0]),
    (TEXTS, pa.string(), 'c == ""', [0, 0, 0, 0, 1, 0]),
    (TEXTS, pa.string(), 'c <= " a"', [1, 0, 0, 1, 1, 0]),
    (TEXTS, pa.string(), 'c >= "a"', [0, 1, 1, 0, 0, 0]),
    (TEXTS, pa.string(), 'c in ("b", "  ")', [0, 1, 0, 1, 0, 0]),
    (TEXTS, pa.string(), 'c != "b"', [1, 0, 1, 1, 1, 1]),
    (TEXTS, pa.string(), "missing(c)", [0, 0, 0, 0, 0, 1]),
    (TEXTS, pa.string(), 'not c == "b"', [1, 0, 1, 1, 1, 1]),
    (["A", "a", "é", "Z"], pa.string(), 'c < "a"', [1, 0, 0, 1]),
    (["1", "2", "10", "1.0", "01"], pa.string(), 'c == "1"', [1, 0, 0, 0, 0]),
    (["2024-01-31", "2023-12-01"], pa.string(), 'c >= "2024-01-01"', [1, 0]),
    # dates and times, in UTC if they have a zone
    (DAYS, pa.date32(), 'c >= "1970-01-01"', [1, 0, 0]),
    (DAYS, pa.date32(), 'c == "2024-01-31"', [1, 0, 0]),
    (DAYS, pa.date32(), 'c < "2024-01-31 00:00:01"', [1, 1, 0]),
    (DAYS, pa.date32(), 'c == "2024-01-31 08:00"', [0, 0, 0]),
    (DAYS, pa.date32(), 'c != "2024-01-31"', [0, 1, 1]),
    (DAYS, pa.date32(), "missing(c)", [0, 0, 1]),
    (HOURS, pa.timestamp("us"), 'c > "2024-01-31"', [1, 0]),
    (HOURS, pa.timestamp("ns"), 'c > "2024-01-31"', [1, 0]),
    (HOURS, pa.timestamp("ms"), 'c <= "2024-01-31 08:00:00.0001"', [1, 1]),
    (HOURS, pa.timestamp("ns"), 'c < "3000-01-01"', [1, 1]),
    (HOURS, pa.timestamp("ns"), 'c < "1066-01-01"', [0, 0]),
    ([HOURS[0], dt.datetime(1890, 1, 1)], pa.timestamp("s"), 'c < "2024-01-31 08:00:01"', [1, 1]),
    ([HALF_PAST, HOUR_BEFORE], pa.timestamp("us", "UTC"), 'c >= "2024-01-31 01:00+01:00"', [1, 0]),
    ([HALF_PAST, SAME_MOMENT], pa.timestamp("us", "UTC"), 'c == "2024-01-31 00:30"', [1, 1]),
    ([HALF_PAST, HOUR_BEFORE], pa.timestamp("us", "Europe/Berlin"),
     'c == "2024-01-31 00:30"', [1, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "arrow_type", "text", "met"), CASES, ids=shorten)
def test_every_container_compares_alike(values, arrow_type, text, met):
    condition = rb.parse_condition(text)
    for container, column in list_containers(values, arrow_type):
        assert find_rows(column, condition) == list(map(bool, met)), container


REFUSED = [  # values, their type, a condition, and a part of the error
    (["1", "10", "2"], pa.string(), 'c < "3"', "looks like a number"),
    (["$5", "$12"], pa.string(), 'c < "$7"', "looks like a number"),
    (["31.1.2024", "1.2.2024"], pa.string(), 'c < "2.2.2024"', "write dates as in 2024-01-31"),
    (["a", "b"], pa.string(), "c == 3", "column 'c' holds text but is compared with 3"),
    (["a", None], pa.string(), "c < 3", "column 'c' holds text but is compared with 3"),
    ([1, 2], pa.int64(), 'c == "1"', "column 'c' holds numbers but is compared with '1'"),
    ([1, None], pa.int64(), 'c < "1"', "column 'c' holds numbers but is compared with '1'"),
    ([1.5, 2.0], pa.float64(), 'c != "a"', "column 'c' holds numbers but is compared with 'a'"),
    ([True, False], pa.bool_(), 'c == "yes"', "holds numbers but is compared with 'yes'"),
    (CENTS, pa.decimal128(10, 2), 'c == "0.1"', "holds numbers but is compared with '0.1'"),
    (DAYS, pa.date32(), 'c < "31.1.2024"', "column 'c' holds dates but is compared with"),
    (DAYS, pa.date32(), "c < 3", 'write a date as in "2024-01-31", or a time'),
    (
        HOURS,
        pa.timestamp("us"),
        'c == "soon"',
        "column 'c' holds dates but is compared with 'soon'",
    ),
]


@pytest.mark.parametrize(("values", "arrow_type", "text", "message"), REFUSED, ids=shorten)
def test_every_container_refuses_alike(values, arrow_type, text, message):
    condition = rb.parse_condition(text)
    for container, column in list_containers(values, arrow_type):
        error = find_rows(column, condition)
        assert isinstance(error, str), container
        assert message in error, container


# --- random columns -------------------------------------------------------------------------------

RELATIONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KINDS = {  # a type, and values that are easily confused
    "text": (pa.string(), ["a", "A", " a", "b ", "", 'q"q', "b\\s", "é", "é", "True", "x"]),
    "text of dates": (pa.string(), ["2024-01-31", "2024-02-29", "2023-12-01"]),
    "int": (pa.int64(), [-3, 0, 1, 7]),
    "int8": (pa.int8(), [-128, 127, 0]),
    "uint64": (pa.uint64(), [2**64 - 1, 2**63, 2**63 + 1, 0]),
    "huge": (pa.int64(), [BIG, BIG + 1, BIG - 1, 2**63 - 1, 1]),
    "float": (pa.float64(), [-0.0, 0.0, 0.1 + 0.2, 0.3, 1e308, -1.5]),
    "float32": (pa.float32(), [float(np.float32(0.1)), float(np.float32(0.3)), 1.5]),
    "bool": (pa.bool_(), [True, False]),
    "decimal": (pa.decimal128(12, 2), [*CENTS[:3], Decimal("-1.05")]),
    "date": (pa.date32(), [dt.date(2024, 1, 31), dt.date(2024, 2, 29), dt.date(1969, 12, 31)]),
    "time": (pa.timestamp("us"), [HOURS[1], dt.datetime(2024, 1, 31, 0, 0, 0, 1)]),
    "seconds": (pa.timestamp("s"), [HOURS[1], dt.datetime(1890, 1, 1)]),
    "zone": (pa.timestamp("us", "UTC"), [HALF_PAST, HALF_PAST - dt.timedelta(hours=1)]),
    "codes": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "c"]),
    "codes of numbers": (pa.dictionary(pa.int8(), pa.int64()), [1, 2, 3]),
}


@st.composite
def columns(draw):
    """A kind of column, its values, perhaps with gaps, and one of the values to compare with."""
    kind = draw(st.sampled_from(list(KINDS)))
    known = st.sampled_from(KINDS[kind][1])
    values = draw(st.lists(known | st.none(), min_size=1, max_size=12))
    return kind, [draw(known), *values], draw(known)


@settings(derandomize=True, max_examples=250)
@given(columns(), st.sampled_from(list(RELATIONS)))
def test_every_container_compares_as_a_loop_does(column, relation):
    kind, values, wanted = column
    arrow_type, _ = KINDS[kind]
    compare = RELATIONS[relation]
    met = [relation == "!=" if value is None else compare(value, wanted) for value in values]
    built = compare(rb.column("c"), wanted)
    condition = rb.parse_condition(str(built))  # text is what is stored
    for container, held in list_containers(values, arrow_type):
        assert find_rows(held, condition) == met, (container, condition)


# --- the same as rates ----------------------------------------------------------------------------


def count_share(text, columns):
    """Return the share of yeses of the column "d" among the rows of a condition."""
    rows = rb.Population(None, [0, 1, 0, 1], columns)
    problem = rb.Problem("error_rate()", [f'positive_rate({text}, by="d") <= 0'])
    return rb.compile(problem, rows).evaluate([0.0] * 4)[1][0]


@pytest.mark.parametrize(("relation", "share"), [(">=", 1 / 4), ("<=", 1 / 2), ("==", 1 / 2)])
def test_rates_of_decimals(relation, share):
    values = [Decimal("0.10"), Decimal("0.10"), Decimal("2.00"), Decimal("0.30")]
    for container, column in list_containers(values, pa.decimal128(10, 2)):
        columns = {"c": column, "d": [1, 0, 0, 0]}
        assert count_share(f"c {relation} 0.1", columns) == pytest.approx(share), container
        with pytest.raises(ValueError, match="has no row"):
            count_share("c < 0.1", columns)


@pytest.mark.parametrize("values", [[BIG, BIG + 1, 1, 7], [BIG, BIG + 1, 1, None]], ids=str)
def test_rates_of_whole_numbers_that_no_float_holds(values):
    for container, column in list_containers(values, pa.int64()):
        columns = {"c": column, "d": [1, 0, 0, 0]}
        assert count_share(f"c == {BIG}", columns) == 1, container


def test_an_equal_text_is_in_order_too():
    columns = {"c": [" a", "b", "c", "d"], "d": [1, 0, 0, 0]}
    assert count_share('c == " a"', columns) == count_share('c <= " a"', columns) == 1


# --- what columns may hold ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "text", "met"),
    [
        ([1, "x", 2.5], 'c == "x"', [0, 1, 0]),
        ([1, "x", 2.5], "c == 1", [1, 0, 0]),
        ([1, "x", 2.5], "c != 1", [0, 1, 1]),
        ([True, 2.5, 1], "c == 1", [1, 0, 1]),
        ([Decimal("0.1"), 0.1, 1], "c == 0.1", [1, 1, 0]),
        ([None, None], "missing(c)", [1, 1]),
        ([None, None], "c == 3", [0, 0]),
        ([None, None], 'c != "a"', [1, 1]),
        ([dt.date(2024, 1, 31), dt.datetime(2024, 1, 31)], 'c == "2024-01-31"', [1, 1]),
        ([HALF_PAST, SAME_MOMENT], 'c == "2024-01-31 00:30"', [1, 1]),
        ([pd.Timestamp("2024-01-31"), pd.NaT], 'c == "2024-01-31"', [1, 0]),
        ([pd.NA, 1, float("nan")], "missing(c)", [1, 0, 1]),
        ([np.str_("a"), "b"], 'c == "a"', [1, 0]),
        ([np.int8(1), 2], "c == 1", [1, 0]),
        (range(3), "c >= 1", [0, 1, 1]),
        (np.array(["2024-01", "NaT"], "M8[M]"), 'c == "2024-01-01"', [1, 0]),
        (np.array([1, 2], dtype=">i4"), "c == 1", [1, 0]),
        (pd.Series([1.5, None], dtype="Float64"), "missing(c)", [0, 1]),
        (pd.Categorical(["a", "b"]), 'c == "a"', [1, 0]),
        (pd.Series(["a", "b"], dtype=object), 'c == "a"', [1, 0]),
        (pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), 'c == "a"', [1, 0]),
        (pd.array([BIG, BIG + 1, None], dtype="Int64"), f"c == {BIG}", [1, 0, 0]),
        (pa.array([BIG, BIG + 1, None]), f"c == {BIG}", [1, 0, 0]),
        (pa.array(["a", "b", None]), 'c == "a"', [1, 0, 0]),
        ([3, dt.date(2024, 1, 31)], "c == 3", [1, 0]),
    ],
    ids=shorten,
)
def test_columns_of_all_sorts(values, text, met):
    assert find_rows(values, rb.parse_condition(text)) == list(map(bool, met))


def test_a_column_of_numpy_texts_of_any_length():
    text_type = pytest.importorskip("numpy", "2.0").dtypes.StringDType()
    column = np.array(["a", "bb"], dtype=text_type)
    assert find_rows(column, rb.column("c") == "a") == [True, False]


def test_a_column_of_numbers_and_texts_has_no_order():
    message = find_rows([1, "a"], rb.column("c") < 3)
    assert message == "column 'c' holds numbers and text but is compared with 3"


def make_lists():
    lists = np.empty(2, dtype=object)
    lists[:] = [[1], [2, 3]]
    return lists


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (make_lists(), "column 'c' holds lists"),
        ([[1], [2, 3]], "column 'c' holds lists"),
        (np.array([1 + 2j, 3]), "column 'c' holds values of type complex128"),
        (np.array([b"a"]), "column 'c' holds values of type |S1"),
        (np.array([1], dtype="m8[s]"), "column 'c' holds values of type timedelta64[s]"),
        ([b"a", "b"], "column 'c' holds b'a': convert its values to text, numbers or dates"),
        ([object(), 1], "convert its values to text, numbers or dates"),
    ],
    ids=["lists", "a list of lists", "complex", "bytes", "durations", "a byte string", "an object"],
)
def test_what_no_condition_compares(values, message):
    assert message in find_rows(values, rb.column("c") == 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('c == "x"', 'no row has c == "x"; choose from a, b'),
        ('c != "x"', 'no row has c == "x"'),
        ('c in ("a", "x")', 'no row has c == "x"'),
        ('c == "aa"', "did you mean a?"),
    ],
)
def test_a_value_that_no_row_has_is_an_error(text, message):
    rows = rb.Population(columns={"c": ["a", "b", None]})
    with pytest.raises(ValueError, match=re.escape(message)):
        rows.mask(rb.parse_condition(text))
    absent = rb.Population(columns={"c": ["a", "b", None]}, allow_absent=True)
    assert absent.mask(rb.parse_condition(text)).shape == (3,)


@pytest.mark.parametrize(
    "texts",
    [["31.01.2024", "01.02.2024"], ["2024/09/30", "2024/01/31"], ["30 Sep 2024"], ["2024-9-30"]],
)
def test_dates_in_another_form_are_not_ordered(texts):
    rows = rb.Population(columns={"c": texts})
    with pytest.raises(ValueError, match="looks like a number or a date"):
        rows.mask(rb.column("c") >= "2024-01-31")
