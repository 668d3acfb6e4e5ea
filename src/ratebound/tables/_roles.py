"""The roles of columns on disk: which are features, and what labels and weights say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ratebound.base.checks import nearest
from ratebound.base.processes import gathered
from ratebound.base.progress import bar
from ratebound.base.types import Array
from ratebound.problem.frames import as_array, some
from ratebound.problem.labels import Labels, label_values, labels_of
from ratebound.problem.population import read_weights
from ratebound.tables._row_groups import RowGroups

MANY = 100_000  # labels, more than anyone decides between
CODES = np.int16  # of labels that are more than two


def chosen(
    groups: RowGroups,
    label: str | None,
    weight: str | None,
    features: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """The columns that are features, and those that constraints alone speak of."""
    for role, names in (("features", features), ("columns", columns)):
        if isinstance(names, str):
            raise TypeError(f"{role} takes a list of columns, as in [{names!r}]")
    roles = {"label": [label], "weight": [weight], "features": features or (), "columns": columns or ()}
    for role, given in roles.items():
        for name in given:
            if name is not None and name not in groups.names:
                raise ValueError(
                    f"{groups.name} has no column {name!r}, given as {role}"
                    f"{nearest(str(name), groups.names)} It has {some(groups.names)}"
                )
    hidden = {label, weight}
    for name in features or ():
        if name in hidden:
            raise ValueError(f"column {name!r} cannot be a feature, it is the label or the weight")
    others = [name for name in groups.names if name not in hidden]
    if features is None:
        features = [name for name in others if name not in (columns or ())]
    if columns is None:
        columns = [name for name in others if name not in features]
    return list(features), list(columns)


def read_label(
    groups: RowGroups, label: str, positive: Any, classes: Sequence[Any] | None, drop: bool
) -> tuple[Labels, Array, Array | None]:
    """Which labels there are, and what they say: whether yes, or of several classes the place.

    And which rows have one, if those without are to be dropped and there are any.
    """
    places: dict[Any, int] = {}
    parts = []
    with bar(int(groups.rows.sum()), "row") as shown:
        for unit in range(len(groups.units)):
            parts.append(_coded(groups.read(unit, [label])[label].combine_chunks(), places))
            shown.update(len(parts[-1]))
            if len(places) > MANY:
                break
    codes = np.concatenate(parts)
    labelled = codes >= 0
    if not drop and not labelled.all():
        raise ValueError(
            f"label column {label!r} of {groups.name} has missing labels in {int((~labelled).sum()):,} "
            "rows: leave those out, drop_unlabelled=True, or give them as a population of their own"
        )
    if not labelled.any():
        raise ValueError(f"label column {label!r} of {groups.name} has no value in any row")
    values = list(dict.fromkeys([value for part in gathered(list(places)) for value in part]))
    try:
        different = label_values(values)
        labels = labels_of(different, positive, classes)
        meaning = labels.places(different, "y")
    except ValueError as error:
        raise ValueError(f"label column {label!r} of {groups.name}: {error}") from None
    own = meaning[[values.index(value) for value in places]]
    own = own if own.dtype == bool else own.astype(CODES)
    return (labels, own[codes], None) if labelled.all() else (labels, own[codes[labelled]], labelled)


def _coded(column: Any, places: dict[Any, int]) -> Array:
    """The places (n,) of a column's values among all, which grow with it; -1 where there is none."""
    coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    own = [
        -1 if value is None or value != value else places.setdefault(value, len(places))
        for value in coded.dictionary.to_pylist()
    ]
    kind = np.result_type(np.int8, np.min_scalar_type(-len(places) - 1))
    found: Array = np.array([*own, -1], dtype=kind)[
        coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    ]
    return found


def read_weight(groups: RowGroups, weight: str, mask: Array | None) -> Array:
    """The weights of the rows that count, or of all."""
    parts = [as_array(groups.read(unit, [weight])[weight]) for unit in range(len(groups.units))]
    found = np.concatenate(parts)
    try:
        return read_weights(found if mask is None else found[mask])
    except ValueError as error:
        raise ValueError(f"weight column {weight!r} of {groups.name}: {error}") from None
