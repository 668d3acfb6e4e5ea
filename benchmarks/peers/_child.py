"""One contender on the splits of one problem, in its own process: decisions, seconds, memory.

    python _child.py MODULE FUNCTION PROBLEM SECONDS SPLIT.npz OUT.npz [SPLIT.npz OUT.npz ...]

The module is imported before the clock starts. A fit that exceeds its CPU seconds ends the process;
earlier results are written. The labels of new rows are never read here.
"""

import contextlib
import importlib
import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # read when libraries are imported

import numpy as np
from _problems import PROBLEMS, read

warnings.simplefilter("ignore")


def limit(seconds: float) -> None:
    """End this process when it has used so many more CPU seconds."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))


def main() -> None:
    module, function, name, seconds, *files = sys.argv[1:]
    (problem,) = [problem for problem in PROBLEMS if problem.name == name]
    fit = getattr(importlib.import_module(module), function)
    for split, out in zip(files[::2], files[1::2], strict=True):
        train, test = read(Path(split), labels=False)
        limit(float(seconds))
        used = time.process_time()
        with contextlib.redirect_stdout(sys.stderr):
            found = fit(train, test, problem.promises)
        measured = {"seconds": time.process_time() - used}
        chances = {}
        if found is not None:  # a contender may report that it has no solution
            parts = zip(("train", "test"), found, strict=True)
            chances = {part: np.asarray(chance, float).reshape(-1) for part, chance in parts}
        np.savez(out, measured=json.dumps(measured), **chances)


if __name__ == "__main__":
    main()
