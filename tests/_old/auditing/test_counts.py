"""Counts in audits: out of as many rows as the model was trained on, whatever the rows audited."""

import numpy as np
import pytest

import ratebound._old as rb

from .conftest import draw, mixture

CAP = rb.Problem("error_rate()", ["predicted_positives() <= 150"])


@pytest.fixture(scope="module")
def trained():
    """A model trained to say yes to at most 150 of 400 rows."""
    compiled = rb.compile(CAP, draw())
    return rb.shrink(rb.play(compiled, rb.Linear(0.1), rounds=50, batch_size=None))


@pytest.mark.parametrize("problem", ["given", "its own"])
def test_counted_on_other_rows_and_scaled_to_those_trained_on(trained, problem):
    test = draw(1, 100)
    report = rb.audit(CAP if problem == "given" else trained.problem, trained, test)
    (promise,) = report.promises
    share = trained.decision_proba(test.X)[:, 1].mean()
    assert promise.words == "predicted_positives(per=400) <= 150.0"
    assert promise.value == pytest.approx(400 * share)
    assert promise.kept == (400 * share <= 150)
    low, high = promise.slack_low, promise.slack_high  # as wide as 100 rows make it, times four
    assert 4 * 5 < (high - low) / 2 < 4 * 12


def test_twice_what_was_promised_is_broken_on_any_number_of_rows(trained):
    yes = np.repeat([[5.0, 5.0, 5.0]], 40, axis=0)
    (promise,) = rb.audit(CAP, trained, rb.Population(yes, [0, 1] * 20)).promises
    assert (promise.value, promise.kept, promise.verdict) == (400.0, False, "broken")


def test_a_saved_model_remembers(trained, tmp_path):
    loaded = rb.load(trained.save(tmp_path))
    assert loaded.problem == trained.problem
    (promise,) = rb.audit(loaded.problem, loaded, draw(1, 100)).promises
    assert promise.words == "predicted_positives(per=400) <= 150.0"


def test_other_models_are_counted_on_the_rows_audited(people):
    (promise,) = rb.audit(CAP, mixture([1.0]), people).promises
    v = np.ones(400) if people.weights is None else people.weights
    assert promise.value == pytest.approx(v[people.X[:, 0] >= 0].sum())
    assert promise.words == f"predicted_positives(per={v.sum():.10g}) <= 150.0"


def test_other_populations_have_their_own_number(trained):
    problem = rb.Problem("error_rate()", ["predicted_positives(on='pool') <= 10"])
    (promise,) = rb.audit(problem, trained, draw(1, 100), pool=draw(2, 50)).promises
    assert promise.words == 'predicted_positives(on="pool", per=50) <= 10.0'


def test_an_audit_grants_a_count_what_its_status_grants():
    """The tolerance is a share of its rows: a millionth of a row, of 1,000."""
    scores = np.where(np.arange(1000) < 500, 1.0, -1.0)
    people = rb.Population(scores[:, None], np.arange(1000) % 2)
    for over, kept in ((5e-7, True), (5e-6, False)):
        problem = rb.Problem(rb.error_rate(), [rb.predicted_positives() <= 500 - over])
        assert rb.audit(problem, mixture([1.0]), people).promises[0].kept is kept
