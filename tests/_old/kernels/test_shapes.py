"""Projections against SciPy's isotonic regression and an exact quadratic programme; exact order."""

import itertools

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, nnls

torch = pytest.importorskip("torch")

from ratebound._old.kernels import dispatch  # noqa: E402
from ratebound._old.kernels.shapes import (  # noqa: E402
    in_order,
    layers_of,
    least_rise,
    project_lattices,
    project_line,
    project_order,
)


@pytest.fixture(autouse=True, params=["compiled", "plain"])
def _way(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(dispatch, "by_numba", lambda *_: False)
    elif not dispatch.numba_works():
        pytest.skip("numba is missing or switched off")


def nearest(values, pairs):
    """The exact projection of values (n,) on the cone of values in order, by its dual.

    It is values - Gᵀλ, where G holds the differences that must be <= 0 and λ >= 0 minimises its norm:
    non-negative least squares.
    """
    differences = np.zeros((len(pairs), len(values)))
    for row, (low, high) in enumerate(pairs):
        differences[row, low], differences[row, high] = 1.0, -1.0
    return values - differences.T @ nnls(differences.T, values)[0]


def cube_pairs(rank, monotone):
    return [
        (corner, corner | 1 << d)
        for corner, d in itertools.product(range(2**rank), range(rank))
        if monotone[d] and not corner >> d & 1
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 11, 40])
@pytest.mark.parametrize("seed", range(3))
def test_line_is_isotonic_regression(size, seed):
    values = np.random.default_rng(seed).normal(size=(4, 5, size))
    projected = project_line(torch.tensor(values)).numpy()
    expected = [isotonic_regression(line).x for line in values.reshape(-1, size)]
    np.testing.assert_allclose(projected.reshape(-1, size), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e6])
def test_line_is_in_order_to_the_last_bit(scale):
    generator = torch.Generator().manual_seed(1)
    values = scale * torch.randn(500, 12, generator=generator)
    once = project_line(values)
    assert bool((once.diff(dim=-1) >= 0).all())
    assert bool((project_line(once).diff(dim=-1) >= 0).all())


def test_line_in_order_stays():
    values = torch.linspace(0, 1, 10).repeat(3, 1)
    torch.testing.assert_close(project_line(values), values)


def test_layers_share_no_value():
    pairs = [(0, 1), (1, 2), (0, 3), (3, 2), (4, 5)]
    groups = layers_of(pairs)
    assert sorted(pair for group in groups for pair in group) == sorted(pairs)
    for group in groups:
        ends = [end for pair in group for end in pair]
        assert len(ends) == len(set(ends))


ORDERS = {
    "chain": [(i, i + 1) for i in range(5)],
    "fork": [(0, 1), (0, 2), (0, 3)],
    "diamond": [(0, 1), (0, 2), (1, 3), (2, 3)],
    "backwards": [(5, 4), (4, 3), (3, 2), (2, 1), (1, 0)],
    "apart": [(0, 1), (4, 5)],
}


@pytest.mark.parametrize("name", ORDERS)
def test_partial_orders_against_the_exact_projection(name):
    pairs = ORDERS[name]
    values = np.random.default_rng(5).normal(size=(20, 6))
    projected = project_order(torch.tensor(values), pairs).numpy()
    for low, high in pairs:
        assert (projected[:, low] <= projected[:, high]).all()
    exact = np.array([nearest(row, pairs) for row in values])
    np.testing.assert_allclose(projected, exact, atol=0.02)
    many = project_order(torch.tensor(values), pairs, sweeps=400).numpy()
    np.testing.assert_allclose(many, exact, atol=1e-9)


@pytest.mark.parametrize("monotone", [(1, 1, 1), (1, 0, 1), (1, 1, 1, 1), (0, 1, 0, 1)])
def test_lattices_against_the_exact_projection(monotone):
    rank, lattices = len(monotone), 15
    values = np.random.default_rng(2).normal(size=(2**rank, lattices))
    pairs = cube_pairs(rank, monotone)
    exact = np.column_stack([nearest(column, pairs) for column in values.T])
    mask = torch.tensor(monotone, dtype=torch.bool)[:, None].expand(rank, lattices)
    many = project_lattices(torch.tensor(values), mask, sweeps=500).numpy()
    np.testing.assert_allclose(many, exact, atol=1e-9)
    few = project_lattices(torch.tensor(values), mask).numpy()
    least = np.linalg.norm(values - exact, axis=0)
    assert (np.linalg.norm(values - few, axis=0) <= 1.01 * least + 1e-12).all()


@pytest.mark.parametrize(
    ("rank", "noise", "tolerance"), [(6, 1.0, 0.005), (8, 1.0, 0.01), (8, 0.03, 0.002)]
)
def test_the_default_sweeps_come_close(rank, noise, tolerance):
    """The distance moved, over the least possible; with small noise, as after a training step."""
    generator = torch.Generator().manual_seed(rank)
    mask = torch.ones(rank, 30, dtype=torch.bool)
    start = torch.randn(2**rank, 30, generator=generator, dtype=torch.double)
    start = project_lattices(start, mask, sweeps=500)
    values = start + noise * torch.randn(2**rank, 30, generator=generator, dtype=torch.double)
    least = (values - project_lattices(values, mask, sweeps=1000)).norm()
    assert (values - project_lattices(values, mask)).norm() <= (1 + tolerance) * least


@pytest.mark.parametrize("sweeps", [0, 1, 8])
def test_lattices_are_in_order_to_the_last_bit(sweeps):
    generator = torch.Generator().manual_seed(3)
    values = torch.randn(4, 64, 50, generator=generator)  # settings, vertices, lattices
    mask = torch.rand(6, 50, generator=generator) < 0.6
    projected = project_lattices(values, mask, sweeps)
    assert float(least_rise(values, mask)) < 0
    assert float(least_rise(projected, mask)) == 0
    for lattice in range(50):
        for low, high in cube_pairs(6, mask[:, lattice].tolist()):
            assert bool((projected[:, low, lattice] <= projected[:, high, lattice]).all())


def test_values_in_order_stay_as_they_are():
    mask = torch.ones(5, 7, dtype=torch.bool)
    values = in_order(torch.randn(32, 7, generator=torch.Generator().manual_seed(0)), mask)
    assert torch.equal(in_order(values, mask), values)
    assert torch.equal(project_lattices(values, mask), values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lattices", [1, 50, 130])
def test_compiled_loops_are_the_plain_version_to_the_last_bit(monkeypatch, dtype, lattices):
    generator = torch.Generator().manual_seed(lattices)
    values = torch.randn(3, lattices, 2**5, generator=generator, dtype=dtype).transpose(1, 2)
    mask = torch.rand(5, lattices, generator=generator) < 0.6
    projected = project_lattices(values, mask)
    line = project_line(values[0])
    monkeypatch.setattr(dispatch, "by_numba", lambda *_: False)
    assert torch.equal(projected, project_lattices(values.contiguous(), mask))
    torch.testing.assert_close(line, project_line(values[0]))
