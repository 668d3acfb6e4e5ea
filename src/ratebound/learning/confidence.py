"""Margins are chosen so that constraints hold on new rows, and a claim says how sure that is.

The cheapest rule that passes a fixed margin is one that chance has favoured. So rules are solved
with rising margins, and each is judged by its room: how many standard errors are between each
constraint and its bound. The room is compared with the largest deviation of *any* rule that this
one was chosen among, constraint by constraint, by a multiplier bootstrap (Chernozhukov,
Chetverikov and Kato, 2013): the influence of each row on each constraint is multiplied by a normal
number.

Whoever asks for a confidence gets it, unless it costs nearly all that the model gains over one
decision for everyone. Then confidence is a curve, and the rule is deployed beyond which more of it
costs more than it is worth. Either way the claim carries the price of what was asked. Constraints
that so few rows cannot show are named apart, and required only if that costs little.
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
TEST_MARGINS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)  # times the margin that a test needs
POWER = 0.8  # the chance that a test shows a constraint to hold if it has that margin
HALVINGS = 3  # on the way to the cheapest rule with the confidence asked for
DRAWS = 2000  # of the bootstrap
MOST_DEVIATIONS = 360  # rules times constraints, whose deviations are drawn together
INDEPENDENT_RULES = 10.0  # about so many, at most, is the largest deviation of
CLEAR_VIOLATION = 3.0  # standard errors at which a constraint is violated, however few its rows
# Shares of a model's gain over a constant. On ten tables with two models and ten splits, .3, .5, .75
# and .97 of it for the confidence asked for reach that in 183, 197, 199 and 199 of 200.
MOST_WORTH = 0.75  # that the confidence asked for may cost
WORTH = 0.3  # that a unit of confidence may cost if it is less
CHEAP = 0.02  # that constraints may cost whose rows are too few, whatever is decided on them
EVEN = 0.5  # the confidence by which these are found if none is asked for


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
    reached_testable: float  # that all testable ones hold
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
    solve_quickly: Callable[[Any], Rule] | None = None  # a good rule at margins (m,)
    untestable: dict[int, Untestable] = field(default_factory=dict)
    has_few_rows: Any = None  # (m,) which are untestable even if all rows favour them
    candidates: list[Candidate] = field(default_factory=list)
    largest: Any = None  # (draws, m) the largest deviation over rules, in standard errors

    @property
    def is_testable(self) -> Any:
        """Which constraints (m,) must be shown to hold; all if none can be tested."""
        untestable = np.isin(np.arange(self.rules.constraint_count), list(self.untestable))
        return ~untestable | untestable.all()

    @property
    def no_margins(self) -> Any:
        return np.zeros(self.rules.constraint_count)

    @property
    def required(self) -> Any:
        """What margins (m,) are added to, so that nothing is required of other constraints."""
        return np.where(self.is_testable, 0.0, -np.inf)

    # --- the steps ---

    def choose(self) -> tuple[Candidate, Claim]:
        """Return the rule to deploy, and what is claimed of it."""
        self._start()
        self._raise_margins()
        self.largest = self._draw_largest_deviations()
        self._halve_margins()
        self._find_cheaper_rules()
        best = self._find_worthiest()
        return best, self.make_claim(best)

    def choose_on_rows(self) -> tuple[Candidate, Claim | None]:
        """Return the rule to deploy if no confidence is asked for.

        The claim names constraints that it violates since so few rows cannot show them.
        """
        self._start()
        best = self._find_worthiest()
        if self.rules.meets(best.rule, 0.0) or not self.untestable:
            return best, None
        untestable = tuple(self.untestable.values())
        unknown = float("nan")
        return best, Claim(0.0, unknown, unknown, untestable, unknown, 0.0)

    def _start(self) -> None:
        """Solve without margins; even few rows can show that a constraint is violated."""
        self._find_untestable()
        room = self._add(self.no_margins).room
        violated = [index for index in self.untestable if room[index] < -CLEAR_VIOLATION]
        if violated:
            self.has_few_rows[violated] = False
            for index in violated:
                del self.untestable[index]
            self.candidates.clear()
            self._add(self.no_margins)

    def _find_untestable(self) -> None:
        """Find constraints with too little room whatever is decided on the rows they are about.

        One alone has most if all these rows favour it. Two that bound the same from both sides
        have at most half of what is between the bounds.
        """
        self.has_few_rows = np.zeros(self.rules.constraint_count, dtype=bool)
        error_of_each = (1 - self.asked) / self.rules.constraint_count
        needed_alone = ndtri(1 - error_of_each)
        needed_between = ndtri((1 + self.asked) / 2)
        plain = self._decide(self.rules.plain_weights)
        errors = self.influence.compute_errors(plain)
        between = self.influence.measure_between() / 2 / errors
        for constraint, label in enumerate(self.rules.compiled.labels):
            units, room = self.influence.favour(constraint, plain)
            factor = 1.0
            if 0 < room < needed_alone:
                self.has_few_rows[constraint] = True
                factor = needed_alone / room
            if 0 < between[constraint] < needed_between:
                factor = (needed_between / between[constraint]) ** 2
            if factor > 1:
                needed = int(np.ceil(units * factor))
                self.untestable[constraint] = Untestable(label, units, needed)

    def _raise_margins(self) -> None:
        """Solve at rising margins, until no rule meets them or there is more room than needed."""
        deviations = INDEPENDENT_RULES * self.rules.constraint_count
        enough_room = ndtri(1 - (1 - self.asked) / deviations)
        errors = self.candidates[0].errors
        for standard_errors in MARGINS:
            last = self.candidates[-1]
            least_room = last.room[self.is_testable].min()
            if least_room > enough_room or not self._meets_margins(last):
                return
            self._add_quickly(standard_errors * errors)

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
            if self._is_enough(self._add_quickly(middle)):
                high = middle
            else:
                low = middle
        self._add(high)

    def _find_cheaper_rules(self) -> None:
        """Replace candidates by the cheapest rules at their margins; later searches found more."""
        tried = self.candidates
        self.candidates = []
        for candidate in tried:
            rule = self.rules.find_cheapest(candidate.margins + self.required)
            self._add_rule(rule, candidate.margins)
        for index in (0, *self.rules.constants):
            rule = self.rules.get_rule(index)
            self._add_rule(rule, self.no_margins)

    def _find_worthiest(self) -> Candidate:
        """Return the candidate whose confidence is worth most of what it costs."""
        meeting = self._list_meeting()
        if not meeting:
            return self.candidates[0]
        gain = self._measure_gain(meeting)
        values = [self._measure_value(candidate, gain) for candidate in meeting]
        best = meeting[int(np.argmax(values))]
        best = self._require_more(best, gain, WORTH, self.has_few_rows)
        return self._require_more(best, gain, CHEAP)

    def _require_more(
        self,
        best: Candidate,
        gain: float,
        share: float,
        is_left_out: Any = False,
    ) -> Candidate:
        """Return a rule that violates only constraints left out (m,), if it costs little more."""
        required = np.where(is_left_out, -np.inf, 0.0)
        if self.rules.meets(best.rule, required):
            return best
        margins = np.where(self.is_testable, best.margins, 0.0)
        rule = self.solve(margins + required)
        candidate = self._add_rule(rule, margins)
        value = self._measure_value(candidate, gain) + share * gain
        if value < self._measure_value(best, gain) or not self.rules.meets(rule, required):
            return best
        return candidate

    def list_safer(self, best: Candidate, share: float) -> list[Candidate]:
        """Solve with rising margins for a test on other rows: a share of all, the rest is here."""
        errors = self.candidates[0].errors * np.sqrt((1 - share) / share)
        needed = (ndtri(self.asked) + ndtri(POWER)) * errors
        safer = []
        for multiple in TEST_MARGINS:
            candidate = self._add(multiple * needed)
            if not self._meets_margins(candidate):
                break
            if candidate.margins.sum() > best.margins.sum():
                safer.append(candidate)
        return safer

    def make_claim(self, candidate: Candidate) -> Claim:
        """Return what is claimed of a candidate."""
        reached = self.measure_confidence(candidate)

        def rank(item: Candidate) -> tuple[float, float]:
            return -min(self.measure_confidence(item), self.asked), item.cost

        surest = candidate
        if reached < self.asked:
            surest = min(self.candidates, key=rank)
        all_hold = (self.largest <= candidate.room).all(axis=1)
        return Claim(
            asked=self.asked,
            reached=float(all_hold.mean()),
            reached_testable=reached,
            untestable=tuple(self.untestable.values()),
            highest=self.measure_confidence(surest),
            extra_cost=surest.cost - candidate.cost,
            growth=self._find_growth(candidate),
        )

    def _find_growth(self, candidate: Candidate) -> float | None:
        """Return how many times as many rows would do: errors shrink with their root."""
        room = candidate.room[self.is_testable]
        if room.min() <= 0:
            return None
        shares = self.largest[:, self.is_testable] / room
        quantile = np.quantile(shares.max(axis=1), self.asked)
        return float(quantile) ** 2

    # --- candidates ---

    def _add_quickly(self, margins: Any) -> Candidate:
        """Add the rule of a quick search, if that meets the margins."""
        if self.solve_quickly is not None:
            rule = self.solve_quickly(margins + self.required)
            if self.rules.meets(rule, margins + self.required):
                return self._add_rule(rule, margins)
        return self._add(margins)

    def _add(self, margins: Any) -> Candidate:
        rule = self.solve(margins + self.required)
        return self._add_rule(rule, margins)

    def _add_rule(self, rule: Rule, margins: Any) -> Candidate:
        decisions = self._decide(rule.weights)
        errors = self.influence.compute_errors(decisions)
        candidate = Candidate(rule, margins, errors)
        self.candidates.append(candidate)
        return candidate

    def _decide(self, weights: Any) -> Any:
        """Return the decisions (n,) of the rule at weights (T,)."""
        return self.rules.decide(weights[None])[0]

    def measure_confidence(self, candidate: Candidate) -> float:
        """Return how sure all testable constraints are on new rows, of a rule chosen as this was."""
        holds = self.largest <= candidate.room - self.required
        return float(holds.all(axis=1).mean())

    def _is_enough(self, candidate: Candidate) -> bool:
        is_sure = self.measure_confidence(candidate) >= self.asked
        return is_sure or not self._meets_margins(candidate)

    def _meets_margins(self, candidate: Candidate) -> bool:
        return self.rules.meets(candidate.rule, candidate.margins + self.required)

    def _list_meeting(self) -> list[Candidate]:
        return [item for item in self.candidates if self.rules.meets(item.rule, self.required)]

    def _measure_value(self, candidate: Candidate, gain: float) -> float:
        """Return what the confidence is worth, less what the rule costs; both in the objective."""
        if self.largest is None:  # no confidence is asked for
            return -candidate.cost
        confidence = self.measure_confidence(candidate)
        share = MOST_WORTH if confidence >= self.asked else WORTH * confidence
        return share * gain - candidate.cost

    def _measure_gain(self, meeting: Sequence[Candidate]) -> float:
        """Return how much less than a constant the cheapest rule costs that meets constraints.

        It is the cheapest constant that meets them, too. If none does, it is the cheapest that
        costs more than both the rule and the plain model.
        """
        cheapest = min(candidate.cost for candidate in meeting)
        highest = max(cheapest, self.rules.get_rule(0).objective) + TOLERANCE
        constants = self.rules.list_constant_rules()
        costs = [rule.objective for rule in constants if self.rules.meets(rule, self.required)]
        if not costs:
            costs = [rule.objective for rule in constants if rule.objective > highest]
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
        drawn = random.choice(cheap, count, replace=False)
        weights += list(self.rules.weights[drawn])
        correlation = self.influence.correlate(map(self._decide, weights), random)

        values, vectors = np.linalg.eigh(correlation)
        lengths = np.sqrt(values.clip(0))
        root = (vectors * lengths).astype(np.float32)
        normal = random.standard_normal((DRAWS, len(root)), dtype=np.float32)
        draws = normal @ root.T
        by_rule = draws.reshape(DRAWS, len(weights), -1)
        return by_rule.max(axis=1)
