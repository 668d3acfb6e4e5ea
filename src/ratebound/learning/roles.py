"""Columns have roles: a model does not read columns that only serve to count rows.

A live model's decisions, amounts, clusters and probabilities of groups are left out, unless the user
lists them. Columns of groups are read, and the status says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ratebound._bridge import as_features
from ratebound.learning.given import Rows, has_columns
from ratebound.problem.columns import is_frame, list_names
from ratebound.problem.problem import Problem
from ratebound.rates.conditions import Name

SENSITIVE = re.compile(
    r"(?<![a-z])(age|sex|gender|race|ethnic\w*|religion|marital|nationality)(?![a-z])"
)


def choose_features(
    X: Rows,
    problem: Problem,
    features: Any,
    not_features: Iterable[Name],
) -> tuple[Any, list[Name]]:
    """Return the columns of a table that a model may read, and the columns that it may not.

    Live decisions, amounts and `not_features` are left out, unless the user lists all features.
    """
    if not has_columns(X):
        return features, []
    chosen = as_features(features)
    if chosen.only is not None:
        return chosen, []
    roles: set[Any] = {*not_features}
    for statement in (*problem.constraints, problem.objective):
        for rate in statement.rates:
            roles |= {rate.option("versus"), rate.option("by")}
            roles |= {part.amounts for part in rate.counted}
    names = chosen.chosen(list_names(X) if is_frame(X) else X.columns)
    left_out = [name for name in names if name in roles]
    if len(left_out) == len(names):
        raise ValueError(f"all columns have other roles than features: {left_out}; list features=")
    return replace(chosen, exclude=[*chosen.exclude, *left_out]), left_out


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
