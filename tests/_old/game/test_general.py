"""User-defined constraints in training: against known optima and brute force; and refusals."""

import copy

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb

from ..small_tables import people

torch = pytest.importorskip("torch")

TABLE = people(n=200, slopes=(1.0, -0.5), by="group")
X = TABLE.X.astype(np.float32)
ROWS = TABLE.population(X=X)


def l1(model, rows):
    return model.module.weight.abs().sum()


def gap(model, rows):
    return (torch.sigmoid(model.scores).mean() - rows.y.mean()).abs()


def calibration(value=gap, **options):
    return rb.constraint(value, name="gap", at_most=0.02, **options)


def linear(width):
    return torch.nn.Linear(width, 1)


def network(width):
    return torch.nn.Sequential(torch.nn.Linear(width, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def played(*own, promises=("recall() >= 0.7",), module=linear, rates=0.05, rows=ROWS, **how):
    compiled = rb.compile(rb.Problem("error_rate()", [*promises, *own]), rows)
    how = {"rounds": 30, "batch_size": 64, "keep": rb.Keep(every=10), "player": rb.SwapRegret(0.3)} | how
    return rb.play(compiled, rb.Torch(module, learning_rate=rates), **how)


# --- known optima ---------------------------------------------------------------------------------


def test_an_l1_budget_has_the_optimum_that_scipy_finds():
    """The least mean logistic loss at a norm of at most 1, by averaged iterates."""
    random = np.random.default_rng(1)
    given = random.normal(size=(400, 4)).astype(np.float32)
    y = given @ [1.5, -1.0, 0.5, 0.0] + random.logistic(size=400) > 0
    sign = np.where(y, 1, -1)

    def loss(weights, bias):
        return np.logaddexp(0, -sign * (given @ weights + bias)).mean()

    def split(z):  # positive and negative parts, and the bias
        return z[:4] - z[4:8], z[8]

    best = minimize(
        lambda z: loss(*split(z)),
        np.r_[np.full(8, 0.05), 0.0],
        bounds=[(0, None)] * 8 + [(None, None)],
        constraints={"type": "ineq", "fun": lambda z: 1 - z[:8].sum()},
        method="SLSQP",
    )
    problem = rb.Problem("error_rate()", [rb.constraint(l1, name="L1 norm", at_most=1.0)])
    compiled = rb.compile(problem, rb.Population(given, y))
    learner = rb.Torch(linear, learning_rate=0.2, optimizer="sgd")
    how = {"player": rb.ExternalRegret(0.003), "batch_size": None, "keep": rb.Keep(every=10)}
    trace = rb.play(compiled, learner, rounds=2000, **how)
    weights, bias = np.split(trace.parameters[-100:].mean(axis=0), [4])
    np.testing.assert_allclose(weights, split(best.x)[0], atol=0.08)
    assert abs(weights).sum() == pytest.approx(1.0, abs=0.1)
    assert loss(weights, bias) < best.fun + 0.01
    unbounded = minimize(lambda z: loss(z[:4], z[4]), np.zeros(5))
    assert unbounded.fun < best.fun - 0.05  # the budget matters


def test_shrink_is_the_linear_program_of_exact_values():
    trace = played(calibration(), rb.constraint(l1, name="L1 norm", at_most=1.0), rounds=60)
    modules = [_module(parameters) for parameters in trace.parameters]
    table = np.array([_by_hand(module) for module in modules])
    np.testing.assert_allclose(trace.objectives, table[:, 0], atol=1e-6)
    np.testing.assert_allclose(trace.violations, table[:, 1:], atol=1e-5)
    mixture = rb.shrink(trace)
    least = linprog(
        table[:, 0], table[:, 1:].T, np.zeros(3), np.ones((1, len(table))), [1.0], bounds=(0, None)
    )
    assert (least.status == 0) == mixture.status.feasible
    if mixture.status.feasible:
        assert mixture.objectives["train"] == pytest.approx(least.fun, abs=1e-4)
    assert len(mixture) <= 4


def _module(parameters):
    module = linear(2)
    weight, bias = np.split(parameters, [2])
    module.load_state_dict({"weight": torch.from_numpy(weight[None]), "bias": torch.from_numpy(bias)})
    return module


def _by_hand(module):
    """Error, and violations of recall() >= 0.7, gap <= 0.02 and L1 norm <= 1."""
    with torch.no_grad():
        scores = module(torch.from_numpy(X))[:, 0].double().numpy()
    y, yes = TABLE.y.astype(bool), scores >= 0
    gap = abs((1 / (1 + np.exp(-scores))).mean() - y.mean())
    norm = float(module.weight.detach().abs().sum())
    return (yes != y).mean(), 0.7 - yes[y].mean(), gap - 0.02, norm - 1.0


def test_settings_side_by_side_are_those_trained_alone():
    """Each of K settings has its own parameters, scores and multipliers in the functions."""
    rates = [0.01, 0.05, 0.2]
    own = [calibration(), rb.constraint(l1, name="L1 norm", at_most=0.5)]
    together = played(*own, rates=rates, batch_size=None)
    start = together.parameters[:1] * 0 + linear_start()
    for place, rate in enumerate(rates):
        compiled = rb.compile(together.problem, ROWS)
        learner = rb.Torch(linear, learning_rate=rate).starting_at(start[0])
        alone = rb.play(
            compiled,
            learner,
            rounds=30,
            batch_size=None,
            keep=rb.Keep(every=10),
            player=rb.SwapRegret(0.3),
        )
        one = together.of_setting(place)
        np.testing.assert_allclose(one.parameters, alone.parameters, atol=1e-5)
        np.testing.assert_allclose(one.violations, alone.violations, atol=1e-4)


def linear_start():
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.7"]), ROWS)
    return rb.Torch(linear).start(compiled, 1, 0).parameters()


def test_a_layer_inside_a_network_can_be_bounded_for_several_settings():
    def first_layer(model, rows):
        return model.module[0].weight.square().sum()

    trace = played(
        rb.constraint(first_layer, name="size", at_most=0.1),
        module=network,
        rates=[0.01, 0.1],
        rounds=40,
    )
    by_hand = (trace.parameters[:, :8].astype(float) ** 2).sum(axis=1) - 0.1
    np.testing.assert_allclose(trace.violations[:, 1], by_hand, atol=1e-5)


def test_the_gradient_is_that_of_the_whole_loss():
    """One step of SGD is against the rates' gradient and the weighted proxies', by hand."""
    own = rb.constraint(lambda m, r: (m.scores * r.y).mean() + l1(m, r), name="both", scale=2.0)
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.7", own]), ROWS)
    learner = rb.Torch(linear, learning_rate=0.1, optimizer="sgd")
    trace = rb.play(compiled, learner, rounds=1, batch_size=None, player=rb.SwapRegret(0.3))

    module = _module(linear_start()[0])
    game = rb.Game(compiled, rb.SwapRegret(0.3))
    scores = module(torch.from_numpy(X))[:, 0]
    state = game.start(scores)
    gradient = game.recorded(state)(scores, None, module=module)
    weight = float(state.multipliers.weights[0, 2])
    y = torch.from_numpy(TABLE.y.astype(np.float32))
    whole = (scores * gradient).sum() + weight / 2 * ((scores * y).mean() + module.weight.abs().sum())
    whole.backward()
    moved = torch.cat([p.detach().ravel() - 0.1 * p.grad.ravel() for p in module.parameters()])
    np.testing.assert_allclose(trace.parameters[0], moved.numpy(), atol=1e-6)


# --- what λ sees ----------------------------------------------------------------------------------


def seen_by(player, value, proxy=None, **how):
    class Watching(type(player)):
        def step(self, multipliers, violations):
            shown.append(np.array(violations))
            return super().step(multipliers, violations)

    shown = []
    own = rb.constraint(value, proxy, name="own", at_most=0.5, **how.pop("options", {}))
    played(own, player=Watching(0.1), rounds=4, **how)
    return np.array(shown)


def constant(number):
    return lambda model, rows: number + 0 * model.scores.sum()


def test_lambda_sees_the_value_and_not_the_proxy():
    assert (seen_by(rb.SwapRegret(0.1), constant(2.0), constant(7.0))[:, 0, 1] == 1.5).all()


def test_a_lagrangian_sees_the_proxy():
    seen = seen_by(rb.Lagrangian(0.1), constant(2.0), constant(7.0))
    assert (seen[:, 0, 1] == 6.5).all()


def test_lambda_sees_units():
    seen = seen_by(rb.SwapRegret(0.1), constant(2.0), options={"scale": 3.0})
    np.testing.assert_allclose(seen[:, 0, 1], 0.5)


def rows_seen(model, rows):
    return len(rows) + 0 * model.scores.sum()


def test_batches_or_all_rows():
    assert (seen_by(rb.SwapRegret(0.1), rows_seen)[:, 0, 1] == 63.5).all()
    exact = seen_by(rb.SwapRegret(0.1), rows_seen, options={"exact": True})
    assert (exact[:, 0, 1] == 199.5).all()


def test_what_is_watched_has_values_of_its_own():
    own = calibration()
    problem = rb.Problem("error_rate()", ["recall() >= 0.7", own])
    trace = played(own, watch={"same": rb.compile(problem, ROWS)})
    np.testing.assert_array_equal(trace.violations, trace.watched["same"].violations)
    by_hand = [_by_hand(_module(parameters))[2] for parameters in trace.parameters]
    np.testing.assert_allclose(trace.watched["same"].violations[:, 1], by_hand, atol=1e-5)


def test_values_are_asked_as_the_model_is_deployed():
    """No gradients and no dropout while λ evaluates; both return for the next step."""
    states = []

    def looking(model, rows):
        states.append((model.module.training, torch.is_grad_enabled()))
        return model.scores.mean()

    def descending(model, rows):
        states.append(("proxy", model.module.training, torch.is_grad_enabled()))
        return model.scores.mean()

    played(
        rb.constraint(looking, descending, name="mean"), module=network, rounds=2, keep=rb.Keep(every=9)
    )
    assert states[:4] == [(False, False), ("proxy", True, True)] * 2


# --- the user's own loops -------------------------------------------------------------------------


def own_loop(compiled, rounds=3):
    torch.manual_seed(0)
    module, given = linear(2), torch.from_numpy(X)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    game = rb.Game(compiled, rb.SwapRegret(0.3))
    playing, snapshots = game.recorded(game.start(np.zeros(200))), []
    for _ in range(rounds):
        scores = module(given).squeeze(1)
        gradient = playing(scores, None, module=module)
        optimizer.zero_grad()
        ((scores * gradient).sum() + playing.proxies(scores, module=module)).backward()
        optimizer.step()
        snapshots.append(copy.deepcopy(module))
    return snapshots


def test_a_loop_of_ones_own_is_the_same_game():
    own = [calibration(), rb.constraint(l1, name="L1 norm", at_most=0.3)]
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.7", *own]), ROWS)
    trace = rb.trace_of(compiled, own_loop(compiled))
    torch.manual_seed(0)
    start = torch.cat([p.detach().ravel() for p in linear(2).parameters()]).numpy()
    learner = rb.Torch(linear, learning_rate=0.1, optimizer="sgd").starting_at(start)
    same = rb.play(
        compiled, learner, rounds=3, batch_size=None, keep=rb.Keep(every=1), player=rb.SwapRegret(0.3)
    )
    np.testing.assert_allclose(trace.parameters, same.parameters, atol=1e-5)
    np.testing.assert_allclose(trace.violations, same.violations, atol=1e-5)
    mixture = rb.shrink(trace)
    assert mixture.violations["train"].shape == (3,)


def test_a_loop_without_its_proxies_is_an_error():
    compiled = rb.compile(rb.Problem("error_rate()", [calibration()]), ROWS)
    game = rb.Game(compiled)
    playing = game.recorded(game.start(np.zeros(200)))
    scores = torch.zeros(200)
    playing(scores)
    with pytest.raises(ValueError, match=r"gap: the model must also descend .* add rounds.proxies"):
        playing(scores)
    assert playing.weights.shape == (1, 2)  # for loops that multiply by hand
    playing(scores)


def test_exact_values_need_all_scores():
    compiled = rb.compile(rb.Problem("error_rate()", [calibration(exact=True)]), ROWS)
    game = rb.Game(compiled)
    playing = game.recorded(game.start(np.zeros(200)))
    batch = np.arange(50)
    with pytest.raises(ValueError, match=r"gap <= 0.02: with exact=True .* whole=scores_of_all_rows"):
        playing(torch.zeros(50), batch)
    assert playing.weights.shape == (1, 2)
    playing(torch.zeros(50), batch, whole=torch.zeros(200))


def test_several_populations_in_a_batch():
    seen = []

    def value(model, rows):
        seen.append((len(rows), model.scores.sum().item(), rows.X[:, 0].tolist()))
        return model.scores.mean()

    pool = TABLE.population(slice(0, 20), X=X[:20])
    problem = rb.Problem("error_rate()", [rb.constraint(value, name="mean", on="pool")])
    game = rb.Game(rb.compile(problem, ROWS, pool=pool))
    playing = game.recorded(game.start(np.zeros(220)))
    playing(torch.arange(4.0), np.array([3, 205, 7, 201]))
    assert seen == [(2, 4.0, X[[5, 1], 0].tolist())]


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "proxy", "words"),
    [
        (gap, lambda m, r: m.scores.detach().mean(), "gap: its function proxy= has no gradient"),
        (gap, lambda m, r: 0.5, "gap: its function proxy= has no gradient"),
        (
            lambda m, r: gap(m, r).item(),
            None,
            "gap: its function value= has no gradient.*or give proxy=",
        ),
        (gap, lambda m, r: m.scores, "gap: its function proxy= gave an array of shape"),
        (gap, lambda m, r: m.scores.mean() / 0, "gap: its function proxy= gave (inf|-inf|nan)"),
        (lambda m, r: float("nan"), gap, "gap: its function value= gave nan"),
        (lambda m, r: m.scores[r.y > 2].mean(), gap, "gap: its function value= gave nan"),
        (lambda m, r: m.modul, gap, "gap: its function value= raised AttributeError"),
    ],
)
@pytest.mark.parametrize("rates", [0.05, [0.05, 0.1]])
def test_what_a_function_does_wrong_names_the_constraint(value, proxy, words, rates):
    with pytest.raises(ValueError, match=words):
        played(rb.constraint(value, proxy, name="gap"), rounds=2, rates=rates)


def test_a_setting_that_diverges_does_not_stop_the_others():
    own = rb.constraint(lambda m, r: (m.scores**2).mean(), name="size", at_most=1.0)
    with pytest.warns(RuntimeWarning, match=r"settings \[1\] diverged"):
        trace = rb.play(
            rb.compile(rb.Problem("error_rate()", [own]), ROWS),
            rb.Torch(linear, learning_rate=[0.01, 1e25], optimizer="sgd"),
            rounds=30,
            batch_size=None,
            keep=rb.Keep(every=10),
        )
    assert set(trace.setting[trace.round == 30]) == {0}


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        (rb.Linear(), "rb.Linear"),
        (rb.Oracle(LogisticRegression()), "rb.Oracle"),
    ],
    ids=["linear", "oracle"],
)
def test_learners_that_cannot_take_one_say_what_can(learner, name):
    compiled = rb.compile(rb.Problem("error_rate()", [calibration()]), ROWS)
    with pytest.raises(ValueError, match=rf"gap <= 0.02: {name} handles only rates.*Use rb.Torch"):
        rb.play(compiled, learner, rounds=1)


def test_theorems_are_refused():
    with pytest.raises(ValueError, match=r"gap <= 0.02: the size .* has no known bound"):
        played(calibration(), player=rb.SwapRegret("theorem", optimizer="sgd"))


# --- afterwards -----------------------------------------------------------------------------------


def test_solutions_of_a_trace():
    trace = played(calibration(), rb.constraint(l1, name="L1 norm", at_most=0.4), rounds=60)
    assert [str(each) for each in trace.constraints[1:]] == ["gap <= 0.02", "L1 norm <= 0.4"]
    best, last, mean = rb.best_iterate(trace), rb.last_iterate(trace), rb.average(trace)
    np.testing.assert_allclose(last.violations["train"], trace.violations[-1])
    assert any(np.allclose(best.violations["train"], each) for each in trace.violations)
    weights = trace.multipliers[:, 0] / trace.multipliers[:, 0].sum()
    np.testing.assert_allclose(mean.violations["train"], weights @ trace.violations)
    assert rb.price(trace, "L1 norm <= 0.4").constraint == trace.constraints[2]


def test_an_impossible_one_is_named_by_the_status():
    status = rb.shrink(played(rb.constraint(l1, name="L1 norm", at_most=-1.0))).status
    assert not status.feasible
    assert "L1 norm <= -1.0" in status.message


def test_an_interrupted_game_is_known_by_its_functions(tmp_path, monkeypatch):
    monkeypatch.setattr("ratebound._old.game._resuming.SECONDS", 0.0)
    calls = []

    def play(bound):
        def own(model, rows):
            return model.module.weight.abs().sum() - bound

        trace = played(rb.constraint(own, name="L1 norm"), keep=rb.Keep(every=10, folder=tmp_path))
        calls.append(len(list(tmp_path.iterdir())))
        return trace

    first, again, other = play(1.0), play(1.0), play(2.0)
    assert calls == [1, 1, 2]
    np.testing.assert_array_equal(first.violations, again.violations)
    assert not np.array_equal(first.violations, other.violations)


def test_a_learner_of_ones_own_takes_them():
    """With JAX: a fit that calls functions with its models, and descends one more function."""
    jax = pytest.importorskip("jax")

    class Scores(rb.Scorer):
        kind = "linear scores, for a test"

        def scores(self, parameters, X):
            wide = parameters.astype(float)
            return (wide[:, :-1] @ X.T.astype(float) + wide[:, -1:])[:, None]

    class Fit(rb.Differentiating):
        scorer = Scores()

        def __init__(self, X, settings):
            self.X, self.flat = X, jax.numpy.ones((settings, X.shape[1] + 1))

        def parameters(self):
            return np.asarray(self.flat)

        def all_scores(self):
            return self.scorer.scores(self.parameters(), self.X)

        def scores(self, rows):
            self.batch = self.X if rows is None else self.X[rows]
            return np.asarray(self._scores(self.flat))

        def _scores(self, flat):
            return (flat[:, :-1] @ self.batch.T + flat[:, -1:])[:, None]

        def modules(self, function, *, training):
            return [function(place, each) for place, each in enumerate(self.flat)]

        def descend(self, gradient, added=None):
            def loss(flat):
                scores = self._scores(flat)
                own = added(scores, lambda function: [function(k, each) for k, each in enumerate(flat)])
                return (scores * gradient).sum() + own

            self.flat = self.flat - 0.1 * jax.grad(loss)(self.flat)

    class Linear(rb.Learner):
        fit = rb.Differentiating

        def start(self, rows, settings, seed):
            return Fit(np.asarray(rows.features), settings)

    norm = rb.constraint(lambda m, r: abs(m.module[:-1]).sum(), name="L1 norm", at_most=0.5)
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.5", norm]), ROWS)
    how = {"batch_size": None, "keep": rb.Keep(every=10), "player": rb.ExternalRegret([0.01, 0.03])}
    trace = rb.play(compiled, Linear(), rounds=200, **how)
    np.testing.assert_allclose(
        trace.violations[:, 1], abs(trace.parameters[:, :-1]).sum(axis=1) - 0.5, atol=1e-5
    )
    assert trace.violations[0, 1] > 0.5  # at its start
    assert rb.shrink(trace).status.feasible
