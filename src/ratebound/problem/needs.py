"""What a problem needs to know of rows to count them: conditions, columns, labels and amounts.

The problem treats rows alike if they agree in all of these, so counting is one GROUP BY. Its keys are
known before there are any rows.
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

SUMS = ("rows", "weight", "square")  # totals of each group of rows: count, weights, their squares


@dataclass(frozen=True)
class Needs:
    """What a problem, and the groups of a report, need to know of the rows of one population."""

    problem: Problem
    population: str
    conditions: tuple[Condition, ...]  # simple conditions: whether a row meets each
    columns: tuple[Name, ...]  # columns whose values are kept
    amounts: tuple[Name, ...]  # columns whose sums are kept
    has_label: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys by which rows are grouped."""
        conditions = [f"c{index}" for index in range(len(self.conditions))]
        columns = [f"k{index}" for index in range(len(self.columns))]
        return (*conditions, *columns, "label", "decision")

    @property
    def sums(self) -> tuple[str, ...]:
        """The names of the totals of a group."""
        amounts = [f"a{index}" for index in range(len(self.amounts))]
        return (*SUMS, *amounts)

    @cached_property
    def digest(self) -> str:
        """A hash of the problem and the keys, which lines must share to add up."""
        texts = [str(self.problem), self.population, *map(str, self.conditions)]
        texts += [format_column(name) for name in (*self.columns, *self.amounts)]
        digest = sha256("\n".join(texts).encode())
        return digest.hexdigest()[:16]


def find_needs(
    problem: Problem,
    population: str = FIRST,
    by: Iterable[Name | Condition] = (),
) -> Needs:
    """Return what a problem needs to know of rows; `by` adds the groups of a report."""
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
            conditions.append(rate.condition)
            live_columns = (rate.option("versus"), rate.option("by"))
            columns += [name for name in live_columns if name is not None]
            amounts += [part.amounts for part in rate.parts if part.amounts is not None]
            has_label = has_label or mentions_letter(rate.parts, "y")
    for group in by:
        if isinstance(group, Condition):
            conditions.append(group)
        else:
            columns.append(group)
    simple = [leaf for condition in conditions for leaf in leaves(condition)]
    columns += [leaf.column for leaf in simple if isinstance(leaf, Every)]
    needed = [_as_equality(leaf) for leaf in simple if _is_needed(leaf, columns)]
    return Needs(
        problem,
        population,
        conditions=tuple(dict.fromkeys(needed)),
        columns=tuple(dict.fromkeys(columns)),
        amounts=tuple(dict.fromkeys(amounts)),
        has_label=has_label,
    )


def _is_needed(leaf: Any, columns: list[Name]) -> bool:
    """Return True for a condition that does not follow from the kept columns."""
    if isinstance(leaf, Decided | Every):
        return False
    return leaf.column not in columns and leaf.column != STAND_IN


def _as_equality(leaf: Condition) -> Condition:
    """Return ``==`` in place of ``!=``, since each row meets exactly one of the two."""
    if isinstance(leaf, Compare) and leaf.relation == "!=":
        return replace(leaf, relation="==")
    return leaf
