"""The reference page of rates and goals is what the registries say."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import ratebound as rb
from ratebound.rates.grouping import GOALS
from ratebound.rates.kinds import KINDS
from ratebound.rates.stating import OF_COLUMNS

PAGE = (Path(__file__).parents[2] / "docs" / "rates.md").read_text("utf-8")
OURS = {name: kind for name, kind in KINDS.items() if hasattr(rb, name)}


def rate_row(name):
    kind = OURS[name]
    needs = [word for word, needed in (("labels", kind.labels), ("`versus=`", kind.versus)) if needed]
    same = f" The same as `{kind.same_as}`." * bool(kind.same_as)
    above_below = " `{}` over `{}`.".format(*kind.sides({})) if kind.sides else ""
    return (
        f"| `{name}` | {kind.unit} | {' and '.join(needs) or '–'} | {kind.meaning}{above_below}{same} |"
    )


def goal_row(name):
    first, *others = inspect.signature(getattr(rb, name)).parameters.values()
    takes = ", ".join(f"`{p.name}=`" for p in (first, *others) if p.name not in OF_COLUMNS)
    return f"| `{name}` | {takes} | {inspect.getdoc(getattr(rb, name)).splitlines()[0]} |"


ROWS = [*map(rate_row, OURS), *(goal_row(name) for name in GOALS if hasattr(rb, name))]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("`")[1])
def test_every_rate_and_goal_stands_in_the_reference_as_it_is(row):
    assert row in PAGE.splitlines()


def test_the_reference_lists_nothing_else():
    assert len(re.findall(r"^\| `", PAGE, flags=re.M)) == len(ROWS)


@pytest.mark.parametrize("name", OURS)
def test_a_rates_own_example_runs_and_its_signature_names_its_options(name):
    function = getattr(rb, name)
    (example,) = doctest.DocTestFinder().find(function, name)
    assert doctest.DocTestRunner().run(example) == (0, 2)
    _, *options, _ = inspect.signature(function).parameters
    assert tuple(options) == OURS[name].options
