"""An encoding fitted to pieces of a table equals the whole table's, except for the rounding of means."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.tables import column_statistics
from ratebound._old.tables.column_statistics import (
    distinct_numbers,
    distinct_texts,
    merged_distinct,
    merged_spread,
    spread_of,
)
from ratebound._old.tables.columns import Number, Plain
from ratebound._old.tables.fitting import fit_encoding, fit_to_pieces
from ratebound._old.tables.table import Table

STYLES = ("scaled", "plain", "codes", "table")


def a_table(rows, random):
    """Every way in which a column is treated."""
    days = np.datetime64("2024-01-30") + random.integers(0, 40, rows)
    whole = random.integers(0, 4, rows)
    return Table(
        {
            "number": random.normal(3.0, 2.0, rows),
            "gaps": np.where(random.random(rows) < 0.2, np.nan, random.normal(size=rows)),
            "indicator": (random.random(rows) < 0.5).astype(float),
            "truth": random.random(rows) < 0.5,
            "code": whole,
            "text": random.choice(np.array(["a", "b", None], dtype=object), rows),
            "amount": np.array([f"{each:.1f}" for each in random.normal(size=rows)], dtype=object),
            "written": np.datetime_as_string(days).astype(object),
            "moment": days.astype("M8[us]") + random.integers(0, 10**10, rows),
            "lasting": random.integers(0, 10**12, rows).astype("m8[us]"),
            "many": np.array([f"v{each}" for each in random.integers(0, 300, rows)], dtype=object),
            "id": np.arange(rows),
            "never": np.zeros(rows),
            "nothing": np.full(rows, None, dtype=object),
        }
    )


def told(fit, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit(*arguments, **options)


def without_means(column):
    if isinstance(column, Number):
        return replace(column, center=0.0, scale=1.0), (column.center, column.scale)
    if isinstance(column, Plain):
        return replace(column, fill=None), (column.fill or 0.0,)
    return column, ()


@settings(max_examples=20)
@given(
    rows=st.integers(3, 200),
    cuts=st.lists(st.integers(0, 200), max_size=30),
    weighted=st.booleans(),
    style=st.sampled_from(STYLES),
    seed=st.integers(0, 2**16),
)
def test_pieces_have_the_encoding_of_the_whole(rows, cuts, weighted, style, seed):
    random = np.random.default_rng(seed)
    table = a_table(rows, random)
    weights = random.integers(0, 3, rows) + (np.arange(rows) < 3.0) if weighted else None
    ends = sorted({cut for cut in cuts if 0 < cut < rows})
    parts = np.split(np.arange(rows), ends)
    pieces = [(table[part], None if weights is None else weights[part]) for part in parts]
    features = rb.Features(categorical=["code"])
    whole = told(fit_encoding, table, weights, features, style)
    cut = told(fit_to_pieces, iter(pieces), features, style)
    assert cut.treatments == whole.treatments
    ours, theirs = ([without_means(each) for each in found.columns] for found in (cut, whole))
    assert [one for one, _ in ours] == [one for one, _ in theirs]
    for (_, means), (_, expected) in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(means, expected, rtol=1e-12, atol=1e-12)


def test_means_of_many_pieces_are_those_of_numpy():
    random = np.random.default_rng(0)
    values, weights = random.normal(1e3, 1.0, 50_000), random.random(50_000)
    parts = [
        spread_of(*part) for part in zip(np.split(values, 500), np.split(weights, 500), strict=True)
    ]
    center, scale = merged_spread(parts).center_and_scale()
    mean = np.average(values.astype(np.longdouble), weights=weights)
    spread = np.sqrt(np.average((values - mean) ** 2, weights=weights))
    assert center == pytest.approx(float(mean), rel=1e-14)
    assert scale == pytest.approx(float(spread), rel=1e-12)


def test_numbers_of_any_size_are_joined():
    small, large = np.array([1e-160, 3e-160]), np.array([1e290, 3e290])
    assert merged_spread([spread_of(small), spread_of(small)]).center_and_scale() == pytest.approx(
        (2e-160, 1e-160)
    )
    center, scale = merged_spread([spread_of(small), spread_of(large)]).center_and_scale()
    assert (center, scale) == pytest.approx(spread_of(np.r_[small, large]).center_and_scale())
    assert not merged_spread([spread_of(small), spread_of(np.array([np.inf]))]).finite


@pytest.mark.parametrize("differing", [5_000, 100_000])
def test_more_values_than_are_held_are_counted_nearly(differing, monkeypatch):
    monkeypatch.setattr(column_statistics, "MOST_HELD", 2**12)
    random = np.random.default_rng(0)
    drawn = random.integers(0, differing, (20, 10_000))
    found = merged_distinct([distinct_numbers(part.astype(float)) for part in drawn])
    assert len(found.values) <= column_statistics.MOST_HELD + column_statistics.HEAVIEST
    assert len(found) == pytest.approx(len(np.unique(drawn)), rel=0.1)
    assert not found.all_differ
    assert merged_distinct(
        [distinct_numbers(part) for part in np.split(np.arange(10**5), 10)]
    ).all_differ


def test_texts_that_occur_often_stay_among_very_many(monkeypatch):
    monkeypatch.setattr(column_statistics, "MOST_HELD", 2**12)
    parts = []
    for part in range(20):
        levels = [f"{part}-{place}" for place in range(1_000)] + ["often"]
        codes = np.r_[np.arange(1_000), np.full(100, 1_000)]
        parts.append(distinct_texts(codes, levels))
    found = merged_distinct([merged_distinct(parts[:10]), *parts[10:]])
    assert found.counts[found.values.tolist().index("often")] == 2_000
    assert len(found) == pytest.approx(20_001, rel=0.1)


def test_rows_on_disk_have_the_encoding_of_those_in_memory(tmp_path):
    arrow, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    table = a_table(200, np.random.default_rng(0))
    columns = {name: arrow.array(values.tolist()) for name, values in table.values.items()}
    parquet.write_table(arrow.table(columns), tmp_path / "rows.parquet", row_group_size=30)
    rows = rb.Parquet(tmp_path / "rows.parquet")
    pieces = ((piece.X, None) for piece in rows.pieces(inputs=True))
    disk = told(fit_to_pieces, pieces, coded=True)
    for memory in (rows.in_memory().X, table):
        assert told(fit_encoding, memory).names == disk.names
    assert told(fit_encoding, rows.in_memory().X).treatments == disk.treatments
    assert rb.inspect(rows).treatments == disk.treatments
