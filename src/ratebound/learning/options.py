"""Options of estimators: a table says what each may be, and `fit` reads it first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Any

from ratebound.rates.conditions import Name


@dataclass(frozen=True)
class Check:
    """What one option may be."""

    accepts: Callable[[Any], bool]
    meaning: str


def number(above: float, below: float = inf) -> Check:
    """Return the check of a number between two others.

    >>> number(above=0, below=1).accepts(0.9), number(above=0, below=1).accepts(95)
    (True, False)
    """

    def accepts(value: Any) -> bool:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        return is_number and above < float(value) < below

    limits = f"above {above:g}"
    if below < inf:
        limits = f"between {above:g} and {below:g}"
    return Check(accepts, f"a number {limits}")


def _is_list_of_names(value: Any) -> bool:
    is_list = not isinstance(value, str | bytes) and hasattr(value, "__iter__")
    return is_list and len(value) > 0 and all(isinstance(name, Name) for name in value)


TEXT = Check(lambda value: isinstance(value, str) and value != "", "a text")
FUNCTION = Check(callable, "a function")
FEATURES = Check(
    lambda value: hasattr(value, "only") or _is_list_of_names(value),
    "a list of columns, as in ['age', 'hours'], or rb.Features(...)",
)
NAME_OR_NAMES = Check(
    lambda value: isinstance(value, Name) or _is_list_of_names(value),
    "the name of a column, or a list of names",
)


def check_options(estimator: Any, checks: Mapping[str, Check]) -> None:
    """Raise if an option is neither None nor what the table of checks says."""
    for name, check in checks.items():
        value = vars(estimator)[name]
        if value is not None and not check.accepts(value):
            raise ValueError(f"{name}= takes {check.meaning}, or None; got {value!r}")


class MethodAndOption:
    """A method of an estimator that is also one of its options.

    scikit-learn stores an option as an attribute of the instance, which would hide the method. This
    descriptor comes first: ``model.certify`` is the method, and its value is in ``vars(model)``.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.method.__name__] = value
