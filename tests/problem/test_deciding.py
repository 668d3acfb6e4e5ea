"""Scores become decisions, row by row, as a loop over rows would decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ratebound.problem.deciding import (
    decided,
    decision_count,
    decision_shares,
    each_class,
    mean_score,
)

FEW = st.sampled_from([-1.0, 0.0, 0.5, 0.5, 2.0])


def slowly(scores):
    """The decision of one model on one row, from its score or scores."""
    if np.ndim(scores) == 0:
        return int(scores >= 0)
    best = 0
    for each, score in enumerate(scores):
        if score >= scores[best]:
            best = each
    return best


@given(st.integers(1, 3), st.integers(2, 6), st.integers(1, 5), st.data())
def test_decisions_and_their_shares(models, classes, rows, data):
    shape = (models, rows) if classes == 2 else (models, classes, rows)
    scores = data.draw(arrays(float, shape, elements=FEW))
    found = decided(scores)
    expected = [[slowly(model[..., row]) for row in range(rows)] for model in scores]
    np.testing.assert_array_equal(found, expected)
    assert decision_count(scores) == classes
    weights = np.arange(1.0, models + 1) / np.arange(1.0, models + 1).sum()
    shares = decision_shares(weights, scores)
    assert shares.shape == (classes, rows)
    for each in range(classes):
        np.testing.assert_allclose(shares[each], weights @ (found == each), atol=1e-15)


def test_a_mean_is_of_every_class():
    scores = np.random.default_rng(0).normal(size=(4, 3, 7))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(mean_score(weights, scores), np.einsum("m,mdn->dn", weights, scores))
    np.testing.assert_array_equal(mean_score(weights, scores[:, 1]), weights @ scores[:, 1])


@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_a_chance_of_each_class(shape):
    chance = np.full(shape, 0.25)
    assert each_class(chance).shape == ((2, 5) if len(shape) == 1 else (3, 5))
