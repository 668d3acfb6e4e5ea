"""Trees from crafted files: refused with a ValueError, or safe to follow; never a crash or a circle."""

import json
import random
import re
from contextlib import suppress

import numpy as np
import pytest

import ratebound as rb
from ratebound.learners._checking_trees import checked_lightgbm, checked_xgboost
from ratebound.learners._trees import LIBRARIES

from ..extras import pd

rng = np.random.default_rng(0)
N = 300
TABLE = pd.DataFrame({"x": rng.normal(size=N), "z": rng.normal(size=N)})
TABLE["t"] = pd.Categorical(rng.choice(list("uvwxyzabc"), N))
Y = (TABLE["x"] + TABLE["t"].isin(["u", "w", "a"]) + 0.6 * rng.normal(size=N) > 0).to_numpy()
TABLE.loc[::17, "x"] = np.nan
CODES = TABLE.assign(t=TABLE["t"].cat.codes).to_numpy(float)
CHECKED = {"lightgbm": checked_lightgbm, "xgboost": checked_xgboost}
SPLITS = {
    "lightgbm": {"num_leaves": 6, "min_data_per_group": 5, "cat_smooth": 1, "max_cat_to_onehot": 1},
    "xgboost": {"max_depth": 3, "max_cat_to_onehot": 1},
}
both = pytest.mark.parametrize("library", CHECKED)
ODD = (0, 1, -1, 2, -2, 7, 100, 2**31 - 1, 2**31, -(2**31), 10**30, 1e308, "", "x", "nan", -0.5)


def grown(library, X=TABLE, categorical=(2,), **options):
    """An ensemble of a library that splits by categories too."""
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    quiet = {"verbosity": -1} if library == "lightgbm" else {}
    kind = getattr(module, LIBRARIES[library].CLASSIFIER)
    estimator = kind(n_jobs=1, **SPLITS[library] | quiet | options)
    compiled = rb.compile(rb.Problem("error_rate()", ["positive_rate() <= 0.3"]), rb.Population(X, Y))
    learner = rb.Boosted(estimator, categorical=() if X is TABLE else categorical)
    return rb.play(compiled, learner, rounds=3, progress=False).scorer.ensembles[0]


def scores(trees, X=TABLE):
    return trees.added(np.zeros(len(X), trees.dtype), X, 0, trees.count)


@both
@pytest.mark.parametrize("X", [TABLE, CODES], ids=["table", "codes"])
def test_what_a_library_writes_passes_and_scores_the_same(library, X):
    trees = grown(library, X)
    text = trees.checked(trees.to_bytes())
    assert ("cat_threshold" if library == "lightgbm" else '"categories": [') in text.decode()
    again = type(trees).from_bytes(text)
    np.testing.assert_array_equal(scores(again, X), scores(trees, X))
    assert trees.checked(again.to_bytes()) == text
    assert again.width == 3
    assert again.count == 3


@both
def test_a_split_of_missing_values_from_all_others_passes(library):
    lacking = np.arange(N) % 5 == 0
    X = np.where(lacking, np.nan, np.arange(N) * 37 % 11)[:, None]
    options = {} if library == "xgboost" else {"min_child_samples": 2}
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    kind = getattr(module, LIBRARIES[library].CLASSIFIER)
    estimator = kind(n_jobs=1, max_depth=2, **options)
    compiled = rb.compile(rb.Problem("error_rate()", []), rb.Population(X, lacking))
    trees = rb.play(compiled, rb.Boosted(estimator), rounds=2, progress=False).scorer.ensembles[0]
    again = type(trees).from_bytes(trees.checked(trees.to_bytes()))
    np.testing.assert_array_equal(scores(again, X), scores(trees, X))
    assert len(np.unique(scores(trees, X))) > 1


@pytest.mark.parametrize(
    "options", [{"tree_method": "exact", "gamma": 5.0}, {"num_parallel_tree": 3, "subsample": 0.5}]
)
def test_pruned_and_parallel_trees_pass(options):
    trees = grown("xgboost", CODES, (), max_depth=6, **options)
    again = type(trees).from_bytes(trees.checked(trees.to_bytes()))
    np.testing.assert_array_equal(scores(again, CODES), scores(trees, CODES))


def test_a_tree_of_one_leaf_passes():
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    params = {"objective": "none", "verbosity": -1, "min_gain_to_split": 1e9}
    booster = lightgbm.Booster(params, lightgbm.Dataset(CODES, label=np.zeros(N)))
    booster.update(fobj=lambda scores, rows: (np.full(N, 0.1), np.ones(N)))
    checked_lightgbm(booster.model_to_string().encode())


def in_line(name, change):
    """A change to the values of the first line of that name in LightGBM's text."""

    def changed(text):
        return re.sub(rf"{name}=(.*)", lambda m: f"{name}={change(m[1].split(' '))}", text, count=1)

    return changed


def first(value):
    return lambda tokens: " ".join([str(value), *tokens[1:]])


def every(value):
    return lambda tokens: " ".join([str(value)] * len(tokens))


LIGHTGBM = {
    "nothing": lambda text: "",
    "garbage": lambda text: "tree\n" + "".join(map(chr, range(1, 128))) * 10,
    "a child out of range": in_line("left_child", first(1_000_000_000)),
    "a leaf out of range": in_line("left_child", first(-1_000)),
    "a leaf that is called a node": in_line("right_child", first(7)),
    "children in a circle": lambda text: re.sub(r"((left|right)_child)=.*", r"\1=0 0 0 0 0", text),
    "a child of two": in_line("left_child", every(2)),
    "a feature out of range": in_line("split_feature", every(900_000_000)),
    "a feature below 0": in_line("split_feature", first(-1)),
    "many leaves": in_line("num_leaves", first(100_000_000)),
    "no leaves": in_line("num_leaves", first(-5)),
    "fewer thresholds": in_line("threshold", lambda tokens: " ".join(tokens[1:])),
    "a threshold that is none": in_line("threshold", first("nan")),
    "a leaf without a value": in_line("leaf_value", first("inf")),
    "a decision unheard of": in_line("decision_type", first(64)),
    "categories out of range": in_line("cat_boundaries", first(5)),
    "many categories": in_line("cat_boundaries", lambda tokens: " ".join([*tokens[:-1], "1000000"])),
    "a set of categories that is not there": in_line("num_cat", first(3)),
    "more features": in_line("max_feature_idx", first(2_000_000_000)),
    "several outputs": in_line("num_tree_per_iteration", first(1000)),
    "a line twice": lambda text: text.replace("num_cat=", "num_cat=0\nnum_cat=", 1),
    "no trees": lambda text: text[: text.index("Tree=0")] + text[text.index("end of trees") :],
    "names that are no names": lambda text: re.sub(
        "pandas_categorical:.*", "pandas_categorical:{}", text
    ),
}


@pytest.mark.parametrize("change", LIGHTGBM.values(), ids=LIGHTGBM)
def test_crafted_lightgbm_is_refused(change):
    text = grown("lightgbm").to_bytes().decode()
    assert change(text) != text
    with pytest.raises(ValueError, match="its trees are not as their library writes them"):
        checked_lightgbm(change(text).encode())


ENDS = ["\r", "\x0b", "\x0c", "\x00", "\x1c", "\x85", "\u2028"]  # of lines or texts, for someone


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_lightgbm_sees_no_text_of_the_file(end):
    """LightGBM ends lines at carriage returns too: a tree in a feature's name was read as one."""
    trees = grown("lightgbm", CODES)
    text = trees.to_bytes().decode()
    tree = "Tree=0 num_leaves=2 num_cat=0 split_feature=0 threshold=0 decision_type=2 left_child=0"
    tree = tree.replace(" ", end) + f"{end}right_child=0{end}leaf_value=0{end}{end}end_of_trees"
    wild = in_line("feature_names", lambda names: " ".join([f"a{end}{end}{tree}", *names[1:]]))(text)
    wild = in_line("feature_infos", first(f"[0:{end}1]"))(wild)
    assert end in wild
    found = checked_lightgbm(wild.encode())
    assert found == checked_lightgbm(text.encode())
    assert not re.search(rb"[^\n\x20-\x7e]", found)
    np.testing.assert_array_equal(scores(type(trees).from_bytes(found), CODES), scores(trees, CODES))


def test_lightgbm_sees_sizes_of_ours():
    """Those of the file are offsets into memory, and are not handed on."""
    text = grown("lightgbm").to_bytes()
    wild = re.sub(rb"tree_sizes=.*", b"tree_sizes=1000000000 -5 7", text)
    assert checked_lightgbm(wild) == checked_lightgbm(text)


XGBOOST = {
    "a child out of range": ("left_children", 0, 10**9),
    "a child below range": ("left_children", 0, -7),
    "one child": ("left_children", 0, -1),
    "a circle": ("left_children", 1, 0),
    "a child of two": ("left_children", 1, 2),
    "a feature out of range": ("split_indices", 0, 10**9),
    "a feature below 0": ("split_indices", 0, -1),
    "a split unheard of": ("split_type", 0, 2),
    "a split by no categories": ("split_type", 0, 1),
    "a category out of range": ("categories", 0, 2**30),
    "a category below 0": ("categories", 0, -1),
    "categories of no node": ("categories_nodes", 0, 10**6),
    "categories elsewhere": ("categories_segments", 0, 10**6),
    "more categories": ("categories_sizes", 0, 10**6),
    "a condition that is none": ("split_conditions", 0, 1e308),
    "a number that is a text": ("split_indices", 0, "0"),
}


@pytest.mark.parametrize("change", XGBOOST.values(), ids=XGBOOST)
def test_crafted_xgboost_is_refused(change):
    document = json.loads(grown("xgboost").to_bytes())
    name, place, value = change
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    tree = next(tree for tree in trees if tree["categories"])
    assert tree[name][place] != value
    tree[name][place] = value
    with pytest.raises((ValueError, TypeError)):
        checked_xgboost(json.dumps(document).encode())


@pytest.mark.parametrize(
    "raw", [b"", b"{" + b"\xff" * 100, b"binf" + b"\xff" * 1000, b"{}", b"[]", b"1"]
)
@both
def test_other_bytes_are_refused(library, raw):
    with pytest.raises((ValueError, KeyError, TypeError)):
        CHECKED[library](raw)


def shaken_json(raw, chance, places):
    document = json.loads(raw)
    *way, last = chance.choice(list(places(document)))
    part = document
    for key in way:
        part = part[key]
    if chance.random() < 0.2:
        del part[last]
    elif isinstance(part[last], int):
        part[last] = chance.choice([*ODD, part[last] - 1, part[last] + 1, part[last] + 2])
    else:
        part[last] = chance.choice(ODD)
    return json.dumps(document).encode()


def shaken_text(raw, chance, _):
    lines = raw.decode().split("\n")
    index = chance.randrange(lines.index("end of trees") + 1)
    name, sign, value = lines[index].partition("=")
    tokens = value.split(" ")
    place = chance.randrange(len(tokens))
    if chance.random() < 0.2:
        del lines[index]
    elif chance.random() < 0.2:  # an end of a line that only LightGBM may see
        cut = chance.randrange(len(lines[index]) + 1)
        added = chance.choice(
            ["", "left_child=0", "Tree=0", "num_leaves=99", "leaf_value=1e308", "end of trees"]
        )
        lines[index] = lines[index][:cut] + chance.choice(ENDS) + added + lines[index][cut:]
    elif re.fullmatch(r"-?\d+", tokens[place]) and chance.random() < 0.5:
        tokens[place] = str(int(tokens[place]) + chance.choice((-2, -1, 1, 2)))
        lines[index] = f"{name}={' '.join(tokens)}"
    else:
        tokens[place] = str(chance.choice(ODD))
        lines[index] = f"{name}{sign}{' '.join(tokens)}"
    return "\n".join(lines).encode()


@both
def test_shaken_trees_are_refused_or_safe(library, places):
    """A crash here would end the tests; a longer run of this, on some 5,000 files, met none."""
    trees = grown(library)
    raw, shaken = trees.to_bytes(), shaken_text if library == "lightgbm" else shaken_json
    safe = 0
    for seed in range(150):
        try:
            text = trees.checked(shaken(raw, random.Random(seed), places))
        except (ValueError, KeyError, TypeError):
            continue
        with suppress(ValueError):  # of XGBoost, on names that its table has not
            scores(type(trees).from_bytes(text))
        safe += 1
    assert 10 < safe < 140
