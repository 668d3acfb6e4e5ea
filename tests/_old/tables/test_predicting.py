"""Tables at predict time: found by name, read as in training, and everything else told once."""

import datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._old.tables.fitting import fit_encoding

from ..extras import pd, pl

NAN = float("nan")
TRAINED = {
    "age": [20.0, 40.0, 30.0, 70.0],
    "town": ["Rome", "Oslo", "Rome", "Bonn"],
    "born": ["31.1.2004", "1.12.1984", "5.5.1994", "5.6.1954"],
}
FRAMES = {
    "pandas": lambda data: pd.DataFrame(data),
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": lambda data: pytest.importorskip("pyarrow").table(data),
}
frames = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


def fitted(frame, style="plain"):
    with pytest.warns(UserWarning, match="'born': read from texts, day first"):
        return fit_encoding(frame(TRAINED), style=style, takes_missing=True)


@frames
def test_numbers_and_dates_may_be_spelled_otherwise(frame):
    encoding = fitted(frame)
    expected = encoding.transform(frame(TRAINED))
    respelled = {
        "age": ["20", "40.0", "3e1", " 70"],
        "born": ["2004-01-31", "1984-12-01 00:00", "05.05.1994", "5.6.1954"],
    }
    np.testing.assert_array_equal(encoding.transform(frame(TRAINED | respelled)), expected)


@frames
def test_amounts_are_numbers(frame):
    prices = [f"${1000 * i:,}.50" for i in range(4)]
    with pytest.warns(UserWarning, match="'price': read from texts: a number"):
        encoding = fit_encoding(frame({"price": prices, "x": [1.0, 2.0, 4.0, 3.0]}), style="codes")
    found = encoding.transform(frame({"price": ["$2,000", "-$7"], "x": [1.0, 2.0]}))
    assert found[:, 0].tolist() == [2000, -7]
    assert encoding.transform(frame({"price": [12.5], "x": [1.0]}))[0, 0] == 12.5


@frames
def test_european_amounts_are_numbers_alone_and_beside_others(frame):
    table = {"price": ["7.844,59", "500,00", "1.234.567,80", "12,50"], "x": [1.0, 2.0, 4.0, 3.0]}
    with pytest.warns(UserWarning, match="'price': read from texts: a number"):
        encoding = fit_encoding(frame(table), style="codes")
    expected = [7844.59, 500, 1234567.8, 12.5]
    assert encoding.transform(frame(table))[:, 0].tolist() == expected
    for row, value in enumerate(expected):
        own = {name: cells[row : row + 1] for name, cells in table.items()}
        assert encoding.transform(frame(own))[0, 0] == value
    mixed = {"price": ["7.844,59", "1.234", "500,00", "12,50"], "x": table["x"]}
    assert rb.inspect(frame(mixed)).treatments[0].action == "category"


@frames
def test_all_that_training_has_not_seen_is_told_in_one_warning(frame):
    encoding = fitted(frame)
    odd = {
        "age": ["20", "old", None, "30"],
        "town": ["Rome", "Paris", "Lyon", "Paris"],
        "born": ["31.1.2004", "12/31/1984", "soon", None],
    }
    with pytest.warns(UserWarning) as told:  # noqa: PT030  # the whole text is compared
        features = encoding.transform(frame(odd))
    assert [str(one.message) for one in told] == [
        "values are missing that were never missing in training, of 4 rows: 'age' in 1, 'born' in 1; "
        "each is treated as an average or unknown value. values are unlike any in training, of 4 rows: "
        "'age' in 1 ('old'), 'town' in 3 ('Paris'), 'born' in 2 ('12/31/1984'); each is treated as "
        "unknown or missing"
    ]
    np.testing.assert_array_equal(features[:, 0], [20, NAN, NAN, 30])
    np.testing.assert_array_equal(features[:, 1:4], [[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(np.isnan(features[:, 4]), [False, True, True, True])


@frames
@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("town", [3, 4], "column 'town' holds numbers such as '3', but in training it held texts"),
        (
            "born",
            [2004.0, 1984.0],
            "column 'born' holds numbers such as '2004', but in training it held dates",
        ),
        ("age", [[1], [2]], "column 'age' holds lists"),
    ],
)
def test_a_column_of_another_type_is_an_error(frame, column, values, message):
    rows = {name: cells[:2] for name, cells in TRAINED.items()} | {column: values}
    with pytest.raises(ValueError, match=message):
        fitted(frame).transform(frame(rows))


ALONE = [
    {"age": 20.0, "town": "Rome", "born": "1.1.2000"},
    {"age": "old", "town": "Rome", "born": "1.1.2000"},
    {"age": 30.0, "town": "1", "born": "1.1.2000"},
    {"age": "31", "town": 1, "born": "soon"},
    {"age": True, "town": " Rome ", "born": 2004},
    {"age": "True", "town": True, "born": datetime.date(2000, 1, 1)},
    {"age": Decimal("30.5"), "town": "7.50", "born": "2000-01-01 "},
    {"age": np.float32(0.1), "town": 0.5, "born": None},
    {"age": datetime.date(2000, 1, 1), "town": datetime.date(2000, 1, 1), "born": "12/31/1984"},
    {"age": None, "town": "", "born": "1.1.2000"},
]


@pytest.mark.filterwarnings("ignore:values are:UserWarning")
@pytest.mark.parametrize("style", ["scaled", "plain", "codes"])
def test_a_row_is_read_alike_alone_and_beside_others(style):
    encoding = fitted(FRAMES["pandas"], style)
    whole = pd.DataFrame(ALONE).astype(object)
    expected = encoding.transform(whole)
    for row in range(len(whole)):
        np.testing.assert_array_equal(encoding.transform(whole.iloc[[row]]), expected[[row]])
        pair = encoding.transform(whole.iloc[[row, 0]])
        np.testing.assert_array_equal(pair, expected[[row, 0]])


@frames
@pytest.mark.filterwarnings("ignore:values are:UserWarning")
def test_texts_of_which_none_can_be_read_are_read_as_they_are_beside_others(frame):
    encoding = fitted(frame)
    odd = {"age": ["old", "20"], "town": ["1", "Rome"], "born": ["soon", "1.1.2000"]}
    both = encoding.transform(frame(odd))
    alone = encoding.transform(frame({name: cells[:1] for name, cells in odd.items()}))
    np.testing.assert_array_equal(alone, both[:1])


@frames
@pytest.mark.parametrize("style", ["scaled", "plain", "codes"])
def test_blanks_around_categories_do_not_count(frame, style):
    bare = {"x": [1.0, 2.0, 4.0, 3.0], "town": ["Rome", "Oslo", None, "Rome"]}
    blank = bare | {"town": [" Rome", "Oslo \t", "  ", "Rome"]}
    encodings = [fit_encoding(frame(table), style=style) for table in (bare, blank)]
    assert encodings[0].columns == encodings[1].columns
    expected = encodings[0].transform(frame(bare))
    for encoding in encodings:
        np.testing.assert_array_equal(encoding.transform(frame(blank)), expected)
        for row in range(4):
            own = {name: cells[row : row + 1] for name, cells in blank.items()}
            np.testing.assert_array_equal(encoding.transform(frame(own)), expected[[row]])


def test_a_column_that_is_empty_may_be_of_any_kind():
    encoding = fitted(FRAMES["pandas"])
    for empty in (
        [None, None],
        [NAN, NAN],
        pd.to_datetime([None, None]),
        pd.Series([None] * 2, dtype="Int64"),
    ):
        rows = pd.DataFrame({"age": [1.0, 2.0], "town": empty, "born": empty})
        with pytest.warns(UserWarning, match="of 2 rows: 'town' in 2, 'born' in 2;"):
            features = encoding.transform(rows)
        np.testing.assert_array_equal(features[:, :4], [[1, 0, 0, 0], [2, 0, 0, 0]])
        assert np.isnan(features[:, 4:]).all()


def test_whole_numbers_are_the_same_categories_as_floats_and_texts():
    table = pd.DataFrame({"code": [1, 2, 3, 1]})
    encoding = fit_encoding(table, features=rb.Features(categorical=["code"]))
    expected = encoding.transform(table)
    for kind in ("float64", "Int64", object, "category", "string"):
        np.testing.assert_array_equal(encoding.transform(table.astype(kind)), expected)


def test_numbers_that_were_trained_on_as_texts_are_found_in_any_spelling():
    texts = pd.DataFrame({"code": ["1.0", "2.50", "007", "1.0"]})
    encoding = fit_encoding(texts, style="codes")
    assert encoding.columns[0].values == ("007", "1.0", "2.50")
    for codes in ([1, 2.5, "007"], ["1", "2.5", "007"], ["1.00", "+2.5", "007"]):
        found = encoding.transform(pd.DataFrame({"code": np.array(codes, dtype=object)}))
        assert found[:, 0].tolist() == [1, 2, 0]
    with pytest.warns(UserWarning, match="'code' in 1 .'7'."):
        assert np.isnan(encoding.transform(pd.DataFrame({"code": ["7", "1"]}))[0, 0])


def test_features_are_parameters_that_scikit_learn_clones_and_sets():
    model = RateConstrainedClassifier(features=rb.Features(exclude=["a"], categorical=["b"]))
    assert clone(model).features == model.features
    again = clone(model).set_params(features__exclude=["c"])
    assert (again.features, model.features.exclude) == (rb.Features(None, ["c"], ["b"]), ["a"])


# --- any table -----------------------------------------------------------------------------------

CELLS = [
    st.floats(-1e9, 1e9) | st.just(NAN),
    st.integers(-(10**6), 10**6) | st.none(),
    st.sampled_from(["a", "b", "3", "", "(missing)", "(other)", "ü"]) | st.none(),
    st.booleans() | st.none(),
    st.datetimes() | st.none(),
    st.timedeltas() | st.none(),
    st.sampled_from(["1.2.2024", "13.2.2024", "2024-01-01"]) | st.none(),
    st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.text(max_size=2), st.just([])),
]


@st.composite
def tables(draw):
    rows = draw(st.integers(3, 9))
    kinds = draw(st.lists(st.sampled_from(range(len(CELLS))), min_size=1, max_size=5))
    columns = [draw(st.lists(CELLS[kind], min_size=rows, max_size=rows)) for kind in kinds]
    objects = [np.empty(rows, dtype=object) for _ in columns]
    for values, column in zip(objects, columns, strict=True):
        values[:] = column
    return {f"c{i}": values for i, values in enumerate(objects)}


@settings(max_examples=25, deadline=None)
@given(table=tables(), style=st.sampled_from(["scaled", "plain", "codes"]), shuffle=st.randoms())
@pytest.mark.filterwarnings("ignore:columns:UserWarning")
def test_rows_are_encoded_alike_in_any_order_of_rows_and_columns(table, style, shuffle):
    whole = pd.DataFrame(table)
    if all(treatment.action == "left out" for treatment in rb.inspect(whole).treatments):
        with pytest.raises(ValueError, match="no column is left that a model could learn from"):
            fit_encoding(whole, style=style)
        return
    encoding = fit_encoding(whole, style=style)
    expected = encoding.transform(whole)
    assert expected.shape == (len(whole), len(encoding.names))
    assert style == "codes" or np.isfinite(expected).all()
    order = list(range(len(whole)))
    shuffle.shuffle(order)
    names = [*table, "extra"]
    shuffle.shuffle(names)
    moved = whole.assign(extra=1).iloc[order][names]
    np.testing.assert_array_equal(encoding.transform(moved), expected[order])
    again = fit_encoding(moved[list(table)], style=style)
    np.testing.assert_allclose(again.transform(whole), expected, rtol=1e-6, atol=1e-6)
    for row in range(3):
        alone = whole.iloc[[row]]
        if not any(alone[name].isna().all() for name in table):
            np.testing.assert_array_equal(encoding.transform(alone), expected[[row]])
