"""What was at `ratebound.x` is at `ratebound._old.x`, and is found by both names."""

import pickle
import subprocess
import sys
from importlib import import_module

import pytest

import ratebound
from ratebound import _old

FIRST = "import sys; from ratebound.{0} import {1}; import ratebound._old.{0} as own; "


def test_the_package_hands_on_the_names_that_no_new_room_has():
    """Functions among them are wrapped, so that they take what new rooms made."""
    assert set(ratebound.OLD_NAMES) <= set(_old.__all__)
    for name in ratebound.OLD_NAMES:
        public = getattr(ratebound, name)
        assert getattr(public, "__wrapped__", public) is getattr(_old, name)


@pytest.mark.parametrize(
    ("place", "name"),
    [("datasets", "load_adult"), ("solution", "shrink_weights"), ("base.rendering", "FORMATS")],
)
def test_a_path_of_before_leads_to_the_same_module(place, name):
    """Also in a program that asks for it first."""
    assert import_module(f"ratebound.{place}") is import_module(f"ratebound._old.{place}")
    code = FIRST.format(place, name) + f"assert sys.modules['ratebound.{place}'] is own; own.{name}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_path_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'ratebound\.roooms'"):
        import_module("ratebound.roooms")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'ratebound\.rates\.roooms'"):
        import_module("ratebound.rates.roooms")


def test_a_pickle_of_before_is_read():
    now = pickle.dumps(_old.Linear(0.1), protocol=0)
    before = now.replace(b"ratebound._old.", b"ratebound.")
    assert before != now
    assert pickle.loads(before) == _old.Linear(0.1)
