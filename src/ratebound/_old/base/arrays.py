"""The few operations that NumPy and PyTorch spell differently.

The rest of the game is written once, with methods and operators that both kinds of array share.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray or torch.Tensor
MANY = 2**16  # the most numbers that are summed at once


def namespace(array: Array) -> ModuleType:
    """The module, numpy or torch, whose functions take `array`."""
    if type(array) is np.ndarray:  # to ask torch takes longer than most operations here
        return np
    torch = sys.modules.get("torch")  # a caller that holds a tensor has imported torch
    return torch if torch is not None and isinstance(array, torch.Tensor) else np


def as_like(values: Array, array: Array) -> Array:
    """NumPy `values` as an array of the same kind, precision and device as `array`."""
    if namespace(array) is np:
        return np.asarray(values, dtype=array.dtype)
    return namespace(array).as_tensor(values, dtype=array.dtype, device=array.device)


def as_numpy(array: Array) -> Array:
    """An array of either kind as a NumPy array; waits for the GPU if it is there."""
    return array if namespace(array) is np else array.detach().cpu().numpy()


def joined_in_numpy(parts: Sequence[Array]) -> Array:
    """Arrays of either kind, concatenated in NumPy; arrays on a GPU take one transfer."""
    if any(namespace(part) is np for part in parts):
        return np.concatenate(list(map(as_numpy, parts)))
    return as_numpy(namespace(parts[0]).cat(list(parts)))


def diagonal(matrices: Array) -> Array:
    """The diagonals (..., s) of matrices (..., s, s), to be read or written to."""
    if namespace(matrices) is np:
        return np.einsum("...ii->...i", matrices)
    return matrices.diagonal(dim1=-2, dim2=-1)


def count_to(size: int, array: Array) -> Array:
    """1, 2, ..., size, of the kind and on the device of `array`."""
    xp = namespace(array)
    if xp is np:
        return np.arange(1.0, size + 1)
    return xp.arange(1, size + 1, dtype=array.dtype, device=array.device)


def take(table: Array, index: Array) -> Array:
    """Columns `index` of the last axis."""
    return table.take(index, axis=-1) if namespace(table) is np else table.index_select(-1, index)


def take_rows(table: Array, index: Array) -> Array:
    """Rows `index` of the first axis, for an index of any integer type."""
    return table.take(index, axis=0) if namespace(table) is np else table.index_select(0, index.int())


def tally(values: Array, index: Array, size: int) -> Array:
    """Sums of values (K, b) by the bin of each (b,): (K, size)."""
    xp = namespace(values)
    if xp is np:
        if len(values) == 1 or values.size > MANY:  # one by one takes less memory and no more time
            return np.stack([np.bincount(index, row, size) for row in values])
        shifted = index + size * np.arange(len(values))[:, None]
        return np.bincount(shifted.ravel(), values.ravel(), size * len(values)).reshape(-1, size)
    zeros = xp.zeros(len(values), size, dtype=values.dtype, device=values.device)
    return zeros.index_add_(1, index, values)


def tally_kinds(kinds: Array, count: int, index: Array, size: int, weight: Any, example: Array) -> Array:
    """Sums of weights (b,), or of one weight, by kind (K, b) and bin (b,): (K, count, size)."""
    xp, models = namespace(kinds), len(kinds)
    places, alike = index + size * kinds, isinstance(weight, float)
    if xp is np:
        places += count * size * np.arange(models)[:, None]
        each = None if alike else np.broadcast_to(weight, places.shape).ravel()
        counts = np.bincount(places.ravel(), each, models * count * size).astype(example.dtype)
        counts = counts * weight if alike else counts
    else:
        kind: Any = {"dtype": example.dtype, "device": places.device}
        each = xp.full(places.shape, weight, **kind) if alike else weight.expand(models, -1)
        counts = xp.zeros(models, count * size, **kind).scatter_add_(1, places, each)
    return counts.reshape(models, count, size)


def count(index: Array, size: int, example: Array) -> Array:
    """How often each of 0, ..., size - 1 occurs in `index`: (1, size) of the kind of `example`."""
    xp = namespace(index)
    if xp is np:
        return np.bincount(index, minlength=size)[None].astype(example.dtype)
    return tally(xp.ones_like(index, dtype=example.dtype)[None], index, size)


def descending(values: Array) -> Array:
    """Sorted from large to small along the last axis."""
    xp = namespace(values)
    return -np.sort(-values, axis=-1) if xp is np else xp.sort(values, dim=-1, descending=True)[0]


def solve(matrices: Array, right: Array) -> Array:
    """x with ``matrices @ x = right`` for a stack of matrices; it never waits for a GPU."""
    xp = namespace(matrices)
    if xp is np:
        return np.linalg.solve(matrices, right[..., None])[..., 0]
    return xp.linalg.solve_ex(matrices, right[..., None], check_errors=False)[0][..., 0]


def as_given(values: Array, given: Array) -> Array:
    """Values of either kind, in the shape, kind and precision of the array `given`.

    For integers, only the shape and the kind are taken: nothing is rounded.
    """
    xp = namespace(given)
    if xp is np:
        values = as_numpy(values).reshape(given.shape)
        same = values.dtype == given.dtype or given.dtype.kind != "f"
        return values if same else values.astype(given.dtype)
    values = (xp.from_numpy(values) if namespace(values) is np else values).reshape(given.shape)
    same = values.dtype == given.dtype or not given.is_floating_point()
    return values if same else values.to(given.dtype)


def exactly(array: Array) -> AbstractContextManager[Any]:
    """A context without autocast: numbers of this kind keep their precision."""
    xp = namespace(array)
    return nullcontext() if xp is np else xp.autocast(array.device.type, enabled=False)


def example_of(device: Any, precision: str) -> Array:
    """An empty array on a device and in a precision; a NumPy array if there is no device."""
    if device is None:
        return np.empty(0, dtype=precision)
    torch = sys.modules["torch"]  # a caller with a device has imported it
    example = torch.empty(0, dtype=getattr(torch, precision), device=device)
    if example.is_cuda and torch.is_grad_enabled():
        # PyTorch's thread for gradients warns if the first thing it does on a device is a product.
        torch.zeros(1, device=device, requires_grad=True).exp().backward()
    return example
