"""Which columns of a table a model may see, and which of them hold categories, as people say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ratebound.base.parameters import Adjustable
from ratebound.tables.columns import Name


@dataclass(frozen=True)
class Features(Adjustable):
    """What a model may see of a table.

    only : the columns it may see; None for all. A column named here is used even where it looks like an
        id or never varies.
    exclude : columns it may not see.
    categorical : columns that hold categories, also where these are numbers, such as postcodes.

    >>> import pandas
    >>> people = pandas.DataFrame({"age": [20, 40, 30], "postcode": [101, 202, 101]})
    >>> from ratebound.tables.fitting import fit_encoding
    >>> fit_encoding(people, features=Features(categorical=["postcode"])).names
    ['age', 'postcode == 101', 'postcode == 202']
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
        """Those of a table's columns that the model may see; an unknown one is an error."""
        for name in (*(self.only or ()), *self.exclude, *self.categorical):
            if name not in columns:
                there = ", ".join(map(str, columns))
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
