"""Dates and times written as text.

Text is read as dates only if the whole column is, so that day and month are never mixed up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import numpy as np

from ratebound._old.base.types import Array

# The order of day, month and year in dates written as text. ISO dates are read in any case.
DateOrder = Literal["ymd", "dmy", "mdy"]

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(:(?P<second>\d{2})([.,](?P<fraction>\d{1,9}))?)?"
    r"(\s?(?P<half>[AaPp][Mm]))?(\s?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2}))?"
)
_ISO = re.compile(
    rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})([T ]{_CLOCK})?"
)
_NUMBERED = re.compile(
    rf"(?P<first>\d{{1,2}})(?P<mark>[-/.])(?P<second_number>\d{{1,2}})(?P=mark)(?P<year>\d{{4}})"
    rf"(,? {_CLOCK})?"
)


def date_orders(texts: Sequence[str]) -> list[DateOrder]:
    """The orders of day, month and year in which all of these texts are dates; usually empty.

    >>> date_orders(["2024-01-31", "2024-02-01"]), date_orders(["31.1.2024"]), date_orders(["1/2/2024"])
    (['ymd'], ['dmy'], ['dmy', 'mdy'])
    """
    orders: list[DateOrder] = ["ymd", "dmy", "mdy"]
    for part in (texts[:20], texts):  # a few rows are enough to rule out most columns
        orders = [order for order in orders if not np.isnat(read_dates(part, order, strict=True)).any()]
    if "dmy" in orders and "." in texts[0][:3]:
        return ["dmy"]  # nobody writes the month first with full stops
    return orders


def read_dates(texts: Sequence[str], order: DateOrder, *, strict: bool = False) -> Array:
    """Texts as times in UTC (n,), NaT for other texts; ISO dates are read too, unless `strict`."""
    fast = _read_plain_iso(texts)
    if fast is not None:
        return fast if order == "ymd" or not strict else np.full(len(texts), "NaT", dtype="M8[us]")
    dates = [_read_date(text.strip(), order, strict) for text in texts]
    return np.array(["NaT" if one is None else one for one in dates], dtype="M8[us]")


def _read_plain_iso(texts: Sequence[str]) -> Array | None:
    """Texts such as 2024-01-31 or 2024-01-31 08:30:00, read all at once; None if any is not."""
    if not texts or not 10 <= max(map(len, texts)) <= 30:
        return None
    letters = np.array(texts, dtype=str)
    grid = letters.view("U1").reshape(len(letters), -1)
    dashes, digits = grid[:, [4, 7]] == "-", np.char.isdigit(grid[:, [0, 9]])
    zones = np.isin(grid[:, 10:], ["+", "-", "Z"])
    if not (dashes.all() and digits.all()) or zones.any():
        return None
    try:
        return letters.astype("M8[us]")
    except ValueError:
        return None


def _read_date(text: str, order: DateOrder, strict: bool) -> datetime | None:
    match = _ISO.fullmatch(text) if order == "ymd" or not strict else None
    if match is None and order != "ymd":
        match = _NUMBERED.fullmatch(text)
    if match is None:
        return None
    given = match.groupdict()
    if "first" in given:
        day, month = (int(given[key]) for key in ("first", "second_number"))
        day, month = (day, month) if order == "dmy" else (month, day)
    else:
        day, month = int(given["day"]), int(given["month"])
    try:
        return datetime(int(given["year"]), month, day) + _clock(given)
    except (ValueError, OverflowError):  # no such day
        return None


def _clock(given: dict[str, str | None]) -> timedelta:
    """The time of day, in UTC if a zone is given; raises ValueError if it is impossible."""
    if given["hour"] is None:
        return timedelta(0)
    hour = int(given["hour"])
    if given["half"]:
        hour = hour % 12 + 12 * (given["half"].lower() == "pm")
    clock = datetime(1970, 1, 2, hour, int(given["minute"] or 0), int(given["second"] or 0))
    clock += timedelta(microseconds=int((given["fraction"] or "0").ljust(6, "0")[:6]))
    zone = given["zone"]
    if zone not in (None, "Z", "UTC"):
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        clock -= offset if zone[0] == "+" else -offset
    return clock - datetime(1970, 1, 2)
