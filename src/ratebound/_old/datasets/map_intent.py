"""A stand-in for *Map Intent* of Cotter et al.: will a US flight arrive fifteen minutes late or more?

Ten carriers must not be worse off than with the model in production, which here has boosted trees for
each of them; and most features may push the score one way only.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]  # it has no types

from ratebound._old.datasets.features import Column, Features
from ratebound._old.datasets.files import DataFile, numbers_of
from ratebound._old.datasets.splits import Indices, Splits, in_tenths, split
from ratebound._old.problem.population import Population

__all__ = ["load_map_intent"]

DECREASING = ("scheduled_turnaround", "projected_slack", "block_slack")
FREE = ("arr_minute", "distance", "crs_elapsed", "day_of_week")
# The model in production, for each carrier: trees, leaves of each, and the least rows of a leaf.
TREES, LEAVES, ROWS = 9, 12, 100

FILE = DataFile(
    name="flights_map_intent.csv.gz",
    holds="US flights of January 2024, the stand-in for Map Intent",
    sha256="9f80413683859a1efef5a875bd84ca496f3c14b1227ae353cc47d8e7fbc5c7a1",
)


def load_map_intent(folder: str | Path, seed: int = 0) -> Splits:
    """Load the stand-in for Map Intent: 350,463 flights to train on, 50,066 and 100,132.

    The data of the published experiment is private; this has its structure.

    Parameters
    ----------
    folder : str or Path
        Where flights_map_intent.csv.gz is. It does not ship with the package;
        its card, ``datasets/data/README.md``, says where it comes from.
    seed : int, default=0
        Which rows are dealt to which part. The default is as good as any.

    Returns
    -------
    Splits
        `y` says "late", `X` holds 32 numbers as they are, for lattices, and `monotone` the signs of 28
        of them. Among the columns, `carrier` is one of ten codes, `date` a day as "2024-01-31", and
        `production` the decisions of a few boosted trees for each carrier, grown on its training rows.
        That takes some seconds.

    Raises
    ------
    FileNotFoundError
        If the file is not in the folder.
    ValueError
        If it is cut or changed.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.datasets.load_map_intent("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: there is no folder nowhere. flights_map_intent.csv.gz holds ...
    """
    kinds = {"carrier": "U2", "date": "U10", "label": "?"}
    (features, names), columns = numbers_of(FILE.read(folder), kinds)
    late = columns.pop("label")
    parts = in_tenths(len(late), seed)
    columns["production"] = _production(features, late, columns["carrier"], parts[0])
    monotone = {
        feature: -1 if name in DECREASING else 1
        for feature, name in enumerate(names)
        if name not in FREE
    }
    everyone = Population(features, late, columns=columns)
    return split(everyone, parts, names, monotone=monotone)


def _production(
    features: Features, late: npt.NDArray[np.bool_], carriers: Column, train_rows: Indices
) -> npt.NDArray[np.bool_]:
    """Decisions of trees that each carrier has for itself.

    They know some small carriers better than one model of all flights does, and the large ones, since
    there are but a few small trees, less well: so there is something to trade.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import, and needed only here

    decisions = np.zeros(len(late), dtype=bool)
    to_train = np.zeros(len(late), dtype=bool)
    to_train[train_rows] = True

    def decide(carrier: str) -> None:
        own = carriers == carrier
        trees = HistGradientBoostingClassifier(
            max_iter=TREES,
            max_leaf_nodes=LEAVES,
            min_samples_leaf=ROWS,
            early_stopping=False,
            random_state=0,
        )
        with threadpool_limits(1, "openmp"):  # of this thread
            trees.fit(features[own & to_train], late[own & to_train])
            decisions[own] = trees.predict(features[own])

    # Trees this small are grown side by side sooner than each by several threads, of which there are as
    # many as scikit-learn would take. The largest come first, so that nobody waits for one at the end.
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
    codes, counts = np.unique(carriers, return_counts=True)
    with ThreadPoolExecutor(max(pools, default=1)) as workers:
        list(workers.map(decide, codes[np.argsort(-counts)]))
    return decisions
