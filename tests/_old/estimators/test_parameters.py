"""Slips in the estimator's parameters are refused before training, whichever model they are for."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb
from ratebound._old.estimators import search

from ..extras import pd
from ..small_tables import people

X, Y, _ = people(60, noise=0)
MODELS = {"linear": "linear", "trees": "lightgbm", "estimator": DecisionTreeClassifier(max_depth=1)}
WHOLE = "takes a whole number from 1 on"
TRAINING = [
    *(({"batch_size": value}, f"batch_size {WHOLE}") for value in (0, -3, 2.5, "a", None)),
    *(({"epochs": value}, f"epochs {WHOLE}") for value in (0, -1, 2.5, math.nan, math.inf, "a")),
    *(({"patience": value}, f"patience {WHOLE}") for value in (0, -1, 2.5, math.nan, "a")),
    *(({"max_time": value}, "max_time takes a number") for value in (-1, math.nan, "a")),
    *(
        (
            {"validation_fraction": value},
            "validation_fraction takes a number that is at least 0 and below 1",
        )
        for value in (-0.1, 1.0, 1.5, math.nan, "a", None)
    ),
    ({"loss": "square"}, "loss must be one of hinge, logistic, sigmoid"),
    ({"proxy": "step"}, "proxy must be one of hinge, logistic, sigmoid"),
]
SLIPS = [
    ({"solution": "all"}, "solution must be one of shrink, best, average, last"),
    ({"solution": None}, "solution must be one of"),
    ({"player": "chess"}, "player must be one of auto, swap, external, lagrangian"),
    ({"player": None}, "player must be one of"),
    ({"player": rb.SwapRegret}, "player must be one of"),
    ({"training": 20}, r"training takes rb.Training\(...\), got 20"),
    ({"known": 5}, "known takes columns"),
    ({"known": "sexx"}, "known: .* there is no column 'sexx'"),
    ({"features": "age"}, "features takes a list of columns"),
    ({"constraints": "recall() >= 95"}, "did you mean"),
    ({"constraints": None}, "subject_to takes constraints"),
    ({"constraints": [rb.recall() == 0.9]}, "got False; == and != only test"),
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("options", "words"), SLIPS, ids=lambda given: str(given)[:40])
def test_slips_are_refused_before_training(model, options, words, monkeypatch):
    if model == "trees":
        pytest.importorskip("lightgbm")
    monkeypatch.setattr(search, "play", lambda *args, **options: pytest.fail("training began"))
    estimator = rb.RateConstrainedClassifier("positive_rate() <= 0.3", model=MODELS[model])
    with pytest.raises((ValueError, TypeError), match=words):
        estimator.set_params(**options).fit(X, Y)


@pytest.mark.parametrize(("options", "words"), TRAINING, ids=lambda given: str(given)[:40])
def test_how_it_is_trained_is_checked_where_it_is_said(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        rb.Training(**options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *((lambda v=value: rb.MLP(hidden=v), "hidden") for value in ((-3,), (0,), (2.5,), 3, "a", None)),
        *((lambda v=value: rb.MLP(l2=v), "l2 takes a number") for value in (-1, math.nan, "a")),
        *((lambda v=value: rb.MLP(learning_rate=v), "a learning rate is") for value in (-1, None, [])),
    ],
    ids=range(12),
)
def test_networks_check_their_own(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("model", [None, 5, "tree", ["linear"]])
def test_models(model):
    with pytest.raises(ValueError, match=r"model must be 'linear', .* got "):
        rb.RateConstrainedClassifier(model=model).fit(X, Y)


def test_a_model_that_is_nearly_known():
    with pytest.raises(ValueError, match="got 'lightgmb', did you mean 'lightgbm'"):
        rb.RateConstrainedClassifier(model="lightgmb").fit(X, Y)


@pytest.mark.parametrize("model", [LogisticRegression, rb.Linear])
def test_a_class_is_not_a_model(model):
    with pytest.raises(
        TypeError, match=rf"model takes an instance, {model.__name__}\(\), got the class"
    ):
        rb.RateConstrainedClassifier(model=model).fit(X, Y)


@pytest.mark.parametrize("learner", [rb.Oracle, rb.Boosted])
def test_a_learner_takes_no_class(learner):
    with pytest.raises(TypeError, match=r"takes an instance, LogisticRegression\(\), got the class"):
        learner(LogisticRegression)


@pytest.mark.parametrize("given", [Y, list(Y), np.c_[Y]])
def test_groups_are_columns(given):
    wrong = r"sensitive_features= is not an argument: give the columns .* as columns="
    promise = "recall() >= 0.1"
    with pytest.raises(TypeError, match=wrong):
        rb.RateConstrainedClassifier(promise).fit(X, Y, sensitive_features=given)
    short = rb.Training(epochs=2)
    model = rb.RateConstrainedClassifier(promise, training=short, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match=wrong):
        model.audit(X, Y, sensitive_features=given)
    with pytest.raises(TypeError, match=r"sensitive_features= is not an argument: .* known=\['sex'\]"):
        model.predict(X, sensitive_features=given)
    with pytest.raises(TypeError, match="predict takes no argument 'seed'"):
        model.predict(X, seed=0)


def test_known_may_be_one_column():
    people = {"sex": ["F", "M"] * 30}
    promise = 'positive_rate(sex == "F") <= 0.3'
    fits = [
        rb.RateConstrainedClassifier(
            promise, known=known, training=rb.Training(epochs=2), random_state=0
        ).fit(X, Y, columns=people)
        for known in ("sex", ["sex"])
    ]
    assert fits[0].solution_.decider.known == {"sex": ("F", "M")}
    assert (fits[0].predict(X, columns=people) == fits[1].predict(X, columns=people)).all()


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"sex": (value for value in Y)},
            r"columns\['sex'\] takes a value for each row.* got generator",
        ),
        ({"sex": "F"}, r"columns\['sex'\] takes a value for each row.* got one value"),
        (np.ones(60), "columns takes a DataFrame or a mapping from names to values, got ndarray"),
        ({"sex": ["F"]}, "the same number of rows"),
    ],
)
def test_columns(columns, words):
    with pytest.raises((ValueError, TypeError), match=words):
        rb.RateConstrainedClassifier().fit(X, Y, columns=columns)


def test_columns_may_be_a_table_beside_a_table():
    model = rb.RateConstrainedClassifier(
        'positive_rate(sex == "F") <= 0.9', training=rb.Training(epochs=2), random_state=0
    )
    table = pd.DataFrame(X, columns=["a", "b"])
    model.fit(table, Y, columns=pd.DataFrame({"sex": ["F", "M"] * 30}))
    assert [column.name for column in model.solution_.encoding.columns] == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"splits": 2.5}, f"splits {WHOLE}"),
        ({"splits": math.nan}, f"splits {WHOLE}"),
        ({"share": 1.0}, "share takes a number that is above 0 and below 1"),
        ({"share": "a"}, "share takes a number"),
        ({"known": None}, "known takes columns"),
    ],
)
def test_plans(options, words):
    problem = rb.Problem("error_rate()", ["positive_rate() <= 0.3"])
    with pytest.raises((ValueError, TypeError), match=words):
        rb.plan(problem, rb.Population(X, Y), **options)
    with pytest.raises(TypeError, match=r"plan takes a rb\.Population second, got ndarray"):
        rb.plan("recall() >= 0.9", X)
