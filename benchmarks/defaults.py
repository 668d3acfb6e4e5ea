"""What the estimator's defaults alone reach on the paper's public problems, beside its published rows.

Adult ships with the package; Bank Marketing and COMPAS are read from a folder (``--data``). Each problem
is split anew for every seed (Adult: the test rows are fixed); means and standard deviations are printed.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

import ratebound as rb

# Test error and test violation of the paper's two recommended rows: 0-1 swap m-stoch., 0-1 ext. best.
PUBLISHED = {
    "Adult": ((0.1432, 0.0559), (0.1432, -0.0015)),
    "Bank": ((0.0951, 0.0019), (0.0953, -0.0056)),
    "COMPAS": ((0.3174, 0.0111), (0.3101, -0.0085)),
}


def adult(folder, seed):
    """Train and test rows with columns, the constraints, and options."""
    splits = rb.datasets.load_adult(seed=seed)
    promises = rb.equal_opportunity({"race": ("Black", "White"), "sex": ("Female", "Male")}, ratio=0.95)
    parts = [(p.X, p.y, p.columns) for p in (splits.train, splits.test)]
    return *parts, promises, {}


def bank(folder, seed):
    table = pd.read_csv(folder / "bank_additional_full.csv.gz")
    y = (table.pop("y") == "yes").to_numpy()
    rows = np.random.default_rng(seed).permutation(len(table))
    train, test = rows[: int(0.8 * len(rows))], rows[int(0.8 * len(rows)) :]
    bands = np.digitize(table.age, np.quantile(table.age.iloc[train], [0.2, 0.4, 0.6, 0.8]))
    promises = [rb.positive_rate(band=k) <= rb.positive_rate() + 0.02 for k in range(5)]
    parts = [(table.iloc[part], y[part], {"band": bands[part]}) for part in (train, test)]
    return *parts, promises, {}


def compas(folder, seed):
    table = pd.read_csv(folder / "compas_two_years.csv.gz")
    within = table.days_b_screening_arrest.abs() <= 30
    table = table[
        within & (table.is_recid != -1) & (table.c_charge_degree != "O") & table.score_text.notna()
    ]
    y = table.two_year_recid.to_numpy() == 1
    names = ["days_b_screening_arrest", "c_charge_degree", "race", "score_text", "sex", "age"]
    names += ["decile_score", "priors_count"]
    rows = np.random.default_rng(seed).permutation(len(table))
    train, test = rows[: int(0.8 * len(rows))], rows[int(0.8 * len(rows)) :]
    groups = [rb.where(race="African-American"), rb.where(race="Caucasian")]
    groups += [rb.where(sex="Female"), rb.where(sex="Male")]
    promises = [rb.recall(group) <= rb.recall() + 0.05 for group in groups]
    parts = [(table.iloc[part], y[part], None) for part in (train, test)]
    return *parts, promises, {"model": "mlp", "hidden": (10,), "features": names}


def measured(load, folder, seed):
    """Test error, worst test violation, worst training violation, seconds to fit."""
    (X, y, columns), (new_X, new_y, new_columns), promises, options = load(folder, seed)
    model = rb.RateConstrainedClassifier(promises, random_state=seed, **options)
    started = time.process_time()
    model.fit(X, y, columns=columns)
    seconds = time.process_time() - started
    report = model.audit(new_X, new_y, columns=new_columns)
    worst = max(promise.violation for promise in report.promises)
    return report.objective.value, worst, max(model.constraints_.values()), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of bank_additional_full and compas_two_years")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print("| problem | test error | test violation | training | s | published swap | published ext |")
    print("|---|---|---|---|---|---|---|")
    for name, load in (("Adult", adult), ("Bank", bank), ("COMPAS", compas)):
        if name != "Adult" and options.data is None:
            print(f"| {name} | needs --data | | | | | |")
            continue
        found = np.array([measured(load, options.data, seed) for seed in range(options.seeds)])
        (error, worst, _, seconds), spread = found.mean(axis=0), found.std(axis=0)
        rows = " | ".join(f"{e:.4f} / {v:+.4f}" for e, v in PUBLISHED[name])
        print(
            f"| {name} | {error:.4f} ± {spread[0]:.4f} | {worst:+.4f} ± {spread[1]:.4f} | "
            f"{found[:, 2].max():+.4f} | {seconds:.1f} | {rows} |"
        )


if __name__ == "__main__":
    main()
