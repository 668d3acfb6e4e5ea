"""Columns of every kind and library: what they hold, what is done with them, and what a model sees."""

import datetime as dt
import json
import warnings
from decimal import Decimal

import numpy as np
import pytest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._old.base.dates import date_orders, read_dates
from ratebound._old.tables.columns import check_distinct
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.fitting import fit_encoding
from ratebound._old.tables.kinds import number_of, read_cells, read_durations

from ..extras import pd, pl

NAN = float("nan")
MOMENTS = [dt.datetime(2024, 1, 31, 6), None, dt.datetime(2023, 3, 1, 18, 30), dt.datetime(1969, 12, 31)]
DAYS = [19753.25, NAN, 19417 + 18.5 / 24, -1.0]  # since 1970, counted by hand
WEEKDAYS, MONTHS, HOURS = [2, NAN, 2, 2], [1, NAN, 3, 12], [6, NAN, 18.5, 0]  # Wednesdays all
DATES = [None if moment is None else moment.date() for moment in MOMENTS]
LENGTHS = [dt.timedelta(days=3), None, dt.timedelta(hours=-6), dt.timedelta(minutes=30)]
AHEAD = dt.timezone(dt.timedelta(hours=2))
WHOLE = [1, None, -2, 10**6]
TRUTHS, TEXTS = [True, None, False, True], ["a", None, "b", "a"]


def arrow(values, kind=None):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.array(values, None if kind is None else getattr(pyarrow, kind)())


def zoned(library):
    """06:00 in a zone two hours ahead, as each library has it."""
    if library == "pandas":
        return pd.Series(pd.to_datetime(pd.Series(MOMENTS))).dt.tz_localize("Etc/GMT-2")
    if library == "polars":
        return pl.Series(MOMENTS).dt.replace_time_zone("Etc/GMT-2")
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.array(
        [m and m.replace(tzinfo=AHEAD) for m in MOMENTS], pyarrow.timestamp("us", "Etc/GMT-2")
    )


NUMBERS = {
    "NumPy": lambda: np.array([1, NAN, -2, 10**6]),
    "NumPy objects": lambda: np.array([1, None, -2.0, Decimal(10**6)], dtype=object),
    "pandas float": lambda: pd.Series(WHOLE),
    "pandas Int64": lambda: pd.Series(WHOLE, dtype="Int64"),
    "pandas Float64": lambda: pd.Series(WHOLE, dtype="Float64"),
    "pandas object": lambda: pd.Series(WHOLE, dtype=object),
    "pandas arrow": lambda: pytest.importorskip("pyarrow") and pd.Series(WHOLE, dtype="int64[pyarrow]"),
    "polars": lambda: pl.Series(WHOLE),
    "polars decimal": lambda: pl.Series([None if v is None else Decimal(v) for v in WHOLE]),
    "pyarrow": lambda: arrow(WHOLE),
    "pyarrow decimal": lambda: arrow([None if v is None else Decimal(v) for v in WHOLE]),
}
CATEGORIES = {
    "NumPy": lambda: np.array(TEXTS, dtype=object),
    "pandas object": lambda: pd.Series(TEXTS, dtype=object),
    "pandas str": lambda: pd.Series(TEXTS),
    "pandas string": lambda: pd.Series(TEXTS, dtype="string"),
    "pandas category": lambda: pd.Series(TEXTS, dtype="category"),
    "pandas arrow": lambda: pytest.importorskip("pyarrow") and pd.Series(TEXTS, dtype="string[pyarrow]"),
    "polars": lambda: pl.Series(TEXTS),
    "polars category": lambda: pl.Series(TEXTS, dtype=pl.Categorical),
    "polars enum": lambda: pl.Series(TEXTS, dtype=pl.Enum(["b", "a", "unused"])),
    "pyarrow": lambda: arrow(TEXTS),
    "pyarrow large": lambda: arrow(TEXTS, "large_string"),
    "pyarrow dictionary": lambda: arrow(TEXTS).dictionary_encode(),
}
TRUTH_VALUES = {
    "NumPy objects": lambda: np.array(TRUTHS, dtype=object),
    "pandas boolean": lambda: pd.Series(TRUTHS, dtype="boolean"),
    "pandas object": lambda: pd.Series(TRUTHS),
    "polars": lambda: pl.Series(TRUTHS),
    "pyarrow": lambda: arrow(TRUTHS),
}
MOMENT_COLUMNS = {
    "NumPy": lambda: np.array(MOMENTS, dtype="M8[s]"),
    "NumPy objects": lambda: np.array(MOMENTS, dtype=object),
    "texts": lambda: np.array([m and m.isoformat() for m in MOMENTS], dtype=object),
    "texts with a zone": lambda: np.array([m and f"{m}+00:00" for m in MOMENTS], dtype=object),
    "pandas": lambda: pd.to_datetime(pd.Series(MOMENTS)),
    "pandas arrow": lambda: pd.Series(
        MOMENTS, dtype=pd.ArrowDtype(pytest.importorskip("pyarrow").timestamp("s"))
    ),
    "polars": lambda: pl.Series(MOMENTS),
    "polars milliseconds": lambda: pl.Series(MOMENTS, dtype=pl.Datetime("ms")),
    "pyarrow": lambda: arrow(MOMENTS),
}
DATE_COLUMNS = {
    "NumPy objects": lambda: np.array(DATES, dtype=object),
    "ISO": lambda: np.array([d and str(d) for d in DATES], dtype=object),
    "day first": lambda: np.array([d and f"{d:%d.%m.%Y}" for d in DATES], dtype=object),
    "month first": lambda: np.array([d and f"{d:%m/%d/%Y}" for d in DATES], dtype=object),
    "pandas arrow": lambda: pd.Series(
        DATES, dtype=pd.ArrowDtype(pytest.importorskip("pyarrow").date32())
    ),
    "polars": lambda: pl.Series(DATES),
    "pyarrow": lambda: arrow(DATES),
}
DURATIONS = {
    "NumPy": lambda: np.array(LENGTHS, dtype="m8[s]"),
    "NumPy objects": lambda: np.array(LENGTHS, dtype=object),
    "texts": lambda: np.array(["3 days", None, "-6:00:00", "0:30"], dtype=object),
    "pandas": lambda: pd.Series(LENGTHS),
    "pandas as in a CSV": lambda: pd.Series(pd.Series(LENGTHS).astype("string"), dtype=object),
    "polars": lambda: pl.Series(LENGTHS),
    "pyarrow": lambda: arrow(LENGTHS),
}


class Columns:
    """The least that is a table, with one column of any library."""

    def __init__(self, **values):
        self.values, self.columns = values, list(values)

    def __len__(self):
        return len(next(iter(self.values.values())))

    def __getitem__(self, name):
        return self.values[name]

    def to_numpy(self):
        raise NotImplementedError


def seen(column, warns=None, **options):
    """The encoding of a table with one column, and what a model that takes missing values sees."""
    table = Columns(x=column)
    options = {"style": "codes", "takes_missing": True, **options}
    if warns is None:
        encoding = fit_encoding(table, **options)
    else:
        with pytest.warns(UserWarning, match=warns):
            encoding = fit_encoding(table, **options)
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json(), allow_nan=False)))
    assert again == encoding
    return encoding, again.transform(table)


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(kind):
    encoding, features = seen(NUMBERS[kind]())
    assert (encoding.treatments[0].holds, encoding.treatments[0].missing) == ("numbers", 1)
    np.testing.assert_array_equal(features[:, 0], [1, NAN, -2, 1e6])


@pytest.mark.parametrize("kind", CATEGORIES)
def test_texts(kind):
    encoding, features = seen(CATEGORIES[kind]())
    assert encoding.columns[0].values == ("a", "b")
    assert encoding.treatments[0].distinct == 2
    np.testing.assert_array_equal(features[:, 0], [0, NAN, 1, 0])
    _, flags = seen(CATEGORIES[kind](), style="scaled")
    np.testing.assert_array_equal(flags, [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("kind", TRUTH_VALUES)
def test_truth_values(kind):
    encoding, features = seen(TRUTH_VALUES[kind]())
    assert encoding.columns[0].values == ("False", "True")
    assert encoding.treatments[0].holds == "truth values"
    np.testing.assert_array_equal(features[:, 0], [1, NAN, 0, 1])
    for given in ([1, None, 0, 1], [1.0, NAN, 0.0, 1.0], ["true", None, "FALSE", "1"]):
        again = encoding.transform(Columns(x=np.array(given, dtype=object)))
        np.testing.assert_array_equal(again, features)


@pytest.mark.parametrize("kind", MOMENT_COLUMNS)
def test_moments(kind):
    encoding, features = seen(MOMENT_COLUMNS[kind](), "read from texts" if "text" in kind else None)
    assert encoding.names == ["x", "x: month", "x: hour"]  # all are Wednesdays
    np.testing.assert_allclose(features, np.transpose([DAYS, MONTHS, HOURS]), rtol=1e-12)
    assert encoding.treatments[0].words.endswith("days since 1970, month, hour")


@pytest.mark.parametrize("kind", DATE_COLUMNS)
def test_dates(kind):
    said = {"ISO": "read from texts: ", "day first": "day first: ", "month first": "month first: "}
    encoding, features = seen(DATE_COLUMNS[kind](), said.get(kind))
    assert encoding.names == ["x", "x: month"]
    np.testing.assert_array_equal(features, np.transpose([np.floor(DAYS), MONTHS]))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_moments_with_a_time_zone_are_taken_in_utc(library):
    _, features = seen(zoned(library))
    np.testing.assert_allclose(features[:, 0], np.array(DAYS) - 2 / 24, rtol=1e-12)


def test_periods_are_where_they_begin():
    _, features = seen(pd.Series(pd.PeriodIndex(["2024-02", "NaT", "2024-05"], freq="M")))
    np.testing.assert_array_equal(features[:, 0], [19754, NAN, 19844])


@pytest.mark.parametrize("kind", DURATIONS)
def test_durations(kind):
    texts = "text" in kind or "CSV" in kind
    encoding, features = seen(DURATIONS[kind](), "read as a duration" if texts else None)
    assert encoding.names == ["x"]
    np.testing.assert_allclose(features[:, 0], [3, NAN, -0.25, 0.5 / 24])


def test_times_of_day_are_parts_of_a_day():
    times = [dt.time(6), None, dt.time(18)]
    for column in (np.array(times, object), pl.Series(times), arrow(times)):
        np.testing.assert_array_equal(seen(column)[1][:, 0], [0.25, NAN, 0.75])


def test_dates_agree_with_pandas():
    moments = pd.Series(pd.date_range("1899-12-30 23:59:59.5", "2101-01-01", freq="7919h"))
    values = read_cells(moments).values
    days = (moments - pd.Timestamp(0)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(number_of(values, "days"), days, rtol=1e-12)
    np.testing.assert_array_equal(number_of(values, "month"), moments.dt.month)
    np.testing.assert_array_equal(number_of(values, "weekday"), moments.dt.day_of_week)
    hours = (moments - moments.dt.normalize()) / pd.Timedelta(hours=1)
    np.testing.assert_allclose(number_of(values, "hour"), hours, atol=1e-9)
    texts = moments.dt.strftime("%d/%m/%Y %H:%M:%S.%f").tolist()
    assert date_orders(texts) == ["dmy"]
    np.testing.assert_array_equal(read_dates(texts, "dmy"), values)


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("2024-01-31", "dmy", "2024-01-31"),  # ISO is read in any case
        ("2024/1/5", "ymd", "2024-01-05"),
        ("1/2/2024", "dmy", "2024-02-01"),
        ("1/2/2024", "mdy", "2024-01-02"),
        ("1/2/2024 3:45 PM", "mdy", "2024-01-02T15:45"),
        ("1/2/2024 12:05 am", "mdy", "2024-01-02T00:05"),
        ("2024-01-31T08:30:00.25Z", "ymd", "2024-01-31T08:30:00.25"),
        ("2024-01-31 00:30+0100", "ymd", "2024-01-30T23:30"),
        ("31.12.1969", "dmy", "1969-12-31"),
        ("2024-02-30", "ymd", "NaT"),
        ("2024", "ymd", "NaT"),
        ("today", "ymd", "NaT"),
        ("20240131", "ymd", "NaT"),
        ("31/1/2024", "mdy", "NaT"),
        ("2024-01-31 25:00", "ymd", "NaT"),
        ("", "ymd", "NaT"),
    ],
)
def test_texts_as_dates(text, order, expected):
    np.testing.assert_array_equal(read_dates([text], order), np.array([expected], dtype="M8[us]"))
    np.testing.assert_array_equal(
        read_dates([text, "x"], order), np.array([expected, "NaT"], dtype="M8[us]")
    )


def test_days_and_months_that_cannot_be_told_apart_are_no_dates():
    texts = np.array(["1/2/2024", "3/4/2024", "3/4/2024"] * 5, dtype=object)
    encoding, _ = seen(texts, "day and month are ambiguous.*write 2024-01-31")
    assert encoding.columns[0].values == ("1/2/2024", "3/4/2024")
    assert date_orders(["1.2.2024"]) == ["dmy"]


def test_texts_as_durations():
    found = read_durations(["1:30", "2 days, 3:00:00", "-1 days +18:00:00", "99:00", "1.5", "", "noon"])
    hours = found.astype("m8[s]").astype(float) / 3600
    np.testing.assert_array_equal(hours[:4], [1.5, 51, -6, 99])
    assert np.isnat(found[4:]).all()


# --- what is left out, and what is unusual -------------------------------------------------------

ROWS = 60
LEFT_OUT = {
    "it holds no value": [None] * ROWS,
    "it never varies": ["same"] * ROWS,
    "almost all values differ": [f"name {i}" for i in range(ROWS)],
    "it counts the rows": list(range(7, 7 + ROWS)),
    "it holds lists": [[1]] * ROWS,
}


@pytest.mark.parametrize("why", LEFT_OUT)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_what_is_left_out_is_said(why, library):
    data = {"odd": LEFT_OUT[why], "x": [i % 7 for i in range(ROWS)]}
    with pytest.warns(UserWarning, match=f"^columns 'odd': left out: {why}.*rb.inspect") as told:
        encoding = fit_encoding(frame(library, data))
    assert len(told) == 1
    assert encoding.names == ["x"]
    assert encoding.transform(frame(library, {"x": [1, 2]})).shape == (2, 1)
    if why not in ("it holds no value", "it holds lists"):
        assert "odd" in {column.name for column in kept(frame(library, data)).columns}


def kept(table):
    """The encoding where the column is asked for, which may be unusual still."""
    return fit_encoding(table, features=["odd"])


def frame(library, data):
    if library == "pandas":
        return pd.DataFrame(data)
    if library == "polars":
        return pl.DataFrame(data)
    return pytest.importorskip("pyarrow").table(data)


@pytest.mark.parametrize(
    "name", ["id", "ID", "customer_id", "customerId", "row index", "Unnamed: 0", "uuid"]
)
def test_whole_numbers_that_differ_and_are_called_ids(name):
    table = pd.DataFrame({name: [17, 4, 9001], "x": [1.0, 2.0, 1.0]})
    with pytest.warns(UserWarning, match="left out: an id"):
        assert fit_encoding(table).names == ["x"]
    assert fit_encoding(table[[name]].iloc[[0, 0, 1]]).names == [name]  # it does not differ in every row
    assert fit_encoding(table, features=[name]).names == [name]


@pytest.mark.parametrize("name", ["paid", "humid", "Android", "x"])
def test_whole_numbers_that_are_no_ids(name):
    assert fit_encoding(pd.DataFrame({name: [17, 4, 9001]})).names == [name]


def test_ids_are_ids_in_a_part_of_the_rows():
    numbers = np.random.default_rng(0).permutation(2000)[:700]
    with pytest.warns(UserWarning, match="counts the rows"):
        assert fit_encoding(pd.DataFrame({"n": numbers, "x": numbers % 2})).names == ["x"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("weight", "give it as the weights"), ("fnlwgt", "give it as the weights"),
        ("sample_weight", "give it as the weights"), ("PERWT", "give it as the weights"),
        ("zip", "among the categorical columns"), ("zip_code", "among the categorical columns"),
        ("postcode", "among the categorical columns"), ("occupation", "among the categorical columns"),
        ("age", None), ("overweight", None), ("codeine", None), ("growth", None), ("basic", None),
    ],
)  # fmt: skip
def test_names_of_codes_and_weights_are_pointed_out(name, said):
    table = pd.DataFrame({name: np.arange(60) % 7 * 11, "x": np.arange(60) / 7})
    words = rb.inspect(table).treatments[0].words
    assert words.startswith("a number")
    assert (said is None and words == "a number") or said in words
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_encoding(table)
        fit_encoding(table, features=[name, "x"])  # who names it means it
        fit_encoding(table, features=rb.Features(categorical=[name]))
    assert len(caught) == (said is not None)


def test_numbers_in_texts_are_numbers_where_they_are_many():
    texts = [f"{i / 7:.3f}" for i in range(300)]
    _, features = seen(np.array(texts, object), "'x': read from texts: a number")
    np.testing.assert_allclose(features[:, 0], np.array(texts, float))
    few, _ = seen(np.array(texts[:15] * 9, object))
    assert len(few.columns[0].values) == 15
    postcodes = np.array([f"{i:05}" for i in range(150)] * 2, object)
    assert seen(postcodes, "the 100 most frequent")[0].columns[0].values[0] == "00000"


def test_whole_numbers_too_large_for_any_float_are_infinite():
    assert read_cells(np.array([10**400, 1], dtype=object)).values.tolist() == [float("inf"), 1.0]


def test_mixed_kinds_are_texts():
    mixed = np.array([1, "1", 2.0, True, "x", None, dt.date(2024, 1, 1)], dtype=object)
    encoding, features = seen(mixed, "'x': mixed kinds, read as texts: categories")
    assert encoding.columns[0].values == ("1", "2", "2024-01-01", "True", "x")
    np.testing.assert_array_equal(features[:, 0], [0, 0, 1, 3, 4, NAN, 2])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_numbers_declared_as_categories_are_categories(library):
    table = frame(library, {"code": [3, 1, 3, None], "x": [1.0, 2.0, 3.0, 4.0]})
    encoding = fit_encoding(table, features=rb.Features(categorical=["code"]))
    assert encoding.names == ["code == 1", "code == 3", "code == (missing)", "x"]
    np.testing.assert_array_equal(
        encoding.transform(table)[:, :3], [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    )
    spelled = frame(library, {"code": ["3", "1", "3", None], "x": ["1", "2.0", "3e0", " 4"]})
    np.testing.assert_array_equal(encoding.transform(spelled), encoding.transform(table))


def test_a_category_of_numbers_is_one():
    table = pd.DataFrame({"code": pd.Categorical([3.0, 1.5, 3.0], [1.5, 2.0, 3.0])})
    assert fit_encoding(table).names == ["code == 1.5", "code == 3"]


def test_categories_that_are_written_alike_are_one():
    table = pd.DataFrame({"code": pd.Categorical([1, "1", "x", 1], [1, "1", "x"])})
    encoding = fit_encoding(table)
    assert encoding.names == ["code == 1", "code == x"]
    np.testing.assert_array_equal(encoding.transform(table), [[1, 0], [1, 0], [0, 1], [1, 0]])


def test_values_of_any_other_type_are_what_they_are_written_as():
    intervals = pd.cut(pd.Series([1, 5, 9, 5]), [0, 4, 8, 12])
    assert fit_encoding(pd.DataFrame({"x": intervals.astype(object)})).names == [
        "x == (0, 4]", "x == (4, 8]", "x == (8, 12]",
    ]  # fmt: skip


def test_columns_may_be_called_as_the_parts_of_others_are():
    table = {
        "x": np.array(MOMENTS, "M8[s]"),
        "x: month": [1, 2, 3, 4],
        "t == a": [1, 2, 3, 5],
        "t": list("abab"),
    }
    encoding = fit_encoding(pd.DataFrame(table))
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    assert again == encoding
    twice = [encoding.columns[0], *encoding.columns]
    with pytest.raises(ValueError, match="the column 'x' twice"):
        check_distinct(twice)
    with pytest.raises(ValueError, match="the column 'x' twice"):
        check_distinct([*encoding.columns, encoding.columns[1]])


def test_two_columns_of_one_name_are_refused():
    table = pd.DataFrame([[1, 2, 3]] * 3, columns=["a", "b", "a"])
    for use in (fit_encoding, rb.inspect, lambda X: RateConstrainedClassifier().fit(X, [0, 1, 0])):
        with pytest.raises(ValueError, match="'a'"):
            use(table)


def test_one_notice_for_two_hundred_columns_is_short():
    table = pd.DataFrame({f"empty{i}": [None] * 40 for i in range(200)} | {"x": range(0, 80, 2)})
    with pytest.warns(UserWarning, match="'empty4' and 195 more") as told:
        fit_encoding(table)
    assert len(told) == 1
    assert len(str(told[0].message)) < 250
