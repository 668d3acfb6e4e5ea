"""What a game holds, taken apart into arrays and plain JSON, and put together again bit for bit.

Of whatever is neither (a problem, a model's code) nothing is written: the game that goes on has its own.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from ratebound.base.arrays import Array, as_like, namespace

Described = dict[str, Any]  # plain JSON; arrays by their names
PLAIN = (bool, int, float, str, type(None))


def taken_apart(node: Any, arrays: dict[str, Array], name: str = "") -> Described:
    """Describe a value; its arrays are added to `arrays`, by names that begin with `name`."""
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
    """The value that was taken apart, of the type of `like`, its arrays of the kind of `example`.

    >>> held = {"steps": 3, "means": (np.arange(2.0), None)}
    >>> put_together(taken_apart(held, arrays := {}), arrays, held, np.empty(0))
    {'steps': 3, 'means': (array([0., 1.]), None)}
    """
    if "plain" in described:
        return described["plain"]
    if "array" in described:
        found = arrays[described["array"]]
        if isinstance(like, int | float):  # a counter that was on a GPU
            return type(like)(found)
        return found if namespace(example) is np else as_like(found, _of(found, example))
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
        found = {key: put_together(own[key], arrays, getattr(like, key), example) for key in own}
        return replace(like, **found)
    return like


def _of(values: Array, example: Array) -> Array:
    """An example with the device of `example`, and the precision of NumPy `values`."""
    torch = namespace(example)
    return torch.empty(0, dtype=torch.from_numpy(values[..., :0]).dtype, device=example.device)
