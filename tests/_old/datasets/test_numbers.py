"""Files of numbers: to the bit as `float` and NumPy's reader have them, whoever reads them."""

import gzip

import numpy as np
import pytest

from ratebound._old.datasets.files import by_numpy, numbers_of

KINDS = {"code": "U6", "whole": "i4", "label": "?", "wide": "f8"}


def assert_same(text, kinds):
    header = text[: text.index("\n")].split(",")
    expected = by_numpy(text, header, kinds)
    (features, names), columns = numbers_of(text, kinds)
    assert {*names, *columns} == set(header)
    assert features.flags.c_contiguous
    for name, column in {**dict(zip(names, features.T, strict=True)), **columns}.items():
        assert column.dtype == expected[name].dtype
        assert column.tobytes() == expected[name].tobytes(), name


def test_tables_are_read_as_numpy_reads_them():
    pytest.importorskip("pyarrow", reason="NumPy reads them without pyarrow")
    random = np.random.default_rng(0)
    lines = ["real,code,wide,whole,label,small"]
    for _ in range(300):
        real, wide, small = random.normal(size=3) * 10.0 ** random.integers(-6, 6, 3)
        code, whole = random.choice(["AA", "UA", "x", "longer"]), random.integers(-99_999, 99_999)
        label = random.integers(2)
        lines.append(f"{real:.4f},{code},{wide:.{random.integers(0, 17)}f},{whole},{label},{small:.5g}")
    assert_same("\n".join(lines) + "\n", KINDS)
    assert_same("\n".join(lines), KINDS)  # without an end of the last line


@pytest.mark.parametrize("lines", ["1,2\n3\n", "1\n2,3\n", "1,2\n3,a\n"])
def test_what_is_no_table_of_numbers_is_refused(lines):
    with pytest.raises(ValueError, match=r"column|convert"):
        numbers_of(f"a,b\n{lines}", {})


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
