"""Tables to features: what is learned, what is done with the unknown and the missing, and JSON."""

import json

import numpy as np
import pytest

from ratebound._old.tables.columns import Category, Code, Number, Plain
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.fitting import fit_encoding
from ratebound._old.tables.treatments import MOST_CATEGORIES

from ..extras import pd, pl

NAN = float("nan")
FRAMES = {
    "pandas": lambda data: pd.DataFrame(data),
    "polars": lambda data: pl.DataFrame(data, strict=False),
}
DATA = {
    "age": [20, 30, 40, 70],
    "town": ["Rome", "Oslo", "Rome", "Bonn"],
    "member": [True, False, True, True],
    "score": [0.5, 1.5, 2.5, 3.5],
}
GAPS = {
    "income": [1.0, None, 3.0, 8.0],
    "town": ["Rome", None, "Oslo", "Rome"],
    "member": [True, None, False, True],
}
frames = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


# --- what is learned -----------------------------------------------------------------------------


@frames
def test_numbers_are_standardised_and_texts_one_hot(frame):
    encoding = fit_encoding(frame(DATA))
    assert encoding.names == [
        "age", "town == Bonn", "town == Oslo", "town == Rome",
        "member == False", "member == True", "score",
    ]  # fmt: skip
    features = encoding.transform(frame(DATA))
    assert features.dtype == np.float32
    np.testing.assert_allclose(
        features[:, 0], (np.array(DATA["age"]) - 40) / np.std(DATA["age"]), rtol=1e-6
    )
    np.testing.assert_array_equal(features[:, 1:4], [[0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(features[:, 4:6], [[0, 1], [1, 0], [0, 1], [0, 1]])
    np.testing.assert_allclose(features.mean(axis=0)[[0, 6]], 0, atol=1e-7)
    np.testing.assert_allclose(features.std(axis=0)[[0, 6]], 1, rtol=1e-6)
    assert len(encoding.names) == features.shape[1]


@pytest.mark.parametrize("data", [DATA, GAPS], ids=["whole", "gaps"])
def test_pandas_and_polars_agree(data):
    ours, theirs = (fit_encoding(frame(data)) for frame in FRAMES.values())
    assert ours == theirs
    expected = ours.transform(pd.DataFrame(data))
    np.testing.assert_array_equal(ours.transform(FRAMES["polars"](data)), expected)
    kinds = [pd.DataFrame(data).convert_dtypes(), pd.DataFrame(data).astype(object)]
    kinds += [pd.DataFrame(data).astype({"town": "category"})]
    kinds += [FRAMES["polars"](data).with_columns(pl.col("town").cast(pl.Categorical))]
    for kind in kinds:
        assert fit_encoding(kind).columns == ours.columns
        np.testing.assert_array_equal(ours.transform(kind), expected)


@frames
@pytest.mark.parametrize("data", [DATA, GAPS], ids=["whole", "gaps"])
def test_weights_are_repeated_rows(frame, data):
    times = np.array([3, 1, 0, 2])
    repeated = {name: [v for v, n in zip(values, times, strict=True) for _ in range(n)]
                for name, values in data.items()}  # fmt: skip
    weighted, plain = fit_encoding(frame(data), times.astype(float)), fit_encoding(frame(repeated))
    assert weighted.names == plain.names
    np.testing.assert_allclose(
        weighted.transform(frame(repeated)), plain.transform(frame(repeated)), rtol=1e-6, atol=1e-7
    )
    scaled = fit_encoding(frame(data), times * 0.1)
    np.testing.assert_allclose(
        scaled.transform(frame(repeated)), plain.transform(frame(repeated)), rtol=1e-6, atol=1e-7
    )


@frames
def test_a_row_of_no_weight_is_not_looked_at(frame):
    data = {"x": [1.0, 2.0, 3.0, float("inf")], "town": ["a", "b", "a", "unheard of"]}
    weights = np.array([1.0, 2.0, 1.0, 0.0])
    encoding = fit_encoding(frame(data), weights)
    assert encoding.names == ["x", "town == a", "town == b"]
    assert encoding.columns[0].center == 2


@frames
def test_a_constant_column_that_is_asked_for_is_only_centred(frame):
    data = {"one": [0.1] * 7, "zero": [0] * 7, "large": [1e9] * 7, "same": ["x"] * 7}
    encoding = fit_encoding(frame(data), features=list(data))
    np.testing.assert_allclose(encoding.transform(frame(data))[:, :3], 0, atol=1e-6)
    np.testing.assert_array_equal(encoding.transform(frame(data))[:, 3], 1)
    with pytest.warns(UserWarning, match=r"unlike any in training, of 1 rows: 'same' in 1 \('y'\)"):
        other = encoding.transform(frame({"one": [1.1], "zero": [2], "large": [1e9], "same": ["y"]}))
    np.testing.assert_allclose(other, [[1, 2, 0, 0]], rtol=1e-6)
    with pytest.raises(ValueError, match=r"no column is left .* 'one', 'zero', .*it never varies"):
        fit_encoding(frame(data))


def test_small_spreads_are_spreads():
    values = 5 + 1e-6 * np.arange(10)
    features = fit_encoding(pd.DataFrame({"x": values})).transform(pd.DataFrame({"x": values}))
    assert features.std() == pytest.approx(1, rel=1e-4)


# --- the unknown and the missing -----------------------------------------------------------------


@frames
def test_an_unknown_category_is_none_of_them(frame):
    encoding = fit_encoding(frame({"town": ["Rome", "Oslo"]}))
    with pytest.warns(UserWarning, match=r"unlike any in training, of 2 rows: 'town' in 1 \('Paris'\)"):
        found = encoding.transform(frame({"town": ["Paris", "Rome"]}))
    np.testing.assert_array_equal(found, [[0, 0], [0, 1]])
    with pytest.warns(
        UserWarning, match="missing that were never missing in training, of 2 rows: 'town' in 1;"
    ):
        found = encoding.transform(frame({"town": [None, "Rome"]}))
    np.testing.assert_array_equal(found, [[0, 0], [0, 1]])


@frames
def test_missing_values_are_flagged_and_sit_at_the_centre(frame):
    encoding = fit_encoding(frame(GAPS))
    assert encoding.names == [
        "income", "income is missing", "town == Oslo", "town == Rome", "town == (missing)",
        "member == False", "member == True", "member == (missing)",
    ]  # fmt: skip
    features = encoding.transform(frame(GAPS))
    assert np.isfinite(features).all()
    assert features[1].tolist() == [0, 1, 0, 0, 1, 0, 0, 1]
    assert features[0, 1:].tolist() == [0, 0, 1, 0, 0, 1, 0]
    assert encoding.columns[0] == Number("income", 4.0, pytest.approx(np.std([1, 3, 8])), True)


@frames
def test_missing_where_none_was_before_is_the_centre_too(frame):
    encoding = fit_encoding(frame({"x": [1.0, 2.0, 6.0]}))
    with pytest.warns(
        UserWarning, match="missing that were never missing in training, of 2 rows: 'x' in 1;"
    ):
        np.testing.assert_allclose(encoding.transform(frame({"x": [None, 3.0]})), [[0], [0]])


@frames
@pytest.mark.parametrize("style", ["scaled", "plain", "codes", "table"])
def test_rows_of_nothing_but_missing_values_are_told_of(frame, style):
    whole = {"x": [1.0, 2.0, 6.0], "town": ["a", "b", "a"]}
    encoding = fit_encoding(frame(whole), style=style)
    said = r"2 rows have no value in any of the 2 columns that the model sees, first in row 0"
    with pytest.warns(UserWarning, match=said):
        alone = encoding.transform(frame({"x": [NAN, NAN], "town": [None, None]}))
    with pytest.warns(UserWarning, match=r"1 rows have no value .*, first in row 1"):
        beside = encoding.transform(frame({"x": [NAN, NAN], "town": ["a", None]}))
    if style != "table":
        np.testing.assert_array_equal(alone[1:], beside[1:])
    gaps = {"x": [1.0, NAN, 6.0], "town": ["a", None, "a"]}
    known = fit_encoding(frame(gaps), style=style)  # training knew them all, so they say something
    assert len(known.transform(frame({"x": [NAN, NAN], "town": [None, None]}))) == 2


def test_missing_values_of_arrays_are_told_of_too():
    encoding = fit_encoding(np.array([[1.0, NAN], [3.0, 4.0]]), style="codes")
    with pytest.warns(UserWarning, match=r"of 1 rows: '0' in 1;"):
        encoding.transform(np.array([[NAN, 2.0]]))
    encoding.transform(np.array([[2.0, NAN]]))


def test_one_huge_value_leaves_a_finite_scale():
    values = np.r_[np.arange(9.0), 1e160]
    ours, plain = (fit_encoding(pd.DataFrame({"x": values * by})) for by in (1.0, 1e-150))
    assert ours.columns[0].scale == pytest.approx(plain.columns[0].scale * 1e150)
    features = ours.transform(pd.DataFrame({"x": values}))
    assert np.isfinite(features).all()
    assert features.std() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"'x' holds infinite values, or values beyond 1e\+300"):
        fit_encoding(pd.DataFrame({"x": np.r_[values, 1.7e308]}))


@pytest.mark.parametrize("style", ["scaled", "plain", "codes", "table"])
def test_names_of_several_levels_and_numbers_come_back(style):
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", 1)])
    for columns in (levels, [1, 2.5, "x"], [True, None, 7]):
        table = pd.DataFrame([[1.0, "u", 2.0], [3.0, "v", 4.0]], columns=columns)
        encoding = fit_encoding(table, style=style)
        again = Encoding.from_json(json.loads(json.dumps(encoding.to_json(), allow_nan=False)))
        assert again == encoding
        np.testing.assert_array_equal(again.transform(table), encoding.transform(table))
    dated = pd.DataFrame({pd.Timestamp("2024-01-01"): [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"a column is named Timestamp.*texts, numbers or tuples"):
        fit_encoding(dated, style=style)


def test_a_text_that_says_missing_is_missing():
    table = pd.DataFrame({"town": ["(missing)", None, "Rome"]})
    encoding = fit_encoding(table)
    assert encoding.columns == (Category("town", ("Rome", "(missing)")),)
    np.testing.assert_array_equal(encoding.transform(table), [[0, 1], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": [1.0, float("inf")]}, "column 'x' holds infinite values"),
        ({"x": [1.0, -float("inf")]}, "column 'x' holds infinite values"),
        ({"x": [1.0, 1.7e308], "y": [1, 2], "z": [NAN, float("inf")]}, "columns 'x', 'z' hold infinite"),
        (
            {"x": [NAN, NAN]},
            "no column is left that a model could learn from: 'x': left out: it holds no",
        ),
        ({"x": [None, None]}, "'x': left out: it holds no value"),
        (
            {"name": [f"n{i}" for i in range(MOST_CATEGORIES)]},
            "'name': left out: almost all values differ",
        ),
    ],
)
def test_columns_that_make_no_features_raise(data, message):
    with pytest.raises(ValueError, match=message):
        fit_encoding(pd.DataFrame(data))


@pytest.mark.parametrize("style", ["scaled", "codes"])
def test_the_rare_ones_of_many_texts_share_a_feature(style):
    towns = [
        f"n{i:03}" for i in range(MOST_CATEGORIES + 50) for _ in range(1 + (i >= 50))
    ]  # n000 to n049 are rare
    table = pd.DataFrame({"town": towns})
    with pytest.warns(UserWarning, match=r"'town': categories, the 100 most frequent, and one for all"):
        encoding = fit_encoding(table, style=style)
    assert encoding.columns[0].values == (*[f"n{i:03}" for i in range(50, 150)], "(other)")
    found = encoding.transform(pd.DataFrame({"town": ["n000", "n050", "unheard of", "n149"]}))
    places = found.argmax(axis=1) if style == "scaled" else found[:, 0]
    np.testing.assert_array_equal(places, [100, 0, 100, 99])


# --- which columns -------------------------------------------------------------------------------


@frames
def test_features_choose_columns_and_their_order(frame):
    encoding = fit_encoding(frame(DATA), features=["score", "age"])
    assert encoding.names == ["score", "age"]
    only = {name: DATA[name] for name in ("age", "score")}
    np.testing.assert_array_equal(encoding.transform(frame(only)), encoding.transform(frame(DATA)))
    assert fit_encoding(frame(DATA), features=[]).transform(frame(DATA)).shape == (4, 0)


@frames
def test_unknown_and_lacking_columns_are_named(frame):
    with pytest.raises(ValueError, match=r"no column 'agee'; the columns are age, town, member, score"):
        fit_encoding(frame(DATA), features=["age", "agee"])
    encoding = fit_encoding(frame(DATA))
    with pytest.raises(ValueError, match="the table has no column 'town'"):
        encoding.transform(frame({name: values for name, values in DATA.items() if name != "town"}))
    with pytest.raises(ValueError, match="the table has no columns 'town', 'score', which"):
        encoding.transform(frame({name: DATA[name] for name in ("member", "age")}))
    with pytest.raises(ValueError, match=r"X is an array without column names: give .* 'age', 'town'"):
        encoding.transform(np.zeros((4, 4)))
    with pytest.warns(UserWarning, match="read from texts"):
        dated = fit_encoding(frame({"age": ["2024-01-31", "2024-02-01"]}))
    with pytest.raises(
        ValueError, match="column 'age' holds truth values such as 'True', but in training it held dates"
    ):
        dated.transform(frame({"age": [True, False]}))


@frames
def test_more_columns_and_another_order_do_not_matter(frame):
    encoding = fit_encoding(frame(DATA))
    mixed = {"extra": [1, 2, 3, 4], **dict(reversed(DATA.items()))}
    np.testing.assert_array_equal(encoding.transform(frame(mixed)), encoding.transform(frame(DATA)))


def test_columns_may_be_numbered():
    table = pd.DataFrame([[1.0, "a"], [2.0, "b"]])
    encoding = fit_encoding(table)
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    np.testing.assert_array_equal(again.transform(table), encoding.transform(table))
    with pytest.raises(ValueError, match="no column 'x'; the columns are 0, 1"):
        fit_encoding(table, features=["x"])


# --- arrays --------------------------------------------------------------------------------------


def test_arrays_are_standardised_by_column():
    values = np.random.default_rng(0).normal(3, 2, size=(50, 3))
    encoding = fit_encoding(values)
    features = encoding.transform(values)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(features.std(axis=0), 1, rtol=1e-6)
    assert encoding.names == ["0", "1", "2"]
    np.testing.assert_array_equal(encoding.transform(values.tolist()), features)
    times = np.arange(50) % 3
    weighted, repeated = fit_encoding(values, times), fit_encoding(np.repeat(values, times, axis=0))
    np.testing.assert_allclose(weighted.transform(values), repeated.transform(values), atol=1e-6)


@pytest.mark.parametrize("value", [-float("inf"), float("inf"), 1e301])
def test_arrays_with_infinite_values_raise(value):
    values = np.ones((5, 3))
    values[2, 1] = value
    with pytest.raises(ValueError, match="feature 1 holds infinite values or values beyond"):
        fit_encoding(values)
    fit_encoding(values, np.array([1.0, 1, 0, 1, 1]))  # that row does not count


@pytest.mark.parametrize("style", ["scaled", "plain"])
def test_gaps_of_arrays_are_filled_and_flagged(style):
    X = np.array([[1.0, NAN, 5.0], [3.0, 4.0, 7.0], [5.0, 8.0, NAN]])
    encoding = fit_encoding(X, style=style)
    assert encoding.names == ["0", "1", "1 is missing", "2", "2 is missing"]
    features = encoding.transform(X)
    np.testing.assert_array_equal(features[:, [2, 4]], [[1, 0], [0, 0], [0, 1]])
    whole = X if style == "plain" else (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0) if style == "plain" else 0.0, whole)
    np.testing.assert_allclose(features[:, [0, 1, 3]], filled)
    with pytest.warns(UserWarning, match=r"of 1 rows: '0' in 1;"):
        np.testing.assert_allclose(encoding.transform([[NAN, 8, 7]])[0, [0, 2, 4]], [filled[1, 0], 0, 0])
    assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding


def test_arrays_of_other_shapes_raise():
    with pytest.raises(ValueError, match="rows and features"):
        fit_encoding(np.ones(5))
    with pytest.raises(ValueError, match="must be a DataFrame"):
        fit_encoding(np.ones((5, 2)), features=["a"])
    encoding = fit_encoding(np.ones((5, 2)))
    for shape in ((5, 3), (5,), (5, 2, 1)):
        with pytest.raises(ValueError, match="expected rows of 2 features"):
            encoding.transform(np.ones(shape))


# --- as data -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [pd.DataFrame(DATA), pd.DataFrame(GAPS), pd.DataFrame({"é \"'\n": ["ß", "∑"]}), np.eye(3) / 3],
    ids=["whole", "gaps", "odd letters", "array"],
)
def test_json_gives_back_an_equal_encoding(X):
    encoding = fit_encoding(X)
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json(), allow_nan=False)))
    assert again == encoding
    assert again.names == encoding.names
    np.testing.assert_array_equal(again.transform(X), encoding.transform(X))


# --- other styles --------------------------------------------------------------------------------


@frames
def test_plain_leaves_numbers_and_gaps_as_they_are(frame):
    encoding = fit_encoding(frame(GAPS), style="plain", takes_missing=True)
    features = encoding.transform(frame(GAPS))
    assert encoding.columns[0] == Plain("income", gaps=True)
    assert features.dtype == np.float64
    np.testing.assert_array_equal(features[:, 0], [1.0, NAN, 3.0, 8.0])
    np.testing.assert_array_equal(features[:, 1:4], [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert encoding.names[1:4] == ["town == Oslo", "town == Rome", "town == (missing)"]


@frames
def test_codes_number_the_texts(frame):
    encoding = fit_encoding(frame(GAPS), style="codes")
    assert encoding.codes == [1, 2]
    assert encoding.columns[1] == Code("town", ("Oslo", "Rome"), gaps=True)
    np.testing.assert_array_equal(encoding.transform(frame(GAPS))[:, 1], [1, NAN, 0, 1])
    new = {"income": [2.0], "town": ["Bonn"], "member": [True]}
    with pytest.warns(UserWarning, match="'town' in 1 .'Bonn'."):
        np.testing.assert_array_equal(encoding.transform(frame(new)), [[2.0, NAN, 1.0]])


@frames
def test_a_table_is_handed_over_with_the_columns_asked_for(frame):
    encoding = fit_encoding(frame(DATA), features=["town", "age"], style="table")
    handed = encoding.transform(frame(DATA))
    assert list(handed.columns) == ["town", "age"]
    assert handed["town"].to_numpy().tolist() == DATA["town"]
    with pytest.raises(ValueError, match="no column 'town'"):
        encoding.transform(frame({"age": [1]}))


@pytest.mark.parametrize("style", ["plain", "codes", "table"])
def test_arrays_pass_as_they_are_in_other_styles(style):
    X = np.array([[1.0, NAN], [3.0, 4.0]])
    encoding = fit_encoding(X, style=style, takes_missing=True)
    np.testing.assert_array_equal(encoding.transform(X), X)
    with pytest.raises(ValueError, match="rows of 2 features"):
        encoding.transform(X[:, :1])


@pytest.mark.parametrize("style", ["plain", "codes", "table"])
def test_json_gives_back_other_styles_too(style):
    encoding = fit_encoding(pd.DataFrame(GAPS), style=style)
    assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding
