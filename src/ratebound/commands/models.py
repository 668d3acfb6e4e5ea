"""A saved model, and tables read as it expects them."""

from __future__ import annotations

from pathlib import Path

from ratebound.commands.rows import text_columns
from ratebound.commands.tables import Kind, Table, read_table
from ratebound.learners.encoding import Category, Code, Number
from ratebound.solution.files import load
from ratebound.solution.mixture import Mixture


def load_model(path: Path) -> Mixture:
    """A model that `ratebound train`, or an estimator fitted on a DataFrame, has saved."""
    model = load(path)
    if model.encoding is None or not model.encoding.from_frame:
        raise ValueError(f"{path} was trained on an array without column names: use it from Python")
    return model


def table_for(model: Mixture, path: Path, label: str | None = None) -> Table:
    """The table in a file, with every column the model sees and of the kind it was trained on."""
    assert model.encoding is not None
    known = {} if model.cells is None else model.cells.by_column
    kinds: dict[str, Kind] = {} if label is None else dict(text_columns(model.problem))
    for column in model.encoding.columns:
        if isinstance(column, Category | Code):
            kinds[str(column.name)] = "text"
        elif isinstance(column, Number) or model.encoding.style != "table":
            kinds[str(column.name)] = "number"
    for name, of_cells in known.items():
        kinds[name] = "text" if all(isinstance(value, str) for value in of_cells) else "number"
    if label is not None:
        kinds[label] = "text" if isinstance(model.classes[1], str) else "number"
    table = read_table(path, kinds)
    for column in model.encoding.columns:
        table.check(str(column.name), "feature")
    for name in known:
        table.check(name, "known")
    return table
