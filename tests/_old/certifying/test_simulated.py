"""False certificates by simulation, where truth is known and promises are just not kept; fixed seeds."""

import numpy as np
import pytest
from scipy.stats import binom

import ratebound._old as rb
from ratebound._old.certifying import _tests
from ratebound._old.certifying._bounds import Aim, betting, hoeffding_bentkus, shuffled
from ratebound._old.certifying._tests import Box, Chernoff

from .conftest import certified, mixture, people

DELTA = 0.1
REDRAWS = 150
MOST = binom.isf(0.01, REDRAWS, DELTA) / REDRAWS  # false ones, were each as likely as may be
FORMS = {}


def form(promise):
    def add(sample):
        FORMS[sample.__name__] = (promise, sample)
        return sample

    return add


@form(rb.recall(g=1) >= 0.9 * rb.recall())
def a_group_in_everyone(random):
    g = random.random(80) < 0.3
    ratio = 0.9 * 0.7 / (1 - 0.9 * 0.3)
    return {"yes": random.random(80) < np.where(g, ratio * 0.7, 0.7), "g": g.astype(int)}


@form(rb.recall(g=1) >= 0.9 * rb.recall())
def a_large_group_in_everyone(random):
    g = random.random(100) < 0.85
    ratio = 0.9 * 0.15 / (1 - 0.9 * 0.85)
    return {"yes": random.random(100) < np.where(g, ratio * 0.75, 0.75), "g": g.astype(int)}


@form(rb.recall() <= 1.2 * rb.recall(g=1) + 0.05)
def everyone_against_a_group(random):
    g = random.random(80) < 0.3
    rest = 0.6  # p with .3 p + .7 * .6 = 1.2 p + .05
    return {"yes": random.random(80) < np.where(g, (0.7 * rest - 0.05) / 0.9, rest), "g": g.astype(int)}


@form(rb.false_negative_rate(g=0) <= 1.25 * rb.false_negative_rate(g=1))
def two_groups(random):
    g = np.arange(60) % 3 == 0
    return {"yes": random.random(60) >= np.where(g, 0.4, 0.5), "g": g.astype(int)}


@form(rb.accuracy() >= rb.accuracy_of(versus="live") + 0.1)
def three_values(random):
    y, kind = random.random(60) < 0.5, random.random(60)
    right, before = kind < 0.6, (kind > 0.1) & (kind < 0.6)
    return {"yes": y == right, "y": y, "live": y == before}


@form(rb.recall() >= 0.8)
def unequal_weights(random):
    weights = random.choice([1.0, 4.0], 60)
    return {"yes": random.random(60) < np.where(weights > 1, 0.8, 0.8), "weights": weights}


@form(rb.recall(g=1) >= 0.8 * rb.recall(g=0))
def two_groups_with_unequal_weights(random):
    g, weights = random.random(120) < 0.4, random.choice([1.0, 4.0], 120)
    rate = np.where(g, 0.64, 0.8) + np.where(weights > 1, 0.05, -0.2)  # by weight the former
    return {"yes": random.random(120) < rate, "g": g.astype(int), "weights": weights}


@form(0.5 * rb.recall(g=0) + 0.5 * rb.recall(g=1) >= rb.recall(g=2) - 0.1)
def three_groups(random):
    g = random.integers(0, 3, 150)
    return {"yes": random.random(150) < np.array([0.6, 0.9, 0.85])[g], "g": g}


@form(rb.recall(a=True) >= rb.recall(b=True) - 0.1)
def overlapping_groups(random):
    a, b = random.random(80) < 0.5, random.random(80) < 0.5
    return {"yes": random.random(80) < np.where(a, 0.6, 0.8), "a": a, "b": b}  # .6 and .7


@pytest.mark.parametrize("name", FORMS)
def test_false_certificates_are_rare(name):
    promise, sample = FORMS[name]
    random = np.random.default_rng([*name.encode()])
    wrong = sum(
        certified(promise, people(**sample(random)), confidence=1 - DELTA).p_value <= DELTA
        for _ in range(REDRAWS)
    )
    assert wrong / REDRAWS <= MOST


def test_false_certificates_in_expectation_are_rare():
    random, wrong = np.random.default_rng(5), 0
    for _ in range(REDRAWS):
        both = [np.where(random.random(60) < rate, 1.0, -1.0) for rate in (0.9, 0.7)]
        rows = people(np.ones(60, dtype=bool))
        found = certified(rb.recall() >= 0.8, rows, mixture(*both), in_expectation=True)
        wrong += found.p_value <= DELTA
    assert wrong / REDRAWS <= MOST


def test_false_certificates_of_two_groups_in_expectation_are_rare():
    random, wrong = np.random.default_rng(6), 0
    for _ in range(REDRAWS):
        both = [np.where(random.random(80) < rate, 1.0, -1.0) for rate in (0.9, 0.7)]
        rows = people(np.ones(80, dtype=bool), g=np.arange(80) % 2)
        promise = rb.recall(g=1) >= rb.recall(g=0)
        found = certified(promise, rows, mixture(*both), in_expectation=True)
        assert found.method == "Chernoff's bound, jointly"
        wrong += found.p_value <= DELTA
    assert wrong / REDRAWS <= MOST


@pytest.mark.parametrize("weighted", [False, True])
def test_evidence_of_several_means_adds_up(weighted, monkeypatch):
    """So more is shown than by a box of bounds."""
    found = []
    for test in (_tests._apart, Box.of):
        monkeypatch.setattr(_tests, "_apart", test)
        shown = 0
        for seed in range(25):
            random = np.random.default_rng(seed)
            if weighted:
                g, weights = random.random(1000) < 0.4, random.choice([1.0, 4.0], 1000)
                yes = random.random(1000) < np.where(g, 0.8, 0.9)
                promise, columns = rb.recall(g=1) >= 0.8 * rb.recall(g=0), {"g": g.astype(int)}
            else:
                yes, weights, columns = random.random(900) < 0.8, None, {"g": random.integers(0, 3, 900)}
                promise = 0.5 * rb.recall(g=0) + 0.5 * rb.recall(g=1) >= rb.recall(g=2) - 0.1
            shown += certified(promise, people(yes, weights=weights, **columns)).holds
        found.append(shown)
    assert found[0] >= found[1] + 3, found


def test_chernoffs_bound_is_above_the_exact_tail():
    """With three coins, at every point of a grid that just keeps the promise."""
    reach, rows = np.array([0.5, 0.5, 1.0]), np.array([4, 5, 6])
    for seen in ((4, 5, 4), (3, 5, 5), (4, 5, 6)):
        share = np.array(seen) / rows
        found = Chernoff(-1.0, reach, rows, share, share).tested(-0.1, Aim(0.05)).p_value
        samples = np.array(list(np.ndindex(5, 6, 7)))
        good = samples / rows @ reach >= share @ reach - 1e-9
        for first, second in np.ndindex(11, 11):
            rates = np.array([first / 10, second / 10, 0.0])
            rates[2] = 1.1 - rates @ reach
            if 0 <= rates[2] <= 1:
                assert binom.pmf(samples, rows, rates).prod(axis=1)[good].sum() <= found + 1e-9


def test_hoeffding_bentkus_bounds_the_tail_of_fractions():
    random = np.random.default_rng(0)
    means = random.beta(2, 1, size=(20_000, 15)).mean(axis=1)  # of 2/3 on average
    for level in (0.01, 0.05, 0.1):
        found = [hoeffding_bentkus(mean, 15, 2 / 3) <= level for mean in means]
        assert np.mean(found) <= level


def test_bets_are_fair_and_grow_where_they_should():
    random = np.random.default_rng(1)
    kept = [betting(random.choice([-1.0, 0.0, 0.5], 100, p=[0.2, 0.4, 0.4]), -1.0) for _ in range(2000)]
    assert np.mean(np.array(kept) <= 0.05) <= 0.05 + 2 * (0.05 * 0.95 / 2000) ** 0.5
    above = [betting(random.choice([-1.0, 0.0, 1.0], 400, p=[0.1, 0.7, 0.2]), -1.0) for _ in range(200)]
    assert np.mean(np.array(above) <= 0.05) > 0.8


def test_the_order_of_a_table_shows_nothing():
    """Sorted rows would let bets follow what comes; the shuffle is the same for all tables."""
    values = -np.sort(np.random.default_rng(2).choice([-1.0, 1.0], 1000))
    assert betting(values, -1.0) < 1e-6  # which is why
    assert betting(shuffled(values, np.ones(len(values), dtype=int)), -1.0) > 0.05


def test_showing_what_holds_is_likely_with_the_rows_needed():
    promise = rb.recall(g=1) >= 0.9 * rb.recall()
    random = np.random.default_rng(4)
    pilot = people(np.ones(1000, dtype=bool), g=np.arange(1000) % 5 == 0)
    problem = rb.Problem(rb.positive_rate(), [promise])
    (needed,) = rb.rows_needed(problem, pilot, margin=0.1, rate=0.6).promises
    shown = 0
    for _ in range(50):
        g = random.random(needed.rows_in_all) < 0.2
        yes = random.random(len(g)) < np.where(g, 0.64, 0.59)  # .6 of everyone: a margin of .1
        shown += certified(promise, people(yes, g=g)).holds
    assert 0.7 <= shown / 50 <= 0.95
