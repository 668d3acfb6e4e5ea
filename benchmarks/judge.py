"""Who judges whether a promise is kept, for models that learn rows by heart: their own rows or others.

Recall of Black, White, female and male people of UCI Adult must be at least 95% of everyone's. All rows
are the population: samples are drawn without replacement, and the truth is what a model does on all the
other rows. The λ-player and the kept violations see the rows trained on, a share of the sample set aside
(`judge=`), or every row through a model that did not see it (`judge=rb.Folds(...)`); each with the
promises as they are and with margins in standard errors of their violations.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from lightgbm import LGBMClassifier

import ratebound._old as rb
from ratebound._old.problem.compiling import parted

GROUPS = {"race": ("Black", "White"), "sex": ("Female", "Male")}
RATIO, RECALL = 0.95, 0.6  # of the promises; about everyone's, for standard errors
IN_BATCHES = {"rounds": 800, "batch_size": 512, "keep": rb.Keep(13)}
MODELS = {
    "LightGBM": (lambda: rb.Boosted(LGBMClassifier(n_jobs=1, verbosity=-1)), 0.05, {}),
    "mlp": (lambda: rb.MLP((32,)), 0.01, IN_BATCHES),
    "linear": (rb.Linear, 0.01, IN_BATCHES),
}
WAYS = {
    "the rows trained on": lambda compiled, seed: (compiled, None),
    "a third set aside": lambda compiled, seed: parted(compiled, 1 / 3, seed),
    "a half set aside": lambda compiled, seed: parted(compiled, 1 / 2, seed),
    "3 folds": lambda compiled, seed: (compiled, rb.Folds(3)),
    "5 folds": lambda compiled, seed: (compiled, rb.Folds(5)),
}


def population():
    splits = rb.datasets.load_adult(seed=0)
    parts = (splits.train, splits.validation, splits.test)
    X = np.concatenate([part.features for part in parts])
    y = np.concatenate([part.y for part in parts])
    return rb.Population(
        X, y, columns={name: np.concatenate([part.column(name) for part in parts]) for name in GROUPS}
    )


def margins(people):
    """The standard error of each promise's violation, in the order of the promises."""
    found = []
    for name, values in GROUPS.items():
        for value in values:
            own = (people.y & (people.column(name) == value)).sum()
            spread = 1 / own + (RATIO**2 - 2 * RATIO) / people.y.sum()
            found.append(np.sqrt(RECALL * (1 - RECALL) * spread))
    return found


def redraw(everyone, model, rows, seed, errors):
    """Worst violation, error and seconds of every way, (ways, 3), on one sample."""
    order = np.random.default_rng(seed).permutation(len(everyone))
    sample = everyone.only(order[:rows])
    promises = rb.equal_opportunity(GROUPS, ratio=RATIO)
    truth = rb.compile(rb.Problem(rb.error_rate(), promises), everyone.only(order[rows:]))
    tight = [p.tightened(errors * s) for p, s in zip(promises, margins(sample), strict=True)]
    compiled = rb.compile(rb.Problem(rb.error_rate(), tight), sample)
    make, rate, how = MODELS[model]
    player, found = rb.SwapRegret(rate, objective_weight=0.9), []
    for way in WAYS.values():
        started = time.process_time()
        own, judge = way(compiled, seed)
        trace = rb.play(own, make(), player=player, judge=judge, seed=seed, progress=False, **how)
        mixture = rb.shrink(trace)
        seconds = time.process_time() - started
        scores = mixture.member_scores(truth.features).T.astype(float)
        wrong, violations = truth.evaluate(scores)
        found.append(((mixture.weights @ violations).max(), mixture.weights @ wrong, seconds))
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--redraws", type=int, default=12)
    parser.add_argument("--margins", type=float, nargs="+", default=[0.0, 1.5, 2.0])
    given = parser.parse_args()
    everyone, lines = population(), []
    for model in given.models:
        for errors in given.margins:
            seeds = range(given.redraws)
            found = np.array([redraw(everyone, model, given.rows, seed, errors) for seed in seeds])
            for way, one in zip(WAYS, found.swapaxes(0, 1), strict=True):
                violation, error, seconds = one.mean(axis=0)
                kept = f"{(one[:, 0] <= 0).mean():.0%}"
                numbers = [kept, f"{violation:+.4f}", f"{error:.4f}", f"{seconds:.1f}"]
                lines.append([model, f"{errors:g}", way, *numbers])
                print(*lines[-1], flush=True)
    print(f"\nUCI Adult, {given.redraws} samples of {given.rows:,} rows, on {machine()}.\n")
    header = ["model", "margin", "judged by", "kept", "mean violation", "error", "s"]
    print(markdown(header, lines))


if __name__ == "__main__":
    main()
