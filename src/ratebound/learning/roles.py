"""Columns have roles: a model does not read columns that only serve to count rows.

A live model's decisions, amounts, clusters and probabilities of groups are left out, unless the user
lists them. Columns of groups are read, and the status says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ratebound.learning.given import Rows
from ratebound.problem.columns import is_frame, list_names
from ratebound.problem.problem import Problem
from ratebound.rates.conditions import Name, suggest_name

SENSITIVE = re.compile(
    r"(?<![a-z])(age|sex|gender|race|ethnic\w*|religion|marital|nationality)(?![a-z])"
)


def choose_features(
    X: Rows,
    problem: Problem,
    features: Sequence[Name] | None,
    not_features: Iterable[Name],
) -> tuple[list[Name], list[Name]]:
    """Return the columns that a model reads, and the columns that it does not.

    Live decisions, amounts and `not_features` are left out.
    """
    names = list_names(X) if is_frame(X) else list(range(X.shape[1]))
    for name in features or ():
        if name not in names:
            raise ValueError(f"features= lists {name!r}, which X lacks{suggest_name(name, names)}")
    if features is not None:
        return list(features), []
    excluded: set[Any] = {*not_features}
    for statement in (*problem.constraints, problem.objective):
        for rate in statement.rates:
            excluded |= {rate.option("versus"), rate.option("by")}
            excluded |= {part.amounts for part in rate.counted}
    left_out = [name for name in names if name in excluded]
    if len(left_out) == len(names):
        raise ValueError(f"all columns have other roles than features: {left_out}; list features=")
    return [name for name in names if name not in left_out], left_out


def describe_features(features: Sequence[Name], left_out: Sequence[Name]) -> list[str]:
    """Return what people should know of the columns that a model reads, in sentences."""
    sentences = []
    if left_out:
        sentences.append(
            f"The model does not read {join_names(left_out)}: to change it, list all features in "
            "features=."
        )
    sensitive = [name for name in features if SENSITIVE.search(str(name).lower())]
    if sensitive:
        sentences.append(f"For lenders: the law may forbid the features {join_names(sensitive)}.")
    return sentences


def join_names(names: Iterable[Name]) -> str:
    return ", ".join(map(repr, names))
