"""Kernels in Triton do what the plain versions do; without a GPU they run in Triton's interpreter."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

torch = pytest.importorskip("torch")
if find_spec("triton") is None:
    pytest.skip("Triton is not installed, and the plain versions run", allow_module_level=True)

from ratebound.learners import _kernels  # noqa: E402
from ratebound.learners._interpolation import coefficients, interpolate  # noqa: E402
from ratebound.learners._lattice_network import Categorical, Lattices, Numeric  # noqa: E402
from ratebound.learners._shapes import least_rise, project_lattices, project_line  # noqa: E402
from ratebound.learners.lattice import random_subsets  # noqa: E402

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
DTYPES = [torch.float32, torch.float64]

here = pytest.mark.skipif(
    not (INTERPRETED or torch.cuda.is_available()), reason="no CUDA device: see the interpreter below"
)


@pytest.mark.skipif(INTERPRETED or torch.cuda.is_available(), reason="runs on the device itself")
def test_in_the_interpreter():
    """It is chosen when Triton is imported, so in a process of its own."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture(autouse=True)
def _known():
    """Skip where the interpreter fails at any loop: that of older Tritons does with a newer NumPy."""
    if INTERPRETED:
        from ratebound.learners import _shapes_triton as kernels

        try:
            kernels.project_lattices(torch.zeros(1, 2, 1), torch.ones(1, 1, dtype=torch.bool), 1)
        except Exception as error:
            if type(error).__name__ != "InterpreterError":
                raise
            pytest.skip(f"Triton's interpreter fails here: {error}")


def both_ways(monkeypatch, compute):
    """What kernels find, and what the plain versions do."""
    found = []
    for fits in (True, False):
        monkeypatch.setattr(_kernels, "fit", lambda *_, fits=fits: fits)
        found.append(compute())
    return found


def assert_close(found, plain):
    for ours, theirs in zip(found, plain, strict=True):
        tolerance = 1e-5 if ours.dtype == torch.float32 else 1e-12
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@here
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rank", "lattices", "settings"), [(1, 1, 1), (2, 3, 2), (5, 4, 1), (6, 3, 2)])
def test_interpolation(monkeypatch, rank, lattices, settings, dtype):
    torch.manual_seed(0)
    features, rows = rank + 2, 150
    subsets = torch.tensor(random_subsets(features, lattices, rank, 0))
    subsets = torch.cat([subsets + features * k for k in range(settings)]).to(DEVICE)
    z = torch.rand(settings * features, rows, dtype=dtype, device=DEVICE).requires_grad_()
    vertices = torch.randn(settings, 2**rank, lattices, dtype=dtype, device=DEVICE).requires_grad_()
    gradient = torch.randn(settings, rows, dtype=dtype, device=DEVICE)

    def compute():
        table = coefficients(vertices)
        scores = interpolate(2 * z - 1, table, subsets, lattices)
        with torch.no_grad():
            alone = interpolate(2 * z - 1, table, subsets, lattices)
        return table, scores, alone, *torch.autograd.grad(scores, (z, vertices), gradient)

    assert_close(*both_ways(monkeypatch, compute))


@here
def test_a_feature_may_come_twice_in_a_lattice(monkeypatch):
    subsets = torch.tensor([[0, 0, 1], [1, 1, 1]], device=DEVICE)
    z = torch.rand(2, 40, dtype=torch.double, device=DEVICE).requires_grad_()
    vertices = torch.randn(1, 8, 2, dtype=torch.double, device=DEVICE)

    def compute():
        return torch.autograd.grad(interpolate(z, coefficients(vertices), subsets, 2).sum(), [z])

    assert_close(*both_ways(monkeypatch, compute))


@here
def test_a_lattice_flat_along_an_input_has_flat_scores(monkeypatch):
    monkeypatch.setattr(_kernels, "fit", lambda *_: True)
    torch.manual_seed(0)
    half = torch.randn(1, 8, 3, device=DEVICE)
    vertices = torch.cat([half, half], 1)  # the same at both ends of the fourth input
    z = torch.rand(4, 64, device=DEVICE)
    moved = z.clone()
    moved[3] = torch.rand(64, device=DEVICE)
    subsets = torch.tensor([[0, 1, 2, 3]] * 3, device=DEVICE)
    first, second = (interpolate(2 * x - 1, coefficients(vertices), subsets, 3) for x in (z, moved))
    assert torch.equal(first, second)


@here
@pytest.mark.filterwarnings("ignore:overflow")  # of infinity, in the interpreter
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("settings", [1, 3])
@pytest.mark.parametrize(
    "features",
    [
        [Numeric((0.0, 0.3, 1.0)), Categorical(3), Numeric((0.0, 0.1, 0.2, 0.5, 1.0)), Categorical(20)],
        [Categorical(2)],
        [Numeric(tuple(i / 20 for i in range(21)))],
    ],
    ids=["both", "categories", "numbers"],
)
def test_calibration(monkeypatch, features, settings, dtype):
    torch.manual_seed(0)
    module = Lattices(features, [[0]]).to(DEVICE, dtype)
    rows = torch.rand(600, len(features), dtype=dtype) * 1.4 - 0.2
    for column, feature in enumerate(features):
        if isinstance(feature, Categorical):
            rows[:, column] = torch.randint(-1, feature.size + 2, (600,)).to(dtype)
    rows[torch.rand(rows.shape) < 0.2] = torch.nan
    rows[0] = torch.inf
    rows = rows.to(DEVICE)
    state = {
        name: torch.rand(settings, *p.shape, dtype=dtype, device=DEVICE, requires_grad=True)
        for name, p in module.named_parameters()
    }
    values = state["number_values"], state["category_values"]
    gradient = torch.randn(settings * len(features), 600, dtype=dtype, device=DEVICE) / 600

    def compute():
        inputs = module._inputs(state, rows)
        return inputs, *torch.autograd.grad(inputs, values, gradient)

    assert_close(*both_ways(monkeypatch, compute))


@here
@pytest.mark.parametrize("dtype", DTYPES)
def test_projections(monkeypatch, dtype):
    torch.manual_seed(0)
    lines = [torch.randn(2, 3, k, dtype=dtype, device=DEVICE) for k in (2, 11, 20)]
    cubes = [torch.randn(2, 2**rank, 9, dtype=dtype, device=DEVICE) for rank in (1, 3, 6)]
    monotone = torch.rand(6, 9, device=DEVICE) < 0.7
    flags = [monotone[: x.shape[1].bit_length() - 1].contiguous() for x in cubes]

    def compute():
        found = [project_line(x) for x in lines]
        return found + [project_lattices(x, own) for x, own in zip(cubes, flags, strict=True)]

    found, plain = both_ways(monkeypatch, compute)
    assert_close(found, plain)
    assert all(bool((x.diff() >= 0).all()) for x in found[:3])
    assert all(least_rise(x, own) == 0 for x, own in zip(found[3:], flags, strict=True))


@here
def test_what_has_diverged_stays_so(monkeypatch):
    monkeypatch.setattr(_kernels, "fit", lambda *_: True)
    line, cube = torch.zeros(1, 5, device=DEVICE), torch.zeros(1, 8, 1, device=DEVICE)
    line[0, 3] = cube[0, 2, 0] = torch.nan
    flags = torch.ones(3, 1, dtype=torch.bool, device=DEVICE)
    assert project_line(line).isnan().all()
    assert project_lattices(cube, flags)[0, 2, 0].isnan()
