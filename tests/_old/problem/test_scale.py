"""Many groups: the number and the size of operations, never their time."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game._costs import Costs, Lists
from ratebound._old.problem import compiled as module
from ratebound._old.problem import population
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.values import read_values

ROWS = 6000


def people(groups, seed=0, dtype=object):
    random = np.random.default_rng(seed)
    group = np.array([f"g{i}" for i in np.arange(ROWS) % groups], dtype=dtype)
    weights = random.choice([0.5, 1.0, 2.0], ROWS)
    X = random.normal(size=(ROWS, 2))
    return rb.Population(X, random.random(ROWS) < 0.5, columns={"group": group}, weights=weights)


def problem(groups, rate="positive_rate"):
    return rb.Problem(
        "error_rate()", [f'{rate}(group == "g{i}") >= 0.8 * {rate}()' for i in range(groups)]
    )


@pytest.mark.parametrize("dtype", [object, str])
def test_a_column_is_read_once_however_many_conditions_speak_of_it(monkeypatch, dtype):
    read = []

    def counted(values):
        read.append(len(values))
        return read_values(values)

    rows = people(300, dtype=dtype)
    monkeypatch.setattr(population, "read_values", counted)
    rb.compile(problem(300), rows)
    assert read == [ROWS]


def test_many_groups_by_definition():
    groups = 700
    rows = people(groups)
    compiled = rb.compile(problem(groups), rows)
    assert compiled.lists is not None
    scores = np.random.default_rng(1).normal(size=(3, ROWS))
    objectives, violations = compiled.evaluate(scores)
    yes, w, y = scores >= 0, rows.weights, rows.y
    np.testing.assert_allclose(objectives, (yes != y) @ w / w.sum())
    overall = yes @ w / w.sum()
    for i in range(0, groups, 37):
        inside = rows.columns["group"] == f"g{i}"
        own = yes[:, inside] @ w[inside] / w[inside].sum()
        np.testing.assert_allclose(violations[:, i], 0.8 * overall - own, atol=1e-12)


def test_sparse_and_dense_membership_agree(monkeypatch):
    compiled, dense = (rb.compile(problem(300), people(300)) for _ in range(2))
    monkeypatch.setattr(module, "DENSE", 0)
    assert compiled.lists is not None
    monkeypatch.setattr(module, "DENSE", 2**60)
    assert dense.lists is None
    random = np.random.default_rng(0)
    per_cell = random.normal(size=(2, compiled.cell_count))
    per_slice = random.normal(size=(2, compiled.slice_count))
    np.testing.assert_allclose(compiled.per_slice(per_cell), dense.per_slice(per_cell), atol=1e-12)
    np.testing.assert_allclose(compiled.spread(per_slice), dense.spread(per_slice), atol=1e-12)
    for block in compiled.blocks:
        np.testing.assert_allclose(compiled.spread(block.net), dense.spread(block.net), atol=1e-12)


def test_evaluating_again_unpacks_nothing(monkeypatch):
    compiled = rb.compile(problem(700), people(700))
    scores = np.random.default_rng(1).normal(size=ROWS)
    compiled.evaluate(scores)
    monkeypatch.setattr(Compiled, "unpacked", lambda *args: pytest.fail("unpacked"))
    compiled.evaluate(scores)


def overlapping(columns):
    random = np.random.default_rng(0)
    given = {f"c{i}": random.integers(0, 2, ROWS) for i in range(columns)}
    rows = rb.Population(random.normal(size=(ROWS, 2)), random.random(ROWS) < 0.5, columns=given)
    words = [f"positive_rate(c{i} == 1) >= 0.9 * positive_rate()" for i in range(columns)]
    return rb.compile(rb.Problem("error_rate()", words), rows)


def test_overlapping_groups_stay_packed():
    compiled = overlapping(100)
    assert compiled.cell_count > ROWS / 2
    assert compiled.lists is None  # half of its entries are ones


@pytest.mark.parametrize("groups", [700, 2000])
def test_a_round_goes_through_short_lists_of_slices(groups):
    """A round's memory grows with the groups, not with rows or groups times groups."""
    compiled = rb.compile(problem(groups), people(groups))
    compiled, split = compiled.descended()
    table = Costs(compiled, compiled.blocks[0], split.costs[0], split.targets, np.empty(0, np.float32))
    assert isinstance(table.membership, Lists)
    assert table.membership.lists.size <= 3 * compiled.cell_count <= 3 * (2 * groups + 2)
    stored = [m.sparse.nnz for m in (table._costs, table._net, table._missed)]
    assert max(stored) <= 10 * groups
