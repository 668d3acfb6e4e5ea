"""Aiming at new rows: the cheapest solution that keeps every promise with room to spare.

Margins that cannot be kept, or that cost more than deciding alike for everyone, are given up in part,
all by the same share; the status then says which probability is left, and what more rows would do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ratebound.auditing.judged import judged
from ratebound.auditing.tally import Tally, counted, smallest_behind
from ratebound.base.linear_program import TOLERANCE, kept, worst_violation
from ratebound.base.types import Array
from ratebound.certifying.certify import outlook
from ratebound.estimators._calibrating import TRAINED_ON
from ratebound.estimators._candidates import Candidates
from ratebound.estimators._margins import SMALLEST, Errors, errors_of, tally_on
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.rates.expressions import Ratio
from ratebound.rates.subsets import EVERYONE
from ratebound.solution.determinize import Outcome, evaluate, outcomes_as_they_fall
from ratebound.solution.mixture import Mixture, member
from ratebound.solution.status import KEPT, Status, status_there

FOLLOWED = 2  # times that margins follow a solution
CLOSE = 0.05  # relative change of margins that is not worth another solution
HALVINGS = 5  # of the share of the margins that can be kept
NEAR = 0.02  # how much less than asked for is near enough
SALTS = 32  # draws among which the best is taken, if rows share their features
MOST_SALTS = 512  # the same until one keeps the promises, as far as
TIGHTENED = 3  # times that promises are tightened where no draw keeps them
TRIED = 2**21  # rows in all are decided for it
SHARES = (2.0, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0)  # of margins, from the safest down
RAISES = tuple(np.arange(4.5, -0.1, -0.25).tolist())  # the same of what bounds of ratios are raised by
LEFT = 0.05  # share of a margin below which there is no room to speak of


def as_sure(
    candidates: Candidates, confidence: float, margins: Array, optimism: Array
) -> tuple[Mixture, Array]:
    """The solution that keeps the promises on new rows with this probability, or as nearly as it can.

    And the margins (m,) it was found at. Where margins of the size it takes cannot be kept, or make
    decisions worse than deciding alike for everyone, the largest common share of them is. Errors depend
    a little on the solution, so margins, which start as given, follow it; `optimism` (m,) is added.
    """
    everyone = candidates.everyone
    for _ in range(FOLLOWED):
        asked = margins + optimism
        solution, share = _at_largest_share(candidates, asked)
        errors = errors_of(solution, everyone)
        margins = errors.margins(confidence)
        if share == 1.0 and (np.abs(margins + optimism - asked) <= CLOSE * asked).all():
            break
    solution = without_margins(solution, share * asked)
    room = -solution.violations["train"] - optimism
    status = replace(solution.status, confidence=errors.confidence(-room))
    aim = _Aim(everyone, solution, errors, confidence, room, candidates.caveat)
    status = replace(status, message=f"{status.message.removesuffix('.')}. {aim.words(status)}")
    return solution.recorded(status=status), share * asked


def as_they_fall(
    solution: Mixture,
    everyone: Compiled,
    margins: Array,
    seed: int,
    resolved: Callable[[Array], Mixture],
) -> Mixture:
    """A solution with the draw whose decisions keep the promises best; `everyone` are the training rows.

    In a table with few distinct rows, each of many rows gets the same member, and what is kept in
    expectation may be broken. Any salt of the hash is as good as another, so the one is taken whose
    decisions keep the promises, with `margins` (m,) if possible, at the lowest objective. If none does,
    the promises are tightened by what was lacking and solved again (`resolved`); failing that, a member
    that keeps them alone is taken, or the status says so. Rows on disk are read only once for this.
    """
    first = replace(solution, decider=solution.decider.salted(seed))
    if first.decider.draw is None or len(first) == 1 or everyone.learnable:
        return first
    expected = solution.record.objectives["train"], *solution.violations["train"]
    found, scale = next(outcomes_as_they_fall(first, everyone, [seed])), everyone.scale[1:]
    if np.allclose((found.objective, *found.violations), expected, rtol=0.0, atol=TOLERANCE):
        return first

    def rank(tried: tuple[Mixture, Outcome]) -> tuple[float, float, float]:
        own = tried[1]
        lacking = [worst_violation(own.violations + room, scale) for room in (0.0, margins)]
        broken, short = (max(float(each) - TOLERANCE, 0.0) for each in lacking)
        return broken, short, own.objective

    def best_draw(mixed: Mixture, most: int) -> tuple[Mixture, Outcome]:
        salts = range(seed, seed + most)
        best: tuple[Mixture, Outcome] | None = None
        for salt, outcome in zip(salts, outcomes_as_they_fall(mixed, everyone, salts), strict=True):
            tried = replace(mixed, decider=mixed.decider.salted(salt)), outcome
            best = tried if best is None else min(best, tried, key=rank)
            if salt >= seed + SALTS and not rank(best)[0]:
                break
        assert best is not None
        return best

    best = first, found
    if not everyone.elsewhere:
        best = best_draw(first, int(np.clip(TRIED // len(everyone.cells), SALTS, MOST_SALTS)))
        room = np.asarray(margins, dtype=float)
        for _ in range(TIGHTENED):
            if not rank(best)[0] or not solution.status.feasible:
                break
            room = room + 2 * np.maximum(best[1].violations - best[0].violations["train"], 0.0)
            best = min(best, best_draw(resolved(room), SALTS), key=rank)
    if rank(best)[0]:
        members = (member(first, index) for index in range(len(first)))
        best = min([best, *((each, evaluate(each, everyone)) for each in members)], key=rank)
    chosen, found = best
    if chosen.calibration is None and first.calibration is not None:  # it is another's mean score
        chosen = chosen.calibrated(everyone.first, TRAINED_ON)
    status = _fallen(solution.status, status_there(everyone.constraints, found.violations, scale, KEPT))
    if status.confidence is not None and rank(best)[1] > 0:
        reached = min(status.confidence, errors_of(chosen, everyone).confidence(found.violations))
        said = f"As decisions fall on rows with equal features, it is {_about(reached)}."
        status = replace(status, confidence=reached, message=f"{status.message} {said}")
    return chosen.recorded(
        status=status,
        objectives=chosen.record.objectives | {"train": found.objective},
        violations=chosen.record.violations | {"train": found.violations},
    )


def _fallen(expected: Status, fallen: Status) -> Status:
    """The status of decisions as they fall, after that of what is expected of them."""
    if fallen.feasible:
        kept_both = replace(expected, reached="") if expected.feasible else fallen
        return replace(kept_both, confidence=expected.confidence)
    words = (
        f"{fallen.message}, as decisions fall on these rows: many have equal features, and those get "
        "the same member. Pass key=, an id for each row, to predict, or let the model see more columns"
    )
    if not expected.feasible:
        words = f"{expected.message.removesuffix('.')}. {words}"
    return replace(fallen, message=words, conflict=expected.conflict, confidence=expected.confidence)


def from_safest(
    candidates: Candidates, margins: Array, raises: Array, confidence: float
) -> tuple[tuple[Mixture, Array], ...]:
    """Solutions and their margins, from the likeliest to be certified to the cheapest.

    They are found at falling shares of `margins` (m,), and of `raises` (m,) for the bounds of ratios: a
    margin on the cross-multiplied form is in rows, of which few yeses leave few. The first is the one
    that leaves most of the room that its own certificate needs; what is safer by its margins only is
    left out. So is what cannot be kept, or is worse than deciding alike for everyone.
    """
    found: list[tuple[Mixture, Array]] = []
    for share in RAISES if raises.any() else SHARES:
        own = share * np.where(raises > 0, 0.0, margins)
        solution = candidates.raised(share * raises, own)
        if solution is not None and _worth_it(solution, candidates.few):
            found.append((without_margins(solution, own), own))
    everyone = candidates.few
    likely = [outlook(everyone.problem, _drawn(one, everyone), confidence) for one, _ in found]
    return tuple(found[int(np.argmax(likely)) if likely else 0 :])


def _drawn(solution: Mixture, everyone: Compiled) -> Tally:
    """What a solution decides on rows if members are drawn, as they are where it is certified."""
    model, random = judged(solution), np.random.default_rng(0)
    if model.deterministic or model.thresholds or everyone.elsewhere:
        return tally_on(everyone, solution)

    def drawn(name: str, rows: Population) -> Array:
        scores = model.answers(name, rows)
        members = np.array(random.choice(len(scores), scores.shape[-1], p=model.chances))
        place = members.reshape(1, *[1] * (scores.ndim - 2), -1)
        return np.take_along_axis(scores, place, axis=0)

    return tally_on(everyone, solution, replace(model, answers=drawn, chances=np.ones(1)))


def raises_of(solution: Mixture, everyone: Compiled, share: float) -> Array:
    """By how much (m,) to raise the bounds of ratios for a certificate, about; 0 of other promises.

    Two and a half standard errors of a proportion among the rows that a ratio counts, where `share` of
    all rows is certified on.
    """
    tally, found = tally_on(everyone, solution), np.zeros(len(everyone.constraints))
    for promise, own in zip(everyone.problem.constraints, everyone.parts, strict=True):
        if isinstance(promise.left, Ratio) and not everyone.elsewhere:
            bound, below = abs(promise.right.constant), promise.left.denominator
            rows = sum(
                abs(c) * float(lines.rows @ counted(lines, rate, tally.classes))
                for rate, c in below.terms
                for lines in [tally[rate.population]]
            )
            rows = max(rows * share / (1 - share), 1.0)
            found[own[0]] = 2.5 * math.sqrt(max(bound * abs(1 - bound), 0.05) / rows)
    return found


def without_margins(solution: Mixture, margins: Array) -> Mixture:
    """A solution that was found and judged with margins, as it is without them."""
    status, violations = solution.status, solution.violations["train"] - margins
    if margins.any() and status.feasible:  # what is kept with margins is kept
        status = replace(status, message=KEPT)
    return solution.recorded(status=status, violations={"train": violations})


def _at_largest_share(candidates: Candidates, margins: Array) -> tuple[Mixture, float]:
    """The solution at the largest share of the margins that can be kept and is worth it; the share."""
    whole = candidates.solved(margins)
    if _worth_it(whole, candidates.few):
        return whole, 1.0
    best, low, high = candidates.solved(0.0 * margins), 0.0, 1.0
    if _worth_it(best, candidates.few):
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            tried = candidates.solved(middle * margins)
            if _worth_it(tried, candidates.few):
                best, low = tried, middle
            else:
                high = middle
    return best, low


def _worth_it(solution: Mixture, everyone: Compiled) -> bool:
    """Whether a solution keeps what it should, and costs no more than deciding alike for everyone.

    Deciding alike is no alternative where that breaks a promise, as a no for everyone breaks a recall.
    """
    cost = solution.record.objectives["train"]
    return solution.status.feasible and cost <= decided_alike(everyone) + TOLERANCE


def decided_alike(everyone: Compiled) -> float:
    """The lowest objective of one decision for everyone that keeps the promises; else infinite."""
    alike, violations = everyone.evaluate(_alike(everyone), _zeros(everyone))
    return float(alike[kept(violations, everyone.scale[1:]).all(axis=1)].min(initial=np.inf))


def _alike(everyone: Compiled) -> Array:
    """Scores that decide one class for everyone, for each of the classes."""
    rows, classes = np.ones(len(everyone.cells)), everyone.decisions
    if classes == 2:
        return np.outer([-1.0, 1.0], rows)
    return np.eye(classes)[:, :, None] * rows


def _zeros(everyone: Compiled) -> dict[str, Array]:
    zero = np.zeros(everyone.decisions - 1)
    return {name: zero for name in everyone.learnable if name not in everyone.budgets}


@dataclass(frozen=True, eq=False)
class _Aim:
    """What was aimed at, and what a solution makes of it."""

    everyone: Compiled
    solution: Mixture
    errors: Errors
    confidence: float
    room: Array  # (m,) to spare on the training rows
    caveat: str  # to add to what is said of new rows

    def words(self, status: Status) -> str:
        """How likely the promises hold on new rows, and what it would take if that is too little."""
        reached = status.confidence
        assert reached is not None
        said = f"On new rows like these all hold together with a probability of {_about(reached)}"
        said += self.caveat
        if reached >= self.confidence - NEAR:
            return f"{said}."
        return f"{said}, where {100 * self.confidence:.10g}% was asked for{self._remedy(status)}."

    def _remedy(self, status: Status) -> str:
        """How many more rows of which group would buy the rest."""
        if not status.feasible:
            return ""
        wanted = self.errors.margins(self.confidence)
        short = int(np.argmax(wanted / np.maximum(self.room, SMALLEST)))
        if self.room[short] <= LEFT * wanted[short]:  # no number of rows makes room where there is none
            return (
                f": {self.everyone.constraints[short]} has no room to spare at a price worth paying; "
                "relax it, or use a stronger model"
            )
        times = (wanted[short] / self.room[short]) ** 2
        tally = tally_on(self.everyone, self.solution)
        rows, group = smallest_behind(tally, self.everyone.problem.demands[short].expression.rates)
        which = "" if group == EVERYONE else f" where {group}"
        return (
            f": for {self.everyone.constraints[short]} that would take about {_round(rows * times)} rows"
            f"{which}, in place of {rows:,}"
        )


def _about(probability: float) -> str:
    """A probability that is known to two digits, and is never said to be 0 or 1."""
    if probability in (0.0, 1.0):
        return "less than 1%" if probability == 0.0 else "more than 99%"
    return f"about {probability:.0%}"


def _round(rows: float) -> str:
    """A number of rows to two digits, as nobody knows more."""
    digits = max(int(np.floor(np.log10(max(rows, 1.0)))) - 1, 0)
    return f"{round(rows / 10**digits) * 10**digits:,}"
