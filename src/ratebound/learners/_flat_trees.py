"""A tree as arrays, whichever library grew it: what an exporter needs and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.learners._checking_lightgbm import read_lightgbm

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
