"""Linear and PyTorch models with a score for each class, against steps by hand and scikit-learn's."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb
from ratebound._old.game.scorer import Saved, read_scorer
from ratebound._old.learners.linear import LinearScorer

from ..extras import torch

D, N, WIDTH = 4, 60, 3
rng = np.random.default_rng(5)
X = rng.normal(size=(N, WIDTH))
Y = rng.integers(0, D, N)
ROWS = rb.Population(X, np.array(["ape", "bee", "cat", "dog"])[Y])
WIDE = np.column_stack([X, np.ones(N)])


def table(name):
    """A table of scikit-learn's, scaled, with words for labels."""
    features, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    scale = np.where(features.std(axis=0) > 0, features.std(axis=0), 1.0)
    return (features - features.mean(axis=0)) / scale, np.array([f"class {each}" for each in labels])


# --- linear models -------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [X, sparse.csr_array(X)], ids=["array", "sparse"])
def test_linear_scores_are_each_classs_weights_times_rows(given):
    rows = SimpleNamespace(features=given, decisions=D)
    fit = rb.Linear((0.1, 0.2), dtype="float64").start(rows, 2, 0)
    fit.restore(rng.normal(size=(2, D * (WIDTH + 1))))
    weights = fit.parameters().reshape(2, D, WIDTH + 1)
    expected = weights @ WIDE.T
    some = np.array([7, 3, 3, 49])
    np.testing.assert_allclose(fit.scores(None), expected)
    np.testing.assert_allclose(fit.scores(some), expected[..., some])
    np.testing.assert_allclose(fit.all_scores(), expected)
    np.testing.assert_allclose(fit.scorer.scores(fit.parameters(), given), expected)
    assert fit.scorer.width(fit.parameters()) == WIDTH


@pytest.mark.parametrize("given", [X, sparse.csr_array(X)], ids=["array", "sparse"])
def test_linear_steps_equal_those_by_hand(given):
    rows = SimpleNamespace(features=given, decisions=D)
    fit = rb.Linear((0.1, 0.02), "sgd", l2=0.3, dtype="float64").start(rows, 2, 0)
    w = np.zeros((2, D, WIDTH + 1))
    for step in range(5):
        own = np.arange(step, step + 10)
        gradient = rng.normal(size=(2, D, 10))
        fit.scores(own)
        fit.descend(gradient)
        penalty = 0.3 * w * [1, 1, 1, 0]  # intercepts are free
        w = w - np.array([0.1, 0.02])[:, None, None] * (gradient @ WIDE[own] + penalty)
    np.testing.assert_allclose(fit.parameters(), w.reshape(2, -1), rtol=1e-12)


@pytest.mark.parametrize("l2", [0.01, 0.1])
def test_unconstrained_training_is_multinomial_regression(l2):
    compiled = rb.compile(rb.Problem(rb.error_rate()), ROWS)
    learner = rb.Linear(1.0, "sgd", l2=l2, dtype="float64")
    trace = rb.play(compiled, learner, rounds=3000, batch_size=None, keep=rb.Keep(3000))
    theirs = LogisticRegression(C=1 / (N * l2 * np.log(2)), tol=1e-10, max_iter=10_000).fit(X, Y)
    own = trace.parameters[0].reshape(D, WIDTH + 1)
    np.testing.assert_allclose(own[:, :-1], theirs.coef_, atol=1e-4)
    intercepts = own[:, -1] - own[:, -1].mean()  # only differences matter
    np.testing.assert_allclose(intercepts, theirs.intercept_ - theirs.intercept_.mean(), atol=1e-4)


def test_linear_models_read_themselves_back_and_refuse_what_cannot_be():
    scorer = LinearScorer("float64", D)
    described, _ = scorer.describe()
    saved = Saved({"kind": "linear", **described}, {}, np.ones((2, D * (WIDTH + 1))))
    assert read_scorer(saved) == scorer
    assert LinearScorer().describe()[0] == {"dtype": "float32", "decisions": 2}
    for wrong in (3, 1, 0, -4, True, "4", 10**9):
        crafted = Saved({**saved.description, "decisions": wrong}, {}, np.ones((2, 16)))
        with pytest.raises(ValueError, match="its linear models"):
            read_scorer(crafted)


# --- PyTorch -------------------------------------------------------------------------------------


def modules():
    nn = torch.nn

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(WIDTH, D)

        def forward(self, rows):
            return self.inner(rows) * 0.5

    return {
        "chain": lambda: nn.Sequential(nn.Linear(WIDTH, 5), nn.Tanh(), nn.Linear(5, D)),
        "its own": Own,
    }


@pytest.mark.parametrize("settings", [1, 2])
@pytest.mark.parametrize("kind", ["chain", "its own"])
def test_torch_scores_and_steps_are_the_modules_own(kind, settings):
    learner = rb.Torch(modules()[kind], [0.1] * settings, "sgd")
    fit = learner.start(ROWS, settings, 0)
    reference = learner.network(X, D)
    state = fit.scorer.module.state_dict()
    reference.load_state_dict({name: value.clone() for name, value in state.items()})
    rows = torch.tensor(X, dtype=torch.float32)
    for step in range(3):
        own = np.arange(step, step + 20)
        gradient = torch.tensor(rng.normal(size=(D, 20)), dtype=torch.float32)
        scores = fit.scores(own)
        assert scores.shape == (settings, D, 20)
        output = reference(rows[own])
        np.testing.assert_allclose(scores[-1].T, output.detach(), rtol=1e-4, atol=1e-6)
        fit.descend(gradient.repeat(settings, 1, 1))
        reference.zero_grad()
        output.backward(gradient.T)
        with torch.no_grad():
            for parameter in reference.parameters():
                parameter -= 0.1 * parameter.grad
    expected = reference(rows).detach().numpy().T
    for found in (fit.all_scores(), fit.scorer.scores(fit.parameters(), X)):
        assert found.shape == (settings, D, N)
        np.testing.assert_allclose(found[-1], expected, rtol=1e-4, atol=1e-6)


def test_a_network_has_an_output_for_each_class():
    pytest.importorskip("torch")
    fit = rb.MLP((5,)).start(ROWS, 1, 0)
    assert fit.module[-1].out_features == D
    made = rb.Torch(lambda width, scores: torch.nn.Linear(width, scores)).start(ROWS, 1, 0)
    assert made.scores(None).shape == (1, D, N)


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_module_with_another_number_of_outputs_is_refused(outputs):
    pytest.importorskip("torch")
    compiled = rb.compile(rb.Problem(rb.error_rate()), ROWS)
    with pytest.raises(ValueError, match=r"must give 4 scores per row, one for each class.* 4 outputs"):
        rb.play(compiled, rb.Torch(lambda: torch.nn.Linear(WIDTH, outputs)), epochs=1)


@pytest.mark.parametrize("kind", ["chain", "its own"])
def test_torch_models_read_themselves_back_and_refuse_what_cannot_be(kind):
    fit = rb.Torch(modules()[kind]).start(ROWS, 1, 0)
    parameters = fit.parameters()
    module = None if kind == "chain" else modules()[kind]()
    described = {"kind": "torch", **fit.scorer.describe()[0]}
    again = read_scorer(Saved(described, {}, parameters, module))
    np.testing.assert_array_equal(again.scores(parameters, X), fit.all_scores())
    for wrong in (2, 0, "4", None):
        with pytest.raises(ValueError, match="scores per row"):
            read_scorer(Saved({**described, "outputs": wrong}, {}, parameters, module))
    if kind == "chain":
        with pytest.raises(ValueError, match="its layers give 4 scores per row, not 3"):
            read_scorer(Saved({**described, "outputs": 3}, {}, parameters, module))


def test_snapshots_of_a_loop_of_ones_own():
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.recall(of="cat") >= 0.3]), ROWS)
    copies = [modules()["chain"]() for _ in range(3)]
    trace = rb.trace_of(compiled, copies)
    decided = np.stack([one(torch.tensor(X, dtype=torch.float32)).argmax(1) for one in copies])
    np.testing.assert_allclose(trace.objectives, (decided != Y).mean(axis=1))
    hits = (decided == 2)[:, Y == 2].mean(axis=1)
    np.testing.assert_allclose(trace.violations[:, 0], 0.3 - hits, atol=1e-12)


# --- whole games ---------------------------------------------------------------------------------


def learner_of(name):
    return rb.Linear(0.05) if name == "linear" else rb.MLP((16,), 0.02)


@pytest.mark.parametrize("name", ["linear", "mlp"])
@pytest.mark.parametrize("data", ["iris", "wine"])
def test_recall_floors_of_every_class_are_kept(data, name):
    """With two features each table has a class that is missed most, until floors say otherwise."""
    if name == "mlp":
        pytest.importorskip("torch")
    features, labels = table(data)
    people = rb.Population(features[:, :2], labels)
    classes = np.array(people.classes)
    free = rb.play(rb.compile(rb.Problem(rb.error_rate()), people), learner_of(name), epochs=150)
    said = classes[free.scores(rb.compile(free.problem, people))[-1].argmax(axis=0)]
    found = {each: np.mean(said[labels == each] == each) for each in classes}
    worst = min(found, key=found.get)
    floors = [rb.recall(of=each) >= found[each] + (0.1 if each == worst else -0.15) for each in classes]
    compiled = rb.compile(rb.Problem(rb.error_rate(), floors), people)
    mixture = rb.shrink(rb.play(compiled, learner_of(name), epochs=150, batch_size=32))
    assert mixture.status.feasible
    assert mixture.violations["train"].max() <= 1e-9


def test_digits_are_read_as_well_as_by_multinomial_regression():
    features, labels = table("digits")
    train, test = np.arange(0, len(labels), 2), np.arange(1, len(labels), 2)
    compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(features[train], labels[train]))
    trace = rb.play(
        compiled, rb.Linear(0.02, l2=1 / (len(train) * np.log(2))), epochs=40, batch_size=128
    )
    scores = trace.scorer.scores(trace.parameters[-1:], features[test])[0]
    own = np.array(compiled.classes)[scores.argmax(axis=0)]
    theirs = LogisticRegression(max_iter=2000).fit(features[train], labels[train])
    assert np.mean(own == labels[test]) >= theirs.score(features[test], labels[test]) - 0.005


@pytest.mark.parametrize("name", ["linear", "mlp"])
def test_two_classes_are_the_same_model_whichever_way_they_are_said(name):
    if name == "mlp":
        pytest.importorskip("torch")
    yes = Y > 1
    plain = rb.Problem(rb.error_rate(), [rb.recall() >= 0.8, rb.positive_rate() <= 0.7])
    said = rb.Problem(rb.error_rate(), [rb.recall(of="yes") >= 0.8, rb.positive_rate(of="yes") <= 0.7])
    words = rb.Population(X, np.where(yes, "yes", "no"), classes=("no", "yes"))
    one, other = (
        rb.play(rb.compile(problem, people), learner_of(name), epochs=5)
        for problem, people in ((plain, rb.Population(X, yes)), (said, words))
    )
    np.testing.assert_array_equal(one.parameters, other.parameters)
    np.testing.assert_array_equal(one.violations, other.violations)
