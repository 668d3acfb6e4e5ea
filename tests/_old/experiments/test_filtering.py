"""The base model of Filtering: the same as by a plain loop of PyTorch."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.datasets import Splits
from ratebound_experiments import filtering
from ratebound_experiments.experiment import KEYPOINTS

from ..extras import torch

MONOTONE = {0: 1, 3: -1}


def small_splits():
    random = np.random.default_rng(0)
    X = random.normal(size=(3_000, 16)).astype(np.float32)
    real = np.tanh(X[:, 0] - X[:, 3] + X[:, 5] * X[:, 6] + random.normal(size=3_000))
    people = [
        rb.Population(X[part], real[part] > 0.3, columns={"label_real": real[part]})
        for part in (slice(0, 2_000), slice(2_000, 2_400), slice(2_400, None))
    ]
    return Splits(*people, feature_names=tuple(f"f{i}" for i in range(16)), monotone=MONOTONE)


def plain_model(splits, seed):
    """The loop everybody writes: Adam, and a projection after every step."""
    rows = torch.as_tensor(splits.train.X)
    target = torch.as_tensor(splits.train.columns["label_real"].astype(np.float32))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = rb.Lattice(50, 6, KEYPOINTS, MONOTONE).network(splits.train.X)
        steps = [
            {"params": [p], "lr": 0.01 * model.steps.get(name, 1.0)}
            for name, p in model.named_parameters()
        ]
        optimizer = torch.optim.Adam(steps)
        for _ in range(5):
            for batch in torch.randperm(len(rows)).split(512):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(rows[batch]), target[batch]).backward()
                optimizer.step()
                model.project({name: p.data[None] for name, p in model.named_parameters()})
    return model.eval()


@pytest.mark.parametrize("device", [None, "cuda"])
def test_the_base_model_is_that_of_a_plain_loop(device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    splits = small_splits()
    filtering.add_base(splits, seed=1, device=device)
    model = plain_model(splits, seed=1)
    for people in (splits.train, splits.validation, splits.test):
        with torch.no_grad():
            scores = model(torch.as_tensor(people.X)).numpy()
        sure = np.abs(scores) > 1e-4  # the rest is decided by rounding
        assert sure.mean() > 0.99
        np.testing.assert_array_equal(people.columns["base"][sure], scores[sure] >= 0)
        assert 0.2 < people.columns["base"].mean() < 0.8
