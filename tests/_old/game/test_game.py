"""One round of the game against an independently written loss, differentiated by complex steps.

Every rate below is defined a second time, row by row, in `coefficients`; a table of problems then goes
through both, for every layout of the tables, full batches and minibatches, NumPy and torch.
"""

from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.base.arrays import as_like

from ..extras import torch
from .layouts import LAYOUTS, game_with

PROXY = {  # for complex scores too: an imaginary step differentiates to the last digit
    "hinge": lambda s: np.where(np.real(s) > -1, 1 + s, 0),
    "logistic": lambda s: np.log1p(np.exp(s)) / np.log(2),
    "sigmoid": lambda s: 1 / (1 + np.exp(-s)),
}
STEP = 1e-20

# --- three populations, and what the rates are on them -------------------------------------------

SIZES = {"train": 120, "pool": 60, "steering": 24}
NAMES = np.repeat(list(SIZES), list(SIZES.values()))
N = len(NAMES)
_rng = np.random.default_rng(7)
DATA = {
    "y": _rng.random(N) < 0.4,
    "sex": _rng.choice(["F", "M"], N),
    "race": _rng.choice(["a", "b", "c"], N, p=[0.1, 0.3, 0.6]),
    "live": _rng.random(N) < 0.5,
}
WEIGHTS = _rng.integers(0, 4, size=N).astype(float)
SCORES = _rng.normal(scale=1.5, size=(3, N))
MIXED = _rng.dirichlet(np.ones(8), size=3) * 5  # multipliers of three settings, as many as needed

# A problem is a table of rows, the objective first: Σ coefficient · rate + constant, wanted <= 0.
F, M = {"sex": "F"}, {"sex": "M"}
ERROR = [(1, "error_rate", {}), 0.1]
PROBLEMS = {
    "one group": [ERROR, [(-1, "recall", F), (0.95, "recall", {}), 0.0]],
    "groups that overlap": [
        ERROR,
        [(1, "positive_rate", F), (-1, "positive_rate", {}), -0.05],
        [(-1, "positive_rate", F), (0.5, "positive_rate", {"race": "a"}), (0.3, "recall", M), 0.1],
        [(1, "error_rate", {"race": ("a", "b")}), (-2, "false_positive_rate", F), 0.0],
    ],
    "against a model, and counts": [
        [(-1, "recall", {}), (0.2, "churn", {"versus": "live"}), 0.0],
        [(1, "churn", {"versus": "live", **F}), -0.1],
        [(-1, "wins", {"versus": "live"}), (1.2, "losses", {"versus": "live"}), 3.0],
        [(1, "true_positives", {}), -20.0],
    ],
    "thresholds": [
        ERROR,
        [(-1, "recall", {"at": 0.5}), (-1, "recall", {}), 0.9],
        [(1, "false_positive_rate", {"at": -0.75, **F}), (1, "positive_rate", {"at": 0.5}), -0.2],
        [(-1, "recall", {"at": "low"}), (1, "positive_rate", {"at": "high"}), 0.2],
        [(1, "false_positive_rate", {"at": "low"}), -0.3],
    ],
    "populations": [
        ERROR,
        [(-1, "accuracy", {"on": "steering"}), 0.67],
        [(-1, "positive_rate", {"on": "pool", **F}), (0.8, "positive_rate", {"on": "pool"}), 0.0],
        [(-1, "recall", {}), (1, "positive_rate", {"on": "pool"}), 0.05],
    ],
}
THRESHOLDS = {"low": -0.4, "high": 0.8}


def mask_of(on=None, at=None, versus=None, **columns):
    mask = (on or "train") == NAMES
    for name, values in columns.items():
        mask = mask & np.isin(DATA[name], values)
    return mask


def coefficients(rows, weights):
    """The contribution of a yes to each row of a problem, {threshold: (r, N)}, and the offsets (r,)."""
    by_threshold, offset = {}, np.zeros(len(rows))
    y, h = DATA["y"], DATA["live"]
    for r, (*terms, constant) in enumerate(rows):
        offset[r] += constant
        for coefficient, kind, words in terms:
            s = mask_of(**words)
            yes, no, over = {
                "positive_rate": (s, None, s),
                "recall": (s & y, None, s & y),
                "false_positive_rate": (s & ~y, None, s & ~y),
                "accuracy": (s & y, s & ~y, s),
                "error_rate": (s & ~y, s & y, s),
                "churn": (s & ~h, s & h, s),
                "wins": (s & ~h & y, s & h & ~y, None),
                "losses": (s & ~h & ~y, s & h & y, None),
                "true_positives": (s & y, None, None),
            }[kind]
            share = coefficient / (1 if over is None else weights[over].sum())
            row = by_threshold.setdefault(words.get("at", 0.0), np.zeros((len(rows), N)))[r]
            row += share * weights * yes
            if no is not None:
                row -= share * weights * no
                offset[r] += share * weights[no].sum()
    return by_threshold, offset


def scales(rows, weights):
    """Counts, unlike shares, are divided by the rows of their population."""
    counts = {"wins", "losses", "true_positives"}
    total = weights[NAMES == "train"].sum()
    return np.array([total if any(t[1] in counts for t in terms) else 1.0 for *terms, _ in rows])


def relaxed(rows, weights, scores, thresholds, proxies):
    """Values (..., r) with [yes] and [no] replaced by each row's own proxy, of scores (..., N)."""
    parts, values = coefficients(rows, weights)
    for at, matrix in parts.items():
        shifted = scores - (thresholds[at] if isinstance(at, str) else at)
        up, down = np.maximum(matrix, 0), np.maximum(-matrix, 0)
        terms = zip(up, down, proxies, strict=True)
        values = values + np.stack(
            [phi(shifted) @ u + phi(-shifted) @ d - d.sum() for u, d, phi in terms], axis=-1
        )
    return values / scales(rows, weights)


def compiled_of(name, weighted):
    rows = PROBLEMS[name]
    wanted = {"train"} | {t[2].get("on", "train") for *terms, _ in rows for t in terms}
    populations = {}
    for on in (on for on in SIZES if on in wanted):
        own = on == NAMES
        populations[on] = rb.Population(
            np.zeros((own.sum(), 1)),
            DATA["y"][own],
            columns={c: DATA[c][own] for c in ("sex", "race", "live")},
            weights=WEIGHTS[own] if weighted else None,
        )
    expressions = [
        sum((c * getattr(rb, kind)(**words) for c, kind, words in terms), start=rb.Expression())
        + constant
        for *terms, constant in rows
    ]
    problem = rb.Problem(expressions[0], [e <= 0 for e in expressions[1:]])
    return rb.compile(problem, **populations), np.isin(NAMES, list(populations))


def spy(kind, *arguments):
    """A player of this kind, and the list of all violations that it sees."""
    shown = []

    class Watched(kind):
        def step(self, multipliers, violations):
            shown.append(np.asarray(violations).copy())
            return super().step(multipliers, violations)

    return Watched(*arguments), shown


def started(game, scores, weights=None):
    """The state before the first round, with given thresholds and multipliers."""
    state = game.start(scores)
    at = [[THRESHOLDS[name] for name in game.compiled.learnable]] * game.settings
    state = replace(state, thresholds=as_like(np.array(at), game.example))
    if weights is None:
        return state
    own = as_like(weights, state.multipliers.weights)
    return replace(state, multipliers=replace(state.multipliers, weights=own))


def play_round(game, state, scores, batch):
    """A round in arrays of the game's own kind."""
    return game.round(state, as_like(scores, game.example), batch)


def expected_round(name, weights, scores, multipliers, loss, proxy):
    """The reference's gradients by scores (N,) and by learnable thresholds, for one setting."""
    rows = PROBLEMS[name]
    ways = STEP * 1j * np.eye(N + len(THRESHOLDS))  # a step along one number at a time
    at = {key: value + ways[:, [N + i]] for i, (key, value) in enumerate(THRESHOLDS.items())}
    proxies = [PROXY[loss]] + [PROXY[proxy]] * (len(rows) - 1)
    slopes = (relaxed(rows, weights, scores + ways[:, :N], at, proxies) @ multipliers).imag / STEP
    return slopes[:N], dict(zip(THRESHOLDS, slopes[N:], strict=True))


# --- the gradient --------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["dense", "bits", "torch"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_curvature_is_how_the_gradient_bends(name, weighted, layout, monkeypatch):
    compiled, rows = compiled_of(name, weighted)
    game = game_with(layout, monkeypatch, compiled, settings=3, precision="float64")
    state = started(game, SCORES[:, rows], MIXED[:, : len(PROBLEMS[name])])
    batch, h = game.batch(None), 1e-5
    higher, lower = (
        np.asarray(play_round(game, state, SCORES[:, rows] + step, batch)[0]) for step in (h, -h)
    )
    curvature = np.asarray(game.curvature(state, as_like(SCORES[:, rows], game.example), batch))
    np.testing.assert_allclose(curvature, (higher - lower) / (2 * h), atol=1e-9)
    assert (curvature > 0).all()  # even for rows that no rate counts


@pytest.mark.parametrize(("loss", "proxy"), [("logistic", "sigmoid"), ("hinge", "logistic")])
def test_the_objective_and_the_constraints_bend_by_their_own_proxies(loss, proxy):
    compiled, rows = compiled_of("groups that overlap", False)
    multipliers, scores = MIXED[0, :4], SCORES[0, rows]

    def curvature(loss, proxy, weights):
        game = rb.Game(compiled, rules=rb.Rules(loss=loss, proxy=proxy), precision="float64")
        return game.curvature(started(game, scores, weights[None]), scores, game.batch(None))

    objective = multipliers * [1, 0, 0, 0]
    parts = curvature(loss, loss, objective), curvature(proxy, proxy, multipliers - objective)
    np.testing.assert_allclose(curvature(loss, proxy, multipliers), sum(parts), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_in_nats_the_gradient_of_the_error_is_that_of_logistic_regression(weighted):
    own = NAMES == "train"
    weights = WEIGHTS[own] if weighted else None
    people = rb.Population(np.zeros((own.sum(), 1)), DATA["y"][own], weights=weights)
    game = rb.Game(rb.compile(rb.Problem(rb.error_rate(), []), people), precision="float64")
    scores = SCORES[0, own]
    state, batch = game.start(scores), game.batch(None)
    yes, each = 1 / (1 + np.exp(-scores)), 1.0 if weights is None else weights
    gradient, _ = game.round(state, scores, batch)
    np.testing.assert_allclose(game.nats * gradient, each * (yes - DATA["y"][own]), atol=1e-12)
    curvature = game.curvature(state, scores, batch)
    np.testing.assert_allclose(game.nats * curvature, each * yes * (1 - yes), atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gradient_is_that_of_the_loss_as_written_down(name, weighted, layout, monkeypatch):
    compiled, rows = compiled_of(name, weighted)
    game = game_with(layout, monkeypatch, compiled, settings=3)
    multipliers = MIXED[:, : len(PROBLEMS[name])]
    state = started(game, SCORES[:, rows], multipliers)
    gradient, after = play_round(game, state, SCORES[:, rows], game.batch(None))
    assert gradient.shape == (3, rows.sum())
    weights = WEIGHTS if weighted else np.ones(N)
    for k in range(3):
        by_score, by_threshold = expected_round(
            name, weights, SCORES[k], multipliers[k], "logistic", "logistic"
        )
        np.testing.assert_allclose(gradient[k], by_score[rows], rtol=2e-5, atol=2e-7)
        for j, key in enumerate(compiled.learnable):
            moved = after.threshold_moments[0][k, j] / 0.1  # Adam's first moment after one step
            np.testing.assert_allclose(moved, by_threshold[key], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss", PROXY)
@pytest.mark.parametrize("proxy", PROXY)
@pytest.mark.parametrize("name", ["groups that overlap", "thresholds"])
def test_loss_and_proxy_may_differ(name, proxy, loss):
    compiled, rows = compiled_of(name, weighted=True)
    game = rb.Game(compiled, rules=rb.Rules(loss=loss, proxy=proxy))
    multipliers = MIXED[:1, : len(PROBLEMS[name])]
    gradient, _ = game.round(
        started(game, SCORES[0][rows], multipliers), SCORES[0][rows], game.batch(None)
    )
    expected, _ = expected_round(name, WEIGHTS, SCORES[0], multipliers[0], loss, proxy)
    np.testing.assert_allclose(gradient, expected[rows], rtol=2e-5, atol=2e-7)


def epoch(compiled, batches, seed=0):
    """The rows of each batch of one epoch, with every population spread evenly."""
    rng = np.random.default_rng(seed)
    parts = [
        np.split(rng.permutation(np.arange(w.start, w.stop)), batches) for w in compiled.rows.values()
    ]
    return [np.concatenate(own) for own in zip(*parts, strict=True)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_minibatches_average_to_the_whole(name, layout, monkeypatch):
    """Gradients always, and violations with unbiased estimates, are exact over an epoch."""
    compiled, rows = compiled_of(name, weighted=True)
    player, shown = spy(rb.ExternalRegret)
    game = game_with(layout, monkeypatch, compiled, player, rules=rb.Rules(estimate="unbiased"))
    scores = SCORES[0][rows]
    state = started(game, scores, MIXED[:1, : len(PROBLEMS[name])])
    whole, _ = play_round(game, state, scores, game.batch(None))
    everyone = shown.pop()
    total = np.zeros(rows.sum())
    batches = epoch(compiled, 12)
    for own in batches:
        gradient, _ = play_round(game, state, scores[own], game.batch(own))
        total[own] += np.asarray(gradient)
    np.testing.assert_allclose(total / len(batches), whole, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.mean(shown, axis=0), everyone, atol=2e-6)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("estimate", ["running", "unbiased"])
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "dense"])
def test_every_layout_plays_the_same_game(name, layout, estimate, monkeypatch):
    """Twelve rounds on batches, each layout against the default one, including thresholds."""
    compiled, rows = compiled_of(name, weighted=True)
    results = {}
    for each in ("dense", layout):
        game = game_with(
            each,
            monkeypatch,
            compiled,
            rb.SwapRegret(0.3, "sgd"),
            settings=3,
            rules=rb.Rules(estimate=estimate),
        )
        state, gradients = started(game, SCORES[:, rows]), []
        for own in epoch(compiled, 12):
            gradient, state = play_round(game, state, SCORES[:, rows][:, own], game.batch(own))
            gradients.append(np.asarray(gradient))
        results[each] = (
            np.array(gradients),
            np.asarray(state.multipliers.weights),
            np.asarray(state.thresholds),
        )
    for ours, theirs in zip(*results.values(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_settings_side_by_side_equal_each_alone(name):
    compiled, rows = compiled_of(name, weighted=False)
    scores = SCORES[:, rows]
    multipliers = MIXED[:, : len(PROBLEMS[name])]
    together = rb.Game(compiled, settings=3)
    alone = rb.Game(compiled)
    batch = epoch(compiled, 3)[0]
    gradients, state = together.round(
        started(together, scores, multipliers), scores[:, batch], together.batch(batch)
    )
    for k in range(3):
        one, own = alone.round(
            started(alone, scores[k], multipliers[k : k + 1]), scores[k, batch], alone.batch(batch)
        )
        np.testing.assert_allclose(gradients[k], one, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(state.multipliers.weights[k], own.multipliers.weights[0], rtol=1e-6)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("shape", ["(b,)", "(1, b)"])
def test_tensors_in_tensors_out(shape, device, precision):
    compiled, rows = compiled_of("one group", weighted=False)
    dtype = getattr(torch, precision)
    scores = SCORES[0][rows] if shape == "(b,)" else SCORES[:1, rows]
    reference = rb.Game(compiled)
    expected, _ = reference.round(reference.start(scores), scores, reference.batch(None))
    game, given = rb.Game(compiled, device=device), torch.tensor(scores, dtype=dtype)
    gradient, _ = game.round(game.start(given), given, game.batch(None))
    assert isinstance(gradient, torch.Tensor)
    assert gradient.dtype == dtype
    assert gradient.shape == given.shape
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_arrays_in_arrays_out(device, dtype):
    if device is not None:
        pytest.importorskip("torch")
    compiled, rows = compiled_of("one group", weighted=False)
    game, scores = rb.Game(compiled, device=device), SCORES[0][rows].astype(dtype)
    gradient, _ = game.round(game.start(scores), scores, game.batch(None))
    assert isinstance(gradient, np.ndarray)
    assert (gradient.dtype, gradient.shape) == (scores.dtype, scores.shape)


def test_a_loop_of_ones_own_with_torch():
    """The docstring's loop: backward with the game's gradient is backward through the loss."""
    compiled, rows = compiled_of("one group", weighted=False)
    X = torch.tensor(_features(rows), dtype=torch.double)
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1).double()
    game = rb.Game(compiled)
    state = started(game, model(X).detach()[:, 0], MIXED[:1, :2])
    scores = model(X)[:, 0]
    gradient, _ = game.round(state, scores.detach(), game.batch(None))
    scores.backward(gradient)
    full = np.zeros(N)
    full[rows] = scores.detach()
    by_scores, _ = expected_round("one group", np.ones(N), full, MIXED[0, :2], "logistic", "logistic")
    np.testing.assert_allclose(model.weight.grad[0], by_scores[rows] @ X.numpy(), rtol=1e-5)


def _features(rows):
    return np.column_stack([DATA["y"] - 0.5, DATA["sex"] == "F"])[rows].astype(float)


# --- what the λ-player sees ----------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("estimate", ["running", "unbiased"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_full_batch_shows_the_exact_violations(name, weighted, estimate, layout, monkeypatch):
    compiled, rows = compiled_of(name, weighted)
    player, shown = spy(rb.SwapRegret)
    game = game_with(
        layout, monkeypatch, compiled, player, settings=3, rules=rb.Rules(estimate=estimate)
    )
    # It starts from other scores than it sees, so that nothing is exact only because it does not move.
    state = started(game, SCORES[::-1, rows])
    play_round(game, state, SCORES[:, rows], game.batch(None))
    _, violations = compiled.evaluate(SCORES[:, rows], {k: [v] * 3 for k, v in THRESHOLDS.items()})
    np.testing.assert_allclose(shown[0], violations / compiled.scale[1:], atol=1e-6)
    weights = WEIGHTS if weighted else np.ones(N)
    np.testing.assert_array_equal(compiled.scale, scales(PROBLEMS[name], weights))
    # And `evaluate` agrees with the definition of the rates.
    parts, offset = coefficients(PROBLEMS[name], weights)
    for k in range(3):
        by_hand = offset + sum(c @ (SCORES[k] >= THRESHOLDS.get(at, at)) for at, c in parts.items())
        np.testing.assert_allclose(violations[k], by_hand[1:], atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("proxy", PROXY)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_lagrangian_is_shown_the_proxies(name, proxy, layout, monkeypatch):
    compiled, rows = compiled_of(name, weighted=True)
    player, shown = spy(rb.Lagrangian)
    game = game_with(layout, monkeypatch, compiled, player, rules=rb.Rules(proxy=proxy))
    state = started(game, SCORES[1][rows])
    play_round(game, state, SCORES[0][rows], game.batch(None))
    problem = PROBLEMS[name]
    expected = relaxed(problem, WEIGHTS, SCORES[0], THRESHOLDS, [PROXY[proxy]] * len(problem))
    np.testing.assert_allclose(shown[0][0], expected[1:], rtol=1e-5, atol=1e-5)


RARE = np.arange(8000) % 80 == 0  # 1.25% of the rows


def rare_game(estimate):
    """A game on 8,000 rows with a floor on a rare group's positive rate; nine tenths of it get a yes."""
    group = np.where(RARE, "rare", "other")
    people = rb.Population(np.zeros((8000, 1)), np.arange(8000) % 2 == 0, columns={"group": group})
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(group="rare") >= 0.95])
    player, shown = spy(rb.ExternalRegret)
    scores = np.where(np.arange(8000) // 80 % 10 == 0, -1.0, 1.0)
    game = rb.Game(rb.compile(problem, people), player, rules=rb.Rules(estimate=estimate))
    return game, scores, shown


def test_a_group_absent_from_a_batch_leaves_its_mean_alone():
    game, scores, shown = rare_game("running")
    state = game.start(scores)
    without = np.flatnonzero(~RARE)[:128]
    for flip in (1, -1, 1):
        _, state = game.round(state, flip * scores[without], game.batch(without))
    np.testing.assert_allclose(shown, 0.05, atol=1e-6)
    assert np.isfinite(state.multipliers.weights).all()


@pytest.mark.parametrize("estimate", ["running", "unbiased"])
def test_rows_without_weight_and_empty_groups_never_divide_by_nothing(estimate):
    people = rb.Population(None, [1, 0, 1, 0], columns={"g": ["a", "a", "b", "b"]}, weights=[1, 1, 2, 0])
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(g="b") <= 0.5])
    player, shown = spy(rb.Lagrangian)
    game = rb.Game(rb.compile(problem, people), player, rules=rb.Rules(estimate=estimate))
    state = game.start(np.ones(4))
    for rows in ([3], [0], [3, 3], [2]):
        gradient, state = game.round(state, np.ones(len(rows)), game.batch(np.array(rows)))
        assert np.isfinite(gradient).all()
    assert np.isfinite(shown).all()


def test_running_means_of_a_rare_group_are_far_steadier_than_unbiased_estimates():
    spread, centre = {}, {}
    for estimate in ("running", "unbiased"):
        game, scores, shown = rare_game(estimate)
        state, rng = game.start(scores), np.random.default_rng(0)
        for _ in range(40):
            order = rng.permutation(8000)
            for own in np.split(order[: 62 * 128], 62):
                _, state = game.round(state, scores[own], game.batch(own))
        spread[estimate], centre[estimate] = np.std(shown), np.mean(shown)
    assert spread["unbiased"] > 0.6  # a recall of .9 ± .7 says nothing
    assert spread["running"] < 0.06
    assert centre["running"] == pytest.approx(0.05, abs=0.01)
    assert centre["unbiased"] == pytest.approx(0.05, abs=0.05)


def test_running_means_follow_when_the_model_moves():
    game, scores, shown = rare_game("running")
    state, rng = game.start(scores), np.random.default_rng(0)
    for _ in range(4):
        for own in np.split(rng.permutation(8000)[: 62 * 128], 62):
            _, state = game.round(state, -np.ones(128), game.batch(own))
    assert shown[0][0, 0] < 0.2
    assert shown[-1][0, 0] == pytest.approx(0.95, abs=0.02)


# --- the rest ------------------------------------------------------------------------------------


WATCHING = {
    "rates": (rb.SwapRegret, "hinge"), "2-norm": (rb.ExternalRegret, "hinge"),
    "proxies": (rb.Lagrangian, "sigmoid"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("estimate", ["running", "unbiased"])
@pytest.mark.parametrize("watching", WATCHING)
def test_the_bound_holds_for_any_scores_and_batches(name, estimate, watching):
    """Batches of one row, of one group only, with repeats, and of all rows."""
    compiled, rows = compiled_of(name, weighted=True)
    kind, proxy = WATCHING[watching]
    player, shown = spy(kind)
    game = rb.Game(compiled, player, rules=rb.Rules(estimate=estimate, proxy=proxy), precision="float64")
    rng, n = np.random.default_rng(3), rows.sum()
    state = started(game, np.zeros(n))
    for _ in range(400):
        scores = rng.normal(scale=rng.choice([0.1, 3, 1e4]), size=n) + rng.choice([-1e3, 0, 0, 1e3])
        cell = np.flatnonzero(compiled.cells == rng.choice(compiled.cells))
        drawn = [cell, rng.choice(cell, 1), rng.choice(n, rng.integers(1, 40)), np.arange(n)]
        own = drawn[rng.integers(4)]
        _, state = game.round(state, scores[own], game.batch(own))
    sizes = abs(np.array(shown)[:, 0])
    largest = sizes.max() if kind is rb.SwapRegret else np.linalg.norm(sizes, axis=1).max()
    assert largest <= game.bound() * (1 + 1e-12)


def test_the_bound_is_the_largest_violation_there_is():
    """A promise on 12 positives of 5,000 rows: a batch of one of them implies that every row is one."""
    y = np.arange(5000) < 12
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.recall() >= 0.9]), rb.Population(None, y))
    assert rb.Game(compiled).bound() == pytest.approx(0.9)  # from .9 - 1 to .9 - 0
    game = rb.Game(compiled, rules=rb.Rules(estimate="unbiased"))
    assert game.bound() == pytest.approx(5000 / 12 - 0.9)
    player, shown = spy(rb.SwapRegret)
    game = rb.Game(compiled, player, rules=rb.Rules(estimate="unbiased"))
    game.round(game.start(np.ones(5000)), np.ones(1), game.batch(np.array([0])))
    assert abs(shown[0]).max() == pytest.approx(game.bound(), rel=1e-5)


@pytest.mark.parametrize("proxy", ["hinge", "logistic"])
def test_a_proxy_without_bound_has_no_step_size_of_the_theorem(proxy):
    compiled, rows = compiled_of("one group", weighted=False)
    scores = np.zeros(rows.sum())
    game = rb.Game(compiled, rb.Lagrangian("theorem", "sgd"), rules=rb.Rules(proxy=proxy))
    with pytest.raises(ValueError, match=f"Lagrangian watches the {proxy} proxy.*give a number"):
        game.start(scores, rounds=10)
    rb.Game(compiled, rb.Lagrangian(0.01), rules=rb.Rules(proxy=proxy)).start(scores)
    rb.Game(compiled, rb.Lagrangian("theorem", "sgd"), rules=rb.Rules(proxy="sigmoid")).start(
        scores, rounds=10
    )
    rb.Game(compiled, rb.SwapRegret("theorem", "sgd"), rules=rb.Rules(proxy=proxy)).start(
        scores, rounds=10
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "square"}, "loss must be one of"),
        ({"proxy": "step"}, "proxy must be one of"),
        ({"estimate": "exact"}, "one of running, unbiased"),
        ({"window": 0}, "window"),
    ],
)
def test_bad_options_raise(options, words):
    compiled, _ = compiled_of("one group", weighted=False)
    with pytest.raises(ValueError, match=words):
        rb.Game(compiled, rules=rb.Rules(**options))
