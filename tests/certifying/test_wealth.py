"""The money of gamblers who are wrong: by enumeration of all streams, and by simulation."""

import importlib.util
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import ratebound as rb
from ratebound.certifying._wealth import Range, opening, played

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "monitor.py"


@pytest.mark.parametrize("mean", [0.03, 0.4, 0.9])
def test_money_on_one_rate_at_its_bound_is_a_fair_game(mean):
    """Over all streams of ten rows, what is owned is worth what was paid, on either side."""
    rows = np.array(list(product((0.0, 1.0), repeat=10)))
    chance = np.where(rows == 1, mean, 1 - mean).prod(axis=1)
    zeros, range_ = np.zeros(10), Range((0.0, 0.0), (mean - 1, mean), two_sets=False)
    money = np.stack([
        np.exp(played(opening(range_), (zeros, zeros, mean - row), 0.05)[1]) for row in rows
    ])  # fmt: skip
    np.testing.assert_allclose(np.tensordot(chance, money, 1), 1.0, rtol=1e-9)


@pytest.mark.parametrize(("share", "rest"), [(0.2, 0.6), (0.5, 0.9), (0.9, 0.3)])
@pytest.mark.parametrize("kind", ["within", "apart"])
def test_money_on_two_sets_at_the_bound_is_never_worth_more_than_was_paid(share, rest, kind):
    factor = 0.8
    rate = factor * rest if kind == "apart" else factor * (1 - share) * rest / (1 - factor * share)
    chances = {}
    for group, yes in product((0.0, 1.0), repeat=2):
        says = rate if group else rest
        chances[group, yes] = (share if group else 1 - share) * (says if yes else 1 - says)
    expected = np.zeros((4, 2))
    for rows in product(chances, repeat=4):
        inside, yes = np.array(rows).T
        own, other = -yes * inside, -factor * yes
        if kind == "apart":
            other = np.where(inside == 1, own, other)
        range_ = Range((-1.0, 0.0), (-1.0, 0.0) if kind == "apart" else (-factor, 0.0), two_sets=True)
        money = np.exp(played(opening(range_), (inside, own, other), 0.05)[1])
        expected += np.prod([chances[row] for row in rows]) * money
    assert (expected <= 0.9 + 1e-9).all()


def test_stakes_do_not_see_the_row_they_are_placed_on():
    """What a row changes is bounded by what it can lose: no row takes all the money."""
    range_ = Range((0.0, 0.0), (-0.97, 0.03), two_sets=False)
    worst = np.full(200, 0.03)
    _, money = played(opening(range_), (np.zeros(200), np.zeros(200), worst), 0.05)
    assert np.isfinite(money).all()
    assert (np.diff(money[:, 0]) >= np.log(0.2)).all()


FALSE = {
    "one set": ("recall() >= 0.6", {}),
    "within": ("recall(g == 1) >= 0.8 * recall()", {"g": 0.8 * 0.6 * 0.6 / (1 - 0.8 * 0.4)}),
    "apart": ("recall(g == 1) >= recall(g == 0) - 0.1", {"g": 0.5}),
    "blocks": ("recall(g == 1) >= recall(h == 1) - 0.1", {"g": 0.5, "h": 0.6}),
}


@pytest.mark.parametrize("kind", FALSE)
def test_false_alarms_and_false_comfort_at_the_bound(kind):
    """At confidence 0.8, at most a fifth of the streams ever call a promise broken, or kept."""
    words, rates = FALSE[kind]
    random, streams, rows = np.random.default_rng(5), 100, 1000
    broken = kept = 0
    for _ in range(streams):
        g = random.random(rows) < 0.4
        h = ~g if kind == "blocks" else g  # apart, though the words do not say so
        chance = np.where(g, rates.get("g", 0.6), 0.6)
        yes = random.random(rows) < chance
        monitor = rb.Monitor(rb.Problem("error_rate()", [words]), confidence=0.8)
        monitor.update(yes, np.ones(rows), {"g": g.astype(int), "h": h.astype(int)})
        broken += bool(monitor.alarms)
        kept += monitor.watches[0].kept is not None
    most = streams * (0.2 + 2 * np.sqrt(0.2 * 0.8 / streams))
    assert max(broken, kept) <= most


def test_delays_are_close_to_those_of_oracles():
    """A small version of the benchmark; the pairs' oracle cannot use most of the rows."""
    spec = importlib.util.spec_from_file_location("monitor_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    ours, best, pairs = benchmark.delays(streams=40, share=0.15, effect=0.2, confidence=0.95)
    assert ours <= 1.2 * pairs
    assert ours <= 1.6 * best
