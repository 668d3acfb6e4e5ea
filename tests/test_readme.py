"""What the README prints is what its example gives, to the rounding of machines."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*")


def run(path, names, done=()):
    """Run the examples of a page that are not done yet, and say which code it shows."""
    page = doctest.DocTestParser().get_doctest(path.read_text("utf-8"), names, path.name, str(path), 0)
    page.examples, shown = [each for each in page.examples if code(each) not in done], page.examples
    assert doctest.DocTestRunner().run(page, clear_globs=False).failed == 0
    names.update(page.globs)
    return [code(each) for each in shown]


def code(example):
    return re.sub(r"\s+#.*", "", example.source).strip()


def test_the_readme_shows_the_audit_its_example_gives():
    """So does the first page of the site, which begins with the same lines."""
    done = run(README, names := {})
    assert len(set(done) & set(run(ROOT / "docs" / "index.md", names, done))) == 6
    shown = README.read_text("utf-8").split("`print(report)` gives\n\n```\n")[1].split("\n```")[0]
    assert names["report"].certain  # the promise holds on new rows
    given = str(names["report"])
    # Machines round differently: the first and last lines, which count models and promises, may differ.
    inner = [text.split("\n")[1:-1] for text in (given, shown)]
    assert [line[:20] for line in inner[0]] == [line[:20] for line in inner[1]]
    numbers = [[float(n.replace(",", "")) for n in NUMBER.findall("\n".join(part))] for part in inner]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.03)


def test_the_readme_is_two_screens():
    assert len(README.read_text("utf-8").splitlines()) <= 110
