"""ProPublica's COMPAS: is a defendant of Broward County, Florida, arrested again within two years?

The rows are those of ProPublica's own analysis: 6,172 of 7,214, whose score and arrest belong together.
"""

from collections.abc import Mapping

import numpy as np

from ratebound._old.datasets.features import (
    Block,
    Column,
    bins,
    one_hots,
    quantiles,
    side_by_side,
    thermometer,
)
from ratebound._old.datasets.files import columns_of, embedded
from ratebound._old.datasets.splits import Indices, Splits, in_tenths, split
from ratebound._old.problem.population import Population

__all__ = ["load_compas"]

CATEGORIES = ("c_charge_degree", "race", "score_text", "sex")


def load_compas(seed: int = 0) -> Splits:
    """Load COMPAS: 4,320 rows to train on, 617 to validate and 1,235 to test.

    Parameters
    ----------
    seed : int, default=0
        Which rows are dealt to which part. The default is as good as any.

    Returns
    -------
    Splits
        `y` says "arrested again within two years". `X` holds 31 features: the days between arrest and
        screening, and indicators of the rest. The attributes stay in `columns`; the groups of the
        published experiment are `race` "African-American" and "Caucasian", `sex` "Female" and "Male".

    Examples
    --------
    >>> import ratebound._old as rb
    >>> compas = rb.datasets.load_compas()
    >>> compas.train.X.shape, compas.validation.X.shape, compas.test.X.shape
    ((4320, 31), (617, 31), (1235, 31))
    >>> compas.feature_names[-5:]
    ('priors_count>0', 'priors_count>1', 'priors_count>3', 'priors_count>5', 'priors_count>9')
    """
    table = _as_analysed(columns_of(embedded("compas.csv.gz")))
    arrested_again = table.pop("two_year_recid") == 1
    del table["is_recid"]  # an arrest at any time: it gives the label away
    parts = in_tenths(len(arrested_again), seed)
    features, names = _features(table, parts[0])
    return split(Population(features, arrested_again, columns=table), parts, names)


def _as_analysed(table: Mapping[str, Column]) -> dict[str, Column]:
    """The rows ProPublica kept: charged within 30 days of screening, for more than traffic, scored."""
    kept = (
        (np.abs(table["days_b_screening_arrest"]) <= 30)  # not where the days are missing either
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & ~np.isin(table["score_text"], ("N/A", ""))
    )
    return {name: column[kept] for name, column in table.items()}


def _features(table: Mapping[str, Column], train_rows: Indices) -> Block:
    """Turn the columns into the 31 features of the published experiment, and name them."""

    def edges(name: str, at: tuple[float, ...]) -> tuple[float, ...]:
        return quantiles(table[name], train_rows, at)

    fifths_and_top = (0.2, 0.4, 0.6, 0.8, 0.9)
    scores, priors = edges("decile_score", fifths_and_top), edges("priors_count", (0.5, 0.7, 0.8, 0.9))
    days = table["days_b_screening_arrest"].astype(np.float32)
    return side_by_side(
        [
            (days[:, None], ("days_b_screening_arrest",)),
            *(one_hots(name, table[name]) for name in CATEGORIES),
            bins("age", table["age"], edges("age", fifths_and_top)),
            # Scores start at 1, so that the first of these is always on; it stays for the count of 31.
            thermometer("decile_score", table["decile_score"], (0.0, *scores)),
            thermometer("priors_count", table["priors_count"], (0.0, *priors)),
        ]
    )
