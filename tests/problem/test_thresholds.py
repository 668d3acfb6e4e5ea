"""Thresholds: given as numbers or by name, or learned from scores and a budget."""

import numpy as np
import pytest

import ratebound as rb

SEEDS = range(6)
SMALL = 1e-9


def draw_rows(seed, classes=(0, 1), rows=60):
    random = np.random.default_rng(seed)
    labels = np.array(classes)[random.integers(0, len(classes), rows)]
    labels[: 2 * len(classes)] = np.tile(classes, 2)
    columns = {"sex": random.choice(["F", "M"], rows), "loan": random.integers(0, 9, rows)}
    weights = random.integers(1, 4, rows).astype(float) if seed % 2 else None
    return rb.Population(None, labels, columns, weights, list(classes)), random


# --- by name --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("classes", [(0, 1), ("a", "b", "c")], ids=str)
def test_named_thresholds_move_the_decision(seed, classes):
    rows, random = draw_rows(seed, classes)
    of = "" if len(classes) == 2 else 'of="b", '
    texts = [f'positive_rate({of}at="alarm") <= 0', f'positive_rate({of}at="call") <= 0']
    compiled = rb.compile(rb.Problem("error_rate()", texts), rows)
    shape = (5, 60) if len(classes) == 2 else (5, 3, 60)
    scores = np.round(random.normal(size=shape), 1)
    shape = (5, len(classes) - 1)
    thresholds = {name: random.normal(size=shape).round(1) for name in ("alarm", "call")}
    errors, violations = compiled.evaluate(scores, thresholds)
    label = np.searchsorted(classes, rows.y)
    for model in range(5):
        for index, name in enumerate(("alarm", "call")):
            decisions = decide_by_loop(scores[model], thresholds[name][model])
            share = np.average(decisions == 1, weights=rows.row_weights)
            assert violations[model, index] == pytest.approx(share)
        at_zero = decide_by_loop(scores[model], np.zeros(len(classes) - 1))
        error = np.average(at_zero != label, weights=rows.row_weights)
        assert errors[model] == pytest.approx(error)


def decide_by_loop(scores, thresholds):
    """Return the decision of every row: the largest score less its threshold, the later of equals."""
    if scores.ndim == 1:
        return (scores >= thresholds[0]).astype(int)
    decisions = []
    for row in scores.T:
        lowered = row - [0, *thresholds]
        decisions.append(np.flatnonzero(lowered == lowered.max())[-1])
    return np.array(decisions)


def test_a_named_threshold_without_a_budget_is_to_be_given():
    rows, _ = draw_rows(0)
    compiled = rb.compile(rb.Problem("error_rate()", ['recall(at="alarm") >= 0.5']), rows)
    with pytest.raises(ValueError, match=r"the threshold 'alarm' is learned: pass thresholds="):
        compiled.evaluate(np.zeros(60))
    with pytest.raises(ValueError, match="need scores, not decisions"):
        compiled.count_decisions(np.zeros(60, dtype=int))


def test_rates_of_one_threshold_share_a_block():
    texts = [
        'recall(at="alarm") >= 0.5',
        'positive_rate(sex == "F", at="alarm") <= 0.2',
        "accuracy(at=0) >= 0.5",
        "accuracy(at=0.5) >= 0.5",
        'cost(false_negative=2, column="loan", at="alarm") <= 9',
    ]
    compiled = rb.compile(rb.Problem("error_rate()", texts), draw_rows(0)[0])
    blocks = {(block.at, block.amounts is not None) for block in compiled.blocks}
    assert blocks == {(0.0, False), (0.5, False), ("alarm", False), ("alarm", True)}
    assert len(compiled.blocks) == 4


# --- learned from a budget ------------------------------------------------------------------------


def draw_scores(random, rows=60):
    return np.round(random.normal(size=(4, rows)), 1)  # with ties


def find_shares(scores, threshold, mask, weights):
    """Return the share of the weight of some rows that a threshold lets pass."""
    return weights[mask & (scores >= threshold)].sum() / weights[mask].sum()


def list_candidates(scores):
    """Return a threshold for every set of rows that one can let pass, from the lowest on."""
    return [*np.unique(scores), np.inf]


def find_area(scores, positive, negative, weights, bins):
    """Return the mean recall over false-positive budgets, at the lowest threshold in each."""
    recalls = []
    for number in range(bins):
        budget = (number + 0.5) / bins
        for threshold in list_candidates(scores):
            if find_shares(scores, threshold, negative, weights) <= budget + SMALL:
                recalls.append(find_shares(scores, threshold, positive, weights))
                break
    return np.mean(recalls)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("condition", "bins"), [("", 10), ('sex == "F"', 4)])
def test_an_area_is_the_mean_recall_over_budgets(seed, condition, bins):
    rows, random = draw_rows(seed)
    rate = f"roc_auc({condition}, bins={bins})" if condition else f"roc_auc(bins={bins})"
    compiled = rb.compile(rb.Problem("error_rate()", [f"{rate} >= 0.8"]), rows)
    assert len(compiled.rows) == 1 + bins
    inside = np.array([True] * 60) if not condition else rows.columns["sex"] == "F"
    scores = draw_scores(random)
    violations = compiled.evaluate(scores)[1]
    for model in range(4):
        positive = inside & (rows.y == 1)
        negative = inside & (rows.y == 0)
        area = find_area(scores[model], positive, negative, rows.row_weights, bins)
        assert violations[model, 0] == pytest.approx(0.8 - area)
        assert (violations[model, 1:] <= SMALL).all()  # every budget is met


def test_an_area_of_many_bins_is_that_of_all_pairs():
    rows, random = draw_rows(0)
    scores = random.normal(size=60)
    positive = scores[rows.y == 1]
    negative = scores[rows.y == 0]
    pairs = (positive[:, None] > negative).mean()
    compiled = rb.compile(rb.Problem("error_rate()", ["roc_auc(bins=500) >= 0"]), rows)
    assert -compiled.evaluate(scores)[1][0] == pytest.approx(pairs, abs=1 / 200)


def find_top(scores, mask, weights, wanted):
    """Return the rows of the highest threshold that lets at least this weight pass."""
    for threshold in reversed(list_candidates(scores)):
        passed = mask & (scores >= threshold)
        if weights[passed].sum() >= wanted - SMALL:
            return passed
    raise AssertionError("no threshold lets so many rows pass")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["precision", "recall"])
@pytest.mark.parametrize("condition", ["", 'sex == "F"'])
@pytest.mark.parametrize("top", [5, 0.3])
def test_the_top_rows_are_those_above_one_threshold(seed, name, condition, top):
    rows, random = draw_rows(seed)
    arguments = f"{condition}, top={top}" if condition else f"top={top}"
    compiled = rb.compile(rb.Problem("error_rate()", [f"{name}({arguments}) >= 0.5"]), rows)
    inside = np.array([True] * 60) if not condition else rows.columns["sex"] == "F"
    weights = rows.row_weights
    wanted = top if top >= 1 else top * weights[inside].sum()
    scores = draw_scores(random)
    violations = compiled.evaluate(scores)[1]
    for model in range(4):
        passed = find_top(scores[model], inside, weights, wanted)
        hits = weights[passed & (rows.y == 1)].sum()
        spent = weights[passed].sum() / wanted
        share = hits / weights[inside & (rows.y == 1)].sum()
        if name == "precision":
            share = hits / wanted  # where just so many rows pass, this is the precision
        assert violations[model, 0] == pytest.approx(0.5 * spent - share)
        assert violations[model, 1] == pytest.approx(1 - spent)


def test_a_budget_counts_out_of_per_rows():
    rows, random = draw_rows(0)
    scores = draw_scores(random)
    texts = ["precision(top=100, per=600) >= 0.5", "precision(top=10) >= 0.5"]
    compiled = rb.compile(rb.Problem("error_rate()", texts), rows)
    violations = compiled.evaluate(scores)[1]
    np.testing.assert_allclose(violations[:, :2], violations[:, 2:])


def test_a_threshold_that_is_given_is_not_learned():
    rows, random = draw_rows(1)
    scores = draw_scores(random)
    compiled = rb.compile(rb.Problem("error_rate()", ["recall(top=0.3) >= 0.5"]), rows)
    (name,) = compiled.thresholds
    learned = compiled.choose_thresholds(compiled.check_scores(scores))
    assert learned[name].shape == (4, 1)
    again = compiled.evaluate(scores, learned)
    for ours, theirs in zip(again, compiled.evaluate(scores), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    moved = compiled.evaluate(scores, {name: np.full((4, 1), -9.0)})[1]
    np.testing.assert_allclose(moved[:, 1], 1 - 1 / 0.3)  # all rows pass


@pytest.mark.parametrize("seed", SEEDS)
def test_thresholds_of_pieces_are_those_of_the_whole(seed):
    rows, random = draw_rows(seed)
    scores = draw_scores(random)
    problem = rb.Problem("error_rate()", ["roc_auc(bins=4) >= 0.7", "precision(top=9) >= 0.5"])
    expected = rb.compile(problem, rows).evaluate(scores)
    pieces = [rows.select(np.arange(25)), rows.select(np.arange(25, 60))]
    for ours, theirs in zip(rb.compile(problem, pieces).evaluate(scores), expected, strict=True):
        np.testing.assert_allclose(ours, theirs)
