"""Promises on new rows: how often all of them hold, at what cost, and how often a certificate is false.

Every table plays the whole population. Samples are drawn from it without replacement, a model is trained
on each, and the truth is what it does on all the other rows. Beside `confidence=` None, .8, .9 and .95
stand Fairlearn's ExponentiatedGradient and ThresholdOptimizer (which sees the group when deciding) on
the same samples, if it is installed; both with logistic regression. The last line of each model trains
with `certify=0.3`: how often it was certified at 95%, and how often falsely.

    python benchmarks/new_rows.py --tables adult compas --models linear mlp --redraws 20
"""

import argparse
import os
import time
import warnings
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression

import ratebound as rb

warnings.simplefilter("ignore")
CONFIDENCES = (None, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class People:
    """A population, promises about it, and how Fairlearn would be asked for them."""

    X: np.ndarray
    y: np.ndarray
    columns: dict
    promises: list
    sensitive: np.ndarray
    moment: str
    bound: dict
    rows: int  # of a sample

    def only(self, rows):
        return self.X[rows], self.y[rows], {name: values[rows] for name, values in self.columns.items()}

    def compiled(self, rows):
        X, y, columns = self.only(rows)
        return rb.compile(
            rb.Problem("error_rate()", self.promises), rb.Population(X, y, columns=columns)
        )


def stacked(splits, names):
    parts = (splits.train, splits.validation, splits.test)
    X = np.concatenate([part.X for part in parts])
    y = np.concatenate([np.asarray(part.y, bool) for part in parts])
    return X, y, {n: np.concatenate([np.asarray(part.columns[n]) for part in parts]) for n in names}


def adult():
    X, y, columns = stacked(rb.datasets.load_adult(), ("sex", "race"))
    promises = rb.equal_opportunity({"race": ("Black", "White"), "sex": ("Female", "Male")}, ratio=0.95)
    race = np.where(np.isin(columns["race"], ["Black", "White"]), columns["race"], "other")
    both = np.char.add(race.astype(str), columns["sex"].astype(str))
    return People(
        X, y, columns, promises, both, "true_positive_rate_parity", {"ratio_bound": 0.95}, 10_000
    )


def bank():
    X, y, columns = stacked(rb.datasets.load_bank(), ("age",))
    bands = np.digitize(columns["age"], np.quantile(columns["age"], [0.2, 0.4, 0.6, 0.8]))
    promises = [rb.positive_rate(band=k) <= rb.positive_rate() + 0.02 for k in range(5)]
    asked = "demographic_parity", {"difference_bound": 0.02}
    return People(X, y, {"band": bands}, promises, bands, *asked, 10_000)


def compas():
    X, y, columns = stacked(rb.datasets.load_compas(), ("sex", "race"))
    groups = {"race": ("African-American", "Caucasian"), "sex": ("Female", "Male")}
    promises = [
        rb.recall(**{name: value}) <= rb.recall() + 0.05 for name in groups for value in groups[name]
    ]
    race = np.where(np.isin(columns["race"], groups["race"]), columns["race"], "other")
    both = np.char.add(race.astype(str), columns["sex"].astype(str))
    return People(
        X, y, columns, promises, both, "true_positive_rate_parity", {"difference_bound": 0.05}, 3000
    )


def synthetic():
    """Four groups, the smallest 5% of 300,000 rows; the model cannot see them, and serves each worse."""
    rng, width = np.random.default_rng(0), 20
    group = rng.choice(["a", "b", "c", "d"], 300_000, p=[0.5, 0.3, 0.15, 0.05])
    behind = np.select([group == name for name in "bcd"], [0.4, 0.8, 1.2], 0.0)
    X = rng.normal(size=(len(group), width))
    X[:, 0] -= behind
    slopes = np.linspace(1.0, 0.1, width)
    y = rng.random(len(group)) < 1 / (1 + np.exp(1.0 - X @ slopes))
    promises = [rb.recall(group=name) >= 0.9 * rb.recall() for name in "abcd"]
    asked = "true_positive_rate_parity", {"ratio_bound": 0.9}
    return People(X, y, {"group": group}, promises, group, *asked, 10_000)


TABLES = {"adult": adult, "bank": bank, "compas": compas, "synthetic": synthetic}


def judged(truth, chances):
    """The objective and the worst violation of decisions that are yes with these chances (n,)."""
    weighed = chances if truth.weights is None else chances * truth.weights
    yes = truth.per_slice(np.bincount(truth.cells, weighed, truth.cell_count)[None])
    values = truth.offset + (truth.blocks[0].net @ yes.T)[:, 0]
    return values[0], values[1:].max()


def ours(model, people, rows, others, **options):
    X, y, columns = people.only(rows)
    fit = rb.RateConstrainedClassifier(people.promises, model=model, random_state=0, **options)
    fit.fit(X, y, columns=columns)
    holds = "certify" in options and fit.certificate_.holds
    return fit.solution_.decision_proba(people.X[others])[:, 1], holds


def exponentiated_gradient(people, rows, others):
    from fairlearn import reductions

    kinds = {
        "true_positive_rate_parity": "TruePositiveRateParity",
        "demographic_parity": "DemographicParity",
    }
    moment = getattr(reductions, kinds[people.moment])(**people.bound)
    model = reductions.ExponentiatedGradient(LogisticRegression(solver="liblinear"), moment)
    model.fit(people.X[rows], people.y[rows], sensitive_features=people.sensitive[rows])
    return model._pmf_predict(people.X[others])[:, 1], False


def threshold_optimizer(people, rows, others):
    from fairlearn.postprocessing import ThresholdOptimizer

    model = ThresholdOptimizer(
        estimator=LogisticRegression(solver="liblinear"),
        constraints=people.moment,
        objective="accuracy_score",
        predict_method="predict_proba",
    )
    model.fit(people.X[rows], people.y[rows], sensitive_features=people.sensitive[rows])
    return model._pmf_predict(people.X[others], sensitive_features=people.sensitive[others])[:, 1], False


def plain(people, rows, others):
    model = LogisticRegression(solver="liblinear").fit(people.X[rows], people.y[rows])
    return model.predict(people.X[others]).astype(float), False


def ways(models):
    """What is compared: words, and a function of the population, the sample and the other rows."""
    found = {"logistic regression, no promises": plain}
    if find_spec("fairlearn"):
        found["Fairlearn ExponentiatedGradient"] = exponentiated_gradient
        found["Fairlearn ThresholdOptimizer"] = threshold_optimizer
    for model in models:
        for confidence in CONFIDENCES:
            found[f"{model}, confidence={confidence}"] = partial(ours, model, confidence=confidence)
        found[f"{model}, certify=0.3"] = partial(ours, model, confidence=0.95, certify=0.3)
    return found


def measured(name, models, seed):
    """Every way on one sample: objective, worst violation, seconds, and whether it was certified."""
    warnings.simplefilter("ignore")  # here too, where this is another process
    people = TABLES[name]()
    order = np.random.default_rng(seed).permutation(len(people.y))
    rows, others = order[: people.rows], order[people.rows :]
    truth = people.compiled(others)
    found = {}
    for words, way in ways(models).items():
        started = time.perf_counter()
        chances, holds = way(people, rows, others)
        found[words] = (*judged(truth, chances), time.perf_counter() - started, holds)
    return found


def table(name, models, redraws, jobs):
    samples = Parallel(jobs)(delayed(measured)(name, models, seed) for seed in range(redraws))
    lines = []
    for words in samples[0]:
        error, worst, seconds, holds = np.array([sample[words] for sample in samples], dtype=float).T
        broken = worst > 1e-9
        said = ""
        if "certify" in words:
            said = f"{int(holds.sum())}, {int((holds.astype(bool) & broken).sum())} falsely"
        numbers = f"{worst.mean():+.4f}", f"{error.mean():.4f}", f"{seconds.mean():.1f}"
        lines.append([words, f"{(~broken).sum()} of {redraws}", *numbers, said])
    heads = [f"{name}, {TABLES[name]().rows:,} rows", "all kept", "worst violation", "error", "seconds"]
    print(markdown([*heads, "certified"], lines) + "\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--models", nargs="+", default=["linear", "mlp", "lightgbm"])
    parser.add_argument("--redraws", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="samples measured at once, a core each")
    given = parser.parse_args()
    print(f"{given.redraws} samples of each table, on {machine()}.\n")
    if not find_spec("fairlearn"):
        print("Fairlearn is not installed, so its lines are missing: pip install fairlearn\n")
    for name in given.tables:
        table(name, given.models, given.redraws, given.jobs)


if __name__ == "__main__":
    main()
