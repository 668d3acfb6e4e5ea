"""From a table to the numbers a model sees, in the style its kind of model wants.

What was learned (centres, scales, values) is plain data, so it is saved with the model as JSON.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ratebound.base.types import Array
from ratebound.problem.frames import as_array, frame_columns, is_missing, numbers
from ratebound.problem.matrices import as_csr, as_dense
from ratebound.tables._sparse import transform_matrix
from ratebound.tables._writing import ArrayFeatures, SparseFeatures
from ratebound.tables.columns import (
    KINDS_IN,
    MISSING,
    Category,
    Code,
    Column,
    Number,
    Style,
    column_from_json,
    column_to_json,
    flags_gaps,
    names_of,
    places_of,
    width_of,
)
from ratebound.tables.factoring import factored


@dataclass(frozen=True)
class Encoding:
    """How rows of a table become features, as fitted on some rows.

    >>> table = {"age": [20.0, 40.0], "sex": ["Female", "Male"]}
    >>> import pandas
    >>> from ratebound.tables.fitting import fit_encoding
    >>> encoding = fit_encoding(pandas.DataFrame(table))
    >>> encoding.names
    ['age', 'sex == Female', 'sex == Male']
    >>> encoding.transform(pandas.DataFrame(table))
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]], dtype=float32)
    """

    columns: tuple[Column, ...]
    from_frame: bool
    style: Style = "scaled"
    sparse: bool = False  # whether features are a sparse matrix

    @property
    def names(self) -> list[str]:
        """What each feature stands for."""
        return [name for column in self.columns for name in names_of(column)]

    @property
    def codes(self) -> list[int]:
        """Which features hold codes of categories."""
        return [i for i, column in enumerate(self.columns) if isinstance(column, Code)]

    def transform(self, X: Any) -> Any:
        """Features (n, d) of a table like the one fitted on; for the style "table", its columns.

        Missing values are filled in. Where a column had none in training there is a warning, and where
        no value is present at all, an error.
        """
        if not self.from_frame:
            return self._transform_array(as_array(X))
        present = frame_columns(X)
        lacking = [str(c.name) for c in self.columns if c.name not in present]
        if lacking:
            raise ValueError(f"the table has no column {lacking[0]!r}, which the model was trained on")
        if self.style == "table":
            missing = [int(is_missing(as_array(X[column.name])).sum()) for column in self.columns]
            self._tell_missing(missing, len(X))
            return X[[column.name for column in self.columns]]
        features = self._unwritten(len(X))
        with np.errstate(over="ignore"):  # an infinite feature has no score, and scoring says so
            missing = [
                _write(features, first, column, X[column.name])
                for first, column in zip(self._first_features, self.columns, strict=True)
            ]
        self._tell_missing(missing, len(X))
        return features.finished()

    def _unwritten(self, rows: int) -> ArrayFeatures | SparseFeatures:
        dtype = np.float32 if self.style == "scaled" else np.float64
        if self.sparse:
            return SparseFeatures(rows, self.width, places_of(self.columns), dtype)
        return ArrayFeatures(rows, self.width, dtype)

    @cached_property
    def width(self) -> int:
        """How many features there are."""
        return sum(map(width_of, self.columns))

    @cached_property
    def _first_features(self) -> list[int]:
        """Which feature is the first of each column."""
        widths = [width_of(column) for column in self.columns]
        return (np.cumsum(widths, dtype=int) - widths).tolist() if widths else []

    def _transform_array(self, values: Array) -> Array:
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"expected rows of {len(self.columns)} features, as trained on, got shape {values.shape}"
            )
        if self.sparse:
            return self._transform_matrix(values)
        if sparse.issparse(values):
            values = as_dense(values, "this model")
        if self.style != "scaled":
            if values.dtype.kind == "f":
                self._tell_missing(np.isnan(values).sum(axis=0).tolist(), len(values))
            return values
        columns = [column for column in self.columns if isinstance(column, Number)]
        center = np.array([column.center for column in columns])
        scale = np.array([column.scale for column in columns])
        return (values.astype(float) - center) / scale

    def _transform_matrix(self, values: Any) -> Any:
        matrix = as_csr(sparse.csr_array(values))
        if matrix.dtype.kind == "f":
            missing = matrix.indices[np.isnan(matrix.data)]
            counts = np.bincount(missing, minlength=len(self.columns)).tolist()
            self._tell_missing(counts, matrix.shape[0])
        return transform_matrix(matrix, self.columns)

    def _tell_missing(self, counts: Sequence[int], rows: int) -> None:
        """Warn about missing values, counted by column, where training had none."""
        pairs = zip(self.columns, counts, strict=True)
        new = {str(column.name): count for column, count in pairs if count and not column.gaps}
        if not new:
            return
        if all(count == rows for count in counts):
            raise ValueError(
                f"every cell of these {rows:,} rows is missing in all {len(counts)} columns that the "
                "model sees: there is nothing to decide on"
            )
        said = ", ".join(f"{name!r} in {count:,}" for name, count in list(new.items())[:10])
        warnings.warn(
            f"values are missing where none were in training, of {rows:,} rows: {said}"
            f"{', ...' if len(new) > 10 else ''}; each is treated as an average or unknown value",
            UserWarning,
            stacklevel=3,
        )

    def to_json(self) -> dict[str, Any]:
        columns = [column_to_json(column) for column in self.columns]
        return {
            "from_frame": self.from_frame,
            "style": self.style,
            "sparse": self.sparse,
            "columns": columns,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Encoding:
        columns = tuple(map(column_from_json, data["columns"]))
        from_frame, style, thin = data["from_frame"], data["style"], data["sparse"]
        if style not in KINDS_IN or not isinstance(from_frame, bool) or not isinstance(thin, bool):
            raise ValueError(f"its encoding is of an unknown style, {style!r}")
        kinds = KINDS_IN[style] if from_frame else KINDS_IN[style][:1]
        if not all(isinstance(column, kinds) for column in columns):
            raise ValueError(f"its columns are not of the style {style!r}")
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("its encoding has a column twice")
        return Encoding(columns, from_frame, style, thin)


def _write(features: ArrayFeatures | SparseFeatures, first: int, column: Column, given: Any) -> int:
    """Write the features of one column, from `first` on; how many of its values are missing."""
    if isinstance(column, Code | Category):
        texts = factored(given)
        numbered = {value: code for code, value in enumerate(column.values)}
        codes = texts.places(numbered, other=-1, missing=numbered.get(MISSING, -1))
        if isinstance(column, Category):
            features.one_of(first, codes)
        else:
            features.number(first, np.where(codes < 0, np.nan, codes))
        return texts.missing
    values = as_array(given)
    lacking, found = is_missing(values), numbers(values, str(column.name))
    if isinstance(column, Number):
        found = (found - column.center) / column.scale
        np.copyto(found, 0.0, where=lacking)
    features.number(first, found)
    if flags_gaps(column):
        features.number(first + 1, lacking)
    return int(lacking.sum())
