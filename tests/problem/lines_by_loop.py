"""Tables of values that engines disagree about, conditions on them, and lines by a plain loop.

The loop follows the rule as `problem/comparison.py` states it, and shares no code with the package.
"""

import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
from hypothesis import strategies as st

from ratebound.rates.conditions import Compare, In, Missing

BIG = 2**53
HELD = {
    "text": [
        None,
        "a",
        "B",
        "b",
        " a",
        "a ",
        "",
        "é",
        "\uffff",
        "\U0001f600",
        "o'x",
        'q"; --',
        "Z",
    ],
    'whole; "number"': [None, 0, 1, -1, 30, BIG - 1, BIG, BIG + 1, 2**63 - 1, -(2**63)],
    "tiny": [None, -128, 0, 5, 127],
    "natural": [None, 0, 7, 2**63 + 1, 2**64 - 1],
    "real": [None, math.nan, 0.0, -0.0, 0.1, 2.5, float(BIG), 1e300, math.inf, -math.inf],
    "single": [None, math.nan, 0.0, float(np.float32(0.1)), 1.5, math.inf],
    "price": [None, *map(Decimal, ("0.10", "2.50", "-1.00", "99999999.99"))],
    "flag": [None, True, False],
    "day": [None, date(1969, 12, 31), date(2020, 1, 1), date(2020, 1, 2), date(9999, 12, 31)],
    "moment": [
        None,
        datetime(2020, 1, 1),
        datetime(2020, 1, 1, 12),
        datetime(1700, 1, 1),
        datetime(2200, 1, 1, 0, 0, 0, 1),
    ],
}
TEXTS = ["a", "B", "z", " a", "", "\U0001f600", "\uffff", "o'x", 'q"; --']
NUMBERS = [0, 1, 5, 30, -1, 0.1, 2.5, 1.5, -0.5, BIG, BIG + 1, float(BIG), 2**63, 2**64]
NUMBERS += [1e300, -1e300, 127.5, -129, True, False]
DAYS = ["2020-01-01", "2020-01-02", "2020-01-01T12:00", "1969-12-31", "2020-01-01T00:00:00.000500"]
RELATIONS = ["==", "!=", "<", "<=", ">", ">="]


@st.composite
def leaves(draw):
    """Draw a simple condition on one of the columns."""
    name = draw(st.sampled_from(list(HELD)))
    values = NUMBERS
    if name == "text":
        values = TEXTS
    elif name in ("day", "moment"):
        values = DAYS
    kind = draw(st.sampled_from(["missing", "in", "compare", "compare", "compare"]))
    if kind == "missing":
        return Missing(name)
    if kind == "in":
        listed = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
        return In(name, tuple(listed))
    return Compare(name, draw(st.sampled_from(RELATIONS)), draw(st.sampled_from(values)))


@st.composite
def tables(draw, most_rows=25):
    """Draw columns of equal length, with labels, decisions and weights."""
    size = draw(st.integers(1, most_rows))

    def column(values):
        return draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    table = {name: column(held) for name, held in HELD.items()}
    table["y"] = column([False, True])
    table["said yes"] = column([False, True])
    table["w"] = column([1.0, 0.5, 0.0, 3.25])
    return table


def count_by_loop(table, needs):
    """Return ``{kind: [rows, weight, squares]}``."""
    counts = {}
    for row in range(len(table["y"])):
        kind = [holds(table[leaf.column][row], leaf) for leaf in needs.conditions]
        kind += [normalize(table[name][row]) for name in needs.columns]
        kind += [table["y"][row], table["said yes"][row]]
        sums = counts.setdefault(tuple(kind), [0, 0.0, 0.0])
        weight = table["w"][row]
        sums[0] += 1
        sums[1] += weight
        sums[2] += weight**2
    return counts


def normalize(value):
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return None if is_gone(value) else value


def is_gone(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


def holds(value, leaf):
    if isinstance(leaf, Missing):
        return is_gone(value)
    if is_gone(value):
        return isinstance(leaf, Compare) and leaf.relation == "!="
    if isinstance(leaf, In):
        return any(compare(value, "==", listed) for listed in leaf.values)
    return compare(value, leaf.relation, leaf.value)


def compare(value, relation, wanted):
    if isinstance(value, date):
        value = normalize(value) if not isinstance(value, datetime) else value
        wanted = datetime.fromisoformat(wanted)
    elif isinstance(value, Decimal):
        wanted = Decimal(str(int(wanted) if isinstance(wanted, bool) else wanted))
    if relation == "==":
        return value == wanted
    if relation == "!=":
        return value != wanted
    if relation in ("<", "<="):
        return value < wanted or (relation == "<=" and value == wanted)
    return value > wanted or (relation == ">=" and value == wanted)
