"""Beside every peer: the same splits, the same promises, and one judge. Writes docs/peers.md.

    python benchmarks/beside.py                    # what was found before is not run again
    python benchmarks/beside.py --splits 1 --only ratebound Fairlearn --problems adult --out page.md

The contenders are in the folder `peers`, one module for each library (`with_*.py`); each runs in an
environment of its own under build/peers. Peers get the documented way with sensible settings, and what
users would have to choose is chosen on the training rows.
"""

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported
sys.path.append(str(Path(__file__).resolve().parent / "peers"))

from _figure import draw
from _problems import PROBLEMS
from _running import FOUND, Way, everything, own_code
from _writing import page
from environments import HERE, Environment, finished, python_of

DOCS = HERE.parent / "docs"
FAIRLEARN = Environment("fairlearn", ("fairlearn==0.15.0",))
# It asks for a release of Matplotlib that no longer builds, and runs with later ones.
SELDONIAN = Environment(
    "seldonian", ("seldonian-engine==0.8.11", "autograd==1.9.1", "cma==4.5.0", "graphviz==0.21"),
    ("--no-deps",),
)  # fmt: skip
EG = "Fairlearn ExponentiatedGradient"
WAYS = (
    Way("logistic regression, no promises", "with_nothing", "logistic"),
    Way("LightGBM, no promises", "with_nothing", "lightgbm", trees=True),
    Way(EG, "with_fairlearn", "exponentiated_gradient", FAIRLEARN),
    Way("Fairlearn GridSearch", "with_fairlearn", "grid_search", FAIRLEARN),
    Way("Cooper", "with_cooper", "lagrangian", Environment("cooper", ("cooper-optim==1.0.1",))),
    Way("humancompatible-train", "with_humancompatible", "augmented_lagrangian",
        Environment("humancompatible-train", ("humancompatible-train==0.4.2",))),
    Way("fairret", "with_fairret", "penalty", Environment("fairret", ("fairret==0.1.3",))),
    Way("seldonian-engine", "with_seldonian", "safe", SELDONIAN),
    Way("FairGBM", "with_fairgbm", "trees", Environment("fairgbm", ("fairgbm==0.9.14",)), trees=True),
    Way("Fairlearn ThresholdOptimizer", "with_fairlearn", "threshold_optimizer", FAIRLEARN, known=True),
    Way("OxonFair", "with_oxonfair", "thresholds", Environment("oxonfair", ("oxonfair==0.3",)),
        known=True),
    Way("error-parity", "with_error_parity", "thresholds",
        Environment("error-parity", ("error-parity==0.3.12",)), known=True),
    Way(f"{EG}, LightGBM", "with_fairlearn", "exponentiated_gradient_lightgbm", FAIRLEARN, trees=True),
    Way("ratebound, linear", "with_ratebound", "linear"),
    Way("ratebound, linear, confidence .9", "with_ratebound", "linear_confident"),
    Way("ratebound, LightGBM", "with_ratebound", "lightgbm", trees=True),
    Way("ratebound, LightGBM, confidence .9", "with_ratebound", "lightgbm_confident", trees=True),
    Way("ratebound, linear, known", "with_ratebound", "linear_known", known=True),
    Way("ratebound, LightGBM, known, confidence .9", "with_ratebound", "lightgbm_known_confident",
        known=True, trees=True),
)  # fmt: skip


MAPIE = Environment("mapie", ("mapie==1.6.0",))
REDRAWS = 20


def certified(fill: bool) -> list[dict]:
    """MAPIE and ours on samples of Adult, from a run before if there was one."""
    script = HERE / "peers" / "certificates.py"
    code = hashlib.sha256((script.read_text("utf-8") + own_code()).encode()).hexdigest()[:16]
    file = FOUND / f"certificates.{REDRAWS}.{code}.json"
    if not file.exists() and not fill:
        return []
    if not file.exists():
        command = [str(python_of(MAPIE)), str(script), str(REDRAWS)]
        file.write_text(finished(command, 3600, "certificates").splitlines()[-1], "utf-8")
    return json.loads(file.read_text("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="contenders, by how their names start")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="some problems alone")
    parser.add_argument("--splits", type=int, default=10, help="at most so many of each problem")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-run", action="store_true", help="write what was found before, run nothing")
    parser.add_argument("--out", type=Path, default=DOCS / "peers.md", help="the file to write")
    given = parser.parse_args()
    os.nice(5)
    ways = [w for w in WAYS if given.only is None or any(w.name.startswith(n) for n in given.only)]
    problems = [p for p in PROBLEMS if given.problems is None or p.name in given.problems]
    found, missing = everything(ways, problems, given.splits, given.processes, not given.no_run)
    missing += [f"{one.title} (not in this run)" for one in PROBLEMS if one not in problems]
    picture = given.out.parent / "images" / "peers.svg"
    draw(found, picture)
    certificates = certified(not given.no_run and given.only is None)
    written = page(found, missing, certificates)
    given.out.write_text(written, "utf-8")
    print(f"written: {given.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
