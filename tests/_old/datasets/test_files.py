"""Files in a folder: the right one is read, and anything else is an error that says what to do."""

import gzip
import hashlib
from io import StringIO

import numpy as np
import pytest

from ratebound._old.datasets.files import DataFile, columns_of

from ..extras import pd

CONTENT = b"slack,carrier,label\n1.5,AA,0\n-2,UA,1\n"
FILE = DataFile(
    name="toy.csv.gz",
    holds="two toy rows",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    remedy="Ask the toy maker.",
)


@pytest.mark.parametrize("level", [1, 9])
def test_the_content_counts_and_not_who_compressed_it(tmp_path, level):
    (tmp_path / "toy.csv.gz").write_bytes(gzip.compress(CONTENT, level))
    assert FILE.read(tmp_path) == CONTENT.decode()
    assert FILE.read(str(tmp_path)) == CONTENT.decode()


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere.*two toy rows.*Ask the toy maker"):
        FILE.read(tmp_path / "nowhere")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"no file .*toy\.csv\.gz.*two toy rows.*Ask the toy maker"
    ):
        FILE.read(tmp_path)


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(CONTENT)[:-12],
        gzip.compress(CONTENT)[:15],
        CONTENT,
        b"",
        gzip.compress(CONTENT)[:12] + b"\xff" * 30,
    ],
    ids=["cut-at-the-end", "cut-early", "not-compressed", "empty", "garbled"],
)
def test_a_broken_file_is_refused(tmp_path, packed):
    (tmp_path / "toy.csv.gz").write_bytes(packed)
    with pytest.raises(ValueError, match=r"toy\.csv\.gz .*Ask the toy maker"):
        FILE.read(tmp_path)


def test_one_changed_cell_is_refused(tmp_path):
    (tmp_path / "toy.csv.gz").write_bytes(gzip.compress(CONTENT.replace(b"AA", b"AB")))
    with pytest.raises(ValueError, match=f"two toy rows.*expected {FILE.sha256}"):
        FILE.read(tmp_path)


def test_tables_are_read_as_pandas_reads_them():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "real": random.normal(size=200).round(4),
            "whole": random.integers(-50, 50, 200),
            "code": random.choice(["AA", "UA"], 200),
            "label": random.integers(0, 2, 200),
        }
    )
    text = frame.to_csv(index=False)
    back = pd.read_csv(StringIO(text))
    table = columns_of(text)
    assert list(table) == list(frame)
    np.testing.assert_array_equal(table["code"], back["code"].to_numpy(dtype=str))
    np.testing.assert_array_equal(table["whole"], back["whole"])
    np.testing.assert_array_equal(table["label"], back["label"])
    np.testing.assert_allclose(table["real"], back["real"], rtol=1e-6)
