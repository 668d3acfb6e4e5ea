"""How well `predict_proba` is calibrated, against isotonic regression and scikit-learn's calibration.

Each classifier is trained with the table's promises on its training rows, and all are measured on the
test rows: Brier score, log loss, and the expected calibration error in ten bins of equally many rows.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from _common import machine, markdown
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss, log_loss

import ratebound._old as rb

SEXES = {"sex": ("Female", "Male")}
TABLES = {
    "Adult": (rb.datasets.load_adult, rb.equal_opportunity(SEXES, ratio=0.95)),
    "COMPAS": (rb.datasets.load_compas, rb.equal_opportunity(SEXES, slack=0.05)),
    "Bank": (rb.datasets.load_bank, [rb.positive_rate() <= 0.05]),
}
MODELS = {
    "linear": "linear",
    "lightgbm": "lightgbm",
    "forest": RandomForestClassifier(100, random_state=0),
}


def calibration_error(labels: np.ndarray, chances: np.ndarray) -> float:
    """The mean distance of probabilities from what came true, in bins of equally many rows."""
    bins = np.array_split(np.argsort(chances, kind="stable"), 10)
    gaps = [len(own) * abs(labels[own].mean() - chances[own].mean()) for own in bins]
    return sum(gaps) / len(labels)


def measured(model: str, table: str, count: int | None) -> list[list[str]]:
    load, promises = TABLES[table]
    splits = load()
    others, test = splits.validation, splits.test
    train = splits.train if count is None else splits.train.only(np.arange(len(splits.train))[:count])
    columns = {name: np.asarray(values) for name, values in train.columns.items() if name == "sex"}
    base = rb.RateConstrainedClassifier(promises, model=MODELS[model], random_state=0, confidence=None)

    def fitted(**options):
        return clone(base).set_params(**options).fit(train.X, train.y, columns=columns)

    start = time.perf_counter()
    plain, careful = fitted(), fitted(confidence=0.9)
    ways = {
        f"predict_proba ({plain.solution_.calibration.on})": plain,
        f"predict_proba, confidence=0.9 ({careful.solution_.calibration.on})": careful,
    }
    flattered = rb.Population(train.X, train.y)
    ways["the first, on its training rows alone"] = plain.solution_.calibrated(flattered)
    for method in ("sigmoid", "isotonic"):
        name = f"CalibratedClassifierCV of the first, {method}, on {len(others):,} more rows"
        ways[name] = CalibratedClassifierCV(FrozenEstimator(plain), method=method).fit(
            others.X, others.y
        )
    found = []
    for name, way in ways.items():
        chances = way.predict_proba(test.X)[:, 1]
        numbers = (
            brier_score_loss(test.y, chances),
            log_loss(test.y, chances.clip(1e-6, 1 - 1e-6)),
            calibration_error(test.y, chances),
        )
        found.append([table, model, name, *(f"{number:.4f}" for number in numbers)])
    print(f"{table}, {model}: {time.perf_counter() - start:.0f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["linear", "lightgbm"])
    parser.add_argument("--rows", type=int, help="train on the first so many rows only")
    args = parser.parse_args()
    pairs = [(model, table) for model in args.models for table in args.tables]
    rows = [row for pair in pairs for row in measured(*pair, args.rows)]
    print(machine())
    header = ["table", "model", "probabilities", "Brier", "log loss", "calibration error"]
    print(markdown(header, rows))


if __name__ == "__main__":
    main()
