"""The same ugly frame in pandas, polars and PyArrow: the same features, notices and decisions."""

import warnings
from datetime import date, datetime, timedelta

import numpy as np
import pytest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier

from ..extras import pa, pd, pl

ROWS = 120
COLUMNS = {
    "numbers with gaps": lambda i: None if i % 7 == 0 else i * i % 53,
    "fractions with gaps": lambda i: None if i % 5 == 0 else (i * 37 % 101) / 7,
    "texts with gaps": lambda i: None if i % 7 == 0 else ["Paris", "Köln", "Oslo"][i % 3],
    "truth values": lambda i: i % 3 == 0,
    "truth values with gaps": lambda i: None if i % 11 == 0 else i % 3 == 0,
    "dates": lambda i: date(2020, 1, 1) + timedelta(days=11 * i % 900),
    "moments with gaps": lambda i: None if i % 9 == 0 else datetime(2020, 1, 1) + timedelta(hours=5 * i),
    "durations": lambda i: timedelta(minutes=7 * i % 400),
    "dates in texts": lambda i: (date(2020, 1, 1) + timedelta(days=11 * i % 900)).isoformat(),
    "nothing": lambda i: None,
    "always the same": lambda i: "same",
    "ids": lambda i: f"{i * 2654435761 % 2**32:08x}",
    "row_id": lambda i: 1000 + i,
    "many texts": lambda i: f"k{i * i % 113 if i % 3 else 0}",
    "numbers in texts": lambda i: f"{i * 37 % 113}.5",
}


def decided(frame, y):
    """The decisions of a model trained on the frame, its features, and what was noted."""
    model = RateConstrainedClassifier("positive_rate() <= 0.9", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(frame, y)
    noted = [str(warning.message) for warning in caught]
    assert len(noted) <= 1
    return model.predict(frame).tolist(), model.encoding_.names, noted


@pytest.mark.parametrize("name", COLUMNS)
def test_the_library_of_a_frame_does_not_matter(name):
    arrow = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    age = rng.integers(18, 70, ROWS)
    y = age + rng.normal(0, 10, ROWS) > 44
    columns = {"age": age.tolist(), name: [COLUMNS[name](i) for i in range(ROWS)]}
    by_pandas = decided(pd.DataFrame(columns), y)
    assert decided(pl.DataFrame(columns), y) == by_pandas
    assert decided(arrow.table(columns), y) == by_pandas
    left_out = name in ("nothing", "always the same", "ids", "row_id")
    assert (by_pandas[1] == ["age"]) == left_out
    assert bool(by_pandas[2]) or not left_out  # nothing is dropped in silence


# --- not a table ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": [1.0, 2.0]}, r"a dictionary is not a table: pass pandas.DataFrame\(X\), or, for one row"),
        ({"x": 1.0}, r"pandas.DataFrame\(\[X\]\)"),
        ([{"x": 1.0}, {"x": 2.0}], r"a list of dictionaries is not a table: pass pandas.DataFrame\(X\)"),
    ],
)
def test_dictionaries_are_not_trained_on(given, message):
    """A model decides rows given as dictionaries; a table to train on is not one."""
    with pytest.raises(TypeError, match=message):
        rb.inspect(given)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_without_rows(library):
    frame = {"pandas": lambda d: pd.DataFrame(d), "polars": lambda d: pl.DataFrame(d),
             "pyarrow": lambda d: pa.table(d)}[library]  # fmt: skip
    empty = frame({"x": np.empty(0)})
    model = RateConstrainedClassifier(confidence=None)
    model.fit(frame({"x": [1.0, 2.0, 3.0, 4.0]}), [0, 0, 1, 1])
    assert model.predict(empty).shape == (0,)
    if library == "pandas":
        with pytest.raises(ValueError, match="needs two classes or more"):
            RateConstrainedClassifier().fit(frame({}), [])
