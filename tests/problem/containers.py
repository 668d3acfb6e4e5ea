"""One column in every container that users have."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import ratebound as rb

EXACT_WITH_GAPS = ("list", "NumPy objects", "Arrow", "pandas Arrow", "polars", "pandas Int64")
LARGEST_EXACT_FLOAT = 2**53


def list_containers(values: list[Any], arrow_type: pa.DataType) -> Iterator[tuple[str, Any]]:
    """Yield a column under the name of its container."""
    table = pa.table({"c": pa.array(values, arrow_type)})
    frame = table.to_pandas()
    makers: dict[str, Callable[[], Any]] = {
        "list": lambda: values,
        "tuple": lambda: tuple(values),
        "NumPy objects": lambda: to_objects(values),
        "Arrow": lambda: table["c"],
        "pandas": lambda: frame["c"],
        "pandas objects": lambda: frame["c"].astype(object),
        "pandas nullable": lambda: to_nullable(frame)["c"],
        "pandas Arrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype)["c"],
    }
    if not pa.types.is_dictionary(arrow_type) or pa.types.is_string(arrow_type.value_type):
        makers["polars"] = lambda: pl.from_arrow(table)["c"]  # older ones know no other codes
    if pa.types.is_integer(arrow_type):
        makers["pandas Int64"] = lambda: pd.Series(values, dtype=name_nullable_type(arrow_type))
    if pa.types.is_string(arrow_type):
        makers["pandas category"] = lambda: pd.Series(values, dtype="category")
        makers["polars category"] = lambda: pl.Series(values, dtype=pl.Categorical)
        makers["Arrow dictionary"] = lambda: table["c"].dictionary_encode()
    if None not in values:
        makers["NumPy"] = lambda: to_array(values, arrow_type)
    for name, make in makers.items():
        if is_exact(name, values):
            yield name, make()


def is_exact(name: str, values: list[Any]) -> bool:
    """Return False if a container held whole numbers as floats before they come to the library."""
    if None not in values or name in EXACT_WITH_GAPS:
        return True
    numbers = [value for value in values if isinstance(value, int)]
    return not any(abs(number) > LARGEST_EXACT_FLOAT for number in numbers)


def to_nullable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with pandas' own types; older versions warn when they try to cast 1e308."""
    with np.errstate(invalid="ignore"):
        return frame.convert_dtypes()


def to_objects(values: list[Any]) -> Any:
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def to_array(values: list[Any], arrow_type: pa.DataType) -> Any:
    """Return values as an array of the type that is nearest to Arrow's."""
    has_zone = pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None
    if pa.types.is_decimal(arrow_type) or has_zone:
        return to_objects(values)
    if pa.types.is_dictionary(arrow_type):
        return np.array(values)
    if pa.types.is_string(arrow_type):
        return np.array(values, dtype=str)
    if pa.types.is_timestamp(arrow_type):
        return np.array(values, dtype=f"M8[{arrow_type.unit}]")
    if pa.types.is_date(arrow_type):
        return np.array(values, dtype="M8[D]")
    return np.array(values, dtype=arrow_type.to_pandas_dtype())


def name_nullable_type(arrow_type: pa.DataType) -> str:
    """Return pandas's name of a type of whole numbers: "Int64" for int64, "UInt8" for uint8."""
    return str(arrow_type).replace("uint", "UInt").replace("int", "Int")


def find_rows(column: Any, condition: Any) -> list[bool] | str:
    """Return which rows of a column "c" meet a condition, or why that cannot be said."""
    rows = rb.Population(columns={"c": column}, allow_absent=True)
    try:
        return rows.mask(condition).tolist()
    except ValueError as error:
        return str(error)
