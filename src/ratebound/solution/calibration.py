"""From a mixture's mean score to the probability of the label: Platt's sigmoid, fitted on labelled rows.

Scores are made to keep promises, so a score of 0 need not mean a half. A line through the log odds puts
that right with two numbers, which few rows can tell, and it leaves the order of the rows as it is.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from ratebound.base.types import Array

FLATTEST = 1e-6  # most that log odds differ where scores say nothing of labels, or the opposite
STEPS = 100  # of Newton's method; ten are usual


@dataclass(frozen=True)
class Calibration:
    """The probability of yes is ``1 / (1 + exp(-slope * score - intercept))``.

    `on` says which rows it was fitted on, by the estimator "out of fold", "held-out rows", "training
    rows" or "training rows, corrected out of fold"; `rows` is their number.

    >>> Calibration(2.0, -1.0, "held-out rows", 500).probability(np.array([0.5, 3.0])).round(3)
    array([0.5  , 0.993])
    """

    slope: float  # above 0
    intercept: float
    on: str
    rows: int

    def probability(self, scores: Array) -> Array:
        """The probability of yes (n,) at these scores (n,)."""
        with np.errstate(over="ignore"):  # infinite log odds are certain
            found: Array = expit(self.slope * scores + self.intercept)
        return found

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data; `from_json` is the way back."""
        return asdict(self)

    @staticmethod
    def from_json(data: Any) -> Calibration:
        """The calibration that `to_json` wrote, checked."""
        slope, intercept = data["slope"], data["intercept"]
        numbers = type(slope) in (int, float) and type(intercept) in (int, float)
        if not numbers or not (0 < slope < math.inf and math.isfinite(intercept)):
            raise ValueError(f"its calibration has the slope {slope!r} and the intercept {intercept!r}")
        if not isinstance(data["on"], str) or type(data["rows"]) is not int or data["rows"] < 0:
            raise ValueError("its calibration does not say which rows it was fitted on")
        return Calibration(float(slope), float(intercept), data["on"], data["rows"])


def fit_calibration(
    scores: Array, labels: Array, weights: Array | None, on: str, *, even_at_zero: bool = False
) -> Calibration:
    """The sigmoid that is most likely, given scores (n,) and labels (n,) of rows with weights (n,).

    Each class has a row more of the other (Platt, 1999), so that rows told apart perfectly, or all of
    one class, do not lead to infinity. A row of weight 2 is two rows. Weights that sum to less than
    the number of rows are shares, and are scaled to it. With `even_at_zero` a score of 0 is a half.

    >>> fit_calibration(np.array([-1.0, 1.0]), np.array([False, True]), None, "two rows").slope
    0.69...
    """
    counts = np.ones(len(scores)) if weights is None else weights
    counted = counts > 0
    scores, labels, counts = scores[counted].astype(float), labels[counted], counts[counted]
    counts = counts * max(len(counts) / counts.sum(), 1.0)
    positives, negatives = counts[labels].sum(), counts[~labels].sum()
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    # Between -1 and 1, so that no square is too large and "flat" means the same for all scores.
    center = 0.0 if even_at_zero else float(scores.min() / 2 + scores.max() / 2)
    spread = float(np.abs(scores - center).max()) or max(abs(center), 1.0)
    sides = [(scores - center) / spread] + [np.ones(len(scores))] * (not even_at_zero)
    slope, *constant = _most_likely(np.stack(sides), targets, counts)
    slope = max(slope, FLATTEST / 2) / spread
    return Calibration(slope, sum(constant) - slope * center, on, int(counted.sum()))


def _most_likely(sides: Array, targets: Array, counts: Array) -> list[float]:
    """Coefficients of the sides (k, n) of the log odds, the first of them not below 0.

    By Newton's method, with steps halved that overshoot.
    """
    base = float(logit(np.average(targets, weights=counts)))
    flat = np.array([0.0, base])[: len(sides)]

    def loss(line: Array) -> float:
        odds = line @ sides
        return float(counts @ (np.logaddexp(0.0, odds) - targets * odds))

    line, here = flat, loss(flat)
    for _ in range(STEPS):
        chance = expit(line @ sides)
        error, curvature = counts * (chance - targets), counts * chance * (1 - chance)
        hessian = (sides * curvature) @ sides.T
        hessian += 1e-12 * counts.sum() * np.eye(len(sides))  # for constant scores, where none is best
        step = np.linalg.solve(hessian, sides @ error)
        while (there := loss(line - step)) > here * (1 + 1e-13):  # beyond what rounding does
            step = step / 2
        line, here = line - step, there
        if np.abs(step).max() <= 1e-10 * (1 + np.abs(line).max()):
            break
    return line.tolist() if line[0] > 0 else flat.tolist()
