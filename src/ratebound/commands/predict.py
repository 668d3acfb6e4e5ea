"""``ratebound predict``: a saved model's decisions on new rows, the same ones every time."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.commands.models import load_model, table_for, truths
from ratebound.commands.tables import Table
from ratebound.commands.writing import check_file
from ratebound.solution.mixture import Mixture
from ratebound.solution.writing import write_whole

Array = NDArray[Any]
WHOLE = re.compile(r"-?[0-9]+")


def predict(
    model: Path, data: Path, key: str | None = None, out: Path | None = None, probability: bool = False
) -> int:
    """Write a decision for each row, in order, to a file or to the standard output."""
    if out is not None:
        check_file(out, "--out")
    mixture = load_model(model)
    table = table_for(mixture, data)
    columns = [] if key is None else [(key, table.column(key, "key").tolist())]
    columns.append(("prediction", decisions(mixture, table, key).tolist()))
    if probability:
        shares = mixture.yes_probability(table, columns=truths(mixture, table))
        columns.append(("probability", [f"{share:.6g}" for share in shares]))
    text = _as_csv(columns)
    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(out, text.encode())
    return 0


def decisions(mixture: Mixture, table: Table, key: str | None = None) -> Array:
    """The decision on each row (n,), which depends on that row alone.

    Whether a column of ids holds numbers or texts depends on all of its rows; so each id is taken by
    itself, as a number where it is one.
    """
    known = truths(mixture, table)
    if key is None:
        return mixture.predict(table, columns=known)
    ids = table.column(key, "key")
    if ids.dtype.kind != "O":
        return mixture.predict(table, columns=known, key=ids)
    whole = np.array([WHOLE.fullmatch(str(value)) is not None for value in ids])
    found = np.empty(len(table), dtype=object)
    for chosen, kind in ((whole, int), (~whole, str)):
        if chosen.any():
            own = np.array([kind(value) for value in ids[chosen]], dtype=object)
            these = {name: values[chosen] for name, values in known.items()}
            found[chosen] = mixture.predict(table[chosen], columns=these, key=own)
    return found


def _as_csv(columns: list[tuple[str, list[Any]]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(name for name, _ in columns)
    writer.writerows(zip(*(values for _, values in columns), strict=True))
    return text.getvalue()
