"""One promise under watch: its evidence, its rates so far, and its verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ratebound._old.auditing.tally import counted, over_of
from ratebound._old.base.layout import number
from ratebound._old.base.types import Array
from ratebound._old.certifying._batches import LabelClock
from ratebound._old.certifying._draws import Draws, Open, StreamBatch, draws_of, numbers
from ratebound._old.certifying._wealth import WINDOW, Wealth, evidence, opening, played
from ratebound._old.rates.costs import largest_cost
from ratebound._old.rates.expressions import Constraint, Expression, Metric, Rate, Ratio
from ratebound._old.rates.kinds import Classes, is_count
from ratebound._old.rates.ranges import Parity

Verdict = Literal["broken", "kept", "not known yet"]
FORMAT, VERSION = "ratebound monitor", 2


@dataclass(frozen=True)
class Alarm:
    """A promise was found to be broken; prints as a sentence.

    Parameters
    ----------
    constraint : Constraint or Parity
        The promise.
    row : int
        After how many rows of its population.
    evidence : float
        The wealth of a gambler who started with 1 and bet on "broken" row by row.
    value : float or None
        The left side until then; None if no row counts in it.
    bound : float or None
        The right side until then.
    counts : tuple of pairs
        For each rate in the promise until then: the rows that it is a share of, and the rows that it
        counts.

    See Also
    --------
    Monitor : Raises it.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> monitor = rb.Monitor(rb.Problem(rb.error_rate(), [rb.recall() >= 0.9]))
    >>> (alarm,) = monitor.update([1, 0] * 40, labels=[1] * 80)
    >>> print(alarm)
    recall() >= 0.9 is broken: after 24 rows recall() is 0.5000 (24 rows), at least 0.9000 was ...
    """

    constraint: Constraint | Parity
    row: int
    evidence: float
    value: float | None
    bound: float | None
    counts: tuple[tuple[float, float], ...]

    @property
    def words(self) -> str:
        """The alarm in one sentence: the rates that raised it, their rows, and what was promised."""
        promise, counts = self.constraint, dict(zip(rates_of(self.constraint), self.counts, strict=True))
        value, bound = number(self.value, beside=self.bound), number(self.bound, beside=self.value)
        way, right = "least" if promise.relation == ">=" else "most", ""
        if promise.right.rates:
            right = f" ({promise.right}: {_behind(promise.right, counts)})"
        return (
            f"{promise} is broken: after {self.row:,} rows {promise.left} is {value} "
            f"({_behind(promise.left, counts)}), at {way} {bound} was promised{right}; the evidence is "
            f"{evidence_text(self.evidence)} to 1"
        )

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, eq=False)
class Watch:
    """What is remembered of a promise; its size does not grow with the rows."""

    constraint: Constraint | Parity
    draws: Draws
    wealth: Wealth
    tallies: Array  # (rates, 2): rows that each rate is a share of, and rows it counts
    waiting: dict[str, Open] = field(default_factory=dict)  # rows that wait for others, by stratum
    alarm: Alarm | None = None
    kept: int | None = None  # after how many rows it was found to be kept

    @property
    def rows(self) -> int:
        """Rows of the smallest set that a rate is a share of; for a ratio, the rows that count in it."""
        if isinstance(self.constraint, Parity):
            counts = dict(zip(rates_of(self.constraint), self.tallies[:, 1].tolist(), strict=True))
            ratios = self.constraint.left, self.constraint.right
            return int(min(sum(c * counts[rate] for rate, c in r.denominator.terms) for r in ratios))
        ratio = isinstance(self.constraint.left, Ratio) and self.draws.kind == "one set"
        return self.wealth.draws if ratio else int(self.tallies[:, 0].min())

    @property
    def evidence(self) -> tuple[float, float]:
        """For broken, and for kept: by how many times the money bet on it has grown."""
        broken, kept = (math.exp(min(log, 700.0)) for log in evidence(self.wealth))
        return broken, kept

    @property
    def verdict(self) -> Verdict:
        if self.alarm is not None:
            return "broken"
        return "not known yet" if self.kept is None else "kept"

    @property
    def sides(self) -> tuple[float | None, float | None]:
        """The left and the right side on all rows so far; None without rows."""
        return _sides(self.constraint, self.tallies)


def first_watch(constraint: Constraint | Parity, classes: Classes) -> Watch:
    """A promise before any row."""
    draws = draws_of(constraint, classes)
    return Watch(constraint, draws, opening(draws.range), np.zeros((len(rates_of(constraint)), 2)))


def rates_of(constraint: Constraint | Parity) -> tuple[Rate, ...]:
    """The shares and counts that both sides are made of."""
    sums: list[Metric] = []
    for side in (constraint.left, constraint.right):
        sums += [side.numerator, side.denominator] if isinstance(side, Ratio) else [side]
    return tuple(dict.fromkeys(rate for each in sums for rate in each.rates))


def watched(watch: Watch, batch: StreamBatch, seen: int, error: float) -> Watch:
    """The watch after a batch of decisions; `seen` rows came before it."""
    rates, classes = rates_of(watch.constraint), watch.draws.classes
    lines = batch.lines(rates, classes)
    at, drawn, waiting = numbers(watch.draws, lines, batch.strata, watch.waiting)
    wealth, money_after = played(watch.wealth, drawn)
    # Whether a row of each line is in the set that a rate is a share of, and whether it is counted.
    each = np.array([[lines.inside(over_of(r, classes)), counted(lines, r, classes)] for r in rates])
    after = replace(watch, wealth=wealth, waiting=waiting, tallies=watch.tallies + each @ lines.rows)
    broken, kept = (np.flatnonzero(money_after[:, i] >= -math.log(error)) for i in (0, 1))
    if len(kept) and watch.kept is None:
        after = replace(after, kept=seen + int(at[kept[0]]) + 1)
    if len(broken) and watch.alarm is None:
        row = int(at[broken[0]]) + 1
        assert lines.place is not None  # a batch is in memory
        until = np.bincount(lines.place[:row], minlength=len(lines))
        tallies = watch.tallies + each @ until
        sides, own = _sides(watch.constraint, tallies), tuple(map(tuple, tallies.tolist()))
        money = math.exp(min(float(money_after[broken[0], 0]), 700.0))
        after = replace(after, alarm=Alarm(watch.constraint, seen + row, money, *sides, own))
    return after


def evidence_text(money: float) -> str:
    """An e-value in few digits.

    >>> evidence_text(0.04567), evidence_text(123.4), evidence_text(123456789.0)
    ('0.046', '123', '1.2e+08')
    """
    return f"{money:,.0f}" if 10 <= money < 1e6 else f"{money:.2g}"


def _sides(constraint: Constraint | Parity, tallies: Array) -> tuple[float | None, float | None]:
    shares = {
        rate: _share(rate, over, count)
        for rate, (over, count) in zip(rates_of(constraint), tallies.tolist(), strict=True)
    }
    return _value(constraint.left, shares), _value(constraint.right, shares)


def _share(rate: Rate, over: float, count: float) -> float | None:
    """A rate that counts so many of so many rows; None without rows."""
    if not over:
        return None
    return count / over * ((over if rate.per is None else rate.per) if is_count(rate) else 1.0)


def _behind(side: Metric, counts: dict[Rate, tuple[float, float]]) -> str:
    """What a side was computed from: its rows, a ratio's two counts, or each of several rates."""
    if isinstance(side, Ratio):
        above, below = (
            sum(c * counts[rate][1] for rate, c in part.terms)
            for part in (side.numerator, side.denominator)
        )
        return f"{above:,.10g} / {below:,.10g}"
    assert isinstance(side, Expression)
    rows = {rate: f"{counts[rate][0]:,.0f} rows" for rate in side.rates}
    if side.terms == ((side.rates[0], 1.0),) and not side.constant:
        return rows[side.rates[0]]
    each = (f"{r} is {number(_share(r, *counts[r]))} on {rows[r]}" for r in side.rates)
    return ", ".join(each)


def _value(metric: Metric, rates: dict[Rate, float | None]) -> float | None:
    if isinstance(metric, Ratio):
        above, below = _value(metric.numerator, rates), _value(metric.denominator, rates)
        return above / below if above is not None and below else None
    assert isinstance(metric, Expression)
    total = metric.constant
    for rate, coefficient in metric.terms:
        value = rates[rate]
        if value is None:
            return None
        total += coefficient * value
    return total


# --- its memory as plain data, for files; what is read is checked, and runs no code ------------------


def stored(watch: Watch) -> dict[str, Any]:
    """The watch of one promise, as JSON has it."""
    wealth = watch.wealth
    state: dict[str, Any] = {
        "promise": str(watch.constraint),
        "draws": wealth.draws,
        "squares": wealth.squares,
        "logs": wealth.logs.tolist(),
        "reserve": wealth.reserve,
        "tallies": watch.tallies.tolist(),
        "waiting": {stratum: list(rows) for stratum, rows in watch.waiting.items()},
        "alarm": None,
        "kept": watch.kept,
    }
    if watch.alarm is not None:
        fields = ("row", "evidence", "value", "bound")
        state["alarm"] = {name: getattr(watch.alarm, name) for name in fields}
        state["alarm"]["counts"] = list(map(list, watch.alarm.counts))
    return state


def restored(constraint: Constraint | Parity, classes: Classes, data: dict[str, Any]) -> Watch:
    """The watch that `stored` wrote, checked."""
    fresh = first_watch(constraint, classes)
    if data["promise"] != str(constraint):
        raise ValueError(f"it watches {str(data['promise'])[:200]}, and not {constraint}")
    alarm = data["alarm"]
    tallies = _array(data["tallies"], fresh.tallies.shape, "tallies")
    most = [largest_cost(rate) or 1.0 for rate in rates_of(constraint)]  # that one row adds
    if (tallies < 0).any() or (tallies[:, 1] > tallies[:, 0] * most * (1 + 1e-9)).any():
        raise ValueError("its tallies are not numbers of rows, or what they cost")
    return Watch(
        constraint,
        fresh.draws,
        _wealth(fresh.wealth, data),
        tallies,
        {stratum: _waiting(fresh.draws, rows) for stratum, rows in data["waiting"].items()},
        None if alarm is None else _alarm(constraint, alarm),
        None if data["kept"] is None else whole(data["kept"], "kept"),
    )


def _wealth(fresh: Wealth, data: dict[str, Any]) -> Wealth:
    squares, reserve = real(data["squares"], "squares"), real(data["reserve"], "reserve")
    if squares <= 0 or not 0 < reserve < 1:
        raise ValueError("its numbers do not belong together")
    logs = _array(data["logs"], fresh.logs.shape, "logs")
    return Wealth(fresh.given, whole(data["draws"], "draws"), squares, logs, reserve)


def _waiting(draws: Draws, data: list[Any]) -> Open:
    """The rows of an open window, of four numbers each, or of an open block, of one each or none."""
    pairs, sets = draws.kind == "pairs", len(draws.parts)
    fits = len(data) < WINDOW if pairs else len(data) == sets
    if draws.kind == "one set" or not isinstance(data, list) or not fits:
        raise ValueError("the rows that wait in it belong to another promise")
    waiting = [
        None if each is None and not pairs else tuple(real(value, "waiting row") for value in each)
        for each in data
    ]
    if any(each is not None and len(each) != (4 if pairs else 1) for each in waiting):
        raise ValueError("the rows that wait in it belong to another promise")
    return tuple(waiting)


def _alarm(constraint: Constraint | Parity, data: dict[str, Any]) -> Alarm:
    value, bound = (None if data[n] is None else real(data[n], n) for n in ("value", "bound"))
    counts = _array(data["counts"], (len(rates_of(constraint)), 2), "counts")
    row, evidence = whole(data["row"], "row"), real(data["evidence"], "evidence")
    return Alarm(constraint, row, evidence, value, bound, tuple(map(tuple, counts.tolist())))


def whole(value: Any, name: str) -> int:
    """A whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise ValueError(f"its {name} is {str(value)[:50]!r}, not a number of rows")
    return value


def read_clock(data: dict[str, Any]) -> LabelClock:
    """The clock of a population."""
    closed, until = (None if data[n] is None else real(data[n], n) for n in ("closed", "until"))
    return LabelClock(closed, until, *(whole(data[n], n) for n in ("early", "late", "unlabelled")))


def texts(value: Any, name: str) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"its {name} are {str(value)[:50]!r}, not texts")
    return tuple(value)


def real(value: Any, name: str) -> float:
    """A finite number."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"its {name} is {str(value)[:50]!r}, not a finite number")
    return float(value)


def _array(value: Any, shape: tuple[int, ...], name: str) -> Array:
    numbers = np.array(value, dtype=float)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise ValueError(f"its {name} have shape {numbers.shape} or are not finite, expected {shape}")
    return numbers
