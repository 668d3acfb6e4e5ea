"""Columns as codes: the same values, whichever library holds them."""

import numpy as np
import pytest

from ratebound._old.tables import fitting
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.fitting import WIDE, fit_encoding
from ratebound._old.tables.kinds import as_texts, read_cells

from ..extras import pd, pl

TEXTS = ["b", "a", None, "b", "c", "a", None]


def columns():
    """The same texts as columns of every kind."""
    pyarrow = pytest.importorskip("pyarrow")
    chunks = pyarrow.chunked_array([TEXTS[:3], TEXTS[3:]])
    pandas = [pd.Series(TEXTS, dtype=kind) for kind in (object, "str", "string", "category")]
    polars = [pl.Series(TEXTS).cast(kind) for kind in (pl.String, pl.Categorical, pl.Enum(list("abc")))]
    arrow = [chunks, chunks.dictionary_encode(), pyarrow.array(TEXTS)]
    return [
        np.array(TEXTS, dtype=object),
        *pandas,
        pd.Series([*TEXTS[:2], np.nan, *TEXTS[3:]]),
        *polars,
        *arrow,
    ]


def texts_of(column):
    found = as_texts(read_cells(column))
    return [None if code < 0 else found.levels[code] for code in found.values]


def test_texts_of_every_kind_are_found_again():
    for column in columns():
        assert read_cells(column).holds == "texts"
        assert texts_of(column) == TEXTS


@pytest.mark.parametrize(
    ("values", "holds", "texts"),
    [
        (
            np.array([1, True, "a", None, 1.0, np.nan], dtype=object),
            "mixed",
            ["1", "True", "a", None, "1", None],
        ),
        (np.array([True, False]), "truth values", ["True", "False"]),
        (np.array([3, 1, 3]), "numbers", ["3", "1", "3"]),
        (np.array([2.5, np.nan, 2.0]), "numbers", ["2.5", None, "2"]),
        (np.array(["x", "y"]), "texts", ["x", "y"]),
    ],
)
def test_other_values_are_told_apart_by_their_texts(values, holds, texts):
    assert read_cells(values).holds == holds
    assert texts_of(values) == texts


def test_a_wide_table_becomes_a_sparse_matrix_with_the_same_numbers(monkeypatch):
    random = np.random.default_rng(0)
    data = {f"t{i}": random.choice([f"v{j}" for j in range(60)], 500).astype(object) for i in range(5)}
    data |= {"x": random.normal(size=500), "gaps": np.where(random.random(500) < 0.2, np.nan, 1.5)}
    data["t0"][:9] = None
    table = pd.DataFrame(data)
    thin, whole = fit_encoding(table, takes_sparse=True), fit_encoding(table)
    assert (thin.sparse, whole.sparse) == (True, False)
    assert thin.width == len(thin.names) >= WIDE
    np.testing.assert_array_equal(thin.transform(table).toarray(), whole.transform(table))
    assert thin.transform(table).has_canonical_format
    unknown = table.assign(t1="elsewhere")
    with pytest.warns(UserWarning, match="'t1' in 500 .'elsewhere'."):
        np.testing.assert_array_equal(thin.transform(unknown).toarray(), whole.transform(unknown))
    assert thin.transform(table[:0]).shape == (0, thin.width)
    few = table[["t0", "x"]]
    assert not fit_encoding(few, takes_sparse=True).sparse
    monkeypatch.setattr(fitting, "LARGE_ARRAY", 500 * 60)  # as if it were a table of a million rows
    assert fit_encoding(few, takes_sparse=True).sparse
    assert Encoding.from_json(thin.to_json()) == thin


TABLE = {
    "age": [20.5, 31.0, 40.0, 55.25],
    "count": [1, 2, 3, 10**17],
    "sex": ["Female", "Male", "Male", "Female"],
    "town": ["Oslo", None, "Rome", "Rome"],
    "hired": [True, False, True, True],
    "gaps": [1.5, None, np.nan, 2.5],
}


@pytest.mark.parametrize("style", ["scaled", "plain", "codes"])
@pytest.mark.parametrize("frame", ["pandas", "polars"])
@pytest.mark.parametrize("chosen", [list(TABLE), ["age", "count"], ["sex", "age"]])
def test_a_row_alone_has_the_features_it_has_among_others(style, frame, chosen):
    table = {"pandas": pd, "polars": pl}[frame].DataFrame({name: TABLE[name] for name in chosen})
    encoding = fit_encoding(table, style=style, features=chosen)
    whole = encoding.transform(table)
    for i in range(4):
        alone = encoding.transform(table[i : i + 1])
        assert alone.dtype == whole.dtype
        np.testing.assert_array_equal(alone, whole[i : i + 1])


def test_a_row_alone_is_told_about_as_any_table_is():
    table = pd.DataFrame({"age": [20.5, 31.0, 40.0], "sex": ["Female", "Male", "Male"]})
    encoding = fit_encoding(table)
    for strange in ({"sex": ["Other"]}, {"age": [np.nan]}):
        with pytest.warns(UserWarning, match="in training, of 1 rows"):
            encoding.transform(table[:1].assign(**strange))
    with pytest.raises(ValueError, match="the table has no column 'sex'"):
        encoding.transform(table[["age"]][:1])
    with pytest.raises(ValueError, match="two columns of X are named 'age'"):
        encoding.transform(table[["age", "age", "sex"]][:1])
    for far in (1e290, -1e299, 10**250):  # beyond single precision
        assert not np.isfinite(encoding.transform(table[:1].assign(age=[far]))[0, 0])
    reordered = table.assign(more=1)[["more", "sex", "age"]]
    np.testing.assert_array_equal(encoding.transform(reordered[:1]), encoding.transform(table)[:1])
    assert encoding.transform(table[:1].astype("float32", errors="ignore")).shape == (1, 3)
