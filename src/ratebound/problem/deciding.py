"""From scores to decisions; what differs between one score a row and one for each class stands here.

With two classes a row has one score, and the decision is yes, class 1, from 0 on. With D > 2 it has D
scores, and the largest decides. Ties go to the later class, as a score of 0 is a yes. Scores of M models
are (M, n) or (M, D, n), so the number of axes tells the two apart; decisions are numbers of classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound.base.arrays import namespace
from ratebound.base.types import Array


def decided(scores: Any) -> Array:
    """The decisions (M, n) of M models, from their scores (M, n) or (M, D, n), these tensors too.

    >>> decided(np.array([[-0.5, 0.0, 2.0]]))
    array([[0, 1, 1]])
    >>> decided(np.array([[[0.3, 1.0], [0.2, 1.0], [0.1, -1.0]]]))
    array([[0, 1]])
    """
    if scores.ndim == 2:
        return (scores >= 0).astype(int)
    if namespace(scores) is not np:
        from_last: Array = scores.shape[1] - 1 - scores.flip(1).argmax(1)
        return from_last
    best = scores[:, 0].copy()
    found = np.zeros(best.shape, dtype=int)
    for each in range(1, scores.shape[1]):  # there are few classes, and argmax is slow along them
        np.copyto(found, each, where=scores[:, each] >= best)
        np.maximum(best, scores[:, each], out=best)
    return found


def score_count(decisions: int) -> int:
    """How many scores a row has: one for two decisions, else one for each.

    >>> [score_count(decisions) for decisions in (2, 3, 10)]
    [1, 3, 10]
    """
    return 1 if decisions <= 2 else decisions


def score_shape(decisions: int) -> tuple[int, ...]:
    """The axes that the scores of one model have before that of the rows: none, or one for decisions.

    >>> [score_shape(decisions) for decisions in (2, 3)]
    [(), (3,)]
    """
    return () if decisions <= 2 else (decisions,)


def decided_at(scores: Array, at: Array | float) -> Array:
    """The decisions (M, n) at thresholds `at`: (M, 1), or (M, D - 1) for all classes but the first.

    A threshold is taken off the scores of its class.

    >>> decided_at(np.array([[0.5, 1.0, 2.0]]), 1.0)
    array([[False,  True,  True]])
    """
    if isinstance(at, np.ndarray) and namespace(scores) is not np:
        at = namespace(scores).as_tensor(at, device=scores.device)
    if scores.ndim == 2:
        found: Array = scores >= at
        return found
    if isinstance(at, float) and not at:
        return decided(scores)
    offsets = at + 0 * scores[:, 1:, 0]
    return decided(
        namespace(scores).concatenate([scores[:, :1], scores[:, 1:] - offsets[:, :, None]], 1)
    )


def decision_count(scores: Array) -> int:
    """How many decisions D there are, by the scores of models."""
    return 2 if scores.ndim == 2 else scores.shape[1]


def mean_score(weights: Array, scores: Array) -> Array:
    """The mean of scores (M, n) or (M, D, n) by `weights` (M,): (n,) or (D, n)."""
    flat: Array = weights @ scores.reshape(len(scores), -1)
    return flat.reshape(scores.shape[1:])


def decision_shares(weights: Array, scores: Array) -> Array:
    """The weight of the models that decide each class, (D, n), where all weigh 1.

    >>> decision_shares(np.array([0.25, 0.75]), np.array([[-1.0, 2.0], [0.0, 0.5]]))
    array([[0.25, 0.  ],
           [0.75, 1.  ]])
    """
    if scores.ndim == 2:
        return each_class(np.minimum(weights @ (scores >= 0), 1.0))
    found = decided(scores)
    shares = [weights @ (found == each) for each in range(scores.shape[1])]
    return np.minimum(np.stack(shares), 1.0)


def each_class(chance: Array) -> Array:
    """A probability of yes (n,) as one for no and one for yes, (2, n); (D, n) are what they were."""
    return np.stack([1 - chance, chance]) if chance.ndim == 1 else chance


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
    """The lowest thresholds that rows of each `allowed` weight pass, given scores and weights (n,).

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
