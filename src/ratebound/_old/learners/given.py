"""Known groups: which cells a row of a group can be in, and how likely its label is.

A column that may be used when deciding is not guessed from the features. For a row of a known group only
the cells are possible that rows of this group were in; the others are set to zero, and the rest is
scaled to one within each label. The label's log odds get a line for the group, if its rows show
clearly that the model's log odds are wrong for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph
from ratebound._old.learners.calibration import Calibration, fit_calibration

NEVER, ALWAYS, UNTOLD = 0, 1, -1  # rows of a known group in a cell or slice: none, all, some
LEAST = 1e-12  # probabilities below count as this


@dataclass(frozen=True, eq=False)
class Given:
    """For each of G known groups, the cells or slices of each branch, and a line for the label."""

    inside: tuple[Array, ...]  # for each branch (G, k): NEVER, ALWAYS or UNTOLD
    lines: Array  # (G, 1 + A) the slope and intercepts of the label's log odds

    @property
    def groups(self) -> int:
        """The number G of known groups."""
        return len(self.lines)

    def labels(self, likely: Array, group: Any) -> Array:
        """Probabilities (f, D, n) of each label from those of all groups; `group` is one, or (n,)."""
        lines = np.atleast_2d(self.lines[group]).T  # (1 + A, n) or (1 + A, 1)
        if (lines == _straight(len(lines) - 1)[:, None]).all():
            return likely
        from scipy.special import expit, softmax

        odds = np.log(np.maximum(likely, LEAST))
        if likely.shape[1] > 2:
            return np.asarray(softmax(lines[0] * odds + lines[1:], axis=1))
        yes = expit(lines[0] * (odds[:, 1] - odds[:, 0]) + lines[1])
        return np.stack([1.0 - yes, yes], axis=1)

    def cells(self, branch: int, chances: Array, group: Any) -> Array:
        """Probabilities (f, k, n) of a branch's cells in these groups, from those of all."""
        possible = _columns(self.inside[branch][group] != NEVER)
        own = chances * possible
        return np.asarray(own / np.maximum(own.sum(axis=1, keepdims=True), 1e-300))

    def slices(self, branch: int, values: Array, group: Any) -> Array:
        """What is expected (f, k, n) of a branch's slices, which overlap: some are certain."""
        certain = _columns(self.inside[branch][group])
        return np.where(certain == UNTOLD, values, certain)

    # --- as nodes of an ONNX graph ----------------------------------------------------------------

    def label_nodes(self, graph: Graph, likely: str, group: int) -> str:
        """What `labels` does, (n, F, D), for one group."""
        slope, intercept = self.lines[group, 0], self.lines[group, 1:]
        if (self.lines[group] == _straight(len(intercept))).all():
            return likely
        odds = graph("Log", graph("Max", likely, np.array(LEAST)))
        if len(intercept) > 1:
            on_line = graph("Add", graph("Mul", odds, np.array(slope)), intercept)
            return graph("Softmax", on_line, axis=2)
        ends = [graph("Gather", odds, np.array([place]), axis=2) for place in (1, 0)]
        apart = graph("Mul", graph("Sub", *ends), np.array(slope))
        odds, one = graph("Add", apart, intercept), np.array(1.0)
        yes = graph("Div", one, graph("Add", graph("Exp", graph("Neg", odds)), one))
        return graph("Concat", graph("Sub", one, yes), yes, axis=2)

    def slice_nodes(self, graph: Graph, branch: int, values: str, group: int) -> str:
        """What `slices` does, (n, F, k), for one group."""
        certain = self.inside[branch][group]
        untold = (certain == UNTOLD).astype(float)
        return graph("Add", graph("Mul", values, untold), (1.0 - untold) * certain)

    # --- files ------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Array]:
        """Arrays by name; `read` is the way back."""
        every = {f"given/branch {i}": each.astype(np.int64) for i, each in enumerate(self.inside)}
        return {"given/lines": self.lines, **every}

    @staticmethod
    def read(arrays: dict[str, Array], sizes: list[int], answers: int) -> Given | None:
        """What `describe` described, for branches with so many columns; nothing in it is believed."""
        if "given/lines" not in arrays:
            return None
        lines = arrays["given/lines"]
        shape = (len(lines), 2 if answers == 2 else 1 + answers)
        if not len(lines) or lines.shape != shape or not np.isfinite(lines).all():
            raise ValueError("its known groups have no line each for their labels")
        inside = tuple(arrays[f"given/branch {i}"] for i in range(len(sizes)))
        for each, size in zip(inside, sizes, strict=True):
            fine = each.shape == (len(lines), size) and np.isin(each, (NEVER, ALWAYS, UNTOLD)).all()
            if not fine:
                raise ValueError("its known groups do not fit its branches")
        return Given(inside, lines)


def _straight(intercepts: int) -> Array:
    """The line that leaves log odds as they are."""
    return np.array([1.0] + [0.0] * intercepts)


def _columns(table: Array) -> Array:
    """Entries (k,) or (n, k) of groups as they are for rows, (k, 1) or (k, n)."""
    return table[:, None] if table.ndim == 1 else table.T


def inside_of(group: Array, count: int, member: Array) -> Array:
    """(G, k): whether rows with these groups (n,) never, always or sometimes are in columns (n, k).

    What a group without any row says is nothing.
    """
    rows = np.bincount(group, minlength=count)[:, None]
    held = np.stack([np.bincount(group, own, count) for own in member.T], axis=1)
    told = np.where(held == 0, NEVER, np.where(held == rows, ALWAYS, UNTOLD))
    return np.where(rows > 0, told, UNTOLD)


def lines_of(likely: Array, labels: Array, group: Array, count: int, weights: Array | None) -> Array:
    """(G, 1 + A): the line of each group, from probabilities (D, n) out of fold of its rows' labels.

    A line of its own has a group whose rows are likelier by it than without, by more than its numbers
    cost by Schwarz's criterion. Most often the features say enough, and then labels are left alone.
    """
    two = len(likely) == 2
    odds = np.log(np.maximum(likely, LEAST))
    odds = odds[1:] - odds[:1] if two else odds
    straight = _straight(len(odds))
    lines = np.tile(straight, (count, 1))
    every = np.ones(len(labels)) if weights is None else weights
    every = every * min(len(every) / max(every.sum(), 1e-300), 1.0)  # so that they do not count as more
    plain = Calibration(1.0, tuple(straight[1:]), "", 0)
    for place in range(count):
        own = np.flatnonzero(group == place)
        if len(np.unique(labels[own])) < len(likely):
            continue
        codes = labels[own].astype(bool) if two else labels[own]
        line = fit_calibration(odds[:, own], codes, every[own], "")
        gain = _likelihood(line, odds[:, own], labels[own], every[own])
        gain -= _likelihood(plain, odds[:, own], labels[own], every[own])
        if gain > 0.5 * len(straight) * np.log(len(labels)):
            lines[place] = [line.slope, *line.intercept]
    return lines


def _likelihood(line: Calibration, odds: Array, labels: Array, weights: Array) -> float:
    likely = line.probability(odds)
    likely = np.vstack([1.0 - likely, likely]) if len(likely) == 1 else likely
    own = likely[labels.astype(int), np.arange(len(labels))]
    return float(weights @ np.log(np.maximum(own, LEAST)))
