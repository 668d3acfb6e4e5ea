"""What tests of several old rooms need, and how many of them run.

The old rooms only shrink, and new tests stand beside theirs. So a third of theirs run by default;
`OLD_TESTS=all` runs every one, which a change in `_old` asks for.
"""

import os
from pathlib import Path

import pytest

OLD = Path(__file__).parent
ONE_IN = 3


def pytest_collection_modifyitems(config, items):
    if os.environ.get("OLD_TESTS") == "all":
        return
    of_old = [item for item in items if OLD in item.path.parents]
    left_out = {id(item) for index, item in enumerate(of_old) if index % ONE_IN}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
    items[:] = [item for item in items if id(item) not in left_out]


def ways(part, before=()):
    inside = (
        part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    )
    for key, value in inside:
        yield (*before, key)
        yield from ways(value, (*before, key))


@pytest.fixture
def places():
    """The ways to everything in a JSON document, each a sequence of keys."""
    return ways
