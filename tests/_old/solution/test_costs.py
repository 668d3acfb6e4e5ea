"""Models trained on costs reach the optimum that is known: yes where p · amount > (1 - p) · price."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb


def loans(n=3000, seed=0):
    """One feature in ten steps, by which the chance of a default and the loan grow; a known optimum."""
    random = np.random.default_rng(seed)
    step = random.integers(0, 10, n)
    chance, loan = 0.05 + 0.06 * step, 50.0 + 30 * step
    y = random.random(n) < chance
    fee = np.full(n, 20.0)
    X = np.eye(10)[step]
    return rb.Population(X, y, columns={"loan": loan, "fee": fee, "step": step})


def best_by_step(rows, missed, false_alarm, budget=None):
    """The least mean cost of any rule by step: each step is decided by what it costs."""
    total = 0.0
    for step in range(10):
        inside = rows.columns["step"] == step
        no = (missed * rows.y)[inside].sum()
        yes = (false_alarm * ~rows.y)[inside].sum()
        total += min(no, yes)
    return total / len(rows)


WORDS = {
    "cost(false_negative=5, false_positive=1)": lambda c: (5.0, 1.0),
    'cost(false_negative="loan", false_positive="fee")': lambda c: (c["loan"], c["fee"]),
    'cost(false_negative=0.2, column="loan")': lambda c: (0.2 * c["loan"], c["loan"]),
}


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize(
    "learner", [rb.Linear(0.05), rb.Oracle(DecisionTreeClassifier(max_depth=10))], ids=["linear", "tree"]
)
def test_a_model_finds_the_cheapest_rule(words, learner):
    rows = loans()
    compiled = rb.compile(rb.Problem(words), rows)
    model = rb.best_iterate(
        rb.play(compiled, learner, rounds=300 if learner.fit is not rb.Answering else 2)
    )
    wanted = best_by_step(rows, *WORDS[words](rows.columns))
    assert model.objectives["train"] == pytest.approx(wanted, rel=0.03)
    assert model.objectives["train"] >= wanted - 1e-9


def test_a_budget_on_a_cost_is_kept_and_a_rate_beside_it():
    """The cheapest errors within a budget in money, against the linear program over steps."""
    from scipy.optimize import linprog

    rows = loans()
    loan, step = rows.columns["loan"], rows.columns["step"]
    problem = rb.Problem("error_rate()", ['cost(false_negative="loan", false_positive=0) <= 30'])
    trace = rb.play(rb.compile(problem, rows), rb.Linear(0.05), rounds=400)
    model = rb.shrink(trace)
    assert model.status.feasible
    wrong_yes = np.array([(~rows.y)[step == s].sum() for s in range(10)]) / len(rows)
    wrong_no = np.array([rows.y[step == s].sum() for s in range(10)]) / len(rows)
    lost = np.array([(loan * rows.y)[step == s].sum() for s in range(10)]) / len(rows)
    found = linprog(wrong_yes - wrong_no, A_ub=[-lost], b_ub=[30 - lost.sum()], bounds=(0, 1))
    best = found.fun + wrong_no.sum()
    assert model.objectives["train"] == pytest.approx(best, rel=0.05)
    assert model.objectives["train"] >= best - 1e-6


def test_a_matrix_of_costs_of_several_classes_is_minimised():
    """By ten steps, each decided for the class that costs least there."""
    random = np.random.default_rng(0)
    step = random.integers(0, 6, 3000)
    chances = np.array([[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.3, 0.3, 0.4], [0.2, 0.6, 0.2],
                        [0.34, 0.33, 0.33], [0.1, 0.3, 0.6]])  # fmt: skip
    label = np.array([random.choice(3, p=chances[s]) for s in step])
    names = np.array(["bird", "cat", "dog"])
    prices = {("bird", "cat"): 1.0, ("bird", "dog"): 6.0, ("cat", "bird"): 2.0, ("cat", "dog"): 1.0,
              ("dog", "bird"): 9.0, ("dog", "cat"): 0.5}  # fmt: skip
    rows = rb.Population(np.eye(6)[step], names[label])
    objective = sum(c * rb.cost(label=a, predicted=b) for (a, b), c in prices.items())
    model = rb.best_iterate(
        rb.play(rb.compile(rb.Problem(objective), rows), rb.Linear(0.05), rounds=300)
    )
    matrix = np.array([[prices.get((a, b), 0.0) for b in names] for a in names])
    least = sum((matrix[label[step == s]].sum(axis=0)).min() for s in range(6)) / len(step)
    assert least - 1e-9 <= model.objectives["train"] <= 1.1 * least
