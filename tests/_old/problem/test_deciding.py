"""Scores become decisions, row by row, as a loop over rows would decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ratebound._old.problem.deciding import (
    as_shown,
    decided,
    decided_at,
    decision_count,
    decision_shares,
    each_class,
    from_first_class,
    less_thresholds,
    mean_score,
    score_count,
    with_axes,
)

FEW = st.sampled_from([-1.0, 0.0, 0.5, 0.5, 2.0])


def slowly(scores):
    """The decision of one model on one row, from its score or scores."""
    if len(scores) == 1:
        return int(scores[0] >= 0)
    best = 0
    for each, score in enumerate(scores):
        if score >= scores[best]:
            best = each
    return best


@given(st.integers(1, 3), st.integers(2, 6), st.integers(1, 5), st.data())
def test_decisions_and_their_shares(models, classes, rows, data):
    shape = (models, score_count(classes), rows)
    scores = data.draw(arrays(float, shape, elements=FEW))
    computed = decided(scores)
    expected = [[slowly(model[:, row]) for row in range(rows)] for model in scores]
    np.testing.assert_array_equal(computed, expected)
    assert decision_count(scores) == classes
    weights = np.arange(1.0, models + 1) / np.arange(1.0, models + 1).sum()
    shares = decision_shares(weights, scores)
    assert shares.shape == (classes, rows)
    for each in range(classes):
        np.testing.assert_allclose(shares[each], weights @ (computed == each), atol=1e-15)


def test_a_mean_is_of_every_class():
    scores = np.random.default_rng(0).normal(size=(4, 3, 7))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(mean_score(weights, scores), np.einsum("m,mdn->dn", weights, scores))
    np.testing.assert_array_equal(mean_score(weights, scores[:, :1])[0], weights @ scores[:, 0])


@pytest.mark.parametrize("scores", [1, 3])
def test_a_chance_of_each_class(scores):
    chance = np.full((scores, 5), 0.25)
    assert each_class(chance).shape == (max(scores, 2), 5)


@given(st.integers(1, 3), st.integers(2, 6), st.integers(0, 5), st.data())
def test_a_threshold_is_taken_off_the_scores_of_its_class(models, classes, rows, data):
    scores = data.draw(arrays(float, (models, score_count(classes), rows), elements=FEW))
    at = data.draw(arrays(float, (models, classes - 1), elements=FEW))
    own = np.array(scores)
    for each in range(classes - 1):
        own[:, each - classes + 1] -= at[:, each, None]
    np.testing.assert_array_equal(less_thresholds(scores, at), own)
    np.testing.assert_array_equal(decided_at(scores, at), decided(own))
    alike = np.full((models, classes - 1), 0.5)
    np.testing.assert_array_equal(decided_at(scores, 0.5), decided_at(scores, alike))
    # Offsets of all classes are the same thresholds, relative to the first.
    offsets = np.hstack([np.ones((models, 1)), at + 1])[:, -score_count(classes) :]
    relative = at if classes > 2 else at + 1
    np.testing.assert_array_equal(from_first_class(offsets), relative)


@pytest.mark.parametrize("classes", [2, 4])
def test_users_see_no_axis_of_one_score(classes):
    own = (7,) if classes == 2 else (classes, 7)
    for shape in (own, (3, *own)):
        scores = np.random.default_rng(0).normal(size=shape)
        whole = with_axes(scores, classes)
        assert whole.shape == (3 if shape[0] == 3 else 1, score_count(classes), 7)
        np.testing.assert_array_equal(as_shown(whole).reshape(shape), scores)
        np.testing.assert_array_equal(with_axes(whole, classes), whole)
