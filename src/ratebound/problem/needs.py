"""What a problem needs to know of rows to count them: conditions, columns, labels and amounts.

Rows that agree in all of these are alike to the problem, wherever they are stored. So counting is one
GROUP BY, and what it groups by is found here before there are any rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from ratebound.problem.problem import Problem
from ratebound.rates.conditions import (
    Compare,
    Condition,
    Decided,
    Every,
    Name,
    format_column,
    leaves,
)
from ratebound.rates.goals import STAND_IN, Goal
from ratebound.rates.sums import FIRST, RANKING, mentions_letter

SUMS = ("rows", "weight", "square")  # what is added up for each kind of row


@dataclass(frozen=True)
class Needs:
    """What tells the rows of one population apart, for a problem and the groups of a report."""

    problem: Problem
    population: str
    conditions: tuple[Condition, ...]  # simple ones, which a row meets or not
    columns: tuple[Name, ...]  # whose values are kept
    amounts: tuple[Name, ...]  # whose sums are kept
    has_label: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of what rows are grouped by."""
        conditions = [f"c{index}" for index in range(len(self.conditions))]
        columns = [f"k{index}" for index in range(len(self.columns))]
        return (*conditions, *columns, "label", "decision")

    @property
    def sums(self) -> tuple[str, ...]:
        """The names of what is added up."""
        amounts = [f"a{index}" for index in range(len(self.amounts))]
        return (*SUMS, *amounts)

    @cached_property
    def digest(self) -> str:
        """Sixteen letters that lines of other needs do not have."""
        texts = [str(self.problem), self.population, *map(str, self.conditions)]
        texts += [format_column(name) for name in (*self.columns, *self.amounts)]
        return sha256("\n".join(texts).encode()).hexdigest()[:16]


def find_needs(
    problem: Problem,
    population: str = FIRST,
    by: Iterable[Name | Condition] = (),
) -> Needs:
    """Return what a problem, and a report by further columns and conditions, need of rows."""
    conditions: list[Condition] = []
    columns: list[Name] = []
    amounts: list[Name] = []
    has_label = False
    for statement in (*problem.constraints, problem.objective):
        if isinstance(statement, Goal) and statement.population == population:
            conditions += statement.groups
        for rate in statement.rates:
            if rate.option("at", 0) != 0 or rate.form == RANKING:
                raise ValueError(f"{rate} needs scores, and counted rows have decisions only")
            if rate.population != population:
                continue
            parts = rate.counted + (rate.among or ())
            conditions.append(rate.condition)
            columns += [rate.option(name) for name in ("versus", "by") if rate.option(name)]
            amounts += [part.amounts for part in parts if part.amounts is not None]
            has_label = has_label or mentions_letter(parts, "y")
    for group in by:
        if isinstance(group, Condition):
            conditions.append(group)
        else:
            columns.append(group)
    simple = [leaf for condition in conditions for leaf in leaves(condition)]
    columns += [leaf.column for leaf in simple if isinstance(leaf, Every)]
    kept = [_as_equality(leaf) for leaf in simple if _is_needed(leaf, columns)]
    return Needs(
        problem,
        population,
        tuple(dict.fromkeys(kept)),
        tuple(dict.fromkeys(columns)),
        tuple(dict.fromkeys(amounts)),
        has_label,
    )


def _is_needed(leaf: Any, columns: list[Name]) -> bool:
    """Return True for a condition that the kept columns do not decide."""
    if isinstance(leaf, Decided | Every):
        return False
    return leaf.column not in columns and leaf.column != STAND_IN


def _as_equality(leaf: Condition) -> Condition:
    """Return ``==`` for ``!=``: the rows that meet the one do not meet the other."""
    if isinstance(leaf, Compare) and leaf.relation == "!=":
        return replace(leaf, relation="==")
    return leaf
