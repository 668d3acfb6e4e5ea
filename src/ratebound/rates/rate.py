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

    `of` is the class it speaks of, the positive one of two where it is None. `on` names the population,
    `versus` the column with an existing model's decisions, and `at` the threshold the score is compared
    with: a number, or the name of a threshold to be learned. A count is taken of every `per` rows of its
    population. `own` are the options that its kind alone takes, where they are not left at their
    defaults, such as the beta of an `f_score`.
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
