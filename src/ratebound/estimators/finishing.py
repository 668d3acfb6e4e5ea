"""What is done to a solution once it is chosen: calibrated, drawn, certified, and written down.

**Calibrated** on rows that the models were not trained on, if there are any. Rows that are held out to
choose a setting are such for the iterates of the game. A model trained without promises has seen all
rows; there a stand-in takes its place, trained as it was but without those rows. If no rows are held
out, all there is are the training rows, which trees know by heart. How much that flatters is then
measured on a cross-fitted model without promises, and taken back.

**Drawn** so that decisions keep the promises as they fall on rows with equal features.

**Certified**: candidates are tested from the safest on, to the first that fails. Each is tested at the
full level, since a later one is looked at only if all before it passed. The rows to certify on come in
there and nowhere else, and by then the candidates and their order are fixed.

**Written down**: how the estimator made its model, in words that go into its record: no rows, no paths.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound.auditing.beside import comparable, prevalence, simplest
from ratebound.auditing.tallying import NOBODY, tallied
from ratebound.base.linear_program import TOLERANCE, kept, worst_violation
from ratebound.base.types import Array
from ratebound.certifying.certify import certify
from ratebound.estimators.choices import Training
from ratebound.estimators.margins import about, errors_of
from ratebound.estimators.proposals import OUT_OF_FOLD
from ratebound.game.scorer import Scorer
from ratebound.game.trace import Trace
from ratebound.learners.calibration import Calibration
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import mean_score, score_count
from ratebound.problem.population import Population
from ratebound.rates.expressions import FIRST
from ratebound.rates.kinds import label_classes
from ratebound.solution.baselines import OWN, PLAIN, Baseline, told
from ratebound.solution.certificate import Certificate, Certified
from ratebound.solution.determinize import Outcome, evaluate, outcomes_as_they_fall
from ratebound.solution.mixture import Mixture, member
from ratebound.solution.record import ASIDE, Making
from ratebound.solution.status import KEPT, Status, status_there

if TYPE_CHECKING:
    from ratebound.estimators.search import Search, SearchResult

# What a calibration calls its rows.
HELD_OUT, TRAINED_ON = "held-out rows", "training rows"
CORRECTED = "training rows, corrected out of fold"
SALTS = 32  # draws among which the best is taken, if rows share their features
MOST_SALTS = 512  # the same until one keeps the promises, as far as
TIGHTENED = 3  # times that promises are tightened where no draw keeps them
TRIED = 2**21  # rows in all are decided for it
UNSAID = ("verbose",)  # what changes nothing about the model
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


# --- calibrated ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Calibrating:
    """What a solution that was chosen from `trace` is calibrated on."""

    compiled: Compiled
    held_out: Population | None  # rows that the first `own` candidates were not trained on, if any
    called: str  # what these rows are called
    trace: Trace
    own: int  # candidates of the game; those after them were trained without promises, on all rows
    train_stand_ins: Callable[[], Trace]  # for those, one for each, without the rows held out
    cross_fit: Callable[[], Trace | None]  # the model without promises, also judged out of fold

    def calibrated(self, solution: Mixture) -> Mixture:
        """The solution with its calibration, which says which rows it was fitted on."""
        if self.held_out is None:
            return self._on_training_rows(solution)
        scores = _scores(solution.scorer, solution.parameters, self.held_out)
        candidate = self._candidates_of(scores)
        if (candidate >= self.own).any():
            if len(self._stand_ins) < len(self.trace) - self.own:  # there was no time for them
                return solution.calibrated(self.compiled.first, TRAINED_ON)
            after = candidate - self.own
            trained_on_all = (after >= 0)[:, None, None]
            scores = np.where(trained_on_all, self._stand_ins[after.clip(min=0)], scores)
        mean = mean_score(solution.model_weights, scores)
        return solution.calibrated(self.held_out, self.called, scores=mean)

    def _on_training_rows(self, solution: Mixture) -> Mixture:
        """Calibrated on the training rows, less what these flatter a model without promises."""
        rows = self.compiled.first
        seen = solution.calibrated(rows, TRAINED_ON)
        # Linear models and networks, which read numbers alone, know few of their rows by heart.
        crossed = self.cross_fit() if solution.scorer.tables else None
        if crossed is None:
            return seen
        last = crossed.only(np.array([len(crossed) - 1]))
        inside = _scores(last.scorer, last.parameters, rows)[0]
        outside = last.scores(self.compiled)[0][..., self.compiled.rows[FIRST]]
        flattered = _line(solution.calibrated(rows, TRAINED_ON, scores=inside))
        less = _line(solution.calibrated(rows, CORRECTED, scores=flattered.odds(outside)))
        return replace(seen, calibration=less.after(_line(seen)))

    def _candidates_of(self, scores: Array) -> Array:
        """Which candidate each model is, (B,), told by its scores (B, ...) on the rows held out."""
        assert self.held_out is not None
        every = _scores(self.trace.scorer, self.trace.parameters, self.held_out)
        return np.array([np.abs(every - one).sum(axis=(1, 2)).argmin() for one in scores])

    @cached_property
    def _stand_ins(self) -> Array:
        """Scores of the stand-ins on the rows held out, one line for each."""
        assert self.held_out is not None
        trained = self.train_stand_ins()
        return _scores(trained.scorer, trained.parameters, self.held_out)


def _line(mixture: Mixture) -> Calibration:
    assert mixture.calibration is not None
    return mixture.calibration


def _scores(scorer: Scorer, parameters: Array, rows: Population) -> Array:
    return scorer.scores(parameters, rows.X if scorer.tables else rows.features)


# --- drawn ---------------------------------------------------------------------------------------------


def with_best_draw(
    solution: Mixture,
    compiled: Compiled,
    margins: Array,
    seed: int,
    resolved: Callable[[Array], Mixture],
    folds: bool,
) -> Mixture:
    """A solution with the draw whose decisions keep the promises best; `compiled` are the training rows.

    In a table with few distinct rows, each of many rows gets the same member, and what is kept in
    expectation may be broken. Any salt of the hash is as good as another, so the one is taken whose
    decisions keep the promises, with `margins` (m,) if possible, at the lowest objective. If none does,
    the promises are tightened by what was lacking and solved again (`resolved`); failing that, a member
    that keeps them alone is taken, or the status says so. Rows on disk are read only once for this.
    Where promises are of rates out of fold (`folds`), what chance adds to a violation here is added to
    that.
    """
    first = replace(solution, decider=solution.decider.salted(seed))
    if first.decider.draw is None or len(first) == 1 or compiled.learnable:
        return first
    expected = solution.record.objectives["train"], *solution.violations["train"]
    outcome, scale = next(outcomes_as_they_fall(first, compiled, [seed])), compiled.scale[1:]
    if np.allclose((outcome.objective, *outcome.violations), expected, rtol=0.0, atol=TOLERANCE):
        return first

    def rank(tried: tuple[Mixture, Outcome]) -> tuple[float, float, float]:
        lacking = [worst_violation(judged(*tried) + room, scale) for room in (0.0, margins)]
        broken, short = (max(float(each) - TOLERANCE, 0.0) for each in lacking)
        return broken, short, tried[1].objective

    def judged(mixed: Mixture, outcome: Outcome) -> Array:
        known = mixed.violations
        if not folds or OUT_OF_FOLD not in known:
            return outcome.violations
        return np.asarray(outcome.violations - known["train"] + known[OUT_OF_FOLD])

    def best_draw(mixed: Mixture, most: int) -> tuple[Mixture, Outcome]:
        salts = range(seed, seed + most)
        best: tuple[Mixture, Outcome] | None = None
        for salt, outcome in zip(salts, outcomes_as_they_fall(mixed, compiled, salts), strict=True):
            tried = replace(mixed, decider=mixed.decider.salted(salt)), outcome
            best = tried if best is None else min(best, tried, key=rank)
            if salt >= seed + SALTS and not rank(best)[0]:
                break
        assert best is not None
        return best

    best = first, outcome
    if compiled.all_in_memory:
        best = best_draw(first, int(np.clip(TRIED // len(compiled.cells), SALTS, MOST_SALTS)))
        room = np.asarray(margins, dtype=float)
        for _ in range(TIGHTENED):
            if not rank(best)[0] or not solution.status.feasible:
                break
            room = room + 2 * np.maximum(best[1].violations - best[0].violations["train"], 0.0)
            best = min(best, best_draw(resolved(room), SALTS), key=rank)
    if rank(best)[0]:
        members = (member(first, index) for index in range(len(first)))
        best = min([best, *((each, evaluate(each, compiled)) for each in members)], key=rank)
    chosen, outcome = best
    violations = judged(chosen, outcome)
    if chosen.calibration is None and first.calibration is not None:  # it is another's mean score
        chosen = chosen.calibrated(compiled.first, TRAINED_ON)
    status = _fallen(solution.status, status_there(compiled.constraints, violations, scale, KEPT))
    if status.confidence is not None and rank(best)[1] > 0:
        reached = min(status.confidence, errors_of(chosen, compiled).confidence(violations))
        said = f"As decisions fall on rows with equal features, it is {about(reached)}."
        status = replace(
            status, confidence=reached, message=f"{status.message.removesuffix('.')}. {said}"
        )
    outside = {OUT_OF_FOLD: violations} if folds else {}
    return chosen.recorded(
        status=status,
        objectives={**chosen.record.objectives, "train": outcome.objective},
        violations={**chosen.record.violations, "train": outcome.violations, **outside},
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


# --- certified -----------------------------------------------------------------------------------------


def cheapest_certified(
    candidates: Sequence[Any], otherwise: Any, aside: Compiled, confidence: float
) -> tuple[int | None, Certificate]:
    """Which candidate passed last, and its certificate; None, and that of `otherwise`, where none did.

    P-values are never below those of the tests before, so one that failed is not forgotten.
    """
    passed: tuple[int, Certificate] | None = None
    earlier: Certificate | None = None
    for place, candidate in enumerate(candidates):
        earlier = _tested(candidate, aside, confidence, earlier)
        if not earlier.holds:
            break
        passed = place, earlier
    return passed or (None, _tested(otherwise, aside, confidence, earlier))


def _tested(model: Any, aside: Compiled, confidence: float, earlier: Certificate | None) -> Certificate:
    """The certificate of a model on the rows set aside, after `earlier` tests on the same rows."""
    own = certify(aside.problem, model, aside.first, confidence=confidence, **aside.others)
    if earlier is None:
        return own
    pairs = zip(own.promises, earlier.promises, strict=True)
    return replace(own, promises=tuple(_not_below(*pair) for pair in pairs))


def _not_below(own: Certified, earlier: Certified) -> Certified:
    """A promise with the p-value that it has in a sequence of tests: at least that of the one before."""
    if own.p_value >= earlier.p_value:
        return replace(own, holds=own.holds and earlier.holds)
    return replace(own, p_value=earlier.p_value, holds=earlier.holds)


# --- written down --------------------------------------------------------------------------------------


def making_of(estimator: Any, search: Search, result: SearchResult, aside: Compiled | None) -> Making:
    """What was asked for, how many rows were used for what, and which settings were tried."""
    every = search.compiled.sizes[FIRST]
    rows = {"trained on": every - result.held_out}
    if result.held_out:
        rows["held out to choose a setting"] = result.held_out
    if search.folds is not None or result.rules is not None:
        rows["judged out of fold"] = every
    if aside is not None:
        rows[ASIDE] = aside.sizes[FIRST]
    compared = () if result.rules is None else _rules_compared(result)
    settings = () if result.rules is not None else result.trace.settings
    tried = tuple(_setting(search, each) for each in settings)
    return Making(said(estimator), rows, tried, compared, len(result.trace), result.trace.ended)


def beside_simplest(solution: Mixture, search: Search, result: SearchResult) -> dict[str, Any]:
    """The solution and the simplest models as training judged them, and what that says."""
    compiled = search.compiled
    rates = compiled.problem.rates
    if not compiled.all_in_memory or not comparable(compiled) or compiled.general:
        return {}
    tally = tallied(NOBODY, compiled.populations, rates)
    others = list(simplest(compiled, tally)[1:])
    if result.rules is not None and result.rules.promises:
        (cost,) = result.rules.objectives([0])
        others.insert(0, _baseline(PLAIN, compiled, cost, result.rules.rule(0).violations))
    on = OUT_OF_FOLD if OUT_OF_FOLD in solution.violations else "train"
    own = _baseline(OWN, compiled, solution.record.objectives[on], solution.violations[on])
    said = told(compiled.problem, own, others, prevalence(tally))
    return {"baselines": (own, *others), "beside": tuple(said)}


def _baseline(name: str, compiled: Compiled, cost: float, violations: Array) -> Baseline:
    units, shown = compiled.scale[1:], float(compiled.problem.shown(cost))
    fine = kept(violations, units)
    worst = float(worst_violation(violations, units)) if len(violations) else None
    each = sum(bool(fine[list(part)].all()) for part in compiled.parts)
    return Baseline(name, shown, each, len(compiled.parts), worst)


def _rules_compared(result: SearchResult) -> tuple[str, ...]:
    """The plain model and the rule that was chosen, each with what it does out of fold."""
    assert result.rules is not None
    problem, own = result.rules.compiled.problem, result.solution
    plain, rules = result.rules.rule(0), result.rules
    (first,) = rules.objectives([0])
    worst = [
        float(each.max(initial=-np.inf)) for each in (plain.violations, own.violations[OUT_OF_FOLD])
    ]
    costs = first, own.record.objectives[OUT_OF_FOLD]
    names = "the plain model", f"the plug-in, of {len(result.rules.weights):,} rules"
    return tuple(
        f"{name}: {problem.objective} {problem.shown(cost):.4f}"
        + (f", worst violation {each:+.4f}" if np.isfinite(each) else "")
        for name, cost, each in zip(names, costs, worst, strict=True)
    )


def noted(result: SearchResult, said: str, tried: Sequence[SearchResult]) -> SearchResult:
    """A result whose status says why another way was not gone, or how that did."""
    for other in tried:
        if other is not result:
            name = "plug-in" if other.rules is not None else "game"
            said += f" The {name} broke promises by {other.solution.status.violation:.4f}."
    if not said:
        return result
    own = result.solution.status
    message = f"{own.message.removesuffix('.')}. {said.strip()}"
    return replace(result, solution=result.solution.recorded(status=replace(own, message=message)))


def as_it_says(result: SearchResult, search: Search) -> SearchResult:
    """The plain model with its own probabilities, if it has such: nothing is to be put right."""
    if not search.learner.has_probabilities:
        return result
    each = (0.0,) * score_count(search.compiled.label_count)
    own = Calibration(1.0, each, "the model's own", search.compiled.sizes[FIRST])
    return replace(result, solution=replace(result.solution, calibration=own))


def drawn_shares(solution: Mixture, compiled: Compiled) -> tuple[float, float] | None:
    """The shares of decisions, and of yeses, on the training rows that a draw makes."""
    if len(solution) == 1 or solution.decider.draw is None or not compiled.all_in_memory:
        return (0.0, 0.0) if len(solution) == 1 or solution.decider.draw is None else None
    first = compiled.first
    chance = solution.decision_proba(first.X, columns=first.columns)
    last = label_classes(solution.classes)[-1]
    yes = chance[:, int(np.flatnonzero(solution.classes_ == last)[0])]
    drawn = (chance.max(axis=1) < 1 - 1e-9).astype(float)
    return float(drawn.mean()), float((yes * drawn).sum() / max(yes.sum(), 1e-300))


def given_seed(estimator: Any) -> int | None:
    """The seed as its user knows it; None if it was drawn, so that nobody could give it again."""
    given = estimator.random_state
    return int(given) if isinstance(given, Integral) else None


def said(estimator: Any) -> str:
    """The call that makes this estimator: its parameters that are not left at their defaults."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    words = []
    for name, value in estimator.get_params(deep=False).items():
        if name == "training" and value is not None:
            value = replace(value, folder=None)  # which is a path
            if value == Training():
                continue
        if name not in UNSAID and not _is_default(value, defaults[name].default):
            words.append(f"{name}={' '.join(ADDRESS.sub('', repr(value)).split())}")
    return f"{type(estimator).__name__}({', '.join(words)})"


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _setting(search: Search, place: int) -> str:
    """What tells a setting from the others."""
    words = [f"{name} {value:g}" for part in search.pairs for name, value in _own(part, place)]
    return ", ".join(words) or "as it is"


def _own(part: Any, place: int) -> Iterator[tuple[str, float]]:
    """The parameters of which a learner or a player has one for each setting."""
    settings: int = part.settings
    for each in fields(part) if is_dataclass(part) else ():
        value = getattr(part, each.name)
        several = isinstance(value, tuple) and len(value) == settings > max(place, 1)
        if several and place >= 0 and isinstance(value[place], int | float):
            yield f"{type(part).__name__} {each.name.replace('_', ' ')}", value[place]
