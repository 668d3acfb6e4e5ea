"""How often a monitor raises a false alarm, at any time, and how long it takes to raise a true one.

Rows come one by one: four in ten have a positive label, a share of them is in the group. The promise is
``recall(group) >= 0.95 * recall()``. False alarms are counted in streams in which it is exactly at its
bound. Delays are counted in rows with a positive label, in streams in which the group's recall is lower
by some effect.

Two oracles know the rates and the share of the group. One is the best possible: every row multiplies its
money by the likelihood ratio of the true rates to the nearest rates that keep the promise. The other
bets on pairs, the next positive row of the group against the next of the rest, always the part of its
money that is best for the true rates.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from scipy.optimize import minimize_scalar

sys.path.insert(0, str(Path(__file__).parent))  # when a test loads this file
from _common import machine, markdown

import ratebound._old as rb

FACTOR, REST, POSITIVE = 0.95, 0.62, 0.4
SHARES, EFFECTS = (0.5, 0.15, 0.03), (0.2, 0.1, 0.05)
PROMISE = rb.recall(group=1) >= FACTOR * rb.recall()
Random = np.random.Generator


def at_bound(share: float) -> float:
    """The group's recall with which the promise is only just kept."""
    return FACTOR * (1 - share) * REST / (1 - FACTOR * share)


def positives(random: Random, rows: int, share: float, recall: float) -> tuple[Any, Any]:
    """Rows with a positive label: whether each is in the group, and whether the model says yes."""
    group = random.random(rows) < share
    return group, random.random(rows) < np.where(group, recall, REST)


def alarm_after(group: Any, yes: Any, confidence: float, batch: int = 4000) -> float:
    """After how many rows the monitor raises an alarm; infinity if it does not."""
    monitor = rb.Monitor(rb.Problem("error_rate()", [PROMISE]), confidence)
    for start in range(0, len(yes), batch):
        part = slice(start, start + batch)
        labels = np.ones(len(yes[part]), dtype=bool)
        if alarms := monitor.update(yes[part], labels, {"group": group[part].astype(int)}):
            return alarms[0].row
    return np.inf


def first(log_money: Any, confidence: float) -> float:
    reached = np.flatnonzero(log_money >= -np.log(1 - confidence))
    return float(reached[0]) if len(reached) else np.inf


def by_rows(group: Any, yes: Any, share: float, recall: float, confidence: float) -> float:
    """After how many rows the oracle of likelihoods is sure."""

    def divergence(p: float, q: float) -> float:
        return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))

    def apart(rest: float) -> float:
        kept = at_bound(share) / REST * rest
        return share * divergence(recall, kept) + (1 - share) * divergence(REST, rest)

    rest = minimize_scalar(apart, bounds=(1e-3, 0.999), method="bounded").x
    true, near = np.where(group, recall, REST), np.where(group, at_bound(share) / REST * rest, rest)
    gains = np.where(yes, np.log(true / near), np.log((1 - true) / (1 - near)))
    return first(np.cumsum(gains), confidence) + 1


def by_pairs(group: Any, yes: Any, share: float, recall: float, confidence: float) -> float:
    """After how many rows the oracle of pairs is sure."""
    own, rest = np.flatnonzero(group), np.flatnonzero(~group)
    pairs = min(len(own), len(rest))
    ratio = at_bound(share) / REST
    values = np.array([-1.0, ratio - 1, 0.0, ratio])
    odds = np.outer([recall, 1 - recall], [1 - REST, REST]).ravel()
    stakes = np.linspace(0, 0.999, 1000)
    best = stakes[np.argmax(np.log1p(stakes[:, None] * values) @ odds)]
    gains = np.log1p(best * (ratio * yes[rest[:pairs]] - yes[own[:pairs]]))
    at = first(np.cumsum(gains), confidence)
    return float(max(own[int(at)], rest[int(at)])) + 1 if np.isfinite(at) else np.inf


def false_alarms(streams: int, rows: int, share: float, confidence: float) -> float:
    """In what share of the streams a promise exactly at its bound is ever called broken."""
    random = np.random.default_rng(int(1000 * share))
    found = [
        alarm_after(*positives(random, int(POSITIVE * rows), share, at_bound(share)), confidence, rows)
        for _ in range(streams)
    ]
    return float(np.isfinite(found).mean())


def delays(streams: int, share: float, effect: float, confidence: float) -> list[float]:
    """Mean delays of the monitor and of both oracles."""
    random = np.random.default_rng(7)
    recall = at_bound(share) - effect
    rows = int(100 / (effect**2 * min(share, 0.5)))  # enough for all of them
    streams_of = [positives(random, rows, share, recall) for _ in range(streams)]
    oracles: list[Callable[..., float]] = [by_rows, by_pairs]
    found = [[alarm_after(*each, confidence) for each in streams_of]]
    found += [[oracle(*each, share, recall, confidence) for each in streams_of] for oracle in oracles]
    return [float(np.mean(each)) for each in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--delays", type=int, default=200, help="streams for each delay")
    given = parser.parse_args()
    print(f"{machine()}\n", flush=True)
    head = ["confidence", "group", "effect", "monitor", "best oracle", "ratio", "pairs", "ratio"]
    table = []
    for confidence in (0.95, 0.99):
        for share in SHARES:
            for effect in EFFECTS:
                ours, best, pairs = delays(given.delays, share, effect, confidence)
                cells = [f"{ours:,.0f}", f"{best:,.0f}", f"{ours / best:.2f}"]
                cells += [f"{pairs:,.0f}", f"{ours / pairs:.2f}"]
                table.append([f"{confidence:g}", f"{share:.0%}", f"{effect:g}", *cells])
    print(markdown(head, table), "\n", flush=True)
    rows = []
    for share in SHARES:
        start = time.process_time()
        wrong = false_alarms(given.streams, given.rows, share, 0.95)
        seconds = (time.process_time() - start) / given.streams
        rows.append([f"{share:.0%}", f"{wrong:.3f}", f"{seconds:.2f}"])
    print(markdown(["group", "false alarms", "seconds a stream"], rows))


if __name__ == "__main__":
    main()
