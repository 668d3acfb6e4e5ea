"""Rows of three groups, and what is learned of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from ratebound.learning.given import as_problem
from ratebound.learning.learning import learn_rules, read_sample
from ratebound.problem.population import Population


def draw_people(n=1500, seed=0, classes=2, gap=0.0):
    """Return features, labels, groups and amounts; models serve group "a" worst.

    With a gap, group "c" has the last label more often.
    """
    random = np.random.default_rng(seed)
    g = random.choice(["a", "b", "c"], n, p=[0.2, 0.5, 0.3]).astype(object)
    X = random.normal(size=(n, 2 + classes))
    scores = X[:, :classes] + random.normal(size=(n, classes))
    scores[:, 0] += np.where(g == "a", 1.0, 0.4)
    scores[:, -1] += gap * (g == "c")
    X[:, 1] -= 0.5 * (g == "a")
    amount = random.gamma(2.0, 50.0, n)
    return SimpleNamespace(X=X, y=scores.argmax(axis=1), g=g, amount=amount)


def learn_people(
    constraints,
    people,
    objective="error_rate()",
    model="linear",
    weights=None,
    clusters=None,
    seed=0,
):
    """Return what is learned of people for a problem."""
    columns = {"g": people.g, "amount": people.amount}
    population = Population(None, people.y, columns, weights)
    problem = as_problem(objective, constraints)
    sample = read_sample(problem, {"train": population}, people.X, clusters)
    return learn_rules(sample, model, seed=seed)


@pytest.fixture
def draw():
    return draw_people


@pytest.fixture
def learn():
    return learn_people
