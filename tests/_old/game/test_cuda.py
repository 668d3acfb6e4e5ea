"""On a GPU the game plays as it does in NumPy, and no round waits for the device."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game import _recording
from ratebound._old.game.trace import scores_on

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device here", allow_module_level=True)

PLAYERS = [
    rb.ExternalRegret(learning_rate=0.05, radius=0.5),
    rb.SwapRegret(learning_rate=0.05),
    rb.Lagrangian(learning_rate=0.05),
]


def compiled(groups):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 8)).astype(np.float32)
    y = X[:, 0] + 0.5 * rng.normal(size=4000) > 0
    columns = {f"g{i}": rng.random(4000) < 0.2 for i in range(groups)}
    promises = [rb.recall(**{f"g{i}": True}) >= 0.95 * rb.recall() for i in range(groups)]
    problem = rb.Problem(minimize=rb.error_rate(), subject_to=[*promises, rb.roc_auc(bins=3) >= 0.9])
    people = rb.Population(X, y, columns=columns, weights=rng.random(4000))
    return rb.compile(problem, people)


def start(problem, player, device, settings=2):
    learner = rb.Torch(lambda: torch.nn.Linear(8, 1), learning_rate=[0.01] * settings, device=device)
    fit = learner.start(problem, settings, 0)
    game = rb.Game(problem, player, settings=settings, device=fit.device, rules=rb.Rules(proxy="hinge"))
    return fit, game, game.start(fit.all_scores(), rounds=50)


@pytest.mark.parametrize("player", PLAYERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("groups", [3, 40])  # few cells, and more cells than rows of a batch
def test_the_same_rounds_as_in_numpy(player, groups, monkeypatch):
    monkeypatch.setattr("ratebound._old.game._costs.DENSE_ON_GPU", 2**14)
    problem = compiled(groups)
    rows = np.random.default_rng(1).integers(0, 4000, size=(50, 256))
    ends = []
    for device in (None, "cuda"):
        fit, game, state = start(problem, player, device)
        for batch in rows:
            batch = game.on_device(batch)
            gradient, state = game.round(state, fit.scores(batch), game.batch(batch, 4000 / 256))
            fit.descend(gradient)
        ends.append((np.asarray(torch.as_tensor(state.multipliers.weights).cpu()), fit.parameters()))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0.02, atol=0.02)
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=0.02, atol=0.02)


@pytest.mark.parametrize("player", PLAYERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("groups", [3, 40])
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_no_round_waits_for_the_device(player, groups):
    fit, game, state = start(compiled(groups), player, "cuda")
    order = game.on_device(np.random.default_rng(1).permutation(4000))
    try:
        for first in range(0, 2560, 256):
            if first == 256:  # the first round may set up libraries
                torch.cuda.set_sync_debug_mode("error")
            batch = order[first : first + 256]
            gradient, state = game.round(state, fit.scores(batch), game.batch(batch, 4000 / 256))
            fit.descend(gradient)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("player", PLAYERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("groups", [3, 40])
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_rounds_in_a_loop_of_ones_own_are_replayed(player, groups, monkeypatch):
    """Against `Game.round`; rounds are recorded once for each shape, and then never wait."""
    captured, plain = [], _recording.Recorder._captured
    monkeypatch.setattr(
        _recording.Recorder, "_captured", lambda *given: captured.append(0) or plain(*given)
    )
    game = rb.Game(compiled(groups), player, device="cuda")
    state = game.start(np.zeros(4000))
    rounds = game.recorded(state)
    order, pairs = torch.randperm(4000, device="cuda"), []
    try:
        for step in range(40):
            if step == 12:
                torch.cuda.set_sync_debug_mode("error")
            rows = order[step * 50 :][: 40 if step % 3 else 256]
            scores = torch.randn(len(rows), device="cuda", requires_grad=True)
            expected, state = game.round(state, scores.detach(), game.batch(rows))
            pairs.append((rounds(scores, rows).clone(), expected))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(captured) == 2
    for computed, expected in pairs:
        torch.testing.assert_close(computed, expected, rtol=1e-5, atol=1e-6)
    weights = rounds.state.multipliers.weights
    torch.testing.assert_close(weights, state.multipliers.weights, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
@pytest.mark.parametrize("settings", [1, 2])
def test_rounded_products_train_to_the_same_rates(settings, precision):
    problem, before = compiled(3), torch.backends.cuda.matmul.allow_tf32
    traces = [
        rb.play(
            problem, rb.MLP((32,), [0.01] * settings, device="cuda", precision=each), rounds=200,
            batch_size=1024, keep=rb.Keep(50), progress=False,
        )
        for each in ("float32", precision)
    ]  # fmt: skip
    np.testing.assert_allclose(traces[1].objectives, traces[0].objectives, atol=0.02)
    np.testing.assert_allclose(traces[1].violations, traces[0].violations, atol=0.05)
    exact = traces[1].scorer.scores(traces[1].parameters, problem.populations["train"].features)
    objectives, _ = problem.evaluate(exact, traces[1].thresholds)
    np.testing.assert_allclose(traces[1].objectives, objectives, atol=2e-3)
    assert torch.backends.cuda.matmul.allow_tf32 == before


def test_play_on_the_device():
    problem = compiled(3)
    learner = rb.Torch(lambda: torch.nn.Linear(8, 1), learning_rate=[0.01, 0.03], device="cuda")
    trace = rb.play(problem, learner, epochs=5, batch_size=256)
    scores = trace.scorer.scores(trace.parameters, problem.populations["train"].features)
    objectives, violations = problem.evaluate(scores, trace.thresholds)
    np.testing.assert_allclose(trace.objectives, objectives, atol=2e-3)  # a score may round over 0
    np.testing.assert_allclose(trace.violations, violations, atol=2e-2)


@pytest.mark.parametrize("player", PLAYERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("settings", [1, 3])
def test_replayed_rounds_are_those_that_were_recorded(player, settings, monkeypatch):
    """The same game with every round played, and with all but the first few replayed."""
    problem = compiled(3)
    traces = []
    for recorded in (True, False):
        if not recorded:
            monkeypatch.setattr("ratebound._old.learners.torch.TorchFit.recordable", False)
        learner = rb.Torch(
            lambda: torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)),
            learning_rate=[0.01] * settings,
            device="cuda",
        )
        traces.append(
            rb.play(
                problem, learner, player=player, rounds=60, batch_size=256, keep=rb.Keep(20),
                watch={"again": problem}, progress=False,
            )
        )  # fmt: skip
    one, other = traces
    np.testing.assert_allclose(one.parameters, other.parameters, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(one.multipliers, other.multipliers, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(one.objectives, other.objectives, atol=0.01)
    np.testing.assert_allclose(one.watched["again"].objectives, one.objectives, atol=0.001)


def test_lattices_are_projected_on_the_device_too():
    problem = compiled(3)
    learner = rb.Lattice(
        6, 3, monotone={0: 1, 1: -1}, keypoints=8, learning_rate=[0.01, 0.03], device="cuda"
    )
    trace = rb.play(problem, learner, rounds=80, batch_size=256, keep=rb.Keep(20), progress=False)
    mixture = rb.shrink(trace)
    assert rb.check_monotone(mixture)
    assert trace.objectives.min() < trace.objectives[0]


def test_orders_of_categories_are_kept_in_replayed_rounds():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=2000), rng.integers(0, 3, 2000)]).astype(np.float32)
    people = rb.Population(X, X[:, 0] + X[:, 1] + rng.normal(size=2000) > 1)
    learner = rb.Lattice(2, 2, categorical=(1,), orders={1: [(0, 1), (1, 2)]}, device="cuda")
    problem = rb.compile(rb.Problem(rb.error_rate(), [rb.recall() >= 0.9]), people)
    trace = rb.play(problem, learner, rounds=60, batch_size=256, progress=False)
    assert rb.check_monotone(rb.last_iterate(trace))


@pytest.mark.parametrize("settings", [1, 3])
@pytest.mark.parametrize("kind", ["chain", "lattice"])
def test_scores_kept_on_the_device_are_those_that_are_deployed(kind, settings):
    """To the last bit, except for scores that rounding in double precision leaves on an edge."""
    rates = [0.01] * settings
    learner = {
        "chain": rb.Torch(
            lambda: torch.nn.Sequential(torch.nn.Linear(8, 7), torch.nn.GELU(), torch.nn.Linear(7, 1)),
            learning_rate=rates,
            device="cuda",
        ),
        "lattice": rb.Lattice(learning_rate=rates, device="cuda"),
    }[kind]
    X = np.random.default_rng(0).normal(size=(4000, 8))
    fit = learner.start(rb.Population(X), settings, 0)
    for _ in range(5):
        fit.descend(torch.randn_like(fit.scores(None)) / 4000)
    differ = fit.all_scores() != fit.scorer.scores(fit.parameters(), X)
    assert differ.mean() < 1e-3


SEVERAL = [f"class {i}" for i in range(5)]


def several_classes(groups):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 4000)
    X = (np.eye(5)[labels] @ rng.normal(size=(5, 8)) + rng.normal(size=(4000, 8))).astype(np.float32)
    columns = {f"g{i}": rng.random(4000) < 0.2 for i in range(groups)}
    promises = [rb.recall(of=SEVERAL[i % 5], **{f"g{i}": True}) >= 0.7 for i in range(groups)]
    learned = [
        rb.recall(of=SEVERAL[0], at="low") >= 0.9,
        rb.positive_rate(of=SEVERAL[0], at="low") <= 0.3,
    ]
    people = rb.Population(X, np.array(SEVERAL)[labels], columns=columns, weights=rng.random(4000))
    return rb.compile(rb.Problem(rb.error_rate(), [*promises, *learned]), people)


@pytest.mark.parametrize("proxy", ["logistic", "hinge", "sigmoid"])
@pytest.mark.parametrize("player", PLAYERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("groups", [3, 40])
def test_several_classes_play_the_same_rounds_as_in_numpy(groups, player, proxy, monkeypatch):
    monkeypatch.setattr("ratebound._old.game._costs.DENSE_ON_GPU", 2**14)
    problem, ends = several_classes(groups), []
    rows = np.random.default_rng(1).integers(0, 4000, size=(30, 256))
    for device in (None, "cuda"):
        fit = rb.MLP((4,), [0.01] * 2, device=device).start(problem, 2, 0)
        game = rb.Game(problem, player, settings=2, device=fit.device, rules=rb.Rules(proxy=proxy))
        state = game.start(fit.all_scores(), rounds=50)
        for batch in rows:
            batch = game.on_device(batch)
            gradient, state = game.round(state, fit.scores(batch), game.batch(batch, 4000 / 256))
            fit.descend(gradient)
        ends.append((np.asarray(torch.as_tensor(state.multipliers.weights).cpu()), fit.parameters()))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0.02, atol=0.02)
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=0.02, atol=0.02)


@pytest.mark.parametrize("settings", [1, 3])
def test_rounds_of_several_classes_are_replayed_as_they_were_recorded(settings, monkeypatch):
    problem, traces = several_classes(3), []
    for recorded in (True, False):
        if not recorded:
            monkeypatch.setattr("ratebound._old.learners.torch.TorchFit.recordable", False)
        learner = rb.MLP((4,), [0.01] * settings, device="cuda")
        traces.append(rb.play(problem, learner, rounds=60, batch_size=256, keep=rb.Keep(20)))
    one, other = traces
    np.testing.assert_allclose(one.parameters, other.parameters, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(one.multipliers, other.multipliers, rtol=0.02, atol=0.02)
    objectives, violations = problem.evaluate(
        scores_on(problem, one.scorer, one.parameters), one.thresholds
    )
    np.testing.assert_allclose(one.objectives, objectives, atol=0.005)
    np.testing.assert_allclose(one.violations, violations, atol=0.02)


def test_many_constraints_of_several_settings_are_recorded():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 8)).astype(np.float32)
    people = rb.Population(X, X[:, 0] > 0, columns={"g": rng.integers(250, size=4000)})
    promises = [rb.positive_rate(g=i) <= 0.4 for i in range(250)]
    learner = rb.Torch(lambda: torch.nn.Linear(8, 1), learning_rate=[0.01] * 12, device="cuda")
    problem = rb.compile(rb.Problem(rb.error_rate(), promises), people)
    trace = rb.play(
        problem, learner, player=rb.SwapRegret(0.1), rounds=20, batch_size=256, progress=False
    )
    np.testing.assert_allclose(trace.multipliers.sum(axis=1), 1, rtol=1e-12)


def test_constraints_of_ones_own_train_on_the_device():
    """A budget on the norm of the weights, and a rate: as on the CPU, and the mixture keeps both."""

    def norm(model, rows):
        return model.module.weight.abs().sum()

    people = compiled(1).first
    budget = rb.constraint(norm, name="L1 norm", at_most=1.0)
    problem = rb.compile(rb.Problem("error_rate()", [rb.recall(g0=True) >= 0.8, budget]), people)
    ends = []
    for device in (None, "cuda"):
        learner = rb.Torch(lambda: torch.nn.Linear(8, 1), learning_rate=0.05, device=device)
        how = {"player": rb.ExternalRegret(0.05), "keep": rb.Keep(every=20), "seed": 0}
        trace = rb.play(problem, learner, rounds=400, batch_size=256, **how)
        ends.append(rb.shrink(trace))
    assert all(mixture.status.feasible for mixture in ends)
    assert ends[0].objectives["train"] == pytest.approx(ends[1].objectives["train"], abs=0.03)
