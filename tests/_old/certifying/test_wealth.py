"""The money of gamblers who are wrong: by enumeration of all streams, and by simulation."""

import importlib.util
from itertools import combinations_with_replacement, product
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import ratebound._old as rb
from ratebound._old.certifying._batches import read_batch
from ratebound._old.certifying._draws import draws_of, numbers
from ratebound._old.certifying._wealth import WINDOW, DrawRange, evidence, opening, played
from ratebound._old.problem.labels import Labels

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "monitor.py"


@pytest.mark.parametrize("mean", [0.03, 0.4, 0.9])
def test_money_on_one_rate_at_its_bound_is_a_fair_game(mean):
    """Over all streams of ten rows, what is owned is worth what was paid, on either side."""
    rows = np.array(list(product((0.0, 1.0), repeat=10)))
    chance = np.where(rows == 1, mean, 1 - mean).prod(axis=1)
    start = opening(DrawRange(-mean, 1 - mean))
    money = np.stack([np.exp(played(start, (row - mean)[:, None])[1]) for row in rows])
    np.testing.assert_allclose(np.tensordot(chance, money, 1), 1.0, rtol=1e-9)


def expected_money(promise, chances):
    """What both own after one window, over all windows; `chances` are of rows (g, label, yes)."""
    kinds = list(chances)
    rows = np.array(list(combinations_with_replacement(range(len(kinds)), WINDOW)))
    orders = [factorial(WINDOW) / np.prod([factorial(n) for n in np.bincount(row)]) for row in rows]
    g, labels, yes = np.array(kinds)[rows.ravel()].T
    chance = orders * np.array([chances[kind] for kind in kinds])[rows].prod(axis=1)
    names = np.repeat(np.arange(len(rows)), WINDOW)
    draws = draws_of(rb.parse(promise))
    batch = read_batch(yes, labels, {"g": g, "i": names}, Labels(), (), ["i"])
    lines = batch.lines(rb.parse(promise).rates, (False, True))
    at, numbers_, _ = numbers(draws, lines, batch.strata, {})
    full = names[at]
    money = np.exp([evidence(played(opening(draws.range), each[None])[0]) for each in numbers_])
    chances_of_none = 1.0 - chance[full].sum()  # windows that are not full: the money is as it was
    return chance[full] @ money + chances_of_none


@pytest.mark.parametrize(("share", "rest"), [(0.2, 0.6), (0.5, 0.9), (0.9, 0.3)])
@pytest.mark.parametrize(
    "promise",
    [
        "recall(g == 1) >= 0.8 * recall()",
        "recall(g == 1) >= 0.8 * recall(g == 0)",
        "recall(g == 1) <= recall(g in (0, 1)) - 0.02",
        "precision(g == 1) >= 0.8 * precision(g == 0)",
        "precision(g == 1) >= 0.8 * precision()",
        "f_score(g == 1) <= 1.05 * f_score(g == 0)",
    ],
)
def test_money_on_two_sets_at_the_bound_is_a_fair_game(share, rest, promise):
    """Whatever the share of a group is. The group's rate at the bound is found by bisection."""

    def chances(rate):
        found = {}
        for g, counts in product((0, 1), repeat=2):
            own = rate if g else rest
            chance = (share if g else 1 - share) * (own if counts else 1 - own)
            row = (g, counts, 1) if promise.startswith("p") else (g, 1, counts)
            found[row] = found.get(row, 0.0) + chance
        return found

    def room(rate):
        group, other = rate, rest
        if promise.startswith("f"):  # all labels are yes: 2 TP / (2 TP + FN)
            group, other = (2 * each / (1 + each) for each in (rate, rest))
        everyone = share * group + (1 - share) * other
        against = other if "== 0" in promise else everyone
        return group - against + 0.02 if "- 0.02" in promise else group - FACTORS[promise[:3]] * against

    rate = brentq(room, 0.0, 1.0)
    np.testing.assert_allclose(expected_money(promise, chances(rate)), 1.0, rtol=1e-9)
    broken, kept = expected_money(promise, chances(0.95 * rate if ">=" in promise else 1.04 * rate))
    assert broken > 1 > kept


FACTORS = {"rec": 0.8, "pre": 0.8, "f_s": 1.05}


def test_stakes_do_not_see_the_row_they_are_placed_on():
    """What a row changes is bounded by what it can lose: no row takes all the money."""
    _, money = played(opening(DrawRange(-0.03, 0.97)), np.full((200, 1), -0.03))
    assert np.isfinite(money).all()
    assert (np.diff(money[:, 0]) >= np.log(0.2)).all()


def test_a_number_out_of_range_is_refused():
    with pytest.raises(ValueError, match="by its words only what is from -1 to 1 is possible"):
        played(opening(DrawRange(-1.0, 1.0)), np.full((1, 1), 1.5))


FALSE = {
    "one set": ("recall() >= 0.6", {}),
    "within": ("recall(g == 1) >= 0.8 * recall()", {"g": 0.8 * 0.6 * 0.6 / (1 - 0.8 * 0.4)}),
    "apart": ("recall(g == 1) >= recall(g == 0) - 0.1", {"g": 0.5}),
    "open": ("recall(g == 1) >= recall(h == 1) - 0.1", {"g": 0.5}),  # whether rows are in both
    "blocks": ("recall(g == 1) + recall(h == 1) - recall(k == 1) >= 0.6", {"g": 0.5}),
    "precisions": ("precision(g == 1) >= 0.8 * precision(g == 0)", {"g": 0.48}),
    "ratios": ("precision(g == 1) >= 0.5 * precision()", {"g": 0.5 * 0.6 * 0.6 / (1 - 0.5 * 0.4)}),
}


def verdicts(words, rows_of, streams, **given):
    """How often a promise is called broken, and kept, at confidence 0.8."""
    broken = kept = 0
    for seed in range(streams):
        monitor = rb.Monitor(rb.Problem("error_rate()", [words]), confidence=0.8, **given)
        monitor.update(*rows_of(np.random.default_rng(seed)))
        broken += bool(monitor.alarms)
        kept += monitor.watches[0].kept is not None
    return broken, kept


def at_most(share, streams):
    return streams * (share + 2 * np.sqrt(share * (1 - share) / streams))


@pytest.mark.parametrize("kind", FALSE)
def test_false_alarms_and_false_comfort_at_the_bound(kind):
    """At confidence 0.8, at most a fifth of the streams ever call a promise broken, or kept."""
    words, rates = FALSE[kind]

    def rows(random):
        g = random.random(1000) < 0.4
        h = ~g if kind in ("open", "blocks") else g  # apart, though the words do not say so
        right = random.random(1000) < np.where(g, rates.get("g", 0.6), 0.6)
        columns = {"g": g.astype(int), "h": h.astype(int), "k": g.astype(int)}
        all_yes = np.ones(1000)
        return (all_yes, right, columns) if "precision" in words else (right, all_yes, columns)

    assert max(verdicts(words, rows, 100)) <= at_most(0.2, 100)


SITES = [
    'recall(g == "a") >= recall()',
    'recall(g == "a") <= recall(g == "b")',
    'recall(g == "a") + recall(g == "c") >= 2 * recall(g == "b")',
    'precision(g == "a") >= precision()',
]


@pytest.mark.parametrize("words", SITES)
@pytest.mark.parametrize("shares", [(0.4, 0.6), (0.6, 0.4)])
def test_sites_that_take_turns_raise_no_alarms_if_they_are_strata(words, shares):
    """At each site, both groups have the same rate; the sites differ in it and in the groups' shares."""

    def rows(random):
        site = np.arange(1200) % 2
        g = np.where(random.random(1200) < np.take(shares, site), "a", "b")
        g = np.where((g == "a") & ("+" in words) & (random.random(1200) < 0.5), "c", g)
        right, all_yes = random.random(1200) < np.take((0.9, 0.6), site), np.ones(1200)
        columns = {"g": g, "site": site}
        return (all_yes, right, columns) if "precision" in words else (right, all_yes, columns)

    assert max(verdicts(words, rows, 60, strata="site")) <= at_most(0.2, 60)
    pooled = verdicts(words, rows, 20)  # what does not hold, and is not promised
    assert max(pooled) > at_most(0.2, 20)


def test_rates_and_shares_may_change_together_if_adjacent_rows_are_alike():
    """Sites that take turns every 60 rows, which are not named: windows are hardly ever of both."""

    def rows(random):
        site = np.arange(3000) // 60 % 2
        g = np.where(random.random(3000) < np.take((0.4, 0.6), site), "a", "b")
        return random.random(3000) < np.take((0.9, 0.6), site), np.ones(3000), {"g": g}

    assert max(verdicts('recall(g == "a") >= recall()', rows, 60)) <= at_most(0.2, 60)


def test_delays_are_close_to_those_of_oracles():
    """A small version of the benchmark; the pairs' oracle cannot use most of the rows."""
    spec = importlib.util.spec_from_file_location("monitor_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    ours, best, pairs = benchmark.delays(streams=40, share=0.15, effect=0.2, confidence=0.95)
    assert ours <= 1.2 * pairs
    assert ours <= 1.8 * best
