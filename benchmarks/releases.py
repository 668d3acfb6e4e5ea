"""Twenty drifting releases under a change plan, and under the rules that people use instead.

In every period the world drifts, a model is retrained on rows of that period, and somebody has to decide
whether it may replace the one in use. A period is a pool of rows, from which all rows are drawn with
replacement; so what a model truly does there is known: its rates on the pool. A release is false if a
promise is broken on the pool of its period.

Four rules decide about the same kind of candidates. Two are plans, with equal and with carried shares of
an error of .05. "One test set" keeps the rows of the first period and releases what keeps all promises
on them; "fresh rows" looks at the point estimates on as many fresh rows as the plans have. Each rule has
a live model of its own, since that depends on what it released.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parent))  # when a test loads this file
from _common import machine, markdown

import ratebound._old as rb

PERIODS, REPEATS, ROWS, TRAINED, POOL = 20, 200, 3000, 1500, 40_000
PROMISES = [
    'recall(site == "a") >= 0.85',
    'recall(site == "b") >= 0.85',
    'churn(versus="live") <= 0.1',
    'error_rate() <= error_rate_of(versus="live") + 0.02',
]
RULES = ("plan, equal", "plan, carried", "fresh rows", "one test set")
FAILED = 1e-12


class World:
    """The pools of all periods: two sites, four features, and a label whose rule drifts."""

    def __init__(self, seed: int, periods: int = PERIODS, pool: int = POOL) -> None:
        random = np.random.default_rng(seed)
        direction = np.array([1.6, -1.0, 0.6, 0.0])
        self.pools = []
        for _ in range(periods + 1):
            direction = direction + random.normal(0, 0.1, 4)
            site = np.where(random.random(pool) < 0.35, "b", "a")
            X = random.normal(size=(pool, 4)) + np.where(site == "b", 0.3, 0.0)[:, None]
            score = X @ direction + np.where(site == "b", -0.4, 0.0) + random.logistic(0, 0.35, pool)
            self.pools.append((X, score > 0, site))

    def drawn(self, period: int, rows: int, random: np.random.Generator):
        """Rows of a period, and which of its pool they are."""
        X, y, site = self.pools[period]
        chosen = random.integers(0, len(y), rows)
        return X[chosen], y[chosen], site[chosen]


def retrained(world: World, period: int, random: np.random.Generator):
    """A candidate: a logistic regression with a threshold that aims at a recall by its training rows."""
    X, y, _ = world.drawn(period, TRAINED, random)
    model = LogisticRegression().fit(X, y)
    scores = X @ model.coef_[0] + model.intercept_[0]
    threshold = np.quantile(scores[y], 1 - random.choice([0.87, 0.9, 0.93, 0.96]))
    coefficients, intercept = model.coef_[0], model.intercept_[0] - threshold
    return lambda rows: rows @ coefficients + intercept > 0


def rates(decided, live, y, site):
    """What each promise has left, in the order of PROMISES; kept if it is not below 0."""
    room = [decided[y & (site == each)].mean() - 0.85 for each in ("a", "b")]
    if live is not None:
        worse = (decided != y).mean() - (live != y).mean()
        room += [0.1 - (decided != live).mean(), 0.02 - worse]
    return np.array(room)


def repeat(world: World, seed: int, rules=RULES, rows: int = ROWS):
    """For each rule and period: whether the candidate keeps all promises, and was released."""
    outcomes = np.zeros((len(rules), len(world.pools) - 1, 2), dtype=bool)
    for place, rule in enumerate(rules):
        random = np.random.default_rng([seed, 7])
        live, once = None, world.drawn(0, rows, random)
        plan = None
        if rule.startswith("plan"):
            plan = rb.ChangePlan(
                PROMISES, 0.05, len(world.pools) - 1, spending=rule.split(", ")[1], key="id"
            )
        for period in range(1, len(world.pools)):
            candidate = retrained(world, period, random)
            X, y, site = world.drawn(period, rows, random)
            pool, labels, sites = world.pools[period]
            before = None if live is None else live(pool)
            truth = bool((rates(candidate(pool), before, labels, sites) >= -FAILED).all())
            if plan is not None:
                people = rb.Population(
                    X, y, columns={"site": site, "id": np.arange(rows) + rows * period}
                )
                in_use = None if live is None else live(X)
                released = plan.release(live=in_use, candidate=candidate(X), rows=people).certified
            else:
                X, y, site = once if rule == "one test set" else (X, y, site)
                in_use = None if live is None else live(X)
                released = bool((rates(candidate(X), in_use, y, site) >= 0).all())
            outcomes[place, period - 1] = truth, released
            live = candidate if released else live
    return outcomes


def whole_repeat(rows: int, seed: int):
    """A world of its own, and all rules in it."""
    return repeat(World(seed), seed, rows=rows)


def worst_repeat(rows: int, seed: int):
    """Whether a plan of candidates each of which just breaks a promise, and no other, releases any."""
    random = np.random.default_rng([seed, 11])
    plan = rb.ChangePlan(PROMISES[2:], 0.05, PERIODS, key="id")
    wrong = False
    for period in range(PERIODS):
        y, errs = random.random(rows) < 0.5, random.random(rows) < 0.2
        live = np.where(errs, ~y, y)
        # A churn of .1 with as many wins as losses, or .02 more losses than wins at a churn of .04.
        changes = np.where(errs, 0.25, 0.0625) if period % 2 else np.where(errs, 0.05, 0.0375)
        new = np.where(random.random(rows) < changes, ~live, live)
        people = rb.Population(None, y, columns={"id": np.arange(rows) + rows * period})
        wrong |= plan.release(live=live, candidate=new, rows=people).certified
    return wrong


def table(outcomes):
    """For each rule: repeats with a false release, false and true releases a repeat, and power."""
    lines = []
    for place, rule in enumerate(RULES):
        truth, released = outcomes[:, place, :, 0], outcomes[:, place, :, 1]
        false = released & ~truth
        lines.append(
            [
                rule,
                f"{false.any(axis=1).mean():.3f}",
                f"{false.sum(axis=1).mean():.2f}",
                f"{(released & truth).sum(axis=1).mean():.2f}",
                f"{truth.sum(axis=1).mean():.2f}",
                f"{(released & truth).sum() / max(truth.sum(), 1):.3f}",
            ]
        )
    return lines


HEADS = [
    "rule",
    "repeats with a false release",
    "false releases a repeat",
    "true releases a repeat",
    "candidates that keep all",
    "of which released",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worst", action="store_true", help="candidates that each just break a promise")
    given = parser.parse_args()
    start = time.perf_counter()
    if given.worst:
        with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
            wrong = list(pool.map(partial(worst_repeat, given.rows), range(given.repeats)))
        print(f"{sum(wrong)} of {len(wrong)} repeats with a false release; {machine()}")
        return
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        outcomes = list(pool.map(partial(whole_repeat, given.rows), range(given.repeats)))
    print(f"{given.repeats} repeats of {PERIODS} releases, {given.rows:,} rows each; {machine()}; ")
    print(f"{time.perf_counter() - start:.0f} seconds with {given.workers} processes\n")
    print(markdown(HEADS, table(np.array(outcomes))))


if __name__ == "__main__":
    main()
