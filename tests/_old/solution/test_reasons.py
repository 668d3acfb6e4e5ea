"""Which columns move a decision: against what replacing their values by hand does."""

import numpy as np
import pytest

from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy

pandas = pytest.importorskip("pandas")

TYPICAL = {"age": 50.0, "income": 3.0}
PROMISE = 'positive_rate(sex == "f") >= 0.4'


def rows(n=600, seed=0):
    random = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "age": random.permutation(np.tile(np.arange(45, 56), n // 11 + 1))[:n].astype(float),
            "income": random.normal(3, 1, n),
            "job": random.choice(["clerk", "nurse", "smith"], n, p=[0.6, 0.2, 0.2]),
            "sex": random.choice(["f", "m"], n),
        }
    )
    y = table["income"] + (table["job"] == "nurse") + random.normal(0, 0.5, n) > 3.3
    return table, np.where(y, "yes", "no")


def fitted(constraints=PROMISE, n=600, **options):
    table, y = rows(n)
    features = ["age", "income", "job"]
    return RateConstrainedClassifier(constraints, features=features, random_state=0, **options).fit(
        table, y
    )


@pytest.fixture(scope="module", params=["linear", "lightgbm"])
def model(request):
    if request.param == "lightgbm":
        pytest.importorskip("lightgbm")
    return make_policy(fitted(model=request.param))


def test_a_column_moves_a_score_as_replacing_its_value_does(model):
    table, _ = rows(20, seed=1)
    told, train = model.reasons(table), rows()[0]
    assert told.columns == ("age", "income", "job")
    middle = train["income"].median()
    typical = table.assign(age=train["age"].median(), income=middle, job="clerk")  # as most have
    change = model.decision_function(table) - model.decision_function(table.assign(income=middle))
    alone = typical.assign(income=table["income"])
    change += model.decision_function(alone) - model.decision_function(typical)
    if all(type(column).__name__ != "Code" for column in model.encoding.columns):
        np.testing.assert_allclose(told.moves[:, 1], change / 2, atol=1e-5)


def test_reasons_against_a_yes_are_of_rows_decided_no(model):
    table, _ = rows(40, seed=1)
    told = model.reasons(table)
    for row, (decision, own) in enumerate(zip(told.decisions, told.against(), strict=True)):
        if decision == "yes":
            assert own == []
            continue
        worst = told.columns[told.moves[row].argmin()]
        against = told.moves[row].min() < -1e-9
        assert own[0].startswith(f"{worst} is " if against else "no single column")
    poor = model.reasons({"age": 50.0, "income": 0.5, "job": "clerk"})
    assert poor.decisions.tolist() == ["no"]
    assert poor.against(1)[0][0].startswith("income is 0.5")
    assert "income is 0.5" in str(poor)


def test_rows_as_dictionaries_are_rows_of_a_table(model):
    table, _ = rows(30, seed=2)
    records = table.to_dict("records")
    for ask in (model.predict, model.predict_proba, model.decision_proba, model.decision_function):
        np.testing.assert_array_equal(ask(records), ask(table))
        np.testing.assert_array_equal(ask(records[0]), ask(table.head(1)))
    np.testing.assert_array_equal(model.reasons(records).moves, model.reasons(table).moves)
    assert (
        model.audit(records, rows(30, seed=2)[1]).render()
        == model.audit(table, rows(30, seed=2)[1]).render()
    )


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"age": 50.0, "job": "clerk"}, ValueError, "row 0 has no 'income', which the model reads"),
        ([{"age": 1, "income": 1, "job": "a"}, {"age": 1}], ValueError, "row 1 has no 'income'"),
        ({"age": [50.0], "income": [1.0], "job": ["a"]}, TypeError, "a dictionary is one row here"),
        ([{"age": 1, "income": 1, "job": "a"}, 3], TypeError, "row 1 is 3"),
    ],
)
def test_rows_that_are_not_whole_are_named(model, given, error, words):
    with pytest.raises(error, match=words):
        model.predict(given)


def test_a_missing_value_is_none(model):
    with pytest.warns(UserWarning, match="values are missing"):
        told = model.reasons({"age": None, "income": 0.1, "job": "clerk"})
    assert "age is missing" in told.values[0]


def test_dictionaries_need_names():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = make_policy(RateConstrainedClassifier(random_state=0).fit(X, X[:, 0] > 0))
    with pytest.raises(TypeError, match="trained on an array, whose features have no names"):
        model.predict({"a": 1.0, "b": 2.0})
    assert model.reasons(X[:3]).moves.shape == (3, 2)


def test_known_columns_stand_beside():
    table, _ = rows(300)
    model = make_policy(fitted(n=300, known="sex", confidence=None))
    features, beside = table[["age", "income", "job"]], table[["sex"]]
    told = model.reasons(features.head(5), columns=beside.head(5))
    np.testing.assert_array_equal(told.decisions, model.predict(table.head(5)))
    np.testing.assert_array_equal(told.moves, model.reasons(table.head(5)).moves)


def test_linear_models_have_named_coefficients():
    table, _ = rows(800)
    model = fitted((), 800)
    policy = make_policy(model)
    names = model.get_feature_names_out().tolist()
    assert names == ["age", "income", "job == clerk", "job == nurse", "job == smith"]
    assert model.coef_.shape == (1, 5)
    named = dict(zip(names, model.coef_[0], strict=True))
    assert named == pytest.approx(policy.coefficients)
    assert named["income"] > abs(named["age"])
    assert named["job == nurse"] > named["job == clerk"]
    two = table.head(2).assign(age=50.0, job="clerk", income=[1.0, 2.0])
    odds = model.predict_proba(two)
    slope = np.diff(np.log(odds[:, 1] / odds[:, 0]))[0]
    (income,) = (each for each in policy.encoding.columns if each.name == "income")
    scale = getattr(income, "scale", 1.0)
    assert slope == pytest.approx(named["income"] / scale, rel=0.2)


def test_other_models_have_none():
    pytest.importorskip("lightgbm")
    model = fitted(n=300, model="lightgbm")
    assert make_policy(model).coefficients == {}
    assert not hasattr(model, "coef_")


def test_permutation_importance_reads_raw_tables():
    from sklearn.inspection import permutation_importance

    table, y = rows(200, seed=1)
    importance = permutation_importance(fitted(), table, y, n_repeats=2, random_state=0)
    assert table.columns[importance.importances_mean.argmax()] == "income"
    assert importance.importances_mean[3] == 0  # the model does not see the sex
