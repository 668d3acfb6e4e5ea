"""Columns as codes: the same values, whichever library holds them."""

import numpy as np
import pytest

from ratebound.tables.encoding import Encoding
from ratebound.tables.factoring import factored
from ratebound.tables.fitting import WIDE, fit_encoding

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


def test_texts_of_every_kind_are_found_again():
    for column in columns():
        found = factored(column)
        assert [None if code < 0 else found.values[code] for code in found.codes] == TEXTS
        assert found.missing == 2
        assert dict(zip(found.values, found.counts.tolist(), strict=True)) == {"a": 2, "b": 2, "c": 1}
        places = found.places({"a": 0, "c": 1}, other=7, missing=9)
        assert places.tolist() == [7, 0, 9, 7, 1, 0, 9]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (
            np.array([1, True, "a", None, 1.0, np.nan], dtype=object),
            ["1", "True", "a", None, "1.0", None],
        ),
        (np.array([True, False]), ["True", "False"]),
        (np.array([3, 1, 3]), ["3", "1", "3"]),
        (np.array([2.5, np.nan]), ["2.5", None]),
        (np.array(["x", "y"]), ["x", "y"]),
    ],
)
def test_other_values_are_told_apart_by_their_texts(values, texts):
    found = factored(values)
    assert [None if code < 0 else str(found.values[code]) for code in found.codes] == texts


def test_a_wide_table_becomes_a_sparse_matrix_with_the_same_numbers():
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
    np.testing.assert_array_equal(thin.transform(unknown).toarray(), whole.transform(unknown))
    assert thin.transform(table[:0]).shape == (0, thin.width)
    assert not fit_encoding(table[["t0", "x"]], takes_sparse=True).sparse
    assert Encoding.from_json(thin.to_json()) == thin
