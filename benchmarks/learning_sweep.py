"""What the settings of learning cost and give: error beside the share of splits that are kept.

A forecast is learned once for each table, model and split; then rules are chosen with other settings
and judged on new rows, which takes a second or less for each. Settings are `module.NAME=value,value`;
those of the forecast, such as `models.MORE_ROUNDS`, are set before it is learned. `asked` is what is
asked for. For each setting the table has, over all splits: what was asked, the mean claim, the share
of splits in which all constraints hold, the mean error, and how much of the plain model's gain over
the best constant is lost.

    python benchmarks/learning_sweep.py confidence.MOST_WORTH=0.3,0.5,0.75,0.9,0.99 --jobs 16
    python benchmarks/learning_sweep.py asked=0.5,0.7,0.9,none --tables adult acs --splits 20
    python benchmarks/learning_sweep.py models.MORE_ROUNDS=1,2,3,5 --models lightgbm
"""

import argparse
import importlib
import itertools
import os
import warnings
from collections import defaultdict

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from _learning_tables import REGIMES, TABLES, load
from joblib import Parallel, delayed

from ratebound.learning.classifier import RateConstrainedClassifier

OF_FORECAST = ("models", "forecast", "folds")  # modules whose settings need another fit


def apply_setting(setting):
    """Set constants of modules, and return the confidence that is asked for."""
    asked = 0.9
    for name, value in setting:
        if name == "asked":
            asked = value
        else:
            module, _, constant = name.partition(".")
            loaded = importlib.import_module(f"ratebound.learning.{module}")
            if not hasattr(loaded, constant):
                raise ValueError(f"ratebound.learning.{module} has no {constant}")
            setattr(loaded, constant, value)
    return asked


def measure(name, model, seed, settings):
    """Return the claim, the worst violation, the error and the loss at each setting."""
    warnings.simplefilter("ignore")  # here, since this may be another process
    train, others = load(name).split(seed)
    fit = None
    learned_at = None
    results = []
    for setting in settings:
        asked = apply_setting(setting)
        of_forecast = [item for item in setting if item[0].partition(".")[0] in OF_FORECAST]
        if fit is None or of_forecast != learned_at:
            fit = RateConstrainedClassifier(
                train.constraints, model=model, confidence=None, random_state=0
            )
            fit.fit(train.X, train.y, columns=train.columns)
            learned_at = of_forecast
        fit.set_params(confidence=asked)
        chosen = fit.with_constraints(train.constraints)
        error, worst = others.judge(chosen.predict(others.X))
        plain = chosen.learned_.rules.get_rule(0).objective
        shares = np.unique(others.y, return_counts=True)[1] / len(others.y)
        loss = (error - plain) / max(1 - shares.max() - plain, 1e-9)
        claim = chosen.status_.claim
        results.append((np.nan if claim is None else claim.reached, worst, error, loss))
    return results


def read_value(text):
    return None if text == "none" else float(text) if "." in text or "e" in text else int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="+", help="module.NAME=value,value or asked=value,value")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=[*TABLES, *REGIMES])
    parser.add_argument("--models", nargs="+", default=["linear", "lightgbm"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="splits at once, a core each")
    options = parser.parse_args()
    lists = []
    for text in options.settings:
        name, _, values = text.partition("=")
        lists.append([(name, read_value(value)) for value in values.split(",")])
    settings = list(itertools.product(*lists))
    tables = [name for name in options.tables if load(name) is not None]
    cells = list(itertools.product(tables, options.models, range(options.splits)))
    results = Parallel(options.jobs)(delayed(measure)(*cell, settings) for cell in cells)
    of_table = defaultdict(list)
    for (name, model, _), result in zip(cells, results, strict=True):
        of_table[f"{name}, {model}"].append(result)
        of_table["all"].append(result)
    rows = []
    for name, of_splits in of_table.items():
        numbers = np.array(of_splits)
        for index, setting in enumerate(settings):
            claims, worst, errors, losses = numbers[:, index].T
            words = ", ".join(f"{key}={value}" for key, value in setting)
            kept = (worst <= 1e-9).mean()
            claimed = "" if np.isnan(claims).all() else f"{np.nanmean(claims):.2f}"
            rows.append(
                [name, words, claimed, f"{kept:.2f}", f"{errors.mean():.4f}", f"{losses.mean():.3f}"]
            )
    print(f"{options.splits} splits of each table, on {machine()}.\n")
    print(markdown(["table", "setting", "claimed", "kept", "error", "gain lost"], rows))


if __name__ == "__main__":
    main()
