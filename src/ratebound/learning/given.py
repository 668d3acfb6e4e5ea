"""Users hand over tables or matrices, labels, columns beside them, and problems as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from ratebound._bridge import read_records
from ratebound.problem.columns import as_array, encode_values, is_frame, read_columns
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem, parse_problem
from ratebound.rates.conditions import Name, is_missing, suggest_name
from ratebound.rates.goals import Goal
from ratebound.rates.sums import Constraint, Shape, Sum

Rows = Any  # (n, d): a data frame of any library, an array or a sparse matrix
Columns = Mapping[Name, Any] | Any  # values (n,) by name, or a data frame
Constraints = str | Constraint | Goal | Iterable["Constraints"]
Objective = str | Sum | Shape | Problem
ModelName = Literal["linear", "lightgbm", "xgboost", "catboost", "mlp"]


class Read(NamedTuple):
    """The rows of a population as they were given, and as constraints see them."""

    table: Rows
    rows: Population


FEW_CLASSES = 20  # more of them need several rows each
FEWEST_OF_CLASS = 2
GROUP_ARGUMENTS = ("sensitive_features", "sensitive_attributes", "protected", "groups", "prot_attr")


# --- rows -----------------------------------------------------------------------------------------


def check_rows(estimator: Any, X: Rows, reset: bool = False) -> Any:
    """Check rows against those the estimator was fitted on; `reset` while it is fitted."""
    X = read_records(X, None if reset else estimator.encoding_)
    is_table = has_columns(X)
    if is_table and hasattr(X, "collect"):
        raise TypeError("X is a lazy table: collect it first, as in X.collect()")
    if reset and is_table:
        return validate_data(estimator, X, skip_check_array=True)
    if not reset and estimator.encoding_.from_frame:
        if not is_table:
            raise TypeError("the model was trained on a table with named columns: give a table")
        return X
    checks = {"accept_sparse": "csr", "ensure_all_finite": "allow-nan"}
    return validate_data(estimator, X, reset=reset, **checks)


def has_columns(X: Rows) -> bool:
    """Return whether rows are a table: a data frame, or what was read of dictionaries."""
    return is_frame(X) or hasattr(X, "columns")


def check_order(X: Rows, y: Any, columns: Columns) -> None:
    """Refuse tables with the same index in another order: rows are matched by position."""
    index: Any = getattr(X, "index", None)
    for name, part in (("y", y), ("columns", columns)):
        other: Any = getattr(part, "index", None)
        if not hasattr(index, "equals") or not hasattr(other, "equals"):
            continue
        if len(other) == len(index) and not other.equals(index) and other.isin(index).all():
            raise ValueError(
                f"{name} names the same rows as X in another order, and rows are matched by "
                f"position: give {name}.loc[X.index]"
            )


def read_labels(y: Any, rows: int) -> Any:
    """Return labels (n,) without gaps, of two classes or more."""
    values = y.to_numpy() if is_frame(y) else y
    labels = column_or_1d(as_array(values), warn=True)
    if len(labels) != rows:
        raise ValueError(f"X has {rows:,} rows, and y {len(labels):,}: give a label for each row")
    missing = sum(map(is_missing, labels.tolist())) if labels.dtype.kind in "Of" else 0
    if missing:
        raise ValueError(f"y has {missing:,} missing labels: leave out the rows without a label")
    try:
        classes = np.unique(labels)
    except TypeError:
        raise ValueError("y mixes texts and numbers: make all labels texts, or numbers") from None
    if len(classes) < 2:
        raise ValueError(
            f"y has only the class {classes.tolist()}: with one class there is nothing to decide"
        )
    is_many = len(classes) > max(FEW_CLASSES, rows / FEWEST_OF_CLASS)
    if is_many and labels.dtype.kind != "f":
        raise ValueError(
            f"y has {len(classes):,} different labels in {rows:,} rows: put numbers into bands"
        )
    check_classification_targets(labels)
    return labels


def read_clusters(clusters: Any, rows: Population) -> Any:
    """Return the number of every row's cluster, from ids (n,) or the name of their column."""
    ids = rows.encode(clusters) if isinstance(clusters, str) else encode_values(clusters)
    missing = int((ids.codes < 0).sum())
    if missing:
        raise ValueError(f"clusters has no id for {missing:,} rows: give an id for each")
    return ids.codes


def split_rows(rows: Any) -> tuple[Any, ...]:
    """Return table, labels, columns and weights of a population; all but the first may be missing."""
    parts = rows if isinstance(rows, tuple) else (rows,)
    return (*parts, None, None, None)[:4]


def read_population(
    X: Rows,
    y: Any,
    columns: Columns,
    weights: Any = None,
    **options: Any,
) -> Population:
    """Return rows with the columns that constraints may name: of the table, and those beside it."""
    rows = X.shape[0]
    if weights is not None:
        weights = np.asarray(weights, dtype=float)
        if weights.shape != (rows,):
            raise ValueError(
                f"sample_weight has the shape {weights.shape}: give a weight for each of {rows:,} rows"
            )
    named = read_columns(X) if has_columns(X) else {}
    named |= _read_columns_beside(columns, rows)
    features = X if isinstance(X, np.ndarray) else None
    return Population(features, y, named, weights, **options)


def _read_columns_beside(columns: Columns, rows: int) -> dict[Name, Any]:
    if not (columns is None or is_frame(columns) or isinstance(columns, Mapping)):
        raise TypeError(
            "columns= takes a data frame, or a mapping from names to values, "
            f"got {type(columns).__name__}"
        )
    read = read_columns(columns)
    for name, values in read.items():
        if values.shape == (rows,):
            continue
        raise ValueError(
            f"columns[{name!r}] has the shape {values.shape}, and X has {rows:,} rows. "
            "Cross-validation splits no dictionary: give columns= a data frame there"
        )
    return read


# --- problems -------------------------------------------------------------------------------------


def as_problem(objective: Objective, constraints: Constraints) -> Problem:
    if isinstance(objective, str) and objective.startswith(("minimize ", "maximize ")):
        objective = parse_problem(objective)
    if not isinstance(objective, Problem):
        return Problem(objective, constraints)
    both = [objective.constraints, constraints]
    goal: Any = {objective.sense: objective.objective}
    return Problem(subject_to=both, levels=objective.levels, **goal)


def check_populations(
    problem: Problem,
    names: Iterable[str],
    arguments: Iterable[str],
) -> None:
    """Refuse populations that no constraint names: they are slips, or misplaced columns."""
    text = str(problem)
    for name in names:
        if f'on="{name}"' in text:
            continue
        remedy = f"No constraint has on={name!r}{suggest_name(name, arguments)}"
        if name in GROUP_ARGUMENTS:
            remedy = "Give the columns that constraints name, as in columns={'sex': sex}"
        raise TypeError(f"{name}= is not an argument of fit. {remedy}")
