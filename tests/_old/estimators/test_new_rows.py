"""Promises on new rows: margins, statements about them, and rows kept only for a certificate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import ratebound._old as rb
from ratebound._old.estimators import classifier, finishing
from ratebound._old.estimators.margins import LOOKS, Errors, errors_of
from ratebound._old.problem.compiling import parted

from ..extras import pd

PROMISES = [f'recall(group == "{name}") >= 0.95 * recall()' for name in "ab"]


def sample(rows, seed):
    """Rows of a population in which group "b" has lower scores for the same labels."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(rows) < 0.2, "b", "a")
    X = rng.normal(size=(rows, 6))
    X[:, 0] -= 0.7 * (group == "b")
    y = X @ [1.5, 1, 0.8, 0.5, 0.2, 0] + 0.7 * (group == "b") + rng.normal(size=rows) > 0.5
    return X, y, {"group": group}


def truth(model, seed=999, rows=60_000):
    """The worst violation on rows the model has not seen."""
    X, y, columns = sample(rows, seed)
    compiled = rb.compile(model.solution_.problem, rb.Population(X, y, columns=columns))
    weights, scores = model.solution_.weights, model.solution_.member_scores(X).T
    return float((weights @ compiled.evaluate(scores)[1]).max())


def fitted(rows=2500, seed=0, promises=PROMISES, **options):
    X, y, columns = sample(rows, seed)
    options = {"model": rb.Linear(0.05), "training": rb.Training(epochs=60), **options}
    return rb.RateConstrainedClassifier(promises, random_state=0, **options).fit(X, y, columns=columns)


# --- margins -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 10])
def test_margins_are_quantiles_of_the_largest_of_several_errors(m):
    apart = Errors(np.diag(np.full(m, 0.02)) ** 2)
    for confidence in (0.8, 0.9, 0.95):
        expected = norm.ppf(confidence ** (1 / m / LOOKS))
        np.testing.assert_allclose(apart.margins(confidence) / 0.02, expected, atol=0.03)
    together = Errors(np.full((m, m), 0.02**2))
    np.testing.assert_allclose(together.margins(0.9) / 0.02, norm.ppf(0.9 ** (1 / LOOKS)), atol=0.03)


def test_the_confidence_of_margins_is_what_they_were_made_for():
    errors = Errors(np.array([[4.0, 1.0], [1.0, 1.0]]) * 1e-4)
    for confidence in (0.6, 0.8, 0.95):
        assert errors.confidence(-errors.margins(confidence)) == pytest.approx(confidence, abs=0.011)
    assert errors.confidence(np.array([0.1, 0.1])) == 0.0


def test_ten_of_ten_are_not_certain_on_new_rows():
    """No row moves the recall, and it may be below 1 on others nevertheless."""
    X, y = np.repeat([[-1.0], [1.0]], 10, axis=0), np.repeat([0, 1], 10)
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 1"]), rb.Population(X, y))
    model = rb.last_iterate(rb.play(compiled, rb.Linear(0.1), rounds=50))
    assert model.violations["train"] == [0.0]
    errors = errors_of(model, compiled)
    assert errors.margins(0.9)[0] > 0.1
    assert errors.confidence(np.zeros(1)) < 0.2


def test_what_does_not_depend_on_the_rows_needs_no_margin():
    """Above the threshold of a top there are as many rows as there should be, on any rows."""
    X, y, columns = sample(400, 0)
    problem = rb.Problem("error_rate()", ["precision(top=40) >= 0.5", "recall() >= 0.5"])
    compiled = rb.compile(problem, rb.Population(X, y, columns=columns))
    model = rb.last_iterate(rb.play(compiled, rb.Linear(0.1), rounds=50))
    errors = errors_of(model, compiled)
    assert errors.fixed.tolist() == [False, True, False]
    assert (errors.margins(0.9) > 0).tolist() == [True, False, True]
    room = np.array([1.0, 0.0, 1.0])
    assert errors.confidence(-room) == 1.0
    assert errors.confidence(np.array([-1.0, 0.1, -1.0])) == 0.0


def test_more_rows_to_certify_on_need_less_room():
    errors = Errors(np.diag([0.01, 0.03]) ** 2)
    few, many = (errors.to_be_certified(0.95, share, drawn=errors) for share in (0.1, 0.5))
    assert (many < few).all()
    assert (many > errors.sizes * norm.ppf(0.95)).all()


# --- confidence --------------------------------------------------------------------------------------


def test_promises_hold_on_new_rows_about_as_often_as_asked():
    kept = {None: 0, 0.9: 0}
    for seed in range(5):
        for confidence in kept:
            kept[confidence] += truth(fitted(seed=seed, confidence=confidence)) <= 0
    assert kept[0.9] >= 4
    assert kept[None] <= 2


@pytest.mark.parametrize(
    "options",
    [
        {"known": ["group"]},
        {"solution": "best"},
        {"promises": 'precision(group == "b") >= 0.6'},
        {"promises": 'predicted_positives(group == "b") <= 90'},
        {"promises": "positive_rate() <= 0.3"},
    ],
    ids=str,
)
def test_every_kind_of_promise_and_solution_has_room_to_spare(options):
    model = fitted(confidence=0.9, **options)
    assert 0.5 < model.status_.confidence <= 1.0
    assert "On new rows like these all hold together" in str(model.status_)
    assert model.status_.feasible
    assert max(model.violations_.values()) < 0


def test_without_promises_there_is_nothing_to_be_sure_of():
    model = fitted(promises=(), confidence=0.9)
    assert model.status_.confidence is None
    assert model.status_.feasible


def test_where_margins_cannot_be_kept_the_status_says_what_would_buy_the_rest():
    promises = ["accuracy() >= 0.76"]
    model = fitted(400, promises=promises, confidence=0.999)
    assert model.status_.feasible
    assert model.status_.confidence < 0.98
    assert "99.9% was asked for: for accuracy() >= 0.76 that would take about" in str(model.status_)
    assert "in place of 400" in str(model.status_)


def test_what_cannot_be_kept_at_all_is_said_as_ever():
    model = fitted(promises=["accuracy() >= 0.99"], confidence=0.9)
    assert not model.status_.feasible
    assert model.status_.confidence == 0.0
    assert "accuracy() >= 0.99" in str(model.status_)


def test_a_model_is_no_worse_than_deciding_alike_for_everyone():
    y = sample(300, 1)[1]
    model = fitted(300, 1, confidence=0.99)
    assert model.solution_.objectives["train"] <= min(y.mean(), 1 - y.mean()) + 1e-9


@pytest.mark.parametrize(
    ("promise", "objective"), [("recall() >= 0.8", "error_rate()"), ("precision() >= 0.5", "-recall()")]
)
def test_deciding_alike_is_no_alternative_where_it_breaks_a_promise(promise, objective):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = rng.random(2000) < 1 / (1 + np.exp(3.3 - 1.5 * X[:, 0] - X[:, 1]))  # a tenth are positive
    options = {"model": rb.Linear(0.05), "training": rb.Training(epochs=60), "random_state": 0}
    model = rb.RateConstrainedClassifier(promise, objective=objective, confidence=0.9, **options)
    assert model.fit(X, y).status_.confidence > 0.15
    assert "On new rows like these" in str(model.status_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"confidence": 1.0}, "confidence, a probability such as 0.9,"),
        ({"confidence": "high"}, "confidence, a probability such as 0.9,"),
        ({"certify": 0}, "certify, a share of the rows such as 0.3,"),
        ({"certify": 30}, "certify, a share of the rows such as 0.3,"),
    ],
)
def test_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        fitted(100, **options)


# --- certify -----------------------------------------------------------------------------------------


def test_the_cheapest_certified_model_comes_with_its_certificate(tmp_path):
    model = fitted(8000, seed=3, confidence=0.9, certify=0.3)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.confidence == 0.9
    assert certificate.populations == {"certified": 2400}
    assert truth(model) <= 0
    again = rb.load(model.save(tmp_path / "model.safetensors"))
    assert again.record.certificate == certificate


def test_where_nothing_passes_the_certificate_does_not_hold_and_says_what_it_takes():
    model = fitted(500, certify=0.3)
    assert not model.certificate_.holds
    assert any((promise.rows_needed or 0) > promise.rows for promise in model.certificate_.promises)
    assert model.status_.feasible


def test_too_few_rows_to_set_aside():
    X = pd.DataFrame({"x": np.arange(40.0), "group": ["a"] * 38 + ["b"] * 2})
    y = np.arange(40) % 2 == 0
    with pytest.raises(
        ValueError, match=r"certify=0\.1: among the 36 training rows: recall\(group == .b.\)"
    ):
        rb.RateConstrainedClassifier(PROMISES, certify=0.1, random_state=0).fit(X, y)


def test_a_share_that_leaves_no_rows():
    with pytest.raises(ValueError, match=r"certify=0\.001: with 0 held-out rows"):
        fitted(40, promises="recall() >= 0.1", certify=0.001)


def test_a_certificate_is_not_left_behind_by_an_earlier_fit():
    model = fitted(500, certify=0.3)
    X, y, columns = sample(500, 1)
    model.set_params(certify=None).fit(X, y, columns=columns)
    assert not hasattr(model, "certificate_")


def test_nothing_in_fit_reads_a_row_to_certify_on(monkeypatch):
    """Poisoned features, labels and weights of these rows change no model and no order."""
    X, y, columns = sample(2000, 3)
    weights = np.ones(len(y))
    masks = []

    def remembered(everyone, share, seed, **_):
        if not masks:
            masks.append(parted(everyone, share, seed)[1].first.X[:, 5])
        aside = np.isin(X[:, 5], masks[0])
        return tuple(
            rb.compile(everyone.problem, everyone.first.only(chosen)) for chosen in (~aside, aside)
        )

    candidates = []
    original = finishing.cheapest_certified

    def seen(models, otherwise, aside, confidence):
        candidates.append(
            [(one.weights.tolist(), one.parameters.tolist()) for one in (*models, otherwise)]
        )
        return original(models, otherwise, aside, confidence)

    monkeypatch.setattr(classifier, "parted", remembered)
    monkeypatch.setattr(classifier, "cheapest_certified", seen)

    def fit(X, y, weights):
        model = rb.RateConstrainedClassifier(
            PROMISES, confidence=0.9, certify=0.3, random_state=0, training=rb.Training(epochs=20)
        )
        return model.fit(X, y, columns=columns, sample_weight=weights)

    first = fit(X, y, weights)
    aside = np.isin(X[:, 5], masks[0])
    assert aside.sum() == 600
    poisoned_X, poisoned_y, poisoned_weights = X.copy(), y.copy(), weights.copy()
    poisoned_X[aside, :5] = 1e6
    poisoned_y[aside] = ~y[aside]
    poisoned_weights[aside] = 50.0
    second = fit(poisoned_X, poisoned_y, poisoned_weights)
    assert candidates[0] == candidates[1]
    assert len(candidates[0]) > 2
    np.testing.assert_array_equal(first.trace_.parameters, second.trace_.parameters)
    assert first.certificate_ != second.certificate_


@pytest.mark.parametrize("options", [{}, {"confidence": 0.9}, {"known": ["group"]}], ids=str)
def test_the_rows_trained_on_certify_nothing(options):
    X, y, columns = sample(2500, 0)
    model = fitted(2500, 0, **options)
    with pytest.raises(ValueError, match="these are the rows that the model was trained on"):
        rb.certify(model.solution_.problem, model, rb.Population(X, y, columns=columns))
    others = rb.Population(*sample(2500, 1)[:2], columns=sample(2500, 1)[2])
    assert len(rb.certify(model.solution_.problem, model, others).promises) == 2


def test_what_cannot_be_judged_out_of_fold_is_said_with_care():
    model = fitted(confidence=0.9, training=rb.Training(epochs=5, warm_start=True))
    assert "as far as the training rows" not in str(model.status_)
    again = model.fit(*sample(2500, 0)[:2], columns=sample(2500, 0)[2])
    assert "as far as the training rows show" in str(again.status_)


def of_precision(random, rows):
    X = random.normal(size=(rows, 3))
    return X, X[:, 0] + 0.5 * X[:, 1] + random.normal(size=rows) > 1.2


def test_candidates_of_precision_begin_where_a_certificate_is_likeliest(monkeypatch):
    """Compared with every threshold of the same model, by its deviations above the bound on new rows."""
    tried = []

    def tests_nothing(candidates, otherwise, aside, confidence):
        tried.extend(candidates)
        return None, rb.certify(aside.problem, otherwise, aside.first)

    monkeypatch.setattr(classifier, "cheapest_certified", tests_nothing)
    rb.RateConstrainedClassifier(
        "precision() >= 0.7", objective="maximize recall()", certify=0.5, random_state=0
    ).fit(*of_precision(np.random.default_rng(2), 1200))
    X, y = of_precision(np.random.default_rng(0), 40_000)

    def deviations(yes):
        return (y[yes].mean() - 0.7) * np.sqrt(yes.sum())

    scores = tried[0].decision_function(X)
    best = max(deviations(scores >= level) for level in np.quantile(scores, np.linspace(0.5, 0.99, 50)))
    decided = [model.predict(X).astype(bool) for model in tried]
    assert deviations(decided[0]) >= 0.75 * best
    assert decided[0].sum() < 0.7 * decided[-1].sum()  # towards more yeses, and more recall
    assert len(tried) > 2


# --- the order of tests ------------------------------------------------------------------------------


def sequence(monkeypatch, p_values):
    """What `cheapest_certified` finds where candidates have these p-values, and the other model .001."""
    promise = rb.solution.certificate.Certified(
        rb.recall() >= 0.5, 0.6, 0.5, 0.5, False, 10, 20, "a test"
    )

    def certify(problem, p_value, first, confidence):
        one = replace(promise, p_value=p_value, holds=p_value <= 1 - confidence)
        return rb.solution.certificate.Certificate(confidence, "a model", {"certified": 10}, (one,))

    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(None, [0, 1]))
    monkeypatch.setattr(finishing, "certify", certify)
    return finishing.cheapest_certified(p_values, 0.001, compiled, 0.95)


def test_the_last_to_pass_before_the_first_failure(monkeypatch):
    place, certificate = sequence(monkeypatch, [0.001, 0.02, 0.03, 0.2, 0.001])
    assert place == 2
    assert certificate.promises[0].p_value == 0.03
    assert sequence(monkeypatch, [0.04, 0.001])[1].promises[0].p_value == 0.04


def test_a_failure_is_not_forgotten(monkeypatch):
    place, certificate = sequence(monkeypatch, [0.3, 0.001])
    assert place is None
    assert not certificate.holds
    assert certificate.promises[0].p_value == 0.3


def test_alone_a_model_is_tested_as_it_is(monkeypatch):
    place, certificate = sequence(monkeypatch, [])
    assert place is None
    assert certificate.holds
