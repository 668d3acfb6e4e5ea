"""How a function from groups to constraints becomes a goal, which text can call by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol

from ratebound.rates.expressions import Constraint
from ratebound.rates.grouping import GOALS, Goal, Groups, Promise, check_new, groups_said
from ratebound.rates.subsets import Subset, Value, plain_value

# What every goal on columns takes, besides its own options.
OF_COLUMNS = {"intersection": False, "min_rows": None}


class GoalFunction(Protocol):
    """What every goal is: a function from groups and its own options to promises."""

    def __call__(
        self,
        groups: Groups | None = None,
        *,
        intersection: bool = False,
        min_rows: int | None = None,
        **options: Any,
    ) -> list[Any]: ...


def goal(function: Callable[..., list[Any]]) -> GoalFunction:
    """Register a function from groups to constraints as a goal, so that text can call it by its name.

    Text may then name columns, and reports name the constraints after the goal.

    Parameters
    ----------
    function : callable
        Its first argument is `groups`, and it is given a list of subsets; all others are keywords. It
        returns a list of constraints. Its name is a plain word that no built-in rate or goal has; a goal
        of your own can be defined again.

    Returns
    -------
    callable
        The goal, which also takes columns as groups, ``intersection=`` and ``min_rows=``.

    Raises
    ------
    TypeError
        If its first argument is not called `groups`.
    ValueError
        If its name is taken, or no plain word.

    Examples
    --------
    >>> import ratebound as rb
    >>> @rb.goal
    ... def minimum_negative_rate(groups, *, at_least):
    ...     return [rb.negative_rate(group) >= at_least for group in groups]
    >>> minimum_negative_rate({"sex": ("Female",)}, at_least=0.2)
    [negative_rate(sex == "Female") >= 0.2]
    >>> minimum_negative_rate("sex", at_least=0.2)
    [minimum_negative_rate(sex, at_least=0.2)]
    """
    name = getattr(function, "__name__", function)
    check_new(name, GOALS)
    if next(iter(inspect.signature(function).parameters), None) != "groups":
        raise TypeError(
            f"{name}: the first argument of a goal's function is `groups`, the list of "
            "subsets it is given, as in def my_goal(groups, *, at_least)"
        )
    return known_goal(function)


def known_goal(function: Callable[..., list[Any]], *, every_class: bool = True) -> Any:
    """The same of a function that may also do without groups.

    What it promises of no class in particular holds for `every_class`, where there are more than two.
    """
    name, signature = function.__name__, _signature(function)

    @wraps(function)
    def stated(*args: Any, **options: Any) -> list[Promise]:
        given = signature.bind(*args, **options).arguments  # which objects to what it does not take
        if "groups" in signature.parameters:
            groups = groups_said(given.pop("groups", None))
            of_columns = {option: given.pop(option) for option in OF_COLUMNS if option in given}
            if any(of_columns.values()) or not all(isinstance(group, Subset) for group in groups):
                return [Goal(name, tuple(groups), _plain(given), **of_columns)]
            given["groups"] = groups
        return [
            replace(c, name=f"{name.replace('_', ' ')}: {c}", every_class=every_class)
            for c in _listed(name, function(**given))
        ]

    stated.__signature__ = signature  # type: ignore[attr-defined]  # as help() shows it
    GOALS[name] = stated
    return stated


def _signature(function: Callable[..., list[Any]]) -> inspect.Signature:
    """The function's own, and where it takes groups the options of every goal on columns."""
    own = inspect.signature(function)
    if "groups" not in own.parameters:
        return own
    if taken := [option for option in OF_COLUMNS if option in own.parameters]:
        raise TypeError(f"{function.__name__}: every goal has {taken[0]}= already: choose another name")
    more = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default)
        for option, default in OF_COLUMNS.items()
    ]
    return own.replace(parameters=[*own.parameters.values(), *more])


def _listed(name: str, returned: Any) -> list[Constraint]:
    """What the function of a goal returned, if that is a list of constraints."""
    listed = list(returned) if isinstance(returned, Iterable) else []
    if not listed or not all(isinstance(each, Constraint) for each in listed):
        raise TypeError(
            f"{name}: return a list of constraints from the function of a goal, as in "
            f"[rb.recall(group) >= 0.9 for group in groups], got {returned!r}"
        )
    return listed


def _plain(given: Mapping[str, Any]) -> tuple[tuple[str, Value], ...]:
    return tuple((name, plain_value(value)) for name, value in given.items() if value is not None)


def said(name: str, groups: Sequence[Any], options: Mapping[str, Value]) -> Goal:
    """The goal of that name as text gives it: its groups, or whatever it takes first, one by one.

    >>> said("minimum_recall", ["sex"], {"at_least": 0.9})
    minimum_recall(sex, at_least=0.9)
    """
    signature = inspect.signature(GOALS[name])
    if "groups" not in signature.parameters:
        return Goal(name, (), tuple(signature.bind(*groups, **options).arguments.items()))
    own = {option: value for option, value in options.items() if option not in OF_COLUMNS}
    of_columns: dict[str, Any] = {o: value for o, value in options.items() if o in OF_COLUMNS}
    said_groups = tuple(groups_said(list(groups))) if groups else ()
    return Goal(name, said_groups, tuple(own.items()), **of_columns)
