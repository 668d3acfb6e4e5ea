"""Which columns of a table a model may see, and which of them hold categories, as people say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ratebound.base.layout import printable
from ratebound.base.parameters import Adjustable
from ratebound.tables.columns import Name


@dataclass(frozen=True)
class Features(Adjustable):
    """What a model may see of a table.

    Parameters
    ----------
    only : sequence of str or int, default=None
        The columns it may see. One that is named here is used even where it looks like an id or never
        varies. By default all columns, less those that look so.
    exclude : sequence of str or int, default=()
        Columns it may not see; promises may still speak of them. By default none.
    categorical : sequence of str or int, default=()
        Columns that hold categories, also where these are numbers, such as postcodes. By default numbers
        are numbers and texts are categories.

    Examples
    --------
    >>> import pandas, ratebound as rb
    >>> people = pandas.DataFrame({"age": [20, 40, 30], "postcode": [101, 202, 101]})
    >>> print(rb.inspect(people, features=rb.Features(categorical=["postcode"])))
    the table: 3 rows
    <BLANKLINE>
    Column    Holds    Missing  Distinct  Examples    What is done
    ──────────────────────────────────────────────────────────────
    age       numbers        0         3  20, 40, 30  a number
    postcode  numbers        0         2  101, 202    categories
    """

    only: Sequence[Name] | None = None
    exclude: Sequence[Name] = ()
    categorical: Sequence[Name] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if isinstance(given, str) or not isinstance(given or (), Iterable):
                raise TypeError(f"{field.name} takes a list of columns, as in ['age'], got {given!r}")

    def chosen(self, columns: Sequence[Name]) -> list[Name]:
        """Those of a table's columns that the model may see.

        Parameters
        ----------
        columns : sequence of str or int
            The table's columns.

        Returns
        -------
        list
            Some of them, in order.

        Raises
        ------
        ValueError
            If a column is named that is not there, or both to be seen and not to be.
        """
        for name in (*(self.only or ()), *self.exclude, *self.categorical):
            if name not in columns:
                there = printable(", ".join(map(str, columns)), "")
                raise ValueError(f"features: there is no column {name!r}; there are {there}")
        excluded = list(self.exclude)
        both = [name for name in self.only or () if name in excluded]
        if both:
            raise ValueError(f"features: column {both[0]!r} is both in only= and in exclude=")
        return [name for name in (columns if self.only is None else self.only) if name not in excluded]


def as_features(given: Any) -> Features:
    """What a parameter `features` means: `Features`, a list of columns, or None for all."""
    if isinstance(given, Features):
        return given
    if isinstance(given, str) or not isinstance(given or (), Iterable):
        raise TypeError(
            f"features takes a list of columns, as in ['age'], or rb.Features(...), got {given!r}"
        )
    return Features(only=given)
