"""A monitor's memory as plain data, for files; what is read is checked, and runs no code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.certifying._draws import Block
from ratebound.certifying._watching import Alarm, Watch, first_watch, rates_of
from ratebound.certifying._wealth import EFFECTS, SHARES, Wealth
from ratebound.rates.costs import largest_cost
from ratebound.rates.expressions import Constraint
from ratebound.rates.kinds import Classes

FORMAT, VERSION = "ratebound monitor", 1


def stored(watch: Watch) -> dict[str, Any]:
    """The watch of one promise, as JSON has it."""
    wealth = watch.wealth
    start = int(np.searchsorted(SHARES, wealth.shares[0])) if wealth.given.two_sets else 0
    found: dict[str, Any] = {
        "promise": str(watch.constraint),
        "rows": wealth.rows,
        "inside": wealth.inside,
        "centre": wealth.centre,
        "squares": wealth.squares,
        "shares": [start, start + len(wealth.shares)],
        "logs": wealth.logs.tolist(),
        "reserve": wealth.reserve,
        "tallies": watch.tallies.tolist(),
        "block": None if watch.block is None else list(watch.block),
        "alarm": None,
        "kept": watch.kept,
    }
    if watch.alarm is not None:
        fields = ("row", "evidence", "value", "bound")
        found["alarm"] = {name: getattr(watch.alarm, name) for name in fields}
    return found


def restored(constraint: Constraint, classes: Classes, data: dict[str, Any]) -> Watch:
    """The watch that `stored` wrote, checked."""
    fresh = first_watch(constraint, classes)
    if data["promise"] != str(constraint):
        raise ValueError(f"it watches {str(data['promise'])[:200]}, and not {constraint}")
    wealth, block, alarm = _wealth(fresh.wealth, data), data["block"], data["alarm"]
    tallies = _array(data["tallies"], fresh.tallies.shape, "tallies")
    most = [largest_cost(rate) or 1.0 for rate in rates_of(constraint)]  # that one row adds
    if (tallies < 0).any() or (tallies[:, 1] > tallies[:, 0] * most * (1 + 1e-9)).any():
        raise ValueError("its tallies are not numbers of rows, or what they cost")
    if block is not None and fresh.draws.kind != "blocks":
        raise ValueError("its open block belongs to another promise")
    return Watch(
        constraint,
        fresh.draws,
        wealth,
        tallies,
        None if block is None else _block(block, len(fresh.draws.parts)),
        None if alarm is None else _alarm(constraint, alarm),
        None if data["kept"] is None else whole(data["kept"], "kept"),
    )


def _wealth(fresh: Wealth, data: dict[str, Any]) -> Wealth:
    grid = SHARES if fresh.given.two_sets else fresh.shares
    start, stop = (whole(end, "shares") for end in data["shares"])
    if not 0 <= start < stop <= len(grid):
        raise ValueError(f"its shares are from {start} to {stop}, of {len(grid)}")
    rows, inside = whole(data["rows"], "rows"), whole(data["inside"], "inside")
    squares, reserve = real(data["squares"], "squares"), real(data["reserve"], "reserve")
    if inside > rows or squares <= 0 or not 0 < reserve < 1:
        raise ValueError("its numbers do not belong together")
    return Wealth(
        given=fresh.given,
        rows=rows,
        inside=inside,
        centre=real(data["centre"], "centre"),
        squares=squares,
        shares=grid[start:stop],
        logs=_array(data["logs"], (2, len(EFFECTS), stop - start), "logs"),
        reserve=reserve,
    )


def _block(data: list[Any], sets: int) -> Block:
    if not isinstance(data, list) or len(data) != sets:
        raise ValueError("its open block has other sets than the promise")
    return tuple(None if each is None else real(each, "block") for each in data)


def _alarm(constraint: Constraint, data: dict[str, Any]) -> Alarm:
    value, bound = (None if data[n] is None else real(data[n], n) for n in ("value", "bound"))
    return Alarm(constraint, whole(data["row"], "row"), real(data["evidence"], "evidence"), value, bound)


def whole(value: Any, name: str) -> int:
    """A whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise ValueError(f"its {name} is {str(value)[:50]!r}, not a number of rows")
    return value


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
