"""Lattices of several outputs are as many lattices of one, in training, in files and in graphs."""

import numpy as np
import pytest

from ratebound._old.learners.lattice import Lattice, calibrators

torch = pytest.importorskip("torch")

from ratebound._old.learners._torch_scorer import build, describe, measured  # noqa: E402
from ratebound._old.learners.lattice_network import (  # noqa: E402
    Categorical,
    Lattices,
    Numeric,
    lattice_scores,
)

D = 3
FEATURES = [Numeric((-1.0, 0.0, 2.0)), Numeric((0.0, 1.0)), Categorical(4)]
SUBSETS = [[0, 1], [1, 2], [0, 2]]
rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 5, 60)]).astype(np.float32)
X[::7, 1] = np.nan


def module(bounds=None, outputs=D, seed=0):
    torch.manual_seed(seed)
    return Lattices(FEATURES, SUBSETS, bounds, outputs)


@pytest.mark.parametrize("bounds", [None, (-1.0, 1.0)])
def test_each_output_is_a_model_of_its_own(bounds):
    several, one = module(bounds), module(bounds, 1)
    found = several(torch.tensor(X))
    assert found.shape == (60, D)
    for output in range(D):
        own = {name: p.detach()[output] for name, p in several.named_parameters()}
        one.load_state_dict(own)
        np.testing.assert_allclose(found.detach()[:, output], one(torch.tensor(X)).detach(), rtol=1e-6)
    assert several.parameter_count == D * one.parameter_count
    assert len({tuple(column) for column in found.T.tolist()}) == D


def test_settings_side_by_side_are_each_alone():
    models = [module(seed=seed) for seed in (1, 2)]
    named = [dict(each.named_parameters()) for each in models]
    state = {name: torch.stack([each[name] for each in named]) for name in named[0]}
    together = models[0].stacked(state, torch.tensor(X))
    assert together.shape == (2, 60, D)
    for each, found in zip(models, together, strict=True):
        np.testing.assert_allclose(found.detach(), each(torch.tensor(X)).detach(), rtol=1e-5, atol=1e-6)


def test_parameters_are_moved_into_their_bounds_in_place():
    several = module((-1.0, 1.0))
    flat = torch.randn(2, sum(p.numel() for p in several.parameters())) * 5
    parts = flat.split([p.numel() for p in several.parameters()], dim=1)
    state = {
        name: part.view(2, *p.shape)
        for part, (name, p) in zip(parts, several.named_parameters(), strict=True)
    }
    several.project(state)
    assert several.is_monotone(state)
    numbers = state["number_values"]
    assert numbers.min() >= 0
    assert numbers.max() <= 1
    assert state["vertices"].abs().max() <= 1
    assert flat.abs().max() <= 1  # the same memory


@pytest.mark.parametrize("bounds", [None, (-1.0, 1.0)])
def test_a_description_rebuilds_the_module(bounds):
    several = module(bounds)
    said = describe(several)
    size = sum(p.numel() for p in several.parameters())
    assert measured(said) == (3, D, size)
    again = build(said)
    again.load_state_dict(several.state_dict())
    assert torch.equal(again(torch.tensor(X)), several(torch.tensor(X)))
    said[0]["outputs"] = 0
    with pytest.raises(ValueError, match="do not fit"):
        measured(said)


def test_graphs_give_the_same_scores():
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from ratebound._old.solution.onnx import GraphBuilder

    models = [module(seed=seed) for seed in (1, 2)]
    flat = torch.stack([torch.cat([p.reshape(-1) for p in each.parameters()]) for each in models])
    graph = GraphBuilder(frozenset())
    features = graph.input("features", "float32", 3)
    nodes = lattice_scores(graph, models[0], features, flat.detach().numpy())  # (M, n, D)
    graph.output("scores", graph("Transpose", nodes, perm=[1, 0, 2]), "float32", 2, D)
    session = runtime.InferenceSession(graph.model({}).SerializeToString())
    (found,) = session.run(None, {"features": X})
    for place, each in enumerate(models):
        np.testing.assert_allclose(found[:, place], each(torch.tensor(X)).detach(), atol=1e-5)


def test_calibrators_are_those_of_every_output():
    found = calibrators(module())
    assert [each.values.shape for each in found] == [(D, 3), (D, 2), (D, 4)]


def test_what_is_to_rise_is_refused():
    for given in ({"monotone": {0: 1}}, {"categorical": [2], "orders": {2: [(0, 1)]}}):
        with pytest.raises(ValueError, match=f"of {D} classes the largest score decides"):
            Lattice(lattices=3, rank=2, **given).network(X, D)
    assert Lattice(lattices=3, rank=2, monotone={0: 0}).network(X, D).outputs == D
