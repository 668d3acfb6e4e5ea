"""Boosted trees under constraints beside the stock libraries: what they keep, and what they cost.

Recall of Black, White, female and male people of UCI Adult must be at least 95% of everyone's. The
same number of trees is grown three ways: by the library's own fit, by ours without constraints (the
same trees), and by ours with them. Seconds are of the process, the least of a few fits, and the ratio
is to the library's own fit. `--watch` evaluates every round on the validation rows too.
"""

import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import Aim, machine, markdown, options, tell, warm_up
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

import ratebound._old as rb

GROUPS = {"race": ("Black", "White"), "sex": ("Female", "Male")}
AIM = 2.0  # times the library's own fit
ROWS = ("train", "test")


def estimators(trees):
    return {
        "LightGBM": LGBMClassifier(n_estimators=trees, num_leaves=31, n_jobs=1, verbosity=-1),
        "XGBoost": XGBClassifier(n_estimators=trees, max_depth=6, learning_rate=0.1, n_jobs=1),
    }


def compile_all(splits, goals):
    problem = rb.Problem(rb.error_rate(), goals)
    return {name: rb.compile(problem, getattr(splits, name)) for name in (*ROWS, "validation")}


def timed(work, repeats):
    """What `work` returns, and the least seconds it took."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        result = work()
        seconds.append(time.process_time() - started)
    return result, min(seconds)


def judged(compiled, weights, scores_of):
    """Error and worst violation on each population, of members with scores (n, M)."""
    found = []
    for name in ROWS:
        objectives, violations = compiled[name].evaluate(scores_of(compiled[name].features).T)
        found += [weights @ objectives, (weights @ violations).max()]
    return found


def size_of(mixture):
    with tempfile.TemporaryDirectory() as folder:
        return mixture.save(Path(folder) / "model.safetensors").stat().st_size / 1000


def lines(estimator, seed, given):
    """Seconds, errors, violations, members, trees and size of the three ways, (3, 8)."""
    splits = rb.datasets.load_adult(seed=seed)
    free, tight = (compile_all(splits, g) for g in ([], rb.equal_opportunity(GROUPS, ratio=0.95)))
    X, y = free["train"].features, splits.train.y
    stock, seconds = timed(lambda: type(estimator)(**estimator.get_params()).fit(X, y), given.repeats)
    margin = {"raw_score": True} if isinstance(stock, LGBMClassifier) else {"output_margin": True}

    def scores_of(rows):
        return np.asarray(stock.predict(rows, **margin))[:, None]

    found = [[seconds, *judged(tight, np.ones(1), scores_of), 1, given.trees, np.nan]]
    for compiled, solution in ((free, rb.last_iterate), (tight, rb.shrink)):
        watch = {"validation": compiled["validation"]} if given.watch else None

        def play(train=compiled["train"], watch=watch):
            return rb.play(train, rb.Boosted(estimator), watch=watch, progress=False)

        trace, seconds = timed(play, given.repeats)
        mixture = solution(trace)
        kept = judged(tight, mixture.weights, mixture.member_scores)
        found.append([seconds, *kept, len(mixture), mixture.parameters[:, 1].max(), size_of(mixture)])
    return np.array(found)


def main():
    parser = options(__doc__)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3, help="how many splits into train and validation")
    parser.add_argument("--repeats", type=int, default=2, help="how many fits the least time is of")
    parser.add_argument("--watch", action="store_true")
    given = parser.parse_args()
    warm_up()
    rows, aims = [], []
    for name, estimator in estimators(given.trees).items():
        found = np.array([lines(estimator, seed, given) for seed in range(given.seeds)])
        for way, one in zip(
            ("stock", "ours, free", "ours, constrained"), found.swapaxes(0, 1), strict=True
        ):
            seconds, error, violation, new_error, new_violation, members, trees, size = one.mean(axis=0)
            ratio = (one[:, 0] / found[:, 0, 0]).mean()
            if way != "stock":
                least = {"floor": seconds / ratio, "peer": seconds / ratio, "who": name}
                aims.append(Aim(f"{name}, {way}: the library's own fit", AIM, seconds, "s", **least))
            rows.append([
                name, way, f"{seconds:.2f}", f"{ratio:.2f}", f"{error:.4f} / {violation:+.4f}",
                f"{new_error:.4f} / {new_violation:+.4f} ± {one[:, 4].std():.3f}",
                f"{members:.1f}", f"{trees:.0f}", "" if np.isnan(size) else f"{size:.0f}",
            ])  # fmt: skip
    print(f"UCI Adult, {given.trees} trees, {given.seeds} splits, on {machine()}.\n")
    header = [
        "library",
        "way",
        "s",
        "ratio",
        "training error / violation",
        "test",
        "members",
        "trees",
        "kB",
    ]
    print(markdown(header, rows))
    tell({f"{row[0]}, {row[1]}": float(row[2]) for row in rows}, aims, given.json)


if __name__ == "__main__":
    main()
