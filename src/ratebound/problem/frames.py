"""Counting the rows of a data frame: one GROUP BY, by the rule in `problem/comparison.py`.

Narwhals writes the same expressions for every kind of frame. Only the counts are collected.
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
from ratebound.rates.conditions import Condition, In, Missing, Name, format_column

UNUSABLE = "unusable"  # the column that counts rows whose weight does not add up
SIMPLE_KINDS = {
    nw.Boolean: "bool",
    nw.Float32: "single",
    nw.Float64: "float",
    nw.Date: "date",
}
LARGEST_INT64 = 2**63 - 1


def count_frame(
    needs: Needs,
    frame: Any,
    label: str | None,
    decision: str,
    weight: str | None,
) -> Lines:
    """Return the lines of a frame that narwhals supports, in memory or lazy."""
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
    summands = _express_summands(needs, weight)
    named_summands = [summand.alias(name) for name, summand in summands.items()]
    totals = [nw.len().alias("rows")]
    totals += [nw.col(name).sum() for name in summands]
    grouped = lazy.select(*keys, *named_summands).group_by(*needs.keys)
    counted = grouped.agg(*totals).head(MOST_LINES + 1).collect()
    records = counted.rows(named=True)
    _check_usable(records, needs)
    return make_lines(needs, [_list_values(record, needs) for record in records])


def _list_values(record: Mapping[str, Any], needs: Needs) -> list[Any]:
    """Return the values of a record in order. Without weights each row weighs 1."""
    rows = record["rows"]
    values = {"weight": rows, "square": rows, **record}
    return [values[name] for name in (*needs.keys, *needs.sums)]


def _express_summands(needs: Needs, weight: str | None) -> dict[str, Any]:
    """Return expressions of what each row adds to its line, and of what makes it unusable."""
    summands: dict[str, Any] = {}
    factor = nw.lit(1.0)
    if weight is not None:
        weights = nw.col(weight).cast(nw.Float64)
        is_usable = _is_usable(weights)
        factor = nw.when(is_usable).then(weights).otherwise(0.0)
        summands["weight"] = factor
        summands["square"] = factor * factor
        summands[UNUSABLE] = nw.when(is_usable).then(0).otherwise(1)
    for index, name in enumerate(needs.amounts):
        amount = nw.col(str(name)).cast(nw.Float64)
        is_usable = _is_usable(amount)
        summands[f"a{index}"] = nw.when(is_usable).then(factor * amount).otherwise(0.0)
        summands[f"{UNUSABLE}{index}"] = nw.when(is_usable).then(0).otherwise(1)
    return summands


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
    is_missing = column.is_null()
    if schema[name] in (nw.Float32, nw.Float64):
        is_missing = is_missing | column.is_nan().fill_null(False)
    if isinstance(leaf, Missing):
        return is_missing
    if not isinstance(leaf, In):
        return _express_comparison(leaf, schema, is_missing)
    met = [_express_comparison(equality, schema, is_missing) for equality in leaf.equalities]
    return reduce(operator.or_, met)


def _express_comparison(leaf: Any, schema: Mapping[str, Any], is_missing: Any) -> Any:
    dtype = schema[leaf.column]
    fitted = fit_comparison(leaf, kind_of_type(dtype, leaf.column))
    if fitted is True:
        return ~is_missing
    if fitted is False:
        return is_missing & ~is_missing
    relation, value = fitted
    column = _express_value(leaf.column, schema)
    if dtype == nw.UInt64:
        value = _as_unsigned(value)
    met = RELATIONS[relation](column, value).fill_null(False)
    if relation == "!=":
        return met | is_missing
    return met & ~is_missing  # engines disagree about NaN


def _express_value(name: Name, schema: Mapping[str, Any]) -> Any:
    """Return a column's values as lines keep them, with categories as strings."""
    column = nw.col(name)  # type: ignore[arg-type]
    if kind_of_type(schema[name], name).name == "text":  # type: ignore[index]
        # Some versions of pandas write a missing value as the text "None".
        return nw.when(~column.is_null()).then(column.cast(nw.String))
    return column


def _as_unsigned(value: int) -> Any:
    """Return an integer as an unsigned literal, since Arrow compares only within one type."""
    if value <= LARGEST_INT64:
        return nw.lit(value, nw.UInt64)
    quarter = nw.lit(value // 4, nw.UInt64)  # a literal holds at most 63 bits
    remainder = nw.lit(value % 4, nw.UInt64)
    return quarter * nw.lit(4, nw.UInt64) + remainder


def kind_of_type(dtype: Any, name: Name) -> ColumnKind:
    """Return the kind of a column from its type; an error says what to convert it to."""
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
    remedy = "convert it to text, numbers, booleans or dates"
    if dtype == nw.Datetime:
        remedy = "convert it to times without a time zone"
    raise ValueError(f"column {format_column(name)} holds {dtype}: {remedy}")
