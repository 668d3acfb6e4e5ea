"""What `SwapRegret` costs with many constraints: milliseconds per step, by their number m.

A step moves a matrix of (m+1)² entries and finds its stationary distribution. Beside it run the same
step without compiled loops; the step as it was, which took two exponentials of every entry and solved by
elimination each time; and two floors: one copy of the matrix, and the elimination alone.

Violations answer the weights, with noise: the more a constraint weighs, the less it is violated. Steps
are timed after `--after` of them, when the matrix is no longer the simple one it started with. All
contenders take turns, a block of steps each, and each counts with its fastest block.
"""

import argparse
import itertools
import math
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from _common import Aim, machine, markdown, options, tell, worst_of
from tqdm import tqdm

import ratebound._old as rb
from ratebound._old.game.players import Ascending
from ratebound._old.kernels import dispatch

COUNTS = (4, 20, 100, 400, 1000)
SETTINGS = (1, 12)
OPTIMIZERS = {"sgd": 0.1, "adam": 0.01}  # with their learning rates
BLOCK = 0.003  # seconds at most: a busy machine is quiet for moments only
MOST = 2**22  # entries of all settings' matrices; more would measure the memory
AIM, AT = 1.0, 400  # milliseconds, and for how many constraints
Key = tuple[int, int, str]  # m, K and the optimizer
Times = dict[str, float]


def violations_of(weights: np.ndarray, hard: np.ndarray, random: np.random.Generator) -> np.ndarray:
    noise = 0.1 * random.normal(size=hard.shape)
    return 0.05 * hard - np.tanh(0.1 * hard.shape[-1] * weights[..., 1:]) + 0.1 + noise


# The step as it was: the state is the matrix's logarithm.


def step_before(player: rb.SwapRegret, multipliers: rb.Multipliers, shown: np.ndarray) -> rb.Multipliers:
    weights, steps, moments = multipliers.weights, multipliers.steps + 1, multipliers.moments
    shown = np.concatenate([np.zeros_like(weights[..., :1]), shown], -1)
    gradient = shown[..., :, None] * weights[..., None, :]
    if player.optimizer == "adam":
        first, second = moments if moments is not None else (0.0 * gradient, 0.0 * gradient)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient * gradient
        unbias = (1 - 0.999**steps) ** 0.5
        gradient = (unbias / (1 - 0.9**steps)) * (first / (second**0.5 + 1e-8 * unbias))
        moments = first, second
    state = multipliers.state + multipliers.rate * gradient
    state = state - np.amax(state, -2)[..., None, :]
    state = state - np.log(np.exp(state).sum(-2))[..., None, :]
    state = state.clip(min=-20.0)
    return rb.Multipliers(eliminated(np.exp(state)), state, moments, steps, multipliers.rate)


def eliminated(matrix: np.ndarray) -> np.ndarray:
    identity = np.eye(matrix.shape[-1])
    off = matrix * (1 - identity)
    system = off - identity * off.sum(-2)[..., None, :]
    system[..., -1, :] = 1.0
    right = identity[-1] + np.zeros_like(matrix[..., 0])
    found = np.linalg.solve(system, right[..., None])[..., 0].clip(min=0)
    return found / found.sum(-1)[..., None]


# The race.


def make_contenders(m: int, settings: int, optimizer: Any, after: int) -> dict[str, Callable[[], None]]:
    random = np.random.default_rng(0)
    player = rb.SwapRegret(OPTIMIZERS[optimizer], optimizer)
    hard = random.normal(size=(settings, m))
    start = player.start(m, settings=settings)
    for _ in range(after):
        start = player.step(start, violations_of(start.weights, hard, random))
    shown = [violations_of(start.weights, hard, random) for _ in range(64)]

    def contender(step: Callable[..., rb.Multipliers], first: rb.Multipliers) -> Callable[[], None]:
        held, drawn = first, itertools.cycle(shown)

        def take() -> None:
            nonlocal held
            held = step(held, next(drawn))

        return take

    logs = rb.Multipliers(start.weights, np.log(start.state), start.moments, start.steps, start.rate)
    system = start.state - np.eye(m + 1)
    system[:, -1] = 1.0
    right = np.eye(m + 1)[-1] + np.zeros((settings, m + 1))
    target, solved = np.empty_like(start.state), np.empty((settings, m + 1, 1))
    return {
        "before": contender(lambda held, seen: step_before(player, held, seen), logs),
        "now": contender(player.step, start),
        "plain": contender(lambda held, seen: Ascending.step(player, held, seen), start),
        "copy": lambda: np.copyto(target, start.state),
        "elimination": lambda: np.copyto(solved, np.linalg.solve(system, right[..., None])),
    }


def race(steps: dict[str, Callable[[], None]], seconds: float) -> Times:
    """Milliseconds per step: the fastest of many short blocks, all contenders taking turns."""
    counts = {}
    for name, step in steps.items():
        timed(step, 1)  # a warm-up, in which loops are compiled
        counts[name] = int(np.clip(BLOCK / timed(step, 1), 1, 60))
    best, end = dict.fromkeys(steps, math.inf), time.perf_counter() + seconds
    while time.perf_counter() < end or math.inf in best.values():
        for name, step in steps.items():
            timed(step, 1)  # the caches were another contender's
            best[name] = min(best[name], 1000 * timed(step, counts[name]))
    return best


def timed(step: Callable[[], None], count: int) -> float:
    """Seconds per step in a block of `count`."""
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


# The report.


def table(results: dict[Key, Times]) -> str:
    lines = [
        [
            *map(str, key),
            f"{times['before']:.3f}",
            f"{times['plain']:.3f}",
            f"{times['now']:.3f}",
            f"{times['before'] / times['now']:.1f}x",
            f"{times['elimination']:.3f}",
            f"{times['copy']:.4f}",
        ]
        for key, times in results.items()
    ]
    return markdown(
        ["m", "K", "optimizer", "before", "without numba", "now", "gain", "elimination alone", "a copy"],
        lines,
    )


def aims(results: dict[Key, Times]) -> list[Aim]:
    found = []
    for (m, settings, optimizer), times in results.items():
        if (m, settings) == (AT, 1):
            what = f"A step of SwapRegret at m = {m}, {optimizer}"
            for name, how in {"now": "", "plain": "without numba"}.items():
                found.append(Aim(what, AIM, times[name], floor=times["copy"], by="itself", note=how))
    cases = [
        Aim(
            "A step of SwapRegret takes no longer than it did, to a tenth",
            1.1,
            times["now"],
            floor=times["copy"],
            peer=times["before"],
            who="elimination each time:",
            by="peer",
            note=f"m = {m}, K = {settings}, {optimizer}",
        )
        for (m, settings, optimizer), times in results.items()
    ]
    return [*found, worst_of(cases)]


def arguments() -> argparse.Namespace:
    parser = options(__doc__)
    parser.add_argument("--constraints", type=int, nargs="+", default=COUNTS, metavar="M")
    parser.add_argument("--settings", type=int, nargs="+", default=SETTINGS, metavar="K")
    parser.add_argument("--after", type=int, default=200, help="steps taken before the timed ones")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each line of the table")
    parser.add_argument("--quick", action="store_true", help="a smoke test: few steps, few constraints")
    given = parser.parse_args()
    if given.quick:
        given.constraints, given.after, given.seconds = (4, 300), 10, 0.3
    return given


def main() -> None:
    given = arguments()
    results: dict[Key, Times] = {}
    keys = [*itertools.product(given.constraints, given.settings, OPTIMIZERS)]
    for m, settings, optimizer in tqdm(keys, disable=None, leave=False):
        if settings * (m + 1) ** 2 > MOST:
            continue
        steps = make_contenders(m, settings, optimizer, given.after)
        results[m, settings, optimizer] = race(steps, given.seconds)
    loops = "compiled by numba" if dispatch.numba_works() else "not compiled: numba is missing"
    print(f"Milliseconds per step of SwapRegret on {machine()}; NumPy {np.__version__}, one thread.")
    print(f"K settings side by side; after {given.after} steps; loops {loops}.")
    print(f"\n{table(results)}")
    cells = {
        f"{name}, m = {m}, K = {settings}, {optimizer}": times[name]
        for (m, settings, optimizer), times in results.items()
        for name in ("now", "plain")
    }
    tell(cells, aims(results), given.json)


if __name__ == "__main__":
    main()
