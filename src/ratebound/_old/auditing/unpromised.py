"""Groups by columns that look protected: their rates with intervals, promised or not.

A reviewer has to see more than the groups that promises name. Columns are recognized by their names, so
the list is a reminder: a protected column with another name is missing, and a listed one may be
harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ratebound._old.auditing._intervals import Weighed, proportion
from ratebound._old.auditing.tally import Lines, Tally
from ratebound._old.base.types import Array
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import LeftOut
from ratebound._old.rates.kinds import Classes, label_classes
from ratebound._old.rates.subsets import Name, column_text, plain_value, value_text

# Words in the name of a column; several in one entry must all be there.
PROTECTED = (
    "sex", "gender", "race", "racial", "ethnicity", "ethnic", "hispanic", "latino", "religion",
    "religious", "faith", "caste", "disability", "disabled", "handicap", "nationality", "citizenship",
    "citizen", "immigrant", "pregnancy", "pregnant", "maternity", "veteran", "orientation",
    "transgender",
    "marital", "married", "relationship", "national origin", "native country", "birth country",
    "country birth", "place birth", "native language",
)  # fmt: skip
AGE = {"age", "ages", "aged"}
# Words that may stand beside "age": account_age and average are not a person's age.
OF_PERSONS = {
    "group", "groups", "band", "bands", "bucket", "bin", "range", "cat", "category", "class", "years",
    "year", "yrs", "in", "at", "of", "the", "applicant", "person", "customer", "client", "patient",
    "employee", "candidate", "borrower", "respondent", "application", "admission", "hire",
}  # fmt: skip
BANDS = (25, 40, 55, 65)  # the starts of age bands
MOST_VALUES = 40  # distinct values, at most, of a column whose groups are shown
FEWEST = 30  # rows, at least, of a group whose rates are shown


@dataclass(frozen=True)
class ProtectedGroup:
    """One group by a column that looks protected, and its rates compared with all others."""

    column: str
    words: str
    rows: int
    positive_rate: float | None  # with two classes
    low: float | None  # the interval of that rate
    high: float | None
    others: float | None  # the positive rate of all other rows
    error_rate: float | None  # with labels
    error_low: float | None
    error_high: float | None
    others_error: float | None
    note: str = ""  # whether promises name it, or why they do not

    @property
    def difference(self) -> float:
        """The larger difference between its two rates and the rates of all others."""
        pairs = ((self.positive_rate, self.others), (self.error_rate, self.others_error))
        return max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=0.0)


@dataclass(frozen=True)
class ProtectedGroups:
    """All groups by columns that look protected, and what is not shown."""

    columns: tuple[str, ...] = ()  # that look protected
    unnamed: tuple[str, ...] = ()  # of these, the ones that no promise names
    groups: tuple[ProtectedGroup, ...] = ()  # the largest differences first
    too_few: tuple[str, ...] = ()  # groups with too few rows to show rates, with their number
    not_shown: tuple[str, ...] = ()  # columns whose groups are not shown, and why


def looks_protected(name: Any) -> bool:
    """Whether a column's name suggests that it may be protected.

    >>> names = "Sex", "ageBand", "sex-age", "native-country", "account_age", "usage"
    >>> [name for name in names if looks_protected(name)]
    ['Sex', 'ageBand', 'sex-age', 'native-country']
    """
    parted = re.sub(r"([a-z])([A-Z])", r"\1 \2", str(name))
    words = set(re.findall(r"[a-z]+", parted.casefold()))
    if words & AGE and words - AGE <= OF_PERSONS:
        return True
    return any(set(entry.split()) <= words for entry in PROTECTED)


def protected_groups(
    people: Population,
    tally: Tally,
    promised: Iterable[Name],
    named: Sequence[str],
    left_out: Sequence[LeftOut],
    confidence: float,
) -> ProtectedGroups:
    """The rates of groups by columns that look protected, on the rows of the first population.

    Promises name the columns `promised`, and groups by their words `named`. The tally distinguishes rows
    by each of the columns.
    """
    columns = protected_columns(people)
    spoken = set(map(str, promised))
    unnamed = tuple(str(name) for name in columns if str(name) not in spoken)
    excused = {each.group: f"left out: {each.rows:,} rows, too few for min_rows=" for each in left_out}
    shown, too_few, not_shown = [], [], []
    for name in columns:
        lines = tally.by_column[name]
        parts = "too many values or weights" if lines is None else groups_of(lines.people, name)
        if isinstance(parts, str):
            not_shown.append(f"{name} ({parts})")
            continue
        assert lines is not None
        for words, inside in parts.items():
            count = int(lines.rows[inside].sum())
            if count < FEWEST:
                too_few.append(f"{words} ({count:,})")
                continue
            note = excused.get(words, "promised" if words in named else "")
            shown.append(_group(lines, str(name), words, inside, note, (tally.classes, confidence)))
    shown.sort(key=lambda each: -each.difference)
    return ProtectedGroups(
        tuple(map(str, columns)), unnamed, tuple(shown), tuple(too_few), tuple(not_shown)
    )


def protected_columns(people: Population) -> list[Name]:
    """The columns that look protected by their names."""
    return [name for name in people.column_names if looks_protected(name)]


def groups_of(people: Population, name: Name, *, banded: bool = False) -> dict[str, Array] | str:
    """The groups of a column by name, as rows (n,), with ages in bands; or why it has none.

    With `banded`, a few different ages have bands too.

    >>> list(groups_of(Population(None, columns={"sex": ["f", "m", None]}), "sex"))
    ['sex == "f"', 'sex == "m"', 'missing(sex)']
    >>> list(groups_of(Population(None, columns={"age": [*range(20, 90, 10)]}), "age"))
    ['age < 25', '25 <= age < 40', '40 <= age < 55', '55 <= age < 65', 'age >= 65']
    """
    read, written = people.values(name), column_text(name)
    groups: dict[str, Array] = {}
    if read.codes is not None:
        if len(read.values) > MOST_VALUES:
            return f"{len(read.values):,} values"
        for code, value in enumerate(read.values.tolist()):
            groups[f"{written} == {value_text(value)}"] = read.codes == code
    else:
        values = read.values
        if values.dtype.kind not in "biuf":
            return "dates"
        held = np.unique(values[~read.missing])
        aged = bool(set(re.findall(r"[a-z]+", str(name).casefold())) & AGE)
        if aged and (banded or len(held) > len(BANDS) + 1):
            ends = [-np.inf, *BANDS, np.inf]
            for low, high in pairwise(ends):
                groups[_band(written, low, high)] = (values >= low) & (values < high)
        elif len(held) > MOST_VALUES:
            return f"{len(held):,} values"
        else:
            for value in held:
                groups[f"{written} == {value_text(plain_value(value))}"] = values == value
    groups[f"missing({written})"] = read.missing
    return {words: inside for words, inside in groups.items() if inside.any()}


def _band(name: str, low: float, high: float) -> str:
    if low == -np.inf:
        return f"{name} < {high}"
    return f"{name} >= {low}" if high == np.inf else f"{low} <= {name} < {high}"


def _group(
    lines: Lines, column: str, words: str, inside: Array, note: str, how: tuple[Classes, float]
) -> ProtectedGroup:
    """The rates of some lines (k,) and of all others; `how` has the classes and the confidence."""
    classes, confidence = how
    chances, labels, rows = lines.chances[0.0], lines.people.y, int(lines.rows[inside].sum())
    yes = chances[1] if len(label_classes(classes)) == 2 else None
    wrong = None
    if labels is not None:
        wrong = 1.0 - chances[labels.astype(np.intp), np.arange(len(labels))]
    rates = (_rates(lines, each, inside, confidence) for each in (yes, wrong))
    return ProtectedGroup(column, words, rows, *next(rates), *next(rates), note)


def _rates(
    lines: Lines, hits: Array | None, inside: Array, confidence: float
) -> tuple[float | None, float | None, float | None, float | None]:
    """The share of hits inside, its two-sided interval, and the share outside."""
    total = lines.total
    if hits is None or not total[inside].sum() > 0:
        return None, None, None, None
    own = float(total[inside] @ hits[inside] / total[inside].sum())
    each = Weighed(lines.weight[inside], lines.rows[inside])
    low, high = proportion(hits[inside], each, 2 * confidence - 1)
    rest = total[~inside].sum()
    others = float(total[~inside] @ hits[~inside] / rest) if rest > 0 else None
    return own, low, high, others
