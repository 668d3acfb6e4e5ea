"""What people read, before it has a format: paragraphs, tables, verdicts and charts, as plain data.

Audits, certificates, monitors, explanations, plans and inspections each make a `Document`, and
`rendering` writes any of them as text, HTML, Markdown or JSON. A document says what there is to read,
not how it looks. A number says where the document's data, which JSON is made of, has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ratebound.base.layout import NOTHING, number

State = Literal["", "kept", "uncertain", "broken", "unmeasured", "nothing"]
Range = tuple[float, float]


# --- what stands in a table or in a sentence ---------------------------------------------------------


@dataclass(frozen=True)
class Datum:
    """A number as it is shown, its exact value, and the place in the document's data that has it."""

    value: float | None
    shown: str
    at: str = ""
    sign: str = ""  # that stands before it, such as >=


@dataclass(frozen=True)
class Quoted:
    """Words exactly as they were written, such as a constraint or the name of a column."""

    words: str
    formula: bool = False


@dataclass(frozen=True)
class Standing:
    """How something stands, in a word or two."""

    words: str
    state: State = ""


@dataclass(frozen=True)
class Whisker:
    """A number and its interval, which pages draw on an axis that holds 0, the bound."""

    shown: str  # the interval
    label: str  # all of it in words, for those who cannot see the drawing
    axis: Range
    value: float | None
    ends: Range | None
    state: State = ""
    method: str = ""


@dataclass(frozen=True)
class Bar:
    """A rate, which pages draw from 0 to 1 beside everyone's."""

    rate: Datum
    reference: float | None = None


# Of several cells in one, the first counts and the others explain it.
Cell = str | Datum | Quoted | Standing | Whisker | Bar | tuple["Cell", ...]
Row = tuple[Cell, ...]


def rate(
    value: float | None,
    at: str = "",
    *,
    signed: bool = False,
    beside: float | None = None,
    sign: str = "",
) -> Datum:
    """A rate, with as many digits as tell it from the one `beside` it."""
    return Datum(value, number(value, signed=signed, beside=beside), at, sign)


def count(value: int | None, at: str = "") -> Datum:
    """A whole number."""
    return Datum(value, NOTHING if value is None else f"{value:,}", at)


def capital(words: str) -> str:
    """The same words as a sentence or a title begins."""
    return words[:1].upper() + words[1:]


def words_of(cell: Cell) -> str:
    """A cell in words alone.

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
    """A sentence or a few; where numbers stand among its words, a tuple of them all."""

    words: Cell
    apart: bool = True  # whether a text has an empty line before it


@dataclass(frozen=True)
class Remark:
    """How a table or a chart is to be read, in small print; a text, which is for a glance, has none."""

    words: str


@dataclass(frozen=True)
class Bullets:
    """A list; `short` where its items are a word or two each."""

    items: tuple[Cell, ...]
    short: bool = False


@dataclass(frozen=True)
class Fact:
    """One of the numbers that people ask for first, by its name."""

    name: str
    value: Cell
    below: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column, and what its cells are; drawings are numbers where they are not drawn."""

    words: str
    kind: Literal["words", "number", "drawing", "verdict"] = "number"

    @property
    def numeric(self) -> bool:
        """Whether its cells are numbers in a text."""
        return self.kind in ("number", "drawing")

    @property
    def title(self) -> str:
        """The head of a page's table, which begins with a capital."""
        return capital(self.words or "verdict" * (self.kind == "verdict"))


def heads(first: str, *others: str | Head) -> tuple[Head, ...]:
    """The heads of a table: of words at the left, and of numbers unless they say otherwise."""
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
class Conclusion:
    """What it comes to. A page has it first; a text has it last, where the eye is."""

    summary: str
    state: State = ""
    headline: str = ""
    notes: tuple[str, ...] = ()  # that are to be read with it


@dataclass(frozen=True)
class Section:
    """Parts under a title; those of a page are found by their name."""

    title: str
    parts: tuple[Part, ...]
    name: str = ""


Part = Paragraph | Remark | Bullets | Fact | ReportTable | Chart | Conclusion | Section


@dataclass(frozen=True)
class Document:
    """All that there is to read of something, for people in parts and for programs as data."""

    title: str
    lead: str  # what it is about, in a line
    parts: tuple[Part, ...]
    data: Callable[[], dict[str, Any]]  # plain types; worked out when they are asked for
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
