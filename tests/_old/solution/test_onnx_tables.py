"""Models fitted on tables decide in onnxruntime on the raw columns: texts, numbers, dates, gaps."""

import json
import warnings

import numpy as np
import pytest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy
from ratebound._old.solution.onnx import GraphBuilder, encoded
from ratebound._old.tables.fitting import fit_encoding

from ..extras import pd

ROWS = 400
PROMISE = 'positive_rate(group == "a") >= 0.9 * positive_rate()'
MODELS = {  # what it needs, and the options of the classifier
    "linear": (None, {}),
    "mlp": (None, {"model": "mlp"}),
    "lightgbm": ("lightgbm", {"model": "lightgbm"}),
    "xgboost": ("xgboost", {"model": "xgboost"}),
    "known": (None, {"known": ["group", "member"]}),
    "confidence": (None, {"confidence": 0.8}),
}


def table(rows=ROWS, seed=0):
    """A column of every kind, some with gaps."""
    random = np.random.default_rng(seed)
    days = random.integers(-20_000, 20_000, rows).astype("M8[D]").astype("M8[ns]")
    when = days + random.integers(0, 86_400, rows).astype("m8[s]")
    found = pd.DataFrame(
        {
            "group": random.choice(["a", "b"], rows),
            "score": random.normal(size=rows) * 3 + 100,
            "key": random.integers(0, 1000, rows) / 7,  # a name that the file needs itself
            "town": random.choice(["Oslo", "Rome", "São Paulo", "(other)"], rows),
            "member": random.choice([True, False], rows),
            "when": when,
            "lasted": random.integers(0, 10**6, rows).astype("m8[s]").astype("m8[ns]"),
            "code": random.choice([1, 2, 30], rows),
        }
    )
    for name in ("score", "town", "when", "lasted"):
        found.loc[random.random(rows) < 0.1, name] = None
    chance = found["score"].fillna(99) - 100 + 3 * (found["town"] == "Oslo") - 2 * (found["code"] == 2)
    return found, np.where(chance + random.normal(size=rows) > 0, "good", "bad")


def raw(given, inputs):
    """The columns of a table as the file takes them."""
    found = {}
    for name, kind in inputs.items():
        column = given[name]
        if kind == "string":
            texts = [
                f"{value}.0" if name == "code" and i % 2 else str(value)
                for i, value in enumerate(column)
            ]
            found[name] = np.where(column.isna(), "", np.array(texts, dtype=object)).astype(object)
        elif column.dtype.kind in "mM":
            since = column - pd.Timestamp(0) if column.dtype.kind == "M" else column
            found[name] = (since / pd.Timedelta(days=1)).to_numpy(float)
        else:
            found[name] = column.to_numpy(float)
    return found


@pytest.fixture(scope="module")
def runtime():
    pytest.importorskip("onnx", reason="pip install 'ratebound[onnx]' to test the export")
    return pytest.importorskip("onnxruntime", reason="pip install 'ratebound[onnx]' to run exports")


def fitted(kind):
    library, options = MODELS[kind]
    if library is not None:
        pytest.importorskip(library)
    X, y = table()
    seen = rb.Features(exclude=["group"], categorical=["code"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about dates and durations
        model = RateConstrainedClassifier(PROMISE, features=seen, random_state=0, **options)
        return make_policy(model.fit(X, y))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.filterwarnings("ignore:values are :UserWarning")
def test_raw_columns_are_decided_alike(runtime, kind, tmp_path):
    model = fitted(kind)
    new, _ = table(300, seed=1)
    new.loc[new["town"] == "Rome", "town"] = "Wien"  # not seen in training
    path = model.to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    columns = json.loads(session.get_modelmeta().custom_metadata_map["columns"])
    assert {each["input"] for each in columns} == {i.name for i in session.get_inputs()} - {"key"}
    given = raw(new, {each["column"]: each["type"] for each in columns})
    ids = np.arange(300) * 7
    feed = {each["input"]: given[each["column"]] for each in columns}
    if "key" in {i.name for i in session.get_inputs()}:
        feed["key"] = ids
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, feed), strict=True))
    scores = model.member_scores(new)
    near = 1e-5 * (1 + np.abs(scores[np.abs(scores) < 1e30]).max())
    clear = (np.abs(scores) > near).all(axis=1)
    assert clear.mean() > 0.95
    theirs, ours = (values[clear].clip(-1e30, 1e30) for values in (found["scores"], scores))
    np.testing.assert_allclose(theirs, ours, atol=near)
    decided = np.array(model.classes)[found["decision"]]
    np.testing.assert_array_equal(decided[clear], model.predict(new, key=ids)[clear])
    np.testing.assert_allclose(
        found["decision_probability"][clear], model.decision_proba(new)[clear, 1], atol=1e-6
    )
    np.testing.assert_allclose(found["probability"], model.predict_proba(new)[:, 1], atol=1e-5)


@pytest.mark.filterwarnings("ignore:columns 'rare':UserWarning")
def test_wide_tables_rare_texts_and_names_that_are_taken(runtime, tmp_path):
    """Texts that share a feature are many."""
    random = np.random.default_rng(0)
    columns = {f"c{i}": random.choice([f"v{j}" for j in range(60)], 500) for i in range(4)}
    columns |= {"rare": np.char.add("t", random.integers(0, 120, 500).astype(str))}
    columns |= {"scores": random.normal(size=500), "5": random.normal(size=500)}
    X = pd.DataFrame(columns)
    model = RateConstrainedClassifier("positive_rate() <= 0.3", random_state=0)
    model = make_policy(model.fit(X, X["scores"] + X["5"] > 0))
    encoding = model.encoding
    assert "rare == (other)" in encoding.names
    session = runtime.InferenceSession(model.to_onnx(tmp_path / "wide.onnx"))
    names = [each.name for each in session.get_inputs()]
    assert names[:7] == ["c0", "c1", "c2", "c3", "rare", "column scores", "5"]
    new = X.assign(rare=np.where(X["rare"] < "t3", "never", X["rare"]))
    given = [new[name].to_numpy(float if name in ("5", "scores") else object) for name in X.columns]
    feed = dict(zip(names, [*given, np.arange(500)], strict=False))
    (scores,) = session.run(["scores"], feed)
    np.testing.assert_allclose(scores, model.member_scores(new), atol=1e-5)


def test_arrays_with_gaps(runtime, tmp_path):
    X = np.random.default_rng(1).normal(size=(300, 4)).astype(np.float32)
    X[::7, 1] = np.nan
    model = RateConstrainedClassifier(random_state=0)
    model = make_policy(model.fit(X, np.nan_to_num(X[:, 1]) + X[:, 0] > 0))
    session = runtime.InferenceSession(model.to_onnx(tmp_path / "array.onnx"))
    given = {"features": X, "key": np.arange(300)}
    scores, chances = session.run(["scores", "probability"], given)
    np.testing.assert_allclose(scores, model.member_scores(X), atol=1e-5)
    np.testing.assert_allclose(chances, model.predict_proba(X)[:, 1], atol=1e-6)


@pytest.mark.parametrize("style", ["scaled", "plain", "codes"])
def test_features_are_those_of_the_encoding(runtime, style, tmp_path):
    """Every feature of every kind of column, on rows with gaps and values not seen before."""
    X, _ = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        encoding = fit_encoding(X, features=rb.Features(categorical=["code"]), style=style)
        new, _ = table(300, seed=1)
        new.loc[::5, "town"] = "Wien"
        expected = encoding.transform(new)
    graph = GraphBuilder(frozenset())
    graph.output("features", encoded(graph, encoding, None), "float64", "d")
    (tmp_path / "encoding.onnx").write_bytes(graph.model({}).SerializeToString())
    session = runtime.InferenceSession(tmp_path / "encoding.onnx", providers=["CPUExecutionProvider"])
    kinds = {i.name: "string" if "string" in i.type else "float64" for i in session.get_inputs()}
    (found,) = session.run(None, raw(new, kinds))
    dense = expected.toarray() if hasattr(expected, "toarray") else expected
    np.testing.assert_allclose(found, dense, rtol=1e-6, atol=1e-7)
