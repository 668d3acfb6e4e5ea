"""The audit's drawings, each one SVG element in the page's colours.

Whiskers and bars are small and stand in table cells, where the words beside them can wrap; the
charts of a training are drawn with axes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ratebound.auditing.report import Audit, Promise
from ratebound.auditing.wording import interval_text
from ratebound.base.layout import number
from ratebound.base.markup import Markup, tag
from ratebound.base.types import Array
from ratebound.solution.making import Course

POINTS = 1500  # drawn in a scatter; more would only blacken it
LINES = 12  # settings that are drawn as curves
STATES = {  # the colour of each verdict, by its name in page.css
    "holds": "kept",
    "may not hold": "uncertain",
    "broken": "broken",
    "not measured": "unmeasured",
}


def whisker_range(promises: Sequence[Promise]) -> tuple[float, float]:
    """The axis on which these promises are drawn; it holds 0, the bound.

    What reaches farther than three times the usual is cut off, or it would flatten all others.
    """
    ends = [e for p in promises for e in (p.slack, p.slack_low, p.slack_high) if e is not None]
    if not any(ends):
        return -1.0, 1.0
    usual = float(np.median([abs(e) for e in ends if e]))
    low, high = max(min(ends), -3 * usual), min(max(ends), 3 * usual)
    margin = 0.15 * max(high, -low)  # so that both sides of the bound are seen
    return min(1.05 * low, -margin), max(1.05 * high, margin)


def whisker(promise: Promise, axis: tuple[float, float], width: int = 190) -> Markup:
    """The room of a promise with its interval; the line is the bound, the shaded side is room."""
    height = 20
    y = height / 2

    def x(value: float) -> float:
        across = (float(np.clip(value, *axis)) - axis[0]) / (axis[1] - axis[0])
        return 6 + across * (width - 12)

    zero = x(0.0)
    parts = [
        tag("rect", x=zero, y=0, width=width - zero, height=height, class_="room"),
        tag("line", x1=zero, x2=zero, y1=0, y2=height, class_="bound"),
    ]
    if promise.slack_low is not None and promise.slack_high is not None:
        low, high = promise.slack_low, promise.slack_high
        parts.append(tag("line", x1=x(low), x2=x(high), y1=y, y2=y, class_="whisker"))
        parts += [
            tag("line", x1=x(end), x2=x(end), y1=y - 5, y2=y + 5, class_="whisker")
            for end in (low, high)
            if axis[0] <= end <= axis[1]
        ]
    if promise.slack is not None:
        parts.append(tag("circle", cx=x(promise.slack), cy=y, r=4.5, class_="dot"))
    ends = interval_text(promise.slack_low, promise.slack_high)
    label = f"{promise.words}: room {number(promise.slack, signed=True, beside=0.0)}, interval {ends}, "
    label += f"on new rows {promise.verdict}"
    return svg(width, height, *parts, label=label, kind=STATES[promise.verdict], data_tip=label)


def bar(value: float | None, reference: float | None, width: int = 104) -> Markup:
    """A rate from 0 to 1; the tick is everyone's."""
    parts = [tag("rect", x=0, y=3, width=width, height=8, rx=2, class_="track")]
    if value is not None:
        parts.append(tag("rect", x=0, y=3, width=width * value, height=8, rx=2, class_="bar"))
    if reference is not None:
        x = min(max(width * reference, 1.0), width - 1.0)
        parts.append(tag("line", x1=x, x2=x, y1=0, y2=14, class_="tick"))
    said = "no value" if value is None else f"{value:.4f}"
    said += "" if reference is None else f"; everyone {reference:.4f}"
    return svg(width, 14, *parts, label=said, data_tip=said)


@dataclass(frozen=True)
class Axes:
    """Where numbers lie in a chart."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 336
    height: int = 260

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point."""
        left, right, top, bottom = 68, self.width - 14, 14, self.height - 48
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return left + across * (right - left), bottom - up * (bottom - top)

    def drawn(self, x_label: str, y_label: str, zero: bool = False, about: int = 6) -> list[Markup]:
        """Grid, `about` so many numbers, and labels; with `zero`, a line at y = 0."""
        (left, bottom), (right, top) = self.at(self.x[0], self.y[0]), self.at(self.x[1], self.y[1])
        found = []
        for value in ticks(*self.x, about):
            x, _ = self.at(value, 0)
            found.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
            found.append(tag("text", f"{value:,.4g}", x=x, y=bottom + 17, text_anchor="middle"))
        for value in ticks(*self.y, about):
            _, y = self.at(0, value)
            found.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
            found.append(tag("text", f"{value:.4g}", x=left - 7, y=y + 4, text_anchor="end"))
        if zero and self.y[0] <= 0 <= self.y[1]:
            _, y = self.at(0, 0)
            found.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="bound"))
        middle, style = (top + bottom) / 2, {"text_anchor": "middle", "class_": "label"}
        turned = f"rotate(-90 14 {middle:.1f})"
        found.append(tag("text", x_label, x=(left + right) / 2, y=bottom + 38, **style))
        found.append(tag("text", y_label, x=14, y=middle, transform=turned, **style))
        return found


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


def trade_off(course: Course, report: Audit) -> Markup:
    """Objective against worst violation of every candidate, and where the solution lies."""
    values, worst = course.objectives, course.worst
    shown = np.unique(np.linspace(0, len(course) - 1, min(len(course), POINTS)).astype(int))
    marks = _marks(report)
    axes = Axes(
        x=_range([*values[shown], *(x for _, x, _ in marks.values())]),
        y=_range([*worst[shown], *(y for _, _, y in marks.values())]),
    )
    parts = axes.drawn("objective", "worst violation", zero=True)
    for x, y in zip(values[shown], worst[shown], strict=True):
        cx, cy = axes.at(float(x), float(y))
        parts.append(tag("circle", cx=cx, cy=cy, r=2.6, class_="point"))
    for words, (kind, x, y) in marks.items():
        cx, cy = axes.at(x, y)
        parts.append(tag("circle", tag("title", words), cx=cx, cy=cy, r=6.5, class_=kind))
    return svg(axes.width, axes.height, *parts, label="objective against worst violation", kind="chart")


def convergence(course: Course, values: Array, label: str, zero: bool = False) -> Markup:
    """Values (N,) of the candidates by round, one curve for each setting."""
    curves = []
    for setting in course.settings[:LINES]:
        own = np.flatnonzero(course.setting == setting)
        own = own[np.argsort(course.round[own], kind="stable")]
        own = own[np.unique(np.linspace(0, len(own) - 1, min(len(own), POINTS)).astype(int))]
        curves.append((course.round[own], values[own]))
    axes = Axes(
        x=_range(np.concatenate([x for x, _ in curves]), padded=False),
        y=_range(np.concatenate([y for _, y in curves])),
    )
    parts = axes.drawn("round", label, zero=zero)
    for xs, ys in curves:
        places = [axes.at(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(tag("polyline", points=path, class_="curve"))
    return svg(axes.width, axes.height, *parts, label=f"{label} by round", kind="chart")


def course_figures(course: Course, report: Audit) -> list[Markup]:
    """All drawings of how training got there."""
    return [
        trade_off(course, report),
        convergence(course, course.objectives, "objective"),
        convergence(course, course.worst, "worst violation", zero=True),
    ]


def _marks(report: Audit) -> dict[str, tuple[str, float, float]]:
    """The solution where it was trained, and on the rows audited."""
    found = {}
    if report.training is not None and math.isfinite(report.training[1]):
        found["the solution, on the rows trained on"] = ("solution", *report.training)
    worst = max((p.violation for p in report.promises if p.kept is not None), default=0.0)
    found["the solution, on the rows audited"] = ("audited", report.objective.value, worst)
    return found


def _range(values: Array | list[float], padded: bool = True) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.05
    return (low - room, high + room) if padded or low == high else (low, high)


def svg(width: int, height: int, *parts: Markup, label: str, kind: str = "", **others: object) -> Markup:
    """A drawing, with its words for those who cannot see it."""
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
