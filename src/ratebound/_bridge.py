"""The only crossing between new rooms and old ones; it shrinks as `_old` does.

A new problem crosses as text, which an old room parses. Rows cross as arrays. `compile` is the new
one, but for what only old rooms know.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, wraps
from importlib import import_module
from types import FunctionType
from typing import Any

from ratebound.problem import compile as new
from ratebound.problem.population import Population
from ratebound.rates.goals import BUILT_IN, GOALS
from ratebound.rates.sums import Rate
from ratebound.rates.table import KINDS, LIVE, evaluate_event
from ratebound.rates.text import parse, parse_condition

old: Any = import_module("ratebound._old")


@cache
def find_old_name(name: str) -> Any:
    """Return a public name of the old package, which takes objects of new rooms too."""
    public = getattr(old, name)
    return _accept_new(public) if isinstance(public, FunctionType) else public


def _accept_new(function: FunctionType) -> Any:
    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        named = {name: accept(value) for name, value in options.items()}
        return function(*map(accept, arguments), **named)

    return call


def accept(value: Any) -> Any:
    """Return what an old room takes; it calls this wherever users hand over language or rows."""
    _define_own_names()
    return to_old(value)


@wraps(new.compile)
def compile(problem: Any, rows: Any, **others: Any) -> Any:
    populations = {name: _read_population(other) for name, other in others.items()}
    first = _read_population(rows)
    if _is_for_old_rooms(problem) or any(map(_is_old, (first, *populations.values()))):
        converted = {name: to_old(other) for name, other in others.items()}
        return old.compile(to_old(problem), to_old(rows), **converted)
    return new.compile(problem, first, **populations)


def _is_for_old_rooms(problem: Any) -> bool:
    """Return True for a problem of an old room, and for one with functions of the user's own."""
    if _is_old(problem):
        return True
    constraints = getattr(problem, "constraints", ())
    bounds = [getattr(constraint, "sum", None) for constraint in constraints]
    return any(term.form == "computed" for bound in bounds if bound for term in bound.terms)


def _is_old(value: Any) -> bool:
    return type(value).__module__.startswith("ratebound._old.")


def _read_population(rows: Any) -> Any:
    """Return rows of an old room as new ones; rows on disk and pairs stay what they are."""
    if not _is_old(rows) or type(rows).__name__ != "Population":
        return rows
    labels = rows.y
    if labels is not None:
        labels = [rows.classes[index] for index in labels.astype(int)]
    classes = list(rows.classes or ())
    refer = None
    if classes and type(classes[-1]).__name__ == "Referral":
        refer = str(classes.pop())
    return Population(rows.X, labels, rows.columns, rows.weights, classes or None, refer)


def to_old(value: Any) -> Any:
    """Return what an old room takes for something of a new one; anything else unchanged."""
    if type(value) in (list, tuple):
        converted = [to_old(item) for item in value]
        changed = any(new is not old for new, old in zip(value, converted, strict=True))
        return type(value)(converted) if changed else value
    if type(value) is dict:
        by_key = {key: to_old(item) for key, item in value.items()}
        changed = any(by_key[key] is not value[key] for key in value)
        return by_key if changed else value
    if isinstance(value, str) and "by=" in value:  # old texts have names for it
        with suppress(ValueError):
            return to_old(parse(value))
    convert = CONVERSIONS.get(f"{type(value).__module__}.{type(value).__name__}")
    return value if convert is None else convert(value)


def _convert_problem(problem: Any) -> Any:
    goal = {problem.sense: to_old(problem.objective)}
    constraints = [to_old(constraint) for constraint in problem.constraints]
    return old.Problem(subject_to=constraints, **goal)


def _convert_constraint(constraint: Any) -> Any:
    computed = [term for term in constraint.sum.terms if term.form == "computed"]
    if computed:
        return _convert_computed(computed[0], constraint.high.constant)
    named = constraint.map(_name_for_old_rooms)
    if len(named.ends) == 2:  # a distance, whose two bounds old text does not join
        return old.parse(f"{named.low} <= {named.sum} <= {named.high}")
    return old.parse(str(named))


def _convert_computed(computed: Any, at_most: float) -> Any:
    on = None if computed.population == "train" else computed.population
    return old.constraint(
        computed.value,
        computed.proxy,
        name=computed.name,
        at_most=at_most,
        on=on,
        exact=computed.exact,
        scale=computed.scale,
    )


def _convert_goal(goal: Any) -> Any:
    _define_goal(goal.name)
    return old.parse(str(goal))


def _convert_objective(objective: Any) -> Any:
    from ratebound._old.rates.text import parse_objective

    return parse_objective(str(objective.map(_name_for_old_rooms)))


def _convert_condition(condition: Any) -> Any:
    from ratebound._old.rates import text

    return text.parse_condition(str(condition))


def _name_for_old_rooms(rate: Rate) -> Rate:
    """Return a rate by its old name: the live model's rates had names of their own."""
    _define_rate(rate.name)
    column = rate.option("by")
    if column is None:
        return rate
    if rate.name not in LIVE:
        known = ", ".join(LIVE)
        raise ValueError(f"{rate}: here by= is of one of {known}")
    return replace(rate.with_options(by=None, versus=column), name=f"{rate.name}_of")


def _define_own_names() -> None:
    """Define rates and goals of the user's own in old tables too, so that texts may name them."""
    for name in KINDS:
        with suppress(ValueError):  # told when the rate is used
            _define_rate(name)
    for name in GOALS:
        _define_goal(name)


def _define_rate(name: str) -> None:
    if name not in KINDS or not KINDS[name].is_own:
        return
    counted, among = KINDS[name].parts({})
    above = _add_counts(name, counted[0].event)
    if among is None:
        raise ValueError(
            f"{name}: only rb.compile takes a count that you defined; use a share of it"
        )
    rows = SHARES.get(among[0].event)
    is_share = among[0].event in ("1", *counted[0].event.split(" & "))
    if rows is not None and is_share:
        old.rate(name, above, among=rows, meaning=KINDS[name].meaning)
    else:
        old.ratio(name, above, _add_counts(name, among[0].event), KINDS[name].meaning)


def _add_counts(name: str, event: str) -> Any:
    """Return an event as a sum of the four counts of decisions and labels."""
    if "v" in event.replace("decided", ""):
        raise ValueError(
            f"{name}: only rb.compile takes a rate that you defined on a live model's decisions; "
            "here use churn, wins or losses"
        )
    holds = evaluate_event(event, 2, 2, 1, {})
    counts = {
        (0, 0): old.true_negatives,
        (0, 1): old.false_negatives,
        (1, 0): old.false_positives,
        (1, 1): old.true_positives,
    }
    total: Any = 0
    for (decision, label), count in counts.items():
        if holds[min(decision, holds.shape[0] - 1), min(label, holds.shape[1] - 1), 0]:
            total = total + count()
    return total


def _define_goal(name: str) -> None:
    """Define a goal of the user's own in the old table too; its groups cross as text."""
    if name in BUILT_IN:
        return
    function = GOALS[name]

    def spell_out(groups: Any, **options: Any) -> list[Any]:
        conditions = [parse_condition(str(group)) for group in groups]
        return [to_old(constraint) for constraint in function(conditions, **options)]

    spell_out.__name__ = name
    spell_out.__doc__ = function.__doc__
    spell_out.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    old.goal(spell_out)


def _convert_population(rows: Any) -> Any:
    classes = None if rows.classes is None else list(rows.classes)
    return old.Population(
        rows.X,
        rows.y,
        columns=rows.columns,
        weights=rows.weights,
        classes=classes,
        refer=rows.refer,
    )


def _convert_compiled(compiled: Any) -> Any:
    populations = {}
    for name, pieces in compiled.populations.items():
        if len(pieces) > 1:
            raise ValueError(
                f"population {name!r}: games take rows in one piece, not {len(pieces)}"
            )
        populations[name] = to_old(pieces[0])
    return old.compile(to_old(compiled.problem), populations.pop("train"), **populations)


SHARES = {"1": "rows", "y": "positive rows", "~y": "negative rows"}
CONDITIONS = ("Compare", "In", "Missing", "Decided", "All", "AnyOf", "Not")
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "ratebound.problem.problem.Problem": _convert_problem,
    "ratebound.problem.population.Population": _convert_population,
    "ratebound.problem.compiled.Compiled": _convert_compiled,
    "ratebound.rates.sums.Constraint": _convert_constraint,
    "ratebound.rates.sums.Sum": _convert_objective,
    "ratebound.rates.sums.Shape": _convert_objective,
    "ratebound.rates.goals.Goal": _convert_goal,
    **{f"ratebound.rates.conditions.{name}": _convert_condition for name in CONDITIONS},
}
