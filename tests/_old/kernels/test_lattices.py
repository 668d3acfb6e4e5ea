"""Lattice models by compiled loops against the plain version in double precision."""

import multiprocessing

import numpy as np
import pytest

from ratebound._old.kernels import dispatch
from ratebound._old.learners.lattice import random_subsets

torch = pytest.importorskip("torch")

from ratebound._old.kernels import lattices  # noqa: E402
from ratebound._old.kernels.interpolation import coefficients, transform  # noqa: E402
from ratebound._old.learners.lattice_network import Categorical, Lattices, Numeric  # noqa: E402

if not dispatch.numba_works():
    pytest.skip("numba is missing or switched off", allow_module_level=True)

CLOSE = {torch.float32: 5e-6, torch.float64: 1e-14}


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _few_rows_too(monkeypatch):
    monkeypatch.setattr(lattices, "FEW", 0)


def drawn(rank, settings, rows, lattices=4):
    """A model, K parameters of each name and rows with missing values and unknown codes, in double.

    Lattices share features, numbers have different numbers of keypoints, and some calibrators are flat.
    """
    torch.manual_seed(rank)
    random = np.random.default_rng(rank)
    features = [Numeric(tuple(np.sort(random.normal(size=int(k))))) for k in random.integers(2, 9, 10)]
    features[2:2] = [Categorical(3), Categorical(1)]
    module = Lattices(features, random_subsets(12, lattices, rank, seed=rank)).double()
    state = {
        name: torch.randn(settings, *p.shape, dtype=torch.double)
        for name, p in module.named_parameters()
    }
    state["number_values"][0, 0, :-1] = 0.3
    X = random.normal(size=(rows, 12))
    X[:, 2:4] = random.integers(-1, 5, (rows, 2))
    X[random.random(X.shape) < 0.1] = np.nan
    X[0, 0] = np.inf
    return module, state, torch.tensor(X)


def everything(module, state, rows, gradient):
    """Scores, and their gradients by each parameter."""
    state = {name: values.clone().requires_grad_() for name, values in state.items()}
    scores = module.stacked(state, rows)
    scores.backward(gradient)
    return [scores.detach(), *(values.grad for values in state.values())]


def plainly(monkeypatch, *given):
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "by_numba", lambda *_: False)
        return everything(*given)


def assert_alike(computed, expected, within):
    for one, other in zip(computed, expected, strict=True):
        most = within * max(1.0, float(other.abs().max()))
        torch.testing.assert_close(one.double(), other, rtol=0, atol=most)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5, 6, 7, 8, 12])
@pytest.mark.parametrize(("settings", "rows"), [(1, 1), (3, 37), (2, 3000)])
def test_loops_say_what_the_plain_version_says(monkeypatch, rank, settings, rows, dtype):
    module, state, X = drawn(rank, settings, rows)
    X = X.float().double()  # or a value could lie on the other side of a keypoint
    module.float().double()
    gradient = torch.randn(settings, rows, dtype=torch.double) / rows**0.5
    expected = plainly(monkeypatch, module, state, X, gradient)
    narrow = {name: values.to(dtype) for name, values in state.items()}
    assert dispatch.by_numba(X.to(dtype), *narrow.values())
    computed = everything(module.to(dtype), narrow, X.to(dtype), gradient.to(dtype))
    assert computed[0].dtype == dtype
    assert_alike(computed, expected, CLOSE[dtype])
    with torch.no_grad():  # whether slopes are taken does not matter either
        assert torch.equal(module.stacked(narrow, X.to(dtype)), computed[0])


@pytest.mark.parametrize("rank", [2, 5, 7])
def test_gradients_are_those_of_finite_differences(rank):
    module, state, rows = drawn(rank, 2, 5, lattices=6)
    names = list(state)
    given = [values.requires_grad_() for values in state.values()]

    def scores(*values):
        return module.stacked(dict(zip(names, values, strict=True)), rows)

    assert torch.autograd.gradcheck(scores, given, fast_mode=True)


def test_threads_change_nothing_but_roundings(monkeypatch):
    monkeypatch.setattr(dispatch, "WORTH", 100)
    module, state, rows = drawn(6, 2, 1000)
    gradient = torch.randn(2, 1000, dtype=torch.double)
    alone = everything(module, state, rows, gradient)
    torch.set_num_threads(3)
    assert_alike(everything(module, state, rows, gradient), alone, 1e-12)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # which is the point
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # by JAX, if an earlier test imported it
def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(dispatch, "WORTH", 1)
    torch.set_num_threads(2)
    parts = []

    def run(first, last):
        parts.append((first, last))

    dispatch.in_parts(run, 10, 1)
    child = multiprocessing.get_context("fork").Process(target=dispatch.in_parts, args=(run, 10, 1))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert sorted(parts) == [(0, 5), (5, 10)]


def test_coefficients_are_those_of_the_plain_version_to_the_last_bit():
    vertices = torch.randn(2, 2**5, 3)
    table, turned = np.empty((2, 3, 8, 4), np.float32), np.empty((2, 3, 4, 8), np.float32)
    transform(vertices.clone().numpy(), table, turned)
    expected = coefficients(vertices).view(2, 3, 8, 4).numpy()
    np.testing.assert_array_equal(table, expected)
    np.testing.assert_array_equal(turned, expected.swapaxes(2, 3))


def test_what_they_do_not_take_is_left_to_the_plain_version(monkeypatch):
    calls = []
    monkeypatch.setattr(lattices, "scores_compiled", lambda *_: calls.append(1))
    module, state, rows = drawn(3, 1, 4)
    half = {name: values.bfloat16() for name, values in state.items()}
    assert module.stacked(state, rows.requires_grad_()).requires_grad
    assert module.bfloat16().stacked(half, rows.detach().bfloat16()).shape == (1, 4)
    high = Lattices([Numeric((0.0, 1.0))] * 13, [range(13)])
    assert high(torch.rand(2, 13)).shape == (2,)
    assert not calls
    assert not dispatch.by_numba(rows, rows.float())
    assert not dispatch.by_numba(torch.zeros(1, device="meta"))


def test_a_second_derivative_is_refused():
    module, state, rows = drawn(3, 1, 5)
    scores = module.stacked({n: values.requires_grad_() for n, values in state.items()}, rows)
    weight = torch.ones_like(scores, requires_grad=True)
    (slopes,) = torch.autograd.grad(scores, state["vertices"], weight, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes.sum().backward()


def test_what_is_not_a_number_shows():
    module, state, rows = drawn(6, 1, 40)
    state["vertices"][0, 5, 2] = torch.nan
    computed = everything(module, state, rows, torch.ones(1, 40).double())
    assert bool(computed[0].isnan().all())
    assert bool(computed[1].isnan().any())
