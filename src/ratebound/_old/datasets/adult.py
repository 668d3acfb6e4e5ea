"""UCI Adult: does a person earn more than $50,000 a year? Census answers of 1994, 48,842 rows.

Every feature is an indicator: one for each value of a category, and one for each of four bins of a
number. On these a plain linear model comes close to the errors that Cotter et al. published.
"""

from collections.abc import Mapping

import numpy as np

from ratebound._old.datasets.features import Block, Column, bins, categories, quantiles, side_by_side
from ratebound._old.datasets.files import columns_of, embedded
from ratebound._old.datasets.splits import Indices, Splits, shuffled, split
from ratebound._old.problem.population import Population

__all__ = ["load_adult"]

VALIDATION_ROWS = 3_256

# The edges between a number's four bins; a value equal to an edge belongs to the bin below it.
BIN_EDGES = {
    "capital_gain": (1, 4_000, 10_000),
    "capital_loss": (1, 1_800, 1_950),
    "hours_per_week": (39, 41, 50),
    "education_num": (8, 9, 11),
}


def load_adult(seed: int = 3) -> Splits:
    """Load UCI Adult: 29,305 rows to train on, 3,256 to validate and 16,281 to test.

    The test population is UCI's own `adult.test`.

    Parameters
    ----------
    seed : int, default=3
        Which rows of `adult.data` are to train and which to validate. The default gives groups of
        exactly the published sizes.

    Returns
    -------
    Splits
        `y` says "earns more than $50,000", `X` holds 122 indicators, and the fourteen attributes stay in
        `columns` for constraints to use.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> adult = rb.datasets.load_adult()
    >>> adult.train.X.shape, adult.validation.X.shape, adult.test.X.shape
    ((29305, 122), (3256, 122), (16281, 122))
    >>> black = adult.train.columns["race"] == "Black"
    >>> int((adult.train.y & black).sum())
    345
    """
    table = columns_of(embedded("adult.csv.gz"))
    part, income = table.pop("part"), table.pop("income")
    rich = np.isin(income, (">50K", ">50K."))  # adult.test ends its labels with a full stop

    (data_rows,) = np.nonzero(part == "adult.data")
    (test_rows,) = np.nonzero(part == "adult.test")
    order = data_rows[shuffled(len(data_rows), seed)]
    validation_rows, train_rows = order[:VALIDATION_ROWS], order[VALIDATION_ROWS:]

    features, names = _features(table, train_rows)
    everyone = Population(features, rich, columns=table)
    return split(everyone, (train_rows, validation_rows, test_rows), names)


def _features(table: Mapping[str, Column], train_rows: Indices) -> Block:
    """Turn the columns into indicators, (n, 122), and name them.

    Values of a category come from all rows, so that every seed has the same features: one country
    occurs only once. Quartiles of age come from the training rows, as anything learnt must.
    """
    edges = {"age": quantiles(table["age"], train_rows, (0.25, 0.5, 0.75)), **BIN_EDGES}
    binned = [bins(name, table[name], inner) for name, inner in edges.items()]
    return side_by_side([*categories(table), *binned])
