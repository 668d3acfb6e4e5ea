"""What confidence costs and gives: asked, claimed, kept and error on ten tables, at any settings.

A forecast is learned once for each table, model and split; then rules are chosen with other settings
and judged on new rows, which takes a second or less for each. Settings are `module.NAME=value,value`;
those of the forecast, such as `models.MORE_ROUNDS`, are set before it is learned. `asked` is what is
asked for. `claimed` is the mean claim, and of the constraints that can be tested; `reached` counts the
splits in which the latter is what was asked, and `kept` those in which all constraints hold on new
rows. `constant` is the least error of one decision for everyone, constraints aside.

    python benchmarks/learning_sweep.py asked=0.5,0.7,0.9,none --jobs 16
    python benchmarks/learning_sweep.py confidence.MOST_WORTH=0.3,0.5,0.75,0.9 --tables adult acs
    python benchmarks/learning_sweep.py models.MORE_ROUNDS=1,2,3,5 --models lightgbm
"""

import argparse
import importlib
import os
import warnings
from itertools import product
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
import pandas as pd
from _common import machine, markdown
from _learning_tables import REGIMES, TABLES, load
from joblib import Parallel, delayed

import ratebound as rb

Setting = tuple[tuple[str, Any], ...]
OF_FORECAST = ("models", "forecast", "folds")  # modules whose settings need another fit
HEADER = [
    "table", "setting", "claimed", "testable", "reached", "kept", "kept if reached", "error",
    "constant",
]  # fmt: skip


def apply_setting(setting: Setting) -> float | None:
    """Set constants of modules, and return the confidence that is asked for."""
    asked = 0.9
    for name, value in setting:
        if name == "asked":
            asked = value
            continue
        module, _, constant = name.partition(".")
        loaded = importlib.import_module(f"ratebound.learning.{module}")
        if not hasattr(loaded, constant):
            raise ValueError(f"ratebound.learning.{module} has no {constant}")
        setattr(loaded, constant, value)
    return asked


def select_forecast(setting: Setting) -> Setting:
    """Return the part of a setting that needs another fit."""
    return tuple(item for item in setting if item[0].partition(".")[0] in OF_FORECAST)


def measure(name: str, model: str, seed: int, settings: list[Setting]) -> list[dict[str, Any]]:
    """Return what is reached on one split at each setting."""
    warnings.simplefilter("ignore")  # here, since this may be another process
    train, others = load(name).split(seed)
    fits: dict[Setting, Any] = {}
    results = []
    for setting in settings:
        asked = apply_setting(setting)
        forecast = select_forecast(setting)
        if forecast not in fits:
            fit = rb.RateConstrainedClassifier(
                train.constraints, model=model, confidence=None, random_state=0
            )
            fits = {forecast: fit.fit(train.X, train.y, columns=train.columns)}
        fit = fits[forecast].set_params(confidence=asked)
        chosen = fit.with_constraints(train.constraints)
        claim = chosen.status_.claim
        error, worst = others.judge(chosen.predict(others.X))
        shares = np.bincount(others.y) / len(others.y)
        results.append(
            {
                "table": f"{name}, {model}",
                "setting": ", ".join(f"{key}={value}" for key, value in setting),
                "claimed": np.nan if claim is None else claim.reached,
                "testable": np.nan if claim is None else claim.reached_testable,
                "reached": asked is not None and claim.reached_testable >= asked,
                "kept": worst <= 1e-9,
                "error": error,
                "constant": 1 - shares.max(),
            }
        )
    return results


def list_rows(results: pd.DataFrame) -> list[list[str]]:
    """Return a row for every table and setting, and for all tables."""
    rows = []
    everywhere = results.assign(table="all")
    by_setting = pd.concat([results, everywhere]).groupby(["table", "setting"], sort=False)
    for (table, setting), part in by_setting:
        cells = []
        for column in ("claimed", "testable"):
            mean = part[column].mean()
            cells.append("" if np.isnan(mean) else f"{mean:.2f}")
        kept_if_reached = part[part.reached].kept.mean()
        cells += [f"{part.reached.sum()} of {len(part)}", f"{part.kept.mean():.2f}"]
        cells.append("" if np.isnan(kept_if_reached) else f"{kept_if_reached:.2f}")
        rows.append([table, setting, *cells, f"{part.error.mean():.4f}", f"{part.constant.mean():.4f}"])
    return rows


def read_value(text: str) -> float | None:
    return None if text == "none" else float(text) if "." in text or "e" in text else int(text)


def read_settings(texts: list[str]) -> list[Setting]:
    """Return all combinations of settings such as `asked=0.5,0.9`."""
    lists = []
    for text in texts:
        name, _, values = text.partition("=")
        lists.append([(name, read_value(value)) for value in values.split(",")])
    return list(product(*lists))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="+", help="module.NAME=value,value or asked=value,value")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=[*TABLES, *REGIMES])
    parser.add_argument("--models", nargs="+", default=["linear", "lightgbm"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="splits at once, a core each")
    options = parser.parse_args()
    settings = read_settings(options.settings)
    tables = [name for name in options.tables if load(name) is not None]
    cells = product(tables, options.models, range(options.splits))
    lists = Parallel(options.jobs)(delayed(measure)(*cell, settings) for cell in cells)
    results = pd.DataFrame([result for listed in lists for result in listed])
    print(f"{options.splits} splits of each table, on {machine()}.\n")
    print(markdown(HEADER, list_rows(results)))


if __name__ == "__main__":
    main()
