"""Problems as plain data, for files: sums term by term, so that their length does not matter."""

from __future__ import annotations

from typing import Any

from ratebound.base.checks import as_number
from ratebound.problem.problem import LeftOut, Problem
from ratebound.rates.expressions import FLIPPED, Constraint, Expression, Metric, Ratio, SingleMetric
from ratebound.rates.ranges import Parity
from ratebound.rates.text import read_rate


def to_plain(problem: Problem) -> dict[str, Any]:
    """The problem as JSON has it.

    >>> to_plain(Problem("error_rate()", ["precision() >= 0.8"]))["subject_to"]
    [{'left': 'precision()', 'relation': '>=', 'right': {'terms': [], 'constant': 0.8}, 'name': ''}]
    """
    promises = [
        promise_to_plain(each)
        for each in (problem.subject_to if problem.leveled else problem.constraints)
        if isinstance(each, Constraint | Parity)
    ]
    found = {problem.sense: _side(problem.objective), "subject_to": promises}
    left_out = [vars(group) for group in problem.left_out]
    return found | ({"left_out": left_out} if left_out else {})


def from_plain(data: dict[str, Any]) -> Problem:
    """The problem that `to_plain` wrote."""
    promises = [promise_from_plain(promise) for promise in data["subject_to"]]
    sense = "maximize" if "maximize" in data else "minimize"
    objective: dict[str, Any] = {sense: _read(data[sense])}
    return Problem(subject_to=promises, **objective).leaving_out(
        map(_left_out, data.get("left_out", ()))
    )


def _left_out(data: dict[str, Any]) -> LeftOut:
    if type(data["rows"]) is not int or not all(isinstance(data[k], str) for k in ("goal", "group")):
        raise ValueError(f"a group left out is not written as ours are: {str(data)[:200]}")
    return LeftOut(data["goal"], data["group"], data["rows"])


def promise_to_plain(promise: Constraint | Parity) -> dict[str, Any]:
    """A promise of either kind as JSON has it."""
    return _ratios(promise) if isinstance(promise, Parity) else constraint_to_plain(promise)


def promise_from_plain(data: dict[str, Any]) -> Constraint | Parity:
    """The promise that `promise_to_plain` wrote."""
    return constraint_from_plain(data) if "name" in data else _parity(data)


def constraint_to_plain(constraint: Constraint) -> dict[str, Any]:
    """One promise as JSON has it."""
    return {
        "left": _side(constraint.left),
        "relation": constraint.relation,
        "right": _side(constraint.right),
        "name": constraint.name,
        **({} if constraint.keeps is None else {"keeps": _ratios(constraint.keeps)}),
    }


def constraint_from_plain(data: dict[str, Any]) -> Constraint:
    """The promise that `constraint_to_plain` wrote."""
    left, right = _read(data["left"]), _read(data["right"])
    if data["relation"] not in ("<=", ">="):
        raise ValueError(f"a promise compares by {data['relation']!r}, not by <= or >=")
    if not isinstance(right, Expression) or not isinstance(data["name"], str):
        raise ValueError(f"a promise is not written as ours are: {str(data)[:200]}")
    keeps = _parity(data["keeps"]) if "keeps" in data else None
    return Constraint(left, data["relation"], right, data["name"], keeps=keeps)


def _ratios(parity: Parity) -> dict[str, Any]:
    return {"left": _side(parity.left), "relation": parity.relation, "right": _side(parity.right)}


def _parity(data: dict[str, Any]) -> Parity:
    left, right = _read(data["left"]), _read(data["right"])
    if not isinstance(left, Ratio) or not isinstance(right, Ratio) or data["relation"] not in FLIPPED:
        raise ValueError(f"{str(data)[:200]} compares no two ratios")
    return Parity(left, data["relation"], right)


def _side(side: Metric) -> str | dict[str, Any]:
    if isinstance(side, Ratio) and side.rate is not None and side.factor != 1.0:
        return {"factor": side.factor, "of": str(side.rate)}
    if isinstance(side, Ratio) and side.rate is None:
        return {"numerator": _side(side.numerator), "denominator": _side(side.denominator)}
    if isinstance(side, SingleMetric):
        return str(side)
    assert isinstance(side, Expression)
    return {"terms": [[c, str(rate)] for rate, c in side.terms], "constant": side.constant}


def _read(side: Any) -> Metric:
    if isinstance(side, str):
        metric = read_rate(side)
        if not isinstance(metric, SingleMetric):
            raise ValueError(f"{side[:200]} is no ratio or area")
        return metric
    if "factor" in side:
        ratio = read_rate(side["of"])
        if not isinstance(ratio, Ratio):
            raise ValueError(f"{str(side)[:200]} is no multiple of a ratio")
        multiple: Ratio = ratio * as_number(side["factor"], "a factor")
        return multiple
    if "numerator" in side:
        numerator, denominator = _read(side["numerator"]), _read(side["denominator"])
        if isinstance(numerator, Expression) and isinstance(denominator, Expression):
            return Ratio(numerator, denominator)
        raise ValueError(f"{str(side)[:200]} is no ratio of sums")
    terms = []
    for coefficient, words in side["terms"]:
        rate = read_rate(words)
        if not isinstance(rate, Expression):
            raise ValueError(f"{words[:200]} is no term of a sum")
        ((one, _),) = rate.terms
        terms.append((one, as_number(coefficient, "a coefficient")))
    return Expression(tuple(terms), as_number(side["constant"], "a constant"))
