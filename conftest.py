"""Doctests that need a library which is not installed are skipped, as tests are."""

import doctest
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

EXTRAS = ("pandas", "torch", "lightgbm", "xgboost", "matplotlib")
LACKING = [name for name in EXTRAS if find_spec(name) is None]

# Of the site: one imports what only that needs, and the other is copies that it makes of the examples.
collect_ignore = ["docs/conf.py", "docs/gallery"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    try:
        return (yield)
    except doctest.UnexpectedException as failed:
        error = failed.exc_info[1]
        if LACKING and isinstance(error, ImportError):
            pytest.skip(str(error))
        raise
