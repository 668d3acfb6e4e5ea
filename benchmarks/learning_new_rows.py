"""Constraints on new rows: error, whether all of them hold, what was claimed, and seconds.

Ten tables play populations: a model is trained on a sample of each, and the truth is what it does on
other rows. `stock` is the same library without constraints. With `--beside` the landed estimator is
fitted on the same samples, in the same run. Seconds are of the processor. Every result is a line of
JSON in `--out`, so that a run can be continued.

    python benchmarks/learning_new_rows.py --splits 10 --jobs 16 --beside
    python benchmarks/learning_new_rows.py --tables "five classes" infeasible --models lightgbm
"""

import argparse
import json
import os
import time
import warnings
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from _learning_tables import REGIMES, TABLES, load
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratebound.learning.classifier import RateConstrainedClassifier

FEW = 1000  # rows of a first fit, so that what is imported is not counted


def fit_stock(model, people, confidence):
    if model == "linear":
        fit = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    else:
        from lightgbm import LGBMClassifier

        fit = LGBMClassifier(n_jobs=1, verbose=-1)
    return fit.fit(people.X, people.y), None


def fit_learning(model, people, confidence):
    fit = RateConstrainedClassifier(
        people.constraints, model=model, confidence=confidence, random_state=0
    )
    fit.fit(people.X, people.y, columns=people.columns)
    return fit, fit.status_.confidence


def fit_landed(model, people, confidence):
    import ratebound._old as landed

    fit = landed.RateConstrainedClassifier(
        people.constraints, model=model, confidence=confidence, random_state=0
    )
    fit.fit(people.X, people.y, columns=people.columns)
    return fit, fit.status_.confidence


WAYS = {"stock": fit_stock, "learning": fit_learning, "landed": fit_landed}


def measure(name, model, way, seed, confidence):
    """Return the results of one fit."""
    warnings.simplefilter("ignore")  # here, since this may be another process
    train, others = load(name).split(seed)
    fit_way = WAYS[way]
    fit_way(model, train.select(slice(0, FEW)), None)
    started = time.process_time()
    fit, claim = fit_way(model, train, confidence)
    seconds = time.process_time() - started
    error, worst = others.judge(fit.predict(others.X))
    key = [name, model, way, seed, confidence]
    return {"key": key, "error": error, "worst": worst, "claim": claim, "seconds": seconds}


def format_mean(values, sign=""):
    spread = np.std(values, ddof=len(values) > 1) / np.sqrt(len(values))
    return f"{np.mean(values):{sign}.4f} ± {spread:.4f}"


def show(results):
    """Print a line for each table, model and way, on the splits that all ways have."""
    cells = defaultdict(lambda: defaultdict(dict))
    for result in results:
        name, model, way, seed, confidence = result["key"]
        cells[name, model, confidence][way][seed] = result
    rows = []
    for (name, model, confidence), ways in cells.items():
        seeds = sorted(set.intersection(*(set(of_way) for of_way in ways.values())))
        for way, of_way in ways.items():
            lines = [of_way[seed] for seed in seeds]
            errors = np.array([line["error"] for line in lines])
            seconds = np.array([line["seconds"] for line in lines])
            gap = ""
            if "landed" in ways and way == "learning":
                landed = np.array([ways["landed"][seed]["error"] for seed in seeds])
                gap = format_mean(errors - landed, "+")
            stock = np.array([ways["stock"][seed]["seconds"] for seed in seeds])
            kept = sum(line["worst"] <= 1e-9 for line in lines)
            claims = [line["claim"] for line in lines if line["claim"] is not None]
            rows.append(
                [
                    f"{name}, {model}, {confidence}",
                    way,
                    format_mean(errors),
                    gap,
                    f"{kept} of {len(lines)}",
                    f"{np.mean(claims):.2f}" if claims else "",
                    f"{np.mean([line['worst'] for line in lines]):+.4f}",
                    f"{np.median(seconds):.2f}",
                    f"{np.median(seconds / stock):.1f}",
                ]
            )
    heads = [
        "table",
        "way",
        "error",
        "than landed",
        "all kept",
        "claimed",
        "worst",
        "CPU s",
        "stock fits",
    ]
    print(markdown(heads, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=[*TABLES, *REGIMES])
    parser.add_argument("--models", nargs="+", default=["linear", "lightgbm"])
    parser.add_argument("--confidence", nargs="+", default=["0.9"], help='numbers, or "none"')
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="fits at once, a core each")
    parser.add_argument("--beside", action="store_true", help="fit the landed estimator, too")
    parser.add_argument("--out", type=Path, help="a file of results, to continue")
    options = parser.parse_args()
    results = []
    if options.out and options.out.exists():
        results = [json.loads(line) for line in options.out.read_text().splitlines()]
    done = {tuple(result["key"]) for result in results}
    ways = ["stock", "learning", *(["landed"] if options.beside else [])]
    cells = []
    for name in options.tables:
        if load(name) is None:
            continue
        for model in options.models:
            for text in options.confidence:
                confidence = None if text == "none" else float(text)
                for seed in range(options.splits):
                    cells += [(name, model, way, seed, confidence) for way in ways]
    cells = [cell for cell in cells if cell not in done]
    for result in Parallel(options.jobs, return_as="generator")(
        delayed(measure)(*cell) for cell in cells
    ):
        results.append(result)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(result) + "\n")
    print(f"{options.splits} splits of each table, on {machine()}.\n")
    show(results)


if __name__ == "__main__":
    main()
