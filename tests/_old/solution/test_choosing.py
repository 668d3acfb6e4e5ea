"""Which member decides a row: always the same one, as often as its weight says, by hash or by vote."""

import numpy as np
import pytest
from scipy import sparse

from ratebound._old.problem.summaries import FeatureScale, feature_scale_of
from ratebound._old.solution._choosing import (
    choose,
    uniform_from_features,
    uniform_from_key,
    weighted_median,
)

from ..extras import pd, pl

ROWS = 20_000
IDS = {
    "whole numbers": np.arange(ROWS),
    "negative numbers": -np.arange(ROWS),
    "far apart": np.arange(ROWS) * 1_000_003,
    "texts": np.array([f"customer-{i}" for i in range(ROWS)]),
}
FEATURES = np.random.default_rng(0).normal(size=(ROWS, 6))
COUNTS = np.column_stack([np.arange(ROWS) % 200, np.arange(ROWS) // 200])
WEIGHTS = np.array([0.5, 0.25, 0.2, 0.05])


def chi_square(chosen, weights=WEIGHTS):
    """How far the members' counts are from their weights; about len(weights) - 1 by chance."""
    expected = weights * len(chosen)
    counts = np.bincount(chosen, minlength=len(weights))
    return ((counts - expected) ** 2 / expected).sum()


def agreement(one, other):
    return np.abs(np.corrcoef(one, other)[0, 1])


# --- by key --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_the_same_key_gets_the_same_number_in_any_order(ids):
    uniform = uniform_from_key(ids, 7)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    order = np.random.default_rng(1).permutation(ROWS)
    np.testing.assert_array_equal(uniform_from_key(ids[order], 7), uniform[order])
    np.testing.assert_array_equal(uniform_from_key(ids[:3], 7), uniform[:3])


@pytest.mark.parametrize("salt", [0, 1, 2**40])
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_members_are_chosen_as_often_as_they_weigh(ids, salt):
    uniform = uniform_from_key(ids, salt)
    assert chi_square(choose(WEIGHTS, uniform)) < 16  # one in a thousand, at three degrees of freedom
    assert chi_square((uniform * 50).astype(int), np.full(50, 0.02)) < 95
    assert agreement(uniform[1:], uniform[:-1]) < 0.03  # neighbours have nothing in common


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_another_salt_is_another_draw(ids):
    draws = [uniform_from_key(ids, salt) for salt in (0, 1, 2, 2**63)]
    for i in range(4):
        for j in range(i):
            assert agreement(draws[i], draws[j]) < 0.03
            both = np.mean((draws[i] < 0.5) == (draws[j] < 0.5))
            assert both == pytest.approx(0.5, abs=0.02)


def test_a_key_is_its_value_whatever_holds_it():
    expected = uniform_from_key([3, 7, 250], 5)
    for kind in ("uint8", "int16", "int64", "uint64", object):
        np.testing.assert_array_equal(uniform_from_key(np.array([3, 7, 250], kind), 5), expected)
    for series in (pd.Series([3, 7, 250], dtype="Int64"), pl.Series([3, 7, 250])):
        np.testing.assert_array_equal(uniform_from_key(series, 5), expected)
    texts = uniform_from_key(["3", "7", "250"], 5)
    for same in (
        np.array(["3", "7", "250"]),
        pd.Series(["3", "7", "250"]),
        pl.Series(["3", "7", "250"]),
    ):
        np.testing.assert_array_equal(uniform_from_key(same, 5), texts)
    assert not np.intersect1d(texts, expected).size  # 7 and "7" are two ids


def test_numbers_never_change():
    """Deployed models must go on deciding as they did: these are what the first release gives."""
    np.testing.assert_array_equal(
        [uniform_from_key([42], 0)[0], uniform_from_key(["42"], 0)[0]],
        [float.fromhex("0x1.366cfc7b273dap-2"), float.fromhex("0x1.0f5143a79d898p-4")],
    )
    row = np.array([[0.5, -1.0]])
    assert uniform_from_features(row, 9)[0] == float.fromhex("0x1.271bb545f8d9cp-2")
    feature_scale = FeatureScale((0.0, 0.1), (1.0, 0.5))
    assert uniform_from_features(row, 9, feature_scale)[0] == float.fromhex("0x1.0d888eefe1840p-3")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ([0.5, 1.0], "fractional"),
        ([1.0, 2.0], "fractional"),
        (np.array([1, 2.5], object), "fractional"),
        (["a", None], "missing ids"),
        ([1.0, float("nan")], "missing ids"),
        (np.array([1, None], object), "missing ids"),
        (pd.Series([1, None], dtype="Int64"), "missing ids"),
        ([[1, 2], [3, 4]], "one id per row"),
        (7, "one id per row"),
    ],
)
def test_keys_that_are_no_ids_raise(key, message):
    with pytest.raises(ValueError, match=message):
        uniform_from_key(key, 0)


# --- by features ---------------------------------------------------------------------------------


@pytest.mark.parametrize("features", [FEATURES, COUNTS, np.eye(7)[np.arange(ROWS) % 7] + COUNTS[:, :1]])
def test_features_choose_as_often_as_weights_say(features):
    _, first = np.unique(features, axis=0, return_index=True)
    uniform = uniform_from_features(features[first], 3)
    assert chi_square(choose(WEIGHTS, uniform)) < 16
    assert agreement(uniform, uniform_from_features(features[first], 4)) < 3 / np.sqrt(len(first))


SCALES = {
    "usual": FEATURES,
    "small": 1e-7 * FEATURES,
    "tiny": 1e-200 * FEATURES,
    "huge": 1e200 * FEATURES,
    "one small feature": 1e-9 * FEATURES[:, :1],
    "far from 0": 20 + FEATURES,
    "long tails": np.exp(5 * FEATURES),
    "mostly zeros": FEATURES * (np.arange(ROWS)[:, None] % 5 == 0) + 1e-3 * FEATURES[:, :1],
    "one far out": np.vstack([FEATURES[:-1], np.full((1, 6), 1e160)]),
    "many": np.random.default_rng(5).normal(size=(ROWS, 60)),
}


@pytest.mark.parametrize("features", SCALES.values(), ids=SCALES)
def test_features_of_any_scale_choose_as_weights_say_and_withstand_noise(features):
    feature_scale = feature_scale_of(features)
    uniform = uniform_from_features(features, 3, feature_scale)
    chosen = choose(WEIGHTS, uniform)
    distinct = len(np.unique(uniform))
    assert distinct > ROWS / 8
    assert chi_square(chosen) < 16 * ROWS / distinct
    draw = np.random.default_rng(2)
    noisy = features * (1 + 1e-6 * draw.uniform(-1, 1, features.shape))
    least = 0.95 if features is SCALES["far from 0"] else 0.997
    assert np.mean(uniform_from_features(noisy, 3, feature_scale) == uniform) > least
    alone = [uniform_from_features(features[i : i + 1], 3, feature_scale)[0] for i in range(20)]
    np.testing.assert_array_equal(alone, uniform[:20])


def test_without_a_grid_features_are_rounded_relative_to_their_size():
    for by in (1e-100, 1e-4, 1.0, 1e100):
        uniform = uniform_from_features(by * FEATURES, 3)
        assert len(np.unique(uniform)) == ROWS
        noise = 1 + 1e-7 * np.random.default_rng(2).uniform(-1, 1, FEATURES.shape)
        assert np.mean(uniform_from_features(by * FEATURES * noise, 3) == uniform) > 0.998


def test_equal_rows_are_equal_and_whole_numbers_withstand_noise():
    feature_scale = feature_scale_of(FEATURES)
    uniform = uniform_from_features(FEATURES, 3, feature_scale)
    doubled = uniform_from_features(np.tile(FEATURES, (2, 1)), 3, feature_scale)
    np.testing.assert_array_equal(doubled, np.tile(uniform, 2))
    assert (
        np.mean(uniform_from_features(FEATURES.astype(np.float32), 3, feature_scale) == uniform) > 0.998
    )
    assert np.mean(uniform_from_features(FEATURES + 0.01, 3, feature_scale) == uniform) == 0
    hot = np.column_stack([np.eye(7)[np.arange(ROWS) % 7], COUNTS])
    noise = 1e-7 * np.random.default_rng(2).uniform(-1, 1, hot.shape)
    whole = uniform_from_features(hot, 3, feature_scale_of(hot))
    assert len(np.unique(whole)) == len(np.unique(hot, axis=0))
    assert np.mean(uniform_from_features(hot + noise, 3, feature_scale_of(hot)) == whole) > 0.99


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_a_row_chooses_alike_in_an_array_and_in_a_sparse_matrix(form):
    hot = np.column_stack([np.eye(7)[np.arange(ROWS) % 7], COUNTS, FEATURES[:, :2], np.zeros(ROWS)])
    hot[0], hot[1, 0], hot[2, 8] = 0.0, np.nan, -0.0
    scale = feature_scale_of(hot)
    assert feature_scale_of(form(hot)) == scale
    for known in (scale, None):
        expected = uniform_from_features(hot, 3, known)
        np.testing.assert_array_equal(uniform_from_features(form(hot), 3, known), expected)
        np.testing.assert_array_equal(uniform_from_features(form(hot[:3]), 3, known), expected[:3])


def test_any_number_has_a_place():
    rows = np.array([[0.0], [-0.0], [np.inf], [-np.inf], [np.nan], [1e300], [-1e300]])
    zero, minus, *far = uniform_from_features(rows, 0)
    assert zero == minus
    assert all(0 <= value < 1 for value in far)
    images = FEATURES.reshape(-1, 3, 2)
    np.testing.assert_array_equal(uniform_from_features(images, 1), uniform_from_features(FEATURES, 1))


def test_a_tables_values_count_each_by_itself():
    """In whatever company, and whichever library holds them."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    mixed = pandas.DataFrame({"m": pandas.Series([1, "a", 2.5, None, True, b"x"], dtype=object)})
    found = uniform_from_features(mixed, 0)
    assert len(set(found.round(9))) == 5  # 1 and True are one number
    for row in range(6):
        assert uniform_from_features(mixed.iloc[[row]], 0)[0] == found[row]
    days = pandas.DataFrame({"day": pandas.date_range("2024-01-01", periods=4), "x": range(4)})
    found = uniform_from_features(days, 0)
    assert len(set(found)) == 4
    same = polars.DataFrame({name: days[name].to_numpy() for name in days})
    np.testing.assert_array_equal(uniform_from_features(same, 0), found)


def test_no_rows_need_no_choice():
    assert uniform_from_key([], 0).shape == (0,)
    assert uniform_from_features(np.empty((0, 3)), 0).shape == (0,)
    assert choose(WEIGHTS, np.empty(0)).shape == (0,)


# --- from numbers to members ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights", [[1.0], WEIGHTS, np.full(10, 0.1), np.full(3, 1 / 3), [0.7, 0.3 + 1e-9]]
)
def test_edges_belong_to_someone(weights):
    weights = np.array(weights)
    last = np.nextafter(1.0, 0.0)
    assert choose(weights, np.array([0.0, last])).tolist() == [0, len(weights) - 1]
    inner = np.cumsum(weights)[:-1] / weights.sum()  # stretches are closed to the left
    np.testing.assert_array_equal(choose(weights, inner + 1e-12), np.arange(1, len(weights)))
    np.testing.assert_array_equal(choose(weights, inner - 1e-12), np.arange(len(weights) - 1))


def test_an_edge_belongs_to_the_right():
    halves = np.array([0.5, 0.25, 0.25])
    assert choose(halves, np.array([0.25, 0.5, 0.625, 0.75])).tolist() == [0, 1, 1, 2]
    assert choose(np.array([0.0, 1.0]), np.zeros(1)).tolist() == [1]  # no weight, no rows


def test_one_member_decides_everything():
    assert not choose(np.ones(1), np.random.default_rng(0).random(1000)).any()


# --- by vote -------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 10, 11])
@pytest.mark.parametrize("equal", [True, False])
def test_the_median_decides_as_the_vote_at_every_threshold(count, equal):
    rng = np.random.default_rng(count)
    scores = np.round(rng.normal(size=(count, 300)), 1)  # full of ties
    weights = np.full(count, 1 / count) if equal else rng.dirichlet(np.ones(count))
    for t in (-1.0, 0.0, 0.3):
        vote = weights @ (scores >= t) >= 0.5 - 1e-9
        np.testing.assert_array_equal(weighted_median(weights, scores) >= t, vote)


def test_yes_wins_a_tie():
    assert weighted_median(np.array([0.5, 0.5]), np.array([[-1.0], [2.0]])) == [2.0]
    tenths = np.full(10, 0.1)  # which do not quite sum to one
    assert weighted_median(tenths, np.r_[np.full(5, 1.0), np.full(5, -1.0)][:, None]) == [1.0]
