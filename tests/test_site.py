"""The site's reference has every public name once, and its check sees what it is for."""

import re
import runpy
from collections import Counter
from pathlib import Path

import pytest

import ratebound as rb
from ratebound.rates.table import ALIASES

DOCS = Path(__file__).parents[1] / "docs"
LISTED = re.compile(r"^   (?:datasets\.|~rates\.goals\.)?(\w+)$", re.MULTILINE)


def test_every_public_name_is_on_exactly_one_page_of_the_reference():
    pages = (DOCS / "reference").glob("*.rst")
    named = Counter(name for page in pages for name in LISTED.findall(page.read_text("utf-8")))
    names = {*rb.__all__, *rb.goals.BUILT_IN, *rb.datasets.__all__}
    assert sorted(named) == sorted(names - {"game", "goals", *ALIASES})
    assert set(named.values()) == {1}


@pytest.fixture
def troubles():
    return runpy.run_path(str(DOCS / "check.py"))["troubles"]


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        ('<script src="https://cdn.example.org/math.js"></script>', "from outside"),
        ('<img src="//example.org/badge.svg">', "from outside"),
        ('<link rel="stylesheet" href="https://example.org/font.css">', "from outside"),
        ('<a href="gone.html">there</a>', "which is not there"),
        ('<a href="other.html#gone">there</a>', "a page without that place"),
        ('<a href="#gone">there</a>', "a page without that place"),
        ('<a href="other.html#here">there</a><a href="https://example.org">far</a>', None),
        ('<link rel="canonical" href="https://example.org/page.html">', None),
    ],
)
def test_what_is_loaded_from_outside_or_leads_nowhere_is_found(troubles, tmp_path, body, trouble):
    (tmp_path / "page.html").write_text(body, "utf-8")
    (tmp_path / "other.html").write_text('<p id="here">', "utf-8")
    found = troubles(tmp_path)
    assert len(found) == (trouble is not None)
    assert all(trouble in line for line in found)


def test_styles_load_nothing_from_outside(troubles, tmp_path):
    (tmp_path / "page.html").write_text("", "utf-8")
    (tmp_path / "style.css").write_text("p { background: url(https://example.org/x.png) }", "utf-8")
    assert [line.split()[0] for line in troubles(tmp_path)] == ["style.css"]
