"""What tests of several rooms need."""

import pytest


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


@pytest.fixture
def brief(monkeypatch):
    """The estimator's default games last 200 rounds: for tests of what surrounds them."""
    monkeypatch.setattr("ratebound._old.estimators.search.FEWEST_ROUNDS", 200)
    monkeypatch.setattr("ratebound._old.learners.forecast.ROUNDS", (200, 5000))
