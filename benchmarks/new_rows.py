"""Constraints on new rows: error, whether all of them hold, what was claimed, and seconds.

Five tables play populations: a model is trained on a sample of each, and the truth is what it does
on other rows. `stock` is the model's own library without constraints. `--beside` names the folder
`src` of another version, which is fitted to the same samples in the same run, such as the one before
the room `learning/`. Each fit has a process of its own; seconds are of the processor.

    git worktree add build/old 8a7372f1
    python benchmarks/new_rows.py --splits 10 --jobs 16 --beside build/old/src
    python benchmarks/new_rows.py --tables acs --models lightgbm --confidence none
"""

import argparse
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import joblib
import numpy as np
import pandas as pd
from _common import machine, markdown
from _learning_tables import REGIMES, TABLES, load

HERE = Path(__file__).resolve().parent
SRC = HERE.parent / "src"
DEFAULT_TABLES = ("adult", "bank", "compas", "synthetic", "acs")
HEADER = ["way", "error", "than before", "kept", "claimed", "worst", "CPU s", "stock fits"]


def measure(
    name: str,
    model: str,
    confidence: float | None,
    seed: int,
    way: str,
    src: Path,
) -> dict[str, Any]:
    """Return what one fit reaches on new rows."""
    train, others = load(name).split(seed)
    task = {
        "way": way,
        "model": model,
        "confidence": confidence,
        "constraints": train.constraints,
        "X": train.X,
        "y": train.y,
        "columns": train.columns,
        "new_X": others.X,
    }
    environment = os.environ | {"PYTHONPATH": str(src)}
    with TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("task", "result")]
        joblib.dump(task, files[0])
        command = [sys.executable, str(HERE / "_fit.py"), *files]
        subprocess.run(command, check=True, env=environment)
        result = joblib.load(files[1])
    error, worst = others.judge(result.pop("decisions"))
    key = {"table": name, "model": model, "confidence": str(confidence), "seed": seed, "way": way}
    return key | result | {"error": error, "worst": worst, "kept": worst <= 1e-9}


def format_mean(values: Any, form: str = ".4f") -> str:
    """Return a mean and its standard error."""
    error = values.std() / np.sqrt(len(values))
    return f"{values.mean():{form}} ± {error:.4f}"


def list_rows(results: pd.DataFrame) -> list[list[str]]:
    """Return a row for every table, model, confidence and way."""
    rows = []
    keys = ["table", "model", "confidence"]
    for key, of_problem in results.groupby(keys, sort=False):
        by_way = {way: part.set_index("seed") for way, part in of_problem.groupby("way", sort=False)}
        for way, part in by_way.items():
            difference = ""
            if way == "new" and "before" in by_way:
                difference = format_mean(part.error - by_way["before"].error, "+.4f")
            claimed = part.claim.astype(float).mean()
            fits = part.seconds / by_way["stock"].seconds
            rows.append(
                [
                    f"{', '.join(key)}, {way}",
                    format_mean(part.error),
                    difference,
                    f"{part.kept.sum()} of {len(part)}",
                    "" if np.isnan(claimed) else f"{claimed:.2f}",
                    f"{part.worst.mean():+.4f}",
                    f"{part.seconds.median():.2f}",
                    f"{fits.median():.1f}",
                ]
            )
    return rows


def read_confidence(text: str) -> float | None:
    return None if text == "none" else float(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choices = [*TABLES, *REGIMES]
    parser.add_argument("--tables", nargs="+", default=DEFAULT_TABLES, choices=choices)
    parser.add_argument("--models", nargs="+", default=["linear", "lightgbm"])
    parser.add_argument("--confidence", nargs="+", type=read_confidence, default=[0.9])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="fits at once, a core each")
    parser.add_argument("--beside", type=Path, help="the folder src of another version")
    options = parser.parse_args()
    ways = {"stock": SRC, "new": SRC}
    if options.beside:
        ways["before"] = options.beside
    tables = [name for name in options.tables if load(name) is not None]
    cells = product(tables, options.models, options.confidence, range(options.splits), ways.items())
    tasks = [joblib.delayed(measure)(*cell, *way) for *cell, way in cells]
    results = pd.DataFrame(joblib.Parallel(options.jobs)(tasks))
    print(f"{options.splits} splits of each table, on {machine()}.\n")
    print(markdown(HEADER, list_rows(results)))


if __name__ == "__main__":
    main()
