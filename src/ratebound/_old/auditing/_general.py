"""Custom constraints in an audit: their value on the audited rows, by the same function.

A mixture's value is the expectation over its models, as in training. A custom function has no known
distribution, so there is no interval and no verdict on new rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound._old.auditing.judged import decider_of, kind_of
from ratebound._old.auditing.report import Promise
from ratebound._old.base.linear_program import kept
from ratebound._old.base.types import Array
from ratebound._old.problem.deciding import as_shown
from ratebound._old.problem.general import Model, ModelRows, called, needs_function, number
from ratebound._old.problem.population import Population
from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.general import General
from ratebound._old.solution.mixture import Mixture

NO_INTERVAL = "it is a custom function, so nothing is known about new rows"


def measured_general(constraint: Constraint, model: Any, populations: dict[str, Population]) -> Promise:
    """A custom constraint, measured on the rows of its population."""
    metric = constraint.left
    assert isinstance(metric, General)
    rows = populations.get(metric.population)
    why = "" if metric.value is not None else needs_function(metric)
    if rows is None:
        raise ValueError(
            f"{constraint}: population {metric.population!r} is not given: pass it as a keyword, "
            f"{metric.population}=..., beside the audited rows"
        )
    if rows.stored:
        why = why or f"{constraint}: its rows are on disk: audit population.in_memory()"
    if len(getattr(model, "weights", ())) > 1 and decider_of(model).draw is None:
        why = why or f"{constraint}: models that vote are not a single model: audit one member"
    described = str(constraint), constraint.name, constraint.relation
    if why:
        return Promise(*described, unit="own", why=why)
    seen = rows.seen_through(model.features) if isinstance(model, Mixture) else rows  # as in training
    value = 0.0
    for weight, each in _models(model, rows, constraint):
        answer = called(constraint, "value", each, ModelRows(seen, None, each.scores))
        value += weight * number(constraint, "value", answer, each.scores)
    bound = constraint.right.constant
    return Promise(
        *described,
        value=value,
        bound=bound,
        slack=bound - value,
        violation=value - bound,
        kept=bool(kept(value - bound, metric.scale)),
        verdict="may not hold",
        rows=len(rows),
        unit="own",
        why=NO_INTERVAL,
    )


def _models(model: Any, rows: Population, constraint: Constraint) -> list[tuple[float, Model]]:
    """The models that may decide, each with its probability."""
    if isinstance(model, Mixture):
        scores = model.scorer.scores(model.parameters, model.features(rows.X))
        each = zip(model.parameters, as_shown(scores), strict=True)
        models = (model.scorer.model(*own) for own in each)
        return [(float(w), one) for w, one in zip(model.model_weights, models, strict=True) if w > 0]
    return [(1.0, Model(_scores(model, rows, constraint), model))]


def _scores(model: Any, rows: Population, constraint: Constraint) -> Array:
    """The scores of a foreign classifier, which must provide them."""
    if not callable(getattr(model, "decision_function", None)):
        raise ValueError(
            f"{constraint}: its function needs scores, but {kind_of(model)} has no decision_function: "
            "audit a rb.Mixture, or leave this constraint out"
        )
    scores = np.asarray(model.decision_function(rows.X), dtype=float)
    return scores if scores.ndim == 1 else scores.T
