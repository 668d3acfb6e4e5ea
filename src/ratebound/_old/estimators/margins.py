"""The margins with which promises must be kept on these rows, so that they hold on new ones.

On new rows of the same kind each violation is about what it is here, up to a standard error, and the
violations of several promises are correlated. Each margin is z standard errors, with z chosen so that a
normal vector with this correlation stays below z with the requested probability. Then all promises hold
at once with about that probability.

If margins cannot be kept, or cost more than one decision for everyone, all are reduced by the same
share; the status then says which confidence is left, and how many more rows would help.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ratebound._old.auditing.influence import covariance
from ratebound._old.auditing.judged import Judged, judged
from ratebound._old.auditing.tally import Tally, counted, smallest_behind
from ratebound._old.auditing.tallying import tallied
from ratebound._old.base.linear_program import TOLERANCE, kept
from ratebound._old.base.types import Array
from ratebound._old.certifying.certify import outlook
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.population import Population
from ratebound._old.rates.demands import by_chance
from ratebound._old.rates.expressions import Ratio
from ratebound._old.rates.subsets import EVERYONE
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.status import Status

if TYPE_CHECKING:
    from ratebound._old.estimators.proposals import Proposals

DRAWS = 2**23  # numbers drawn for a quantile of the largest of several normal variables
# A solution counts as the luckiest of so many independent rules: along all thresholds of one score,
# rates vary that much.
LOOKS = 3
LEAST = 1000  # draws of each variable, at least
POWER = 0.8  # the chance of a certificate that margins aim for
FOLLOWED = 2  # times that margins are recomputed for a solution
CLOSE = 0.05  # a relative change of margins that needs no other solution
HALVINGS = 5  # halvings of the share of the margins that can be kept
NEAR = 0.02  # a confidence that is lower by this is near enough
SHARES = (2.0, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0)  # shares of margins, from the safest down
RAISES = tuple(np.arange(4.5, -0.1, -0.25).tolist())  # the same for what bounds of ratios are raised by
LEFT = 0.05  # a share of a margin below which the room counts as none
SMALLEST = 1e-12  # the least standard error, for promises that no row could break


@dataclass(frozen=True, eq=False)
class Errors:
    """The standard errors and the correlations of violations on so many rows."""

    covariance: Array  # (m, m)
    fixed: Array | None = None  # (m,) which of them do not depend on the drawn rows; None if all do

    @cached_property
    def sizes(self) -> Array:
        """Standard errors (m,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), SMALLEST**2))

    @cached_property
    def _drawn(self) -> Array:
        """Draws (D, m) of normal variables with this correlation, the same every time."""
        m = len(self.sizes)
        correlation = self.covariance / np.outer(self.sizes, self.sizes)
        values, vectors = np.linalg.eigh(correlation)
        draws = min(max(DRAWS // max(m, 1), LEAST), 100_000)
        normal = np.random.default_rng(0).standard_normal((draws, m))
        return np.asarray(normal @ (vectors * np.sqrt(np.maximum(values, 0.0))).T)

    def margins(self, confidence: float) -> Array:
        """The margins (m,) with which all promises hold together with this probability.

        >>> two = Errors(np.diag([0.01, 0.02]) ** 2)
        >>> (two.margins(0.9) / two.sizes).round(1)  # the normal quantile of .9 ** (1 / 2 / LOOKS)
        array([2.1, 2.1])
        """
        if not len(self.sizes):
            return self.sizes
        margins = self._quantile(confidence ** (1 / LOOKS)) * self.sizes
        return margins if self.fixed is None else np.where(self.fixed, 0.0, margins)

    def to_be_certified(self, confidence: float, share: float, drawn: Errors) -> Array:
        """The margins (m,) that give a chance of 80% of a certificate at this confidence.

        `share` is the share of all rows to certify on; these errors are for the other rows, and `drawn`
        are the errors of decisions as they fall, since those are certified.
        """
        from scipy.special import ndtri

        if not len(self.sizes):
            return self.sizes
        there = drawn.sizes * math.sqrt((1.0 - share) / share)
        both = np.hypot(self.sizes, there)
        return float(ndtri(confidence)) * there + self._quantile(POWER) * both

    def _quantile(self, probability: float) -> float:
        """The number of standard errors that all stay below together with this probability."""
        return max(float(np.quantile(self._drawn.max(axis=1), probability)), 0.0)

    def confidence(self, violations: Array) -> float:
        """The probability that promises with these violations (m,) here all hold on new rows.

        >>> Errors(np.diag([0.01, 0.01]) ** 2).confidence(np.array([-0.1, 0.0]))  # a half, LOOKS times
        0.12
        """
        if not len(self.sizes):
            return 1.0
        room = -violations / self.sizes
        if self.fixed is not None:
            room = np.where(self.fixed & kept(violations), np.inf, room)
        return round(float((self._drawn <= room).all(axis=1).mean()) ** LOOKS, 2)


def errors_of(
    solution: Mixture, compiled: Compiled, *, drawn: bool = False, effect: float = 1.0
) -> Errors:
    """The standard errors of a solution's violations on the rows of `compiled`, expected or as drawn.

    If rows belong together, `effect` of them carry as much information as one. Constraints that are not
    about rates are fixed: the budget of a top, which its threshold keeps on any rows, and custom
    constraints.
    """
    demands = [replace(each, expression=by_chance(each)) for each in compiled.problem.demands]
    fixed = np.array([not each.expression.terms for each in demands])
    return Errors(effect * covariance(tally_on(compiled, solution), demands, drawn=drawn), fixed)


def tally_on(compiled: Compiled, solution: Mixture, model: Judged | None = None) -> Tally:
    """The tally of decisions on the rows of `compiled`, by a solution or by another `model`."""
    rates = [rate for demand in compiled.problem.demands for rate in demand.expression.rates]
    return tallied(model or judged(solution), compiled.populations, rates)


def at_confidence(
    candidates: Proposals, confidence: float, margins: Array, optimism: Array, effect: float = 1.0
) -> tuple[Mixture, Array]:
    """The solution that keeps the promises on new rows with this probability, or as nearly as it can.

    Also returns its margins (m,). If the full margins cannot be kept, or make decisions worse than one
    decision for everyone, the largest possible common share of them is kept. Errors depend slightly on
    the solution, so margins, which start as given, are recomputed for it; `optimism` (m,) is added.
    """
    compiled = candidates.compiled
    for _ in range(FOLLOWED):
        wanted = margins + optimism
        solution, share = _at_largest_share(candidates, wanted)
        errors = errors_of(solution, compiled, effect=effect)
        margins = errors.margins(confidence)
        if share == 1.0 and (np.abs(margins + optimism - wanted) <= CLOSE * wanted).all():
            break
    solution = without_margins(solution, share * wanted)
    room = -solution.violations["train"] - optimism
    status = replace(solution.status, confidence=errors.confidence(-room))
    aim = _Aim(compiled, solution, errors, confidence, room, candidates.caveat)
    status = replace(status, message=f"{status.message.removesuffix('.')}. {aim.words(status)}")
    return solution.recorded(status=status), share * wanted


def from_safest(
    candidates: Proposals, margins: Array, raises: Array, confidence: float
) -> tuple[tuple[Mixture, Array], ...]:
    """Solutions and their margins, from the likeliest to be certified to the cheapest.

    They are solved at falling shares of `margins` (m,), and of `raises` (m,) for the bounds of ratios: a
    margin on the cross-multiplied form is in rows, and with few yeses there are few. The first one
    leaves most of the room that its own certificate needs; solutions that are safer only by their
    margins are left out, as are solutions that break a promise or are worse than one decision for
    everyone.
    """
    safe: list[tuple[Mixture, Array]] = []
    for share in RAISES if raises.any() else SHARES:
        own = share * np.where(raises > 0, 0.0, margins)
        solution = candidates.raised(share * raises, own)
        if solution is not None and _worth_it(solution, candidates.few):
            safe.append((without_margins(solution, own), own))
    compiled = candidates.few
    likely = [outlook(compiled.problem, _drawn(one, compiled), confidence) for one, _ in safe]
    return tuple(safe[int(np.argmax(likely)) if likely else 0 :])


def _drawn(solution: Mixture, compiled: Compiled) -> Tally:
    """A solution's decisions on rows with members drawn, as in a certificate."""
    model, random = judged(solution), np.random.default_rng(0)
    if model.deterministic or model.thresholds or not compiled.all_in_memory:
        return tally_on(compiled, solution)

    def drawn(name: str, rows: Population) -> Array:
        scores = model.answers(name, rows)
        members = np.array(random.choice(len(scores), scores.shape[-1], p=model.chances))
        return np.take_along_axis(scores, members[None, None], axis=0)

    return tally_on(compiled, solution, replace(model, answers=drawn, chances=np.ones(1)))


def raises_of(solution: Mixture, compiled: Compiled, share: float) -> Array:
    """About how much (m,) to raise the bounds of ratios for a certificate; 0 for other promises.

    It is two and a half standard errors of a proportion among the rows that a ratio counts, if `share`
    of all rows is certified on.
    """
    tally, raises = tally_on(compiled, solution), np.zeros(len(compiled.constraints))
    for promise, own in zip(compiled.problem.constraints, compiled.parts, strict=True):
        if isinstance(promise.left, Ratio) and compiled.all_in_memory:
            bound, below = abs(promise.right.constant), promise.left.denominator
            rows = sum(
                abs(c) * float(lines.rows @ counted(lines, rate, tally.classes))
                for rate, c in below.terms
                for lines in [tally[rate.population]]
            )
            rows = max(rows * share / (1 - share), 1.0)
            raises[own[0]] = 2.5 * math.sqrt(max(bound * abs(1 - bound), 0.05) / rows)
    return raises


def without_margins(solution: Mixture, margins: Array) -> Mixture:
    """A solution that was solved and judged with margins, restated without them."""
    return solution.recorded(violations={"train": solution.violations["train"] - margins})


def _at_largest_share(candidates: Proposals, margins: Array) -> tuple[Mixture, float]:
    """The solution at the largest share of the margins that is possible and worth it, and the share."""
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


def _worth_it(solution: Mixture, compiled: Compiled) -> bool:
    """Whether a solution keeps its promises and costs no more than one decision for everyone.

    One decision is not an alternative if it breaks a promise, as a no for everyone breaks a recall.
    """
    cost = solution.record.objectives["train"]
    return solution.status.feasible and cost <= decided_alike(compiled) + TOLERANCE


def gained(compiled: Compiled, plain: float, own: float) -> float:
    """How much less a rule costs (`own`) than one decision for everyone.

    The comparison is with the best such decision that costs more than the rule and the `plain` model: a
    yes for everyone has the highest possible recall, whatever it breaks, and does not show a rule's
    worth.
    """
    alike, _ = compiled.evaluate(_alike(compiled), _zeros(compiled))
    worse = float(alike[alike > max(plain, own) + TOLERANCE].min(initial=np.inf))
    return max(worse - own, 0.0) if math.isfinite(worse) else 0.0


def decided_alike(compiled: Compiled) -> float:
    """The lowest objective of one decision for everyone that keeps the promises; else infinite."""
    if compiled.general:  # these depend on a model, not only on its decisions
        return np.inf
    alike, violations = compiled.evaluate(_alike(compiled), _zeros(compiled))
    return float(alike[kept(violations, compiled.scale[1:]).all(axis=1)].min(initial=np.inf))


def _alike(compiled: Compiled) -> Array:
    """Scores that decide one class for everyone, for each of the classes."""
    each = 2 * np.eye(compiled.decisions)[:, -score_count(compiled.decisions) :] - 1
    return each[:, :, None] * np.ones(len(compiled.cells))


def _zeros(compiled: Compiled) -> dict[str, Array]:
    zero = np.zeros(compiled.decisions - 1)
    return {name: zero for name in compiled.learnable if name not in compiled.budgets}


@dataclass(frozen=True, eq=False)
class _Aim:
    """The aim, and what a solution reaches of it."""

    compiled: Compiled
    solution: Mixture
    errors: Errors
    confidence: float
    room: Array  # (m,) each promise's room on the training rows
    caveat: str  # added to the sentence about new rows

    def words(self, status: Status) -> str:
        """The confidence that the promises hold on new rows, and how to raise it if it is too low."""
        reached = status.confidence
        assert reached is not None
        words = f"On new rows like these all hold together with a confidence of {about(reached)}"
        words += self.caveat
        if reached >= self.confidence - NEAR:
            return f"{words}{near(reached, self.confidence)}."
        return f"{words}, where {100 * self.confidence:.10g}% was asked for{self._remedy(status)}."

    def _remedy(self, status: Status) -> str:
        """How many more rows of which group would give the rest."""
        if not status.feasible:
            return ""
        wanted = self.errors.margins(self.confidence)
        short = int(np.argmax(wanted / np.maximum(self.room, SMALLEST)))
        if self.room[short] <= LEFT * wanted[short]:  # more rows do not create room
            return (
                f": {self.compiled.constraints[short]} has no margin at a price worth paying; relax "
                "it, or use a stronger model"
            )
        times = (wanted[short] / self.room[short]) ** 2
        tally = tally_on(self.compiled, self.solution)
        rows, group = smallest_behind(tally, self.compiled.problem.demands[short].expression.rates)
        which = "" if group == EVERYONE else f" where {group}"
        return (
            f": for {self.compiled.constraints[short]} that would take about {_round(rows * times)} rows"
            f"{which}, in place of {rows:,}"
        )


def about(confidence: float) -> str:
    """A confidence to two digits, never shown as 0 or 1."""
    if confidence in (0.0, 1.0):
        return "less than 1%" if confidence == 0.0 else "more than 99%"
    return f"about {confidence:.0%}"


def near(reached: float, asked: float) -> str:
    """The words to add if a confidence is slightly below the requested one."""
    return f", near the {100 * asked:.10g}% asked for" if round(reached, 2) < asked else ""


def _round(rows: float) -> str:
    """A number of rows to two digits; more are not known."""
    digits = max(int(np.floor(np.log10(max(rows, 1.0)))) - 1, 0)
    return f"{round(rows / 10**digits) * 10**digits:,}"
