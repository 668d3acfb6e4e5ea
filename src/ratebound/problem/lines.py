"""Lines: how many rows of each kind there are, with their weight and its square. They add up.

A line stands for rows that a problem treats alike, so one *example row* can stand for it: a row whose
values meet just the conditions that the line's rows meet. The examples are an ordinary population, and
whatever reads rows reads lines. A line that no row can have made has no example: this is how edited
lines are noticed.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from ratebound.problem.columns import as_objects
from ratebound.problem.comparison import meets, read_moment
from ratebound.problem.compile import compile_pieces
from ratebound.problem.needs import Needs
from ratebound.problem.population import Population
from ratebound.rates.conditions import Condition, In, Missing, Name, is_missing
from ratebound.rates.sums import FIRST

MOST_LINES = 200_000
ROUNDING = 1e-9
AFTER = "\0"  # a text followed by it is the next in order
Kind = tuple[Any, ...]  # a value for each of `Needs.keys`


@dataclass(frozen=True, eq=False)
class Lines:
    """Sums over the rows of each kind, in the order of `Needs.sums`."""

    needs: Needs
    counts: Mapping[Kind, Any]  # each (s,)
    line_of_row: Any = None  # (n,) of rows that were counted in memory

    def __add__(self, other: Lines) -> Lines:
        if other.needs.digest != self.needs.digest:
            raise ValueError(
                "lines of two problems do not add up:\n"
                f"{self.needs.problem}\nand\n{other.needs.problem}"
            )
        counts = dict(self.counts)
        for kind, numbers in other.counts.items():
            counts[kind] = counts[kind] + numbers if kind in counts else numbers
        return Lines(self.needs, counts)

    def __radd__(self, start: int) -> Lines:
        return self  # `sum` starts with 0

    def __len__(self) -> int:
        return len(self.counts)

    def total(self, name: str) -> Any:
        """Return one of `Needs.sums` (k,)."""
        index = self.needs.sums.index(name)
        return np.array([numbers[index] for numbers in self.counts.values()])

    def values(self, name: str) -> Any:
        """Return one of `Needs.keys` (k,), as objects."""
        index = self.needs.keys.index(name)
        return as_objects([kind[index] for kind in self.counts])

    def split(self, name: Name) -> dict[Any, Lines]:
        """Return the lines of every value of a column that they are kept by, such as a month."""
        index = len(self.needs.conditions) + self.needs.columns.index(name)
        parts: dict[Any, dict[Kind, Any]] = {}
        for kind, numbers in self.counts.items():
            parts.setdefault(kind[index], {})[kind] = numbers
        return {value: Lines(self.needs, counts) for value, counts in parts.items()}

    def make_examples(self, classes: Any = None, refer: str | None = None) -> Population:
        """Return one row for each line, as heavy as its rows together."""
        return Population(
            y=self.values("label") if self.needs.has_label else None,
            columns=self._example_columns(),
            weights=self.total("weight"),
            classes=classes,
            refer=refer,
            counts=self.total("rows"),
            allow_absent=True,
        )

    def _example_columns(self) -> dict[Name, Any]:
        """Return values (k,) of every column that the problem names."""
        columns: dict[Name, Any] = {}
        for index, name in enumerate(self.needs.columns):
            columns[name] = self.values(f"k{index}")
        conditions: dict[Name, list[int]] = {}
        for index, leaf in enumerate(self.needs.conditions):
            conditions.setdefault(leaf.column, []).append(index)  # type: ignore[attr-defined]
        for name, indices in conditions.items():
            leaves = [self.needs.conditions[index] for index in indices]
            patterns = [tuple(kind[index] for index in indices) for kind in self.counts]
            columns[name] = _find_examples(leaves, patterns)
        weight = self.total("weight")
        for index, name in enumerate(self.needs.amounts):
            columns[name] = self.total(f"a{index}") / np.where(weight > 0, weight, 1.0)
        return columns


def make_lines(
    needs: Needs,
    records: Iterable[Any],
    line_of_row: Any = None,
) -> Lines:
    """Return lines from records: a value for each of `Needs.keys`, then `Needs.sums`."""
    width = len(needs.keys)
    counts: dict[Kind, Any] = {}
    for record in records:
        if len(record) != width + len(needs.sums):
            raise ValueError(f"a line has {width + len(needs.sums)} values, got {len(record)}")
        kind = tuple(map(normalize, record[:width]))
        numbers = np.array(record[width:], dtype=float)
        if kind in counts:
            raise ValueError(f"two lines are of the kind {kind}: were they added twice?")
        counts[kind] = numbers
    if len(counts) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES:,} kinds of row: name fewer columns or conditions")
    if not counts:
        raise ValueError("there are no rows to count")
    lines = Lines(needs, counts, line_of_row)
    _check_lines(lines)
    return lines


def normalize(value: Any) -> Any:
    """Return a value as lines hold it, whatever engine it comes from."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _check_lines(lines: Lines) -> None:
    """Raise if no rows can have these sums."""
    rows = lines.total("rows")
    weight = lines.total("weight")
    square = lines.total("square")
    above = 1 + ROUNDING
    wrong = (rows < 1) | (rows % 1 != 0) | ~(weight >= 0)
    wrong |= ~(square <= weight**2 * above)
    wrong |= ~(weight**2 <= rows * square * above)
    if wrong.any():
        kind = list(lines.counts)[int(np.argmax(wrong))]
        raise ValueError(
            f"no rows have these sums: {kind}, {lines.counts[kind].tolist()}; were lines edited?"
        )
    for name in ("label", "decision"):
        is_gone = np.array([value is None for value in lines.values(name)])
        if is_gone.any():
            count = int(rows[is_gone].sum())
            raise ValueError(f"{count:,} rows have no {name}: leave them out before counting")


def evaluate_lines(
    lines: Lines | Mapping[str, Lines],
    classes: Any = None,
    refer: str | None = None,
) -> tuple[float, Any]:
    """Return the objective, to be minimised, and the violations (m,), met where <= 0.

    Lines of several populations come by their names. Classes are those of the labels that occur, unless
    `classes` lists them.
    """
    populations = {FIRST: lines} if isinstance(lines, Lines) else dict(lines)
    examples = {}
    decisions: list[Any] = []
    for name, part in populations.items():
        examples[name] = [part.make_examples(classes, refer)]
        decisions += part.values("decision").tolist()
    compiled = compile_pieces(populations[FIRST].needs.problem, examples)
    known = list(compiled.classes.values)
    unknown = [value for value in decisions if value not in known]
    if unknown:
        raise ValueError(f"the decision {unknown[0]!r} is not one of the classes {known}")
    indices = np.array([known.index(value) for value in decisions])
    (values,) = compiled.values(compiled.count_decisions(indices))
    pieces = len(compiled.objective.pieces)
    objective = compiled.objective.value(values[:pieces])
    return float(objective), values[pieces:]


# --- examples -------------------------------------------------------------------------------------


def _find_examples(leaves: list[Condition], patterns: list[tuple[bool, ...]]) -> Any:
    """Return values (k,) of a column that meet just the conditions that each pattern says."""
    needed = set(patterns)
    known: dict[tuple[bool, ...], Any] = {}
    for candidates in _list_candidates(leaves):
        known.clear()
        for value in candidates:
            pattern = tuple(meets(value, leaf) for leaf in leaves)
            known.setdefault(pattern, value)
        if known.keys() >= needed:
            return as_objects([known[pattern] for pattern in patterns])
    wrong = next(pattern for pattern in patterns if pattern not in known)
    stated = [f"{leaf}: {is_met}" for leaf, is_met in zip(leaves, wrong, strict=True)]
    raise ValueError(
        f"no row has {', '.join(stated)}; were lines edited, or counted by another rule?"
    )


def _list_candidates(leaves: list[Condition]) -> Iterable[list[Any]]:
    """Yield values that the conditions can tell apart. Texts are tried first, then dates."""
    values: set[Any] = set()
    for leaf in leaves:
        if isinstance(leaf, In):
            values |= set(leaf.values)
        elif not isinstance(leaf, Missing):
            values.add(leaf.value)  # type: ignore[attr-defined]
    if not values:
        values.add(0)  # any value will do
    texts = sorted(value for value in values if isinstance(value, str))
    numbers = sorted(values.difference(texts))
    other_texts = [AFTER, *(text + AFTER for text in texts)] if texts else []
    yield [None, *texts, *other_texts, *_list_numbers(numbers)]
    try:
        moments = sorted(read_moment("", text) for text in texts)
    except ValueError:
        return
    if moments:
        instant = datetime.timedelta(microseconds=1)
        later = [moment + instant for moment in moments]
        yield [None, moments[0] - instant, *later, *moments]


def _list_numbers(named: list[Any]) -> list[Any]:
    """Return the named numbers, one between any two, and one beyond each end."""
    between = []
    for low, high in pairwise(named):
        middle = (low + high) / 2
        if not low < middle < high:  # too coarse, or infinite
            middle = (Fraction(low) + Fraction(high)) / 2
        between.append(middle)
    beyond = [number + sign * (1 + abs(number)) for number in named for sign in (-1, 1)]
    return [*named, *between, *beyond]
