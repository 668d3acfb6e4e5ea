"""Pipelines of scikit-learn, saved from Python and used from the command line."""

import csv
import io

import numpy as np
import pytest

import ratebound as rb
from ratebound._old.tables.table import read_table

from ..extras import pd


@pytest.fixture
def pipeline(people, tmp_path):
    """A fitted pipeline, saved in a folder."""
    pytest.importorskip("skops")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    table = read_table(people)[np.arange(200)]
    frame = pd.DataFrame({name: table[name] for name in ("age", "hours")})
    steps = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0))
    model = rb.RateConstrainedClassifier(model=steps, random_state=0)
    model.fit(frame, table["income"]).save(tmp_path / "model")
    return model


def test_pipelines_read_tables_once_their_types_are_trusted(
    run, refused, pipeline, new_people, tmp_path
):
    ask = ["predict", tmp_path / "model", new_people, "--key", "id"]
    line = refused(*ask)
    assert "types that are not trusted, sklearn.tree._tree.Tree" in line
    trusted = line.split("on the command line with ")[1].split()
    assert trusted == ["--trusted", "sklearn.tree._tree.Tree"]
    answer = run(*ask, *trusted)
    assert answer.status == 0
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    table = read_table(new_people)
    frame = pd.DataFrame({name: table[name] for name in ("age", "hours")})
    assert [row["prediction"] for row in rows] == pipeline.predict(frame).tolist()
    labels = ["--label", "income"]
    assert run("audit", tmp_path / "model", new_people, *labels, *trusted).status == 0
