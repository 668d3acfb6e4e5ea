"""A thousand constraints, a million rows: memory follows the data, never rows times constraints."""

import gc
import tracemalloc

import numpy as np
import pytest

import ratebound as rb

ROWS, GROUPS = 34_000, 1_000


@pytest.fixture(scope="module")
def groups():
    """(GROUPS, ROWS) overlapping memberships, each group about a tenth of the rows."""
    return np.random.default_rng(0).random((GROUPS, ROWS)) < 0.1


@pytest.fixture(scope="module")
def people(groups):
    y = np.random.default_rng(1).random(ROWS) < 0.3
    return rb.Population(None, y, columns={f"g{k}": group for k, group in enumerate(groups)})


def member(k):
    return rb.column(f"g{k % GROUPS}") == True  # noqa: E712  # a condition


FAMILIES = {
    "recall against everyone": lambda k: rb.recall(member(k)) >= 0.95 * rb.recall(),
    "accuracy against everyone": lambda k: rb.accuracy(member(k)) >= rb.accuracy() - 0.05,
    "coverage of the next group": lambda k: (
        rb.positive_rate(member(k)) <= rb.positive_rate(member(k + 1)) + 0.1
    ),
}


def directly(family, groups, y, yes):
    """The violations of a family, a column of the table at a time."""
    among = {"recall": y, "accuracy": np.ones(ROWS), "coverage": np.ones(ROWS)}[family.split()[0]]
    counted = {"recall": y & yes, "accuracy": y == yes, "coverage": yes}[family.split()[0]]
    rates = np.array([counted[g].sum() / among[g].sum() for g in groups])
    overall = counted.sum() / among.sum()
    return {
        "recall against everyone": 0.95 * overall - rates,
        "accuracy against everyone": overall - 0.05 - rates,
        "coverage of the next group": rates - np.roll(rates, -1) - 0.1,
    }[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_thousand_overlapping_groups(groups, people, family):
    problem = rb.Problem(rb.error_rate(), [FAMILIES[family](k) for k in range(GROUPS)])
    tracemalloc.start()
    compiled = rb.compile(problem, people)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    dense = ROWS * GROUPS * 8
    assert peak < 0.25 * dense
    assert kept < 0.10 * dense

    scores = np.random.default_rng(2).normal(size=ROWS)
    objective, violations = compiled.evaluate(scores)
    assert objective == pytest.approx(np.mean(people.y != (scores >= 0)))
    np.testing.assert_allclose(violations, directly(family, groups, people.y, scores >= 0), atol=1e-12)


@pytest.mark.slow
def test_a_million_rows_keep_a_few_bytes_each():
    rng = np.random.default_rng(3)
    n = 1_300_000
    columns = {"region": rng.integers(0, 10, n, dtype=np.int8)}
    people = rb.Population(None, rng.random(n) < 0.3, columns=columns)
    regions = {"region": range(10)}
    goals = [rb.equal_opportunity(regions, ratio=0.95), rb.statistical_parity(regions, slack=0.05)]
    problem = rb.Problem(rb.error_rate(), goals)
    tracemalloc.start()
    compiled = rb.compile(problem, people)
    scores = rng.normal(size=n)
    without_scores = tracemalloc.get_traced_memory()[0] - scores.nbytes
    objective, violations = compiled.evaluate(scores)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - scores.nbytes
    tracemalloc.stop()
    assert without_scores < 40 * n
    assert kept < 40 * n
    assert objective == pytest.approx(np.mean(people.y != (scores >= 0)))
    recalls = [np.mean(scores[people.y & (columns["region"] == r)] >= 0) for r in range(10)]
    np.testing.assert_allclose(violations[:10], 0.95 * np.mean(scores[people.y] >= 0) - recalls)
