"""Texts converted to Parquet hold what reading them into memory gives."""

import gzip
import os
import re

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.tables.contents import contents
from ratebound._old.tables.converting import convert, converted
from ratebound._old.tables.table import read_table
from ratebound._old.tables.texts import Reading

from .test_ways_to_read import random_text, table_of

parquet = pytest.importorskip("pyarrow.parquet")


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check_same(found, wanted):
    assert found.columns == wanted.columns
    for name in wanted.columns:
        assert found[name].dtype == wanted[name].dtype, name
        np.testing.assert_array_equal(found[name], wanted[name])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(40))
def test_what_is_converted_is_what_is_read(tmp_path, seed, monkeypatch):
    """Ugly texts, in chunks and row groups of any size; or the same error for both."""
    text, sep = random_text(seed)
    path = write(tmp_path, "t.csv", text)
    reading = Reading(sep=sep, header=True)
    refusal = table_of(path, reading)
    if isinstance(refusal, str):
        with pytest.raises(ValueError, match=re.escape(refusal)):
            converted(path, reading=reading)
        return
    wanted = read_table(path, reading=reading)
    monkeypatch.setattr("ratebound._old.tables.contents.BLOCK", 50)
    monkeypatch.setattr("ratebound._old.tables.texts.SMALL_TEXT", [0, 10**6][seed % 2])
    monkeypatch.setattr("ratebound._old.tables.converting.GROUP_ROWS", 7)
    (place,) = converted(path, reading=reading)
    check_same(read_table(place), wanted)
    rows = parquet.ParquetFile(place).metadata
    assert [rows.row_group(i).num_rows for i in range(rows.num_row_groups)][:-1] == [7] * (
        (len(wanted) - 1) // 7
    )


def test_kinds_are_settled_over_all_files(tmp_path):
    one = write(tmp_path, "a.csv", "n,zip,late\n1,1,1\n2,2,2\n")
    other = write(tmp_path, "b.csv.gz", gzip.compress(b"zip;late;n\n007;x;\n8;4;2,5\n"))
    with pytest.warns(UserWarning, match=r"commas are read as decimal points in 'n' \(2,5\)"):
        places = converted([one, other])
    assert [place.name for place in places] == ["a.csv.parquet", "b.csv.gz.parquet"]
    check_same(read_table(places), read_table([one, other]))
    for place in places:
        assert parquet.read_schema(place).field("late").type == "string"
    _, notices = convert(contents([one, other]), [tmp_path / "all.parquet"])
    check_same(read_table(tmp_path / "all.parquet"), read_table([one, other]))
    assert notices == list(read_table([one, other]).notices)


def test_small_files_have_row_groups_for_several_processes(tmp_path):
    rows = "".join(f"{i},{i % 7}\n" for i in range(20_000))
    (place,) = converted(write(tmp_path, "t.csv", f"a,b\n{rows}"))
    assert parquet.ParquetFile(place).metadata.num_row_groups == 8
    assert read_table(place)["a"].tolist() == list(range(20_000))


def test_files_are_converted_once_and_again_where_they_changed(tmp_path):
    path = write(tmp_path, "t.csv", "a,b\n1,x\n2,y\n")
    os.utime(path, (1, 1))
    (place,) = converted(path)
    first = place.stat().st_ino, place.stat().st_mtime_ns
    assert converted(path) == [place]
    assert (place.stat().st_ino, place.stat().st_mtime_ns) == first
    for text, time in (("a,b\n1,x\n3,y\n", 2), ("a,b\n1,x\n3,y\n4,z\n", 2)):
        path.write_text(text)
        os.utime(path, (time, time))
        converted(path)
        check_same(read_table(place), read_table(path))
    converted(path, reading=Reading(header=False))
    assert read_table(place).columns == ["column1", "column2"]
    place.write_bytes(b"not ours")
    with pytest.raises(
        ValueError, match=r"t.csv.parquet already exists, and ratebound did not .*: move it"
    ):
        converted(path)
    assert place.read_bytes() == b"not ours"


def test_what_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path, "t.csv", "a,b\n1,x\n")
    (place,) = converted(path)
    with pytest.raises(ValueError, match=r"t.csv.parquet is already Parquet or Arrow"):
        converted(place)
    with pytest.raises(ValueError, match="holds no rows"):
        converted(write(tmp_path, "empty.csv", "a,b\n"))
    with pytest.raises(ValueError, match="line 3: 1 cells"):
        converted(write(tmp_path, "ragged.csv", "a,b\n1,x\n2\n"))
    assert not (tmp_path / "ragged.csv.parquet").exists()
    assert not list(tmp_path.glob(".*"))  # nothing half written
    with pytest.raises(ValueError, match=r"t.csv is named twice"):
        converted([path, path])
    (tmp_path / "more").mkdir()
    with pytest.raises(ValueError, match=r"two files would be converted to .*t.csv.parquet"):
        converted([path, write(tmp_path / "more", "t.csv", "a,b\n1,x\n")], into=tmp_path)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ratebound._old.tables.converting.whole_file", refuse)
    with pytest.raises(
        PermissionError, match=r"t.csv cannot be converted to Parquet, since .* with into="
    ):
        converted(path, into=tmp_path / "other")


def test_a_population_on_disk_may_be_a_csv(tmp_path):
    rows = "".join(f"{i % 7},{'FM'[i % 2]},{int(i % 3 == 0)}\n" for i in range(60))
    path = write(tmp_path, "rows.csv", f"age,sex,repaid\n{rows}")
    beside = rb.Parquet(path, label="repaid", columns=["sex"])
    elsewhere = rb.Parquet(path, label="repaid", columns=["sex"], into=tmp_path / "converted")
    assert (tmp_path / "rows.csv.parquet").exists()
    assert (tmp_path / "converted" / "rows.csv.parquet").exists()
    table = read_table(path)
    for found in (beside, elsewhere):
        assert found.y.tolist() == (table["repaid"] == 1).tolist()
        assert found.in_memory().X["age"].to_pylist() == table["age"].tolist()
    with pytest.raises(ValueError, match="give one kind of file"):
        rb.Parquet(f"{tmp_path}/rows.csv*", label="repaid")
