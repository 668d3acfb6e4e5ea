"""Torch modules against plain training loops, each setting against itself alone, and without torch."""

import copy
import subprocess
import sys

import numpy as np
import pytest

import ratebound._old as rb
import ratebound._old.learners._torch_scorer as torch_scorer

torch = pytest.importorskip("torch")
nn = torch.nn
rng = np.random.default_rng(4)
X = rng.normal(size=(90, 4)).astype(np.float32)
Y = X @ [1, -1, 0.5, 0.2] + 0.5 * rng.normal(size=90) > 0
FREE = rb.compile(rb.Problem(rb.error_rate()), rb.Population(X, Y))
BOUND = rb.compile(rb.Problem(rb.error_rate(), [rb.recall() >= 0.9]), rb.Population(X, Y))


class Residual(nn.Module):
    """Not a chain of layers, and with one score per row rather than a column of them."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 1)
        self.scale = nn.Parameter(torch.tensor(0.7))

    def forward(self, rows):
        return self.outer(rows + self.scale * torch.tanh(self.inner(rows)))[:, 0]


class Tied(nn.Module):
    """Two layers with one weight between them, as in an autoencoder."""

    def __init__(self):
        super().__init__()
        self.first, self.again, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.again.weight = self.first.weight

    def forward(self, rows):
        return self.last(torch.relu(self.again(torch.relu(self.first(rows)))))


def frozen():
    module = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
    module[0].weight.requires_grad_(False)
    return module


MODULES = {
    "linear": lambda: nn.Linear(4, 1),
    "linear without bias": lambda: nn.Linear(4, 1, bias=False),
    "chain": lambda: nn.Sequential(
        nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 1)
    ),
    "activations": lambda: nn.Sequential(
        nn.Linear(4, 4, bias=False), nn.GELU(), nn.Linear(4, 4), nn.SiLU(), nn.LeakyReLU(0.2),
        nn.Linear(4, 3), nn.Softplus(2.0), nn.ELU(), nn.Sigmoid(), nn.Identity(), nn.Linear(3, 1),
    ),
    "chain in a chain": lambda: nn.Sequential(
        nn.Sequential(nn.Linear(4, 3), nn.ReLU()), nn.Linear(3, 1)
    ),
    "layer norm": lambda: nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.ReLU(), nn.Linear(5, 1)),
    "residual": Residual,
    "frozen": frozen,
    "tied": Tied,
}  # fmt: skip


def made(name, seed=0):
    torch.manual_seed(seed)
    return MODULES[name]()


def by_hand(module, steps, make_optimizer, extra=lambda module: 0.0):
    """A plain training loop: the mean of log2(1 + e^-margin), all rows at once."""
    module = copy.deepcopy(module).train()
    optimizer = make_optimizer([p for p in module.parameters() if p.requires_grad])
    signs = torch.tensor(np.where(Y, 1.0, -1.0), dtype=torch.float32)
    for _ in range(steps):
        optimizer.zero_grad()
        scores = module(torch.tensor(X)).reshape(-1)
        loss = nn.functional.softplus(-signs * scores).mean() / np.log(2) + extra(module)
        loss.backward()
        optimizer.step()
    return module.eval()


def trained(learner, steps=30, compiled=FREE):
    """Scores (K, n) of the last iterates, by the scorer that ships with a mixture."""
    trace = rb.play(compiled, learner, rounds=steps, batch_size=None, keep=rb.Keep(steps))
    return trace.scorer.scores(trace.parameters, X)[:, 0], trace


def scores_of(module, rows=X):
    with torch.no_grad():
        return module(torch.tensor(rows)).reshape(-1).numpy()


def absolute(module):
    return 0.02 * sum(p.abs().sum() for p in module.parameters())


def squares(module):
    return 0.05 * sum((p**2).sum() for p in module.parameters())


OPTIMIZERS = {
    "sgd": ("sgd", lambda ps: torch.optim.SGD(ps, lr=0.05)),
    "adam": ("adam", lambda ps: torch.optim.Adam(ps, lr=0.05)),
    "momentum": (lambda ps: torch.optim.SGD(ps, lr=0.05, momentum=0.9, nesterov=True),) * 2,
    "adamw": (lambda ps: torch.optim.AdamW(ps, lr=0.05, weight_decay=0.1),) * 2,
    "rmsprop": (lambda ps: torch.optim.RMSprop(ps, lr=0.01),) * 2,
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODULES)
def test_training_equals_a_plain_loop(name, optimizer):
    module, (ours, theirs) = made(name), OPTIMIZERS[optimizer]
    scores, _ = trained(rb.Torch(module, 0.05, ours))
    np.testing.assert_allclose(scores[0], scores_of(by_hand(module, 30, theirs)), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "extra"),
    [
        ({"l2": 0.1}, squares),
        ({"regularizer": absolute}, absolute),
        ({"l2": 0.1, "regularizer": absolute}, lambda module: absolute(module) + squares(module)),
    ],
    ids=["l2", "regularizer", "both"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["linear", "chain", "residual"])
def test_penalties_equal_those_in_a_plain_loop(name, options, extra):
    module = made(name)
    scores, _ = trained(rb.Torch(module, 0.05, "sgd", **options))
    expected = by_hand(module, 30, lambda ps: torch.optim.SGD(ps, lr=0.05), extra)
    np.testing.assert_allclose(scores[0], scores_of(expected), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("name", MODULES)
def test_settings_side_by_side_equal_each_alone(name, optimizer):
    rates, module = (0.003, 0.03, 0.1), made(name)
    together, trace = trained(rb.Torch(module, rates, optimizer, l2=0.01), 20, BOUND)
    for k, rate in enumerate(rates):
        alone, own = trained(rb.Torch(module, rate, optimizer, l2=0.01), 20, BOUND)
        np.testing.assert_allclose(together[k], alone[0], rtol=5e-3, atol=1e-4)
        np.testing.assert_allclose(trace.parameters[k], own.parameters[0], rtol=5e-3, atol=1e-4)


@pytest.mark.parametrize("name", MODULES)
def test_the_trace_speaks_of_the_scores_its_parameters_give(name):
    _, trace = trained(rb.Torch(made(name), (0.01, 0.1)), 20, BOUND)
    scores = trace.scorer.scores(trace.parameters, X)
    assert np.abs(scores).min() > 1e-6  # no decision hangs on rounding
    objectives, violations = BOUND.evaluate(scores)
    np.testing.assert_allclose(trace.objectives, objectives, atol=1e-12)
    np.testing.assert_allclose(trace.violations, violations, atol=1e-12)


@pytest.mark.parametrize("settings", [1, 2])
@pytest.mark.parametrize("name", MODULES)
def test_the_module_given_is_never_changed(name, settings):
    module = made(name).eval()
    before = copy.deepcopy(module.state_dict())
    trained(rb.Torch(module, [0.1] * settings), 5)
    assert not module.training
    assert all(p.grad is None for p in module.parameters())
    for key, value in module.state_dict().items():
        torch.testing.assert_close(value, before[key], rtol=0, atol=0)


def test_a_factory_is_called_for_every_game_and_seeded_by_it():
    calls = []

    def factory():
        calls.append(1)
        return nn.Linear(4, 1)

    learner = rb.Torch(factory, 0.01)
    first, second, other = (
        rb.play(FREE, learner, rounds=1, batch_size=None, seed=seed).parameters for seed in (0, 0, 1)
    )
    assert len(calls) == 3
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other)


def test_running_statistics_are_part_of_what_is_kept():
    """BatchNorm with one setting: an iterate scores as the module in eval mode would."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))
    scores, trace = trained(rb.Torch(module, 0.05, "sgd"), 30, FREE)
    expected = by_hand(module, 30, lambda ps: torch.optim.SGD(ps, lr=0.05))
    np.testing.assert_allclose(scores[0], scores_of(expected), rtol=1e-3, atol=1e-4)
    objective, _ = FREE.evaluate(scores[0])
    assert trace.objectives[0] == pytest.approx(objective, abs=1e-12)
    with pytest.raises(ValueError, match="one setting at a time"):
        trained(rb.Torch(module, (0.05, 0.01)), 1)


def test_dropout_is_off_when_iterates_are_scored():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 50), nn.Dropout(0.5), nn.Linear(50, 1))
    for rates in (0.1, (0.1, 0.2)):
        scores, trace = trained(rb.Torch(module, rates), 5, FREE)
        objectives, _ = FREE.evaluate(scores)
        np.testing.assert_allclose(trace.objectives, objectives, atol=1e-12)
        np.testing.assert_array_equal(scores, trace.scorer.scores(trace.parameters, X)[:, 0])


@pytest.mark.parametrize("rates", [0.05, (0.05, 0.01)])
def test_rows_may_be_images(rates):
    images = rng.normal(size=(40, 1, 5, 5)).astype(np.float32)
    labels = images[:, 0, 1:4, 1:4].mean(axis=(1, 2)) > 0
    compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(images, labels))
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 1))
    trace = rb.play(compiled, rb.Torch(module, rates), rounds=100, batch_size=None, keep=rb.Keep(100))
    assert trace.objectives.min() < 0.1
    np.testing.assert_allclose(
        compiled.evaluate(trace.scorer.scores(trace.parameters, images))[0], trace.objectives, atol=1e-12
    )


def test_scoring_in_chunks_is_scoring_at_once(monkeypatch):
    _, trace = trained(rb.Torch(made("chain"), (0.1, 0.2)), 5)
    whole = trace.scorer.scores(trace.parameters, X)
    monkeypatch.setattr(torch_scorer, "CHUNK", 32)
    np.testing.assert_allclose(trace.scorer.scores(trace.parameters, X), whole, rtol=1e-5)
    _, again = trained(rb.Torch(made("chain"), (0.1, 0.2)), 5)
    np.testing.assert_allclose(again.objectives, trace.objectives, atol=1e-12)


# --- what cannot be ------------------------------------------------------------------------------


class Shaped(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape, self.weight = shape, nn.Parameter(torch.ones(()))

    def forward(self, rows):
        return self.weight * torch.ones(self.shape(len(rows)))


@pytest.mark.parametrize("settings", [1, 2])
@pytest.mark.parametrize(
    "shape", [lambda n: (n, 2), lambda n: (), lambda n: (1, n), lambda n: (n, 1, 1), lambda n: (n + 1,)]
)
def test_modules_of_the_wrong_shape_raise(shape, settings):
    with pytest.raises(ValueError, match="one score per row"):
        trained(rb.Torch(Shaped(shape), [0.1] * settings), 1)


@pytest.mark.parametrize(
    ("error", "words", "make"),
    [
        (ValueError, "learning rate", lambda: rb.Torch(nn.Linear(4, 1), 0)),
        (ValueError, "'sgd', 'adam' or a function", lambda: rb.Torch(nn.Linear(4, 1), optimizer="lion")),
        (ValueError, "one setting", lambda: rb.Torch(nn.Linear(4, 1), (1, 2), torch.optim.SGD)),
        (ValueError, "one setting", lambda: rb.Torch(nn.Linear(4, 1), (1, 2), regularizer=absolute)),
        (TypeError, "torch.nn.Module", lambda: trained(rb.Torch(lambda: "a model"))),
    ],
)
def test_bad_arguments_raise(error, words, make):
    with pytest.raises(error, match=words):
        make()


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
import ratebound._old as rb
X = np.arange(20.0).reshape(10, 2) / 20
problem = rb.Problem(rb.error_rate(), [rb.recall() >= 0.9])
trace = rb.play(rb.compile(problem, rb.Population(X, X[:, 0] > 0.4)), rb.Linear(), epochs=5)
print(len(rb.shrink(trace)) >= 1)
try:
    rb.Torch(lambda: None)
except ImportError as error:
    print(error)
"""


def test_without_torch_linear_models_train_and_torch_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["True", "this needs PyTorch: pip install 'ratebound[torch]'"]


def test_importing_ratebound_does_not_import_torch():
    code = "import sys, ratebound; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == "False"
