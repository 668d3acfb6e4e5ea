"""Milliseconds of a training step: recall of m groups at least 95% of everyone's, batches of 1,024 rows.

A linear model on 122 features. Every loop computes the same rates in the same way, unless the library
has its own; each contender's fastest block of steps counts, and all take turns.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy and PyTorch are imported

import numpy as np
import torch
from _lines import Line, Result, hand_over
from step import (
    FEATURES,
    ROWS,
    Groups,
    Step,
    chosen,
    constrained_step,
    cooper_step,
    make_batches,
    make_data,
    make_groups,
    make_learner,
    pytorch_step,
    race,
    sum_by_group,
    violations,
)

import ratebound._old as rb

COUNTS, BATCH = (4, 20, 100, 400), 1024
SECONDS, REPEATS = 3.0, 250  # short blocks: even on a busy machine some are undisturbed

Make = Callable[[torch.Tensor, torch.Tensor, Groups, Iterator[Any]], Step]


def plain_step(X: torch.Tensor, y: torch.Tensor, groups: Groups, batches: Iterator[Any]) -> Step:
    return pytorch_step(X, y, batches)


def humancompatible_step(
    X: torch.Tensor, y: torch.Tensor, groups: Groups, batches: Iterator[Any]
) -> Step:
    """The augmented Lagrangian of humancompatible-train, on sigmoids."""
    from humancompatible.train.dual_optim import ALM

    model, loss = torch.nn.Linear(FEATURES, 1), torch.nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    multipliers = ALM(m=groups.m, lr=0.01, is_ineq=True)
    of_row = torch.as_tensor(groups.of_row)

    def step() -> None:
        inputs, labels, members = chosen(next(batches), X, y, of_row)
        scores = model(inputs)[:, 0]
        positives = sum_by_group(labels, members, groups.m)
        below = violations(torch.sigmoid(scores) * labels, labels, members, positives)
        multipliers.forward_update(loss(scores, labels), below).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def fairret_step(X: torch.Tensor, y: torch.Tensor, groups: Groups, batches: Iterator[Any]) -> Step:
    """A penalty on the distance of recalls from everyone's: no multipliers, so no promises."""
    from fairret.loss import NormLoss
    from fairret.statistic import TruePositiveRate

    model, loss = torch.nn.Linear(FEATURES, 1), torch.nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    penalty = NormLoss(TruePositiveRate())
    members = torch.nn.functional.one_hot(torch.as_tensor(groups.of_row), groups.m).float()

    def step() -> None:
        inputs, labels, own = chosen(next(batches), X, y, members)
        scores = model(inputs)
        optimizer.zero_grad()
        (loss(scores[:, 0], labels) + penalty(scores, own, labels[:, None])).backward()
        optimizer.step()

    return step


def own_steps(data: Any, groups: Groups, batches: list[Any]) -> dict[str, Step]:
    people = rb.Population(data.X, data.y, columns=groups.columns())
    compiled = rb.compile(rb.Problem(rb.error_rate(), groups.constraints()), people)
    steps = {}
    for learner in ("Torch", "NumPy"):
        game = rb.Game(compiled, rb.ExternalRegret(), settings=1)
        fit = make_learner(learner, 1, "cpu").start(rb.Population(data.X), 1, seed=0)
        state = game.start(np.zeros(ROWS))
        rows = itertools.cycle(batches)
        steps[learner] = constrained_step(fit, game, state, ROWS / BATCH, rows)
    return steps


def lines(peer: str, make: Make, note: str = "", floor: bool = False) -> Iterator[Line]:
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    data, batches = make_data(random), make_batches(BATCH, random)
    X, y = torch.as_tensor(data.X), torch.as_tensor(data.y, dtype=torch.float32)
    for m in COUNTS:
        groups = make_groups("disjoint", m, data, random)
        drawn = itertools.cycle([torch.as_tensor(rows) for rows in batches])
        steps = {peer: make(X, y, groups, drawn), **own_steps(data, groups, batches)}
        times = race(steps, SECONDS, REPEATS, "cpu")
        own = {name: Result(times[name]) for name in steps if name != peer}
        yield Line(f"step, m = {m}", "ms", peer, Result(times[peer], note=note), own, floor)


if __name__ == "__main__":
    hand_over(
        {
            "PyTorch": partial(lines, "PyTorch", plain_step, "no promises", floor=True),
            "Cooper": partial(lines, "Cooper", cooper_step),
            "humancompatible-train": partial(lines, "humancompatible-train", humancompatible_step),
            "fairret": partial(lines, "fairret", fairret_step, "a penalty"),
        }
    )
