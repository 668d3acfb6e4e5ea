"""Rates of one's own are rows of the table, checked when they are defined."""

import re

import pytest

import ratebound as rb
from ratebound.rates.table import KINDS


@pytest.fixture(autouse=True)
def forget_definitions():
    """Leave the table as it was, for the other tests."""
    known = dict(KINDS)
    yield
    KINDS.clear()
    KINDS.update(known)


@pytest.mark.parametrize(
    ("event", "among", "counted", "below"),
    [
        ("d", "1", "d", "1"),
        ("d&~y", "1", "d & ~y", "1"),
        ("d", "y", "d & y", "y"),
        (" d & y ", "y", "d & y", "y"),
        ("d!=y", "v==y", "d!=y & v==y", "v==y"),
        ("d or y", "v", "d & v or y & v", "v"),
        ("~d | y", "1", "~d or y", "1"),
        ("~decided", "y", "~decided & y", "y"),
        ("d & y", None, "d & y", None),
    ],
)
def test_a_rate_counts_an_event_among_another(event, among, counted, below):
    rate = rb.rate("own_share", event, among)
    options = {"versus": "live"} if "versus" in rate.takes else {}
    (quantity,) = rate(**options).rates
    assert [part.event for part in quantity.counted] == [counted]
    if below is None:
        assert quantity.among is None
    else:
        assert [part.event for part in quantity.among] == [below]


def test_a_rate_of_ones_own_is_read_printed_and_described():
    rate = rb.rate("needless_visits", "d & ~y", better="less")
    assert str(rate(sex="Female") <= 0.02) == 'needless_visits(sex == "Female") <= 0.02'
    bound = rb.parse("needless_visits(age < 25, at=0.5) <= 0.02")
    assert rb.parse(str(bound)) == bound
    assert rate.meaning == "Share of rows where d & ~y, among those where 1."
    assert rate.takes == ("of", "by", "on", "at")
    assert rb.needless_visits is rate
    with pytest.raises(ValueError, match="ask for the worst"):
        rb.Problem(maximize="needless_visits()")


def test_a_ratio_of_ones_own_may_be_above_1():
    rate = rb.ratio("frequency_bias", "d", "y", meaning="Alarms for each case.")
    assert rate.formula == "#(ŷ) / #(y)"
    assert rate.meaning == "Alarms for each case."
    assert rb.parse("frequency_bias(age < 25) <= 1.1") == (rate(rb.column("age") < 25) <= 1.1)


def test_rates_of_ones_own_may_be_defined_again():
    rb.rate("own_twice", "d")
    rb.rate("own_twice", "~d")
    assert rb.parse("own_twice() >= 0.1").rates[0].counted[0].event == "~d"


@pytest.mark.parametrize(
    "name",
    ["recall", "coverage", "equalized_odds", "smallest", "per", "decided", "versus", "f_score"],
)
def test_a_known_name_is_taken(name):
    with pytest.raises(ValueError, match=f"{name} is taken: give your rate another name"):
        rb.rate(name, "d")
    with pytest.raises(ValueError, match=f"{name} is taken"):
        rb.ratio(name, "d", "y")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("two words", "d"), "a rate needs a plain word as its name"),
        (("größe", "d"), "a rate needs a plain word as its name"),
        (("", "d"), "a rate needs a plain word as its name"),
        (("own", "d & z"), "cannot read 'z' in the event 'd & z'"),
        (("own", ""), "cannot read ''"),
        (("own", "d &"), "cannot read ''"),
        (("own", "d == 1"), "cannot read 'd==1'"),
        (("own", "d", "y or d"), "among= takes no 'or', got 'y or d'; define a ratio instead"),
        (("own", "d", "1", "", "best"), "better= is one of more, less, either, neither"),
    ],
)
def test_definitions_are_checked(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rb.rate(*arguments)
