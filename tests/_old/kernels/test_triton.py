"""Kernels in Triton do what the plain versions do; without a GPU they run in Triton's interpreter."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

torch = pytest.importorskip("torch")
if find_spec("triton") is None:
    pytest.skip("Triton is not installed, and the plain versions run", allow_module_level=True)

from ratebound._old.kernels import dispatch  # noqa: E402
from ratebound._old.kernels.interpolation import coefficients  # noqa: E402
from ratebound._old.kernels.shapes import least_rise, project_lattices, project_line  # noqa: E402
from ratebound._old.learners.lattice import random_subsets  # noqa: E402
from ratebound._old.learners.lattice_network import Categorical, Lattices, Numeric  # noqa: E402

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
    """Skip if the interpreter fails at any loop: older Tritons' does with a newer NumPy."""
    if INTERPRETED:
        from ratebound._old.kernels import shapes_triton

        try:
            shapes_triton.project_lattices(torch.zeros(1, 2, 1), torch.ones(1, 1, dtype=torch.bool), 1)
        except Exception as error:
            if type(error).__name__ != "InterpreterError":
                raise
            pytest.skip(f"Triton's interpreter fails here: {error}")


def both_ways(monkeypatch, compute):
    """The results of the kernels and of the plain versions."""
    monkeypatch.setattr(dispatch, "by_numba", lambda *_: False)
    results = []
    for fits in (True, False):
        monkeypatch.setattr(dispatch, "by_triton", lambda *_, fits=fits: fits)
        results.append(compute())
    return results


def assert_close(computed, plain):
    for ours, theirs in zip(computed, plain, strict=True):
        tolerance = 1e-5 if ours.dtype == torch.float32 else 1e-12
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


NUMBERS = [Numeric((0.0, 0.3, 1.0)), Numeric((0.0, 0.1, 0.2, 0.5, 1.0))] * 4
MIXED = [*NUMBERS[:2], Categorical(3), Categorical(20), Numeric(tuple(i / 20 for i in range(21)))]


def assert_the_same(monkeypatch, features, subsets, settings, dtype, rows=150):
    """Scores, with and without gradients to come, and the gradients, with missing values too."""
    torch.manual_seed(0)
    module = Lattices(features, subsets).to(DEVICE, dtype)
    table = torch.rand(rows, len(features), dtype=dtype) * 1.4 - 0.2
    for column, feature in enumerate(features):
        if isinstance(feature, Categorical):
            table[:, column] = torch.randint(-1, feature.size + 2, (rows,)).to(dtype)
    table[torch.rand(table.shape) < 0.1] = torch.nan
    table[0] = torch.inf
    table = table.to(DEVICE)
    state = {
        name: torch.rand(settings, *p.shape, dtype=dtype, device=DEVICE, requires_grad=True)
        for name, p in module.named_parameters()
    }
    gradient = torch.randn(settings, rows, dtype=dtype, device=DEVICE) / rows

    def compute():
        scores = module.stacked(state, table)
        with torch.no_grad():
            alone = module.stacked(state, table)
        return scores, alone, *torch.autograd.grad(scores, list(state.values()), gradient)

    assert_close(*both_ways(monkeypatch, compute))


@here
@pytest.mark.filterwarnings("ignore:overflow")  # of infinity, in the interpreter
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("rank", "lattices", "settings", "features"),
    [(1, 1, 1, NUMBERS[:1]), (1, 2, 2, MIXED[2:4]), (3, 4, 2, MIXED), (6, 3, 2, NUMBERS)],
)
def test_scores_and_gradients(monkeypatch, rank, lattices, settings, features, dtype):
    subsets = random_subsets(len(features), lattices, rank, 0)
    assert_the_same(monkeypatch, features, subsets, settings, dtype)


@here
@pytest.mark.filterwarnings("ignore:overflow")
def test_sums_in_parts(monkeypatch):
    """More rows than one program takes: they are distributed, as lattices are."""
    assert_the_same(monkeypatch, MIXED[1:3], [[0, 1], [1, 0]], 1, torch.float64, rows=1200)


@here
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_feature_may_come_twice_in_a_lattice(monkeypatch):
    assert_the_same(monkeypatch, NUMBERS[:2], [[0, 0, 1], [1, 1, 1]], 1, torch.float64)


@here
@pytest.mark.parametrize("rank", [1, 4, 6])
def test_coefficients_to_the_last_bit(rank):
    """So if a lattice is flat along an input, its computed scores are too."""
    from ratebound._old.kernels import interpolation_triton as kernels

    vertices = torch.randn(2, 2**rank, 20, device=DEVICE)
    assert torch.equal(kernels.coefficients(vertices), coefficients(vertices))


@here
@pytest.mark.parametrize("dtype", DTYPES)
def test_projections(monkeypatch, dtype):
    torch.manual_seed(0)
    lines = [torch.randn(2, 3, k, dtype=dtype, device=DEVICE) for k in (2, 11, 20)]
    cubes = [torch.randn(2, 2**rank, 9, dtype=dtype, device=DEVICE) for rank in (1, 3, 6)]
    monotone = torch.rand(6, 9, device=DEVICE) < 0.7
    flags = [monotone[: x.shape[1].bit_length() - 1].contiguous() for x in cubes]

    def compute():
        results = [project_line(x) for x in lines]
        return results + [project_lattices(x, own) for x, own in zip(cubes, flags, strict=True)]

    computed, plain = both_ways(monkeypatch, compute)
    assert_close(computed, plain)
    assert all(bool((x.diff() >= 0).all()) for x in computed[:3])
    assert all(least_rise(x, own) == 0 for x, own in zip(computed[3:], flags, strict=True))


@here
def test_what_has_diverged_stays_so(monkeypatch):
    monkeypatch.setattr(dispatch, "by_numba", lambda *_: False)
    monkeypatch.setattr(dispatch, "by_triton", lambda *_: True)
    line, cube = torch.zeros(1, 5, device=DEVICE), torch.zeros(1, 8, 1, device=DEVICE)
    line[0, 3] = cube[0, 2, 0] = torch.nan
    flags = torch.ones(3, 1, dtype=torch.bool, device=DEVICE)
    assert project_line(line).isnan().all()
    assert project_lattices(cube, flags)[0, 2, 0].isnan()
