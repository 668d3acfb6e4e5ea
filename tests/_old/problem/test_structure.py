"""The compiled arrays are as documented: one cell per row, one column per cell, a split by sign."""

import numpy as np
import pytest

import ratebound._old as rb

PROBLEMS = {
    "no constraint": [],
    "one group": ['recall(sex == "F") >= 0.9'],
    "group against everyone": [
        'recall(sex == "F") >= 0.95 * recall()',
        "accuracy(age < 30) >= accuracy() - 0.05",
    ],
    "overlapping groups": ['positive_rate(sex == "F") <= positive_rate(age < 50) + 0.1'],
    "nested groups": ["recall(age < 30) >= 0.5 * recall(age < 50) + 0.5 * recall(age < 70)"],
    "signs that cancel": ["positive_rate() >= negative_rate()", "true_positives() <= false_positives()"],
    "no decision": ['prevalence(sex == "F") <= 0.5', 'accuracy_of(versus="live") >= 0.1'],
    "counts beside rates": ["true_positives() + 1000 * recall() >= 1e-3 * predicted_negatives()"],
    "ratios": ["precision() >= 0.8", 'win_loss_ratio(sex == "M", versus="live") >= 1.2'],
    "churn": ['churn(versus="live") <= 0.1', 'loss_only_churn(age > 40, versus="live") <= 0.05'],
    "other populations": ['accuracy(on="experts") >= 0.7', 'positive_rate(on="pool") <= recall() + 0.1'],
    "large and small": [
        "1e9 * recall() + 1e-6 * positive_rate(age < 40) <= 1e-3 * error_rate(age > 20)"
    ],
    "two dozen groups": [
        " + ".join(f"recall(age > {20 + 2 * k})" for k in range(24)) + " >= 3 * recall()"
    ],
    "two dozen groups, both signs": [
        "recall()"
        + "".join(f" {'+-'[k % 2]} error_rate(age > {20 + 2 * k})" for k in range(24))
        + " >= 1"
    ],
    "forty constraints": [f"recall(age > {20 + k}) >= recall(age < {30 + k})" for k in range(40)],
}
THRESHOLDS = {
    "fixed thresholds": ["recall(at=0.5) >= recall()", "positive_rate(at=-1) <= positive_rate(at=0.5)"],
    "only another threshold": ["recall(at=0.5) >= recall(age < 40, at=0.5)"],
    "learned thresholds": ['recall(at="t") >= positive_rate(age < 40, at="t") + recall()'],
    "area": ["roc_auc(bins=4) >= 0.8", 'roc_auc(sex == "F", bins=3) >= 0.7'],
}


def population(rng, n, labelled=True, weighted=False):
    columns = {
        "sex": rng.choice(["F", "M"], n),
        "age": rng.integers(18, 80, n),
        "live": rng.integers(0, 2, n),
    }
    y = rng.integers(0, 2, n) if labelled else None
    return rb.Population(None, y, columns=columns, weights=rng.uniform(0, 3, n) if weighted else None)


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def populations(request):
    rng = np.random.default_rng(5)
    return {
        "train": population(rng, 300, weighted=request.param),
        "experts": population(rng, 40),
        "pool": population(rng, 60, labelled=False, weighted=request.param),
    }


def compile_on(populations, constraints):
    return rb.compile(rb.Problem("error_rate() + 0.1 * positive_rate()", constraints), **populations)


@pytest.mark.parametrize("name", PROBLEMS)
def test_offset_and_matrix_give_the_values(populations, name):
    compiled = compile_on(populations, PROBLEMS[name])
    m, n = len(PROBLEMS[name]), sum(map(len, populations.values()))
    assert compiled.cells.shape == (n,)
    assert compiled.cells.dtype == np.int32
    assert set(compiled.cells) == set(range(compiled.cell_count))
    assert compiled.matrix.shape == (1 + m, compiled.cell_count)
    assert compiled.offset.shape == compiled.scale.shape == (1 + m,)
    assert [compiled.rows[name] for name in populations] == [
        slice(0, 300),
        slice(300, 340),
        slice(340, 400),
    ]

    each = [np.ones(len(p)) if p.weights is None else p.weights for p in populations.values()]
    weights = np.concatenate(each)
    np.testing.assert_allclose(
        compiled.cell_weight(compiled.blocks[0]), np.bincount(compiled.cells, weights)
    )
    for scores in np.random.default_rng(6).normal(size=(3, n)):
        yes = np.bincount(compiled.cells, weights * (scores >= 0), compiled.cell_count)
        values = compiled.offset + compiled.matrix @ yes
        objective, violations = compiled.evaluate(scores)
        magnitude = 1e-12 * (np.abs(compiled.offset) + np.abs(compiled.matrix) @ yes)
        assert np.all(np.abs(values - [objective, *violations]) <= magnitude + 1e-15)


@pytest.mark.parametrize("name", [*PROBLEMS, *THRESHOLDS])
def test_up_and_down_are_the_parts_of_net(populations, name):
    compiled = compile_on(populations, (PROBLEMS | THRESHOLDS)[name])
    compiled, split = compiled.descended()
    for block, costs in zip(compiled.blocks, split.costs, strict=True):
        net, (up, down) = compiled.spread(block.net), np.split(compiled.spread_each(costs), 2, axis=1)
        largest = np.abs(net).max(axis=1, keepdims=True)
        for part, expected in ((up, np.maximum(net, 0)), (down, np.maximum(-net, 0))):
            assert np.all(np.abs(part - expected) <= 1e-11 * largest)


def test_cells_are_exactly_the_kinds_of_rows_that_rates_tell_apart(populations):
    compiled = compile_on(populations, ['positive_rate(sex == "F") <= 0.5', "accuracy(age > 40) >= 0.5",
                                        'churn(versus="live") <= 0.5'])  # fmt: skip
    train = populations["train"]
    live, sex, age = (train.columns[name] for name in ("live", "sex", "age"))
    kinds = list(zip(train.y, live, sex == "F", age > 40, strict=True))
    pairs = set(zip(kinds, compiled.cells[:300].tolist(), strict=True))
    assert len(pairs) == len(set(kinds)) == len({cell for _, cell in pairs}) == 16


def test_cells_are_told_apart_by_any_number_of_slices():
    """Eight kinds of rows, told apart by columns in the first 64 slices or only after them."""
    a, b, c = np.random.default_rng(9).integers(0, 2, (3, 200))
    columns = {f"g{k}": (a, b)[k % 2] for k in range(64)} | {"g64": c}
    constraints = [f"positive_rate({name} == 1) <= 0.5" for name in columns]
    compiled = rb.compile(
        rb.Problem(rb.positive_rate(g0=1), constraints), rb.Population(None, columns=columns)
    )
    pairs = set(zip(compiled.cells.tolist(), (4 * a + 2 * b + c).tolist(), strict=True))
    assert len(pairs) == compiled.cell_count == 8


def test_the_objective_never_counts_rows_of_other_populations(populations):
    compiled = compile_on(populations, PROBLEMS["other populations"])
    others = np.unique(compiled.cells[300:])
    assert not compiled.matrix[0, others].any()


def test_spread_and_per_slice_are_adjoint(populations):
    compiled = compile_on(populations, PROBLEMS["forty constraints"])
    rng = np.random.default_rng(7)
    per_cell, per_slice = (
        rng.normal(size=(2, compiled.cell_count)),
        rng.normal(size=(3, compiled.slice_count)),
    )
    np.testing.assert_allclose(
        compiled.per_slice(per_cell) @ per_slice.T, per_cell @ compiled.spread(per_slice).T, atol=1e-9
    )


def test_a_dense_matrix_too_large_to_hold_is_refused():
    rng = np.random.default_rng(8)
    groups = rng.integers(0, 2, (20, 100_000))
    people = rb.Population(None, columns={f"g{k}": group for k, group in enumerate(groups)})
    constraints = [rb.positive_rate(**{f"g{k % 20}": 1}) <= k / 1500 for k in range(1500)]
    compiled = rb.compile(rb.Problem(rb.positive_rate(), constraints), people)
    with pytest.raises(MemoryError, match="use its blocks and membership"):
        _ = compiled.matrix
