"""From scores to decisions: all that differs between two classes and more.

Scores of M models are (M, A, n): each row has A scores for D decisions. For two decisions A = 1, and
the decision is yes, class 1, if the score is at least 0. For more, A = D, and the largest decides. Ties
go to the later class, as a score of 0 is a yes. Decisions are class indices. If A = 1, users give and
get scores without that axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound._old.base.arrays import namespace
from ratebound._old.base.types import Array


def score_count(decisions: int) -> int:
    """How many scores A a row has: one for two decisions, else one for each.

    >>> [score_count(decisions) for decisions in (2, 3, 10)]
    [1, 3, 10]
    """
    return 1 if decisions <= 2 else decisions


def decision_count(scores: Array) -> int:
    """How many decisions D there are, by the scores (M, A, n) of models."""
    return max(2, scores.shape[1])


def is_one_model(given: Array, decisions: int) -> bool:
    """Whether scores as users give them belong to one model, (n,) or (D, n), without its axis."""
    return given.ndim == (1 if score_count(decisions) == 1 else 2)


def with_axes(given: Array, decisions: int) -> Array:
    """Scores as users give them, (n,), (M, n), (D, n) or (M, D, n), with all axes: (M, A, n).

    >>> with_axes(np.zeros(5), 2).shape, with_axes(np.zeros((4, 5)), 2).shape
    ((1, 1, 5), (4, 1, 5))
    >>> with_axes(np.zeros((3, 5)), 3).shape, with_axes(np.zeros((4, 3, 5)), 3).shape
    ((1, 3, 5), (4, 3, 5))
    """
    models = given[None] if is_one_model(given, decisions) else given
    return models[:, None] if models.ndim == 2 else models


def as_shown(scores: Array) -> Array:
    """Scores (..., A, n) as users get them: without the axis of decisions if A = 1."""
    return scores[..., 0, :] if scores.shape[-2] == 1 else scores


def decided(scores: Any) -> Array:
    """The decisions (M, n) of M models, from their scores (M, A, n), arrays or tensors.

    >>> decided(np.array([[[-0.5, 0.0, 2.0]]]))
    array([[0, 1, 1]])
    >>> decided(np.array([[[0.3, 1.0], [0.2, 1.0], [0.1, -1.0]]]))
    array([[0, 1]])
    """
    in_numpy = namespace(scores) is np
    if scores.shape[1] == 1:
        yes = scores[:, 0] >= 0
        return yes.astype(int) if in_numpy else yes.long()
    if not in_numpy:
        from_last: Array = scores.shape[1] - 1 - scores.flip(1).argmax(1)
        return from_last
    best = scores[:, 0].copy()
    decisions = np.zeros(best.shape, dtype=int)
    for each in range(1, scores.shape[1]):  # there are few classes, and argmax is slow along that axis
        np.copyto(decisions, each, where=scores[:, each] >= best)
        np.maximum(best, scores[:, each], out=best)
    return decisions


def less_thresholds(scores: Array, at: Array) -> Array:
    """Scores (M, A, n) relative to thresholds (M, D - 1) of all classes but the first, which has none.

    >>> less_thresholds(np.array([[[0.5, 1.0]]]), np.array([[1.0]]))
    array([[[-0.5,  0. ]]])
    >>> less_thresholds(np.zeros((1, 3, 1)), np.array([[1.0, 2.0]]))[0, :, 0]
    array([ 0., -1., -2.])
    """
    first = scores.shape[1] - at.shape[1]  # 0 if the only score belongs to the second class
    return scores - namespace(at).concatenate([0 * at[:, :first], at], 1)[:, :, None]


def decided_at(scores: Array, at: Array | float) -> Array:
    """The decisions (M, n) at thresholds `at`: a number, or (M, D - 1) for all classes but the first.

    A threshold is subtracted from the scores of its class.

    >>> decided_at(np.array([[[0.5, 1.0, 2.0]]]), 1.0)
    array([[0, 1, 1]])
    """
    xp, others = namespace(scores), decision_count(scores) - 1
    if isinstance(at, np.ndarray):
        own: Any = at if xp is np else xp.as_tensor(at, device=scores.device)
    elif at:
        own = xp.zeros_like(scores[:, -others:, :1]).sum(-1) + at
    else:
        return decided(scores)
    return decided(less_thresholds(scores, own))


def mean_score(weights: Array, scores: Array) -> Array:
    """The mean of scores (M, A, n) by `weights` (M,): (A, n)."""
    flat: Array = weights @ scores.reshape(len(scores), -1)
    return flat.reshape(scores.shape[1:])


def decision_shares(weights: Array, scores: Array) -> Array:
    """The weight of the models that decide each class, (D, n), out of 1.

    >>> decision_shares(np.array([0.25, 0.75]), np.array([[[-1.0, 2.0]], [[0.0, 0.5]]]))
    array([[0.25, 0.  ],
           [0.75, 1.  ]])
    """
    decisions = decided(scores)
    shares = [weights @ (decisions == each) for each in range(decision_count(scores))]
    return np.minimum(np.stack(shares), 1.0)


def each_class(chance: Array) -> Array:
    """Probabilities (A, n), of yes or of all classes, as one for each class, (D, n)."""
    return np.concatenate([1 - chance, chance]) if len(chance) == 1 else chance


def rounded_up(at: float, dtype: Any) -> float:
    """The least number of a type that is at least `at`: scores of that type pass both or neither.

    >>> rounded_up(0.7, np.float32), rounded_up(0.7, np.float64)
    (0.7000000476837158, 0.7)
    """
    if np.dtype(dtype).kind != "f":
        return at
    nearest = np.dtype(dtype).type(at)
    return float(nearest if float(nearest) >= at else np.nextafter(nearest, nearest.dtype.type(np.inf)))


def lowest_within(allowed: Array, scores: Array, weights: Array) -> list[float]:
    """The lowest thresholds that at most each `allowed` weight of rows passes; scores (n,).

    >>> lowest_within(np.array([1.0, 9.0]), np.array([0.0, 2.0, 1.0]), np.ones(3)) == [
    ...     np.nextafter(1.0, 2.0), 0.0
    ... ]
    True
    """
    order = np.argsort(-scores, kind="stable")
    too_many = np.searchsorted(np.cumsum(weights[order]), allowed, side="right").tolist()
    # The first score that may not pass; ties with it may not pass either.
    return [
        float(np.nextafter(scores[order[first]], np.inf) if first < len(scores) else scores.min())
        for first in too_many
    ]


def highest_above(weight: float, scores: Array, weights: Array) -> float:
    """The highest threshold that at least this weight of rows passes; scores and weights are (n,).

    >>> highest_above(2.0, np.array([0.0, 2.0, 1.0]), np.ones(3))
    1.0
    """
    order = np.argsort(-scores, kind="stable")
    last = int(np.searchsorted(np.cumsum(weights[order]), weight * (1 - 1e-12)))
    return float(scores[order[min(last, len(order) - 1)]])
