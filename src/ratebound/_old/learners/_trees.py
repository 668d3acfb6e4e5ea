"""Ensembles of trees as arrays: how they lie in a file, how they score rows, and their ONNX nodes.

Whichever library grew a tree, its nodes lie level by level and say only whether they are leaves: the
children of the r-th split of a tree are its nodes 2r + 1 and 2r + 2. So no number in a file is an index
that could lead out of a tree, or around in a circle. A split sends numbers up to a threshold left, or of
categories those in a set, and it says where missing values go.

Scores are the library's to the last bit, because leaves are added tree by tree in its precision. That
matters: many rows share a score, and a threshold is one of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph
from ratebound._old.problem.frames import is_sparse, rows_between

MISSING_LEFT, ZERO_MISSING, BY_CATEGORY = 1, 2, 4  # flags of a split
ALMOST_ZERO = float(np.float32(1e-35))  # up to which LightGBM takes a number for 0
AT_ONCE = 2**17  # rows times trees: fewer calls, and little more than fits into the cache
SPARE = 2**24  # entries that the sets of categories may fill in any case
LARGEST_CODE = 2**16  # of a category in an ONNX graph, which has a row for each code
ML = "ai.onnx.ml"

ARRAYS = {  # by name, the types they may have
    "feature": ("int32",),
    "number": ("float32", "float64"),
    "flags": ("uint8",),
    "code_counts": ("int32",),
    "codes": ("int32",),
}


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble of N nodes in T trees: `outputs` in each round, one for each class, or one for two."""

    width: int  # how many features it takes
    outputs: int
    feature: Array  # (N,) that a node looks at, -1 for a leaf
    number: Array  # (N,) a split's threshold, or a leaf's value
    flags: Array  # (N,)
    code_counts: Array  # (K,) how many categories go left, at each split by category
    codes: Array  # those categories, one split's after the other's

    # --- their shape ----------------------------------------------------------------------------

    @cached_property
    def _ends(self) -> Array:
        """(N,) whether a tree ends with a node: it then has one more leaf than splits."""
        balance = np.cumsum(np.where(self.feature >= 0, 1, -1))
        lowest = np.minimum.accumulate(np.concatenate([[0], balance]))
        return lowest[1:] < lowest[:-1]

    @cached_property
    def _tree(self) -> Array:
        """(N,) the tree of a node."""
        return np.cumsum(self._ends) - self._ends

    def splits(self, rounds: int) -> Array:
        """(width,) how many splits look at each feature, in the trees of the first rounds."""
        own = self.feature[(self._tree < rounds * self.outputs) & (self.feature >= 0)]
        return np.bincount(own, minlength=self.width)

    @cached_property
    def roots(self) -> Array:
        """(T,) the first node of each tree."""
        return np.flatnonzero(np.concatenate([[True], self._ends]))[:-1]

    @property
    def count(self) -> int:
        """The number of rounds that it was grown in."""
        return len(self.roots) // self.outputs

    @cached_property
    def child(self) -> Array:
        """(N,) a node's left child, which the right one follows; a leaf itself."""
        splits = self.feature >= 0
        before: Array = np.cumsum(splits) - splits
        root = self.roots[self._tree]
        return np.where(splits, root + 1 + 2 * (before - before[root]), np.arange(len(splits)))

    @cached_property
    def by_category(self) -> Array:
        """(K,) the nodes that split by category."""
        return np.flatnonzero((self.feature >= 0) & (self.flags & BY_CATEGORY > 0))

    def cut(self, rounds: int) -> Trees:
        """The trees of the first rounds alone."""
        if rounds >= self.count:
            return self
        end = self.roots[rounds * self.outputs]
        nodes = {name: getattr(self, name)[:end] for name in ("feature", "number", "flags")}
        counts = self.code_counts[: np.searchsorted(self.by_category, end)]
        return replace(self, **nodes, code_counts=counts, codes=self.codes[: counts.sum()])

    def check(self) -> None:
        """Raise ValueError unless these are trees, and not too large for the file they are in."""
        for name, kinds in ARRAYS.items():
            values = getattr(self, name)
            _demand(values.ndim == 1 and values.dtype.name in kinds, f"{name} is of {values.dtype}")
        nodes = len(self.feature)
        _demand(len(self.number) == len(self.flags) == nodes, "some nodes are incomplete")
        _demand(nodes > 0 and bool(self._ends[-1]), "the last tree does not end")
        _demand(len(self.roots) % self.outputs == 0, "the last round lacks trees")
        inside = (self.feature >= -1) & (self.feature < self.width)
        _demand(bool(inside.all()), f"a split is by a feature that is not one of {self.width}")
        _demand(bool(np.isfinite(self.number).all()), "a threshold or a leaf is not a finite number")
        counts, looked_at = self.code_counts.astype(np.int64), self.feature[self.by_category]
        fits = len(counts) == len(looked_at) and (counts >= 0).all() and counts.sum() == len(self.codes)
        _demand(bool(fits), "the categories do not fit the splits")
        _, of_set, sets = np.unique(looked_at, return_inverse=True, return_counts=True)
        entries = sets @ np.bincount(of_set, weights=counts + 2, minlength=len(sets))
        _demand(bool(entries <= SPARE + 1000 * nodes), "the sets of categories are far too large")

    # --- what splits ask for --------------------------------------------------------------------

    @cached_property
    def _split(self) -> tuple[Columns, Array, Array]:
        """The columns that splits compare; by node (N,), which one, and up to what it goes left."""
        splits = np.flatnonzero(self.feature >= 0)
        features = np.unique(self.feature[splits])
        place = np.searchsorted(features, self.feature)
        column, threshold = np.zeros(len(place), np.intp), np.full(len(place), np.inf, self.number.dtype)
        numeric = np.setdiff1d(splits, self.by_category)
        flags, width = self.flags[numeric].astype(int) % 4, max(len(features), 1)
        kinds, column[numeric] = np.unique(flags * width + place[numeric], return_inverse=True)
        threshold[numeric], threshold[self.by_category] = self.number[numeric], 0.5
        sets: list[Sets] = []
        starts, last = np.cumsum(self.code_counts) - self.code_counts, len(kinds)
        for one in np.unique(place[self.by_category]):
            own = np.flatnonzero(place[self.by_category] == one)
            parts = [self.codes[starts[k] : starts[k] + self.code_counts[k]] for k in own]
            known = np.unique(np.concatenate(parts))
            right = np.ones((len(own), len(known) + 2), self.number.dtype)
            for side, part in zip(right, parts, strict=True):
                side[np.searchsorted(known, part)] = 0
            nodes = self.by_category[own]
            right[self.flags[nodes] & MISSING_LEFT > 0, -1] = 0
            column[nodes] = last + np.arange(len(own))
            last += len(own)
            sets.append(Sets(int(one), known, right))
        return Columns(features, kinds % width, kinds // width, tuple(sets)), column, threshold

    # --- scores ---------------------------------------------------------------------------------

    def scores(self, X: Any, rounds: Array) -> Array:
        """Scores (M, outputs, n) after so many rounds (M,); rows (n, d) may be a sparse matrix."""
        trees, some = self.cut(int(rounds.max(initial=0))), np.flatnonzero(rounds)
        scores = np.zeros((len(rounds), self.outputs, X.shape[0]), self.number.dtype)
        step = max(AT_ONCE // max(len(trees.roots), 1), 1)
        for start in range(0, X.shape[0] if len(some) else 0, step):
            columns = trees._split[0].of(rows_between(X, start, start + step), self.number.dtype)
            one = columns.shape[1] == 1
            values = trees._leaves_of_one(columns) if one else trees._leaves(columns)
            values = values.reshape(trees.count, self.outputs, -1)
            for before, after in pairwise(() if one else values):  # faster than to accumulate
                after += before
            if one:
                np.add.accumulate(values, axis=0, out=values)
            scores[some, :, start : start + step] = values[rounds[some] - 1]
        return scores

    @cached_property
    def _deepest_first(self) -> tuple[Array, list[int]]:
        """(T,) the order of trees in which they are descended, and how many go on in every level."""
        depth, nodes = np.zeros(len(self.roots), int), self.roots
        while len(nodes := nodes[self.feature[nodes] >= 0]):
            depth[self._tree[nodes]] += 1
            nodes = np.concatenate([self.child[nodes], self.child[nodes] + 1])
        going_on = [int((depth > level).sum()) for level in range(depth.max(initial=0))]
        return np.argsort(-depth, kind="stable"), going_on

    def _leaves(self, columns: Array) -> Array:
        """The values (T, n) of the leaves that rows reach, by their columns (U, n).

        In the first two levels all rows meet the same splits of a tree. Below, every row is at a node of
        its own, and what that asks for is looked up.
        """
        order, going_on = self._deepest_first
        _, column, threshold = self._split
        child, root, n = self.child, self.roots[order], columns.shape[1]

        def right(nodes: Array) -> Array:
            return columns.take(column[nodes], axis=0) > threshold[nodes, None]

        first = child[root]
        second, go = first + (first > root), right(root)  # a leaf stays in its place
        node = np.where(go, child[second][:, None], child[first][:, None])
        node += np.where(go, right(second), right(first))
        flat, offset, row = columns.ravel(), n * column, np.arange(n)
        place, (number, limit) = np.empty_like(node), np.empty((2, *node.shape), columns.dtype)
        for trees in going_on[2:]:
            at, to, x, up_to = node[:trees], place[:trees], number[:trees], limit[:trees]
            offset.take(at, out=to, mode="clip")  # which is faster than to check, and nothing is clipped
            to += row
            flat.take(to, out=x, mode="clip")
            threshold.take(at, out=up_to, mode="clip")
            child.take(at, out=to, mode="clip")
            np.add(to, x > up_to, out=at)
        number[order] = self.number.take(node, out=limit, mode="clip")
        return number

    def _leaves_of_one(self, columns: Array) -> Array:
        """The same of one row, in fewer operations: it first asks all splits where they send it."""
        _, column, threshold = self._split
        following, node = self.child + (columns[:, 0].take(column) > threshold), self.roots
        for _ in self._deepest_first[1]:
            node = following.take(node)
        return self.number.take(node)

    # --- ONNX -----------------------------------------------------------------------------------

    def to_graph(self, graph: Graph, features: str) -> str:
        """Scores (n, rounds + 1, outputs) after 0, 1, ... rounds, of `features` (n, d).

        ONNX has an operator for trees, whose sums are single and in any order. So it only says which
        leaf a row reaches; values are then looked up, and added as in training.
        """
        kind, is_leaf = self.number.dtype.name, self.feature < 0
        wanted, column, threshold = self._split
        rows = wanted.to_graph(graph, graph.cast(features, kind), kind)
        tree, leaf = self._tree, np.cumsum(is_leaf) - 1  # exact in single precision up to 2^24
        inside = np.arange(len(tree)) - self.roots[tree]  # its tree
        left = np.where(is_leaf, 0, self.child - self.roots[tree])
        first = (leaf + ~is_leaf)[self.roots]  # leaf of a tree
        numbers = {
            "nodes_values": np.where(is_leaf, 0, threshold),
            "target_weights": (leaf - first[tree])[is_leaf],
        }
        given: dict[str, Any] = {name: values.astype(float).tolist() for name, values in numbers.items()}
        if kind == "float64":
            given = {
                f"{name}_as_tensor": graph.tensor(values.astype(kind))
                for name, values in numbers.items()
            }
        whole = {
            "nodes_treeids": tree,
            "nodes_nodeids": inside,
            "nodes_featureids": column,
            "nodes_truenodeids": left,
            "nodes_falsenodeids": left + ~is_leaf,
            "target_treeids": tree[is_leaf],
            "target_nodeids": inside[is_leaf],
            "target_ids": tree[is_leaf],
        }
        leaves = graph(
            "TreeEnsembleRegressor",
            rows,
            domain=ML,
            n_targets=len(self.roots),
            nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
            **{name: values.astype(int).tolist() for name, values in whole.items()},
            **given,
        )
        places = graph("Add", graph.cast(leaves, "int64"), first)
        values = graph("Gather", self.number[is_leaf], places)  # (n, T)
        values = graph("Reshape", values, np.array([0, -1, self.outputs]))  # 0 stands for n
        one = graph("Gather", values, np.array([0]), axis=1)
        return graph("CumSum", graph("Concat", graph("Sub", one, one), values, axis=1), np.array(1))


def _demand(is_right: bool, otherwise: str) -> None:
    if not is_right:
        raise ValueError(f"its trees are damaged: {otherwise}")


# --- columns ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of categories of one feature that splits ask for."""

    feature: int  # its place among those asked for
    codes: Array  # (c,) that are in any of the sets, in order
    right: Array  # (sets, c + 2) 0 if a category goes left, else 1; unknown and missing come last


@dataclass(frozen=True, eq=False)
class Columns:
    """What splits compare with their thresholds: columns of numbers, none of which is missing.

    A feature is a column, and two if its missing values go left at some splits and right at others. A
    set of categories is a column of 0 and 1.
    """

    features: Array  # (F,) that are asked for
    source: Array  # (U,) which of them a column is
    flags: Array  # (U,) in order
    sets: tuple[Sets, ...]

    def of(self, rows: Any, dtype: Any) -> Array:
        """The columns (U + sets, n) of rows (n, d)."""
        if is_sparse(rows):
            rows = rows[:, self.features].toarray()
        elif len(self.features) < rows.shape[1]:
            rows = rows.take(self.features, axis=1)
        asked = np.ascontiguousarray(rows.T, dtype)
        numbers = np.minimum(asked, np.finfo(dtype).max).take(self.source, axis=0)
        if (zero := np.searchsorted(self.flags, ZERO_MISSING)) < len(numbers):
            numbers[zero:][abs(numbers[zero:]) <= ALMOST_ZERO] = np.nan
        # The minimum of a number and infinity is the number; for a missing value it is infinity.
        ends = np.searchsorted(self.flags, np.arange(5))
        for flags, side in enumerate((np.fmin, np.fmax) * 2):
            part = numbers[ends[flags] : ends[flags + 1]]
            side(part, np.inf if side is np.fmin else -np.inf, out=part)
        parts = [numbers]
        for each in self.sets:
            code = np.trunc(asked[each.feature])
            place = np.searchsorted(each.codes, code)
            known = np.append(each.codes, -1)[place] == code
            place = np.where(known, place, len(each.codes) + np.isnan(code))
            parts.append(each.right.take(place, axis=1))
        if len(numbers) and len(parts) == 1:
            return numbers
        return np.concatenate([*parts, np.zeros((1, asked.shape[1]), dtype)])  # a leaf asks for one too

    def _sides(self, dtype: Any) -> Array:
        """(U,) what stands for a missing number."""
        return np.where(self.flags & MISSING_LEFT > 0, -np.inf, np.inf).astype(dtype)

    def to_graph(self, graph: Graph, features: str, kind: str) -> str:
        """The columns (n, U + sets) of `features` (n, d), which are of this kind of number."""
        parts = []
        if len(self.source):
            numbers = graph("Gather", features, self.features[self.source].astype(int), axis=1)
            lacking = graph("IsNaN", numbers)
            if (zero := self.flags & ZERO_MISSING > 0).any():
                small = graph("LessOrEqual", graph("Abs", numbers), np.array(ALMOST_ZERO, kind))
                lacking = graph("Or", lacking, graph("And", small, zero))
            parts.append(graph("Where", lacking, self._sides(kind), numbers))
        for each in self.sets:
            end = int(each.codes.max(initial=-1)) + 1
            if end > LARGEST_CODE:
                raise ValueError(f"to_onnx cannot write codes of categories as large as {end - 1:,}")
            right = np.repeat(each.right[:, -2:-1], end + 2, axis=1)  # all unknown
            right[:, each.codes], right[:, -1] = each.right[:, :-2], each.right[:, -1]
            code = graph("Gather", features, np.array(int(self.features[each.feature])), axis=1)
            above, below = (np.array(bound, kind) for bound in (-1, end))
            inside = graph("And", graph("Greater", code, above), graph("Less", code, below))
            place = graph("Where", inside, code, below)
            place = graph("Where", graph("IsNaN", code), np.array(end + 1, kind), place)
            parts.append(graph("Gather", np.ascontiguousarray(right.T), graph.cast(place, "int64")))
        if not parts:
            return graph("Gather", features, np.array([0]), axis=1)
        return parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=1)
