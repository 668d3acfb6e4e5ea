"""Settings trained side by side: one learning rate for all of them, or one for each."""

from __future__ import annotations

from typing import Any

import numpy as np

Rates = float | tuple[float, ...]
SMALL = 2000  # rows up to which data is small: all are used in every round, in double precision


def checked_rates(learning_rate: Any) -> Rates:
    """`learning_rate` as a number, or a tuple of numbers for several settings.

    >>> checked_rates([0.01, 0.1])
    (0.01, 0.1)
    """
    try:
        rates = np.asarray(learning_rate, dtype=float)
    except (TypeError, ValueError):
        rates = np.array([np.nan])
    if rates.ndim > 1 or not rates.size or not (np.isfinite(rates) & (rates > 0)).all():
        raise ValueError(f"a learning rate is a positive number, or several, got {learning_rate!r}")
    return float(rates) if rates.ndim == 0 else tuple(rates.tolist())


def settings_of(learning_rate: Any) -> int:
    """How many settings a learning rate describes."""
    return int(np.size(learning_rate))
