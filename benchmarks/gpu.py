"""What constraints cost on a GPU: a large network in each precision, a small one in a loop of one's own.

The problem is ``recall(group) >= 0.95 * recall()`` for m disjoint groups. The large network has three
hidden layers and fills the device: its floor is its own `scores` and `descend` around the gradient of
the plain logistic loss, in the same precision, and its peer a plain PyTorch loop in that precision. Its
exact rates after some rounds stand beside those of float32, and of float32 with other batches. The
small model is linear, in a loop of PyTorch's own; its floor is that loop with a plain loss in place of
the game, whose rounds are played one kernel at a time (`Game.round`) or recorded (`Game.recorded`).

All contenders take turns, a block of steps each, and each counts with its fastest block. A step is
counted from when it is asked for, and a block ends when the device has done all of it.
"""

import math
import time
from collections.abc import Callable, Iterator
from itertools import cycle, pairwise

import numpy as np
import torch
from _common import Aim, machine, markdown, options, tell
from torch import nn

import ratebound._old as rb
from ratebound._old.game.turns import batches as draws
from ratebound._old.game.turns import taking

FEATURES = 122
PRECISIONS = ("float32", "tf32", "bf16")
COUNTS = (20, 1000)  # promises on the small model
SMALL, SMALL_BATCH = 34_189, 1024
Step = Callable[[], None]


def compiled_with(rows: int, m: int, random: np.random.Generator) -> rb.Compiled:
    """Rows of mostly zeros, a quarter positive, in m groups; positives of some are easier to find."""
    X = (random.random((rows, FEATURES)) < 1 / 9).astype(np.float32)
    scores = X @ random.normal(size=FEATURES)
    noisy = scores + random.logistic(size=rows)
    y = noisy > np.quantile(noisy, 0.76)
    groups = np.empty(rows, dtype=np.int64)
    for label in (False, True):
        own = np.flatnonzero(y == label)
        easier = 0.3 * scores[own] / scores.std() + random.normal(size=len(own))
        groups[own[np.argsort(easier)]] = np.arange(len(own)) * m // len(own)
    promises = [rb.recall(g=i) >= 0.95 * rb.recall() for i in range(m)]
    return rb.compile(rb.Problem(rb.error_rate(), promises), rb.Population(X, y, {"g": groups}))


def timed(contenders: dict[str, Step], steps: int, blocks: int, device: str) -> dict[str, float]:
    """Each contender's milliseconds a step, in its fastest block."""
    best = dict.fromkeys(contenders, math.inf)
    for block in range(blocks + 1):  # the first one sets everything up
        for name, step in contenders.items():
            _wait(device)
            start = time.perf_counter()
            for _ in range(steps):
                step()
            _wait(device)
            if block:
                best[name] = min(best[name], 1000 * (time.perf_counter() - start) / steps)
    return best


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def batches_of(rows: int, size: int, device: str) -> Iterator[torch.Tensor]:
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(0)).to(device)
    return cycle(order[: rows // size * size].split(size))


# The large network.


def layers_of(width: int) -> nn.Module:
    torch.manual_seed(0)
    sizes = [FEATURES, width, width, width]
    hidden = [(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
    return nn.Sequential(*(layer for pair in hidden for layer in pair), nn.Linear(width, 1))


def work_of(module: nn.Module, batch: int) -> float:
    """Multiplications and additions of a step: forward, to the weights, and to the layer before."""
    weights = [layer.weight.numel() for layer in module if isinstance(layer, nn.Linear)]
    return 2.0 * batch * (3 * sum(weights) - weights[0])


def constrained(compiled: rb.Compiled, learner: rb.Torch, batch: int) -> Step:
    """A round as `rb.play` takes it, recorded on a GPU."""
    fit = learner.start(compiled, 1, 0)
    game = rb.Game(compiled, rb.ExternalRegret(), device=fit.device)
    state = game.start(fit.all_scores())
    return taking(game, fit, state, zip(draws(compiled, game, batch, 0)), 0).step


def unconstrained(compiled: rb.Compiled, learner: rb.Torch, batch: int, device: str) -> Step:
    fit = learner.start(compiled, 1, 0)
    y = torch.as_tensor(compiled.first.y, device=device).float()
    rows_of = batches_of(len(y), batch, device)

    def step() -> None:
        rows = next(rows_of)
        scores = fit.scores(rows)
        fit.descend((torch.sigmoid(scores) - y.index_select(0, rows)) / len(rows))

    return step


def pytorch(compiled: rb.Compiled, module: nn.Module, batch: int, precision: str, device: str) -> Step:
    """A plain loop: binary cross-entropy and Adam."""
    X = torch.as_tensor(compiled.first.features, device=device)
    y = torch.as_tensor(compiled.first.y, device=device).float()
    rows_of, module = batches_of(len(y), batch, device), module.to(device)
    optimizer = torch.optim.Adam(module.parameters())
    loss = nn.functional.binary_cross_entropy_with_logits

    def step() -> None:
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        rows = next(rows_of)
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            scores = module(X.index_select(0, rows)).squeeze(1)
        optimizer.zero_grad()
        loss(scores.float(), y.index_select(0, rows)).backward()
        optimizer.step()
        torch.backends.cuda.matmul.allow_tf32 = False

    return step


def large(
    width: int, batch: int, rows: int, rounds: int, device: str
) -> tuple[dict[str, float], list[Aim]]:
    compiled = compiled_with(rows, 20, np.random.default_rng(0))
    kinds = PRECISIONS if device != "cpu" else ("float32", "bf16")
    learners = {p: rb.Torch(layers_of(width), device=device, precision=p) for p in kinds}
    contenders: dict[str, Step] = {}
    for p, learner in learners.items():
        contenders[f"{p}, unconstrained"] = unconstrained(compiled, learner, batch, device)
        contenders[f"{p}, constrained"] = constrained(compiled, learner, batch)
        contenders[f"{p}, PyTorch"] = pytorch(compiled, layers_of(width), batch, p, device)
    found = timed(contenders, 10, 8, device)
    del contenders
    work, lines, aims = work_of(layers_of(width), batch), [], []
    for p in kinds:
        floor, own, peer = (found[f"{p}, {w}"] for w in ("unconstrained", "constrained", "PyTorch"))
        faster = found["float32, constrained"] / own
        speeds = [f"{work / ms / 1e9:.0f}" for ms in (floor, own, peer)]
        times = [f"{floor:.2f}", f"{own:.2f} ({own / floor:.2f}x)", f"{peer:.2f}"]
        lines.append([p, *times, " / ".join(speeds), f"{faster:.2f}"])
        beside = {"floor": floor, "peer": peer, "who": "PyTorch"}
        aims.append(Aim(f"large network's step, {p}", 1.5, own, **beside))
    head = ["precision", "floor", "constrained", "PyTorch", "TFLOP/s", "times as fast"]
    print(f"\n### A large network: {width} wide, m = 20, batches of {batch:,}, ms a step\n")
    print(markdown(head, lines))
    before = found["float32, constrained"]
    for p in kinds[1:]:
        own = found[f"{p}, constrained"]
        aims.append(Aim(f"large network's step, {p} beside float32", 0.333, own, floor=before))
    rates, differ = same_rates(compiled, learners, batch, rounds)
    print(f"\n### Its exact rates after {rounds} rounds\n")
    print(rates)
    chance = {name: each for name, each in differ.items() if name not in kinds}
    for p in kinds[1:]:
        for what, off in differ[p].items():
            note = "; ".join(f"{name} {each[what]:.4f}" for name, each in chance.items())
            beside = {"unit": "", "by": "itself", "note": note}
            aims.append(Aim(f"large network, {p} beside float32: {what}", 0.001, off, **beside))
    return found, aims


def same_rates(
    compiled: rb.Compiled, learners: dict[str, rb.Torch], batch: int, rounds: int
) -> tuple[str, dict[str, dict[str, float]]]:
    """Exact rates of the last iterate and of the best mixture, and how far they are from float32's."""
    runs = {p: (learner, 0) for p, learner in learners.items()}
    runs["float32 again"] = (learners["float32"], 0)  # a GPU adds up in another order every time
    runs["float32 with other batches"] = (learners["float32"], 1)
    every = {"rounds": rounds, "keep": rb.Keep(max(1, rounds // 20)), "batch_size": batch}
    lines, differ, rates = [], {}, {}
    for name, (learner, seed) in runs.items():
        player = rb.ExternalRegret()
        trace = rb.play(compiled, learner, player=player, seed=seed, progress=False, **every)
        mixture = rb.shrink(trace)
        last = np.array([trace.objectives[-1], *trace.violations[-1]])
        best = np.array([mixture.objectives["train"], mixture.violations["train"].max()])
        rates[name] = last, best
        each, chosen = (np.abs(a - b) for a, b in zip((last, best), rates["float32"], strict=True))
        differ[name] = {
            "the mixture's error and worst violation": float(chosen.max()),
            "the last iterate's rates, the farthest": float(each.max()),
        }
        shown = [*best, last[0], last[1:].max(), chosen.max(), each.mean(), each.max()]
        lines.append([name, *(f"{value:.4f}" for value in shown)])
    head = ["precision", "mixture: error", "worst violation", "last: error", "worst violation"]
    return markdown([*head, "difference: mixture", "last, mean", "last, largest"], lines), differ


# The small model.


def own_loop(compiled: rb.Compiled, way: str, device: str) -> Step:
    """A linear model in a plain loop, with a plain loss or with the game in its place."""
    X = torch.as_tensor(compiled.first.features, device=device)
    y = torch.as_tensor(compiled.first.y, device=device).float()
    rows_of = batches_of(len(y), SMALL_BATCH, device)
    model = nn.Linear(FEATURES, 1).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = nn.functional.binary_cross_entropy_with_logits
    game = rb.Game(compiled, rb.ExternalRegret(), device=None if device == "cpu" else device)
    state = game.start(np.zeros(len(y)))
    rounds = game.recorded(state)

    def step() -> None:
        nonlocal state
        rows = next(rows_of)
        scores = model(X.index_select(0, rows)).squeeze(1)
        optimizer.zero_grad()
        if way == "floor":
            loss(scores, y.index_select(0, rows)).backward()
        elif way == "recorded":
            scores.backward(rounds(scores, rows))
        else:
            gradient, state = game.round(state, scores.detach(), game.batch(rows))
            scores.backward(gradient)
        optimizer.step()

    return step


def small(device: str) -> tuple[dict[str, float], list[Aim]]:
    lines, cells, aims = [], {}, []
    for m, most in zip(COUNTS, (1.5, 2.0), strict=True):
        compiled = compiled_with(SMALL, m, np.random.default_rng(m))
        ways = {way: own_loop(compiled, way, device) for way in ("floor", "Game.round", "recorded")}
        learner = rb.Torch(lambda: nn.Linear(FEATURES, 1), 0.01, device=device)
        ways["rb.play"] = constrained(compiled, learner, SMALL_BATCH)
        found = timed(ways, 200, 10, device)
        floor = found["floor"]
        lines.append(
            [str(m), f"{floor:.3f}", *(f"{t:.3f} ({t / floor:.2f}x)" for t in list(found.values())[1:])]
        )
        cells |= {f"own loop, m = {m}, {way}": t for way, t in found.items()}
        what = f"a loop of one's own, m = {m}"
        note = f"one by one {found['Game.round']:.3f} ms"
        aims.append(Aim(what, most, found["recorded"], floor=floor, note=note))
    print(f"\n### A linear model in a loop of one's own, batches of {SMALL_BATCH:,}, ms a step\n")
    print(markdown(["m", "floor", "`Game.round`", "`Game.recorded`", "a round of `rb.play`"], lines))
    return cells, aims


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--width", type=int, default=1024, help="of the large network's layers")
    parser.add_argument("--batch", type=int, default=65_536, help="rows of its batches")
    parser.add_argument("--rows", type=int, default=524_288, help="that they are drawn from")
    parser.add_argument("--rounds", type=int, default=200, help="after which rates are compared")
    given = parser.parse_args()
    if given.device != "cpu" and not torch.cuda.is_available():
        print("no CUDA device here: the figures need one (--device cpu tries the script)")
        return
    where = machine() if given.device == "cpu" else torch.cuda.get_device_name()
    print(f"On {where}, PyTorch {torch.__version__}.")
    cells, aims = small(given.device)
    more, others = large(given.width, given.batch, given.rows, given.rounds, given.device)
    tell(cells | more, aims + others, given.json)


if __name__ == "__main__":
    main()
