"""What constraints cost: milliseconds per training step, beside the same learner's unconstrained step.

The problem is ``recall(group) >= 0.95 * recall()`` for m groups, disjoint or overlapping, on rows as
large as UCI Adult's. To such rates all negatives are alike; to ``positive_rate(group) >= 0.95 *
positive_rate()``, "overlapping, all rows", nearly every row is one of its own. A learner's floor is its
own `scores` and `descend` around the gradient of the plain logistic loss; under constraints a round of
the game comes between the two. Plain PyTorch and, if it is installed, Cooper
(`pip install cooper-optim`) run beside them.

All contenders take turns, a block of steps each, so that a machine that slows down slows all of them;
each counts with its fastest block. One thread throughout: models this small run no faster on more.
"""

import argparse
import itertools
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy and PyTorch are imported

import numpy as np
import torch
from _common import Aim, machine, markdown, options, tell, worst_of
from tqdm import tqdm

import ratebound._old as rb

try:
    import cooper
except ImportError:
    cooper = None

ROWS, FEATURES = 34_189, 122
COUNTS = (4, 20, 100, 400, 1000)
BATCHES = (128, 1024, ROWS)
LAYOUTS = ("disjoint", "overlapping", "overlapping, all rows")
ALL_ROWS_FROM = 100  # groups; with fewer, rows in cells of their own take no longer
SETTINGS = (1, 32)
RATIO = 0.95
PLAYERS = {"external": rb.ExternalRegret, "swap": rb.SwapRegret}
SWAP_AT_MOST = 2**24  # entries of all settings' swap matrices; more would measure the memory

Step = Callable[[], None]
Times = dict[str, float]  # a contender's milliseconds per step


@dataclass(frozen=True)
class Data:
    """The rows every problem is about."""

    X: np.ndarray  # (n, d) float32, mostly zeros
    y: np.ndarray  # (n,) bool


@dataclass(frozen=True)
class Groups:
    """m groups of rows: `of_row` holds a number per row (n,), or who belongs to which (n, m)."""

    layout: str
    m: int
    of_row: np.ndarray

    def columns(self) -> dict[str, np.ndarray]:
        if self.layout == "disjoint":
            return {"g": self.of_row}
        return {f"g{i}": self.of_row[:, i] for i in range(self.m)}

    @property
    def of_all(self) -> bool:
        """Whether rates are of all rows, not of the positive ones."""
        return self.layout == "overlapping, all rows"

    def constraints(self) -> list[rb.Constraint]:
        rate = rb.positive_rate if self.of_all else rb.recall
        if self.layout == "disjoint":
            return [rate(g=i) >= RATIO * rate() for i in range(self.m)]
        return [rate(**{f"g{i}": True}) >= RATIO * rate() for i in range(self.m)]


def make_data(random: np.random.Generator) -> Data:
    """Indicators of which one in nine is set, as in Adult, and about a quarter of positives."""
    X = (random.random((ROWS, FEATURES)) < 1 / 9).astype(np.float32)
    scores = X @ random.normal(size=FEATURES)
    noisy = scores + random.logistic(size=ROWS)
    return Data(X, noisy > np.quantile(noisy, 0.76))


def make_groups(layout: str, m: int, data: Data, random: np.random.Generator) -> Groups:
    if layout != "disjoint":
        return Groups(layout, m, random.random((ROWS, m)) < 0.2)
    # Dealt out like cards, the positives first, so that each group has its share of them.
    of_row = np.empty(ROWS, dtype=np.int64)
    of_row[np.argsort(~data.y, kind="stable")] = np.arange(ROWS) % m
    return Groups(layout, m, of_row)


def make_batches(size: int, random: np.random.Generator) -> list[np.ndarray | None]:
    """A shuffle of all rows cut into batches; None stands for all rows."""
    if size >= ROWS:
        return [None]
    order = random.permutation(ROWS)
    return [order[start : start + size] for start in range(0, ROWS - size + 1, size)]


# The contenders: each function makes a step that draws its batch, and moves the model once.


def make_learner(name: str, settings: int, device: str) -> Any:
    rate = [0.01] if settings == 1 else np.geomspace(0.001, 0.1, settings).tolist()
    if name == "NumPy":
        return rb.Linear(learning_rate=rate)
    return rb.Torch(lambda: torch.nn.Linear(FEATURES, 1), learning_rate=rate, device=device)


def unconstrained_step(fit: Any, y: Any, batches: Iterator[Any]) -> Step:
    def numpy_gradient(scores: Any, rows: Any) -> Any:
        labels = y if rows is None else y.take(rows)
        return (0.5 + 0.5 * np.tanh(0.5 * scores) - labels) / len(labels)

    def torch_gradient(scores: Any, rows: Any) -> Any:
        labels = y if rows is None else y.index_select(0, torch.as_tensor(rows))
        return (torch.sigmoid(scores) - labels) / len(labels)

    gradient = torch_gradient if isinstance(y, torch.Tensor) else numpy_gradient

    def step() -> None:
        rows = next(batches)
        fit.descend(gradient(fit.scores(rows), rows))

    return step


def constrained_step(fit: Any, game: rb.Game, state: Any, share: float, batches: Iterator[Any]) -> Step:
    def step() -> None:
        nonlocal state
        rows = next(batches)
        scores = fit.scores(rows)
        gradient, state = game.round(state, scores, game.batch(rows, share=share))
        fit.descend(gradient)

    return step


def pytorch_step(X: torch.Tensor, y: torch.Tensor, batches: Iterator[Any]) -> Step:
    """The loop everybody writes, without constraints."""
    model = torch.nn.Linear(FEATURES, 1).to(X.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = torch.nn.BCEWithLogitsLoss()

    def step() -> None:
        rows = next(batches)
        inputs, labels = chosen(rows, X, y)
        optimizer.zero_grad()
        loss(model(inputs)[:, 0], labels).backward()
        optimizer.step()

    return step


def cooper_step(X: torch.Tensor, y: torch.Tensor, groups: Groups, batches: Iterator[Any]) -> Step:
    """Cooper with one constraint of size m: sigmoids for the model, true rates for the multipliers."""
    model = torch.nn.Linear(FEATURES, 1)
    loss = torch.nn.BCEWithLogitsLoss()
    of_row = torch.as_tensor(groups.of_row)
    of_row = of_row if groups.layout == "disjoint" else of_row.float()

    class RecallFloors(cooper.ConstrainedMinimizationProblem):
        def __init__(self) -> None:
            super().__init__()
            self.floors = cooper.Constraint(
                constraint_type=cooper.ConstraintType.INEQUALITY,
                formulation_type=cooper.formulations.Lagrangian,
                multiplier=cooper.multipliers.DenseMultiplier(num_constraints=groups.m),
            )

        def compute_cmp_state(self, inputs: Any, labels: Any, members: Any) -> cooper.CMPState:
            scores = model(inputs)[:, 0]
            counted = torch.ones_like(labels) if groups.of_all else labels
            sizes = sum_by_group(counted, members, groups.m)
            soft = violations(torch.sigmoid(scores) * counted, counted, members, sizes)
            with torch.no_grad():
                hard = violations((scores >= 0) * counted, counted, members, sizes)
            floors = cooper.ConstraintState(violation=soft, strict_violation=hard)
            return cooper.CMPState(loss(scores, labels), observed_constraints={self.floors: floors})

    problem = RecallFloors()
    optimizer = cooper.optim.SimultaneousOptimizer(
        cmp=problem,
        primal_optimizers=torch.optim.Adam(model.parameters(), lr=0.01),
        dual_optimizers=torch.optim.SGD(problem.dual_parameters(), lr=0.01, maximize=True),
    )

    def step() -> None:
        rows = next(batches)
        inputs, labels, members = chosen(rows, X, y, of_row)
        optimizer.roll({"inputs": inputs, "labels": labels, "members": members})

    return step


def chosen(rows: Any, *tensors: Any) -> tuple[Any, ...]:
    """These rows of each tensor, all rows for None; four times as fast as ``tensor[rows]``."""
    return tensors if rows is None else tuple(tensor.index_select(0, rows) for tensor in tensors)


def violations(hits: Any, counted: Any, members: Any, sizes: Any) -> Any:
    """How far each group's rate in the batch is below its floor; 0 if no row counts."""
    overall = hits.sum() / counted.sum().clamp(min=1)
    rate = sum_by_group(hits, members, len(sizes)) / sizes.clamp(min=1)
    return torch.where(sizes > 0, RATIO * overall - rate, 0.0)


def sum_by_group(values: Any, members: Any, m: int) -> Any:
    if members.ndim == 2:
        return values @ members
    return torch.zeros(m).index_add(0, members, values)


# The race.


def make_contenders(
    data: Data, groups: Groups, games: dict[int, Any], batches: list[Any], device: str
) -> dict[str, Step]:
    """Every contender for one problem and one size of batches, by name."""
    X = torch.as_tensor(data.X, device=device)
    y = torch.as_tensor(data.y, device=device, dtype=torch.float32)
    on_device = [None if rows is None else torch.as_tensor(rows, device=device) for rows in batches]
    share = 1.0 if batches[0] is None else ROWS / len(batches[0])
    steps = {"PyTorch": pytorch_step(X, y, itertools.cycle(on_device))}
    if cooper is not None and device == "cpu":
        steps["Cooper"] = cooper_step(X, y, groups, itertools.cycle(on_device))
    for learner, settings in columns(device):
        name = contender(learner, settings)
        rows = on_device if device != "cpu" else batches
        labels = y if learner == "Torch" else data.y.astype(np.float32)
        spec = make_learner(learner, settings, device)
        fit = spec.start(rb.Population(data.X), settings, seed=0)
        steps[f"{name}, free"] = unconstrained_step(fit, labels, itertools.cycle(rows))
        if settings in games:
            game, state = games[settings]
            fit = spec.start(rb.Population(data.X), settings, seed=0)
            steps[name] = constrained_step(fit, game, state, share, itertools.cycle(rows))
    return steps


def columns(device: str) -> list[tuple[str, int]]:
    learners = ("NumPy", "Torch") if device == "cpu" else ("Torch",)
    return list(itertools.product(learners, SETTINGS))


def contender(learner: str, settings: int) -> str:
    return f"{learner}, K = {settings}"


def race(steps: dict[str, Step], seconds: float, repeats: int, device: str) -> Times:
    """Milliseconds per step: the fastest of several blocks of steps, all contenders taking turns."""
    turn = seconds / repeats / len(steps)
    counts = {}
    for name, step in steps.items():
        timed(step, 2, device)  # a warm-up
        counts[name] = int(np.clip(turn / timed(step, 2, device), 2, 60))
    best = dict.fromkeys(steps, math.inf)
    for _ in range(repeats):
        for name, step in steps.items():
            timed(step, 1, device)  # the caches were another contender's
            best[name] = min(best[name], 1000 * timed(step, counts[name], device))
    return best


def timed(step: Step, count: int, device: str) -> float:
    """Seconds per step in a block of `count`."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    for _ in range(count):
        step()
    wait()
    return (time.perf_counter() - start) / count


def make_games(data: Data, groups: Groups, player: str, device: str) -> dict[int, Any]:
    """A game and its first state for each number of settings."""
    problem = rb.Problem(minimize=rb.error_rate(), subject_to=groups.constraints())
    compiled = rb.compile(problem, rb.Population(data.X, data.y, columns=groups.columns()))
    games = {}
    for settings in SETTINGS:
        if player == "swap" and settings * (groups.m + 1) ** 2 > SWAP_AT_MOST:
            continue
        game = rb.Game(
            compiled, PLAYERS[player](), settings=settings, device=None if device == "cpu" else device
        )
        games[settings] = game, game.start(np.zeros(ROWS))
    return games


# The report.

Results = dict[tuple[int, int, str], Times]  # by batch size, m and layout


def table(results: Results, batch: int, device: str) -> str:
    """One line per problem: milliseconds, and how many times the learner's unconstrained step."""
    rows = {key[1:]: times for key, times in results.items() if key[0] == batch}
    names = [contender(*column) for column in columns(device)]
    others = [name for name in ("PyTorch", "Cooper") if any(name in times for times in rows.values())]
    floors = [f"{np.median([t[f'{name}, free'] for t in rows.values()]):.3f}" for name in names]
    plain = [f"{np.median([t['PyTorch'] for t in rows.values()]):.3f}"]
    lines = [["0", "unconstrained", *floors, *plain, *[""] * (len(others) - 1)]]
    for (m, layout), times in rows.items():
        own = [
            f"{times[name]:.3f} ({times[name] / times[f'{name}, free']:.2f}x)" if name in times else "–"
            for name in names
        ]
        lines.append([str(m), layout, *own, "", *[f"{times[o]:.3f}" for o in others[1:]]])
    return markdown(["m", "groups", *names, *others], lines)


def aims(results: Results, device: str) -> list[Aim]:
    """What was aimed at, each with the case that is furthest from it."""
    one, found = contender("Torch", 1), []
    if any("Cooper" in times for times in results.values()):
        words = f"{one}: faster than Cooper in every cell"
        found.append(compared(words, 1.0, results, one, "Cooper", "peer"))
    for name, most, high in (
        *((contender("Torch", settings), 1.5, 100) for settings in SETTINGS),
        *((contender("Torch", settings), 2.0, 1000) for settings in SETTINGS),
    ):
        words = f"{name}: its unconstrained step at m <= {high}, {in_batches(1024)}"
        few = {key: times for key, times in results.items() if key[0] == 1024 and key[1] <= high}
        found.append(compared(words, most, few, name, f"{name}, free"))
    for batch in sorted({key[0] for key in results}):
        there = {key: times for key, times in results.items() if key[0] == batch}
        if device == "cpu":
            few = {key: times for key, times in there.items() if key[1] <= 20}
            words = f"NumPy under m <= 20 constraints beside PyTorch without any, {in_batches(batch)}"
            found.append(compared(words, 1.0, few, contender("NumPy", 1), "PyTorch", "peer"))
        for learner in ("NumPy", "Torch") if device == "cpu" else ("Torch",):
            many, one = (contender(learner, settings) for settings in reversed(SETTINGS))
            free = np.median([t[f"{many}, free"] / t[f"{one}, free"] for t in there.values()])
            words = f"{many}: K = 1 (unconstrained {free:.1f}x), {in_batches(batch)}"
            found.append(compared(words, 8.0, there, many, one))
    return [aim for aim in found if aim is not None]


def compared(
    words: str, most: float, results: Results, own: str, other: str, by: str = "floor"
) -> Aim | None:
    """One aim for all problems on which both contenders were measured."""
    beside = {"who": other} if by == "peer" else {}
    cases = [
        Aim(words, most, times[own], by=by, note=case(key), **{by: times[other]}, **beside)
        for key, times in results.items()
        if own in times and other in times
    ]
    return worst_of(cases) if cases else None


def case(key: tuple[int, int, str]) -> str:
    batch, m, layout = key
    return f"{in_batches(batch)}, m = {m}, {layout}"


def in_batches(batch: int) -> str:
    return "all rows at once" if batch == ROWS else f"batches of {batch}"


def arguments() -> argparse.Namespace:
    parser = options(__doc__)
    parser.add_argument("--player", choices=PLAYERS, default="external", help="who plays λ")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of the Torch learner")
    parser.add_argument("--constraints", type=int, nargs="+", default=COUNTS, metavar="M")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES, metavar="B")
    parser.add_argument("--seconds", type=float, default=8.0, help="for each problem and batch size")
    parser.add_argument("--repeats", type=int, default=8, help="blocks of steps per contender")
    parser.add_argument("--quick", action="store_true", help="a smoke test: few problems, few steps")
    given = parser.parse_args()
    if given.quick:
        given.constraints, given.batches, given.seconds, given.repeats = (4, 100), (128, 1024), 0.3, 2
    return given


def main() -> None:
    given = arguments()
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    data = make_data(random)
    batches = {min(size, ROWS): make_batches(size, random) for size in given.batches}
    results: Results = {}
    problems = [
        (m, layout)
        for m, layout in itertools.product(given.constraints, LAYOUTS)
        if layout != "overlapping, all rows" or m >= ALL_ROWS_FROM
    ]
    for m, layout in tqdm(problems, disable=None, leave=False):
        groups = make_groups(layout, m, data, random)
        games = make_games(data, groups, given.player, given.device)
        for size, drawn in batches.items():
            steps = make_contenders(data, groups, games, drawn, given.device)
            results[size, m, layout] = race(steps, given.seconds, given.repeats, given.device)

    on_gpu = given.device == "cuda"
    where = torch.cuda.get_device_name() if on_gpu else machine()
    print(f"Milliseconds per step on {where}; PyTorch {torch.__version__}, NumPy {np.__version__}.")
    print(f"{ROWS:,} rows, {FEATURES} features, Adam, the {given.player}-regret player; one CPU thread.")
    print("In brackets: times the learner's own unconstrained step. PyTorch is the plain loop, without")
    print("constraints" + ("; Cooper is constrained, one setting." if cooper and not on_gpu else "."))
    for size in batches:
        print(f"\n### {in_batches(size).capitalize()}\n\n{table(results, size, given.device)}")
    cells = {f"{case(key)}: {name}": ms for key, times in results.items() for name, ms in times.items()}
    tell(cells, aims(results, given.device), given.json)


if __name__ == "__main__":
    main()
