"""Rows on disk: rows per second and peak memory, beside memory, scikit-learn and the reader alone.

Rows of 20 columns (18 numbers, a category and a group, one of which is rare) are written to Parquet
files in row groups of 131,072, with labels drawn from a logistic model. Then each way of training runs
in a process of its own: `rb.compile` of four recalls by group and a cap on one category, one epoch of
`rb.play`, which ends with the exact rates of what it kept, and `rb.audit`. What is in memory is trained
on the rows of the first file; what is on disk on those, for the ratio, and on all rows.

    python benchmarks/scale.py                                  # 4 million rows
    python benchmarks/scale.py --rows 50_000_000 --folder rows  # the rows stay there
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _common import machine, markdown, options, tell, warm_up

import ratebound._old as rb

GROUP = 2**17  # rows in a row group
FILE = 16 * GROUP  # rows in a file
NUMBERS = [f"x{i}" for i in range(18)]
CHANNELS = ["branch", "partner", "phone", "post", "shop", "web"]
REGIONS, SHARES = ["islands", "north", "south", "west"], [0.004, 0.396, 0.35, 0.25]
BATCH, MEMORY = 1024, 2**30


def drawn(rows: int, random: np.random.Generator) -> pa.Table:
    """Some rows: regions differ in their numbers, and labels follow a logistic model."""
    region = random.choice(len(REGIONS), rows, p=SHARES).astype(np.int8)
    channel = random.integers(0, len(CHANNELS), rows, dtype=np.int8)
    X = random.standard_normal((rows, len(NUMBERS)), dtype=np.float32)
    X[:, 0] -= 0.3 * region
    odds = X[:, :6] @ np.float32([1.0, 0.8, -0.6, 0.5, -0.4, 0.3]) + 0.2 * region - 0.5
    label = random.random(rows, dtype=np.float32) < 1 / (1 + np.exp(-odds))
    columns = dict(zip(NUMBERS, X.T.copy(), strict=True))
    texts = {"channel": (channel, CHANNELS), "region": (region, REGIONS)}
    coded = {
        name: pa.DictionaryArray.from_arrays(codes, values) for name, (codes, values) in texts.items()
    }
    return pa.table(columns | coded | {"label": label})


def write(folder: Path, rows: int) -> None:
    """The files; existing files are not written again."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, FILE)):
        path, part = folder / f"rows-{number:04}.parquet", folder / "part"
        if path.exists():
            continue
        random, left = np.random.default_rng(number), min(FILE, rows - start)
        schema, texts = drawn(1, random).schema, ["channel", "region"]  # numbers have no dictionary
        with pq.ParquetWriter(part, schema, use_dictionary=texts) as writer:
            for begun in range(0, left, GROUP):
                writer.write_table(drawn(min(GROUP, left - begun), random), row_group_size=GROUP)
        part.rename(path)


# --- what is measured, each in a process of its own ---------------------------------------------------


class Clock:
    """Seconds that pass in a `with`, and those of the processor, of all threads together."""

    def __enter__(self) -> Clock:
        self.seconds, self.processor = -time.perf_counter(), -time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter()
        self.processor += time.process_time()


def problem() -> rb.Problem:
    recalls = [rb.recall(region=name) >= 0.95 * rb.recall() for name in REGIONS]
    return rb.Problem(rb.error_rate(), [*recalls, rb.positive_rate(channel="partner") <= 0.4])


def batches(paths: list[str], columns: list[str]) -> Iterator[pa.Table]:
    for path in paths:
        file = pq.ParquetFile(path)
        for number in range(file.num_row_groups):
            yield file.read_row_group(number, columns=columns, use_threads=False)


def matrix(table: pa.Table) -> np.ndarray:
    return np.column_stack([table[name].to_numpy() for name in NUMBERS])


def reader(paths: list[str]) -> dict[str, Any]:
    """The columns as a matrix, and nothing done with it: the floor."""
    with Clock() as clock:
        rows = sum(len(matrix(table)) for table in batches(paths, [*NUMBERS, "label"]))
    return {"rows": rows, "train": clock.seconds, "processor": clock.processor}


def sgd(paths: list[str]) -> dict[str, Any]:
    """`SGDClassifier.partial_fit`, one pass without any promise."""
    from sklearn.linear_model import SGDClassifier

    model, rows = SGDClassifier(loss="log_loss"), 0
    with Clock() as clock:
        for table in batches(paths, [*NUMBERS, "label"]):
            model.partial_fit(matrix(table), table["label"].to_numpy(), classes=[False, True])
            rows += len(table)
    return {"rows": rows, "train": clock.seconds, "processor": clock.processor}


def on_disk(paths: list[str], learner: rb.Learner) -> dict[str, Any]:
    """Windows of about four million rows are in memory at a time, or of a million if there is one
    file."""
    memory = MEMORY if len(paths) > 1 else MEMORY // 4
    what: dict[str, Any] = {"features": NUMBERS, "columns": ["channel", "region"], "memory": memory}
    return trained(lambda: rb.Parquet(paths, label="label", **what), learner)


def in_memory(paths: list[str], learner: rb.Learner) -> dict[str, Any]:
    def read() -> rb.Population:
        tables = list(batches(paths, [*NUMBERS, "channel", "region", "label"]))
        X = np.concatenate([matrix(table) for table in tables])
        others = pa.concat_tables(table.select(["channel", "region", "label"]) for table in tables)
        columns = {name: others[name].to_pandas() for name in ("channel", "region")}
        return rb.Population(X, others["label"].to_numpy(), columns=columns)

    return trained(read, learner)


def trained(read: Callable[[], rb.Population], learner: rb.Learner) -> dict[str, Any]:
    """Seconds for each step, and what came out."""
    warm_up()
    few = rb.Population(np.eye(8, dtype=np.float32), [0, 1] * 4)
    rb.play(rb.compile(rb.Problem("error_rate()"), few), learner, rounds=1)
    with Clock() as opening:
        people = read()
    with Clock() as compiling:
        compiled = rb.compile(problem(), people)
    keep = rb.Keep(every=max(1, len(people) // BATCH // 10))
    with Clock() as training:
        trace = rb.play(compiled, learner, epochs=1, batch_size=BATCH, keep=keep)
    with Clock() as auditing:
        report = rb.audit(problem(), rb.shrink(trace), people)
    return {
        "rows": len(people),
        "open": opening.seconds,
        "compile": compiling.seconds,
        "train": training.seconds,
        "processor": training.processor,
        "audit": auditing.seconds,
        "error": report.objective.value,
        "kept": sum(promise.kept for promise in report.promises),
    }


WAYS: dict[str, Callable[[list[str]], dict[str, Any]]] = {
    "reading alone": reader,
    "SGDClassifier.partial_fit": sgd,
    "linear, in memory": lambda paths: in_memory(paths, rb.Linear(0.01)),
    "linear, on disk": lambda paths: on_disk(paths, rb.Linear(0.01)),
    "MLP, in memory": lambda paths: in_memory(paths, rb.MLP((32,), learning_rate=0.003)),
    "MLP, on disk": lambda paths: on_disk(paths, rb.MLP((32,), learning_rate=0.003)),
}


def alone(way: str, paths: list[str]) -> None:
    """What a process of its own prints: the measurements, and the most memory it held."""
    import resource

    found = WAYS[way](paths)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({**found, "peak": peak}))


def measured(way: str, paths: list[str]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--way", way, *paths]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def line(way: str, found: dict[str, Any]) -> list[str]:
    def cell(name: str, form: str) -> str:
        return f"{found[name]:{form}}" if name in found else ""

    return [
        way,
        f"{found['rows'] / 1e6:.1f}",
        *(cell(name, ".1f") for name in ("open", "compile", "train", "processor", "audit")),
        f"{found['rows'] / found['processor'] / 1e6:.2f}",
        f"{found['peak'] / 1e9:.2f}",
        cell("error", ".4f"),
        cell("kept", "d"),
    ]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--folder", type=Path, help="where the rows are written, and stay")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS), metavar="WAY")
    parser.add_argument("--write", action="store_true", help="write the rows and train nothing")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("paths", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        alone(given.way, given.paths)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        write(folder, given.rows)
        if given.write:
            return
        paths = sorted(map(str, folder.glob("rows-*.parquet")))[: -(-given.rows // FILE)]
        found, cells = [], {}
        for files in dict.fromkeys([1, len(paths)]):
            for way in given.ways:
                if files == 1 or not way.endswith("in memory"):
                    each = measured(way, paths[:files])
                    found.append(line(way, each))
                    cells[f"{way}, {files} files"] = each["processor"]
                    print(" ".join(found[-1]), file=sys.stderr)
    steps = ["open, s", "compile, s", "train, s", "(processor, s)", "audit, s"]
    speed = "million rows trained on per processor second"
    head = ["", "rows, million", *steps, speed, "peak, GB", "error", "promises kept"]
    print(f"{machine()}; one epoch in batches of {BATCH:,}\n\n{markdown(head, found)}")
    tell(cells, [], given.json)


if __name__ == "__main__":
    main()
