"""Mixtures of thresholds by known cell decide as a loop over their rows would, wherever they go."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ratebound as rb
from ratebound.learners.linear import LinearScorer
from ratebound.solution.cells import Cells
from ratebound.solution.mixture import Mixture, member
from ratebound.solution.onnx import to_onnx
from ratebound.solution.status import Status

RANDOM = np.random.default_rng(0)
WEIGHTS = np.array([0.2, 0.5, 0.3])
AT = np.array([[-1.0, 0.0, -np.inf], [0.5, 0.0, np.inf], [2.0, 0.0, 1.0]])
VALUES = (("F", 0), ("F", 1), ("M", 1))
CELLS = Cells(("sex", "old"), VALUES, WEIGHTS, np.zeros((3, 3), dtype=int), AT, given=True)
PAIR = replace(CELLS, model=np.array([[0, 1, 0], [0, 0, 1], [0, 1, 1]]))
ROWS = RANDOM.integers(0, 3, 600)
PEOPLE = {"sex": np.array(["F", "F", "M"])[ROWS], "old": np.array([0, 1, 1])[ROWS]}
SCORES = RANDOM.normal(size=600)
BOTH = np.column_stack([SCORES, RANDOM.normal(size=600)])


def policy_of(cells=CELLS, **options):
    models = cells.model.max() + 1
    given = {
        "problem": rb.Problem(rb.error_rate()),
        "constraints": (),
        "thresholds": {},
        "scorer": LinearScorer("float64"),
        "parameters": np.column_stack([np.eye(models), np.zeros(models)]),
        "objectives": {"train": 0.25},
        "violations": {"train": np.zeros(0)},
        "setting": None,
        "status": Status(True, 0.0, (), (), "feasible"),
    }
    return Mixture(weights=cells.weights, cells=cells, **given | options)


POLICY, PAIRED = policy_of(), policy_of(PAIR)


def said_yes(cells, scores):
    """Which members say yes to which row, (n, M), row by row."""
    wide = scores.reshape(len(scores), -1)
    return np.array(
        [[row[k[c]] >= t[c] for k, t in zip(cells.model, cells.at, strict=True)]
         for row, c in zip(wide, ROWS, strict=True)]
    )  # fmt: skip


# --- rows to cells -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame], ids=["dict", "pandas", "polars"])
def test_rows_find_their_cells(kind):
    np.testing.assert_array_equal(CELLS.rows(SCORES, kind(PEOPLE)), ROWS)


def test_columns_come_before_those_of_the_table():
    table = pd.DataFrame({"x": SCORES, **PEOPLE})
    np.testing.assert_array_equal(CELLS.rows(table), ROWS)
    np.testing.assert_array_equal(CELLS.rows(table[["x", "old"]], {"sex": PEOPLE["sex"]}), ROWS)
    turned = {"sex": np.full(600, "F"), "old": np.zeros(600, dtype=int)}
    assert not CELLS.rows(table, turned).any()


@pytest.mark.parametrize("old", [[0.0, 1.0], [False, True], np.array([0, 1], dtype=object)], ids=str)
def test_numbers_are_equal_however_they_are_stored(old):
    assert CELLS.rows([0.1, 0.2], {"sex": ["F", "F"], "old": old}).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (None, "decides by sex, old, to be passed as columns=.*no column 'sex'"),
        ({"sex": ["F"]}, "there is no column 'old'"),
        ({"sex": ["F"], "old": [np.nan]}, "column 'old' has 1 missing values"),
        ({"sex": ["X"], "old": [1]}, "row 0: column 'sex' holds 'X', and the policy knows 'F', 'M'"),
        ({"sex": ["M"], "old": [0]}, "row 0: no row had sex == 'M' and old == 0 together"),
        ({"sex": ["M", "F"], "old": [1, 1]}, "the same number of rows"),
    ],
    ids=["none", "one", "missing", "value", "combination", "length"],
)
def test_rows_without_a_cell(columns, words):
    with pytest.raises(ValueError, match=words):
        POLICY.predict([0.5], columns=columns)


def test_no_columns_and_no_rows():
    one = Cells((), ((),), np.ones(1), np.zeros((1, 1), dtype=int), np.array([[0.3]]), given=True)
    assert policy_of(one).predict([0.2, 0.4]).tolist() == [False, True]
    assert str(one) == "everyone: yes from 0.3"
    assert one.by_column == {}
    assert POLICY.predict(np.zeros(0), columns={"sex": [], "old": []}).tolist() == []


# --- decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "scores"), [(POLICY, SCORES), (PAIRED, BOTH)], ids=["one", "two"])
def test_decisions_are_those_of_a_loop(policy, scores):
    yes = said_yes(policy.cells, scores)
    found = policy.member_scores(scores, columns=PEOPLE)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found >= 0, yes)
    proba = policy.predict_proba(scores, columns=PEOPLE)
    np.testing.assert_allclose(proba, np.column_stack([1 - yes @ WEIGHTS, yes @ WEIGHTS]))
    decided = policy.predict(scores, columns=PEOPLE)
    assert (decided[proba[:, 1] == 1]).all()
    assert not decided[proba[:, 1] == 0].any()
    np.testing.assert_array_equal(policy.predict(scores, columns=PEOPLE), decided)
    for options in ({}, {"key": np.arange(600)}, {"random_state": 1}):
        share = policy.predict(scores, columns=PEOPLE, **options).mean()
        assert abs(share - proba[:, 1].mean()) <= 4 * np.sqrt(0.25 / 600)


def test_a_column_of_scores_is_a_score():
    np.testing.assert_array_equal(
        POLICY.predict(SCORES[:, None], columns=PEOPLE), POLICY.predict(SCORES, columns=PEOPLE)
    )


def test_scores_close_together_are_decided_apart():
    """Scores of one narrow band are not one draw: they are hashed to seven digits."""
    narrow = Cells(
        (), ((),), np.array([0.3, 0.7]), np.zeros((2, 1), int), np.array([[0.4], [0.41]]), True
    )
    found = policy_of(narrow).predict(np.linspace(0.4, 0.4099, 2000))
    assert abs(found.mean() - 0.3) <= 4 * np.sqrt(0.21 / 2000)


@pytest.mark.parametrize(
    "X", [BOTH, np.zeros((600, 3)), SCORES.astype(str)], ids=["two", "three", "text"]
)
def test_what_is_no_score(X):
    with pytest.raises(ValueError, match=r"decides on scores, 1 a row.*rb.Population\(scores"):
        POLICY.predict(X, columns=PEOPLE)


def test_a_score_that_is_no_number():
    with pytest.raises(ValueError, match="row 1 has no score"):
        POLICY.predict([0.1, np.nan], columns={"sex": ["F", "F"], "old": [0, 0]})


def test_a_member_alone():
    for index in range(3):
        one = member(POLICY, index)
        assert len(one) == 1
        np.testing.assert_array_equal(
            one.predict(SCORES, columns=PEOPLE), said_yes(CELLS, SCORES)[:, index]
        )


# --- printed, saved, determinized, audited -------------------------------------------------------


def test_the_rule_can_be_read():
    assert str(CELLS).splitlines() == [
        'sex == "F" & old == 0: yes from 2 '
        "(from 0.5 with probability 0.7, from -1 with probability 0.2)",
        'sex == "F" & old == 1: yes from 0',
        'sex == "M" & old == 1: yes from 1 with probability 0.5, elsewhere with probability 0.2',
    ]
    assert str(PAIR).splitlines()[1:] == [
        'sex == "F" & old == 1: by model 1 (with probability 0.5), yes from 0; '
        "by model 0 (with probability 0.5), yes from 0",
        'sex == "M" & old == 1: by model 0 (with probability 0.2), always yes; '
        "by model 1 (with probability 0.8), yes from 1 with probability 0.375",
    ]
    assert str(POLICY).startswith("mixture of 3 sets of thresholds by sex, old: feasible")


@pytest.mark.parametrize(("policy", "scores"), [(POLICY, SCORES), (PAIRED, BOTH)], ids=["one", "two"])
def test_saving(policy, scores, tmp_path):
    read = rb.load(policy.save(tmp_path / "policy"))
    assert str(read.cells) == str(policy.cells)
    assert read.cells.values == VALUES
    assert read.cells.by_column == {"sex": ("F", "M"), "old": (0, 1)}
    np.testing.assert_array_equal(read.cells.at, AT)
    np.testing.assert_array_equal(
        read.predict(scores, columns=PEOPLE), policy.predict(scores, columns=PEOPLE)
    )
    path = (tmp_path / "policy" / "model.safetensors").read_bytes()
    header = json.loads(path[8 : 8 + int.from_bytes(path[:8], "little")])["__metadata__"]
    assert json.loads(header["mixture"])["cells"]["values"] == [["F", 0], ["F", 1], ["M", 1]]


POPULATION = rb.Population(SCORES, SCORES + RANDOM.normal(size=600) > 0, columns=PEOPLE)
WATCHED = rb.Problem(rb.error_rate(), [rb.positive_rate(sex="F") <= 0.5, rb.recall() >= 0.4])


def test_audits_count_the_expected_decisions():
    report = rb.audit(WATCHED, POLICY, POPULATION)
    yes = said_yes(CELLS, SCORES) @ WEIGHTS
    women = PEOPLE["sex"] == "F"
    assert report.objective.value == pytest.approx(np.where(POPULATION.y, 1 - yes, yes).mean())
    assert report.promises[0].value == pytest.approx(yes[women].mean())
    assert report.promises[1].value == pytest.approx(yes[POPULATION.y].mean())
    assert report.model == "a mixture of 3 sets of thresholds"
    with pytest.raises(ValueError, match="decides by sex, old"):
        rb.audit(rb.Problem(rb.error_rate()), POLICY, rb.Population(SCORES, POPULATION.y))


@pytest.mark.parametrize("method", ["best", "vote"])
def test_determinized(method):
    compiled = rb.compile(WATCHED, POPULATION)
    found = rb.determinize(POLICY, compiled, method)
    yes = said_yes(CELLS, SCORES)
    assert len(found.model) == 1  # thresholds on one model that vote are thresholds again
    assert "probability" not in str(found.model.cells)
    decided = found.model.predict(SCORES, columns=PEOPLE)
    if method == "vote":
        np.testing.assert_array_equal(decided, yes @ WEIGHTS >= 0.5)
    else:
        assert decided.tolist() in yes.T.tolist()
    error = np.mean(decided != POPULATION.y)
    assert found.after.objective == pytest.approx(error)
    assert found.before.objective == pytest.approx((yes != POPULATION.y[:, None]).mean(axis=0) @ WEIGHTS)


def test_a_vote_of_several_models_stays_one():
    rows = rb.Population(BOTH, POPULATION.y, columns=PEOPLE)
    found = rb.determinize(PAIRED, rb.compile(WATCHED, rows), "vote").model
    assert found.vote
    np.testing.assert_array_equal(
        found.predict(BOTH, columns=PEOPLE), said_yes(PAIR, BOTH) @ WEIGHTS >= 0.5
    )
    assert rb.audit(WATCHED, found, rows).model == "a vote of 3 sets of thresholds"


def test_no_onnx_of_thresholds(tmp_path):
    with pytest.raises(ValueError, match="thresholds by known cell"):
        to_onnx(POLICY, tmp_path / "policy.onnx")
