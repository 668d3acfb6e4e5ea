"""A constraint on one rate is tested exactly, at every threshold on a score.

Of n rows that the rate is a share of, k count. If the rate just met its bound, k would be binomial:
a threshold shows the constraint at a confidence of 1 - p, where p is the chance of so many.

Thresholds need no price for being many if every yes can only help the constraint, or only harm it:
then a bad threshold shows it only if the first bad one does. Any other rate, such as precision, may
look good by chance at each of them, and p is multiplied by `SEARCHED`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import betainc

from ratebound.learning.confidence import Claim
from ratebound.learning.influence import Influence, RowReader
from ratebound.learning.rules import TOLERANCE, Rule, Rules, compute_costs
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
        below, above = np.moveaxis(numbers, -2, 0)
        change = (above - below)[..., self.order]
        steps = np.insert(change, 0, below.sum(axis=-1), axis=-1)
        return steps.cumsum(axis=-1)[..., self.passed]


def cut_scores(scores: Any) -> Cuts:
    """Return every threshold on scores (n,); rows of one score pass together."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.diff(ordered, append=-np.inf))
    distinct = ordered[last]
    between = (distinct[:-1] + distinct[1:]) / 2
    thresholds = np.concatenate([[np.inf], between, [-np.inf]])
    passed = np.append(0, last + 1)
    return Cuts(order, passed, thresholds)


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
    is_among = share.among.max(axis=0)
    of_unit = np.bincount(unit, weights * is_among)
    hits = cuts.accumulate(share.counted * weights)
    rows = cuts.accumulate(share.among * weights)
    squares = cuts.accumulate(share.among * weights * of_unit[unit])
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


def read_share(
    row: Any,
    compiled: Compiled,
    decisions: Any,
) -> Share | None:
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
    every_row = np.arange(decisions.shape[1])
    slices = []
    masks = []
    for rate in (top, bottom):
        part = rate.counted[0]
        slices.append(list_decision_slices(rate, part.event, compiled.classes))
        by_decision = np.stack(reader.find_by_decision(rate, part))
        masks.append(by_decision[decisions, every_row])
    counted, among = masks
    if (counted & ~among).any():
        return None

    bound = -limit / coefficient
    of_top, of_certain = np.array(slices, dtype=object)
    if coefficient > 0:  # at most so many count if at least the rest does not
        counted = among & ~counted
        bound = 1 - bound
        of_certain[:] = None
    is_certain = of_top == of_certain
    return Share(counted, among, bound, is_certain[decisions].all(axis=1))


# --- thresholds as rules --------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class Thresholds(Rules):
    """Every threshold on one score, from one that no row passes to one that all rows pass.

    A rule's only weight is its threshold. The classifier's own comes first.
    """

    by_row = False
    decisions: Any  # (2, n) on each row below the threshold, and from it on
    usual: float  # the threshold of the classifier itself
    terms: Any = field(init=False, default=None)
    cut: Any = field(init=False)  # (N,) the index of each rule's cut

    def __post_init__(self) -> None:
        score = self.forecast[0]
        self.constants = np.arange(0)
        cuts = cut_scores(score)
        values = self.compiled.offset + cuts.accumulate(self._compute_worth()).T

        passed = np.count_nonzero(score >= self.usual)
        usual = np.searchsorted(cuts.passed, passed)
        self.cut = np.append(usual, np.arange(len(values)))
        self.values = values[self.cut]
        self.weights = np.append(self.usual, cuts.thresholds)[:, None]

    def _compute_worth(self) -> Any:
        """Return what rows add to values (p + m, 2, n) if they do not pass, and if they do."""
        compiled = self.compiled
        worth = np.zeros((len(compiled.offset), *self.decisions.shape))
        for block in compiled.blocks:
            of_others = compiled.per_cell(block.coefficients)
            by_decision = np.insert(of_others, 0, 0.0, axis=1)
            weight = compiled.weight_of(block)
            of_rows = by_decision[:, self.decisions, compiled.cell]
            worth += of_rows if weight is None else of_rows * weight
        return worth

    @property
    def plain_weights(self) -> Any:
        return self.weights[0]

    def decide(self, weights: Any) -> Any:
        below, above = self.decisions
        return np.where(self.forecast[0] >= weights, above, below)

    def list_constant_rules(self) -> list[Rule]:
        """Return the rules at the ends: no row passes, or all do."""
        return [self.get_rule(1), self.get_rule(-1)]

    def find_shown(
        self,
        weights: Any,
        unit: Any,
        asked: float,
    ) -> tuple[Rule, Claim] | None:
        """Return the cheapest rule that exact tests show to be sure enough, if there is one."""
        reached: Any = 1.0
        for row in self.compiled.rows:
            share = read_share(row, self.compiled, self.decisions)
            if share is None:
                return None
            confidences = measure_confidences(self.forecast[0], share, weights, unit)
            reached += confidences[self.cut] - 1
        is_met = self.get_worst_violations(0.0) <= TOLERANCE
        is_shown = is_met & (reached >= asked)
        if not is_shown.any():
            return None
        costs = np.where(is_shown, self.get_objectives(), np.inf)
        best = int(costs.argmin())
        confidence = float(reached[best])
        claim = Claim(
            asked=asked,
            reached=confidence,
            reached_testable=confidence,
            untestable=(),
            highest=confidence,
            extra_cost=0.0,
        )
        return self.get_rule(best), claim


def find_floor(
    rules: Rules,
    rule: Rule,
    influence: Influence,
    unit: Any,
    asked: float,
) -> tuple[Rule, Claim] | None:
    """Return a rule at the cheapest threshold on its score that exact tests show, if there is one.

    Several constraints have no such test, and a threshold that all rows pass, or none, is not taken.
    """
    compiled = rules.compiled
    if not rules.by_row or compiled.decisions > 2 or len(compiled.rows) > 1:
        return None
    cost = compute_costs(rules.terms, rule.weights[None], rules.forecast)[0]
    decisions = np.array([[0], [1]]).repeat(rules.row_count, axis=1)
    thresholds = Thresholds(compiled, -cost, decisions=decisions, usual=0.0)
    shown = thresholds.find_shown(influence.weights, unit, asked)
    if shown is None:
        return None
    at_threshold, claim = shown
    if np.isinf(at_threshold.weights).any():
        return None
    weights = rule.weights.copy()
    weights[rules.biases] += at_threshold.weights
    return replace(at_threshold, weights=weights), claim
