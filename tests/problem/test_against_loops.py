"""What a problem compiles to has the values that loops over rows count, on random problems."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

import ratebound as rb
from ratebound.problem.compiled import decide
from ratebound.rates.text import parse_objective

from .random_problems import MODELS, draw_problem

pytestmark = pytest.mark.filterwarnings("ignore:.*combinations have no row:UserWarning")
SEEDS = range(60)
TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


@cache
def compile_problem(seed):
    drawn = draw_problem(seed)
    return drawn, drawn.compile(drawn.problem)


@cache
def make_world(seed, model):
    drawn, _ = compile_problem(seed)
    return drawn.make_world(model)


@pytest.mark.parametrize("seed", SEEDS)
def test_values_are_those_of_loops(seed):
    drawn, compiled = compile_problem(seed)
    objectives, violations = compiled.evaluate(drawn.scores, drawn.thresholds)
    objective = parse_objective(drawn.objective)
    for model in range(MODELS):
        world = make_world(seed, model)
        expected = world.objective(drawn.sense, objective)
        np.testing.assert_allclose(objectives[model], expected, **TOLERANCE)
        for row, violation in zip(compiled.rows, violations[model], strict=True):
            expected = world.violation(row.text)
            np.testing.assert_allclose(violation, expected, err_msg=row.text, **TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_are_those_of_loops(seed):
    drawn, compiled = compile_problem(seed)
    counts = compiled.count(drawn.scores, drawn.thresholds)
    shape = (len(compiled.blocks), MODELS, compiled.decisions - 1, len(compiled.bits))
    assert counts.shape == shape
    expected = np.zeros(shape)
    for model in range(MODELS):
        world = make_world(seed, model)
        for block, _ in enumerate(compiled.blocks):
            count_by_loop(world, compiled, block, expected[block, model])
    np.testing.assert_allclose(counts, expected, **TOLERANCE)


def count_by_loop(world, compiled, block, counts):
    """Add up the weight of each decision but the first in each cell (D-1, cells)."""
    at = compiled.blocks[block].at
    amounts = compiled.blocks[block].amounts
    row = 0  # of all populations together
    for population, table in world.tables.items():
        for index, weight in enumerate(table.weights):
            decision = world.decisions.index(world.decide(population, index, at))
            if decision > 0:
                amount = 1.0 if amounts is None else amounts[row]
                counts[decision - 1, compiled.cell[row]] += weight * amount
            row += 1


@pytest.mark.parametrize("seed", SEEDS)
def test_decisions_count_as_the_scores_they_come_from(seed):
    drawn, compiled = compile_problem(seed)
    decisions = decide(compiled.check_scores(drawn.scores))
    if any(block.at != 0 for block in compiled.blocks):
        with pytest.raises(ValueError, match="need scores, not decisions"):
            compiled.count_decisions(decisions)
        return
    counts = compiled.count_decisions(decisions)
    np.testing.assert_array_equal(counts, compiled.count(drawn.scores))
    one = compiled.count_decisions(decisions[1])
    np.testing.assert_array_equal(one[:, 0], counts[:, 1])


@pytest.mark.parametrize("seed", SEEDS)
def test_values_of_a_mean_of_counts_are_the_mean_of_values(seed):
    drawn, compiled = compile_problem(seed)
    counts = compiled.count(drawn.scores, drawn.thresholds)
    mean = counts.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(
        compiled.values(mean)[0], compiled.values(counts).mean(axis=0), **TOLERANCE
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_pieces_of_a_population_are_as_the_whole(seed):
    drawn, compiled = compile_problem(seed)
    random = np.random.default_rng(seed)
    populations = drawn.make_populations()
    pieces = {}
    for name, rows in populations.items():
        cuts = np.sort(random.choice(np.arange(10, len(rows), 10), 2, replace=False))
        parts = np.split(np.arange(len(rows)), cuts)
        pieces[name] = [rows.select(part) for part in parts]
    first = pieces.pop("train")
    merged = rb.compile(drawn.problem, first, **pieces)
    assert merged.labels == compiled.labels
    np.testing.assert_array_equal(merged.cell, compiled.cell)
    arguments = (drawn.scores, drawn.thresholds)
    for ours, theirs in zip(
        merged.evaluate(*arguments), compiled.evaluate(*arguments), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, **TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_model_alone_is_as_among_others(seed):
    drawn, compiled = compile_problem(seed)
    objectives, violations = compiled.evaluate(drawn.scores, drawn.thresholds)
    thresholds = {name: values[:1] for name, values in drawn.thresholds.items()}
    objective, violation = compiled.evaluate(drawn.scores[0], thresholds)
    assert np.ndim(objective) == 0
    np.testing.assert_allclose(objective, objectives[0], **TOLERANCE)
    np.testing.assert_allclose(violation, violations[0], **TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_text_is_the_whole_problem(seed):
    drawn, compiled = compile_problem(seed)
    problem = drawn.problem
    again = rb.parse_problem(str(problem))
    assert again == problem
    for label in compiled.labels:
        assert str(rb.parse(label)) == label


@pytest.mark.parametrize("seed", SEEDS)
def test_no_decisions_go_below_the_least_values(seed):
    drawn, compiled = compile_problem(seed)
    values = compiled.values(compiled.count(drawn.scores, drawn.thresholds))
    assert (compiled.least_values() <= values.min(axis=0) + 1e-9).all()


PLAIN_SEEDS = [seed for seed in range(20) if "at=" not in str(draw_problem(seed).problem)]


@pytest.mark.parametrize("seed", PLAIN_SEEDS)
def test_least_values_are_those_of_the_best_decision_on_each_row(seed):
    _, compiled = compile_problem(seed)
    rows = len(compiled.cell)
    all_first = np.zeros((1, rows), dtype=int)
    base = compiled.values(compiled.count_decisions(all_first))[0]
    changes = np.zeros((compiled.decisions, rows, len(base)))  # of one row's decision alone
    for decision in range(1, compiled.decisions):
        decisions = decision * np.eye(rows, dtype=int)
        values = compiled.values(compiled.count_decisions(decisions))
        changes[decision] = values - base
    best = base + changes.min(axis=0).sum(axis=0)
    np.testing.assert_allclose(compiled.least_values(), best, **TOLERANCE)


def test_the_random_problems_are_of_all_kinds():
    kinds = Counter()
    for seed in SEEDS:
        kinds += count_kinds(*compile_problem(seed))
    assert kinds.pop("refused") < kinds["constraints"] / 10
    assert kinds["rows"] > 400
    assert min(kinds.values()) >= 5, kinds


def count_kinds(drawn, compiled):
    text = str(drawn.problem)
    kinds = {
        "constraints": len(drawn.constraints),
        "refused": len(drawn.refused),
        "rows": len(compiled.rows),
        f"{len(drawn.classes)} classes": 1,
        "referral": drawn.refer is not None,
        "decided": "decided" in text,
        "pool": 'on="pool"' in text,
        "numeric threshold": "at=0.3" in text,
        "named threshold": 'at="' in text,
        "live": 'by="live"' in text,
        "amounts": any(block.amounts is not None for block in compiled.blocks),
        "weights": compiled.weights is not None,
        "ratio": any(row.ratio is not None for row in compiled.rows),
    }
    return Counter({kind: int(number) for kind, number in kinds.items()})


@pytest.mark.parametrize("seed", SEEDS)
def test_only_a_group_without_rows_is_refused(seed):
    drawn, _ = compile_problem(seed)
    for message in drawn.refused.values():
        assert "no row" in message or "is 0 in every row" in message
