"""How long it takes to start: the import, the command line's help, and the first small thing done.

Each is a process of its own, whose seconds are counted from before it is started until it has ended.
All take turns, and each counts with its fastest run. The floors are Python alone, and the import of what
cannot be done without: NumPy, or scikit-learn's own estimators for one of ours.
"""

import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from _common import Aim, machine, markdown, options, tell

PEERS = {"Fairlearn": "fairlearn.reductions", "Cooper": "cooper"}
ROWS = "age,sex,label\n" + "40,F,1\n30,M,0\n25,F,0\n60,M,1\n" * 50
TRAIN = """
import ratebound._old as rb
problem = rb.Problem(rb.error_rate(), [rb.recall(group="a") >= 0.9])
columns = {"group": ["a", "b"] * 100}
people = rb.Population([[1.0], [2.0], [3.0], [4.0]] * 50, [0, 0, 1, 1] * 50, columns=columns)
rb.shrink(rb.play(rb.compile(problem, people), rb.Linear(), rounds=20, progress=False)).save(FILE)
"""


def codes(folder: Path) -> dict[str, str]:
    """What is started, as code, by what it is."""
    table, model = folder / "small.csv", folder / "model.safetensors"
    table.write_text(ROWS)
    train = TRAIN.replace("FILE", repr(str(model)))
    subprocess.run([sys.executable, "-c", train], check=True)
    decide = f"rb.load({str(model)!r}).predict([[1.0]])"
    line = "import sys; from ratebound._old.cli import main; sys.exit(main({}))"
    return {
        "Python alone": "pass",
        "import numpy": "import numpy",
        "import numpy, scipy.sparse": "import numpy, scipy.sparse",
        "import sklearn.linear_model": "import sklearn.linear_model",
        **{f"import {name}": f"import {name}" for name in PEERS.values() if is_there(name)},
        "import ratebound": "import ratebound",
        "ratebound --help": line.format(["--help"]),
        "ratebound train --help": line.format(["train", "--help"]),
        "rb.parse(...)": "import ratebound._old as rb; rb.parse('recall(sex == 1) >= 0.9 * recall()')",
        "ratebound inspect small.csv": line.format(["inspect", str(table)]),
        "rb.load(...).predict of one row": f"import ratebound._old as rb; {decide}",
        "compile, play and shrink of 200 rows": train,
        "import rb.RateConstrainedClassifier": "from ratebound import RateConstrainedClassifier",
    }


def is_there(module: str) -> bool:
    return find_spec(module.partition(".")[0]) is not None


def raced(run: dict[str, str], repeats: int) -> dict[str, float]:
    """The seconds of the fastest of several runs of each code, all taking turns."""
    best = dict.fromkeys(run, float("inf"))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(repeats + 1):  # the first reads files that are then in memory
        for name, code in run.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], **quiet)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def aims(found: dict[str, float]) -> list[Aim]:
    others = {who: found[f"import {name}"] for who, name in PEERS.items() if f"import {name}" in found}
    who = min(others, key=lambda name: others[name], default="")
    beside = {"floor": found["Python alone"], "unit": "s", "by": "itself"}
    return [
        Aim(
            "`import ratebound`",
            0.15,
            found["import ratebound"],
            peer=others.get(who),
            who=who,
            **beside,
        ),
        Aim("`ratebound --help`", 0.3, found["ratebound --help"], **beside),
    ]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--repeats", type=int, default=10, help="runs of each, of which the fastest counts"
    )
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        found = raced(codes(Path(folder)), given.repeats)
    nothing = found["Python alone"]
    lines = [
        [f"`{name}`", f"{seconds:.3f}", f"{seconds - nothing:.3f}"] for name, seconds in found.items()
    ]
    print(f"Seconds on {machine()}; the fastest of {given.repeats} runs.\n")
    print(markdown(["what", "seconds", "beyond Python alone"], lines))
    tell(found, aims(found), given.json)


if __name__ == "__main__":
    main()
