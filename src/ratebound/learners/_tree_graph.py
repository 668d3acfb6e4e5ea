"""Boosted trees as nodes of an ONNX graph, with the scores of training to the last bit.

ONNX has an operator for trees, whose sums are single and in any order. So here it only finds the leaf
that a row falls into; the leaves' values are then looked up and added tree by tree, in the precision and
the order of training. That matters, since many rows share a score, and a threshold is one of the scores.
onnxmltools would leave the sums to the operator, and would write the first t trees, which a member is,
as a model of their own for every t.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.learners._checking_trees import read_lightgbm

# --- trees as arrays, whichever library grew them -----------------------------------------------


BY_CATEGORY, DEFAULT_LEFT = 1, 2  # bits of LightGBM's decision_type; those above say what is missing
AS_ZERO, ZERO_TOO, AS_MISSING = 0, 1, 2  # what it does with a missing number


@dataclass(frozen=True, eq=False)
class FlatTree:
    """One tree of N nodes, the first of them its root, and L leaves."""

    feature: Array  # (N,) that a node looks at
    threshold: Array  # (N,) up to which a number goes left
    left: Array  # (N,) nodes
    right: Array  # (N,) nodes
    missing_left: Array  # (N,) whether a missing value goes left
    leaf: Array  # (N,) which leaf a node is, -1 for none
    values: Array  # (L,) of the leaves
    left_codes: dict[int, Array]  # by node that splits by category: whether each code goes left


def flat_lightgbm(raw: bytes) -> list[FlatTree]:
    """The trees of a LightGBM model's text."""
    return [_flat_lightgbm(tree) for tree in read_lightgbm(raw)[1]]


def _flat_lightgbm(tree: dict[str, Any]) -> FlatTree:
    inner, leaves = tree["num_leaves"] - 1, tree["num_leaves"]

    def with_leaves(values: Array) -> Array:
        return np.concatenate([values, np.zeros(leaves, values.dtype)])

    def nodes(children: Array) -> Array:  # leaves, which are -1, -2, ..., come after the nodes
        return with_leaves(np.where(children >= 0, children, inner - 1 - children))

    kind, threshold = tree["decision_type"], tree["threshold"]
    by_category, missing = kind & BY_CATEGORY > 0, kind >> 2
    if (missing[~by_category] == ZERO_TOO).any():
        raise ValueError("to_onnx cannot write trees that take zeros for missing: zero_as_missing=False")
    default_left = kind & DEFAULT_LEFT > 0
    missing_left = np.where(missing == AS_ZERO, threshold >= 0.0, default_left) & ~by_category
    left_codes = {}
    for node in np.flatnonzero(by_category):
        which = int(threshold[node])
        words = tree["cat_threshold"][slice(*tree["cat_boundaries"][[which, which + 1]])]
        bits = words[:, None] >> np.arange(32) & 1
        left_codes[int(node)] = bits.ravel().astype(bool)
    return FlatTree(
        feature=with_leaves(tree["split_feature"]),
        threshold=with_leaves(threshold),
        left=nodes(tree["left_child"]),
        right=nodes(tree["right_child"]),
        missing_left=with_leaves(missing_left),
        leaf=np.concatenate([np.full(inner, -1), np.arange(leaves)]),
        values=tree["leaf_value"],
        left_codes=left_codes,
    )


def flat_xgboost(raw: bytes) -> list[FlatTree]:
    """The trees of an XGBoost model's JSON; numbers are single, as it compares and adds them."""
    model = json.loads(raw)["learner"]["gradient_booster"]["model"]
    return [_flat_xgboost(tree) for tree in model["trees"]]


def _flat_xgboost(tree: dict[str, Any]) -> FlatTree:
    left, right = (np.array(tree[f"{side}_children"]) for side in ("left", "right"))
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    is_leaf = left < 0
    left_codes = {}
    parts = (tree[f"categories_{part}"] for part in ("nodes", "segments", "sizes"))
    for node, start, size in zip(*parts, strict=True):
        codes = np.array(tree["categories"][start : start + size], dtype=int)
        left_codes[node] = ~np.isin(np.arange(codes.max(initial=-1) + 1), codes)  # these go right
    return FlatTree(
        feature=np.where(is_leaf, 0, tree["split_indices"]),
        threshold=np.where(is_leaf, np.float32(0), conditions),
        left=left.clip(min=0),
        right=right.clip(min=0),
        missing_left=np.array(tree["default_left"], dtype=bool),
        leaf=np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
        values=conditions[is_leaf],
        left_codes=left_codes,
    )


# --- nodes --------------------------------------------------------------------------------------


ML = "ai.onnx.ml"


def running_scores(
    graph: Graph,
    trees: Sequence[FlatTree],
    features: str,
    *,
    dtype: Any,
    outputs: tuple[int, ...],
    branch: str,
    unknown_left: bool,
) -> str:
    """Scores (n, T + 1) of the first 0, 1, ..., T trees on `features` (n, d).

    With D `outputs` there are D trees a round, one for each class, and scores are (n, rounds + 1, D).
    `branch` is how a number is compared with a threshold to go left, and `unknown_left` says whether
    a code of a category that the split does not know does.
    """
    kind = np.dtype(dtype).name
    rows, places = _with_sides(graph, trees, graph.cast(features, kind), kind, unknown_left)
    leaves = graph.cast(_leaves(graph, trees, rows, places, kind, branch), "int64")
    sizes = [len(tree.values) for tree in trees]
    values = np.concatenate([tree.values for tree in trees]).astype(kind)
    found = graph("Gather", values, graph("Add", leaves, np.cumsum(sizes) - sizes))  # (n, T)
    if outputs:
        found = graph("Reshape", found, np.array([0, -1, *outputs]))  # 0 stands for n
    first = graph("Gather", found, np.array([0]), axis=1)
    nothing = graph("Sub", first, first)
    return graph("CumSum", graph("Concat", nothing, found, axis=1), np.array(1))


def _with_sides(
    graph: Graph, trees: Sequence[FlatTree], features: str, kind: str, unknown_left: bool
) -> tuple[str, dict[tuple[int, int], int]]:
    """The features with one more for each split by category: 0 for left, 1 for right; and which.

    The operator can only tell one code from the others, so a row's side is looked up beforehand.
    """
    splits: dict[int, list[tuple[int, int]]] = {}  # by feature, of trees and nodes
    for index, tree in enumerate(trees):
        for node in tree.left_codes:
            splits.setdefault(int(tree.feature[node]), []).append((index, node))
    parts, places, width = [features], {}, int(max(tree.feature.max() for tree in trees)) + 1
    # Features after the last one that is asked for are left out, so that places are known.
    parts[0] = graph("Gather", features, np.arange(width), axis=1)
    for feature, own in splits.items():
        known = max(len(trees[index].left_codes[node]) for index, node in own)
        table = np.empty((known + 2, len(own)), dtype=kind)  # the last two: unknown, and missing
        for place, (index, node) in enumerate(own):
            codes = trees[index].left_codes[node]
            table[: known + 1, place] = not unknown_left
            table[: len(codes), place] = ~codes
            table[known + 1, place] = not trees[index].missing_left[node]
            places[index, node] = width + place
        parts.append(graph("Gather", table, _code(graph, features, feature, known, kind)))
        width += len(own)
    return (parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=1)), places


def _code(graph: Graph, features: str, feature: int, known: int, kind: str) -> str:
    """The code (n,) of a category; `known` for an unknown one, and one more where it is missing."""
    code = graph("Gather", features, np.array(feature), axis=1)
    zero, end = (np.array(value, dtype=kind) for value in (0, known))
    inside = graph("And", graph("GreaterOrEqual", code, zero), graph("Less", code, end))
    found = graph("Where", inside, code, end)
    found = graph("Where", graph("IsNaN", code), np.array(known + 1, dtype=kind), found)
    return graph.cast(found, "int64")


def _leaves(
    graph: Graph,
    trees: Sequence[FlatTree],
    rows: str,
    places: dict[tuple[int, int], int],
    kind: str,
    branch: str,
) -> str:
    """Which leaf of each tree a row falls into, (n, T) as float32, exact up to 2^24 leaves."""
    sizes = [len(tree.feature) for tree in trees]
    joined = {
        name: np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "threshold", "left", "right", "missing_left", "leaf")
    }
    first = np.cumsum(sizes) - sizes
    for (index, node), place in places.items():
        at = first[index] + node
        joined["feature"][at], joined["threshold"][at], joined["missing_left"][at] = place, 0.5, False
    tree_of = np.repeat(np.arange(len(trees)), sizes)
    node_of = np.concatenate([np.arange(size) for size in sizes])
    is_leaf = joined["leaf"] >= 0
    numbers = {"nodes_values": joined["threshold"], "target_weights": joined["leaf"][is_leaf]}
    if kind == "float64":
        given: dict[str, Any] = {
            f"{name}_as_tensor": graph.tensor(values.astype(kind)) for name, values in numbers.items()
        }
    else:
        given = {name: values.astype(float).tolist() for name, values in numbers.items()}
    whole = {
        "nodes_treeids": tree_of,
        "nodes_nodeids": node_of,
        "nodes_featureids": joined["feature"],
        "nodes_truenodeids": joined["left"],
        "nodes_falsenodeids": joined["right"],
        "nodes_missing_value_tracks_true": joined["missing_left"],
        "target_treeids": tree_of[is_leaf],
        "target_nodeids": node_of[is_leaf],
        "target_ids": tree_of[is_leaf],
    }
    return graph(
        "TreeEnsembleRegressor",
        rows,
        domain=ML,
        n_targets=len(trees),
        nodes_modes=np.where(is_leaf, "LEAF", branch).tolist(),
        **{name: values.astype(int).tolist() for name, values in whole.items()},
        **given,
    )


def columns_of(graph: Graph, running: Sequence[str], places: Array) -> str:
    """Scores (n, B) or (n, B, D) of models: a column of running scores each, by `places` (B, 2)."""
    parts = [graph("Gather", running[i], np.array([column]), axis=1) for i, column in places.tolist()]
    return parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=1)
