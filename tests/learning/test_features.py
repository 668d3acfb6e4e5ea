"""What models see of rows: the same from every form of a table, and as scikit-learn makes it."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import ratebound as rb
from ratebound.learning.classifier import RateConstrainedClassifier

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

CONSTRAINT = 'recall(sex == "f") >= 0.95 * recall()'
MODELS = {
    "linear": "linear",
    "lightgbm": "lightgbm",
    "forest": RandomForestClassifier(5, random_state=0),
}


def make_people(n=600, seed=0):
    """Return a table with numbers, gaps, texts, truth values and dates, and labels."""
    random = np.random.default_rng(seed)
    days = pandas.to_timedelta(random.integers(0, 999, n), "D")
    table = pandas.DataFrame(
        {
            "income": random.gamma(2.0, 1000.0, n),
            "age": random.integers(18, 90, n).astype(float),
            "sex": random.choice(["f", "m"], n),
            "town": random.choice(["Oslo", "Rome", "Bonn", "Nice"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "owner": random.random(n) < 0.4,
            "since": pandas.Timestamp("2020-01-01") + days,
        }
    )
    score = table.income / 1500 + (table.town == "Oslo") + table.owner - 2
    y = np.where(score + random.normal(size=n) > 0, "repaid", "late")
    table.loc[::7, "age"] = np.nan
    table.loc[::11, "town"] = None
    return table, y


def fit(constraints=CONSTRAINT, n=600, **options):
    table, y = make_people(n)
    options = {"confidence": None, "positive_label": "repaid", "random_state": 0} | options
    return RateConstrainedClassifier(constraints, **options).fit(table, y)


def encode(model, X):
    return model.encoding_.transform(X)


# --- the same decisions from everywhere -----------------------------------------------------------


def as_records(table):
    """Return rows as a service gets them, from JSON."""
    return [
        {name: None if pandas.isna(value) else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


FORMS = {
    "polars": polars.from_pandas,
    "arrow": lambda table: polars.from_pandas(table).to_arrow(),
    "columns in another order": lambda table: table[table.columns[::-1]],
    "more columns": lambda table: table.assign(more=1.0),
    "another index": lambda table: table.set_index(np.arange(len(table))[::-1]),
    "categories": lambda table: table.astype({"town": "category", "sex": "category"}),
    "dictionaries": as_records,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", MODELS)
def test_decisions_do_not_depend_on_the_form_of_a_table(kind, form):
    table, _ = make_people()
    model = fit(model=MODELS[kind])
    rows = FORMS[form](table)
    np.testing.assert_array_equal(model.predict(rows), model.predict(table))
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(table))


@pytest.mark.parametrize("form", ["polars", "arrow", "columns in another order", "categories"])
def test_a_model_does_not_depend_on_the_form_of_the_table_it_learned_from(form):
    table, y = make_people()
    options = {"confidence": None, "positive_label": "repaid", "random_state": 0}
    other = RateConstrainedClassifier(CONSTRAINT, **options).fit(FORMS[form](table), y)
    chances = other.predict_proba(table)
    np.testing.assert_allclose(
        chances, fit().predict_proba(table), rtol=1e-3
    )  # sums in another order
    np.testing.assert_array_equal(other.predict(table), fit().predict(table))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("form", ["pandas", "polars", "dictionaries"])
def test_a_row_alone_is_decided_as_among_others(kind, form):
    table, _ = make_people()
    model = fit(model=MODELS[kind])
    decisions = model.predict(table)
    features = encode(model, table)
    for row in range(40):
        alone = table.iloc[[row]]
        if form != "pandas":
            alone = FORMS[form](alone)
        assert model.predict(alone)[0] == decisions[row]
        if form != "dictionaries":
            np.testing.assert_array_equal(encode(model, alone)[0], features[row])


def test_tables_and_arrays_of_the_same_numbers_give_the_same_model():
    table, y = make_people()
    numbers = table[["income", "age"]]
    options = {"constraints": CONSTRAINT, "positive_label": "repaid", "random_state": 0}
    chances = []
    for rows in (numbers.to_numpy(), numbers, polars.from_pandas(numbers)):
        model = RateConstrainedClassifier(**options).fit(rows, y, columns={"sex": table.sex})
        chances.append(model.predict_proba(rows))
    np.testing.assert_array_equal(chances[0], chances[1])
    np.testing.assert_array_equal(chances[0], chances[2])


def test_two_processes_decide_alike():
    program = """
import numpy as np, pandas
from ratebound.learning.classifier import RateConstrainedClassifier
random = np.random.default_rng(0)
town = random.choice(["Oslo", "Rome", "Bonn"], 400)
table = pandas.DataFrame({"p": random.normal(size=400), "town": town, "sex": town > "C"})
y = table.p + (town == "Oslo") + random.normal(size=400) > 0
model = RateConstrainedClassifier("recall(sex == True) >= 0.95 * recall()", random_state=0)
print(model.fit(table, y).predict_proba(table).tobytes().hex())
"""
    outputs = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-W", "ignore", "-c", program]
        process = subprocess.run(command, env=environment, capture_output=True, check=True)
        outputs.add(process.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 400


@pytest.mark.parametrize("kind", ["linear", "lightgbm"])
def test_a_saved_model_decides_as_before(kind, tmp_path):
    table, _ = make_people()
    model = fit(model=kind)
    loaded = rb.load(model.save(tmp_path))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    np.testing.assert_array_equal(loaded.predict(as_records(table)), model.predict(table))
    np.testing.assert_allclose(loaded.predict_proba(table), model.predict_proba(table), atol=1e-12)


def test_only_what_was_fitted_is_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        RateConstrainedClassifier().save(tmp_path)


# --- what models see ------------------------------------------------------------------------------


def test_numbers_are_scaled_and_flags_are_not():
    """As scikit-learn's own transformers make it."""
    table, y = make_people()
    table = table[["income", "age", "town", "owner"]].fillna({"age": 30.0, "town": "Rome"})
    ours = RateConstrainedClassifier(positive_label="repaid").fit(table, y)
    theirs = make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["income", "age"]), (OneHotEncoder(), ["town", "owner"])
        ),
        LogisticRegression(max_iter=1000),
    ).fit(table, y)
    np.testing.assert_allclose(ours.predict_proba(table), theirs.predict_proba(table), atol=2e-3)
    coefficients = theirs[-1].coef_[0]
    coefficients[:2] /= theirs[0].named_transformers_["standardscaler"].scale_
    np.testing.assert_allclose(ours.coef_[0], coefficients, atol=0.02)
    names = ["income", "age", "town == Bonn", "town == Nice", "town == Oslo", "town == Rome"]
    assert list(ours.get_feature_names_out()) == [*names, "owner == False", "owner == True"]


GAPS = {
    "linear": ("linear", False),
    "lightgbm": ("lightgbm", True),
    "histograms": (HistGradientBoostingClassifier(max_iter=5), True),
    "bayes": (GaussianNB(), False),
    "a pipeline": (make_pipeline(SimpleImputer(), LogisticRegression()), True),
}


@pytest.mark.parametrize("kind", GAPS)
@pytest.mark.parametrize("is_table", [True, False])
def test_models_that_take_gaps_get_them_and_others_a_flag(kind, is_table):
    model, takes_gaps = GAPS[kind]
    table, y = make_people()
    numbers = table[["income", "age"]]
    rows = numbers if is_table else numbers.to_numpy()
    fitted = RateConstrainedClassifier(model=model, positive_label="repaid").fit(rows, y)
    features = np.asarray(encode(fitted, rows))
    gaps = np.isnan(numbers.age.to_numpy())
    if takes_gaps:
        np.testing.assert_array_equal(features, numbers.to_numpy())
        return
    mean = numbers.age.mean()
    np.testing.assert_allclose(features[:, 1], np.where(gaps, mean, numbers.age))
    np.testing.assert_array_equal(features[:, 2], gaps)


def test_the_mean_that_fills_gaps_counts_rows_by_weight():
    table, y = make_people()
    numbers = table[["income", "age"]]
    weights = np.arange(600) % 3
    weighted = RateConstrainedClassifier(positive_label="repaid").fit(
        numbers, y, sample_weight=weights
    )
    repeated = np.repeat(np.arange(600), weights)
    other = RateConstrainedClassifier(positive_label="repaid").fit(
        numbers.iloc[repeated], y[repeated]
    )
    np.testing.assert_allclose(encode(weighted, numbers), encode(other, numbers))


@pytest.mark.parametrize("model", ["linear", "lightgbm", GaussianNB()], ids=str)
def test_sparse_matrices_and_arrays_of_the_same_numbers_are_decided_alike(model):
    random = np.random.default_rng(0)
    X = random.integers(0, 3, (400, 6)) * random.normal(size=(400, 6))
    y = X[:, 0] + random.normal(size=400) > 0
    constraint = RateConstrainedClassifier(
        "recall() >= 0.7", model=model, confidence=None, random_state=0
    )
    constraint.fit(csr_matrix(X), y)
    np.testing.assert_array_equal(constraint.predict(csr_matrix(X)), constraint.predict(X))
    assert constraint.status_.feasible


def test_columns_without_use_are_left_out_with_a_warning():
    table, y = make_people()
    table = table.assign(row_id=np.arange(600), country="NO")
    with pytest.warns(
        UserWarning, match="'row_id': left out: an id.* 'country': left out: it never"
    ):
        model = RateConstrainedClassifier(positive_label="repaid").fit(table, y)
    assert model.features_ == ["income", "age", "sex", "town", "owner", "since"]
    listed = model.set_params(features=["income", "row_id"]).fit(table, y)
    assert listed.features_ == ["income", "row_id"]


def test_features_are_excluded_and_made_categories():
    table, y = make_people()
    table["code"] = np.arange(600) % 3
    chosen = rb.Features(exclude=["since", "town"], categorical=["code"])
    model = RateConstrainedClassifier(features=chosen, positive_label="repaid").fit(table, y)
    assert model.features_ == ["income", "age", "sex", "owner", "code"]
    assert list(model.get_feature_names_out()[-3:]) == ["code == 0", "code == 1", "code == 2"]
    other = RateConstrainedClassifier(
        'churn(versus="live") <= 0.5', features=chosen, positive_label="repaid", random_state=0
    )
    with pytest.warns(UserWarning, match="does not read 'live'"):
        other.fit(table.assign(live=y), y)
    assert other.features_ == model.features_


# --- rows as dictionaries -------------------------------------------------------------------------


def test_dictionaries_are_rows_wherever_rows_are_decided():
    table, _ = make_people()
    model = fit(features=["income", "age", "town"], known="sex")
    few = table[:9]
    rows = as_records(few)
    np.testing.assert_array_equal(model.predict(rows), model.predict(few))
    np.testing.assert_array_equal(model.decision_function(rows), model.decision_function(few))
    np.testing.assert_array_equal(model.reasons(rows).effects, model.reasons(few).effects)
    assert model.predict(rows[0]).tolist() == model.predict(few)[:1].tolist()
    beside = [{name: row[name] for name in ("income", "age", "town")} for row in rows]
    columns = {"sex": few.sex}
    np.testing.assert_array_equal(model.predict(beside, columns), model.predict(few))
    with pytest.raises(ValueError, match=r"give columns=\{'sex': ...\}"):
        model.predict(beside)


def test_a_quota_of_dictionaries():
    table, _ = make_people()
    constraint = 'positive_rate(sex == "f") >= 0.9 * positive_rate()'
    model = fit(constraint)
    chosen = model.predict(as_records(table), exactly=200)
    np.testing.assert_array_equal(chosen, model.predict(table, exactly=200))
    assert (chosen == "repaid").sum() == 200


def test_a_pipeline_reads_dictionaries_too():
    table, _ = make_people()
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["sex", "owner"]))
    model = fit(model=make_pipeline(encoder, LogisticRegression()), features=["sex", "owner"])
    np.testing.assert_array_equal(model.predict(as_records(table)), model.predict(table))
