"""UCI Adult: does a person earn more than $50,000 a year? Census answers of 1994, 48,842 rows.

Every feature is an indicator: one for each value of a category, and one for each of four bins of a
number. On these a plain linear model comes close to the errors that Cotter et al. published.
"""

import csv
import gzip
from collections.abc import Mapping
from importlib import resources
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ratebound.datasets.splits import Splits
from ratebound.problem import Population

__all__ = ["load_adult"]

Column = npt.NDArray[np.generic]  # (n,), strings or integers
Block = npt.NDArray[np.float32]  # (n, values), one 1 in each row

VALIDATION_ROWS = 3_256

CATEGORIES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)

# The edges between a number's four bins; a value equal to an edge belongs to the bin below it.
BIN_EDGES = {
    "capital_gain": (1, 4_000, 10_000),
    "capital_loss": (1, 1_800, 1_950),
    "hours_per_week": (39, 41, 50),
    "education_num": (8, 9, 11),
}
NUMBERS = ("age", "fnlwgt", *BIN_EDGES)


def load_adult(seed: int = 3) -> Splits:
    """Load UCI Adult: 29,305 rows to train on, 3,256 to validate and 16,281 to test.

    The test population is UCI's own `adult.test`; `seed` shuffles `adult.data` into the other two.
    The default gives groups of exactly the published sizes. `y` says "earns more than $50,000", `X`
    holds 122 indicators, and the fourteen attributes stay in `columns` for constraints to speak of.

    >>> adult = load_adult()
    >>> adult.train.X.shape, adult.validation.X.shape, adult.test.X.shape
    ((29305, 122), (3256, 122), (16281, 122))
    >>> black = adult.train.columns["race"] == "Black"
    >>> int((adult.train.y & black).sum())
    345
    """
    table = _read()
    part, income = table.pop("part"), table.pop("income")
    rich = np.isin(income, (">50K", ">50K."))  # adult.test ends its labels with a full stop

    (data_rows,) = np.nonzero(part == "adult.data")
    (test_rows,) = np.nonzero(part == "adult.test")
    # RandomState, not default_rng: NumPy promises never to change what a seed of it gives.
    shuffled = data_rows[np.random.RandomState(seed).permutation(len(data_rows))]
    validation_rows, train_rows = shuffled[:VALIDATION_ROWS], shuffled[VALIDATION_ROWS:]

    features, names = _features(table, train_rows)

    def population(rows: npt.NDArray[np.intp]) -> Population:
        columns = {name: column[rows] for name, column in table.items()}
        return Population(features[rows], rich[rows], columns=columns)

    return Splits(
        train=population(train_rows),
        validation=population(validation_rows),
        test=population(test_rows),
        feature_names=names,
    )


def _read() -> dict[str, Column]:
    """Read the embedded file into one array per column, in the file's order of rows."""
    file = resources.files("ratebound.datasets") / "data" / "adult.csv.gz"
    lines = gzip.decompress(file.read_bytes()).decode("ascii").splitlines()
    header, *rows = csv.reader(lines)
    table: dict[str, Column] = {}
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        table[name] = np.array([int(cell) for cell in cells] if name in NUMBERS else cells)
    return table


def _features(
    table: Mapping[str, Column], train_rows: npt.NDArray[np.intp]
) -> tuple[Block, tuple[str, ...]]:
    """Turn the columns into indicators, (n, 122), and name them.

    Values of a category come from all rows, so that every seed has the same features: one country
    occurs only once. Quartiles of age come from the training rows, as anything learnt must.
    """
    age = np.quantile(table["age"][train_rows].astype(float), (0.25, 0.5, 0.75))
    edges = {"age": tuple(age.tolist()), **BIN_EDGES}
    blocks: list[Block] = []
    names: list[str] = []
    for name in CATEGORIES:
        values, codes = np.unique(table[name], return_inverse=True)
        blocks.append(_indicators(codes, len(values)))
        names += [f"{name}={value}" for value in values]
    for name, inner in edges.items():
        codes = np.searchsorted(inner, table[name], side="left")
        blocks.append(_indicators(codes, len(inner) + 1))
        names += _bin_names(name, inner)
    return np.hstack(blocks), tuple(names)


def _indicators(codes: npt.NDArray[np.intp], values: int) -> Block:
    return np.eye(values, dtype=np.float32)[codes]


def _bin_names(name: str, inner: tuple[float, ...]) -> list[str]:
    """Name the bins between edges, closed above.

    >>> _bin_names("age", (28.0, 37.5))
    ['age<=28', '28<age<=37.5', 'age>37.5']
    """
    between = [f"{low:g}<{name}<={high:g}" for low, high in pairwise(inner)]
    return [f"{name}<={inner[0]:g}", *between, f"{name}>{inner[-1]:g}"]
