"""Lattice models at the paper's sizes: rows per second, cost of a step, memory, and how well they fit.

Each is compared with a dense network of two layers with as many multiplications as the lattices have
vertices, and with pytorch-lattice if it is installed (pip install --no-deps pytorch-lattice; it needs
NumPy below 2). Times are the best of several, taken in turns, on one thread, or on a GPU if there is
one. RATEBOUND_PLAIN=1 leaves out compiled code.
"""

import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
import torch
from _common import Aim, machine, markdown, options, tell

import ratebound._old as rb
from ratebound._old.learners.lattice import random_subsets
from ratebound._old.learners.lattice_network import Lattices, Numeric

SIZES = {
    "Map Intent": (300, 8, 32, 28),
    "Filtering": (50, 6, 16, 14),
}  # lattices, rank, features, monotone
KEYPOINTS = 11
AIM = 3.0  # times the dense network's time, forward and backward


def lattices_of(lattices: int, rank: int, features: int, monotone: int) -> Lattices:
    points = tuple(np.linspace(0, 1, KEYPOINTS).tolist())
    shapes = [Numeric(points, int(i < monotone)) for i in range(features)]
    return Lattices(shapes, random_subsets(features, lattices, rank, seed=0))


def dense_of(lattices: int, rank: int, features: int, monotone: int) -> torch.nn.Module:
    """Two layers with as many multiplications as the lattices have vertices."""
    width = round(lattices * 2**rank / (features + 1))
    return torch.nn.Sequential(
        torch.nn.Linear(features, width), torch.nn.ReLU(), torch.nn.Linear(width, 1), torch.nn.Flatten(0)
    )


def other_of(lattices: int, rank: int, features: int, monotone: int) -> torch.nn.Module | None:
    """The same model of pytorch-lattice, whose calibrators are one module a feature."""
    try:
        from pytorch_lattice.enums import Monotonicity
        from pytorch_lattice.layers import RTL, NumericalCalibrator
    except ImportError:
        return None
    up = Monotonicity.INCREASING
    signs = [up if i < monotone else None for i in range(features)]

    class Other(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            points = np.linspace(0, 1, KEYPOINTS)
            self.calibrators = torch.nn.ModuleList(
                NumericalCalibrator(points, output_min=0.0, output_max=1.0, monotonicity=sign)
                for sign in signs
            )
            self.lattices = RTL(signs, lattices, rank, average_outputs=True)
            # It holds its lattices in a plain dictionary, in which no optimiser would find them.
            self.found = torch.nn.ModuleList(
                layer for layer, _ in self.lattices._lattice_layers.values()
            )

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            columns = [c(rows[:, i : i + 1]) for i, c in enumerate(self.calibrators)]
            return self.lattices(torch.cat(columns, 1)).reshape(-1)

        def apply_constraints(self) -> None:
            for layer in (*self.calibrators, *self.found):
                layer.apply_constraints()

    return Other()


MODELS: dict[str, Callable[..., torch.nn.Module | None]] = {
    "ratebound": lattices_of,
    "dense": dense_of,
    "pytorch-lattice": other_of,
}


def best_of(actions: dict[Any, Callable[[], Any]], device: str, seconds: float) -> dict[Any, float]:
    """The shortest time of each action; they take turns for so many seconds each."""
    times: dict[Any, list[float]] = {name: [] for name in actions}
    ends = time.perf_counter() + seconds * len(actions)
    while time.perf_counter() < ends or len(min(times.values(), key=len)) < 6:
        for name, action in actions.items():
            for _ in range(3):
                if device != "cpu":
                    torch.cuda.synchronize()
                start = time.perf_counter()
                action()
                if device != "cpu":
                    torch.cuda.synchronize()
                times[name].append(time.perf_counter() - start)
    return {name: min(each) for name, each in times.items()}


def saved_bytes(model: torch.nn.Module, rows: torch.Tensor) -> int:
    """What a forward pass keeps for the backward pass, parameters not counted."""
    kept: dict[int, int] = {}
    own = {p.data_ptr() for p in model.parameters()}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(rows)
    return sum(kept.values())


def speed(device: str, batches: list[int], seconds: float) -> tuple[list[list[str]], list[Aim]]:
    """A row per size, batch and model; and the aims."""
    lines, aims = [], []
    for size, shape in SIZES.items():
        for batch in batches:
            models, actions = {}, {}
            for name, make in MODELS.items():
                torch.manual_seed(0)
                model = make(*shape)
                if model is None:
                    continue
                dtype = torch.float64 if name == "pytorch-lattice" else torch.float32
                model = model.to(device)
                rows = torch.rand(batch, shape[2], dtype=dtype, device=device)
                gradient = torch.randn(batch, dtype=dtype, device=device)

                def forward(model: Any = model, rows: Any = rows) -> None:
                    with torch.no_grad():
                        model(rows)

                def both(model: Any = model, rows: Any = rows, gradient: Any = gradient) -> None:
                    model.zero_grad()
                    model(rows).backward(gradient)

                try:
                    both()
                except RuntimeError as error:  # pytorch-lattice makes tensors on the CPU wherever it is
                    lines.append([size, f"{batch:,}", name, "fails", str(error)[:40], "", ""])
                    continue
                models[name] = saved_bytes(model, rows) / batch
                actions[name, "forward"], actions[name, "both"] = forward, both
            taken = best_of(actions, device, seconds)
            floor = taken["dense", "both"]
            for name, kept in models.items():
                ahead, whole = taken[name, "forward"], taken[name, "both"]
                told = f"{batch / ahead:,.0f}", f"{batch / whole:,.0f}", f"{whole / floor:.2f}"
                lines.append([size, f"{batch:,}", name, *told, f"{kept:,.0f}"])
            other = taken.get(("pytorch-lattice", "both"))
            peer = {} if other is None else {"peer": 1000 * other, "who": "pytorch-lattice"}
            words = f"lattices beside a dense network, {size}'s size, batches of {batch:,}, {device}"
            aims.append(Aim(words, AIM, 1000 * taken["ratebound", "both"], floor=1000 * floor, **peer))
    return lines, aims


def steps(device: str, batch: int, seconds: float) -> list[list[str]]:
    """Milliseconds of putting parameters back in order after a step of Adam, K settings at once."""
    lines = []
    for size, shape in SIZES.items():
        for settings in (1, 8):
            torch.manual_seed(0)
            model = lattices_of(*shape).to(device)
            state = {
                name: p.data.repeat(settings, *[1] * p.ndim) for name, p in model.named_parameters()
            }
            model.project(state)
            moved = {name: values + 0.1 * torch.randn_like(values) for name, values in state.items()}
            copies = {name: values.clone() for name, values in moved.items()}

            def project(model: Any = model, moved: Any = moved, copies: Any = copies) -> None:
                for name, values in moved.items():
                    copies[name].copy_(values)
                model.project(copies)

            actions = {"ratebound": project}
            other = other_of(*shape) if settings == 1 and device == "cpu" else None
            if other is not None:
                actions["other"] = other.apply_constraints
            taken = best_of(actions, device, seconds)
            told = {name: f"{1000 * each:.2f}" for name, each in taken.items()}
            counts = f"{model.parameter_count:,}", f"{model.constraint_count:,}"
            lines.append([size, str(settings), *counts, told["ratebound"]])
            if other is not None:
                count = sum(p.numel() for p in other.parameters())
                lines.append([f"{size}, pytorch-lattice", "1", f"{count:,}", "", told["other"]])
    return lines


# --- how well they fit ---------------------------------------------------------------------------


def noisy(seeds: int) -> list[list[str]]:
    """Test errors where the truth is monotone and a fifth of 400 labels are turned."""
    errors: dict[str, list[float]] = {"monotone": [], "free": []}
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        rows = random.uniform(size=(4400, 4))
        truth = rows[:, 0] * rows[:, 1] + rows[:, 2] ** 2 - 0.5 * rows[:, 3] > 0.35
        labels = truth[:400] ^ (random.random(400) < 0.2)
        compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(rows[:400], labels))
        for name, signs in (("monotone", {0: 1, 1: 1, 2: 1, 3: -1}), ("free", {})):
            learner = rb.Lattice(lattices=8, rank=4, keypoints=8, monotone=signs)
            trace = rb.play(compiled, learner, epochs=60, batch_size=100, progress=False, seed=seed)
            scores = rb.last_iterate(trace).member_scores(rows[400:])[:, 0]
            errors[name].append(float(np.mean((scores >= 0) != truth[400:])))
    return [[name, f"{np.mean(e):.4f}", f"{np.std(e):.4f}"] for name, e in errors.items()]


def adult(epochs: int) -> list[list[str]]:
    """Errors on Adult's raw columns, the iterate best on the validation rows, beside LightGBM's."""
    splits = rb.datasets.load_adult()
    texts = [name for name, column in splits.train.columns.items() if column.dtype.kind == "U"]
    numbers = [name for name in splits.train.columns if name not in texts]
    values = {name: np.unique(splits.train.columns[name]) for name in texts}

    def encoded(population: rb.Population) -> Any:
        found = [np.asarray(population.columns[name], float) for name in numbers]
        for name, known in values.items():
            code = np.searchsorted(known, population.columns[name]).clip(max=len(known) - 1)
            same = known[code] == population.columns[name]
            found.append(np.where(same, code, np.nan))
        return np.column_stack(found)

    parts = {name: getattr(splits, name) for name in ("train", "validation", "test")}
    rows = {name: encoded(part) for name, part in parts.items()}
    codes = list(range(len(numbers), len(numbers) + len(texts)))
    problem = rb.Problem(rb.error_rate())
    compiled = {n: rb.compile(problem, rb.Population(rows[n], part.y)) for n, part in parts.items()}
    lines = []
    for keypoints in (10, 50, 100):
        start = time.perf_counter()
        trace = rb.play(
            compiled["train"],
            rb.Lattice(keypoints=keypoints, categorical=codes),
            epochs=epochs,
            watch={name: compiled[name] for name in ("validation", "test")},
            progress=False,
        )
        taken = time.perf_counter() - start
        best = int(trace.watched["validation"].objectives.argmin())
        errors = [trace.objectives[best], *(w.objectives[best] for w in trace.watched.values())]
        lines.append([f"lattices, {keypoints} keypoints", *(f"{e:.4f}" for e in errors), f"{taken:.0f}"])
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return lines
    start = time.perf_counter()
    model = LGBMClassifier(n_jobs=1, verbose=-1)
    model.fit(rows["train"], parts["train"].y, categorical_feature=codes)
    taken = time.perf_counter() - start
    wrong = [float(np.mean(model.predict(rows[name]) != part.y)) for name, part in parts.items()]
    return [*lines, ["LightGBM, defaults", *(f"{e:.4f}" for e in wrong), f"{taken:.0f}"]]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", choices=("speed", "fit"), help="half of it")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each time taken")
    parser.add_argument("--epochs", type=int, default=20, help="on Adult")
    given = parser.parse_args()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    print(f"Lattice models on {machine()}, PyTorch {torch.__version__}.")
    aims: list[Aim] = []
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for device in devices if given.only != "fit" else []:
        batches = [512, 1024, 4096] if device == "cpu" else [1024, 16384]
        lines, found = speed(device, batches, given.seconds)
        aims += found
        print(f"\nRows per second on {device}; bytes a row kept for the backward pass:\n")
        header = ["size", "batch", "model", "forward", "and backward", "times dense", "bytes a row"]
        print(markdown(header, lines))
        print("\nPutting the parameters back in order after a step:\n")
        header = ["size", "settings", "parameters", "pairs in order", "ms"]
        print(markdown(header, steps(device, 512, given.seconds)))
    if given.only != "speed":
        print("\nMonotone truth, 400 rows, a fifth of the labels turned; test error over 10 draws:\n")
        print(markdown(["model", "mean", "deviation"], noisy(10)))
        print(f"\nAdult, raw columns, no constraints, {given.epochs} epochs; error:\n")
        print(markdown(["model", "train", "validation", "test", "seconds"], adult(given.epochs)))
    tell({aim.what: aim.measured for aim in aims}, aims, given.json)


if __name__ == "__main__":
    main()
