"""The worst case over groupings, against SciPy's linear programs and by simulation."""

import numpy as np
import pytest
from scipy.optimize import linprog

import ratebound as rb
from ratebound.auditing._consistent import lowest


def by_program(fixed, free, low, high, counted, over):
    """The least of the same ratio, as Charnes and Cooper's linear program: shares times a scale z."""
    strata, groups = fixed.shape
    size = strata * groups
    above = np.append((free[:, None] * counted).ravel(), (fixed * counted).sum())
    below = np.append((free[:, None] * over).ravel(), (fixed * over).sum())
    sums = np.zeros((strata, size + 1))
    for place in range(strata):
        sums[place, place * groups : (place + 1) * groups] = 1.0
        sums[place, -1] = -1.0
    bounds = np.vstack(
        [
            np.column_stack([-np.eye(size), low.ravel()]),
            np.column_stack([np.eye(size), -high.ravel()]),
        ]
    )
    solved = linprog(
        above,
        A_ub=bounds,
        b_ub=np.zeros(2 * size),
        A_eq=np.vstack([sums, below]),
        b_eq=np.append(np.zeros(strata), 1.0),
    )
    assert solved.success
    return solved.fun


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_value_of_the_linear_program(seed: int) -> None:
    random = np.random.default_rng(seed)
    strata, groups = 5, 3
    shares = random.dirichlet(np.ones(groups), strata)
    low = np.maximum(shares - random.uniform(0, 0.3, shares.shape), 0)
    high = np.minimum(shares + random.uniform(0, 0.3, shares.shape), 1)
    fixed = random.integers(0, 9, (strata, groups)).astype(float)
    free = random.integers(5, 80, strata).astype(float)
    over = (random.random((strata, groups)) < 0.7).astype(float)
    over[0] = 1.0
    counted = over * (random.random((strata, groups)) < 0.5)
    for sign in (1.0, -1.0):
        found = lowest(fixed, free, low, high, sign * counted, over)
        assert found == pytest.approx(by_program(fixed, free, low, high, sign * counted, over), abs=1e-7)


class Signs:
    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


PROMISES = [
    'positive_rate(race == "a") >= 0.8 * positive_rate(race == "b")',
    'recall(race == "b") <= recall() + 0.2',
]


def drawn(seed: int, rows: int = 1500, audited: float = 0.3):
    random = np.random.default_rng(seed)
    race = random.choice(["a", "b"], rows).astype(object)
    guess = np.where(random.random(rows) < 0.2, np.where(race == "a", "b", "a"), race)
    x = random.normal(size=rows) - 0.5 * (race == "a")
    y = x + random.normal(size=rows) > 0
    seen = np.where(random.random(rows) < audited, race, None)
    return x[:, None], y, race, guess, seen


def test_the_true_groups_keep_at_least_the_worst_case() -> None:
    way = rb.guessed("race", audited="seen")
    problem, known = (
        rb.Problem("error_rate()", PROMISES, guessed=way),
        rb.Problem("error_rate()", PROMISES),
    )
    missed = 0
    for seed in range(40):
        X, y, race, guess, seen = drawn(seed)
        told = rb.audit(problem, Signs(), rb.Population(X, y, {"race": guess, "seen": seen}))
        true = rb.audit(known, Signs(), rb.Population(X, y, {"race": race}))
        missed += sum(
            one.slack < other.worst for one, other in zip(true.promises, told.promises, strict=True)
        )
    assert missed <= 4  # of 80, at 95% each


def test_it_comes_close_to_the_truth_with_good_guesses_and_many_audited_rows() -> None:
    X, y, race, _, _ = drawn(0)
    rows = rb.Population(X, y, {"race": race, "seen": race})
    way = rb.guessed("race", audited="seen")
    report = rb.audit(rb.Problem("error_rate()", PROMISES, guessed=way), Signs(), rows)
    assert [each.worst for each in report.promises] == pytest.approx([e.slack for e in report.promises])


def test_it_is_said_in_words() -> None:
    X, y, _, guess, seen = drawn(1)
    way = rb.guessed("race", audited="seen")
    problem = rb.Problem("error_rate()", PROMISES[:1], guessed=way)
    report = rb.audit(problem, Signs(), rb.Population(X, y, {"race": guess, "seen": seen}))
    assert "In the worst case that guesses and audited rows leave possible" in str(report)
    assert "a random sample" in str(report)
    without = rb.audit(problem, Signs(), rb.Population(X, y, {"seen": seen}))
    assert without.promises[0].worst is None
    weighted = rb.Population(X, y, {"race": guess, "seen": seen}, weights=np.full(len(y), 2.0))
    assert rb.audit(problem, Signs(), weighted).promises[0].worst is None
