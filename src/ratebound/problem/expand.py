"""The one place where shorthand becomes sums that are at most 0: goals, columns, ranges, ratios,
areas.

After it nothing asks what type of constraint something is. What a ratio or a learned threshold was
stays beside each row, for display and for choosing the threshold.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ratebound.problem.objectives import Objective, build_objective
from ratebound.problem.population import Pieces, check_population
from ratebound.problem.problem import Problem
from ratebound.problem.slices import Classes, Slice, check_rate, slices_among
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
    RANKING,
    Computed,
    Constraint,
    Part,
    Quotient,
    Rate,
    Shape,
    Sum,
)
from ratebound.rates.table import KINDS, split_ratio

MOST_GROUPS = 100  # that a column may make without being listed
OTHER_GROUP = column(STAND_IN) == 1  # beside one whose rows are counted
EXAMPLE_LEVEL = 0.7  # of two ratios, in the error that asks for one


@dataclass(frozen=True)
class Threshold:
    """How a learned threshold follows from scores: a share of some rows is above it."""

    name: str
    rate: Rate  # linear, at the threshold
    share: float  # of its rows, or with `per` of as many
    at_most: bool  # else at least this share


@dataclass(frozen=True)
class Row:
    """One row of a compiled problem: a linear sum that is at most 0, and what it stands for."""

    sum: Sum
    text: str
    constraint: int  # its index among the problem's constraints
    ratio: Quotient | None = None  # what reports show, if it was cross-multiplied
    threshold: Threshold | None = None  # whose budget it is
    computed: Computed | None = None  # a function whose value a game adds to the row


def expand(
    problem: Problem,
    populations: Mapping[str, Pieces],
    classes: Classes,
) -> tuple[Objective, list[Row]]:
    """Return the objective as a function of linear sums, and a row for every bound."""
    rows: list[Row] = []
    check = partial(check_rate, classes=classes)
    for index, stated in enumerate(problem.constraints):
        try:
            for constraint in spell_out(stated, populations, classes):
                for end in constraint.map(check).ends:
                    rows += _make_rows(end, index, problem.levels)
        except (ValueError, TypeError) as error:
            message = str(error)
            if str(stated) not in message:
                message = f"{stated}: {message}"
            raise ValueError(message) from None
    objective = problem.objective
    if isinstance(objective, Shape):
        parts: list[Sum] = []
        for part in objective.parts:
            parts += _spell_out_column(part, populations)
        objective = Shape(objective.name, tuple(parts))
    return build_objective(problem.sense, objective.map(check), as_quotient), rows


# --- groups and classes ---------------------------------------------------------------------------


def spell_out(
    stated: Constraint | Goal,
    populations: Mapping[str, Pieces],
    classes: Classes,
) -> list[Constraint]:
    """Return a constraint for every group, value and class that it mentions."""
    if isinstance(stated, Constraint):
        return _spell_out_column(stated, populations)
    check_population(stated.population, populations)
    pieces = populations[stated.population]
    groups = _list_groups(stated, pieces)
    constraints: list[Constraint] = []
    for of in _list_classes(stated, classes):
        large = _drop_small(stated, groups, of, pieces, classes)
        _check_number(stated, large)
        constraints += stated.spell_out(large, **of)
    return constraints


def _list_classes(goal: Goal, classes: Classes) -> list[dict[str, Value]]:
    """Return the option ``of=`` for each class that the goal is about."""
    if not goal.lacks_class or classes.labels == 2:
        return [{}]
    return [{"of": value} for value in classes.values[: classes.labels]]


def _list_groups(goal: Goal, pieces: Pieces) -> list[Condition]:
    groups: list[Condition] = []
    if dict(goal.options).get("intersection"):
        names = [group.column for group in goal.groups]  # type: ignore[attr-defined]
        groups = _groups_of_columns(pieces, names)
        _warn_of_absent(goal, pieces, names, len(groups))
    else:
        for group in goal.groups:
            groups += _split_group(pieces, group)
    return groups


def _check_number(goal: Goal, groups: list[Condition]) -> None:
    columns = [group.column for group in goal.groups if isinstance(group, Every)]
    if columns and len(groups) > MOST_GROUPS:
        raise ValueError(
            f"there are {len(groups):,} groups, more than {MOST_GROUPS}: list the important ones, "
            f"as in {format_column(columns[0])} in (...), or leave out small ones with min_rows="
        )


def _warn_of_absent(
    goal: Goal,
    pieces: Pieces,
    names: list[Name],
    present: int,
) -> None:
    """Warn about combinations of values that no row has: nothing is constrained there."""
    possible = math.prod(len(_groups_of_columns(pieces, [name])) for name in names)
    if possible > present:
        message = (
            f"{goal}: {possible - present:,} of {possible:,} combinations have no row, "
            "so they are left out"
        )
        warnings.warn(message, stacklevel=6)


def _split_group(pieces: Pieces, group: Condition) -> list[Condition]:
    """Return a group for every value of a column, or for every value listed."""
    if isinstance(group, In):
        return [column(group.column) == value for value in group.values]
    if isinstance(group, Every):
        return _groups_of_columns(pieces, [group.column])
    return [group]


def _groups_of_columns(pieces: Pieces, names: list[Name]) -> list[Condition]:
    """Return a group for every combination of the columns' values that occurs, in order.

    Rows without a value are a group only if they are asked for, as in ``missing(race)``.
    """
    combinations: set[tuple[Value | None, ...]] = set()
    for piece in pieces:
        combinations |= piece.list_combinations(names)
    groups = []
    known = [values for values in combinations if None not in values]
    for values in sorted(known, key=_order_values):
        group: Condition = EVERYONE
        for name, value in zip(names, values, strict=True):
            group &= column(name) == value
        groups.append(group)
    return groups


def _order_values(values: Iterable[Value | None]) -> list[Any]:
    """Return a key that sorts numbers before texts before missing values."""
    return [(value is None, isinstance(value, str), value or 0) for value in values]


def _drop_small(
    goal: Goal,
    groups: list[Condition],
    of: dict[str, Value],
    pieces: Pieces,
    classes: Classes,
) -> list[Condition]:
    """Return the groups with at least `min_rows` rows to count on, and warn about the others."""
    least = dict(goal.options).get("min_rows", 0)
    if not least or not groups:
        return groups
    large: list[Condition] = []
    small: list[Condition] = []
    for group in groups:
        rows = _count_fewest(goal, group, of, pieces, classes)
        (large if rows >= least else small).append(group)
    if not large:
        raise ValueError(f"no group has {least:,} rows to count on: choose a smaller min_rows=")
    if small:
        names = ", ".join(map(str, small))
        message = f"{goal}: groups with fewer than {least:,} rows are left out: {names}"
        warnings.warn(message, stacklevel=6)
    return large


def _count_fewest(
    goal: Goal,
    group: Condition,
    of: dict[str, Value],
    pieces: Pieces,
    classes: Classes,
) -> int:
    """Return the fewest rows, in a group, that a rate of a goal is about."""
    counts = []
    for constraint in goal.spell_out([group, OTHER_GROUP], **of):
        for rate in constraint.rates:
            if rate.condition == group:
                slices = slices_among(check_rate(rate, classes), classes)
                counts += [_count_rows(slice_, pieces, classes) for slice_ in slices]
    return min(counts)


def _count_rows(
    slice_: Slice,
    pieces: Pieces,
    classes: Classes,
) -> int:
    total = 0
    for piece in pieces:
        inside = slice_.mask(piece, classes) & (piece.row_weights > 0)
        total += int(inside.sum() if piece.counts is None else piece.counts[inside].sum())
    return total


def _spell_out_column(stated: Any, populations: Mapping[str, Pieces]) -> list[Any]:
    """Return a constraint or a sum once for every value of a column that it names without one."""
    columns = set()
    for rate in stated.rates:
        for leaf in leaves(rate.condition):
            if isinstance(leaf, Every):
                columns.add((leaf.column, rate.population))
    if not columns:
        return [stated]
    if len(columns) > 1:
        raise ValueError(
            "one column can stand for every one of its values, not two; write a constraint for each"
        )
    ((name, population),) = columns
    check_population(population, populations)
    groups = _groups_of_columns(populations[population], [name])
    if len(groups) > MOST_GROUPS:
        raise ValueError(
            f"column {name!r} holds {len(groups):,} values, more than {MOST_GROUPS}: list some in a goal"
        )
    return [stated.map(partial(_restrict_to_group, group=group)) for group in groups]


def _restrict_to_group(rate: Rate, group: Condition) -> Rate:
    """Return the rate with the group in place of "every value"."""

    def replace_every(leaf: Condition) -> Condition:
        return group if isinstance(leaf, Every) else leaf

    return replace(rate, condition=replace_leaves(rate.condition, replace_every))


# --- rows -----------------------------------------------------------------------------------------


def _make_rows(
    constraint: Constraint,
    index: int,
    levels: Mapping[str, float],
) -> list[Row]:
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
        make_rows = _make_area_rows if quantity.option("top") is None else _make_top_rows
        return make_rows(quantity, -sum_.constant / coefficient, text, index)
    ratio = as_quotient(quantity)
    cross_multiplied = ratio.top * coefficient + ratio.bottom * sum_.constant
    return [Row(cross_multiplied, text, index, ratio)]


def _make_rows_at_level(
    sum_: Sum,
    text: str,
    index: int,
    levels: Mapping[str, float],
) -> list[Row]:
    """Return the rows of two ratios compared: each is bounded by a level between them."""
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
    """Write the two bounds that together imply ``a * first <= b * second``, at an example level."""
    first, second = sorted(sum_.terms, key=lambda ratio: -sum_.terms[ratio])
    factor = -sum_.terms[first] / sum_.terms[second]
    return f"{second} >= {EXAMPLE_LEVEL * factor:g} and {first} <= {EXAMPLE_LEVEL:g}"


def as_quotient(ratio: Rate | Quotient) -> Quotient:
    """Return a ratio as a quotient of sums; counts of the same rows become shares."""
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
        budget = Threshold(name, spent, share, at_most=True)
        over_budget = Sum([(spent, 1.0)]) - share
        budgets.append(Row(over_budget, f"{spent} <= {share!r}", index, threshold=budget))
    return [Row(bound - Sum(recalls), text, index), *budgets]


def _make_top_rows(
    rate: Rate,
    bound: float,
    text: str,
    index: int,
) -> list[Row]:
    """Bound how often rows above one threshold are right; at least `top` rows are."""
    top = rate.option("top")
    name = str(rate)
    above = _at_threshold(rate, "predicted_positives" if top >= 1 else "positive_rate", name)
    spent = Sum([(above, 1 / top)])
    if rate.name == "recall":
        hits = Sum([(_at_threshold(rate, "recall", name), 1.0)])
    else:  # right yeses, in the unit in which `above` counts rows
        right = replace(above, name="right yeses", counted=rate.counted)
        hits = Sum([(right, 1 / top)])
    budget = Threshold(name, above, top, at_most=False)
    return [
        Row(bound * spent - hits, text, index),
        Row(1 - spent, f"{above} >= {top}", index, threshold=budget),
    ]


def _at_threshold(
    rate: Rate,
    kind: str,
    threshold: str,
) -> Rate:
    """Return another rate of the same rows, at a learned threshold."""
    (other,) = KINDS[kind](rate.condition).rates
    per = rate.option("per") if other.among is None else None
    of = rate.option("of")
    on = rate.option("on")
    return other.with_options(of=of, on=on, at=threshold, per=per)
