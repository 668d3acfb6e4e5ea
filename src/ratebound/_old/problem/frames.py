"""Reading tables: arrays, lists, sparse matrices and tables (pandas, polars, PyArrow) alike.

None of these libraries is imported to do so. Sparse matrices are converted to one form: by rows, without
duplicate entries or stored zeros. Two matrices with the same numbers then hold the same arrays. So rows
can be counted, compared and hashed by their stored entries alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.stored import Stacked, StoredRows
from ratebound._old.rates.subsets import Name

LARGEST_DENSE = 2**31  # up to this many bytes, a sparse matrix is made dense for a model that needs it
VIEWS = {"string_view": "string", "binary_view": "binary"}  # PyArrow's newer and older types


def is_sparse(rows: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices. If they are not imported, nothing is."""
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(rows))


def as_csr(matrix: Any) -> Any:
    """Any of SciPy's sparse matrices in our one form; the argument is not changed.

    >>> from scipy import sparse
    >>> as_csr(sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])))).toarray()
    array([[0., 3.],
           [0., 0.]])
    """
    from scipy import sparse  # slow to import

    if matrix.ndim != 2:
        raise ValueError(f"X needs rows and features, got a sparse matrix of shape {matrix.shape}")
    if matrix.dtype.kind not in "buif":
        raise ValueError(f"X must hold numbers, got a sparse matrix of {matrix.dtype}")
    csr = matrix if isinstance(matrix, sparse.csr_array) else sparse.csr_array(matrix)
    if not csr.has_canonical_format or not csr.data.all():
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    small = max(csr.nnz, csr.shape[1]) < 2**31
    if small and csr.indices.dtype != np.int32:
        parts = (csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int32))
        csr = sparse.csr_array(parts, shape=csr.shape)
    return csr


def as_dense(rows: Any, who: str, dtype: Any = None) -> Any:
    """Rows as an array, for a model (`who`) without sparse support; raises if it is too large.

    >>> from scipy import sparse
    >>> as_dense(sparse.csr_array(np.eye(2)), "this model")
    array([[1., 0.],
           [0., 1.]])
    """
    if isinstance(rows, StoredRows):
        return rows
    if not is_sparse(rows):
        return np.asarray(rows, dtype)
    kind = np.dtype(dtype or rows.dtype)
    size = rows.shape[0] * rows.shape[1] * kind.itemsize
    if size > LARGEST_DENSE:
        raise ValueError(
            f"{who} does not take sparse matrices, and these {rows.shape[0]:,} rows of "
            f"{rows.shape[1]:,} features would fill {size / 1e9:,.0f} GB as an array: use "
            "model='linear', or leave features out"
        )
    dense: Array = rows.astype(kind).toarray()
    return dense


def rows_between(rows: Any, start: int, stop: int) -> Any:
    """Some rows of an array or a sparse matrix, without copying."""
    if not is_sparse(rows):
        return rows[start:stop]
    from scipy.sparse import csr_array

    ends = rows.indptr[start : stop + 1]
    held = slice(ends[0], ends[-1])
    parts = (rows.data[held], rows.indices[held], ends - ends[0])
    return csr_array(parts, shape=(len(ends) - 1, rows.shape[1]))


def stacked_rows(parts: Sequence[Any]) -> Any:
    """The rows of several matrices one after the other; sparse, or on disk, if one of them is."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, StoredRows) for part in parts):
        return Stacked([as_dense(part, "a model of rows on disk") for part in parts])
    if any(map(is_sparse, parts)):
        from scipy import sparse

        return as_csr(sparse.vstack([sparse.csr_array(part) for part in parts], format="csr"))
    return np.concatenate(parts)


def frame_columns(X: Any) -> list[Any]:
    """The column names of a table (pandas, polars, PyArrow), or an empty list for anything else."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("a lazy frame has no rows yet: pass the result of its collect()")
    if isinstance(X, Mapping) and not is_sparse(X):  # some sparse matrices are dictionaries
        raise TypeError(
            "a dictionary is not a table: pass pandas.DataFrame(X), or, for one row's values, "
            "pandas.DataFrame([X])"
        )
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        raise TypeError("a list of dictionaries is not a table: pass pandas.DataFrame(X)")
    if hasattr(X, "column_names"):  # PyArrow, whose `columns` are the columns themselves
        names = list(X.column_names)
    else:
        names = list(X.columns) if hasattr(X, "columns") and hasattr(X, "to_numpy") else []
    if len(set(names)) < len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise ValueError(f"two columns of X are named {twice!r}: rename one of them, or leave it out")
    return names


def length(values: Any, name: str) -> int:
    """How many rows `values` has; errors call them `name`."""
    if hasattr(values, "shape"):
        if values.shape:
            return int(values.shape[0])
    elif hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping | Set):
        return len(values)
    what = "one value" if np.isscalar(values) else type(values).__name__
    raise TypeError(f"{name} takes a value for each row, as a list, an array or a column, got {what}")


def as_array(values: Any) -> Any:
    """Values as an array; a sparse matrix in its standard form."""
    if is_sparse(values):
        return as_csr(values)
    if hasattr(values, "to_pylist"):  # PyArrow
        return _arrow_array(values)
    if hasattr(values, "to_numpy"):
        frame: Array = values.to_numpy()
        return frame
    array = np.asarray(unmasked(values))
    if array.dtype.kind in "US" and not hasattr(values, "dtype"):
        array = np.asarray(values, dtype=object)  # a list's None or NaN among texts must stay missing
    return array


def _arrow_array(values: Any) -> Array:
    if frame_columns(values):
        return np.column_stack([_arrow_array(column) for column in values.columns])
    if hasattr(values.type, "index_type"):  # decoded first: missing values would be lost
        values = values.cast(values.type.value_type)
    array: Array = values.to_numpy(zero_copy_only=False)
    return array


def unmasked(values: Any) -> Any:
    """A masked array as an array with masked values missing; anything else unchanged.

    >>> unmasked(np.ma.array([1, 2], mask=[True, False]))
    array([nan,  2.])
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    masked: Any = values
    if not np.ma.is_masked(masked):
        return np.asarray(masked.data)
    if masked.dtype.kind in "iuf":
        return np.asarray(masked.astype(float).filled(np.nan))
    if masked.dtype.kind in "mM":
        return np.asarray(masked.filled(np.array("NaT", masked.dtype)))
    return np.where(masked.mask, None, masked.data.astype(object))


def rows_of(table: Any, rows: Array) -> Any:
    """These rows of an array, a sparse matrix, a table or rows on disk, by indices or truth values."""
    if hasattr(table, "column_names") or hasattr(table, "to_pylist"):  # PyArrow
        plain = without_views(table)
        return plain.filter(rows) if rows.dtype == bool else plain.take(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if isinstance(table, StoredRows):
        return table.take(rows)
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    as_it_is = is_sparse(table) or frame_columns(table)
    return table[rows] if as_it_is else as_array(table)[rows]


def stacked(parts: Sequence[Any]) -> Any:
    """The rows of several arrays, columns or tables of one kind, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    library = sys.modules[type(first).__module__.partition(".")[0]]
    if hasattr(library, "concat_tables") and hasattr(first, "column_names"):  # PyArrow
        return library.concat_tables(parts)
    if hasattr(first, "to_pylist"):
        chunks = [getattr(part, "chunks", [part]) for part in parts]
        return library.chunked_array([chunk for part in chunks for chunk in part])
    if hasattr(library, "concat") and hasattr(first, "to_numpy"):  # pandas or polars
        return library.concat(parts)
    if is_sparse(first):
        from scipy.sparse import vstack  # slow to import

        return as_csr(vstack(parts, format="csr"))
    return np.concatenate([as_array(part) for part in parts])


def without_views(values: Any) -> Any:
    """A PyArrow table or column whose texts have the older type, from which rows can be taken.

    >>> import pyarrow
    >>> without_views(pyarrow.array(["a"], pyarrow.string_view())).type
    DataType(string)
    """
    if hasattr(values, "column_names"):
        for place, name in enumerate(values.column_names):
            if str(values[name].type) in VIEWS:
                values = values.set_column(place, name, without_views(values[name]))
        return values
    return values.cast(VIEWS[str(values.type)]) if str(values.type) in VIEWS else values


def numbers(values: Array, name: str) -> Array:
    """A column of a DataFrame as numbers; missing ones as NaN, for learners that accept them."""
    if values.dtype.kind == "O" and not any(isinstance(v, str) for v in values):
        missing = is_missing(values)
        values = np.where(missing, np.nan, np.where(missing, 0, values)).astype(float)
    if values.dtype.kind not in "buif":
        raise ValueError(
            f"column {name!r} of X does not hold numbers: encode it, or leave it out of X and pass it "
            "in columns= if only constraints use it"
        )
    return values


def is_missing(values: Array) -> Array:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.fromiter(map(_lacks_value, values), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def _lacks_value(value: Any) -> bool:
    """None, NaN, or a marker such as pandas' NA, which is not even comparable with itself."""
    differs = value != value
    return value is None or not isinstance(differs, bool | np.bool_) or bool(differs)


def distinct(values: Array, most: int | None = 11) -> list[Any]:
    """Distinct values; they are not sorted if values of one column differ in type.

    Up to eleven are enough for an error; None gives all of them.
    """
    if values.dtype.kind == "O":
        try:
            return list(dict.fromkeys(values.tolist()))[:most]
        except TypeError:  # such as lists, which cannot be hashed
            return values[:most].tolist()
    different: list[Any] = np.unique(values)[:most].tolist()
    return different


def some(values: Sequence[Any]) -> str:
    """Up to ten of the values, as plain Python writes them."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values[:10]]
    return ", ".join(map(repr, plain)) + (", ..." if len(values) > 10 else "")


def columns_by_name(columns: Any) -> dict[Name, Any]:
    """The columns of a DataFrame or a mapping, by their names; none for None."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        return dict(columns)
    names = frame_columns(columns)
    if not names:
        raise TypeError(
            f"columns takes a DataFrame or a mapping from names to values, got {type(columns).__name__}"
        )
    return {name: columns[name] for name in names}


def check_order(X: Any, parts: Mapping[str, Any]) -> None:
    """Raise if a part has the rows of `X` in another order.

    Rows are matched by position. So if pandas names the rows of both, and the same names come in another
    order, the result would be silently wrong.
    """
    index: Any = getattr(X, "index", None)
    for name, part in parts.items():
        other: Any = getattr(part, "index", None)
        if other is index or not hasattr(index, "equals") or not hasattr(other, "equals"):
            continue
        if len(other) == len(index) and not index.equals(other) and index.isin(other).all():
            raise ValueError(
                f"{name} names the same rows as X in another order, but rows are matched by position: "
                f"pass {name}.loc[X.index], or both with reset_index(drop=True) if row i of one is row "
                "i of the other"
            )
