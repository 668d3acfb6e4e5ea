"""Three-way decisions on Adult: how many rows go to a person so that the answers given are right.

Promised are a precision and a negative predictive value, both of new rows at 90%, and as few referrals
as possible. Every split draws rows to train on, and the truth is what is done on all the others. Side by
side:

- two cutoffs on a logistic regression, the best on the training rows out of fold;
- the same, each promise kept by a binomial test at 95% there;
- MAPIE's risk control on a logistic regression, if MAPIE is installed: 70% of the rows train it, and on
  the others it tests pairs of cutoffs;
- `refer=` with `confidence=0.9`, on the same model and all rows;
- the same with `certify=0.3`: of 30% of the rows set aside it has a certificate, as MAPIE's has;
- the same and a promise that cutoffs on one score cannot say: that men are not referred much more often.

    python benchmarks/refer.py --splits 5 --rows 8000
"""

import argparse
import itertools
import time
import warnings
from importlib.util import find_spec

import numpy as np
from _common import markdown
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import ratebound as rb

PRECISION, NEGATIVE = 0.85, 0.93
PROMISES = [f"precision() >= {PRECISION}", f"negative_predictive_value() >= {NEGATIVE}"]
FAIR = 'referred(sex == "Male") <= 1.1 * referred()'
REFER = "refer"


def adult():
    """Features, labels and sex of all rows."""
    splits = rb.datasets.load_adult()
    parts = splits.train, splits.validation, splits.test
    X, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y"))
    return X, y, np.concatenate([part.columns["sex"] for part in parts])


def cut(chance, low, high):
    """1 for yes, 0 for no, and NaN where a row is referred."""
    return np.where(chance >= high, 1.0, np.where(chance < low, 0.0, np.nan))


def passes(right, count, target, level):
    """Whether so many right answers show a share of `target`; without a level, whether they have it."""
    if level is None:
        return right >= target * count
    return binom.sf(right - 1, count, target) <= level


def best_cutoffs(chance, y, level=None):
    """The two cutoffs that refer least; each side can be chosen by itself, as the promises are."""
    cuts = np.quantile(chance, np.linspace(0, 1, 401))
    low = max(
        (c for c in cuts if passes((~y[chance < c]).sum(), (chance < c).sum(), NEGATIVE, level)),
        default=0.0,
    )
    high = min(
        (c for c in cuts if passes(y[chance >= c].sum(), (chance >= c).sum(), PRECISION, level)),
        default=1.0,
    )
    return min(low, high), high


def mapie(X, y, seed):
    """Decisions by MAPIE on a grid of pairs of cutoffs; None if it finds none."""
    from mapie.risk_control import (
        BinaryClassificationController,
        abstention_rate,
        negative_predictive_value,
        precision,
    )

    order = np.random.default_rng(seed).permutation(len(y))
    train, calibrate = np.split(order, [int(0.7 * len(y))])
    model = LogisticRegression(max_iter=1000).fit(X[train], y[train])

    def decide(rows, low, high):
        return cut(model.predict_proba(rows)[:, 1], low, high)

    # Few, as each is tested: with ten times as many it finds a pair in fewer splits.
    pairs = list(itertools.product(np.linspace(0.05, 0.3, 6), np.linspace(0.5, 0.9, 9)))
    controller = BinaryClassificationController(
        decide,
        [precision, negative_predictive_value],
        target_level=[PRECISION, NEGATIVE],
        confidence_level=0.9,
        best_predict_param_choice=abstention_rate,
        list_predict_params=np.array(pairs),
    )
    controller.calibrate(X[calibrate], y[calibrate].astype(int))
    best = controller.best_predict_param
    return None if best is None else lambda rows: decide(rows, *best)


def ours(X, y, sex, promises=PROMISES, **how):
    model = rb.RateConstrainedClassifier(
        promises, objective="referred()", refer=REFER, random_state=0, **how
    )
    model.fit(X, np.where(y, "yes", "no"), columns={"sex": sex})
    if "certify" in how and not model.certificate_.holds:
        return None
    names = {"yes": 1.0, "no": 0.0, REFER: np.nan}
    return lambda rows: np.array([names[each] for each in model.predict(rows)])


def ways(X, y, sex, seed):
    """Each way by name, as a function that trains it."""
    plain = LogisticRegression(max_iter=1000)
    chance = cross_val_predict(plain, X, y, method="predict_proba", cv=5)[:, 1]
    plain.fit(X, y)

    def cutoffs(level):
        pair = best_cutoffs(chance, y, level)
        return lambda rows: cut(plain.predict_proba(rows)[:, 1], *pair)

    yield "two cutoffs", lambda: cutoffs(None)
    yield "two cutoffs, each tested", lambda: cutoffs(0.05)
    if find_spec("mapie") is not None:
        yield "MAPIE", lambda: mapie(X, y, seed)
    yield "`refer=`", lambda: ours(X, y, sex)
    yield "`refer=`, `certify=0.3`", lambda: ours(X, y, sex, certify=0.3)
    yield "`refer=`, men at most 1.1 times", lambda: ours(X, y, sex, [*PROMISES, FAIR])


def judged(decide, X, y, sex):
    """On new rows: referrals, errors of the decided rows, precision, NPV, and men's referrals beside
    all."""
    said = decide(X)
    passed = np.isnan(said)
    right, negative = y[said == 1].mean(), (~y[said == 0]).mean()
    wrong = (said != y)[~passed].mean()
    men = passed[sex == "Male"].mean() / max(passed.mean(), 1e-9)
    return passed.mean(), wrong, right, negative, men


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=8000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, sex = adult()
    results, seconds = {}, {}
    for seed in range(asked.splits):
        order = np.random.default_rng(seed).permutation(len(y))
        own, new = order[: asked.rows], order[asked.rows :]
        for name, train in ways(X[own], y[own], sex[own], seed):
            start = time.process_time()
            decide = train()
            seconds.setdefault(name, []).append(time.process_time() - start)
            results.setdefault(name, [])
            if decide is not None:
                results[name].append(judged(decide, X[new], y[new], sex[new]))
    lines = []
    for name, each in results.items():
        values = np.array(each).reshape(-1, 5)
        kept = int(((values[:, 2] >= PRECISION) & (values[:, 3] >= NEGATIVE)).sum())
        mean = values.mean(axis=0) if len(values) else np.full(5, np.nan)
        shown = [f"{value:.4f}".lstrip("0") for value in mean[:4]]
        lines.append(
            [
                name,
                *shown,
                f"{mean[4]:.2f}",
                f"{len(values)} of {asked.splits}",
                f"{kept} of {len(values)}",
                f"{np.mean(seconds[name]):.1f}",
            ]
        )
    heads = [
        "way",
        "referred",
        "error, decided",
        "precision",
        "NPV",
        "men beside all",
        "found",
        "both kept",
        "seconds",
    ]
    print(markdown(heads, lines))


if __name__ == "__main__":
    main()
