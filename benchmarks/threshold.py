"""One threshold under a floor, on 20 tables: whether it holds on new rows, and what is lost.

For each table and split, a logistic regression gets a threshold for the highest precision at a
recall of .8, and for the highest recall at a precision of .8, with a confidence of .9. The peer is
scikit-learn's `TunedThresholdClassifierCV` with a scorer that is -1 below the floor. *Lost* is how
much more the best threshold on new rows reaches there. A threshold that no new row passes has no
precision that could be too low; its recall is 0.

    python benchmarks/threshold.py --splits 50 --jobs 16
    python benchmarks/threshold.py --splits 5 --tables cancer adult made       # some, by name
"""

import os
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
import pandas as pd
from _common import Aim, machine, markdown, options, tell
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, precision_score, recall_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratebound.learning.threshold import ConstrainedThresholdClassifier

FLOOR = 0.8
CONFIDENCE = 0.9
MOST_ROWS = 30_000  # of a table, drawn once
MOST_VALUES = 40  # of a column of texts that is used
BESIDE = Path(__file__).resolve().parents[2] / "shared"
SCORES = {"recall": recall_score, "precision": partial(precision_score, zero_division=1.0)}
OTHER = {"recall": "precision", "precision": "recall"}  # what is as high as possible
LEAST_HELD = 0.9
LEAST_HELD_ANYWHERE = 0.85
MOST_LOST = 0.5  # times what scikit-learn loses
MOST_TIME = 0.1  # times what scikit-learn takes


class Table(NamedTuple):
    """A table, and how many of its rows to train on: few enough that the rest tells the truth."""

    read: Callable[[Path], tuple[Any, Any]]
    train_rows: int


class Result(NamedTuple):
    """What one threshold did on new rows."""

    table: str
    floor: str
    way: str
    held: bool
    lost: float
    seconds: float


# --- tables ---------------------------------------------------------------------------------------


def read_file(
    folder: Path,
    name: str,
    label: str,
    positive: str,
    left_out: Iterable[str] = (),
) -> tuple[Any, Any]:
    """Return features and labels of a file: numbers, and a flag for each value of a text."""
    path = folder / name
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    frame = read(path)
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    labels = frame[label].astype(str).str.rstrip(".") == positive
    features = frame.drop(columns=[label, *left_out])
    texts = features.select_dtypes(exclude=["number", "bool"])
    values = texts.nunique()
    flags = pd.get_dummies(features.drop(columns=values.index[values > MOST_VALUES]))
    return flags.fillna(0).to_numpy(float), labels.to_numpy(int)


def read_crime(folder: Path) -> tuple[Any, Any]:
    frame = pd.read_csv(folder / "bench/communities_crime.csv.gz")
    crime = frame["ViolentCrimesPerPop"]
    names = ["state", "communityname", "fold", "ViolentCrimesPerPop", "Black", "class"]
    features = frame.drop(columns=names, errors="ignore")
    return features.fillna(0).to_numpy(float), (crime > crime.quantile(0.7)).to_numpy(int)


def read_cancer(folder: Path) -> tuple[Any, Any]:
    cancer = load_breast_cancer()
    return cancer.data[:, :5], 1 - cancer.target


def read_digits(folder: Path, positive: Iterable[int]) -> tuple[Any, Any]:
    digits = load_digits()
    return digits.data[:, 20:44], np.isin(digits.target, list(positive)).astype(int)


def make_table(folder: Path, **shape: Any) -> tuple[Any, Any]:
    return make_classification(20_000, 12, n_informative=5, random_state=3, **shape)


def list_file(
    train_rows: int,
    name: str,
    label: str,
    positive: str,
    *left_out: str,
) -> Table:
    read = partial(read_file, name=name, label=label, positive=positive, left_out=left_out)
    return Table(read, train_rows)


TABLES = {
    "cancer": Table(read_cancer, 120),
    "digits, 8": Table(partial(read_digits, positive=[8]), 450),
    "digits, even": Table(partial(read_digits, positive=range(0, 10, 2)), 360),
    "adult": list_file(2000, "data/adult.csv.gz", "income", ">50K", "uci_part"),
    "bank": list_file(2000, "data/bank_full.csv.gz", "y", "yes"),
    "bank, later": list_file(2000, "data/bank_additional_full.csv.gz", "y", "yes"),
    "compas": list_file(1200, "data/compas_two_years.csv.gz", "two_year_recid", "1", "is_recid"),
    "pairs": list_file(2000, "data/patentsview_pairs.csv.gz", "label", "1", "pair_id", "inventor"),
    "noisy pairs": list_file(
        2000, "data/patentsview_noisy_steering.csv.gz", "label", "1", "part", "noisy_label"
    ),
    "loans": list_file(2000, "data/sba_filtering.csv.gz", "label", "1", "label_real"),
    "flights": list_file(2000, "data/flights_map_intent.csv.gz", "label", "1", "date"),
    "census": list_file(2000, "bench/acsincome_train.parquet", "PINCP", "1"),
    "mortgages": list_file(2000, "bench/hmda_train.parquet", "high_priced", "1"),
    "credit": list_file(250, "bench/friedler_german.csv.gz", "credit", "1", "sex-age"),
    "arrests": list_file(
        1200, "bench/friedler_propublica-recidivism.csv.gz", "two_year_recid", "1", "sex-race"
    ),
    "crime": Table(read_crime, 400),
    "made": Table(make_table, 1000),
    "made, rare": Table(partial(make_table, weights=[0.93], class_sep=0.8), 3000),
    "made, noisy": Table(partial(make_table, flip_y=0.2), 1000),
    "made, hard": Table(partial(make_table, class_sep=0.5, weights=[0.6]), 1000),
}


def read_tables(names: Iterable[str], folder: Path) -> dict[str, tuple[Any, Any]]:
    """Return the tables with these names, and say which are not there."""
    tables = {}
    for name in names:
        try:
            tables[name] = TABLES[name].read(folder)
        except FileNotFoundError as error:
            print(f"{name}: left out, since there is no {error.filename}", flush=True)
    return tables


# --- one split ------------------------------------------------------------------------------------


def make_classifier() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))


def score_above_floor(labels: Any, decisions: Any, floor: str) -> float:
    """Return what is to be as high as possible, and -1 below the floor."""
    if SCORES[floor](labels, decisions) < FLOOR:
        return -1.0
    return float(SCORES[OTHER[floor]](labels, decisions))


def make_ways(floor: str, seed: int) -> dict[str, Any]:
    scoring = make_scorer(score_above_floor, floor=floor)
    return {
        "ratebound": ConstrainedThresholdClassifier(
            make_classifier(),
            f"{floor}() >= {FLOOR}",
            objective=f"maximize {OTHER[floor]}()",
            confidence=CONFIDENCE,
            random_state=seed,
        ),
        "scikit-learn": TunedThresholdClassifierCV(make_classifier(), scoring=scoring),
    }


def find_best(labels: Any, scores: Any, floor: str) -> float:
    """Return the best value of any threshold on new rows that is not below the floor there."""
    highest_first = np.argsort(-scores, kind="stable")
    hits = np.cumsum(labels[highest_first])
    values = {"recall": hits / labels.sum(), "precision": hits / np.arange(1, len(labels) + 1)}
    holds = values[floor] >= FLOOR
    return float(values[OTHER[floor]][holds].max(initial=0.0))


def judge_split(
    name: str,
    X: Any,
    y: Any,
    seed: int,
) -> list[Result]:
    """Return what each way does on one split of a table."""
    warnings.simplefilter("ignore")
    X_train, X_new, y_train, y_new = train_test_split(
        X, y, train_size=TABLES[name].train_rows, random_state=seed, stratify=y
    )
    scores = make_classifier().fit(X_train, y_train).predict_proba(X_new)[:, 1]
    results = []
    for floor, other in OTHER.items():
        best = find_best(y_new, scores, floor)
        for way, model in make_ways(floor, seed).items():
            start = time.process_time()
            model.fit(X_train, y_train)
            seconds = time.process_time() - start
            decisions = model.predict(X_new)
            held = bool(SCORES[floor](y_new, decisions) >= FLOOR)
            reached = float(SCORES[other](y_new, decisions))
            results.append(Result(name, floor, way, held, best - reached, seconds))
    return results


# --- all of them ----------------------------------------------------------------------------------


def average(results: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return results.groupby(by, sort=False)[["held", "lost", "seconds"]].mean()


def list_rows(results: pd.DataFrame) -> Iterable[list[str]]:
    """Yield the rows that are printed, of every floor and table, and of all tables together."""
    everywhere = results.assign(table="all")
    groups = pd.concat([results, everywhere]).groupby(["floor", "table"], sort=False)
    for (floor, table), part in groups:
        of_both = average(part, ["way"])
        cells = []
        for column, form in (("held", "{:.2f}"), ("lost", "{:.3f}"), ("seconds", "{:.3f}")):
            cells += [form.format(of_both[column][way]) for way in ("ratebound", "scikit-learn")]
        yield [f"{floor} at least {FLOOR}", table, *cells]


def list_aims(results: pd.DataFrame) -> list[Aim]:
    """Return the aims: over all, on the worst table, and beside scikit-learn."""
    by_table = average(results[results["way"] == "ratebound"], ["floor", "table"])["held"]
    means = average(results, ["way", "floor"])
    beside = {"who": "scikit-learn", "by": "peer"}
    aims = [
        Aim("not held", 1 - LEAST_HELD, 1 - by_table.mean(), "of splits", by="itself"),
        Aim(
            "not held, the worst table",
            1 - LEAST_HELD_ANYWHERE,
            1 - by_table.min(),
            "of splits",
            by="itself",
            note=", ".join(by_table.idxmin()),
        ),
    ]
    for floor, ours in means.loc["ratebound"].iterrows():
        theirs = means.loc["scikit-learn", floor]
        held = f"{floor} at least {FLOOR}; scikit-learn held it in {theirs['held']:.2f}"
        lost = Aim("lost", MOST_LOST, ours["lost"], "", peer=theirs["lost"], note=held, **beside)
        taken = Aim("time", MOST_TIME, ours["seconds"], "s", peer=theirs["seconds"], **beside)
        aims += [lost, taken]
    return aims


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shared", type=Path, default=BESIDE, help="the folder of the files")
    asked = parser.parse_args()
    print(machine())
    tasks = []
    for name, (X, y) in read_tables(asked.tables, asked.shared).items():
        tasks += [delayed(judge_split)(name, X, y, seed) for seed in range(asked.splits)]
    lists = Parallel(n_jobs=asked.jobs)(tasks)
    results = pd.DataFrame([result for listed in lists for result in listed])
    header = ["floor", "table", "held", "sklearn", "lost", "sklearn", "seconds", "sklearn"]
    print(markdown(header, list_rows(results)))
    cells = {}
    for index, row in average(results, ["floor", "table", "way"]).iterrows():
        cells |= {f"{' '.join(index)} {column}": row[column] for column in ("lost", "seconds")}
    tell(cells, list_aims(results), asked.json)


if __name__ == "__main__":
    main()
