"""Lines: how many rows of each kind there are, with their weight and its square. They add up.

A line stands for rows that a problem treats alike. So it has an *example row*, whose values meet exactly
the conditions that the rows meet. The example rows are an ordinary population, so whatever reads rows
also reads lines. A line that no rows can have made has no example, which reveals edited lines.
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
from ratebound.problem.comparison import LIKE_AN_ISO_DATE, meets, read_moment
from ratebound.problem.compile import compile_pieces
from ratebound.problem.needs import Needs
from ratebound.problem.population import Population
from ratebound.rates.conditions import Condition, In, Missing, Name, is_missing
from ratebound.rates.sums import FIRST

MOST_LINES = 200_000
ROUNDING = 1e-9  # relative tolerance of sums of weights
NEXT = "\0"  # a string followed by it is the next one in order
Key = tuple[Any, ...]  # a value for each of `Needs.keys`


@dataclass(frozen=True, eq=False)
class Lines:
    """The totals of each kind of row, in the order of `Needs.sums`."""

    needs: Needs
    counts: Mapping[Key, Any]  # totals (s,) by key
    line_of_row: Any = None  # (n,) if rows in memory were counted

    def __add__(self, other: Lines) -> Lines:
        if other.needs.digest != self.needs.digest:
            raise ValueError(
                "lines of two problems do not add up:\n"
                f"{self.needs.problem}\nand\n{other.needs.problem}"
            )
        counts = dict(self.counts)
        for key, totals in other.counts.items():
            counts[key] = counts[key] + totals if key in counts else totals
        return Lines(self.needs, counts)

    def __len__(self) -> int:
        return len(self.counts)

    def total(self, name: str) -> Any:
        """Return one of `Needs.sums` for every line (k,)."""
        index = self.needs.sums.index(name)
        return np.array([totals[index] for totals in self.counts.values()])

    def values(self, name: str) -> Any:
        """Return one of `Needs.keys` for every line (k,), as objects."""
        index = self.needs.keys.index(name)
        return as_objects([key[index] for key in self.counts])

    def split(self, name: Name) -> dict[Any, Lines]:
        """Return the lines of each value of a column whose values are kept, such as a month."""
        index = len(self.needs.conditions) + self.needs.columns.index(name)
        parts: dict[Any, dict[Key, Any]] = {}
        for key, totals in self.counts.items():
            part = parts.setdefault(key[index], {})
            part[key] = totals
        return {value: Lines(self.needs, counts) for value, counts in parts.items()}

    def make_examples(self, classes: Any = None, refer: str | None = None) -> Population:
        """Return an example row for each line, which weighs as much as all rows of the line."""
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
        """Return the values (k,) of every column that the problem names."""
        columns: dict[Name, Any] = {}
        for index, name in enumerate(self.needs.columns):
            columns[name] = self.values(f"k{index}")
        indices_of_column: dict[Name, list[int]] = {}
        for index, leaf in enumerate(self.needs.conditions):
            indices = indices_of_column.setdefault(leaf.column, [])  # type: ignore[attr-defined]
            indices.append(index)
        for name, indices in indices_of_column.items():
            leaves = [self.needs.conditions[index] for index in indices]
            patterns = [tuple(key[index] for index in indices) for key in self.counts]
            columns[name] = _find_examples(leaves, patterns)
        weight = self.total("weight")
        divisor = np.where(weight > 0, weight, 1.0)
        for index, name in enumerate(self.needs.amounts):
            columns[name] = self.total(f"a{index}") / divisor  # the mean amount
        return columns


def make_lines(needs: Needs, records: Iterable[Any], line_of_row: Any = None) -> Lines:
    """Return lines from records, each of which holds `Needs.keys` and then `Needs.sums`."""
    width = len(needs.keys)
    counts: dict[Key, Any] = {}
    for record in records:
        if len(record) != width + len(needs.sums):
            raise ValueError(f"a line has {width + len(needs.sums)} values, got {len(record)}")
        key = tuple(map(normalize, record[:width]))
        if key in counts:
            raise ValueError(f"two lines have the key {key}: were they added twice?")
        counts[key] = np.array(record[width:], dtype=float)
    if len(counts) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES:,} kinds of row: name fewer columns or conditions")
    if not counts:
        raise ValueError("there are no rows to count")
    lines = Lines(needs, counts, line_of_row)
    _check_lines(lines)
    return lines


def normalize(value: Any) -> Any:
    """Return a value of a key as plain Python, the same from every engine."""
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
    """Raise if no rows can have these totals, or if some rows have no label or decision."""
    rows = lines.total("rows")
    weight = lines.total("weight")
    square = lines.total("square")
    limit = 1 + ROUNDING
    is_wrong = (rows < 1) | (rows % 1 != 0) | ~(weight >= 0)
    # Weights that are not negative: Σw² <= (Σw)², and (Σw)² <= n Σw² by Cauchy and Schwarz.
    is_wrong |= ~(square <= weight**2 * limit)
    is_wrong |= ~(weight**2 <= rows * square * limit)
    if is_wrong.any():
        key = list(lines.counts)[int(np.argmax(is_wrong))]
        raise ValueError(
            f"no rows have these sums: {key}, {lines.counts[key].tolist()}; were lines edited?"
        )
    for name in ("label", "decision"):
        has_none = np.array([value is None for value in lines.values(name)])
        if has_none.any():
            count = int(rows[has_none].sum())
            raise ValueError(f"{count:,} rows have no {name}: leave them out before counting")


def evaluate_lines(
    lines: Lines | Mapping[str, Lines],
    classes: Any = None,
    refer: str | None = None,
) -> tuple[float, Any]:
    """Return the objective, to be minimised, and the violations (m,), met where <= 0.

    Pass the lines of several populations by their names. The classes are the labels that occur, unless
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
    """Return the values (k,) of a column that meet exactly the conditions that each pattern marks."""
    needed = set(patterns)
    example_of: dict[tuple[bool, ...], Any] = {}
    for candidates in _list_candidates(leaves):
        example_of.clear()
        for value in candidates:
            pattern = tuple(meets(value, leaf) for leaf in leaves)
            example_of.setdefault(pattern, value)
        if example_of.keys() >= needed:
            return as_objects([example_of[pattern] for pattern in patterns])
    impossible = next(pattern for pattern in patterns if pattern not in example_of)
    marks = [f"{leaf}: {is_met}" for leaf, is_met in zip(leaves, impossible, strict=True)]
    raise ValueError(
        f"no row has {', '.join(marks)}; were lines edited, or counted by another rule?"
    )


def _list_candidates(leaves: list[Condition]) -> Iterable[list[Any]]:
    """Yield values that make every pattern, first as dates, then as text and numbers."""
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
    if texts and all(map(LIKE_AN_ISO_DATE.match, texts)):
        moments = sorted(read_moment("", text) for text in texts)
        instant = datetime.timedelta(microseconds=1)
        later = [moment + instant for moment in moments]
        yield [None, moments[0] - instant, *later, *moments]
    texts_between = [text + NEXT for text in ("", *texts)] if texts else []
    yield [None, *texts, *texts_between, *_list_numbers(numbers)]


def _list_numbers(named: list[Any]) -> list[Any]:
    """Return the named numbers, one between any two, and one beyond each end."""
    between = []
    for low, high in pairwise(named):
        middle = (low + high) / 2
        if not low < middle < high:  # no float is between them, or the sum is infinite
            middle = (Fraction(low) + Fraction(high)) / 2
        between.append(middle)
    beyond = []
    for number in named:
        step = 1 + abs(number)
        beyond += [number - step, number + step]
    return [*named, *between, *beyond]
