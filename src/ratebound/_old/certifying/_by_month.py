"""A monitor's months, measured and written: rates with intervals, evidence, yeses by group, and drift.

Rates are those of the decisions that have a label by now, whenever it came; promises that need no
labels are measured on all decisions. The population stability index compares the shares of a feature's
bins in a month with those in training, and a chi-squared test says whether chance may explain it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.auditing.auditing import measured_promises
from ratebound._old.auditing.judged import scored
from ratebound._old.auditing.report import Promise, plain
from ratebound._old.auditing.tally import Tally
from ratebound._old.auditing.wording import interval_text
from ratebound._old.base import document as doc
from ratebound._old.base.types import Array
from ratebound._old.certifying._months import Cells, Counting, Month
from ratebound._old.certifying._watching import evidence_text
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import FIRST, Constraint
from ratebound._old.rates.kinds import KINDS, label_classes
from ratebound._old.rates.named import positive_rate
from ratebound._old.rates.ranges import Parity
from ratebound._old.tables.bins import Bins

SHOWN = 12  # of the last months, in tables with a column for each
MODERATE, LARGE = 0.1, 0.25  # of the population stability index, by custom
CONFIDENCE = 0.9  # of intervals: neither end is wrong at 95%
FEWEST = 30  # rows whose drift is measured
State = doc.State
RATES = (
    "Dot: the rate in the month. Line through it: bounds at 95%, each for its month alone. Upright "
    "line: the bound of the promise. A label counts in the month of its decision, however late it "
    "comes. Rates of recent months rest on the labels that came first, which may differ from the others."
)
EVIDENCE = (
    "Evidence that a promise is broken, after the last row of each month that was added in the order of "
    "decision. Unlike the rates, it may be looked at after every month."
)
DRIFT = (
    "The index compares a month's values with those of the training rows, in bins between deciles or by "
    f"value; by custom {MODERATE:g} is moderate and {LARGE:g} large. p is of Pearson's chi-squared test "
    "that the month and training are alike, for one feature and one month: with many rows it is small "
    "for changes that do not matter. Dates are left out. Drift is not a broken promise, and a promise "
    "may break without it."
)


@dataclass(frozen=True)
class Drift:
    """How a feature's values in a month differ from those in training."""

    index: float  # the population stability index
    p_value: float  # of the chi-squared test that both are alike
    moved: str  # the bin whose share changed most
    before: float  # its share in training
    now: float


def drift_of(bins: Bins, counts: Array) -> Drift | None:
    """How counts (bins,) of later rows differ from those of training; None of few rows.

    Bins that are empty in both are left out. Half a row is added to each of the others for the index, so
    that an empty bin does not make it infinite.

    >>> drift = drift_of(Bins("sex", (), ("f", "m"), (50, 50, 0, 0)), np.array([80, 20, 0, 0]))
    >>> round(drift.index, 3), f"{drift.p_value:.0e}", drift.moved
    (0.406, '9e-06', 'f')
    """
    from scipy.stats import chi2_contingency

    table = np.array([bins.counts, counts], dtype=float)
    if table.sum(axis=1).min() < FEWEST:
        return None
    held = table[:, table.sum(axis=0) > 0]
    smooth = (held + 0.5) / (held + 0.5).sum(axis=1, keepdims=True)
    index = float(((smooth[1] - smooth[0]) * np.log(smooth[1] / smooth[0])).sum())
    p_value = float(chi2_contingency(held, correction=False).pvalue) if held.shape[1] > 1 else 1.0
    before, now = table / table.sum(axis=1, keepdims=True)
    most = int(np.abs(now - before).argmax())
    return Drift(index, p_value, bins.words[most], float(before[most]), float(now[most]))


def measured_month(
    month: Month, asked: Sequence[Constraint | Parity], how: Counting
) -> list[Promise | None]:
    """Each promise on a month's rows; None if it cannot be measured on them yet."""
    every = month.labelled.unlabelled().with_more(month.unlabelled, how)
    promises: dict[Constraint | Parity, Promise] = {}
    for needs, cells in ((True, month.labelled), (False, every)):
        own = [each for each in asked if any(KINDS[r.kind].labels for r in each.rates) == needs]
        if own and len(cells):
            promises |= zip(own, _measured(own, cells, how), strict=True)
    return [promises.get(each) for each in asked]


def _measured(asked: Sequence[Constraint | Parity], cells: Cells, how: Counting) -> list[Promise]:
    classes = label_classes(how.classes)
    objective = positive_rate() if len(classes) == 2 else positive_rate(of=classes[-1])
    tally = Tally({FIRST: cells.lines(how)}, scored({}, "decisions that were made"))
    return measured_promises(Problem(objective, list(asked)), tally, CONFIDENCE)


@dataclass(frozen=True, eq=False)
class ByMonth:
    """The months of a monitor, measured."""

    promises: Sequence[Constraint | Parity]
    months: Mapping[str, Month]
    measured: Mapping[str, list[Promise | None]]
    drifts: Mapping[str, Mapping[str, Drift]]  # by month and feature
    threshold: float  # of the evidence

    @classmethod
    def of(
        cls,
        months: Mapping[str, Month],
        promises: Sequence[Constraint | Parity],
        how: Counting,
        threshold: float,
    ) -> ByMonth:
        """Measure some months."""
        measured = {name: measured_month(month, promises, how) for name, month in months.items()}
        drifts: dict[str, dict[str, Drift]] = {}
        for name, month in months.items():
            own = ((each, month.features.get(each.name)) for each in how.bins)
            every = {str(b.name): drift_of(b, counts) for b, counts in own if counts is not None}
            drifts[name] = {feature: drift for feature, drift in every.items() if drift is not None}
        return cls(promises, months, measured, drifts, threshold)

    def to_list(self) -> list[dict[str, Any]]:
        """The same as plain data, one entry for each month."""
        return [self._entry(name, month) for name, month in self.months.items()]

    def _entry(self, name: str, month: Month) -> dict[str, Any]:
        evidence = month.evidence or [(None, None)] * len(self.promises)
        promises = []
        for words, own, (broken, kept) in zip(self.promises, self.measured[name], evidence, strict=True):
            low, high = ends_of(own)
            promises.append(
                {
                    "words": str(words),
                    "rows": 0 if own is None else own.rows,
                    "value": None if own is None else own.value,
                    "low": low,
                    "high": high,
                    "bound": None if own is None else own.bound,
                    "kept": None if own is None else own.kept,
                    "evidence_broken": None if broken is None else _money(broken),
                    "evidence_kept": None if kept is None else _money(kept),
                }
            )
        return {
            "month": name,
            "rows": month.rows,
            "labelled": month.labelled.size,
            "awaited": month.unlabelled.size,
            "promises": [{key: plain(value) for key, value in each.items()} for each in promises],
            "groups": [
                {"words": words, "rows": rows, "positive_rate": yes / rows, **_bounds(yes, rows)}
                for words, (rows, yes) in month.groups.items()
            ],
            "features": [{"name": each, **vars(own)} for each, own in self.drifts[name].items()],
        }

    def sections(self) -> list[doc.Section]:
        """The parts of a page."""
        made = (self._promised(), self._evidence(), self._groups(), self._drift())
        return [each for each in made if each is not None]

    def _promised(self) -> doc.Section:
        panels, rows = [], list[doc.Row]()
        for at, words in enumerate(self.promises):
            dots = []
            for place, name in enumerate(self.months):
                own = self.measured[name][at]
                rows.append(self._row(place, name, at, own))
                if own is not None and own.value is not None:
                    dots.append(_dot(name, own, f"months/{place}/promises/{at}"))
            if dots:
                panels.append(doc.Panel(str(words), tuple(dots[-SHOWN:]), _axis(dots[-SHOWN:])))
        named = doc.heads("promise", doc.Head("month", "words"), "rows", "value", "interval", "bound")
        counts = tuple(
            (
                name,
                doc.count(month.rows, f"months/{i}/rows"),
                doc.count(month.labelled.size, f"months/{i}/labelled"),
                doc.count(month.unlabelled.size, f"months/{i}/awaited"),
            )
            for i, (name, month) in enumerate(self.months.items())
        )
        heads = doc.heads("month", "decisions", "with a label", "label awaited")
        said = "Rates by month; the table below has the numbers."
        chart = [doc.DotChart(said, tuple(panels))] if panels else []
        tables = (
            doc.ReportTable("Decisions by month", heads, counts),
            doc.ReportTable("Rates by month", named, tuple(rows), stacked=True),
        )
        return doc.Section("By month", (*chart, *tables, doc.Remark(RATES)), "months")

    def _row(self, place: int, name: str, at: int, own: Promise | None) -> doc.Row:
        where = f"months/{place}/promises/{at}"
        value, bound = (None, None) if own is None else (own.value, own.bound)
        low, high = ends_of(own)
        return (
            doc.Quoted(str(self.promises[at])),
            name,
            doc.count(0 if own is None else own.rows, f"{where}/rows"),
            doc.rate(value, f"{where}/value", beside=bound),
            interval_text(low, high, signed=False),
            doc.rate(bound, f"{where}/bound", beside=value, sign=self.promises[at].relation),
        )

    def _evidence(self) -> doc.Section | None:
        charts, named = [], [name for name, month in self.months.items() if month.evidence]
        for at, words in enumerate(self.promises):
            logs = [self.months[name].evidence[at][0] / math.log(10) for name in named]
            if logs:
                charts.append(_chart(str(words), named, logs, math.log10(self.threshold)))
        if not charts:
            return None
        said = f"The line is the alarm, {evidence_text(self.threshold)} to 1. {EVIDENCE}"
        return doc.Section("Evidence over time", (*charts, doc.Remark(said)), "evidence")

    def _groups(self) -> doc.Section | None:
        every = list(enumerate(self.months))[-SHOWN:]
        words = dict.fromkeys(word for _, name in every for word in self.months[name].groups)
        if not words:
            return None
        rows = []
        for word in words:
            cells = [self._yes(place, name, word) for place, name in every]
            rows.append((doc.Quoted(word), *cells))
        heads = doc.heads("group", *(doc.Head(name, "drawing") for _, name in every))
        table = doc.ReportTable("Share of yes by group and month", heads, tuple(rows))
        remark = doc.Remark("The tick is the share among everyone. Intervals are in the JSON.")
        return doc.Section("Yes by group", (table, remark), "groups")

    def _yes(self, place: int, name: str, word: str) -> doc.Cell:
        groups = self.months[name].groups
        if word not in groups:
            return "–"
        (rows, yes), at = groups[word], f"months/{place}/groups/{list(groups).index(word)}/positive_rate"
        everyone, all_yes = groups["everyone"]
        return doc.Bar(doc.rate(yes / rows, at), all_yes / everyone)

    def _drift(self) -> doc.Section | None:
        every = [(place, name) for place, name in enumerate(self.months) if self.drifts[name]][-SHOWN:]
        if not every:
            return None
        last = self.drifts[every[-1][1]]
        features = dict.fromkeys(each for _, name in every for each in self.drifts[name])
        rows = []
        for feature in sorted(features, key=lambda each: -last[each].index if each in last else 0.0):
            cells = [self._index(place, name, feature) for place, name in every]
            told = _last(last[feature]) if feature in last else ["–", "–", "–"]
            rows.append((doc.Quoted(feature), *cells, *told))
        others = ("p", doc.Head("moved most", "words"), doc.Head("size", "verdict"))
        heads = doc.heads("feature", *(name for _, name in every), *others)
        table = doc.ReportTable("Population stability index by feature and month", heads, tuple(rows))
        said = f"p, what moved most and the size are of {every[-1][1]}. {DRIFT}"
        return doc.Section("Drift of features", (table, doc.Remark(said)), "drift")

    def _index(self, place: int, name: str, feature: str) -> doc.Cell:
        drifts = self.drifts[name]
        if feature not in drifts:
            return "–"
        index, at = drifts[feature].index, f"months/{place}/features/{list(drifts).index(feature)}/index"
        return doc.Datum(index, f"{index:.3f}", at)


def ends_of(promise: Promise | None) -> tuple[float | None, float | None]:
    """The interval of the left side of a promise, beside its bound as measured."""
    if (
        promise is None
        or promise.bound is None
        or promise.slack_low is None
        or promise.slack_high is None
    ):
        return None, None
    if promise.relation == ">=":
        return promise.bound + promise.slack_low, promise.bound + promise.slack_high
    return promise.bound - promise.slack_high, promise.bound - promise.slack_low


def _bounds(yes: int, rows: int) -> dict[str, float]:
    from scipy.stats import binomtest

    low, high = binomtest(yes, rows).proportion_ci(CONFIDENCE)
    return {"low": float(low), "high": float(high)}


def _money(log: float) -> float:
    return math.exp(min(log, 700.0))


def _dot(month: str, own: Promise, at: str) -> doc.Dot:
    assert own.value is not None
    low, high = ends_of(own)
    ends = None if low is None or high is None else (low, high)
    shown = doc.rate(own.value, beside=own.bound).shown
    state: State = "broken" if own.kept is False else "kept"
    return doc.Dot(
        month,
        f"{shown}, {'broken' if own.kept is False else 'kept'}",
        own.value,
        ends,
        own.bound,
        state,
        at,
    )


def _axis(dots: Sequence[doc.Dot]) -> doc.Range:
    every = [e for d in dots for e in (d.value, d.bound, *(d.ends or ())) if e is not None]
    low, high = min(every), max(every)
    room = 0.08 * ((high - low) or abs(high) or 1.0)
    return low - room, high + room


def _chart(words: str, names: Sequence[str], logs: Sequence[float], alarm: float) -> doc.Chart:
    """The evidence of a promise, above the alarm or below it."""
    xs, above = list(range(1, len(logs) + 1)), [each - alarm for each in logs]
    said = ", ".join(
        f"{n}: {evidence_text(10 ** min(each, 300))}" for n, each in zip(names, logs, strict=True)
    )
    low, high = min(*above, 0.0, -alarm), max(*above, 0.0)
    room = 0.08 * (high - low)
    return doc.Chart(
        label=f"Evidence that {words} is broken; {said}",
        x=f"month, from {names[0]} to {names[-1]}",
        y="powers of ten above the alarm",
        x_range=(0.5, len(logs) + 0.5),
        y_range=(low - room, high + room),
        curves=((xs, above),) if len(xs) > 1 else (),
        points=(xs, above),
        zero=True,
        caption=(doc.Quoted(words), said),
    )


def _last(drift: Drift) -> list[doc.Cell]:
    state: State = (
        "broken" if drift.index >= LARGE else "uncertain" if drift.index >= MODERATE else "kept"
    )
    size = {"broken": "large", "uncertain": "moderate", "kept": "small"}[state]
    moved = f"{drift.moved}: {drift.before:.1%} to {drift.now:.1%}"
    return [doc.Datum(drift.p_value, f"{drift.p_value:.2g}"), moved, doc.Standing(size, state)]
