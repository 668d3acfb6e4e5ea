"""Trees as arrays: the libraries' own scores to the last bit, and damaged ones are refused or safe."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import ratebound._old as rb
from ratebound._old.game.scorer import Saved
from ratebound._old.learners._boosters import lightgbm_trees, xgboost_trees
from ratebound._old.learners._trees import ARRAYS, BY_CATEGORY, MISSING_LEFT, ZERO_MISSING, Trees
from ratebound._old.learners.boosted import BoostedScorer

from ..extras import lightgbm, pd, xgboost

ODD = (np.nan, 0.0, -0.0, 1e-36, -1e-36, 1e-300, 1e300, -1e300, 3.5, 2.0**24, 1e38, -1e38)
CODES = (np.nan, 0.0, 1.0, 5.0, 8.0, 9.0, 40.0, 1000.0, -1.0, 2.0**30)
N = 240


def table(seed):
    """Rows (n, 4): normal numbers, few whole ones, codes of categories, zeros; and a signal."""
    rng = np.random.default_rng(seed)
    codes, zeros = rng.integers(0, 9, N), rng.random(N) < 0.7
    X = np.column_stack([rng.normal(size=N), rng.integers(-2, 3, N), codes, rng.normal(size=N)])
    X[zeros, 3] = 0.0
    signal = X[:, 0] * X[:, 1] + np.isin(codes, rng.integers(0, 9, 4)) + X[:, 3]
    X[rng.random((N, 4)) < rng.choice([0.0, 0.2])] = np.nan
    return X, signal + rng.normal(size=N)


def rows_like(X, seed):
    """Rows of training and others, with odd numbers among them and codes never seen."""
    rng = np.random.default_rng(seed)
    found = rng.permuted(X, axis=0)
    odd = rng.random(found.shape) < 0.2
    found[odd] = rng.choice(ODD, odd.sum())
    strange = rng.random(N) < 0.3
    found[:, 2] = np.where(strange, rng.choice(CODES, N), rng.permutation(X[:, 2]))
    return found


def grown_lightgbm(seed, outputs=1, **options):
    X, signal = table(seed)
    plain = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 3, "seed": seed, "num_leaves": 9,
             "min_data_per_group": 2, "cat_smooth": 1, "max_cat_to_onehot": 1}  # fmt: skip
    y = signal > 0
    if outputs > 1:
        y, plain = np.digitize(signal, [-0.5, 0.8]), plain | {"objective": "multiclass", "num_class": 3}
    own = plain | {"boost_from_average": False} | options
    data = lightgbm.Dataset(X, y, categorical_feature=[2], params=own)
    return X, lightgbm.train({"objective": "binary"} | own, data, 7)


def grown_xgboost(seed, outputs=1, **options):
    X, signal = table(seed)
    X[:, 3] = np.where(X[:, 3] > 0, 1e30 * X[:, 3], X[:, 3])
    plain = {"nthread": 1, "seed": seed, "max_depth": 4, "max_cat_to_onehot": 1, "base_score": 0.5}
    kind, y = {"objective": "binary:logistic"}, signal > 0
    if outputs > 1:
        kind = {"objective": "multi:softprob", "num_class": 3, "base_score": 0.0}
        y = np.digitize(signal, [-0.5, 0.8])
    kinds = "qqqq" if options.get("tree_method") == "exact" else "qqcq"
    data = xgboost.DMatrix(X, y, feature_types=list(kinds), enable_categorical=True)
    return X, xgboost.train(plain | kind | options, data, 7)


LIGHTGBM = [{}, {"zero_as_missing": True}, {"use_missing": False}, {"max_depth": 1}, {"num_leaves": 60},
            {"min_gain_to_split": 1e9}]  # fmt: skip
XGBOOST = [{}, {"max_depth": 1}, {"max_depth": 9}, {"tree_method": "exact", "gamma": 1.0},
           {"num_parallel_tree": 3, "subsample": 0.5}]  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(LIGHTGBM), st.sampled_from([1, 3]), st.integers(0, 7))
def test_lightgbm_scores_to_the_last_bit(seed, options, outputs, rounds):
    X, booster = grown_lightgbm(seed, outputs, **options)
    trees, rows = lightgbm_trees(booster), rows_like(X, seed)
    trees.check()
    assert (trees.outputs, trees.width) == (outputs, 4)
    assert trees.count == booster.current_iteration()
    rounds = min(rounds, trees.count)
    for given_rows in (X, rows, rows[:1], sparse.csr_array(np.nan_to_num(rows))):
        found = trees.scores(given_rows, np.array([rounds, trees.count]))
        dense = given_rows.toarray() if sparse.issparse(given_rows) else given_rows
        for scores, count in zip(found, (rounds, trees.count), strict=True):
            own = np.zeros(scores.shape)
            if count:
                own[:] = booster.predict(dense, raw_score=True, num_iteration=count).T
            np.testing.assert_array_equal(scores, own)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(XGBOOST), st.sampled_from([1, 3]), st.integers(1, 7))
def test_xgboost_scores_to_the_last_bit(seed, options, outputs, rounds):
    X, booster = grown_xgboost(seed, outputs, **options)
    trees, rows = xgboost_trees(booster), rows_like(X, seed)
    trees.check()
    parallel = options.get("num_parallel_tree", 1)
    assert (trees.outputs, trees.width, trees.count) == (outputs, 4, 7 * parallel)
    rows[:, :2] = np.clip(rows[:, :2], -1e38, 1e38)  # XGBoost refuses what is infinite in its precision
    rows[:, 3] = np.clip(rows[:, 3], -1e38, 1e38)
    for given_rows in (X, rows, rows[:1]):
        found = trees.scores(given_rows, np.array([rounds * parallel]))[0]
        own = booster.inplace_predict(given_rows, predict_type="margin", iteration_range=(0, rounds))
        np.testing.assert_array_equal(found.T.squeeze(), np.squeeze(own))


def test_a_split_of_missing_values_from_all_others_lets_the_infinite_through():
    lacking = np.arange(N) % 5 == 0
    X = np.where(lacking, np.nan, np.arange(N) * 37 % 11)[:, None]
    own = {"objective": "binary", "min_data_in_leaf": 2, "verbosity": -1, "max_depth": 2}
    booster = lightgbm.train(own, lightgbm.Dataset(X, lacking, params=own), 2)
    assert "threshold=inf" in booster.model_to_string()
    rows = np.array([[np.nan], [np.inf], [-np.inf], [np.finfo(float).max], [3.0]])
    found = lightgbm_trees(booster).scores(rows, np.array([2]))[0, 0]
    np.testing.assert_array_equal(found, booster.predict(rows, raw_score=True))


# --- against their definition -------------------------------------------------------------------


def walked(trees, row, rounds):
    """A row's scores, node by node, from what the arrays are said to mean."""
    found, at, sets = np.zeros(trees.outputs, trees.number.dtype), 0, 0
    starts = np.cumsum(trees.code_counts) - trees.code_counts
    row = row.astype(trees.number.dtype)
    for tree in range(rounds * trees.outputs):
        nodes, pending = [], 1  # level by level: how many nodes are still to come
        while pending:
            nodes.append(at + len(nodes))
            pending += 1 if trees.feature[nodes[-1]] >= 0 else -1
        splits = [node for node in nodes if trees.feature[node] >= 0]
        by_category = [node for node in splits if trees.flags[node] & BY_CATEGORY]
        node = at
        while trees.feature[node] >= 0:
            x, flags = row[trees.feature[node]], trees.flags[node]
            if np.isnan(x) or (flags & ZERO_MISSING and not flags & BY_CATEGORY and abs(x) <= 1e-35):
                left = bool(flags & MISSING_LEFT)
            elif flags & BY_CATEGORY:
                own = sets + by_category.index(node)
                codes = trees.codes[starts[own] : starts[own] + trees.code_counts[own]]
                left = np.trunc(x) in codes.tolist()
            else:
                left = x <= trees.number[node]
            node = nodes[2 * splits.index(node) + (1 if left else 2)]
        found[tree % trees.outputs] += trees.number[node]
        at, sets = nodes[-1] + 1, sets + len(by_category)
    return found


@st.composite
def forests(draw):
    """Any trees: level by level, a node is a leaf or not."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    outputs, rounds = draw(st.sampled_from([1, 3])), draw(st.integers(1, 4))
    feature = []
    for _ in range(outputs * rounds):
        pending = 1
        while pending:
            splits = pending < 12 and rng.random() < 0.55
            feature.append(rng.integers(0, 3) if splits else -1)
            pending += 1 if splits else -1
    feature = np.array(feature, np.int32)
    flags = rng.integers(0, 8, len(feature)).astype(np.uint8)
    number = rng.integers(-3, 4, len(feature)).astype(draw(st.sampled_from(["f4", "f8"])))
    sets = int(((feature >= 0) & (flags & BY_CATEGORY > 0)).sum())
    counts = rng.integers(0, 4, sets).astype(np.int32)
    codes = rng.integers(0, 5, counts.sum()).astype(np.int32)
    return Trees(3, outputs, feature, number / 7, flags, counts, codes), rng


@settings(max_examples=60, deadline=None)
@given(forests())
def test_any_trees_score_by_their_definition(made):
    trees, rng = made
    trees.check()
    X = rng.choice([np.nan, -1.0, 0.0, 1.0, 2.0, 3.0, 7.0, 1e-36, -3 / 7, 1 / 7], (9, 3))
    rounds = rng.integers(0, trees.count + 1, 3)
    expected = [[walked(trees, row, count) for row in X] for count in rounds]
    np.testing.assert_array_equal(trees.scores(X, rounds).transpose(0, 2, 1), expected)
    short = trees.cut(int(rounds[0]))
    assert short.count == rounds[0]
    np.testing.assert_array_equal(short.scores(X, rounds[:1]), trees.scores(X, rounds[:1]))


# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_category_that_a_table_did_not_have_is_missing(library, tmp_path):
    pytest.importorskip(library)
    X, signal = table(0)
    X[:, 2] = np.where(np.isnan(X[:, 2]), 0, X[:, 2])
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        c=pd.Categorical(np.array(list("uvwxyzrst"))[X[:, 2].astype(int)])
    )
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(frame, signal > 0))
    trace = rb.play(compiled, rb.Boosted(library), rounds=5, progress=False)
    loaded = rb.load(rb.average(trace).save(tmp_path))
    assert any(len(trees.codes) for trees in loaded.scorer.ensembles)
    new = frame.assign(c=pd.Categorical(["elsewhere"] * N))
    gaps = frame.assign(c=pd.Categorical([None] * N, categories=frame["c"].cat.categories))
    np.testing.assert_array_equal(loaded.member_scores(new), loaded.member_scores(gaps))
    with pytest.raises(ValueError, match="features"):
        loaded.member_scores(frame.drop(columns="d"))


# --- files --------------------------------------------------------------------------------------


def small():
    """Two trees by numbers and by categories: (0 (1 leaf leaf) leaf), (2 leaf leaf)."""
    return Trees(
        3,
        1,
        np.array([0, 1, -1, -1, -1, 2, -1, -1], np.int32),
        np.array([0.5, 0.1, 3.0, 1.0, 2.0, 0.0, 5.0, 6.0]),
        np.array([1, 0, 0, 0, 0, BY_CATEGORY, 0, 0], np.uint8),
        np.array([2], np.int32),
        np.array([1, 4], np.int32),
    )


def test_the_order_of_nodes():
    X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, np.nan], [np.nan, np.nan, 4.0]])
    found = small().scores(X, np.array([1, 2]))[:, 0]
    np.testing.assert_array_equal(found, [[1, 2, 3, 2], [6, 8, 9, 7]])


DAMAGED = {
    "a tree that does not end": {"feature": [0, 1, -1, -1, -1, 2, -1, 0]},
    "a tree of no nodes": {"feature": []},
    "nothing but splits": {"feature": [0] * 8},
    "a feature out of range": {"feature": [3, 1, -1, -1, -1, 2, -1, -1]},
    "a feature below 0": {"feature": [0, 1, -1, -1, -7, 2, -1, -1]},
    "not a number": {"number": [0.5, 0.1, np.nan, 1.0, 2.0, 0.0, 5.0, 6.0]},
    "a leaf beyond all": {"number": [0.5, 0.1, np.inf, 1.0, 2.0, 0.0, 5.0, 6.0]},
    "fewer numbers": {"number": [0.5, 0.1]},
    "more flags": {"flags": [1, 0, 0, 0, 0, BY_CATEGORY, 0, 0, 0]},
    "a set that is not there": {"flags": [1, BY_CATEGORY, 0, 0, 0, BY_CATEGORY, 0, 0]},
    "a set of nobody": {"flags": [1, 0, 0, 0, 0, 0, 0, 0]},
    "more codes than there are": {"code_counts": [3]},
    "fewer than none": {"code_counts": [-2]},
    "counts that overflow": {"code_counts": [2**31 - 1]},
    "rounds that lack trees": {"outputs": 3},
}


@pytest.mark.parametrize("change", DAMAGED.values(), ids=DAMAGED)
def test_damaged_trees_are_refused(change):
    trees = small()
    given_arrays = {
        name: value if name == "outputs" else np.array(value, getattr(trees, name).dtype)
        for name, value in change.items()
    }
    with pytest.raises(ValueError, match="its trees are damaged"):
        replace(trees, **given_arrays).check()


def test_sets_that_would_fill_the_memory_are_refused():
    sets = 30_000
    feature = np.tile(np.array([0, -1, -1], np.int32), sets)
    flags = np.where(feature == 0, BY_CATEGORY, 0).astype(np.uint8)
    codes = np.arange(sets, dtype=np.int32)
    trees = Trees(1, 1, feature, np.zeros(3 * sets), flags, np.ones(sets, np.int32), codes)
    with pytest.raises(ValueError, match="far too large"):
        trees.check()


SAID = {
    "outputs": [0, 2, 3, -1, 2**40, 1.0, True, "1", None],
    "width": [0, 2, -1, 2**40, "3", None],
    "ensembles": [2, "1", None, 2**40],
    "categories": [[], {}, "abc", [None, None], [None, None, {}], [None, None, [None]], [1, 2, 3]],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in SAID for value in SAID[name]])
def test_other_words_are_refused(name, value):
    said, arrays = BoostedScorer([small()]).describe()
    assert arrays.keys() == {f"{each} 0" for each in ARRAYS}
    with pytest.raises((ValueError, KeyError, TypeError)):
        BoostedScorer.read(Saved(said | {name: value}, arrays, np.array([[0.0, 2.0]])))


@pytest.mark.parametrize("parameters", [[[0.0, 3.0]], [[1.0, 1.0]], [[0.0, -1.0]], [[0.0, 0.5]]])
def test_models_that_are_not_there_are_refused(parameters):
    said, arrays = BoostedScorer([small()]).describe()
    with pytest.raises(ValueError, match=r"refer to models|more trees than there are"):
        BoostedScorer.read(Saved(said, arrays, np.array(parameters)))


def test_shaken_arrays_are_refused_or_safe():
    X, booster = grown_lightgbm(0)
    trees, rng, safe = lightgbm_trees(booster), np.random.default_rng(0), 0
    for _ in range(400):
        name = rng.choice(list(ARRAYS))
        values = getattr(trees, name).copy()
        low, high = (-(2**31), 2**31) if values.dtype.kind == "i" else (0, 256)
        wild = rng.choice([0, 1, -1, 2, 7, 100]) if rng.random() < 0.7 else rng.integers(low, high)
        values[rng.integers(len(values))] = np.int64(wild).astype(values.dtype)
        shaken = replace(trees, **{name: values})
        try:
            shaken.check()
        except ValueError:
            continue
        assert np.isfinite(shaken.scores(X, np.array([shaken.count]))).all()
        safe += 1
    assert 50 < safe < 350


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_no_tree_library_is_loaded_to_predict(library, tmp_path):
    pytest.importorskip(library)
    X, signal = table(0)
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(X, signal > 0))
    path = rb.average(rb.play(compiled, rb.Boosted(library), rounds=3, progress=False)).save(tmp_path)
    program = (
        "import sys, numpy, ratebound as rb\n"
        f"rb.load({str(path)!r}).predict(numpy.zeros((2, 4)))\n"
        "assert not {'lightgbm', 'xgboost', 'pandas', 'scipy.sparse'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
