"""Killed at any moment, training leaves a whole model or none, and an older one is never harmed."""

import numpy as np
import pytest

import ratebound._old as rb

from .conftest import killed_at_any_moment

# What the child does: train on a small table and save, over and over, into the same folder.
CHILD = """
import numpy as np, ratebound as rb, sys
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 200))
people = rb.Population(X, X[:, 0] > 0)
problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.4])
trace = rb.play(rb.compile(problem, people), rb.Linear(0.1), rounds=20, keep=rb.Keep(1))
print("ready", flush=True)
while True:
    rb.shrink(trace).save(sys.argv[1])
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_model_is_whole_or_not_there(seed, tmp_path):
    folder = tmp_path / "model"
    killed_at_any_moment(CHILD, folder, seed)
    if (folder / "model.safetensors").exists():
        assert rb.load(folder).predict(np.zeros((3, 200))).shape == (3,)
    else:
        with pytest.raises(FileNotFoundError, match="no saved model"):
            rb.load(folder)
