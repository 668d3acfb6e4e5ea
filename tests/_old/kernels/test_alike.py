"""Every kernel's compiled loops against its plain version, in one table.

Triton's kernels are compared with the plain versions in `test_triton`, which needs separate processes.
"""

from importlib import import_module

import numpy as np
import pytest

from ratebound._old.kernels import dispatch, swap
from ratebound._old.kernels.bits import Bits

from ..extras import torch
from .swap_matrices import peaked

if not dispatch.numba_works():
    pytest.skip("numba is missing or switched off", allow_module_level=True)


def bits(random, loops, dtype):
    packed = np.packbits(random.random((300, 70)) < 0.3, axis=1)
    made, two = Bits(70, packed, loops), random.normal(size=(2, 300)).astype(dtype)
    table = random.normal(size=(2, 70)).astype(dtype)
    return made.spread(table), made.total(two), made.count(two > 0)


def swap_steps(random, loops, dtype):
    matrix, shown = peaked(200, 3, "even"), random.normal(size=200)
    near = swap.eliminated(matrix)
    gradient = shown[:, None] * near
    results = []
    for adam in (False, True):
        if loops:
            factors = swap.adam_factors(1) if adam else None
            results += swap.stepped(matrix, near, shown, 0.1, None, factors)[:2]
        else:
            direction = swap.adam_direction(gradient, None, 1)[0] if adam else gradient
            moved = swap.raised(matrix, 0.1 * direction)
            results += moved, swap.stationary_distribution(moved, near)
    return results


def lines(random, loops, dtype):
    from ratebound._old.kernels.shapes import project_line

    return [project_line(torch.tensor(random.normal(size=(3, 20)).astype(dtype))).numpy()]


def cubes(random, loops, dtype):
    from ratebound._old.kernels.shapes import project_lattices

    vertices = torch.tensor(random.normal(size=(2, 32, 70)).astype(dtype))
    return [project_lattices(vertices, torch.tensor(random.random((5, 70)) < 0.6)).numpy()]


def lattices(random, loops, dtype):
    from ratebound._old.kernels.calibrators import Fixed
    from ratebound._old.kernels.lattices import means

    def tensor(*shape):
        return torch.tensor(random.random(shape).astype(dtype), requires_grad=True)

    starts = torch.tensor([[0.0, 0.5]] * 3, dtype=getattr(torch, dtype))
    places = (
        torch.arange(4),
        starts,
        2 * torch.ones_like(starts),
        torch.tensor([[2]]),
        torch.tensor([[0]]),
    )
    given = tensor(2, 3, 4), tensor(2, 3), tensor(2, 8, 5)
    subsets = torch.tensor(np.array([random.permutation(4)[:3] for _ in range(5)]))
    rows = (2.5 * tensor(100, 4)).detach()
    rows[:5, 1] = torch.nan
    scores = means(*given, rows, Fixed(*places, subsets), 4)
    scores.backward(tensor(2, 100).detach())
    return [scores.detach().numpy(), *(each.grad.numpy() for each in given)]


KERNELS = {each.__name__: each for each in (bits, swap_steps, lines, cubes, lattices)}
IN_PYTORCH = {"lines", "cubes", "lattices"}
# Loops that others inline are compiled with them and are not called on their own.
OUTER = {
    "bits": {"_spread", "_total", "_count", "_turn"},
    "swap": {"raise_matrix", "extend_compiled"},
    "shapes": {"_pool_lines", "_project"},
    "calibrators": {"calibrate", "add_by_values"},
    "interpolation": {"transform", "turn_back", "interpolate_rows", "add_by_table"},
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_compiled_loops_say_what_the_plain_version_says(monkeypatch, kernel, dtype):
    if kernel in IN_PYTORCH:
        pytest.importorskip("torch")
    compiled = KERNELS[kernel](np.random.default_rng(0), True, dtype)
    monkeypatch.setattr(dispatch, "numba_works", lambda: False)
    plain = KERNELS[kernel](np.random.default_rng(0), False, dtype)
    for one, other in zip(compiled, plain, strict=True):
        close = 1e-5 if dtype == "float32" and kernel != "swap_steps" else 1e-11
        np.testing.assert_allclose(one, other, rtol=close, atol=close)


def test_the_table_has_every_loop(monkeypatch):
    pytest.importorskip("torch")
    called = set()
    monkeypatch.setattr(
        dispatch.Loop,
        "__call__",
        lambda self, *given: called.add((self.__module__, self.__name__)) or self._compiled(*given),
    )
    for kernel in KERNELS.values():
        kernel(np.random.default_rng(0), True, "float64")
    assert called == {
        (f"ratebound._old.kernels.{m}", name) for m, names in OUTER.items() for name in names
    }
    for module in OUTER:
        names = vars(import_module(f"ratebound._old.kernels.{module}"))
        loops = {name: each for name, each in names.items() if isinstance(each, dispatch.Loop)}
        inner = {word for each in loops.values() for word in each.function.__code__.co_names}
        assert set(loops) - inner <= OUTER[module]
