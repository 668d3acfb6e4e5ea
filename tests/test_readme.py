"""What the README prints is what its example gives, to the rounding of machines."""

import re
from pathlib import Path

import pytest

import ratebound as rb

README = Path(__file__).parents[1] / "README.md"
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*")


def test_the_readme_shows_the_audit_its_example_gives():
    shown = README.read_text("utf-8").split("`print(report)` gives\n\n```\n")[1].split("\n```")[0]
    adult = rb.datasets.load_adult()
    rule = 'positive_rate(sex == "Female") >= 0.8 * positive_rate(sex == "Male")'
    model = rb.RateConstrainedClassifier(rule, confidence=0.99, random_state=0)
    model.fit(adult.train.X, adult.train.y, columns=adult.train.columns)
    report = model.audit(adult.test.X, adult.test.y, columns=adult.test.columns)
    assert report.certain  # the promise holds on new rows
    given = str(report)
    # Machines round differently: the first and last lines, which count models and promises, may differ.
    inner = [text.split("\n")[1:-1] for text in (given, shown)]
    assert [line[:20] for line in inner[0]] == [line[:20] for line in inner[1]]
    numbers = [[float(n.replace(",", "")) for n in NUMBER.findall("\n".join(part))] for part in inner]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.03)


def test_the_readme_is_two_screens():
    assert len(README.read_text("utf-8").splitlines()) <= 110
