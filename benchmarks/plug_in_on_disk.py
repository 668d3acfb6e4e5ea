"""The plug-in on rows on disk: seconds of the processor, peak memory, and error beside rows in memory.

The rows are those of `scale.py`, which writes them: 18 numbers, a category and a group. A classifier is
trained for its five promises with the default confidence of 0.9, in a process of its own, once on disk
with `memory` so small that not all features fit, and once in memory. Errors are of 200,000 other rows.

    python benchmarks/plug_in_on_disk.py                       # a million rows
    python benchmarks/plug_in_on_disk.py --rows 4_000_000 --models linear
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from _common import markdown
from scale import GROUP, NUMBERS, drawn, problem, write

import ratebound._old as rb

NEW = 200_000  # rows that errors and promises are judged on
MEMORY = 2**26  # bytes of features at a time


def fitted(paths: list[str], model: str, where: str) -> dict[str, Any]:
    """One fit, and what it took."""
    rows: Any = rb.Parquet(
        paths, label="label", features=NUMBERS, columns=["channel", "region"], memory=MEMORY
    )
    size = len(rows)
    if where == "memory":
        rows = rows.in_memory()
    started = time.process_time()
    own = rb.RateConstrainedClassifier(objective=problem(), model=model, random_state=0).fit(rows)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    table = drawn(NEW, np.random.default_rng(10**6))
    X, columns = (table.select(names).to_pandas() for names in (NUMBERS, ["channel", "region"]))
    report = own.audit(X, table["label"].to_numpy(), columns)
    error = float(np.mean(own.predict(X) != table["label"].to_numpy()))
    return {
        "model, where": f"{model}, {where}",
        "rows": f"{size:,}",
        "CPU seconds": f"{seconds:.0f}",
        "peak memory, GB": f"{peak:.2f}",
        "error on new rows": f"{error:.4f}",
        "promises kept there": f"{sum(each.kept for each in report.promises)} of {len(report.promises)}",
        "claimed": f"{own.status_.confidence:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--models", nargs="+", default=["linear", "lightgbm"])
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as other:
        folder = asked.folder or Path(other)
        if asked.one is not None:
            paths = sorted(map(str, folder.glob("*.parquet")))
            print(json.dumps(fitted(paths, *asked.one)))
            return
        write(folder, -(-asked.rows // GROUP) * GROUP)
        lines = []
        for model in asked.models:
            for where in ("disk", "memory"):
                call = [sys.executable, __file__, "--folder", str(folder), "--one", model, where]
                told = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout
                lines.append(json.loads(told.splitlines()[-1]))
                print(lines[-1], file=sys.stderr, flush=True)
        print(markdown(list(lines[0]), [list(line.values()) for line in lines]))


if __name__ == "__main__":
    main()
