"""Mistakes and their messages, which name the rate, the population and the remedy."""

import re

import numpy as np
import pytest

import ratebound._old as rb

NAN = float("nan")
COLUMNS = {
    "sex": ["Female", "Male", "Female", "Male"],
    "age": [20, 30, 40, 50],
    "member": [True, False, True, True],
    "vote": ["yes", "no", "perhaps", "no"],
    "income": [1.0, NAN, 3.0, 4.0],
    "town": ["Rome", None, "Oslo", "Rome"],
    "nothing": [None] * 4,
    "grid": np.zeros((4, 2)),
    "live": [0, 1, 1, 0],
}
PEOPLE = rb.Population(None, [0, 1, 1, 0], columns=COLUMNS)
POOL = rb.Population(None, columns=COLUMNS)
WEIGHED = rb.Population(None, [0, 1, 1, 0], columns=COLUMNS, weights=[0, 1, 0, 2])

COMPILE = {  # constraint: what is wrong, and what to do
    'recall(sx == "Female") >= 0.9': "no column 'sx', did you mean 'sex'.*It has 'sex', 'age'",
    "recall(height == 3) >= 0.9": "no column 'height'.*It has 'sex', 'age'",
    'churn(versus="liv") <= 0.1': "no column 'liv', did you mean 'live'",
    # Values that do not occur
    'recall(sex == "F") >= 0.9': "no row has sex == \"F\"; the column holds 'Female', 'Male'",
    'recall(sex != "F") >= 0.9': "the column holds 'Female', 'Male'",
    'recall(sex in ("Male", "X")) >= 0.9': 'no row has sex == "X"',
    "recall(age == 21) >= 0.9": "no row has age == 21; the column holds 20, 30, 40, 50",
    # Subsets without rows
    "positive_rate(age < 0) >= 0.9": "no row .* where age < 0",
    "recall(age < 25) >= 0.9": "no row .* where age < 25 and the label is positive",
    "false_positive_rate(age == 30) <= 0.9": "no row .* where age == 30 and not the label",
    'loss_only_churn(age == 20, versus="member") <= 0.9': "no row .* where age == 20",
    "precision(age < 0) >= 0.9": "no row .* where age < 0",
    "roc_auc(age < 25, bins=10) >= 0.9": "no row .* where age < 25",
    'positive_rate(age < 25, on="weighed") >= 0.9': "no weight",
    # Labels and populations that are not given
    'recall(on="pool") >= 0.9': "needs labels, but the rows have no labels: pass them, or use a rate",
    'precision(on="pool") >= 0.9': "needs labels",
    'loss_only_churn(versus="live", on="pool") <= 0.9': "needs labels",
    'accuracy(on="experts") >= 0.9': r"only 'train', 'pool', 'weighed'. Pass it as a keyword, experts=",
    # Text against numbers
    "recall(sex == 1) >= 0.9": "'sex' holds text but is compared with a number, 1; it holds 'Female'",
    "recall(sex < 3) >= 0.9": "holds text but is compared with a number",
    'recall(age == "20") >= 0.9': "holds numbers but is compared with text, '20'",
    'recall(age > "20") >= 0.9': "holds numbers but is compared with text",
    'recall(member == "yes") >= 0.9': "compared with text.*True",
    # Columns that cannot be read
    'recall(income > "2") >= 0.9': "column 'income' holds numbers but is compared with text",
    "recall(missing(sex)) >= 0.9": "every row has a value in column 'sex'",
    "recall(nothing == 1) >= 0.9": r"'nothing' has no value in any row: .*missing\(nothing\)",
    'churn(versus="town") <= 0.1': "'town' has 1 missing values, but a decision is needed for every",
    "recall(grid == 0) >= 0.9": r"column 'grid' has shape \(4, 2\), expected one value per row",
    'churn(versus="vote") <= 0.1': "'vote' holds .*'perhaps', but yes or no is needed",
    'churn(versus="sex") <= 0.1': "'sex' holds .*, but yes or no is needed: .* the classes 0, 1",
}


@pytest.mark.parametrize("text", COMPILE)
def test_compile_names_the_rate_the_population_and_the_remedy(text):
    with pytest.raises(ValueError, match=COMPILE[text]) as error:
        rb.compile(rb.Problem(rb.error_rate(), [text]), PEOPLE, pool=POOL, weighed=WEIGHED)
    message = str(error.value)
    rate, _, _ = text.rsplit(" ", 2)
    place = re.search(r'on="(\w+)"', text)
    where = f": population '{place[1] if place else 'train'}': "
    assert message.isprintable()
    if text.startswith(("precision", "roc_auc")):  # made of rates of their own
        assert where in message
        assert f"(in the constraint {text})" in message
    else:
        assert message.startswith(rate + where)
        assert message.endswith(f" (in the constraint {text})")


def test_compile_says_when_it_is_the_objective():
    with pytest.raises(
        ValueError, match=r"^error_rate\(\): population 'train': .*\(in the objective error_rate\(\)\)$"
    ):
        rb.compile(rb.Problem(rb.error_rate()), POOL)


def test_labels_are_asked_for_only_where_a_rate_needs_them():
    words = ["churn(versus='live') <= 1", "positive_rate_of(versus='live') <= 1", "negative_rate() <= 1"]
    rb.compile(rb.Problem(rb.positive_rate(), words), POOL).evaluate(np.zeros(4))


class Three:
    def predict(self, X):
        return [0, 1, 1]


POPULATIONS = {  # what is wrong: arguments of Population, and the message
    "nothing": ({}, "needs at least one of X, y and columns"),
    "no rows": ({"y": []}, "at least one row"),
    "a strange class": ({"y": [0, 1, 2], "classes": [0, 1, 3]}, "y holds 2, .* the classes 0, 1, 3"),
    "classes and positive": ({"y": [0, 1], "classes": [0, 1], "positive": 1}, "leave positive= out"),
    "a class twice": ({"y": [0, 1], "classes": [0, 0]}, "two or more different labels, got 0, 0"),
    "kinds mixed": ({"y": [0, "b", 2]}, "y mixes labels of different kinds, 0, 'b', 2"),
    "one text label": ({"y": ["good", "good"]}, "y holds only 'good', .*: give both with classes="),
    "three texts": ({"y": [*"abc"], "positive": "a"}, "two values, one of them 'a'; it holds .*'c'"),
    "positive not there": (
        {"y": [*"ab"], "positive": "c"},
        "two values, one of them 'c'; it holds .*'a'",
    ),
    "many classes": ({"y": list(range(2000))}, r"2,000 different labels, 0, 1, .*: too many to be"),
    "numbers": ({"y": [0.1, 0.7, 0.3]}, "y holds continuous values, 0.1, 0.3, 0.7, not class labels"),
    "probabilities": ({"y": [0.1, 0.7]}, "y holds continuous values, 0.1, 0.7"),
    "NaN label": (
        {"y": [0, 1, NAN]},
        "1 missing labels among 3: leave .* out, or pass .* unlabelled population",
    ),
    "None label": ({"y": [0, None, None]}, "y has 2 missing labels"),
    "NaN among texts": ({"y": ["good", NAN, "bad"], "positive": "good"}, "y has 1 missing labels"),
    "labels in a table": ({"y": np.zeros((3, 2))}, r"y has shape \(3, 2\), expected one label per row"),
    "y short": ({"X": np.zeros((3, 1)), "y": [0, 1]}, "same number of rows: X has 3, y has 2"),
    "column short": ({"y": [0, 1], "columns": {"a": [1]}}, r"y has 2, columns\['a'\] has 1"),
    "weights short": ({"y": [0, 1], "weights": [1]}, "y has 2, weights has 1"),
    "decisions short": ({"X": np.zeros((2, 1)), "models": {"live": Three()}}, "live.* has 3"),
    "negative weight": ({"y": [0, 1], "weights": [1, -1]}, "finite and not negative"),
    "NaN weight": ({"y": [0, 1], "weights": [1, NAN]}, "finite and not negative"),
    "infinite weight": ({"y": [0, 1], "weights": [1, np.inf]}, "finite and not negative"),
    "zero weights": ({"y": [0, 1], "weights": [0, 0]}, "all weights are zero"),
    "weights in a table": ({"y": [0, 1], "weights": [[1], [1]]}, r"weights have shape \(2, 1\)"),
}


@pytest.mark.parametrize("wrong", POPULATIONS)
def test_a_population_says_what_is_wrong(wrong):
    arguments, message = POPULATIONS[wrong]
    with pytest.raises(ValueError, match=message):
        rb.Population(**{"X": None} | arguments)


@pytest.mark.parametrize("columns", [[1, 2], "ab", np.zeros((2, 2))])
def test_columns_have_names(columns):
    with pytest.raises(TypeError, match="a DataFrame or a mapping"):
        rb.Population(None, [0, 1], columns=columns)


@pytest.mark.parametrize(
    "values", [["F", NAN, "M"], ["F", None, "M"], [1, None, 2], [1.5, NAN, 2], [True, None, False]]
)
def test_a_missing_value_is_found_in_a_column_however_it_is_given(values):
    people = rb.Population(None, columns={"a": values})
    assert people.plain_column("a") == [values[0], None, values[2]]


SCORES = {
    "too few": ([0.0, 1.0], r"shape \(2,\): expected one per row, 6 \(train 4, pool 2\)"),
    "a number": (0.0, r"shape \(\): expected one per row, 6"),
    "turned": (np.zeros((6, 2)), r"shape \(6, 2\): expected one per row"),
    "too deep": (np.zeros((1, 1, 1, 6)), "expected one per row"),
    "NaN": ([0, 0, 0, 0, 0, NAN], "scores hold NaN or infinite values"),
    "infinite": ([0, 0, 0, 0, 0, np.inf], "scores hold NaN or infinite values"),
    "text": (["yes"] * 6, "scores must be numbers"),
    "objects": ([None] * 6, "scores must be numbers"),
    "complex": ([1j] * 6, "scores must be numbers"),
    "one population missing": ({"train": np.zeros(4)}, "scores for population 'pool' are missing"),
    "one population short": ({"train": np.zeros(4), "pool": np.zeros(1)}, "6 .train 4, pool 2"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", SCORES)
def test_scores_that_decide_nothing_are_refused(wrong):
    scores, message = SCORES[wrong]
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(on="pool") <= 0.5])
    compiled = rb.compile(problem, PEOPLE, pool=rb.Population([[1.0], [2.0]]))
    with pytest.raises(ValueError, match=message):
        compiled.evaluate(scores)


FEATURES = {
    "none": (None, "no features X"),
    "one number a row": ([1.0, 2.0], r"X needs rows and features, got an array of shape \(2,\)"),
    "text": ([["a"], ["b"]], "X must hold numbers"),
    "objects": (np.array([[None], [1]], dtype=object), "X must hold numbers"),
}


@pytest.mark.parametrize("wrong", FEATURES)
def test_features_are_checked_only_when_asked_for(wrong):
    X, message = FEATURES[wrong]
    people = rb.Population(X, [0, 1])
    rb.compile(rb.Problem(rb.error_rate()), people).evaluate([0.0, 1.0])
    with pytest.raises(ValueError, match=message):
        _ = people.features


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((rb.error_rate(), PEOPLE), "takes a rb.Problem first, got Expression"),
        ((rb.Problem(rb.error_rate()), [0, 1]), "train must be a rb.Population, got list"),
    ],
)
def test_compile_says_what_it_takes(arguments, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        rb.compile(*arguments)
