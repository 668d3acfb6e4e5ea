"""A batch of a stream: decisions, labels and columns, read as a population is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.certifying._draws import Batch
from ratebound.problem.frames import as_array, columns_by_name, distinct, is_missing, length, some
from ratebound.problem.masks import masker
from ratebound.problem.population import Population
from ratebound.rates.kinds import TWO, Classes


def read_batch(
    decisions: Any,
    labels: Any,
    columns: Any,
    classes: Classes,
    positive: Any,
    existing: Iterable[str],
) -> Batch:
    """The rows of a batch; columns named in `existing` are decisions too.

    >>> batch = read_batch(["no", "yes"], None, {"sex": ["Female", "Male"]}, (False, True), "yes", ())
    >>> batch.said(None)
    array([False,  True])
    """
    several = len(classes) > 2

    def read(values: Any, what: str) -> Array:
        return as_classes(values, classes, what) if several else as_yes(values, positive, what)

    decided = read(decisions, "decisions")
    named = columns_by_name(columns)
    for name in existing:
        if name in named:
            named[name] = read(named[name], f"column {name!r}")
    for what, part in {"labels": labels, **{f"column {n!r}": v for n, v in named.items()}}.items():
        if part is not None and length(part, what) != len(decided):
            raise ValueError(
                f"{what} has {length(part, what):,} rows, and there are {len(decided):,} decisions"
            )
    truth = None if labels is None else read(labels, "labels")
    how: dict[str, Any] = {"classes": classes} if several else {}
    rows = Population(np.zeros((len(decided), 1)), truth, columns=named, **how)
    return Batch(
        len(decided),
        masker(rows, absent=True),
        (lambda of: np.asarray(decided == of)) if several else (lambda _: decided),
    )


def as_classes(values: Any, classes: Classes, what: str) -> Array:
    """Values, each of which must be one of several classes."""
    read = _one_each(values, what)
    if strange := [value for value in distinct(read, None) if value not in classes]:
        raise ValueError(f"{what} holds {some(strange)}, and the classes are {some(list(classes))}")
    return read


def _one_each(values: Any, what: str) -> Array:
    """Values (n,), none of them missing."""
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
    return read


def as_yes(values: Any, positive: Any, what: str) -> Array:
    """Which of two-valued `values` are `positive`; if that is not said, True or 1 is yes.

    Decisions may be truth values, or 0 and 1, though labels are words; then True and 1 are yes.

    >>> as_yes([True, False], False, "decisions"), as_yes([1, 0], ">50K", "decisions")
    (array([False,  True]), array([ True, False]))
    """
    read = _one_each(values, what)
    found = distinct(read)
    if read.dtype == bool or all(isinstance(value, bool) for value in found):
        read = read.astype(bool)
        return ~read if positive in TWO and not positive else read
    if isinstance(positive, str) and set(found) <= {0, 1}:
        positive = int(positive) if positive in ("0", "1") else 1
    if positive is not None:
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
