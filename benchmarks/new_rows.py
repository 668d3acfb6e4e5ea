"""Promises on new rows: what they cost, how often all of them hold, and how often that was claimed.

Every table plays the whole population. Samples are drawn from it without replacement, a model is trained
on each, and the truth is what it does on the other rows, 300,000 at most. For each library stand side by
side: its stock model without promises; with `confidence=0.9` the game, and `method="auto"`, which is the
default; and Fairlearn's ExponentiatedGradient and ThresholdOptimizer (which sees the group when
deciding), if it is installed, on the stock model. `claimed` is the mean of `status_.confidence`; `than
the game` the difference in error on the same samples. Seconds are of the processor.

ACSIncome is read from `--acs FOLDER`, `$RATEBOUND_BENCH`, or `../shared/bench`: files of all states in
2018, as split by Aequitas. The model sees the race there, as is usual for this table.

    python benchmarks/new_rows.py --tables adult compas --models linear --redraws 20 --jobs 8
    python benchmarks/new_rows.py --tables acs --rows 20000 --judged 120000
"""

import argparse
import os
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ratebound._old as rb

CONFIDENCE = 0.9
JUDGED = 300_000  # rows that say what is true, at most
GAME, NEW = 'method="game"', 'method="auto"'
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "bench"
FOLDER = Path(os.environ.get("RATEBOUND_BENCH", BESIDE))


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
    judged: int = JUDGED  # other rows that say what is true, at most

    def only(self, rows):
        return self.X[rows], self.y[rows], {name: values[rows] for name, values in self.columns.items()}

    def sample(self, seed):
        """Rows to train on, and others to judge on; drawn again where a group has no positive row."""
        random = np.random.default_rng(seed)
        while True:
            order = random.permutation(len(self.y))
            rows, others = order[: self.rows], order[self.rows :][: self.judged]
            if set(self.sensitive[rows][self.y[rows]]) == set(self.sensitive):
                return rows, others

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


def acs(folder=FOLDER):
    """Nine races, the smallest 1 in 2,000: it has about seven positive rows in a sample of 60,000."""
    import pandas

    parts = [
        pandas.read_parquet(Path(folder) / f"acsincome_{part}.parquet") for part in ("train", "test")
    ]
    rows = pandas.concat(parts, ignore_index=True)
    y, race = rows.pop("PINCP").to_numpy(bool), rows["RAC1P"].to_numpy()
    rows["occupations"] = rows["OCCP"] // 500  # codes are in order of fields
    kinds = pandas.get_dummies(rows[["COW", "MAR", "RELP", "RAC1P", "occupations"]].astype(str))
    X = np.hstack([rows.drop(columns="occupations"), kinds]).astype(np.float32)
    promises = [rb.recall(race=k) >= 0.8 * rb.recall() for k in range(9)]
    asked = "true_positive_rate_parity", {"ratio_bound": 0.8}
    return People(X, y, {"race": race}, promises, race, *asked, 60_000)


TABLES = {"adult": adult, "bank": bank, "compas": compas, "synthetic": synthetic, "acs": acs}


def judged(truth, chances):
    """The objective and the worst violation of decisions that are yes with these chances (n,)."""
    yes = truth.per_slice(np.bincount(truth.cells, chances, truth.cell_count)[None])
    values = truth.offset + (truth.blocks[0].net @ yes.T)[:, 0]
    return values[0], values[1:].max()


def stock(model):
    """What the library would be without promises."""
    if model == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


# --- ways: from a model, the population and the rows to train on, to a function of rows, and a claim ---


def plain(model, people, rows):
    fit = stock(model).fit(people.X[rows], people.y[rows])
    return lambda others: fit.predict(people.X[others]).astype(float), np.nan


def ours(method, model, people, rows):
    X, y, columns = people.only(rows)
    options = {"confidence": CONFIDENCE, "method": method, "random_state": 0}
    fit = rb.RateConstrainedClassifier(people.promises, model=model, **options)
    fit.fit(X, y, columns=columns)
    claimed = fit.status_.confidence
    claimed = np.nan if claimed is None else claimed
    return lambda others: fit.solution_.decision_proba(people.X[others])[:, 1], claimed


def exponentiated_gradient(model, people, rows):
    from fairlearn import reductions

    kinds = {
        "true_positive_rate_parity": "TruePositiveRateParity",
        "demographic_parity": "DemographicParity",
    }
    moment = getattr(reductions, kinds[people.moment])(**people.bound)
    weighed = {"sample_weight_name": "logisticregression__sample_weight"} if model == "linear" else {}
    fit = reductions.ExponentiatedGradient(stock(model), moment, **weighed)
    fit.fit(people.X[rows], people.y[rows], sensitive_features=people.sensitive[rows])
    return lambda others: fit._pmf_predict(people.X[others])[:, 1], np.nan


def threshold_optimizer(model, people, rows):
    from fairlearn.postprocessing import ThresholdOptimizer

    fit = ThresholdOptimizer(
        estimator=stock(model),
        constraints=people.moment,
        objective="accuracy_score",
        predict_method="predict_proba",
    )
    fit.fit(people.X[rows], people.y[rows], sensitive_features=people.sensitive[rows])

    def chances(others):
        return fit._pmf_predict(people.X[others], sensitive_features=people.sensitive[others])[:, 1]

    return chances, np.nan


WAYS = {
    "no promises": plain,
    GAME: partial(ours, "game"),
    NEW: partial(ours, "auto"),
    "Fairlearn ExponentiatedGradient": exponentiated_gradient,
    "Fairlearn ThresholdOptimizer": threshold_optimizer,
}


def measured(people, ways, model, seed):
    """Each way on one sample: error, worst violation, claim, share of yeses drawn, processor seconds."""
    warnings.simplefilter("ignore")  # here, since this may be another process
    people = people()
    rows, others = people.sample(seed)
    truth = people.compiled(others)
    few = rows[:1000]  # so that what is first imported is not counted
    plain(model, people, few)
    if GAME in ways or NEW in ways:
        ours("auto", model, replace(people, promises=people.promises[:1]), few)
    found = []
    for way in ways:
        started = time.process_time()
        decide, claimed = WAYS[way](model, people, rows)
        seconds = time.process_time() - started
        chances = decide(others)
        drawn = chances[(chances > 1e-9) & (chances < 1 - 1e-9)].sum() / max(chances.sum(), 1e-9)
        found.append((*judged(truth, chances), claimed, drawn, seconds))
    return found


def spread(values, sign=""):
    """A mean, and its standard error."""
    return f"{values.mean():{sign}.4f} ± {values.std(ddof=len(values) > 1) / np.sqrt(len(values)):.4f}"


def lines(model, ways, samples):
    """The table's lines of one library, of samples (redraws, ways, 5)."""
    found = np.array(samples)
    told = []
    for place, way in enumerate(ways):
        error, worst, claimed, drawn, seconds = found[:, place].T
        rather = ""
        if GAME in ways and way != GAME:
            rather = spread(error - found[:, ways.index(GAME), 0], "+")
        told.append(
            [
                f"{model}, {way}",
                spread(error),
                rather,
                f"{(worst <= 1e-9).sum()} of {len(found)}",
                "" if np.isnan(claimed).all() else f"{np.nanmean(claimed):.2f}",
                f"{worst.mean():+.4f}",
                f"{100 * drawn.mean():.1f}%",
                f"{np.median(seconds):.1f}",
                f"{np.median(seconds / found[:, 0, -1]):.1f}",
            ]
        )
    return told


HEADS = [
    "error",
    "than the game",
    "all kept",
    "claimed",
    "worst violation",
    "yeses drawn",
    "CPU s",
    "stock fits",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--models", nargs="+", default=["linear", "lightgbm"])
    parser.add_argument(
        "--without", nargs="+", default=[], choices=[*WAYS][1:], help="ways to leave out"
    )
    parser.add_argument("--rows", type=int, help="of a sample, in place of what is usual for the table")
    parser.add_argument("--judged", type=int, default=JUDGED, help="other rows, at most, for the truth")
    parser.add_argument("--redraws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="samples measured at once, a core each")
    parser.add_argument("--acs", type=Path, default=FOLDER, help="the folder of ACSIncome's two files")
    given = parser.parse_args()
    ways = [way for way in WAYS if way not in given.without]
    if not find_spec("fairlearn"):
        ways = [way for way in ways if not way.startswith("Fairlearn")]
        print("Fairlearn is not installed, so its lines are missing: pip install fairlearn\n")
    if not (given.acs / "acsincome_train.parquet").exists() and "acs" in given.tables:
        given.tables.remove("acs")
        print(f"ACSIncome is left out: {given.acs} lacks its files. Name their folder by --acs.\n")
    print(f"{given.redraws} samples of each table, on {machine()}.\n")
    for name in given.tables:
        load = partial(table, name, given.rows, given.acs, given.judged)
        cells = [(model, seed) for model in given.models for seed in range(given.redraws)]
        found = Parallel(given.jobs)(delayed(measured)(load, ways, *cell) for cell in cells)
        told = []
        for place, model in enumerate(given.models):
            told += lines(model, ways, found[place * given.redraws : (place + 1) * given.redraws])
        print(markdown([f"{name}, {load().rows:,} rows", *HEADS], told) + "\n", flush=True)


def table(name, rows, folder, judged=JUDGED):
    """A table, of which this many rows are a sample, and at most so many others say what is true."""
    people = acs(folder) if name == "acs" else TABLES[name]()
    return replace(people, rows=rows or people.rows, judged=judged)


if __name__ == "__main__":
    main()
