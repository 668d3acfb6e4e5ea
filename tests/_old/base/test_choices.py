"""Every list of names agrees with the package that owns it, the command line and the docs."""

import pytest

from ratebound._old.base import choices
from ratebound._old.cli import main
from ratebound._old.estimators import choices as of_estimator
from ratebound._old.estimators.classifier import RateConstrainedClassifier
from ratebound._old.game.proxies import PROXIES
from ratebound_experiments.problems import EXPERIMENTS


def test_every_name_stands_for_something():
    assert tuple(of_estimator.MODELS) == choices.MODELS
    assert ("auto", *of_estimator.PLAYERS) == choices.PLAYERS
    assert tuple(of_estimator.SOLUTIONS) == choices.SOLUTIONS
    assert tuple(PROXIES) == choices.PROXIES
    assert tuple(EXPERIMENTS) == choices.EXPERIMENTS


@pytest.mark.parametrize("kind", ["MODELS", "PLAYERS", "SOLUTIONS"])
def test_the_estimators_docstring_names_them(kind):
    for name in getattr(choices, kind):
        assert f'"{name}"' in RateConstrainedClassifier.__doc__


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("train", ["MODELS", "PLAYERS", "SOLUTIONS"]),
        ("explain", ["MODELS"]),
        ("reproduce", ["EXPERIMENTS"]),
    ],
)
def test_the_help_names_them(command, kinds, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # so that no list is broken into lines
    with pytest.raises(SystemExit):
        main([command, "--help"])
    written = capsys.readouterr().out.replace(" ", "")
    for kind in kinds:
        assert ",".join(getattr(choices, kind)) in written
