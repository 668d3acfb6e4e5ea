"""COMPAS as loaded: ProPublica's own counts, 31 features, and no one's name."""

import csv
import gzip
from collections import Counter
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratebound._old.datasets import Splits, load_compas

PARTS = ("train", "validation", "test")
# How many features each column becomes, in the order of the features.
BLOCKS = {
    "days_b_screening_arrest": 1,
    "c_charge_degree": 2,
    "race": 6,
    "score_text": 3,
    "sex": 2,
    "age": 6,
    "decile_score": 6,
    "priors_count": 5,
}


@pytest.fixture(scope="module")
def compas() -> Splits:
    return load_compas()


def parts(splits):
    return [getattr(splits, part) for part in PARTS]


def test_sizes(compas):
    assert [part.X.shape for part in parts(compas)] == [(4_320, 31), (617, 31), (1_235, 31)]
    assert compas.train.X.dtype == np.float32
    assert compas.train.y.dtype == bool


@pytest.mark.parametrize(
    ("column", "counts"),
    [
        (
            "race",
            {
                "African-American": 3_175,
                "Caucasian": 2_103,
                "Hispanic": 509,
                "Other": 343,
                "Asian": 31,
                "Native American": 11,
            },
        ),
        ("sex", {"Male": 4_997, "Female": 1_175}),
        ("score_text", {"Low": 3_421, "Medium": 1_607, "High": 1_144}),
    ],
)
def test_counts_are_those_of_propublicas_analysis(compas, column, counts):
    found = np.concatenate([part.columns[column] for part in parts(compas)])
    assert Counter(found.tolist()) == counts


def test_as_many_were_arrested_again_as_propublica_counts(compas):
    assert sum(part.y.sum() for part in parts(compas)) == 2_809


@pytest.mark.parametrize("seed", range(4))
def test_blocks_are_indicators_and_thermometers(seed):
    splits = load_compas(seed)
    named = [column for column, width in BLOCKS.items() for _ in range(width)]
    assert all(column in name for column, name in zip(named, splits.feature_names, strict=True))
    assert len(set(splits.feature_names)) == 31
    edges = np.cumsum([0, *BLOCKS.values()])
    spans = dict(zip(BLOCKS, pairwise(edges), strict=True))
    for part in parts(splits):
        np.testing.assert_array_equal(part.X[:, 0], part.columns["days_b_screening_arrest"])
        assert np.abs(part.X[:, 0]).max() <= 30
        assert set(np.unique(part.X[:, 1:])) == {0.0, 1.0}
        for column in ("c_charge_degree", "race", "score_text", "sex", "age"):
            np.testing.assert_array_equal(part.X[:, slice(*spans[column])].sum(axis=1), 1)
        for column in ("decile_score", "priors_count"):
            assert (np.diff(part.X[:, slice(*spans[column])], axis=1) <= 0).all()
        np.testing.assert_array_equal(
            part.X[:, spans["priors_count"][0]], part.columns["priors_count"] > 0
        )


def test_columns_do_not_give_the_label_away(compas):
    assert not {"is_recid", "two_year_recid"} & set(compas.train.columns)
    assert {"race", "sex", "age"} <= set(compas.train.columns)


def test_a_linear_model_errs_as_the_published_network(compas):
    """Over four splits, as one of 1,235 rows says little: its standard error alone is .013."""
    tests = []
    for seed in range(4):
        splits = load_compas(seed)
        model = LogisticRegression(solver="liblinear").fit(splits.train.X, splits.train.y)
        tests.append(np.mean(model.predict(splits.test.X) != splits.test.y))
    assert np.mean(tests) == pytest.approx(0.3109, abs=0.012)


def test_seeds_redraw_all_parts_and_repeat(compas):
    again, other = load_compas(seed=0), load_compas(seed=1)
    for part, same, different in zip(parts(compas), parts(again), parts(other), strict=True):
        np.testing.assert_array_equal(part.X, same.X)
        np.testing.assert_array_equal(part.y, same.y)
        assert not np.array_equal(part.columns["age"], different.columns["age"])


def test_the_file_holds_nobodys_name_date_or_case_number():
    header, *rows = _cells(resources.files("ratebound._old.datasets") / "data" / "compas.csv.gz")
    assert len(rows) == 7_214
    assert ",".join(header) == (
        "sex,age,age_cat,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,"
        "days_b_screening_arrest,c_charge_degree,decile_score,score_text,is_recid,two_year_recid"
    )


def test_rows_are_those_of_the_reference_copy(folder_with):
    name = "compas_two_years.csv.gz"
    header, *rows = _cells(resources.files("ratebound._old.datasets") / "data" / "compas.csv.gz")
    reference_header, *reference_rows = _cells(folder_with(name) / name)
    assert header == reference_header
    # The reference writes the days as reals, -1.0 for -1.
    assert rows == [[cell.removesuffix(".0") for cell in row] for row in reference_rows]


def _cells(file) -> list[list[str]]:
    return list(csv.reader(gzip.decompress(file.read_bytes()).decode("ascii").splitlines()))
