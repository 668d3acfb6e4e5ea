"""Margins are chosen so that constraints hold on new rows, and a claim says how sure that is.

The cheapest rule that passes a fixed margin is one that chance has favoured. So rules are solved
with rising margins, and each is judged by its room: how many standard errors are between each
constraint and its bound. The room is compared with the largest deviation of *any* rule that this
one was chosen among, constraint by constraint, by a multiplier bootstrap (Chernozhukov,
Chetverikov and Kato, 2013): the influence of each row on each constraint is multiplied by a normal
number.

Whoever asks for a confidence gets it, unless it costs nearly all that the model gains over one
decision for everyone. Then confidence is a curve, and the rule is deployed beyond which more of it
costs more than it is worth. Either way the claim carries the price of what was asked.
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
HALVINGS = 3  # on the way to the cheapest rule with the confidence asked for
DRAWS = 2000  # of the bootstrap
MOST_DEVIATIONS = 360  # rules times constraints, whose deviations are drawn together
INDEPENDENT_RULES = 10.0  # about so many, at most, is the largest deviation of
CLEAR_VIOLATION = 3.0  # standard errors at which a constraint is violated, however few its rows
MOST_WORTH = 0.75  # the share of a model's gain that the confidence asked for may cost
WORTH = 0.3  # the same of a unit of confidence that is less


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
    growth: float | None = None  # as many times the rows would show what was asked for


@dataclass(frozen=True, eq=False)
class Candidate:
    """A rule, the margins that it was solved with, and its standard errors."""

    rule: Rule
    margins: Any  # (m,)
    errors: Any  # (m,)

    @property
    def cost(self) -> float:
        return self.rule.objective

    @property
    def room(self) -> Any:
        """How many standard errors (m,) are between constraints and their bounds."""
        return -self.rule.violations / self.errors


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
        """Which constraints (m,) must be shown to hold; all if none can be tested."""
        constraints = np.arange(self.rules.constraint_count)
        untestable = np.isin(constraints, list(self.untestable))
        return ~untestable | untestable.all()

    @property
    def required(self) -> Any:
        """What margins (m,) are added to, so that nothing is required of other constraints."""
        return np.where(self.is_testable, 0.0, -np.inf)

    # --- the steps ---

    def choose(self) -> tuple[Candidate, Claim]:
        """Return the rule to deploy, and what is claimed of it."""
        no_margins = np.zeros(self.rules.constraint_count)
        self._find_untestable()
        self._add(no_margins)
        if self._drop_clearly_violated():
            self.candidates.clear()
            self._add(no_margins)
        self._raise_margins()
        self.largest = self._draw_largest_deviations()
        self._halve_margins()
        margins = [candidate.margins for candidate in self.candidates]
        self.candidates.clear()
        for of_candidate in margins:  # any later search may have come by a cheaper rule
            self._add_rule(self.rules.find_cheapest(of_candidate + self.required), of_candidate)
        for index in (0, *self.rules.constants):
            self._add_rule(self.rules.get_rule(index), no_margins)
        best = self._find_worthiest()
        return best, self.make_claim(best)

    def _find_untestable(self) -> None:
        """Find constraints with too little room whatever is decided on the rows they are about.

        One alone has most if all these rows favour it. Two that bound the same from both sides
        have at most half of what is between the bounds.
        """
        needed_alone = ndtri(1 - (1 - self.asked) / self.rules.constraint_count)
        needed_between = ndtri((1 + self.asked) / 2)
        plain = self.rules.decide(self.rules.plain_weights[None])[0]
        errors = self.influence.compute_errors(plain)
        between = self.influence.measure_between() / 2 / errors
        for constraint, label in enumerate(self.rules.compiled.labels):
            units, room = self.influence.favour(constraint, plain)
            factor = 1.0
            if 0 < room < needed_alone:
                factor = needed_alone / room
            if 0 < between[constraint] < needed_between:
                factor = (needed_between / between[constraint]) ** 2
            if factor > 1:
                needed = int(np.ceil(units * factor))
                self.untestable[constraint] = Untestable(label, units, needed)

    def _drop_clearly_violated(self) -> bool:
        """Require untestable constraints after all if even few rows show that they are violated."""
        room = self.candidates[0].room
        violated = [index for index in self.untestable if -room[index] > CLEAR_VIOLATION]
        for index in violated:
            del self.untestable[index]
        return bool(violated)

    def _raise_margins(self) -> None:
        """Solve at rising margins, until no rule meets them or there is more room than needed."""
        level = 1 - (1 - self.asked) / (INDEPENDENT_RULES * self.rules.constraint_count)
        enough_room = ndtri(level)
        errors = self.candidates[0].errors
        for standard_errors in MARGINS:
            last = self.candidates[-1]
            least_room = last.room[self.is_testable].min()
            if least_room > enough_room or not self._meets_margins(last):
                return
            self._add(standard_errors * errors)

    def _halve_margins(self) -> None:
        """Solve between the last margins that are too small and the first that are enough.

        Margins that no rule meets are enough, too.
        """
        is_enough = [self._is_enough(candidate) for candidate in self.candidates]
        if is_enough[0] or not any(is_enough):
            return
        first = is_enough.index(True)
        low = self.candidates[first - 1].margins
        high = self.candidates[first].margins
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._is_enough(self._add(middle)):
                high = middle
            else:
                low = middle

    def _find_worthiest(self) -> Candidate:
        """Return the candidate whose confidence is worth most of what it costs."""
        meeting = self._list_meeting()
        if not meeting:
            return self.candidates[0]
        gain = self._measure_gain(meeting)
        best = max(meeting, key=lambda item: self._measure_value(item, gain))
        margins = np.where(self.is_testable, best.margins, 0.0)
        if self.rules.meets(best.rule, 0.0):
            return best
        of_all = self._add_rule(self.solve(margins), margins)
        is_cheap = of_all.cost <= best.cost + WORTH * gain
        return of_all if is_cheap and self.rules.meets(of_all.rule, 0.0) else best

    def make_claim(self, candidate: Candidate) -> Claim:
        """Return what is claimed of a candidate."""
        reached = self.measure_confidence(candidate, self.is_testable)
        confidences = [self.measure_confidence(item, self.is_testable) for item in self.candidates]
        highest = max(reached, *confidences)
        sure = []
        for item, confidence in zip(self.candidates, confidences, strict=True):
            if confidence >= min(self.asked, highest):
                sure.append(item)
        surest = min(sure, key=lambda item: item.cost, default=candidate)
        return Claim(
            asked=self.asked,
            reached=self.measure_confidence(candidate),
            reached_testable=reached,
            untestable=tuple(self.untestable.values()),
            highest=max(reached, self.measure_confidence(surest, self.is_testable)),
            extra_cost=surest.cost - candidate.cost,
            growth=self._find_growth(candidate),
        )

    def _find_growth(self, candidate: Candidate) -> float | None:
        """Return how many times as many rows would do: errors shrink with their root."""
        room = candidate.room[self.is_testable]
        if room.min() <= 0:
            return None
        shares = (self.largest[:, self.is_testable] / room).max(axis=1)
        return float(np.quantile(shares, self.asked)) ** 2

    # --- candidates ---

    def _add(self, margins: Any) -> Candidate:
        rule = self.solve(margins + self.required)
        return self._add_rule(rule, margins)

    def _add_rule(self, rule: Rule, margins: Any) -> Candidate:
        decisions = self.rules.decide(rule.weights[None])[0]
        candidate = Candidate(rule, margins, self.influence.compute_errors(decisions))
        self.candidates.append(candidate)
        return candidate

    def measure_confidence(self, candidate: Candidate, mask: Any = slice(None)) -> float:
        """Return how sure some constraints are on new rows, of a rule chosen as this one was."""
        holds = self.largest[:, mask] <= candidate.room[mask]
        return float(holds.all(axis=1).mean())

    def _is_enough(self, candidate: Candidate) -> bool:
        is_sure = self.measure_confidence(candidate, self.is_testable) >= self.asked
        return is_sure or not self._meets_margins(candidate)

    def _meets_margins(self, candidate: Candidate) -> bool:
        return self.rules.meets(candidate.rule, candidate.margins + self.required)

    def _list_meeting(self) -> list[Candidate]:
        return [item for item in self.candidates if self.rules.meets(item.rule, self.required)]

    def _measure_value(self, candidate: Candidate, gain: float) -> float:
        """Return what the confidence is worth, less what the rule costs; both in the objective."""
        confidence = self.measure_confidence(candidate, self.is_testable)
        share = MOST_WORTH if confidence >= self.asked else WORTH * confidence
        return share * gain - candidate.cost

    def _measure_gain(self, meeting: Sequence[Candidate]) -> float:
        """Return how much less than a constant the cheapest rule costs that meets constraints.

        It is the cheapest constant that meets them, too, or at least costs more than both the rule
        and the plain model.
        """
        cheapest = min(candidate.cost for candidate in meeting)
        highest = max(cheapest, self.rules.get_rule(0).objective) + TOLERANCE
        costs = []
        for rule in self.rules.list_constant_rules():
            if rule.objective > highest or self.rules.meets(rule, self.required):
                costs.append(rule.objective)
        return max(min(costs, default=cheapest) - cheapest, 0.0)

    # --- deviations ---

    def _draw_largest_deviations(self) -> Any:
        """Return draws (B, m) of the largest deviation over rules that are, or might be, chosen.

        Those might be that cost no more than a confidence below the one asked for is worth.
        """
        random = np.random.default_rng(self.seed)
        highest = max(candidate.cost for candidate in self.candidates)
        meeting = self._list_meeting()
        if meeting:
            cheapest = min(candidate.cost for candidate in meeting)
            highest = min(highest, cheapest + WORTH * self._measure_gain(meeting))
        cheap = np.flatnonzero(self.rules.get_objectives() <= highest)
        most_rules = max(1, MOST_DEVIATIONS // self.rules.constraint_count)
        weights = [candidate.rule.weights for candidate in self.candidates[:most_rules]]
        count = min(most_rules - len(weights), len(cheap))
        weights += list(self.rules.weights[random.choice(cheap, count, replace=False)])
        decisions = (self.rules.decide(of_rule[None])[0] for of_rule in weights)

        correlation = self.influence.correlate(decisions, random)
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0))
        normal = random.standard_normal((DRAWS, len(root)), dtype=np.float32)
        draws = normal @ root.astype(np.float32).T
        return draws.reshape(DRAWS, len(weights), -1).max(axis=1)
