"""Decisions that anyone made, in place of a model, for audits and certificates.

They are a column of the rows, a separate array, or a condition on the rows, such as ``status ==
"approved"``. A missing decision is an error: it is neither yes nor no.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_array, distinct, frame_columns, is_missing, length, unmasked
from ratebound._old.problem.masks import masker
from ratebound._old.problem.population import Population
from ratebound._old.rates.subsets import Missing, Name, Subset, columns_in, leaves

GIVEN = "(decisions)"  # the column that holds an array of decisions
SAID = ({"no", "yes"}, {"n", "y"}, {"false", "true"})  # words for no and yes
YES = ("yes", "y", "true")


@dataclass(frozen=True, eq=False)
class Decisions:
    """The source of decisions on rows: a column, or a condition."""

    of: Name | Subset

    @property
    def words(self) -> str:
        """Their name in reports."""
        if isinstance(self.of, Subset):
            return f"the decisions {self.of}"
        if self.of == "(decision)":  # in which the new estimators keep what they decide
            return "one model"
        return "the decisions given" if self.of == GIVEN else f"the decisions in column {self.of!r}"

    @property
    def columns(self) -> tuple[Name, ...]:
        """The columns that they are read from."""
        return tuple(dict.fromkeys(columns_in(self.of))) if isinstance(self.of, Subset) else (self.of,)

    def on(self, rows: Population) -> Array:
        """The decision on each row, (n,): a truth value, or as spelled.

        >>> Decisions("approved").on(Population(None, columns={"approved": ["Yes", "No"]}))
        array([ True, False])
        """
        columns = self.columns
        if isinstance(self.of, Subset):  # a condition on missing values allows them
            excused = {leaf.column for leaf in leaves(self.of) if isinstance(leaf, Missing)}
            columns = tuple(name for name in columns if name not in excused)
        for name in columns:
            self._check_whole(is_missing(rows.column(name)))
        if isinstance(self.of, Subset):
            return masker(rows)(self.of)
        return _as_truths(unmasked(rows.column(self.of)), rows)

    def _check_whole(self, lacking: Array) -> None:
        if lacking.any():
            raise ValueError(
                f"{self.words}: {int(lacking.sum()):,} of {len(lacking):,} rows have none, the first "
                f"in row {int(np.flatnonzero(lacking)[0]) + 1}. A missing decision is neither yes nor "
                "no: leave those rows out, or fill in the decision"
            )


def _as_truths(values: Array, rows: Population) -> Array:
    """Decisions as truth values if the words mean yes or no, unless they are names of classes."""
    words = distinct(values, None)
    if not all(isinstance(each, str) for each in words) or set(words) <= set(rows.classes or ()):
        return values
    plain = {each: each.strip().casefold() for each in words}
    if any(set(plain.values()) <= pair for pair in SAID):
        return np.array([plain[each] in YES for each in values.tolist()], dtype=bool)
    return values


def given_decisions(
    asker: str, model: Any, population: Any, decisions: Any, rows: Any, others: Mapping[str, Population]
) -> tuple[Any, Any]:
    """The model and the rows of a call, from `decisions=` and `rows=` if these are given.

    >>> people = Population(None, columns={"sex": ["Female", "Male"]})
    >>> model, people = given_decisions("audit", None, None, [True, False], people, {})
    >>> model.words, model.on(people)
    ('the decisions given', array([ True, False]))
    """
    if decisions is None and rows is None:
        if model is None or population is None:
            raise TypeError(
                f"{asker} takes a problem, a model and a population; for decisions without a model, "
                f"call rb.{asker}(problem, decisions=..., rows=...)"
            )
        return model, population
    if decisions is None or rows is None or model is not None or population is not None:
        raise TypeError(
            f"{asker} takes a model and a population, or decisions= and rows= in their place: an array "
            "or the name of a column, and the rows that were decided"
        )
    people = rows
    if not isinstance(rows, Population):
        if not frame_columns(rows):
            raise TypeError(
                f"{asker}: rows= takes a table or a rb.Population, got {type(rows).__name__}"
            )
        people = Population(None, columns=rows)
    if isinstance(decisions, Subset) and people.stored:
        raise ValueError(
            f"{asker}: for rows on disk, decisions= takes the name of a column that holds yes or no"
        )
    if isinstance(decisions, str | int | Subset) and not isinstance(decisions, bool):
        return Decisions(decisions), people
    if people.stored or others:
        what = "rows on disk" if people.stored else "several populations"
        raise ValueError(f"{asker}: for {what}, decisions= takes the name of the column that holds them")
    if (many := length(decisions, "decisions")) != len(people):
        raise ValueError(f"{asker}: there are {many:,} decisions for {len(people):,} rows")
    values = as_array(unmasked(decisions))
    if values.ndim != 1:
        raise ValueError(f"{asker}: decisions have shape {values.shape}, expected one for each row")
    beside = copy(people)
    beside.columns = {**people.columns, GIVEN: values}
    return Decisions(GIVEN), beside
