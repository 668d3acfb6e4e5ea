"""Offsets by known group are as good as the best of all patterns of decisions, mixed by SciPy."""

import json
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.game import candidates
from ratebound._old.solution import thresholds
from ratebound._old.solution.determinize import determinize, evaluate
from ratebound._old.solution.thresholds import pool_on

from ..game.test_offset_search import patterns

CLASSES = ("ape", "bee", "cat")


def small(seed, rows=12, weighted=False):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(3), np.arange(3), rng.integers(0, 3, rows - 6)])
    sex = np.concatenate([["F"] * 3, ["M"] * 3, rng.choice(["F", "M"], rows - 6)])
    scores = rng.normal(size=(3, rows)) + (labels == np.arange(3)[:, None])
    weights = rng.integers(1, 4, rows).astype(float) if weighted else None
    columns = {"sex": sex, "loan": rng.integers(1, 50, rows).astype(float)}
    people = rb.Population(None, np.array(CLASSES)[labels], columns=columns, weights=weights)
    return scores, people


PROBLEMS = {
    "errors": rb.Problem(rb.error_rate()),
    "recall": rb.Problem(rb.error_rate(), [rb.recall(of="cat") >= 0.85]),
    "parity": rb.Problem(
        rb.error_rate(),
        [rb.positive_rate(of="ape", sex=s) >= 0.9 * rb.positive_rate(of="ape") for s in ("F", "M")],
    ),
    "precision": rb.Problem(
        rb.error_rate(), [rb.precision(of="bee") >= 0.8, rb.recall(of="ape") >= 0.5]
    ),
    "money": rb.Problem(
        rb.cost(of="bee", false_negative="loan", false_positive=5) + 3 * rb.error_rate(),
        [rb.recall(of="ape") >= 0.5],
    ),
    "cap": rb.Problem(rb.error_rate(), [rb.positive_rate(of=c) <= 0.35 for c in CLASSES]),
}


def best_mixture(problem, scores, people, known):
    """The least objective of mixtures of all patterns by group; None if no mixture is feasible."""
    compiled = rb.compile(problem, people)
    groups = people.columns["sex"] if known else np.zeros(len(people), dtype=int)
    columns, sums = [], []
    for index, group in enumerate(np.unique(groups)):
        rows = np.flatnonzero(groups == group)
        for pattern in patterns(scores[:, rows]):
            decisions = np.zeros(len(people), dtype=int)
            decisions[rows] = pattern
            objective, violations = compiled.evaluate(10.0 * np.eye(3)[decisions].T)
            columns.append(np.append(objective, violations))
            sums.append(index)
    values, sums = np.array(columns), np.array(sums)
    base = np.append(
        *[np.atleast_1d(x) for x in compiled.evaluate(10.0 * np.eye(3)[:, [0] * len(people)])]
    )
    values[sums > 0] -= base  # what all being decided the first class counts is counted once
    m = values.shape[1] - 1
    solved = linprog(
        values[:, 0],
        A_ub=values[:, 1:].T if m else None,
        b_ub=np.full(m, 1e-9) if m else None,
        A_eq=np.stack([sums == each for each in np.unique(sums)]).astype(float),
        b_eq=np.ones(len(np.unique(sums))),
    )
    return solved.fun if solved.status == 0 else None


@pytest.mark.parametrize("known", [(), ("sex",)], ids=["everyone", "by sex"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_they_are_the_best_there_are(name, known):
    for seed in range(3):
        scores, people = small(seed, weighted=seed == 2)
        policy = rb.thresholds(PROBLEMS[name], scores, people, known=known)
        expected = best_mixture(PROBLEMS[name], scores, people, known)
        if expected is None:
            assert not policy.status.feasible
            continue
        assert policy.status.feasible
        assert policy.objectives["train"] == pytest.approx(expected, abs=1e-7)
        assert policy.record.gap == pytest.approx(0.0, abs=1e-9)


def recalls(scores, people):
    """For all patterns and each class: its recall, its precision, and how often it is decided."""
    found = []
    for pattern in patterns(scores):
        table = np.zeros((3, 3))
        np.add.at(table, (people.y, pattern), 1.0)
        found.append([table.diagonal() / table.sum(axis=1), table.diagonal(), table.sum(axis=0)])
    return np.array(found)


def test_the_worst_class_is_as_good_as_it_can_be():
    for seed in range(3):
        scores, people = small(seed)
        worst = rb.smallest(*(rb.recall(of=c) for c in CLASSES))
        policy = rb.thresholds(rb.Problem(maximize=worst), scores, people, known=[])
        each = recalls(scores, people)[:, 0]
        count = len(each)
        solved = linprog(  # the most that every class's recall is at least
            np.append(np.zeros(count), -1.0),
            A_ub=np.column_stack([-each.T, np.ones(3)]),
            b_ub=np.zeros(3),
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
        )
        assert abs(policy.objectives["train"]) == pytest.approx(-solved.fun, abs=1e-7)
        assert policy.record.gap == 0.0


def test_a_ratio_is_as_good_as_it_can_be():
    for seed in range(3):
        scores, people = small(seed)
        problem = rb.Problem(maximize=rb.f_score(of="bee"))
        policy = rb.thresholds(problem, scores, people, known=[])
        _, right, said = recalls(scores, people)[:, :, 1].T
        best = (2 * right / (said + (people.y == 1).sum())).max()
        assert abs(policy.objectives["train"]) == pytest.approx(best, abs=1e-7)
        assert policy.record.gap == 0.0


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_recorded_is_what_is_decided(name, tmp_path):
    scores, people = small(4, rows=60, weighted=True)
    policy = rb.thresholds(PROBLEMS[name], scores, people, known=["sex"])
    assert policy.classes == CLASSES
    proba = policy.decision_proba(scores.T, columns=people.columns)
    compiled = rb.compile(PROBLEMS[name], people)
    members = policy.member_scores(scores.T, columns=people.columns)
    objectives, violations = compiled.evaluate(members.T)
    assert policy.weights @ objectives == pytest.approx(policy.objectives["train"], abs=1e-9)
    np.testing.assert_allclose(policy.weights @ violations, policy.violations["train"], atol=1e-9)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    loaded = rb.load(policy.save(tmp_path))
    np.testing.assert_array_equal(loaded.decision_proba(scores.T, columns=people.columns), proba)
    assert loaded.rule == policy.rule
    assert loaded.record.gap == policy.record.gap


def test_several_models_are_chosen_among():
    scores, people = small(1, rows=40)
    worse = np.random.default_rng(0).normal(size=scores.shape)
    one = rb.thresholds(PROBLEMS["recall"], scores, people, known=["sex"])
    both = rb.thresholds(PROBLEMS["recall"], np.stack([worse, scores]), people, known=["sex"])
    assert both.objectives["train"] <= one.objectives["train"] + 1e-9
    rows = np.stack([worse, scores]).transpose(2, 0, 1)
    found = both.predict(rows, columns=people.columns)
    np.testing.assert_array_equal(found, both.predict(rows.reshape(40, -1), columns=people.columns))


def test_a_vote_and_one_member_stand_in_for_a_mixture():
    scores, people = small(7, rows=50)
    problem = PROBLEMS["parity"]
    policy = rb.thresholds(problem, scores, people, known=["sex"])
    labelled = rb.Population(scores.T, np.array(CLASSES)[people.y], columns=people.columns)
    compiled = rb.compile(problem, labelled)
    before = evaluate(policy, compiled)
    assert before.objective == pytest.approx(policy.objectives["train"], abs=1e-9)
    for method in ("best", "vote"):
        alone = determinize(policy, compiled, method).model
        proba = alone.decision_proba(scores.T, columns=people.columns)
        assert set(np.unique(proba)) <= {0.0, 1.0}


def test_what_was_found_is_a_pool_for_prices():
    scores, people = small(3, rows=60)
    compiled = rb.compile(PROBLEMS["recall"], people)
    pool = pool_on(scores, compiled, ["sex"])
    policy = rb.thresholds(PROBLEMS["recall"], scores, people, known=["sex"])
    assert pool.violations.shape[1] == 1
    assert np.isfinite(pool.prices).all()
    values = np.column_stack([pool.objectives, pool.violations])
    solved = linprog(
        values[:, 0],
        A_ub=values[:, 1:].T,
        b_ub=np.full(1, 1e-9),
        A_eq=np.stack([pool.groups == g for g in (0, 1)]).astype(float),
        b_eq=np.ones(2),
    )
    assert solved.fun == pytest.approx(policy.objectives["train"], abs=1e-7)


def test_one_more_known_column_never_hurts():
    scores, people = small(5, rows=80)
    objectives = [
        rb.thresholds(PROBLEMS["cap"], scores, people, known=known).objectives["train"]
        for known in ([], ["sex"])
    ]
    assert objectives[1] <= objectives[0] + 1e-9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda s: s[0], "each of 3 classes and 12 rows"),
        (lambda s: s.T, "pass scores.T"),
        (lambda s: s[:2], "each of 3 classes and 12 rows"),
        (lambda s: np.where(s > 5, s, np.nan), "first for model 0 in row 0"),
    ],
    ids=["one", "turned", "two", "nan"],
)
def test_scores_that_do_not_fit(given, words):
    scores, people = small(0)
    with pytest.raises(ValueError, match=words):
        rb.thresholds(PROBLEMS["errors"], given(scores), people, known=[])


def test_rows_that_do_not_fit():
    scores, people = small(0)
    policy = rb.thresholds(PROBLEMS["errors"], scores, people, known=[])
    with pytest.raises(ValueError, match="this policy decides on scores, 3 a row"):
        policy.predict(scores[:2].T)


def test_a_graph_of_given_scores(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    scores, people = small(4, rows=60)
    policy = rb.thresholds(PROBLEMS["parity"], scores, people, known=["sex"])
    session = runtime.InferenceSession(policy.to_onnx(tmp_path / "m.onnx"))
    rows, keys = scores.T.astype(np.float32), np.arange(60)
    given = {"features": rows, "key": keys, "sex": people.columns["sex"].astype(object)}
    wanted = {each.name for each in session.get_inputs()}
    decision = session.run(["decision"], {n: v for n, v in given.items() if n in wanted})[0]
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    expected = policy.predict(rows, columns=people.columns, key=keys)
    np.testing.assert_array_equal(np.asarray(classes)[decision], expected)


def test_a_large_group_is_searched_by_some_of_its_rows(monkeypatch):
    scores, people = small(8, rows=400)
    whole = rb.thresholds(PROBLEMS["recall"], scores, people, known=[])
    monkeypatch.setattr(candidates, "SEARCHED", 50)
    some = rb.thresholds(PROBLEMS["recall"], scores, people, known=[])
    assert some.status.feasible
    assert whole.objectives["train"] <= some.objectives["train"] + 1e-9
    assert some.objectives["train"] - some.record.gap <= whole.objectives["train"] + 1e-9


def test_several_populations_have_scores_each():
    scores, people = small(2, rows=30)
    others, pool = small(9, rows=20)
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(of="cat", on="pool") <= 0.2])
    given = {"train": scores, "pool": others}
    policy = rb.thresholds(problem, given, people, known=["sex"], pool=pool)
    assert policy.status.feasible
    share = policy.decision_proba(others.T, columns=pool.columns)[:, 2].mean()
    assert share <= 0.2 + 1e-9
    with pytest.raises(ValueError, match="scores for population 'pool' are missing"):
        rb.thresholds(problem, {"train": scores}, people, known=[], pool=pool)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(3, 6), st.booleans(), st.booleans())
def test_what_is_promised_is_decided(seed, classes, weighted, tied):
    rng = np.random.default_rng(seed)
    labels = np.append(np.arange(classes), rng.integers(0, classes, 40))
    rows = len(labels)
    scores = rng.normal(size=(classes, rows)) + (labels == np.arange(classes)[:, None])
    scores = np.round(scores, 1) if tied else scores
    weights = rng.random(rows) + 0.5 if weighted else None
    people = rb.Population(None, labels, columns={"g": rng.integers(0, 2, rows)}, weights=weights)
    problem = rb.Problem(rb.error_rate(), [rb.recall(of=0) >= 0.7, rb.positive_rate(of=1, g=1) <= 0.2])
    with patch.object(thresholds, "PROOFS", 2**16):
        policy = rb.thresholds(problem, scores, people, known=["g"])
    objectives, violations = rb.compile(problem, people).evaluate(
        policy.member_scores(scores.T, columns=people.columns).T
    )
    assert policy.weights @ objectives == pytest.approx(policy.objectives["train"], abs=1e-9)
    np.testing.assert_allclose(policy.weights @ violations, policy.violations["train"], atol=1e-9)
    assert policy.status.feasible == bool((policy.violations["train"] <= 1e-6).all())
    assert policy.record.gap >= 0
