"""The inputs of a round, what it shows, and the state between rounds.

Rates are estimated from batches. The weight of every slice is known, so no estimate ever divides by the
content of a batch, and a group that is absent from a batch needs no special case. The state can be
decomposed into arrays and plain JSON, and restored bit for bit. Everything else (a problem, a model's
code) is not written: the resumed game has its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal

import numpy as np

from ratebound._old.base.arrays import Array, as_like, namespace
from ratebound._old.base.processes import total
from ratebound._old.game._costs import Places
from ratebound._old.game.players import Multipliers
from ratebound._old.problem.compiled import Compiled

Estimate = Literal["running", "unbiased"]


@dataclass(frozen=True)
class RunningMeans:
    """The mean in each slice over about its last `window` rows.

    A batch with n rows of a slice moves its mean by n / max(n, window) of the way: the rates of large
    groups are the batch's own, while the rates of rare groups accumulate over many batches.
    """

    means: Array  # (K, q, S) of q numbers per row
    slice_weight: Array  # (S,)
    window: Array  # (S,) in units of weight

    def seen(self, totals: Array, sizes: Array) -> RunningMeans:
        """After a batch with these totals (K, q, S) and weights (1, S) in each slice."""
        larger = namespace(sizes).maximum(sizes, self.window)
        means = self.means + (totals - sizes * self.means) / larger
        return RunningMeans(means, self.slice_weight, self.window)

    def totals(self) -> Array:
        return self.means * self.slice_weight


def running_means(means: Array, slice_weight: Array, slice_rows: Array, window: float) -> RunningMeans:
    """Means that start from exact ones; a window is at most as long as its slice."""
    rows = slice_rows.clip(min=1)
    tiny = 1e-30  # a slice without rows or weight never moves, and is never divided by
    return RunningMeans(means, slice_weight, slice_weight / rows * rows.clip(max=window) + tiny)


Means = tuple[RunningMeans, ...]  # per block: of each decision from 1 on, or of each target's proxy


@dataclass(frozen=True)
class Batch:
    """Rows drawn for one round: their cells, and how many rows each stands for."""

    cells: Array  # (b,)
    weight: Array | float  # (b,) the weight of each row, or 1
    share: Array | float  # (b,) or one number: rows of its population per row drawn
    amounts: tuple[Array | None, ...]  # for each block, the amounts (b,) of the rows, or None
    rows: Array | None  # (b,) their indices in the stacked rows; None for all of them

    def weights(self, block: int) -> Array | float:
        """The weight of each row in a block."""
        amounts = self.amounts[block]
        return self.weight if amounts is None else self.weight * amounts


@dataclass(frozen=True)
class View:
    """A batch with its scores, as each block of a game sees them."""

    batch: Batch
    shifted: list[Array]  # (K, A, b) for each block, scores relative to its threshold
    places: list[Places]  # for each block, the map from its rows to slices


@dataclass(frozen=True)
class Look:
    """The λ-player's view of a batch."""

    values: Array  # (K, 1+m) estimates of the objective and the violations on all rows
    means: Means  # after the batch


@dataclass(frozen=True)
class GameState:
    """The state of a game between rounds."""

    multipliers: Multipliers
    means: Means
    thresholds: Array  # (K, L · (D - 1)), one each for all classes but the first
    threshold_moments: tuple[Array, Array] | None = None


def drawn_share(compiled: Compiled, rows: Array | None, example: Array) -> Array | float:
    """For each stacked row, how many rows of its population it stands for; 1 if all are drawn.

    It is computed on the rows' device, without waiting.
    """
    if rows is None:
        return 1.0
    sizes = list(compiled.sizes.values())
    if len(sizes) == 1:
        return float(sizes[0] / max(1, total(np.array([len(rows)]))[0]))
    index = np.asarray(rows) if namespace(rows) is np else rows
    shares: Array | float = 0.0
    for size, where in zip(sizes, compiled.rows.values(), strict=True):
        inside = as_like((index >= where.start) & (index < where.stop), example)
        shares = shares + inside * (size / total(inside.sum()[None]).clip(min=1))
    return shares


# --- decomposing and restoring a state -----------------------------------------------------------


Described = dict[str, Any]  # plain JSON; arrays by name
PLAIN = (bool, int, float, str, type(None))


def taken_apart(node: Any, arrays: dict[str, Array], name: str = "") -> Described:
    """Describe a value; its arrays are added to `arrays` under names that begin with `name`."""
    if isinstance(node, PLAIN):
        return {"plain": node}
    if isinstance(node, np.generic):
        return {"plain": node.item()}
    if isinstance(node, np.ndarray) or namespace(node) is not np:
        on_cpu = node if isinstance(node, np.ndarray) else node.detach().cpu().numpy()
        arrays[name] = np.ascontiguousarray(on_cpu)
        return {"array": name}
    if isinstance(node, tuple | list):
        parts: Any = [taken_apart(part, arrays, f"{name}/{i}") for i, part in enumerate(node)]
        return {"list": parts}
    if isinstance(node, dict):
        parts = {key: taken_apart(part, arrays, f"{name}/{key}") for key, part in node.items()}
        return {"names": parts}
    if is_dataclass(node):
        own = {field.name: getattr(node, field.name) for field in fields(node)}
        parts = {key: taken_apart(part, arrays, f"{name}/{key}") for key, part in own.items()}
        return {"fields": parts}
    return {"same": True}


def put_together(described: Described, arrays: dict[str, Array], like: Any, example: Array) -> Any:
    """The value restored from its description, like `like`, with arrays of `example`'s kind.

    >>> held = {"steps": 3, "means": (np.arange(2.0), None)}
    >>> put_together(taken_apart(held, arrays := {}), arrays, held, np.empty(0))
    {'steps': 3, 'means': (array([0., 1.]), None)}
    """
    if "plain" in described:
        return described["plain"]
    if "array" in described:
        value = arrays[described["array"]]
        if isinstance(like, int | float):  # a counter that was kept on a GPU
            return type(like)(value)
        return value if namespace(example) is np else as_like(value, _of(value, example))
    if "list" in described:
        inner = like if isinstance(like, tuple | list) else [None] * len(described["list"])
        pairs = zip(described["list"], inner, strict=True)
        return tuple(put_together(part, arrays, each, example) for part, each in pairs)
    if "names" in described:
        return {
            key: put_together(part, arrays, None if like is None else like.get(key), example)
            for key, part in described["names"].items()
        }
    if "fields" in described:
        own = described["fields"]
        value = {key: put_together(own[key], arrays, getattr(like, key), example) for key in own}
        return replace(like, **value)
    return like


def _of(values: Array, example: Array) -> Array:
    """An example with the device of `example`, and the precision of NumPy `values`."""
    torch = namespace(example)
    return torch.empty(0, dtype=torch.from_numpy(values[..., :0]).dtype, device=example.device)
