"""How long a CSV takes to read: by pyarrow, by Python's csv module, and by pandas.

Each way runs in a process of its own, which also tells how much memory it took at most. The last lines
are of converting the same file to Parquet, which takes as much memory whatever the size of the file.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from _common import machine, markdown, options, tell

from ratebound._old.tables import texts
from ratebound._old.tables.converting import converted
from ratebound._old.tables.table import read_table

KINDS = {
    "without quotes": "alpha",
    "texts in quotes": '"alpha"',
    "separators in quotes": '"alpha, ""one"""',
}


def written(path: Path, rows: int, columns: int, spelled: str) -> None:
    """A table of which half the columns are fractions, three tenths whole numbers and a fifth texts."""
    rng = np.random.default_rng(0)
    fractions, wholes = columns // 2, 3 * columns // 10
    words = [spelled, "beta", "gamma delta", ""]
    names = [f"c{place}" for place in range(columns)]
    path.write_text(",".join(names) + "\n")
    for start in range(0, rows, 50_000):
        size = min(50_000, rows - start)
        cells = [rng.normal(size=size).round(4).astype(str) for _ in range(fractions)]
        cells += [rng.integers(0, 1000, size).astype(str) for _ in range(wholes)]
        cells += [rng.choice(words, size) for _ in range(columns - fractions - wholes)]
        with open(path, "a") as file:
            file.writelines(",".join(row) + "\n" for row in zip(*cells, strict=True))


def by_pyarrow(path: Path) -> None:
    read_table(path)


def by_csv(path: Path) -> None:
    texts.SMALL_TEXT = 1 << 60  # bytes up to which the csv module reads
    read_table(path)


def by_pandas(path: Path) -> None:
    pd.read_csv(path)


def converting(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        converted(path, into=folder)


WAYS = {
    "pyarrow": by_pyarrow,
    "the csv module": by_csv,
    "pandas": by_pandas,
    "converting": converting,
}


def measured(read: Callable[[Path], None], path: Path) -> tuple[float, float, float]:
    """Seconds and seconds of processors, the best of two, and gigabytes at most."""
    walls, processors = [], []
    for _ in range(2):
        start, at_work = time.perf_counter(), time.process_time()
        read(path)
        walls.append(time.perf_counter() - start)
        processors.append(time.process_time() - at_work)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return min(walls), min(processors), most


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=50)
    given = parser.parse_args()
    print(f"{given.rows:,} rows of {given.columns} columns; {machine()}\n")
    lines, cells = [], {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for kind, spelled in KINDS.items():
            written(path, given.rows, given.columns, spelled)
            times_of = {}
            for way, read in WAYS.items():
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    times_of[way] = pool.apply(measured, (read, path))
            for way, (wall, processor, most) in times_of.items():
                cells[f"{kind}: {way}"] = wall
                ratio = wall / times_of["pyarrow"][0]
                size = path.stat().st_size / 1e6
                times = [f"{wall:.2f}", f"{processor:.2f}", f"{ratio:.1f}", f"{most:.2f}"]
                lines.append([kind, f"{size:.0f}", way, *times])
    print(markdown(["text", "MB", "way", "s", "s of CPU", "× pyarrow's", "GB at most"], lines))
    tell(cells, [], given.json)


if __name__ == "__main__":
    main()
