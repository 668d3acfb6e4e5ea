"""Names that a page gives to rates and goals are forgotten after it."""

from collections.abc import Iterator

import pytest

from ratebound.rates.grouping import GOALS
from ratebound.rates.kinds import KINDS


@pytest.fixture(autouse=True)
def forgotten_names() -> Iterator[None]:
    before = [(table, dict(table)) for table in (KINDS, GOALS)]
    yield
    for table, kept in before:
        table.clear()
        table.update(kept)
