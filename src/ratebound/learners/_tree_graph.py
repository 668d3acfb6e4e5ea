"""Boosted trees as nodes of an ONNX graph, with the scores of training to the last bit.

ONNX has an operator for trees, whose sums are single and in any order. So here it only finds the leaf
that a row falls into; the leaves' values are then looked up and added tree by tree, in the precision and
the order of training. That matters, since many rows share a score, and a threshold is one of the scores.
onnxmltools would leave the sums to the operator, and would write the first t trees, which a member is,
as a model of their own for every t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.learners._flat_trees import FlatTree

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
