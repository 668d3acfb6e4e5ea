"""Texts are read alike by pyarrow and by the csv module, whatever batches they come in."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ratebound._old.tables.table import read_table
from ratebound._old.tables.texts import Reading

pytest.importorskip("pyarrow")

NUMBERS = [
    "0",
    "1",
    "-1",
    "12",
    "-0",
    "0.5",
    "-0.0",
    "1.",
    ".5",
    "-.5",
    "1e5",
    "2E-3",
    "123456789012345",
]
MISSING = ["", "NA", "n/a", "NaN", "nan", "?", "-", ".", " ", "None"]
CODES = ["007", "-01", "+00", "0x10", "0X1f", "1_0", "1_000.5", "00.5", " 012"]
ODD = [
    "+1", " 1", "1 ", "\t2", "\u00a03", "+2.5", "inf", "-Infinity", "nan(1)", "+nan", "1e400", "1e-400",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "9" * 30, f"1{10**20}.0",
    "0.1234567890123456789", "12345678.87654321", "１２", "1,5", "1,234", "1,234.50", "0,5", ",",
]  # fmt: skip
AMOUNTS = ["$5", "$1,200.50", "-$3", "12%", "7 EUR", "EUR 8", "1,250", "3"]
TEXTS = [
    "a", "é", "a b", " a", "a ", 'say "hi"', "two\nlines", "two\r\nlines", "a;b", "a,b", "2024-01-31",
    "1-", "--1", "1.2.3", "x\x1f", "\u2028", "ß" * 30,
]  # fmt: skip
POOLS = [NUMBERS, MISSING, CODES, ODD, AMOUNTS, TEXTS]
ALL = [cell for pool in POOLS for cell in pool]


def column(rng, rows):
    """Some cells of one kind or of two, and perhaps a rare one of any."""
    kinds = rng.choice(len(POOLS), rng.integers(1, 3))
    cells = rng.choice([cell for kind in kinds for cell in POOLS[kind]], rng.integers(1, 5))
    rare = rng.random(rows) < rng.choice([0, 0.05])
    return np.where(rare, rng.choice(ALL), rng.choice(cells, rows)).tolist()


def random_text(seed):
    """A table as a text, written in one of the ways that people write them, and its separator."""
    rng = np.random.default_rng(seed)
    rows, width = rng.integers(1, 26), rng.integers(1, 5)
    sep, quoting = rng.choice(list(",;\t|")), rng.choice(["where needed", "all", "texts", "never"])
    blank, end = rng.choice(["", "", "", " "]), rng.choice(["\n", "\n", "\r\n", "\r"])

    def written(cell):
        needed = any(letter in cell for letter in f'{sep}"\r\n')
        is_text = not cell[:1].isdigit()
        if quoting == "all" or (quoting != "never" and (needed or (quoting == "texts" and is_text))):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    cells = [column(rng, rows) for _ in range(width)]
    lines = [sep.join(f"{blank}{written(cell)}" for cell in row) for row in zip(*cells, strict=True)]
    for place in rng.integers(0, rows, rng.choice([0, 0, 1, 2])):
        lines.insert(place, rng.choice(["", "", " ", "x", 'a "b" c', '"']))
    names = sep.join(f"n{place}" for place in range(width))
    return end.join([names, *lines]) + str(end) * int(rng.integers(3)), str(sep)


def table_of(path, reading):
    """What a file holds, or the error that it is refused with."""
    try:
        table = read_table(path, reading=reading)
    except ValueError as error:
        return str(error)
    columns = {}
    for name in table.columns:
        values = table[name]
        signs = np.signbit(values).tolist() if values.dtype.kind == "f" else None
        columns[name] = values.dtype.str, list(map(repr, values.tolist())), signs
    return columns, table.notices


def both_ways(data, sep, block, batch):
    """What pyarrow and the csv module read, in blocks of so many bytes and batches of so many rows."""
    reading = Reading(sep=sep, header=True)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "t.csv"
        path.write_bytes(data)
        by_csv = table_of(path, reading)
        patch.setattr("ratebound._old.tables.texts.BATCH", batch)
        assert table_of(path, reading) == by_csv
        patch.setattr("ratebound._old.tables.contents.BLOCK", block)
        patch.setattr("ratebound._old.tables.texts.SMALL_TEXT", 0)
        return table_of(path, reading), by_csv


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32).map(random_text),
    st.sampled_from([16, 64, 1 << 20]),
    st.sampled_from(["utf-8", "utf-8-sig", "cp1252"]),
)
@example(("a,b\n1,+1\n2,+2\n", ","), 1 << 20, "utf-8")
@example(("a,b\n0x10,1e5\n0x11,-1e-05\n", ","), 1 << 20, "utf-8")
@example(("a;b\n 1;1,5\n2 ;NA\n", ";"), 1 << 20, "utf-8")
@example(('a,b\n"x\ny","1"\n"say ""hi""","007"\n', ","), 16, "utf-8")
@example(("a,b\n,\n,\n", ","), 1 << 20, "utf-8")
@example(("a,b\nNaN,9223372036854775808\n,2.5\n", ","), 16, "utf-8")
def test_both_ways_to_read_agree(text, block, encoding):
    written, sep = text
    by_arrow, by_csv = both_ways(written.encode(encoding, "replace"), sep, block, 3)
    assert by_arrow == by_csv


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text(',,"\n\r 01.-ax_é\0', max_size=60), st.sampled_from([8, 1 << 20]))
def test_both_ways_agree_on_noise(noise, block):
    by_arrow, by_csv = both_ways(f"a,b\n1,2\n{noise}".encode(), ",", block, 3)
    assert by_arrow == by_csv
