"""The reference page of rates and goals is what the registries say: formula, picture and words."""

import doctest
import inspect
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

import ratebound._old as rb
from ratebound._old.rates.grouping import GOALS
from ratebound._old.rates.kinds import KINDS
from ratebound._old.rates.stating import OF_COLUMNS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "saying.md").read_text("utf-8")
OURS = {name: kind for name, kind in KINDS.items() if hasattr(rb, name)}
PROMISES = [name for name in GOALS if hasattr(rb, name)]
DRAWN = SimpleNamespace(**runpy.run_path(str(DOCS / "pictures.py")))
ROW = re.compile(
    r"^\| !\[(?P<alt>.+)\]\((?P<file>.+)\) \| \*\*`(?P<name>\w+)`\*\*<br>(?P<formula>.+)<br>"
    r"(?P<facts>.+) \| (?P<meaning>.+)<br>“(?P<sentence>[A-Z].{20,}\.)”<br>`(?P<promise>.+)` \|$",
    re.MULTILINE,
)
ROWS = {row["name"]: row for row in ROW.finditer(PAGE)}


@pytest.mark.parametrize("name", DRAWN.PAGES)
def test_the_pages_are_those_that_the_script_writes(name):
    page = (DOCS / name).read_text("utf-8")
    assert DRAWN.PAGES[name](page) == page, "run python docs/pictures.py"


def test_the_page_has_every_rate_and_goal_once_and_nothing_else():
    assert [row["name"] for row in ROW.finditer(PAGE)] == list(ROWS)
    assert set(ROWS) == {*OURS, *PROMISES}
    assert PAGE.count("\n| ![") == len(ROWS)


@pytest.mark.parametrize("name", OURS)
def test_a_rate_stands_there_as_it_is(name):
    kind, row, said = OURS[name], ROWS[name], DRAWN.rate_said(name)
    needs = [word for word, needed in (("labels", kind.labels), ("`versus=`", kind.versus)) if needed]
    same = f" The same as `{kind.same_as}`." * bool(kind.same_as)
    assert row["facts"] == f"*{kind.unit}{', needs ' * bool(needs)}{' and '.join(needs)}*"
    assert row["meaning"] == kind.meaning + same
    assert (row["formula"], row["alt"]) == (DRAWN.formula(said), DRAWN.alt(said))
    assert name in {rate.kind for rate in rb.parse(row["promise"]).rates} or name in row["promise"]


@pytest.mark.parametrize("name", PROMISES)
def test_a_goal_stands_there_as_it_is(name):
    row, function = ROWS[name], getattr(rb, name)
    takes = [p for p in inspect.signature(function).parameters if p not in OF_COLUMNS]
    assert row["facts"] == "*takes* " + ", ".join(f"`{each}=`" for each in takes)
    assert row["meaning"] == inspect.getdoc(function).splitlines()[0]
    assert row["formula"] == row["alt"] == DRAWN.goal_formula(name)
    assert row["promise"].startswith(f"{name}(")
    assert rb.parse(row["promise"])


def test_the_pictures_are_those_that_the_script_draws():
    made = dict(DRAWN.pictures())
    assert {path.name for path in made} == {path.name for path in DRAWN.FOLDER.iterdir()}
    for path, svg in made.items():
        assert path.read_text("utf-8") == svg
        assert ROWS[path.stem]["file"] == f"images/rates/{path.name}"


# Formulas as textbooks write them, apart from the tables that ours are derived from.
TEXTBOOK = {
    "recall": "TP ÷ (TP + FN)",
    "false_positive_rate": "FP ÷ (FP + TN)",
    "precision": "TP ÷ (TP + FP)",
    "negative_predictive_value": "TN ÷ (FN + TN)",
    "accuracy": "(TP + TN) ÷ rows",
    "f_score": "2 TP ÷ (2 TP + FN + FP)",
    "jaccard": "TP ÷ (TP + FN + FP)",
    "prevalence": "(TP + FN) ÷ rows",
    "churn": "(no longer + newly yes) ÷ rows",
    "loss_only_churn": "lost ÷ (both right + lost)",
}


@pytest.mark.parametrize("name", TEXTBOOK)
def test_formulas_are_those_of_textbooks(name):
    assert DRAWN.formula(DRAWN.rate_said(name)) == TEXTBOOK[name]


@pytest.mark.parametrize("name", OURS)
def test_a_rates_own_example_runs_and_its_signature_names_its_options(name):
    function = getattr(rb, name)
    (example,) = doctest.DocTestFinder().find(function, name)
    assert doctest.DocTestRunner().run(example) == (0, 2)
    _, *options, _ = inspect.signature(function).parameters
    assert tuple(options) == OURS[name].options
