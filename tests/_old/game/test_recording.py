"""Rounds in a user's own loop equal `Game.round`, whether they are recorded or not."""

import numpy as np
import pytest

import ratebound._old as rb

from .layouts import LAYOUTS, game_with

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3)).astype(np.float32)
Y = X[:, 0] + 0.5 * rng.normal(size=600) > 0
GROUPS = {f"g{i}": rng.random(600) < 0.3 for i in range(6)}
PROMISES = [rb.recall(**{name: True}) >= 0.95 * rb.recall() for name in GROUPS]
PROBLEM = rb.Problem(rb.error_rate(), [*PROMISES, rb.roc_auc(bins=3) >= 0.9])
PEOPLE = rb.Population(X, Y, columns=GROUPS, weights=rng.random(600))
COMPILED = rb.compile(PROBLEM, PEOPLE)
LAID_OUT = [(name, rb.SwapRegret(0.05)) for name in LAYOUTS if "torch" in name]
PLAYED = [("torch", player) for player in (rb.ExternalRegret(0.05, radius=0.5), rb.Lagrangian(0.05))]
SIZES = [100, 100, 100, 100, 40, 100, 40, 40, 100, 40, 100, 40]  # the last of a pass is smaller


def batches(sizes=SIZES):
    random = np.random.default_rng(1)
    for size in sizes:
        rows = random.permutation(600)[:size]
        yield rows, random.normal(size=size).astype(np.float32)


def assert_same(computed, expected, close):
    for name in ("weights", "state", "steps"):
        one, other = (getattr(each.multipliers, name) for each in (computed, expected))
        np.testing.assert_allclose(one, other, **close)
    np.testing.assert_allclose(computed.thresholds, expected.thresholds, **close)
    for one, other in zip(computed.means, expected.means, strict=True):
        np.testing.assert_allclose(one.means, other.means, **close)


def assert_rounds_are_those_of_the_game(game, placed, close):
    state = game.start(np.zeros(600))
    rounds = game.recorded(state)
    for rows, scores in batches():
        rows, scores = placed(rows), placed(scores)
        expected, state = game.round(state, scores, game.batch(rows))
        np.testing.assert_allclose(rounds(scores, rows), expected, **close)
        assert_same(rounds.state, state, close)
    return rounds


EXACTLY = {"rtol": 0, "atol": 0}
NEARLY = {"rtol": 1e-6, "atol": 1e-8}  # steps are counted on the device, and their powers computed there


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_a_gpu_they_are_played(layout, monkeypatch):
    game = game_with(layout, monkeypatch, COMPILED, rb.SwapRegret(0.05))
    assert_rounds_are_those_of_the_game(game, lambda values: values, EXACTLY)


@pytest.mark.parametrize(("layout", "player"), [*LAID_OUT, *PLAYED])
def test_on_a_gpu_they_are_replayed(layout, player, monkeypatch):
    torch = pytest.importorskip("torch")
    from .taping import tape_rounds

    tapes = tape_rounds(monkeypatch)
    game = game_with(layout, monkeypatch, COMPILED, player)
    rounds = assert_rounds_are_those_of_the_game(game, torch.as_tensor, NEARLY)
    assert len(tapes) == 2  # one for each size
    early = rounds.state
    before = early.multipliers.weights.clone()
    for rows, scores in batches():
        rounds(torch.as_tensor(scores), rows)  # and rows may be on the CPU
    np.testing.assert_array_equal(early.multipliers.weights, before)
    assert not np.array_equal(rounds.state.multipliers.weights, before)
    assert len(tapes) == 2


@pytest.mark.parametrize("device", [None, "cpu"])
def test_scores_may_come_out_of_autocast(device):
    """Half of the digits are lost; the game computes with the rest as usual."""
    torch = pytest.importorskip("torch")
    game = rb.Game(COMPILED, rb.ExternalRegret(0.05), device=device)
    state = game.start(np.zeros(600))
    rounds = game.recorded(state)
    for rows, scores in batches([100] * 3):
        half = torch.as_tensor(scores).bfloat16()
        expected, state = game.round(state, half.float(), game.batch(rows))
        with torch.autocast("cpu", torch.bfloat16):
            gradient = rounds(half, rows)
        assert gradient.dtype == torch.bfloat16
        torch.testing.assert_close(gradient, expected.bfloat16(), rtol=0, atol=0)
    assert_same(rounds.state, state, EXACTLY)


def test_only_some_shapes_are_recorded(monkeypatch):
    torch = pytest.importorskip("torch")
    from .taping import tape_rounds

    tapes = tape_rounds(monkeypatch)
    game = rb.Game(COMPILED, rb.ExternalRegret(0.05), device="cpu")
    state = game.start(np.zeros(600))
    rounds = game.recorded(state)
    for rows, scores in batches([size for size in range(10, 20) for _ in range(5)]):
        expected, state = game.round(state, torch.as_tensor(scores), game.batch(rows, 3.0))
        gradient = rounds(torch.as_tensor(scores), rows, 3.0)
        np.testing.assert_allclose(gradient, expected, **NEARLY)
    assert_same(rounds.state, state, NEARLY)
    assert len(tapes) == 8


def test_shares_of_several_populations_are_found_without_waiting():
    torch = pytest.importorskip("torch")
    from .taping import Tape

    others = {"steering": PEOPLE.only(np.arange(50)), "pool": PEOPLE.only(np.arange(100, 400))}
    problem = rb.Problem(rb.error_rate(), [rb.recall(on="steering") >= 0.9, rb.recall(on="pool") >= 0.8])
    compiled = rb.compile(problem, PEOPLE, **others)
    rows = np.random.default_rng(2).permutation(950)[:200]
    of = np.repeat([0, 1, 2], [600, 50, 300])[rows]
    expected = (np.array([600, 50, 300]) / np.bincount(of))[of]
    for device in (None, "cpu"):
        game = rb.Game(compiled, device=device)
        index = rows if device is None else torch.as_tensor(rows)
        np.testing.assert_allclose(game.batch(index).share, expected, rtol=1e-6)
        np.testing.assert_allclose(game.batch(rows[of == 0]).share[0], 600 / (of == 0).sum(), rtol=1e-6)
    with Tape():
        game.batch(index)
    assert rb.Game(COMPILED, device="cpu").batch(torch.arange(100)).share == 6.0


@pytest.mark.parametrize("settings", [1, 2])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_rounds_of_play_are_replayed_with_the_model_in_them(precision, settings, monkeypatch):
    torch = pytest.importorskip("torch")
    from ratebound._old.game.turns import Recorded, Taken

    from .taping import tape_rounds

    tapes, ends = tape_rounds(monkeypatch), []
    for turns_of in (Taken, Recorded):
        learner = rb.MLP((4,), [0.01] * settings, precision=precision)
        fit = learner.start(COMPILED, settings, 0)
        game = rb.Game(COMPILED, rb.SwapRegret(0.05), settings=settings, device="cpu")
        draws = iter([(torch.as_tensor(rows), 6.0) for rows, _ in batches([100] * 12)])
        turns = turns_of(game, fit, game.start(fit.all_scores()), draws, 0)
        for _ in range(12):
            turns.step()
        ends.append((fit.parameters(), turns.weighed()[0]))
    assert len(tapes) == 1
    for one, other in zip(*ends, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_what_is_no_state_is_said():
    people = rb.Population(np.eye(4), [0, 1, 0, 1])
    game = rb.Game(rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.5]), people))
    state = game.start(np.zeros(4))
    with pytest.raises(TypeError, match=r"as game.start\(scores\) gives"):
        game.recorded(np.zeros(4))
    assert (
        game.recorded(state)([-1, 0, 1, 2], [0, 1, 2, 3]).dtype == np.float32
    )  # never rounded to integers
