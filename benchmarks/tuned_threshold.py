"""How often promises that `rb.TunedThreshold(confidence=0.9)` claims to keep hold on new rows.

A claim is false if `status_.confidence` is at least .88 and a promise is broken in truth. First one
score with normal classes, where the truth is known; then classifiers whose rows are scored out of fold
and which are fitted on all rows afterwards, judged on 50,000 new rows.

    python benchmarks/tuned_threshold.py --samples 200              # minutes
    python benchmarks/tuned_threshold.py --samples 40 --only classifiers
"""

import argparse
import warnings

import numpy as np
from scipy.special import ndtr
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb
from ratebound._old.estimators.one_threshold import every_threshold

APART, PREVALENCE, ASKED = 1.5, 0.3, 0.9
RECALL, FPR, PRECISION = "recall", "false_positive_rate", "precision"
CASES = {  # what is maximised, and bounds: at least, or at most if negative
    "recall >= .95": ("precision()", {RECALL: 0.95}),
    "false_positive_rate <= .05": ("recall()", {FPR: -0.05}),
    "precision >= .7": ("recall()", {PRECISION: 0.7}),
    "recall >= .8, fpr <= .4": ("f_score()", {RECALL: 0.8, FPR: -0.4}),
    "recall >= .7, precision >= .5": ("accuracy()", {RECALL: 0.7, PRECISION: 0.5}),
}


def promises(bounds):
    return [f"{rate}() >= {b}" if b > 0 else f"{rate}() <= {-b}" for rate, b in bounds.items()]


def holds(values, bounds):
    return all(values[rate] >= b if b > 0 else values[rate] <= -b for rate, b in bounds.items())


def values_of(recall, fpr):
    yes = PREVALENCE * recall + (1 - PREVALENCE) * fpr
    return {RECALL: recall, FPR: fpr, PRECISION: PREVALENCE * recall / yes if yes > 0 else 1.0}


def told(name, rows, outcomes):
    claimed, true, plain, worth = (np.array(each, dtype=float) for each in zip(*outcomes, strict=True))
    false = np.mean((claimed >= ASKED - 0.02) & (true == 0))
    said = claimed[claimed >= ASKED - 0.02]
    print(
        f"{name:38} {rows:6,} rows: false claims {false:.3f}, claims {len(said) / len(claimed):.2f}, "
        f"held {true.mean():.3f}, without confidence {plain.mean():.3f}, objective {np.mean(worth):.4f}",
        flush=True,
    )


def on_scores(samples):
    for rows in (100, 300, 1000):
        for name, (objective, bounds) in CASES.items():
            problem, outcomes = rb.Problem(maximize=objective, subject_to=promises(bounds)), []
            for seed in range(samples):
                random = np.random.default_rng(seed)
                y = random.random(rows) < PREVALENCE
                scores = random.normal(size=rows) + APART * y
                every = every_threshold(rb.compile(problem, rb.Population(None, y)), scores)
                sure = every.sure(ASKED)
                place = every.worth_it() if sure is None else sure

                def truth(place, every=every):
                    at = every.at[place]
                    return values_of(1 - ndtr(at - APART), 1 - ndtr(at))

                outcomes.append(
                    (
                        every.confidence(place),
                        holds(truth(place), bounds),
                        holds(truth(every.best()), bounds),
                        -every.objectives[place],
                    )
                )
            told(name, rows, outcomes)


def drawn(random, rows):
    """Ten features, of which five tell the label, two of them by their product."""
    X = random.normal(size=(rows, 10))
    odds = X[:, 0] + 0.8 * X[:, 1] - 0.6 * X[:, 2] + 0.8 * X[:, 3] * X[:, 4] - 1.2
    return X, random.random(rows) < 1 / (1 + np.exp(-1.5 * odds))


CLASSIFIERS = {
    "logistic regression": LogisticRegression(),
    "random forest": RandomForestClassifier(60, min_samples_leaf=2, random_state=0),
    "boosted trees": HistGradientBoostingClassifier(max_iter=40, random_state=0),
}
WAYS = {"cv=5, refit": {"cv": 5}, "cv=.3, no refit": {"cv": 0.3, "refit": False}}


def on_classifiers(samples):
    X_new, y_new = drawn(np.random.default_rng(10**6), 50_000)

    def truth(model):
        yes = model.predict(X_new)
        recall, fpr = yes[y_new].mean(), yes[~y_new].mean()
        return {RECALL: recall, FPR: fpr, PRECISION: y_new[yes].mean() if yes.any() else 1.0}

    for rows in (500, 2000):
        for called, classifier in CLASSIFIERS.items():
            for way, options in WAYS.items():
                for name in ("recall >= .95", "precision >= .7"):
                    (objective, bounds), outcomes = CASES[name], []
                    for seed in range(samples):
                        X, y = drawn(np.random.default_rng(seed), rows)
                        model = rb.TunedThreshold(
                            classifier,
                            promises(bounds),
                            maximize=objective,
                            random_state=seed,
                            **options,
                        )
                        model.fit(X, y)
                        kept, own = truth(model), model.status_.confidence or 0.0
                        worth = kept[PRECISION if RECALL in bounds else RECALL]
                        plain = model.set_params(confidence=None).fit(X, y)
                        outcomes.append((own, holds(kept, bounds), holds(truth(plain), bounds), worth))
                    told(f"{called}, {way}, {name}", rows, outcomes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--only", choices=["scores", "classifiers"])
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    if asked.only != "classifiers":
        on_scores(asked.samples)
    if asked.only != "scores":
        on_classifiers(asked.samples)
