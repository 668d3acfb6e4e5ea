"""A LightGBM model's text from a file, checked; see `checking_trees`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.learners._checking_trees import WHOLE, Tree, demand, reached, sized, whole, within

RANGE = re.compile(r"none|\[[^\s:]+:[^\s:]+\]|-?[0-9]+(:-?[0-9]+)*")  # what is said of a feature


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
    names = lines.get("feature_names", "").split(" ")
    infos = lines.get("feature_infos", "").split(" ")
    width = whole(lines.get("max_feature_idx"), 0, 2**31 - 2, "max_feature_idx") + 1
    demand(len(names) == len(infos) == width, f"{width} features have {len(names)} names")
    demand(all(map(RANGE.fullmatch, infos)), "feature_infos are not as LightGBM writes them")
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
             "label_index", "max_feature_idx", "feature_names", "feature_infos")}  # fmt: skip
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
