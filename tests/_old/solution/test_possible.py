"""What any classifier could do, against a program over the decisions of every single row."""

import numpy as np
import pytest
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.solution.possible import AnyClassifier

PROBLEMS = [
    rb.Problem(rb.error_rate(), [rb.positive_rate(of="ape") <= 0.1]),
    rb.Problem(
        rb.error_rate(), [rb.recall(of="bee", sex="F") >= 0.5, rb.positive_rate(of="bee") <= 0.1]
    ),
    rb.Problem(
        rb.error_rate(sex="M"),
        [rb.confusion(label="cat", predicted="ape") >= 0.3, rb.precision(of="ape") >= 0.6],
    ),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=["cap", "both", "confusion"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_least_objective_of_any_classifier(problem, weighted):
    rng = np.random.default_rng(1)
    labels, sex = rng.integers(0, 3, 30), rng.choice(["F", "M"], 30)
    weights = rng.integers(1, 4, 30).astype(float) if weighted else None
    y = np.array(["ape", "bee", "cat"])[labels]
    compiled = rb.compile(problem, rb.Population(None, y, columns={"sex": sex}, weights=weights))
    values = []
    for row in range(30):
        for decision in range(3):
            decisions = np.zeros(30, dtype=int)
            decisions[row] = decision
            values.append(np.hstack(compiled.evaluate(np.eye(3)[decisions].T)))
    base = np.array(values[0])
    added = np.array(values) - base
    m = len(base) - 1
    solved = linprog(
        added[:, 0],
        A_ub=added[:, 1:].T,
        b_ub=-base[1:] + 1e-9,
        A_eq=np.kron(np.eye(30), np.ones(3)),
        b_eq=np.ones(30),
    )
    everything = AnyClassifier.on(compiled)
    least = everything.least(np.zeros(m), np.ones(m))
    assert least.violation == pytest.approx(0.0, abs=1e-7)
    assert everything.price(least).objective == pytest.approx(base[0] + solved.fun, abs=1e-6)
