"""Snapshots of a loop of one's own become a trace with the exact rates of the modules as deployed."""

import copy

import numpy as np
import pytest

import ratebound._old as rb

from ..small_tables import people

torch = pytest.importorskip("torch")
X = people(80, slopes=(1.0, 0.0, 0.0)).X.astype(np.float32)
PROBLEM = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.4])
TRAIN = rb.compile(PROBLEM, rb.Population(X, X[:, 0] > 0))


def modules(count=5):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1)
    )
    found = []
    for _ in range(count):
        net.train()(torch.randn(20, 3))  # moves the running statistics
        for parameter in net.parameters():
            parameter.data.add_(0.3 * torch.randn_like(parameter))
        found.append(copy.deepcopy(net))
    return found


def scores(net):
    with torch.no_grad():
        return copy.deepcopy(net).eval()(torch.from_numpy(X)).squeeze(1).numpy()


def test_the_trace_holds_exact_values_and_every_solution_follows():
    nets = modules()
    trace = rb.trace_of(TRAIN, nets, watch={"again": TRAIN})
    objectives, violations = TRAIN.evaluate(np.stack([scores(net) for net in nets]))
    np.testing.assert_allclose(trace.objectives, objectives)
    np.testing.assert_allclose(trace.violations, violations)
    np.testing.assert_allclose(trace.watched["again"].objectives, objectives)
    last = rb.last_iterate(trace)
    np.testing.assert_allclose(last.member_scores(X)[:, 0], scores(nets[-1]), rtol=1e-5, atol=1e-6)
    assert len(rb.shrink(trace)) <= 2
    assert len(rb.average(trace)) == 5
    assert all(net.training for net in nets)  # the snapshots themselves are left as they were


def test_what_is_no_row_of_snapshots_raises():
    with pytest.raises(ValueError, match="no snapshots"):
        rb.trace_of(TRAIN, [])
    with pytest.raises(ValueError, match="do not all have the same architecture"):
        rb.trace_of(TRAIN, [torch.nn.Linear(3, 1), torch.nn.Linear(3, 1, bias=False)])
    with pytest.raises(TypeError, match="scorer="):
        rb.trace_of(TRAIN, [np.zeros(4)])
    for wrong in ([np.zeros((2, 2))], [np.zeros(4), np.zeros(3)]):
        with pytest.raises(ValueError, match="one flat array"):
            rb.trace_of(TRAIN, wrong, scorer=Weighing())


@rb.register_scorer
class Weighing(rb.Scorer):
    kind = "weights and a constant, of the tests of snapshots"

    def scores(self, parameters, X):
        return (parameters[:, :-1] @ X.T + parameters[:, -1:])[:, None]


def test_parameters_with_a_scorer_are_snapshots_too(tmp_path):
    flat = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    trace = rb.trace_of(TRAIN, list(flat), scorer=Weighing())
    said = flat[:, :3].astype(float) @ X.T + flat[:, 3:] >= 0  # by hand: decisions and their rates
    np.testing.assert_allclose(trace.objectives, (said != (X[:, 0] > 0)).mean(1))
    np.testing.assert_allclose(trace.violations[:, 0], said.mean(1) - 0.4)
    mixture = rb.shrink(trace)
    loaded = rb.load(mixture.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(X), mixture.predict(X))
