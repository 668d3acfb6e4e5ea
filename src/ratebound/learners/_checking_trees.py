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

from ratebound.base.types import Array

Tree = dict[str, Any]
WHOLE = re.compile(r"-?[0-9]{1,15}")


def demand(is_right: bool, otherwise: str) -> None:
    if not is_right:
        raise ValueError(f"its trees are not as their library writes them: {otherwise}")


def reached(left: Array, right: Array, where: str) -> Array:
    """The nodes reached from the root, node 0, each exactly once; -1 stands for no child.

    Two children of a node follow each other: XGBoost finds the right one of a single row that way.
    """
    seen = np.zeros(len(left), dtype=bool)
    found, nodes = [], np.array([0])
    while len(nodes):
        twice = seen[nodes].any() or len(np.unique(nodes)) < len(nodes)
        demand(not twice, f"{where}: a node is reached twice")
        seen[nodes] = True
        found.append(nodes)
        nodes = np.column_stack([left[nodes], right[nodes]]).ravel()
        nodes = nodes[nodes >= 0]
    return np.concatenate(found)


def whole(value: Any, low: int, high: int, what: str) -> int:
    """A whole number, or the text of one."""
    right = WHOLE.fullmatch(str(value)) is not None and not isinstance(value, bool)
    demand(right and low <= int(str(value)) <= high, f"{what} is {str(value)[:20]!r}")
    return int(str(value))


def wholes(values: Any, low: int, high: int, what: str, size: int | None = None) -> Array:
    right = isinstance(values, list) and all(type(value) is int for value in values)
    demand(right and all(low <= value <= high for value in values), f"{what} is out of range")
    return sized(np.array(values, dtype=np.int64), len(values) if size is None else size, what)


def sized(values: Array, size: int, what: str) -> Array:
    demand(values.shape == (size,), f"{what} has {values.size} numbers, and {size} are expected")
    demand(values.dtype.kind != "f" or bool(np.isfinite(values).all()), f"{what} is not finite")
    return values


def within(values: Array, low: int, high: int) -> bool:
    return bool(((values >= low) & (values <= high)).all())


# --- LightGBM's text ----------------------------------------------------------------------------


def checked_lightgbm(raw: bytes) -> bytes:
    """A LightGBM model's text with nothing in it that prediction does not need.

    ValueError where anything in it is not as LightGBM writes it.
    """
    return _lightgbm_text(*read_lightgbm(raw))


def read_lightgbm(raw: bytes) -> tuple[dict[str, str], list[Tree], Any]:
    """What a model's text says: its head, its trees, and what a table's categories are called."""
    text = raw.decode("utf-8")
    head, *blocks = text.partition("\nend of trees\n")[0].split("\nTree=")
    demand(head.startswith("tree\n"), "it does not begin with a line 'tree'")
    lines = _lines(head.removeprefix("tree\n"), "its head")
    width = whole(lines.get("max_feature_idx"), 0, 2**31 - 2, "max_feature_idx") + 1
    names = lines.get("feature_names", "").split(" ")
    demand(len(names) == width, f"{width} features have {len(names)} names")
    each = whole(lines.get("num_class"), 1, max(1, len(blocks)), "num_class")
    per_round = lines.get("num_tree_per_iteration")
    fits = per_round == lines["num_class"] and each != 2 and len(blocks) % each == 0
    demand(fits, f"{len(blocks)} trees are not {per_round!r} a round, one for each of {each} classes")
    whole(lines.get("label_index"), 0, 2**31 - 2, "label_index")
    demand(re.fullmatch("v[0-9]{1,3}", lines.get("version", "")) is not None, "it has no version")
    demand(bool(blocks), "it has no trees")
    trees = []
    for index, block in enumerate(blocks):
        number, _, rest = block.partition("\n")
        demand(number == str(index), f"tree {index} is called {number[:20]!r}")
        trees.append(_lightgbm_tree(_lines(rest, f"tree {index}"), width, f"tree {index}"))
    _, _, end = text.rpartition("\npandas_categorical:")
    known = {name: lines[name] for name in ("version", "num_class", "num_tree_per_iteration",
             "label_index", "max_feature_idx")}  # fmt: skip
    # Any text in these would be read again, and LightGBM ends a line at characters that we do not. What
    # features are called and what range they had decides nothing.
    known["feature_names"] = " ".join(f"Column_{index}" for index in range(width))
    known["feature_infos"] = " ".join(["none"] * width)
    return known, trees, _categories(json.loads(end))


def _lines(text: str, where: str) -> dict[str, str]:
    """Lines ``name=value`` by name, each once."""
    found = {}
    for line in filter(None, text.split("\n")):
        name, sign, value = line.partition("=")
        demand(bool(sign) and name not in found, f"{where} has a line {line[:40]!r}")
        found[name] = value
    return found


def _lightgbm_tree(lines: dict[str, str], width: int, where: str) -> Tree:
    """The arrays of a tree; nodes are 0, 1, ..., leaves -1, -2, ..."""

    def take(name: str, size: int, dtype: Any = np.int64) -> Array:
        tokens = lines.get(name, "").split()
        if dtype is np.int64:
            demand(all(map(WHOLE.fullmatch, tokens)), f"{where}: {name} are not whole numbers")
        return sized(np.array(tokens, dtype=dtype), size, f"{where}: {name}")

    leaves = whole(lines.get("num_leaves"), 1, 2**31 - 1, f"{where}: num_leaves")
    demand(lines.get("is_linear", "0") == "0", f"{where}: is_linear")
    kinds = whole(lines.get("num_cat"), 0, 2**31 - 1, f"{where}: num_cat")
    tree = {name: take(name, leaves - 1) for name in ("left_child", "right_child", "split_feature")}
    tree["decision_type"] = take("decision_type", leaves - 1)
    # At a split of missing values from all others, every number lies below the threshold.
    splits = np.array(lines.get("threshold", "").split(), dtype=float)
    splits = np.where(splits == np.inf, np.finfo(float).max, splits)
    tree["threshold"] = sized(splits, leaves - 1, f"{where}: threshold")
    tree["leaf_value"] = take("leaf_value", leaves, float)
    demand(within(tree["split_feature"], 0, width - 1), f"{where}: split_feature is out of range")
    demand(within(tree["decision_type"], 0, 15), f"{where}: decision_type is out of range")
    children = np.stack([tree["left_child"], tree["right_child"]])
    demand(within(children, -leaves, leaves - 2), f"{where}: its children are out of range")
    all_nodes = np.full((2, 2 * leaves - 1), -1)  # leaves after the nodes
    all_nodes[:, : leaves - 1] = np.where(children >= 0, children, leaves - 2 - children)
    reached(all_nodes[0], all_nodes[1], where)
    if kinds:
        ends = take("cat_boundaries", kinds + 1)
        words = take("cat_threshold", int(ends[-1]))
        by_category = tree["threshold"][tree["decision_type"] % 2 == 1]
        fits = ends[0] == 0 and (np.diff(ends) > 0).all() and within(words, 0, 2**32 - 1)
        known = np.isin(by_category, np.arange(kinds)).all()
        demand(bool(fits and known), f"{where}: its categories do not fit its splits")
        tree |= {"cat_boundaries": ends, "cat_threshold": words}
    else:
        demand(
            not (tree["decision_type"] % 2).any(), f"{where}: it splits by categories it does not have"
        )
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
    demand(plain, "pandas_categorical does not hold lists of names")
    return given


# --- XGBoost's JSON -----------------------------------------------------------------------------


LARGEST_CODE = 2**24  # XGBoost knows no category above it
ROOT = 2**31 - 1  # what it calls the parent of a root


def checked_xgboost(raw: bytes) -> bytes:
    """An XGBoost model's JSON with nothing in it that prediction does not need.

    ValueError where anything in it is not as XGBoost writes it.
    """
    document = json.loads(raw.decode("utf-8"))
    learner = document["learner"]
    given, booster = learner["learner_model_param"], learner["gradient_booster"]
    width = whole(given["num_feature"], 0, 2**31 - 1, "num_feature")
    classes = whole(given["num_class"], 0, LARGEST_CODE, "num_class")
    one_each = classes not in (1, 2) and given.get("num_target") == "1"
    demand(one_each, "it has not one output for each class, or one in all for two")
    objective = _xgboost_objective(classes)
    base = [float(each) for each in str(given["base_score"]).strip("[]").split(",")]
    zero = len(base) == max(classes, 1) and set(base) == {0.0 if classes else 0.5}
    demand(zero, "its base_score is not that of a score of 0")
    demand(booster["name"] == "gbtree", f"its booster is {booster['name']!r}")
    named = learner["objective"]["name"]
    demand(named == objective["name"], f"it is no classifier of {classes or 2} classes, but {named!r}")
    model = booster["model"]
    trees = [_xgboost_tree(tree, index, width) for index, tree in enumerate(model["trees"])]
    bits = sum(map(_bits, trees))
    demand(bits <= 2**23 + 1000 * len(raw), "its codes of categories are far above their number")
    parallel = model["gbtree_model_param"]["num_parallel_tree"]
    parallel = whole(parallel, 1, len(trees), "num_parallel_tree")
    info = (np.arange(len(trees)) // parallel % max(classes, 1)).tolist()
    demand(list(model["tree_info"]) == info, "tree_info does not fit its trees")
    ends = wholes(model["iteration_indptr"], 0, len(trees), "iteration_indptr")
    in_order = len(ends) > 1 and ends[0] == 0 and ends[-1] == len(trees) and (np.diff(ends) > 0).all()
    in_rounds = not classes or bool((np.diff(ends) == parallel * classes).all())
    demand(bool(in_order) and in_rounds, "iteration_indptr does not fit its trees")
    count = {"num_parallel_tree": str(parallel), "num_trees": str(len(trees))}
    found = {
        "cats": _xgboost_categories(model.get("cats"), width),
        "gbtree_model_param": count,
        "iteration_indptr": ends.tolist(),
        "tree_info": info,
        "trees": trees,
    }
    texts = {name: _texts(learner.get(name, []), width) for name in ("feature_names", "feature_types")}
    learner_param = {"base_score": given["base_score"], "boost_from_average": "0", "num_target": "1",
                     "num_feature": str(width), "num_class": str(classes)}  # fmt: skip
    rebuilt = {"attributes": {}, **texts, "learner_model_param": learner_param, "objective": objective}
    rebuilt["gradient_booster"] = {"name": "gbtree", "model": found}
    version = wholes(document["version"], 0, 999, "version")
    demand(len(version) == 3, "its version is not three numbers")
    return json.dumps({"learner": rebuilt, "version": version.tolist()}, allow_nan=False).encode()


def _xgboost_objective(classes: int) -> dict[str, Any]:
    """What XGBoost writes of the objective of a classifier; `classes` is 0 for two."""
    if classes:
        return {"name": "multi:softprob", "softmax_multiclass_param": {"num_class": str(classes)}}
    return {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}


def _xgboost_tree(given: Any, index: int, width: int) -> Tree:
    """The tree's arrays, one entry per node; a leaf's children are -1. Pruned nodes are dropped."""
    where = f"tree {index}"
    size = whole(given["tree_param"]["num_nodes"], 1, 2**31 - 2, f"{where}: num_nodes")
    sides = ("left_children", "right_children")
    left, right = (wholes(given[name], -1, size - 1, f"{where}: {name}", size) for name in sides)
    kept = reached(left, right, where)
    demand(bool(((left < 0) == (right < 0))[kept].all()), f"{where}: a node has one child")
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
        values = wholes(said, -ROOT, ROOT, f"{where}: {name}", size)[kept]
        demand(within(values, 0, most), f"{where}: {name} is out of range")
        tree[name] = values
    conditions = np.array(given["split_conditions"], dtype=float)[: size + 1]
    conditions = np.where(np.abs(conditions) <= np.finfo(np.float32).max, conditions, np.nan)
    tree["split_conditions"] = sized(conditions, size, f"{where}: split_conditions")[kept]
    for name in ("base_weights", "loss_changes", "sum_hessian"):  # kept of training, and not asked for
        tree[name] = np.zeros(len(kept))
    tree |= _xgboost_splits(given, place, (tree["split_type"] == 1) & (left >= 0), where)
    tree = {name: value if name == "id" else value.tolist() for name, value in tree.items()}
    count = {"num_deleted": "0", "num_feature": str(width), "num_nodes": str(len(kept))}
    return tree | {"tree_param": {**count, "size_leaf_vector": "1"}}


def _xgboost_splits(given: Any, place: Array, by_category: Array, where: str) -> Tree:
    """Which categories go right at the nodes that split by category; nodes have new places."""
    codes = wholes(given["categories"], 0, LARGEST_CODE, f"{where}: categories")
    names = ("categories_nodes", "categories_segments", "categories_sizes")
    largest = (len(place) - 2, len(codes), len(codes))
    nodes, starts, sizes = (
        wholes(given[name], 0, most, f"{where}: {name}")
        for name, most in zip(names, largest, strict=True)
    )
    fits = len(set(nodes.tolist())) == len(starts) == len(sizes) == len(nodes)
    fits = fits and sizes.sum() == len(codes) and (starts == np.cumsum(sizes) - sizes).all()
    demand(bool(fits), f"{where}: its categories do not fit its nodes")
    parts = {int(place[n]): codes[a : a + k] for n, a, k in zip(nodes, starts, sizes, strict=True)}
    known = np.flatnonzero(by_category)
    demand(parts.keys() - {-1} == set(known.tolist()), f"{where}: its categories do not fit its splits")
    own = [parts[node] for node in known.tolist()]
    sizes = np.array([len(part) for part in own], dtype=int)
    return {
        "categories": np.concatenate([*own, np.empty(0, int)]),
        "categories_nodes": known,
        "categories_segments": np.cumsum(sizes) - sizes,
        "categories_sizes": sizes,
    }


def _bits(tree: Tree) -> int:
    """The size of XGBoost's sets of categories, one bit for every code up to the largest in it."""
    codes, starts, sizes = (tree[f"categories{part}"] for part in ("", "_segments", "_sizes"))
    own = (codes[start : start + size] for start, size in zip(starts, sizes, strict=True))
    return sum(1 + max(part, default=0) for part in own)


def _xgboost_categories(given: Any, width: int) -> dict[str, Any]:
    """What the categories of a table's columns are called, as XGBoost keeps them."""
    if not given or not given["enc"]:
        return {"enc": [], "feature_segments": [], "sorted_idx": []}
    demand(len(given["enc"]) == width, "its names of categories do not fit its features")
    found, counts = [], []
    for names in given["enc"]:
        if "offsets" in names:
            values = wholes(names["values"], -128, 127, "a category's name")
            ends = wholes(names["offsets"], 0, len(values), "where a category's name begins")
            right = ends[[0, -1]].tolist() == [0, len(values)] if len(ends) else not len(values)
            demand(right and bool((np.diff(ends) >= 0).all()), "its names of categories do not fit")
            found.append({"offsets": ends.tolist(), "values": values.tolist()})
            counts.append(max(len(ends) - 1, 0))
        else:
            kind = whole(names["type"], 12, 19, "the type of a category")  # of whole numbers
            values = wholes(names["values"], -(2**62), 2**62, "a category")
            found.append({"type": kind, "values": values.tolist()})
            counts.append(len(values))
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(int).tolist()
    order = wholes(given["sorted_idx"], 0, max(counts), "sorted_idx", ends[-1])
    demand(list(given["feature_segments"]) == ends, "feature_segments do not fit its categories")
    for start, end in pairwise(ends):
        alike = np.array_equal(np.sort(order[start:end]), np.arange(end - start))
        demand(alike, "sorted_idx is not an order of its categories")
    return {"enc": found, "feature_segments": ends, "sorted_idx": order.tolist()}


def _texts(given: Any, width: int) -> list[str]:
    right = isinstance(given, list) and all(isinstance(text, str) for text in given)
    demand(right and len(given) in (0, width), "its features' names do not fit them")
    return list(given)
