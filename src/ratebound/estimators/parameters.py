"""The estimator's parameters, checked before anything is trained, whichever model they are for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ratebound.base.checks import check_number, check_whole, check_word
from ratebound.base.choices import MODELS, PROXIES
from ratebound.estimators.choices import as_solution, is_learner
from ratebound.game.settings import checked_rates


def check_parameters(given: dict[str, Any]) -> None:
    """Raise where a parameter of `RateConstrainedClassifier` cannot be meant."""
    model = given["model"]
    is_named = isinstance(model, str) and model in MODELS
    if not (is_named or callable(model) or is_learner(model) or hasattr(model, "fit")):
        raise ValueError(
            f"model must be {', '.join(map(repr, MODELS))}, a scikit-learn classifier, a torch module, "
            f"a function that makes one, or a learner such as rb.Linear(), got {model!r}"
        )
    hidden = given["hidden"]
    if isinstance(hidden, str) or not isinstance(hidden, Sequence):
        raise ValueError(f"hidden takes the sizes of layers, as in (32,), got {hidden!r}")
    for size in hidden:
        check_whole("hidden: a layer", size)
    for name in ("features", "known"):
        if isinstance(given[name], str) or not isinstance(given[name] or (), Iterable):
            raise TypeError(f"{name} takes a list of columns, as in ['sex'], got {given[name]!r}")
    for name in ("learning_rate", "multiplier_rate"):
        if isinstance(given[name], str) and given[name] != "search":
            raise ValueError(f"{name} is a positive number, several, or 'search', got {given[name]!r}")
        if not isinstance(given[name], str):
            checked_rates(given[name])
    for name in ("loss", "proxy"):
        check_word(name, given[name], PROXIES)
    as_solution(given["solution"])
    check_number("l2", given["l2"], least=0)
    check_whole("batch_size", given["batch_size"])
    check_number("validation_fraction", given["validation_fraction"], least=0, below=1)
    for name in ("epochs", "patience"):
        if given[name] is not None:
            check_whole(name, given[name])
    if given["max_time"] is not None:
        check_number("max_time", given["max_time"], least=0)
