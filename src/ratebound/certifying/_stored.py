"""A monitor's memory as plain data, for files; what is read is checked, and runs no code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.certifying._batches import Clock
from ratebound.certifying._draws import Draws, Open
from ratebound.certifying._watching import Alarm, Watch, first_watch, rates_of
from ratebound.certifying._wealth import WINDOW, Wealth
from ratebound.rates.costs import largest_cost
from ratebound.rates.expressions import Constraint
from ratebound.rates.kinds import Classes
from ratebound.rates.parities import Parity

FORMAT, VERSION = "ratebound monitor", 1


def stored(watch: Watch) -> dict[str, Any]:
    """The watch of one promise, as JSON has it."""
    wealth = watch.wealth
    found: dict[str, Any] = {
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
        found["alarm"] = {name: getattr(watch.alarm, name) for name in fields}
    return found


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
    found = [
        None if each is None and not pairs else tuple(real(value, "waiting row") for value in each)
        for each in data
    ]
    if any(each is not None and len(each) != (4 if pairs else 1) for each in found):
        raise ValueError("the rows that wait in it belong to another promise")
    return tuple(found)


def _alarm(constraint: Constraint | Parity, data: dict[str, Any]) -> Alarm:
    value, bound = (None if data[n] is None else real(data[n], n) for n in ("value", "bound"))
    return Alarm(constraint, whole(data["row"], "row"), real(data["evidence"], "evidence"), value, bound)


def whole(value: Any, name: str) -> int:
    """A whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise ValueError(f"its {name} is {str(value)[:50]!r}, not a number of rows")
    return value


def read_clock(data: dict[str, Any]) -> Clock:
    """The clock of a population."""
    closed, until = (None if data[n] is None else real(data[n], n) for n in ("closed", "until"))
    return Clock(closed, until, *(whole(data[n], n) for n in ("early", "late", "unlabelled")))


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
    found = np.array(value, dtype=float)
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"its {name} have shape {found.shape} or are not finite, expected {shape}")
    return found
