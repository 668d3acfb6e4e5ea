"""Chains of layers to plain data and back; everything else is not described at all."""

import json
from collections import OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
from ratebound._old.learners._torch_scorer import (  # noqa: E402
    ACTIVATIONS,
    TorchScorer,
    build,
    describe,
)

X = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)


def tied():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer, nn.Linear(4, 1))


def tied_weights():
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Linear(4, 1))
    module[2].weight = module[0].weight
    return module


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, rows):
        return 2 * self.layer(rows)


class Doubled(nn.Linear):
    """A linear layer by its type only."""

    def forward(self, rows):
        return 2 * super().forward(rows)


class Chain(nn.Sequential):
    def forward(self, rows):
        return -super().forward(rows)


class ReLU(nn.Module):
    """Not the one it is named after."""

    def forward(self, rows):
        return rows


CHAINS = {
    "linear": lambda: nn.Linear(4, 1),
    "without bias": lambda: nn.Linear(4, 1, bias=False),
    "one in a chain": lambda: nn.Sequential(nn.Linear(4, 1)),
    "deep": lambda: nn.Sequential(
        nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3, bias=False), nn.Tanh(), nn.Linear(3, 1)
    ),
    "named": lambda: nn.Sequential(
        OrderedDict(first=nn.Linear(4, 3), bend=nn.SiLU(), last=nn.Linear(3, 1))
    ),
    "frozen": lambda: nn.Sequential(nn.Linear(4, 3).requires_grad_(False), nn.Linear(3, 1)),
    "every activation": lambda: nn.Sequential(
        nn.Linear(4, 4), *(getattr(nn, kind)() for kind in ACTIVATIONS), nn.Linear(4, 1)
    ),
}  # fmt: skip
OTHERS = {
    "a layer twice": tied,
    "a weight twice": tied_weights,
    "custom": Twice,
    "a linear layer of one's own": lambda: Doubled(4, 1),
    "a chain of one's own": lambda: Chain(nn.Linear(4, 1)),
    "an activation of one's own": lambda: nn.Sequential(nn.Linear(4, 4), ReLU(), nn.Linear(4, 1)),
    "chain in a chain": lambda: nn.Sequential(nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 1)),
    "layer norm": lambda: nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 1)),
    "batch norm": lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 1)),
    "dropout": lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 1)),
    "softplus": lambda: nn.Sequential(nn.Linear(4, 4), nn.Softplus(2.0), nn.Linear(4, 1)),
    "elu": lambda: nn.Sequential(nn.Linear(4, 4), nn.ELU(0.5), nn.Linear(4, 1)),
    "gelu": lambda: nn.Sequential(nn.Linear(4, 4), nn.GELU("tanh"), nn.Linear(4, 1)),
    "in place": lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 1)),
    "parametrized": lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 1))),
}  # fmt: skip


def made(make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return make()


def flat(module):
    return torch.cat([p.detach().reshape(-1) for p in module.parameters()]).numpy()[None]


@pytest.mark.parametrize("make", CHAINS.values(), ids=CHAINS)
def test_a_chain_is_built_again_from_its_description(make):
    module = made(make)
    layers = describe(module)
    again = build(json.loads(json.dumps(layers)))
    assert describe(again) == layers
    parameters = flat(module)
    np.testing.assert_array_equal(
        TorchScorer(again).scores(parameters, X), TorchScorer(module).scores(parameters, X)
    )
    with torch.no_grad():
        direct = module(torch.as_tensor(X))[:, 0].numpy()
    np.testing.assert_allclose(TorchScorer(again).scores(parameters, X)[0, 0], direct, rtol=1e-6)


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_what_a_description_cannot_say_is_not_described(make):
    assert describe(made(make)) is None


def test_describing_leaves_the_module_alone():
    module = made(CHAINS["deep"])
    before = flat(module).copy()
    describe(module)
    np.testing.assert_array_equal(flat(module), before)
    assert module.training


@pytest.mark.parametrize("layer", ["Conv2d", "LeakyReLU", "__class__", "Module", "Sequential", ""])
def test_only_known_layers_are_built(layer):
    with pytest.raises(ValueError, match="unknown layer"):
        build([{"layer": layer}])
