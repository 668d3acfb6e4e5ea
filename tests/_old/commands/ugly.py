"""Ugly tables, each ugly in one way: ``python tests/_old/commands/ugly.py FOLDER`` writes them all.

Behind all of them are the same people. So whatever a file looks like, what is reported about a model
that was trained on it can be counted from the people themselves.
"""

import bz2
import csv
import gzip
import io
import lzma
import sys
import zipfile
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np

ROWS = 120


def people(rows, seed=0):
    """Clean people: the columns that every table has in some form, and the label."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["Female", "Male"], rows)
    age, hours = rng.integers(18, 70, rows), rng.normal(40, 8, rows).round(1)
    yes = 0.08 * (age - 44) + 0.06 * (hours - 40) + (sex == "Male") - 0.5 + rng.logistic(size=rows) > 0
    return {
        "age": age.tolist(),
        "hours": hours.tolist(),
        "sex": sex.tolist(),
        "town": rng.choice(["Paris", "Köln", "Oslo"], rows).tolist(),
        "y": yes.astype(int).tolist(),
    }


def text(columns, sep=",", header=True, quoting=csv.QUOTE_MINIMAL):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=sep, quoting=quoting)
    if header:
        writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def commas(columns):
    return columns | {"hours": [str(value).replace(".", ",") for value in columns["hours"]]}


def zipped(data):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("people.csv", data)
    return packed.getvalue()


def arrow_bytes(columns, kind):
    """The columns as Parquet, as Arrow, or as a packed CSV; raises ImportError without pyarrow."""
    import pyarrow
    from pyarrow import parquet

    if kind == "zst":
        return pyarrow.compress(text(columns).encode(), codec="zstd", asbytes=True)
    table, sink = pyarrow.table(columns), pyarrow.BufferOutputStream()
    if kind == "parquet":
        parquet.write_table(table, sink)
    else:
        with pyarrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


@dataclass(frozen=True)
class Ugly:
    """One table: how its files are made of the people, what to say, and what is then said."""

    name: str
    files: dict  # by their names: functions from columns to bytes or texts
    flags: list = field(default_factory=list)  # for every command
    train: list = field(default_factory=list)  # for training alone
    notice: tuple = ()  # words that training notes
    labels: tuple = (0, 1)
    label: str = "y"
    rows: int = ROWS
    arrow: bool = False  # whether it needs pyarrow

    def columns(self):
        """The people with labels as this table spells them."""
        found = people(self.rows)
        return found | {"y": [self.labels[label] for label in found["y"]]}

    def write(self, folder):
        """Write the files, and return the path or the pattern to give for them."""
        columns = self.columns()
        for name, make in self.files.items():
            content = make(columns)
            Path(folder, name).write_bytes(content if isinstance(content, bytes) else content.encode())
        first = next(iter(self.files))
        return str(Path(folder, first if len(self.files) == 1 else f"{self.name}-*.csv"))


def also(name, values, **settings):
    """A CSV with one more column, whose values are made from the number of the row."""
    files = {f"{name}.csv": lambda c: text(c | {"more": [values(i) for i in range(len(c["y"]))]})}
    return Ugly(name, files, **settings)


def one(name, make, suffix="csv", **settings):
    return Ugly(name, {f"{name}.{suffix}": make}, **settings)


def gaps(columns):
    holes = columns["age"].copy(), columns["town"].copy()
    for row in range(0, len(holes[0]), 7):
        holes[0][row], holes[1][-1 - row] = "", ""
    return columns | {"age": holes[0], "town": holes[1]}


def marks(columns):
    age, hours = columns["age"].copy(), columns["hours"].copy()
    age[3], age[5], hours[7] = "NA", "?", "null"
    return columns | {"age": age, "hours": hours}


def unlabelled(columns):
    y = columns["y"].copy()
    y[2], y[9] = "", ""
    return columns | {"y": y}


def renamed(columns):
    return {"hours per week" if name == "hours" else name: v for name, v in columns.items()}


def halves(part):
    def make(columns):
        rows = slice(0, 50) if part == 0 else slice(50, None)
        ordered = columns if part == 0 else dict(reversed(columns.items()))
        return text({name: values[rows] for name, values in ordered.items()}, sep=",;"[part])

    return make


def waits(rows):
    return [timedelta(minutes=7 * i) for i in range(rows)]


def day(i):
    return date(2020, 1, 1) + timedelta(days=11 * i % 900)


UGLY = [
    one("semicolons", lambda c: text(commas(c), ";"), notice=("decimal points in 'hours'",)),
    one("tabs", lambda c: text(c, "\t"), "tsv"),
    one("bars", lambda c: text(c, "|"), "txt"),
    one("carets", lambda c: text(c, "^"), flags=["--sep", "^"]),
    one("windows", lambda c: text(c).encode("cp1252"), notice=("is read as cp1252",)),
    one("latin", lambda c: text(c).encode("latin-1"), flags=["--encoding", "latin-1"]),
    one("marked", lambda c: text(c).encode("utf-8-sig")),
    one("wide_letters", lambda c: text(c).encode("utf-16")),
    one("gzipped", lambda c: gzip.compress(text(c).encode()), "csv.gz"),
    one("bzipped", lambda c: bz2.compress(text(c).encode()), "csv.bz2"),
    one("xzipped", lambda c: lzma.compress(text(c).encode()), "csv.xz"),
    one("zipped", lambda c: zipped(text(c)), "zip"),
    one("zst", lambda c: arrow_bytes(c, "zst"), "csv.zst", arrow=True),
    one("parquet", lambda c: arrow_bytes(c, "parquet"), "parquet", arrow=True),
    one("arrow", lambda c: arrow_bytes(c, "arrow"), "feather", arrow=True),
    one("nameless", lambda c: text(c, header=False), flags=["--no-header"], label="column5"),
    Ugly("parts", {"parts-1.csv": halves(0), "parts-2.csv": halves(1)}),
    one("blanks", lambda c: text(c, ";").replace(";", " ; ")),
    one("quoted", lambda c: text(c | {"note": ["a, b\nc", 'd "e"'] * 60}, quoting=csv.QUOTE_ALL)),
    one("marks", lambda c: text(marks(c)),
        notice=("1 'NA' in 'age', 1 '?' in 'age', 1 'null' in 'hours'",)),
    one("gaps", lambda c: text(gaps(c)), train=["--require", "positive_rate(missing(town)) >= 0"]),
    one("unlabelled", lambda c: text(unlabelled(c)), flags=["--drop-unlabelled"],
        notice=(f"2 of {ROWS} rows of",)),
    one("good_and_bad", text, labels=("bad", "good"), notice=("yes is y == 'good', and no 'bad'",)),
    one("one_and_two", text, labels=(1, 2), notice=("yes is y == 2, and no 1",)),
    one("spaces_in_names", lambda c: text(renamed(c)),
        train=["--require", 'positive_rate(column("hours per week") > 40) >= 0']),
    one("indexed", lambda c: text({"": range(len(c["y"]))} | c),
        notice=("'Unnamed: 0': left out: an id",)),
    also("empty_column", lambda i: "", notice=("'more': left out: it holds no value",)),
    also("constant", lambda i: "same", notice=("'more': left out: it never varies",)),
    also("dates", lambda i: day(i).isoformat(),
         notice=("'more': read from texts: days since 1970, month, weekday",)),
    also("german_dates", lambda i: day(i).strftime("%d.%m.%Y"),
         notice=("'more': read from texts, day first: days since 1970",)),
    also("moments", lambda i: (datetime(2020, 1, 1) + timedelta(hours=5 * i)).isoformat(" "),
         notice=("'more': read from texts: days since 1970, weekday, hour",)),
    also("mixed_kinds", lambda i: ["low", 1, 2.5][i % 3]),
    also("truth", lambda i: i % 3 == 0),
    also("text_ids", lambda i: f"{i * 2654435761 % 2**32:08x}",
         notice=("'more': left out: almost all values differ",)),
    also("many_texts", lambda i: f"k{i % 130}", rows=400, notice=("'more': categories, the 100 most",)),
    also("codes", lambda i: i % 4 + 10, train=["--categorical", "more"]),
    one("durations", lambda c: arrow_bytes(c | {"more": waits(len(c["y"]))}, "parquet"), "parquet",
        arrow=True),
]  # fmt: skip


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for table in UGLY:
        print(table.write(target), *table.flags, *table.train)
