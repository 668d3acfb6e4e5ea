"""A promise in counts means what it means as a rate, whichever rows it is trained or judged on."""

import numpy as np
import pytest

import ratebound._old as rb

from ..small_tables import people

pytestmark = pytest.mark.usefixtures("brief")

ROWS = 2400  # enough for some to be held out
AS_COUNT, AS_RATE = "predicted_positives() <= 720", "positive_rate() <= 0.3"


def fitted(constraint, weights=None, **options):
    game = {"player": "external", "confidence": None, "training": rb.Training(epochs=4)}
    model = rb.RateConstrainedClassifier(constraint, random_state=0, **game | options)
    X, y, _ = people(ROWS)
    return model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_training_is_the_same_in_counts_and_in_rates(weighted):
    weights = np.random.default_rng(1).choice([0.5, 2.0], ROWS) if weighted else None
    total = ROWS if weights is None else weights.sum()
    count = fitted(f"predicted_positives() <= {0.3 * total}", weights)
    rate = fitted(AS_RATE, weights)
    assert count.solution_.setting == rate.solution_.setting
    np.testing.assert_allclose(count.solution_.parameters, rate.solution_.parameters)
    np.testing.assert_allclose(count.solution_.weights, rate.solution_.weights, atol=1e-6)
    for on in ("train", "validation"):
        of_count, of_rate = (
            model.trace_.violations if on == "train" else model.trace_.watched[on].violations
            for model in (count, rate)
        )
        np.testing.assert_allclose(of_count, total * of_rate, atol=1e-6)
    assert [*map(str, count.constraints_)] == [*count.violations_]
    assert [*count.violations_] == [f"predicted_positives(per={total:g}) <= {0.3 * total}"]


def test_so_it_is_by_what_is_learned_of_each_row():
    count, rate = (fitted(words, player="auto", confidence=0.9) for words in (AS_COUNT, AS_RATE))
    assert count.status_.confidence == rate.status_.confidence
    (of_count,), (of_rate,) = count.violations_.values(), rate.violations_.values()
    assert of_count == pytest.approx(ROWS * of_rate)
    X, _, _ = people(600, seed=1)
    np.testing.assert_array_equal(count.predict(X), rate.predict(X))


def test_audits_of_fewer_rows_are_scaled_to_those_trained_on():
    model = fitted(AS_COUNT)
    X, y, _ = people(600, seed=1)
    (promise,) = model.audit(X, y).promises
    assert promise.value == pytest.approx(ROWS * model.decision_proba(X)[:, 1].mean())
    assert promise.words == "predicted_positives(per=2400) <= 720.0"


def test_thresholds_by_known_cell_too():
    X, y, group = people(ROWS)
    model = rb.RateConstrainedClassifier(
        AS_COUNT, known=["group"], confidence=None, training=rb.Training(epochs=4), random_state=0
    )
    model.fit(X, y, columns={"group": group})
    yes = model.decision_proba(X, columns={"group": group})[:, 1].sum()
    assert yes <= 720 + 1e-6
    assert model.status_.feasible


def test_plans_measure_parts_as_the_whole():
    plans = [
        rb.plan(rb.Problem("error_rate()", [words]), people(400).population(), splits=1, progress=False)
        for words in ("predicted_positives() <= 120", AS_RATE)
    ]
    for name, option in plans[0].options.items():
        np.testing.assert_allclose(option.violations, plans[1].options[name].violations, atol=1e-9)
