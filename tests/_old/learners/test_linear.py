"""Linear models against steps worked out by hand, torch.optim's Adam, and logistic regression."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.learners.linear import project_onto_norm_ball

rng = np.random.default_rng(3)
X = rng.normal(size=(50, 4))
WIDE = np.column_stack([X, np.ones(50)])


def fit_of(learner, settings=None):
    return learner.start(rb.Population(X), settings or learner.settings, 0)


def gradients(steps, settings=1, rows=50):
    return np.random.default_rng(8).normal(size=(steps, settings, 1, rows))


def test_scores_are_weights_times_rows():
    fit = fit_of(rb.Linear((0.1, 0.2), dtype="float64"))
    fit.weights[:] = rng.normal(size=(2, 5))
    expected = (fit.weights[:, :4] @ X.T + fit.weights[:, 4:])[:, None]
    rows = np.array([7, 3, 3, 49])
    np.testing.assert_allclose(fit.scores(None), expected)
    np.testing.assert_allclose(fit.scores(rows), expected[..., rows])
    np.testing.assert_allclose(fit.all_scores(), expected)
    np.testing.assert_allclose(fit.scorer.scores(fit.parameters(), X), expected)
    np.testing.assert_array_equal(fit.parameters(), fit.weights)


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("batches", [None, 10])
def test_sgd_steps_equal_those_by_hand(l2, batches):
    fit = fit_of(rb.Linear((0.1, 0.02), "sgd", l2=l2, dtype="float64"))
    w = np.zeros((2, 5))
    for step, gradient in enumerate(gradients(6, 2, 50 if batches is None else 10)):
        rows = np.arange(50) if batches is None else np.arange(step, step + 10)
        fit.scores(None if batches is None else rows)
        fit.descend(gradient)
        penalty = l2 * w * [1, 1, 1, 1, 0]  # the intercept is free
        w = w - np.array([[0.1], [0.02]]) * (gradient[:, 0] @ WIDE[rows] + penalty)
    np.testing.assert_allclose(fit.parameters(), w, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_adam_steps_equal_those_of_torch(dtype):
    torch = pytest.importorskip("torch")
    rates = (0.1, 0.003)
    fit = fit_of(rb.Linear(rates, dtype=dtype))
    theirs = [torch.zeros(5, dtype=torch.double, requires_grad=True) for _ in rates]
    optimizers = [torch.optim.Adam([w], lr=rate) for w, rate in zip(theirs, rates, strict=True)]
    for gradient in gradients(25, 2):
        fit.scores(None)
        fit.descend(gradient.astype(dtype))
        for w, optimizer, own in zip(theirs, optimizers, gradient, strict=True):
            w.grad = torch.tensor(own[0] @ WIDE)
            optimizer.step()
    expected = torch.stack(theirs).detach().numpy()
    np.testing.assert_allclose(
        fit.parameters(), expected, rtol=1e-9 if dtype == "float64" else 1e-4, atol=1e-6
    )


def test_the_radius_keeps_weights_and_intercept_in_a_ball():
    fit = fit_of(rb.Linear((0.001, 5.0), "sgd", radius=1.5, dtype="float64"))
    free = fit_of(rb.Linear((0.001, 5.0), "sgd", dtype="float64"))
    for one in (fit, free):
        one.scores(None)
        one.descend(gradients(1, 2)[0])
    inside, outside = free.parameters()
    assert np.linalg.norm(inside) < 1.5 < np.linalg.norm(outside)
    np.testing.assert_allclose(fit.parameters()[0], inside)
    np.testing.assert_allclose(fit.parameters()[1], outside * 1.5 / np.linalg.norm(outside))


def test_the_projection_is_the_nearest_point_of_the_ball():
    points = np.random.default_rng(0).normal(size=(30, 6)) * np.linspace(0, 3, 30)[:, None]
    projected = points.copy()
    project_onto_norm_ball(projected, 2.0)
    norms = np.linalg.norm(points, axis=1)
    np.testing.assert_allclose(np.linalg.norm(projected, axis=1), np.minimum(norms, 2), atol=1e-12)
    np.testing.assert_allclose(projected * np.maximum(norms, 2)[:, None] / 2, points, atol=1e-12)


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_unconstrained_training_is_logistic_regression(l2):
    """The loss is log2(1 + e^-margin) on average, so its minimum is scikit-learn's."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    y = X @ [1, -1, 0.5, 0] + rng.normal(size=50) > 0.3
    compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(X, y))
    trace = rb.play(
        compiled, rb.Linear(1.0, "sgd", l2=l2, dtype="float64"), rounds=2000, batch_size=None,
        keep=rb.Keep(2000),
    )  # fmt: skip
    C = 1 / (50 * l2 * np.log(2)) if l2 else np.inf
    reference = linear_model.LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    expected = [*reference.coef_[0], reference.intercept_[0]]
    np.testing.assert_allclose(trace.parameters[0], expected, rtol=1e-3, atol=1e-3)


def test_what_is_kept_does_not_change_afterwards():
    fit = fit_of(rb.Linear(0.1, "sgd"))
    before = fit.parameters()
    fit.scores(None)
    fit.descend(gradients(1)[0])
    assert not before.any()
    assert fit.parameters().any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learning_rate": 0}, "learning rate"),
        ({"learning_rate": []}, "learning rate"),
        ({"learning_rate": [0.1, -1]}, "learning rate"),
        ({"learning_rate": "fast"}, "learning rate"),
        ({"optimizer": "lbfgs"}, "one of sgd, adam"),
        ({"l2": -0.1}, "l2"),
        ({"radius": 0.0}, "radius"),
    ],
)
def test_bad_arguments_raise(options, words):
    with pytest.raises(ValueError, match=words):
        rb.Linear(**options)


@pytest.mark.parametrize("rates", [[0.1, 0.2, 0.3], (0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3])])
def test_several_rates_are_several_settings(rates):
    assert rb.Linear(rates).settings == 3


def test_rows_of_the_wrong_width_raise():
    scorer = fit_of(rb.Linear()).scorer
    with pytest.raises(ValueError, match="expected rows of 4 features"):
        scorer.scores(np.zeros((1, 5)), np.zeros((10, 3)))
    with pytest.raises(ValueError, match="needs rows"):
        rb.Linear().start(rb.Population(np.zeros((10, 2, 2))), 1, 0)
