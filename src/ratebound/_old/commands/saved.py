"""A saved model, and tables read as it expects them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.commands.promises import compared_columns
from ratebound._old.commands.rows import read_noted
from ratebound._old.commands.runs import Use
from ratebound._old.estimators.policy import Policy, load
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.kinds import label_classes
from ratebound._old.solution.mixture import Mixture
from ratebound._old.tables.columns import Category, Code
from ratebound._old.tables.records import as_read
from ratebound._old.tables.table import Table
from ratebound._old.tables.texts import Reading


def load_model(use: Use) -> Policy:
    """A model that `ratebound train`, or an estimator fitted on a DataFrame, has saved.

    It may be built of `trusted` types besides the types that are always trusted.
    """
    path, trusted = use.model, use.trusted
    assert path is not None
    if use.require or use.positive is not None:
        flag = "--require" if use.require else "--positive"
        raise ValueError(
            f"{flag} goes with --decision: a saved model has the promises and the labels that it was "
            "trained with"
        )
    return load_for_tables(path, trusted)


def load_for_tables(path: Path, trusted: Sequence[str]) -> Policy:
    """A model that finds the columns of a table by their names."""
    model = load(path, trusted=trusted)
    if model.encoding is None or not model.encoding.from_frame:
        raise ValueError(f"{path} was trained on an array without column names: use it from Python")
    return model


def rows_for(model: Mixture, table: Table) -> Any:
    """The table in the form that the model reads."""
    assert model.encoding is not None
    return as_read(model.encoding, table)


def table_for(
    model: Mixture,
    paths: Sequence[str],
    reading: Reading,
    label: str | None = None,
    *,
    key: str | None = None,
    promises: bool = False,
    problem: Problem | None = None,
) -> Table:
    """The table in files, with columns of the kinds that the model was trained on.

    Columns that only promises use are read as the promises write their values, as with a label; the
    promises are `problem`'s, or the model's own. A `key` is read unchanged, since 1e3 and 1000 are two
    ids.
    """
    assert model.encoding is not None
    known = model.decider.known
    compared = compared_columns(problem or model.problem) if promises or label else {}
    kinds = dict(compared)
    for column in model.encoding.columns:
        if model.encoding.style != "table":
            texts = isinstance(column, Category | Code) or column.read_as != "number"
            if not texts or compared.get(str(column.name)) != "number":  # a code may be either
                kinds[str(column.name)] = "text" if texts else "number"
    for name, known_values in known.items():
        if all(isinstance(value, str | None) for value in known_values):
            kinds[name] = "text"
        elif not any(isinstance(value, bool) for value in known_values):
            kinds[name] = "number"
    if label is not None:
        kinds[label] = "text" if isinstance(model.classes[1], str) else "number"
    if key is not None:
        kinds.setdefault(key, "text")
    table = read_noted(paths, kinds, reading)
    for name in known:
        table.check(name, "known")
    return table


def truths(model: Mixture, table: Table) -> dict[str, Array]:
    """The known columns of truth values, which a CSV spells True and False or like the labels."""
    said: dict[Any, bool] = {"False": False, "True": True}
    labels = label_classes(model.classes)
    if len(labels) == 2:
        said |= dict(zip(labels, (False, True), strict=True))
    known = model.decider.known
    return {
        name: np.array([said.get(value, value) for value in table[name].tolist()], dtype=object)
        for name, known_values in known.items()
        if any(isinstance(value, bool) for value in known_values)
    }
