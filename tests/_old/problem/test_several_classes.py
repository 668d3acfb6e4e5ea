"""Rates of several classes against their plain definitions, row by row; and the axis of decisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb

NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]

# For a row's decision f, label y and existing decision h, and a class c: what is counted, in which rows.
OF_ONE = {
    "positive_rate": (lambda f, y, h, c: f == c, lambda y, h, c: True),
    "negative_rate": (lambda f, y, h, c: f != c, lambda y, h, c: True),
    "recall": (lambda f, y, h, c: f == c, lambda y, h, c: y == c),
    "false_negative_rate": (lambda f, y, h, c: f != c, lambda y, h, c: y == c),
    "false_positive_rate": (lambda f, y, h, c: f == c, lambda y, h, c: y != c),
    "true_negative_rate": (lambda f, y, h, c: f != c, lambda y, h, c: y != c),
    "prevalence": (lambda f, y, h, c: y == c, lambda y, h, c: True),
    "positive_rate_of": (lambda f, y, h, c: h == c, lambda y, h, c: True),
    "recall_of": (lambda f, y, h, c: h == c, lambda y, h, c: y == c),
    "false_positive_rate_of": (lambda f, y, h, c: h == c, lambda y, h, c: y != c),
}
OF_EVERY = {
    "accuracy": (lambda f, y, h: f == y, lambda y, h: True),
    "error_rate": (lambda f, y, h: f != y, lambda y, h: True),
    "churn": (lambda f, y, h: f != h, lambda y, h: True),
    "loss_only_churn": (lambda f, y, h: f != y, lambda y, h: h == y),
    "accuracy_of": (lambda f, y, h: h == y, lambda y, h: True),
    "error_rate_of": (lambda f, y, h: h != y, lambda y, h: True),
}
COUNTS = {
    "true_positives": lambda f, y, h, c: f == c and y == c,
    "false_positives": lambda f, y, h, c: f == c and y != c,
    "true_negatives": lambda f, y, h, c: f != c and y != c,
    "false_negatives": lambda f, y, h, c: f != c and y == c,
    "predicted_positives": lambda f, y, h, c: f == c,
}
VERSUS = {"churn", "loss_only_churn", "accuracy_of", "error_rate_of", "positive_rate_of", "recall_of",
          "false_positive_rate_of"}  # fmt: skip


def made(seed, classes, rows=60):
    """Rows of every class in both groups, with an existing model's decisions and weights."""
    rng = np.random.default_rng(seed)
    names = np.array(NAMES[:classes])
    y = np.concatenate([names, names, rng.choice(names, rows)])
    sex = np.concatenate([["F"] * classes, ["M"] * classes, rng.choice(["F", "M"], rows)])
    live = np.where(rng.random(len(y)) < 0.5, y, rng.choice(names, len(y)))
    live[: 2 * classes] = y[: 2 * classes]  # so that every class has some agreement
    weights = rng.random(len(y)) + 0.1
    scores = rng.normal(size=(classes, len(y)))
    people = rb.Population(None, y, {"sex": sex, "live": live}, weights=weights, classes=names.tolist())
    decided = names[scores.argmax(axis=0)]
    return people, list(zip(decided, y, live, sex, weights, strict=True)), scores


def as_given(scores):
    """Scores as the package takes them: one for two classes, else one for each."""
    return scores[1] - scores[0] if len(scores) == 2 else scores


def share(rows, counted, among):
    over = sum(w for f, y, h, s, w in rows if among(f, y, h, s))
    return sum(w for f, y, h, s, w in rows if among(f, y, h, s) and counted(f, y, h)) / over


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.integers(2, 6), group=st.sampled_from([None, "F", "M"]))
def test_rates_equal_their_definitions(seed, classes, group):
    people, rows, scores = made(seed, classes)
    words = {} if group is None else {"sex": group}
    said, wanted = [], []

    def inside(sex):
        return group is None or sex == group

    for c in NAMES[:classes]:
        for name, (counted, among) in OF_ONE.items():
            versus = {"versus": "live"} if name in VERSUS else {}
            said.append(getattr(rb, name)(of=c, **versus, **words))
            wanted.append(
                share(
                    rows,
                    lambda f, y, h, counted=counted, c=c: counted(f, y, h, c),
                    lambda f, y, h, s, among=among, c=c: inside(s) and among(y, h, c),
                )
            )
        for name, counted in COUNTS.items():
            said.append(getattr(rb, name)(of=c, **words))
            wanted.append(sum(w for f, y, h, s, w in rows if inside(s) and counted(f, y, h, c)))
        for other in NAMES[:classes]:
            said.append(rb.confusion(label=c, predicted=other, **words))
            wanted.append(
                share(
                    rows, lambda f, y, h, o=other: f == o, lambda f, y, h, s, c=c: inside(s) and y == c
                )
            )
    for name, (counted, among) in OF_EVERY.items():
        versus = {"versus": "live"} if name in VERSUS else {}
        said.append(getattr(rb, name)(**versus, **words))
        wanted.append(share(rows, counted, lambda f, y, h, s, among=among: inside(s) and among(y, h)))

    promises = [each <= 0.5 for each in said]
    compiled = rb.compile(rb.Problem(rb.error_rate(), promises), people)
    objective, violations = compiled.evaluate(as_given(scores))
    assert objective == pytest.approx(share(rows, lambda f, y, h: f != y, lambda f, y, h, s: True))
    assert violations + 0.5 == pytest.approx(np.array(wanted))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.integers(2, 6))
def test_costs_say_what_coefficients_say_but_for_what_every_decision_shares(seed, classes):
    people, _, _ = made(seed, classes)
    first, second = NAMES[0], NAMES[classes - 1]
    promises = [
        rb.recall(of=first, sex="F") >= 0.8 * rb.recall(of=second),
        rb.precision(of=second) >= 0.5,
        rb.error_rate(sex="M") <= 0.5 * rb.positive_rate(of=first, sex="F") + 0.3,
        rb.churn(versus="live") <= 0.3,
    ]
    compiled = rb.compile(rb.Problem(rb.error_rate(), promises), people)
    compiled, split = compiled.descended()
    (block,) = compiled.blocks
    rows, targets = len(promises) + 1, split.targets
    net = compiled.spread_each(block.net).reshape(rows, classes - 1, -1)
    by_decision = np.concatenate([np.zeros((rows, 1, net.shape[2])), net], axis=1)
    above_least = by_decision - by_decision.min(axis=1, keepdims=True)
    costs = compiled.spread_each(split.costs[0]).reshape(rows, len(targets), -1)
    assert costs.min() >= -1e-12
    assert np.einsum("rtc,td->rdc", costs, ~targets) == pytest.approx(above_least, abs=1e-12)


def test_two_classes_given_as_classes_are_the_two_there_were():
    y = ["no", "yes", "yes", "no"]
    problem = rb.Problem(rb.error_rate(), [rb.recall() >= 0.9, rb.recall(of="no") >= 0.5])
    plain = rb.compile(problem, rb.Population(None, y, positive="yes"))
    given_ = rb.compile(problem, rb.Population(None, y, classes=["no", "yes"]))
    assert plain.classes == given_.classes == ("no", "yes")
    splits = [compiled.descended()[1] for compiled in (plain, given_)]
    assert splits[0].targets.tolist() == [[True, False], [False, True]]
    for ours, theirs in zip(*([*(b.net for b in s.blocks), *s.costs] for s in splits), strict=True):
        assert (ours != theirs).nnz == 0
    scores = [-1.0, 1.0, -1.0, 1.0]
    assert plain.evaluate(scores)[1].tolist() == [0.9 - 0.5, 0.0]


SLIPS = {
    "recall() >= 0.5": r'there are 3 classes, so name one: recall\(of="ant"\).*"ant", "bee", "cat"',
    'recall(of="cta") >= 0.5': 'no class "cta", did you mean "cat".* classes are "ant", "bee", "cat"',
    'confusion(label="ant", predicted="elk") <= 0.5': 'no class "elk"',
    'recall(age == 1, of="bee") >= 0.5': 'no row .* where age == 1 and the label is "bee"',
    'recall(of="bee", at=0.5) >= 0.5': 'no single score to compare with 0.5: .*at="cautious"',
    "precision() >= 0.5": r'^precision\(\): there are 3 classes, .*: precision\(of="ant"\)',
    "roc_auc() >= 0.5": "an area needs two classes, but there are 3",
    'churn(versus="old") <= 0.5': "column 'old' holds 'elk', which is not one of the classes",
}


@pytest.mark.parametrize("text", SLIPS)
def test_slips_are_named(text):
    people = rb.Population(None, ["ant", "bee", "cat"], {"age": [1, 2, 3], "old": ["ant", "elk", "ant"]})
    with pytest.raises(ValueError, match=SLIPS[text]):
        rb.compile(rb.Problem("error_rate()", [text]), people)


def test_a_kind_that_counts_every_class_takes_none():
    with pytest.raises(TypeError, match="accuracy does not take of=, since it counts every class"):
        rb.accuracy(of="cat")
    with pytest.raises(TypeError, match="confusion takes two classes"):
        rb.confusion(label="cat")


def test_scores_of_several_classes_have_an_axis_for_them():
    people = rb.Population(None, ["ant", "bee", "cat", "cat"])
    compiled = rb.compile(rb.Problem(rb.error_rate()), people)
    right = np.eye(3)[:, [0, 1, 2, 2]]
    assert compiled.evaluate(right)[0] == 0
    assert compiled.evaluate(np.stack([right, right[::-1]]))[0].tolist() == [0, 0.75]
    assert compiled.evaluate(np.zeros((3, 4)))[0] == 0.5  # if scores are equal, the last class wins
    with pytest.raises(ValueError, match=r"expected one per class and row, \(3, 4\) .*: pass scores.T"):
        compiled.evaluate(right.T)


def test_populations_share_their_classes():
    people = rb.Population(None, [0, 1, 2, 2])
    some = rb.Population(None, [0, 1, 1])  # two of the three
    problem = rb.Problem(rb.error_rate(), [rb.recall(of=1, on="other") >= 0.5])
    compiled = rb.compile(problem, people, other=some)
    assert compiled.populations["other"].y.tolist() == [0, 1, 1]
    scores = {"train": np.zeros((3, 4)), "other": np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1]])}
    assert compiled.evaluate(scores)[1].tolist() == [0.0]
    with pytest.raises(ValueError, match=r"population 'other' has the label 7.*classes 0, 1, 2"):
        rb.compile(problem, people, other=rb.Population(None, [0, 1, 7]))


def test_shares_are_aimed_at_of_one_class():
    people = rb.Population([[0.0], [1.0], [2.0]], ["ant", "bee", "cat"])
    with pytest.raises(ValueError, match=r'name the class .*kl_divergence\(of="cat", target=0.5\)'):
        rb.compile(rb.Problem("kl_divergence(target=0.5)"), people)
    compiled = rb.compile(rb.Problem('kl_divergence(of="bee", target=0.5)'), people)
    value = 0.5 * np.log(0.5 / (1 / 3)) + 0.5 * np.log(0.5 / (2 / 3))
    assert compiled.evaluate(np.eye(3))[0] == pytest.approx(value)


def test_nothing_may_cost_anything():
    people = rb.Population([[0.0], [1.0], [2.0]], ["ant", "bee", "cat"])
    compiled = rb.compile(rb.Problem("prevalence(of='ant')"), people)
    assert compiled.descended()[1].targets.shape == (1, 3)
    assert rb.play(compiled, rb.Linear(), rounds=2).objectives == pytest.approx(1 / 3)


def test_labels_that_differ_in_a_dot_are_pointed_out():
    labels = np.array(["<=50K", ">50K", "<=50K.", ">50K."])
    with pytest.raises(ValueError, match=r"there are 4 classes.*differ only in spaces, dots or case"):
        rb.compile(rb.Problem("error_rate()", ["recall() >= 0.5"]), rb.Population(None, labels))
