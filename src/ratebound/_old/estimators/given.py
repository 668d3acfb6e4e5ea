"""Tables and labels that users give, as populations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ratebound._bridge import accept
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import check_order, columns_by_name, frame_columns, some, unmasked
from ratebound._old.problem.labels import class_array, label_values, labels_of, places_among
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.general import general
from ratebound._old.rates.kinds import label_classes
from ratebound._old.rates.subsets import plain_value, value_text

# Other libraries' names for the columns that promises are about.
GROUPS = {"sensitive_features", "sensitive_feature", "sensitive_attributes", "sensitive_attribute",
          "sensitive", "protected_attributes", "protected_attribute", "protected", "prot_attr", "groups",
          "group", "demographics", "a"}  # fmt: skip


def labelled(X: Any, labels: Array, columns: Any, weights: Any, classes: tuple[Any, ...]) -> Population:
    """Rows whose `labels` (n,) are places of `classes`, with the columns that constraints may use.

    Labels are stored by their names, so an existing model's decisions may be spelled likewise.
    """
    check_order(X, {"columns": columns})
    spoken_of = columns_by_name(X if frame_columns(X) else None) | columns_by_name(columns)
    named = class_array(classes)[labels.astype(np.intp)]
    return Population(X, named, columns=spoken_of, weights=unmasked(weights), classes=classes)


def check_whole_population(population: Population, **beside: Any) -> None:
    """Raise if a part of a population is given beside it, or labels are missing."""
    parts = {"y": "label", "sample_weight": "weight", "columns": "columns"}
    for name, given in beside.items():
        if given is not None:
            part = parts[name] if population.stored else name.replace("sample_weight", "weights")
            raise TypeError(
                f"{name}= is for a table or an array X; a population has its own: "
                f"{type(population).__name__}(..., {part}=...)"
            )
    if population.y is None:
        raise ValueError(f"{population!r} has no labels: give it labels, so that a model can learn them")


def in_order(classes: Array, positive: Any) -> tuple[Any, ...]:
    """The classes in the order used by rates: with two, no and then yes, which is `positive`."""
    ordered = tuple(classes)
    if positive is None:
        return ordered
    if positive not in classes.tolist():
        raise ValueError(f"positive_label {positive!r} is not among y's {classes}")
    if len(ordered) > 2:
        raise ValueError(
            f"positive_label says which of two classes is yes, but y has {len(ordered)}: leave it "
            f"out, and name the class of each rate, as in recall(of={value_text(positive)})"
        )
    return ordered if labels_of(classes, positive).yes == ordered[1] else ordered[::-1]


def trained_labels(y: Any, classes: tuple[Any, ...]) -> Array:
    """The place of each label among the trained classes, (n,), without a referral."""
    labels, classes = label_values(y), label_classes(classes)
    places = places_among(labels, classes)
    if (places < 0).any():
        others = some(list(dict.fromkeys(labels[places < 0].tolist())))
        raise ValueError(
            f"y holds labels that were not in training: {others}; the trained labels are {some(classes)}"
        )
    return places


def other_populations(
    others: Mapping[str, Any], classes: tuple[Any, ...], problem: Problem
) -> dict[str, Any]:
    """Further populations by name: a table, (table, labels), (table, labels, columns) or made.

    >>> asked = Problem("error_rate()", ['positive_rate(on="pool") <= 0.2'])
    >>> other_populations({"pool": np.zeros((3, 1))}, ("no", "yes"), asked)
    {'pool': Population(3 rows, no labels, columns )}
    """
    _check_groups(others, problem)
    people = {}
    for name, given in others.items():
        try:
            people[name] = _population(given, classes)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
    return people


def _check_groups(others: Mapping[str, Any], problem: Problem) -> None:
    """Raise if groups are given as other libraries take them, not as columns."""
    custom = (each.on for each in general(problem.subject_to))
    known = {*(rate.on for rate in problem.rates), *custom}
    for name in others:
        if name not in known and name.lower() in GROUPS:
            raise TypeError(
                f"{name}= is not an argument: give the columns that constraints use as columns=, as in "
                "columns={'sex': sex}, and name them in constraints, as in "
                "equal_opportunity(sex, slack=0.05)"
            )


def _population(given: Any, classes: tuple[Any, ...]) -> Population:
    classes = tuple(map(plain_value, classes))
    given = accept(given)
    if isinstance(given, Population):
        yes = classes[1]
        positive = given.labels.yes  # truth values mean yes and no under any name
        if (
            len(label_classes(classes)) == 2
            and positive is not None
            and positive is not True
            and positive != yes
        ):
            raise ValueError(
                f"its yes is {positive!r}, but the yes of y is {yes!r}: make it rb.Population(..., "
                f"positive={yes!r}), or pass (table, labels)"
            )
        return given
    if isinstance(given, tuple) and len(given) in (2, 3):
        X, y, columns = (*given, None)[:3]
        check_order(X, {"y": y})
        return labelled(X, trained_labels(y, classes), columns, None, classes)
    if hasattr(given, "shape"):
        table = columns_by_name(given if frame_columns(given) else None)
        return Population(given, columns=table, classes=classes)
    raise TypeError(
        "a population is a table, a table with its labels as (table, labels) or (table, labels, "
        f"columns), or a rb.Population, got {type(given).__name__}"
    )
