"""From a mixture's mean score to the probability of the label: Platt's sigmoid, fitted on labelled rows.

Scores are made to keep promises, so a score of 0 need not mean a half. A line through the log odds puts
that right with two numbers, which few rows can tell, and it leaves the order of the rows as it is. With
more than two classes it is the softmax of the scores, times one number and plus one for each class.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.deciding import score_count

FLATTEST = 1e-6  # most that log odds differ where scores say nothing of labels, or the opposite
NEWTON_STEPS = 100  # of Newton's method; ten are usual


@dataclass(frozen=True)
class Calibration:
    """The probability of yes is ``1 / (1 + exp(-slope * score - intercept))``.

    With more than two classes those of all are ``softmax(slope * scores + intercept)``. `on` says which
    rows it was fitted on, by the estimator "out of fold", "held-out rows", "training rows" or "training
    rows, corrected out of fold"; `rows` is their number.

    >>> Calibration(2.0, (-1.0,), "held-out rows", 500).probability(np.array([[0.5, 3.0]])).round(3)
    array([[0.5  , 0.993]])
    """

    slope: float  # above 0
    intercept: tuple[float, ...]  # (A,): one for two classes, else one for each
    on: str
    rows: int

    def odds(self, scores: Array) -> Array:
        """The log odds (A, n) of yes, or of each class, at these scores (A, n)."""
        odds: Array = self.slope * scores + np.array(self.intercept)[:, None]
        return odds

    def probability(self, scores: Array) -> Array:
        """The probability (A, n) of yes, or of each class, at these scores (A, n)."""
        from scipy.special import expit, softmax  # which take as long to load as NumPy

        with np.errstate(over="ignore"):  # infinite log odds are certain
            if len(scores) == 1:
                return np.asarray(expit(self.odds(scores)))
            # At most 0, so that no odds are plus infinity.
            return np.asarray(softmax(self.odds(scores - scores.max(axis=0)), axis=0))

    def after(self, first: Calibration) -> Calibration:
        """The calibration of scores by `first`, whose log odds are the scores of this one."""
        added = np.asarray(self.intercept) + self.slope * np.asarray(first.intercept)
        return replace(self, slope=self.slope * first.slope, intercept=tuple(added.tolist()))

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data; `from_json` is the way back."""
        return asdict(self)

    @staticmethod
    def from_json(data: Any, classes: int = 2) -> Calibration:
        """The calibration that `to_json` wrote, for so many classes; it is checked."""
        slope, intercept = data["slope"], data["intercept"]
        intercepts = intercept if isinstance(intercept, list | tuple) else [intercept]
        are_numbers = all(type(number) in (int, float) for number in (slope, *intercepts))
        if not are_numbers or not (0 < slope < math.inf and np.isfinite(intercepts).all()):
            raise ValueError(f"its calibration has the slope {slope!r} and the intercept {intercept!r}")
        if len(intercepts) != score_count(classes):
            raise ValueError(f"its calibration has {len(intercepts)} numbers for {classes} classes")
        if not isinstance(data["on"], str) or type(data["rows"]) is not int or data["rows"] < 0:
            raise ValueError("its calibration does not say which rows it was fitted on")
        return Calibration(float(slope), tuple(map(float, intercepts)), data["on"], data["rows"])


def fit_calibration(
    scores: Array, labels: Array, weights: Array | None, on: str, *, even_at_zero: bool = False
) -> Calibration:
    """The sigmoid that is most likely, given scores (A, n) and labels (n,) of rows with weights (n,).

    With D > 2 classes it is a softmax, and labels are the classes' numbers. Each class has a row more of
    every other (Platt, 1999), so that rows told apart perfectly, or all of one class, do not lead to
    infinity. A row of weight 2 is two rows. Weights that sum to less than the number of rows are shares,
    and are scaled to it. With `even_at_zero` a score of 0 is a half, and of more classes the one with
    the largest score is the likeliest.

    >>> fit_calibration(np.array([[-1.0, 1.0]]), np.array([False, True]), None, "two rows").slope
    0.69...
    """
    counts = np.ones(len(labels)) if weights is None else weights
    counted = counts > 0
    scores, labels, counts = scores[..., counted].astype(float), labels[counted], counts[counted]
    counts = counts * max(len(counts) / counts.sum(), 1.0)
    fit = _fit_sigmoid if len(scores) == 1 else _fit_softmax
    slope, intercepts = fit(scores, labels, counts, even_at_zero)
    return Calibration(slope, tuple(intercepts), on, len(labels))


def _fit_sigmoid(scores: Array, labels: Array, counts: Array, even: bool) -> tuple[float, list[float]]:
    """Slope and intercept of the likeliest sigmoid; `even` leaves out the intercept."""
    from scipy.special import expit, logit

    scores = scores[0]
    positives, negatives = counts[labels].sum(), counts[~labels].sum()
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    # Between -1 and 1, so that no square is too large and "flat" means the same for all scores.
    center = 0.0 if even else float(scores.min() / 2 + scores.max() / 2)
    spread = float(np.abs(scores - center).max()) or max(abs(center), 1.0)
    sides = np.stack([(scores - center) / spread] + [np.ones(len(scores))] * (not even))
    flat = np.array([0.0, float(logit(np.average(targets, weights=counts)))])[: len(sides)]

    def loss(line: Array) -> float:
        odds = line @ sides
        return float(counts @ (np.logaddexp(0.0, odds) - targets * odds))

    def derivatives(line: Array) -> tuple[Array, Array]:
        chance = expit(line @ sides)
        error, curvature = counts * (chance - targets), counts * chance * (1 - chance)
        return sides @ error, (sides * curvature) @ sides.T

    line = _newton(loss, derivatives, flat, counts.sum())
    slope, *constant = (line if line[0] > 0 else flat).tolist()
    slope = max(slope, FLATTEST / 2) / spread
    return slope, [sum(constant) - slope * center]


def _fit_softmax(scores: Array, labels: Array, counts: Array, even: bool) -> tuple[float, list[float]]:
    """Slope and intercepts (D,) of the likeliest softmax; `even` leaves out the intercepts."""
    from scipy.special import logsumexp, softmax

    classes = len(scores)
    per_class = np.bincount(labels, counts, classes)
    targets = np.repeat(1 / (per_class[labels] + classes)[None], classes, axis=0)
    targets[labels, np.arange(len(labels))] *= per_class[labels] + 1
    # A row's scores matter as far as they differ, and are put between -1 and 1, as with two classes.
    apart = scores / 2 - (scores.max(axis=0) / 4 + scores.min(axis=0) / 4)
    spread = float(np.abs(apart).max()) or 1.0
    apart = apart / spread
    base = np.log(targets @ counts)
    flat = np.append(0.0, [] if even else base - base.mean())

    def odds(line: Array) -> Array:
        return line[0] * apart + (0.0 if even else line[1:, None])

    def loss(line: Array) -> float:
        at = odds(line)
        return float(counts @ (logsumexp(at, axis=0) - (targets * at).sum(axis=0)))

    def derivatives(line: Array) -> tuple[Array, Array]:
        chance = softmax(odds(line), axis=0)
        error, mean = counts * (chance - targets), (chance * apart).sum(axis=0)
        gradient = np.append((error * apart).sum(), error.sum(axis=1))
        hessian = np.zeros((1 + classes, 1 + classes))
        hessian[0, 0] = counts @ (chance * (apart - mean) ** 2).sum(axis=0)
        hessian[0, 1:] = hessian[1:, 0] = (chance * (apart - mean)) @ counts
        hessian[1:, 1:] = np.diag(chance @ counts) - (chance * counts) @ chance.T
        return gradient[: len(line)], hessian[: len(line), : len(line)]

    line = _newton(loss, derivatives, flat, counts.sum())
    line = line if line[0] > 0 else flat
    intercepts = np.zeros(classes) if even else line[1:] - line[1]  # only differences matter
    return max(float(line[0]), FLATTEST / 2) / spread / 2, intercepts.tolist()


def _newton(
    loss: Callable[[Array], float],
    derivatives: Callable[[Array], tuple[Array, Array]],
    start: Array,
    rows: float,
) -> Array:
    """The minimum of a convex loss, by Newton's method; steps that overshoot are halved."""
    at, here = start, loss(start)
    for _ in range(NEWTON_STEPS):
        gradient, hessian = derivatives(at)
        # Constant scores, or intercepts that all move alike, leave a direction in which none is best.
        hessian += 1e-12 * rows * np.eye(len(at))
        step = np.linalg.solve(hessian, gradient)
        while (there := loss(at - step)) > here * (1 + 1e-13):  # beyond what rounding does
            step = step / 2
        at, here = at - step, there
        if np.abs(step).max() <= 1e-10 * (1 + np.abs(at).max()):
            break
    return at
