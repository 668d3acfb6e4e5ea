"""Columns that may be used when deciding: by the game, by the plug-in, and the plug-in without them.

Samples are drawn as in `new_rows.py`, and judged on all other rows of the table. The models do not see
the columns that promises name. Seconds are of the processor.

    python benchmarks/known.py --samples 8
    python benchmarks/known.py --models lightgbm --tables compas
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace

import new_rows
import numpy as np
from _common import machine, markdown

import ratebound._old as rb

WAYS = {
    "game, known": ("game", True),
    "plug-in, known": ("plug-in", True),
    "plug-in": ("plug-in", False),
}
HEADS = ["error", "than the game", "all kept", "claimed", "worst violation", "CPU s"]


def hidden(people, names, *columns):
    """The same people, whose features are not of these columns."""
    seen = [place for place, name in enumerate(names) if not name.startswith(columns)]
    return replace(people, X=people.X[:, seen])


def cases(tables):
    """Problems by name, each with the known columns."""
    found = {}
    if "adult" in tables:
        adult = hidden(new_rows.adult(), rb.datasets.load_adult().feature_names, "sex", "race")
        parity = [rb.recall(sex=sex) >= 0.95 * rb.recall() for sex in ("Female", "Male")]
        eighty = [rb.positive_rate(sex="Female") >= 0.8 * rb.positive_rate(sex="Male")]
        found["adult, recalls by sex, sex known"] = replace(adult, promises=parity), ["sex"]
        found["adult, 80% rule by sex, sex known"] = replace(adult, promises=eighty), ["sex"]
        found["adult, recalls by race and sex, sex known"] = adult, ["sex"]
        found["adult, recalls by race and sex, both known"] = adult, ["sex", "race"]
    if "compas" in tables:
        compas = hidden(new_rows.compas(), rb.datasets.load_compas().feature_names, "sex", "race")
        found["compas, recalls by race and sex, both known"] = compas, ["sex", "race"]
    if "bank" in tables:
        bank = hidden(new_rows.bank(), rb.datasets.load_bank().feature_names, "age")
        found["bank, positive rates by age, its band known"] = bank, ["band"]
    return found


def measured(people, known, model, method, seed):
    """Error and worst violation on new rows, the claim, and processor seconds of one sample."""
    rows, others = people.sample(seed)
    X, y, columns = people.only(rows)
    started = time.process_time()
    options = {"model": model, "confidence": new_rows.CONFIDENCE, "method": method, "random_state": 0}
    fit = rb.RateConstrainedClassifier(people.promises, known=known, **options)
    fit.fit(X, y, columns=columns)
    seconds = time.process_time() - started
    X, _, columns = people.only(others)
    chances = fit.solution_.decision_proba(X, columns=columns)[:, 1]
    return *new_rows.judged(people.compiled(others), chances), fit.status_.confidence or 0.0, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=["adult", "compas", "bank"])
    parser.add_argument("--models", nargs="+", default=["linear", "lightgbm"])
    parser.add_argument("--samples", type=int, default=8)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{given.samples} samples of each table, on {machine()}.\n")
    for name, (people, known) in cases(given.tables).items():
        lines = []
        for model in given.models:
            measured(people, known, model, "plug-in", given.samples)  # what is imported is not counted
            game = None
            for way, (method, knows) in WAYS.items():
                asked = people, known if knows else None, model, method
                found = np.array([measured(*asked, seed) for seed in range(given.samples)])
                game = found if game is None else game
                error, worst, claimed, seconds = found.T
                told = [new_rows.spread(error), new_rows.spread(error - game[:, 0], "+")]
                told += [f"{(worst <= 1e-9).sum()} of {len(found)}", f"{claimed.mean():.2f}"]
                told += [f"{worst.mean():+.4f}", f"{np.median(seconds):.1f}"]
                lines.append([f"{model}, {way}", *told])
        print(markdown([name, *HEADS], lines) + "\n", flush=True)


if __name__ == "__main__":
    main()
