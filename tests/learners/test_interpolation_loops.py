"""Compiled interpolation against the plain one in double precision, and finite differences."""

import pytest

from ratebound.learners.lattice import random_subsets

torch = pytest.importorskip("torch")
pytest.importorskip("numba")

from ratebound.learners import _interpolation as interpolation  # noqa: E402
from ratebound.learners import _interpolation_loops as loops  # noqa: E402
from ratebound.learners._interpolation import coefficients, interpolate  # noqa: E402

CLOSE = {torch.float32: 2e-5, torch.float64: 1e-12}


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def drawn(rank, settings, rows, lattices=4, dtype=torch.double, features=10):
    """Inputs, tables and subsets; lattices share features."""
    torch.manual_seed(rank)
    own = torch.tensor(random_subsets(features, lattices, rank, seed=rank))
    subsets = torch.cat([own + features * setting for setting in range(settings)])
    inputs = 2 * torch.rand(settings * features, rows, dtype=dtype) - 1
    return inputs, coefficients(torch.randn(settings, 2**rank, lattices, dtype=dtype)), subsets


def everything(totals, table_gradient, inputs, table, subsets, gradient):
    """Totals, slopes by the inputs, gradients by the table."""
    slopes = torch.zeros_like(inputs)
    found = totals(inputs, table, subsets, len(table) // len(gradient), slopes)
    return found, slopes, table_gradient(inputs, table, subsets, gradient)


PLAIN = interpolation.plain_totals, interpolation.plain_table_gradient
FUSED = loops.totals, loops.table_gradient


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5, 6, 7, 8, 9])
@pytest.mark.parametrize(("settings", "rows"), [(1, 1), (3, 37), (2, 2000)])
def test_loops_are_the_plain_version(rank, settings, rows, dtype):
    inputs, table, subsets = drawn(rank, settings, rows)
    gradient = torch.randn(settings, rows, dtype=torch.double)
    expected = everything(*PLAIN, inputs, table, subsets, gradient)
    given = [t.to(dtype) for t in (inputs, table)]
    assert loops.takes(*given)
    found = everything(*FUSED, *given, subsets, gradient.to(dtype))
    for one, other in zip(found, expected, strict=True):
        scale = float(other.abs().max())
        torch.testing.assert_close(one.double(), other, rtol=0, atol=CLOSE[dtype] * scale)
    alone = loops.totals(*given, subsets, len(table) // settings, None)
    assert torch.equal(alone, found[0])  # whether slopes are asked for or not


def test_threads_change_nothing_but_roundings():
    inputs, table, subsets = drawn(6, 2, 1000)
    gradient = torch.randn(2, 1000, dtype=torch.double)
    alone = everything(*FUSED, inputs, table, subsets, gradient)
    torch.set_num_threads(3)
    together = everything(*FUSED, inputs, table, subsets, gradient)
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other)


def test_other_tensors_are_left_to_the_plain_version():
    inputs, table, _ = drawn(4, 1, 5)
    high = torch.zeros(1, 2**5, 2**5, dtype=torch.double)
    assert not loops.takes(inputs, high)
    assert not loops.takes(inputs.float(), table)
    assert not loops.takes(inputs.bfloat16(), table.bfloat16())
    assert not loops.takes(inputs.to("meta"), table.to("meta"))


@pytest.mark.parametrize("rank", [2, 5, 6])
def test_gradients_are_those_of_finite_differences(rank):
    subsets = torch.tensor(random_subsets(6, 3, rank, 0))
    both = torch.cat([subsets, subsets + 6])  # two settings
    z = torch.rand(12, 5, dtype=torch.double, requires_grad=True)
    vertices = torch.randn(2, 2**rank, 3, dtype=torch.double, requires_grad=True)

    def scores(z, vertices):
        return interpolate(2 * z - 1, coefficients(vertices), both, 3)

    assert torch.autograd.gradcheck(scores, (z, vertices))


def test_a_second_derivative_is_refused():
    inputs, table, subsets = drawn(3, 1, 5)
    scores = interpolate(inputs.requires_grad_(), table, subsets, 4)
    weight = torch.ones_like(scores, requires_grad=True)
    (slopes,) = torch.autograd.grad(scores, inputs, weight, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes.sum().backward()


def test_what_is_not_a_number_shows():
    inputs, table, subsets = drawn(6, 1, 40)
    inputs[subsets[0, 0], 7] = torch.nan
    found, slopes, by_table = everything(*FUSED, inputs, table, subsets, torch.ones(1, 40).double())
    assert found.isnan().nonzero().tolist() == [[0, 7]]
    assert bool(slopes[:, 7].isnan().any())
    assert bool(by_table[0].isnan().any())
