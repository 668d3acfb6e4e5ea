"""The whole Adult table in one process: how good the solutions are, and what they cost to find.

Recall of Black, White, female and male people must be at least 95% of everyone's. An unconstrained
model and three games train twelve settings each side by side; of every solution the setting that does
best on the validation rows is shown. Seconds are this process's, of all its threads; loading the data
is not counted, compiling is.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from _common import Aim, machine, markdown, options, tell, warm_up

import ratebound._old as rb

GROUPS = {"race": ("Black", "White"), "sex": ("Female", "Male")}
AIM = 6.0  # core-seconds
SOLUTIONS = (rb.shrink, rb.average, rb.best_iterate, rb.last_iterate)
ROWS = ("train", "validation", "test")


def grid(learner: tuple[float, ...], multipliers: tuple[float, ...]) -> tuple[list[float], list[float]]:
    """Every pair of learning rates, as two lists of one setting each."""
    pairs = list(product(learner, multipliers))
    return [a for a, _ in pairs], [b for _, b in pairs]


LEARNER_RATES = (0.005, 0.01, 0.05)
FREE = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1]
PROXIES = grid(LEARNER_RATES, (1e-6, 5e-6, 1e-5, 5e-5))  # far larger than rates, so the steps are small
SWAP = grid(LEARNER_RATES, (0.005, 0.01, 0.05, 0.1))
EXTERNAL = grid(LEARNER_RATES, (0.0005, 0.001, 0.005, 0.01))

GAMES = {
    "unconstrained": (FREE, rb.ExternalRegret()),
    "Lagrangian": (PROXIES[0], rb.Lagrangian(PROXIES[1], optimizer="sgd")),
    "SwapRegret": (SWAP[0], rb.SwapRegret(SWAP[1])),
    "ExternalRegret": (EXTERNAL[0], rb.ExternalRegret(EXTERNAL[1])),
}


class Clock:
    """Seconds of each part: of the process, and on the wall."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[float, float]] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = time.process_time(), time.perf_counter()
        yield
        self.parts[name] = time.process_time() - start[0], time.perf_counter() - start[1]

    def total(self) -> tuple[float, float]:
        process, wall = zip(*self.parts.values(), strict=True)
        return sum(process), sum(wall)


def compile_all(splits: rb.datasets.Splits, constrained: bool) -> dict[str, rb.Compiled]:
    goals = rb.equal_opportunity(GROUPS, ratio=0.95) if constrained else []
    problem = rb.Problem(minimize=rb.error_rate(), subject_to=goals)
    return {name: rb.compile(problem, getattr(splits, name)) for name in ROWS}


def line(game: str, solution: str, found: rb.Mixture, compiled: dict[str, rb.Compiled]) -> list[str]:
    """A solution's error and worst violation on each population, and how many models it mixes."""
    cells = []
    for name in ROWS:
        violations = found.violations[name]
        if not len(violations):  # trained without constraints, judged by them all the same
            scores = found.member_scores(compiled[name].populations["train"].features)
            violations = found.weights @ compiled[name].evaluate(scores.T)[1]
        cells.append(f"{found.objectives[name]:.4f} / {violations.max().round(4) + 0.0:+.4f}")
    return [game, solution, *cells, str(len(found)), str(found.setting)]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--proxy", choices=("hinge", "logistic", "sigmoid"), default="logistic")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the rows")
    given = parser.parse_args()
    splits = rb.datasets.load_adult()
    clock, lines = Clock(), []
    warm_up()

    with clock.part("compile"):
        compiled, free = (compile_all(splits, constrained) for constrained in (True, False))
    for game, (rates, player) in GAMES.items():
        train, *watched = (free if game == "unconstrained" else compiled).values()
        with clock.part(f"play {game}"):
            trace = rb.play(
                train,
                rb.Linear(rates),
                player=player,
                epochs=given.epochs,
                batch_size=512,
                rules=rb.Rules(proxy=given.proxy),
                watch=dict(zip(ROWS[1:], watched, strict=True)),
                seed=given.seed,
                progress=False,
            )
        with clock.part(f"solve {game}"):
            found = {solution.__name__: rb.select(trace, solution) for solution in SOLUTIONS}
        lines += [line(game, name, mixture, compiled) for name, mixture in found.items()]

    report(clock, lines, given.json)


def report(clock: Clock, lines: list[list[str]], json: Path | None) -> None:
    print(f"UCI Adult on {machine()}, NumPy {np.__version__}.")
    print("Error / worst violation, kept where <= 0; the best of 12 settings by the validation rows.\n")
    print(markdown(["game", "solution", *ROWS, "models", "setting"], lines))
    process, wall = clock.total()
    parts = {**clock.parts, "in all": (process, wall)}
    seconds = [[name, f"{own:.2f}", f"{passed:.2f}"] for name, (own, passed) in parts.items()]
    print("\nSeconds:\n")
    print(markdown(["part", "process", "wall"], seconds))
    floor = len(GAMES) * clock.parts["play unconstrained"][0]  # as many games without constraints
    aim = Aim(
        "Adult's whole table, four games of twelve settings", AIM, process, "s", floor, by="itself"
    )
    tell({name: own for name, (own, _) in parts.items()}, [aim], json)


if __name__ == "__main__":
    main()
