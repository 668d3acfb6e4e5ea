"""Two models compared: who gains a yes and who loses one, and single cases with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.reasons import SCORE, reasons
from ratebound._old.studio.learning import Labelled, Learned, Solved
from ratebound._old.studio.promises import in_words
from ratebound._old.studio.table import group_mask, group_name, groups_of
from ratebound.learning.reasons import ONE_THRESHOLD, make_reasons
from ratebound.learning.rules import compute_costs

CASES = 4  # people shown on each side
OBJECTIVE = "The probability that the label is yes, and the cost of errors"
THRESHOLD = "The threshold, which is the same for everyone"


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
    return np.asarray(learned.base.rules.forecast[2])  # after ones, and the probability of no


def reasons_of_rule(solved: Solved, place: int) -> list[dict[str, Any]]:
    """The reasons for and against a yes on a row, by a rule: parts whose sum decides."""
    rules = solved.rules
    one_at_a_time = np.diag(solved.weights)
    costs = compute_costs(rules.terms, one_at_a_time, rules.forecast[:, [place]])
    told = make_reasons((solved.asked.objective, *rules.compiled.labels), ("no", "yes"), -costs, {})
    return _parts(told.names, told.parts[:, 0, 0])


def reasons_of_model(model: Mixture, rows: Labelled, place: int) -> list[dict[str, Any]]:
    """The same for a saved model, and for a no the columns that count most against a yes."""
    told = reasons(model, rows.opened.table[np.array([place])])
    against = [{"name": "column", "words": words, "part": None} for words in told.against()[0]]
    return [*_parts(told.names, told.parts[0]), *against]


def _parts(names: Sequence[str], parts: Array) -> list[dict[str, Any]]:
    """The parts of a score in words: of the objective, and then the others, the largest first."""
    words = {names[0]: OBJECTIVE, SCORE: SCORE, ONE_THRESHOLD: THRESHOLD}
    told: list[dict[str, Any]] = [
        {"name": name, "words": words.get(name) or in_words(name), "part": float(part)}
        for name, part in zip(names, parts, strict=True)
    ]
    others = sorted((each for each in told[1:] if each["part"]), key=lambda each: -abs(each["part"]))
    return [told[0], *others]


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)
