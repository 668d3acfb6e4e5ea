"""Two models compared: who gains a yes and who loses one, and single cases with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.estimators.rules import THRESHOLD
from ratebound._old.learners.plug_in import scored
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.reasons import reasons
from ratebound._old.studio.learning import Labelled, Learned, Solved
from ratebound._old.studio.promises import in_words
from ratebound._old.studio.table import group_mask, group_name, groups_of

CASES = 4  # people shown on each side
OBJECTIVE = "the objective"


def compared(rows: Labelled, one: Array, other: Array, columns: Sequence[str]) -> dict[str, Any]:
    """Who gains and who loses a yes, from one model's decisions (n,) to another's."""
    right = rows.right
    gained, lost = other & ~one, one & ~other
    groups = []
    for name in columns:
        for group in groups_of(rows.opened, name):
            inside = group_mask(rows.opened, group)
            if inside.any():
                groups.append(_counts(group_name(group), inside, gained, lost, right))
    everyone = _counts("everyone", np.ones(len(right), dtype=bool), gained, lost, right)
    return {"everyone": everyone, "groups": groups, "same": int((one == other).sum())}


def _counts(name: str, inside: Array, gained: Array, lost: Array, right: Array) -> dict[str, Any]:
    return {
        "name": name,
        "rows": int(inside.sum()),
        "gain": int((gained & inside).sum()),
        "gain_right": int((gained & inside & right).sum()),
        "lose": int((lost & inside).sum()),
        "lose_right": int((lost & inside & right).sum()),
    }


def cases(one: Array, other: Array, strength: Array) -> dict[str, list[int]]:
    """Rows that gain and rows that lose a yes, the clearest first by `strength` (n,)."""
    sides = {}
    for name, changed in (("gain", other & ~one), ("lose", one & ~other)):
        places = np.flatnonzero(changed)
        sides[name] = places[np.argsort(-np.abs(strength[places]), kind="stable")][:CASES].tolist()
    return sides


def case(rows: Labelled, learned: Learned, place: int) -> dict[str, Any]:
    """A row as in the table, and the out-of-fold probability that its label is yes."""
    table, choices = rows.opened.table, rows.choices
    cells = {
        name: _text(table[name][place])
        for name in table.columns
        if name not in (choices.label, choices.live)
    }
    return {
        "row": place + 1,
        "cells": cells,
        "label": str(rows.classes[int(rows.right[place])]),
        "likely": float(likely_yes(learned)[place]),
    }


def likely_yes(learned: Learned) -> Array:
    """The probability that each row's label is yes (n,), out of fold."""
    rules, right = learned.rules, learned.rows.right
    cells = rules.compiled.cells
    yes = np.zeros(rules.compiled.cell_count, dtype=bool)
    yes[cells[right]] = True
    if rules.outside.shape[0] != len(yes):  # overlapping sets of rows
        return np.asarray(learned.plain.astype(float))
    return np.asarray(rules.outside[yes].sum(axis=0).clip(0.0, 1.0))


def scores_of(learned: Learned, solved: Solved) -> Array:
    """The scores (n,) of a rule, out of fold."""
    return np.asarray(scored(solved.weights[None] @ solved.terms, learned.rules.outside)[0, 0])


def reasons_of_rule(learned: Learned, solved: Solved, place: int) -> list[dict[str, Any]]:
    """The reasons for and against a yes on a row, by a rule: parts whose sum decides."""
    values = learned.rules.outside[:, [place]]
    parts = scored(solved.weights[:, None] * solved.terms, values)[:, 0, 0]
    return _parts(solved.names, parts)


def reasons_of_model(model: Mixture, rows: Labelled, place: int) -> list[dict[str, Any]]:
    """The same for a saved model, and for a no the columns that count most against a yes."""
    told = reasons(model, rows.opened.table[np.array([place])])
    against = [{"name": "column", "words": words, "part": None} for words in told.against()[0]]
    return [*_parts(told.names, told.parts[0]), *against]


def _parts(names: Sequence[str], parts: Array) -> list[dict[str, Any]]:
    told = [
        {"name": name, "words": _words(name), "part": float(part)}
        for name, part in zip(names, parts, strict=True)
        if part or name == OBJECTIVE
    ]
    return sorted(told, key=lambda each: (each["name"] != OBJECTIVE, -abs(each["part"])))


def _words(name: str) -> str:
    """A part of a score, in words."""
    if name == OBJECTIVE:
        return "The probability that the label is yes, and the cost of errors"
    if name == THRESHOLD:
        return "The threshold, which is the same for everyone"
    return in_words(name.removesuffix(" (2)"))


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)
