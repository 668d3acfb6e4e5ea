"""What constraints require of the tables: the populations, and the columns that hold texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ratebound._bridge import accept
from ratebound._old.base.checks import nearest
from ratebound._old.commands.runs import Run
from ratebound._old.problem.population import Population
from ratebound._old.rates.costs import cost_columns
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.subsets import Compare, In, leaves
from ratebound._old.tables.texts import Kind
from ratebound.problem.problem import Problem
from ratebound.rates.sums import Constraint, Rate

# The other arguments of the Python functions that take populations by name.
TAKEN = (
    FIRST,
    "X",
    "y",
    "clusters",
    "columns",
    "confidence",
    "decisions",
    "features",
    "in_expectation",
    "known",
    "model",
    "population",
    "problem",
    "rows",
    "seed",
)


def read_problem(run: Run) -> Problem:
    """Return the objective and the constraints; every population that they name must be given."""
    if run.minimize is not None and run.maximize is not None:
        raise ValueError("a model has one objective: give --minimize or --maximize, not both")
    minimize = run.minimize
    if run.minimize is None and run.maximize is None:
        minimize = "error_rate()"
    problem = Problem(minimize, run.require, maximize=run.maximize)
    check_populations(problem, run.population)
    return problem


def count_all_rows(problem: Problem, populations: Mapping[str, Population]) -> Problem:
    """Return the problem whose counts are of all these rows, whichever part of them is counted."""

    def scale(rate: Rate) -> Rate:
        if rate.among is not None or rate.option("per") is not None:
            return rate
        total = populations[rate.population].total_weight
        return rate.with_options(per=int(total) if total.is_integer() else total)

    constraints: list[Any] = []
    for constraint in problem.constraints:
        if isinstance(constraint, Constraint) and not constraint.sum.nonlinear:
            constraint = constraint.map(scale)
        constraints.append(constraint)
    objective: dict[str, Any] = {problem.sense: problem.objective}
    return Problem(subject_to=constraints, levels=problem.levels, **objective)


def check_populations(problem: Any, others: Iterable[str]) -> None:
    """Raise unless every population that is named is given, and `others` can have these names."""
    others = list(others)
    for name in others:
        if not name.isidentifier() or name in TAKEN:
            raise ValueError(
                f"--population {name}=...: a name has letters, digits and underscores only, and must "
                f"not be one of {', '.join(TAKEN)}"
            )
    for rate in accept(problem).rates:
        if rate.on not in (None, FIRST, *others):
            raise ValueError(
                f"{rate}: population {rate.on!r} is not given{nearest(str(rate.on), others)} Add "
                f"--population {rate.on}=FILE"
            )


def compared_columns(problem: Any) -> dict[str, Kind]:
    """The columns that are compared only with texts or, like columns of costs, only with numbers."""
    said: dict[str, set[Kind]] = {}
    for rate in accept(problem).rates:
        for name in cost_columns(rate):
            said.setdefault(str(name), set()).add("number")
        for condition in leaves(rate.subset):
            if not isinstance(condition, Compare | In):  # any column may be missing
                continue
            values = condition.values if isinstance(condition, In) else (condition.value,)
            kinds = said.setdefault(str(condition.column), set())
            kinds |= {"text" if isinstance(value, str) else "number" for value in values}
    return {name: kinds.pop() for name, kinds in said.items() if len(kinds) == 1}
