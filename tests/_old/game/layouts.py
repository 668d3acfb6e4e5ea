"""Games that map rows to slices in every way, on the CPU and as on a GPU."""

import pytest

import ratebound._old as rb
from ratebound._old.game import _costs as costs

LAYOUTS = {  # name: device, constants to set
    "dense": (None, {}),
    "lists": (None, {"DENSE_ON_CPU": 0, "SHORT": 99}),
    "bits": (None, {"DENSE_ON_CPU": 0, "FEW": 0, "PER_SLICE": 0}),
    "bits, loops": (None, {"DENSE_ON_CPU": 0, "FEW": 0, "PER_SLICE": 0, "MANY": 0}),
    "bits and lists": (None, {"DENSE_ON_CPU": 0, "FEW": 0, "PER_SLICE": 0, "NARROW": 0, "SHORT": 2}),
    "torch": ("cpu", {}),
    "torch, lists": ("cpu", {"DENSE_ON_GPU": 0, "SHORT": 99}),
    "torch, bits": ("cpu", {"DENSE_ON_GPU": 0, "FEW": 0, "PER_SLICE": 0}),
    "torch, bits, in chunks": ("cpu", {"DENSE_ON_GPU": 0, "FEW": 0, "PER_SLICE": 0, "CHUNK": 48}),
}


def game_with(layout, monkeypatch, compiled, player=None, **options):
    device, constants = LAYOUTS[layout]
    if device is not None:
        pytest.importorskip("torch")
    for constant, value in constants.items():
        monkeypatch.setattr(costs, constant, value)
    game = rb.Game(compiled, player, device=device, **options)
    for table in game.blocks:
        assert (table.membership is None) == ("bits" in layout)
        assert isinstance(table.membership, costs.Lists) == ("lists" in layout and "bits" not in layout)
    return game
