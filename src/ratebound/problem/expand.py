"""Expansion: goals, columns, ranges, ratios, areas and thresholds become sums that are at most 0.

No later step asks what type of constraint something is. But each row keeps the ratio or the learned
threshold that it stands for, for reports and for choosing the threshold.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ratebound.problem.comparison import kind_of_value
from ratebound.problem.objectives import Objective, build_objective
from ratebound.problem.population import Pieces
from ratebound.problem.problem import Problem
from ratebound.problem.slices import Classes, Slice, check_rate, list_denominator_slices
from ratebound.rates.conditions import (
    EVERYONE,
    Condition,
    Every,
    In,
    Name,
    Value,
    column,
    format_column,
    leaves,
    replace_leaves,
)
from ratebound.rates.goals import STAND_IN, Goal
from ratebound.rates.sums import (
    PAIRS,
    RANKING,
    Computed,
    Constraint,
    Part,
    Quotient,
    Rate,
    Shape,
    Sum,
    mentions_every_value,
)
from ratebound.rates.table import KINDS, split_ratio

MOST_GROUPS = 100  # in a column whose values are not listed
OTHER_GROUP = column(STAND_IN) == 1  # for goals that compare a group with another one
EXAMPLE_LEVEL = 0.7  # in the error that asks for a level between two ratios


@dataclass(frozen=True)
class Threshold:
    """A threshold that is learned from scores, so that a share of some rows is above it."""

    name: str
    rate: Rate  # how many rows are above it
    share: float  # the bound of the rate
    at_most: bool  # whether the rate is at most this, or at least


@dataclass(frozen=True)
class Row:
    """One row of a compiled problem: a linear sum that is at most 0, and what it stands for."""

    sum: Sum
    text: str
    constraint: int  # its index among the problem's constraints
    ratio: Quotient | None = None  # the ratio that was cross-multiplied, which reports show
    threshold: Threshold | None = None  # the learned threshold that the row bounds
    computed: Computed | None = None  # a function whose value a game adds to the row


def expand(
    problem: Problem, populations: Mapping[str, Pieces], classes: Classes
) -> tuple[Objective, list[Row]]:
    """Return the objective as a function of linear sums, and a row for every bound."""
    rows: list[Row] = []
    for index, statement in enumerate(problem.constraints):
        try:
            rows += _expand_statement(statement, index, problem.levels, populations, classes)
        except (ValueError, TypeError) as error:
            message = str(error)
            if str(statement) not in message:
                message = f"{statement}: {message}"
            raise ValueError(message) from None
    objective = problem.objective
    check_populations(objective.rates, populations)
    if isinstance(objective, Shape):
        parts: list[Sum] = []
        for part in objective.parts:
            parts += _spell_out_column(part, populations)
        objective = Shape(objective.name, tuple(parts))
    elif any(map(mentions_every_value, objective.rates)):
        raise ValueError(f"{objective} is a number for every value: write smallest({objective})")
    checked = objective.map(partial(check_rate, classes=classes))
    return build_objective(problem.sense, checked, as_quotient), rows


def _expand_statement(
    statement: Constraint | Goal,
    index: int,
    levels: Mapping[str, float],
    populations: Mapping[str, Pieces],
    classes: Classes,
) -> list[Row]:
    """Return the rows of one of the problem's constraints."""
    rows = []
    for constraint in spell_out(statement, populations, classes):
        constraint.check_limits()
        checked = constraint.map(partial(check_rate, classes=classes))
        for end in checked.ends:
            rows += _make_rows(end, index, levels)
    return rows


def check_populations(rates: Iterable[Rate], populations: Mapping[str, Pieces]) -> None:
    """Raise if a rate names a population that was not passed."""
    for rate in rates:
        name = rate.population
        if name not in populations:
            if name == PAIRS:
                raise ValueError(f"{rate}: this is a rate of pairs: use rb.RateConstrainedRanker")
            known = ", ".join(map(repr, populations))
            raise ValueError(
                f"{rate}: population {name!r} is not given, only {known}: "
                f"pass it by its name, {name}=..."
            )


# --- groups and classes ---------------------------------------------------------------------------


def spell_out(
    statement: Constraint | Goal, populations: Mapping[str, Pieces], classes: Classes
) -> list[Constraint]:
    """Return a constraint for every group, value and class that a statement stands for."""
    check_populations(statement.rates, populations)
    if isinstance(statement, Constraint):
        return _spell_out_column(statement, populations)
    pieces = populations[statement.population]
    groups = _list_groups(statement, pieces)
    constraints: list[Constraint] = []
    for goal in _split_classes(statement, classes):
        large_groups = _drop_small_groups(goal, groups, pieces, classes)
        _check_group_count(goal, large_groups)
        constraints += goal.spell_out(large_groups)
    return constraints


def _split_classes(goal: Goal, classes: Classes) -> list[Goal]:
    """Return a goal for each class, if the goal names none of several."""
    if not goal.lacks_class or classes.labels == 2:
        return [goal]
    return [goal.with_class(value) for value in classes.values[: classes.labels]]


def _list_groups(goal: Goal, pieces: Pieces) -> list[Condition]:
    groups: list[Condition] = []
    if dict(goal.options).get("intersection"):
        names = [group.column for group in goal.groups]  # type: ignore[attr-defined]
        groups = _make_groups(pieces, names)
        _warn_about_empty_groups(goal, pieces, names, len(groups))
    else:
        for group in goal.groups:
            groups += _split_group(pieces, group)
    return groups


def _check_group_count(goal: Goal, groups: list[Condition]) -> None:
    columns = [group.column for group in goal.groups if isinstance(group, Every)]
    if columns and len(groups) > MOST_GROUPS:
        raise ValueError(
            f"there are {len(groups):,} groups, more than {MOST_GROUPS}: list the important ones, "
            f"as in {format_column(columns[0])} in (...), or leave out small ones with min_rows="
        )


def _warn_about_empty_groups(
    goal: Goal,
    pieces: Pieces,
    names: list[Name],
    group_count: int,
) -> None:
    """Warn about combinations of values that no row has, which nothing constrains."""
    sizes = [len(_make_groups(pieces, [name])) for name in names]
    possible = math.prod(sizes)
    if possible > group_count:
        message = (
            f"{goal}: {possible - group_count:,} of {possible:,} combinations have no row, "
            "so they are left out"
        )
        warnings.warn(message, stacklevel=8)  # at the caller of `compile`


def _split_group(pieces: Pieces, group: Condition) -> list[Condition]:
    """Return a group for every value of a column, or for every value listed."""
    if isinstance(group, In):
        return [column(group.column) == value for value in group.values]
    if isinstance(group, Every):
        return _make_groups(pieces, [group.column])
    return [group]


def _make_groups(pieces: Pieces, names: list[Name]) -> list[Condition]:
    """Return a group for every combination of the columns' values that occurs, in order.

    Rows without a value are in none of them: who wants that group names it, `missing(sex)`.
    """
    combinations: set[tuple[Value | None, ...]] = set()
    for piece in pieces:
        combinations |= piece.list_combinations(names)
    groups = []
    for values in sorted(filter(_are_present, combinations), key=_order_values):
        group: Condition = EVERYONE
        for name, value in zip(names, values, strict=True):
            group &= column(name) == value
        groups.append(group)
    if not groups:
        raise ValueError(f"no row has a value of {', '.join(map(repr, names))}")
    return groups


def _are_present(values: Iterable[Value | None]) -> bool:
    return None not in values


def _order_values(values: Iterable[Any]) -> list[Any]:
    """Return a key that sorts numbers before text."""
    return [(kind_of_value(value), value) for value in values]


def _drop_small_groups(
    goal: Goal,
    groups: list[Condition],
    pieces: Pieces,
    classes: Classes,
) -> list[Condition]:
    """Return the groups with at least `min_rows` rows to count, and warn about the rest."""
    min_rows = dict(goal.options).get("min_rows", 0)
    if not min_rows or not groups:
        return groups
    large: list[Condition] = []
    small: list[Condition] = []
    for group in groups:
        if _count_fewest_rows(goal, group, pieces, classes) < min_rows:
            small.append(group)
        else:
            large.append(group)
    if not large:
        raise ValueError(f"no group has {min_rows:,} rows to count on: choose a smaller min_rows=")
    if small:
        names = ", ".join(map(str, small))
        message = f"{goal}: groups with fewer than {min_rows:,} rows are left out: {names}"
        warnings.warn(message, stacklevel=7)  # at the caller of `compile`
    return large


def _count_fewest_rows(
    goal: Goal,
    group: Condition,
    pieces: Pieces,
    classes: Classes,
) -> int:
    """Return the smallest number of rows that a rate of the goal counts among in a group."""
    counts = []
    for constraint in goal.spell_out([group, OTHER_GROUP]):
        for rate in constraint.rates:
            if rate.condition != group:
                continue
            slices = list_denominator_slices(check_rate(rate, classes), classes)
            counts += [_count_rows(slice_, pieces, classes) for slice_ in slices]
    return min(counts)


def _count_rows(slice_: Slice, pieces: Pieces, classes: Classes) -> int:
    total = 0
    for piece in pieces:
        inside = slice_.mask(piece, classes) & (piece.row_weights > 0)
        counts = inside if piece.counts is None else piece.counts[inside]
        total += int(counts.sum())
    return total


def _spell_out_column(statement: Any, populations: Mapping[str, Pieces]) -> list[Any]:
    """Return a constraint or a sum once for every value of the column that stands for them all."""
    columns = set()
    for rate in statement.rates:
        for leaf in leaves(rate.condition):
            if isinstance(leaf, Every):
                columns.add((leaf.column, rate.population))
    if not columns:
        return [statement]
    if len(columns) > 1:
        raise ValueError(
            "only one column can stand for all of its values; write one for each value of the others"
        )
    ((name, population),) = columns
    groups = _make_groups(populations[population], [name])
    if len(groups) > MOST_GROUPS:
        raise ValueError(
            f"column {name!r} holds {len(groups):,} values, more than {MOST_GROUPS}: list some in a goal"
        )
    return [statement.map(partial(_restrict_to_group, group=group)) for group in groups]


def _restrict_to_group(rate: Rate, group: Condition) -> Rate:
    """Return the rate on one group, in place of every value of its column."""

    def replace_every(leaf: Condition) -> Condition:
        return group if isinstance(leaf, Every) else leaf

    return replace(rate, condition=replace_leaves(rate.condition, replace_every))


# --- rows -----------------------------------------------------------------------------------------


def _make_rows(constraint: Constraint, index: int, levels: Mapping[str, float]) -> list[Row]:
    """Return the rows of a constraint with one bound."""
    (sum_,) = constraint.rows
    text = str(constraint)
    if not sum_.nonlinear:
        return [Row(sum_, text, index)]
    if len(sum_.nonlinear) == 2:
        return _make_rows_at_level(sum_, text, index, levels)
    ((quantity, coefficient),) = sum_.terms.items()
    if isinstance(quantity, Computed):
        return [Row(Sum((), sum_.constant), text, index, computed=quantity)]
    if isinstance(quantity, Rate) and quantity.form == RANKING:
        bound = -sum_.constant / coefficient
        if quantity.option("top") is None:
            return _make_area_rows(quantity, bound, text, index)
        return _make_top_rows(quantity, bound, text, index)
    ratio = as_quotient(quantity)
    cross_multiplied = ratio.top * coefficient + ratio.bottom * sum_.constant
    return [Row(cross_multiplied, text, index, ratio)]


def _make_rows_at_level(
    sum_: Sum,
    text: str,
    index: int,
    levels: Mapping[str, float],
) -> list[Row]:
    """Return two rows for two ratios, with a level between them that bounds each."""
    if text not in levels:
        raise ValueError(
            f"{text} compares two ratios, which is linear only at a level between them: "
            f"choose one and write both bounds, as in {_write_bounds(sum_)}"
        )
    rows: list[Row] = []
    for ratio, coefficient in sum_.terms.items():
        bound = Sum([(ratio, coefficient)]) <= math.copysign(levels[text], coefficient)
        rows += _make_rows(bound, index, levels)
    return rows


def _write_bounds(sum_: Sum) -> str:
    """Write two bounds at an example level that imply the comparison of the two ratios."""
    first, second = sorted(sum_.terms, key=lambda ratio: -sum_.terms[ratio])
    factor = -sum_.terms[first] / sum_.terms[second]
    return f"{second} >= {EXAMPLE_LEVEL * factor:g} and {first} <= {EXAMPLE_LEVEL:g}"


def as_quotient(ratio: Rate | Quotient) -> Quotient:
    """Return a ratio as a quotient of sums. Counts of the same rows become shares of them.

    Shares have violations that compare with those of other rates, whatever the number of rows.
    """
    if isinstance(ratio, Rate):
        numerator, denominator = split_ratio(ratio)
        top = Sum([(numerator, 1.0)])
        bottom = Sum([(denominator, 1.0)])
        return Quotient(top, bottom)
    rates = ratio.top.rates + ratio.bottom.rates
    same_rows = len({(rate.condition, rate.population) for rate in rates}) == 1
    are_counts = all(rate.among is None and rate.option("per") is None for rate in rates)
    if not (same_rows and are_counts) or ratio.top.constant or ratio.bottom.constant:
        return ratio
    return Quotient(ratio.top.map(_as_share), ratio.bottom.map(_as_share))


def _as_share(rate: Rate) -> Rate:
    return replace(rate, among=(Part("1"),))


# --- thresholds -----------------------------------------------------------------------------------


def _make_area_rows(
    rate: Rate,
    bound: float,
    text: str,
    index: int,
) -> list[Row]:
    """Bound the mean recall over thresholds, each of which has a budget of false positives."""
    bins = rate.option("bins")
    recalls = []
    budgets = []
    for number in range(bins):
        name = f"{rate} {number + 1}/{bins}"
        share = (number + 0.5) / bins
        recalls.append((_at_threshold(rate, "recall", name), 1 / bins))
        spent = _at_threshold(rate, "false_positive_rate", name)
        threshold = Threshold(name, spent, share, at_most=True)
        over_budget = Sum([(spent, 1.0)]) - share
        budgets.append(Row(over_budget, f"{spent} <= {share!r}", index, threshold=threshold))
    return [Row(bound - Sum(recalls), text, index), *budgets]


def _make_top_rows(
    rate: Rate,
    bound: float,
    text: str,
    index: int,
) -> list[Row]:
    """Bound the precision or recall of the rows above a threshold that at least `top` rows pass."""
    top = rate.option("top")
    name = str(rate)
    passed = _at_threshold(rate, "predicted_positives" if top >= 1 else "positive_rate", name)
    share_of_top = Sum([(passed, 1 / top)])
    if rate.name == "recall":
        hits = Sum([(_at_threshold(rate, "recall", name), 1.0)])
    else:  # true positives, in the unit in which `passed` counts rows
        true_positives = replace(passed, name="true positives", counted=rate.counted)
        hits = Sum([(true_positives, 1 / top)])
    threshold = Threshold(name, passed, top, at_most=False)
    return [
        Row(bound * share_of_top - hits, text, index),
        Row(1 - share_of_top, f"{passed} >= {top}", index, threshold=threshold),
    ]


def _at_threshold(rate: Rate, name: str, threshold: str) -> Rate:
    """Return another rate of the same rows, at a learned threshold."""
    (other,) = KINDS[name](rate.condition).rates
    per = rate.option("per") if other.among is None else None
    of = rate.option("of")
    on = rate.option("on")
    return other.with_options(of=of, on=on, at=threshold, per=per)
