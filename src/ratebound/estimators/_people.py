"""People's tables and labels as populations, and the checks that training and auditing share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.frames import as_array, frame_columns, some, unmasked
from ratebound.problem.population import Population, columns_by_name


def labelled(X: Any, labels: Array, columns: Any, weights: Any, classes: tuple[Any, Any]) -> Population:
    """Rows whose `labels` (n,) are yes or no, with what constraints may speak of.

    Labels go by their names, so that an existing model's decisions may be spelled as they are.
    """
    spoken_of = columns_by_name(X if frame_columns(X) else None) | columns_by_name(columns)
    no, yes = classes
    named = np.where(labels, yes, no)
    return Population(X, named, columns=spoken_of, weights=unmasked(weights), positive=yes)


def trained_labels(y: Any, classes: tuple[Any, Any]) -> Array:
    """Which labels are yes, (n,), where they are those that were trained on."""
    labels = as_array(unmasked(y))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}, expected one label for each row")
    no, yes = classes
    is_yes = np.asarray(labels == yes, dtype=bool)
    strange = ~(is_yes | np.asarray(labels == no, dtype=bool))
    if strange.any():
        found = some(list(dict.fromkeys(labels[strange].tolist())))
        raise ValueError(f"y holds labels that were not trained on: {found}")
    return is_yes


def check_others(others: Mapping[str, Population], yes: Any) -> None:
    """Raise unless all are populations in which the same label is yes."""
    yes = np.asarray(yes).item()
    for name, other in others.items():
        if not isinstance(other, Population):
            raise TypeError(f"{name} must be a rb.Population, got {type(other).__name__}")
        if other.yes is not None and other.yes != yes:
            raise ValueError(
                f"{name} takes {other.yes!r} for yes, and the labels y {yes!r}: make it "
                f"rb.Population(..., positive={yes!r})"
            )
