"""A compiled problem: on parts of its rows, for other constraints, and with many models at once."""

import tracemalloc
from functools import cache

import numpy as np
import pytest

import ratebound as rb
from ratebound.problem.compile import compile as compile_here  # the public one asks old rooms too

ROWS = 200
MODELS = 4
MEBIBYTE = 2**20
TEXTS = [
    "predicted_positives() <= 80",
    'recall(sex == "F") >= 0.9 * recall()',
    "minimum_recall(sex, at_least=0.5)",
    'precision(sex == "M") >= 0.1',
    "cost(false_negative='loan') <= 4",
    "churn(age >= 30, versus='live') <= 0.5",
    "roc_auc(bins=4) >= 0.4",
    'positive_rate(sex == "F", on="pool") <= 0.5',
]


def draw_rows(seed, rows, weighted):
    random = np.random.default_rng(seed)
    columns = {
        "sex": random.choice(["F", "M"], rows),
        "age": random.integers(18, 70, rows),
        "loan": random.integers(0, 9, rows),
        "live": random.integers(0, 2, rows),
    }
    weights = random.integers(1, 4, rows) / 2 if weighted else None
    features = random.normal(size=(rows, 2))
    return rb.Population(features, random.integers(0, 2, rows), columns, weights)


@cache
def compile_texts(weighted):
    problem = rb.Problem(maximize="f_score()", subject_to=TEXTS)
    pool = draw_rows(1, 50, weighted)
    return rb.compile(problem, draw_rows(0, ROWS, weighted), pool=pool)


def draw_scores(compiled):
    return np.random.default_rng(3).normal(size=(MODELS, len(compiled.cell)))


def require_same_values(left, right, scores):
    for ours, theirs in zip(left.evaluate(scores), right.evaluate(scores), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_part_is_what_its_rows_alone_compile_to(weighted):
    compiled = compile_texts(weighted)
    chosen = np.random.default_rng(2).random(len(compiled.cell)) < 0.5
    part = compiled.select(chosen)
    people = draw_rows(0, ROWS, weighted).select(chosen[:ROWS])
    pool = draw_rows(1, 50, weighted).select(chosen[ROWS:])
    # counts are out of as many rows as there were
    total = compiled.reference["train"]
    texts = [TEXTS[0].replace("()", f"(per={total!r})"), *TEXTS[1:]]
    alone = rb.compile(rb.Problem(maximize="f_score()", subject_to=texts), people, pool=pool)
    require_same_values(part, alone, draw_scores(compiled)[:, chosen])
    assert part.labels == compiled.labels
    np.testing.assert_allclose(part.scale, alone.scale)


def test_a_part_has_the_groups_of_the_whole():
    rows = rb.Population(None, [0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    compiled = rb.compile(rb.Problem("error_rate()", ["positive_rate(sex) >= 0.5"]), rows)
    part = compiled.select(np.array([True, True, True, False]))
    assert part.labels == compiled.labels
    with pytest.raises(ValueError, match="has no row"):
        compiled.select(np.array([True, True, False, False]))


def test_a_part_has_rows_of_every_population():
    compiled = compile_texts(False)
    with pytest.raises(ValueError, match="no row of population 'pool' is left"):
        compiled.select(np.arange(len(compiled.cell)) < ROWS)


def test_counts_add_up():
    compiled = compile_texts(True)
    scores = draw_scores(compiled)
    thresholds = compiled.choose_thresholds(compiled.check_scores(scores))
    counts = compiled.count(scores, thresholds)
    doubled = counts + counts[:, ::-1]
    values = compiled.values(counts)
    expected = values + values[::-1] - compiled.offset
    np.testing.assert_allclose(compiled.values(doubled), expected)


def test_rows_that_all_rates_treat_alike_share_a_cell():
    rows = rb.Population(None, [0, 1] * 8, {"sex": ["F", "M"] * 8, "id": range(16)})
    compiled = rb.compile(rb.Problem("error_rate()", ['recall(sex == "M") >= 0.5']), rows)
    assert len(compiled.bits) == 2
    assert compiled.cell.tolist() == [compiled.cell[0], compiled.cell[1]] * 8


def test_cells_and_slices_are_transposes():
    compiled = compile_texts(True)
    random = np.random.default_rng(0)
    of_cells = random.normal(size=(3, len(compiled.bits)))
    of_slices = random.normal(size=(3, compiled.slices))
    inside = compiled.unpack_cells(0, len(compiled.bits))
    np.testing.assert_allclose(compiled.per_slice(of_cells), of_cells @ inside)
    np.testing.assert_allclose(compiled.per_cell(of_slices), of_slices @ inside.T)


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("recall() >= 0.5", 1),
        ("precision() >= 0.5", 1),
        ("predicted_positives() <= 30", 60),
        ("predicted_positives(per=1000) <= 30", 1000),
        ("recall() + 0.01 * predicted_positives() >= 0", 60),
        ("cost(false_negative=10, false_positive=1) <= 3", (10 * 20 + 40) / 60),
    ],
)
def test_violations_compare_in_the_unit_of_their_scale(text, scale):
    rows = rb.Population(None, [1] * 20 + [0] * 40)
    compiled = rb.compile(rb.Problem("error_rate()", [text]), rows)
    assert compiled.scale[-1] == pytest.approx(scale)


def test_what_is_compiled_says_how_large_it_is():
    rows = rb.Population(None, [0, 1] * 600)
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.5"]), rows)
    assert repr(compiled) == "Compiled(1 constraints, 1,200 rows, 2 cells, 2 slices)"


def test_many_models_on_many_rows_make_no_array_of_rows_by_cells():
    random = np.random.default_rng(0)
    rows = 50_000
    columns = {f"c{index}": random.integers(0, 4, rows) for index in range(8)}
    texts = [f"recall(c{index} == {value}) >= 0.5" for index in range(8) for value in range(4)]
    people = rb.Population(None, random.integers(0, 2, rows), columns)
    compiled = rb.compile(rb.Problem("error_rate()", texts), people)
    scores = random.normal(size=(8, rows)).astype(np.float32)
    tracemalloc.start()
    compiled.count(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(compiled.bits) > 10_000  # rows x cells would be 4 GiB
    assert peak < 50 * MEBIBYTE


def test_a_computed_number_is_a_row_without_decisions():
    bound = rb.constraint(lambda model, rows: 0.0, name="norm", at_most=2, scale=5)
    rows = rb.Population(None, [0, 1])
    compiled = compile_here(rb.Problem("error_rate()", [bound, "recall() >= 0.5"]), rows)
    assert compiled.labels == ("norm <= 2", "recall() >= 0.5")
    assert compiled.rows[0].computed is next(iter(bound.sum.terms))
    assert compiled.scale[1] == 5
    assert compiled.evaluate([1.0, 1.0])[1].tolist() == [-2.0, -0.5]


@pytest.mark.parametrize("problem", ["error_rate()", ["recall() >= 0.9"], None])
def test_compile_takes_a_problem(problem):
    with pytest.raises(TypeError, match=r"compile takes a rb\.Problem first, got"):
        rb.compile(problem, rb.Population(None, [0, 1]))
