"""Files as people have them, read as pandas reads them; and what is said about them."""

import bz2
import gzip
import io
import lzma
import sys
import zipfile

import numpy as np
import pytest

from ratebound._old.tables.table import read_table
from ratebound._old.tables.texts import Reading

from ..extras import pd

PLAIN = 'age,town,share\n31,Köln,0.5\n40,Rome,\n,"a, b",-1e3\n'


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def cells(table):
    """A table's cells with None for what is missing."""
    return {
        name: [None if value is None or value != value else value for value in table[name].tolist()]
        for name in table.columns
    }


WANTED = {"age": [31, 40, None], "town": ["Köln", "Rome", "a, b"], "share": [0.5, None, -1000]}


def spelled(sep):
    return PLAIN.replace('"a, b"', "a. b").replace(",", sep).replace("a. b", '"a, b"')


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_are_found(tmp_path, sep, end):
    table = read_table(write(tmp_path, "t.csv", spelled(sep).replace("\n", end)))
    assert cells(table) == WANTED
    assert table.notices == ()


def test_a_separator_may_be_said(tmp_path):
    path = write(tmp_path, "t.txt", spelled("^").replace("a, b", "a"))
    assert read_table(path).columns == ["age^town^share"]
    assert read_table(path, reading=Reading(sep="^"))["town"].tolist() == ["Köln", "Rome", "a"]
    tabs = write(tmp_path, "t.tsv", spelled("\t"))
    assert cells(read_table(tabs, reading=Reading(sep="tab"))) == WANTED
    with pytest.raises(ValueError, match="--sep takes one character"):
        read_table(path, reading=Reading(sep="^^"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_that_are_marked_or_usual(tmp_path, encoding):
    table = read_table(write(tmp_path, "t.csv", PLAIN.encode(encoding)))
    assert cells(table) == WANTED
    assert table.notices == ()


def test_other_encodings_are_guessed_or_said(tmp_path):
    path = write(tmp_path, "t.csv", PLAIN.encode("cp1252"))
    table = read_table(path)
    assert cells(table) == WANTED
    assert table.notices == (f"{path} is not in UTF-8 and is read as cp1252; --encoding sets another",)
    said = read_table(path, reading=Reading(encoding="latin-1"))
    assert cells(said) == WANTED
    assert said.notices == ()
    marked = write(tmp_path, "marked.csv", PLAIN.encode("utf-8-sig"))
    assert cells(read_table(marked, reading=Reading(encoding="UTF8"))) == WANTED
    for name in ("klingon", "hex", "rot13"):
        with pytest.raises(ValueError, match="there is no such encoding"):
            read_table(path, reading=Reading(encoding=name))
    with pytest.raises(ValueError, match="is not text in utf-16: "):
        read_table(path, reading=Reading(encoding="utf-16"))
    with pytest.raises(ValueError, match="is not text in utf-8"):
        read_table(path, reading=Reading(encoding="utf-8"))


def zipped(data, *more):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("t.csv", *more):
            archive.writestr(name, data)
    return packed.getvalue()


def zst(data):
    return pytest.importorskip("pyarrow").compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zip", zipped), ("zst", zst)],
)
def test_packed_files(tmp_path, suffix, pack):
    assert cells(read_table(write(tmp_path, f"t.csv.{suffix}", pack(PLAIN.encode())))) == WANTED
    assert cells(read_table(write(tmp_path, "unnamed", pack(PLAIN.encode())))) == WANTED


def test_large_files_recommend_pyarrow(tmp_path, monkeypatch):
    path = write(tmp_path, "t.csv", PLAIN)
    monkeypatch.setattr("ratebound._old.tables.texts.SMALL_TEXT", 0)
    monkeypatch.setattr("ratebound._old.tables.texts.LARGE_TEXT", len(PLAIN.encode()) - 1)
    if "pyarrow" in sys.modules:
        assert read_table(path).notices == ()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = read_table(path)
    assert cells(table) == WANTED
    (notice,) = table.notices
    assert notice.endswith("which pyarrow reads many times faster: pip install 'ratebound[parquet]'")


def test_packed_files_that_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"holds 2 files, t.csv, u.csv; unpack it"):
        read_table(write(tmp_path, "t.zip", zipped(b"", "u.csv")))
    with pytest.raises(ValueError, match="is a spreadsheet or a document"):
        read_table(write(tmp_path, "sheet", zipped(b"", "[Content_Types].xml")))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ImportError, match=r"pyarrow, to unpack Zstandard: pip install 'ratebound\[parquet\]'"
    ):
        read_table(write(tmp_path, "t.csv.zst", b"\x28\xb5\x2f\xfd"))


def test_a_first_line_that_is_a_comment(tmp_path):
    path = write(tmp_path, "t.csv", "|1x3 Cross validator\na, b, 1\nc, d, 2\n")
    with pytest.raises(
        ValueError, match="the first line has 1 cells and the lines after it 3, separated by com"
    ):
        read_table(path)


def test_files_without_names_of_columns(tmp_path):
    path = write(tmp_path, "t.csv", "39,Private,1.5\n50,Self,2.5\n38,Private,1\n")
    with pytest.raises(ValueError, match=r"looks like a row, 39, Private, .*, and should name"):
        read_table(path)
    table = read_table(path, reading=Reading(header=False))
    assert table.columns == ["column1", "column2", "column3"]
    assert len(table) == 3
    assert read_table(path, reading=Reading(header=True)).columns == ["39", "Private", "1.5"]


@pytest.mark.parametrize(
    "text", ["0,1,2\n5,6,7\n8,9,1\n", "name,2019,2020\nann,1,2\n", "a,b\nx,y\nz,y\n"]
)
def test_first_lines_that_do_name_columns(tmp_path, text):
    path = write(tmp_path, "t.csv", text)
    assert read_table(path).columns == text.splitlines()[0].split(",")


def test_columns_without_a_name(tmp_path):
    """As pandas writes an index, and as some programs end every line with a separator."""
    path = write(tmp_path, "t.csv", ",age,\n0,31,\n1,40,\n")
    assert (
        read_table(path).columns
        == list(pd.read_csv(path).columns)
        == ["Unnamed: 0", "age", "Unnamed: 2"]
    )


def test_decimal_commas(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "a;b;c\n1,5;2;1,234,567\n-3;;x\n"))
    assert cells(table) == {"a": [1.5, -3], "b": [2, None], "c": ["1,234,567", "x"]}
    assert table.notices == ("commas are read as decimal points in 'a' (1,5)",)
    quoted = read_table(write(tmp_path, "t.csv", 'a,b\n"1,5",2\n"1,6",3\n'))
    assert cells(quoted)["a"] == ["1,5", "1,6"]


@pytest.mark.parametrize("sep", [",", ";"])
def test_european_amounts(tmp_path, sep):
    given = {"a": ["7.844,59", "500,00", "1.234.567,8"], "b": ["12,50 €", "1.200,00 €", "3 €"],
             "c": ["7.844,59", "1.234", "2,5"], "d": ["1.000.000", "2.500.000", "12"]}  # fmt: skip
    rows = [sep.join(f'"{cell}"' for cell in row) for row in zip(*given.values(), strict=True)]
    table = read_table(write(tmp_path, "t.csv", "\n".join([sep.join(given), *rows]) + "\n"))
    assert cells(table) == {
        "a": [7844.59, 500, 1234567.8],
        "b": [12.5, 1200, 3],
        "c": given["c"],  # of which 1.234 could be either
        "d": [1e6, 2.5e6, 12],
    }
    assert "amounts are read as the numbers in them in 'a' (7.844,59), 'b' (12,50 €)" in table.notices[0]


def test_codes_with_leading_zeros_are_texts(tmp_path):
    rows = "".join(f"{i},0.{i % 9},{i:05}\n" for i in range(6_000))
    table = read_table(write(tmp_path, "t.csv", f"n,f,zip\n{rows}"))
    assert table.kinds == {"n": "number", "f": "number", "zip": "text"}
    assert table["zip"][7] == "00007"
    quoted = read_table(write(tmp_path, "u.csv", 'n,zip\n"1","007"\n"0","010"\n-0.5,0\n'))
    assert quoted.kinds == {"n": "number", "zip": "text"}


def test_points_beside_decimal_commas_are_said(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "a;b;c\n4.268;0,5;1\n950;1,5;2\n"))
    assert table.notices == (
        "commas are read as decimal points in 'b' (0,5)",
        "points are also read as decimal points, in 'a' (4.268)",
    )


def test_amounts_are_numbers(tmp_path):
    rows = "".join(f"{i},{i},x\n" for i in range(5_000))
    path = write(tmp_path, "t.csv", f'price,share,code\n{rows}"1,250.50",17%,y\n-3,,x\n')
    table = read_table(path)
    assert table["price"].tolist() == [*range(5_000), 1250.5, -3]
    assert table.kinds == {"price": "number", "share": "text", "code": "text"}
    path = write(tmp_path, "u.csv", "a,b,c,d\n$5,12%,EUR 7,B12\n-$1.5,,EUR 8,B13\n")
    table = read_table(path)
    assert cells(table) == {"a": [5, -1.5], "b": [12, None], "c": [7, 8], "d": ["B12", "B13"]}
    assert table.notices == (
        "amounts are read as the numbers in them in 'a' ($5), 'b' (12%), 'c' (EUR 7)",
    )
    assert read_table(path, {"a": "text"})["a"].tolist() == ["$5", "-$1.5"]


@pytest.mark.parametrize("mark", ["NA", "N/A", "NaN", "null", "None", "?", "-", "."])
def test_marks_of_missing_numbers(tmp_path, mark):
    table = read_table(
        write(tmp_path, "t.csv", f"a,b,c\n1,{mark},{mark}\n{mark},x,{mark}\n2,y,{mark}\n")
    )
    assert cells(table) == {
        "a": [1, None, 2],
        "b": [mark, "x", "y"],
        "c": [None if mark == "NaN" else mark] * 3,
    }
    said = f"among numbers, these count as missing values: 1 {mark!r} in 'a'"
    assert table.notices == (() if mark == "NaN" else (said,))  # which is a number to everyone
    known = read_table(tmp_path / "t.csv", {"c": "number"})
    assert cells(known)["c"] == [None] * 3


def test_blanks_around_cells(tmp_path):
    table = read_table(write(tmp_path, "t.csv", ' age , town\n 31 , Rome \n 40 ," Oslo"\n'))
    assert cells(table) == {"age": [31, 40], "town": ["Rome", "Oslo"]}


@pytest.mark.parametrize("late", [1, 5_000, 9_999])
def test_a_text_far_below_makes_a_column_of_texts(tmp_path, late):
    values = [f"{i:05}" for i in range(10_000)]
    values[late] = "A1"
    text = "".join(f"{value},{i}\n" for i, value in enumerate(values))
    table = read_table(write(tmp_path, "t.csv", f"a,b\n{text}"))
    assert table["a"].tolist() == values
    assert table["b"].tolist() == list(range(10_000))


def test_names_and_ids_are_no_numbers(tmp_path):
    table = read_table(write(tmp_path, "t.csv", f"a,b\n1_000,{'9' * 30}\n2,1\n"))
    assert cells(table) == {"a": ["1_000", "2"], "b": ["9" * 30, "1"]}


def test_several_files(tmp_path):
    one, other = (
        write(tmp_path, "p-1.csv", "a,b\n1,x\n"),
        write(tmp_path, "p-2.csv", "b;a\ny;2\n"),
    )
    for paths in ([one, other], tmp_path / "p-*.csv"):
        table = read_table(paths)
        assert cells(table) == {"a": [1, 2], "b": ["x", "y"]}
        assert table.name == f"{one} and 1 more"
    write(tmp_path, "p-3.csv", "a,c\n1,x\n")
    with pytest.raises(
        ValueError, match=r"p-3.csv has other columns than .*: it lacks 'b' and also has 'c'"
    ):
        read_table(tmp_path / "p-*.csv")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        read_table(tmp_path / "q-*.csv")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(PLAIN.encode()))))
    assert cells(read_table("-")) == WANTED


def arrow_file(kind, table, path):
    arrow = pytest.importorskip("pyarrow")
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
        return path
    with arrow.OSFile(str(path), "wb") as sink:
        new = arrow.ipc.new_file if kind == "file" else arrow.ipc.new_stream
        with new(sink, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_parquet_and_arrow(tmp_path, kind):
    arrow = pytest.importorskip("pyarrow")
    day = np.array(["2024-01-31", "NaT"], dtype="datetime64[s]")
    given = arrow.table(
        {
            "age": arrow.array([31, None]),
            "town": arrow.array(["Köln", ""]).dictionary_encode(),
            "day": day,
            "wait": arrow.array([90, None], arrow.duration("s")),
            "old": [True, False],
        }
    )
    path = arrow_file(kind, given, tmp_path / ("t.parquet" if kind == "parquet" else "t.arrow"))
    table = read_table(path)
    assert cells(table)["age"] == [31, None]
    assert table["town"].tolist() == ["Köln", ""]  # such files have another way to say missing
    np.testing.assert_array_equal(table["day"], day)
    assert table["wait"].dtype.kind == "m"
    assert table["old"].tolist() == [True, False]
    same = tmp_path / f"again{path.suffix}"
    same.write_bytes(path.read_bytes())
    assert read_table([path, same])["age"].tolist()[2] == 31
    assert read_table(path, {"age": "text"})["age"].tolist() == ["31", None]
    with pytest.raises(ValueError, match=r"is Parquet or Arrow and .* is not"):
        read_table([path, write(tmp_path, "t.csv", PLAIN)])


def test_two_columns_of_one_name(tmp_path):
    with pytest.raises(ValueError, match="two columns are named 'a': rename one of them"):
        read_table(write(tmp_path, "t.csv", "a,a\n1,2\n"))


def test_a_column_that_is_not_there_where_the_separator_is_wrong(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "a;y\n1;0\n2;1\n"), reading=Reading(sep=","))
    with pytest.raises(ValueError, match="'a;y' is one column here: set the separator with --sep"):
        table.check("y", "label")


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_those_of_pandas(tmp_path, seed):
    """Random numbers of every shape, with gaps, in every separator."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "whole": rng.integers(-(10**12), 10**12, 300),
            "small": rng.normal(size=300) * 10.0 ** rng.integers(-300, 300, 300),
            "gaps": np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300).round(3)),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";,\t|,"[seed])
    table = read_table(tmp_path / "t.csv")
    for name in frame.columns:
        np.testing.assert_array_equal(table[name], frame[name].to_numpy())


AWKWARD = [
    "1", "-1", "0.1", "-0.0", "-0", "007", "1.", ".5", "-.5", "", " 1", "1 ", "+1", "1e5", "-", "--1",
    "1-", "1.2.3", ".", "123456789012345", "1234567890123456789", "12345678.87654321", "nan", "inf",
    "1_0", "é", "2024-01-31", "1,5",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_texts_with_and_without_quotes_are_read_alike(tmp_path, seed, monkeypatch):
    """By pyarrow in blocks that are cut anywhere, and by the csv module."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(AWKWARD, 1 + seed % 5, replace=False).tolist()
    columns = [
        rng.integers(-1000, 1000, 200).astype(str),
        rng.normal(size=200).round(int(rng.integers(0, 12))).astype(str),
        rng.choice(chosen, 200),
        np.where(rng.random(200) < 0.02, rng.choice(chosen, 200), "12.5"),
    ]
    monkeypatch.setattr("ratebound._old.tables.contents.BLOCK", 300 + 50 * seed)
    monkeypatch.setattr("ratebound._old.tables.texts.SMALL_TEXT", 0)
    tables = []
    for name, last in {"plain": "x", "quoted": '"x"', "hard": '"x"', "harder": '"a ""; b"'}.items():
        quote = "" if name == "plain" else '"'
        rows = [";".join(f"{quote}{cell}{quote}" for cell in row) for row in zip(*columns, strict=True)]
        rows = [f"{row};{last}" for row in rows]
        rows.insert(100, "")
        end = "\r\n" if seed % 2 else "\n"
        text = end.join(["a;b;c;d;e", *rows]) + end * (seed % 3)
        path = write(tmp_path, f"{name}.csv", text)
        with monkeypatch.context() as patch:
            if name == "hard":
                patch.setattr("ratebound._old.tables.texts.SMALL_TEXT", 10**9)
            tables.append(read_table(path))
    for other in tables[1:]:
        assert len(other) == 200
        for name in "abcd":
            assert tables[0][name].dtype == other[name].dtype
            np.testing.assert_array_equal(tables[0][name], other[name])
            if other[name].dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(tables[0][name]), np.signbit(other[name]))
        assert other.notices == tables[0].notices
    assert set(tables[1]["e"]) == {"x"}
    assert set(tables[3]["e"]) == {'a "; b'}


def test_ragged_lines_are_named_wherever_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("ratebound._old.tables.contents.BLOCK", 64)
    monkeypatch.setattr("ratebound._old.tables.texts.SMALL_TEXT", 0)
    for quote in ("", '"'):
        rows = [f"{quote}{i}{quote},x" for i in range(50)]
        rows[40] += ",more"
        path = write(tmp_path, "t.csv", "\n".join(["a,b", *rows]))
        with pytest.raises(ValueError, match="line 42: 3 cells, but the first line names 2 columns"):
            read_table(path)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_files_are_read_or_refused_by_name(tmp_path, seed):
    """Bytes changed, added and removed at random: a table of columns of one length, or our error."""
    rng = np.random.default_rng(seed)
    whole = [PLAIN.encode(), spelled(";").encode("cp1252"), PLAIN.encode("utf-16")]
    whole += [pack(PLAIN.encode()) for pack in (gzip.compress, bz2.compress, lzma.compress, zipped)]
    letters = b',;\t|"\n\r \xe9\x00\xff\x81._-19ax'
    for _ in range(60):
        data = bytearray(whole[rng.integers(len(whole))])
        for place, letter, kind in rng.integers(0, 2**16, (rng.integers(1, 6), 3)).tolist():
            at = place % len(data)
            data[at : at + (kind % 3 > 0)] = (
                b"" if kind % 3 == 2 else letters[letter % len(letters) :][:1]
            )
        path = write(tmp_path, "t.csv", bytes(data))
        try:
            table = read_table(path)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017  # either of the two is right
        else:
            assert len({len(table[name]) for name in table.columns}) == 1
