"""A rule that keeps promises for every grouping that is possible given guesses and audited rows.

The worst grouping of a rule is a linear program (`auditing.consistent`), as in Wang et al. (2020). It
counts true groups among rows that are decided alike, which ties it to audited rows much closer than
guesses alone would. So the worst grouping of one rule is seldom possible for another, and would ask for
too much as a separate constraint. But the shortfall of a promise in it carries over: the promise is
solved for again with that much more room, until no grouping breaks it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ratebound._old.auditing.consistent import audits_needed, least_room, told_by_guesses
from ratebound._old.auditing.judged import scored
from ratebound._old.auditing.tally import Tally
from ratebound._old.auditing.tallying import tallied
from ratebound._old.base.linear_program import TOLERANCE, worst_violation
from ratebound._old.base.types import Array
from ratebound._old.estimators.confidence import Curve, Point
from ratebound._old.estimators.rule_search import Rule
from ratebound._old.estimators.rules import Rules
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.guessing import guess_of
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.guesses import Guessed, speaks_of
from ratebound._old.solution.status import Status

ROUNDS = 12  # times that a promise is solved for with more room
REFINED = 4  # halvings on the way back to the least room that is enough


def asked_of_every_grouping(problem: Problem) -> tuple[Guessed, ...]:
    """The columns whose promises must hold for every possible grouping."""
    return tuple(each for each in problem.guessed if each.worst is not None)


@dataclass(frozen=True, eq=False)
class Groupings:
    """The possible groupings, given the audited rows."""

    rules: Rules
    ways: tuple[Guessed, ...]

    @property
    def compiled(self) -> Compiled:
        """The problem on the training rows."""
        return self.rules.by_goal or self.rules.compiled

    def rooms(self, rule: Rule) -> Array:
        """The least room (m,) of each promise over these groupings, by decisions out of fold.

        It is infinite for a promise that names no such group.
        """
        tally = self._tally(rule)
        return np.array([self._room(place, tally) for place in range(len(self.compiled.constraints))])

    def _room(self, place: int, tally: Tally) -> float:
        constraint, rooms = self.compiled.constraints[place], [np.inf]
        for each in self.ways:
            if speaks_of(constraint, each.column):
                assert each.worst is not None
                room = least_room(constraint, each, tally, each.worst)
                if room is None:
                    raise ValueError(_refusal(self.compiled, place, each))
                rooms.append(room)
        return min(rooms)

    def _tally(self, rule: Rule) -> Tally:
        people = {FIRST: self.compiled.populations[FIRST]}
        rates = [rate for demand in self.compiled.problem.demands for rate in demand.expression.rates]
        scores = self.rules.scores(rule.weights[None])[0]
        model = scored({FIRST: scores if len(scores) > 1 else scores[0]}, "out of fold")
        return tallied(model, people, [*rates, *told_by_guesses(self.compiled.problem, people)])

    def kept_by(self, curve: Curve, first: Point) -> Point:
        """The cheapest rule that no grouping breaks, with the margins of `first` or more; or `first`."""
        short, enough = first, None
        for _ in range(ROUNDS):
            rooms = self.rooms(short.rule)
            if (rooms >= -TOLERANCE).all():
                enough = short
                break
            more = np.maximum(-short.rule.violations, short.margins) + np.maximum(-rooms, 0.0)
            other = curve.add(more)
            if other.rule.place == short.rule.place or self._breaks(other):
                return first  # no rule has more room than this
            first_short, short = short, other
        if enough is None or enough is first:
            return first
        low, high = first_short.margins, enough.margins
        for _ in range(REFINED):
            point = curve.add((low + high) / 2)
            if (self.rooms(point.rule) >= -TOLERANCE).all() and not self._breaks(point):
                high = point.margins
                enough = min(enough, point, key=lambda each: each.rule.objective)
            else:
                low = point.margins
        return enough

    def _breaks(self, point: Point) -> bool:
        scale = self.rules.compiled.scale[1:]
        return bool(worst_violation(point.rule.violations + point.margins, scale) > TOLERANCE)

    def told(self, status: Status, rule: Rule | None) -> Status:
        """The status of a rule, with what it keeps in the worst case; the rule is None for a mixture."""
        at = " and ".join(f"{100 * (each.worst or 0):.10g}%" for each in self.ways)
        groupings = f"the worst grouping that guesses and audited rows leave possible (at {at})"
        if rule is None:
            words = f"Which promises it keeps in {groupings} is not known, since its decisions are drawn"
            return replace(status, feasible=False, message=f"{_sentence(status.message)} {words}.")
        rooms = self.rooms(rule)
        short = [int(place) for place in np.argsort(rooms) if rooms[place] < -TOLERANCE]
        if not short:
            named = np.isfinite(rooms)
            least = f", with a room of {rooms[named].min():.4f}" if named.any() else ""
            words = f"In {groupings} all are kept{least}."
            return replace(status, message=f"{_sentence(status.message)} {words}")
        worst = self.compiled.constraints[short[0]]
        violation = float(-rooms[short[0]])
        message = (
            f"not kept for every grouping: in {groupings}, {worst} falls short by {violation:.4f}. "
            f"{self._remedy(short[0], rule)} On the audited rows: {status.message}"
        )
        return replace(
            status,
            feasible=False,
            violation=max(violation, status.violation),
            broken=tuple(self.compiled.constraints[place] for place in short),
            message=message,
        )

    def _remedy(self, place: int, rule: Rule) -> str:
        constraint, tally = self.compiled.constraints[place], self._tally(rule)
        (each,) = (way for way in self.ways if speaks_of(constraint, way.column))
        assert each.worst is not None
        column = tally[FIRST].people.values(each.column)
        audited = int(tally[FIRST].rows[~column.missing].sum())
        needed = audits_needed(constraint, each, tally, each.worst)
        if needed is None:
            return "No number of audited rows would be enough: relax it, or use better features."
        return (
            f"If shares stay as they are, {needed:,} audited rows in place of {audited:,} would be "
            "enough; or relax it."
        )


def check_groupings(problem: Problem, compiled: Compiled) -> None:
    """Raise if the worst grouping of some promise is not known."""
    for each in asked_of_every_grouping(problem):
        if guess_of(each) not in compiled.first.column_names:
            raise ValueError(
                f"{each}: the rows have no column {each.column!r} with a guess for every row, which "
                "worst= needs: add it, or leave out worst="
            )
        if compiled.first.values(guess_of(each)).missing.any():
            raise ValueError(
                f"{each}: column {each.column!r} has no guess in some rows, but worst= needs one for "
                "each: fill it in, with a value such as 'unknown' if nothing is known"
            )
        if compiled.first.weights is not None:
            raise ValueError(
                f"{each}: the worst grouping is not known for rows with weights: leave out worst="
            )


def _refusal(compiled: Compiled, place: int, each: Guessed) -> str:
    return (
        f"{compiled.constraints[place]}: its worst case over groupings of {each.column!r} is not "
        "known: it is known only for sums of shares such as recall(...) or positive_rate(...), on "
        f"one population with some audited rows. Promise such rates, or leave out worst= of {each}"
    )


def _sentence(message: str) -> str:
    return f"{message.removesuffix('.')}."
