"""Rates that are to be alike: up to a difference, or up to a factor."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Literal

from ratebound.base.checks import as_number, check_number
from ratebound.rates.expressions import Constraint, Expression
from ratebound.rates.grouping import Groups, as_groups
from ratebound.rates.subsets import Value

PERCENT_FACTOR = 10.0  # rates that differ by this factor are not alike: it must be meant in percent
Against = Literal["overall", "pairwise"]


def equal(left: Expression, right: Expression | float, *, slack: float) -> list[Constraint]:
    """Promise that two sums of rates are equal, up to `slack`.

    Parameters
    ----------
    left : Expression
        A rate, or a sum of rates.
    right : Expression or float
        What it is to be equal to.
    slack : float
        How far the two may be apart, both ways. There is no default, since how much is allowed is for
        people to say; a little steadies training.

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
    >>> import ratebound as rb
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
    """`rate` alike for all groups, against the overall rate or between every two groups."""
    subsets = as_groups(groups)
    if against == "overall":
        pairs = [(rate(g, of=of, on=on), rate(of=of, on=on)) for g in subsets]
    elif against == "pairwise":
        if len(subsets) < 2:
            raise ValueError("against='pairwise' needs at least two groups")
        pairs = [(rate(a, of=of, on=on), rate(b, of=of, on=on)) for a, b in permutations(subsets, 2)]
    else:
        raise ValueError(f"against must be 'overall' or 'pairwise', got {against!r}")
    # Every ordered pair occurs, so that one side of each is enough.
    sides = 1 if against == "pairwise" else 2
    return [c for left, right in pairs for c in close(left, right, slack, ratio, harm)[:sides]]


def close(
    left: Expression, right: Expression, slack: float | None, ratio: float | None, harm: bool = False
) -> list[Constraint]:
    """Two bounds for a slack; one for a ratio, turned round for what is a harm to its group."""
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
