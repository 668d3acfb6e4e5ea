"""How the estimator made its model, in words that go into its record: no rows, no paths."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ratebound.estimators._games import Search
from ratebound.estimators._searching import Found
from ratebound.estimators.choices import Training
from ratebound.problem.compiled import Compiled
from ratebound.rates.rate import FIRST
from ratebound.solution.making import ASIDE, Making

UNSAID = ("verbose",)  # what changes nothing about the model
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def making_of(estimator: Any, search: Search, result: Found, aside: Compiled | None) -> Making:
    """What was asked for, how many rows were used for what, and which settings were tried."""
    everyone = search.everyone.sizes[FIRST]
    rows = {"trained on": everyone - result.held_out}
    if result.held_out:
        rows["held out to choose a setting"] = result.held_out
    if search.judge is not None:
        rows["judged out of fold"] = everyone
    if aside is not None:
        rows[ASIDE] = aside.sizes[FIRST]
    settings = result.trace.settings
    tried = tuple(_setting(search, each) for each in settings)
    return Making(said(estimator), rows, tried, len(result.trace), result.trace.ended)


def said(estimator: Any) -> str:
    """The call that makes this estimator: its parameters that are not left at their defaults."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    words = []
    for name, value in estimator.get_params(deep=False).items():
        if name == "training" and value is not None:
            value = replace(value, folder=None)  # which is a path
            if value == Training():
                continue
        if name not in UNSAID and not _is_default(value, defaults[name].default):
            words.append(f"{name}={' '.join(ADDRESS.sub('', repr(value)).split())}")
    return f"{type(estimator).__name__}({', '.join(words)})"


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _setting(search: Search, place: int) -> str:
    """What tells a setting from the others."""
    words = [f"{name} {value:g}" for part in search.pairs for name, value in _own(part, place)]
    return ", ".join(words) or "as it is"


def _own(part: Any, place: int) -> Iterator[tuple[str, float]]:
    """The parameters of which a learner or a player has one for each setting."""
    settings: int = part.settings
    for each in fields(part) if is_dataclass(part) else ():
        value = getattr(part, each.name)
        several = isinstance(value, tuple) and len(value) == settings > max(place, 1)
        if several and place >= 0 and isinstance(value[place], int | float):
            yield f"{type(part).__name__} {each.name.replace('_', ' ')}", value[place]
