"""A row's score is the same alone, among others, at any place, and in training as when deployed."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game.trace import scores_on

from ..small_tables import people

N, D = 600, 13
TABLE = people(N, seed=12, slopes=np.linspace(-1, 2, D), shift=0.5)
X, PEOPLE = TABLE.X, TABLE.population()
COMPILED = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate(group="a") <= 0.3]), PEOPLE)
SIZES = (1, 2, 7, 64, 333)


def chain(*widths):
    nn = pytest.importorskip("torch").nn
    layers = [nn.Linear(D, widths[0])]
    for inside, outside in zip(widths, [*widths[1:], 1], strict=True):
        layers += [nn.GELU(), nn.Linear(inside, outside)]
    return nn.Sequential(*layers)


def own():
    """A module that is not a plain chain, with statistics of its own."""
    nn = pytest.importorskip("torch").nn
    return nn.Sequential(nn.Linear(D, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))


def logistic():
    return pytest.importorskip("sklearn.linear_model").LogisticRegression()


LEARNERS = {
    "linear": lambda: rb.Linear([0.03, 0.1]),
    "linear in double": lambda: rb.Linear([0.03, 0.1], dtype="float64"),
    "narrow": lambda: rb.Torch(lambda: chain(7, 5), learning_rate=[0.01, 0.03]),
    "wide": lambda: rb.Torch(lambda: chain(32), learning_rate=[0.01, 0.03]),
    "own": lambda: rb.Torch(own),
    "lattice": lambda: rb.Lattice(learning_rate=[0.01, 0.03]),
    "lightgbm": lambda: rb.Boosted("lightgbm"),
    "xgboost": lambda: rb.Boosted("xgboost"),
    "oracle": lambda: rb.Oracle(logistic()),
}


@pytest.fixture(scope="module", params=LEARNERS)
def trace(request):
    if request.param in ("lightgbm", "xgboost"):
        pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    elif request.param not in ("linear", "linear in double", "oracle"):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    learner = LEARNERS[request.param]()
    more = {} if request.param == "oracle" else {"keep": rb.Keep(4), "batch_size": None}
    return rb.play(COMPILED, learner, rounds=12, progress=False, **more)


def edges(score):
    """Rows on either side of where a score changes its sign, next to each other among the floats."""
    low, high = X[score(X) < 0], X[score(X) >= 0]
    count = min(len(low), len(high), 100)
    assert count > 20
    low, high = low[:count], high[:count]
    for _ in range(70):
        middle = low / 2 + high / 2
        yes = score(middle)[:, None] >= 0
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    return np.concatenate([low, high])


def test_scores_do_not_depend_on_neighbours(trace):
    scores = trace.scorer.scores
    one = trace.parameters[-1:]
    rows = np.concatenate([X, edges(lambda rows: scores(one, rows)[0, 0])])
    whole = scores(trace.parameters, rows)
    for size in SIZES:
        for start in (0, 5, len(rows) - size):
            part = slice(start, start + size)
            np.testing.assert_array_equal(scores(trace.parameters, rows[part]), whole[..., part])
    order = np.random.default_rng(0).permutation(len(rows))
    np.testing.assert_array_equal(scores(trace.parameters, rows[order]), whole[..., order])
    few = trace.parameters[[2, 0]]
    np.testing.assert_array_equal(scores(few, np.asfortranarray(rows)), whole[[2, 0]])
    scorer, kept = trace.scorer.kept(few)
    np.testing.assert_array_equal(scorer.scores(kept, rows), whole[[2, 0]])


def test_rows_on_the_boundary_are_decided_alone_as_among_others(trace):
    mixture = rb.last_iterate(trace.of_setting(trace.setting[-1]))
    rows = edges(lambda rows: mixture.member_scores(rows)[:, 0])
    together = mixture.predict(rows)
    assert together.tolist() == np.repeat([False, True], len(rows) // 2).tolist()
    assert np.concatenate([mixture.predict(row[None]) for row in rows]).tolist() == together.tolist()


def test_what_is_kept_in_training_is_decided_so_when_deployed(trace):
    objectives, violations = COMPILED.evaluate(scores_on(COMPILED, trace.scorer, trace.parameters))
    np.testing.assert_array_equal(objectives, trace.objectives)
    np.testing.assert_array_equal(violations, trace.violations)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "oracle"])
def test_the_scores_of_a_fit_are_those_of_its_scorer(name):
    if name in ("lightgbm", "xgboost"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    elif not name.startswith("linear"):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    learner = LEARNERS[name]()
    fit = learner.start(rb.Population(X), learner.settings, 0)
    draw = np.random.default_rng(0)
    for _ in range(9):
        scores = fit.scores(None)
        gradient = draw.normal(size=tuple(scores.shape)) / N
        if isinstance(fit, rb.Growing):
            fit.grow(gradient, np.ones_like(gradient))
        elif isinstance(scores, np.ndarray):
            fit.descend(gradient.astype(scores.dtype))
        else:
            fit.descend(scores.new_tensor(gradient))
    np.testing.assert_array_equal(fit.all_scores(), fit.scorer.scores(fit.parameters(), X))
