"""The status for promises that cannot be kept together, against separate linear programs."""

import re

import numpy as np
import pytest
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.base.linear_program import least_violation
from ratebound._old.solution.status import status_of

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
        compiled, rb.Linear(0.1), player=rb.SwapRegret(0.2), rounds=400, batch_size=None,
        keep=rb.Keep(2),
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


def ways_of(status, constraints):
    """Every way to relax that a status prints, as the amount (m,) each constraint is relaxed by."""
    named = {str(constraint): i for i, constraint in enumerate(constraints)}
    number = r"([\d.e+-]*\d)"
    found = []

    def add(**amounts):
        found.append(np.array([amounts.get(str(c), 0.0) for c in constraints]))

    for amount in re.findall(rf"relax it \(by {number}", status.message):
        add(**{str(status.conflict[0]): float(amount)})
    for amount in re.findall(rf"relax all of them by {number}", status.message):
        add(**{str(c): float(amount) for c in status.conflict})
    for words in re.findall(r"relax all of them, (.*?)(?:, or |\.$)", status.message):
        add(**{c: float(a) for c, a in re.findall(rf"(\S.*?) by {number}(?:; |$)", words)})
    for words, amount in re.findall(rf"relax ((?:(?!relax ).)*?) alone by {number}", status.message):
        add(**{words: float(amount)})
    assert all(words in named for words in map(str, status.conflict))
    return found


def test_a_contradiction_is_named_with_the_right_amounts(trace):
    mixture = rb.shrink(trace)
    status, G = mixture.status, trace.violations
    least = least_by_linprog(G)
    assert not status.feasible
    assert least > 0.1  # four in ten are positive, one in ten may be said yes to
    assert status.violation == pytest.approx(least, abs=1e-8)
    assert set(status.conflict) == {RECALL, SCARCE}  # and not the harmless one
    assert set(status.broken) == {RECALL, SCARCE}
    amounts = ways_of(status, trace.constraints)
    assert amounts[0] == pytest.approx([least, least, 0], rel=1e-3)
    # Relaxed by that much they can be kept, and by a little less they cannot.
    assert least_by_linprog(G - amounts[0]) <= 1e-9
    assert least_by_linprog(G - 0.99 * amounts[0]) > 0


def test_what_one_would_have_to_give_up_alone_is_exact(trace):
    G = trace.violations
    _, *alone = ways_of(rb.shrink(trace).status, trace.constraints)
    for amounts in alone:
        (i,) = np.flatnonzero(amounts)
        others = [j for j in range(3) if j != i]
        needed = least_by_linprog(G[:, [i, *others]], keep=(1, 2))
        assert needed - 1e-8 <= amounts[i] <= 1.001 * needed
    assert {int(np.flatnonzero(amounts)[0]) for amounts in alone} == {0, 1}


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
        (
            [0.1, 0.3, 0.2],
            [[0.1, 0.3, 0.2]],
            (SCARCE, EASY, RECALL),
            (SCARCE, EASY, RECALL),
            "3 of 3 constraints",
        ),
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
    """With 4/9 of the first candidate both violations are .11/.9, and no mixture has a lower worst.

    To keep the second alone, a quarter of the second candidate is the most there can be: then the
    first is broken by .275. To keep the first, a fifth of the first candidate: .22.
    """
    least = 0.11 / 0.9
    status = status_of(CONSTRAINTS, np.full(3, 0.2), ODDS)
    assert least_violation(ODDS).violation == pytest.approx(least)
    np.testing.assert_allclose(least_violation(ODDS).prices, [4 / 9, 5 / 9, 0], atol=1e-9)
    assert "relax all of them by 0.1223, or" in status.message  # rounded up
    assert f"relax {RECALL} alone by 0.275, or" in status.message
    assert f"relax {SCARCE} alone by 0.22, or" in status.message
    assert status.message.endswith(" rb.shrink comes closer.")
    closest = status_of(CONSTRAINTS, np.full(3, least), ODDS)
    assert "comes closer" not in closest.message


def test_what_is_said_to_be_enough_is_enough():
    """Random traces, in random units: whatever a status says to relax, a solver then keeps."""
    rng = np.random.default_rng(0)
    judged = 0
    for _ in range(120):
        m = rng.integers(1, 5)
        scale = rng.choice([1.0, 1.0, 2000.0], size=m)
        G = (rng.normal(size=(rng.integers(1, 15), m)) * 0.2 + 0.15) * scale
        constraints = [rb.recall(group=str(i)) >= 0.9 for i in range(m)]
        own = G[0]
        status = status_of(constraints, own, G, scale)
        least = least_by_linprog(G / scale)
        if status.feasible or least <= 1e-9:
            continue
        ways = ways_of(status, constraints)
        assert ways, status.message
        for amounts in ways:
            assert least_by_linprog((G - amounts) / scale) <= 1e-8, status.message
            assert least_by_linprog((G - 0.998 * amounts) / scale) > 0, status.message
        judged += 1
    assert judged > 70


def test_only_the_closest_solution_says_that_nothing_comes_closer():
    G = np.array([[0.45, -1, -1], [0.38, -1, -1]])
    far = status_of(CONSTRAINTS, G.mean(axis=0), G).message
    near = status_of(CONSTRAINTS, G[1], G).message
    assert f"keeps {RECALL}, but rb.shrink comes closer: relax it (by 0.38)" in far
    assert (
        f"No iterate or mixture of them comes closer to {RECALL} than this: relax it (by 0.38)" in near
    )


PARTS = "true_positives() {} 0.8 * predicted_positives()"


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (
            rb.precision() >= 0.8,
            f"by 0.02 per row of its subset in {PARTS.format('>=')}",
        ),
        (
            rb.precision() <= 0.8,
            f"by 0.02 per row of its subset in {PARTS.format('<=')}",
        ),
        (
            rb.win_loss_ratio(versus="live") >= 1.5,
            'by 0.02 per row of its subset in wins(versus="live") >= 1.5 * losses(versus="live")',
        ),
    ],
)
def test_a_ratio_is_short_or_too_high_in_words(constraint, words):
    status = status_of([constraint], np.array([0.02]), np.array([[0.02]]))
    assert f"{constraint} ({words})" in status.message
    assert f"relax it ({words})" in status.message


def test_a_ratio_among_others_has_its_amount_in_its_own_words():
    """Its bound less .1 would not be enough: that is .1 of the yeses, not of all rows."""
    constraints = (rb.precision() >= 0.8, rb.recall() >= 0.9)
    status = status_of(constraints, np.array([0.1, 0.1]), np.array([[0.1, 0.1]]))
    assert "relax all of them by" not in status.message
    assert f"precision() >= 0.8 by 0.1 per row of its subset in {PARTS.format('>=')}" in status.message


def test_units_decide_which_is_worst_and_each_is_named_in_its_own():
    """Six rows of 2,000 are less than a share of .1."""
    constraints = (rb.predicted_positives() <= 500, rb.positive_rate(group="a") <= 0.3)
    status = status_of(
        constraints, np.array([6.0, 0.1]), np.array([[6.0, 0.1]]), np.array([2000.0, 1.0])
    )
    assert status.broken == constraints[::-1]
    assert status.violation == 0.1
    assert f"{constraints[0]} (by 6)" in status.message
    assert f"relax all of them, {constraints[1]} by 0.1; {constraints[0]} by 200" in status.message


def test_budgets_of_an_area_are_never_to_be_relaxed():
    """Their words come from the area; only its bound is the user's."""
    problem = rb.Problem(rb.error_rate(), [rb.roc_auc(bins=2) >= 0.9])
    constraints = rb.compile(problem, rb.Population(None, [0, 1])).constraints
    G = np.array([[0.2, -0.1, -0.1], [0.1, 0.2, -0.1]])
    status = status_of(constraints, G[0], G)
    assert set(status.conflict) == set(constraints[:2])
    assert f"; relax {constraints[0]} by 0.1667, or train longer" in status.message
    beyond = status_of(constraints, G[1], np.array([[-0.1, 0.2, -0.1]]))
    assert "relax" not in beyond.message
    assert "train longer" in beyond.message


def test_a_solver_that_failed_is_said():
    kept = status_of(CONSTRAINTS, np.full(3, -0.1), ODDS, unsolved="numerical difficulties")
    assert kept.feasible
    assert kept.message.endswith(
        "The linear program failed (numerical difficulties): a better mixture may exist."
    )
    broken = status_of(CONSTRAINTS, np.full(3, 0.2), ODDS, unsolved="numerical difficulties")
    assert "(numerical difficulties)" in broken.message


def test_many_broken_constraints_are_counted_not_listed():
    many = tuple(rb.recall(group=str(i)) >= 0.9 for i in range(8))
    status = status_of(many, np.linspace(0.1, 0.8, 8), np.linspace(0.1, 0.8, 8)[None])
    assert "8 of 8 constraints broken" in status.message
    assert "and 3 more" in status.message
    assert len(status.broken) == 8
    assert status.broken[0] == many[7]


def test_without_constraints_everything_is_kept():
    assert status_of((), np.zeros(0), np.zeros((5, 0))).feasible


def status_on(people, *promises):
    compiled = rb.compile(rb.Problem("error_rate()", promises), people)
    return rb.shrink(rb.play(compiled, rb.Linear(0.1), rounds=20, batch_size=None)).status


def test_a_live_model_that_may_know_these_rows_by_heart_is_pointed_out():
    """A live model that is right on all rows it was trained on: nothing else is not worse."""
    rng = np.random.default_rng(0)
    labels = rng.random(200) < 0.5
    people = rb.Population(rng.normal(size=(200, 1)), labels, columns={"live": labels.astype(int)})
    for promise in ('accuracy() >= accuracy_of(versus="live")', 'loss_only_churn(versus="live") <= 0.1'):
        status = status_on(people, promise)
        assert not status.feasible
        assert "trained on these rows" in status.message
        assert "'live'" in status.message
    both = ['churn(versus="live") <= 0.1', "positive_rate() <= 0.2"]
    status = status_on(people, *both)
    assert "trained on these rows" not in status.message  # no label is compared with
