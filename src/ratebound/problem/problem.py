"""A problem: an objective and constraints as written. Its text is its only stored form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ratebound.rates.goals import Goal
from ratebound.rates.sums import Constraint, Shape, Sum, Written, as_sum
from ratebound.rates.table import list_directions
from ratebound.rates.text import parse, parse_objective

SENSE_OF_SHAPE = {"smallest": "maximize", "largest": "minimize"}
OPPOSITE_SENSE = {"minimize": "maximize", "maximize": "minimize"}
WORSE = {"minimize": "more", "maximize": "less"}  # the direction that each sense moves away from


@dataclass(frozen=True, repr=False, init=False)
class Problem(Written):
    """State an objective and the constraints on it.

    Parameters
    ----------
    minimize : sum of rates or str, default=None
        What to make as small as possible. Give this or `maximize`.
    subject_to : iterable, default=()
        Constraints and goals, as objects or as text, in lists of any depth.
    maximize : sum of rates or str, default=None
        What to make as large as possible.
    levels : dict, default=None
        For each constraint that compares two ratios, by its text: a level between them. The lower ratio
        stays below it and the higher one above. Such a constraint cannot be compiled without a level.

    Examples
    --------
    >>> import ratebound as rb
    >>> problem = rb.Problem("error_rate()", [rb.recall(sex="Female") >= 0.95 * rb.recall()])
    >>> print(problem)
    minimize error_rate()
    subject to
      recall(sex == "Female") >= 0.95 * recall()
    >>> rb.parse_problem(str(problem)) == problem
    True
    """

    sense: str  # "minimize" or "maximize"
    objective: Sum | Shape
    constraints: tuple[Constraint | Goal, ...]
    levels: dict[str, float] = field(compare=False)  # by the text of the constraint

    def __init__(
        self,
        minimize: Any = None,
        subject_to: Any = (),
        *,
        maximize: Any = None,
        levels: dict[str, float] | None = None,
    ) -> None:
        if (minimize is None) == (maximize is None):
            raise TypeError('give either minimize= or maximize=, as in minimize="error_rate()"')
        sense = "minimize" if maximize is None else "maximize"
        objective = _read_objective(sense, minimize if maximize is None else maximize)
        object.__setattr__(self, "sense", sense)
        object.__setattr__(self, "objective", objective)
        object.__setattr__(self, "constraints", tuple(flatten_constraints(subject_to)))
        object.__setattr__(self, "levels", levels or {})

    def at_levels(self, levels: dict[str, float]) -> Problem:
        """Return the same problem with levels for constraints that compare two ratios.

        Parameters
        ----------
        levels : dict
            The level of each such constraint, by its text.

        Returns
        -------
        Problem
            The problem with these levels, which can be compiled.
        """
        return Problem(
            subject_to=self.constraints,
            levels=self.levels | levels,
            **{self.sense: self.objective},
        )

    def __str__(self) -> str:
        lines = [f"{self.sense} {self.objective}"]
        if self.constraints:
            lines.append("subject to")
        lines += [f"  {constraint}" for constraint in self.constraints]
        return "\n".join(lines)


def parse_problem(text: str) -> Problem:
    """Return the problem that the text states.

    Parameters
    ----------
    text : str
        A problem as ``str(problem)`` writes it.

    Returns
    -------
    Problem
        The problem.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.parse_problem("maximize recall()").objective
    recall()
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    first = lines[0] if lines else ""
    sense, _, objective = first.partition(" ")
    if sense not in OPPOSITE_SENSE:
        raise ValueError(f"a problem starts with minimize or maximize, not {first[:40]!r}")
    constraints = [line for line in lines[1:] if line != "subject to"]
    arguments: dict[str, Any] = {sense: objective}
    return Problem(subject_to=constraints, **arguments)


def flatten_constraints(constraints: Any) -> Iterable[Constraint | Goal]:
    """Yield the constraints and goals in text and nested lists."""
    if isinstance(constraints, str):
        yield parse(constraints)
    elif isinstance(constraints, Constraint | Goal):
        yield constraints
    elif isinstance(constraints, Iterable):
        for constraint in constraints:
            yield from flatten_constraints(constraint)
    else:
        raise TypeError(
            f"a constraint compares a rate with a number, as in recall() >= 0.9; got {constraints!r}"
        )


def _read_objective(sense: str, objective: Any) -> Sum | Shape:
    """Return the objective; raise if it has no rate, or if the sense is the wrong one."""
    if isinstance(objective, str):
        objective = parse_objective(objective)
    if isinstance(objective, Shape):
        needed = SENSE_OF_SHAPE[objective.name]
        if sense != needed:
            raise ValueError(f"cannot {sense} {objective.name}(...): write {needed}=")
        return objective
    objective = as_sum(objective)
    if not objective.terms:
        raise ValueError(
            f"there is nothing to {sense} in {objective}: name a rate, as in error_rate()"
        )
    if list_directions(objective) == {WORSE[sense]}:
        raise ValueError(
            f"to {sense} {objective} is to ask for the worst: write {OPPOSITE_SENSE[sense]}="
        )
    return objective
