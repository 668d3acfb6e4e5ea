"""The steps after a solution is chosen: it is calibrated, drawn, certified, and recorded.

**Calibrated** on rows that the models were not trained on, if there are any. For the iterates of the
game these are the rows held out to choose a setting. A model trained without promises has seen all rows,
so a stand-in takes its place, trained likewise but without those rows. If no rows are held out, only the
training rows remain, which trees have memorized. A cross-fitted model without promises then measures how
much that flatters, for a correction.

**Drawn** so that decisions keep the promises as they fall on rows with equal features.

**Certified**: candidates are tested from the safest on, up to the first that fails. Each is tested at
the full level, since a later one is looked at only if all before it passed. The certification rows are
used there and nowhere else, and by then the candidates and their order are fixed.

**Recorded**: how the estimator made its model, in words, without rows or paths.
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

from ratebound._old.auditing.beside import comparable, prevalence, simplest
from ratebound._old.auditing.tallying import NOBODY, tallied
from ratebound._old.base.linear_program import TOLERANCE, kept, worst_violation
from ratebound._old.base.types import Array
from ratebound._old.certifying.certify import certify
from ratebound._old.estimators.choices import Training
from ratebound._old.estimators.margins import about, errors_of
from ratebound._old.estimators.proposals import OUT_OF_FOLD
from ratebound._old.game.scorer import Scorer
from ratebound._old.game.trace import Trace
from ratebound._old.learners.calibration import Calibration
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import mean_score, score_count
from ratebound._old.problem.population import Population
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.kinds import label_classes
from ratebound._old.solution.baselines import OWN, PLAIN, Baseline, told
from ratebound._old.solution.certificate import Certificate, Certified
from ratebound._old.solution.determinize import Outcome, evaluate, outcomes_as_they_fall
from ratebound._old.solution.mixture import Mixture, member
from ratebound._old.solution.record import ASIDE, Making
from ratebound._old.solution.status import KEPT, Status, status_there

if TYPE_CHECKING:
    from ratebound._old.estimators.search import Search, SearchResult

# The names of a calibration's rows.
HELD_OUT, TRAINED_ON = "held-out rows", "training rows"
CORRECTED = "training rows, corrected out of fold"
SALTS = 32  # draws to choose the best from, if rows share their features
MOST_SALTS = 512  # the same if none keeps the promises yet
TIGHTENED = 3  # times that promises are tightened if no draw keeps them
TRIED = 2**21  # rows in all that are decided for it
UNSAID = ("verbose",)  # parameters that do not change the model
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


# --- calibrated ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Calibrating:
    """The rows and scores for calibrating a solution that was chosen from `trace`."""

    compiled: Compiled
    held_out: Population | None  # rows that the first `own` candidates were not trained on, if any
    called: str  # the name of these rows
    trace: Trace
    own: int  # candidates of the game; later ones were trained without promises, on all rows
    train_stand_ins: Callable[[], Trace]  # one for each later one, trained without the held-out rows
    cross_fit: Callable[[], Trace | None]  # the model without promises, also judged out of fold

    def calibrated(self, solution: Mixture) -> Mixture:
        """The solution with its calibration, which names the rows it was fitted on."""
        if self.held_out is None:
            return self._on_training_rows(solution)
        scores = _scores(solution.scorer, solution.parameters, self.held_out)
        candidate = self._candidates_of(scores)
        if (candidate >= self.own).any():
            if len(self._stand_ins) < len(self.trace) - self.own:  # there was no time to train them
                return solution.calibrated(self.compiled.first, TRAINED_ON)
            after = candidate - self.own
            trained_on_all = (after >= 0)[:, None, None]
            scores = np.where(trained_on_all, self._stand_ins[after.clip(min=0)], scores)
        mean = mean_score(solution.model_weights, scores)
        return solution.calibrated(self.held_out, self.called, scores=mean)

    def _on_training_rows(self, solution: Mixture) -> Mixture:
        """Calibrated on the training rows, corrected by how these flatter a model without promises."""
        rows = self.compiled.first
        seen = solution.calibrated(rows, TRAINED_ON)
        # Linear models and networks, which read only numbers, memorize few of their rows.
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
        """Which candidate each model is, (B,), from its scores (B, ...) on the held-out rows."""
        assert self.held_out is not None
        every = _scores(self.trace.scorer, self.trace.parameters, self.held_out)
        return np.array([np.abs(every - one).sum(axis=(1, 2)).argmin() for one in scores])

    @cached_property
    def _stand_ins(self) -> Array:
        """Scores of the stand-ins on the held-out rows, one line for each."""
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
    """A solution with the draw whose decisions keep the promises best; `compiled` has the training rows.

    In a table with few distinct rows, many equal rows get the same member, so a promise that is kept in
    expectation may be broken. All salts of the hash are equally good a priori, so the salt is chosen
    whose decisions keep the promises, with `margins` (m,) if possible, at the lowest objective. If none
    does, the promises are tightened by the shortfall and solved again (`resolved`); failing that, a
    single member that keeps them is taken, or the status says so. Rows on disk are read only once for
    this. If promises are about rates out of fold (`folds`), the effect of the draw on a violation here
    is added to the violation there.
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
    if chosen.calibration is None and first.calibration is not None:  # the mean score is a different one
        chosen = chosen.calibrated(compiled.first, TRAINED_ON)
    status = _fallen(solution.status, status_there(compiled.constraints, violations, scale, KEPT))
    if status.confidence is not None and rank(best)[1] > 0:
        reached = min(status.confidence, errors_of(chosen, compiled).confidence(violations))
        words = f"With decisions as they fall on rows with equal features, it is {about(reached)}."
        status = replace(
            status, confidence=reached, message=f"{status.message.removesuffix('.')}. {words}"
        )
    outside = {OUT_OF_FOLD: violations} if folds else {}
    return chosen.recorded(
        status=status,
        objectives={**chosen.record.objectives, "train": outcome.objective},
        violations={**chosen.record.violations, "train": outcome.violations, **outside},
    )


def _fallen(expected: Status, fallen: Status) -> Status:
    """The status of decisions as they fall, after the status of their expectation."""
    if fallen.feasible:
        kept_both = replace(expected, reached="") if expected.feasible else fallen
        return replace(kept_both, confidence=expected.confidence)
    words = (
        f"{fallen.message}, as decisions fall on these rows: many have equal features, and equal rows "
        "get the same member. Pass key=, an id for each row, to predict, or let the model see more "
        "columns"
    )
    if not expected.feasible:
        words = f"{expected.message.removesuffix('.')}. {words}"
    return replace(fallen, message=words, conflict=expected.conflict, confidence=expected.confidence)


# --- certified -----------------------------------------------------------------------------------------


def cheapest_certified(
    candidates: Sequence[Any], otherwise: Any, aside: Compiled, confidence: float
) -> tuple[int | None, Certificate]:
    """The last candidate that passed, and its certificate; or None and `otherwise`'s certificate.

    P-values never fall below the earlier tests' p-values, so a failed test still counts.
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
    certificate = certify(aside.problem, model, aside.first, confidence=confidence, **aside.others)
    if earlier is None:
        return certificate
    pairs = zip(certificate.promises, earlier.promises, strict=True)
    return replace(certificate, promises=tuple(_not_below(*pair) for pair in pairs))


def _not_below(own: Certified, earlier: Certified) -> Certified:
    """A promise with its p-value in a sequence of tests: at least the p-value of the test before."""
    if own.p_value >= earlier.p_value:
        return replace(own, holds=own.holds and earlier.holds)
    return replace(own, p_value=earlier.p_value, holds=earlier.holds)


# --- written down --------------------------------------------------------------------------------------


def making_of(estimator: Any, search: Search, result: SearchResult, aside: Compiled | None) -> Making:
    """The call, the number of rows by use, and the settings that were tried."""
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
    """The solution and the simplest models as judged in training, and what that shows."""
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
    solved = _baseline(OWN, compiled, solution.record.objectives[on], solution.violations[on])
    words = told(compiled.problem, solved, others, prevalence(tally))
    return {"baselines": (solved, *others), "beside": tuple(words)}


def _baseline(name: str, compiled: Compiled, cost: float, violations: Array) -> Baseline:
    units, shown = compiled.scale[1:], float(compiled.problem.shown(cost))
    fine = kept(violations, units)
    worst = float(worst_violation(violations, units)) if len(violations) else None
    each = sum(bool(fine[list(part)].all()) for part in compiled.parts)
    return Baseline(name, shown, each, len(compiled.parts), worst)


def _rules_compared(result: SearchResult) -> tuple[str, ...]:
    """The plain model and the chosen rule, each with its values out of fold."""
    assert result.rules is not None
    problem, solution = result.rules.compiled.problem, result.solution
    plain, rules = result.rules.rule(0), result.rules
    (first,) = rules.objectives([0])
    worst = [
        float(each.max(initial=-np.inf)) for each in (plain.violations, solution.violations[OUT_OF_FOLD])
    ]
    costs = first, solution.record.objectives[OUT_OF_FOLD]
    names = "the plain model", f"the plug-in, of {len(result.rules.weights):,} rules"
    return tuple(
        f"{name}: {problem.objective} {problem.shown(cost):.4f}"
        + (f", worst violation {each:+.4f}" if np.isfinite(each) else "")
        for name, cost, each in zip(names, costs, worst, strict=True)
    )


def noted(result: SearchResult, said: str, tried: Sequence[SearchResult]) -> SearchResult:
    """A result whose status says why another method was not used, or how it did."""
    for other in tried:
        if other is not result:
            name = "plug-in" if other.rules is not None else "game"
            said += f" The {name} broke promises by {other.solution.status.violation:.4f}."
    if not said:
        return result
    status = result.solution.status
    message = f"{status.message.removesuffix('.')}. {said.strip()}"
    return replace(result, solution=result.solution.recorded(status=replace(status, message=message)))


def as_it_says(result: SearchResult, search: Search) -> SearchResult:
    """The plain model with its own probabilities, if it has them: no correction is needed."""
    if not search.learner.has_probabilities:
        return result
    each = (0.0,) * score_count(search.compiled.label_count)
    calibration = Calibration(1.0, each, "the model's own", search.compiled.sizes[FIRST])
    return replace(result, solution=replace(result.solution, calibration=calibration))


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
    """The seed that the user gave; None if it was drawn and cannot be given again."""
    given = estimator.random_state
    return int(given) if isinstance(given, Integral) else None


def said(estimator: Any) -> str:
    """The call that makes this estimator, with the parameters that are not at their defaults."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    words = []
    for name, value in estimator.get_params(deep=False).items():
        if name == "training" and value is not None:
            value = replace(value, folder=None)  # it is a path
            if value == Training():
                continue
        if name not in UNSAID and not _is_default(value, defaults[name].default):
            words.append(f"{name}={' '.join(ADDRESS.sub('', repr(value)).split())}")
    return f"{type(estimator).__name__}({', '.join(words)})"


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _setting(search: Search, place: int) -> str:
    """The parameters that distinguish a setting from the others."""
    words = [f"{name} {value:g}" for part in search.pairs for name, value in _own(part, place)]
    return ", ".join(words) or "as it is"


def _own(part: Any, place: int) -> Iterator[tuple[str, float]]:
    """The parameters that a learner or a player has one value of for each setting."""
    settings: int = part.settings
    for each in fields(part) if is_dataclass(part) else ():
        value = getattr(part, each.name)
        several = isinstance(value, tuple) and len(value) == settings > max(place, 1)
        if several and place >= 0 and isinstance(value[place], int | float):
            yield f"{type(part).__name__} {each.name.replace('_', ' ')}", value[place]
