"""The worst case over groupings, against SciPy's linear programs and by simulation."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import hypergeom

import ratebound._old as rb
from ratebound._old.auditing.consistent import (
    audits_needed,
    least_room,
    lowest,
    shares_of_rest,
    told_by_guesses,
)
from ratebound._old.auditing.judged import scored
from ratebound._old.auditing.tallying import tallied
from ratebound._old.problem.guessing import with_known_groups


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


def test_a_promise_may_name_one_group_alone() -> None:
    X, y, race, guess, seen = drawn(2)
    way = rb.guessed("race", audited="seen")
    rows = rb.Population(X, y, {"race": guess, "seen": seen})
    alone, beside = (
        rb.audit(rb.Problem("error_rate()", promises, guessed=way), Signs(), rows).promises[0]
        for promises in (
            ['positive_rate(race == "a") >= 0.2'],
            ['positive_rate(race == "a") >= 0.2', 'positive_rate(race == "b") >= 0.2'],
        )
    )
    assert alone.worst == beside.worst
    assert alone.worst <= Signs().predict(X[race == "a"]).mean() - 0.2 + 1e-9


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


@pytest.mark.parametrize("confidence", [0.9, 0.5])
def test_shares_of_rows_not_audited_are_all_that_are_likely_enough(confidence: float) -> None:
    """By trying every number of rows, with SciPy's distribution of draws without putting back."""
    random, tail = np.random.default_rng(0), (1 - confidence) / 2
    for _ in range(8):
        audited, rest = (
            random.integers(0, 9, (1, 3)) + np.array([[1, 0, 0]]),
            int(random.integers(1, 30)),
        )
        low, high = shares_of_rest(audited.astype(float), np.array([[float(rest)]]), confidence)
        for place, own in enumerate(audited[0]):
            sample = audited.sum()
            ways = [hypergeom(sample + rest, own + more, sample) for more in range(rest + 1)]
            fine = [
                more for more, way in enumerate(ways) if way.sf(own - 1) > tail and way.cdf(own) > tail
            ]
            assert (rest * low[0, place], rest * high[0, place]) == pytest.approx((fine[0], fine[-1]))


def test_bounds_hold_if_most_rows_were_audited() -> None:
    """What the few others are varies more than a share in all rows ever drawn."""
    missed = 0
    for seed in range(400):
        random = np.random.default_rng(seed)
        group = random.random(40) < 0.5
        audited = np.zeros(40, dtype=bool)
        audited[random.choice(40, 30, replace=False)] = True
        counts = np.array([[group[audited].sum(), (~group[audited]).sum()]], dtype=float)
        low, high = shares_of_rest(counts, np.array([[10.0]]), 0.9)
        missed += not low[0, 0] <= group[~audited].mean() <= high[0, 0]
    assert missed <= 55  # of 400, at 90%


def test_more_audits_are_enough() -> None:
    X, y, _, guess, seen = drawn(3)
    way = rb.guessed("race", audited="seen")
    problem = rb.Problem("error_rate()", ['positive_rate(race == "a") >= 0.3'], guessed=way)
    people = with_known_groups(problem, {"train": rb.Population(X, y, {"race": guess, "seen": seen})})
    model = scored({"train": X[:, 0]}, "a model")
    rates = [*problem.rates, *told_by_guesses(problem, people)]
    tally, (promise,) = tallied(model, people, rates), problem.constraints
    assert least_room(promise, way, tally, 0.95) < 0
    needed = audits_needed(promise, way, tally, 0.95)
    audited = sum(each is not None for each in seen)
    assert audited < needed <= len(y)
    assert least_room(promise, way, tally, 0.95, needed / audited) >= 0
    assert least_room(promise, way, tally, 0.95, 0.9 * needed / audited) < 0
    (never,) = rb.Problem("error_rate()", ['positive_rate(race == "a") >= 0.9']).constraints
    assert audits_needed(never, way, tally, 0.95) is None
