"""Groups that are known by probabilities only: each row is copied for every value it may have.

The copies of a row have the same features, and so the same decision; each is weighted by the probability
of its value, and together they weigh as much as the row. So a rate of a group counts each row by its
probability of belonging, ``Σ p yes / Σ p``, and every other rate is as before. Evidence takes the copies
of one row as one unit: the column `ROW` tells which they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound.learning.influence import RowReader
from ratebound.problem.columns import as_objects
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.rates.conditions import Name, Value, as_value, leaves, suggest_name

ROW = "(row)"  # the column with the row that each is a copy of
ROWS_TO_CHECK = (
    385  # that a rate counts, which is then known to within .05 with a confidence of .95
)
ROUNDING = 0.005  # probabilities may be rounded, so their sum may be off by this


@dataclass(frozen=True)
class UncertainGroup:
    """A column whose value is uncertain: the column with the probability of each value."""

    column: Name
    probabilities: Mapping[Value, Name]

    def copy_rows(self, rows: Population) -> Population:
        """Return the rows, each copied for every value that it may have.

        Where the column itself has a value, that is the value.
        """
        shares = self._read_probabilities(rows)
        row, value = np.nonzero(shares)
        copies = rows.select(row)
        columns = dict(copies.columns)
        columns[self.column] = as_objects(list(self.probabilities))[value]
        columns.setdefault(ROW, row)
        weights = copies.row_weights * shares[row, value]
        return replace(copies, columns=columns, weights=weights)

    def describe_check(self, compiled: Compiled) -> str:
        """Say how many rows would check the probabilities: enough for the rarest rate of a group."""
        reader = RowReader(compiled)
        weights = compiled.weights
        shares = [1.0]
        for row in compiled.rows:
            for rate in row.sum.rates:
                names = [getattr(leaf, "column", None) for leaf in leaves(rate.condition)]
                if self.column in names:
                    shares.append(weights @ reader.find_among(rate) / weights.sum())
        rows = np.ceil(ROWS_TO_CHECK / min(shares))
        return (
            f"To check the probabilities, learn {self.column!r} of about {rows:,.0f} random rows: "
            "that shows the rates of each group to within 0.05."
        )

    def _read_probabilities(self, rows: Population) -> Any:
        """Return the probability of every value in every row (n, values)."""
        columns = [self._read_column(rows, name) for name in self.probabilities.values()]
        shares = np.column_stack(columns)
        total = shares.sum(axis=1)
        known = self._read_known(rows)
        is_unknown = known < 0
        wrong = is_unknown & ~(np.abs(total - 1) <= ROUNDING)
        if wrong.any():
            row = np.argmax(wrong)
            raise ValueError(
                f"{self.column}: the probabilities of {wrong.sum():,} rows do not add up to 1, "
                f"as in row {row} with {total[row]:g}: give a column for every value it may have"
            )
        shares[is_unknown] /= total[is_unknown, None]
        shares[~is_unknown] = np.eye(len(self.probabilities))[known[~is_unknown]]
        return shares

    def _read_column(self, rows: Population, name: Name) -> Any:
        """Return the probabilities (n,) of one value; 0 for rows without one."""
        column = rows.encode(name)
        if column.words - {"numbers"}:
            raise ValueError(f"column {name!r} holds no probabilities, but {column.values[:3]}")
        values = column.values.astype(float)
        if values.min(initial=0) < 0 or values.max(initial=0) > 1 + ROUNDING:
            raise ValueError(f"column {name!r} holds numbers below 0 or above 1, not probabilities")
        return np.append(values, 0.0)[column.codes]

    def _read_known(self, rows: Population) -> Any:
        """Return the index of every row's known value (n,), -1 if it is uncertain."""
        if self.column not in rows.columns:
            return np.full(len(rows), -1)
        column = rows.encode(self.column)
        values = list(self.probabilities)
        indices = []
        for value in column.values.tolist():
            if value not in values:
                raise ValueError(
                    f"column {self.column!r} holds {value!r}, which has no probabilities"
                    f"{suggest_name(value, values)}"
                )
            indices.append(values.index(value))
        return np.array([*indices, -1])[column.codes]


def uncertain_group(
    column: Name, probabilities: Sequence[Name] | Mapping[Any, Name]
) -> UncertainGroup:
    """State that a group is known by probabilities only.

    Rates of such a group assume that the probabilities are right for rows with the same label and the
    same decision, which nothing here can check. Check a random sample of rows whose group is known.

    Parameters
    ----------
    column : str or int
        The column as constraints name it. Rows that have it need no probabilities.
    probabilities : list of str, or mapping
        The columns with the probability of each value: a mapping from values to columns, or columns that
        are named after the values, as in ``["p_black", "p_white"]``.

    Returns
    -------
    UncertainGroup
        Its `copy_rows` makes the population that `compile` takes.

    Examples
    --------
    >>> import ratebound as rb
    >>> race = rb.uncertain_group("race", probabilities=["p_black", "p_white"])
    >>> rows = rb.Population(y=[1, 0], columns={"p_black": [0.25, 1], "p_white": [0.75, 0]})
    >>> copies = race.copy_rows(rows)
    >>> copies.columns["race"].tolist(), copies.weights.tolist()
    (['black', 'white', 'black'], [0.25, 0.75, 1.0])
    """
    if isinstance(probabilities, str):
        raise TypeError(f"probabilities= takes a list of columns, got {probabilities!r}")
    if isinstance(probabilities, Mapping):
        named = {as_value(value): name for value, name in probabilities.items()}
    else:
        names = list(map(str, probabilities))
        prefix = min(names, default="")
        while not all(name.startswith(prefix) for name in names):
            prefix = prefix[:-1]
        start = prefix.rfind("_") + 1
        named = {name[start:]: name for name in names}
    if len(named) < 2 or "" in named:
        raise ValueError(
            "probabilities= takes a column for each of two values or more, as in "
            f'["p_black", "p_white"] or {{"black": "p1", "white": "p2"}}, got {probabilities!r}'
        )
    return UncertainGroup(column, named)
