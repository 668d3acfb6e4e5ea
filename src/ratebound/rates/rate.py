"""One rate by its words: what is counted, among which rows, of which population."""

from __future__ import annotations

from dataclasses import dataclass

from ratebound.rates.subsets import EVERYONE, Said, Subset, Value, value_text

FIRST = "train"  # the population that rates without ``on=`` speak of
# What any rate may take besides conditions, in the order it prints them: never the names of columns.
OPTIONS = ("of", "versus", "on", "at", "bins", "per")


@dataclass(frozen=True, repr=False)
class Rate(Said):
    """One named rate on one subset: how often the model does something, among some rows.

    The functions of the rates, such as `recall`, say one and check it. Expressions are made of them.

    Parameters
    ----------
    kind : str
        The name of the rate, such as "recall".
    subset : Subset, default=rb.where()
        The rows that count. By default all.
    on : str, default=None
        The name of the population. By default the first, which the model is trained on.
    at : float or str, default=None
        The threshold that the score is compared with, or the name of one to be learned. By default 0,
        where the model itself decides.
    versus : str, default=None
        The column with an existing model's decisions. By default none: most rates need no other model.
    bins : int, default=None
        The number of budgets of an area; None for any other rate.
    per : float, default=None
        Of every how many rows of the population a count is taken. By default of all rows given.
    own : tuple of (str, value), default=()
        The options that its kind alone takes, such as the beta of an `f_score`, where they are not left
        at their defaults.
    of : str, bool, int or float, default=None
        The class it speaks of. By default the positive one of two.

    Examples
    --------
    >>> import ratebound as rb
    >>> rate, = rb.recall(sex="Female", on="pool").rates
    >>> rate.kind, rate.subset, rate.on
    ('recall', sex == "Female", 'pool')
    """

    kind: str
    subset: Subset = EVERYONE
    on: str | None = None
    at: float | str | None = None
    versus: str | None = None
    bins: int | None = None
    per: float | None = None
    own: tuple[tuple[str, Value], ...] = ()
    of: Value | None = None

    @property
    def population(self) -> str:
        """The population it speaks of, by name."""
        return self.on or FIRST

    def __str__(self) -> str:
        words = [] if self.subset == EVERYONE else [str(self.subset)]
        first, *others = [(option, getattr(self, option)) for option in OPTIONS]
        said = [(name, value) for name, value in (first, *self.own, *others) if value is not None]
        words += [f"{name}={value_text(value)}" for name, value in said]
        return f"{self.kind}({', '.join(words)})"
