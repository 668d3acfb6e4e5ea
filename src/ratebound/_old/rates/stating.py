"""Goals: how a function from groups to constraints gets a name that text can use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol

from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.grouping import GOALS, Goal, Groups, Promise, check_new, groups_said
from ratebound._old.rates.subsets import Subset, Value, plain_value

# The options of every goal on columns, besides the goal's own.
OF_COLUMNS = {"intersection": False, "min_rows": None}


class GoalFunction(Protocol):
    """The type of every goal: a function from groups and its own options to promises."""

    def __call__(
        self,
        groups: Groups | None = None,
        *,
        intersection: bool = False,
        min_rows: int | None = None,
        **options: Any,
    ) -> list[Any]: ...


def goal(function: Callable[..., list[Any]]) -> GoalFunction:
    """Register a function from groups to constraints as a goal, so that text can use it by name.

    The goal then also takes columns as groups, and reports name the constraints after the goal.

    Parameters
    ----------
    function : callable
        Its first argument is `groups`, a list of subsets; all other arguments are keywords. It returns a
        list of constraints. Its name is a plain word, and not the name of a built-in rate or goal. You
        can redefine your own goals.

    Returns
    -------
    callable
        The goal, which also takes columns as groups, ``intersection=`` and ``min_rows=``.

    Raises
    ------
    TypeError
        If its first argument is not called `groups`.
    ValueError
        If its name is taken or is not a plain word.

    Examples
    --------
    >>> import ratebound._old as rb
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
            f"{name}: the first argument of a goal's function must be `groups`, a list of "
            "subsets, as in def my_goal(groups, *, at_least)"
        )
    return known_goal(function)


def known_goal(function: Callable[..., list[Any]], *, every_class: bool = True) -> Any:
    """The same for a function that need not take groups.

    If there are more than two classes and a promise names none, it holds for `every_class`.
    """
    name, signature = function.__name__, _signature(function)

    @wraps(function)
    def stated(*args: Any, **options: Any) -> list[Promise]:
        given = signature.bind(*args, **options).arguments  # raises for unknown options
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
    """The function's signature; if it takes groups, with the options of every goal on columns."""
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
    """The list of constraints that a goal's function returned; an error if it is not one."""
    listed = list(returned) if isinstance(returned, Iterable) else []
    if not listed or not all(isinstance(each, Constraint) for each in listed):
        raise TypeError(
            f"{name}: a goal's function must return a list of constraints, as in "
            f"[rb.recall(group) >= 0.9 for group in groups], got {returned!r}"
        )
    return listed


def _plain(given: Mapping[str, Any]) -> tuple[tuple[str, Value], ...]:
    return tuple((name, plain_value(value)) for name, value in given.items() if value is not None)


def said(name: str, groups: Sequence[Any], options: Mapping[str, Value]) -> Goal:
    """A goal as text gives it: by its name, its groups or other leading arguments, and its options.

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
