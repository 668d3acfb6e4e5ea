"""A problem: an objective and constraints as written. Its text is its only stored form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ratebound.rates.goals import Goal
from ratebound.rates.sums import Constraint, Distance, Shape, Sum, Written, as_sum
from ratebound.rates.table import list_directions
from ratebound.rates.text import parse, parse_objective

SENSES = {"smallest": "maximize", "largest": "minimize"}  # of each shape


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
        For a constraint that compares two ratios, by its text: the level that the lower one stays below
        and the higher one above. By default such a constraint cannot be compiled.

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
    levels: dict[str, float] = field(compare=False)  # of constraints on two ratios, by their text

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
            The problem that can be compiled.
        """
        levels = self.levels | levels
        return Problem(subject_to=self.constraints, levels=levels, **{self.sense: self.objective})

    def __str__(self) -> str:
        lines = [f"{self.sense} {self.objective}"]
        if self.constraints:
            lines.append("subject to")
        lines += [f"  {constraint}" for constraint in self.constraints]
        return "\n".join(lines)


def parse_problem(text: str) -> Problem:
    """Return the problem that a text states.

    Parameters
    ----------
    text : str
        As ``str(problem)`` writes it.

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
    first, *lines = [line.strip() for line in text.strip().splitlines()] or [""]
    sense, _, objective = first.partition(" ")
    if sense not in ("minimize", "maximize"):
        raise ValueError(f"a problem starts with minimize or maximize, not {first[:40]!r}")
    constraints = [line for line in lines if line != "subject to"]
    goal: dict[str, Any] = {sense: objective}
    return Problem(subject_to=constraints, **goal)


def flatten_constraints(constraints: Any) -> Iterable[Constraint | Goal]:
    """Yield constraints and goals out of texts and nested lists."""
    if isinstance(constraints, str):
        yield parse(constraints)
    elif isinstance(constraints, Constraint | Goal):
        yield constraints
    elif isinstance(constraints, Sum | Distance | Shape | bool) or not isinstance(
        constraints, Iterable
    ):
        raise TypeError(
            f"a constraint compares a rate with a number, as in recall() >= 0.9; got {constraints!r}"
        )
    else:
        for constraint in constraints:
            yield from flatten_constraints(constraint)


def _read_objective(sense: str, objective: Any) -> Sum | Shape:
    """Return the objective; refuse one that has no optimum, or asks for the worst."""
    if isinstance(objective, str):
        objective = parse_objective(objective)
    if isinstance(objective, Shape):
        needed = SENSES[objective.name]
        if sense != needed:
            raise ValueError(f"cannot {sense} {objective.name}(...): write {needed}=")
        return objective
    objective = as_sum(objective)
    if not objective.terms:
        raise ValueError(
            f"there is nothing to {sense} in {objective}: name a rate, as in error_rate()"
        )
    better = {"minimize": "less", "maximize": "more"}[sense]
    other = {"minimize": "maximize", "maximize": "minimize"}[sense]
    if list_directions(objective) == {"more", "less"} - {better}:
        raise ValueError(f"to {sense} {objective} is to ask for the worst: write {other}=")
    return objective
