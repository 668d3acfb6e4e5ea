"""Thresholds by known cell: what a mixture says yes from, for each combination of known columns.

A *known cell* is a combination of values of the columns that may be looked at when deciding. Each
member of such a mixture has, for every cell, one of the base models and a threshold on its score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.problem.frames import length, some
from ratebound.problem.population import Population
from ratebound.rates.subsets import Value, column_text, value_text
from ratebound.solution.choosing import HALF

Array = NDArray[Any]
FARTHEST = 1e300  # what a score is away from a threshold at infinity, so that it stays a number


@dataclass(frozen=True, eq=False)
class Cells:
    """Which model each member uses in each known cell, and from which score on it says yes.

    Prints as a rule that a person can check.

    >>> cells = Cells(
    ...     columns=("sex",),
    ...     values=(("Female",), ("Male",)),
    ...     weights=np.array([0.25, 0.75]),
    ...     model=np.zeros((2, 2), dtype=int),
    ...     at=np.array([[0.398, 0.5], [0.412, 0.5]]),
    ... )
    >>> print(cells)
    sex == "Female": yes from 0.412 (from 0.398 with probability 0.25)
    sex == "Male": yes from 0.5
    """

    columns: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]  # (C,) cells, a value of each column
    weights: Array  # (M,) the mixture's own
    model: Array  # (M, C) which of the base models
    at: Array  # (M, C) yes where its score is at least this; -inf is always, inf is never
    given: bool = False  # whether rows come as scores of the base models, not as their features

    def __str__(self) -> str:
        rules = [self._rule(cell) for cell in range(len(self.values))]
        return "\n".join(f"{self.words(cell)}: {rule}" for cell, rule in enumerate(rules))

    def words(self, cell: int) -> str:
        """A cell's values, as `parse` reads them."""
        pairs = zip(self.columns, self.values[cell], strict=True)
        said = [f"{column_text(name)} == {value_text(value)}" for name, value in pairs]
        return " & ".join(said) or "everyone"

    @property
    def by_column(self) -> dict[str, tuple[Value, ...]]:
        """The values that each column has in some cell.

        >>> Cells(("sex", "old"), (("F", 0), ("M", 0)), *np.ones((3, 1, 2))).by_column
        {'sex': ('F', 'M'), 'old': (0,)}
        """
        found = list(zip(*self.values, strict=True)) or [()] * len(self.columns)
        return {n: tuple(dict.fromkeys(values)) for n, values in zip(self.columns, found, strict=True)}

    def rows(self, X: Any, columns: Any = None) -> Array:
        """The cell of each row (n,), its values looked up in `columns`, then in `X` if that is a table.

        >>> Cells(("sex",), (("F",), ("M",)), *np.ones((3, 1, 2))).rows([0.3, 0.2], {"sex": ["M", "F"]})
        array([1, 0])
        """
        if not self.columns or not length(X, "X"):
            return np.zeros(length(X, "X"), dtype=int)
        try:
            people = Population(X, columns=columns)
            values = [people.column(name).tolist() for name in self.columns]
        except ValueError as error:
            raise ValueError(
                f"this policy decides by {', '.join(self.columns)}, to be passed as columns=, or as "
                f"columns of a DataFrame X: {error}"
            ) from None
        number = {cell: index for index, cell in enumerate(self.values)}
        found = np.fromiter(map(number.get, zip(*values, strict=True), repeat(-1)), int, len(people))
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            raise ValueError(self._unknown(int(unknown[0]), [column[unknown[0]] for column in values]))
        return found

    def scores(self, base: Array, rows: Array) -> Array:
        """Scores (M, n) of the members, from those of the models (B, n) and the rows' cells (n,)."""
        scores = base.astype(float, copy=False)[self.model[:, rows], np.arange(len(rows))]
        found: Array = np.clip(scores - self.at[:, rows], -FARTHEST, FARTHEST)
        return found

    def member(self, index: int) -> Cells:
        """The cells of one member alone."""
        one = slice(index, index + 1)
        return replace(self, weights=np.ones(1), model=self.model[one], at=self.at[one])

    def voted(self) -> Cells | None:
        """One member that decides as the members' vote does; None where a cell has several models.

        With one model the vote says yes from the lowest threshold that members with half of the weight
        or more do not exceed.
        """
        if (self.model != self.model[0]).any():
            return None
        order = np.argsort(self.at, axis=0, kind="stable")
        held = np.cumsum(self.weights[order], axis=0)
        middle = np.argmax(held >= HALF * held[-1], axis=0)
        at = np.take_along_axis(self.at, np.take_along_axis(order, middle[None], axis=0), axis=0)
        return replace(self, weights=np.ones(1), model=self.model[:1], at=at)

    def _rule(self, cell: int) -> str:
        """What is done in a cell; by which model is said where there are several."""
        models, parts = self.model[:, cell], []
        for model in dict.fromkeys(models.tolist()):
            at, weights = self.at[models == model, cell], self.weights[models == model]
            share = float(weights.sum() / self.weights.sum())
            chance = "" if share > 1 - 1e-9 else f" (with probability {share:.4g})"
            by = f"by model {model}{chance}, " if self.model.any() else ""
            parts.append(by + _rule_of_one(at, weights / weights.sum()))
        return "; ".join(parts)

    def _unknown(self, row: int, values: list[Any]) -> str:
        for (name, known), value in zip(self.by_column.items(), values, strict=True):
            if value not in known:
                what = f"column {name!r} holds {value!r}, and the policy knows {some(list(known))}"
                break
        else:
            pairs = zip(self.columns, values, strict=True)
            what = "no row had " + " and ".join(f"{name} == {value!r}" for name, value in pairs)
            what += " together when the policy was made"
        return (
            f"row {row}: {what}: make it from rows that hold such people, or give them a value that it "
            "knows"
        )


def _rule_of_one(at: Array, weights: Array) -> str:
    """The rule of one model with thresholds `at` (k,), each used with its weight (k,).

    >>> _rule_of_one(np.array([-np.inf, 0.2, 0.5]), np.array([0.1, 0.3, 0.6]))
    'yes from 0.5 (from 0.2 with probability 0.4, elsewhere with probability 0.1)'
    """
    *lower, highest = np.unique(at).tolist()
    if not lower and np.isinf(highest):
        return "always no" if highest > 0 else "always yes"
    chances = []
    for level in reversed(lower):
        where = (
            f"from {level:.6g} "
            if level > -np.inf
            else "elsewhere " * (len(lower) > 1 or highest < np.inf)
        )
        chances.append(f"{where}with probability {weights[at <= level].sum():.4g}")
    if highest == np.inf:
        return f"yes {', '.join(chances)}"
    return f"yes from {highest:.6g}" + (f" ({', '.join(chances)})" if chances else "")
