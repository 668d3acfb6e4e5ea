"""Dates, times and durations as the numbers that a model sees."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ratebound.base.types import Array
from ratebound.tables.columns import ReadAs

DAY = 86_400_000_000  # microseconds
_DURATION = re.compile(
    r"((?P<days>-?\d+) days?,? ?)?((?P<sign>[+-])?(?P<hours>\d+):(?P<minutes>\d{2})"
    r"(:(?P<seconds>\d{2}(\.\d{1,9})?))?)?"
)


def number_of(values: Array, read_as: ReadAs) -> Array:
    """What a model sees of numbers, dates or durations (n,), NaN where one is missing.

    >>> number_of(np.array(["1970-02-03T06:00"], dtype="M8[us]"), "days")
    array([33.25])
    """
    if read_as == "number":
        return values.astype(float, copy=False)
    if read_as == "duration":
        found: Array = values.astype(np.int64) / DAY
    elif read_as == "month":
        found = values.astype("M8[M]").astype(np.int64) % 12 + 1.0
    else:
        days, rest = np.divmod(values.astype(np.int64), DAY)
        parts = {"days": days + rest / DAY, "weekday": (days + 3.0) % 7, "hour": rest / DAY * 24}
        found = parts[read_as]
    return np.where(np.isnat(values), np.nan, found)


def read_durations(texts: Sequence[str]) -> Array:
    """Texts such as 08:30, 1:02:03.5 or 3 days 04:00:00 as durations (n,), NaT where one is none.

    >>> read_durations(["08:30", "3 days", "soon"])
    array([ 30600000000, 259200000000,        'NaT'], dtype='timedelta64[us]')
    """
    found = np.full(len(texts), "NaT", dtype="m8[us]")
    for index, text in enumerate(texts):
        given = _DURATION.fullmatch(text.strip())
        if given is not None and text.strip():
            minutes = 60 * int(given["hours"] or 0) + int(given["minutes"] or 0)
            seconds = 60 * minutes + float(given["seconds"] or 0)
            sign = -1 if given["sign"] == "-" else 1
            found[index] = np.timedelta64(
                int(given["days"] or 0) * DAY + sign * round(seconds * 1e6), "us"
            )
    return found
