"""The files of data sets: gzipped CSVs, in the package or in a folder that the user names.

Files in a folder are recognised by the SHA-256 of the CSV inside, whoever compressed it: it would be
pointless to compare published numbers with a truncated or changed file's. pyarrow reads CSVs of numbers
if it is installed, and otherwise NumPy does, to the same bits.
"""

import csv
import gzip
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module, resources
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._old.datasets.features import Block, Column


@dataclass(frozen=True)
class DataFile:
    """A file that is not part of the package, and what is known of it."""

    name: str
    holds: str  # the data set, in words
    sha256: str  # of the CSV inside
    # How to get it.
    remedy: str = (
        "Name the folder that holds it; its card, ratebound/_old/datasets/data/README.md, says what is "
        "in it and where that comes from."
    )

    def read(self, folder: str | Path) -> str:
        """The CSV inside the file of this name in `folder`, checked to be the one that is meant."""
        path = Path(folder) / self.name
        if not path.is_file():
            lacking = f"file {path}" if path.parent.is_dir() else f"folder {path.parent}"
            raise FileNotFoundError(
                f"there is no {lacking}. {self.name} holds {self.holds}, and does not ship with "
                f"ratebound. {self.remedy}"
            )
        packed = path.read_bytes()
        try:
            content = gzip.decompress(packed)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{path} is cut or is not a gzip file ({error}). {self.remedy}") from None
        self.check(content, str(path))
        return content.decode("ascii")

    def check(self, content: bytes, where: str) -> None:
        """Raise unless `content`, found at `where`, is the CSV that is meant."""
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise ValueError(
                f"{where} does not hold {self.holds}, as it was: its content has SHA-256 {digest}, "
                f"expected {self.sha256}. {self.remedy}"
            )


def embedded(name: str) -> str:
    """The CSV inside a file of the package."""
    file = resources.files("ratebound._old.datasets") / "data" / name
    return gzip.decompress(file.read_bytes()).decode("ascii")


def columns_of(text: str) -> dict[str, Column]:
    """The columns of a CSV: of whole numbers, of real ones with NaN for empty cells, else of texts.

    >>> columns_of("age,sex,days\\n39,Male,\\n")
    {'age': array([39]), 'sex': array(['Male'], dtype='<U4'), 'days': array([nan])}
    """
    header, *rows = csv.reader(text.splitlines())
    return dict(zip(header, map(_column, zip(*rows, strict=True)), strict=True))


def _column(cells: Sequence[str]) -> Column:
    for number in (int, lambda cell: float(cell or "nan")):
        with suppress(ValueError):
            return np.array([number(cell) for cell in cells])
    return np.array(cells)


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
