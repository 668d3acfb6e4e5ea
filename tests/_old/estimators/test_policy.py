"""A model read from a file answers as before it was saved: decisions, probabilities, certificates."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import ratebound as rb
import ratebound._old as old
from ratebound._bridge import make_policy

from ..extras import pd

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few rows are sure of little

PROMISE = 'positive_rate(group == "a") >= 0.9 * positive_rate()'
MODELS = {  # what it needs, and the options of the classifier
    "linear": (None, {}),
    "mlp": ("torch", {"model": "mlp"}),
    "lightgbm": ("lightgbm", {"model": "lightgbm"}),
    "xgboost": ("xgboost", {"model": "xgboost"}),
    "logistic": (None, {"model": LogisticRegression()}),
    "bayes": ("skops", {"model": GaussianNB()}),
    "known": (None, {"known": ["group"]}),
    "plain": (None, {"constraints": ()}),
}


def table(rows=240, seed=0):
    random = np.random.default_rng(seed)
    group = random.choice(["a", "b"], rows)
    score = random.normal(size=rows) - (group == "a")
    age = random.integers(18, 80, rows).astype(float)
    age[::9] = np.nan
    y = np.where(score + random.normal(size=rows) > 0, "good", "bad")
    city = random.choice(["Oslo", "Rome"], rows)
    return pd.DataFrame({"score": score, "age": age, "city": city, "group": group}), y


def fitted(kind):
    library, options = MODELS[kind]
    if library is not None:
        pytest.importorskip(library)
    X, y = table()
    features = [name for name in X.columns if name != "group"]
    options = {"constraints": PROMISE, "features": features, "random_state": 0} | options
    return rb.RateConstrainedClassifier(**options).fit(X, y)


@pytest.mark.parametrize("kind", MODELS)
def test_it_is_the_same_bit_for_bit(kind, tmp_path):
    model, (X, y) = fitted(kind), table(100, seed=1)
    loaded, policy = rb.load(model.save(tmp_path)), make_policy(model)
    for name in ("predict", "predict_proba", "decision_proba", "decision_function"):
        after = getattr(loaded, name)(X)
        np.testing.assert_array_equal(after, getattr(policy, name)(X), strict=True)
        one_by_one = np.concatenate([getattr(loaded, name)(X[i : i + 1]) for i in range(5)])
        if name != "predict":
            np.testing.assert_allclose(one_by_one, after[:5], rtol=1e-6)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-6)
    assert str(loaded.audit(X, y)) == str(policy.audit(X, y))
    assert "on 100 rows; yes is 'good'" in str(loaded.audit(X, y))
    if kind != "plain":
        assert str(loaded.certify(X, y)) == str(policy.certify(X, y))
    assert loaded.calibration == policy.calibration
    assert type(loaded) is type(policy) is rb.Policy


def test_labels_and_weights_are_those_of_the_classifier(tmp_path):
    model, (X, y) = fitted("linear"), table(100, seed=1)
    loaded = rb.load(model.save(tmp_path))
    weights = np.arange(100.0)
    heavy = loaded.audit(X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(100), np.arange(100))
    assert heavy.promises[0].value == pytest.approx(
        loaded.audit(X.iloc[repeated], y[repeated]).promises[0].value
    )
    columns = X[["group"]]
    assert str(loaded.audit(X.drop(columns="group"), y, columns)) == str(loaded.audit(X, y))
    with pytest.raises(ValueError, match=r"y holds labels that were not in training: 'good\.'"):
        loaded.audit(X, np.where(y == "good", "good.", "bad"))
    with pytest.raises(ValueError, match="y has shape"):
        loaded.certify(X, np.stack([y, y]).T)
    known = old.Population(X, y == "good", positive=True)
    assert loaded.audit(X, y, others=known).populations == {"audited": 100, "others": 100}


def test_loading_and_deciding_need_no_scikit_learn(tmp_path):
    path = fitted("linear").save(tmp_path)
    code = f"""
import sys, ratebound as rb
from ratebound._old.tables.table import read_table
people = read_table({str(tmp_path / "people.csv")!r})
rb.load({str(path)!r}).predict_proba(people)
print(*[name for name in ("sklearn", "pandas", "torch") if name in sys.modules])
"""
    table(20)[0].to_csv(tmp_path / "people.csv", index=False)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_an_untrusted_type_is_named_as_it_has_to_be_written(tmp_path):
    skops = pytest.importorskip("skops.io")
    from sklearn.tree import DecisionTreeClassifier

    X, y = table()
    model = rb.RateConstrainedClassifier(
        PROMISE, model=DecisionTreeClassifier(max_depth=2), features=["score"], random_state=0
    ).fit(X, y)
    path = model.save(tmp_path)
    assert "sklearn.tree._tree.Tree" in skops.get_untrusted_types(
        data=skops.dumps(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    )
    with pytest.raises(ValueError, match=r"rb\.load\(path, trusted=\['sklearn\.tree\._tree\.Tree'\]\)"):
        rb.load(path)
    trusted = rb.load(path, trusted=["sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(trusted.predict(X), model.predict(X))
