"""Users hand over tables, arrays or sparse matrices, columns beside them, and problems as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ratebound.learning.features import is_table
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem


def check_rows(estimator: Any, X: Any, reset: bool = False) -> Any:
    """Check rows against those the estimator was fitted on; `reset` while it is fitted."""
    if not reset:
        check_is_fitted(estimator)
    if not is_table(X):
        checks = {"accept_sparse": "csr", "ensure_all_finite": "allow-nan"}
        return validate_data(estimator, X, reset=reset, **checks)
    if reset:
        return validate_data(estimator, X, skip_check_array=True)
    return X


def check_order(X: Any, y: Any, columns: Any) -> None:
    """Refuse tables with the same index in another order: rows are matched by position."""
    if not hasattr(X, "index"):
        return
    for name, part in (("y", y), ("columns", columns)):
        index = getattr(part, "index", None)
        if not hasattr(index, "equals") or len(index) != len(X.index):
            continue
        has_same_rows = index.sort_values().equals(X.index.sort_values())
        if has_same_rows and not index.equals(X.index):
            raise ValueError(
                f"{name} names the same rows as X in another order, and rows are matched by "
                f"position: give {name}.loc[X.index]"
            )


def read_population(X: Any, y: Any, columns: Any, **options: Any) -> Population:
    """Return rows with the columns that constraints may name: of the table, and those beside it."""
    named = {}
    if is_table(X):
        named = {name: X[name].to_numpy() for name in X.columns}
    if columns is not None:
        named |= {name: np.asarray(columns[name]) for name in columns}
    features = X if isinstance(X, np.ndarray) else None
    return Population(features, y, named, **options)


def as_problem(objective: Any, constraints: Any) -> Problem:
    if isinstance(objective, Problem):
        both = [objective.constraints, constraints]
        sense = {objective.sense: objective.objective}
        return Problem(subject_to=both, levels=objective.levels, **sense)
    if isinstance(objective, str) and objective.startswith(("minimize ", "maximize ")):
        sense, _, text = objective.partition(" ")
        return Problem(subject_to=constraints, **{sense: text})
    return Problem(objective, constraints)
