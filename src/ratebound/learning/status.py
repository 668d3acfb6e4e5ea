"""A status holds what was asked, what was reached and what it costs; its text is made from that."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.learning.confidence import Claim
from ratebound.learning.influence import Influence, measure_influence
from ratebound.learning.rules import TOLERANCE, Rule, Rules
from ratebound.learning.solve import find_conflict

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
    conflicts: bool = False  # whether no rule meets it together with others
    relax: float = 0.0  # by how much, if so


@dataclass(frozen=True)
class Status:
    """How a fitted model stands on rows judged by models that did not see them.

    Print it: its first words say what was not reached.
    """

    objective: str
    reached: float  # NaN for the plain model, which has seen all rows
    plain: float  # of the same model without constraints
    constraints: tuple[ConstraintStatus, ...]
    claim: Claim | None
    remarks: tuple[str, ...] = ()
    assumption: str = ""  # that the claim rests on

    @property
    def feasible(self) -> bool:
        """Whether every constraint is met or has too few rows to be tested."""
        untestable = _list_untestable(self.claim)
        return all(item.met or item.constraint in untestable for item in self.constraints)

    @property
    def confidence(self) -> float | None:
        """The confidence that all constraints hold on new rows, to two digits, if one was asked."""
        return None if self.claim is None else round(self.claim.reached, 2)

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
            objective = f"{self.objective} is {self.reached:.4f}"
            sentences.append(f"{objective}, and {self.plain:.4f} without constraints.")
        return " ".join([*sentences, *self.remarks])

    def describe_verdict(self) -> str:
        """Return the first words: whether constraints are met, and what was not reached."""
        if not self.constraints:
            is_plain = np.isnan(self.reached)
            return "There are no constraints" + (": this is the plain model." if is_plain else ".")
        if not self.feasible:
            return f"Infeasible: {self._list_violations()}.{self._describe_conflict()}"
        are_met = all(item.met for item in self.constraints)
        start = "Feasible on these rows" if are_met else "Feasible as far as these rows can show"
        if self.claim is None or not self.is_unsure:
            return f"{start}."
        condition = f"if {self.assumption}, " if self.assumption else ""
        sure = f"{condition}{format_confidence(self.claim.reached_testable)} sure on new rows"
        return f"{start}; {sure}, {self.claim.asked:.0%} asked."

    def _list_violations(self) -> str:
        violated = [item for item in self.constraints if not item.met]
        violated.sort(key=lambda item: -item.violation)
        return join_texts(
            [f"{item.constraint} misses by {item.violation:.4g}" for item in violated]
        )

    def _describe_conflict(self) -> str:
        conflicting = [item for item in self.constraints if item.conflicts]
        if not conflicting:
            return ""
        listed = " and ".join(item.constraint for item in conflicting[:MOST_NAMED])
        together = " together" if len(conflicting) > 1 else ""
        relax = max(item.relax for item in conflicting)
        return f" No rule meets {listed}{together}: relax by {relax:.4g}, or use a stronger model."

    def _describe_claim(self, claim: Claim) -> list[str]:
        sentences = []
        if self.is_unsure:
            sentences.append(self._describe_shortage(claim))
        else:
            condition = f"If {self.assumption}, the" if self.assumption else "The"
            sure = f"{format_confidence(claim.reached_testable)} sure"
            sentences.append(
                f"{condition} constraints hold together on new rows like these: {sure}."
            )
        if claim.untestable:
            texts = []
            for item in claim.untestable:
                sizes = f"{item.rows:,} rows, at least {item.needed:,} needed"
                texts.append(f"{item.constraint} ({sizes})")
            sure = f"{format_confidence(claim.reached)} sure with them"
            sentences.append(f"Too few rows could show these, {sure}: {join_texts(texts)}.")
        return sentences

    def _describe_shortage(self, claim: Claim) -> str:
        """Return what the confidence asked for would cost, in the objective and in rows."""
        price = f"No rule reaches {claim.asked:.0%}"
        if claim.highest >= claim.asked:
            price = f"{claim.asked:.0%} would cost {claim.extra_cost:.4f} more of {self.objective}"
        rows = "" if claim.growth is None else f", or bring {claim.growth:,.1f} times as many rows"
        return f"{price}. Relax the constraints{rows}."


def _list_untestable(claim: Claim | None) -> list[str]:
    return [] if claim is None else [item.constraint for item in claim.untestable]


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
    if not status.feasible:
        warnings.warn(status.describe_verdict(), ConstraintsViolated, stacklevel=3)
    elif status.is_unsure:
        warnings.warn(status.describe_verdict(), ConfidenceNotReached, stacklevel=3)


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
