"""Drawings of documents, each one SVG element in the page's colours.

Whiskers and bars are small and go in table cells, where the words beside them can wrap. Charts have
their own axes.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ratebound._old.base.document import Bar, Chart, Dot, DotChart, Panel, Range, Whisker
from ratebound._old.base.markup import Markup, tag

WIDTH = 336  # of a chart
LETTERS = 46  # on a line of the chart of dots, so that it fits a telephone


def whisker(drawn: Whisker, width: int = 190, height: int = 20) -> Markup:
    """A number with its interval; the line is the bound, the shaded side keeps the promise."""
    low, high = drawn.axis
    y = height / 2

    def x(value: float) -> float:
        return 6 + (min(max(value, low), high) - low) / (high - low) * (width - 12)

    zero = x(0.0)
    parts = [
        tag("rect", x=zero, y=0, width=width - zero, height=height, class_="room"),
        tag("line", x1=zero, x2=zero, y1=0, y2=height, class_="bound"),
    ]
    if drawn.ends is not None:
        first, last = map(x, drawn.ends)
        parts.append(tag("line", x1=first, x2=last, y1=y, y2=y, class_="whisker"))
        parts += [
            tag("line", x1=x(end), x2=x(end), y1=y - 5, y2=y + 5, class_="whisker")
            for end in drawn.ends
            if low <= end <= high
        ]
    if drawn.value is not None:
        parts.append(tag("circle", cx=x(drawn.value), cy=y, r=4.5, class_="dot"))
    return _svg(width, height, parts, drawn.label, drawn.state, data_tip=drawn.label)


def bar(drawn: Bar, width: int = 104) -> Markup:
    """A rate from 0 to 1; the tick is the rate over all rows."""
    value, reference = drawn.rate.value, drawn.reference
    parts = [tag("rect", x=0, y=3, width=width, height=8, rx=2, class_="track")]
    if value is not None:
        parts.append(tag("rect", x=0, y=3, width=width * value, height=8, rx=2, class_="bar"))
    if reference is not None:
        x = min(max(width * reference, 1.0), width - 1.0)
        parts.append(tag("line", x1=x, x2=x, y1=0, y2=14, class_="tick"))
    said = "no value" if value is None else f"{value:.4f}"
    said += "" if reference is None else f"; everyone {reference:.4f}"
    return _svg(width, 14, parts, said, data_tip=said)


def dots(drawn: DotChart) -> Markup:
    """Dots with their intervals, one below the other, each under its words; a drawing for each panel.

    Places along the axis are shares of the width, so that letters keep their size on narrow screens.
    """
    return Markup("".join(map(_panel, drawn.panels)))


def _panel(panel: Panel) -> Markup:
    low, high = panel.axis
    top = 26.0

    def x(value: float) -> str:
        return f"{2 + 96 * (min(max(value, low), high) - low) / (high - low):.2f}%"

    rows, y = [], top
    for dot in panel.dots:
        row, y = _dot(dot, x, y)
        rows.append(row)
    grid = []
    for value in ticks(low, high, 5):
        grid.append(tag("line", x1=x(value), x2=x(value), y1=top, y2=y, class_="grid"))
        grid.append(tag("text", f"{value:,.4g}", x=x(value), y=y + 16, text_anchor="middle"))
    title = tag("text", panel.title, x=0, y=top - 10, class_="label")
    said = f"{panel.title}: {'; '.join(f'{dot.words}: {dot.shown}' for dot in panel.dots)}"
    return tag(
        "svg",
        *(title, *grid, *rows),
        width="100%",
        height=y + 24,
        role="img",
        aria_label=said,
        class_="dots",
    )


def _dot(dot: Dot, x: Callable[[float], str], y: float) -> tuple[Markup, float]:
    words = textwrap.wrap(dot.words, LETTERS) or [""]
    apart = len(words[-1]) + len(dot.shown) + 2 > LETTERS  # so the number has a line of its own
    parts = []
    for line in words:
        y += 15
        parts.append(tag("text", line, x=0, y=y, class_="words"))
    y += 15 * apart
    right = {"x": 0} if apart else {"x": "100%", "text_anchor": "end"}
    parts.append(tag("text", dot.shown, y=y, **right))
    y += 11
    if dot.ends is not None:
        first, last = map(x, dot.ends)
        parts.append(tag("line", x1=first, x2=last, y1=y, y2=y, class_="whisker"))
    if dot.bound is not None:
        at = x(dot.bound)
        parts.append(tag("line", x1=at, x2=at, y1=y - 8, y2=y + 8, class_="bound"))
    parts.append(tag("circle", cx=x(dot.value), cy=y, r=5, class_="dot"))
    tip, place = f"{dot.words}: {dot.shown}", dot.at or None
    return tag("g", *parts, class_=dot.state or None, data_tip=tip, data_at=place), y + 10


def strip(
    marks: Sequence[tuple[str, float]],
    label: str,
    most: float = 1.0,
    width: int = 300,
    height: int = 24,
) -> Markup:
    """Rates of several models from 0 to `most` on one line, each mark of its own shape: its kind.

    The kinds are ``asked``, ``plain``, ``live`` and ``nobody``.
    """
    y = height / 2

    def x(value: float) -> float:
        return 8 + min(max(value / most, 0.0), 1.0) * (width - 16)

    parts = [tag("line", x1=x(0.0), x2=x(most), y1=y, y2=y, class_="axis")]
    parts += [
        tag("line", x1=x(at), x2=x(at), y1=y - 3, y2=y + 3, class_="axis") for at in ticks(0.0, most, 4)
    ]
    for kind, value in reversed(list(marks)):  # the first lies on top
        cx, words = x(value), tag("title", f"{kind}: {100 * value:.1f}%")
        if kind == "nobody":
            cross = f"M{cx - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
            parts.append(tag("path", words, d=cross, class_="mark-nobody"))
        elif kind == "live":
            diamond = f"M{cx:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"
            parts.append(tag("path", words, d=diamond, class_="mark-live"))
        else:
            parts.append(tag("circle", words, cx=cx, cy=y, r=5.5, class_=f"mark-{kind}"))
    return _svg(width, height, parts, label, "strip")


def chart(drawn: Chart) -> Markup:
    """A chart with its axes."""
    axes = _Axes(drawn.x_range, drawn.y_range, 230 if drawn.movable else 260)
    parts = [_band(axes, *band) for band in drawn.bands]
    parts += axes.drawn(drawn.x, drawn.y, drawn.zero, about=4 if drawn.movable else 6)
    if drawn.bound is not None:
        (x, top), (_, bottom) = axes.at(drawn.bound, axes.y[1]), axes.at(drawn.bound, axes.y[0])
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="bound"))
    for xs, ys in drawn.curves:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in axes.places(xs, ys))
        kind = "curve price" if drawn.movable else "curve"
        parts.append(tag("polyline", points=path, class_=kind))
    parts += [
        tag("circle", cx=cx, cy=cy, r=2.6, class_="point") for cx, cy in axes.places(*drawn.points)
    ]
    for mark in drawn.marks:
        cx, cy = axes.at(mark.x, mark.y)
        size = 5.5 if drawn.movable else 6.5
        parts.append(tag("circle", tag("title", mark.words), cx=cx, cy=cy, r=size, class_=mark.kind))
    moved = {"data_curve": _moved(axes, drawn)} if drawn.movable else {}
    return _svg(WIDTH, axes.height, parts, drawn.label, "chart", **moved)


def _moved(axes: _Axes, drawn: Chart) -> str:
    """What a script needs to let readers move along the curve: its points, and where these are drawn."""
    ((xs, ys),) = drawn.curves
    here = next(([mark.x, mark.y] for mark in drawn.marks if mark.kind == "solution"), None)
    places = [[round(x, 1), round(y, 1)] for x, y in axes.places(xs, ys)]
    curve = {"xs": list(xs), "ys": list(ys), "places": places, "here": here}
    return json.dumps({"bound": drawn.x, "objective": drawn.y, **curve})


def _band(axes: _Axes, low: float, high: float, kind: str) -> Markup:
    (x, bottom), (end, top) = axes.at(low, axes.y[0]), axes.at(high, axes.y[1])
    return tag("rect", x=x, y=top, width=end - x, height=bottom - top, class_=kind)


@dataclass(frozen=True)
class _Axes:
    """The scales of a chart: numbers to pixels."""

    x: Range
    y: Range
    height: int

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The position of a point."""
        left, right, top, bottom = 68, WIDTH - 14, 14, self.height - 48
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return left + across * (right - left), bottom - up * (bottom - top)

    def places(self, xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
        """The positions of points."""
        return [self.at(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]

    def drawn(self, x_label: str, y_label: str, zero: bool, about: int) -> list[Markup]:
        """The grid, `about` this many ticks, and labels; with `zero`, a line at y = 0."""
        (left, bottom), (right, top) = self.at(self.x[0], self.y[0]), self.at(self.x[1], self.y[1])
        parts = []
        for value in ticks(*self.x, about):
            x, _ = self.at(value, 0)
            parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
            parts.append(tag("text", f"{value:,.4g}", x=x, y=bottom + 17, text_anchor="middle"))
        for value in ticks(*self.y, about):
            _, y = self.at(0, value)
            parts.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", f"{value:.4g}", x=left - 7, y=y + 4, text_anchor="end"))
        if zero and self.y[0] <= 0 <= self.y[1]:
            _, y = self.at(0, 0)
            parts.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="bound"))
        middle, style = (top + bottom) / 2, {"text_anchor": "middle", "class_": "label"}
        turned = f"rotate(-90 14 {middle:.1f})"
        parts.append(tag("text", x_label, x=(left + right) / 2, y=bottom + 38, **style))
        parts.append(tag("text", y_label, x=14, y=middle, transform=turned, **style))
        return parts


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers from `low` to `high`.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 2.5, 5, 10) if unit * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


def _svg(
    width: int, height: int, parts: Sequence[Markup], label: str, kind: str = "", **others: object
) -> Markup:
    """A drawing, with a description for readers who cannot see it."""
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
        class_=kind or None,
        **others,
    )
