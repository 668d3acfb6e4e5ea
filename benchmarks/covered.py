"""How often the audit's intervals hold the truth, for every form of promise that can be written.

Samples are drawn from a population whose rates are known, and each is audited for a promise whose bound
is exactly the true value, at a level of 97.5%: the interval of its room should hold 0 in 95 of 100
samples, and "holds" is wrong, whether the promise is "at least" or "at most", in 2.5 of 100. `n` is the
size of the smallest group, or the expected number of rows that a ratio counts.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # when a test loads this file
from _common import machine, markdown

import ratebound._old as rb

SIZES = (5, 10, 30, 100)
SAMPLES = 500
Random = np.random.Generator
# What is measured, its true value, and a sample of n rows: its scores (rows, members), labels and so on.
# What compares two ratios is a promise already, exactly at its bound.
Form = tuple[Any, Callable[[int], float], Callable[[Random, int], dict[str, Any]]]
FORMS: dict[str, Form] = {}


def form(name: str, measured: Any, truth: float | Callable[[int], float]) -> Callable[[Any], Any]:
    def add(sample: Callable[[Random, int], dict[str, Any]]) -> Any:
        FORMS[name] = (measured, truth if callable(truth) else lambda n: truth, sample)
        return sample

    return add


def said(random: Random, rates: Any, members: int = 1, agree: float = 1.0) -> Any:
    """Scores 1 or -1: yes at these rates, the members the same on a share of the rows."""
    rates = np.asarray(rates)[:, None]
    common, own = random.random((len(rates), 1)), random.random((len(rates), members))
    together = random.random((len(rates), 1)) < agree
    return np.where(np.where(together, common, own) < rates, 1.0, -1.0)


def mean_over(groups: int) -> Any:
    return sum((rb.recall(g=i) / groups for i in range(groups)), 0 * rb.recall())


def in_groups(random: Random, sizes: Any, rates: Any, **more: Any) -> dict[str, Any]:
    """All labels positive; so many rows of each group, and a yes at its rate."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return {"X": said(random, np.asarray(rates)[groups], **more), "columns": {"g": groups}}


# --- one rate ---------------------------------------------------------------------------------------


@form("one rate, 0.9", rb.recall(), 0.9)
def _(random, n):
    return {"X": said(random, np.full(n, 0.9))}


@form("one rate, 0.05", rb.positive_rate(), 0.05)
def _(random, n):
    return {"X": said(random, np.full(n, 0.05))}


@form("a count", rb.predicted_positives(per=1000), 100.0)
def _(random, n):
    return {"X": said(random, np.full(n, 0.1))}


@form("churn, 0.1", rb.churn(versus="live"), 0.1)
def _(random, n):
    live = random.random(n) < 0.4
    return {"X": said(random, np.where(live, 0.9, 0.1)), "columns": {"live": live}}


@form("one rate of a mixture of two, 0.9", rb.recall(), 0.9)
def _(random, n):
    return {"X": said(random, np.full(n, 0.9), members=2, agree=0.8)}


@form("one rate, rows weighted 1 or 4", rb.recall(), 0.8)
def _(random, n):
    return {"X": said(random, np.full(n, 0.8)), "weights": random.choice([1.0, 4.0], n)}


@form("one rate, log-normal weights", rb.recall(), 0.9)
def _(random, n):
    return {"X": said(random, np.full(n, 0.9)), "weights": np.exp(random.normal(size=n))}


# --- sums over groups -------------------------------------------------------------------------------


@form("two groups of n, 0.9 - 0.8", rb.recall(g=0) - rb.recall(g=1), 0.1)
def _(random, n):
    return in_groups(random, [n, n], [0.9, 0.8])


@form("n rows against 10 n, 0.1 - 0.8 * 0.15", rb.recall(g=0) - 0.8 * rb.recall(g=1), 0.1 - 0.12)
def _(random, n):
    return in_groups(random, [n, 10 * n], [0.1, 0.15])


@form("two groups, a mixture of three", rb.recall(g=0) - rb.recall(g=1), 0.1)
def _(random, n):
    return in_groups(random, [n, n], [0.9, 0.8], members=3, agree=0.5)


@form("two groups, rows weighted 1 or 4", rb.recall(g=0) - rb.recall(g=1), 0.1)
def _(random, n):
    return in_groups(random, [n, n], [0.9, 0.8]) | {"weights": random.choice([1.0, 4.0], 2 * n)}


@form("a group of about n within everyone", rb.recall(g=0) - 0.95 * rb.recall(), 0.9 - 0.95 * 0.81)
def _(random, n):
    groups = np.append(0, random.random(10 * n - 1) > 0.1).astype(int)
    return {"X": said(random, np.where(groups, 0.8, 0.9)), "columns": {"g": groups}}


@form("two groups that overlap", rb.recall(a=True) - rb.recall(b=True), 0.9 - 0.83)
def _(random, n):
    a, b = (np.append(True, random.random(4 * n - 1) < 0.3) for _ in range(2))
    return {"X": said(random, np.where(a, 0.9, 0.8)), "columns": {"a": a, "b": b}}


@form("mean over 20 groups of n, 0.9", mean_over(20), 0.9)
def _(random, n):
    return in_groups(random, [n] * 20, [0.9] * 20)


@form("mean over 50 groups of n, 0.1", mean_over(50), 0.1)
def _(random, n):
    return in_groups(random, [n] * 50, [0.1] * 50)


@form("mean over 20 groups, 0.5 to 1", mean_over(20), 0.75)
def _(random, n):
    return in_groups(random, [n] * 20, np.linspace(0.5, 1.0, 20))


@form(
    "10 groups at 0.9 less 10 at 0.1",
    sum(((1 if i < 10 else -1) * rb.recall(g=i) / 10 for i in range(20)), 0 * rb.recall()),
    0.8,
)
def _(random, n):
    return in_groups(random, [n] * 20, [0.9] * 10 + [0.1] * 10)


@form("two populations of n and 5 n", rb.recall(on="other") - rb.recall(), 0.1)
def _(random, n):
    other = {"X": said(random, np.full(n, 0.9))}
    return {"X": said(random, np.full(5 * n, 0.8)), "other": other}


# --- labels, an existing model, thresholds ---------------------------------------------------------


@form("error rates of two groups of n", rb.error_rate(g=0) - rb.error_rate(g=1), -0.1)
def _(random, n):
    found = in_groups(random, [n, n], [0.0, 0.0])
    labels = random.random(2 * n) < 0.3
    wrong = random.random(2 * n) < np.where(found["columns"]["g"], 0.2, 0.1)
    return found | {"X": np.where(labels ^ wrong, 1.0, -1.0)[:, None], "y": labels}


@form("positive rate less prevalence", rb.positive_rate() - rb.prevalence(), 0.3 * -0.2 + 0.7 * 0.1)
def _(random, n):
    labels = random.random(n) < 0.3
    return {"X": said(random, np.where(labels, 0.8, 0.1)), "y": labels}


@form("accuracy less the old model's", rb.accuracy() - rb.accuracy_of(versus="live"), 0.1)
def _(random, n):
    return against_live(random, n, 0.9, 0.8)


@form("wins less losses", rb.wins(versus="live") - rb.losses(versus="live"), lambda n: 0.1 * n)
def _(random, n):
    return against_live(random, n, 0.9, 0.8)


@form("recall at 0.2 less recall at 0.9", rb.recall(at=0.2) - rb.recall(at=0.9), 0.7)
def _(random, n):
    return {"X": random.random((n, 1))}


@form("recall at 0.3 + half the recall at 0.9", rb.recall(at=0.3) + 0.5 * rb.recall(at=0.9), 0.75)
def _(random, n):
    return {"X": random.random((n, 1))}


def against_live(random: Random, n: int, right: float, live_right: float) -> dict[str, Any]:
    labels = random.random(n) < 0.4
    live = np.where(random.random(n) < live_right, labels, ~labels)
    yes = np.where(random.random(n) < right, labels, ~labels)
    return {"X": np.where(yes, 1.0, -1.0)[:, None], "y": labels, "columns": {"live": live}}


# --- ratios and areas ------------------------------------------------------------------------------


@form("precision of about n yeses, 0.8", rb.precision(), 0.8)
def _(random, n):
    return with_precision(random, said(random, np.full(5 * n, 0.2)))


@form("precision, a mixture of two", rb.precision(), 0.8)
def _(random, n):
    return with_precision(random, said(random, np.full(5 * n, 0.2), members=2, agree=0.5))


@form("precision, rows weighted 1 or 4", rb.precision(), 0.8)
def _(random, n):
    found = with_precision(random, said(random, np.full(5 * n, 0.2)))
    return found | {"weights": random.choice([1.0, 4.0], 5 * n)}


@form("wins to losses, about n in all, 1.5", rb.win_loss_ratio(versus="live"), 1.5)
def _(random, n):
    labels, kind = random.random(10 * n) < 0.5, random.random(10 * n)
    right, live_right = (kind < 0.06) | (kind > 0.2), kind > 0.06
    live_right = np.where(kind > 0.1, kind > 0.2, live_right)
    right = np.where((kind > 0.06) & (kind < 0.1), False, right)
    yes, live = np.where(right, labels, ~labels), np.where(live_right, labels, ~labels)
    return {"X": np.where(yes, 1.0, -1.0)[:, None], "y": labels, "columns": {"live": live}}


def with_precision(random: Random, scores: Any) -> dict[str, Any]:
    yes = (scores > 0).any(axis=1)
    return {"X": scores, "y": random.random(len(yes)) < np.where(yes, 0.8, 0.3)}


@form("two precisions of about n yeses each", rb.precision(g=0) >= 0.9 * rb.precision(g=1), 0.0)
def _(random, n):
    return with_precisions(random, said(random, np.full(10 * n, 0.2)))


@form("two precisions, a mixture of two", rb.precision(g=0) >= 0.9 * rb.precision(g=1), 0.0)
def _(random, n):
    return with_precisions(random, said(random, np.full(10 * n, 0.2), members=2, agree=0.5))


@form("two precisions, rows weighted 1 or 4", rb.precision(g=0) >= 0.9 * rb.precision(g=1), 0.0)
def _(random, n):
    found = with_precisions(random, said(random, np.full(10 * n, 0.2)))
    return found | {"weights": random.choice([1.0, 4.0], 10 * n)}


@form("precision of a group and of everyone", rb.precision(g=0) >= 0.72 / 0.76 * rb.precision(), 0.0)
def _(random, n):
    return with_precisions(random, said(random, np.full(10 * n, 0.2)))


@form("two F-scores of 4 n rows each", rb.f_score(g=0) >= 0.75 / (7 / 9) * rb.f_score(g=1), 0.0)
def _(random, n):
    groups = np.append([0, 1], random.random(8 * n - 2) < 0.5).astype(int)
    labels = random.random(8 * n) < np.where(groups, 0.5, 0.4)
    yes = random.random(8 * n) < np.where(
        labels, np.where(groups, 0.7, 0.75), np.where(groups, 0.1, 1 / 6)
    )
    return {"X": np.where(yes, 1.0, -1.0)[:, None], "y": labels, "columns": {"g": groups}}


def with_precisions(random: Random, scores: Any) -> dict[str, Any]:
    """Two groups of about as many rows; a yes is right at 0.72 in the first, and at 0.8 in the other."""
    groups, yes = np.arange(len(scores)) % 2, (scores > 0).any(axis=1)
    right = np.where(groups, 0.8, 0.72)
    labels = random.random(len(yes)) < np.where(yes, right, 0.3)
    return {"X": scores, "y": labels, "columns": {"g": groups}}


def ranked(random: Random, n: int, apart: float, members: int = 1) -> dict[str, Any]:
    """n positive rows and 2 n negative ones, their scores normal and so far apart."""
    labels = np.arange(3 * n) < n
    common, own = random.normal(size=(3 * n, 1)), random.normal(size=(3 * n, members))
    scores = common if members == 1 else (common + own) / math.sqrt(2)
    return {"X": scores + apart * labels[:, None], "y": labels}


def normal(apart: float) -> float:
    """The area under the curve of normal scores so far apart."""
    return 0.5 * (1 + math.erf(apart / 2))


@form("roc_auc, 0.76", rb.roc_auc(), normal(1.0))
def _(random, n):
    return ranked(random, n, 1.0)


@form("roc_auc, 0.96", rb.roc_auc(), normal(2.5))
def _(random, n):
    return ranked(random, n, 2.5)


@form("roc_auc of a score of two values, 0.65", rb.roc_auc(), 0.65)
def _(random, n):
    labels = np.arange(3 * n) < n
    return {"X": said(random, np.where(labels, 0.5, 0.2)), "y": labels}


@form("roc_auc, a mixture of two", rb.roc_auc(), normal(1.0))
def _(random, n):
    return ranked(random, n, 1.0, members=2)


@form("roc_auc, rows weighted 1 or 4", rb.roc_auc(), normal(1.0))
def _(random, n):
    return ranked(random, n, 1.0) | {"weights": random.choice([1.0, 4.0], 3 * n)}


# --- the simulation --------------------------------------------------------------------------------


def population(X: Any, y: Any = None, columns: Any = None, weights: Any = None) -> rb.Population:
    labels = np.ones(len(X), dtype=bool) if y is None else y
    return rb.Population(X, labels, columns=columns or None, weights=weights)


def simulate(name: str, n: int, samples: int, level: float = 0.975) -> tuple[float, float, float]:
    """How often the interval holds the truth, ends above it, and ends below it."""
    measured, truth, sample = FORMS[name]
    random = np.random.default_rng([n, *name.encode()])
    promised = measured if hasattr(measured, "relation") else measured >= truth(n)
    problem = rb.Problem(rb.positive_rate(), [promised])
    above = below = 0
    for _ in range(samples):
        rows = sample(random, n)
        others = {"other": population(**rows.pop("other"))} if "other" in rows else {}
        members = rows["X"].shape[1]
        model = SimpleNamespace(
            weights=np.full(members, 1 / members), thresholds={}, member_scores=lambda X: np.asarray(X)
        )
        promise = rb.audit(problem, model, population(**rows), confidence=level, **others).promises[0]
        above += promise.verdict == "holds"
        below += promise.verdict == "broken"
    return 1 - (above + below) / samples, above / samples, below / samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--only", default="", help="forms whose name holds this")
    given = parser.parse_args()
    start, rows = time.perf_counter(), []
    for name in FORMS:
        if given.only in name:
            found = [simulate(name, n, given.samples) for n in SIZES]
            rows.append([name, *(f"{c:.1%} ({a:.1%}, {b:.1%})".replace("%", "") for c, a, b in found)])
            print(rows[-1], flush=True, file=sys.stderr)
    print(markdown(["promise", *(f"n = {n}" for n in SIZES)], rows))
    print(f"\n{given.samples:,} samples a cell, {time.perf_counter() - start:.0f} s; {machine()}")


if __name__ == "__main__":
    main()
