"""Adult as loaded: the published group sizes, sound indicators, and the rows UCI gave out."""

import csv
import gzip
import time
from importlib import resources

import numpy as np
import pytest

from ratebound._old.datasets import Splits, load_adult

PARTS = ("train", "validation", "test")
# How many indicators each column becomes, in the order of the features.
BLOCKS = {
    "workclass": 9,
    "education": 16,
    "marital_status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native_country": 42,
    "age": 4,
    "capital_gain": 4,
    "capital_loss": 4,
    "hours_per_week": 4,
    "education_num": 4,
}


@pytest.fixture(scope="module")
def adult() -> Splits:
    return load_adult()


@pytest.mark.parametrize(
    ("part", "rows", "black_positives"),
    [("train", 29_305, 345), ("validation", 3_256, 42), ("test", 16_281, 179)],
)
def test_sizes_are_the_published_ones(adult, part, rows, black_positives):
    population = getattr(adult, part)
    assert population.X.shape == (rows, 122)
    assert population.X.dtype == np.float32
    assert population.y.shape == (rows,)
    assert population.y.dtype == bool
    assert np.sum(population.y & (population.columns["race"] == "Black")) == black_positives


@pytest.mark.parametrize("part", PARTS)
def test_each_block_of_indicators_sums_to_one(adult, part):
    X = getattr(adult, part).X
    assert set(np.unique(X)) == {0.0, 1.0}
    starts = np.cumsum([0, *BLOCKS.values()])[:-1]
    np.testing.assert_array_equal(np.add.reduceat(X, starts, axis=1), 1)


def test_every_indicator_is_named_after_what_it_indicates(adult):
    names = adult.feature_names
    assert len(set(names)) == 122
    expected = [column for column, width in BLOCKS.items() for _ in range(width)]
    assert all(column in name for column, name in zip(expected, names, strict=True))
    people = adult.test.columns
    for name in ("sex=Female", "native_country=?", "race=Asian-Pac-Islander"):
        column, value = name.split("=")
        is_value = np.asarray(people[column]) == value
        np.testing.assert_array_equal(adult.test.X[:, names.index(name)], is_value)


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("age<=28", lambda people: people["age"] <= 28),
        ("age>48", lambda people: people["age"] > 48),
        ("capital_gain<=1", lambda people: people["capital_gain"] == 0),
        ("39<hours_per_week<=41", lambda people: abs(people["hours_per_week"] - 40.5) < 1),
        ("8<education_num<=9", lambda people: people["education"] == "HS-grad"),
        (
            "4000<capital_gain<=10000",
            lambda people: (people["capital_gain"] > 4000) & (people["capital_gain"] <= 10_000),
        ),
        ("capital_loss>1950", lambda people: people["capital_loss"] > 1950),
    ],
)
def test_bins_are_closed_above(adult, name, holds):
    people = {column: np.asarray(values) for column, values in adult.train.columns.items()}
    indicator = adult.train.X[:, adult.feature_names.index(name)]
    np.testing.assert_array_equal(indicator, holds(people))


def test_attributes_are_columns_and_the_label_is_not(adult):
    columns = adult.train.columns
    assert set(columns) == {*BLOCKS, "fnlwgt"}
    assert np.asarray(columns["age"]).dtype.kind == "i"
    assert set(np.unique(columns["sex"])) == {"Female", "Male"}


def test_seed_moves_rows_between_train_and_validation_only(adult):
    other = load_adult(seed=0)
    assert other.train.X.shape == adult.train.X.shape
    assert not np.array_equal(other.validation.y, adult.validation.y)
    np.testing.assert_array_equal(other.test.y, adult.test.y)

    def weights(splits):
        both = [splits.train.columns["fnlwgt"], splits.validation.columns["fnlwgt"]]
        return np.sort(np.concatenate(both))

    np.testing.assert_array_equal(weights(other), weights(adult))


def test_same_seed_same_splits(adult):
    again = load_adult(seed=3)
    assert again.feature_names == adult.feature_names
    for part in PARTS:
        np.testing.assert_array_equal(getattr(again, part).X, getattr(adult, part).X)
        np.testing.assert_array_equal(getattr(again, part).y, getattr(adult, part).y)


def test_loading_is_fast():
    start = time.process_time()  # half a second is usual; the bound leaves room for a slow machine
    load_adult()
    assert time.process_time() - start < 3


def test_rows_are_those_of_the_reference_copy(folder_with):
    """Cell for cell against an independent copy, kept beside the repository, if there is one."""
    reference = folder_with("adult.csv.gz") / "adult.csv.gz"
    embedded = resources.files("ratebound._old.datasets") / "data" / "adult.csv.gz"
    header, *rows = _cells(embedded.read_bytes())
    reference_header, *reference_rows = _cells(reference.read_bytes())
    assert header[-1] == "part"
    renamed = {"gender": "sex", "uci_part": "part"}
    assert header == [renamed.get(name, name) for name in reference_header]
    part = {"train": "adult.data", "test": "adult.test"}
    assert rows == [[*cells, part[last]] for *cells, last in reference_rows]


def _cells(packed: bytes) -> list[list[str]]:
    return list(csv.reader(gzip.decompress(packed).decode("ascii").splitlines()))
