"""Trees from a file, checked before a library sees them, which follows their nodes unchecked.

A node's children, features and categories are indices into arrays; one out of range reads memory that is
not the model's, and a circle never ends. So what a file holds is read here, every index and size is
checked, and the library is given a text written anew from what was read, with nothing else in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Tree = dict[str, Any]
WHOLE = re.compile(r"-?[0-9]{1,15}")
RANGE = re.compile(r"none|\[[^\s:]+:[^\s:]+\]|-?[0-9]+(:-?[0-9]+)*")  # what LightGBM says of a feature
LARGEST_CODE = 2**24  # XGBoost knows no category above it
ROOT = 2**31 - 1  # what XGBoost calls the parent of a root


def checked_lightgbm(raw: bytes) -> bytes:
    """A LightGBM model's text with nothing in it that prediction does not need.

    ValueError where anything in it is not as LightGBM writes it.
    """
    text = raw.decode("utf-8")
    head, *blocks = text.partition("\nend of trees\n")[0].split("\nTree=")
    lines = _lines(head, "its head", first="tree")
    names = lines.get("feature_names", "").split(" ")
    infos = lines.get("feature_infos", "").split(" ")
    width = _whole(lines.get("max_feature_idx"), 0, 2**31 - 2, "max_feature_idx") + 1
    _demand(len(names) == len(infos) == width, f"{width} features have {len(names)} names")
    _demand(all(map(RANGE.fullmatch, infos)), "feature_infos are none LightGBM writes")
    for name in ("num_class", "num_tree_per_iteration"):
        _demand(lines.get(name) == "1", f"{name} is {lines.get(name)!r}, and 1 is expected")
    _demand(bool(blocks), "it has no trees")
    trees = []
    for index, block in enumerate(blocks):
        number, _, rest = block.partition("\n")
        _demand(number == str(index), f"tree {index} is called {number[:20]!r}")
        trees.append(_lightgbm_tree(_lines(rest, f"tree {index}"), width, f"tree {index}"))
    _, _, end = text.rpartition("\npandas_categorical:")
    known = {name: lines[name] for name in ("version", "num_class", "num_tree_per_iteration",
             "label_index", "max_feature_idx", "feature_names", "feature_infos")}  # fmt: skip
    return _lightgbm_text(known, trees, _categories(json.loads(end)))


def checked_xgboost(raw: bytes) -> bytes:
    """An XGBoost model's JSON with nothing in it that prediction does not need.

    ValueError where anything in it is not as XGBoost writes it.
    """
    document = json.loads(raw.decode("utf-8"))
    learner = document["learner"]
    given, booster = learner["learner_model_param"], learner["gradient_booster"]
    width = _whole(given["num_feature"], 0, 2**31 - 1, "num_feature")
    expected = {"num_class": "0", "num_target": "1"}
    _demand({name: given.get(name) for name in expected} == expected, "it has more than one output")
    _demand(float(str(given["base_score"]).strip("[]")) == 0.5, "its base_score is not 0.5")
    _demand(booster["name"] == "gbtree", f"its booster is {booster['name']!r}")
    _demand(learner["objective"]["name"] == "binary:logistic", "it is no binary classifier")
    model = booster["model"]
    trees = [_xgboost_tree(tree, index, width) for index, tree in enumerate(model["trees"])]
    _demand(
        _bits(trees) <= 2**23 + 1000 * len(raw), "its codes of categories are far above their number"
    )
    info, parallel = model["tree_info"], model["gbtree_model_param"]["num_parallel_tree"]
    _demand(list(info) == [0] * len(trees), "tree_info does not fit its trees")
    ends = _wholes(model["iteration_indptr"], 0, len(trees), "iteration_indptr")
    in_order = len(ends) > 1 and ends[0] == 0 and ends[-1] == len(trees) and (np.diff(ends) > 0).all()
    _demand(bool(in_order), "iteration_indptr does not fit its trees")
    count = {"num_parallel_tree": str(_whole(parallel, 1, len(trees), "num_parallel_tree")),
             "num_trees": str(len(trees))}  # fmt: skip
    found = {
        "cats": _xgboost_categories(model.get("cats"), width),
        "gbtree_model_param": count,
        "iteration_indptr": ends.tolist(),
        "tree_info": [0] * len(trees),
        "trees": trees,
    }
    texts = {name: _texts(learner.get(name, []), width) for name in ("feature_names", "feature_types")}
    learner_param = {"base_score": given["base_score"], "boost_from_average": "0",
                     "num_feature": str(width), **expected}  # fmt: skip
    objective = {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}
    rebuilt = {"attributes": {}, **texts, "learner_model_param": learner_param, "objective": objective}
    rebuilt["gradient_booster"] = {"name": "gbtree", "model": found}
    version = _wholes(document["version"], 0, 999, "version")
    _demand(len(version) == 3, "its version has three numbers")
    return json.dumps({"learner": rebuilt, "version": version.tolist()}, allow_nan=False).encode()


# --- LightGBM ------------------------------------------------------------------------------------


def _lines(text: str, where: str, first: str | None = None) -> dict[str, str]:
    """Lines ``name=value`` by name, each once."""
    lines = [line for line in text.split("\n") if line]
    if first is not None:
        _demand(lines[:1] == [first], f"it begins with no line {first!r}")
        lines = lines[1:]
    found = {}
    for line in lines:
        name, sign, value = line.partition("=")
        _demand(bool(sign) and name not in found, f"{where} has a line {line[:40]!r}")
        found[name] = value
    return found


def _lightgbm_tree(lines: dict[str, str], width: int, where: str) -> Tree:
    """The arrays of a tree; nodes are 0, 1, ..., leaves -1, -2, ..."""

    def take(name: str, size: int, dtype: Any = np.int64) -> Array:
        tokens = lines.get(name, "").split()
        if dtype is np.int64:
            _demand(all(map(WHOLE.fullmatch, tokens)), f"{where}: {name} are no whole numbers")
        return _sized(np.array(tokens, dtype=dtype), size, f"{where}: {name}")

    leaves = _whole(lines.get("num_leaves"), 1, 2**31 - 1, f"{where}: num_leaves")
    _demand(len(lines.get("leaf_value", "").split()) == leaves, f"{where}: leaf_value does not fit")
    _demand(lines.get("is_linear", "0") == "0", f"{where}: is_linear")
    kinds = _whole(lines.get("num_cat"), 0, 2**31 - 1, f"{where}: num_cat")
    tree = {name: take(name, leaves - 1) for name in ("left_child", "right_child", "split_feature")}
    tree["decision_type"] = take("decision_type", leaves - 1)
    tree["threshold"] = take("threshold", leaves - 1, float)
    tree["leaf_value"] = take("leaf_value", leaves, float)
    _demand(_within(tree["split_feature"], 0, width - 1), f"{where}: split_feature is out of range")
    _demand(_within(tree["decision_type"], 0, 15), f"{where}: decision_type is out of range")
    children = np.stack([tree["left_child"], tree["right_child"]])
    _demand(_within(children, -leaves, leaves - 2), f"{where}: its children are out of range")
    whole = np.full((2, 2 * leaves - 1), -1)  # leaves after the nodes
    whole[:, : leaves - 1] = np.where(children >= 0, children, leaves - 2 - children)
    _reached(whole[0], whole[1], where)
    if kinds:
        ends = take("cat_boundaries", kinds + 1)
        words = take("cat_threshold", int(ends[-1]))
        by_category = tree["threshold"][tree["decision_type"] % 2 == 1]
        fits = ends[0] == 0 and (np.diff(ends) > 0).all() and _within(words, 0, 2**32 - 1)
        known = np.isin(by_category, np.arange(kinds)).all()
        _demand(bool(fits and known), f"{where}: its categories do not fit its splits")
        tree |= {"cat_boundaries": ends, "cat_threshold": words}
    else:
        _demand(not (tree["decision_type"] % 2).any(), f"{where}: it splits by categories it has not")
    return {"num_leaves": leaves, "num_cat": kinds, **tree}


def _lightgbm_text(head: dict[str, str], trees: Sequence[Tree], categories: Any) -> bytes:
    blocks = []
    for index, tree in enumerate(trees):
        # What is kept of training, and not asked for.
        inner, leaves = np.zeros((2, tree["num_leaves"]), dtype=int)
        values = tree | dict.fromkeys(("leaf_weight", "leaf_count"), leaves)
        for name in ("split_gain", "internal_value", "internal_weight", "internal_count"):
            values[name] = inner[1:]
        lines = [f"Tree={index}", *(f"{name}={_joined(value)}" for name, value in values.items())]
        blocks.append("\n".join([*lines, "is_linear=0", "shrinkage=1", "", "", ""]))
    sizes = "tree_sizes=" + " ".join(str(len(block)) for block in blocks)
    lines = ["tree", *(f"{name}={value}" for name, value in head.items()), sizes, "", ""]
    end = ["end of trees", "", f"pandas_categorical:{json.dumps(categories)}", ""]
    return ("\n".join(lines) + "".join(blocks) + "\n".join(end)).encode()


def _joined(value: Any) -> str:
    return str(value) if isinstance(value, int) else " ".join(map(repr, value.tolist()))


def _categories(given: Any) -> Any:
    """What the categories of a table's columns are called."""
    plain = given is None or (
        isinstance(given, list)
        and all(isinstance(names, list) for names in given)
        and all(isinstance(name, str | int | float) for names in given for name in names)
    )
    _demand(plain, "pandas_categorical holds no lists of names")
    return given


# --- XGBoost -------------------------------------------------------------------------------------


def _xgboost_tree(given: Any, index: int, width: int) -> Tree:
    """The tree's arrays, an entry a node; leaves have no children, -1. Nodes pruned away are dropped."""
    where = f"tree {index}"
    size = _whole(given["tree_param"]["num_nodes"], 1, 2**31 - 2, f"{where}: num_nodes")
    left, right = (
        _sized(_wholes(given[name], -1, size - 1, f"{where}: {name}"), size, f"{where}: {name}")
        for name in ("left_children", "right_children")
    )
    kept = _reached(left, right, where)
    _demand(bool(((left < 0) == (right < 0))[kept].all()), f"{where}: a node has one child")
    place = np.full(size + 1, -1)  # the last for no child
    place[kept] = np.arange(len(kept))
    left, right = place[left[kept]], place[right[kept]]
    parents = np.full(len(kept), ROOT)
    for children in (left, right):
        parents[children[children >= 0]] = np.flatnonzero(children >= 0)
    tree: Tree = {"id": index, "left_children": left, "right_children": right, "parents": parents}
    largest = {"split_indices": max(width - 1, 0), "default_left": 1, "split_type": 1}
    for name, most in largest.items():
        said = [int(value) if isinstance(value, bool) else value for value in given[name]]
        values = _wholes(said, -ROOT, ROOT, f"{where}: {name}")
        values = _sized(values, size, f"{where}: {name}")[kept]
        _demand(_within(values, 0, most), f"{where}: {name} is out of range")
        tree[name] = values
    conditions = np.array(given["split_conditions"], dtype=float)[: size + 1]
    conditions = np.where(np.abs(conditions) <= np.finfo(np.float32).max, conditions, np.nan)
    tree["split_conditions"] = _sized(conditions, size, f"{where}: split_conditions")[kept]
    for name in ("base_weights", "loss_changes", "sum_hessian"):  # kept of training, and not asked for
        tree[name] = np.zeros(len(kept))
    tree |= _xgboost_splits(given, place, (tree["split_type"] == 1) & (left >= 0), where)
    tree = {name: value if name == "id" else value.tolist() for name, value in tree.items()}
    count = {"num_deleted": "0", "num_feature": str(width), "num_nodes": str(len(kept))}
    return tree | {"tree_param": {**count, "size_leaf_vector": "1"}}


def _xgboost_splits(given: Any, place: Array, by_category: Array, where: str) -> Tree:
    """Which categories go right at the nodes that split by category; nodes have new places."""
    codes = _wholes(given["categories"], 0, LARGEST_CODE, f"{where}: categories")
    names = ("categories_nodes", "categories_segments", "categories_sizes")
    largest = (len(place) - 2, len(codes), len(codes))
    nodes, starts, sizes = (
        _wholes(given[name], 0, most, f"{where}: {name}")
        for name, most in zip(names, largest, strict=True)
    )
    fits = len(nodes) == len(starts) == len(sizes) and sizes.sum() == len(codes)
    fits = fits and (starts == np.cumsum(sizes) - sizes).all()
    _demand(bool(fits), f"{where}: its categories do not fit its nodes")
    own = [codes[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    pairs = [(int(place[node]), part) for node, part in zip(nodes, own, strict=True) if place[node] >= 0]
    pairs.sort(key=lambda pair: pair[0])
    known = np.array([node for node, _ in pairs], dtype=int)
    fits = np.array_equal(known, np.flatnonzero(by_category))
    _demand(fits, f"{where}: its categories do not fit its splits")
    sizes = np.array([len(part) for _, part in pairs], dtype=int)
    return {
        "categories": np.concatenate([*(part for _, part in pairs), np.empty(0, int)]),
        "categories_nodes": known,
        "categories_segments": np.cumsum(sizes) - sizes,
        "categories_sizes": sizes,
    }


def _bits(trees: Sequence[Tree]) -> int:
    """The size of XGBoost's sets of categories, one bit for every code up to the largest in it."""
    found = 0
    for tree in trees:
        codes = np.array(tree["categories"] or [0])
        starts = np.array(tree["categories_segments"], dtype=int)
        if len(starts):
            found += int((1 + np.maximum.reduceat(codes, np.minimum(starts, len(codes) - 1))).sum())
    return found


def _xgboost_categories(given: Any, width: int) -> dict[str, Any]:
    """What the categories of a table's columns are called, as XGBoost keeps them."""
    if not given or not given["enc"]:
        return {"enc": [], "feature_segments": [], "sorted_idx": []}
    _demand(len(given["enc"]) == width, "its names of categories do not fit its features")
    found, counts = [], []
    for names in given["enc"]:
        if "offsets" in names:
            values = _wholes(names["values"], -128, 127, "a category's name")
            ends = _wholes(names["offsets"], 0, len(values), "where a category's name begins")
            right = ends[[0, -1]].tolist() == [0, len(values)] if len(ends) else not len(values)
            _demand(right and bool((np.diff(ends) >= 0).all()), "its names of categories do not fit")
            found.append({"offsets": ends.tolist(), "values": values.tolist()})
            counts.append(max(len(ends) - 1, 0))
        else:
            kind = _whole(names["type"], 12, 19, "the type of a category")  # of whole numbers
            values = _wholes(names["values"], -(2**62), 2**62, "a category")
            found.append({"type": kind, "values": values.tolist()})
            counts.append(len(values))
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(int).tolist()
    order = _wholes(given["sorted_idx"], 0, max(counts), "sorted_idx")
    _demand(list(given["feature_segments"]) == ends, "feature_segments do not fit its categories")
    _sized(order, ends[-1], "sorted_idx")
    for start, end in pairwise(ends):
        alike = np.array_equal(np.sort(order[start:end]), np.arange(end - start))
        _demand(alike, "sorted_idx is no order of its categories")
    return {"enc": found, "feature_segments": ends, "sorted_idx": order.tolist()}


# --- what both need ------------------------------------------------------------------------------


def _demand(is_right: bool, otherwise: str) -> None:
    if not is_right:
        raise ValueError(f"its trees are not as their library writes them: {otherwise}")


def _reached(left: Array, right: Array, where: str) -> Array:
    """The nodes reached from the root, node 0, each of them once; a child of -1 is none."""
    seen = np.zeros(len(left), dtype=bool)
    found, nodes = [], np.array([0])
    while len(nodes):
        twice = seen[nodes].any() or len(np.unique(nodes)) < len(nodes)
        _demand(not twice, f"{where}: a node is reached twice")
        seen[nodes] = True
        found.append(nodes)
        nodes = np.concatenate([left[nodes], right[nodes]])
        nodes = nodes[nodes >= 0]
    return np.concatenate(found)


def _whole(value: Any, low: int, high: int, what: str) -> int:
    """A whole number, or the text of one."""
    right = WHOLE.fullmatch(str(value)) is not None and not isinstance(value, bool)
    _demand(right and low <= int(str(value)) <= high, f"{what} is {str(value)[:20]!r}")
    return int(str(value))


def _wholes(values: Any, low: int, high: int, what: str) -> Array:
    right = isinstance(values, list) and all(type(value) is int for value in values)
    _demand(right and all(low <= value <= high for value in values), f"{what} is out of range")
    return np.array(values, dtype=np.int64)


def _sized(values: Array, size: int, what: str) -> Array:
    _demand(values.shape == (size,), f"{what} has {values.size} numbers, and {size} are expected")
    _demand(values.dtype.kind != "f" or bool(np.isfinite(values).all()), f"{what} is not finite")
    return values


def _within(values: Array, low: int, high: int) -> bool:
    return bool(((values >= low) & (values <= high)).all())


def _texts(given: Any, width: int) -> list[str]:
    right = isinstance(given, list) and all(isinstance(text, str) for text in given)
    _demand(right and len(given) in (0, width), "its features' names do not fit them")
    return list(given)
