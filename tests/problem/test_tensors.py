"""Tensors are counted as arrays are."""

import numpy as np
import pytest

import ratebound as rb

torch = pytest.importorskip("torch")

from ratebound.problem.tensors import TensorCounter  # noqa: E402


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_counts_of_tensors_are_those_of_arrays(classes, weighted, device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    random = np.random.default_rng(classes)
    columns = {"sex": random.choice(["F", "M"], 300), "amount": random.random(300)}
    weights = random.random(300) if weighted else None
    rows = rb.Population(None, random.integers(0, classes, 300), columns, weights)
    texts = ['recall(sex == "F", of=1) >= 0.9', 'cost(column="amount") <= 1']
    if classes == 2:
        texts.append("positive_rate(at=0.5) <= 0.5")
    compiled = rb.compile(rb.Problem("error_rate()", texts), rows)
    shape = (4, 300) if classes == 2 else (4, 3, 300)
    scores = random.normal(size=shape).round(1)  # with equal scores
    counts = TensorCounter(compiled, device).count(torch.as_tensor(scores, device=device))
    assert counts.cpu().numpy() == pytest.approx(compiled.count(scores))
    assert compiled.values(counts.cpu().numpy()) == pytest.approx(
        compiled.values(compiled.count(scores))
    )
