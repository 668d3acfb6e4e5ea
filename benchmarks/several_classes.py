"""What constraints cost with several classes: a step of the game beside the same model's softmax step.

Rows are made as large as scikit-learn's digits: 64 features and ten classes, in groups "a" and "b". The
promises are floors of every class's recall, for everyone and in group "a". A model's floor is its own
`scores` and `descend` around the gradient of the cross-entropy; under constraints a round of the game
stands between the two. Plain PyTorch, without constraints, runs beside them.
"""

import argparse
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from _common import machine, markdown, options, tell
from step import Step, constrained_step, race

import ratebound._old as rb

import torch  # isort: skip  # after `step`, which sets the number of threads

ROWS, FEATURES, CLASSES = 5_000, 64, 10
BATCHES = (256, 1000)
MODELS = {"Linear": rb.Linear(), "MLP, 32 hidden": rb.MLP((32,))}
PLAYERS = {"external": rb.ExternalRegret, "swap": rb.SwapRegret}


def people(random: np.random.Generator) -> rb.Population:
    """Rows of which each class has its own centre, overlapping the others'."""
    labels = random.integers(0, CLASSES, ROWS)
    X = random.normal(size=(CLASSES, FEATURES))[labels] + 2 * random.normal(size=(ROWS, FEATURES))
    return rb.Population(X.astype(np.float32), labels, columns={"g": random.choice(["a", "b"], ROWS)})


def promises(count: int) -> list[rb.Constraint]:
    """So many floors: of every class's recall, and then of it in group "a"."""
    everyone = [rb.recall(of=each) >= 0.7 for each in range(CLASSES)]
    return [*everyone, *[rb.recall(of=each, g="a") >= 0.7 for each in range(CLASSES)]][:count]


def softmax_step(fit: Any, labels: np.ndarray, batches: Iterator[Any]) -> Step:
    """The model's own step down the cross-entropy."""
    wanted = (np.arange(CLASSES)[:, None] == labels).astype(np.float32)
    tensor = torch.as_tensor(wanted)

    def step() -> None:
        rows = next(batches)
        scores = fit.scores(rows)
        if isinstance(scores, torch.Tensor):
            odds = torch.softmax(scores, 1) - tensor.index_select(1, torch.as_tensor(rows))
        else:
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            odds = powers / powers.sum(axis=1, keepdims=True) - wanted.take(rows, axis=1)
        fit.descend(odds / len(rows))

    return step


def pytorch_step(model: Any, X: Any, labels: Any, batches: Iterator[Any]) -> Step:
    """The loop everybody writes, without constraints."""
    optimizer, loss = torch.optim.Adam(model.parameters(), lr=0.01), torch.nn.CrossEntropyLoss()

    def step() -> None:
        rows = torch.as_tensor(next(batches))
        optimizer.zero_grad()
        loss(model(X.index_select(0, rows)), labels.index_select(0, rows)).backward()
        optimizer.step()

    return step


def contenders(name: str, rows: rb.Population, given: argparse.Namespace, batch: int) -> dict[str, Step]:
    """A model's unconstrained step, plain PyTorch's, and rounds with each number of promises."""
    random = np.random.default_rng(1)
    batches = [random.permutation(ROWS)[:batch] for _ in range(20)]
    learner = MODELS[name]

    def fitted() -> Any:
        return learner.start(rows, 1, seed=0)

    nn = torch.nn
    layers = [nn.Linear(FEATURES, CLASSES)]
    if isinstance(learner, rb.MLP):
        layers = [nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, CLASSES)]
    X, labels = torch.as_tensor(rows.features), torch.as_tensor(rows.y.astype(np.int64))
    steps = {
        "free": softmax_step(fitted(), rows.y, itertools.cycle(batches)),
        "PyTorch": pytorch_step(nn.Sequential(*layers), X, labels, itertools.cycle(batches)),
    }
    for count in given.constraints:
        problem = rb.Problem(minimize=rb.error_rate(), subject_to=promises(count))
        game = rb.Game(rb.compile(problem, rows), PLAYERS[given.player]())
        fit = fitted()
        state = game.start(fit.all_scores())
        steps[str(count)] = constrained_step(fit, game, state, ROWS / batch, itertools.cycle(batches))
    return steps


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--constraints", type=int, nargs="+", default=(1, 10, 20), metavar="M")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES, metavar="B")
    parser.add_argument("--player", choices=PLAYERS, default="external", help="who plays λ")
    parser.add_argument("--seconds", type=float, default=6.0, help="for each model and batch size")
    parser.add_argument("--repeats", type=int, default=400, help="blocks of steps per contender")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows, lines, cells = people(np.random.default_rng(0)), [], {}
    for name, batch in itertools.product(MODELS, given.batches):
        times = race(contenders(name, rows, given, batch), given.seconds, given.repeats, "cpu")
        cells |= {f"{name}, batches of {batch}: {who}": ms for who, ms in times.items()}
        free = times["free"]
        counts = [f"{times[str(m)]:.3f} ({times[str(m)] / free:.2f}x)" for m in given.constraints]
        lines.append([name, str(batch), f"{free:.3f}", *counts, f"{times['PyTorch']:.3f}"])
    print(f"Milliseconds per step on {machine()}; PyTorch {torch.__version__}, one thread.")
    print(
        f"{ROWS:,} rows, {FEATURES} features, {CLASSES} classes, Adam, the {given.player}-regret player."
    )
    print("In brackets: times the model's own unconstrained step.\n")
    header = [
        "model",
        "batch",
        "unconstrained",
        *[f"m = {m}" for m in given.constraints],
        "PyTorch, free",
    ]
    print(markdown(header, lines))
    tell(cells, [], given.json)


if __name__ == "__main__":
    main()
