"""The linear program against every vertex there is, in exact fractions, and against other solvers."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, linprog

from ratebound._old.base.linear_program import TOLERANCE, best_mixture, least_violation
from ratebound._old.solution import shrink_weights

calm = settings(derandomize=True, deadline=None, max_examples=80)


# --- the answer, by brute force ------------------------------------------------------------------


def solve_exactly(rows, right):
    """The one solution of a small square system of fractions, or None."""
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for i in range(len(table)):
        pivot = next((r for r in range(i, len(table)) if table[r][i] != 0), None)
        if pivot is None:
            return None
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for r in range(len(table)):
            if r != i and table[r][i] != 0:
                table[r] = [x - table[r][i] * y for x, y in zip(table[r], table[i], strict=True)]
    return [row[-1] for row in table]


def mixtures(G, level):
    """Every vertex of {p in the simplex: Gᵀp <= level}, or of {Gᵀp <= t, t} if level is None."""
    count, m = len(G), len(G[0])
    free = level is None
    for size in range(1, min(count, m + 1) + 1):
        for members in combinations(range(count), size):
            for tight in combinations(range(m), size if free else size - 1):
                rows = [[G[j][i] for j in members] + [Fraction(-1)] * free for i in tight]
                right = [Fraction(0) if free else level] * len(tight)
                p = solve_exactly(
                    [*rows, [Fraction(1)] * size + [Fraction(0)] * free], [*right, Fraction(1)]
                )
                if p is not None and min(p[:size]) >= 0:
                    yield members, p[:size]


def worst(G, members, p):
    violations = [sum(x * G[j][i] for j, x in zip(members, p, strict=True)) for i in range(len(G[0]))]
    return max(violations, default=Fraction(0))


def brute_force(f, G, beyond=None):
    """The least violation of any mixture, and the least objective at it: exact, then rounded.

    With `beyond`, also the least objective if violations may be larger by that much.
    """
    f = [Fraction(float(x)) for x in f]
    G = [[Fraction(float(x)) for x in row] for row in G]

    def best(most):
        return float(
            min(
                sum(x * f[j] for j, x in zip(members, p, strict=True))
                for members, p in mixtures(G, most)
                if worst(G, members, p) <= most
            )
        )

    feasible = any(worst(G, *v) <= 0 for v in mixtures(G, Fraction(0)))
    level = Fraction(0) if feasible else min(worst(G, *v) for v in mixtures(G, None))
    at_least = float(level), best(level)
    return at_least if beyond is None else (*at_least, best(level + Fraction(beyond)))


def assert_solves(f, G):
    """The weights are a mixture of at most m+1 members, as feasible and as good as the best.

    Violations may exceed the least by the tolerance; the objective may gain from that.
    """
    f, G = np.asarray(f, float), np.asarray(G, float).reshape(len(f), -1)
    rounding = 1e-12 * np.abs(G).max(axis=0)
    weights = shrink_weights(f, G)
    tolerance = TOLERANCE + float(np.max(rounding, initial=0))
    least, best, better = brute_force(f, G, beyond=tolerance)
    assert weights.shape == f.shape
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert (weights > 0).sum() <= G.shape[1] + 1
    assert ((weights @ G - least) <= TOLERANCE + rounding).all()
    size = np.abs(f).max()
    assert weights @ f <= best + 1e-9 * size
    assert weights @ f >= better - 1e-9 * size
    return least


def arrays_of(rng, count, m, kind):
    f, G = rng.normal(size=count), rng.normal(size=(count, m))
    return {
        "any": (f, G),
        "feasible": (f, G - 1),
        "infeasible": (f, np.abs(G) + 0.1),
        "rates": (np.round(rng.random(count), 2), np.round(0.1 * G, 2)),  # full of ties
        "degenerate": (np.round(f), np.round(G)),
        "duplicates": (np.tile(f[-3:], 2), np.tile(G[-3:], (2, 1))),
        "one objective": (np.ones(count), G),
        "on the boundary": (f, np.minimum(G, 0)),
        "one impossible": (f, np.column_stack([G[:, :-1], np.abs(G[:, -1:]) + 0.1])),
    }[kind]


KINDS = (
    "any", "feasible", "infeasible", "rates", "degenerate", "duplicates", "one objective",
    "on the boundary", "one impossible",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("count", "m"), [(1, 1), (2, 1), (6, 1), (5, 2), (4, 3), (6, 3), (3, 0)])
def test_it_is_the_best_of_all_vertices(kind, count, m):
    for seed in range(4):
        assert_solves(*arrays_of(np.random.default_rng(seed), count, m, kind))


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("what", ["violations", "objectives", "both"])
@pytest.mark.parametrize("kind", KINDS)
def test_scale_does_not_matter(kind, what, scale):
    for seed in range(3):
        f, G = arrays_of(np.random.default_rng(seed), 5, 2, kind)
        f = f * scale if what != "violations" else f
        G = G * scale if what != "objectives" else G
        assert_solves(f, G)


@pytest.mark.parametrize("scales", [(1, 1e5), (1e5, 1), (1e-3, 1e3)])
@pytest.mark.parametrize("kind", KINDS)
def test_constraints_may_be_of_different_scales(kind, scales):
    """Counts of a hundred thousand rows beside rates."""
    for seed in range(4):
        f, G = arrays_of(np.random.default_rng(seed), 5, 2, kind)
        least = assert_solves(f, G * np.array(scales))
        least_found = least_violation(G * np.array(scales)).violation
        assert least_found == pytest.approx(least, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("f", "G", "expected"),
    [
        ([0.0, 1.0], [[0.3], [-0.1]], [0.25, 0.75]),
        ([1.0, 0.0], [[-1.0], [-2.0]], [0, 1]),
        ([3.0], [[5.0]], [1]),
        ([3.0, 2.0, 4.0], np.zeros((3, 0)), [0, 1, 0]),
        ([0.0, 0.0, 9.0], [[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], [0.5, 0.5, 0]),
        ([0.0, 1.0], [[0.2, 0.0], [0.0, 0.2]], [0.5, 0.5]),  # infeasible: as little as can be
        ([0.0, 1.0], [[0.2], [0.2]], [1, 0]),  # equally infeasible: the better objective
        ([1.0, 0.0], [[-1e6, 1e-5], [-1e6, 2e-5]], [1, 0]),  # broken by one row in 100,000
    ],
)
def test_small_ones_by_hand(f, G, expected):
    np.testing.assert_allclose(shrink_weights(f, G), expected, atol=1e-9)


# --- against another formulation, and properties of larger ones ----------------------------------


def penalised(f, G):
    """The same by one program: minimise f·p + penalty · worst violation, by interior points."""
    count, m = G.shape
    solved = linprog(
        np.append(f, 1e4),
        A_ub=np.column_stack([G.T, -np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=np.append(np.ones(count), 0)[None],
        b_eq=[1],
        bounds=(0, None),
        method="highs-ipm",
    )
    return solved.x[-1], f @ solved.x[:-1]


@pytest.mark.parametrize("shift", [-0.5, 0.0, 0.5, 2.0])
@pytest.mark.parametrize(("count", "m"), [(30, 2), (200, 5), (400, 20)])
def test_it_equals_an_interior_point_solver(count, m, shift):
    rng = np.random.default_rng(count)
    f, G = rng.normal(size=count), rng.normal(size=(count, m)) + shift
    weights = shrink_weights(f, G)
    least, best = penalised(f, G)
    assert max((weights @ G).max(), 0) == pytest.approx(least, abs=1e-9)
    assert weights @ f <= best + 1e-9
    assert weights @ f >= best - (1e-9 if least <= 1e-9 else 1e-6)
    assert (weights > 0).sum() <= m + 1


tables = st.tuples(st.integers(1, 25), st.integers(0, 5)).flatmap(
    lambda shape: st.tuples(
        st.lists(st.integers(-20, 20), min_size=shape[0], max_size=shape[0]),
        st.lists(
            st.lists(st.integers(-20, 20), min_size=shape[1], max_size=shape[1]),
            min_size=shape[0],
            max_size=shape[0],
        ),
        st.sampled_from([1.0, 0.01, 1e-8, 1e8]),
    )
)


@calm
@given(tables)
def test_no_candidate_and_no_average_is_better(table):
    f, G = np.array(table[0], float), np.array(table[1], float).reshape(len(table[0]), -1) * table[2]
    weights = shrink_weights(f, G)
    assert (weights > 0).sum() <= G.shape[1] + 1
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    own = np.max(weights @ G, initial=0)
    room = 1e-9 * table[2] * 20
    for rival in [*np.eye(len(f)), np.full(len(f), 1 / len(f))]:
        theirs = np.max(rival @ G, initial=0)
        assert own <= theirs + room
        if theirs <= own:  # a rival as feasible
            assert weights @ f <= rival @ f + 1e-7


@calm
@given(tables)
def test_prices_prove_that_no_mixture_violates_less(table):
    G = np.array(table[1], float).reshape(len(table[0]), -1) * table[2]
    least = least_violation(G)
    assert least.prices.shape == (G.shape[1],)
    assert (least.prices >= 0).all()
    assert least.violation >= 0
    if least.violation == 0:
        assert not least.prices.any()
        weights = shrink_weights(np.zeros(len(G)), G)
        assert np.max(weights @ G, initial=0) <= 1e-9 * table[2] * 20
    else:
        assert least.prices.sum() == pytest.approx(1, abs=1e-12)
        assert (G @ least.prices >= least.violation * (1 - 1e-9)).all()


@pytest.mark.parametrize("feasible", [True, False])
def test_four_thousand_candidates_and_a_hundred_constraints(feasible):
    rng = np.random.default_rng(0)
    f, G = rng.random(4_000), rng.normal(size=(4_000, 100)) * 0.1
    if not feasible:
        G[:, 0], G[:, 1] = G[:, 2] + 0.2, -G[:, 2] + 0.2  # at odds by .2 each
    weights = shrink_weights(f, G)
    assert (weights > 0).sum() <= 101
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert (weights @ G).max() <= (1e-9 if feasible else 0.2 + 1e-9)
    assert weights @ f < f.mean()
    if not feasible:
        least = least_violation(G)
        assert least.violation == pytest.approx(0.2, abs=1e-9)
        np.testing.assert_allclose(least.prices[:2], 0.5, atol=1e-6)
        assert (G @ least.prices >= 0.2 - 1e-9).all()


def test_equal_candidates_share_nothing():
    """One of a thousand equal candidates is enough."""
    weights = shrink_weights(np.ones(1000), np.tile([[0.1, -0.2]], (1000, 1)))
    assert (weights > 0).sum() == 1


@pytest.mark.parametrize(
    ("f", "G"),
    [
        ([], np.zeros((0, 1))),
        ([1.0], [[1.0], [2.0]]),
        ([1.0, 2.0], [1.0, 2.0]),
        ([[1.0]], [[1.0]]),
        ([np.nan], [[1.0]]),
        ([1.0], [[np.inf]]),
    ],
)
def test_bad_arguments_raise(f, G):
    with pytest.raises(ValueError, match=r"expected objectives|must be finite"):
        shrink_weights(f, G)


# --- rounding, and what solvers fail at ----------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "G", "expected"),
    [
        ([0.0, 1.0], [[1e-17], [0.0]], [1, 0]),
        ([0.0, 1.0], [[1e-17], [-1e-17]], [1, 0]),
        ([0.0, 1.0], [[1e-16, 1e-16], [-1e-16, 0.0]], [1, 0]),
        ([0.0, 1.0], [[5e-10, 1e-16], [0.0, -1.0]], [1, 0]),
        ([0.0, 1.0], [[0.9 * TOLERANCE], [0.0]], [1, 0]),  # what a status calls kept is kept here
        ([0.0, 1.0], [[1.1 * TOLERANCE], [-1.0]], [1, 0]),
        ([0.0, 1.0], [[0.5, 1e-16], [-0.5, 1e-16]], [0.5, 0.5]),
        ([0.0, 1.0], [[0.2, 0.3 + 1e-16], [0.3, 0.3]], [1, 0]),  # infeasible by .3 either way
        ([1e8, 1e8 + 1], [[-1.0], [-1.0]], [1, 0]),
        ([1e8 + 0.5, 1e8], [[-1.0], [1.0]], [0.5, 0.5]),
    ],
)
def test_rounding_costs_nothing(f, G, expected):
    np.testing.assert_allclose(shrink_weights(f, G), expected, atol=2e-9)


@calm
@given(
    tables,
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-17, 1e-16, 1e-14, 1e-12]),
)
def test_noise_far_below_the_tolerance_costs_nothing(table, seed, size):
    """The best mixture without the noise is still reached with it, and still counts as kept."""
    f = np.array(table[0][:5], float)
    G = np.array(table[1][:5], float).reshape(len(f), -1)[:, :3] / 100
    least, best = brute_force(f, G)
    noisy = G + size * np.random.default_rng(seed).normal(size=G.shape)
    weights = shrink_weights(f, noisy)
    assert np.max(weights @ noisy, initial=0) <= least + TOLERANCE
    assert weights @ f <= best + 1e-7


@calm
@given(tables, st.lists(st.sampled_from([1e-12, 1e-10, 1e-9, 3e-9, 1e-7, 1.0]), min_size=5, max_size=5))
def test_where_constraints_are_hardly_larger_than_the_tolerance(table, sizes):
    """Never worse than the best at the exact bounds, never beyond the tolerance."""
    f = np.array(table[0][:5], float)
    G = np.array(table[1][:5], float).reshape(len(f), -1)[:, :3]
    G = G * sizes[: G.shape[1]]
    weights = shrink_weights(f, G)
    least, best = brute_force(f, G)
    assert np.max(weights @ G, initial=0) <= least + TOLERANCE
    if least == 0 or least > TOLERANCE:
        assert weights @ f <= best + 1e-7


absurd = st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32 - 1), st.booleans())


@settings(derandomize=True, deadline=None, max_examples=150)
@given(absurd)
def test_numbers_of_absurd_size_never_lose_to_a_single_candidate(case):
    count, m, seed, mixed = case
    rng = np.random.default_rng(seed)
    f = rng.normal(size=count) * 10.0 ** rng.integers(-300, 300)
    G = np.round(rng.normal(size=(count, m)), 2)
    G = G * 10.0 ** rng.integers(-300, 300, size=(count, m) if mixed else m)
    weights = shrink_weights(f, G)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert (weights > 0).sum() <= m + 1
    reached = np.max(weights @ G - 1e-12 * (weights @ np.abs(G)), initial=0)
    worst = G.max(axis=1, initial=0)
    assert reached <= worst.min() * (1 + 1e-9) + TOLERANCE
    alone = f[worst <= TOLERANCE]
    assert weights @ f <= np.min(alone, initial=np.inf) + 1e-12 * np.abs(f).max()


def test_units_are_what_violations_are_compared_in():
    """Ten rows of a thousand are less than a share of .02."""
    f, G, scale = [1.0, 0.0], np.array([[0.0, 10.0], [0.02, 0.0]]), np.array([1.0, 1000.0])
    np.testing.assert_allclose(shrink_weights(f, G), [1 / 501, 500 / 501], atol=1e-9)
    weights = shrink_weights(f, G, scale=scale)
    np.testing.assert_allclose(weights, [2 / 3, 1 / 3], atol=1e-9)
    np.testing.assert_array_equal(weights, shrink_weights(f, G / scale))
    assert least_violation(G, scale).violation == pytest.approx(1 / 150)


def fails(*_, **__):
    return OptimizeResult(x=None, status=4, message="numerical difficulties")


def breaks(*_, **__):
    raise ValueError("it broke")


@pytest.mark.parametrize("solver", [fails, breaks])
@pytest.mark.parametrize(
    ("f", "G", "best"),
    [
        ([0.0, 2.0, 1.0], [[0.5], [-0.1], [-0.2]], 2),  # kept, at the lowest objective
        ([2.0, 1.0, 0.0], [[0.1], [0.5], [0.4]], 0),  # none is kept: the least violation
        ([2.0, 1.0, 3.0], [[0.1], [0.1], [0.1]], 1),
    ],
)
def test_a_solver_that_fails_leaves_the_best_candidate(monkeypatch, solver, f, G, best):
    monkeypatch.setattr("scipy.optimize.linprog", solver)
    weights, least = best_mixture(f, G)
    np.testing.assert_array_equal(weights, np.eye(3)[best])
    if best != 2:  # there a candidate is feasible, and the first program not needed
        assert least.unsolved in ("numerical difficulties", "it broke")
        assert least.violation == 0.1


def test_a_solver_that_fails_once_is_asked_again(monkeypatch):
    asked = []

    def sometimes(*arguments, **options):
        asked.append(options["method"])
        return fails() if len(asked) == 1 else linprog(*arguments, **options)

    monkeypatch.setattr("scipy.optimize.linprog", sometimes)
    np.testing.assert_allclose(shrink_weights([0.0, 1.0], [[0.3], [-0.1]]), [0.25, 0.75])
    assert len(asked) > 1


def test_relaxed_constraints_are_those_with_room():
    """The general program, against the plain one on shifted violations."""
    rng = np.random.default_rng(1)
    G = rng.normal(size=(12, 3)) * 0.2 + 0.3
    room = np.array([0.05, 0.0, 0.1])
    assert least_violation(G, room=room).violation == pytest.approx(
        least_violation(G - room).violation, abs=1e-12
    )
    without = least_violation(G, room=[0, np.inf, 0]).violation
    assert without == pytest.approx(least_violation(G[:, [0, 2]]).violation, abs=1e-12)
