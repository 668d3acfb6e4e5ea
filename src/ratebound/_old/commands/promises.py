"""What promises require of the tables: the populations, and the columns that hold texts."""

from __future__ import annotations

from collections.abc import Iterable

from ratebound._old.base.checks import nearest
from ratebound._old.commands.runs import Run
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.costs import cost_columns
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.guesses import Guessed, as_guessed, read_guessed
from ratebound._old.rates.subsets import Compare, In, leaves
from ratebound._old.tables.texts import Kind

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


def stated(run: Run) -> Problem:
    """The promises; every population that they name must be given."""
    if run.minimize is not None and run.maximize is not None:
        raise ValueError("a model has one objective: give --minimize or --maximize, not both")
    minimize = "error_rate()" if run.minimize is None and run.maximize is None else run.minimize
    problem = Problem(minimize, run.require, maximize=run.maximize)
    check_populations(problem, run.population)
    return problem


def ways_of(run: Run) -> tuple[Guessed, ...]:
    """How guessed or missing columns are known."""
    try:
        return as_guessed(map(read_guessed, run.guessed))
    except ValueError as error:
        raise ValueError(f"--guessed: {error}") from None


def check_populations(problem: Problem, others: Iterable[str]) -> None:
    """Raise unless every population that is named is given, and `others` can have these names."""
    others = list(others)
    for name in others:
        if not name.isidentifier() or name in TAKEN:
            raise ValueError(
                f"--population {name}=...: a name has letters, digits and underscores only, and must "
                f"not be one of {', '.join(TAKEN)}"
            )
    for rate in problem.rates:
        if rate.on not in (None, FIRST, *others):
            raise ValueError(
                f"{rate}: population {rate.on!r} is not given{nearest(str(rate.on), others)} Add "
                f"--population {rate.on}=FILE"
            )


def compared_columns(problem: Problem) -> dict[str, Kind]:
    """The columns that are compared only with texts or, like columns of costs, only with numbers."""
    said: dict[str, set[Kind]] = {}
    for rate in problem.rates:
        for name in cost_columns(rate):
            said.setdefault(str(name), set()).add("number")
        for condition in leaves(rate.subset):
            if not isinstance(condition, Compare | In):  # any column may be missing
                continue
            values = condition.values if isinstance(condition, In) else (condition.value,)
            kinds = said.setdefault(str(condition.column), set())
            kinds |= {"text" if isinstance(value, str) else "number" for value in values}
    return {name: kinds.pop() for name, kinds in said.items() if len(kinds) == 1}
