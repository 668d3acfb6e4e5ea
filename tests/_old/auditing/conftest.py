"""People, and models that decide on them as given."""

from types import SimpleNamespace

import numpy as np
import pytest

import ratebound._old as rb


def mixture(weights, thresholds=None):
    """Members whose scores are the first columns of X."""
    weights = np.asarray(weights, dtype=float)
    return SimpleNamespace(
        weights=weights,
        thresholds=thresholds or {},
        member_scores=lambda X: np.asarray(X)[:, : len(weights)],
    )


def draw(seed=0, n=400, weighted=False):
    """Rows with three scores, labels, two groups and an existing model's decisions."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    X = rng.normal(size=(n, 3)) + y[:, None] * [0.5, 1.0, 2.0]
    columns = {"sex": rng.choice(["F", "M"], n, p=[0.3, 0.7]), "live": rng.random(n) < 0.2 + 0.6 * y}
    weights = rng.choice([0.5, 1.0, 3.0], n) if weighted else None
    return rb.Population(X, y, columns=columns, weights=weights)


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def people(request):
    return draw(weighted=request.param)
