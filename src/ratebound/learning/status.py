"""A status holds what was asked, what was reached and what it costs; its text is made from that."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.learning.confidence import Claim
from ratebound.learning.rules import TOLERANCE, Rule, Rules
from ratebound.problem.compile import compile_pieces
from ratebound.problem.compiled import Compiled
from ratebound.problem.problem import Problem

MOST_NAMED = 5
ALL_ALIKE = (
    "Every row gets the decision {!r}: if that is not what you want, add a constraint on how often "
    "the other decisions are made."
)
REMEDY = (
    "Relax each by as much, or use a stronger model; rb.explain says what any model could meet."
)
DIGIT = 1e-4  # the last that violations have, rounded up
ERRORS = "error_rate()"
NO_ERROR = "No row is decided wrongly: check that no feature gives the label away."
NEVER_REFERRED = "No row is referred, although some may be."


@dataclass(frozen=True)
class ConstraintStatus:
    """How one constraint stands, out of fold."""

    constraint: str
    violation: float  # met if at most 0
    met: bool


@dataclass(frozen=True)
class Status:
    """How a fitted model stands on rows judged by models that did not see them.

    Print it: its first words say what was not reached.
    """

    objective: str
    reached: float  # NaN for the plain model, which has seen all rows
    plain: float  # of the plain model, which is the best without constraints if it is a sum
    constraints: tuple[ConstraintStatus, ...]
    claim: Claim | None
    remarks: tuple[str, ...] = ()
    assumption: str = ""  # that the claim rests on
    opponent: str = "without constraints"  # what `plain` is of

    @property
    def feasible(self) -> bool:
        """Whether every constraint is met or has too few rows to be tested."""
        missed = {item.constraint for item in self.constraints if not item.met}
        if self.claim is not None:
            missed -= {item.constraint for item in self.claim.untestable}
        return not missed

    @property
    def confidence(self) -> float | None:
        """The confidence that all constraints hold on new rows, to two digits, if one was asked."""
        if self.claim is None or self.claim.asked == 0:
            return None
        return round(self.claim.reached, 2)

    @property
    def is_unsure(self) -> bool:
        """Whether constraints that rows can show hold with less confidence than was asked for."""
        return self.claim is not None and round(self.claim.reached_testable, 2) < self.claim.asked

    def __str__(self) -> str:
        sentences = [self.describe_verdict()]
        if self.constraints:
            sentences.append("Each row was judged by models that did not see it.")
        if self.claim is not None and self.feasible:
            sentences += self._describe_claim(self.claim)
        if not np.isnan(self.reached):
            objective = f"{self.objective} is {self.reached:z.4f}"
            sentences.append(f"{objective}, and {self.plain:z.4f} {self.opponent}.")
        return " ".join([*sentences, *self.remarks])

    def describe_verdict(self) -> str:
        """Return the first words: whether constraints are met, and what was not reached."""
        if not self.constraints:
            is_plain = np.isnan(self.reached)
            return "There are no constraints" + (": this is the plain model." if is_plain else ".")
        condition = f", if {self.assumption}" if self.assumption else ""
        if not self.feasible:
            return f"Infeasible{condition}: {self._describe_violations()}"
        are_met = all(item.met for item in self.constraints)
        start = "Feasible on these rows" if are_met else "Feasible as far as these rows can show"
        if self.claim is None or not self.is_unsure:
            return f"{start}{condition}."
        sure = f"{format_confidence(self.claim.reached_testable)} sure on new rows"
        return f"{start}{condition}; {sure}, {self.claim.asked:.0%} asked."

    def _describe_violations(self) -> str:
        """Return which constraints are violated, and by how much: to relax them so helps."""
        violated = [item for item in self.constraints if not item.met]
        violated.sort(key=lambda item: -item.violation)
        misses = []
        for item in violated:
            enough = np.ceil(item.violation / DIGIT) * DIGIT
            misses.append(f"{item.constraint} is violated by {enough:.4f}")
        return f"{join_texts(misses)}. {REMEDY}"

    def _describe_claim(self, claim: Claim) -> list[str]:
        sentences = []
        is_any_testable = len(claim.untestable) < len(self.constraints)
        if self.is_unsure:
            sentences = [self._describe_shortage(claim)]
        elif claim.asked > 0 and is_any_testable:
            start = f"If {self.assumption}, the" if self.assumption else "The"
            which = " that rows can test" if claim.untestable else ""
            sure = f"{format_confidence(claim.reached_testable)} sure"
            sentences = [
                f"{start} constraints{which} hold together on new rows like these: {sure}."
            ]
        if claim.untestable:
            sizes = [
                f"{item.constraint} ({item.rows:,} rows, at least {item.needed:,} needed)"
                for item in claim.untestable
            ]
            sentences.append(f"Too few rows to test: {join_texts(sizes)}.")
            if claim.asked > 0:
                sentences.append(f"All constraints: {format_confidence(claim.reached)} sure.")
        return sentences

    def _describe_shortage(self, claim: Claim) -> str:
        """Return what the confidence asked for would cost, in the objective and in rows."""
        price = f"No rule reaches {claim.asked:.0%}"
        if claim.highest >= claim.asked:
            price = f"{claim.asked:.0%} would cost {claim.extra_cost:z.4f} more of {self.objective}"
        rows = "" if claim.growth is None else f", or bring {claim.growth:,.1f} times as many rows"
        return f"{price}. Relax the constraints{rows}."


def join_texts(texts: Sequence[str]) -> str:
    rest = len(texts) - MOST_NAMED
    listed = "; ".join(texts[:MOST_NAMED])
    return f"{listed} and {rest} more" if rest > 0 else listed


def format_confidence(confidence: float) -> str:
    """Write a confidence with two digits, never as 0 or 1.

    >>> format_confidence(0.871), format_confidence(0.999)
    ('87%', 'more than 99%')
    """
    if confidence < 0.01:
        return "less than 1%"
    return "more than 99%" if confidence > 0.99 else f"{confidence:.0%}"


class ConstraintsViolated(UserWarning):
    """A fitted model violates constraints on the rows it was trained on."""


class ConfidenceNotReached(UserWarning):
    """A fitted model meets constraints with less confidence than was asked for."""


def warn_of_status(status: Status) -> None:
    """Warn, as from the caller of `fit`, of what was not reached."""
    if status.feasible and not status.is_unsure:
        return
    category = ConfidenceNotReached if status.feasible else ConstraintsViolated
    warnings.warn(status.describe_verdict(), category, stacklevel=3)


def make_status(rules: Rules, rule: Rule, claim: Claim | None) -> Status:
    """Return how a rule stands, in numbers and text."""
    compiled = rules.compiled
    decisions = rules.decide(rule.weights[None])
    sign = compiled.objective.sign
    return Status(
        objective=str(compiled.problem.objective),
        reached=sign * rule.objective,
        plain=sign * rules.get_rule(0).objective,
        constraints=_judge_constraints(rules, rule, decisions),
        claim=claim,
        remarks=_make_remarks(compiled, rule, decisions),
        opponent="without constraints" if compiled.objective.is_sum else "for the likeliest labels",
    )


def _judge_constraints(
    rules: Rules,
    rule: Rule,
    decisions: Any,
) -> tuple[ConstraintStatus, ...]:
    is_met = rule.violations / rules.scale <= TOLERANCE
    violations = rule.violations / _measure_denominators(rules.compiled, decisions)
    columns = (rules.compiled.labels, violations.tolist(), is_met.tolist())
    return tuple(map(ConstraintStatus, *columns))


def _measure_denominators(compiled: Compiled, decisions: Any) -> Any:
    """Return the denominators (m,) of ratios, whose violations are of numerators; 1 for sums."""
    denominators = np.ones(len(compiled.rows))
    is_ratio = [row.ratio is not None for row in compiled.rows]
    bottoms = [row.ratio.bottom for row in compiled.rows if row.ratio is not None]
    if bottoms:
        problem = Problem(bottoms[0], [bottom <= 0 for bottom in bottoms])
        bounded = compile_pieces(problem, compiled.populations, compiled.reference)
        values = bounded.values(bounded.count_decisions(decisions))[0]
        denominators[is_ratio] = values[-len(bottoms) :]
    return np.where(denominators > 0, denominators, 1.0)


def _make_remarks(compiled: Compiled, rule: Rule, decisions: Any) -> tuple[str, ...]:
    classes = compiled.classes
    made = np.unique(decisions)
    if len(made) == 1:
        return (ALL_ALIKE.format(classes.values[made[0]]),)
    if str(compiled.problem.objective) == ERRORS and rule.objective <= 0:
        return (NO_ERROR,)
    may_refer = len(classes.values) > classes.labels
    return (NEVER_REFERRED,) if may_refer and classes.labels not in made else ()
