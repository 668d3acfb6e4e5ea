"""The four stand-ins as loaded: the structure of the published problems, on real rows."""

import dataclasses
import gzip
import hashlib

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

from ratebound._old.datasets import (
    load_business_entity,
    load_filtering,
    load_map_intent,
    load_thresholding,
    map_intent,
)

COUNTRIES = [
    "BE",
    "CA",
    "CH",
    "CN",
    "DE",
    "ES",
    "FR",
    "IL",
    "IN",
    "IT",
    "JP",
    "KR",
    "NL",
    "SE",
    "TW",
    "US",
]
CARRIERS = ["AA", "AS", "B6", "DL", "F9", "G4", "HA", "NK", "UA", "WN"]
LOADERS = {
    "patentsview_pairs.csv.gz": load_business_entity,
    "patentsview_noisy_steering.csv.gz": load_thresholding,
    "flights_map_intent.csv.gz": load_map_intent,
    "sba_filtering.csv.gz": load_filtering,
}


def parts(splits):
    return [splits.train, splits.validation, splits.test]


def error(model, population):
    return float(np.mean(model.predict(population.X) != population.y))


def share(populations):
    return np.concatenate([population.y for population in populations]).mean()


def signs(splits):
    return {splits.feature_names[feature]: sign for feature, sign in splits.monotone.items()}


@pytest.mark.parametrize("name", LOADERS)
def test_a_missing_file_is_named_with_what_it_stands_in_for(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=f"{name}.*stand-in for .*README"):
        LOADERS[name](tmp_path)


@pytest.mark.parametrize("name", LOADERS)
def test_another_file_of_that_name_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"x,label\n1,0\n"))
    with pytest.raises(ValueError, match=f"{name} does not hold"):
        LOADERS[name](tmp_path)


def test_business_entity(folder_with):
    splits = load_business_entity(folder_with("patentsview_pairs.csv.gz"))
    assert [part.X.shape for part in parts(splits)] == [(11_560, 37), (3_856, 37), (3_856, 37)]
    assert share(parts(splits)) == pytest.approx(0.5073, abs=1e-4)
    np.testing.assert_allclose(splits.train.X.mean(axis=0, dtype=float), 0, atol=1e-5)
    for part in parts(splits):
        assert np.unique(part.columns["country"]).tolist() == [*COUNTRIES, "other"]
        large = part.X[:, splits.feature_names.index("large_assignee")] > 0
        np.testing.assert_array_equal(part.columns["large_assignee"], large)
    assert len(splits.feature_names) == 37
    assert not {"country", "inventor", "pair_id", "label"} & set(splits.feature_names)
    pairs = np.concatenate([part.columns["pair_id"] for part in parts(splits)])
    np.testing.assert_array_equal(np.sort(pairs), np.arange(19_272))


def test_thresholding(folder_with):
    splits = load_thresholding(folder_with("patentsview_noisy_steering.csv.gz"))
    assert [part.X.shape for part in parts(splits)] == [(70_874, 7), (10_125, 7), (20_250, 7)]
    steering = splits.others["steering"]
    assert steering.X.shape == (1_814, 7)
    assert share([steering]) == pytest.approx(0.3230, abs=1e-4)
    assert share(parts(splits)) == pytest.approx(0.5, abs=1e-4)
    for part in parts(splits):
        np.testing.assert_array_equal(part.columns["noisy_label"], part.y)
    assert np.sum(steering.columns["noisy_label"] != steering.y) == 906
    model = LogisticRegression().fit(splits.train.X, splits.train.y)
    assert error(model, splits.test) == pytest.approx(0.150, abs=0.006)
    assert error(model, steering) == pytest.approx(0.193, abs=0.01)


def test_the_steering_rows_are_the_same_whatever_the_seed(folder_with):
    folder = folder_with("patentsview_noisy_steering.csv.gz")
    one, two = load_thresholding(folder, seed=1), load_thresholding(folder, seed=2)
    np.testing.assert_array_equal(one.others["steering"].y, two.others["steering"].y)
    assert not np.array_equal(one.train.y, two.train.y)


def test_filtering(folder_with):
    splits = load_filtering(folder_with("sba_filtering.csv.gz"))
    assert [part.X.shape for part in parts(splits)] == [(220_578, 16), (31_511, 16), (63_023, 16)]
    assert splits.train.X.dtype == np.float32
    assert share(parts(splits)) == 0.5
    assert signs(splits) == {
        "log_employees": 1,
        "new_business": -1,
        "sector_risk": -1,
        "lender_risk": -1,
    }
    for part in parts(splits):
        assert np.unique(part.columns["region"]).tolist() == list(range(1, 11))
        assert np.abs(part.columns["label_real"]).max() <= 1
        assert (part.columns["label_real"][part.y] == 1).all()


def test_seeds_redraw_all_parts_and_repeat(folder_with):
    folder = folder_with("patentsview_pairs.csv.gz")
    one, again, other = (load_business_entity(folder, seed) for seed in (0, 0, 1))
    for part, same, different in zip(parts(one), parts(again), parts(other), strict=True):
        np.testing.assert_array_equal(part.X, same.X)
        np.testing.assert_array_equal(part.columns["pair_id"], same.columns["pair_id"])
        assert not np.array_equal(part.columns["pair_id"], different.columns["pair_id"])


def test_the_production_model_and_the_signs_of_map_intent(tmp_path, monkeypatch):
    """On a small file of the same form, so that it runs everywhere."""
    random = np.random.default_rng(0)
    names = [*map_intent.DECREASING, *map_intent.FREE, "prev_leg_delay", "legs_today"]
    values = random.normal(size=(400, len(names))).round(3) * 10
    late = values[:, -2] - values[:, 0] + random.normal(size=400) > 0
    rows = [
        ",".join([*map(str, row), f"2024-01-{day:02}", carrier, str(int(label))])
        for row, day, carrier, label in zip(
            values, random.integers(4, 32, 400), random.choice(["AA", "UA"], 400), late, strict=True
        )
    ]
    content = "\n".join([",".join([*names, "date", "carrier", "label"]), *rows, ""]).encode()
    (tmp_path / "flights_map_intent.csv.gz").write_bytes(gzip.compress(content))
    toy = dataclasses.replace(map_intent.FILE, sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(map_intent, "FILE", toy)

    monkeypatch.setattr(map_intent, "ROWS", 40)  # there are some 140 to train on for each carrier
    pools = [{"user_api": "openmp", "num_threads": 2}, {"user_api": "blas", "num_threads": 1}]
    monkeypatch.setattr(map_intent, "threadpool_info", lambda: pools)  # so they grow side by side
    splits = load_map_intent(tmp_path)
    decreasing = dict.fromkeys(map_intent.DECREASING, -1)
    assert signs(splits) == decreasing | {"prev_leg_delay": 1, "legs_today": 1}
    train = splits.train
    for carrier in ("AA", "UA"):
        own = train.columns["carrier"] == carrier
        stock = HistGradientBoostingClassifier(
            max_iter=9, max_leaf_nodes=12, min_samples_leaf=40, random_state=0
        )
        stock.fit(train.X[own], train.y[own])
        for part in parts(splits):
            flights = part.columns["carrier"] == carrier
            decided = stock.predict(part.X[flights])
            np.testing.assert_array_equal(part.columns["production"][flights], decided)


@pytest.mark.slow
def test_map_intent(folder_with):
    splits = load_map_intent(folder_with("flights_map_intent.csv.gz"))
    assert [part.X.shape for part in parts(splits)] == [(350_463, 32), (50_066, 32), (100_132, 32)]
    assert splits.train.X.dtype == np.float32
    assert share(parts(splits)) == pytest.approx(0.2504, abs=1e-4)
    assert len(splits.monotone) == 28
    assert sorted(name for name, sign in signs(splits).items() if sign < 0) == sorted(
        map_intent.DECREASING
    )
    assert set(splits.feature_names) - set(signs(splits)) == set(map_intent.FREE)
    for part in parts(splits):
        assert np.unique(part.columns["carrier"]).tolist() == CARRIERS
        wrong = part.columns["production"] != part.y
        assert wrong.mean() == pytest.approx(0.178, abs=0.003)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")  # stopped early, as it was elsewhere
def test_a_network_errs_on_business_entity_as_measured_elsewhere(folder_with):
    from sklearn.neural_network import MLPClassifier

    splits = load_business_entity(folder_with("patentsview_pairs.csv.gz"))
    network = MLPClassifier((16,), batch_size=128, max_iter=17, random_state=0)
    network.fit(splits.train.X, splits.train.y)
    assert error(network, splits.train) == pytest.approx(0.129, abs=0.012)
    assert error(network, splits.test) == pytest.approx(0.130, abs=0.012)


@pytest.mark.slow
def test_trees_err_on_filtering_as_measured_elsewhere(folder_with):
    splits = load_filtering(folder_with("sba_filtering.csv.gz"))
    train, test, some = splits.train, splits.test, slice(0, 120_000)
    base = HistGradientBoostingRegressor(random_state=0)
    base.fit(train.X[some], train.columns["label_real"][some])
    assert np.mean((base.predict(test.X) >= 0) != test.y) == pytest.approx(0.375, abs=0.02)
    new = HistGradientBoostingClassifier(random_state=0).fit(train.X[some], train.y[some])
    assert error(new, test) == pytest.approx(0.256, abs=0.015)
