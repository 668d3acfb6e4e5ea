"""Threads that ask one model at once get its answers; threads that train get the model of the seed."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ratebound._old as rb

THREADS = 5
random = np.random.default_rng(0)
X = random.normal(size=(400, 3))
Y = X[:, 0] * X[:, 1] + random.normal(size=400) > 0
COMPILED = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.4]), rb.Population(X, Y))


def in_threads(work, threads=THREADS):
    """What each of several threads that start together returns."""
    together = threading.Barrier(threads)

    def started(number):
        together.wait()
        return work(number)

    before = sys.getswitchinterval()
    sys.setswitchinterval(
        2e-5
    )  # they take turns often, so that what can go wrong between two steps does
    try:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(started, range(threads)))
    finally:
        sys.setswitchinterval(before)


# --- predicting ----------------------------------------------------------------------------------


def own_network():
    from torch import nn

    layers = nn.Linear(3, 8), nn.LayerNorm(8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, 1)
    return nn.Sequential(*layers)


def estimator(name):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    kinds = {
        "bayes": GaussianNB(),
        "tree": DecisionTreeClassifier(max_depth=3, max_features=1, splitter="random"),
        "histograms": HistGradientBoostingClassifier(max_iter=5),
        "vectors": SVC(),
    }
    return rb.Oracle(kinds[name])


LEARNERS = {
    "linear": (None, lambda: rb.Linear(0.1)),
    "mlp": ("torch", lambda: rb.MLP((8,))),
    "own": ("torch", lambda: rb.Torch(own_network, 0.01)),
    "lattice": ("torch", lambda: rb.Lattice(lattices=3, rank=2, keypoints=4)),
    "lightgbm": ("lightgbm", lambda: rb.Boosted("lightgbm")),
    "xgboost": ("xgboost", lambda: rb.Boosted("xgboost")),
    **{
        name: (None, lambda name=name: estimator(name))
        for name in ("bayes", "tree", "histograms", "vectors")
    },
}


@pytest.mark.parametrize("kind", LEARNERS)
def test_threads_that_predict_at_once_get_what_one_gets(kind):
    library, learner = LEARNERS[kind]
    if library is not None:
        pytest.importorskip(library)
    model = rb.average(rb.play(COMPILED, learner(), rounds=6, seed=0))
    decided, scores = model.predict(X), model.member_scores(X)

    def asked(number):
        mine, wrong = np.random.default_rng(number), 0
        for _ in range(8):
            rows = mine.integers(0, len(X), mine.integers(1, 40))
            wrong += int((model.predict(X[rows]) != decided[rows]).sum())
            wrong += int((model.member_scores(X[rows]) != scores[rows]).sum())
        return wrong

    assert in_threads(asked) == [0] * THREADS


def test_a_module_is_not_shared_by_the_threads_that_score_with_it():
    torch = pytest.importorskip("torch")
    inside, waiting = threading.Barrier(2), []

    class Waiting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, rows):
            if waiting:
                inside.wait(timeout=60)  # until both threads have their parameters in place
            return self.weight * rows[:, 0]

    scorer = rb.trace_of(COMPILED, [Waiting()]).scorer
    waiting.append(True)
    found = in_threads(lambda number: scorer.scores(np.array([[number + 1.0]]), np.ones((1, 1))), 2)
    assert [float(each.item()) for each in found] == [1.0, 2.0]


@pytest.mark.parametrize("name", ["LSTM", "tied", "normed", "statistics"])
def test_modules_of_any_making_hold_the_parameters_they_are_given(name):
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.last = nn.LSTM(1, 4, num_layers=2, batch_first=True), nn.Linear(4, 1)

        def forward(self, rows):
            return self.last(self.inner(rows[:, :, None])[0][:, -1])

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.last = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1)
            self.second.weight = self.first.weight

        def forward(self, rows):
            return self.last(self.second(self.first(rows).tanh()))

    kinds = {
        "LSTM": Recurrent,
        "tied": Tied,
        "normed": lambda: nn.Sequential(
            torch.nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 1)
        ),
        "statistics": lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)),
    }
    modules = [kinds[name]() for _ in range(3)]
    if name == "statistics":
        for module in modules:
            module(torch.randn(50, 3))
    trace = rb.trace_of(COMPILED, modules)
    found = trace.scorer.scores(trace.parameters, X)
    for module, scores in zip(modules, found, strict=True):
        with torch.no_grad():
            expected = module.eval()(torch.as_tensor(X, dtype=torch.float32))[:, 0].numpy()
        np.testing.assert_allclose(scores[0], expected, atol=1e-6)


# --- training ------------------------------------------------------------------------------------

TRAINED = {
    "linear": (None, lambda: rb.Linear()),
    "mlp": ("torch", lambda: rb.MLP((32,))),
    "lattice": ("torch", lambda: rb.Lattice(lattices=3, rank=2, keypoints=4)),
    "dropout": ("torch", lambda: rb.Torch(own_network, 0.01)),
    "side by side": ("torch", lambda: rb.Torch(own_network, [0.01, 0.02])),
    "lightgbm": ("lightgbm", lambda: sampled("lightgbm")),
    "xgboost": ("xgboost", lambda: sampled("xgboost")),
    "tree": (None, lambda: estimator("tree")),
}


def sampled(library):
    """Trees of some rows and features, drawn anew for each."""
    if library == "lightgbm":
        from lightgbm import LGBMClassifier

        return rb.Boosted(LGBMClassifier(subsample=0.5, subsample_freq=1, colsample_bytree=0.7))
    from xgboost import XGBClassifier

    return rb.Boosted(XGBClassifier(subsample=0.5, colsample_bynode=0.7))


def trained(learner):
    trace = rb.play(COMPILED, learner, rounds=4, batch_size=100, seed=0)
    return trace.parameters.tobytes(), trace.scores(COMPILED).tobytes()


@pytest.mark.parametrize("kind", TRAINED)
def test_a_seed_gives_the_same_model_whatever_else_is_running(kind):
    library, make = TRAINED[kind]
    if library is not None:
        pytest.importorskip(library)
    learner, expected = make(), trained(make())

    def fitted(number):
        if number == 0 and library == "torch":  # someone else, who draws and seeds
            import torch

            for seed in range(400):
                torch.manual_seed(seed)
                torch.nn.Linear(30, 30)
            return True
        return all(trained(learner) == expected for _ in range(4))

    assert in_threads(fitted) == [True] * THREADS


@pytest.mark.parametrize("kind", ["mlp", "lattice", "dropout", "side by side"])
def test_the_random_numbers_of_others_are_left_alone(kind):
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    before = torch.get_rng_state()
    trace = rb.play(COMPILED, TRAINED[kind][1](), rounds=4, batch_size=100, seed=0)
    rb.shrink(trace).predict(X)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("kind", ["mlp", "lattice"])
def test_loading_draws_nothing(kind, tmp_path):
    torch = pytest.importorskip("torch")
    path = rb.last_iterate(rb.play(COMPILED, TRAINED[kind][1](), rounds=4)).save(tmp_path)
    before = torch.get_rng_state()
    rb.load(path)
    assert torch.equal(before, torch.get_rng_state())


def test_dropout_that_is_computed_twice_is_refused():
    torch = pytest.importorskip("torch")
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
            self.part = torch.nn.Sequential(self.first, torch.nn.Dropout(0.5))

        def forward(self, rows):
            return self.last(checkpoint(self.part, rows, use_reentrant=False))

    with pytest.raises(ValueError, match=r"draws random numbers while its gradient .* checkpoint"):
        rb.play(COMPILED, rb.Torch(Checkpointed(), 0.01), rounds=2)
