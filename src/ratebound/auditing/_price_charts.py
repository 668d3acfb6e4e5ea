"""What each promise costs, drawn: the objective by its bound, where it stands, and what is certified."""

from __future__ import annotations

import json
import math

import numpy as np

from ratebound.auditing._figures import Axes, svg
from ratebound.auditing._tables import Section, note
from ratebound.auditing.report import Audit
from ratebound.base.markup import Markup, tag
from ratebound.solution.certificate import Certificate, Certified
from ratebound.solution.price import Price

AROUND = 8  # steps of the bound that are drawn on either side of the present one
MOST = 24  # charts on a page
NOTE = (
    "The best objective on the rows trained on, by the bound of one promise, all others kept. Dot: the "
    "bound trained for. Line: the bound promised. Ring: what the model reaches on the rows audited. "
    "Shaded grey: bounds that cannot be kept together with the other promises."
)


def price_section(report: Audit) -> Section | None:
    """One small chart for each promise, with what moving its bound would cost in words."""
    prices = () if report.card is None else report.card.prices
    if report.card is None or not prices:
        return None
    certificate = report.card.mixture.certificate
    drawn = [(i, each) for i, each in enumerate(prices) if len(each.bounds)][:MOST]
    tested = {str(each.constraint): each for each in (certificate.promises if certificate else ())}
    figures = [
        _figure(report, each, tested.get(str(each.constraint)), certificate, f"card/prices/{i}")
        for i, each in drawn
    ]
    without = [
        tag("p", tag("code", str(p.constraint)), ": ", p.sentence) for p in prices if not len(p.bounds)
    ]
    words = NOTE
    if any(each.holds for each in tested.values()):
        words += " Shaded green: bounds that are certified."
    if len(prices) > len(drawn) + len(without):
        words += f" The first {MOST} promises are drawn."
    return Section(
        "prices",
        "What each promise costs",
        (tag("div", *figures, class_="charts"), *without, note(words)),
    )


def _figure(
    report: Audit, price: Price, tested: Certified | None, certificate: Certificate | None, at: str
) -> Markup:
    said = [tag("code", str(price.constraint)), tag("small", price.sentence)]
    if tested is not None and certificate is not None:
        said.append(tag("small", _certified(tested, certificate.confidence)))
    chart = price_chart(price, _audited(report, price), tested)
    return tag("figure", chart, tag("figcaption", *said), data_at=at)


def _certified(tested: Certified, confidence: float) -> str:
    """What the certificate says of one promise."""
    level = f"{100 * confidence:.4g}%"
    if tested.holds:
        return f"Certified at {level}."
    if tested.why:
        return f"Not certified: {tested.why}"
    needed = "" if tested.rows_needed is None else (
        f"; that would take about {tested.rows_needed:,} rows, and there are {tested.rows:,}"
    )  # fmt: skip
    return f"Not certified at {level}{needed}."


def price_chart(
    price: Price, audited: tuple[float, float] | None = None, tested: Certified | None = None
) -> Markup:
    """The curve of a price around its present bound; `audited` is a bound and an objective reached."""
    promised = price.constraint.right.constant
    low, high = _window(price, promised)
    inside = price.bounds[(price.bounds > low) & (price.bounds < high)]
    xs = [x for x in (low, *inside.tolist(), price.here[0], high) if math.isfinite(price.at(x))]
    xs = sorted({*xs, *([price.tightest] if low <= price.tightest <= high else [])})
    ys = [price.at(x) for x in xs]
    ring = audited if audited is not None and low <= audited[0] <= high else None
    heights = [*ys, *([ring[1]] if ring else [])]
    room = 0.08 * (max(heights) - min(heights)) or 0.05 * abs(ys[0]) or 0.05
    axes = Axes((low, high), (min(heights) - room, max(heights) + room), width=336, height=230)
    label = "added to the right side" if price.constraint.right.terms else "bound"
    parts = _shaded(axes, price, tested, promised) + axes.drawn(label, price.objective, about=4)
    top, bottom = axes.at(promised, axes.y[1]), axes.at(promised, axes.y[0])
    parts.append(tag("line", x1=top[0], x2=top[0], y1=top[1], y2=bottom[1], class_="bound"))
    path = " ".join(
        f"{x:.1f},{y:.1f}" for x, y in (axes.at(*point) for point in zip(xs, ys, strict=True))
    )
    parts.append(tag("polyline", points=path, class_="curve price"))
    marks = {"solution": (price.here, "now"), "audited": (ring, "on the rows audited")}
    for kind, (place, words) in marks.items():
        if place is not None and math.isfinite(place[1]):
            cx, cy = axes.at(*place)
            parts.append(tag("circle", tag("title", words), cx=cx, cy=cy, r=5.5, class_=kind))
    words = f"what {price.constraint} costs: {price.sentence}"
    moved = _moved(axes, price, xs, ys, label)
    return svg(axes.width, axes.height, *parts, label=words, kind="chart", data_curve=json.dumps(moved))


def _moved(axes: Axes, price: Price, xs: list[float], ys: list[float], label: str) -> dict[str, object]:
    """What a script needs to let readers move along the curve: its points, and where these are drawn."""
    places = [axes.at(*point) for point in zip(xs, ys, strict=True)]
    bound, objective = price.here
    return {
        "bound": label,
        "objective": price.objective,
        "xs": xs,
        "ys": ys,
        "places": [[round(x, 1), round(y, 1)] for x, y in places],
        "here": [bound, objective] if math.isfinite(objective) else None,
    }


def _window(price: Price, promised: float) -> tuple[float, float]:
    """The bounds that are drawn."""
    center = price.here[0] if math.isfinite(price.here[1]) else price.tightest
    reach, least = AROUND * price.step, 2 * price.step
    low = min(max(center - reach, float(price.bounds[0]) - least), promised, center - least)
    high = max(min(center + reach, float(price.bounds[-1]) + least), promised, center + least)
    margin = 0.05 * (high - low) or price.step
    return low - margin, high + margin


def _shaded(axes: Axes, price: Price, tested: Certified | None, promised: float) -> list[Markup]:
    """What cannot be kept, and what is certified: the promised bound, and all that are looser."""
    low, high = axes.x
    rises = price.constraint.relation == ">="
    beyond = (price.tightest, high) if rises else (low, price.tightest)
    found = [_band(axes, *beyond, "never")] if low < price.tightest < high else []
    if tested is not None and tested.holds:
        found.append(_band(axes, *((low, promised) if rises else (promised, high)), "certified"))
    return found


def _band(axes: Axes, low: float, high: float, kind: str) -> Markup:
    (x, bottom), (end, top) = axes.at(low, axes.y[0]), axes.at(high, axes.y[1])
    return tag("rect", x=x, y=top, width=end - x, height=bottom - top, class_=kind)


def _audited(report: Audit, price: Price) -> tuple[float, float] | None:
    """The bound that the model reaches on the rows audited, and its objective there."""
    for promise in report.promises:
        if promise.words == str(price.constraint) and promise.slack is not None:
            sign = 1.0 if price.constraint.relation == ">=" else -1.0
            reached = price.constraint.right.constant + sign * promise.slack
            return (reached, report.objective.cost) if np.isfinite(reached) else None
    return None
