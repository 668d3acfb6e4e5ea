"""Claims about new rows beside the truth: simulations in which new rows can be drawn.

Each sample comes from a known distribution, and the truth is what the model does on 100,000 fresh rows
of it. `claimed` is the mean of `status_.confidence`. The confidence is a test's: claims of c or more are
false in at most a share 1 - c of all draws. So `false at .5`, `.7` and `.9` are the shares of all draws
that claimed at least as much and broke a promise. They should be at most .5, .3 and .1. The cases are
the ones in which margins went wrong before: few rows, few positives, weights, copies of rows, and rows
that were drawn together.

    python benchmarks/claims.py --draws 40 --jobs 16
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from joblib import Parallel, delayed

import ratebound._old as rb

FRESH = 100_000  # rows of the truth
ASKED = 0.9
LEVELS = (0.5, 0.7, 0.9)  # of claims


class Sample(NamedTuple):
    """What `fit` takes."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None


@dataclass(frozen=True)
class Case:
    """A distribution, how a sample of it is drawn, and what is promised."""

    words: str
    rows: int
    promises: tuple[str, ...]
    draw: Callable[[np.random.Generator, int], Sample]  # independent rows
    sample: Callable[[np.random.Generator, int], Sample] | None = (
        None  # what is trained on, if not these
    )

    def trained_on(self, seed: int) -> Sample:
        return (self.sample or self.draw)(np.random.default_rng(seed), self.rows)

    def compiled(self, rows: Sample):
        columns = {"g": rows.group}
        return rb.compile(
            rb.Problem("error_rate()", self.promises), rb.Population(rows.X, rows.y, columns=columns)
        )


def people(rng, rows, *, smaller, rarer=0.0):
    """Two groups, the first this share of the rows, whose labels depend on three of five columns.

    The slopes of the groups are not the same, and no column tells them apart.
    """
    group = (rng.random(rows) >= smaller).astype(int)
    X = rng.normal(size=(rows, 5))
    logit = 1.5 * X @ [1, 0.7, 0.4, 0, 0] + 0.5 * group * X[:, 1] + 0.4 * (group - 1) - rarer
    y = rng.random(rows) < 1 / (1 + np.exp(-logit))
    X[:, 0] += 0.3 * group
    return Sample(X, y, group)


def of(smaller, rarer=0.0):
    return lambda rng, rows: people(rng, rows, smaller=smaller, rarer=rarer)


def copied(times):
    """As after a join, or where a class was oversampled."""

    def sample(rng, rows):
        own = people(rng, rows // times, smaller=0.2)
        return Sample(*(np.repeat(values, times, axis=0) for values in own[:3]))

    return sample


def weighted(rng, rows):
    """With weights that have nothing to do with the rows, so fresh rows need none for the same rates."""
    return people(rng, rows, smaller=0.3)._replace(weights=np.exp(1.2 * rng.normal(size=rows)))


def customers(size):
    """Customers with so many rows each: of one group, alike in what is seen and in what is not."""

    def sample(rng, rows):
        customer = np.repeat(np.arange(-(-rows // size)), size)[:rows]
        count = customer[-1] + 1
        group = (rng.random(count) >= 0.3).astype(int)[customer]
        X = 0.8 * rng.normal(size=(count, 5))[customer] + 0.6 * rng.normal(size=(rows, 5))
        logit = 1.5 * X @ [1, 0.7, 0.4, 0, 0] + 0.5 * group * X[:, 1] + 0.4 * (group - 1)
        y = rng.random(rows) < 1 / (1 + np.exp(-logit - rng.normal(size=count)[customer]))
        X[:, 0] += 0.3 * group
        return Sample(X, y, group, clusters=customer)

    return sample


def smooth(rng, rows):
    """A score that a linear model finds, but for a product of two columns."""
    X = rng.normal(size=(rows, 6))
    score = X @ [1.0, 0.8, 0.5, 0.3, 0.2, 0] + 0.6 * X[:, 0] * X[:, 1] - 0.8
    return Sample(X, rng.random(rows) < 1 / (1 + np.exp(-1.2 * score)), np.zeros(rows))


def turned(rng, rows):
    """The best rows are among the few, where the second column matters the other way."""
    few = rng.random(rows) < 0.3
    X = np.column_stack([few, rng.normal(size=rows)])
    chance = np.where(few, 0.8 + 0.18 * np.tanh(2 * X[:, 1]), 0.35 - 0.3 * np.tanh(X[:, 1]))
    return Sample(X, rng.random(rows) < chance, np.zeros(rows))


BOTH = ("recall(g == 0) >= 0.95 * recall()", "recall(g == 1) >= 0.95 * recall()")
ONE = ("recall(g == 0) >= 0.95 * recall()", "false_positive_rate() <= 0.2")
CASES = {
    "easy": Case("an easy pair of promises", 3000, BOTH, of(0.3)),
    "once": Case("each row once", 3000, ONE, of(0.2)),
    "twice": Case("each row twice", 3000, ONE, of(0.2), copied(2)),
    "four": Case("each row four times", 3000, ONE, of(0.2), copied(4)),
    "weights": Case("weights", 2000, ONE, of(0.3), weighted),
    "small": Case("few rows", 2000, ONE, of(0.2)),
    "rare": Case("240 positives in the smaller group", 8000, BOTH, of(0.3, 2.7)),
    "top": Case("a top with room", 1000, ("precision(top=0.1) >= 0.82",), smooth),
    "top small": Case("a top of 30", 1000, ("precision(top=0.03) >= 0.85",), smooth),
    "top recall": Case("recall of a top", 1000, ("recall(top=0.1) >= 0.25",), smooth),
    "top large": Case("a top of 400", 4000, ("precision(top=0.1) >= 0.85",), smooth),
    "top hard": Case("a top of 400, with little room", 4000, ("precision(top=0.1) >= 0.87",), smooth),
    "top turned": Case("a top by another model", 1200, ("precision(top=0.1) >= 0.78",), turned),
    "top beyond": Case("recall of a top, with no room", 1200, ("recall(top=0.1) >= 0.19",), turned),
    "customers": Case("8 rows of each customer", 3200, ONE, customers(1), customers(8)),
}


class Found(NamedTuple):
    """What came of one draw."""

    kept: bool
    claimed: float  # NaN if nothing was
    error: float
    plain: float  # the error of the same library's model without promises
    drawn: float  # the share of yeses decided by a draw
    seconds: float  # of the processor, for the fit


def rates(compiled, chances) -> tuple[float, float]:
    """The error and the worst violation of decisions that are yes with these chances (n,)."""
    yes = compiled.per_slice(np.bincount(compiled.cells, chances, compiled.cell_count)[None])
    values = compiled.offset + (compiled.blocks[0].net @ yes.T)[:, 0]
    return float(values[0]), float(values[1:].max())


def worst_at_the_top(compiled, solution, X) -> float:
    """The worst violation if the promises are about the rows with the largest scores."""
    scores = solution.member_scores(X).T[:, None]
    return float(compiled.expected(solution.weights, scores)[1].max())


def measured(case: Case, model: str, seed: int, *, method: str = "auto", fresh: int = FRESH) -> Found:
    """Train on one draw of a case, and judge on fresh rows of it."""
    own, new = case.trained_on(seed), case.draw(np.random.default_rng(2**31), fresh)
    compiled = case.compiled(new)
    given = {"columns": {"g": own.group}, "sample_weight": own.weights, "groups": own.clusters}

    def trained(promises, **options):
        fit = rb.RateConstrainedClassifier(promises, model=model, random_state=seed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that rows are copies of each other
            started = time.process_time()
            fit.fit(own.X, own.y, **given)
            seconds = time.process_time() - started
        error, worst = rates(compiled, fit.solution_.decision_proba(new.X)[:, 1])
        if compiled.tops:
            worst = worst_at_the_top(compiled, fit.solution_, new.X)
        return fit, seconds, error, worst

    _, _, plain, _ = trained(())  # first, so that what it imports is not counted below
    fit, seconds, error, worst = trained(case.promises, confidence=ASKED, method=method)
    claimed = fit.status_.confidence
    claimed = np.nan if claimed is None else claimed
    return Found(worst <= 0, claimed, error, plain, fit.solution_.drawn_yeses, seconds)


def line(case: str, model: str, found: list[Found]) -> list[str]:
    kept, claimed, error, plain, drawn, seconds = np.array(found, dtype=float).T
    several = max(len(found) - 1, 1)
    return [
        CASES[case].words,
        model,
        f"{int(kept.sum())} of {len(found)}",
        f"{np.nanmean(claimed):.2f}" if not np.isnan(claimed).all() else "not",
        *(f"{np.mean((claimed >= level) & (kept == 0)):.2f}" for level in LEVELS),
        f"{error.mean():.4f} ± {error.std() / np.sqrt(several):.4f}",
        f"{plain.mean():.4f}",
        f"{100 * drawn.mean():.1f}%",
        f"{np.median(seconds):.1f}",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--models", nargs="+", default=["linear", "lightgbm"])
    parser.add_argument("--method", default="auto", choices=["auto", "plug-in", "game"])
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first draw")
    parser.add_argument("--jobs", type=int, default=1, help="draws measured at once, a core each")
    given = parser.parse_args()
    models = [model for model in given.models if model != "lightgbm" or find_spec("lightgbm")]
    if models != given.models:
        print("LightGBM is not installed, so its lines are missing: pip install lightgbm\n")
    seeds = range(given.first, given.first + given.draws)
    cells = [(case, model) for case in given.cases for model in models]
    # One queue for all, so that no core waits for the last draw of a case; trees first.
    asked = sorted(
        ((*cell, seed) for cell in cells for seed in seeds), key=lambda each: each[1] == "linear"
    )
    found = Parallel(given.jobs)(
        delayed(measured)(CASES[case], *each, method=given.method) for case, *each in asked
    )
    by_cell = {
        cell: [one for each, one in zip(asked, found, strict=True) if each[:2] == cell] for cell in cells
    }
    print(f'{given.draws} draws of each, method="{given.method}", confidence={ASKED}, on {machine()}.\n')
    heads = [
        "",
        "model",
        "kept",
        "claimed",
        *(f"false at {level}" for level in LEVELS),
        "error",
        "plain",
        "yeses drawn",
        "seconds",
    ]
    print(markdown(heads, [line(*cell, by_cell[cell]) for cell in cells]))


if __name__ == "__main__":
    main()
