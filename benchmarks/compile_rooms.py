"""The compiler beside the one it replaces: seconds and peak memory, each case in a process of its own.

    python benchmarks/compile_rooms.py [--only overlapping]

Cases: 1,000 overlapping groups on 100,000 rows; 32 constraints on 1,000,000 rows; 2,000 constraints on
20,000 rows; and, for the new room alone, counting 1,000,000 rows into lines beside pandas' own GROUP BY.
Both rooms read the same texts and evaluate the same scores, and must agree.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np

MODELS = 8
REPEATS = 5


def make_overlapping(random: np.random.Generator) -> tuple[list[str], dict, int]:
    """Return 1,000 groups that share rows: conjunctions and alternatives of 30 columns."""
    rows = 100_000
    columns = {f"c{index}": random.integers(0, 4, rows) for index in range(30)}
    forms = (
        "c{0} == 1 and c{1} <= 2",
        "c{0} >= 1 or c{1} == 3",
        "c{0} == 2 and c{1} == 0 and not c{2} == 1",
    )
    texts: dict[str, None] = {}
    while len(texts) < 1000:
        names = random.choice(30, 3, replace=False)
        condition = str(random.choice(forms)).format(*names)
        texts[f"recall({condition}) >= 0.9 * recall()"] = None
    return list(texts), columns, rows


def make_large(random: np.random.Generator) -> tuple[list[str], dict, int]:
    """Return 32 constraints: recall and false positives of sixteen groups of four columns."""
    rows = 1_000_000
    columns = {f"c{index}": random.integers(0, 4, rows) for index in range(4)}
    texts = []
    for index in range(4):
        for value in range(4):
            texts.append(f"recall(c{index} == {value}) >= 0.9 * recall()")
            texts.append(f"false_positive_rate(c{index} == {value}) <= 0.3")
    return texts, columns, rows


def make_many(random: np.random.Generator) -> tuple[list[str], dict, int]:
    """Return 2,000 constraints, each about one value of one of twenty columns."""
    rows = 20_000
    columns = {f"c{index}": random.integers(0, 100, rows) for index in range(20)}
    texts = []
    for index in range(20):
        for value in range(100):
            texts.append(f"positive_rate(c{index} == {value}) <= 0.9")
    return texts, columns, rows


CASES: dict[str, Callable] = {
    "overlapping": make_overlapping,
    "large": make_large,
    "many": make_many,
}


def measure(room: str, case: str) -> dict[str, float]:
    """Compile and evaluate one case by one room."""
    if room == "old":
        import ratebound._old as rb
    else:
        import ratebound as rb
    random = np.random.default_rng(0)
    texts, columns, rows = CASES[case](random)
    labels = random.integers(0, 2, rows)
    scores = random.normal(size=(MODELS, rows)).astype(np.float32)
    people = rb.Population(np.zeros((rows, 1)), labels, columns=columns)
    start = time.perf_counter()
    problem = rb.Problem("error_rate()", texts)
    read = time.perf_counter()
    compiled = rb.compile(problem, people)
    compiled_at = time.perf_counter()
    objectives, violations = compiled.evaluate(scores)
    evaluated_at = time.perf_counter()
    return {
        "read, s": read - start,
        "compile, s": compiled_at - read,
        f"evaluate {MODELS}, s": evaluated_at - compiled_at,
        "peak, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        "sum": float(objectives.sum() + violations.sum()),
    }


def measure_lines() -> dict[str, float]:
    """Count 1,000,000 rows into lines, and by pandas' own GROUP BY of the same keys."""
    import pandas as pd

    import ratebound as rb
    from ratebound.problem.counting import count_lines

    random = np.random.default_rng(0)
    texts, columns, rows = make_large(random)
    table = columns | {"y": random.integers(0, 2, rows), "yes": random.integers(0, 2, rows)}
    frame = pd.DataFrame(table)
    problem = rb.Problem("error_rate()", texts)
    seconds = {}
    for name, source in (("arrays", table), ("pandas", frame)):
        start = time.perf_counter()
        count_lines(problem, source, label="y", decision="yes")
        seconds[f"lines of {name}, s"] = time.perf_counter() - start
    start = time.perf_counter()
    for index in range(4):
        for value in range(4):
            frame[f"is{index}{value}"] = frame[f"c{index}"] == value
    keys = [name for name in frame if name.startswith("is")]
    frame.groupby([*keys, "y", "yes"]).size()
    seconds["pandas by hand, s"] = time.perf_counter() - start
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("ROOM", "CASE"))
    parser.add_argument("--only", choices=[*CASES, "lines"])
    options = parser.parse_args()
    if options.one:
        room, case = options.one
        print(json.dumps(measure_lines() if case == "lines" else measure(room, case)))
        return
    for case in [options.only] if options.only else [*CASES, "lines"]:
        for room in ("new",) if case == "lines" else ("old", "new"):
            best: dict[str, float] = {}
            for _ in range(REPEATS):
                command = [sys.executable, __file__, "--one", room, case]
                run = subprocess.run(command, capture_output=True, text=True, check=True)
                for name, value in json.loads(run.stdout).items():
                    best[name] = min(value, best.get(name, value))
            shown = ", ".join(f"{name} {value:.3f}" for name, value in best.items())
            print(f"{case:12} {room:4} {shown}", flush=True)


if __name__ == "__main__":
    main()
