"""Documents before they have a format: paragraphs, tables, verdicts and charts, as plain data.

Audits, certificates, monitors, explanations, plans and inspections each make a `Document`, and
`rendering` writes it as text, HTML, Markdown or JSON. A document defines the content, not its look.
Each number names its place in the document's data, from which JSON is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ratebound._old.base.layout import NOTHING, TOLD, number

State = Literal["", "kept", "uncertain", "broken", "unmeasured", "nothing"]
Range = tuple[float, float]


# --- what a table cell or a sentence may hold --------------------------------------------------------


@dataclass(frozen=True)
class Datum:
    """A number as it is shown, its exact value, and its place in the document's data."""

    value: float | None
    shown: str
    at: str = ""
    sign: str = ""  # shown before it, such as >=


@dataclass(frozen=True)
class Quoted:
    """Words exactly as they were written, such as a constraint or the name of a column."""

    words: str
    formula: bool = False


@dataclass(frozen=True)
class Standing:
    """The status of something, in a word or two."""

    words: str
    state: State = ""


@dataclass(frozen=True)
class Whisker:
    """A number and its interval, which pages draw on an axis that holds 0, the bound."""

    shown: str  # the interval
    label: str  # a description for readers who cannot see the drawing
    axis: Range
    value: float | None
    ends: Range | None
    state: State = ""
    method: str = ""


@dataclass(frozen=True)
class Bar:
    """A rate, which pages draw from 0 to 1 beside the rate over all rows."""

    rate: Datum
    reference: float | None = None


# If a cell is a tuple, the first is its value and the others explain it.
Cell = str | Datum | Quoted | Standing | Whisker | Bar | tuple["Cell", ...]
Row = tuple[Cell, ...]


def rate(
    value: float | None,
    at: str = "",
    *,
    signed: bool = False,
    beside: float | None = None,
    sign: str = "",
    broken: bool = False,
) -> Datum:
    """A rate, with enough digits to tell it from the number `beside` it, however near if `broken`."""
    told = 0.0 if broken else TOLD
    return Datum(value, number(value, signed=signed, beside=beside, told=told), at, sign)


def count(value: int | None, at: str = "") -> Datum:
    """A whole number."""
    return Datum(value, NOTHING if value is None else f"{value:,}", at)


def capital(words: str) -> str:
    """The same words with a capital first letter."""
    return words[:1].upper() + words[1:]


def words_of(cell: Cell) -> str:
    """A cell as words alone.

    >>> words_of((rate(0.9, sign=">="), "of all"))
    '>= 0.9000 of all'
    """
    match cell:
        case str():
            return cell
        case tuple():
            return " ".join(filter(None, map(words_of, cell)))
        case Datum():
            return f"{cell.sign} {cell.shown}" if cell.sign else cell.shown
        case Bar():
            return cell.rate.shown
        case Whisker():
            return cell.shown
    return cell.words


# --- the parts of a document -------------------------------------------------------------------------


@dataclass(frozen=True)
class Paragraph:
    """A few sentences; a tuple of words and numbers if it contains numbers."""

    words: Cell
    apart: bool = True  # whether a text has an empty line before it


@dataclass(frozen=True)
class Remark:
    """How to read a table or a chart, in small print; the text format, meant for a glance, omits it."""

    words: str


@dataclass(frozen=True)
class Bullets:
    """A list; `short` if its items are a word or two each."""

    items: tuple[Cell, ...]
    short: bool = False


@dataclass(frozen=True)
class Fact:
    """One of the numbers that readers ask for first, with its name."""

    name: str
    value: Cell
    below: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column, and what its cells are; drawings are numbers in formats without drawings."""

    words: str
    kind: Literal["words", "number", "drawing", "verdict"] = "number"

    @property
    def numeric(self) -> bool:
        """Whether its cells are numbers in the text format."""
        return self.kind in ("number", "drawing")

    @property
    def title(self) -> str:
        """The head of a page's table, which begins with a capital."""
        return capital(self.words or "verdict" * (self.kind == "verdict"))


def heads(first: str, *others: str | Head) -> tuple[Head, ...]:
    """The heads of a table: words in the first column, numbers in the others by default."""
    return (Head(first, "words"), *(Head(o) if isinstance(o, str) else o for o in others))


@dataclass(frozen=True)
class ReportTable:
    """A table; the first cell of a row is its head."""

    caption: str
    heads: tuple[Head, ...]
    rows: tuple[Row, ...]
    apart: bool = True  # whether a text has an empty line before it
    ruled: bool = True  # whether a text has a line below the heads
    sortable: bool = False  # whether pages let readers sort it
    stacked: bool = False  # whether each row becomes a list on narrow screens


@dataclass(frozen=True)
class ChartMark:
    """A point that a chart points out."""

    kind: Literal["solution", "audited"]
    x: float
    y: float
    words: str


@dataclass(frozen=True)
class Chart:
    """Curves or points over two axes, as numbers; the label says in words what they show."""

    label: str
    x: str
    y: str
    x_range: Range
    y_range: Range
    curves: tuple[tuple[Sequence[float], Sequence[float]], ...] = ()
    points: tuple[Sequence[float], Sequence[float]] = ((), ())
    marks: tuple[ChartMark, ...] = ()
    bands: tuple[tuple[float, float, Literal["never", "certified"]], ...] = ()  # shaded, along x
    bound: float | None = None  # a line at this x
    zero: bool = False  # whether there is a line at y = 0
    caption: tuple[Cell, ...] = ()
    at: str = ""  # the place of its numbers in the document's data
    movable: bool = False  # whether readers of a page may move along its curve


@dataclass(frozen=True)
class Dot:
    """One number of a chart of dots: its interval, and the bound or the number that it is beside."""

    words: str
    shown: str  # the number, and what it is beside
    value: float
    ends: Range | None = None
    bound: float | None = None
    state: State = ""
    at: str = ""  # the place of its numbers in the document's data


@dataclass(frozen=True)
class Panel:
    """Dots on one axis."""

    title: str
    dots: tuple[Dot, ...]
    axis: Range


@dataclass(frozen=True)
class DotChart:
    """Numbers with their intervals, one below the other; a text has its label alone."""

    label: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Conclusion:
    """The conclusion. A page shows it first; a text shows it last, just above the prompt."""

    summary: str
    state: State = ""
    headline: str = ""
    notes: tuple[str, ...] = ()  # to read with it


@dataclass(frozen=True)
class Section:
    """Parts under a title; a page links to them by name."""

    title: str
    parts: tuple[Part, ...]
    name: str = ""
    folded: bool = False  # whether a page shows its title alone until it is opened, or printed
    fresh: bool = False  # whether a sheet of paper begins with it


Part = Paragraph | Remark | Bullets | Fact | ReportTable | Chart | DotChart | Conclusion | Section


@dataclass(frozen=True)
class Document:
    """All that there is to read about something: parts for people, data for programs."""

    title: str
    lead: str  # its subject, in one line
    parts: tuple[Part, ...]
    data: Callable[[], dict[str, Any]]  # plain types; computed on demand
    conclusion: Conclusion | None = None
    footer: str = ""

    @property
    def tables(self) -> Iterator[ReportTable]:
        """Every table, in the order of reading."""
        return _tables(self.parts)


def _tables(parts: Sequence[Part]) -> Iterator[ReportTable]:
    for part in parts:
        if isinstance(part, ReportTable):
            yield part
        elif isinstance(part, Section):
            yield from _tables(part.parts)
