"""What takes a problem takes promises alone; errors are to be few then."""

import numpy as np
import pytest
from tests._old.small_tables import people

import ratebound._old as rb

TEXT = 'positive_rate(group == "a") <= 0.6'
FORMS = [TEXT, [TEXT], (TEXT,), rb.parse(TEXT), [rb.parse(TEXT)]]
PROBLEM = rb.Problem("error_rate()", [TEXT])


class Sign:
    """Says yes to a first feature above 0."""

    def predict(self, X):
        return np.asarray(X)[:, 0] > 0


@pytest.mark.parametrize("form", FORMS, ids=["text", "texts", "tuple", "constraint", "constraints"])
def test_promises_alone_are_a_problem(form):
    rows = people(200).population()
    for ask in (
        lambda problem: rb.audit(problem, Sign(), rows).promises,
        lambda problem: rb.certify(problem, Sign(), rows),
        lambda problem: rb.rows_needed(problem, rows),
        lambda problem: rb.Monitor(problem).state,
    ):
        assert str(ask(form)) == str(ask(PROBLEM))


@pytest.mark.parametrize(
    "ask",
    [
        lambda given, rows: rb.audit(given, Sign(), rows),
        lambda given, rows: rb.certify(given, Sign(), rows),
        rb.rows_needed,
        lambda given, rows: rb.Monitor(given),
    ],
)
def test_anything_else_is_named(ask):
    with pytest.raises(TypeError, match=r'takes promises first, such as "recall\(\) >= 0.9", or a rb'):
        ask(0.9, people(50).population())


def test_a_trace_has_prices():
    trace = rb.play(rb.compile(PROBLEM, people(400).population()), rb.Linear(0.1), rounds=40)
    assert rb.price(trace, [TEXT]).constraint == rb.price(trace, TEXT).constraint
    with pytest.raises(ValueError, match="a price belongs to one promise, but 2 were given"):
        rb.price(trace, [TEXT, TEXT])
