"""Numbers read eight characters at a time: to the bit as `float` and NumPy's reader have them."""

import gzip
from io import StringIO

import numpy as np
import pytest

from ratebound.datasets import cells
from ratebound.datasets.cells import numbers_of

KINDS = {"code": "U3", "whole": "i4", "label": "?", "wide": "f8"}


def loaded(text, kinds):
    """The columns of a CSV as `np.loadtxt` reads them."""
    header = text[: text.index("\n")].split(",")
    dtype = np.dtype([(name, kinds.get(name, "f4")) for name in header])
    rows = np.loadtxt(StringIO(text), dtype, delimiter=",", skiprows=1, comments=None, ndmin=1)
    return {name: rows[name] for name in header}


def assert_same(text, kinds):
    expected = loaded(text, kinds)
    (features, names), columns = numbers_of(text, kinds)
    assert {*names, *columns} == set(expected)
    assert list(columns) == [name for name in expected if name in kinds]
    assert features.flags.c_contiguous
    for name, column in {**dict(zip(names, features.T, strict=True)), **columns}.items():
        assert column.dtype == expected[name].dtype
        assert column.tobytes() == expected[name].tobytes(), name


def one_column(texts):
    return numbers_of("\n".join(["wide", *texts]), {"wide": "f8"})[1]["wide"]


@pytest.mark.parametrize("block", [cells.BLOCK, 64, 1], ids=["one-block", "some-lines", "each-line"])
def test_tables_are_read_as_numpy_reads_them(monkeypatch, block):
    monkeypatch.setattr(cells, "BLOCK", block)
    random = np.random.default_rng(0)
    lines = ["real,code,wide,whole,label,small"]
    for _ in range(300):
        real, wide, small = random.normal(size=3) * 10.0 ** random.integers(-6, 6, 3)
        code, whole = random.choice(["AA", "UA", "x", "longer"]), random.integers(-99_999, 99_999)
        label = random.integers(2)
        lines.append(f"{real:.4f},{code},{wide:.{random.integers(0, 9)}f},{whole},{label},{small:.5g}")
    assert_same("\n".join(lines) + "\n", KINDS)
    assert_same("\n".join(lines), KINDS)  # without an end of the last line


def test_numbers_of_every_length_are_those_of_float():
    random = np.random.default_rng(0)
    texts = [
        f"{sign}{whole}{point}{digits}"
        for before in range(1, 12)
        for after in range(12)
        for sign in ("", "-")
        for whole in map(str, random.integers(0, 10**before, 3))
        for point, digits in [(".", f"{random.integers(0, 10**after):0{after}d}") if after else ("", "")]
    ]
    found = one_column(texts)
    np.testing.assert_array_equal(found, [float(text) for text in texts])


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "00012", "5.", ".5", "-.25", "+3", "1e-05", "-1.5E+3", " 7", "7 ", "nan", "-inf", "0.1",
     "123456789012345", "1234567890.12345", "0.00000000000000000000001", "99999999", "9999999.9",
     "999999999999999999999999", "0.30000000000000004", "8.7\r"],
)  # fmt: skip
def test_every_way_to_write_a_number(text):
    (found,) = one_column([text])
    assert found.tobytes() == np.float64(text).tobytes()


@pytest.mark.parametrize(
    "text", ["", "-", ".", "-.", "1.2.3", "1-2", "--1", "1/2", "12345678.1.2", "1.2345678.1", "a", "0x1"]
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="float"):
        one_column([f"{text}", "1"])


@pytest.mark.parametrize("lines", ["1,2\n3\n", "1\n2,3\n", "1,2\n3,4,5\n6\n", "1,2,3\n", "1,2\n\n"])
def test_lines_of_other_lengths_are_refused(lines):
    with pytest.raises(ValueError, match="more or fewer than 2 cells"):
        numbers_of(f"a,b\n{lines}", {})


def test_a_table_without_lines():
    (features, names), columns = numbers_of("a,b\n", {"b": "i4"})
    assert (features.shape, names, columns["b"].shape) == ((0, 1), ("a",), (0,))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("patentsview_pairs.csv.gz", {"pair_id": "i4", "country": "U5", "inventor": "i4", "label": "?"}),
        ("patentsview_noisy_steering.csv.gz", {"part": "U8", "label": "?", "noisy_label": "?"}),
        ("flights_map_intent.csv.gz", {"date": "U10", "carrier": "U2", "label": "?"}),
        ("sba_filtering.csv.gz", {"region": "i4", "label_real": "f4", "label": "?"}),
    ],
)
def test_the_files_are_read_as_numpy_reads_them(folder_with, name, kinds):
    with gzip.open(folder_with(name) / name, "rt") as file:
        text = "".join(line for _, line in zip(range(20_000), file, strict=False))
    assert_same(text, kinds)
