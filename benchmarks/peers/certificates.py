"""A threshold with a certificate: MAPIE's risk control beside `certify=`, on samples of UCI Adult.

The whole table is the population. Each sample has 4,000 rows: half to train on, half for the
certificate. The truth is the result of the decisions on all other rows. If nothing is certified, MAPIE
has no threshold and no decisions, and ratebound's certificate does not hold.
"""

import json
import os
import sys
import warnings

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is imported

import numpy as np
from _problems import whole
from mapie.risk_control import BinaryClassificationController
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb

warnings.simplefilter("ignore")
ROWS, LEVEL = 4000, 0.95
# the rate and its lower bound, then ratebound's objective, and MAPIE's preference
TASKS = (
    ("precision", 0.8, "-recall()", "recall"),
    ("recall", 0.8, "false_positive_rate()", "precision"),
)


def shares(yes, y):
    """Precision and recall of decisions."""
    return {"precision": float(y[yes].mean()) if yes.any() else 1.0, "recall": float(yes[y].mean())}


def mapie(X, y, new, task):
    rate, level, _, best = task
    half = len(y) // 2
    score = LogisticRegression(solver="liblinear").fit(X[:half], y[:half])
    controller = BinaryClassificationController(
        score.predict_proba, rate, level, confidence_level=LEVEL, best_predict_param_choice=best
    )
    controller.calibrate(X[half:], y[half:].astype(int))
    if controller.best_predict_param is None:
        return None
    return np.asarray(controller.predict(new)).astype(bool)


def ratebound(X, y, new, task):
    rate, level, objective, _ = task
    model = rb.RateConstrainedClassifier(
        f"{rate}() >= {level}", objective=objective, certify=0.5, confidence=LEVEL, random_state=0
    ).fit(X, y)
    return model.predict(new).astype(bool) if model.certificate_.holds else None


def main():
    X, y, _ = whole(rb.datasets.load_adult(), ())
    found = []
    for seed in range(int(sys.argv[1])):
        order = np.random.default_rng(seed).permutation(len(y))
        own, new = order[:ROWS], order[ROWS:]
        for task in TASKS:
            for name, decide in (("MAPIE", mapie), ("ratebound", ratebound)):
                yes = decide(X[own], y[own], X[new], task)
                line = {"task": task[0], "level": task[1], "who": name, "certified": yes is not None}
                found.append(line | ({} if yes is None else shares(yes, y[new])))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
