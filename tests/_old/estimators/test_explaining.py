"""Explanations of promises before training, against counts by hand and exhaustive trials."""

import itertools
import json

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.base.linear_program import kept

from ..small_tables import people

pytestmark = pytest.mark.usefixtures("brief")

N = 300
TABLE = people(N, shift=1.0, cut=0.5)
X, Y, GROUP = TABLE
PEOPLE, ROWS = TABLE.population(), TABLE.population(X=None)  # the latter holds nothing to train on


def explained(*promises, people=ROWS, minimize=None, **options):
    return rb.explain(rb.Problem(minimize or rb.error_rate(), promises), people, **options)


def test_what_the_least_violation_is():
    """Positive rate at most .1 and recall at least .9: yeses go to positives, q of them."""
    found = explained("positive_rate() <= 0.1", "recall() >= 0.9", "accuracy() >= 0.2")
    base = Y.mean()
    q = np.linspace(0, 1, 100_001)
    least = np.maximum(q * base - 0.1, 0.9 - q).min()
    assert not found.possible
    assert [str(constraint) for constraint in found.conflict] == [
        "positive_rate() <= 0.1",
        "recall() >= 0.9",
    ]
    for _, amount in found.relax:
        assert amount == pytest.approx(least, abs=2e-4)
    assert [promise.possible for promise in found.promises] == [True] * 3
    assert found.price is None
    assert "no classifier keeps 1 and 2 together" in str(found)


def test_relaxing_as_advised_is_enough_and_less_is_not():
    promises = ["positive_rate() <= 0.1", 'recall(group == "a") >= 0.9', "true_positives() >= 60"]
    advised = {str(constraint): amount for constraint, amount in explained(*promises).relax}

    def possible(share):
        relaxed = []
        for promise in map(rb.parse, promises):
            constraint = rb.compile(rb.Problem(rb.error_rate(), [promise]), ROWS).constraints[0]
            by = share * advised.get(str(constraint), 0.0)
            bound = constraint.right + (by if constraint.relation == "<=" else -by)
            relaxed.append(
                constraint.left <= bound if constraint.relation == "<=" else constraint.left >= bound
            )
        return explained(*relaxed).possible

    assert advised
    assert possible(1.0)
    assert not possible(0.98)


def test_one_promise_that_no_classifier_keeps():
    found = explained("recall() - positive_rate() >= 0.9", "recall() >= 0.1")
    assert [promise.possible for promise in found.promises] == [False, True]
    best = 1 - Y.mean()  # yes to the positives, and to no one else
    assert found.promises[0].least_violation == pytest.approx(0.9 - best)
    assert "no classifier keeps 1 on these rows" in str(found)


def test_a_count_is_broken_in_rows():
    found = explained("true_positives() >= 250")
    assert found.promises[0].least_violation == pytest.approx(250 - Y.sum())
    assert found.relax[0][1] == pytest.approx(250 - Y.sum(), rel=1e-3)


def test_the_price_is_no_more_than_any_classifier_pays():
    """Four people, every deterministic classifier tried: none that keeps the promises is cheaper."""
    people = rb.Population(None, [1, 1, 1, 0], columns={"group": list("aabb")})
    promises = ['recall(group == "a") <= 0.5', "positive_rate() >= 0.5"]
    found = explained(*promises, people=people)
    compiled = rb.compile(found.problem, people)
    scores = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    objectives, violations = compiled.evaluate(scores)
    cheapest = objectives[kept(violations).all(axis=1)].min()
    assert found.price.at_least == pytest.approx(cheapest) == pytest.approx(0.25)
    assert found.price.without_promises == pytest.approx(objectives.min()) == pytest.approx(0)
    # A recall of .5 + d in the group says yes to 2d more of its two people, a quarter of all each.
    assert [promise.price for promise in found.promises] == pytest.approx([0.5, 0.0])


def test_thresholds_reach_a_price_above_the_bound():
    found = explained("positive_rate() <= 0.2", people=PEOPLE, known=["group"])
    price = found.price
    assert price.at_least == pytest.approx(Y.mean() - 0.2, abs=1e-6)
    assert price.at_least <= price.by_thresholds
    assert "with the best thresholds by group" in str(found)
    by_one = explained("positive_rate() <= 0.2", people=PEOPLE).price.by_thresholds
    assert price.by_thresholds <= by_one + 1e-9


def test_simple_classifiers_by_definition():
    found = explained('recall(group == "a") >= 0.5', "positive_rate() <= 0.3", people=PEOPLE)
    recalls, yeses = (promise.classifiers for promise in found.promises)
    assert list(recalls) == ["always no", "always yes", "perfect", "unconstrained"]
    assert [recalls[name].value for name in recalls][:3] == [0.0, 1.0, 1.0]
    assert [yeses[name].value for name in yeses][:3] == pytest.approx([0.0, 1.0, Y.mean()])
    rate = found.promises[0].rates[0]
    inside = GROUP == "a"
    assert (rate.rows, rate.positive, rate.counted_over) == (inside.sum(), *[(inside & Y).sum()] * 2)


def test_several_populations():
    pool = TABLE.population(slice(50), y=None)
    promises = ['positive_rate(on="pool") <= 0.3', "recall() >= 0.6"]
    found = explained(*promises, people=PEOPLE, pool=pool)
    assert found.rows == {"train": N, "pool": 50}
    assert found.positive == {"train": Y.sum(), "pool": None}
    assert list(found.promises[0].classifiers) == ["always no", "always yes", "unconstrained"]
    assert found.promises[0].rates[0].rows == 50
    assert "pool: 50 rows, no labels" in str(found)


@pytest.mark.parametrize(
    "promise",
    [
        "precision() >= 0.5",
        "roc_auc(bins=3) >= 0.6",
        "recall(at=0.5) >= 0.2",
        "predicted_positives() <= 9",
    ],
)
def test_every_kind_becomes_plain_data(promise):
    found = explained(promise, people=PEOPLE)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["possible"] is True
    assert data["objective"] == "error_rate()"
    assert data["promises"][0]["constraint"] == str(found.promises[0].constraint)
    assert set(data["promises"][0]["classifiers"]) == set(found.promises[0].classifiers)
    assert str(found)


def test_the_rows_that_certificates_would_need():
    found = explained('recall(group == "a") >= 0.5', "positive_rate() <= 0.3", people=PEOPLE)
    assert [each.margin for each in found.needed.promises] == [0.01, 0.02, 0.05] * 2
    assert found.needed.promises[0].constraint == found.promises[0].constraint
    assert "To certify each at 95% confidence" in str(found)


def test_what_cannot_be_explained():
    with pytest.raises(ValueError, match="nothing to explain"):
        explained()
    with pytest.raises(TypeError, match="explain takes"):
        rb.explain(5, ROWS)
    with pytest.raises(TypeError, match=r"pool must be a rb\.Population"):
        explained("recall() >= 0.9", pool=X)
