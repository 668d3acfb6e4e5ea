"""Every row has a fold: no model is judged on rows it saw, or on those drawn with them.

Rows drawn together are a unit: those of a cluster, or copies of one row.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ratebound.problem.columns import encode_values, fold, is_frame, list_names

FOLDS = 5  # three would leave each model a third of the rows less
LEAST_COPIES = 0.01  # of the rows; a smaller share that has copies does not matter
COPIES_DISAGREE = 0.1  # at most, as a share of the disagreement of any two rows
ID_SHARE = 0.5  # of the distinct rows that a column tells apart if it is as good as an id
ID_VALUES = 50  # that it has, at least
MANY_ROWS = 50  # that have the same features, at least
MANY_SHARE = 0.01  # the same as a share of rows; the larger of the two counts
FEWEST_CLUSTERS = 20


def digest_rows(X: Any) -> Any:
    """Return a number for every row (n,), the same for equal features.

    -0.0 equals 0.0, and all NaN are equal.
    """
    random = np.random.default_rng(0)
    factors = random.integers(0, 2**63, size=X.shape[1], dtype=np.uint64)
    factors = 2 * factors + np.uint64(1)
    if not issparse(X):
        return _mix(_list_numbers(X), factors).sum(axis=1, dtype=np.uint64)
    stored = X.tocoo()  # what is not stored is 0, whose digest is 0
    digests = np.zeros(X.shape[0], dtype=np.uint64)
    np.add.at(digests, stored.row, _mix(stored.data, factors[stored.col]))
    return digests


def _list_numbers(X: Any) -> Any:
    if not is_frame(X):
        return X
    codes = [encode_values(X[name]).codes for name in list_names(X)]  # may mix texts and gaps
    return np.column_stack(codes)


def _mix(values: Any, factors: Any) -> Any:
    numbers = np.nan_to_num(np.asarray(values, dtype=float), nan=1e300) + 0.0
    bits = numbers.view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * factors
    return mixed ^ (mixed >> np.uint64(32))


def find_units(
    X: Any,
    digests: Any,
    kinds: Any,
    clusters: Any,
) -> Any:
    """Return a number for every row (n,), the same for rows drawn together: clusters, or copies.

    Rows with equal features are copies if they nearly always agree in their `kinds` (n,), labels
    and groups, too. People who merely have the same features do not. A warning says so where
    chance is not to blame: where some feature is as good as an id.
    """
    rows = len(kinds)
    if clusters is not None:
        return _number_clusters(clusters, rows)
    features = np.unique(digests, return_inverse=True)[1]
    distinct = features.max() + 1
    if rows - distinct < LEAST_COPIES * rows:
        return np.arange(rows)
    example, unit = fold([features, kinds])
    kinds_of_features = np.bincount(features[example])
    has_copies = np.bincount(features) > 1
    disagreement = (kinds_of_features[has_copies] > 1).mean()
    shares = np.unique(kinds, return_counts=True)[1] / rows
    if disagreement >= COPIES_DISAGREE * (1 - shares @ shares):
        return np.arange(rows)
    if _has_id(X, distinct):
        warnings.warn(
            f"{rows - len(example):,} of {rows:,} rows are copies of others: they are judged together "
            "and count as one. If they are not copies, pass clusters=np.arange(len(X))",
            stacklevel=4,
        )
    return unit


def _has_id(X: Any, distinct: int) -> bool:
    if issparse(X):
        return False
    counts = [len(np.unique(values)) for values in _list_numbers(X).T]
    return max(counts) >= max(ID_VALUES, ID_SHARE * distinct)


def _number_clusters(clusters: Any, rows: int) -> Any:
    if clusters.shape != (rows,):
        raise ValueError(
            f"clusters has the shape {clusters.shape}: give an id for each of {rows:,} rows"
        )
    distinct, codes = np.unique(clusters, return_inverse=True)
    if len(distinct) < FEWEST_CLUSTERS:
        raise ValueError(
            f"clusters has {len(distinct)} ids, too few to judge rows by models that saw none "
            "of theirs"
        )
    return codes


def deal_folds(
    unit: Any,
    kinds: Any,
    seed: int,
    most: int = FOLDS,
) -> Any:
    """Return the fold of every row (n,): units at random, with the same share of kinds in each."""
    random = np.random.default_rng(seed)
    example, unit = fold([unit])
    units = len(example)
    if units < 2:
        raise ValueError(
            "all rows were drawn together, so none can be judged by a model that did not see it"
        )
    folds = min(most, units)
    by_kind = np.lexsort((random.random(units), kinds[example]))
    dealt = np.empty(units, dtype=np.intp)
    dealt[by_kind] = (np.arange(units) + random.integers(folds)) % folds
    return dealt[unit]


def find_shared_rows(digests: Any) -> Any:
    """Return the rows (k,) whose features many others have: one decision is made on all of them."""
    _, features, sizes = np.unique(digests, return_inverse=True, return_counts=True)
    many = max(MANY_ROWS, MANY_SHARE * len(digests))
    return np.flatnonzero(sizes[features] >= many)
