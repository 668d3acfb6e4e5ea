"""The proxies against the step they stand for, and their slopes against finite differences."""

import numpy as np
import pytest

from ratebound.game.proxies import PROXIES

from ..extras import torch

EDGES = [0.0, -0.0, 1e-300, -1e-300, 1e-17, -1e-17, 1e-8, -1e-8, 1.0, -1.0, 30.0, -30.0, 1e4, -1e4]
SCORES = np.concatenate([EDGES, np.random.default_rng(0).normal(scale=5, size=500)])
SMOOTH = SCORES[np.abs(np.abs(SCORES) - 1) > 1e-3]  # the hinge has its corners at -1 and 1


@pytest.mark.parametrize(("name", "bounds"), [("hinge", True), ("logistic", True), ("sigmoid", False)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_which_proxies_bound_the_step_from_above(name, bounds, dtype):
    proxy, scores = PROXIES[name], SCORES.astype(dtype)
    above = proxy.value(scores) >= (scores >= 0)
    assert proxy.bounds is bounds
    assert above.all() == bounds
    assert (proxy.value(scores) >= 0).all()
    # A yes and a no are stood for alike: φ(s) for [s >= 0] and φ(-s) for [s <= 0].
    assert (proxy.value(-scores) >= (scores < 0)).all() == bounds


def test_the_sigmoid_is_at_least_half_the_step():
    assert (PROXIES["sigmoid"].value(SCORES) >= 0.5 * (SCORES >= 0)).all()


@pytest.mark.parametrize("name", PROXIES)
def test_slopes_equal_finite_differences(name):
    proxy, h = PROXIES[name], 1e-6
    rise, fall = proxy.slopes(SMOOTH)
    by_difference = (proxy.value(SMOOTH + h) - proxy.value(SMOOTH - h)) / (2 * h)
    np.testing.assert_allclose(rise, by_difference, atol=1e-5)
    of_no = (proxy.value(-(SMOOTH + h)) - proxy.value(-(SMOOTH - h))) / (2 * h)
    np.testing.assert_allclose(-1.0 * fall, of_no, atol=1e-5)


def test_the_logistic_curvature_is_its_second_derivative_for_yes_and_no_alike():
    proxy, h = PROXIES["logistic"], 1e-5
    near = SCORES[np.abs(SCORES) < 20]
    by_difference = (proxy.slopes(near + h)[0] - proxy.slopes(near - h)[0]) / (2 * h)
    np.testing.assert_allclose(proxy.curvature(near), by_difference, atol=1e-9)
    np.testing.assert_allclose(proxy.curvature(near), proxy.curvature(-near), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["hinge", "sigmoid"])
def test_where_a_proxy_has_no_curvature_steps_are_at_most_one(name):
    proxy, near = PROXIES[name], SCORES[np.abs(SCORES) <= 30]
    for slope in proxy.slopes(near):
        assert (slope <= proxy.curvature(near)).all()
    assert (proxy.curvature(near) > 0).all()


@pytest.mark.parametrize("name", PROXIES)
def test_torch_equals_numpy_and_its_own_autograd(name):
    proxy, scores = PROXIES[name], torch.tensor(SMOOTH, requires_grad=True)
    values = proxy.value(scores)
    np.testing.assert_allclose(values.detach().numpy(), proxy.value(SMOOTH), rtol=1e-12, atol=1e-15)
    values.sum().backward()
    for found, expected in zip(proxy.slopes(scores.detach()), proxy.slopes(SMOOTH), strict=True):
        np.testing.assert_allclose(found.double().numpy(), expected, rtol=1e-12, atol=1e-15)
    smooth = scores.detach() != 0  # the softplus is written with |s|, whose derivative at 0 is a choice
    np.testing.assert_allclose(
        proxy.slopes(scores.detach())[0][smooth].double(), scores.grad[smooth], atol=1e-12
    )


@pytest.mark.parametrize("name", PROXIES)
def test_far_scores_neither_overflow_nor_lose_their_slope(name):
    far = np.array([-1e30, 1e30], dtype=np.float32)
    proxy = PROXIES[name]
    assert np.isfinite(proxy.value(far)).all()
    rise, fall = (np.asarray(slope, dtype=float) for slope in proxy.slopes(far))
    largest = {"hinge": 1.0, "logistic": 1 / np.log(2), "sigmoid": 0.0}[name]
    np.testing.assert_allclose(rise, [0, largest], atol=1e-6)
    np.testing.assert_allclose(fall, [largest, 0], atol=1e-6)
