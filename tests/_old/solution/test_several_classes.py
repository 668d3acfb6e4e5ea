"""Mixtures of models with a score for each of several classes decide as a loop over their rows would."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import softmax

import ratebound._old as rb
from ratebound._old.game.scorer import Scorer, register_scorer
from ratebound._old.learners.calibration import Calibration
from ratebound._old.solution.deciders import Draw, GroupThresholds, Vote
from ratebound._old.solution.mixture import Members, Mixture, member
from ratebound._old.solution.record import Record
from ratebound._old.solution.status import Status

rng = np.random.default_rng(5)
CLASSES = ("dog", "cat", "ape", "bee")
D, N, M, WIDTH = 4, 300, 3, 2
X = rng.normal(size=(N, WIDTH))
WEIGHTS = np.array([0.2, 0.5, 0.3])
PARAMETERS = rng.normal(size=(M, D * (WIDTH + 1)))
GROUP = rng.integers(0, 2, N)
PEOPLE = {"sex": np.array(["F", "M"])[GROUP]}
AT = rng.normal(size=(M, 2, D))
AT[0, 0] = [np.inf, 0.5, np.inf, 0.0]
AT[1, 1] = [np.inf, np.inf, 0.0, np.inf]
MODEL = np.array([[0, 1], [2, 2], [0, 2]])


@register_scorer
@dataclass(frozen=True)
class Planes(Scorer):
    """A linear score for each class."""

    kind = "planes for tests"

    def scores(self, parameters, X):
        weights = parameters.reshape(len(parameters), D, -1)
        return weights[:, :, :-1] @ np.asarray(X, float).T + weights[:, :, -1:]

    def width(self, parameters):
        return parameters.shape[1] // D - 1

    def to_graph(self, graph, parameters, features):
        weights = parameters.reshape(len(parameters) * D, -1)
        wide = graph("MatMul", graph.cast(features, "float64"), weights[:, :-1].T.copy())
        flat = graph("Add", wide, weights[:, -1].copy())
        return graph("Reshape", flat, np.array([-1, len(parameters), D]))


def mixture_of(decider, weights=WEIGHTS):
    status = Status(True, 0.0, (), (), "feasible")
    record = Record(rb.Problem(rb.error_rate()), status)
    return Mixture(Members(weights, PARAMETERS, Planes()), decider, record, CLASSES)


BY_SEX = GroupThresholds(("sex",), (("F",), ("M",)), MODEL, AT)
EVERYONE = GroupThresholds((), ((),), np.arange(M)[:, None], rng.normal(size=(M, 1, D)))
DECIDERS = {
    "draw": Draw(),
    "vote": Vote(),
    "offsets for everyone": EVERYONE,
    "offsets by group": BY_SEX,
    "a vote by group": replace(BY_SEX, then=Vote()),
}


def said(decider):
    """What each member decides on each row, (n, M), one by one."""
    scores = Planes().scores(PARAMETERS, X)
    found = np.empty((N, M), dtype=int)
    for row in range(N):
        for each in range(M):
            own = scores[each, :, row]
            if isinstance(decider, GroupThresholds):
                group = GROUP[row] if decider.columns else 0
                own = scores[decider.model[each, group], :, row] - decider.at[each, group]
            found[row, each] = max(range(D), key=lambda d, own=own: (own[d], d))
    return found


def chances(decider):
    """The probability of each decision, (n, D), in the order of CLASSES."""
    shares = np.array([[WEIGHTS[row == d].sum() for d in range(D)] for row in said(decider)])
    if decider.draw is not None:
        return shares
    best = [max(range(D), key=lambda d, row=row: (round(row[d], 9), d)) for row in shares]
    return np.eye(D)[best]


@pytest.mark.parametrize("name", DECIDERS)
def test_decisions_are_those_of_a_loop(name, tmp_path):
    decider = DECIDERS[name]
    mixture = replace(
        mixture_of(decider), calibration=Calibration(1.5, (0.0, 1.0, -0.5, 0.2), "here", 9)
    )
    expected, order = chances(decider), [2, 3, 1, 0]  # ape, bee, cat, dog
    for model in (mixture, rb.load(mixture.save(tmp_path))):
        assert model.classes == CLASSES
        assert model.classes_.tolist() == sorted(CLASSES)
        proba = model.decision_proba(X, columns=PEOPLE)
        np.testing.assert_allclose(proba, expected[:, order], atol=1e-12)
        decided = model.predict(X, columns=PEOPLE)
        certain = proba.max(axis=1) > 1 - 1e-9
        np.testing.assert_array_equal(decided[certain], model.classes_[proba.argmax(axis=1)][certain])
        drawn = [model.predict(X, columns=PEOPLE, seed=seed) for seed in range(60)]
        shares = np.mean([[d == each for each in model.classes_] for d in drawn], axis=0).T
        assert np.abs(shares.mean(axis=0) - proba.mean(axis=0)).max() < 0.03
        scores = model.member_scores(X, columns=PEOPLE)
        assert scores.shape == (N, D, M)
        assert np.isfinite(scores).all()
        assert model.decision_function(X, columns=PEOPLE).shape == (N, D)
        assert model.predict_proba(X).shape == (N, D)
        assert model.predict(X[:0], columns={"sex": []}).shape == (0,)
    assert rb.load(mixture.save(tmp_path)).rule == mixture.rule
    keyed = [m.predict(X, columns=PEOPLE, key=np.arange(N)) for m in (mixture, model)]
    np.testing.assert_array_equal(*keyed)


def test_the_decision_function_of_one_model_is_its_scores():
    alone = member(mixture_of(Draw()), 1)
    found = alone.decision_function(X)
    np.testing.assert_allclose(found, Planes().scores(PARAMETERS[[1]], X)[0].T[:, [2, 3, 1, 0]])
    np.testing.assert_array_equal(alone.predict(X), alone.classes_[found.argmax(axis=1)])
    assert alone.decisive_scores(X).shape == (D, N)


def test_probabilities_of_the_label_are_a_softmax():
    calibration = Calibration(1.5, (0.0, 1.0, -0.5, 0.2), "here", 9)
    mixture = replace(mixture_of(Draw()), calibration=calibration)
    mean = np.einsum("m,mdn->dn", WEIGHTS, Planes().scores(PARAMETERS, X))
    expected = softmax(1.5 * mean + np.array([[0.0], [1.0], [-0.5], [0.2]]), axis=0)
    np.testing.assert_allclose(mixture.predict_proba(X), expected.T[:, [2, 3, 1, 0]], atol=1e-12)


def test_members_alone_keep_their_offsets():
    whole = mixture_of(BY_SEX)
    for each in range(M):
        alone = member(whole, each)
        expected = np.asarray(CLASSES)[said(BY_SEX)[:, each]]
        np.testing.assert_array_equal(alone.predict(X, columns=PEOPLE), expected)


def test_ties_go_to_the_later_class():
    tenth = mixture_of(Vote(), np.full(M, 1 / 3))
    scores = np.eye(D)[[0, 1, 3]][:, :, None] * 1.0
    _, found = tenth.decider.choices(np.array([0.1 + 0.2, 0.3, 0.4 - 1e-1]), scores)
    assert found[0, :, 0].argmax() == 0  # all three are equal to rounding
    assert (D - 1 - found[0, ::-1, 0].argmax()) == 3


def test_rules_name_the_classes():
    lines = mixture_of(BY_SEX).rule.splitlines()
    assert [line.split(":")[0] for line in lines] == ['sex == "F"', 'sex == "M"']
    assert 'always "ape"' in lines[1]
    assert 'score("dog")' in lines[1]
    assert "by model" in lines[0]


def test_models_and_labels_fit_each_other():
    short = replace(mixture_of(Draw()), classes=("a", "b", "c"))
    with pytest.raises(ValueError, match="decide among 4 classes, but it has 3 labels: 'a', 'b', 'c'"):
        short.predict(X)


def test_a_row_without_a_score_is_named():
    with pytest.raises(ValueError, match="row 2 has no score"):
        mixture_of(Draw()).predict(np.array([[0.0, 1.0], [1.0, 1.0], [np.nan, 0.0]]))


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (AT[:, :, :-1], "do not fit its known groups"),
        (AT[:, :, 0], "do not fit its known groups"),
        (np.where(np.arange(D) < D, np.inf, AT), "leave no class"),
        (np.where(np.arange(D) == 2, -np.inf, AT), "leave no class"),
        (np.full(AT.shape, np.nan), "do not fit"),
    ],
    ids=["classes", "one number", "never", "always", "nan"],
)
def test_offsets_that_decide_nothing_are_refused(at, words, tmp_path):
    path = mixture_of(replace(BY_SEX, at=np.ascontiguousarray(at, dtype=float))).save(tmp_path)
    with pytest.raises(ValueError, match=words):
        rb.load(path)


@pytest.mark.parametrize("intercept", [0.0, (0.0, 1.0), (0.0, 1.0, "x", 2.0), (0.0, 1.0, 2.0, True)])
def test_calibrations_that_do_not_fit_are_refused(intercept, tmp_path):
    mixture = replace(mixture_of(Draw()), calibration=Calibration(1.0, intercept, "here", 3))
    with pytest.raises(ValueError, match="its calibration has"):
        rb.load(mixture.save(tmp_path))


def test_labels_that_are_the_same_are_refused(tmp_path):
    path = replace(mixture_of(Draw()), classes=("a", "b", "a", "c")).save(tmp_path)
    with pytest.raises(ValueError, match="its labels are not two or more different ones"):
        rb.load(path)


# --- ONNX ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("choose", ["key", "uniform"])
@pytest.mark.parametrize("name", DECIDERS)
def test_a_graph_decides_the_same(name, choose, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    calibration = Calibration(1.5, (0.0, 1.0, -0.5, 0.2), "here", 9)
    mixture = replace(mixture_of(DECIDERS[name]), calibration=calibration)
    session = runtime.InferenceSession(mixture.to_onnx(tmp_path / "m.onnx", choose=choose))
    rows = X.astype(np.float32)
    keys = np.arange(N) * 7
    given = {"features": rows, "key": keys, "sex": PEOPLE["sex"].astype(object)}
    given["uniform"] = mixture.uniform(rows, key=keys)
    wanted = [each.name for each in session.get_inputs()]
    names = ["decision", "decision_probability", "probability", "scores"]
    decision, shares, proba, scores = session.run(names, {each: given[each] for each in wanted})
    expected = mixture.predict(rows, columns=PEOPLE, key=keys)
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    assert tuple(classes) == CLASSES
    np.testing.assert_array_equal(np.asarray(classes)[decision], expected)
    order = [2, 3, 1, 0]
    np.testing.assert_allclose(shares[:, order], mixture.decision_proba(rows, columns=PEOPLE), atol=1e-6)
    np.testing.assert_allclose(proba[:, order], mixture.predict_proba(rows), atol=1e-6)
    assert scores.shape == (N, M, D)
    members = mixture.member_scores(rows, columns=PEOPLE)
    near = np.abs(members) < 1e30
    np.testing.assert_allclose(scores.swapaxes(1, 2)[near], members[near], atol=1e-5)


def test_a_group_that_no_one_knows_is_decided_as_the_largest(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    mixture = mixture_of(BY_SEX)
    session = runtime.InferenceSession(mixture.to_onnx(tmp_path / "m.onnx"))
    features, sexes = X[:2].astype(np.float32), np.array(["X", ""], object)
    given = {"features": features, "key": np.arange(2), "sex": sexes}
    decided = [mixture.classes[place] for place in session.run(["decision"], given)[0]]
    with pytest.warns(UserWarning, match="largest"):
        assert decided == mixture.predict(features, key=np.arange(2), columns={"sex": sexes}).tolist()
