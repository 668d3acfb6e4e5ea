"""Probabilities of the label: Platt's sigmoid as scikit-learn has it, also with little to fit."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax
from sklearn.calibration import _SigmoidCalibration
from sklearn.metrics import log_loss

import ratebound._old as rb
from ratebound._old.learners.calibration import Calibration, fit_calibration
from ratebound._old.solution.mixture import member

from ..small_tables import people

rng = np.random.default_rng(0)
SCORES = rng.normal(size=800)
LABELS = rng.random(800) < expit(2 * SCORES - 1)
COUNTS = rng.integers(0, 4, 800)


def fitted(scores, labels, weights=None, **how):
    scores = np.atleast_2d(np.asarray(scores, float))
    return fit_calibration(scores, np.asarray(labels), weights, "here", **how)


@pytest.mark.parametrize("weights", [None, COUNTS.astype(float)], ids=["plain", "weighted"])
def test_it_is_scikit_learns_sigmoid(weights):
    found = fitted(SCORES, LABELS, weights)
    theirs = _SigmoidCalibration().fit(SCORES, LABELS, weights).predict(SCORES)
    np.testing.assert_allclose(found.probability(SCORES[None])[0], theirs, atol=1e-6)


def test_weights_are_repeated_rows_and_shares_are_scaled():
    weighted = fitted(SCORES, LABELS, COUNTS.astype(float))
    repeated = fitted(np.repeat(SCORES, COUNTS), np.repeat(LABELS, COUNTS))
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-9)
    assert weighted.intercept == pytest.approx(repeated.intercept, rel=1e-9)
    shares = fitted(SCORES, LABELS, np.full(800, 1 / 800))
    assert shares.slope == pytest.approx(fitted(SCORES, LABELS).slope, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e6, 1e200])
def test_the_scale_of_scores_does_not_matter(scale):
    expected = fitted(SCORES, LABELS).probability(SCORES[None])
    found = fitted(SCORES * scale, LABELS).probability(SCORES[None] * scale)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("even_at_zero", [False, True])
@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        (SCORES, SCORES > 0),
        (SCORES, np.ones(800, bool)),
        (SCORES, np.zeros(800, bool)),
        (np.full(800, 1e300), LABELS),
        (np.zeros(800), LABELS),
        (-SCORES, LABELS),
        (np.where(LABELS, 1e300, -1e300), LABELS),
        (rng.standard_cauchy(800), LABELS),
        ([0.3], [True]),
    ],
    ids=["separated", "all yes", "all no", "constant", "zero", "reversed", "huge", "wild", "one row"],
)
def test_little_to_fit_gives_sensible_numbers(scores, labels, even_at_zero):
    found = fitted(scores, labels, even_at_zero=even_at_zero)
    assert 0 < found.slope < np.inf
    chances = found.probability(np.asarray(scores, float)[None])[0]
    assert (chances >= 0).all()
    assert (chances <= 1).all()
    # No worse than a half for everyone, and in the order of the scores.
    assert np.mean((chances - labels) ** 2) <= 0.25 + 1e-6
    assert (np.diff(chances[np.argsort(scores)]) >= 0).all()
    if not even_at_zero:
        assert chances.mean() == pytest.approx(np.mean(labels), abs=0.34 if len(labels) == 1 else 0.01)


def test_a_half_at_zero():
    found = fitted(SCORES, LABELS, even_at_zero=True)
    np.testing.assert_array_equal(found.probability(SCORES[None])[0] >= 0.5, SCORES >= 0)


# --- mixtures ------------------------------------------------------------------------------------

TABLE = people(400, cut=0.5)
X, Y, _ = TABLE
PEOPLE = TABLE.population()
PROBLEM = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.1])


@pytest.fixture(scope="module")
def mixture():
    trace = rb.play(rb.compile(PROBLEM, PEOPLE), rb.Linear(0.1), rounds=60, batch_size=None)
    return rb.average(trace)


def test_without_a_calibration_there_is_no_probability_of_a_label(mixture):
    with pytest.raises(ValueError, match=r"decision_proba has .* mixture\.calibrated\(population\)"):
        mixture.predict_proba(X)
    assert mixture.decision_proba(X).shape == (400, 2)


def test_probabilities_of_labels_say_nothing_of_the_promise(mixture):
    calibrated = mixture.calibrated(PEOPLE)
    assert (calibrated.calibration.on, calibrated.calibration.rows) == ("rows given", 400)
    chances = calibrated.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert chances[:, 1].mean() == pytest.approx(Y.mean(), abs=0.01)
    assert calibrated.decision_proba(X)[:, 1].mean() < 0.2
    mean = mixture.weights @ mixture.member_scores(X).T
    theirs = _SigmoidCalibration().fit(mean, Y).predict(mean)
    np.testing.assert_allclose(chances[:, 1], theirs, atol=1e-6)


def test_columns_are_in_the_order_of_the_classes(mixture):
    reverse = replace(mixture, classes=("yes", "no")).calibrated(PEOPLE)
    assert reverse.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(reverse.predict_proba(X)[:, 0], reverse.label_probability(X))


def test_a_member_loses_the_calibration(mixture):
    assert member(mixture.calibrated(PEOPLE), 0).calibration is None


def test_labels_are_needed(mixture):
    with pytest.raises(ValueError, match="a calibration needs labels"):
        mixture.calibrated(rb.Population(X))


@pytest.mark.parametrize(
    "change",
    [{"slope": 0.0}, {"slope": -1.0}, {"slope": "steep"}, {"intercept": None}, {"on": 3}, {"rows": 1.5}],
    ids=str,
)
def test_what_a_file_says_is_checked(change):
    good = Calibration(1.0, (0.5,), "here", 10).to_json()
    assert Calibration.from_json(good) == Calibration(1.0, (0.5,), "here", 10)
    with pytest.raises((ValueError, TypeError)):
        Calibration.from_json(good | change)


# --- more than two classes -----------------------------------------------------------------------

WIDE = np.random.default_rng(3).normal(size=(4, 900))
CHANCES = softmax(2.5 * WIDE + np.array([[0.0], [0.5], [-1.0], [0.2]]), axis=0)
FOUR = (CHANCES.cumsum(axis=0) < np.random.default_rng(4).random(900)).sum(axis=0)


@pytest.mark.parametrize("weights", [None, COUNTS.astype(float)], ids=["plain", "weighted"])
@pytest.mark.parametrize("even_at_zero", [False, True])
def test_two_scores_that_differ_by_one_are_that_one(weights, even_at_zero):
    one = fitted(SCORES, LABELS, weights, even_at_zero=even_at_zero)
    pair = np.stack([np.zeros(800), SCORES])
    two = fitted(pair, LABELS.astype(int), weights, even_at_zero=even_at_zero)
    assert two.slope == pytest.approx(one.slope, rel=1e-7)
    assert two.intercept[1] - two.intercept[0] == pytest.approx(one.intercept[0], abs=1e-7)
    np.testing.assert_allclose(two.probability(pair)[1], one.probability(SCORES[None])[0], atol=1e-8)


@pytest.mark.parametrize("weights", [None, np.arange(900) % 3.0], ids=["plain", "weighted"])
@pytest.mark.parametrize("even_at_zero", [False, True])
def test_no_other_softmax_is_likelier(weights, even_at_zero):
    found = fitted(WIDE, FOUR, weights, even_at_zero=even_at_zero)
    counts = np.ones(900) if weights is None else weights
    size = np.bincount(FOUR, counts)[FOUR]
    targets = np.where(np.arange(4)[:, None] == FOUR, size + 1, 1) / (size + 4)

    def loss(line):
        odds = line[0] * WIDE + np.append(0.0, np.zeros(3) if even_at_zero else line[1:])[:, None]
        return counts @ (logsumexp(odds, axis=0) - (targets * odds).sum(axis=0))

    best = minimize(loss, np.array([1.0] + [0.0] * 3 * (not even_at_zero)), method="BFGS", tol=1e-8)
    np.testing.assert_allclose(found.slope, best.x[0], rtol=1e-4)
    own = np.append(found.slope, () if even_at_zero else found.intercept[1:])
    assert loss(own) <= best.fun + 1e-7
    assert found.intercept[0] == 0.0


def test_it_helps_as_much_as_scikit_learns():
    train, test = np.arange(900) < 600, np.arange(900) >= 600
    squeezed = 0.1 * WIDE  # far from the log odds, as scores made to keep promises may be
    ours = fitted(squeezed[:, train], FOUR[train]).probability(squeezed[:, test])
    each = [_SigmoidCalibration().fit(row[train], FOUR[train] == d) for d, row in enumerate(squeezed)]
    theirs = np.stack([one.predict(row[test]) for one, row in zip(each, squeezed, strict=True)])
    theirs = theirs / theirs.sum(axis=0)  # as CalibratedClassifierCV has it
    losses = [log_loss(FOUR[test], proba.T, labels=range(4)) for proba in (ours, theirs)]
    assert losses[0] <= losses[1] + 0.005


@pytest.mark.parametrize("even_at_zero", [False, True])
@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        (WIDE, WIDE.argmax(axis=0)),
        (WIDE, np.full(900, 2)),
        (np.zeros((4, 900)), FOUR),
        (np.full((4, 900), 1e300), FOUR),
        (-WIDE, FOUR),
        (1e300 * np.eye(4)[:, FOUR], FOUR),
        (WIDE[:, :1], FOUR[:1]),
    ],
    ids=["separated", "one class", "zero", "constant", "reversed", "huge", "one row"],
)
def test_little_to_fit_is_still_probabilities_of_each_class(scores, labels, even_at_zero):
    found = fitted(scores, labels, even_at_zero=even_at_zero)
    assert found.slope > 0
    proba = found.probability(scores)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=0), 1.0, atol=1e-12)
    if even_at_zero:
        chosen = np.take_along_axis(proba, scores.argmax(axis=0)[None], axis=0)[0]
        np.testing.assert_allclose(chosen, proba.max(axis=0), atol=1e-12)


def test_one_after_the_other_is_both():
    first, then = Calibration(2.0, (0.0, 1.0, -1.0), "a", 3), Calibration(0.5, (0.0, 0.2, 0.1), "b", 4)
    both = then.after(first)
    np.testing.assert_allclose(both.odds(WIDE[:3]), then.odds(first.odds(WIDE[:3])))
    assert (both.on, both.rows) == ("b", 4)
