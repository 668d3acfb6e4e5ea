"""Conditions combine flat, hold plain values, and print as the text that reads back."""

import datetime as dt
import enum
import re
from dataclasses import FrozenInstanceError
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound as rb
from ratebound.rates.conditions import (
    EVERYONE,
    In,
    format_column,
    format_value,
    leaves,
    replace_leaves,
)

A = rb.column("a") == 1
B = rb.column("b") == 2
C = rb.column("c") == 3
BERLIN = dt.timezone(dt.timedelta(hours=1))


# --- combining ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((A & B) & C, A & (B & C)),
        ((A | B) | C, A | (B | C)),
        (~~A, A),
        (~~(A & B), A & B),
        (rb.where() & A, A),
        (A & rb.where(), A),
        (rb.where() | A, rb.where()),
        (A | rb.where(), rb.where()),
        (rb.where(a=1, b=2), A & B),
        (rb.where(a=[1]), rb.column("a").isin((1,))),
        (rb.where(a={1: "x"}.keys()), rb.column("a").isin([1])),
        (rb.where(a=np.int64(1)), A),
        (rb.where(a=np.array([1, 2])), rb.where(a=(1, 2))),
        (rb.where(a=np.str_("x")), rb.where(a="x")),
    ],
)
def test_equal_conditions_are_equal(left, right):
    assert left == right
    assert hash(left) == hash(right)
    assert str(left) == str(right)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (A & B, "a == 1 and b == 2"),
        (A & B | C, "a == 1 and b == 2 or c == 3"),
        (A & (B | C), "a == 1 and (b == 2 or c == 3)"),
        (~A, "not a == 1"),
        (~(A & B) | C, "not (a == 1 and b == 2) or c == 3"),
        (~(A | B) & C, "not (a == 1 or b == 2) and c == 3"),
        ((rb.column("a") >= 1) & (rb.column("a") < 5), "1 <= a < 5"),
        ((rb.column("a") < 5) & (rb.column("a") >= 1), "a < 5 and a >= 1"),
        ((rb.column("a") > 1) & (rb.column("b") < 5), "a > 1 and b < 5"),
        (A & (rb.column("a") > 1) & (rb.column("a") <= 5), "a == 1 and 1 < a <= 5"),
        (~((rb.column("a") > 1) & (rb.column("a") < 5)), "not (1 < a < 5)"),
        (rb.column("a") != "x", 'a != "x"'),
        (rb.column("a").isin(["x", 2]), 'a in ("x", 2)'),
        (~rb.column("a").isin([True]), "not a in (True,)"),
        (rb.missing("a b") & ~rb.missing(3), 'missing(column("a b")) and not missing(column(3))'),
        (rb.decided & A, "decided and a == 1"),
        (rb.where(), ""),
    ],
)
def test_conditions_print_as_text(condition, text):
    assert str(condition) == repr(condition) == text
    if text:
        assert rb.parse_condition(text) == condition


def test_leaves_of_a_condition():
    assert list(leaves(A & (B | ~C))) == [A, B, C]
    assert list(leaves(EVERYONE)) == []


def test_leaves_are_replaced():
    def name_d(leaf):
        return rb.column("d") == leaf.value

    replaced = replace_leaves(A & (B | ~C), name_d)
    assert str(replaced) == "d == 1 and (d == 2 or not d == 3)"
    assert replace_leaves(EVERYONE, name_d) == EVERYONE


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: bool(A), "combine conditions with & | ~"),
        (lambda: A and B, "neither true nor false"),
        (lambda: 18 <= rb.column("age") < 25, "not with 'and'"),
        (lambda: A & "b == 1", "expected a condition such as"),
        (lambda: A | True, "expected a condition such as"),
        (lambda: rb.column("a").isin("xy"), "isin takes a list of one or more values"),
        (lambda: rb.column("a").isin([]), "isin takes a list of one or more values"),
        (lambda: rb.column(""), "a column name must be text or a whole number"),
        (lambda: rb.column(1.5), "a column name"),
        (lambda: rb.column(True), "a column name"),
        (lambda: rb.missing(None), "a column name"),
        (lambda: hash(rb.column("a")), "unhashable"),
    ],
)
def test_what_has_no_meaning_is_refused(build, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        build()


def test_all_rows_have_no_opposite():
    with pytest.raises(ValueError, match="its negation selects no rows"):
        ~rb.where()


def test_conditions_are_frozen():
    with pytest.raises(FrozenInstanceError):
        A.value = 2


# --- values ---------------------------------------------------------------------------------------


class Grade(enum.IntEnum):
    LOW = 1


class Answer(enum.StrEnum):
    YES = 'say "yes"'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (True, "True"),
        (0.5, "0.5"),
        ("a", '"a"'),
        ("", '""'),
        (" a ", '" a "'),
        ('say "é"', r'"say \"é\""'),
        ("back\\slash", r'"back\\slash"'),
        ("line\nbreak", r'"line\nbreak"'),
        ("hidden\u2028break", r'"hidden\u2028break"'),
        ("half\ud800", r'"half\ud800"'),
        (np.int8(3), "3"),
        (np.float32(0.5), "0.5"),
        (np.bool_(True), "True"),
        (np.str_("a"), '"a"'),
        (np.array(7), "7"),
        (Grade.LOW, "1"),
        (Answer.YES, r'"say \"yes\""'),
        (Decimal("0.10"), "0.1"),
        (Decimal("2.00"), "2"),
        (dt.date(2024, 1, 31), '"2024-01-31"'),
        (dt.datetime(2024, 1, 31, 8, 30), '"2024-01-31 08:30:00"'),
        (dt.datetime(2024, 1, 31, 8, 30, tzinfo=BERLIN), '"2024-01-31 08:30:00+01:00"'),
        (np.datetime64("2024-01-31"), '"2024-01-31"'),
        (np.datetime64("2024-01-31T08:30", "ns"), '"2024-01-31 08:30:00"'),
        (pd.Timestamp("2024-01-31 08:30"), '"2024-01-31 08:30:00"'),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_values_become_plain(value, text):
    condition = rb.column("day") >= value
    assert str(condition) == f"day >= {text}"
    assert type(condition.value) in (str, bool, int, float)
    assert rb.parse_condition(str(condition)) == condition


MISSING = [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("nan")]


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_values_are_said_by_missing(value):
    with pytest.raises(TypeError, match=re.escape("rows without a value are rb.missing(column)")):
        _ = rb.column("c") == value


@pytest.mark.parametrize(
    "value",
    [float("inf"), b"a", 1j, [1], dt.time(8), rb.column("b"), 10**400, Decimal("1e400"), object()],
    ids=lambda value: repr(value)[:20],
)
def test_other_values_are_refused(value):
    with pytest.raises(TypeError, match="expected text, True, False or a finite number"):
        _ = rb.column("c") < value


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("age", "age"),
        ("_x1", "_x1"),
        ("class", "class"),
        ("hours per week", 'column("hours per week")'),
        ("a.b", 'column("a.b")'),
        ("first.b", "first.b"),
        ("second.a b", 'column("second.a b")'),
        ("first.", 'column("first.")'),
        ("first.in", 'column("first.in")'),
        ("first.second.b", 'column("first.second.b")'),
        ("größe", 'column("größe")'),
        ("1st", 'column("1st")'),
        ("AND", 'column("AND")'),
        ("true", 'column("true")'),
        ("decided", 'column("decided")'),
        ("abs", 'column("abs")'),
        ('say "hi"', r'column("say \"hi\"")'),
        (3, "column(3)"),
        (-3, "column(-3)"),
    ],
)
def test_columns_print_as_they_are_read(name, text):
    assert format_column(name) == text
    assert rb.parse_condition(f"{text} == 1") == (rb.column(name) == 1)
    assert rb.parse_condition(f"missing({text})") == rb.missing(name)


AWKWARD = r"""
sex|hours per week|class|None|True|lambda|match|on|at|versus|column|naïve|ﬁeld|年齢|a.b|0x|missing
say "hi"|it's|'both' "quotes"|back\slash|\|trailing\\|{brace}|#|(|;|🙂|recall|smallest|abs|“|%
"""
HIDDEN = ["\n", "\r\n", "tab\t", "\x00", "\x0c", "\x85", "\u2028", "\N{RIGHT-TO-LEFT OVERRIDE}"]
names = st.sampled_from([*AWKWARD.strip().replace("\n", "|").split("|"), *HIDDEN])
texts = names | st.text(max_size=8)
numbers = st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
values = texts | st.booleans() | numbers
comparisons = st.builds(
    lambda name, relation, value: getattr(rb.column(name), f"__{relation}__")(value),
    names | st.integers(0, 9),
    st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]),
    values,
)
memberships = st.builds(
    lambda name, listed: rb.column(name).isin(listed),
    names,
    st.lists(values, min_size=1, max_size=3),
)
simple_conditions = comparisons | memberships | st.builds(rb.missing, names) | st.just(rb.decided)


def combine(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        inner.map(lambda condition: ~condition),
        pairs.map(lambda pair: pair[0] & pair[1]),
        pairs.map(lambda pair: pair[0] | pair[1]),
    )


conditions = st.recursive(simple_conditions, combine, max_leaves=6)


@settings(derandomize=True, max_examples=300)
@given(conditions)
def test_what_is_printed_is_read_back(condition):
    text = str(condition)
    assert text.isprintable()  # one line, nothing hidden
    again = rb.parse_condition(text)
    assert again == condition
    assert str(again) == text


@settings(derandomize=True, max_examples=200)
@given(values)
def test_values_in_a_list_are_read_back(value):
    text = f"a in ({format_value(value)},)"
    assert rb.parse_condition(text) == In("a", (value,))
