"""How the estimator finds its solution: train every setting, choose one, and solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from ratebound.base.types import Array
from ratebound.estimators._aiming import as_sure, from_safest, raises_of, without_margins
from ratebound.estimators._calibrating import HELD_OUT, TRAINED_ON, Calibrating
from ratebound.estimators._candidates import Candidates, out_of_fold
from ratebound.estimators._games import (
    Clock,
    Search,
    cross_fitted,
    played_plainly,
    trained,
    trained_plainly,
    validated,
)
from ratebound.estimators._on_disk import on_disk
from ratebound.game.pool import Pool
from ratebound.game.trace import Trace, beside
from ratebound.problem.compiled import Compiled
from ratebound.rates.rate import FIRST
from ratebound.solution.mixture import Mixture, mixture

PLAIN_TIME = 0.25  # share of the time that may go into a model without promises


@dataclass(frozen=True)
class Found:
    """The result of a search: a solution, the iterates of its setting, and the whole trace."""

    solution: Mixture
    margins: Array  # (m,) that it keeps
    safer: tuple[tuple[Mixture, Array], ...]  # others and their margins, the safest first, to certify
    own: Trace
    trace: Trace
    held_out: int  # rows on which a setting was chosen, and no model trained
    pool: Callable[[Array], Pool]  # what a solution with such margins is chosen from, for prices
    resolved: Callable[[Array], Mixture]  # the solution with other margins


def found(search: Search) -> Found:
    """Train every setting on some rows, choose one on the others, and solve on all rows."""
    clock, everyone = Clock(search.training.max_time), search.everyone
    train, validation = validated(search)
    here = validation if everyone.elsewhere and validation is not None else everyone  # in memory
    plain = None
    if search.chooses or search.aims:
        plain = trained_plainly(search, train, here, clock.part(PLAIN_TIME))
    margins = np.zeros(len(everyone.constraints))
    if search.aims:
        assert plain is not None
        first = _judged(search, plain, here)
        best = np.arange(len(plain)) == np.argmin(plain.objectives)
        rows = everyone if everyone.elsewhere else first.everyone
        margins = search.margins(mixture(first.trace, best), rows)
    if plain is not None and plain.interrupted:  # its thresholds are all there is to move
        trace = own = plain.of_setting(plain.setting[np.argmin(plain.objectives)])
        validation = here if everyone.elsewhere else None  # which it was trained on
    else:
        trace, own = trained(search, train, validation, margins, clock)
    together = own
    if search.chooses and plain is not None and not trace.interrupted:
        together = beside(own, plain)
    candidates = _judged(search, together, here)
    if everyone.elsewhere:
        candidates = on_disk(everyone, candidates)
    safer: tuple[tuple[Mixture, Array], ...] = ()
    if not search.aims:
        solution, used = candidates.solved(margins), margins
    else:
        assert search.confidence is not None
        optimism = candidates.optimism(margins, search.seed)
        solution, used = as_sure(candidates, search.confidence, margins, optimism)
        if search.certify is not None:
            wide = search.margins(solution, candidates.everyone)
            raises = raises_of(solution, candidates.everyone, search.certify)
            safer = from_safest(candidates, wide + optimism, raises, search.confidence)
    held_out = None if validation is None or not search.fresh else validation.first
    if everyone.elsewhere:
        held_out = here.first
    calibrating = Calibrating(
        everyone=everyone,
        held_out=held_out,
        called=HELD_OUT if search.fresh and train is not everyone else TRAINED_ON,
        trace=together,
        own=len(together) if everyone.elsewhere else len(own),
        train_stand_ins=lambda: played_plainly(search, train, clock.left),
        cross_fit=cache(partial(cross_fitted, search, clock)),
    )

    def finished(chosen: Mixture) -> Mixture:
        real = candidates.real(chosen)
        return real if real.calibration is not None else calibrating.calibrated(real)

    return Found(
        finished(solution),
        used,
        tuple((finished(one), kept) for one, kept in safer),
        own,
        trace,
        0 if validation is None else validation.sizes[FIRST],
        candidates.pool,
        lambda margins: finished(without_margins(candidates.solved(margins), margins)),
    )


def _judged(search: Search, trace: Trace, here: Compiled) -> Candidates:
    """What a solution is chosen from, on the scores that are out of fold where there are such."""
    candidates = Candidates(here, trace, search.solve, search.known, search.moves)
    return candidates if trace.folds is None else out_of_fold(candidates)
