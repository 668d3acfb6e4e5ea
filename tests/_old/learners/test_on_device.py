"""Kept iterates evaluated all at once where the model is, against one by one, on tensors of the CPU."""

from dataclasses import dataclass

import numpy as np
import pytest

import ratebound._old as rb

torch = pytest.importorskip("torch", reason="needs PyTorch")

from ratebound._old.learners import _modules  # noqa: E402
from ratebound._old.learners.torch import TorchFit  # noqa: E402


@dataclass(frozen=True)
class Elsewhere(rb.Torch):
    """A learner that takes the CPU for a device of its own, so that its iterates wait there."""

    def start(self, rows, settings, seed):
        fit = super().start(rows, settings, seed)
        assert isinstance(fit, TorchFit)
        fit.device, fit.batched = torch.device("cpu"), True
        return fit


@dataclass(frozen=True)
class OneByOne(Elsewhere):
    """The same game, its iterates evaluated one round after the other."""

    def start(self, rows, settings, seed):
        fit = super().start(rows, settings, seed)
        fit.batched = False
        return fit


def network():
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1))


class Own(torch.nn.Module):
    """A module that is not a chain, with running statistics."""

    def __init__(self):
        super().__init__()
        self.norm, self.out = torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 1)

    def forward(self, rows):
        return self.out(torch.relu(self.norm(rows))).squeeze(-1)


def rows_of(seed, n=400, weights=False, classes=2):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    y = (X @ random.normal(size=5) + random.normal(size=n) > 0).astype(int)
    if classes > 2:
        y = random.integers(classes, size=n)
    given = random.random(n) if weights else None
    return rb.Population(X, y, weights=given, columns={"g": random.integers(3, size=n)})


def played(learner, problem, population, other, **how):
    train, test = rb.compile(problem, population), rb.compile(problem, other)
    player = rb.SwapRegret((0.1, 0.3) if learner.settings > 1 else 0.1)
    return rb.play(train, learner, player=player, watch={"test": test}, epochs=4, batch_size=64, seed=1,
                   progress=False, **how)  # fmt: skip


PROBLEM = rb.Problem(
    rb.error_rate(), [rb.recall(g=0) >= 0.9 * rb.recall(), rb.positive_rate(g=1) <= 0.5]
)


@pytest.mark.parametrize("weights", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize(
    ("module", "rate"),
    [(network, (0.01, 0.1)), (network, 0.05), (Own, 0.05), (lambda: torch.nn.Linear(5, 1), (0.1, 0.2))],
    ids=["networks", "network", "own module", "linear"],
)
def test_all_at_once_is_one_by_one(module, rate, weights, monkeypatch):
    monkeypatch.setattr(_modules, "CHUNK", 100)  # several pieces
    given = PROBLEM, rows_of(0, weights=weights), rows_of(1, n=257, weights=weights)
    together, alone = (played(kind(module, rate), *given) for kind in (Elsewhere, OneByOne))
    for name in ("parameters", "multipliers", "setting", "round"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name), err_msg=name)
    rounding = 1e-14 if weights else 0  # weights are summed piece by piece
    for name in ("objectives", "violations"):
        for one, other in zip(*((t, t.watched["test"]) for t in (together, alone)), strict=True):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=rounding, rtol=0)


def test_several_classes_and_learned_thresholds():
    several = rb.Problem(rb.error_rate(), [rb.recall(of=1) >= 0.3])
    given = several, rows_of(0, classes=3), rows_of(1, classes=3)
    together, alone = (
        played(kind(lambda: torch.nn.Linear(5, 3), (0.05, 0.1)), *given)
        for kind in (Elsewhere, OneByOne)
    )
    np.testing.assert_array_equal(together.violations, alone.violations)
    area = rb.Problem(rb.error_rate(), [rb.roc_auc() >= 0.7])
    given = area, rows_of(0), rows_of(1)
    together, alone = (played(kind(network, (0.05, 0.1)), *given) for kind in (Elsewhere, OneByOne))
    np.testing.assert_array_equal(together.violations, alone.violations)
    assert together.thresholds.keys() == alone.thresholds.keys()


def test_a_setting_that_diverges_is_said_and_left_out():
    given = PROBLEM, rows_of(0), rows_of(1)
    with pytest.warns(RuntimeWarning, match=r"settings \[1\] diverged"):
        trace = played(Elsewhere(network, (0.01, 1e38)), *given)
    assert set(trace.settings) == {0}
    assert np.isfinite(trace.objectives).all()


def test_iterates_that_wait_do_not_pile_up(monkeypatch):
    from ratebound._old.game import _keeping

    monkeypatch.setattr(_keeping, "AT_ONCE", 100)
    given = PROBLEM, rows_of(0), rows_of(1)
    together, alone = (played(kind(network, (0.01, 0.1)), *given) for kind in (Elsewhere, OneByOne))
    np.testing.assert_array_equal(together.violations, alone.violations)


def test_who_looks_at_the_trace_sees_all_of_it():
    seen = []
    given = PROBLEM, rows_of(0), rows_of(1)
    played(Elsewhere(network, 0.01), *given, stop=rb.Stop(when=lambda trace: seen.append(len(trace))))
    assert seen == [1, 2, 3, 4]


def test_a_game_goes_on_from_iterates_that_waited(tmp_path, monkeypatch):
    from ratebound._old.game import _resuming

    monkeypatch.setattr(_resuming, "SECONDS", 0.0)
    given = PROBLEM, rows_of(0), rows_of(1)
    whole = played(Elsewhere(network, (0.01, 0.1)), *given)
    cut = played(Elsewhere(network, (0.01, 0.1)), *given, keep=rb.Keep(folder=tmp_path),
                 stop=rb.Stop(max_time=1e-9))  # fmt: skip
    assert len(cut) < len(whole)
    found = played(Elsewhere(network, (0.01, 0.1)), *given, keep=rb.Keep(folder=tmp_path))
    np.testing.assert_array_equal(found.parameters, whole.parameters)
    np.testing.assert_array_equal(found.violations, whole.violations)
