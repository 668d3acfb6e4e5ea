"""Mixtures of thresholds by known group decide as a loop over their rows would, wherever they go."""

import json
from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.solution.deciders import Draw, GroupThresholds
from ratebound._old.solution.mixture import Members, Mixture, member
from ratebound._old.solution.onnx import to_onnx
from ratebound._old.solution.record import Record
from ratebound._old.solution.status import Status

from ..extras import pd, pl
from ..given_scores import GivenScores

RANDOM = np.random.default_rng(0)
WEIGHTS = np.array([0.2, 0.5, 0.3])
AT = np.array([[-1.0, 0.0, -np.inf], [0.5, 0.0, np.inf], [2.0, 0.0, 1.0]])[..., None]
VALUES = (("F", 0), ("F", 1), ("M", 1))
BARE = Draw(bare_scores=True)
GROUPS = GroupThresholds(("sex", "old"), VALUES, np.zeros((3, 3), dtype=int), AT, BARE)
PAIR = replace(GROUPS, model=np.array([[0, 1, 0], [0, 0, 1], [0, 1, 1]]))
ROWS = RANDOM.integers(0, 3, 600)
PEOPLE = {"sex": np.array(["F", "F", "M"])[ROWS], "old": np.array([0, 1, 1])[ROWS]}
SCORES = RANDOM.normal(size=600)
BOTH = np.column_stack([SCORES, RANDOM.normal(size=600)])


def policy_of(groups=GROUPS, weights=WEIGHTS):
    models = groups.model.max() + 1
    parameters = np.arange(float(models))[:, None]
    status = Status(True, 0.0, (), (), "feasible")
    values = {"objectives": {"train": 0.25}, "violations": {"train": np.zeros(0)}}
    record = Record(rb.Problem(rb.error_rate()), status, **values)
    return Mixture(Members(weights, parameters, GivenScores(int(models), 1)), groups, record)


POLICY, PAIRED = policy_of(), policy_of(PAIR)


def said_yes(groups, scores):
    """Which members say yes to which row, (n, M), row by row."""
    wide = scores.reshape(len(scores), -1)
    return np.array(
        [[row[k[c]] >= t[c, 0] for k, t in zip(groups.model, groups.at, strict=True)]
         for row, c in zip(wide, ROWS, strict=True)]
    )  # fmt: skip


# --- rows to groups ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame], ids=["dict", "pandas", "polars"])
def test_rows_find_their_groups(kind):
    np.testing.assert_array_equal(GROUPS.rows(SCORES, kind(PEOPLE)), ROWS)


def test_columns_come_before_those_of_the_table():
    table = pd.DataFrame({"x": SCORES, **PEOPLE})
    np.testing.assert_array_equal(GROUPS.rows(table), ROWS)
    np.testing.assert_array_equal(GROUPS.rows(table[["x", "old"]], {"sex": PEOPLE["sex"]}), ROWS)
    turned = {"sex": np.full(600, "F"), "old": np.zeros(600, dtype=int)}
    assert not GROUPS.rows(table, turned).any()


@pytest.mark.parametrize("old", [[0.0, 1.0], [False, True], np.array([0, 1], dtype=object)], ids=str)
def test_numbers_are_equal_however_they_are_stored(old):
    assert GROUPS.rows([0.1, 0.2], {"sex": ["F", "F"], "old": old}).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (None, "decides by sex, old, to be passed as columns=.*no column 'sex'"),
        ({"sex": ["F"]}, "there is no column 'old'"),
        ({"sex": ["M", "F"], "old": [1, 1]}, "the same number of rows"),
    ],
    ids=["none", "one", "length"],
)
def test_rows_without_columns(columns, words):
    with pytest.raises(ValueError, match=words):
        POLICY.predict([0.5], columns=columns)


@pytest.mark.parametrize("largest", range(3))
@pytest.mark.parametrize(
    ("strange", "words"),
    [
        (("F", np.nan), "row 1: column 'old' holds no value, and the policy knows 0, 1: decided as"),
        (
            ("X", 1),
            "row 1: column 'sex' holds 'X', and the policy knows 'F', 'M': decided as the",
        ),
        (("M", 0), 'row 1: no row had sex == "M" and old == 0 together'),
    ],
    ids=["missing", "value", "combination"],
)
def test_rows_of_no_known_group_are_decided_as_the_largest(strange, words, largest):
    own = replace(GROUPS, largest=largest)
    sexes, olds = zip(("F", 1), strange, strict=True)
    with pytest.warns(UserWarning, match=words):
        assert own.rows([0.1, 0.2], {"sex": sexes, "old": olds}).tolist() == [1, largest]


def test_no_columns_and_no_rows():
    one = GroupThresholds((), ((),), np.zeros((1, 1), dtype=int), np.array([[[0.3]]]), BARE)
    assert policy_of(one, np.ones(1)).predict([0.2, 0.4]).tolist() == [False, True]
    assert policy_of(one, np.ones(1)).rule == "everyone: yes from 0.3"
    assert one.known == {}
    assert POLICY.predict(np.zeros(0), columns={"sex": [], "old": []}).tolist() == []


# --- decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "scores"), [(POLICY, SCORES), (PAIRED, BOTH)], ids=["one", "two"])
def test_decisions_are_those_of_a_loop(policy, scores):
    yes = said_yes(policy.decider, scores)
    found = policy.member_scores(scores, columns=PEOPLE)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found >= 0, yes)
    proba = policy.decision_proba(scores, columns=PEOPLE)
    np.testing.assert_allclose(proba, np.column_stack([1 - yes @ WEIGHTS, yes @ WEIGHTS]))
    decided = policy.predict(scores, columns=PEOPLE)
    assert (decided[proba[:, 1] == 1]).all()
    assert not decided[proba[:, 1] == 0].any()
    np.testing.assert_array_equal(policy.predict(scores, columns=PEOPLE), decided)
    for options in ({}, {"key": np.arange(600)}, {"seed": 1}):
        share = policy.predict(scores, columns=PEOPLE, **options).mean()
        assert abs(share - proba[:, 1].mean()) <= 4 * np.sqrt(0.25 / 600)


def test_a_column_of_scores_is_a_score():
    np.testing.assert_array_equal(
        POLICY.predict(SCORES[:, None], columns=PEOPLE), POLICY.predict(SCORES, columns=PEOPLE)
    )


def test_scores_close_together_are_decided_apart():
    """Scores of one narrow band are not one draw: they are hashed to seven digits."""
    narrow = GroupThresholds((), ((),), np.zeros((2, 1), int), np.array([[[0.4]], [[0.41]]]), BARE)
    found = policy_of(narrow, np.array([0.3, 0.7])).predict(np.linspace(0.4, 0.4099, 2000))
    assert abs(found.mean() - 0.3) <= 4 * np.sqrt(0.21 / 2000)


@pytest.mark.parametrize(
    "X", [BOTH, np.zeros((600, 3)), SCORES.astype(str)], ids=["two", "three", "text"]
)
def test_what_is_no_score(X):
    with pytest.raises(ValueError, match="decides on scores, 1 a row, but got"):
        POLICY.predict(X, columns=PEOPLE)


def test_a_score_that_is_no_number():
    with pytest.raises(ValueError, match="row 1 has no score"):
        POLICY.predict([0.1, np.nan], columns={"sex": ["F", "F"], "old": [0, 0]})


def test_a_member_alone():
    for index in range(3):
        one = member(POLICY, index)
        assert len(one) == 1
        np.testing.assert_array_equal(
            one.predict(SCORES, columns=PEOPLE), said_yes(GROUPS, SCORES)[:, index]
        )


# --- printed, saved, audited -------------------------------------------------------------------


def test_the_rule_can_be_read():
    assert POLICY.rule.splitlines() == [
        'sex == "F" & old == 0: yes from 2 '
        "(from 0.5 with probability 0.7, from -1 with probability 0.2)",
        'sex == "F" & old == 1: yes from 0',
        'sex == "M" & old == 1: yes from 1 with probability 0.5, elsewhere with probability 0.2',
    ]
    assert PAIRED.rule.splitlines()[1:] == [
        'sex == "F" & old == 1: by model 2 (with probability 0.5), yes from 0; '
        "by model 1 (with probability 0.5), yes from 0",
        'sex == "M" & old == 1: by model 1 (with probability 0.2), always yes; '
        "by model 2 (with probability 0.8), yes from 1 with probability 0.375",
    ]
    assert str(POLICY).startswith("a mixture of 3 sets of thresholds by sex, old: feasible")


@pytest.mark.parametrize(("policy", "scores"), [(POLICY, SCORES), (PAIRED, BOTH)], ids=["one", "two"])
def test_saving(policy, scores, tmp_path):
    read = rb.load(policy.save(tmp_path / "policy"))
    assert read.rule == policy.rule
    assert read.decider.groups == VALUES
    assert read.decider.known == {"sex": ("F", "M"), "old": (0, 1)}
    np.testing.assert_array_equal(read.decider.at, AT)
    np.testing.assert_array_equal(
        read.predict(scores, columns=PEOPLE), policy.predict(scores, columns=PEOPLE)
    )
    path = (tmp_path / "policy" / "model.safetensors").read_bytes()
    header = json.loads(path[8 : 8 + int.from_bytes(path[:8], "little")])["__metadata__"]
    assert json.loads(header["mixture"])["decider"]["groups"] == [["F", 0], ["F", 1], ["M", 1]]


POPULATION = rb.Population(SCORES, SCORES + RANDOM.normal(size=600) > 0, columns=PEOPLE)
WATCHED = rb.Problem(rb.error_rate(), [rb.positive_rate(sex="F") <= 0.5, rb.recall() >= 0.4])


def test_audits_count_the_expected_decisions():
    report = rb.audit(WATCHED, POLICY, POPULATION)
    yes = said_yes(GROUPS, SCORES) @ WEIGHTS
    women = PEOPLE["sex"] == "F"
    assert report.objective.value == pytest.approx(np.where(POPULATION.y, 1 - yes, yes).mean())
    assert report.promises[0].value == pytest.approx(yes[women].mean())
    assert report.promises[1].value == pytest.approx(yes[POPULATION.y].mean())
    assert report.model == "a mixture of 3 sets of thresholds by sex, old"
    with pytest.raises(ValueError, match="decides by sex, old"):
        rb.audit(rb.Problem(rb.error_rate()), POLICY, rb.Population(SCORES, POPULATION.y))


@pytest.mark.parametrize("policy", [POLICY, PAIRED], ids=["one model", "two models"])
def test_thresholds_run_in_onnx(policy, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(policy, tmp_path / "policy.onnx"))
    assert {each.name for each in session.get_inputs()} == {"features", "sex", "old", "key"}
    scores = BOTH.astype(np.float32)[:, : policy.scorer.models]
    sex, old = PEOPLE["sex"].astype(object), PEOPLE["old"].astype(float)
    keys = np.arange(600)
    given = {"features": scores, "sex": sex, "old": old, "key": keys}
    decided, share = session.run(["decision", "decision_probability"], given)
    known = {"columns": PEOPLE}
    np.testing.assert_array_equal(decided == 1, policy.predict(scores, key=keys, **known))
    np.testing.assert_allclose(share, policy.decision_proba(scores, **known)[:, 1], atol=1e-6)
    # People of no known group, or with a value that nobody had, are decided as the largest group is.
    strange = {"sex": np.where(keys % 2, "M", "X").astype(object), "old": np.zeros(600)}
    with pytest.warns(UserWarning, match="decided as the largest group"):
        expected = policy.predict(scores, key=keys, columns=strange)
    np.testing.assert_array_equal(session.run(["decision"], given | strange)[0] == 1, expected)
