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
    promises = [f'recall(sex == "{s}") >= 0.95 * recall()' for s in ("Female", "Male")]
    model = rb.RateConstrainedClassifier(promises, random_state=0)
    model.fit(adult.train.X, adult.train.y, columns=adult.train.columns)
    given = str(model.audit(adult.test.X, adult.test.y, columns=adult.test.columns))
    # Machines round differently: the first and last lines, which count models and promises, may differ.
    inner = [text.split("\n")[1:-1] for text in (given, shown)]
    assert [line[:20] for line in inner[0]] == [line[:20] for line in inner[1]]
    numbers = [[float(n.replace(",", "")) for n in NUMBER.findall("\n".join(part))] for part in inner]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.03)
