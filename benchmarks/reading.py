"""How long a CSV takes to read, beside `pandas.read_csv`."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ratebound.tables.table import read_table


def written(path: Path, rows: int, quoted: bool) -> None:
    """A table of ten columns of fractions, six of whole numbers and four of texts."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=rows).round(4) for i in range(10)}
    columns |= {f"k{i}": rng.integers(0, 1000, rows) for i in range(6)}
    columns |= {f"c{i}": rng.choice(["alpha", "beta", "gamma delta", ""], rows) for i in range(4)}
    pd.DataFrame(columns).to_csv(path, index=False, quoting=2 if quoted else 0)


def seconds(read: Callable[[Path], object], path: Path) -> float:
    """The best of three."""
    found = []
    for _ in range(3):
        start = time.perf_counter()
        read(path)
        found.append(time.perf_counter() - start)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for quoted in (False, True):
            path = Path(folder) / "table.csv"
            written(path, given.rows, quoted)
            ours, theirs = seconds(read_table, path), seconds(pd.read_csv, path)
            kind = "texts in quotes" if quoted else "without quotes"
            print(
                f"{given.rows:,} rows of 20 columns, {kind}: {ours:.2f} s, pandas {theirs:.2f} s, "
                f"{ours / theirs:.1f} times as long"
            )


if __name__ == "__main__":
    main()
