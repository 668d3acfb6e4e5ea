"""Margins are chosen so that constraints hold on new rows, and a claim says how sure that is.

The cheapest rule that passes a fixed margin is one that chance has favoured. So rules are solved
with rising margins, and each is judged by its room: how many standard errors are between each
constraint and its bound. The room is compared with the largest deviation of *any* rule that this
one was chosen among, constraint by constraint, by a multiplier bootstrap (Chernozhukov,
Chetverikov and Kato, 2013): the influence of each row on each constraint is multiplied by a normal
number.

The price of confidence is a curve. The rule is deployed beyond which more confidence costs more
than it is worth, a share of the model's gain over one decision for everyone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from ratebound.learning.influence import Influence
from ratebound.learning.rules import TOLERANCE, Rule, Rules

MARGINS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)  # in standard errors, tried after none
HALVINGS = 3  # on the way to the cheapest rule with enough confidence
DRAWS = 2000  # of the bootstrap
MOST_DEVIATIONS = 360  # rules times constraints, whose deviations are drawn together
INDEPENDENT_RULES = 10.0  # about so many, at most, is the largest deviation of
CLEAR_VIOLATION = 3.0  # standard errors at which a constraint is violated, however few its rows
WORTH = 0.3  # the share of a model's gain that a unit of confidence may cost


@dataclass(frozen=True)
class Untestable:
    """A constraint that so few rows cannot show to be met, whatever is decided."""

    constraint: str
    rows: int
    needed: int  # at least


@dataclass(frozen=True)
class Claim:
    """How sure constraints are on new rows: a claim of c is false in at most 1 - c of samples."""

    asked: float
    reached: float  # that all constraints hold
    reached_testable: float  # that all hold but those that cannot be tested
    untestable: tuple[Untestable, ...]
    highest: float  # the most that any rule on the way reached
    extra_cost: float  # of that rule, or the cheapest that reaches what was asked


@dataclass(frozen=True, eq=False)
class Candidate:
    """A rule, the margins that it was solved with, and how much room it has."""

    rule: Rule
    margins: Any  # (m,)
    room: Any  # (m,) in standard errors


@dataclass(eq=False)
class MarginSearch:
    """Rules at rising margins, and their confidence."""

    rules: Rules
    solve: Callable[[Any], Rule]  # the best rule at margins (m,)
    influence: Influence
    asked: float
    seed: int
    untestable: dict[int, Untestable] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    largest: Any = None  # (draws, m) the largest deviation over rules, in standard errors

    @property
    def is_testable(self) -> Any:
        """Which constraints (m,) must be shown to hold."""
        constraints = np.arange(self.rules.constraint_count)
        return ~np.isin(constraints, list(self.untestable))

    # --- the steps ---

    def choose(self) -> tuple[Candidate, Claim]:
        """Return the rule that is worth its price, and what is claimed of it."""
        no_margins = np.zeros(self.rules.constraint_count)
        self._find_untestable()
        first = self._add(no_margins)
        if self._drop_clearly_violated(first):
            self.candidates.clear()
            first = self._add(no_margins)
        if self.is_testable.any():
            self._raise_margins(first)
            self._halve_margins()
        self.candidates = [self._solve_again(candidate) for candidate in self.candidates]
        plain = self.rules.get_rule(0)  # may be enough
        self.candidates.append(self.make_candidate(plain, no_margins))
        self.largest = self.draw_largest_deviations(MOST_DEVIATIONS)
        best = self._find_worthiest()
        return best, self._make_claim(best)

    def _find_untestable(self) -> None:
        """Find constraints with too little room even if their smallest set favoured them."""
        compiled = self.rules.compiled
        level = 1 - (1 - self.asked) / self.rules.constraint_count
        needed_room = float(ndtri(level))
        plain = self._decide(self.rules.plain_weights)
        for constraint in range(self.rules.constraint_count):
            inside, favourable = self.influence.favour(constraint, plain)
            values = compiled.values(compiled.count_decisions(favourable))
            violation = values[0, self.rules.piece_count + constraint]
            room = -violation / self.influence.compute_errors(favourable)[constraint]
            if 0 < room < needed_room:
                rows = int(inside.sum())
                needed = int(np.ceil(rows * needed_room / room))
                label = compiled.labels[constraint]
                self.untestable[constraint] = Untestable(label, rows, needed)

    def _drop_clearly_violated(self, first: Candidate) -> bool:
        """Require untestable constraints after all if even few rows show that they are violated."""
        violated = [index for index in self.untestable if -first.room[index] > CLEAR_VIOLATION]
        for index in violated:
            del self.untestable[index]
        return bool(violated)

    def _raise_margins(self, first: Candidate) -> None:
        """Solve at rising margins, until no rule meets them or there is more room than needed."""
        errors = self.influence.compute_errors(self._decide(first.rule.weights))
        level = 1 - (1 - self.asked) / (INDEPENDENT_RULES * self.rules.constraint_count)
        enough_room = float(ndtri(level))
        is_testable = self.is_testable
        for standard_errors in MARGINS:
            candidate = self._add(standard_errors * errors)
            violations = candidate.rule.violations + candidate.margins
            in_units = violations[is_testable] / self.rules.scale[is_testable]
            if in_units.max() > TOLERANCE or candidate.room[is_testable].min() > enough_room:
                break

    def _halve_margins(self) -> None:
        """Solve between the last margins that are too small and the first that are enough."""
        self.largest = self.draw_largest_deviations(MOST_DEVIATIONS // 4)
        for _ in range(HALVINGS):
            ordered = sorted(self.candidates, key=lambda candidate: float(candidate.margins.sum()))
            enough = [index for index, candidate in enumerate(ordered) if self._is_sure(candidate)]
            if not enough or enough[0] == 0:
                return
            below = ordered[enough[0] - 1]
            above = ordered[enough[0]]
            self._add((below.margins + above.margins) / 2)

    def _solve_again(self, candidate: Candidate) -> Candidate:
        """Return the candidate with the cheapest rule that any later search came by."""
        rule = self.rules.find_cheapest(self._require_testable(candidate.margins))
        return self.make_candidate(rule, candidate.margins)

    def _find_worthiest(self) -> Candidate:
        """Return the candidate whose confidence is worth most of what it costs."""
        is_testable = self.is_testable
        meeting = self._list_meeting()
        if not meeting:
            return min(
                self.candidates, key=lambda candidate: self._find_worst(candidate, is_testable)
            )
        gain = self._measure_gain(min(candidate.rule.objective for candidate in meeting))
        best = max(meeting, key=lambda candidate: self._measure_value(candidate, is_testable, gain))
        if self._meets(best, ~is_testable):
            return best
        margins = np.where(is_testable, best.margins, 0.0)
        meeting_all = self.make_candidate(self.solve(margins), margins)
        everything = np.ones_like(is_testable)
        if not self._meets(meeting_all, everything):
            return best
        value = self._measure_value(meeting_all, everything, gain)
        return meeting_all if value >= self._measure_value(best, everything, gain) else best

    def _make_claim(self, candidate: Candidate) -> Claim:
        reached_testable = self.measure_confidence(candidate, self.is_testable)
        sure = [other for other in self.candidates if self._is_sure(other)]
        if sure:
            surest = min(sure, key=lambda other: other.rule.objective)
        else:
            surest = max(
                self.candidates, key=lambda other: self.measure_confidence(other, self.is_testable)
            )
        highest = self.measure_confidence(surest, self.is_testable)
        return Claim(
            asked=self.asked,
            reached=self.measure_confidence(candidate),
            reached_testable=reached_testable,
            untestable=tuple(self.untestable.values()),
            highest=max(reached_testable, highest),
            extra_cost=surest.rule.objective - candidate.rule.objective,
        )

    # --- candidates ---

    def _decide(self, weights: Any) -> Any:
        return self.rules.decide(weights[None])[0]

    def _require_testable(self, margins: Any) -> Any:
        return np.where(self.is_testable, margins, -np.inf)

    def _add(self, margins: Any) -> Candidate:
        rule = self.solve(self._require_testable(margins))
        candidate = self.make_candidate(rule, margins)
        self.candidates.append(candidate)
        return candidate

    def make_candidate(self, rule: Rule, margins: Any) -> Candidate:
        errors = self.influence.compute_errors(self._decide(rule.weights))
        return Candidate(rule, margins, -rule.violations / errors)

    def measure_confidence(self, candidate: Candidate, mask: Any = slice(None)) -> float:
        """Return how sure some constraints are on new rows, of a rule chosen as this one was."""
        holds = self.largest[:, mask] <= candidate.room[mask]
        return float(holds.all(axis=1).mean())

    def _is_sure(self, candidate: Candidate) -> bool:
        return self.measure_confidence(candidate, self.is_testable) >= self.asked

    def _find_worst(self, candidate: Candidate, mask: Any) -> float:
        violations = candidate.rule.violations / self.rules.scale
        return float(violations[mask].max(initial=0.0))

    def _meets(self, candidate: Candidate, mask: Any) -> bool:
        return self._find_worst(candidate, mask) <= TOLERANCE

    def _list_meeting(self) -> list[Candidate]:
        is_testable = self.is_testable
        return [item for item in self.candidates if self._meets(item, is_testable)]

    def _measure_value(self, candidate: Candidate, mask: Any, gain: float) -> float:
        """Return what the confidence is worth, less what the rule costs; both in the objective."""
        confidence = min(self.measure_confidence(candidate, mask), self.asked)
        return WORTH * gain * confidence - candidate.rule.objective

    def _measure_gain(self, cheapest: float) -> float:
        plain = self.rules.get_rule(0).objective
        return measure_gain_over_constant(self.rules, plain, cheapest)

    # --- deviations ---

    def draw_largest_deviations(self, most: int) -> Any:
        """Return draws (B, m) of the largest deviation over rules that are, or might be, chosen."""
        random = np.random.default_rng(self.seed)
        most_rules = max(1, most // self.rules.constraint_count)
        weights = [candidate.rule.weights for candidate in self.candidates[:most_rules]]
        cheap = np.flatnonzero(self.rules.get_objectives() <= self._find_highest_cost())
        count = min(most_rules - len(weights), len(cheap))
        drawn = random.choice(cheap, count, replace=False)
        weights += list(self.rules.weights[drawn])
        return self.draw_deviations(weights, random).max(axis=1)

    def _find_highest_cost(self) -> float:
        """Return the objective beyond which no rule is chosen: no confidence is worth so much."""
        highest = max(candidate.rule.objective for candidate in self.candidates)
        meeting = self._list_meeting()
        if not meeting:
            return highest
        cheapest = min(candidate.rule.objective for candidate in meeting)
        return min(highest, cheapest + WORTH * self._measure_gain(cheapest))

    def draw_deviations(self, weights: Sequence[Any], random: np.random.Generator) -> Any:
        """Return draws (B, N, m) of how many standard errors N rules are off in each constraint."""
        decisions = [self._decide(of_rule) for of_rule in weights]
        correlation = self.influence.correlate(decisions, random)
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0))
        root = root.astype(np.float32)
        normal = random.standard_normal((DRAWS, len(root)), dtype=np.float32)
        draws = normal @ root.T
        return draws.reshape(DRAWS, len(weights), -1)


def measure_gain_over_constant(rules: Rules, plain: float, objective: float) -> float:
    """Return how much less than one decision for everyone a rule costs.

    That is the best decision for everyone that is worse than both the rule and the plain model.
    """
    highest = max(plain, objective) + TOLERANCE
    constant = [rule.objective for rule in rules.list_constant_rules()]
    worse = [value for value in constant if value > highest]
    if not worse:
        return 0.0
    return max(min(worse) - objective, 0.0)
