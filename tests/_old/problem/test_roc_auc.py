"""`roc_auc` against scikit-learn's, and the false-positive budgets it is made of."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import ratebound._old as rb

BOUND = 0.75


def draw(seed, n=500, weighted=False):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    weights = rng.choice([0.0, 0.5, 1.0, 4.0], n) if weighted else None
    columns = {"sex": rng.choice(["F", "M"], n)}
    scores = rng.normal(size=n) + rng.choice([-1.0, 0.0, 0.5, 3.0]) * y
    return rb.Population(None, y, columns=columns, weights=weights), scores


def evaluate(metric, people, scores):
    """The area, and what is left of each budget (negative if overspent)."""
    compiled = rb.compile(rb.Problem(rb.error_rate(), [metric >= BOUND]), people)
    _, violations = compiled.evaluate(scores)
    return BOUND - violations[..., 0], -violations[..., 1:]


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("bins", [1, 2, 10, 37, 100])
@pytest.mark.parametrize("seed", range(5))
def test_close_to_scikit_learn(seed, bins, weighted):
    people, scores = draw(seed, weighted=weighted)
    for metric, inside in (
        (rb.roc_auc(bins=bins), np.ones(500, bool)),
        (rb.roc_auc(sex="F", bins=bins), people.columns["sex"] == "F"),
    ):
        area, left = evaluate(metric, people, scores)
        weights = None if people.weights is None else people.weights[inside]
        assert (
            abs(area - roc_auc_score(people.y[inside], scores[inside], sample_weight=weights))
            <= 1 / bins
        )
        assert left.shape == (bins,)
        assert np.all(left >= -1e-12)


@pytest.mark.parametrize("rounding", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_budgets_are_kept_and_ties_never_flatter(seed, rounding):
    people, scores = draw(seed)
    scores = scores.round(rounding)
    area, left = evaluate(rb.roc_auc(bins=20), people, scores)
    assert np.all(left >= -1e-12)
    assert area <= roc_auc_score(people.y, scores) + 1 / 20


@pytest.mark.parametrize(
    ("scores", "area"),
    [
        ([0.0, 1.0, 2.0, 3.0], 1.0),
        ([3.0, 2.0, 1.0, 0.0], 0.0),
        ([1.0, 1.0, 1.0, 1.0], 0.0),  # no threshold separates them, so nothing can be promised
        ([0.0, 2.0, 1.0, 3.0], 0.75),
    ],
)
def test_by_hand(scores, area):
    measured, left = evaluate(rb.roc_auc(bins=10), rb.Population(None, [0, 0, 1, 1]), scores)
    np.testing.assert_allclose(measured, area)
    assert np.all(left >= 0)


def test_budgets_are_midpoints_in_the_users_words():
    people, _ = draw(0)
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.roc_auc(sex="F", bins=2) >= BOUND]), people)
    first, *budgets = map(str, compiled.constraints)
    assert first == 'roc_auc(sex == "F", bins=2) >= 0.75'
    assert [b.split(" <= ")[1] for b in budgets] == ["0.25", "0.75"]
    assert all(b.startswith('false_positive_rate(sex == "F", at=') for b in budgets)
    assert len(compiled.learnable) == len(set(compiled.learnable)) == 2


def test_a_given_threshold_is_used_even_where_it_overspends():
    people, scores = draw(1)
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.roc_auc(bins=2) >= BOUND]), people)
    _, violations = compiled.evaluate(scores, thresholds=dict.fromkeys(compiled.learnable, scores.min()))
    np.testing.assert_allclose(violations, [BOUND - 1.0, 0.75, 0.25])


def test_several_scores_and_populations_at_once():
    people, scores = draw(2, weighted=True)
    others, more = draw(3, n=200)
    problem = rb.Problem(
        rb.error_rate(), [rb.roc_auc() >= BOUND, rb.roc_auc(on="others", bins=5) >= BOUND]
    )
    compiled = rb.compile(problem, people, others=others)
    both = np.array([[*scores, *more], [*-scores, *(more / 2)]])
    together = compiled.evaluate(both)[1]
    np.testing.assert_allclose(together, [compiled.evaluate(row)[1] for row in both])
    np.testing.assert_allclose(BOUND - together[0, 11], evaluate(rb.roc_auc(bins=5), others, more)[0])
