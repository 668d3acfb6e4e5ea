"""Rows whose decisions are chosen by the test, and models that make them."""

from types import SimpleNamespace

import numpy as np
import pytest

import ratebound._old as rb


class Decides:
    """A model whose decisions are its one feature."""

    def predict(self, X):
        return np.asarray(X)[:, 0] > 0


def people(yes, y=None, weights=None, **columns):
    """Rows with these decisions and labels, all positive by default."""
    yes = np.asarray(yes)
    labels = np.ones(len(yes), dtype=bool) if y is None else y
    return rb.Population(np.where(yes, 1.0, -1.0)[:, None], labels, columns=columns, weights=weights)


def certified(promise, rows, model=None, **options):
    """The one promise of a certificate."""
    problem = rb.Problem(rb.positive_rate(), [promise])
    return rb.certify(problem, model or Decides(), rows, **options).promises[0]


@pytest.fixture
def sample():
    """A few hundred rows of three groups, with an existing model."""
    random = np.random.default_rng(3)
    n = 400
    y = random.random(n) < 0.5
    return people(
        random.random(n) < np.where(y, 0.8, 0.2),
        y,
        g=random.choice(["a", "b", "c"], n),
        age=random.integers(18, 80, n),
        live=random.random(n) < np.where(y, 0.7, 0.3),
    )


def mixture(*scores, weights=None):
    """A mixture's parts, of members that give rows these scores; it has no hash."""
    members = np.column_stack(scores)
    share = np.full(members.shape[1], 1 / members.shape[1]) if weights is None else weights
    return SimpleNamespace(weights=share, thresholds={}, member_scores=lambda X: members)
