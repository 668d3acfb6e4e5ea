"""Every list of names agrees with the package that owns it, and with the command line."""

import pytest

from ratebound._old.base import choices
from ratebound._old.cli import main
from ratebound._old.game.proxies import PROXIES
from ratebound_experiments.problems import EXPERIMENTS


def test_every_name_stands_for_something():
    assert tuple(PROXIES) == choices.PROXIES
    assert tuple(EXPERIMENTS) == choices.EXPERIMENTS


@pytest.mark.parametrize(("command", "kind"), [("train", "MODELS"), ("reproduce", "EXPERIMENTS")])
def test_the_help_names_them(command, kind, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # so that no list is broken into lines
    with pytest.raises(SystemExit):
        main([command, "--help"])
    written = capsys.readouterr().out.replace(" ", "")
    assert ",".join(getattr(choices, kind)) in written
