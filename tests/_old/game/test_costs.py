"""Games with costs by amounts: batches show what `evaluate` counts, and gradients match the loss."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game.proxies import PROXIES

from ..small_tables import people


def some(weighted):
    rows = people(60, also=("loan", "fee")).population(weighted=weighted)
    words = [
        "recall() >= 0.5",
        'cost(false_negative="loan", false_positive=0) <= 3 * cost(column="fee")',
    ]
    compiled = rb.compile(rb.Problem('cost(false_negative=2, column="loan")', words), rows)
    return compiled, np.random.default_rng(0).normal(size=60)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimate", ["running", "unbiased"])
def test_a_batch_of_all_rows_shows_the_exact_values(weighted, estimate):
    compiled, scores = some(weighted)
    assert len(compiled.blocks) == 3
    game = rb.Game(compiled, rb.ExternalRegret(), rules=rb.Rules(estimate=estimate), precision="float64")
    shown = game.look(game.start(scores), scores, game.batch(None)).values[0] * compiled.scale
    objective, violations = compiled.evaluate(scores)
    np.testing.assert_allclose(shown, [objective, *violations], rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_unbiased_estimates_have_the_exact_values_as_their_mean(weighted):
    compiled, scores = some(weighted)
    game = rb.Game(
        compiled, rb.ExternalRegret(), rules=rb.Rules(estimate="unbiased"), precision="float64"
    )
    state, halves = game.start(scores), np.split(np.random.default_rng(1).permutation(60), 4)
    shown = [game.look(state, scores[rows], game.batch(rows)).values[0] for rows in halves]
    objective, violations = compiled.evaluate(scores)
    np.testing.assert_allclose(
        np.mean(shown, axis=0) * compiled.scale, [objective, *violations], rtol=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("proxy", ["logistic", "sigmoid"])
def test_the_gradient_is_that_of_the_cost_by_differences(weighted, proxy):
    """The objective: the costs of a miss and of a false alarm, times the proxy of each."""
    compiled, scores = some(weighted)
    rows, bound = compiled.first, PROXIES[proxy].one
    problem = rb.Problem('cost(false_negative=2, column="loan")')
    alone = rb.compile(problem, rows)
    rules = rb.Rules(loss=proxy, proxy=proxy)
    game = rb.Game(alone, rb.ExternalRegret(), rules=rules, precision="float64")
    gradient, _ = game.round(game.start(scores), scores, game.batch(None))
    weights, loan = rows.row_weights, rows.columns["loan"]

    def loss(s):
        missed, alarm = bound.value(-s) * rows.y * 2, bound.value(s) * ~rows.y
        return float((weights * loan * (missed + alarm)).sum() / weights.sum() / alone.scale[0])

    steps = 1e-6 * np.eye(60)
    wanted = [(loss(scores + step) - loss(scores - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, wanted, atol=1e-6)


def test_the_bound_on_violations_holds():
    compiled, _ = some(True)
    random = np.random.default_rng(2)
    for estimate in ("running", "unbiased"):
        player = rb.ExternalRegret()
        game = rb.Game(compiled, player, rules=rb.Rules(estimate=estimate), precision="float64")
        state, largest = game.start(random.normal(size=60)), 0.0
        for _ in range(50):
            rows, scores = random.choice(60, 5, replace=False), random.normal(size=5)
            largest = max(
                largest, np.abs(game.look(state, scores, game.batch(rows)).values[0, 1:]).max()
            )
        assert largest <= game.bound() + 1e-9
