"""A constraint on one rate is tested exactly, at every threshold on a score.

Of n rows that the rate is a share of, k count. If the rate just met its bound, k would be binomial:
a threshold shows the constraint at a confidence of 1 - p, where p is the chance of so many.

Thresholds need no price for being many if every yes can only help the constraint, or only harm it:
then a bad threshold shows it only if the first bad one does. Any other rate, such as precision, may
look good by chance at each of them, and p is multiplied by `SEARCHED`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betainc

from ratebound.learning.influence import RowReader
from ratebound.problem.compiled import Compiled
from ratebound.problem.slices import list_decision_slices
from ratebound.rates.table import split_ratio

# With normal scores of 500 and 2,000 rows, in ten cases, p itself is at most .1 in up to .13 of
# samples at a threshold whose precision is too low, and 1.5 p in up to .085. With a precision that
# is nearly flat just below its bound it is in .2: such a threshold is hardly worse than asked.
SEARCHED = 1.5
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Cuts:
    """Rows in order of their scores: a threshold passes the first of them, from none to all."""

    order: Any  # (n,) the highest score first
    passed: Any  # (k,) how many rows pass each threshold
    thresholds: Any  # (k,)

    def accumulate(self, numbers: Any) -> Any:
        """Return sums (..., k) of numbers (..., 2, n), the second of rows that pass."""
        change = np.diff(numbers, axis=-2)[..., 0, self.order]
        total = np.cumsum(change, axis=-1)
        of_passed = np.insert(total, 0, 0.0, axis=-1)[..., self.passed]
        return numbers[..., 0, :].sum(axis=-1, keepdims=True) + of_passed


def cut_scores(scores: Any) -> Cuts:
    """Return every threshold on scores (n,); rows of one score pass together."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.diff(ordered, append=-np.inf))
    distinct = ordered[last]
    between = (distinct[:-1] + distinct[1:]) / 2
    thresholds = np.concatenate([[np.inf], between, [-np.inf]])
    return Cuts(order, np.append(0, last + 1), thresholds)


@dataclass(frozen=True, eq=False)
class Share:
    """A constraint on one rate: at least a share of some rows counts.

    Every row is decided in one way below a threshold, and in another from it on.
    """

    counted: Any  # (2, n) whether a row counts if it is decided in the one way, and in the other
    among: Any  # (2, n) whether it is among the rows of the denominator
    least: float
    is_certain: Any  # (2,) whether it is met if all rows are decided so, whoever they are


def measure_confidences(
    scores: Any,
    share: Share,
    weights: Any,
    unit: Any,
) -> Any:
    """Return how sure a constraint on one rate is at every threshold on scores.

    It is exact if rows are independent and weigh the same. Otherwise they count as fewer: as many
    as make a mean of independent rows vary as much.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores of rows that no model was trained on. A row passes a threshold from this score on.
    share : Share
        The constraint, and what each row counts for it.
    weights : array of shape (n,)
        How much each row weighs.
    unit : array of shape (n,)
        Which rows were drawn together, as numbers from 0.

    Returns
    -------
    array of shape (k,)
        The confidence at each of ``cut_scores(scores).thresholds``.

    Examples
    --------
    How sure is a recall of .5 at thresholds that 12, 13 and 14 of 20 positives pass?

    >>> import numpy as np
    >>> from ratebound.learning.floors import Share, measure_confidences
    >>> nobody, everyone = np.zeros(20), np.ones(20)
    >>> counted, among = np.stack([nobody, everyone]), np.stack([everyone, everyone])
    >>> share = Share(counted, among, 0.5, np.array([False, True]))
    >>> confidences = measure_confidences(np.linspace(1, 0, 20), share, everyone, np.arange(20))
    >>> confidences[12:15].round(3)
    array([0.748, 0.868, 0.942])
    """
    cuts = cut_scores(scores)
    of_unit = np.bincount(unit, weights * share.among.max(axis=0))[unit]
    hits = cuts.accumulate(share.counted * weights)
    rows = cuts.accumulate(share.among * weights)
    squares = cuts.accumulate(share.among * weights * of_unit)
    independent = rows / np.maximum(squares, TINY)
    some_hits = np.maximum(hits * independent, TINY)
    misses = (rows - hits) * independent
    chances = betainc(some_hits, misses + 1, np.clip(share.least, 0, 1))

    change = np.diff(share.counted - share.least * share.among, axis=0)
    if change.min() < 0 < change.max():
        chances = np.minimum(SEARCHED * chances, 1)
    chances[[0, -1]] *= ~share.is_certain
    return 1 - chances


# --- reading a constraint -----------------------------------------------------------------------


def read_share(row: Any, compiled: Compiled, decisions: Any) -> Share | None:
    """Return the constraint of a row as a share, if it is on one rate of rows that count alike.

    `decisions` (2, n) are those below a threshold and from it on.
    """
    (top, coefficient), *rest = row.sum.terms.items()
    limit = row.sum.constant
    if row.ratio is not None and rest and limit == 0:
        bottom, limit = rest.pop()
    elif top.among is not None:
        top, bottom = split_ratio(top)
    else:
        return None
    prices = [(part.price, part.amounts) for part in top.counted + bottom.counted]
    are_alike = replace(bottom, name=top.name, counted=top.counted) == top
    if rest or not are_alike or prices != [(1, None)] * 2:
        return None
    reader = RowReader(compiled)
    slices = []
    masks = []
    for rate in (top, bottom):
        part = rate.counted[0]
        slices.append(list_decision_slices(rate, part.event, compiled.classes))
        by_decision = np.stack(reader.find_by_decision(rate, part))
        masks.append(by_decision[decisions, np.arange(decisions.shape[1])])
    counted, among = masks
    if (counted & ~among).any():
        return None

    bound = -limit / coefficient
    of_certain = slices[1]
    if coefficient > 0:  # at most so many count if at least the rest does not
        counted = among & ~counted
        bound = 1 - bound
        of_certain = [None] * compiled.decisions
    pairs = zip(slices[0], of_certain, strict=True)
    is_certain = np.array([of_top == of_bottom for of_top, of_bottom in pairs])
    return Share(counted, among, bound, is_certain[decisions].all(axis=1))
