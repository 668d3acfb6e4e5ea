"""How training will treat each column of a table, shown before anything is trained.

Fitting follows the same treatments; here they are shown beside a few values of each column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ratebound._old.base import document as doc
from ratebound._old.base.layout import printable
from ratebound._old.base.rendering import Documented
from ratebound._old.problem.frames import as_array, frame_columns
from ratebound._old.problem.population import Population
from ratebound._old.problem.rows import Rows
from ratebound._old.tables.column_statistics import ColumnStatistics, statistics_of
from ratebound._old.tables.columns import Name
from ratebound._old.tables.fitting import column_statistics
from ratebound._old.tables.kinds import ColumnValues, as_texts, read_cells
from ratebound._old.tables.parquet import Parquet
from ratebound._old.tables.table import Table, read_table
from ratebound._old.tables.treatments import Features, Treatment, as_features, planned, treatment_to_json

HOLDS, EXAMPLES, DONE = (doc.Head(each, "words") for each in ("Holds", "Examples", "What is done"))
HEADS = doc.heads("Column", HOLDS, "Missing", "Distinct", EXAMPLES, DONE)
LOOKED_AT = 1000  # rows that are searched for examples
SHOWN, LONGEST = 3, 12  # examples of a column, and characters of each


@dataclass(frozen=True)
class Inspection(Documented):
    """How training will treat each column of a table. Print it, or take it as a dictionary or a page.

    `inspect` makes it.

    Parameters
    ----------
    name : str
        The table's name.
    rows : int
        The number of its rows.
    treatments : tuple of Treatment
        For each column: what it holds, how many values are missing and distinct, and what is done.
    examples : tuple of tuple of str
        A few values of each column.
    notices : tuple of str, default=()
        What was detected when a file was read, such as its separator. By default nothing.

    Examples
    --------
    >>> import pandas, ratebound._old as rb
    >>> shown = rb.inspect(pandas.DataFrame({"age": [20, 40, 30]}))
    >>> shown, shown.treatments[0].words
    (Inspection(3 rows, 1 columns), 'a number')
    """

    name: str
    rows: int
    treatments: tuple[Treatment, ...]
    examples: tuple[tuple[str, ...], ...]
    notices: tuple[str, ...] = ()

    def document(self) -> doc.Document:
        pairs = enumerate(zip(self.treatments, self.examples, strict=True))
        rows = tuple(_row(*pair, f"columns/{place}") for place, pair in pairs)
        table = doc.ReportTable("Every column", HEADS, rows, sortable=True, stacked=True)
        notices = (doc.Paragraph(words, apart=False) for words in self.notices)
        lead = f"{self.name}: {self.rows:,} rows"
        return doc.Document(f"Columns of {self.name}", lead, (*notices, table), self.to_dict)

    def __repr__(self) -> str:
        return f"Inspection({self.rows:,} rows, {len(self.treatments)} columns)"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types: texts, truth values, numbers and None.

        Returns
        -------
        dict
            The table's name, rows and notices, and a dictionary for each column.
        """
        columns = [
            treatment_to_json(treatment) | {"examples": list(examples)}
            for treatment, examples in zip(self.treatments, self.examples, strict=True)
        ]
        table = {"name": self.name, "rows": self.rows, "notices": list(self.notices)}
        return {**table, "columns": columns}


def inspect(
    X: Any, features: Features | Sequence[Name] | None = None, label: Name | None = None
) -> Inspection:
    """Show how training will treat each column of a table: read, encoded or left out, and why.

    Parameters
    ----------
    X : DataFrame, array, Population, str or Path
        A table, or a file with one. For a population, such as `Parquet`, it shows the columns that the
        model or constraints use; `Rows` of any source are read once, piece by piece.
    features : Features or sequence, default=None
        What the model may see, as for `RateConstrainedClassifier`. By default all columns.
    label : str or int, default=None
        The column of labels. By default no column holds labels.

    Returns
    -------
    Inspection
        Print it, or show it in a notebook.

    Raises
    ------
    ValueError
        If `label` or `features` name a column that does not exist.

    Examples
    --------
    >>> import pandas, ratebound._old as rb
    >>> people = pandas.DataFrame({"age": [20, 40, 30], "sex": ["Female", "Male", None]})
    >>> print(rb.inspect(people.assign(country="NO")))
    the table: 3 rows
    <BLANKLINE>
    Column   Holds    Missing  Distinct  Examples      What is done
    ────────────────────────────────────────────────────────────────────────────
    age      numbers        0         3  20, 40, 30    a number
    sex      texts          1         2  Female, Male  categories
    country  texts          0         1  NO            left out: it never varies
    """
    wanted = as_features(features)
    if isinstance(X, Rows):
        return _inspected_in_pieces(X, wanted, label)
    table, name = X, "the table"
    others: dict[Name, Any] = {}
    notices: tuple[str, ...] = ()
    if isinstance(X, str | Path):
        table = read_table(X)
        name, notices = table.name, table.notices
    elif isinstance(X, Population):
        table, others, name = X.X, X.columns, "the population"
    own = {} if table is None else _columns(table)
    wanted, columns = _less(wanted, others, own, table), own | others
    known, examples = {}, {}
    for each, values in columns.items():
        cells = read_cells(values)
        known[each] = statistics_of(cells, categorical=each in wanted.categorical)
        examples[each] = _examples(cells)
    shown = _inspected(known, examples, len(X if table is None else table), wanted, label, name)
    return replace(shown, notices=notices)


def _less(wanted: Features, others: Iterable[Name], own: Collection[Name], table: Any) -> Features:
    """The features without columns that only constraints use, unless they name their columns."""
    if wanted.only is not None:
        return wanted
    if not frame_columns(table):  # an array: all features are used
        return replace(wanted, only=list(own))
    hidden = [name for name in others if name not in own and name not in wanted.exclude]
    return replace(wanted, exclude=[*wanted.exclude, *hidden])


def _inspected(
    known: Mapping[Name, ColumnStatistics],
    examples: Mapping[Name, tuple[str, ...]],
    rows: int,
    wanted: Features,
    label: Name | None,
    name: str,
) -> Inspection:
    """The inspection of columns with these statistics."""
    if label is not None and label not in known:
        there = printable(", ".join(map(str, known)), "")
        raise ValueError(f"there is no label column {label!r}; the columns are {there}")
    seen = [each for each in wanted.chosen(list(known)) if each != label]
    treatments = []
    for each, own in known.items():
        treatment = planned(each, own, named=wanted.only is not None).treatment
        if each not in seen:
            words = "the label" if each == label else "left out: not among the features"
            treatment = replace(treatment, action="left out", words=words, unusual=False)
        treatments.append(treatment)
    return Inspection(name, rows, tuple(treatments), tuple(examples.values()))


def _inspected_in_pieces(rows: Rows, wanted: Features, label: Name | None) -> Inspection:
    """The inspection of rows that are read in pieces, in one pass."""
    name = "the population"
    if isinstance(rows, Parquet):
        name = rows.groups.name
        if label not in rows.column_names and label in rows.groups.names:
            label = None  # the population already has its label
    table = rows.X
    own: list[Any] = [] if table is None else frame_columns(table) or list(range(table.shape[1]))
    others = [each for each in rows.column_names if each not in own]
    wanted = _less(wanted, others, own, table)
    examples: dict[Name, tuple[str, ...]] = {}

    def pieces() -> Iterator[tuple[Any, None]]:
        for piece in rows.pieces(others, inputs=bool(own)):
            columns = (_columns(piece.X) if own else {}) | {each: piece.columns[each] for each in others}
            if not examples:
                examples.update({each: _examples(read_cells(columns[each])) for each in columns})
            yield Table(columns), None

    categorical = [each for each in wanted.categorical if each in (*own, *others)]
    known, size = column_statistics(pieces(), Features(categorical=categorical), coded=True)
    return _inspected(known, examples, size, wanted, label, name)


def _columns(table: Any) -> dict[Name, Any]:
    """The columns of a table by name, or the features of an array by position."""
    if names := frame_columns(table):
        return {name: table[name] for name in names}
    values = as_array(table)
    if values.ndim != 2:
        raise ValueError(f"inspect takes a table, a file or rows of features, got shape {values.shape}")
    return dict(enumerate(values.T))


def _examples(cells: ColumnValues) -> tuple[str, ...]:
    """The first few distinct values, shortened."""
    if cells.holds == "objects":
        return ()
    first = as_texts(cells.only(slice(LOOKED_AT)))
    assert first.levels is not None
    places = dict.fromkeys(first.values[first.values >= 0].tolist())
    texts = [" ".join(first.levels[place].split()) for place in list(places)[:SHOWN]]  # on one line
    return tuple(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…" for text in texts)


def _row(treatment: Treatment, examples: Sequence[str], at: str) -> doc.Row:
    return (
        doc.Quoted(str(treatment.name)),
        treatment.holds,
        doc.count(treatment.missing, f"{at}/missing"),
        doc.count(treatment.distinct, f"{at}/distinct"),
        ", ".join(examples),
        treatment.words,
    )
