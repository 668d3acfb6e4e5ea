"""Pipelines of scikit-learn, saved from Python and used from the command line."""

import csv
import io

import pytest

import ratebound as rb
from ratebound.tables.table import read_table

from ..extras import pd


@pytest.fixture
def pipeline(people, tmp_path):
    """A fitted pipeline, saved in a folder."""
    pytest.importorskip("skops")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = read_table(people)
    frame = pd.DataFrame({name: table[name] for name in ("age", "hours")})
    model = rb.RateConstrainedClassifier(model=make_pipeline(StandardScaler(), LogisticRegression()))
    model.fit(frame, table["income"]).save(tmp_path / "model")
    return model


def test_pipelines_read_tables(run, pipeline, new_people, tmp_path):
    answer = run("predict", tmp_path / "model", new_people, "--key", "id")
    assert answer.status == 0
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    table = read_table(new_people)
    frame = pd.DataFrame({name: table[name] for name in ("age", "hours")})
    ids = table["id"].tolist()
    assert [row["prediction"] for row in rows] == pipeline.predict(frame, key=ids).tolist()
    assert run("audit", tmp_path / "model", new_people, "--label", "income").status == 0


def test_types_are_trusted_by_name(run, pipeline, new_people, tmp_path, monkeypatch):
    """The names on the command line are those that loading is told."""
    from ratebound.commands import saved

    told = []

    def load(path, *, trusted):
        told.append(trusted)
        return rb.load(path)

    monkeypatch.setattr(saved, "load", load)
    run("predict", tmp_path / "model", new_people, "--trusted", "mine.Scaler", "mine.Model")
    assert told == [("mine.Scaler", "mine.Model")]
