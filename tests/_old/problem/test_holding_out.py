"""Held-out rows: every cell contributes its share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.problem.compiling import compile_part, held_out, parted


@given(
    cells=st.lists(st.integers(0, 5), min_size=1, max_size=200),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 2**31),
)
def test_every_cell_gives_its_share_to_rounding(cells, share, seed):
    cells = np.array(cells)
    chosen = held_out(cells, share, seed)
    sizes = np.bincount(cells)
    taken = np.bincount(cells[chosen], minlength=len(sizes))
    np.testing.assert_array_less(abs(taken - share * sizes), 1)


def test_seeds_differ_and_repeat():
    cells = np.repeat([0, 1], 500)
    first = held_out(cells, 0.3, 0)
    np.testing.assert_array_equal(first, held_out(cells, 0.3, 0))
    assert (first != held_out(cells, 0.3, 1)).any()
    assert first.sum() == pytest.approx(300, abs=1)


def test_a_row_of_every_group_stays_to_train_on():
    groups = np.where(np.arange(200) == 7, 2, np.arange(200) % 2)
    people = rb.Population(None, [0, 1] * 100, columns={"group": groups})
    everyone = rb.compile(rb.Problem("error_rate()", []), people)
    for seed in range(20):
        training, aside = parted(everyone, 0.9, seed, groups)
        assert set(training.first.column("group").tolist()) == {0, 1, 2}
        assert len(training.first) + len(aside.first) == 200


PROBLEMS = {
    "rates": rb.Problem("error_rate()", ['recall(sex == "F") >= 0.9 * recall()', "prevalence() <= 1"]),
    "conditions": rb.Problem(
        "error_rate()",
        ['positive_rate(sex != "F" or age < 30) <= 0.5', 'recall(region in ("a", "b")) >= 0.1'],
    ),
    "counts": rb.Problem("error_rate()", ["predicted_positives(age >= 30) <= 40"]),
    "costs": rb.Problem("cost(false_negative='loan')", ['accuracy(sex == "M") >= 0.2']),
    "churn": rb.Problem("error_rate()", ["churn(age >= 30, versus='old') <= 0.5"]),
    "area": rb.Problem("error_rate()", ["roc_auc(bins=4) >= 0.4"]),
    "a ratio": rb.Problem(maximize="f_score()", subject_to=['precision(sex == "M") >= 0.1']),
    "the worst": rb.Problem(maximize='smallest(recall(sex == "F"), recall(sex == "M"))'),
    "elsewhere": rb.Problem("error_rate()", ['positive_rate(sex == "F", on="pool") <= 0.5']),
}


def _rows(count, seed, weighted):
    rng = np.random.default_rng(seed)
    columns = {
        "sex": rng.choice(["F", "M"], count),
        "age": rng.integers(18, 70, count),
        "region": rng.choice(["a", "b", "c"], count),
        "loan": rng.integers(0, 9, count),
        "old": rng.integers(0, 2, count),
    }
    weights = rng.integers(0, 3, count) / 2 if weighted else None
    return rb.Population(None, rng.integers(0, 2, count), columns, weights=weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_part_is_what_its_rows_alone_compile_to(name, weighted):
    people = {"train": _rows(120, 0, weighted), "pool": _rows(50, 1, weighted)}
    whole = rb.compile(PROBLEMS[name], **people)
    chosen = np.random.default_rng(2).random(170) < 0.5
    part = compile_part(whole, chosen)
    alone = rb.compile(
        whole.problem,
        **{on: each.only(chosen[whole.rows[on]]) for on, each in people.items()},
    )
    np.testing.assert_array_equal(part.cells, alone.cells)
    np.testing.assert_array_equal(part.offset, alone.offset)
    np.testing.assert_array_equal(part.matrix, alone.matrix)
    np.testing.assert_array_equal(part.scale, alone.scale)
    assert part.digest == alone.digest
    scores = np.random.default_rng(3).normal(size=(4, len(part.cells)))
    for own, other in zip(part.evaluate(scores), alone.evaluate(scores), strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize(
    "promise",
    ['recall(sex == "F") >= 0.5', 'recall(sex != "F") >= 0.5', 'recall(sex in ("F", "M")) >= 0'],
)
def test_a_part_without_a_value_is_refused(promise):
    people = rb.Population(None, [0, 1, 1, 1], {"sex": ["F", "F", "M", "M"]})
    whole = rb.compile(rb.Problem("error_rate()", [promise]), people)
    with pytest.raises(ValueError, match="no row has sex == \"F\"; the column holds 'M'"):
        compile_part(whole, np.array([False, False, True, True]))
