"""Whole games: traces are checked against scores computed by hand from their parameters.

Also what can go wrong: interruptions, diverging settings, rows that are not numbers.
"""

from functools import cache

import numpy as np
import pytest

import ratebound._old as rb

from ..extras import torch
from ..small_tables import people

TABLE = people(400, seed=5, slopes=(1.0, 0.8, -0.5), noise=0.7, share=0.3, shift=(0, 1, 0))
X, Y, _ = TABLE
PROBLEM = rb.Problem(
    rb.error_rate(), [rb.recall(group="b") >= 0.98 * rb.recall(), rb.positive_rate() <= 0.45]
)
TRAIN, VALIDATION = (
    rb.compile(PROBLEM, TABLE.population(rows)) for rows in (slice(0, 300), slice(300, 400))
)


@cache  # always the same module, so that its first parameters are the same
def mlp():
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def small():
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))


def forgetful():
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))


LEARNERS = {
    "linear": lambda rate=0.05: rb.Linear(rate),
    "module": lambda rate=0.05: rb.Torch(mlp(), rate),
    "factory": lambda rate=0.05: rb.Torch(small, rate),
    "dropout": lambda rate=0.05: rb.Torch(forgetful, rate),
}
PLAYERS = {"swap": rb.SwapRegret, "external": rb.ExternalRegret, "lagrangian": rb.Lagrangian}


def same(one, other):
    """Whether two traces are equal to the last bit."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("objectives", "violations", "multipliers", "parameters", "setting", "round")
    )


# --- what a trace says ---------------------------------------------------------------------------


def linear_scores(flat, rows):
    return rows @ flat[:3] + flat[3]


def mlp_scores(flat, rows):
    W, b, v, c = flat[:12].reshape(4, 3), flat[12:16], flat[16:20], flat[20]
    return np.tanh(rows @ W.T + b) @ v + c


@pytest.mark.parametrize("batch_size", [None, 64])
@pytest.mark.parametrize(("name", "scores"), [("linear", linear_scores), ("module", mlp_scores)])
@pytest.mark.parametrize("player", PLAYERS)
def test_a_trace_holds_exact_values_on_every_population(name, scores, player, batch_size):
    trace = rb.play(
        TRAIN,
        LEARNERS[name]((0.01, 0.1)),
        player=PLAYERS[player](),
        rounds=40,
        batch_size=batch_size,
        keep=rb.Keep(5),
        watch={"validation": VALIDATION},
    )
    assert len(trace) == 16
    assert trace.settings == [0, 1]
    assert trace.averaging == ("by objective" if player == "swap" else "alike")
    for i, flat in enumerate(trace.parameters.astype(float)):
        own = scores(flat, X)
        objective, violations = TRAIN.evaluate(own[:300])
        assert trace.objectives[i] == pytest.approx(objective, abs=1e-12)
        np.testing.assert_allclose(trace.violations[i], violations, atol=1e-12)
        objective, violations = VALIDATION.evaluate(own[300:])
        assert trace.watched["validation"].objectives[i] == pytest.approx(objective, abs=1e-12)
        np.testing.assert_allclose(trace.watched["validation"].violations[i], violations, atol=1e-12)
        np.testing.assert_allclose(trace.scorer.scores(trace.parameters, X)[i, 0], own, atol=1e-4)


def test_learned_thresholds_are_kept_with_their_iterates():
    problem = rb.Problem(rb.error_rate(), [rb.roc_auc(bins=4) >= 0.9])
    trace = rb.play(
        rb.compile(problem, TABLE.population()), rb.Linear(0.05), rounds=60, keep=rb.Keep(20)
    )
    assert len(trace.thresholds) == 4
    at = np.array([trace.thresholds[name][-1, 0] for name in trace.thresholds])
    score = linear_scores(trace.parameters[-1].astype(float), X)
    yes = score >= at[:, None].astype(float)
    np.testing.assert_allclose(trace.violations[-1, 0], 0.9 - yes[:, Y].mean(), atol=1e-12)
    np.testing.assert_allclose(
        trace.violations[-1, 1:], yes[:, ~Y].mean(axis=1) - [1 / 8, 3 / 8, 5 / 8, 7 / 8], atol=1e-12
    )


@pytest.mark.parametrize("player", PLAYERS)
def test_without_constraints_every_player_trains_the_same_model(player):
    compiled = rb.compile(rb.Problem(rb.error_rate()), TABLE.population())
    trace = rb.play(compiled, rb.Linear(0.1), player=PLAYERS[player](), rounds=100, keep=rb.Keep(100))
    assert trace.violations.shape == (1, 0)
    np.testing.assert_allclose(trace.multipliers, 1)
    reference = rb.play(compiled, rb.Linear(0.1), rounds=100, keep=rb.Keep(100))
    np.testing.assert_allclose(trace.parameters, reference.parameters, rtol=1e-5)
    assert rb.shrink(trace).objectives["train"] < 0.2


# --- seeds and settings --------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("batch_size", [None, 64])
def test_the_same_seed_gives_the_same_bits(name, batch_size):
    def once(seed, elsewhere):
        torch.manual_seed(elsewhere)  # earlier random draws do not matter
        return rb.play(
            TRAIN, LEARNERS[name](), rounds=30, batch_size=batch_size, keep=rb.Keep(10), seed=seed
        )

    assert same(once(3, 0), once(3, 1))
    if batch_size is not None:
        assert not same(once(3, 0), once(4, 0))


def test_training_leaves_the_random_numbers_of_others_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    rb.play(TRAIN, LEARNERS["factory"](), rounds=3)
    torch.testing.assert_close(torch.rand(3), expected)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("name", ["linear", "module"])
def test_settings_side_by_side_equal_each_alone(name, player, optimizer):
    rates, own = (0.003, 0.02, 0.1), (0.2, 0.01, 0.05)
    make = rb.Linear if name == "linear" else lambda *arguments: rb.Torch(mlp(), *arguments)
    options = {"rounds": 40, "batch_size": 100, "keep": rb.Keep(10), "seed": 2}
    together = rb.play(TRAIN, make(rates, optimizer), player=PLAYERS[player](own, optimizer), **options)
    for k in range(3):
        alone = rb.play(
            TRAIN, make(rates[k], optimizer), player=PLAYERS[player](own[k], optimizer), **options
        )
        one_setting = together.of_setting(k)
        np.testing.assert_array_equal(one_setting.round, alone.round)
        np.testing.assert_allclose(one_setting.parameters, alone.parameters, rtol=2e-3, atol=2e-5)
        np.testing.assert_allclose(one_setting.multipliers, alone.multipliers, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("which", ["learner", "player"])
def test_one_rate_goes_with_several_of_the_other(which):
    several = (0.01, 0.1)
    trace = rb.play(
        TRAIN,
        rb.Linear(several if which == "learner" else 0.1),
        player=rb.SwapRegret(several if which == "player" else 0.1),
        rounds=20,
        keep=rb.Keep(20),
    )
    assert trace.settings == [0, 1]
    assert not np.allclose(trace.parameters[0], trace.parameters[1])


def test_the_theorems_step_sizes_can_be_played():
    for kind in (rb.SwapRegret, rb.ExternalRegret):
        trace = rb.play(
            TRAIN, rb.Linear(0.05, "sgd", radius=5.0), player=kind("theorem", "sgd"), rounds=20
        )
        assert np.isfinite(trace.multipliers).all()


# --- what is kept --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "rounds"),
    [
        ({"rounds": 10, "keep": rb.Keep(4)}, [4, 8, 10]),
        ({"rounds": 10, "keep": rb.Keep(1, 3)}, [4, 8, 10]),
        ({"rounds": 3, "keep": rb.Keep(100)}, [3]),
        ({"epochs": 3, "batch_size": 100}, [3, 6, 9]),
        ({"epochs": 3, "batch_size": 70}, [4, 8, 12]),
        ({"epochs": 2, "batch_size": None}, [1, 2]),
        ({"epochs": 2, "batch_size": 1000}, [1, 2]),
        ({"rounds": 4, "batch_size": 100}, [3, 4]),
        ({"epochs": 4, "batch_size": 100, "keep": rb.Keep(at_most=1)}, [12]),
    ],
)
def test_when_iterates_are_kept(options, rounds):
    trace = rb.play(TRAIN, rb.Linear((0.01, 0.1)), **options)
    for k in (0, 1):
        assert trace.of_setting(k).round.tolist() == rounds


def test_forty_epochs_unless_told():
    trace = rb.play(TRAIN, rb.Linear(), batch_size=300)
    assert trace.round.tolist() == list(range(1, 41))


@pytest.mark.parametrize("rounds", [1, 7, 50, 101])
@pytest.mark.parametrize("most", [1, 2, 10, 49])
def test_no_more_are_kept_than_asked_for(rounds, most):
    trace = rb.play(TRAIN, rb.Linear(), rounds=rounds, keep=rb.Keep(1, at_most=most))
    assert 1 <= len(trace) <= most
    assert trace.round[-1] == rounds


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("subject_to", [PROBLEM.subject_to, [*PROBLEM.subject_to, rb.recall() >= 0.99]])
def test_the_frontier_shrinks_to_the_same_mixture(player, subject_to):
    """Even if no mixture is feasible: a dropped candidate is beaten in everything."""
    compiled = rb.compile(rb.Problem(rb.error_rate(), subject_to), TABLE.population())
    options = {"rounds": 120, "batch_size": 100, "player": PLAYERS[player](0.1)}
    full = rb.play(compiled, rb.Linear((0.02, 0.1)), keep=rb.Keep(1), **options)
    thin = rb.play(compiled, rb.Linear((0.02, 0.1)), keep=rb.Keep(1, frontier=True), **options)
    assert len(thin) < len(full)
    assert thin.round[thin.setting == 0].max() == thin.round[thin.setting == 1].max() == 120
    for ours, theirs in ((thin, full), (thin.of_setting(0), full.of_setting(0))):
        ours, theirs = rb.shrink(ours), rb.shrink(theirs)
        assert ours.objectives["train"] == pytest.approx(theirs.objectives["train"], abs=1e-8)
        assert ours.status.violation == pytest.approx(theirs.status.violation, abs=1e-8)
    values = np.column_stack([full.objectives, full.violations])
    kept = {tuple(row) for row in np.column_stack([thin.objectives, thin.violations])}
    for k in (0, 1):
        own = values[full.setting == k]
        for row in own:
            beaten = ((own <= row).all(axis=1) & (own < row).any(axis=1)).any()
            assert beaten or tuple(row) in kept


# --- what can go wrong ---------------------------------------------------------------------------


class Interrupted(rb.Learner):
    """A linear learner that is interrupted with Ctrl-C in round `at`, in `where`."""

    def __init__(self, at, where):
        self.at, self.where = at, where

    def start(self, rows, settings, seed):
        fit = rb.Linear(0.05).start(rows, settings, seed)
        calls, original = [], getattr(fit, self.where)

        def pressed(argument):
            calls.append(1)
            if len(calls) == self.at:
                raise KeyboardInterrupt
            return original(argument)

        setattr(fit, self.where, pressed)
        return fit


@pytest.mark.parametrize("where", ["scores", "descend"])
@pytest.mark.parametrize("at", [1, 2, 7, 10])
@pytest.mark.parametrize("keep_every", [1, 3])
def test_an_interruption_keeps_what_there_is(where, at, keep_every):
    options = {"rounds": 20, "batch_size": 100}
    trace = rb.play(TRAIN, Interrupted(at, where), keep=rb.Keep(keep_every), **options)
    assert trace.interrupted
    assert trace.round.tolist() == sorted(set(trace.round.tolist()))
    assert trace.round[-1] == at - 1  # rounds that were finished
    whole = rb.play(TRAIN, rb.Linear(0.05), keep=rb.Keep(1), **options)
    assert not whole.interrupted
    for done, parameters in zip(trace.round, trace.parameters, strict=True):
        expected = whole.parameters[done - 1] if done else 0 * parameters
        np.testing.assert_array_equal(parameters, expected)
    assert len(rb.shrink(trace)) >= 1


TOO_HIGH = 3e38  # one step of Adam takes every weight to the end of single precision


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("name", ["linear", "module"])
def test_a_diverging_setting_warns_once_and_leaves_the_others_as_they_are(name, player, place):
    rates = [0.05, 0.05]
    rates[place] = TOO_HIGH
    options = {"rounds": 30, "batch_size": 100, "keep": rb.Keep(5), "player": PLAYERS[player]()}
    with pytest.warns(RuntimeWarning) as warned:
        trace = rb.play(TRAIN, LEARNERS[name](rates), **options)
    messages = [str(warning.message) for warning in warned]
    assert len(messages) == 1, messages
    assert f"settings [{place}] diverged" in messages[0]
    sound = trace.of_setting(1 - place)
    alone = rb.play(TRAIN, LEARNERS[name](0.05), **options)
    np.testing.assert_allclose(sound.parameters, alone.parameters, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(sound.multipliers, alone.multipliers, rtol=1e-3, atol=1e-6)
    assert np.isfinite(trace.parameters).all()
    assert np.isfinite(trace.multipliers).all()


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("name", ["linear", "module"])
def test_when_all_settings_diverge_it_says_so(name, player):
    with pytest.raises(FloatingPointError, match="lower the learner's learning rate"):
        rb.play(
            TRAIN, LEARNERS[name]((TOO_HIGH, TOO_HIGH)), player=PLAYERS[player](), rounds=30,
            keep=rb.Keep(30),
        )  # fmt: skip


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["linear", "module"])
def test_features_without_a_value_raise(name, bad):
    wrong = X.copy()
    wrong[17, 2] = bad
    compiled = rb.compile(PROBLEM, TABLE.population(X=wrong))
    with pytest.raises(ValueError, match="NaN or infinite"):
        rb.play(compiled, LEARNERS[name](), rounds=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": 1, "epochs": 1}, "rounds or epochs"),
        ({"rounds": 0}, "rounds takes a whole number from 1 on"),
        ({"epochs": 0}, "epochs takes a whole number from 1 on"),
        ({"batch_size": 0}, "batch_size takes a whole number from 1 on"),
        ({"player": rb.SwapRegret((0.1, 0.2, 0.3))}, "2 settings and the player 3"),
    ],
)
def test_bad_arguments_raise(options, words):
    with pytest.raises(ValueError, match=words):
        rb.play(TRAIN, rb.Linear((0.1, 0.2)), **options)


def test_populations_need_the_same_features():
    problem = rb.Problem(rb.error_rate(), [rb.accuracy(on="other") >= 0.5])
    compiled = rb.compile(problem, TABLE.population(), other=rb.Population(X[:, :2], Y))
    with pytest.raises(ValueError, match="different features"):
        rb.play(compiled, rb.Linear(), rounds=1)


# --- several populations, and weights ------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [None, 64])
def test_a_few_steering_rows_move_the_model(batch_size):
    """Twenty rows labelled against the training rows' rule: if it must be right on half, it is."""
    steering = rb.Population(X[:20], ~Y[:20])
    options = {"rounds": 300, "batch_size": batch_size, "player": rb.ExternalRegret(0.1)}
    measured = {}
    for wanted in (0.0, 0.5):
        problem = rb.Problem(rb.error_rate(), [rb.accuracy(on="steering") >= wanted])
        trace = rb.play(
            rb.compile(problem, TABLE.population(), steering=steering), rb.Linear(0.05), **options
        )
        mixture = rb.shrink(trace)
        yes = mixture.decision_proba(X)[:, 1]
        measured[wanted] = np.where(~Y, yes, 1 - yes)[:20].mean(), np.where(Y, 1 - yes, yes).mean()
        assert mixture.objectives["train"] == pytest.approx(measured[wanted][1], abs=1e-9)
    assert measured[0.0][0] < 0.3
    assert measured[0.5][0] >= 0.5 - 1e-9
    assert measured[0.5][1] > measured[0.0][1] + 0.05  # and pays for it


@pytest.mark.parametrize("weighted", [False, True])
def test_batches_stand_for_their_whole_populations(weighted):
    """With tiny steps, six batches of three populations sum to six times the whole."""
    sizes = {"train": 300, "few": 60, "many": 600}
    own = np.random.default_rng(0)
    populations = {
        name: rb.Population(
            own.normal(size=(n, 3)), own.random(n) < 0.5, weights=own.random(n) if weighted else None
        )
        for name, n in sizes.items()
    }
    problem = rb.Problem(
        rb.error_rate(), [rb.recall(on="few") >= 0.9, rb.positive_rate(on="many") <= 0.5]
    )
    compiled = rb.compile(problem, **populations)
    learner, player = rb.Linear(1e-9, "sgd", dtype="float64"), rb.SwapRegret(1e-9, "sgd")
    drawn, whole = (
        rb.play(compiled, learner, player=player, rounds=n, batch_size=b, keep=rb.Keep(n)).parameters
        for n, b in ((6, 100), (1, None))
    )
    np.testing.assert_allclose(drawn / 6, whole, rtol=1e-4)


@pytest.mark.parametrize("player", PLAYERS)
def test_a_weight_of_three_is_three_rows(player):
    weights = np.random.default_rng(1).integers(0, 4, size=400)
    repeated = np.repeat(np.arange(400), weights)
    options = {"rounds": 60, "batch_size": None, "keep": rb.Keep(10), "player": PLAYERS[player](0.05)}
    weighed = rb.play(rb.compile(PROBLEM, TABLE.population(weights=weights)), rb.Linear(0.05), **options)
    counted = rb.play(rb.compile(PROBLEM, TABLE.population(repeated)), rb.Linear(0.05), **options)
    np.testing.assert_allclose(weighed.parameters, counted.parameters, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(weighed.multipliers, counted.multipliers, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(weighed.objectives, counted.objectives, atol=1e-12)
    np.testing.assert_allclose(weighed.violations, counted.violations, atol=1e-12)


def test_a_frontier_is_thinned_while_the_game_goes_on(monkeypatch):
    """However often the trace is thinned, the rest is the same, and so is the best mixture."""
    options = {"rounds": 120, "batch_size": 64}
    whole = rb.play(TRAIN, rb.Linear([0.05, 0.2]), keep=rb.Keep(1), **options)
    traces = []
    for pieces in (1, 7, 1000):
        monkeypatch.setattr("ratebound._old.game._keeping.THIN_AFTER", pieces)
        traces.append(rb.play(TRAIN, rb.Linear([0.05, 0.2]), keep=rb.Keep(1, frontier=True), **options))
    best = rb.shrink(whole)
    for trace in traces:
        assert len(trace) < len(whole)
        assert {0, 1} == set(trace.settings)
        assert rb.shrink(trace).objectives["train"] == pytest.approx(best.objectives["train"], abs=1e-9)
        assert trace.round.max() == 120
