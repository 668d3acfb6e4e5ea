"""Rates and goals that a test defines are forgotten after it."""

import pytest

from ratebound.rates.goals import GOALS
from ratebound.rates.table import KINDS


@pytest.fixture(autouse=True)
def forget_definitions():
    known = [(names, dict(names)) for names in (KINDS, GOALS)]
    yield
    for names, before in known:
        names.clear()
        names.update(before)
