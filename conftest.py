"""Doctests that need a library which is not installed are skipped, as tests are."""

import doctest
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

EXTRAS = ("pandas", "torch", "lightgbm", "xgboost", "matplotlib")
LACKING = [name for name in EXTRAS if find_spec(name) is None]

# If Python is told to keep no bytecode, this run and the many programs that it starts share some.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode, sys.pycache_prefix = (
        False,
        str(Path(__file__).with_name(".pytest_cache")),
    )
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# Of the site: one imports what only that needs, one is copies that it makes of the examples, and the
# last is run with the README, whose example it repeats.
collect_ignore = ["docs/conf.py", "docs/gallery", "docs/index.md"]


@pytest.fixture(autouse=True)
def seed_estimators() -> None:
    """Seed what an estimator without random_state draws from, so that no test depends on chance."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    try:
        return (yield)
    except doctest.UnexpectedException as failed:
        error = failed.exc_info[1]
        if LACKING and isinstance(error, ImportError):
            pytest.skip(str(error))
        raise
