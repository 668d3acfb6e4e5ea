"""Rounds with a score for each of several classes, against a loss written row by row in PyTorch."""

import math
from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.base.arrays import as_like
from ratebound._old.game.trace import scores_on

from ..extras import torch
from ..small_tables import animals
from .layouts import LAYOUTS, game_with

CLASSES = ("ape", "bee", "cat", "dog")
D, K = len(CLASSES), 3
SIZES = {"train": 90, "pool": 40}
NAMES = np.repeat(list(SIZES), list(SIZES.values()))
N = len(NAMES)
_rng = np.random.default_rng(11)
Y = _rng.choice(D, N, p=[0.1, 0.2, 0.3, 0.4])
SEX = _rng.choice(["F", "M"], N)
LIVE = _rng.choice(D, N)
WEIGHTS = _rng.integers(0, 4, N).astype(float)
AMOUNTS = _rng.choice([0.0, 0.5, 2.0, 3.0], N)
SCORES = _rng.normal(scale=1.5, size=(K, D, N))
MIXED = _rng.dirichlet(np.ones(8), size=K) * 5

# A problem is a table of rows, the objective first: Σ coefficient · rate + constant, wanted <= 0.
F, M = {"sex": "F"}, {"sex": "M"}
ERROR = [(1, "error_rate", {}), 0.1]
PROBLEMS = {
    "floors of recall": [
        ERROR,
        *[[(-1, "recall", {"of": each}), 0.6] for each in CLASSES],
        [(-1, "recall", {"of": "cat", **F}), (0.9, "recall", {"of": "cat"}), 0.0],
    ],
    "what is said": [
        [(1, "error_rate", F), (0.5, "error_rate", M), 0.0],
        [(1, "positive_rate", {"of": "bee", **F}), (-1, "positive_rate", {"of": "bee"}), -0.05],
        [(1, "confusion", {"label": "cat", "predicted": "dog"}), -0.1],
        [(1, "false_positive_rate", {"of": "ape"}), (-0.7, "recall", {"of": "dog", **M}), 0.0],
        [(-1, "positive_rate", {"of": "ape"}), (0.4, "positive_rate", {"of": "dog", **F}), 0.1],
    ],
    "against a model, and populations": [
        ERROR,
        [(1, "churn", {"versus": "live", **F}), -0.2],
        [(-1, "accuracy", {"on": "pool"}), (0.3, "recall", {"of": "bee"}), 0.5],
        [(1, "positive_rate", {"of": "cat", "on": "pool"}), -0.3],
    ],
    "costs": [
        [(1, "cost", {"column": "amount"}), 0.0],
        [(1, "cost", {"label": "cat", "predicted": "dog", "column": "amount"}), -0.1],
        [(1, "cost", {"column": "amount", **F}), (-0.5, "recall", {"of": "cat"}), 0.2],
    ],
    "offsets that are learned": [
        ERROR,
        [(-1, "recall", {"of": "bee", "at": "low"}), (-0.5, "recall", {"of": "cat"}), 0.9],
        [(1, "positive_rate", {"of": "bee", "at": "low"}), -0.3],
        [(-1, "accuracy", {"at": "high", **F}), 0.2],
    ],
}
OFFSETS = {"low": np.array([0.3, -0.2, 0.5]), "high": np.array([-0.4, 0.1, 0.7])}


def row_costs(rows, weights):
    """The contribution of each decision to each row of a problem, {block: (r, D, N)}; constants (r,).

    A block is a threshold, and whether rows count for their amounts: costs are bounded in each apart.
    """
    by_block, constants = {}, np.zeros(len(rows))
    each = np.arange(D)[:, None]
    for r, (*terms, constant) in enumerate(rows):
        constants[r] += constant
        for coefficient, kind, words in terms:
            own = words.get("on", "train") == NAMES
            own = own & (words["sex"] == SEX) if "sex" in words else own
            of = CLASSES.index(words["of"]) if "of" in words else None
            if "label" in words:
                label = CLASSES.index(words["label"]) == Y
                among = own & label if kind == "confusion" else own
                hit = (each == CLASSES.index(words["predicted"])) & label
            else:
                among, hit = {
                    "recall": (own & (of == Y), each == of),
                    "positive_rate": (own, each == of),
                    "false_positive_rate": (own & (of != Y), each == of),
                    "accuracy": (own, each == Y),
                    "error_rate": (own, each != Y),
                    "churn": (own, each != LIVE),
                    "cost": (own, each != Y),
                }[kind]
            share = coefficient / weights[among].sum() * weights * among
            share = share * AMOUNTS if kind == "cost" else share
            block = words.get("at", 0.0), kind == "cost"
            table = by_block.setdefault(block, np.zeros((len(rows), D, N)))
            table[r] += share * hit
    return by_block, constants


def missed(scores, inside, proxy):
    """A proxy of a decision outside the set, for one row's scores (D,), as a PyTorch number."""
    within, every = scores[inside], scores
    if proxy == "logistic":
        return (every.logsumexp(0) - within.logsumexp(0)) / math.log1p(1 / len(within))
    if proxy == "hinge":
        return (1 + scores[~inside].max() - within.max()).clamp(min=0)
    return 1 - scores.softmax(0)[inside].sum()


def relaxed(rows, weights, scores, offsets, proxies):
    """Values (r,) of scores (D, N); a rise in a row's costs is paid for missing the cheaper ones."""
    tables, constants = row_costs(rows, weights)
    values = [torch.tensor(constant) for constant in constants]
    for (at, _), table in tables.items():
        shift = torch.zeros(D, dtype=torch.double) if at == 0.0 else offsets[at]
        for r, i in zip(*np.nonzero(np.ptp(table, axis=1) > 1e-15), strict=True):
            own = table[r, :, i]
            order = np.argsort(own)
            values[r] = values[r] + own[order[0]]
            for cheaper in range(1, D):
                rise = own[order[cheaper]] - own[order[cheaper - 1]]
                if rise > 1e-15:
                    inside = torch.zeros(D, dtype=torch.bool)
                    inside[order[:cheaper]] = True
                    values[r] = values[r] + rise * missed(scores[:, i] - shift, inside, proxies[r])
        alike = np.where(np.ptp(table, axis=1) > 1e-15, 0, table.min(axis=1))
        values = [value + float(own.sum()) for value, own in zip(values, alike, strict=True)]
    return torch.stack(values)


def expected(name, weights, scores, multipliers, loss, proxy, scale=1.0):
    """The reference's values, and gradients by scores (D, N) and by learned offsets.

    `scale` (r,) are the units that rows are played in.
    """
    rows = PROBLEMS[name]
    leaf = torch.tensor(scores, requires_grad=True)
    offsets = {
        key: torch.tensor([0.0, *values], dtype=torch.double, requires_grad=True)
        for key, values in OFFSETS.items()
    }
    values = relaxed(rows, weights, leaf, offsets, [loss] + [proxy] * (len(rows) - 1)) / scale
    (values @ torch.tensor(multipliers)).backward()
    by_offset = {key: own.grad.numpy()[1:] for key, own in offsets.items() if own.grad is not None}
    return values.detach().numpy(), leaf.grad.numpy(), by_offset


def true_values(rows, weights, scores):
    """The exact values (r,) of scores (D, N), ties to the later class."""
    tables, values = row_costs(rows, weights)
    for (at, _), table in tables.items():
        shift = np.zeros(D) if at == 0.0 else np.append(0.0, OFFSETS[at])
        decided = D - 1 - (scores - shift[:, None])[::-1].argmax(axis=0)
        values = values + table[:, decided, np.arange(N)].sum(axis=1)
    return values


def compiled_of(name, weighted):
    rows = PROBLEMS[name]
    wanted = {"train"} | {t[2].get("on", "train") for *terms, _ in rows for t in terms}
    populations = {}
    for on in (on for on in SIZES if on in wanted):
        own = on == NAMES
        populations[on] = rb.Population(
            np.zeros((own.sum(), 1)),
            np.array(CLASSES)[Y[own]],
            columns={"sex": SEX[own], "live": np.array(CLASSES)[LIVE[own]], "amount": AMOUNTS[own]},
            weights=WEIGHTS[own] if weighted else None,
        )
    expressions = [
        sum((c * getattr(rb, kind)(**words) for c, kind, words in terms), start=rb.Expression())
        + constant
        for *terms, constant in rows
    ]
    problem = rb.Problem(expressions[0], [e <= 0 for e in expressions[1:]])
    return rb.compile(problem, **populations), np.isin(NAMES, list(populations))


def started(game, scores, weights=None):
    """The state before the first round, with given offsets and multipliers."""
    at = [np.concatenate([OFFSETS[name] for name in game.compiled.learnable] or [[]])] * game.settings
    state = game.start(scores, thresholds=np.array(at))
    if weights is None:
        return state
    own = as_like(weights, state.multipliers.weights)
    return replace(state, multipliers=replace(state.multipliers, weights=own))


def weights_of(weighted):
    return WEIGHTS if weighted else np.ones(N)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gradient_is_that_of_the_loss_as_written_down(name, weighted, monkeypatch):
    compiled, rows = compiled_of(name, weighted)
    multipliers, units = MIXED[:, : len(PROBLEMS[name])], torch.tensor(compiled.scale)
    reference = [
        expected(name, weights_of(weighted), SCORES[k], multipliers[k], "logistic", "logistic", units)
        for k in range(K)
    ]
    for layout in LAYOUTS:
        with monkeypatch.context() as patch:
            game = game_with(layout, patch, compiled, settings=K)
            state = started(game, SCORES[..., rows], multipliers)
            scores = as_like(SCORES[..., rows], game.example)
            gradient, after = game.round(state, scores, game.batch(None))
        assert tuple(gradient.shape) == (K, D, rows.sum())
        for k, (_, by_score, by_offset) in enumerate(reference):
            np.testing.assert_allclose(gradient[k], by_score[:, rows], rtol=5e-5, atol=5e-7)
            for j, key in enumerate(compiled.learnable):
                own = slice(j * (D - 1), (j + 1) * (D - 1))
                moved = after.threshold_moments[0][k, own] / 0.1  # Adam's first moment after a step
                np.testing.assert_allclose(moved, by_offset[key], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("loss", "proxy"), [("logistic", "sigmoid"), ("hinge", "hinge"), ("sigmoid", "logistic")]
)
@pytest.mark.parametrize("name", ["what is said", "offsets that are learned"])
def test_loss_and_proxy_may_differ(name, loss, proxy):
    compiled, rows = compiled_of(name, weighted=True)
    game = rb.Game(compiled, rules=rb.Rules(loss=loss, proxy=proxy))
    multipliers = MIXED[0, : len(PROBLEMS[name])]
    scores = SCORES[0][:, rows]
    gradient, _ = game.round(started(game, scores, multipliers[None]), scores, game.batch(None))
    _, by_score, _ = expected(name, WEIGHTS, SCORES[0], multipliers, loss, proxy)
    np.testing.assert_allclose(gradient, by_score[:, rows], rtol=5e-5, atol=5e-7)


@pytest.mark.parametrize("estimate", ["running", "unbiased"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_rows_show_the_exact_rates_and_proxies(name, weighted, estimate, monkeypatch):
    compiled, rows = compiled_of(name, weighted)
    problem, scores = PROBLEMS[name], SCORES[..., rows]
    rules = rb.Rules(proxy="sigmoid", loss="sigmoid", estimate=estimate)
    true = [true_values(problem, weights_of(weighted), own) for own in SCORES]
    ones = np.ones(len(problem))
    soft = [expected(name, weights_of(weighted), own, ones, "sigmoid", "sigmoid")[0] for own in SCORES]
    for layout in ("dense", "bits", "torch", "torch, bits"):
        for player, wanted in ((rb.SwapRegret(), true), (rb.Lagrangian(), soft)):
            with monkeypatch.context() as patch:
                game = game_with(layout, patch, compiled, player, settings=K, rules=rules)
                state = started(game, scores)
                seen = game.look(state, as_like(scores, game.example), game.batch(None)).values
            np.testing.assert_allclose(seen, wanted / compiled.scale, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equal_scores_go_to_the_later_class(layout, monkeypatch):
    compiled, rows = compiled_of("what is said", weighted=True)
    scores = np.repeat(np.array([1.0, 3.0, 3.0, 0.0])[:, None], N, axis=1)
    game = game_with(layout, monkeypatch, compiled)
    own = as_like(scores[:, rows], game.example)
    seen = game.look(game.start(own), own, game.batch(None)).values[0]
    wanted = true_values(PROBLEMS["what is said"], WEIGHTS, scores)  # as of class 2
    np.testing.assert_allclose(seen, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layout", ["dense", "bits", "torch"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_minibatches_average_to_the_whole(name, layout, monkeypatch):
    compiled, rows = compiled_of(name, weighted=True)
    game = game_with(layout, monkeypatch, compiled, rules=rb.Rules(estimate="unbiased"))
    scores = as_like(SCORES[0][:, rows], game.example)
    state = started(game, scores, MIXED[:1, : len(PROBLEMS[name])])
    whole, _ = game.round(state, scores, game.batch(None))
    seen = game.look(state, scores, game.batch(None)).values
    random, total, shown = np.random.default_rng(0), np.zeros(whole.shape), []
    parts = [
        np.split(random.permutation(np.arange(w.start, w.stop)), 10) for w in compiled.rows.values()
    ]
    for own in (np.concatenate(each) for each in zip(*parts, strict=True)):
        gradient, _ = game.round(state, scores[:, own], game.batch(own))
        total[:, own] += np.asarray(gradient)
        shown.append(np.asarray(game.look(state, scores[:, own], game.batch(own)).values))
    np.testing.assert_allclose(total / 10, whole, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.mean(shown, axis=0), seen, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("estimate", ["running", "unbiased"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bound_holds_for_any_scores_and_batch(name, estimate):
    compiled, rows = compiled_of(name, weighted=True)
    for player in (rb.ExternalRegret("theorem", "sgd"), rb.Lagrangian("theorem", "sgd")):
        rules = rb.Rules(proxy="sigmoid", estimate=estimate)
        game = rb.Game(compiled, player, rules=rules)
        bound, random = game.bound(), np.random.default_rng(1)
        for scale in (0.1, 3.0, 100.0):
            scores = scale * random.normal(size=(D, rows.sum()))
            state = game.start(scores, rounds=10)
            for own in (None, *random.integers(0, rows.sum(), size=(20, 6))):
                part = scores if own is None else scores[:, own]
                shown = game.look(state, part, game.batch(own)).values[0, 1:]
                assert player.bound(np.abs(shown)) <= bound * (1 + 1e-5)


def test_the_curvature_is_positive_and_that_of_the_softmax_for_the_error():
    compiled, rows = compiled_of("floors of recall", weighted=False)
    game = rb.Game(compiled, precision="float64")
    objective = np.eye(1, len(PROBLEMS["floors of recall"]))
    scores = SCORES[0][:, rows]
    state, batch = started(game, scores, objective), game.batch(None)
    odds = np.exp(scores) / np.exp(scores).sum(axis=0)
    curvature = game.nats * game.curvature(state, scores, batch)
    np.testing.assert_allclose(curvature, 2 * odds * (1 - odds), rtol=1e-9)
    gradient = game.nats * game.round(state, scores, batch)[0]
    np.testing.assert_allclose(gradient, odds - (np.arange(D)[:, None] == Y[rows]), atol=1e-12)


def test_a_model_with_one_score_a_row_is_told_how_many_there_must_be():
    compiled, rows = compiled_of("floors of recall", weighted=False)
    game = rb.Game(compiled)
    with pytest.raises(ValueError, match=r"4 classes need a score for each .* gave \(1, 90\)"):
        game.start(SCORES[:1, 0][:, rows])
    state = game.start(SCORES[0][:, rows])
    with pytest.raises(ValueError, match=r"4 classes need a score for each .* gave \(1, 90\)"):
        game.round(state, SCORES[:1, 0][:, rows], game.batch(None))


# --- whole games ---------------------------------------------------------------------------------


def drawn(seed):
    table = animals(200, seed, classes=CLASSES, chances=[0.1, 0.2, 0.3, 0.4], apart=1.0)
    return table.population(weighted=True)


FLOORS = [rb.recall(of="ape") >= 0.5, rb.recall(of="cat", sex="F") >= 0.9 * rb.recall(of="cat")]
LEARNED = [rb.recall(of="bee", at="low") >= 0.6, rb.positive_rate(of="bee", at="low") <= 0.4]


@pytest.mark.parametrize("player", [rb.SwapRegret(), rb.ExternalRegret(), rb.Lagrangian()])
@pytest.mark.parametrize("promises", [FLOORS, LEARNED], ids=["floors", "offsets"])
def test_what_a_trace_keeps_is_exact(promises, player):
    compiled = rb.compile(rb.Problem(rb.error_rate(), promises), drawn(0))
    trace = rb.play(compiled, rb.Linear((0.05, 0.2)), player=player, epochs=8, batch_size=50)
    scores = scores_on(compiled, trace.scorer, trace.parameters)
    objectives, violations = compiled.evaluate(scores, trace.thresholds)
    np.testing.assert_allclose(trace.objectives, objectives)
    np.testing.assert_allclose(trace.violations, violations)
    for learned in trace.thresholds.values():
        assert learned.shape == (len(trace), D - 1)
        assert learned[-1].all()
