"""What the README prints is what its example gives, to the rounding of machines."""

import doctest
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*")


def test_the_readme_shows_the_audit_its_example_gives():
    text = README.read_text("utf-8")
    shown = text.split("`print(report)` gives\n\n```\n")[1].split("\n```")[0]
    example = doctest.DocTestParser().get_doctest(text, {}, "README.md", str(README), 0)
    assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
    report = example.globs["report"]
    assert report.certain  # the promise holds on new rows
    given = str(report)
    # Machines round differently: the first and last lines, which count models and promises, may differ.
    inner = [text.split("\n")[1:-1] for text in (given, shown)]
    assert [line[:20] for line in inner[0]] == [line[:20] for line in inner[1]]
    numbers = [[float(n.replace(",", "")) for n in NUMBER.findall("\n".join(part))] for part in inner]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.03)


def test_the_readme_is_two_screens():
    assert len(README.read_text("utf-8").splitlines()) <= 110
