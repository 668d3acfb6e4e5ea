"""Errors on rows name the constraint, the population and the remedy."""

import re

import numpy as np
import pytest

import ratebound as rb

COLUMNS = {
    "sex": list("FMFMFM"),
    "age": [20, 30, 40, 50, 60, 70],
    "gaps": [1, 2, None, 3, 4, 5],
    "free": [0] * 6,
    "vote": ["yes", "no", "perhaps", "no", "no", "no"],
    "id": list("abcdef"),
    "grid": np.zeros((6, 2)),
}
PEOPLE = rb.Population(None, [0, 1, 1, 0, 1, 0], {**COLUMNS, "grid": COLUMNS["age"]})
POOL = rb.Population(None, None, {"sex": ["F", "M"]})
WEIGHED = rb.Population(None, [0, 1], {"sex": ["F", "M"]}, weights=[0, 1])
ERRORS = {  # a constraint or a goal, and a part of its error
    # columns and values
    'recall(sxe == "F") >= 0.5': "there is no column 'sxe'; did you mean sex?",
    'recall(sex == "Female") >= 0.5': 'no row has sex == "Female"; choose from F, M',
    'recall(sex != "Female") >= 0.5': 'no row has sex == "Female"',
    "recall(age == 3) >= 0.5": "no row has age == 3; did you mean 30?",
    "recall(sex < 3) >= 0.5": "holds text but is compared with 3",
    'recall(age == "3") >= 0.5': "holds numbers but is compared with '3'",
    'churn(versus="live") <= 0.5': "there is no column 'live'",
    'churn(versus="age") <= 0.5': "which is not one of the classes 0, 1",
    'churn(versus="vote") <= 0.5': "the column 'vote' of a live model's decisions holds 'no'",
    'churn(versus="gaps") <= 0.5': "'gaps' of a live model's decisions holds",
    # rows
    "positive_rate(age > 90) >= 0.5": "population 'train' has no row (or no weight) where age > 90",
    "recall(age > 60) >= 0.5": "where age > 60 that has a label it counts, so this rate does not",
    "precision(age > 90) >= 0.5": "widen the group, or leave the constraint out",
    'roc_auc(sex == "F" and sex == "M") >= 0.5': "has no row (or no weight)",
    'positive_rate(sex == "F", on="weighed") <= 0.5': "(or no weight) where sex == \"F\"",
    "precision(age < 0, top=2) >= 0.5": "ask for fewer rows, or for a share of them",
    "precision(top=9) >= 0.5": "ask for fewer rows, or for a share of them",
    # labels, classes and populations
    'recall(on="pool") >= 0.5': "the rows have none: pass y, or use a rate without labels",
    'precision(on="pool") >= 0.5': "it needs labels",
    'recall(on="late") >= 0.5': "'late' is not given, only 'train', 'pool', 'weighed': pass it by",
    'recall(sex, on="late") >= 0.5': "population 'late' is not given",
    'minimum_recall(sex, at_least=0.5, on="late")': "pass it by its name, late=...",
    "recall(of=2) >= 0.5": "there is no class 2; choose from 0, 1",
    'recall(of="1") >= 0.5': 'there is no class "1"',
    "confusion(label=0, predicted=2) <= 0.5": "there is no class 2",
    "referred() <= 0.5": "no row can be referred here; name the decision, as in",
    "recall(decided) <= 0.5": "no row can be referred here",
    # costs
    'cost(column="sex") <= 0.5': "column 'sex' is used as a cost, but does not hold numbers",
    'cost(column="gaps") <= 0.5': "has no value in 1 rows whose errors it prices",
    'cost(column="free") <= 0.5': "is 0 in every row that it prices",
    # columns that stand for their values, and goals
    "recall(sex, age) >= 0.5": "only one column can stand for all of its values",
    "recall(sex, age > 1) >= 0.5 * recall(age)": "write one for each value of the others",
    "minimum_recall(sx, at_least=0.5)": "there is no column 'sx'; did you mean sex?",
    "minimum_recall(sex, at_least=0.5, min_rows=50)": "choose a smaller min_rows=",
    "minimum_recall(age > 60, at_least=0.5)": "has no row (or no weight) where age > 60",
    'equal_accuracy(sex == "F", slack=0.1, against="pairwise")': "there is only sex == \"F\"",
    # ratios
    'precision(sex == "F") >= 0.9 * precision()':
        'as in precision(sex == "F") >= 0.63 and precision() <= 0.7',
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors_name_the_constraint_and_the_remedy(text):
    problem = rb.Problem("error_rate()", ["accuracy() >= 0.1", text])
    with pytest.raises(ValueError, match=re.escape(ERRORS[text])) as error:
        rb.compile(problem, PEOPLE, pool=POOL, weighed=WEIGHED)
    message = str(error.value)
    rates = [rate.name for rate in rb.parse(text).rates]
    assert any(name in message for name in rates)
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "population"),
    [('recall(sx == "F") >= 0.5', "train"), ('positive_rate(sx == "F", on="pool") >= 0.5', "pool")],
)
def test_errors_name_the_population(text, population):
    rate = text.removesuffix(" >= 0.5")
    with pytest.raises(ValueError, match=re.escape(f"{rate}: population {population!r}: there is")):
        rb.compile(rb.Problem("error_rate()", [text]), PEOPLE, pool=POOL)


def test_errors_of_the_objective_name_it():
    with pytest.raises(ValueError, match=r"^error_rate\(\): population 'train': it needs labels"):
        rb.compile(rb.Problem("error_rate()"), POOL)
    with pytest.raises(ValueError, match=r"\(in recall\(age > 90\)\)$"):
        rb.compile(rb.Problem(maximize="recall(age > 90)"), PEOPLE)


def test_an_objective_is_one_number_and_no_column_alone():
    with pytest.raises(ValueError, match="sex"):
        rb.compile(rb.Problem(maximize="recall(sex)"), PEOPLE)


def test_labels_are_asked_for_only_where_a_rate_needs_them():
    texts = ["negative_rate() <= 1", 'positive_rate(sex == "F") <= 1']
    compiled = rb.compile(rb.Problem("positive_rate()", texts), POOL)
    assert compiled.evaluate([1.0, -1.0])[1] == pytest.approx([0.5 - 1, 1 - 1])


def test_counts_of_no_rows_are_0():
    texts = ["predicted_positives(age > 90) <= 3", "errors(age > 90) <= 3"]
    compiled = rb.compile(rb.Problem("error_rate()", texts), PEOPLE)
    assert compiled.evaluate(np.ones(6))[1].tolist() == [-3, -3]


def test_a_column_of_many_values_is_to_be_listed():
    rows = rb.Population(None, [0, 1] * 60, {"id": range(120)})
    with pytest.raises(ValueError, match="there are 120 groups, more than 100: list the important"):
        rb.compile(rb.Problem("error_rate()", ["minimum_coverage(id, at_least=0)"]), rows)
    with pytest.raises(ValueError, match="column 'id' holds 120 values, more than 100"):
        rb.compile(rb.Problem("error_rate()", ["positive_rate(id) >= 0"]), rows)


def test_a_ratio_is_compared_with_another_by_the_bounds_that_the_error_says():
    problem = rb.Problem("error_rate()", ['precision(sex == "F") >= 0.9 * precision()'])
    with pytest.raises(ValueError, match="choose one and write both bounds") as error:
        rb.compile(problem, PEOPLE)
    texts = str(error.value).partition("as in ")[2].split(" and ")
    assert len(rb.compile(rb.Problem("error_rate()", texts), PEOPLE).rows) == 2


# --- several classes ------------------------------------------------------------------------------

THREE = rb.Population(None, list("abcabc"), {"age": range(6), "old": list("abxabc")})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recall() >= 0.5", 'there are 3 classes, so name one, as in recall(of="a")'),
        ("precision() >= 0.5", 'there are 3 classes, so name one, as in precision(of="a")'),
        ("cost(false_negative=2) <= 1", 'there are 3 classes, so name one, as in cost(of="a")'),
        ('recall(of="b", at=0.5) >= 0.5', 'name the threshold, as in at="cautious"'),
        (
            'confusion(label="a", predicted="x") <= 0.5',
            'there is no class "x"; choose from a, b, c',
        ),
        ('churn(versus="old") <= 0.5', "'old' of a live model's decisions holds 'x'"),
        ('recall(age == 1, of="a") >= 0.5', "has no row (or no weight) where age == 1"),
        ('roc_auc(of="a") >= 0.5', "it takes two classes"),
        ('precision(of="a", top=2) >= 0.5', "it takes two classes"),
    ],
)
def test_errors_of_several_classes(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rb.compile(rb.Problem("error_rate()", [text]), THREE)


def test_the_objective_names_a_class_too():
    with pytest.raises(ValueError, match="there are 3 classes, so name one"):
        rb.compile(rb.Problem(maximize="recall()"), THREE)


# --- what compile and evaluate take ---------------------------------------------------------------


def test_compile_takes_populations():
    problem = rb.Problem("error_rate()")
    for rows in ([0, 1], {"y": [0, 1]}, [], [PEOPLE, None]):
        with pytest.raises(TypeError, match=r"rows are a rb.Population, or a list of its pieces"):
            rb.compile(problem, rows)


def test_the_first_population_has_its_name():
    with pytest.raises((TypeError, ValueError), match="train"):
        rb.compile(rb.Problem("error_rate()"), PEOPLE, train=PEOPLE)


SCORES = {
    "too few": [0.0, 1.0],
    "a number": 0.0,
    "turned": np.zeros((6, 2)),
    "too deep": np.zeros((1, 1, 1, 6)),
    "text": ["yes"] * 6,
    "objects": [None] * 6,
    "complex": [1j] * 6,
    "NaN": [0, 0, 0, 0, 0, np.nan],
    "infinite": [0, 0, 0, 0, 0, np.inf],
}


@pytest.mark.parametrize("wrong", SCORES)
def test_scores_that_decide_nothing_are_refused(wrong):
    compiled = rb.compile(rb.Problem("error_rate()"), PEOPLE)
    with pytest.raises(ValueError, match=r"scores (of shape|hold NaN or infinite)"):
        compiled.evaluate(SCORES[wrong])


@pytest.mark.parametrize("kind", [bool, int, np.float32, np.float64])
def test_scores_may_be_numbers_of_any_kind(kind):
    compiled = rb.compile(rb.Problem("error_rate()"), PEOPLE)
    scores = np.array([0, 1, 1, 0, 1, 0], dtype=kind)
    assert compiled.evaluate(2 * scores.astype(float) - 1)[0] == 0
    assert compiled.evaluate(scores)[0] == 0.5  # a score of 0 is a yes


def test_scores_of_several_classes_have_an_axis_for_them():
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(None, list("abcc")))
    right = np.eye(3)[:, [0, 1, 2, 2]]
    assert compiled.evaluate(right)[0] == 0
    assert compiled.evaluate(np.stack([right, right[::-1]]))[0].tolist() == [0, 0.75]
    assert compiled.evaluate(np.zeros((3, 4)))[0] == 0.5  # of equal scores, the last decides
    for wrong in (right.T, [0.0] * 4, np.zeros((2, 4))):
        with pytest.raises(ValueError, match=r"expected \(3, 4\) numbers"):
            compiled.evaluate(wrong)


@pytest.mark.parametrize("decisions", [[0, 1], [0, 1, 2, 0, 1, 0], [-1] * 6, [0.5] * 6, ["a"] * 6])
def test_decisions_are_indices_of_classes(decisions):
    compiled = rb.compile(rb.Problem("error_rate()"), PEOPLE)
    with pytest.raises(ValueError, match="decisions are indices of classes"):
        compiled.count_decisions(decisions)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recall() >= 80", "a count is not negative; write 80 percent as 0.8"),
        ("recall() >= 1.2", "no model meets this"),
        ("recall() <= 80", "every model meets this"),
        ("precision() >= 1.5", "no model meets this"),
        ("recall() - positive_rate() >= 1.5", "no model meets this"),
        ("0.5 * recall() + 0.2 * positive_rate() >= 0.8", "no model meets this"),
    ],
)
def test_a_bound_beyond_all_shares_is_a_slip(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rb.compile(rb.Problem("error_rate()", [text]), PEOPLE)


@pytest.mark.parametrize(
    "text",
    ["recall() >= 1", "positive_rate() >= 0", "errors() <= 80", "cost(false_negative=10) <= 50"],
)
def test_a_bound_that_may_hold_is_no_slip(text):
    assert len(rb.compile(rb.Problem("error_rate()", [text]), PEOPLE).rows) == 1
