"""``ratebound convert``."""

import json

import pytest

from ratebound._old.tables.table import read_table

pytest.importorskip("pyarrow")


def test_csvs_are_converted_beside_them_or_into_one_file(run, tmp_path):
    for name, rows in (("a", "1,x\n2,y\n"), ("b", "3,\n")):
        (tmp_path / f"{name}.csv").write_text(f"n,t\n{rows}")
    found = run("convert", f"{tmp_path}/*.csv")
    assert found.status == 0
    assert found.out.splitlines() == [f"{tmp_path}/{name}.csv.parquet" for name in "ab"]
    out = tmp_path / "both.parquet"
    found = run("convert", tmp_path / "a.csv", tmp_path / "b.csv", "--out", out, "--json")
    assert json.loads(found.out) == {"written": [str(out)]}
    assert read_table(out)["n"].tolist() == [1, 2, 3]
    assert read_table(out)["t"].tolist() == ["x", "y", None]


def test_what_was_found_out_is_said_and_what_cannot_be_read_refused(run, tmp_path):
    (tmp_path / "t.csv").write_text("n;t\n1,5;x\nNA;y\n")
    found = run("convert", tmp_path / "t.csv", "--out", tmp_path / "t.parquet")
    assert found.status == 0
    assert "commas are read as decimal points in 'n' (1,5)" in found.err
    found = run("convert", tmp_path / "t.csv", "--sep", "^^")
    assert found.status == 2
    assert "--sep takes one character" in found.err
    found = run("convert", tmp_path / "t.csv", "--out", tmp_path / "t.csv")
    assert found.status == 2
    assert "is read here" in found.err


@pytest.mark.parametrize("flags", [[], ["--out"]])
def test_only_files_that_it_made_are_written_over(refused, run, tmp_path, flags):
    (tmp_path / "t.csv").write_text("n,t\n1,x\n")
    place = tmp_path / "t.csv.parquet"
    words = ["convert", tmp_path / "t.csv", *flags, *([place] if flags else [])]
    place.write_text("my notes")
    assert f"{place} already exists, and ratebound did not convert it" in refused(*words)
    assert place.read_text() == "my notes"
    table = pytest.importorskip("pyarrow").table({"mine": [1]})
    pytest.importorskip("pyarrow.parquet").write_table(table, place)
    assert "move it away, or write elsewhere" in refused(*words)
    place.unlink()
    assert run(*words).status == 0
    (tmp_path / "t.csv").write_text("n,t\n1,x\n2,y\n")
    assert run(*words).status == 0
    assert read_table(place)["n"].tolist() == [1, 2]
