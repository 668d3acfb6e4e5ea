"""How often a certificate is false, and how much room a promise needs to be certified.

The promise is p_group >= 0.95 p_rest, at confidence 95%. False certificates are counted on the boundary,
at the worst of several rates of the rest; the margin is what p_group needs above 0.95 p_rest, where
p_rest is .62, to be certified with a probability of 80%. Three tests are compared: two
Clopper–Pearson bounds at half the error each, Wald's, and ours. Given how many of the rest are
successes, each asks for some least number of successes in the group; so both figures are sums of
binomial probabilities, not simulations. With --redraws, whole certificates of `rb.certify` are counted
as well, with the group's share of everyone drawn by chance, as it is in practice; and of groups inside
everyone, large ones too, how often they are certified beside what the delta method shows.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom, norm

sys.path.insert(0, str(Path(__file__).parent))  # when a test loads this file
from _common import machine, markdown

import ratebound._old as rb
from ratebound._old.certifying._bounds import Aim
from ratebound._old.certifying._nested import Nested
from ratebound._old.certifying._pair import Share, pair_p_value

SIZES = ((590, 3256), (60, 1500), (25, 400))
RATIO, DELTA, POWER, REST = 0.95, 0.05, 0.8, 0.62
NUISANCE = (0.1, 0.3, 0.5, 0.62, 0.8, 0.9, 0.98)
INSIDE = (  # rows, the group's share, the rest's rate, and the ratio
    (3000, 0.85, 0.75, 0.95), (600, 0.85, 0.75, 0.9), (600, 0.95, 0.5, 0.9), (600, 0.5, 0.9, 0.8),
    (3000, 0.15, 0.62, 0.95), (425, 0.06, 0.62, 0.95),
)  # fmt: skip
LIKELY = 4.5  # standard deviations of the rest's successes that are looked at
Shows = Callable[[int, int], bool]  # whether so many successes of group and rest show the promise


def box(n: int, m: int) -> Shows:
    """A lower bound of the group's rate and an upper bound of the rest's, at half the error each."""

    def shows(k: int, j: int) -> bool:
        low = betaincinv(k, n - k + 1, DELTA / 2) if k else 0.0
        high = betaincinv(j + 1, m - j, 1 - DELTA / 2) if j < m else 1.0
        return bool(low >= RATIO * high)

    return shows


def wald(n: int, m: int) -> Shows:
    """The difference over its estimated deviation, taken for normal: no certificate, for comparison."""

    def shows(k: int, j: int) -> bool:
        p, q = k / n, j / m
        deviation = np.sqrt(p * (1 - p) / n + RATIO**2 * q * (1 - q) / m)
        return bool(p - RATIO * q > norm.isf(DELTA) * deviation)

    return shows


def ours(n: int, m: int) -> Shows:
    """The score statistic's exact tail, by Berger and Boos."""

    def shows(k: int, j: int) -> bool:
        return pair_p_value(Share(k, n, 1.0), Share(j, m, -RATIO), 0.0, 0.001) <= DELTA

    return shows


TESTS = {"two Clopper–Pearson bounds": box, "Wald": wald, "ours": ours}


def least_successes(shows: Shows, n: int, m: int) -> Callable[[int], int]:
    """The least number of the group's successes that shows the promise, given the rest's."""

    @cache
    def least(j: int) -> int:
        guess = min(int(n * (RATIO * j / m + 1.7 * np.sqrt(0.25 / n))), n)
        low, high, step = guess, guess, 1
        while low > -1 and shows(low, j):
            low, high, step = max(low - step, -1), low, 2 * step
        step = 1
        while high <= n and not shows(high, j):
            low, high, step = high, min(high + step, n + 1) if high < n else n + 1, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if shows(middle, j) else (middle, high)
        return high

    return least


def probability(least: Callable[[int], int], n: int, m: int, p: float, q: float) -> float:
    """How likely the promise is certified at these rates."""
    apart = LIKELY * np.sqrt(m * q * (1 - q)) + 1
    j = np.arange(max(0, int(m * q - apart)), min(m, int(m * q + apart)) + 1)
    found = np.array([least(int(each)) for each in j])
    return float(binom.pmf(j, m, q) @ binom.sf(found - 1, n, p))


def margin(least: Callable[[int], int], n: int, m: int) -> float:
    """What the group's rate needs above its bound for the power asked for."""
    low, high = 0.0, 1 - RATIO * REST
    for _ in range(30):
        middle = (low + high) / 2
        enough = probability(least, n, m, RATIO * REST + middle, REST) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high


def false_certificates(n: int, m: int, redraws: int, seed: int = 0) -> float:
    """How often `rb.certify` is wrong of a group of about n among everyone, at the boundary."""
    random, total = np.random.default_rng(seed), n + m
    share = n / total
    ratio = RATIO * (1 - share) / (1 - RATIO * share)  # the promise, as the group against the rest
    problem = rb.Problem(rb.error_rate(), [rb.recall(g=1) >= RATIO * rb.recall()])
    wrong = 0
    for _ in range(redraws):
        group = (random.random(total) < share).astype(int)
        yes = random.random(total) < np.where(group, ratio * REST, REST)
        people = rb.Population(yes[:, None], np.ones(total, bool), columns={"g": group})
        wrong += rb.certify(problem, Decides(), people).holds
    return wrong / redraws


def delta_method(n: int, k: int, m: int, j: int, ratio: float) -> bool:
    """The same of a group inside everyone, with its share's variance: no certificate, for comparison."""
    p, q, share = (k + 0.5) / (n + 1), (j + 0.5) / (m + 1), n / (n + m)
    room = p - ratio * (share * p + (1 - share) * q)
    variance = (1 - ratio * share) ** 2 * p * (1 - p) / n + (ratio * (1 - share)) ** 2 * q * (1 - q) / m
    variance += (ratio * (p - q)) ** 2 * share * (1 - share) / (n + m)
    return bool(room > norm.isf(DELTA) * np.sqrt(variance))


def inside(total: int, share: float, rest: float, ratio: float, redraws: int) -> list[str]:
    """How often p_group >= ratio * p_everyone is certified at the boundary, and 2.49 deviations above.

    There a normal test of this level would show it in 80%.
    """
    just = ratio * (1 - share) * rest / (1 - ratio * share)
    deviation = np.sqrt(
        (1 - ratio * share) ** 2 * just * (1 - just) / (total * share)
        + (ratio * (1 - share)) ** 2 * rest * (1 - rest) / (total * (1 - share))
        + (ratio * (just - rest)) ** 2 * share * (1 - share) / total
    )
    row = [f"{total:,}", f"{share:.2f}", f"{ratio:.2f}"]
    for room in (0.0, 2.49):
        random, ours_, delta = np.random.default_rng(7), 0, 0
        p = just + room * deviation / (1 - ratio * share)
        for _ in range(redraws):
            n = random.binomial(total, share)
            k, j = random.binomial(n, p), random.binomial(total - n, rest)
            whole = Nested(k, n, j, total - n, (0.0, 1.0), (0.0, -ratio), (0.0, -ratio))
            ours_ += whole.tested(0.0, Aim(DELTA)).p_value <= DELTA
            delta += delta_method(n, k, total - n, j, ratio)
        row += [f"{ours_ / redraws:.3f}", f"{delta / redraws:.3f}"]
    return row


class Decides:
    """A model whose decisions are its one feature."""

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(bool)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--redraws", type=int, default=0, help="of whole certificates")
    given = parser.parse_args()
    start, rows = time.perf_counter(), []
    for n, m in SIZES:
        for name, test in TESTS.items():
            least = least_successes(test(n, m), n, m)
            false = max(probability(least, n, m, RATIO * q, q) for q in NUISANCE)
            rows.append([f"{n:,} / {m:,}", name, f"{false:.4f}", f"{margin(least, n, m):.3f}"])
            print(rows[-1], flush=True, file=sys.stderr)
    print(markdown(["group / rest", "test", "false, at worst", "margin for 80%"], rows))
    if given.redraws:
        heads = ["rows", "share", "ratio", "false, ours", "false, delta", "shown, ours", "shown, delta"]
        found = [inside(*each, given.redraws) for each in INSIDE]
        print(markdown(heads, found))
        for n, m in SIZES:
            print(f"rb.certify, {n} / {m}: false in {false_certificates(n, m, given.redraws):.4f}")
    print(f"\n{time.perf_counter() - start:.0f} s; {machine()}")


if __name__ == "__main__":
    main()
