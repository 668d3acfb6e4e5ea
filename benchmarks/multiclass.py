"""More than two classes: floors under the recall of each class, on the rows trained on and on new ones.

Every table is split several times into rows to train on and rows to judge on. A model without promises
stands beside one that promises a floor for every class in every group, and one that promises it on new
rows with a probability of .9. Recalls are expected over the mixture.

    python benchmarks/multiclass.py --tables digits made education --splits 10
"""

import argparse
import os
import warnings
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from sklearn.datasets import load_digits

import ratebound._old as rb
from ratebound._old.datasets.files import columns_of, embedded

warnings.simplefilter("ignore")
SETTINGS = {
    "no promises": {"promised": False},
    "floors": {"promised": True},
    "floors, confidence .9": {"promised": True, "confidence": 0.9},
}


@dataclass(frozen=True)
class Rows:
    """A table, the groups that promises name, and the floor of every class in each of them."""

    X: object  # an array or a frame
    y: np.ndarray
    group: np.ndarray  # (n,) one value each
    floor: float
    train: int  # rows to train on

    def promises(self):
        return [
            rb.recall(of=of, group=group) >= self.floor
            for of in np.unique(self.y).tolist()
            for group in np.unique(self.group).tolist()
        ]


def digits():
    """Ten digits; the groups are written with much ink or with little."""
    X, y = load_digits(return_X_y=True)
    ink = X.sum(axis=1)
    return Rows(X / 16, y, np.where(ink > np.median(ink), "much", "little"), 0.9, 1200)


def made():
    """Seven kinds of forest as uneven as those of Covertype, in four areas."""
    rng = np.random.default_rng(0)
    shares = np.array([36.5, 48.8, 6.2, 0.5, 1.6, 3.0, 3.4]) / 100
    y = rng.choice(7, 40_000, p=shares)
    area = rng.choice(4, len(y))
    X = rng.normal(size=(len(y), 10)) + 0.9 * rng.normal(size=(7, 10))[y]
    X[:, 0] += 0.8 * area
    return Rows(X, y, np.array(["a", "b", "c", "d"])[area], 0.6, 20_000)


def education():
    """How far people of Adult went to school, from the other columns; the groups are men and women."""
    import pandas

    table = columns_of(embedded("adult.csv.gz"))
    years = table.pop("education_num")
    for name in ("part", "income", "education", "fnlwgt"):
        table.pop(name, None)
    y = np.array(["no degree", "high school", "college", "bachelor or more"])[
        np.searchsorted([9, 10, 13], years, side="right")
    ]
    group = table.pop("sex")
    return Rows(pandas.DataFrame(table), y, np.asarray(group), 0.35, 15_000)


TABLES = {"digits": digits, "made": made, "education": education}


def only(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def lowest(model, X, y, group):
    """The lowest recall of a class in a group."""
    said = model.decision_proba(X)
    return min(
        said[(y == of) & (group == each), place].mean()
        for place, of in enumerate(model.classes_)
        for each in np.unique(group)
    )


def measured(rows, setting, seed, model):
    order = np.random.default_rng(seed).permutation(len(rows.y))
    parts = order[: rows.train], order[rows.train :]
    options = dict(SETTINGS[setting])
    promises = rows.promises() if options.pop("promised") else ()
    estimator = rb.RateConstrainedClassifier(
        promises, model=model, random_state=seed, **{"confidence": None} | options
    )
    train, test = ((only(rows.X, part), rows.y[part], rows.group[part]) for part in parts)
    estimator.fit(*train[:2], columns={"group": train[2]})
    found = []
    for X, y, group in (train, test):
        said = estimator.decision_proba(X)
        right = said[np.arange(len(y)), np.searchsorted(estimator.classes_, y)].mean()
        found += [1 - right, lowest(estimator, X, y, group)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--models", nargs="+", default=["linear"])
    parser.add_argument("--splits", type=int, default=10)
    asked = parser.parse_args()
    print(machine(), end="\n\n")
    lines = []
    for name in asked.tables:
        rows = TABLES[name]()
        for model in asked.models:
            for setting in SETTINGS:
                found = np.array([measured(rows, setting, seed, model) for seed in range(asked.splits)])
                kept = [int((found[:, i] >= rows.floor - 1e-6).sum()) for i in (1, 3)]
                mean = found.mean(axis=0)
                lines.append(
                    [f"{name}, {model}", setting, f"{rows.floor:g}", f"{mean[0]:.3f}", f"{mean[2]:.3f}",
                     f"{mean[1]:.3f}", f"{mean[3]:.3f}", *(f"{k} of {asked.splits}" for k in kept)]
                )  # fmt: skip
                print(lines[-1], flush=True)
    heads = ["table", "trained with", "floor", "error, train", "error, new", "lowest recall, train",
             "lowest recall, new", "all kept, train", "all kept, new"]  # fmt: skip
    print(f"\n{markdown(heads, lines)}")


if __name__ == "__main__":
    main()
