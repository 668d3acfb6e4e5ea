"""A data set ready to train on is three populations that never share a row.

Rows are dealt at random here, as they were for the published tables. `problem/compiling.py`, which all
else splits by, takes the same share of every cell; but a data set is split before anyone has promised
anything, so there are no cells yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ratebound._old.problem.population import Population

__all__ = ["Splits"]

Indices = npt.NDArray[np.intp]  # indices of rows


@dataclass(frozen=True)
class Splits:
    """The train, validation and test populations of one data set, with the same features.

    Parameters
    ----------
    train : Population
        The rows to train on.
    validation : Population
        The rows to choose by.
    test : Population
        The rows to judge by at the end.
    feature_names : tuple of str
        A name for each column of every population's `X`.
    others : mapping of str to Population, default={}
        Further populations that constraints may name, as in ``on="steering"``. Most data sets have
        none.
    monotone : mapping of int to int, default={}
        Which features may only push the score one way, for models that can promise it: 1 for up, -1 for
        down. Most data sets have none.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> two = rb.Population([[0.0], [1.0]], [0, 1])
    >>> splits = rb.datasets.Splits(two, two, two, feature_names=("slack",), monotone={0: -1})
    >>> [splits.feature_names[feature] for feature, sign in splits.monotone.items() if sign < 0]
    ['slack']
    """

    train: Population
    validation: Population
    test: Population
    feature_names: tuple[str, ...]
    others: Mapping[str, Population] = field(default_factory=dict)
    monotone: Mapping[int, int] = field(default_factory=dict)


def shuffled(rows: int, seed: int) -> Indices:
    """The indices of `rows` rows in random order.

    >>> shuffled(5, seed=0)
    array([2, 0, 1, 3, 4])
    """
    # RandomState, not default_rng: NumPy promises never to change what a seed of it gives.
    return np.random.RandomState(seed).permutation(rows)


def dealt(rows: int, train: int, validation: int, seed: int) -> tuple[Indices, Indices, Indices]:
    """Rows dealt out at random: so many to train, so many to validate, the rest to test.

    >>> [part.tolist() for part in dealt(5, train=3, validation=1, seed=0)]
    [[2, 0, 1], [3], [4]]
    """
    order = shuffled(rows, seed)
    return order[:train], order[train : train + validation], order[train + validation :]


def in_tenths(rows: int, seed: int) -> tuple[Indices, Indices, Indices]:
    """Seven tenths of the rows to train, one to validate and two to test, at random.

    >>> [len(part) for part in in_tenths(101_249, seed=0)]
    [70874, 10125, 20250]
    """
    return dealt(rows, train=round(0.7 * rows), validation=round(0.1 * rows), seed=seed)


def split(
    everyone: Population, parts: tuple[Indices, Indices, Indices], names: tuple[str, ...], **more: Any
) -> Splits:
    """Cut a population into its three parts, whose features are called `names`."""
    train, validation, test = (everyone.only(rows) for rows in parts)
    return Splits(train, validation, test, feature_names=names, **more)
