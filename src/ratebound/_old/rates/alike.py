"""Rates that must be similar: up to a difference, or up to a factor."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Literal

from ratebound._old.base.checks import as_number, check_number
from ratebound._old.rates.expressions import Constraint, Expression
from ratebound._old.rates.grouping import Groups, as_groups
from ratebound._old.rates.subsets import Value

PERCENT_FACTOR = 10.0  # nobody calls rates that differ by this factor similar: a percentage is meant
Against = Literal["overall", "pairwise"]


def equal(left: Expression, right: Expression | float, *, slack: float) -> list[Constraint]:
    """Promise that two sums of rates are equal, up to `slack`.

    Parameters
    ----------
    left : Expression
        A rate, or a sum of rates.
    right : Expression or float
        What it must equal.
    slack : float
        How far apart the two may be, in either direction. There is no default: people must decide how
        large a difference they allow. A small slack makes training more stable.

    Returns
    -------
    list of Constraint
        The two bounds.

    Raises
    ------
    ValueError
        If `slack` is negative.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.equal(rb.positive_rate(), 0.5, slack=0.25)
    [positive_rate() <= 0.75, positive_rate() >= 0.25]
    """
    if as_number(slack, "a slack") < 0:
        raise ValueError(f"slack must not be negative, got {slack}")
    return [left <= right + slack, left >= right - slack]


def alike(
    rate: Callable[..., Expression],
    groups: Groups,
    slack: float | None,
    ratio: float | None,
    against: Against,
    on: str | None,
    of: Value | None = None,
    harm: bool = False,
) -> list[Constraint]:
    """Promises that `rate` is similar in all groups: to the overall rate, or for each pair of groups."""
    subsets = as_groups(groups)
    if against == "overall":
        pairs = [(rate(g, of=of, on=on), rate(of=of, on=on)) for g in subsets]
    elif against == "pairwise":
        if len(subsets) < 2:
            raise ValueError("against='pairwise' needs at least two groups")
        pairs = [(rate(a, of=of, on=on), rate(b, of=of, on=on)) for a, b in permutations(subsets, 2)]
    else:
        raise ValueError(f"against must be 'overall' or 'pairwise', got {against!r}")
    # Both orders of each pair occur, so one bound for each order is enough.
    sides = 1 if against == "pairwise" else 2
    return [c for left, right in pairs for c in close(left, right, slack, ratio, harm)[:sides]]


def close(
    left: Expression, right: Expression, slack: float | None, ratio: float | None, harm: bool = False
) -> list[Constraint]:
    """Two bounds for a slack, one for a ratio; the ratio is inverted for a rate that harms its group."""
    if (slack is None) == (ratio is None):
        raise ValueError("give either slack= (an additive difference) or ratio= (a factor)")
    if slack is not None:
        return equal(left, right, slack=slack)
    assert ratio is not None
    check_number("ratio", ratio, above=0)
    if ratio >= PERCENT_FACTOR:
        raise ValueError(
            f"ratio is a factor, such as 0.95 for 95%, got {ratio}; did you mean ratio={ratio / 100:g}?"
        )
    factor = 1 / ratio if harm else ratio
    return [left >= factor * right] if (ratio <= 1) != harm else [left <= factor * right]
