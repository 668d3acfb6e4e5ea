"""Milliseconds of a training step of monotone lattices, at the paper's sizes, batches of 512 rows.

Forward pass, backward pass, a step of Adam, and the projection onto the shapes, if any.
"""

import os
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy and PyTorch are imported

import torch
from _lines import Line, Result, hand_over
from lattice import SIZES, lattices_of, other_of
from step import Step, race

BATCH, SECONDS = 512, 3.0
REPEATS = {"Filtering": 40, "Map Intent": 2}  # their step takes seconds at the larger size


def training_step(model: torch.nn.Module, dtype: torch.dtype, features: int) -> Step:
    torch.manual_seed(0)
    rows = torch.rand(BATCH, features, dtype=dtype)
    labels = (rows[:, 0] > 0.5).to(dtype)
    loss = torch.nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    state: dict[str, Any] = {name: p.data[None] for name, p in model.named_parameters()}

    def step() -> None:
        optimizer.zero_grad()
        loss(model(rows), labels).backward()
        optimizer.step()
        with torch.no_grad():
            if hasattr(model, "project"):
                model.project(state)
            else:
                model.apply_constraints()

    return step


def pytorch_lattice() -> Iterator[Line]:
    torch.set_num_threads(1)
    for size, shape in SIZES.items():
        theirs = other_of(*shape)
        if theirs is None:
            raise ImportError("pytorch_lattice is not installed")
        features = shape[2]
        steps = {
            "pytorch-lattice": training_step(theirs, torch.float64, features),
            "Lattice": training_step(lattices_of(*shape), torch.float32, features),
        }
        times = race(steps, SECONDS, REPEATS[size], "cpu")
        own = {"Lattice": Result(times["Lattice"])}
        note = "in double precision, as it asks for"
        result = Result(times["pytorch-lattice"], note=note)
        yield Line(f"step of lattices, {size}", "ms", "pytorch-lattice", result, own)


if __name__ == "__main__":
    hand_over({"pytorch-lattice": pytorch_lattice})
