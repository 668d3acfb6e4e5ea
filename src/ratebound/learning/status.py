"""A status holds what was asked, what was reached and what it costs; its text is made from that."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.learning.confidence import Claim
from ratebound.learning.influence import Influence, measure_influence
from ratebound.learning.rules import TOLERANCE, Rule, Rules
from ratebound.learning.solve import find_conflict

NEAR = 0.03  # a confidence so close to what was asked for counts as reached
CLEARLY_HIGHER = 0.01  # confidence, that is worth saying
MOST_NAMED = 5
ALL_ALIKE = (
    "Every row is decided alike, {!r}: if that is not what you want, "
    "add a constraint on how often the other decisions are made."
)


@dataclass(frozen=True)
class ConstraintStatus:
    """How one constraint stands, out of fold."""

    constraint: str
    violation: float  # met if at most 0
    error: float  # its standard error on as many new rows
    met: bool
    conflicts: bool = False  # whether it is among those that cannot be met together
    relax: float = 0.0  # by how much, if they are


@dataclass(frozen=True)
class Status:
    """How a fitted model stands on rows judged by models that did not see them."""

    objective: str
    reached: float
    plain: float  # of the same model without constraints
    constraints: tuple[ConstraintStatus, ...]
    claim: Claim | None
    remarks: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether every constraint is met or has too few rows to be tested."""
        untestable = _list_untestable(self.claim)
        return all(item.met or item.constraint in untestable for item in self.constraints)

    @property
    def confidence(self) -> float | None:
        """The confidence that all constraints hold on new rows, to two digits, if one was asked."""
        return None if self.claim is None else round(self.claim.reached, 2)

    def __str__(self) -> str:
        sentences = [
            self._say_feasible(),
            self._say_violations(),
            self._say_conflict(),
            *_say_claim(self.claim, self.objective),
            self._say_price(),
            *self.remarks,
        ]
        return " ".join(sentence for sentence in sentences if sentence)

    def _say_feasible(self) -> str:
        count = len(self.constraints)
        if count == 0:
            is_plain = self.plain == self.reached
            rest = ": this is the plain model." if is_plain else "."
            return "There are no constraints" + rest
        if all(item.met for item in self.constraints):
            few = {1: "the constraint is met", 2: "both constraints are met"}
            met = few.get(count, f"all {count} constraints are met")
            return f"Feasible: {met} on these rows, each judged by models that did not see it."
        if self.feasible:
            return "Feasible but for constraints that too few rows can show."
        return "Infeasible."

    def _say_violations(self) -> str:
        violated = [item for item in self.constraints if not item.met]
        violated.sort(key=lambda item: -item.violation)
        if not violated:
            return ""
        texts = [f"{item.constraint} misses by {item.violation:.4g}" for item in violated]
        listed = "; ".join(texts[:MOST_NAMED])
        rest = len(texts) - MOST_NAMED
        return f"{listed} and {rest} more." if rest > 0 else f"{listed}."

    def _say_conflict(self) -> str:
        conflicting = [item for item in self.constraints if item.conflicts]
        if not conflicting:
            return ""
        listed = " and ".join(item.constraint for item in conflicting[:MOST_NAMED])
        together = " together" if len(conflicting) > 1 else ""
        relax = max(item.relax for item in conflicting)
        return f"No rule meets {listed}{together}: relax by {relax:.4g}, or use a stronger model."

    def _say_price(self) -> str:
        reached = f"{self.objective} is {self.reached:.4f}"
        if self.constraints:
            return f"{reached}, and {self.plain:.4f} without constraints."
        return "" if self.plain == self.reached else f"{reached}."


def _list_untestable(claim: Claim | None) -> list[str]:
    if claim is None:
        return []
    return [item.constraint for item in claim.untestable]


def _say_claim(claim: Claim | None, objective: str) -> list[str]:
    if claim is None:
        return []
    which = "all the others" if claim.untestable else "all"
    confidence = format_confidence(claim.reached_testable)
    start = f"On new rows like these {which} hold together with a confidence of {confidence}"
    asked = f"{claim.asked:.0%}"
    remedy = "Relax the constraints, or bring more rows."
    highest = format_confidence(claim.highest)
    could_be_higher = claim.highest > claim.reached_testable + CLEARLY_HIGHER
    if claim.reached_testable >= claim.asked:
        sentences = [f"{start}."]
    elif claim.reached_testable >= claim.asked - NEAR:
        sentences = [f"{start}, near the {asked} asked for."]
    elif could_be_higher and claim.extra_cost > 0:
        cost = f"{claim.extra_cost:.4f} of {objective} more, which is more than it is worth"
        sentences = [f"{start}, where {asked} was asked for: {highest} would cost {cost}. {remedy}"]
    else:
        sentences = [f"{start}, where {asked} was asked for: no rule reaches more. {remedy}"]
    if claim.untestable:
        sentences.append(_say_untestable(claim))
    return sentences


def _say_untestable(claim: Claim) -> str:
    texts = []
    for item in claim.untestable[:MOST_NAMED]:
        sizes = f"{item.rows:,} rows, at least {item.needed:,} needed"
        texts.append(f"{item.constraint} ({sizes})")
    rest = len(claim.untestable) - MOST_NAMED
    if rest > 0:
        texts.append(f"{rest} more")
    confidence = format_confidence(claim.reached)
    return (
        f"All hold together with a confidence of {confidence}; "
        f"no decisions could show these on so few rows: {'; '.join(texts)}."
    )


def format_confidence(confidence: float) -> str:
    """Write a confidence with two digits, never as 0 or 1."""
    if confidence < 0.005:
        return "less than 1%"
    if confidence > 0.995:
        return "more than 99%"
    return f"about {confidence:.0%}"


class ConstraintsViolated(UserWarning):
    """A fitted model violates constraints on the rows it was trained on."""


def warn_if_violated(status: Status) -> None:
    if not status.feasible:
        warnings.warn(str(status), ConstraintsViolated, stacklevel=3)


def make_status(
    rules: Rules,
    rule: Rule,
    claim: Claim | None,
    influence: Influence | None = None,
) -> Status:
    """Return how a rule stands, in numbers and text."""
    compiled = rules.compiled
    decisions = rules.decide(rule.weights[None])[0]
    sign = compiled.objective.sign
    return Status(
        objective=str(compiled.problem.objective),
        reached=sign * rule.objective,
        plain=sign * rules.get_rule(0).objective,
        constraints=_judge_constraints(rules, rule, claim, decisions, influence),
        claim=claim,
        remarks=_make_remarks(rules, decisions),
    )


def _judge_constraints(
    rules: Rules,
    rule: Rule,
    claim: Claim | None,
    decisions: Any,
    influence: Influence | None,
) -> tuple[ConstraintStatus, ...]:
    if not rules.constraint_count:
        return ()
    compiled = rules.compiled
    if influence is None:
        every_row_alone = np.arange(len(compiled.cell))
        influence = measure_influence(compiled, every_row_alone)
    errors = influence.compute_errors(decisions)
    in_units = rule.violations / rules.scale
    is_met = in_units <= TOLERANCE
    is_required = ~np.isin(compiled.labels, _list_untestable(claim))
    conflicts = np.zeros(len(is_met), dtype=bool)
    if not is_met[is_required].all():
        conflicts = find_conflict(rules, is_required)
    relax = in_units.max(initial=0.0) * rules.scale
    columns = (rule.violations, errors, is_met, conflicts, relax)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    labeled = zip(compiled.labels, numbers, strict=True)
    return tuple(ConstraintStatus(label, *values) for label, values in labeled)


def _make_remarks(rules: Rules, decisions: Any) -> tuple[str, ...]:
    values = rules.compiled.classes.values
    referral = rules.compiled.classes.labels
    made = np.unique(decisions)
    if len(made) == 1:
        return (ALL_ALIKE.format(values[made[0]]),)
    if len(values) > referral and referral not in made:
        return ("No row is referred, although some may be.",)
    return ()
