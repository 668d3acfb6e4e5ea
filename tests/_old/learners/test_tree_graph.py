"""Boosted trees written to ONNX have the scores of their library to the last bit, at every tree."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.solution.mixture import mixture
from ratebound._old.solution.onnx import to_onnx
from ratebound._old.tables.fitting import fit_encoding

from ..extras import pd

ROWS = 600
random = np.random.default_rng(0)
TOWNS = np.array([f"town {i}" for i in range(40)])
WORTH = random.normal(size=40)


def table(rows, seed):
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 40, rows)
    found = pd.DataFrame(
        {
            "income": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows).round(1)),
            "age": rng.integers(18, 80, rows).astype(float),
            "town": np.where(rng.random(rows) < 0.1, None, TOWNS[place]),
        }
    )
    signal = WORTH[place] + found["income"].fillna(0.5) + (found["age"] > 50)
    return found, (signal + rng.normal(size=rows) > 0).to_numpy()


def inputs(given):
    return {
        "income": given["income"].to_numpy(),
        "age": given["age"].to_numpy(),
        "town": given["town"].fillna("").to_numpy(object),
    }


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("onnx", reason="pip install 'ratebound[onnx]' to test the export")
    runtime = pytest.importorskip("onnxruntime", reason="pip install 'ratebound[onnx]' to run exports")

    def run(model, given, **chooser):
        path = to_onnx(model, tmp_path / "trees.onnx")
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        found = session.run(None, {**given, **chooser})
        return dict(zip([each.name for each in session.get_outputs()], found, strict=True))

    return run


def booster(name, **options):
    library = pytest.importorskip(name)
    kind = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[name]
    quiet = {"lightgbm": {"verbosity": -1, "min_child_samples": 5}, "xgboost": {}}[name]
    return getattr(library, kind)(n_estimators=12, n_jobs=1, **quiet, **options)


@pytest.mark.parametrize("solution", ["shrink", "average"])
@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_tables_with_categories_and_gaps(run, name, solution):
    X, y = table(ROWS, seed=1)
    encoding = fit_encoding(X, style="codes")
    codes = [i for i, column in enumerate(encoding.columns) if type(column).__name__ == "Code"]
    people = rb.Population(encoding.transform(X), y)
    compiled = rb.compile(rb.Problem("error_rate()", ["positive_rate() <= 0.3"]), people)
    trace = rb.play(compiled, rb.Boosted(booster(name), categorical=codes))
    model = replace(getattr(rb, solution)(trace), encoding=encoding)
    new, _ = table(ROWS, seed=2)
    new.loc[::7, "town"] = "elsewhere"
    new.loc[::11, "age"] = np.nan  # none were missing in training
    ids = np.arange(ROWS)
    found = run(model, inputs(new), key=ids)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what was not seen in training
        scores = model.member_scores(new)
        decided = model.predict(new, key=ids)
    np.testing.assert_array_equal(found["scores"], scores.astype(np.float32))
    np.testing.assert_array_equal(found["decision"] == 1, decided)
    assert any(len(each.codes) for each in model.scorer.ensembles)
    assert solution == "shrink" or len(model) > 1


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_arrays_and_ensembles_side_by_side(run, name):
    X = np.random.default_rng(3).normal(size=(ROWS, 4)).round(2)
    X[::9, 0] = np.nan
    y = np.nan_to_num(X[:, 0]) + X[:, 1] > 0.3
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.recall() >= 0.9]), rb.Population(X, y))
    trace = rb.play(compiled, rb.Boosted(booster(name)), player=rb.SwapRegret([0.1, 1.0]))
    mixed = mixture(trace, np.ones(len(trace)))
    assert len(mixed.scorer.ensembles) == 2
    found = run(mixed, {"features": X}, key=np.arange(ROWS))
    np.testing.assert_array_equal(found["scores"], mixed.member_scores(X).astype(np.float32))
    np.testing.assert_array_equal(found["decision"] == 1, mixed.predict(X, key=np.arange(ROWS)))


def test_zeros_taken_for_missing(run):
    X = np.random.default_rng(3).integers(0, 4, size=(ROWS, 2)).astype(float)
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(X, X[:, 0] > X[:, 1]))
    learner = rb.Boosted(booster("lightgbm", zero_as_missing=True))
    model = rb.last_iterate(rb.play(compiled, learner))
    found = run(model, {"features": X}, key=np.arange(ROWS))
    expected = model.member_scores(X)
    np.testing.assert_array_equal(found["scores"], expected.astype(np.float32))
    assert len(np.unique(expected)) > 2
