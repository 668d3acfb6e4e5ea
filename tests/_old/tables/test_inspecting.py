"""Looking at a table before training: the plan that fitting follows, as text, data and a page."""

import json

import numpy as np
import pytest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.fitting import fit_encoding

from ..extras import pd, pl

ROWS = 60
PEOPLE = {
    "id": list(range(1, ROWS + 1)),
    "age": [20 + i % 31 for i in range(ROWS)],
    "joined": [f"{1 + i % 28:02}.{1 + i % 12:02}.2024" for i in range(ROWS)],
    "town": [["Oslo", "Rome", None][i % 3] for i in range(ROWS)],
    "note": [f"<b>{i}</b>" for i in range(ROWS)],
    "income": [["low", "high"][i % 2] for i in range(ROWS)],
}
ACTIONS = ["left out", "number", "date", "category", "left out"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "a file"])
def test_fitting_does_what_inspecting_shows(library, tmp_path):
    if library == "a file":
        table = tmp_path / "people.csv"
        pd.DataFrame(PEOPLE).to_csv(table, index=False)
    else:
        table = {
            "pandas": lambda: pd.DataFrame(PEOPLE),
            "polars": lambda: pl.DataFrame(PEOPLE),
            "pyarrow": lambda: pytest.importorskip("pyarrow").table(PEOPLE),
        }[library]()
    shown = rb.inspect(table, label="income")
    assert [each.action for each in shown.treatments] == [*ACTIONS, "left out"]
    assert shown.treatments[-1].words == "the label"
    assert shown.examples[3] == ("Oslo", "Rome")
    assert shown.rows == ROWS
    frame = pd.DataFrame(PEOPLE)
    with pytest.warns(UserWarning, match="'id': left out"):
        encoding = fit_encoding(frame, features=rb.Features(exclude=["income"]))
    assert encoding.treatments == shown.treatments[:-1]
    assert {column.name for column in encoding.columns} == {"age", "joined", "town"}


def test_printed_as_data_and_as_a_page(tmp_path):
    shown = rb.inspect(pd.DataFrame(PEOPLE), label="income")
    lines = str(shown).splitlines()
    assert lines[0] == "the table: 60 rows"
    assert lines[2].split() == [
        "Column",
        "Holds",
        "Missing",
        "Distinct",
        "Examples",
        "What",
        "is",
        "done",
    ]
    assert len(lines) == 4 + len(PEOPLE)
    assert repr(shown) == "Inspection(60 rows, 6 columns)"
    data = json.loads(json.dumps(shown.to_dict(), allow_nan=False))
    assert data["columns"][3] == {
        "name": "town", "holds": "texts", "missing": 20, "distinct": 2, "action": "category",
        "words": "categories", "unusual": False, "examples": ["Oslo", "Rome"],
    }  # fmt: skip
    shown.save_html(tmp_path / "columns.html")
    page = (tmp_path / "columns.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "&lt;b&gt;0&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "left out: almost all values differ" in shown._repr_html_()


def test_features_are_chosen_as_for_training():
    table = pd.DataFrame(PEOPLE)
    chosen = rb.Features(only=["id", "town"], categorical=["id"])
    actions = {each.name: each.action for each in rb.inspect(table, chosen).treatments}
    assert actions == dict.fromkeys(PEOPLE, "left out") | {"id": "category", "town": "category"}
    assert rb.inspect(table, ["age"]).treatments[0].words == "left out: not among the features"
    with pytest.raises(ValueError, match="there is no label column 'incme'; the columns are id, age"):
        rb.inspect(table, label="incme")
    with pytest.raises(ValueError, match="features: there is no column 'agee'"):
        rb.inspect(table, ["agee"])
    with pytest.raises(TypeError, match=r"features takes a list of columns.*rb.Features"):
        rb.inspect(table, "age")
    with pytest.raises(TypeError, match="exclude takes a list of columns"):
        rb.Features(exclude="age")
    with pytest.raises(ValueError, match="'age' is both in only= and in exclude="):
        rb.inspect(table, rb.Features(only=["age"], exclude=["age"]))


def test_an_array_is_used_as_it_is():
    shown = rb.inspect(np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 1.0]]))
    assert [(each.name, each.action, each.missing) for each in shown.treatments] == [
        (0, "number", 0), (1, "number", 0), (2, "number", 1),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="a table, a file or rows of features"):
        rb.inspect(np.ones(3))


def test_infinite_values_are_shown_and_not_raised():
    table = pd.DataFrame({"x": [1.0, np.inf], "huge": [1e301, 1.0]})
    shown = rb.inspect(table)
    assert [each.action for each in shown.treatments] == ["refused", "refused"]
    with pytest.raises(ValueError, match=r"columns 'x', 'huge' hold infinite .*exclude=\['x', 'huge'\]"):
        fit_encoding(table)


@pytest.fixture(scope="module")
def model():
    fitted = RateConstrainedClassifier(features=rb.Features(exclude=["income"]))
    with pytest.warns(UserWarning, match="'id': left out"):
        return make_policy(fitted.fit(pd.DataFrame(PEOPLE), PEOPLE["income"]))


def test_a_saved_model_and_its_report_know_what_was_done(model, tmp_path):
    loaded = rb.load(model.save(tmp_path))
    assert loaded.encoding == model.encoding
    treatments = loaded.encoding.treatments
    assert [each.action for each in treatments] == ACTIONS
    page = model.audit(pd.DataFrame(PEOPLE), PEOPLE["income"]).render("html")
    assert "What the model sees" in page
    assert "read from texts, day first: days since 1970, month, weekday" in page


def test_estimator_and_loaded_model_find_columns_by_name(model, tmp_path):
    loaded = rb.load(model.save(tmp_path))
    table = pd.DataFrame(PEOPLE)
    expected = model.decision_function(table)
    moved = table.assign(extra=1)[["extra", "town", "joined", "age"]]
    for each in (model, loaded):
        np.testing.assert_array_equal(each.decision_function(moved), expected)
        np.testing.assert_array_equal(each.decision_function(pl.DataFrame(PEOPLE)), expected)
        with pytest.raises(ValueError, match="the table has no columns 'age', 'joined', which"):
            each.predict(table[["id", "town"]])
        with pytest.warns(UserWarning, match=r"of 60 rows: 'town' in 60 \('Bonn'\)"):
            each.predict(table.assign(town="Bonn"))


@pytest.mark.parametrize(
    "changed",
    [
        {"action": "run"}, {"missing": -1}, {"missing": 1.5}, {"distinct": True}, {"words": None},
        {"unusual": "no"}, {"holds": 3}, {"name": {"a": 1}}, {"more": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_was_done_is_checked_when_it_is_read(model, changed):
    data = model.encoding.to_json()
    data["treatments"][0] |= changed
    with pytest.raises((ValueError, TypeError)):
        Encoding.from_json(data)


@pytest.mark.parametrize(
    "changed",
    [
        {"read_as": "year"}, {"dates": "ydm"}, {"scale": 0}, {"center": None}, {"gaps": 1},
        {"read_as": "month"}, {"name": "age"},
    ],
    ids=str,
)  # fmt: skip
def test_columns_are_checked_when_they_are_read(model, changed):
    data = model.encoding.to_json()
    days = next(column for column in data["columns"] if column.get("read_as") == "days")
    days |= changed
    with pytest.raises((ValueError, TypeError)):
        Encoding.from_json(data)


def test_a_population_shows_what_a_model_and_constraints_see(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    seen, label = ["id", "age", "joined"], [text == "high" for text in PEOPLE["income"]]
    parquet.write_table(arrow.table(PEOPLE), tmp_path / "people.parquet")
    how = {"label": "income", "positive": "high", "weight": "age"}
    on_disk = rb.Parquet(tmp_path / "people.parquet", features=["id", "joined"], columns=["town"], **how)
    words = {each.name: each.words for each in rb.inspect(on_disk).treatments}
    assert list(words) == ["id", "joined", "town"]
    assert words["id"] == "left out: an id, a different number in every row"
    assert words["town"] == "left out: not among the features"
    assert str(rb.inspect(on_disk, label="income")) == str(rb.inspect(on_disk))
    frame = pd.DataFrame(PEOPLE)
    people = rb.Population(frame[seen], label, {"town": frame["town"]})
    shown, alone = rb.inspect(people), rb.inspect(frame[seen])
    assert shown.treatments[:3] == alone.treatments
    assert [(each.name, each.action) for each in shown.treatments[3:]] == [("town", "left out")]
    array = rb.inspect(rb.Population(np.arange(6.0).reshape(3, 2), [0, 1, 1]))
    assert [each.name for each in array.treatments] == [0, 1]
    only_columns = rb.Population(None, label, {"town": frame["town"]})
    assert [each.action for each in rb.inspect(only_columns).treatments] == ["left out"]


def test_times_of_day_are_durations_and_no_texts(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    times = arrow.array(range(ROWS), arrow.time32("s"))
    parquet.write_table(arrow.table({"at": times}), tmp_path / "times.parquet")
    for given in (tmp_path / "times.parquet", rb.Parquet(tmp_path / "times.parquet")):
        (shown,) = rb.inspect(given).treatments
        assert shown.words == "read as a duration: its days"
