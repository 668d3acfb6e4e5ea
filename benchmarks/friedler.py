"""Ours on the problems of Friedler et al. (2019), beside the rows that study published.

Ten splits of each problem; accuracy and disparate impact on the test rows, means and deviations. At the
end: which published rows dominate ours, by the rule of `friedler_data.dominates`. If a way is "seen",
the sensitive columns are features; if it is "known", each group has its own thresholds.

    python benchmarks/friedler.py --problems german_sex ricci_Race
"""

import argparse
import os
import time
import warnings
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import friedler_data as friedler
import numpy as np
from _common import machine, markdown
from joblib import Parallel, delayed

import ratebound as rb

WAYS = {
    f"{model}{words}": {"model": model} | more
    for model in ("linear", "lightgbm")
    for words, more in (
        ("", {}),
        (", confidence=.9", {"confidence": 0.9}),
        (", known", {"known": ["group"]}),
        (", known, confidence=.9", {"known": ["group"], "confidence": 0.9}),
        (", seen", {"seen": True}),
    )
}


def fitted(table, rows, asked, seed, options):
    model = rb.RateConstrainedClassifier(
        friedler.promises(rb, asked), random_state=seed, **{"confidence": None} | options
    )
    return model.fit(table.X[rows], table.y[rows], columns={"group": table.group[rows]})


def measured(problem, way, asked, seed):
    """The measures on the test rows of one split, and seconds of the processor."""
    warnings.simplefilter("ignore")  # of groups that are small; here, where this is another process
    options = dict(WAYS[way])
    table = friedler.load(problem, options.pop("seen", False))
    train, test = friedler.split(len(table.y), seed)
    started = time.process_time()
    model = fitted(table, train, asked, seed, options)
    seconds = time.process_time() - started
    yes = model.predict(table.X[test], columns={"group": table.group[test]}).astype(float)
    return friedler.judge(table.y[test], table.group[test], yes), seconds


def pair(mean, sd):
    return f"{mean:.4f} ± {sd:.4f}"


def line(row, note=""):
    mean, sd = row.mean, row.sd
    cells = pair(mean.accuracy, sd.accuracy), pair(mean.disparate_impact, sd.disparate_impact)
    return [row.algorithm, *cells, f"{mean.balanced_accuracy:.3f}", note]


def of_problem(problem, ways, asked, splits, jobs):
    """Our rows on a problem, printed beside the published ones as they come."""
    print(f"\n### {problem}\n", flush=True)
    ours, lines = [], []
    for way in ways:
        for ratio in asked:
            each = partial(measured, problem, way, ratio)
            judged, seconds = zip(
                *Parallel(jobs)(delayed(each)(seed) for seed in range(splits)), strict=True
            )
            ours.append(friedler.row(problem, f"ratebound {way}, asked {ratio:g}", judged))
            lines.append(line(ours[-1], f"{np.mean(seconds):.1f}"))
            print(" | ".join(lines[-1]), flush=True)
    theirs = [row for row in friedler.published() if row.problem == problem]
    lines += [line(row) for row in theirs]
    heads = ["algorithm", "accuracy", "disparate impact", "balanced", "CPU s"]
    print("\n" + markdown(heads, lines), flush=True)
    for row in ours:
        above = [other.algorithm for other in theirs if friedler.dominates(other, row)]
        print(f"- {row.algorithm}: dominated by {', '.join(above) or 'none'}")
    alone = [row.algorithm for row in friedler.unmatched(theirs, ours)]
    print(f"- no row of ours comes within one deviation of: {', '.join(alone) or 'none of them'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=friedler.PROBLEMS, choices=friedler.PROBLEMS)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--asked", nargs="+", type=float, default=[friedler.RATIO])
    parser.add_argument("--splits", type=int, default=friedler.SPLITS)
    parser.add_argument("--jobs", type=int, default=1, help="splits measured at once, a core each")
    given = parser.parse_args()
    if not friedler.available():
        raise SystemExit(
            f"the tables of Friedler et al. are not here: this benchmark reads {friedler.FOLDER}"
        )
    print(f"{given.splits} splits, on {machine()}.")
    for problem in given.problems:
        of_problem(problem, given.ways, given.asked, given.splits, given.jobs)


if __name__ == "__main__":
    main()
