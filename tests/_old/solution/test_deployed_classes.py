"""What is deployed of three classes gives the same answers before and after its file, and as a graph."""

import json

import numpy as np
import pytest

import ratebound._old as rb

from .deployed import deciders, learners

rng = np.random.default_rng(3)
CLASSES = ("cow", "ape", "bee")
X = rng.normal(size=(180, 3)).astype(np.float32)
GROUP = {"group": rng.choice(["a", "b"], 180)}
CODES = np.stack([X[:, 0], X[:, 1], 0.5 * (GROUP["group"] == "a") - X[:, 0]]).argmax(axis=0)
Y = np.array(CLASSES)[np.where(rng.random(180) < 0.2, rng.integers(0, 3, 180), CODES)]
PEOPLE = rb.Population(X, Y, columns=GROUP, classes=CLASSES)
PROBLEM = rb.Problem(
    rb.error_rate(),
    [rb.positive_rate(of="cow", group="a") <= 0.3, rb.recall(of="bee") >= 0.6],
)
COMPILED = rb.compile(PROBLEM, PEOPLE)


def logistic():
    from sklearn.linear_model import LogisticRegression

    return rb.Oracle(LogisticRegression())


LEARNERS = learners(3) | {
    "xgboost": ("xgboost", lambda: rb.Boosted("xgboost")),
    "logistic": ("skops", logistic),
}
DECIDERS = deciders(COMPILED, PEOPLE)


@pytest.fixture(scope="module", params=LEARNERS)
def trace(request):
    library, learner = LEARNERS[request.param]
    if library is not None:
        pytest.importorskip(library, reason=f"{library} is not installed")
    return rb.play(COMPILED, learner(), rounds=5, seed=0, progress=False)


@pytest.mark.parametrize("decider", DECIDERS)
def test_one_answer_before_and_after(trace, decider, tmp_path):
    mixture = DECIDERS[decider](trace).calibrated(PEOPLE)
    loaded = rb.load(mixture.save(tmp_path))
    answers = []
    for model in (mixture, loaded):
        assert model.classes == CLASSES
        decided = model.predict(X, columns=GROUP)
        proba = model.decision_proba(X, columns=GROUP)
        ranked = model.decision_function(X, columns=GROUP)
        label = model.predict_proba(X)
        assert proba.shape == ranked.shape == label.shape == (180, 3)
        assert model.classes_.tolist() == sorted(CLASSES)
        np.testing.assert_allclose(label.sum(axis=1), 1.0)
        certain = proba.max(axis=1) == 1
        np.testing.assert_array_equal(decided[certain], model.classes_[proba.argmax(axis=1)][certain])
        keyed = model.predict(X, columns=GROUP, key=np.arange(180))
        answers.append((decided, proba, label, ranked, keyed, model.uniform(X)))
    for before, after in zip(*answers, strict=True):
        np.testing.assert_array_equal(before, after, strict=True)
    assert str(loaded) == str(mixture)
    assert loaded.rule == mixture.rule


@pytest.mark.parametrize("decider", DECIDERS)
def test_recorded_values_are_those_of_the_members(trace, decider):
    mixture = DECIDERS[decider](trace)
    if mixture.decider.draw is None:
        return  # the members' values say nothing of their vote
    objectives, violations = COMPILED.evaluate(mixture.member_scores(X, columns=GROUP).T)
    assert mixture.weights @ objectives == pytest.approx(mixture.objectives["train"], abs=1e-9)
    np.testing.assert_allclose(mixture.weights @ violations, mixture.violations["train"], atol=1e-9)


@pytest.mark.parametrize("decider", DECIDERS)
def test_a_graph_decides_as_the_mixture(trace, decider, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    mixture = DECIDERS[decider](trace).calibrated(PEOPLE)
    if mixture.scorer.kind == "oracle":
        with pytest.raises(ValueError, match="to_onnx cannot write models of kind 'oracle'"):
            mixture.to_onnx(tmp_path / "model.onnx")
        return
    session = runtime.InferenceSession(mixture.to_onnx(tmp_path / "model.onnx"))
    kinds = {each.name: each.type for each in session.get_inputs()}
    wide = np.float64 if kinds["features"] == "tensor(double)" else np.float32
    given = {"features": X.astype(wide), "key": np.arange(180), "group": GROUP["group"].astype(object)}
    names = ["decision", "decision_probability", "probability"]
    decision, shares, label = session.run(names, {name: given[name] for name in kinds})
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    order = [classes.index(each) for each in mixture.classes_]
    scores = mixture.member_scores(X, columns=GROUP)
    first, second = np.sort(scores, axis=1)[:, -1], np.sort(scores, axis=1)[:, -2]
    clear = (first - second > 1e-5).all(axis=1)  # of what rounding could decide either way
    assert clear.mean() > 0.95
    expected = mixture.predict(X, columns=GROUP, key=np.arange(180))
    np.testing.assert_array_equal(np.asarray(classes)[decision][clear], expected[clear])
    proba = mixture.decision_proba(X, columns=GROUP)
    np.testing.assert_allclose(shares[:, order][clear], proba[clear], atol=1e-6)
    np.testing.assert_allclose(label[:, order], mixture.predict_proba(X), atol=1e-4)
