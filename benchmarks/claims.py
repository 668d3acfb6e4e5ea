"""Claims about new rows beside the truth: a claim of c may be false in at most 1 - c of all draws.

Each sample comes from a known distribution, and the truth is what the model does on 100,000 fresh
rows of it. `false at .5`, `.7` and `.9` are the shares of all draws that claimed at least as much and
violated a constraint: they should be at most .5, .3 and .1. The cases are the ones in which margins
went wrong before.

    python benchmarks/claims.py --draws 100 --jobs 16
    python benchmarks/claims.py --cases easy few --draws 20 --model lightgbm
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from joblib import Parallel, delayed

import ratebound as rb

FRESH = 100_000  # rows of the truth
LEVELS = (0.5, 0.7, 0.9)  # of claims


class Sample(NamedTuple):
    """What `fit` takes."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None


class Case(NamedTuple):
    """A distribution, how a sample of it is drawn, and what is constrained."""

    rows: int
    constraints: tuple[str, ...]
    draw: Callable[[np.random.Generator, int], Sample]  # independent rows
    sample: Callable[[np.random.Generator, int], Sample] | None = None  # to train on, if not these


def squash(z):
    return 1 / (1 + np.exp(-z))


def draw_two_groups(smaller, rarer=0.0):
    """Two groups, the first this share of rows, with slopes that are not the same."""

    def draw(random, rows):
        group = (random.random(rows) >= smaller).astype(int)
        X = random.normal(size=(rows, 5))
        logit = 1.5 * X @ [1, 0.7, 0.4, 0, 0] + 0.5 * group * X[:, 1] + 0.4 * (group - 1) - rarer
        y = random.random(rows) < squash(logit)
        X[:, 0] += 0.3 * group
        return Sample(X, y, group)

    return draw


def draw_copies(times):
    def draw(random, rows):
        once = draw_two_groups(0.2)(random, rows // times)
        return Sample(*(np.repeat(values, times, axis=0) for values in once[:3]))

    return draw


def draw_weighted(random, rows):
    """With weights that have nothing to do with the rows, as large as a survey's."""
    sample = draw_two_groups(0.3)(random, rows)
    return sample._replace(weights=1700 * np.exp(1.2 * random.normal(size=rows)))


def draw_customers(size):
    """Customers with so many rows each, of one group, alike in what is seen and in what is not."""

    def draw(random, rows):
        customer = np.repeat(np.arange(-(-rows // size)), size)[:rows]
        count = customer[-1] + 1
        group = (random.random(count) >= 0.3).astype(int)[customer]
        X = 0.8 * random.normal(size=(count, 5))[customer] + 0.6 * random.normal(size=(rows, 5))
        logit = 1.5 * X @ [1, 0.7, 0.4, 0, 0] + 0.5 * group * X[:, 1] + 0.4 * (group - 1)
        y = random.random(rows) < squash(logit + random.normal(size=count)[customer])
        X[:, 0] += 0.3 * group
        return Sample(X, y, group, clusters=customer)

    return draw


def draw_eight_groups(random, rows):
    """Eight small groups in which the score works unequally well."""
    group = random.choice(9, rows, p=[0.6, 0.08, 0.08, 0.06, 0.06, 0.04, 0.03, 0.03, 0.02])
    y = random.random(rows) < 0.35
    X = random.normal(size=(rows, 4))
    X[:, 0] += 1.8 * y - 0.12 * group * y
    X[:, 1] += 0.25 * group
    return Sample(X, y, group)


def draw_leak(random, rows):
    """A feature gives the group away, and base rates differ."""
    group = (random.random(rows) >= 0.3).astype(int)
    X = random.normal(size=(rows, 4))
    X[:, 3] = (group == 0) * 3 + 0.3 * X[:, 3]
    logit = 1.2 * X[:, 0] + 0.8 * X[:, 1] - np.where(group == 0, 1.6, 0.2)
    return Sample(X, random.random(rows) < squash(logit), group)


def draw_few_kinds(random, rows):
    """Twelve distinct rows."""
    flags = random.random((rows, 2)) < [0.4, 0.5]
    X = np.column_stack([flags, random.integers(0, 3, rows)]).astype(float)
    group = (random.random(rows) >= squash(-1 + 1.2 * X[:, 0])).astype(int)
    logit = -1.2 + 1.3 * X[:, 1] + 0.8 * X[:, 2] - 0.9 * X[:, 0]
    return Sample(X, random.random(rows) < squash(logit), group)


def draw_hidden(random, rows):
    """The group hardly shows in the features."""
    group = (random.random(rows) >= 0.15).astype(int)
    y = random.random(rows) < 0.4
    X = random.normal(size=(rows, 5))
    X[:, 0] += np.where(group == 0, 0.7, 1.6) * y
    X[:, 1] += 0.4 * (group == 0)
    return Sample(X, y, group)


BOTH = ("recall(g == 0) >= 0.95 * recall()", "recall(g == 1) >= 0.95 * recall()")
ONE = ("recall(g == 0) >= 0.95 * recall()", "false_positive_rate() <= 0.2")
SHARES = ("positive_rate(g == 0) >= 0.8 * positive_rate()",)
EIGHT = tuple(f"recall(g == {k}) >= 0.6 * recall()" for k in range(1, 9))
HIDDEN = (
    "recall(g == 0) >= 0.9 * recall()",
    "false_positive_rate(g == 0) <= false_positive_rate() + 0.05",
)
FEW = ("positive_rate(g == 0) >= 0.9 * positive_rate(g == 1)", "recall() >= 0.6")
BETWEEN = ("statistical_parity(g, slack=0.04)",)
CASES = {
    "easy": Case(3000, BOTH, draw_two_groups(0.3)),
    "once": Case(3000, ONE, draw_two_groups(0.2)),
    "four": Case(3000, ONE, draw_two_groups(0.2), draw_copies(4)),
    "weights": Case(2000, ONE, draw_two_groups(0.3), draw_weighted),
    "small": Case(2000, ONE, draw_two_groups(0.2)),
    "rare": Case(8000, BOTH, draw_two_groups(0.3, 2.7)),
    "customers": Case(3200, ONE, draw_customers(1), draw_customers(8)),
    "eight": Case(3000, EIGHT, draw_eight_groups),
    "leak": Case(1000, SHARES, draw_leak),
    "few": Case(1000, FEW, draw_few_kinds),
    "hidden": Case(2000, HIDDEN, draw_hidden),
    "between": Case(2000, BETWEEN, draw_leak),
}  # fmt: skip


def draw_truth(name):
    case = CASES[name]
    rows = case.draw(np.random.default_rng(2**31), FRESH)
    population = rb.Population(None, rows.y, {"g": rows.group})
    return rows.X, rb.compile(rb.Problem("error_rate()", case.constraints), population)


def measure(name, model, seed):
    """Return the claim, whether all constraints hold, the error and the seconds of one draw."""
    warnings.simplefilter("ignore")  # here, since this may be another process
    case = CASES[name]
    sample = (case.sample or case.draw)(np.random.default_rng(seed), case.rows)
    fit = rb.RateConstrainedClassifier(case.constraints, model=model, random_state=seed)
    started = time.process_time()
    fit.fit(
        sample.X,
        sample.y,
        columns={"g": sample.group},
        sample_weight=sample.weights,
        clusters=sample.clusters,
    )
    seconds = time.process_time() - started
    X, truth = draw_truth(name)
    values = truth.values(truth.count_decisions(np.asarray(fit.predict(X)).astype(int)))[0]
    return fit.status_.confidence, values[1:].max() <= 0, values[0], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--model", default="linear")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1, help="fits at once, a core each")
    options = parser.parse_args()
    print(f"{options.draws} draws of each case, {options.model}, on {machine()}.\n")
    cells = [(name, options.model, seed) for name in options.cases for seed in range(options.draws)]
    results = Parallel(options.jobs)(delayed(measure)(*cell) for cell in cells)
    rows = []
    for index, name in enumerate(options.cases):
        of_case = np.array(results[index * options.draws : (index + 1) * options.draws], dtype=float)
        claims, kept, errors, seconds = of_case.T
        false = [f"{np.mean((claims >= level) & (kept == 0)):.2f}" for level in LEVELS]
        row = [name, f"{kept.mean():.2f}", f"{claims.mean():.2f}", *false]
        rows.append([*row, f"{errors.mean():.4f}", f"{np.median(seconds):.2f}"])
    heads = ["case", "kept", "claimed", *(f"false at {level}" for level in LEVELS), "error", "CPU s"]
    print(markdown(heads, rows))


if __name__ == "__main__":
    main()
