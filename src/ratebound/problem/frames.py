"""Counting the rows of a data frame: one GROUP BY, by the rule of `problem/comparison.py`.

Narwhals writes the same expressions for every kind of frame, and nothing but the counts is collected.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import reduce
from typing import Any

import narwhals as nw

from ratebound.problem.comparison import (
    RELATIONS,
    ColumnKind,
    fit_comparison,
    int_kind,
    time_kind,
)
from ratebound.problem.lines import MOST_LINES, Lines, make_lines
from ratebound.problem.needs import Needs
from ratebound.rates.conditions import (
    Compare,
    Condition,
    In,
    Missing,
    Name,
    format_column,
)

UNUSABLE = "unusable"
SIMPLE_KINDS = {nw.Boolean: "bool", nw.Float32: "single", nw.Float64: "float", nw.Date: "date"}
LARGEST_INT64 = 2**63 - 1


def count_frame(
    needs: Needs,
    frame: Any,
    label: str | None,
    decision: str,
    weight: str | None,
) -> Lines:
    """Return the lines of a frame that narwhals takes, in memory or lazy."""
    lazy = nw.from_native(frame).lazy()
    schema = lazy.collect_schema()
    keys: list[Any] = []
    for index, leaf in enumerate(needs.conditions):
        keys.append(express(leaf, schema).alias(f"c{index}"))
    for index, name in enumerate(needs.columns):
        keys.append(_express_value(name, schema).alias(f"k{index}"))
    labels = nw.lit(1) if label is None else _express_value(label, schema)
    decisions = _express_value(decision, schema)
    keys += [labels.alias("label"), decisions.alias("decision")]
    sums = _express_sums(needs, weight)
    totals = [nw.len().alias("rows")]
    totals += [nw.col(name).sum() for name in sums]
    added = [number.alias(name) for name, number in sums.items()]
    grouped = lazy.select(*keys, *added).group_by(*needs.keys)
    counted = grouped.agg(*totals).head(MOST_LINES + 1).collect()
    records = counted.rows(named=True)
    _check_usable(records, needs)
    return make_lines(needs, [_complete(record, needs) for record in records])


def _complete(record: Mapping[str, Any], needs: Needs) -> list[Any]:
    """Return a record in order; without weights each row counts once."""
    rows = record["rows"]
    numbers = {"weight": rows, "square": rows, **record}
    return [numbers[name] for name in (*needs.keys, *needs.sums)]


def _express_sums(needs: Needs, weight: str | None) -> dict[str, Any]:
    """Return what is added up beside the number of rows, as expressions."""
    sums: dict[str, Any] = {}
    factor = nw.lit(1.0)
    if weight is not None:
        weights = nw.col(weight).cast(nw.Float64)
        is_usable = _is_usable(weights)
        factor = nw.when(is_usable).then(weights).otherwise(0.0)
        sums["weight"] = factor
        sums["square"] = factor * factor
        sums[UNUSABLE] = nw.when(is_usable).then(0).otherwise(1)
    for index, name in enumerate(needs.amounts):
        amount = nw.col(str(name)).cast(nw.Float64)
        is_usable = _is_usable(amount)
        sums[f"a{index}"] = nw.when(is_usable).then(factor * amount).otherwise(0.0)
        sums[f"{UNUSABLE}{index}"] = nw.when(is_usable).then(0).otherwise(1)
    return sums


def _is_usable(number: Any) -> Any:
    return ((number >= 0) & (number < float("inf"))).fill_null(False)


def _check_usable(records: list[Any], needs: Needs) -> None:
    """Raise if some rows have a weight or an amount that does not add up."""
    meanings = {UNUSABLE: "a weight"}
    for index, name in enumerate(needs.amounts):
        meanings[f"{UNUSABLE}{index}"] = f"an amount in column {name!r}"
    for column, meaning in meanings.items():
        count = sum(record.get(column, 0) for record in records)
        if count:
            raise ValueError(
                f"{count:,} rows have {meaning} that is missing, negative or not finite: "
                "leave them out, or correct them"
            )


# --- expressions ----------------------------------------------------------------------------------


def express(leaf: Condition, schema: Mapping[str, Any]) -> Any:
    """Return a simple condition as an expression that is true or false in every row."""
    name = leaf.column  # type: ignore[attr-defined]
    column = nw.col(name)
    is_gone = column.is_null()
    if schema[name] in (nw.Float32, nw.Float64):
        is_gone = is_gone | column.is_nan().fill_null(False)
    if isinstance(leaf, Missing):
        return is_gone
    if not isinstance(leaf, In):
        return _express_comparison(leaf, schema, is_gone)
    comparisons = [Compare(name, "==", value) for value in leaf.values]
    met = [_express_comparison(comparison, schema, is_gone) for comparison in comparisons]
    return reduce(operator.or_, met)


def _express_comparison(
    leaf: Any,
    schema: Mapping[str, Any],
    is_gone: Any,
) -> Any:
    dtype = schema[leaf.column]
    fitted = fit_comparison(leaf, kind_of_type(dtype, leaf.column))
    if isinstance(fitted, bool):
        return ~is_gone if fitted else is_gone & ~is_gone
    relation, value = fitted
    column = _express_value(leaf.column, schema)
    if dtype == nw.UInt64:
        value = _as_unsigned(value)
    met = RELATIONS[relation](column, value).fill_null(False)
    return met | is_gone if relation == "!=" else met & ~is_gone


def _express_value(name: Name, schema: Mapping[str, Any]) -> Any:
    """Return a column as its values are kept: categories as texts."""
    is_text = kind_of_type(schema[name], name).name == "text"  # type: ignore[index]
    column = nw.col(name)  # type: ignore[arg-type]
    return column.cast(nw.String) if is_text else column


def _as_unsigned(value: int) -> Any:
    """Return a number for a column without a sign, which Arrow compares with its own type alone."""
    if value <= LARGEST_INT64:
        return nw.lit(value, nw.UInt64)
    quarter = nw.lit(value // 4, nw.UInt64)  # literals go up to 63 bits
    return quarter * nw.lit(4, nw.UInt64) + nw.lit(value % 4, nw.UInt64)


def kind_of_type(dtype: Any, name: Name) -> ColumnKind:
    """Return what a column of this type holds; an error says what to make of it."""
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return ColumnKind("text")
    if dtype.is_integer():
        bits = str(dtype).lstrip("UInt")
        return int_kind(int(bits), dtype.is_signed_integer())
    if dtype.is_decimal():
        return ColumnKind("decimal", digits=(dtype.precision, dtype.scale))
    if dtype == nw.Datetime and dtype.time_zone is None:
        return time_kind(dtype.time_unit)
    for simple_type, kind in SIMPLE_KINDS.items():
        if dtype == simple_type:
            return ColumnKind(kind)
    remedy = "make it texts, numbers, truth values or dates"
    if dtype == nw.Datetime:
        remedy = "make it times without a time zone"
    raise ValueError(f"column {format_column(name)} holds {dtype}: {remedy}")
