"""Few parameters, in groups, and parts that scikit-learn can clone and search."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ratebound._old as rb

from ..small_tables import people

X, Y, GROUP = people(slopes=(1.0, 0.0, 0.0), lift=0.5, share=0.4)
PROMISE = 'recall(group == "b") >= 0.9 * recall()'
PARTS = {
    "linear": lambda: rb.Linear([0.01, 0.1], l2=0.1),
    "mlp": lambda: rb.MLP(hidden=[4, 4], learning_rate=(0.1, 0.2)),
    "oracle": lambda: rb.Oracle(LogisticRegression(C=2.0)),
    "swap": lambda: rb.SwapRegret([0.1, 0.2], objective_weight=0.7),
    "external": lambda: rb.ExternalRegret("theorem", "sgd", radius=3.0),
    "cutting planes": lambda: rb.CuttingPlane(radius=5.0),
    "grid": lambda: rb.Grid(7, radius=2.0),
    "rules": lambda: rb.Rules(proxy="hinge", window=9),
    "keep": lambda: rb.Keep(5, frontier=True),
    "stop": lambda: rb.Stop(max_time=3),
    "training": lambda: rb.Training(epochs=3, patience=2),
}


@pytest.mark.parametrize("function", [rb.play, rb.RateConstrainedClassifier])
def test_few_parameters(function):
    assert len(inspect.signature(function).parameters) <= 16


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_cloned_with_their_parameters(name):
    part = PARTS[name]()
    copy = clone(part)
    assert copy is not part
    assert {key: repr(value) for key, value in copy.get_params().items()} == {
        key: repr(value) for key, value in part.get_params().items()
    }
    for each in fields(part):
        if each.init:
            part.set_params(**{each.name: getattr(copy, each.name)})
    assert repr(part) == repr(copy)
    with pytest.raises(ValueError, match="has no parameter 'depth', only"):
        part.set_params(depth=3)


def test_what_is_set_is_checked_as_what_is_made():
    with pytest.raises(ValueError, match="l2 takes a number"):
        rb.Linear().set_params(l2=-1)
    oracle = rb.Oracle(LogisticRegression()).set_params(estimator__C=0.5, tolerance=0.1)
    assert (oracle.estimator.C, oracle.tolerance) == (0.5, 0.1)
    with pytest.raises(ValueError, match="Linear has no parameter 'l2__size', only"):
        rb.Linear().set_params(l2__size=3)


@pytest.mark.parametrize(
    ("model", "tried"),
    [
        (rb.Linear(0.05), {"model__learning_rate": [1e-6, 0.05], "model__l2": [0.0, 1.0]}),
        (rb.Oracle(LogisticRegression()), {"model__estimator__C": [1e-9, 1.0]}),
        (rb.Linear(0.05), {"player": ["external", rb.SwapRegret(0.1)], "training__epochs": [1, 30]}),
    ],
    ids=["learner", "oracle", "player and training"],
)
def test_searches_reach_into_the_parts(model, tried):
    estimator = rb.RateConstrainedClassifier(
        "positive_rate() <= 0.5",
        model=model,
        confidence=None,
        training=rb.Training(epochs=30),
        random_state=0,
    )
    found = GridSearchCV(estimator, tried, cv=2).fit(X, Y)
    for name in tried:
        assert name in found.best_params_
    assert found.best_score_ > 0.65
    assert found.best_params_.get("model__learning_rate") != 1e-6
    assert len(set(found.cv_results_["mean_test_score"])) > 1  # what is tried makes a difference
    assert model == clone(model) or isinstance(model, rb.Oracle)  # and leave them as they were


def test_every_rate_of_the_model_meets_every_rate_of_the_player():
    estimator = rb.RateConstrainedClassifier(
        PROMISE, model=rb.Linear([0.01, 0.1]), confidence=None, random_state=0
    )
    trace = estimator.fit(X, Y, columns={"group": GROUP}).trace_
    assert trace.settings == list(range(6))
    paired = estimator.set_params(player=rb.SwapRegret([0.01, 0.1])).fit(X, Y, columns={"group": GROUP})
    assert paired.trace_.settings == [0, 1]


@pytest.mark.parametrize("rows", [300, 2500])
@pytest.mark.parametrize("model", ["linear", "lightgbm"])
def test_other_populations_are_keywords(model, rows):
    if model == "lightgbm":
        pytest.importorskip("lightgbm")
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(rows, 3))
    y = wide[:, 0] + rng.normal(size=rows) > 0
    experts = rb.Population(wide[:60] + 0.5, wide[:60, 1] > 0, columns={"town": ["x", "y"] * 30})
    promises = ['accuracy(on="experts", town="x") >= 0.6', "positive_rate() <= 0.6"]
    estimator = rb.RateConstrainedClassifier(promises, model=model, random_state=0)
    fitted = estimator.fit(wide, y, experts=experts)
    assert fitted.status_.feasible
    decided = fitted.solution_.decision_proba(wide[:60] + 0.5)[:, 1]
    right = np.where(wide[:60, 1] > 0, decided, 1 - decided)[::2].mean()
    violation = fitted.solution_.violations["train"][0]
    assert violation == pytest.approx(0.6 - right, abs=1e-9)
    with pytest.raises(ValueError, match=r"population 'experts'.*Pass it"):
        estimator.fit(wide, y)


def test_a_promise_said_twice_is_told_apart():
    model = rb.RateConstrainedClassifier(
        [PROMISE, PROMISE], training=rb.Training(epochs=5), random_state=0
    )
    model.fit(X, Y, columns={"group": GROUP})
    assert model.constraints_ == (rb.parse(PROMISE), rb.parse(PROMISE))
    for by_words in (model.violations_, model.prices_, model.multipliers_):
        assert list(by_words) == [PROMISE, f"{PROMISE} (2)"]


def test_parts_that_are_only_named_can_be_searched_too():
    estimator = rb.RateConstrainedClassifier("positive_rate() <= 0.5", random_state=0)
    clone(estimator).set_params(training__epochs=2, model__l2=0.5).fit(X, Y)
    found = GridSearchCV(estimator, {"model__l2": [0.0, 9.0], "training__epochs": [20]}, cv=2).fit(X, Y)
    best = found.best_estimator_
    assert (best.model.l2, best.training.epochs) == (found.best_params_["model__l2"], 20)
    assert (estimator.model, estimator.training) == ("linear", None)


def test_what_cannot_be_set_changes_nothing():
    learner = rb.Linear(0.1)
    with pytest.raises(ValueError, match="a learning rate is"):
        learner.set_params(l2=1.0, learning_rate=-1)
    assert learner == rb.Linear(0.1)


def test_other_populations_are_read_by_the_same_labels_and_audited():
    experts = rb.Population(X[:50], np.where(Y[:50], "good", "bad"), positive="bad")
    labels = np.where(Y, "good", "bad")
    estimator = rb.RateConstrainedClassifier("accuracy(on='experts') >= 0.6", random_state=0)
    with pytest.raises(ValueError, match=r"experts: its yes is 'bad'.*positive='good'"):
        estimator.fit(X, labels, experts=experts)
    fitted = estimator.set_params(positive_label="bad").fit(X, labels, experts=experts)
    assert fitted.audit(X, labels, experts=experts).kept
    with pytest.raises(ValueError, match="experts: its yes is 1"):
        fitted.audit(X, labels, experts=rb.Population(X, Y.astype(int)))
    truths = rb.Population(X[:50], ~Y[:50])  # yes is yes, whatever it is called
    assert fitted.audit(X, labels, experts=truths).kept
    with pytest.raises(ValueError, match="experts: y holds labels that were not in training"):
        estimator.fit(X, labels, experts=(X, Y))
    with pytest.raises(ValueError, match="experts: its X must be like the training X"):
        estimator.fit(X, labels, experts=rb.Population(X[:, :2], Y))


class Biased(rb.Descending):
    """A fit that deploys other scores than its own."""

    def __init__(self, rows, settings):
        self.inner = rb.Linear().start(rows, settings, 0)
        self.scorer = self.inner.scorer

    def scores(self, rows):
        return self.inner.scores(rows)

    def descend(self, gradient):
        self.inner.descend(gradient)

    def parameters(self):
        return self.inner.parameters()

    def all_scores(self):
        return self.inner.all_scores() + 1


def learner_of(start, fit=rb.Descending):
    kind = type("Mine", (rb.Learner,), {"start": lambda self, *given: start(*given), "fit": fit})
    return kind()


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (learner_of(lambda rows, k, seed: Biased(rows, k)), "differs from its scorer's scores"),
        (learner_of(lambda rows, k, seed: Biased(rows, 3)), r"shape \(1, 1, 300\).* got \(3, 1, 300\)"),
        (
            learner_of(lambda rows, k, seed: Biased(rows, k), rb.Answering),
            "but Mine.fit says rb.Answering",
        ),
        (learner_of(lambda rows, k, seed: None), "Mine.start gave a NoneType"),
    ],
    ids=["another model", "settings", "kind", "nothing"],
)
def test_learners_are_held_to_their_type(learner, words):
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(X, Y))
    with pytest.raises((TypeError, ValueError), match=words):
        rb.play(compiled, learner, rounds=2)


def test_players_are_held_to_their_type():
    class Careless(rb.Player):
        def start(self, constraints, **_):
            return rb.Multipliers(np.ones(1 + constraints), None)

        def step(self, multipliers, violations):
            return multipliers

    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.5"]), rb.Population(X, Y))
    with pytest.raises(TypeError, match=r"Careless.start must give rb.Multipliers .* \(1, 2\)"):
        rb.play(compiled, rb.Linear(), player=Careless(), rounds=2)


def test_what_answers_plays_cutting_planes_for_few_rounds_unless_told():
    class Solver(rb.Learner):
        fit = rb.Answering

        def start(self, rows, settings, seed):
            return rb.Oracle(LogisticRegression()).start(rows, settings, seed)

    assert Solver().rounds == 50
    assert isinstance(Solver().player, rb.CuttingPlane)
    assert isinstance(Solver().opponent(1000), rb.CuttingPlane)
    model = rb.RateConstrainedClassifier("positive_rate() <= 0.4", model=Solver(), random_state=0).fit(
        X, Y
    )
    assert model.trace_.round.max() <= 50
    assert model.status_.feasible


def test_a_group_that_is_not_among_the_rows_audited_is_not_measured():
    names = np.where(np.arange(300) < 30, "c", GROUP)
    model = rb.RateConstrainedClassifier("statistical_parity(group, ratio=0.5)", random_state=0)
    model.fit(X, Y, columns={"group": names})
    report = model.audit(X[30:], Y[30:], columns={"group": names[30:]})
    assert [promise.verdict == "not measured" for promise in report.promises] == [False, False, True]
    assert 'no row has group == "c"' in report.promises[2].why
    assert [group.words for group in report.groups] == ["everyone", 'group == "a"', 'group == "b"']
    slip = rb.Problem("error_rate()", ['recall(group == "d") >= 0.5'])
    with pytest.raises(ValueError, match=r'no row has group == "d"'):
        rb.audit(slip, model, rb.Population(X, Y, columns={"group": names}))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_pipelines_read_tables_of_several_populations(library):
    frames = pytest.importorskip(library)
    table = frames.DataFrame({"x": X[:, 0], "z": X[:, 1]})
    branch = rb.Population(frames.DataFrame({"x": X[:80, 0], "z": X[:80, 1]}), Y[:80])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = rb.RateConstrainedClassifier("recall(on='branch') >= 0.8", model=pipeline, random_state=0)
    assert model.fit(table, Y, branch=branch).status_.feasible
    recall = model.solution_.decision_proba(branch.X)[Y[:80], 1].mean()
    assert model.solution_.violations["train"] == pytest.approx(0.8 - recall, abs=1e-9)
