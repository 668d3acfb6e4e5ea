"""The proxies against the decision they replace, finite differences and PyTorch's autograd."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratebound._old.game.proxies import PROXIES, targets_like

from ..extras import torch

EDGES = [0.0, -0.0, 1e-300, -1e-300, 1e-17, -1e-17, 1e-8, -1e-8, 1.0, -1.0, 30.0, -30.0, 1e4, -1e4]
SCORES = np.concatenate([EDGES, np.random.default_rng(0).normal(scale=5, size=500)])
SMOOTH = SCORES[np.abs(np.abs(SCORES) - 1) > 1e-3]  # the hinge has its corners at -1 and 1


@pytest.mark.parametrize(("name", "bounds"), [("hinge", True), ("logistic", True), ("sigmoid", False)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_which_proxies_bound_the_step_from_above(name, bounds, dtype):
    proxy, scores = PROXIES[name].one, SCORES.astype(dtype)
    above = proxy.value(scores) >= (scores >= 0)
    assert PROXIES[name].bounds is bounds
    assert above.all() == bounds
    assert (proxy.value(scores) >= 0).all()
    # A yes and a no are replaced alike: φ(s) for [s >= 0] and φ(-s) for [s <= 0].
    assert (proxy.value(-scores) >= (scores < 0)).all() == bounds


def test_the_sigmoid_is_at_least_half_the_step():
    assert (PROXIES["sigmoid"].one.value(SCORES) >= 0.5 * (SCORES >= 0)).all()


@pytest.mark.parametrize("name", PROXIES)
def test_slopes_equal_finite_differences(name):
    proxy, h = PROXIES[name].one, 1e-6
    rise, fall = proxy.slopes(SMOOTH)
    by_difference = (proxy.value(SMOOTH + h) - proxy.value(SMOOTH - h)) / (2 * h)
    np.testing.assert_allclose(rise, by_difference, atol=1e-5)
    of_no = (proxy.value(-(SMOOTH + h)) - proxy.value(-(SMOOTH - h))) / (2 * h)
    np.testing.assert_allclose(-1.0 * fall, of_no, atol=1e-5)


def test_the_logistic_curvature_is_its_second_derivative_for_yes_and_no_alike():
    proxy, h = PROXIES["logistic"].one, 1e-5
    near = SCORES[np.abs(SCORES) < 20]
    by_difference = (proxy.slopes(near + h)[0] - proxy.slopes(near - h)[0]) / (2 * h)
    np.testing.assert_allclose(proxy.curvature(near), by_difference, atol=1e-9)
    np.testing.assert_allclose(proxy.curvature(near), proxy.curvature(-near), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["hinge", "sigmoid"])
def test_where_a_proxy_has_no_curvature_steps_are_at_most_one(name):
    proxy, near = PROXIES[name].one, SCORES[np.abs(SCORES) <= 30]
    for slope in proxy.slopes(near):
        assert (slope <= proxy.curvature(near)).all()
    assert (proxy.curvature(near) > 0).all()


@pytest.mark.parametrize("name", PROXIES)
def test_torch_equals_numpy_and_its_own_autograd(name):
    proxy, scores = PROXIES[name].one, torch.tensor(SMOOTH, requires_grad=True)
    values = proxy.value(scores)
    np.testing.assert_allclose(values.detach().numpy(), proxy.value(SMOOTH), rtol=1e-12, atol=1e-15)
    values.sum().backward()
    for computed, expected in zip(proxy.slopes(scores.detach()), proxy.slopes(SMOOTH), strict=True):
        np.testing.assert_allclose(computed.double().numpy(), expected, rtol=1e-12, atol=1e-15)
    smooth = scores.detach() != 0  # the softplus is written with |s|, whose derivative at 0 is a choice
    np.testing.assert_allclose(
        proxy.slopes(scores.detach())[0][smooth].double(), scores.grad[smooth], atol=1e-12
    )


@pytest.mark.parametrize("name", PROXIES)
def test_far_scores_neither_overflow_nor_lose_their_slope(name):
    far = np.array([-1e30, 1e30], dtype=np.float32)
    proxy = PROXIES[name].one
    assert np.isfinite(proxy.value(far)).all()
    rise, fall = (np.asarray(slope, dtype=float) for slope in proxy.slopes(far))
    largest = {"hinge": 1.0, "logistic": 1 / np.log(2), "sigmoid": 0.0}[name]
    np.testing.assert_allclose(rise, [0, largest], atol=1e-6)
    np.testing.assert_allclose(fall, [largest, 0], atol=1e-6)


# --- a score for each class -----------------------------------------------------------------------


def all_targets(classes):
    """Every set of classes but the empty one and the whole."""
    every = np.array(list(itertools.product([False, True], repeat=classes)))
    return every[(every.sum(axis=1) > 0) & (every.sum(axis=1) < classes)]


def some(classes, seed=0, scale=2.0, rows=40):
    """Scores (3, D, rows), every target and costs (3, T, rows)."""
    rng = np.random.default_rng(seed)
    members = all_targets(classes)
    scores = rng.normal(scale=scale, size=(3, classes, rows))
    return (
        scores,
        members,
        rng.random((3, len(members), rows)) * (rng.random((3, len(members), 1)) < 0.8),
    )


def outside(scores, members):
    """Whether the decision, the later class if scores are equal, is outside each set: (K, T, b)."""
    classes = scores.shape[1]
    decided = classes - 1 - scores[:, ::-1].argmax(axis=1)
    return ~members[:, decided].swapaxes(0, 1)


EQUALS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-8, 30.0, -80.0, 1e4, -1e4])


@given(st.data(), st.integers(2, 6), st.sampled_from([np.float32, np.float64]))
def test_logistic_and_hinge_bound_the_cost_from_above(data, classes, dtype):
    numbers = EQUALS | st.floats(-200, 200, width=32)
    scores = np.array(data.draw(st.lists(numbers, min_size=classes, max_size=classes)), dtype)
    members = all_targets(classes)
    paid = outside(scores[None, :, None], members)
    for proxy in PROXIES.values():
        values = proxy.each.value(scores[None, :, None], targets_like(members, scores))
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        if proxy.bounds:
            assert (values >= paid * (1 - 4 * np.finfo(dtype).eps)).all(), proxy.name
        else:
            assert (values >= paid / (members.sum(axis=1)[:, None] + 1) * (1 - 1e-5)).all()
            assert (values <= 1 + 1e-6).all()
            assert proxy.largest == 1


def test_the_sigmoid_is_no_bound():
    scores = np.zeros((1, 3, 1))
    targets = targets_like(np.array([[True, True, False]]), scores)
    assert not PROXIES["sigmoid"].bounds
    assert PROXIES["sigmoid"].each.value(scores, targets)[0, 0, 0] == pytest.approx(1 / 3)
    assert PROXIES["logistic"].each.value(scores, targets)[0, 0, 0] == pytest.approx(1)
    assert PROXIES["hinge"].each.value(scores, targets)[0, 0, 0] == 1


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("name", PROXIES)
def test_slopes_are_those_of_autograd_and_of_finite_differences(name, classes):
    scores, members, costs = some(classes)
    proxy, targets = PROXIES[name].each, targets_like(members, scores)
    slope = proxy.slope(scores, targets, costs)

    leaf = torch.tensor(scores, requires_grad=True)
    as_tensors = targets_like(members, leaf)
    (proxy.value(leaf, as_tensors) * torch.tensor(costs)).sum().backward()
    np.testing.assert_allclose(slope, leaf.grad.numpy(), rtol=1e-9, atol=1e-12)
    same = proxy.slope(leaf.detach(), as_tensors, torch.tensor(costs))
    np.testing.assert_allclose(slope, same.numpy(), rtol=1e-12, atol=1e-14)

    h = 1e-6
    for d in range(classes):
        step = h * (np.arange(classes) == d)[:, None]
        higher, lower = (proxy.value(scores + way, targets) for way in (step, -step))
        by_difference = (costs * (higher - lower)).sum(axis=1) / (2 * h)
        np.testing.assert_allclose(slope[:, d], by_difference, atol=1e-6)
    np.testing.assert_allclose(slope.sum(axis=1), 0, atol=1e-12)  # only differences of scores matter


@pytest.mark.parametrize("name", PROXIES)
def test_two_classes_with_the_scores_0_and_s_are_the_proxies_of_one_score(name):
    s = np.concatenate(
        [[0.0, 1e-8, -30.0, 30.0, -1e4, 1e4], np.random.default_rng(0).normal(size=50) * 5]
    )
    scores = np.stack([0 * s, s])[None]
    targets = targets_like(np.array([[True, False], [False, True]]), scores)
    one, several = PROXIES[name].one, PROXIES[name].each
    expected = np.stack([one.value(s), one.value(-s)])
    np.testing.assert_allclose(several.value(scores, targets)[0], expected, rtol=1e-12, atol=1e-15)
    costs = np.random.default_rng(1).random((1, 2, len(s)))
    rise, fall = one.slopes(s)
    slope = several.slope(scores, targets, costs)[0]
    np.testing.assert_allclose(slope[1], costs[0, 0] * rise - costs[0, 1] * fall, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(slope[0], -slope[1], rtol=1e-9, atol=1e-15)


def test_the_logistic_of_one_class_is_the_cross_entropy_in_bits():
    scores, _, _ = some(4)
    targets = targets_like(np.eye(4, dtype=bool), scores)
    rows = torch.tensor(scores).transpose(1, 2).reshape(-1, 4)
    for d in range(4):
        label = torch.full((len(rows),), d)
        loss = torch.nn.functional.cross_entropy(rows, label, reduction="none") / np.log(2)
        values = PROXIES["logistic"].each.value(scores, targets)[:, d]
        np.testing.assert_allclose(values.reshape(-1), loss.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_with_targets_of_one_class_the_bounds_are_convex(name):
    rng, members = np.random.default_rng(2), np.eye(4, dtype=bool)
    one, other = rng.normal(scale=3, size=(2, 200, 4, 1))
    value, targets = PROXIES[name].each.value, targets_like(members, one)
    between = value(0.3 * one + 0.7 * other, targets)
    assert (between <= 0.3 * value(one, targets) + 0.7 * value(other, targets) + 1e-12).all()


def test_the_curvature_of_the_logistic_is_nowhere_less_than_how_it_bends():
    """For targets of any size: f(s + step) <= f(s) + slope · step + step² · curvature / 2."""
    scores, members, costs = some(4)
    proxy, targets = PROXIES["logistic"].each, targets_like(members, scores)
    slope, curvature = proxy.slope(scores, targets, costs), proxy.curvature(scores, targets, costs)
    assert (curvature >= 0).all()
    step = 1e-3 * np.random.default_rng(3).normal(size=scores.shape)
    before, after = ((costs * proxy.value(s, targets)).sum(axis=1) for s in (scores, scores + step))
    bound = before + (slope * step + 0.5 * curvature * step**2).sum(axis=1)
    assert (after <= bound + 1e-8).all()


@pytest.mark.parametrize("name", ["hinge", "sigmoid"])
def test_where_a_proxy_of_each_class_has_no_curvature_steps_are_at_most_one(name):
    scores, members, costs = some(4)
    proxy, targets = PROXIES[name].each, targets_like(members, scores)
    slope, curvature = proxy.slope(scores, targets, costs), proxy.curvature(scores, targets, costs)
    assert (np.abs(slope) <= curvature * (1 + 1e-12)).all()
    assert (curvature > 0).all()


@pytest.mark.parametrize("name", PROXIES)
def test_scores_far_apart_neither_overflow_nor_lose_their_slope(name):
    scores = np.array([[[1e4], [0.0], [-1e4], [-2e4]]], dtype=np.float32)
    members = all_targets(4)
    proxy, targets = PROXIES[name].each, targets_like(members, scores)
    with np.errstate(all="raise", under="ignore"):
        values = proxy.value(scores, targets)
        assert values.dtype == np.float32
        assert np.isfinite(values).all()
        for t in range(len(members)):
            costs = np.zeros((1, len(members), 1), dtype=np.float32)
            costs[0, t] = 1
            slope = proxy.slope(scores, targets, costs)[0, :, 0]
            assert np.isfinite(slope).all()
            if name == "sigmoid" or members[t, 0]:  # tolerated, or nothing to gain
                np.testing.assert_allclose(slope, 0, atol=1e-6)
            else:  # the winner falls, and the target rises as much
                assert slope[0] > 0.9
                np.testing.assert_allclose(slope[members[t]].sum(), -slope[0], rtol=1e-5)


def test_classes_with_equal_scores_share_the_hinges_slope():
    scores = np.zeros((1, 4, 1))
    targets = targets_like(np.array([[False, True, False, False]]), scores)
    slope = PROXIES["hinge"].each.slope(scores, targets, np.ones((1, 1, 1)))
    np.testing.assert_allclose(slope[0, :, 0], [1 / 3, -1, 1 / 3, 1 / 3])


@pytest.mark.parametrize("name", PROXIES)
def test_one_score_is_read_with_the_axis_of_decisions(name):
    proxy, costs = PROXIES[name], np.random.default_rng(1).random((1, 2, len(SMOOTH)))
    targets = targets_like(np.array([[True, False], [False, True]]), SMOOTH)
    one, s = proxy.one, SMOOTH[None, None]
    np.testing.assert_array_equal(
        proxy.value(s, targets)[0], np.stack([one.value(SMOOTH), one.value(-SMOOTH)])
    )
    rise, fall = one.slopes(SMOOTH)
    np.testing.assert_array_equal(
        proxy.slope(s, targets, costs)[0, 0], costs[0, 0] * rise - costs[0, 1] * fall
    )
    np.testing.assert_array_equal(
        proxy.curvature(s, targets, costs)[0, 0], costs[0].sum(axis=0) * one.curvature(SMOOTH)
    )
