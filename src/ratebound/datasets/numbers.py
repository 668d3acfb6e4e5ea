"""CSVs of numbers, read by pyarrow where it is installed and else by NumPy, to the same bits."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO, StringIO
from typing import Any

import numpy as np

from ratebound.datasets.features import Block, Column


def numbers_of(text: str, kinds: Mapping[str, str]) -> tuple[Block, dict[str, Column]]:
    """The features of a CSV, in single precision, and the columns whose `kinds` are given.

    >>> (features, names), columns = numbers_of("slack,label\\n1.5,0\\n-2,1\\n", {"label": "?"})
    >>> features, names, columns
    (array([[ 1.5], [-2. ]], dtype=float32), ('slack',), {'label': array([False,  True])})
    """
    header = text[: text.index("\n")].split(",")
    table = (_by_pyarrow if find_spec("pyarrow") else by_numpy)(text, header, kinds)
    names = tuple(name for name in header if name not in kinds)
    features = np.empty((len(table[header[0]]), len(names)), dtype=np.float32)
    for place, name in enumerate(names):
        features[:, place] = table[name]
    return (features, names), {name: table[name] for name in header if name in kinds}


def by_numpy(text: str, header: list[str], kinds: Mapping[str, str]) -> Any:
    """The columns by name, in some ten times the time."""
    dtype = np.dtype([(name, kinds.get(name, "f4")) for name in header])
    return np.loadtxt(StringIO(text), dtype, delimiter=",", skiprows=1, comments=None, ndmin=1)


def _by_pyarrow(text: str, header: list[str], kinds: Mapping[str, str]) -> dict[str, Column]:
    arrow, csv = import_module("pyarrow"), import_module("pyarrow.csv")
    texts = {name for name, kind in kinds.items() if kind.startswith("U")}
    # Doubles are rounded as by `float`, and a second time to what is asked for, as NumPy does.
    types = {name: arrow.string() if name in texts else arrow.float64() for name in header}
    table = csv.read_csv(BytesIO(text.encode()), convert_options=csv.ConvertOptions(column_types=types))
    return {name: table[name].to_numpy().astype(kinds.get(name, "f4")) for name in header}
