"""The search for one rule among the rules at all λ, for decisions or for rankings.

λ is found by cutting planes, on actual rates: a linear program over the rules so far gives the
multipliers at which least is known, and their rule is the next. The rules do not depend on margins, so
the search for one margin begins with the rules of earlier margins.

The program mixes rules that differ in few rows, since their multipliers are close. So nearly always one
rule close to their mean is as good; the search looks around the mean.

A rule may also have its own threshold: the cost that a yes must stay below. If no multipliers alone are
nearly as good as a mixture, thresholds are tried too, up to one decision for everyone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ratebound._old.base.linear_program import TOLERANCE, worst_violation
from ratebound._old.base.types import Array
from ratebound._old.game.players_by_fits import elastic
from ratebound._old.game.scorer import Scorer
from ratebound._old.game.trace import FoldModels, Split, Trace
from ratebound._old.learners.plug_in import WHOLE
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import decided
from ratebound._old.rates.kinds import TWO

RADIUS = 100.0  # what a violation may cost at most, in units of the objective
ROUNDS = 80  # rules computed at each margin, at most
GAP = 1e-6  # of the program, in units of the objective: with a smaller gap its multipliers are the best
AT_ONCE = 2**19  # decisions of rules evaluated at a time
SCALES = np.r_[np.linspace(0.9, 1.1, 11), 1.15, 1.2, 1.3]  # of multipliers, around the program's
NUDGES = (0.9, 0.95, 0.98, 1.02, 1.05, 1.1)  # scales of a single multiplier
DEAR = 2e-4  # of the objective: how much more than a mixture a single rule may cost
STEPS = np.linspace(0, 1, 6)[1:-1]  # between two multipliers
MIXED = 4  # rules of a mixture to look between
NUDGED = 8  # the largest multipliers, moved one by one
FAR = 10.0  # from so many times DEAR on, thresholds are tried too
SHARES = np.linspace(0, 1, 33)  # of rows that get a no, at thresholds
FINER = np.linspace(-1, 1, 33) / 32  # the same around one of them
BASES = 4  # rules whose thresholds are moved
CHANCE = 0.5  # standard deviations of one row's cost that a threshold must save
STARTS = 8  # rules for other bounds that are computed first


@dataclass(frozen=True, eq=False)
class Rule:
    """One λ, and its rule's values out of fold."""

    place: int  # among the computed rules
    weights: Array  # (T,) of the objective, each promise and the threshold
    objective: float
    violations: Array  # (m,)


class Influences(Protocol):
    """How far rows move promises."""

    def of(self, decided: Array, some: Array | slice = ...) -> tuple[Array, Array, Array]:
        """How far `some` rows move each, (m, k); the variances (m,), and the share of real rows."""


@dataclass(eq=False)
class RuleSearch(ABC):
    """All rules for a problem; computed rules are kept."""

    compiled: Compiled
    scorer: Scorer  # the scorer for deployed rules
    split: Split
    folds: int  # the number of folds of the rows
    seed: int
    together: Array | None  # (n,) which rows were drawn together
    weights: Array = field(init=False)  # (N, T) of the computed rules; T is 1+m, or 2+m with a threshold
    values: Array = field(init=False)  # (N, 1+m) their objectives and violations

    def __post_init__(self) -> None:
        self.weights = np.empty((0, self.width))
        self.values = np.empty((0, 1 + self.promises))
        self.planes: list[int] = []  # places of the rules that programs chose
        self.ask(np.eye(1 + self.promises)[:1])  # the plain model

    # --- what rules are of -------------------------------------------------------------------------

    @property
    @abstractmethod
    def width(self) -> int:
        """The number T of weights of a rule."""

    @abstractmethod
    def pieces(self, weights: Array) -> Iterator[Array]:
        """Scores (K, A, b) out of fold of rules at weights (K, T), some rows at a time."""

    @property
    @abstractmethod
    def moves(self) -> Influences:
        """How rows move promises."""

    @abstractmethod
    def few_rows(self, needed: float) -> dict[int, tuple[int, int]]:
        """Promises that no rule can show to be kept, for lack of rows; the rows present and needed."""

    @property
    def head(self) -> int:
        """How many parameters of the scorer's models come before the weights, such as the fold."""
        return 1

    def parameters(self, weights: Array) -> Array:
        """The parameters of the scorer's models at weights (N, T), after their head."""
        return weights

    @property
    def drawn(self) -> int:
        """The number of independently drawn rows, or sets of rows."""
        return len(self.compiled.cells) if self.together is None else int(self.together.max()) + 1

    @property
    def promises(self) -> int:
        """The number m of promises."""
        return len(self.compiled.constraints)

    @property
    def bare(self) -> Array:
        """Which rules (N,) have no threshold."""
        return np.asarray(~self.weights[:, 1 + self.promises :].any(axis=1))

    def objectives(self, places: Sequence[int]) -> list[float]:
        """The objectives of these computed rules."""
        return [float(value) for value in self.values[list(places), 0]]

    def _padded(self, weights: Array) -> Array:
        """Weights (K, T), with a threshold of 0 if they have none."""
        whole = np.zeros((len(weights), self.width))
        whole[:, : weights.shape[1]] = weights
        return whole

    def correlation(self, near: Sequence[Array]) -> Array | None:
        """How deviations of rules at these weights go together (N m, N m); None if rows are sampled."""
        return None

    def decided(self, weights: Array) -> Array:
        """A rule's decision on each row, (n,)."""
        return np.concatenate(
            [decided(scores)[0] for scores in self.pieces(self._padded(weights[None]))]
        )

    def ask(self, weights: Array) -> Array:
        """Compute and keep the values (K, 1+m) of rules at weights (K, 1+m) or (K, T)."""
        weights = self._padded(weights)
        many = max(1, AT_ONCE // max(len(self.compiled.cells), 1))
        computed = []
        for start in range(0, len(weights), many):
            objectives, violations, _ = self.compiled.measure(self.pieces(weights[start : start + many]))
            computed.append(np.column_stack([objectives, violations]))
        values = np.concatenate(computed)
        self.weights = np.vstack([self.weights, weights])
        self.values = np.vstack([self.values, values])
        return values

    def rule(self, place: int) -> Rule:
        """One of the computed rules."""
        return Rule(place, self.weights[place], float(self.values[place, 0]), self.values[place, 1:])

    # --- the best rule ---------------------------------------------------------------------------

    def best(self, margins: Array) -> Rule:
        """The cheapest rule that keeps the promises with `margins` (m,); else the nearest one.

        A promise with a margin of -inf is not required.
        """
        if not self.promises:
            return self.rule(0)
        if self.bare.all():
            self._look_at_thresholds([self.weights[0]])  # what most people would try first
        mean, mixed, value, prices = self._multipliers(margins)
        self._look_around(mean)
        if self._dearer(margins, value):
            self._look_around(prices)  # if rules that are mixed lie far apart, the mean is of no use
        if self._dearer(margins, value):
            self._look_between([*mixed, mean])
            if self._dearer(margins, value):
                self._look_between([self.cheapest(margins).weights, *mixed])
            if self._dearer(margins, value, FAR):
                self._look_at_thresholds([self.cheapest(margins).weights, mean, *mixed])
        near = self.cheapest(margins).weights
        self._look_around(near, finer=5.0)
        if near[1 + self.promises :].any():
            self._look_at_thresholds([near], self._share_below(near) + FINER)
        return self.cheapest(margins)

    def quickly(self, margins: Array) -> Rule:
        """As `best`, among few rules: the program's rules, and rules on the line through their mean.

        If these cost clearly more than a mixture, rules on the line through the program's prices too.
        """
        mean, _, value, prices = self._multipliers(margins)
        for weights in (mean, prices):
            line = SCALES[:, None] * self._prices(weights)
            self.ask(np.column_stack([np.ones(len(line)), line]))
            if not self._dearer(margins, value):
                break
        return self.cheapest(margins)

    def _share_below(self, weights: Array) -> float:
        """The share of rows that a rule says no to."""
        return float((self.decided(weights) == 0).mean())

    def _dearer(self, margins: Array, value: float, times: float = 1.0) -> bool:
        """Whether every rule so far costs clearly more than a mixture of them."""
        near = self.cheapest(margins)
        worst = worst_violation(near.violations + margins, self.compiled.scale[1:])
        return worst > TOLERANCE or near.objective / self.compiled.scale[0] > value + times * DEAR

    def _multipliers(self, margins: Array) -> tuple[Array, list[Array], float, Array]:
        """The weights (T,) of the program's best mixture, by cutting planes.

        Returns their mean, each of them, the mixture's cost, and the weights that are the program's
        prices.
        """
        asked_for = np.append(True, margins > -np.inf)
        scale, room = self.compiled.scale[asked_for], np.append(0.0, margins)[asked_for]
        unit = scale[0] / scale
        mean = self.weights[0]
        mixed, value, prices = [mean], -np.inf, np.eye(len(scale))[0]
        center: Array | None = None  # multipliers stay near it while that gives new information
        bound, highest = -np.inf, np.eye(len(scale))[0]
        for _ in range(ROUNDS):
            bare = self.bare  # only single rules have thresholds
            values, weights = (self.values[bare][:, asked_for] + room) / scale, self.weights[bare]
            program = elastic(values, RADIUS)
            value, prices = program.value, program.weights
            mean, mixed = program.shares @ weights, list(weights[program.shares > 0])
            if value - bound <= GAP:
                break
            asked = prices if center is None else (prices + center) / 2
            known = float((values @ asked).min())
            self.planes.append(len(self.weights))
            every = np.zeros((1, 1 + self.promises))
            every[0, asked_for] = asked * unit
            new = float((self.ask(every)[0, asked_for] + room) / scale @ asked)
            if min(new, known) > bound:
                bound, highest = min(new, known), asked
            told = new < known - GAP
            if not told and center is None:
                break
            center = highest if told else None
        priced = np.zeros(self.weights.shape[1])
        priced[np.flatnonzero(asked_for)] = prices * unit
        return mean, mixed, value, priced

    def _look_between(self, ends: list[Array]) -> None:
        """Compute rules between weights (T,) that are far apart.

        Since a forecast is not exact, single rules may be worse than mixtures of them; then the program
        sees no rule in between, and the wanted rule is one of these.
        """
        tried = []
        for place, one in enumerate(ends[:MIXED]):
            for other in ends[place + 1 : MIXED]:
                both = np.stack([self._prices(one), self._prices(other)])
                if np.abs(both[0] - both[1]).max() <= 0.05 * np.abs(both).max():
                    continue
                low = np.log(np.maximum(both, 1e-3 * max(float(both.max()), 1e-9)))
                for step in STEPS:
                    even = (1 - step) * both[0] + step * both[1]
                    tried += [
                        even,
                        np.where(both.any(axis=0), np.exp((1 - step) * low[0] + step * low[1]), 0),
                    ]
        if tried:
            self.ask(np.column_stack([np.ones(len(tried)), tried]))

    def _look_around(self, weights: Array, finer: float = 1.0) -> None:
        """Compute rules close to these weights (T,)."""
        promises = self._prices(weights)
        scales = 1.0 + (SCALES - 1.0) / finer
        tried = [scale * promises for scale in scales]
        for place in np.argsort(-promises)[:NUDGED]:
            if promises[place] > 0:
                for nudge in NUDGES:
                    moved = promises.copy()
                    moved[place] *= 1.0 + (nudge - 1.0) / finer
                    tried.append(moved)
        every = np.column_stack([np.ones(len(tried)), tried])
        threshold = weights[1 + self.promises :] / max(weights[0], 1e-9)
        self.ask(np.column_stack([every, np.tile(threshold, (len(every), 1))]))

    def _prices(self, weights: Array) -> Array:
        """The multipliers (m,) of weights (T,), for an objective that counts once."""
        return weights[1 : 1 + self.promises] / max(weights[0], 1e-9)

    def _look_at_thresholds(self, bases: list[Array], shares: Array = SHARES) -> None:
        """Compute rules at these weights (T,) with thresholds at which these shares of rows get a no.

        By default up to one decision for everyone.
        """
        if self.width == 1 + self.promises:
            return
        for base in bases[:BASES]:
            own = np.append(base[:-1], 0.0)
            scores = np.concatenate(list(self.pieces(own[None])), axis=-1)[0, 0]
            ends = np.quantile(scores, shares.clip(0, 1))
            beyond = 1e-6 * (1.0 + np.abs(ends).max())  # so that all rows lie on one side
            ends = ends + beyond * ((shares >= 1) - 1.0 * (shares <= 0))
            every = np.tile(own, (len(ends), 1))
            every[:, -1] = ends
            self.ask(every)

    def cheapest(self, margins: Array) -> Rule:
        """The cheapest rule so far that keeps `margins` (m,); if none does, the nearest.

        It has a threshold only if that is clearly cheaper: among many thresholds some are cheaper by
        chance.
        """
        costs = self.values[:, 0]
        worst = worst_violation(self.values[:, 1:] + margins, self.compiled.scale[1:])
        fine, bare = worst <= TOLERANCE, self.bare
        if not fine.any():
            return self.rule(int(np.argmin(worst)))
        any_place, own_place = (int(np.argmin(np.where(f, costs, np.inf))) for f in (fine, fine & bare))
        clearly = max(FAR * DEAR, CHANCE / np.sqrt(len(self.compiled.cells))) * self.compiled.scale[0]
        near = fine[own_place] and bare[own_place] and costs[own_place] <= costs[any_place] + clearly
        return self.rule(own_place if near else any_place)

    # --- how it varies -----------------------------------------------------------------------------

    def errors(self, rule: Rule) -> Array:
        """The standard errors (m,) of a rule's violations on as many new rows as these."""
        if not self.promises:
            return np.empty(0)
        variances = self.moves.of(self.decided(rule.weights), slice(0))[1]
        return np.sqrt(np.maximum(variances, 1e-24))

    # --- as a trace --------------------------------------------------------------------------------

    def trace(self, others: Iterable[int] = (), ended: str = "gap") -> Trace:
        """The rules that programs chose, and `others`, as candidates with values out of fold.

        Their rounds are their places among all rules, from 1 on. Rules that were only tried on the way
        to a single one are left out: there are thousands.
        """
        places = np.unique([0, *self.planes, *others])
        compiled, weights, values = self.compiled, self.weights[places], self.values[places]
        count = len(weights)
        own = np.column_stack([np.full((count, self.head), WHOLE), self.parameters(weights)])
        each = np.repeat(own[:, None], self.folds, axis=1)
        each[:, :, 0] = np.arange(self.folds)
        return Trace(
            problem=compiled.problem,
            constraints=compiled.constraints,
            objectives=values[:, 0],
            violations=values[:, 1:],
            watched={},
            multipliers=weights[:, : 1 + self.promises],
            parameters=own,
            thresholds={},
            setting=np.zeros(count, dtype=int),
            round=places + 1,
            scorer=self.scorer,
            averaging="all fits",
            answers=True,
            feature_scale=compiled.feature_scale,
            ended=ended,
            scale=compiled.scale[1:],
            seed=self.seed,
            data=compiled.digest,
            folds=FoldModels((self.split,), np.zeros(count, dtype=int), each),
            classes=TWO if compiled.decisions == 2 else compiled.classes,
        )
