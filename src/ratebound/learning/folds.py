"""Every row has a fold: no model is judged on rows it saw, or on those drawn with them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ratebound.learning.features import is_table

FOLDS = 5  # three would leave each model a third of the rows less
LEAST_COPIES = 0.01  # of the rows; a smaller share that has copies does not matter
COPIES_DISAGREE = 0.1  # at most, as a share of the disagreement of any two rows
MANY_ROWS = 50  # that have the same features, at least
MANY_SHARE = 0.01  # the same as a share of rows; the larger of the two counts
FEWEST_CLUSTERS = 20


def digest_rows(X: Any) -> Any:
    """Return a number for every row (n,), the same for equal features.

    -0.0 equals 0.0, and all NaN are equal.
    """
    if is_table(X):
        codes = [X[name].factorize()[0] for name in X.columns]  # may mix texts, numbers and gaps
        values = np.column_stack(codes)
    elif issparse(X):
        values = X.toarray()
    else:
        values = X
    numbers = np.nan_to_num(np.asarray(values, dtype=float), nan=1e300) + 0.0
    bits = numbers.view(np.uint64)
    random = np.random.default_rng(0)
    halves = random.integers(0, 2**63, size=bits.shape[1], dtype=np.uint64)
    odd = halves * np.uint64(2) + np.uint64(1)
    mixed = (bits ^ (bits >> np.uint64(29))) * odd
    mixed = mixed ^ (mixed >> np.uint64(32))
    return mixed.sum(axis=1, dtype=np.uint64)


def find_units(digests: Any, kinds: Any, clusters: Any) -> Any:
    """Return a number for every row (n,), the same for rows drawn together: clusters, or copies.

    Rows with equal features are copies if they nearly always agree in their `kinds` (n,), labels
    and groups, too. People who merely have the same features do not.
    """
    rows = len(kinds)
    if clusters is not None:
        return _number_clusters(clusters, rows)
    features = np.unique(digests, return_inverse=True)[1]
    distinct = features.max() + 1
    if rows - distinct < LEAST_COPIES * rows:
        return np.arange(rows)
    kinds = np.unique(kinds, return_inverse=True)[1]
    kind_count = kinds.max() + 1
    both, unit = np.unique(features * kind_count + kinds, return_inverse=True)
    kinds_of_features = np.bincount(both // kind_count)
    has_copies = np.bincount(features) > 1
    disagreement = float((kinds_of_features > 1)[has_copies].mean())
    shares = np.bincount(kinds) / rows
    of_any_two = 1 - float(shares @ shares)
    if disagreement >= COPIES_DISAGREE * of_any_two:
        return np.arange(rows)
    warnings.warn(
        f"{rows - len(both):,} of {rows:,} rows are copies of others: they are judged together and "
        "count as one. If they are not copies, pass clusters=np.arange(len(X))",
        stacklevel=4,
    )
    return unit


def _number_clusters(clusters: Any, rows: int) -> Any:
    ids = np.asarray(clusters)
    if ids.shape != (rows,):
        raise ValueError(
            f"clusters has the shape {ids.shape}: give an id for each of {rows:,} rows"
        )
    distinct, codes = np.unique(ids, return_inverse=True)
    if len(distinct) < FEWEST_CLUSTERS:
        raise ValueError(
            f"clusters has {len(distinct)} ids, too few to judge rows by models that saw none "
            "of theirs"
        )
    return codes


def deal_folds(unit: Any, kinds: Any, seed: int) -> Any:
    """Return the fold of every row (n,): units at random, with the same share of kinds in each."""
    random = np.random.default_rng(seed)
    _, example, unit = np.unique(unit, return_index=True, return_inverse=True)
    units = len(example)
    if units < 2:
        raise ValueError(
            "all rows were drawn together, so none can be judged by a model that did not see it"
        )
    folds = min(FOLDS, units)
    by_kind = np.lexsort((random.random(units), kinds[example]))
    dealt = np.empty(units, dtype=np.intp)
    dealt[by_kind] = (np.arange(units) + random.integers(folds)) % folds
    return dealt[unit]


def find_shared_rows(digests: Any) -> Any:
    """Return the rows (k,) whose features many others have: one decision is made on all of them."""
    _, features, sizes = np.unique(digests, return_inverse=True, return_counts=True)
    many = max(MANY_ROWS, MANY_SHARE * len(digests))
    return np.flatnonzero(sizes[features] >= many)
