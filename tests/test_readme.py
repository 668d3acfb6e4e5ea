"""What the README prints is what its example gives, to the rounding of machines."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def run(path, names, done=()):
    """Run the examples of a page that are not done yet, and say which code it shows."""
    page = doctest.DocTestParser().get_doctest(
        path.read_text("utf-8"), names, path.name, str(path), 0
    )
    page.examples, shown = [each for each in page.examples if code(each) not in done], page.examples
    assert doctest.DocTestRunner().run(page, clear_globs=False).failed == 0
    names.update(page.globs)
    return [code(each) for each in shown]


def code(example):
    return re.sub(r"\s+#.*", "", example.source).strip()


def test_the_readme_shows_the_certificate_its_example_gives():
    """So does the first page of the site, which begins with the same lines."""
    done = run(README, names := {})
    assert len(set(done) & set(run(ROOT / "docs" / "index.md", names, done))) == 7
    shown = (
        README.read_text("utf-8").split("`print(certificate)` gives\n\n```\n")[1].split("\n```")[0]
    )
    assert names["certificate"].holds
    given = str(names["certificate"])
    # Machines round differently: numbers may differ a little, and words may not.
    assert re.sub(r"[\d., <─]+", " ", given) == re.sub(r"[\d., <─]+", " ", shown)
    values = [float(value) for value in re.findall(r"(0\.\d{4})  >= 0\.6000", shown)]
    assert values == pytest.approx(
        [promise.value for promise in names["certificate"].promises], abs=0.03
    )


def test_the_readme_is_two_screens():
    assert len(README.read_text("utf-8").splitlines()) <= 110
