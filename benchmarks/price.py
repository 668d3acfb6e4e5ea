"""How long a price takes, and how exact it is, on random candidates and on a trace of Adult.

    python benchmarks/price.py

Candidates lie on a bowl with noise, so that curves bend often. "Off" is the largest difference to
another solver's objective at twenty bounds.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.base.layout import aligned
from ratebound._old.base.parametric import curve

SIZES = ((60, 2), (300, 4), (700, 10))
SEEDS = 4


def bowl(seed: int, count: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Objectives (count,) and violations (count, m) of candidates that trade one for the other."""
    rng = np.random.default_rng(seed)
    at = 0.1 * rng.normal(size=(count, m))
    f = 0.15 + 2 * (at**2).sum(axis=1) - 0.3 * at.sum(axis=1) + 0.01 * rng.random(count)
    return f, at + 0.05 * rng.normal(size=(count, m)) - 0.02


def best(f: np.ndarray, G: np.ndarray, room: float) -> float:
    """The best objective where the first constraint has this room, by SciPy alone."""
    right = np.append(room, np.zeros(G.shape[1] - 1))
    solved = linprog(f, G.T, right, np.ones((1, len(f))), [1.0])
    return float(solved.fun) if solved.status == 0 else np.inf


def random_rows() -> list[list[str]]:
    rows = []
    for count, m in SIZES:
        for seed in range(SEEDS):
            f, G = bowl(seed, count, m)
            started = time.process_time()
            found = curve(f, G, np.zeros(count, dtype=int), 0)
            spent = time.process_time() - started
            rooms = np.linspace(found.rooms[0] + 1e-6, found.rooms[-1], 20)
            truth = [best(f, G, room) for room in rooms]
            off = np.abs(np.interp(rooms, found.rooms, found.objectives) - truth).max()
            rows.append([f"{count} x {m}", str(len(found.rooms)), f"{1000 * spent:.0f}", f"{off:.0e}"])
    return rows


def adult_rows() -> list[list[str]]:
    adult = rb.datasets.load_adult()
    promises = [rb.recall(sex=sex) >= 0.95 * rb.recall() for sex in ("Female", "Male")]
    compiled = rb.compile(rb.Problem(rb.error_rate(), promises), adult.train)
    trace = rb.play(compiled, rb.Linear((0.003, 0.01, 0.03)), rounds=1000, keep=rb.Keep(10), seed=0)
    rows = []
    for promise in promises:
        started = time.process_time()
        found = rb.price(trace, promise)
        spent = time.process_time() - started
        rows.append([f"Adult, {len(trace)} x 2", str(len(found.bounds)), f"{1000 * spent:.0f}", "-"])
    return rows


if __name__ == "__main__":
    heads = ["candidates x promises", "bends", "milliseconds", "off"]
    print("\n".join(aligned([heads, *random_rows(), *adult_rows()], right=range(1, 4))))
