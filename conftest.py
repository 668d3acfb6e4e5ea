"""Doctests that need a library which is not installed are skipped, as tests are."""

import doctest
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from _pytest.doctest import DoctestItem, MultipleDoctestFailures

EXTRAS = ("pandas", "torch", "lightgbm", "xgboost", "matplotlib")
LACKING = [name for name in EXTRAS if find_spec(name) is None]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    except MultipleDoctestFailures as failed:
        first = failed.failures[0]
        error = first.exc_info[1] if isinstance(first, doctest.UnexpectedException) else None
        if isinstance(item, DoctestItem) and LACKING and isinstance(error, ImportError):
            pytest.skip(str(error))
        raise
