"""A batch of a stream: decisions, labels and columns, read as a population is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.frames import as_array, distinct, is_missing, length, some
from ratebound.problem.population import Population, columns_by_name


def read_batch(
    decisions: Any, labels: Any, columns: Any, positive: Any, existing: Iterable[str]
) -> tuple[Array, Population]:
    """Where the decision is yes (n,), and the rows; columns named in `existing` are decisions too.

    >>> yes, rows = read_batch(["no", "yes"], None, {"sex": ["Female", "Male"]}, "yes", ())
    >>> yes, len(rows)
    (array([False,  True]), 2)
    """
    yes = as_yes(decisions, positive, "decisions")
    named = columns_by_name(columns)
    for name in existing:
        if name in named:
            named[name] = as_yes(named[name], positive, f"column {name!r}")
    for what, part in {"labels": labels, **{f"column {n!r}": v for n, v in named.items()}}.items():
        if part is not None and length(part, what) != len(yes):
            raise ValueError(
                f"{what} has {length(part, what):,} rows, and there are {len(yes):,} decisions"
            )
    truth = None if labels is None else as_yes(labels, positive, "labels")
    return yes, Population(yes[:, None], truth, columns=named)


def as_yes(values: Any, positive: Any, what: str) -> Array:
    """Which of two-valued `values` are yes: `positive`, or True, or 1 of 0 and 1 or of -1 and 1."""
    length(values, what)
    read = as_array(values)
    if read.ndim == 2 and read.shape[1] == 1:
        read = read[:, 0]
    if read.ndim != 1:
        raise ValueError(f"{what} takes one value for each row, got an array of shape {read.shape}")
    if is_missing(read).any():
        raise ValueError(
            f"{what} has {int(is_missing(read).sum()):,} missing values: leave those rows out until "
            "they are known"
        )
    found = distinct(read)
    if read.dtype == bool or all(isinstance(value, bool) for value in found):
        return read.astype(bool)
    if positive is not None and not (isinstance(positive, str) and set(found) <= {0, 1}):
        if len(set(found) - {positive}) > 1:
            raise ValueError(
                f"{what} needs two values, one of them {positive!r}; it holds {some(found)}"
            )
        return np.asarray(read == positive, dtype=bool)
    if set(found) <= {0, 1} or set(found) <= {-1, 1}:
        return np.asarray(read == 1)
    raise ValueError(
        f"{what} holds {some(found)}, where yes or no is expected: 1 or 0, or two words of which "
        "Monitor(..., positive=...) says which is yes. Instead of probabilities, pass the decisions"
    )
