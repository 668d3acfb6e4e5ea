"""What the estimator's defaults alone reach, on training and on test rows, beside plain models.

Three tables, means and standard deviations over a few splits:

- *promises*: the paper's public problems, and equal odds for eight groups of Adult (32 constraints),
  beside the same model trained without promises;
- *asks*: one rate capped or floored on Adult, for linear models, LightGBM and XGBoost, beside the plain
  model with the best single threshold on its training rows;
- *many*: from 1 to 1,000 constraints on Adult, linear, beside cutting planes on logistic regression.

Adult ships with the package; Bank Marketing and COMPAS are read from a folder (``--data``).
"""

import argparse
import itertools
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
import pandas as pd
from _common import machine, markdown
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from xgboost import XGBClassifier

import ratebound._old as rb

warnings.simplefilter("ignore")


# --- problems: train and test rows with columns, the constraints, and options of the estimator -------


def adult(folder, seed):
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
    return *parts, promises, {"model": rb.MLP((10,), (0.003, 0.01, 0.03)), "features": names}


def equalized_odds(groups, slack=0.05):
    """Recall and false positives of each group within `slack` of all: four constraints a group."""
    return [
        constraint
        for group in groups
        for rate in (rb.recall, rb.false_positive_rate)
        for constraint in (rate(group) <= rate() + slack, rate(group) >= rate() - slack)
    ]


def eight_groups(folder, seed):
    train, test, _, options = adult(folder, seed)
    races = ("White", "Black", "Asian-Pac-Islander", "Other")
    groups = [rb.where(sex=s, race=r) for s in ("Female", "Male") for r in races]
    return train, test, equalized_odds(groups), options


PROBLEMS = {
    "Adult, 4": adult,
    "Adult, 32": eight_groups,
    "Bank, 5": bank,
    "COMPAS, 4": compas,
}


# --- promises ----------------------------------------------------------------------------------------


def judged(model, problem, X, y, columns):
    """Objective and worst violation of a fitted model's probabilities of yes."""
    table = X if isinstance(X, pd.DataFrame) else {}
    spoken = {**{name: table[name] for name in table}, **(columns or {})}
    compiled = rb.compile(problem, rb.Population(None, y, columns=spoken))
    objectives, violations = compiled.evaluate(model.solution_.member_scores(X).T)
    weights = model.solution_.weights
    return weights @ objectives, (weights @ violations).max()


def promises_measured(load, folder, seed):
    """Error and violation on training and test rows, with promises and without, and seconds."""
    train, test, promises, options = load(folder, seed)
    problem, found = rb.Problem(rb.error_rate(), promises), []
    for constraints in ((), promises):
        model = rb.RateConstrainedClassifier(
            constraints, random_state=seed, **{"confidence": None} | options
        )
        started = time.process_time()
        model.fit(train[0], train[1], columns=train[2])
        seconds = time.process_time() - started
        for X, y, columns in (train, test):
            found += judged(model, problem, X, y, columns)
    return [*found, seconds]


def promises_table(folder, seeds):
    rows = []
    for name, load in PROBLEMS.items():
        if folder is None and not name.startswith("Adult"):
            rows.append([name, "needs --data", *[""] * 4])
            continue
        found = np.array([promises_measured(load, folder, seed) for seed in range(seeds)])
        pairs = [pair(found[:, i], found[:, i + 1]) for i in range(0, 8, 2)]
        rows.append([name, *pairs, f"{found[:, 8].mean():.1f}"])
    heads = ["problem, constraints", "plain, training", "plain, test", "training", "test", "s"]
    print(markdown(heads, rows), flush=True)


def pair(errors, violations):
    return (
        f"{errors.mean():.4f} ± {errors.std():.4f} / {violations.mean():+.4f} ± {violations.std():.4f}"
    )


# --- asks --------------------------------------------------------------------------------------------


ASKS = (
    ("-recall()", "precision() >= 0.8"),
    ("error_rate()", "positive_rate() <= 0.15"),
    ("error_rate()", "false_positive_rate() <= 0.05"),
    ("error_rate()", "recall() >= 0.9"),
    ("error_rate()", "roc_auc() >= 0.92"),
)
PLAIN = {
    "linear": lambda: LogisticRegression(solver="liblinear"),
    "lightgbm": lambda: rb.Boosted(LGBMClassifier(verbosity=-1, n_jobs=1)),
    "xgboost": lambda: rb.Boosted(XGBClassifier(n_jobs=1)),
}


def shares(yes, scores, y):
    """Error, recall, precision, share of yeses, false positive rate, area, of probabilities of yes."""
    said = max(yes.sum(), 1e-9)
    error = np.where(y, 1 - yes, yes).mean()
    return [error, yes[y].mean(), yes[y].sum() / said, yes.mean(), yes[~y].mean(),
            roc_auc_score(y, scores)]  # fmt: skip


def best_threshold(plain, train, objective, promise):
    """The single threshold with the lowest objective that keeps the promise on the training rows."""
    scores = plain.predict_proba(train.X)[:, 1]
    cuts = np.append(np.unique(np.quantile(scores, np.linspace(0, 1, 2001))), 2.0)
    compiled = rb.compile(rb.Problem(objective, promise), train)
    objectives, violations = compiled.evaluate(scores - cuts[:, None])
    worst = violations.max(axis=1).clip(min=0)
    return cuts[np.lexsort((objectives, worst))[0]]


def asks_measured(kind, objective, promise, seed):
    """For ours and the plain model: whether it is feasible, and shares on training and test rows."""
    splits = rb.datasets.load_adult(seed=seed)
    train, test = splits.train, splits.test
    model = rb.RateConstrainedClassifier(
        promise, objective=objective, model=kind, random_state=seed, confidence=None
    )
    model.fit(train.X, train.y, columns=train.columns)
    plain = PLAIN[kind]().fit(train.X, train.y)
    at = best_threshold(plain, train, objective, promise)
    ours, theirs = [], []
    for rows in (train, test):
        y = np.asarray(rows.y, bool)
        ours += shares(model.solution_.decision_proba(rows.X)[:, 1], model.decision_function(rows.X), y)
        scores = plain.predict_proba(rows.X)[:, 1]
        theirs += shares((scores >= at).astype(float), scores, y)
    return [float(model.status_.feasible), *ours], [np.nan, *theirs]


def asks_table(seeds):
    place = {"precision": 3, "positive_rate": 4, "false_positive_rate": 5, "recall": 2, "roc_auc": 6}
    rows = []
    for kind, (objective, promise) in itertools.product(PLAIN, ASKS):
        measured = [asks_measured(kind, objective, promise, seed) for seed in range(seeds)]
        ours, plain = np.array(measured).swapaxes(0, 1)
        rate = place[promise.partition("(")[0]]

        def text(found, rate=rate):
            train, test = found[:, :7].mean(axis=0), found[:, [0, *range(7, 13)]].mean(axis=0)
            return [f"{train[1]:.4f} / {train[rate]:.4f}", f"{test[1]:.4f} / {test[rate]:.4f}",
                    f"{test[2]:.4f}"]  # fmt: skip

        kept = f"{int(ours[:, 0].sum())} of {seeds}"
        rows.append([kind, f"`{promise}`, {objective}", kept, *text(ours), *text(plain)])
        print(" | ".join(rows[-1]), flush=True)
    heads = ["model", "ask", "feasible", "error / rate, training", "test", "test recall",
             "plain: error / rate, training", "test", "test recall"]  # fmt: skip
    print("\n" + markdown(heads, rows), flush=True)


# --- many --------------------------------------------------------------------------------------------


def many_groups(columns, y, count):
    """Groups by one and two columns of Adult, with at least 30 positives and 30 negatives each."""
    names = ["sex", "race", "band", "hours", "workclass", "education", "marital_status", "occupation"]
    found = []
    for size in (1, 2):
        for chosen in itertools.combinations(names, size):
            for values in itertools.product(*(np.unique(columns[name]).tolist() for name in chosen)):
                pairs = list(zip(chosen, values, strict=True))
                inside = np.logical_and.reduce([columns[name] == value for name, value in pairs])
                if min((inside & y).sum(), (inside & ~y).sum()) >= 30:
                    found.append(rb.where(**dict(pairs)))
    return found[:count]


def many_table(most):
    splits = rb.datasets.load_adult(seed=0)
    y = np.asarray(splits.train.y, bool)
    columns = {name: np.asarray(values) for name, values in splits.train.columns.items()}
    columns["band"] = np.digitize(columns["age"], np.quantile(columns["age"], [0.25, 0.5, 0.75]))
    columns["hours"] = np.digitize(columns["hours_per_week"], [35, 41, 50])
    rows = []
    for m in (m for m in (1, 4, 8, 32, 128, 512, 1000) if m <= most):
        promises = equalized_odds(many_groups(columns, y, -(-m // 4)))[:m]
        if m == 32:
            promises = eight_groups(None, 0)[2]
        found = []
        for model in ("linear", LogisticRegression(solver="liblinear")):
            fit = rb.RateConstrainedClassifier(promises, model=model, random_state=0, confidence=None)
            started = time.process_time()
            fit.fit(splits.train.X, y, columns=columns)
            error, worst = fit.solution_.objectives["train"], max(fit.violations_.values())
            found += [f"{error:.4f} / {worst:+.4f}", f"{time.process_time() - started:.1f}"]
        compiled = rb.compile(rb.Problem(rb.error_rate(), promises),
                              rb.Population(splits.train.X, y, columns=columns))  # fmt: skip
        oracle = rb.play(compiled, rb.Oracle(LogisticRegression(solver="liblinear")), rounds=80)
        best = rb.shrink(oracle)
        found += [f"{best.objectives['train']:.4f} / {best.violations['train'].max():+.4f}"]
        rows.append([str(m), *found])
        print(" | ".join(rows[-1]), flush=True)
    heads = ["constraints", "linear", "s", "logistic regression", "s", "cutting planes alone"]
    print("\n" + markdown(heads, rows), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=["promises", "asks", "many"])
    parser.add_argument("--data", type=Path, help="folder of bank_additional_full and compas_two_years")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=1000, help="the largest number of constraints")
    given = parser.parse_args()
    print(f"{given.seeds} splits, on {machine()}.")
    for table in given.tables:
        print(f"\n### {table}\n", flush=True)
        if table == "promises":
            promises_table(given.data, given.seeds)
        elif table == "asks":
            asks_table(given.seeds)
        else:
            many_table(given.most)


if __name__ == "__main__":
    main()
