"""What a status says of promises that cannot be kept together, against linear programs of its own."""

import numpy as np
import pytest
from scipy.optimize import linprog

import ratebound as rb
from ratebound.base.linear_program import least_violation
from ratebound.solution.status import status_of

RECALL, SCARCE, EASY = rb.recall() >= 0.9, rb.positive_rate() <= 0.1, rb.positive_rate() >= 0.01


@pytest.fixture(scope="module")
def trace():
    """A game whose first two constraints are at odds: four in ten rows are positive."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 2))
    y = X @ [1.0, 0.5] + 0.3 * rng.normal(size=500) > 0.28
    problem = rb.Problem(rb.error_rate(), [RECALL, SCARCE, EASY])
    compiled = rb.compile(problem, rb.Population(X, y))
    return rb.play(
        compiled, rb.Linear(0.1), multipliers=rb.SwapRegret(0.2), rounds=400, batch_size=None,
        keep_every=2,
    )  # fmt: skip


def least_by_linprog(G, keep=()):
    """The least worst violation of any mixture, of the constraints not in `keep`, keeping those."""
    count, m = G.shape
    elastic = np.array([0.0 if i in keep else -1.0 for i in range(m)])
    solved = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.column_stack([G.T, elastic]),
        b_ub=np.zeros(m),
        A_eq=np.append(np.ones(count), 0)[None],
        b_eq=[1],
        bounds=[(0, None)] * count + [(None, None)],
        method="highs-ipm",
    )
    return solved.x[-1] if solved.x is not None else np.inf


def test_a_contradiction_is_named_with_the_right_amounts(trace):
    mixture = rb.shrink(trace)
    status, G = mixture.status, trace.violations
    least = least_by_linprog(G)
    assert not status.feasible
    assert least > 0.1  # four in ten are positive, one in ten may be said yes to
    assert status.violation == pytest.approx(least, abs=1e-8)
    assert set(status.conflict) == {RECALL, SCARCE}  # and not the one that is no trouble
    assert set(status.broken) == {RECALL, SCARCE}
    assert f"relax all of them by {least:.4g}" in status.message
    # Relaxed by that much they can be kept, and by a little less they cannot.
    assert least_violation(G - [least + 1e-9, least + 1e-9, 0]).violation == 0
    assert least_violation(G - [0.99 * least, 0.99 * least, 0]).violation > 0


def test_what_one_would_have_to_give_up_alone_is_a_true_bound(trace):
    G = trace.violations
    found = least_violation(G)
    message = rb.shrink(trace).status.message
    for i, constraint, other in ((0, RECALL, 1), (1, SCARCE, 0)):
        claimed = found.violation / found.prices[i]
        needed = least_by_linprog(G[:, [i, other]], keep=(1,))
        assert claimed <= needed + 1e-8
        assert f"{constraint} alone by {claimed:.4g}" in message


def test_the_mixture_of_a_contradiction_is_still_the_best_there_is(trace):
    mixture = rb.shrink(trace)
    least = least_by_linprog(trace.violations)
    assert mixture.violations["train"].max() == pytest.approx(least, abs=1e-8)
    assert trace.violations.max(axis=1).min() >= least - 1e-9
    assert len(mixture) <= 4


@pytest.mark.parametrize("solution", [rb.last_iterate, rb.best_iterate, rb.average])
def test_every_solution_of_a_contradiction_names_it(trace, solution):
    mixture = solution(trace)
    assert not mixture.status.feasible
    assert set(mixture.status.conflict) == {RECALL, SCARCE}
    assert mixture.status.violation == pytest.approx(mixture.violations["train"].max())
    kept = mixture.violations["train"] <= 1e-9
    assert [c in mixture.status.broken for c in trace.constraints] == (~kept).tolist()


# --- made by hand --------------------------------------------------------------------------------

CONSTRAINTS = (RECALL, SCARCE, EASY)
ODDS = np.array([[0.4, -0.1, -1.0], [-0.1, 0.3, -1.0]])  # either the first is broken or the second


@pytest.mark.parametrize(
    ("own", "candidates", "broken", "conflict", "words"),
    [
        ([-0.1, 0.0, 1e-12], ODDS, (), (), "feasible: every constraint is kept"),
        ([0.2, -0.1, -1.0], [[0.2, -0.1, -1.0], [-0.2, -0.1, 0]], (RECALL,), (), "use rb.shrink"),
        (
            [0.2, -0.1, -1.0],
            [[0.2, -0.1, -1.0]],
            (RECALL,),
            (RECALL,),
            "relax it (by 0.2)",
        ),
        ([0.15, 0.1, -1.0], ODDS, (RECALL, SCARCE), (RECALL, SCARCE), "cannot be kept together"),
        ([0.1, 0.3, 0.2], [[0.1, 0.3, 0.2]], (SCARCE, EASY, RECALL), (SCARCE,), "3 of 3 constraints"),
    ],
)
def test_statuses_by_hand(own, candidates, broken, conflict, words):
    status = status_of(CONSTRAINTS, np.array(own), np.array(candidates, float))
    assert status.feasible == (not broken)
    assert status.broken == broken  # the worst first
    assert set(status.conflict) == set(conflict)
    assert words in status.message
    assert str(status) == status.message
    assert status.violation == (max(own) if broken else 0.0)


def test_the_amounts_by_hand():
    """With 4/9 of the first candidate both violations are .11/.9, and no mixture has a lower worst."""
    least = 0.11 / 0.9
    status = status_of(CONSTRAINTS, np.full(3, 0.2), ODDS)
    assert least_violation(ODDS).violation == pytest.approx(least)
    np.testing.assert_allclose(least_violation(ODDS).prices, [4 / 9, 5 / 9, 0], atol=1e-9)
    assert f"relax all of them by {least:.4g}" in status.message
    assert f"{RECALL} alone by {least * 9 / 4:.4g}" in status.message
    assert f"{SCARCE} alone by {least * 9 / 5:.4g}" in status.message


def test_many_broken_constraints_are_counted_not_listed():
    many = tuple(rb.recall(group=str(i)) >= 0.9 for i in range(8))
    status = status_of(many, np.linspace(0.1, 0.8, 8), np.linspace(0.1, 0.8, 8)[None])
    assert "8 of 8 constraints broken" in status.message
    assert "and 3 more" in status.message
    assert len(status.broken) == 8
    assert status.broken[0] == many[7]


def test_without_constraints_everything_is_kept():
    assert status_of((), np.zeros(0), np.zeros((5, 0))).feasible
