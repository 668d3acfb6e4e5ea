"""The reference of the language is what the tables of rates and goals say."""

import doctest
import inspect
import runpy
from pathlib import Path

import pytest

import ratebound as rb
from ratebound.rates.goals import BUILT_IN, GOALS
from ratebound.rates.table import KINDS, Kind

DOCS = Path(__file__).parents[1] / "docs"
WRITER = runpy.run_path(str(DOCS / "rates.py"))
BUILT_IN_KINDS = {name: kind for name, kind in KINDS.items() if not kind.is_own}
SENTENCES = WRITER["read_sentences"]()


@pytest.mark.parametrize("name", WRITER["PAGES"])
def test_the_pages_are_those_that_the_script_writes(name):
    page = (DOCS / name).read_text("utf-8")
    assert WRITER["PAGES"][name](page) == page, "run python docs/rates.py"


def test_every_rate_and_goal_has_a_sentence_and_a_row():
    assert SENTENCES.keys() == {*BUILT_IN_KINDS, *BUILT_IN}
    page = (DOCS / "saying.md").read_text("utf-8")
    for name, (constraint, sentence) in SENTENCES.items():
        assert page.count(f"| **`{name}`**<br>") == 1
        assert page.count(f"“{sentence}”<br>`{constraint}` |\n") == 1
        assert name in constraint
        assert str(rb.parse(constraint)).startswith(constraint.partition("(")[0])


def test_a_rate_of_the_table_is_in_the_docs_and_the_package_by_itself(monkeypatch):
    recall = KINDS["recall"]
    own = Kind("hit_rate", "Share found.", "more", recall.parts, recall.takes)
    monkeypatch.setitem(KINDS, "hit_rate", own)
    monkeypatch.setitem(
        WRITER["read_sentences"].__globals__,
        "SENTENCES",
        WRITER["SENTENCES"] + "hit_rate | hit_rate() >= 0.9 | We find nine of ten.\n",
    )
    assert rb.hit_rate is own
    page = WRITER["write_tables"]((DOCS / "saying.md").read_text("utf-8"))
    assert "| **`hit_rate`**<br>`#(ŷ & y) / #(y)`<br>*share, needs labels* | Share found." in page
    page = WRITER["write_lists"]((DOCS / "reference" / "say.rst").read_text("utf-8"))
    assert "\n   hit_rate\n" in page


# Formulas as textbooks write them, apart from the table that ours are derived from.
@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("recall", "#(ŷ & y) / #(y)"),
        ("false_positive_rate", "#(ŷ & ~y) / #(~y)"),
        ("precision", "#(y & ŷ) / #(ŷ)"),
        ("negative_predictive_value", "#(~y & ~ŷ) / #(~ŷ)"),
        ("accuracy", "#(ŷ==y) / #(1)"),
        ("f_score", "2 #(ŷ & y) / (#(ŷ) + #(y))"),
        ("jaccard", "#(ŷ & y) / #(ŷ or y)"),
        ("prevalence", "#(y) / #(1)"),
        ("cost", "(10 #(~ŷ & y) + #(ŷ & ~y)) / #(1)"),
        ("churn", "#(ŷ!=v) / #(1)"),
        ("loss_only_churn", "#(ŷ!=y & v==y) / #(v==y)"),
        ("wins", "#(ŷ==y & v!=y)"),
    ],
)
def test_formulas_are_those_of_textbooks(name, formula):
    assert KINDS[name].formula == formula
    assert f"``{formula}``" in KINDS[name].__doc__


@pytest.mark.parametrize("name", BUILT_IN_KINDS)
def test_the_example_of_a_rate_runs_and_its_signature_names_its_options(name):
    kind = BUILT_IN_KINDS[name]
    (example,) = doctest.DocTestFinder().find(kind, name, module=False)
    assert doctest.DocTestRunner().run(example) == (0, 2)
    _, *options, _ = inspect.signature(kind).parameters
    assert tuple(options) == kind.takes


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_example_of_a_goal_runs(name):
    (example,) = doctest.DocTestFinder().find(GOALS[name], name)
    assert doctest.DocTestRunner().run(example) == (0, 1)
