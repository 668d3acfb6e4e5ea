"""Networks trained with rounded products, against the same ones in float32; what is kept is exact."""

import numpy as np
import pytest

import ratebound._old as rb

torch = pytest.importorskip("torch")
nn = torch.nn
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 8)).astype(np.float32)
Y = X @ rng.normal(size=8) + X[:, 0] * X[:, 1] + rng.normal(size=3000) > 0
PEOPLE = rb.Population(X, Y, {"sex": rng.choice(["F", "M"], 3000)})
PROMISES = [rb.recall(sex="F") >= 0.9, rb.positive_rate(sex="M") <= 0.5]
COMPILED = rb.compile(rb.Problem(rb.error_rate(), PROMISES), PEOPLE)
PRODUCTS = torch.backends.cuda.matmul
FLAG = "fp32_precision" if hasattr(PRODUCTS, "fp32_precision") else "allow_tf32"


class Residual(nn.Module):
    """Not a chain, so that settings are stacked by vmap."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, rows):
        return self.outer(rows + torch.tanh(self.inner(rows)))[:, 0]


MODULES = {
    "chain": lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)),
    "normed": lambda: nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 1)),
    "residual": Residual,
}


def played(module, settings, precision):
    learner = rb.Torch(MODULES[module], [0.01] * settings, precision=precision)
    rounds = {"rounds": 60, "batch_size": 1000, "keep": rb.Keep(20)}
    return rb.play(COMPILED, learner, player=rb.SwapRegret(0.05), seed=1, **rounds)


@pytest.mark.parametrize("settings", [1, 2])
@pytest.mark.parametrize("module", MODULES)
def test_half_the_digits_train_to_the_same_rates(module, settings):
    single, half = (played(module, settings, precision) for precision in ("float32", "bf16"))
    assert not np.array_equal(single.parameters, half.parameters)
    np.testing.assert_allclose(half.objectives, single.objectives, atol=0.01)
    np.testing.assert_allclose(half.violations, single.violations, atol=0.01)


@pytest.mark.parametrize("settings", [1, 2])
def test_what_is_kept_is_the_model_in_full_precision(settings):
    trace = played("chain", settings, "bf16")
    assert trace.parameters.dtype == np.float32
    plain = rb.Torch(MODULES["chain"], [0.01] * settings).start(COMPILED, settings, 0)
    plain.restore(trace.parameters[-settings:])
    objectives, violations = COMPILED.evaluate(plain.all_scores())
    np.testing.assert_array_equal(trace.objectives[-settings:], objectives)
    np.testing.assert_array_equal(trace.violations[-settings:], violations)


@pytest.mark.parametrize("settings", [1, 2])
@pytest.mark.parametrize("module", MODULES)
def test_scores_and_steps_are_those_of_autocast(module, settings):
    """Against a plain autocast and PyTorch's own SGD."""
    learner = rb.Torch(MODULES[module], [0.1] * settings, optimizer="sgd", precision="bf16")
    fit = learner.start(PEOPLE, settings, 0)
    torch.manual_seed(0)
    alone = MODULES[module]()
    scores = fit.scores(np.arange(50))
    with torch.autocast("cpu", torch.bfloat16):
        expected = alone(torch.from_numpy(X[:50])).reshape(-1).float()
    gradient = torch.linspace(-1, 1, 50) / 50
    expected.backward(gradient)
    torch.optim.SGD(alone.parameters(), 0.1).step()
    fit.descend(gradient.expand(settings, 1, -1))
    after = torch.cat([p.detach().reshape(-1) for p in alone.parameters()]).numpy()
    assert scores.dtype == fit.flat.dtype == fit.flat.grad.dtype == torch.float32
    digits = 0 if settings == 1 else 2**-6  # stacked, products and biases are rounded one by one
    np.testing.assert_allclose(
        scores, expected.detach().expand(settings, 1, -1), rtol=digits, atol=digits
    )
    np.testing.assert_allclose(
        fit.parameters(), np.tile(after, (settings, 1)), rtol=1e-6, atol=digits / 10 + 1e-8
    )


def test_what_was_trained_is_saved(tmp_path):
    model = rb.MLP((8,), 0.01, precision="bf16")
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.9"]), rb.Population(X, Y))
    fitted = rb.last_iterate(rb.play(compiled, model, epochs=2))
    fitted.save(tmp_path / "model")
    again = rb.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_tf32_is_put_back_whatever_happens(monkeypatch):
    """The flag is there without a GPU too; the check that asks for one is left out."""
    monkeypatch.setattr("ratebound._old.learners.torch.check_precision", lambda precision, device: None)
    before, seen = getattr(PRODUCTS, FLAG), []

    class Watching(nn.Linear):
        def forward(self, rows):
            seen.append(getattr(PRODUCTS, FLAG))
            if len(seen) == 3:
                raise RuntimeError("in the middle")
            found = super().forward(rows)
            if found.requires_grad:
                found.register_hook(lambda gradient: seen.append(getattr(PRODUCTS, FLAG)))
            return found

    fit = rb.Torch(lambda: Watching(8, 1), precision="tf32").start(PEOPLE, 1, 0)
    fit.descend(torch.zeros_like(fit.scores(None)))
    assert seen == ["tf32" if FLAG == "fp32_precision" else True] * 2  # forward and back
    assert getattr(PRODUCTS, FLAG) == before
    with pytest.raises(RuntimeError, match="in the middle"):
        fit.scores(None)
    assert getattr(PRODUCTS, FLAG) == before
    fit.all_scores()
    assert set(seen[3:]) == {before}


def test_wrong_precisions_are_refused():
    with pytest.raises(ValueError, match="precision must be one of float32, tf32, bf16, got 'half'"):
        rb.MLP(precision="half")
    with pytest.raises(ValueError, match="give device='cuda' too, or use 'bf16'"):
        rb.Torch(MODULES["chain"], precision="tf32")
    with pytest.raises(TypeError, match="precision"):
        rb.Lattice(precision="bf16")


def test_rates_and_decisions_stay_exact_inside_an_autocast_around_all():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.out = torch.nn.Linear(3, 1)

        def forward(self, rows):
            return self.out(rows * 1.0).squeeze(-1)

    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    people = rb.Population(X, X[:, 0] > 0)
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.4]), people)
    with torch.autocast("cpu", torch.bfloat16):
        trace = rb.play(compiled, rb.Torch(Own), epochs=2, progress=False)
        inside = trace.scorer.scores(trace.parameters, X)
    scores = trace.scorer.scores(trace.parameters, X)
    np.testing.assert_array_equal(inside, scores)
    np.testing.assert_array_equal(compiled.evaluate(scores)[1], trace.violations)


def test_modules_of_another_precision_are_refused():
    people = rb.Population(np.eye(4), [0, 1, 0, 1])
    compiled = rb.compile(rb.Problem(rb.error_rate()), people)
    with pytest.raises(ValueError, match=r"weight is torch.float64, .* module.float\(\)"):
        rb.play(compiled, rb.Torch(torch.nn.Linear(4, 1).double()), rounds=1)
