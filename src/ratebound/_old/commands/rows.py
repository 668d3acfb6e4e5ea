"""Rows with labels: the classes, which of two is yes, and what the model may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.base.checks import nearest
from ratebound._old.base.types import Array
from ratebound._old.commands.answers import note
from ratebound._old.commands.on_disk import on_disk, sampled
from ratebound._old.commands.promises import compared_columns
from ratebound._old.commands.runs import Run
from ratebound._old.problem.frames import distinct, is_missing, some
from ratebound._old.problem.labels import (
    FEW_CLASSES,
    ROWS_PER_CLASS,
    class_array,
    labels_of,
    reads_like_no,
    with_referral,
)
from ratebound._old.problem.population import Population
from ratebound._old.rates.kinds import label_classes, referral_of
from ratebound._old.rates.subsets import column_text, value_text
from ratebound._old.tables.cells import MISSING_MARKS
from ratebound._old.tables.fitting import column_statistics, planned_columns
from ratebound._old.tables.parquet import Parquet
from ratebound._old.tables.table import Table, as_texts, read_table
from ratebound._old.tables.texts import Kind, Reading
from ratebound._old.tables.treatments import Features, summed_up
from ratebound.problem.population import Population as NewPopulation
from ratebound.problem.problem import Problem
from ratebound.rates.sums import FIRST

OBVIOUS = (["0", "1"], ["0.0", "1.0"], ["-1", "1"], ["-1.0", "1.0"], ["false", "true"])  # no, then yes


@dataclass(frozen=True)
class Given:
    """All the rows that a run names."""

    populations: dict[str, Population]  # the first is the table to train on
    classes: tuple[Any, ...]  # the names of decisions; with two, no and then yes
    features: Features  # what the model may see
    name: str  # the table's name in errors
    run: Run  # it names the table's columns

    @property
    def people(self) -> Population:
        """The rows of the first population."""
        return self.populations[FIRST]

    @property
    def others(self) -> dict[str, Any]:
        """The other populations by name."""
        return {name: rows for name, rows in self.populations.items() if name != FIRST}

    def with_rows(self, populations: dict[str, Population]) -> Given:
        """Return the same for other rows."""
        return replace(self, populations=populations)


def read_given(run: Run, problem: Problem) -> Given:
    """The tables of a run; the labels in the first one are the classes.

    Rows that stay on disk are given as a sample in memory.
    """
    label = run.label
    if label is None:
        raise ValueError("which column is the label? Give --label, or key 'label' in a run file")
    compared = compared_columns(problem)  # a code that is compared with numbers is read as a number
    codes = {n: kind for n, kind in coded(run).items() if compared.get(n) != "number"}
    if on_disk(run.data, run.on_disk):
        table = sampled(Parquet(list(run.data)), run.seed)
    else:
        table = read_noted(run.data, codes, run.reading)
    table = with_labels(table, label, run.drop_unlabelled)
    run = naming(run, table.columns)
    classes, features = classes_of(table, label, run.positive), visible(table, run)
    tell_classes(label, run.positive, classes)
    classes = _or_referred(run, classes)
    populations = {FIRST: labelled(table, label, classes, run.weight)}
    check_known(table, run)
    for name, path in run.population.items():
        other = read_noted([path], table.kinds | codes, run.reading)
        _check_alike(other, table, features.chosen(table.columns))
        populations[name] = labelled(other, label, classes, run.weight, other=True)
    return Given(populations, classes, features, table.name, run)


def list_fit_arguments(rows: Population, given: Given) -> tuple[Any, Any, dict[str, Array], Any]:
    """Return what `fit` takes: the table that the model sees, labels, columns and weights."""
    table = rows.X
    visible_columns = {}
    for name in given.features.chosen(given.people.X.columns):
        table.check(name, "feature")
        is_code = name in given.features.categorical
        visible_columns[name] = as_texts(table[name]) if is_code else table[name]
    labels = None if rows.y is None else class_array(given.classes)[rows.y.astype(np.intp)]
    return Table(visible_columns, table.name), labels, table.values, rows.weights


def as_new_population(rows: Population, given: Given) -> NewPopulation:
    """Return rows as constraints see them, with the features that the model sees."""
    X, labels, columns, weights = list_fit_arguments(rows, given)
    refer = referral_of(given.classes)
    return NewPopulation(
        X,
        labels,
        columns,
        weights,
        classes=label_classes(given.classes),
        refer=None if refer is None else str(refer),
    )


def _check_alike(other: Table, table: Table, seen: Sequence[str]) -> None:
    """Raise if another table has texts in a column that a model sees as numbers."""
    for name in seen:
        if name in other.columns and (table.kinds[name], other.kinds[name]) == ("number", "text"):
            texts = other[name][~is_missing(other[name])]
            if len(texts):
                raise ValueError(
                    f"{other.name}: column {name!r} holds texts such as {str(texts[0])!r}, but in "
                    f"{table.name} numbers: write it alike in both"
                )


def naming(run: Run, columns: Sequence[str]) -> Run:
    """The run with lists such as a,b split at their commas, unless a column has that name."""
    lists = {key: getattr(run, key) for key in ("features", "exclude", "categorical", "known")}
    parted: dict[str, Any] = {
        key: tuple(part for name in names for part in ([name] if name in columns else _parts(name)))
        for key, names in lists.items()
        if names is not None
    }
    return replace(run, **parted)


def _parts(name: str) -> list[str]:
    return [part.strip() for part in name.split(",") if part.strip()] or [name]


def coded(run: Run) -> dict[str, Kind]:
    """The columns that hold codes of categories, if that is known before their names are."""
    return {part: "text" for name in run.categorical for part in (name, *_parts(name))}


def tell_classes(label: str, positive: Any, classes: tuple[Any, ...]) -> None:
    """Note which label is yes, unless that was stated or is obvious."""
    if len(classes) > 2:
        note(classes_in_words(label, classes))
    elif positive is None and [str(value).casefold() for value in classes] not in OBVIOUS:
        reads = reads_like_no(classes[1])
        doubt = f", and {classes[1]!r} reads like a no: check this first" if reads else ""
        note(f"{classes_in_words(label, classes)}; --positive changes that{doubt}")


def _or_referred(run: Run, classes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The classes, and a referral if rows may be referred."""
    return classes if run.refer is None else with_referral(classes, run.refer)


def classes_in_words(label: str, classes: Sequence[Any]) -> str:
    """Which label is yes, or the classes, in words."""
    if len(classes) > 2:
        return f"{column_text(label)} has {len(classes)} classes, {some(list(classes))}"
    return f"yes is {column_text(label)} == {classes[1]!r}, and no {classes[0]!r}"


def called(classes: Sequence[Any]) -> dict[str, Any]:
    """The names of decisions, for programs; with more than two classes none is positive."""
    labels, referral = label_classes(tuple(classes)), referral_of(tuple(classes))
    no, yes = labels if len(labels) == 2 else (None, None)
    names = {"positive": yes, "negative": no, "classes": list(labels)}
    return names if referral is None else {**names, "refer": str(referral)}


def read_noted(paths: Sequence[str], kinds: Mapping[str, Kind], reading: Reading) -> Table:
    """The table in files, with a note of everything that was detected to read it."""
    table = read_table(paths, kinds, reading)
    for notice in table.notices:
        note(notice)
    return table


def tell_columns(table: Table, features: Features) -> None:
    """Note columns that training leaves out or reads in an unusual way, before it begins.

    Columns that it would refuse are refused here, in the words of the command line.
    """
    plans = planned_columns(column_statistics([(table, None)], features)[0], features)
    treatments = [plan.treatment for plan in plans]
    refused = [each for each in treatments if each.action == "refused"]
    if refused:
        flags = " ".join(repr(each.name) for each in refused)
        raise ValueError(
            f"{table.name}: columns {summed_up(refused)}; cap them, or leave them out: --exclude {flags}"
        )
    if all(each.action == "left out" for each in treatments):
        raise ValueError(
            f"{table.name}: no column is left that a model could learn from, {summed_up(treatments)}; "
            "a column that --features names is used if it holds any value"
        )
    if unusual := summed_up(each for each in treatments if each.unusual):
        note(f"columns {unusual}; ratebound inspect shows what is done with every column")


def with_labels(table: Table, label: str, drop: bool) -> Table:
    """The table without rows that have no label; raises if there are any and they must not be dropped.

    A mark such as NA stands for a missing label if there are two other labels or more.
    """
    table.check(label, "label")
    values = table[label]
    present = set(distinct(values, None)) if values.dtype == object else set()
    marks = {value for value in present if value in MISSING_MARKS}
    lacking = is_missing(values)
    if marks and len(present - marks - {None}) >= 2:
        lacking |= np.isin(values.astype(str), list(marks))
    if not lacking.any():
        return table
    count = f"{int(lacking.sum()):,} of {len(table):,} rows"
    if not drop:
        raise ValueError(
            f"{table.name}: label column {label!r} is missing in {count}, first in row "
            f"{int(np.flatnonzero(lacking)[0]) + 1}: fill them in, or leave those rows out with "
            "--drop-unlabelled"
        )
    if lacking.all():
        raise ValueError(f"{table.name}: label column {label!r} is missing in every row")
    note(f"{count} of {table.name} have no label and are left out")
    kept_rows = table[~lacking]
    labels = kept_rows[label]
    if labels.dtype.kind == "f" and bool((labels == np.floor(labels)).all()):
        labels = labels.astype(np.int64)  # gaps made whole numbers fractional
    return Table(kept_rows.values | {label: labels}, table.name)


def classes_of(table: Table, label: str, positive: Any) -> tuple[Any, ...]:
    """The labels in sorted order; with two, no and then yes, the stated one or the last."""
    return classes_among(distinct(table[label], None), len(table), table.name, label, positive)


def classes_among(
    values: Sequence[Any], rows: int, name: str, label: str, positive: Any
) -> tuple[Any, ...]:
    """The same for these distinct labels of so many rows."""
    labels = sorted(values, key=lambda value: (str(type(value)), value))
    where = f"{name}: label column {label!r}"
    if len(labels) < 2:
        raise ValueError(f"{where} needs two values or more, but holds {some(labels)}")
    if len(labels) > 2:
        _check_several(labels, rows, where)
    yes = None if positive is None else _positive(positive, labels, label)
    if len(labels) == 2:
        return labels_of(np.array(labels, dtype=object), yes).classes or ()
    if yes is not None:
        raise ValueError(
            f"{where} has {len(labels)} classes, {some(labels)}, but --positive says which of two is "
            f"yes: leave it out, and name the class of each rate, as in recall(of={value_text(yes)})"
        )
    return tuple(labels)


def _check_several(labels: list[Any], rows: int, where: str) -> None:
    """Raise if more than two labels are two in several spellings, or are not classes."""
    if hint := _nearly(labels[1:], labels):
        raise ValueError(f"{where} holds {some(labels)}{hint}")
    fractions = any(isinstance(value, float) and not value.is_integer() for value in labels)
    if fractions or (len(labels) > FEW_CLASSES and ROWS_PER_CLASS * len(labels) > rows):
        raise ValueError(
            f"{where} holds {len(labels):,} different values in {rows:,} rows, {some(labels)}: these "
            "are continuous values, not class labels; put them into bands with names, or make it yes "
            "or no"
        )


def labelled(
    table: Table,
    label: str,
    classes: tuple[Any, ...],
    weight: str | None,
    *,
    other: bool = False,
    columns: Mapping[str, Array] | None = None,
    rows: Any = None,
) -> Population:
    """The rows of a table whose labels are `classes`; an `other` table may lack labels and weights.

    `columns` replace the table's columns if constraints need other values than the table has, and `rows`
    are the same table as a model reads it, if that differs.
    """
    if other and weight not in table.columns:
        weight = None
    labels = None
    if label in table.columns or not other:
        labels = table.column(label, "label")
        unknown = [value for value in distinct(labels, None) if value not in classes]
        if unknown:
            raise ValueError(
                f"{table.name}: label column {label!r} holds {some(unknown)}, but the classes are "
                f"{_listed(classes)}{_nearly(unknown, classes)}"
            )
    return Population(
        table if rows is None else rows,
        labels,
        columns=columns,
        weights=None if weight is None else weights_of(table, weight),
        classes=classes,
    )


def _listed(classes: Sequence[Any]) -> str:
    first = ", ".join(map(repr, classes[: min(len(classes) - 1, FEW_CLASSES)]))
    return f"{first} and {classes[-1]!r}" if len(classes) <= FEW_CLASSES else f"{first}, ..."


def _nearly(unknown: Sequence[Any], classes: Sequence[Any]) -> str:
    """A hint if labels are spelled as the classes are, except for the ends and the case."""
    for value in unknown:
        for known in classes:
            if value != known and _bare(value) == _bare(known):
                return f"; {value!r} looks like {known!r}: spell labels alike everywhere"
    return ""


def _bare(value: Any) -> str:
    return str(value).strip(" .,;_").removesuffix(".0").casefold()


def visible(table: Table, run: Run) -> Features:
    """What the model may see: all columns, or the ones asked for; never the label, weights or groups."""
    roles = {"feature": run.features or (), "excluded": run.exclude, "categorical": run.categorical}
    for role, names in roles.items():
        for name in names:
            table.check(name, role)
    hidden = dict.fromkeys(run.exclude, "excluded") | _roles(run)
    for name in run.features or ():
        if name in hidden:
            raise ValueError(f"column {name!r} cannot be a feature, it is {hidden[name]}")
    unseen = tuple(name for name in table.columns if name in hidden)
    if len(unseen) == len(table.columns):
        raise ValueError(f"{table.name}: no column is left for the model to see")
    return Features(run.features, unseen, run.categorical)


def check_known(table: Table, run: Run) -> None:
    """Raise unless the groups and every known column are there, and known ones have no other role."""
    if run.groups is not None:
        table.check(run.groups, "groups")
    for name in run.known or ():
        table.check(name, "known")
        if name in _roles(run):
            raise ValueError(f"column {name!r} is {_roles(run)[name]}, which is not known when deciding")


def _roles(run: Run) -> dict[str | None, str]:
    return {run.groups: "the groups", run.weight: "the weight", run.label: "the label"}


def _positive(given: Any, labels: list[Any], label: str) -> Any:
    """The label that `given` means; on the command line it is always text."""
    for value in labels:
        if given == value or str(given) == str(value) or _as_number(given) == value:
            return value
    hint = nearest(str(given), map(str, labels))
    raise ValueError(
        f"--positive {given!r} is not among the labels in {label!r}{hint} It holds {some(labels)}"
    )


def _as_number(given: Any) -> float | None:
    try:
        return float(given)
    except ValueError:
        return None


def weights_of(table: Table, name: str) -> Array:
    """The weight of each row, (n,)."""
    values = table.column(name, "weight")
    if values.dtype.kind not in "iuf" or (values < 0).any() or not np.isfinite(values).all():
        raise ValueError(f"{table.name}: weight column {name!r} must hold numbers that are not negative")
    return values.astype(float)
