"""From rows to their tally: rows are read once, some at a time, and equal rows are counted.

Each piece of a file, process and batch has its own lines, and these add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ratebound._old.auditing.judged import Judged, called
from ratebound._old.auditing.tally import Lines, Tally, together, told_apart
from ratebound._old.base.progress import bar
from ratebound._old.base.types import Array
from ratebound._old.problem.deciding import decided_at
from ratebound._old.problem.masks import masker
from ratebound._old.problem.population import Population, assembled
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.sharing import is_shared, is_whole, of_all
from ratebound._old.problem.values import ReadColumn, read_values
from ratebound._old.rates.costs import cost_columns
from ratebound._old.rates.expressions import FIRST, Rate, Ratio
from ratebound._old.rates.kinds import KINDS, TWO, Classes, atoms, counted_over, metric_of
from ratebound._old.rates.subsets import (
    Compare,
    Decision,
    In,
    Label,
    Name,
    Subset,
    column_text,
    columns_in,
    leaves,
)

NUMBERS_KEPT = (
    2**25
)  # numbers that lines of rows on disk are kept with; an audit takes four times their memory
NUMBERS_AT_ONCE = 2**24  # numbers that a model computes at a time
LINES_AT_ONCE = 2**16  # lines of several pieces that are merged at a time
ROUNDING = 2.0**-40  # probabilities that differ by no more are the same
NOBODY = Judged("no model yet", lambda _, rows: np.zeros((1, len(rows))), inputs=False)


@dataclass(frozen=True)
class Distinctions:
    """What rates need to know about the rows of one population."""

    conditions: tuple[Subset, ...]  # simple ones
    amounts: tuple[Name, ...]  # columns of costs
    thresholds: tuple[float | str, ...]  # at which decisions are taken
    areas: bool  # whether scores are compared with each other
    rates: dict[Name, tuple[Rate, str]]  # the first rate that uses each column, and its place
    words: str = ""  # the population's name in errors
    clusters: Name | None = None  # the column of clusters, whose values are distinguished

    @property
    def columns(self) -> tuple[Name, ...]:
        """The columns that are needed."""
        conditions = (name for condition in self.conditions for name in _columns(condition))
        clusters = () if self.clusters is None else (self.clusters,)
        return tuple(dict.fromkeys([*conditions, *self.amounts, *clusters]))

    def blamed(self, column: Name, error: ValueError) -> ValueError:
        """An error about a column, with the population, the rate that uses it and its place."""
        rate, place = self.rates.get(column, ("", ""))
        rate = f"clusters={column!r}" if column == self.clusters else rate
        words = f"{rate}: " * bool(rate) + f"population {self.words!r}: " * bool(self.words)
        return ValueError(f"{words}{error}{place}")


def places_of(*problems: Problem) -> dict[Rate, str]:
    """The rates of problems, and where each first occurs, as the ending of an error.

    >>> from ratebound._old import recall
    >>> places_of(Problem("error_rate()", [recall() >= 0.9]))
    {error_rate(): ' (in the objective error_rate())', recall(): ' (in the constraint recall() >= 0.9)'}
    """
    places: dict[Rate, str] = {}
    for problem in problems:
        for rate in problem.objective.rates:
            places.setdefault(rate, f" (in the objective {problem.objective})")
        for promise in problem.subject_to:
            for rate in promise.rates:
                places.setdefault(rate, f" (in the constraint {promise})")
    return places


def asked_of(rates: Iterable[Rate] | Mapping[Rate, str], name: str, classes: Classes) -> Distinctions:
    """What `rates` need to know about the population `name`; a mapping says where each occurs.

    >>> from ratebound._old import recall
    >>> asked_of(recall(sex="Female", at=0.5).rates, "train", (False, True)).columns
    ('sex',)
    """
    places = rates if isinstance(rates, Mapping) else dict.fromkeys(rates, "")
    own = {
        part: place for rate, place in places.items() if rate.population == name for part in _parts(rate)
    }
    conditions: dict[Subset, None] = {}
    speaks: dict[Name, tuple[Rate, str]] = {}
    for rate, place in own.items():
        try:
            counts = atoms(rate, classes) if KINDS[rate.kind].counts is not None else ()
            subsets = [rate.subset, *counted_over(rate, classes), *(atom.given for atom in counts)]
        except ValueError as error:
            raise ValueError(f"{rate}: {error}{place}") from None
        simple = [each for subset in subsets for each in _simple(subset)]
        conditions |= dict.fromkeys(simple)
        for column in (*cost_columns(rate), *(name for each in simple for name in _columns(each))):
            speaks.setdefault(column, (rate, place))
    return Distinctions(
        conditions=tuple(each for each in conditions if not isinstance(each, Label)),
        amounts=tuple(dict.fromkeys(name for rate in own for name in cost_columns(rate))),
        thresholds=tuple(dict.fromkeys([0.0, *(rate.at for rate in own if rate.at is not None)])),
        areas=any(rate.compares_scores for rate in own),
        rates=speaks,
    )


def values_of(column: Name) -> Distinctions:
    """The distinctions between rows by the values of a column, and by their decisions."""
    return Distinctions((), (), (0.0,), False, {}, clusters=column)


def _simple(subset: Subset) -> Iterator[Subset]:
    """The conditions in a subset, each of several values by itself: none of them may be absent."""
    for leaf in leaves(subset):
        if isinstance(leaf, In):
            yield from (Compare(leaf.column, "==", value) for value in leaf.values)
        else:
            yield leaf


def _parts(rate: Rate) -> Sequence[Rate]:
    """The rates that a rate's words stand for."""
    metric = metric_of(rate)
    if isinstance(metric, Ratio):
        return [*metric.numerator.rates, *metric.denominator.rates]
    return [rate]


def _columns(condition: Subset) -> list[Name]:
    return [condition.versus] if isinstance(condition, Decision) else columns_in(condition)


def tallied(
    model: Judged,
    populations: Mapping[str, Population],
    rates: Iterable[Rate] | Mapping[Rate, str],
    clusters: Name | None = None,
    first: str = "audited",
    beside: Iterable[Name] = (),
) -> Tally:
    """The tally of a model's decisions on populations, as far as `rates` distinguish rows.

    Rows of the first population are also distinguished by each of the columns `beside`, one column at a
    time. Errors name the main population `first`, and quote where a rate occurs if `rates` maps it to
    that.

    >>> from ratebound._old import recall
    >>> from ratebound._old.auditing.judged import scored
    >>> people = Population(None, [1, 1, 1, 0])
    >>> tally = tallied(scored({"train": [1, -1, 1, 1]}, ""), {"train": people}, recall().rates)
    >>> lines = tally["train"]
    >>> lines.rows, lines.people.y, lines.chance(0.0, None)
    (array([2, 1, 1]), array([ True,  True, False]), array([1., 0., 1.]))
    """
    spoken_of = rates if isinstance(rates, Mapping) else tuple(rates)
    known = (population.classes for population in populations.values())
    classes = next((each for each in known if each is not None), TWO)
    lines: dict[str, Lines] = {}
    by_column: dict[Name, Lines | None] = {}
    for name, population in populations.items():
        words = first if name == FIRST else name
        asked = replace(asked_of(spoken_of, name, classes), clusters=clusters, words=words)
        alone = {column: values_of(column) for column in beside} if name == FIRST else {}
        own, *others = _lines(model, name, population, [asked, *alone.values()], len(classes))
        assert own is not None
        lines[name] = own
        by_column |= dict(zip(alone, others, strict=True))
    tally = Tally(lines, model, clusters, by_column)
    for name in populations:
        tally.clusters(name)  # so that a wrong column is refused before anything is measured
    return tally


def _lines(
    model: Judged, name: str, population: Population, every: Sequence[Distinctions], classes: int
) -> list[Lines | None]:
    """The lines of a population, over all processes, by the first of several distinctions.

    Then the lines by each of the others, which have no places; None if they are too many.
    """
    asked, in_memory = every[0], is_whole(population)
    columns = tuple(dict.fromkeys([*asked.columns, *model.known]))
    for column in columns:
        try:
            population.check_column(column)
        except ValueError as error:
            own = "" if column in asked.columns else ", ".join(map(str, model.known))
            by = f"the model decides by {own}: " if own and model.inputs else ""
            by = f"{model.words}: " if own and not model.inputs else by
            raise asked.blamed(column, ValueError(f"{by}{error}")) from None
    columns = tuple(dict.fromkeys([*columns, *(own for each in every for own in each.columns)]))
    some = len(population) if in_memory else max(NUMBERS_AT_ONCE // model.width, 1024)
    parts: dict[int, list[Lines]] = {place: [] for place in range(len(every))}
    with bar(len(population), "row", False if in_memory else None) as shown:
        for piece in population.pieces(columns, inputs=model.inputs):
            for rows in range(0, len(piece), some):
                part = piece if some >= len(piece) else _only(piece, np.arange(len(piece))[rows:][:some])
                answers = model.answers(name, part)
                for place, gathered in list(parts.items()):
                    few = lines_of(part, every[place], model, answers, classes)
                    placed = place == 0 and (in_memory or model is NOBODY)
                    gathered.append(few if placed else replace(few, place=None))
                    if sum(map(len, gathered[1:])) > max(LINES_AT_ONCE, len(gathered[0])):
                        parts[place] = [together(gathered)]
                        if place == 0:
                            _check_number(parts[0][0], name)
                        elif _too_many(parts[place][0]):
                            del parts[place]
            shown.update(len(piece))
    lines = {place: _of_all(together(own), population) for place, own in parts.items()}
    if not in_memory:
        _check_number(lines[0], name)
        lines = {place: own for place, own in lines.items() if not _too_many(own)}
    return [
        _spelled(lines[place], model, name) if place in lines else None for place in range(len(every))
    ]


def _of_all(lines: Lines, population: Population) -> Lines:
    """The lines over all processes."""
    if is_shared(population):
        lines = together([replace(each, place=None) for each in of_all(population, lines)])
    return replace(lines, source=population)


def lines_of(
    piece: Population,
    asked: Distinctions,
    model: Judged,
    answers: Array,
    classes: int,
    partial: bool = False,
) -> Lines:
    """The lines of a piece's rows, which have these `answers` of the model.

    If the piece is a whole batch, it is `partial`: values that conditions name may be absent.
    """
    chances = {} if model.predicts else _chances(model, answers, asked, classes)
    keys = [
        np.rint(each / ROUNDING).astype(np.int64) for chance in chances.values() for each in chance[1:]
    ]
    kept = asked.areas or bool(model.predicts)
    if kept:
        keys += [_coded(each) for each in answers.reshape(-1, answers.shape[-1])]
    keys += map(_coded, _features(piece, asked))
    first, place = told_apart(keys or [np.zeros(len(piece), dtype=np.int64)])
    few = _only(piece, first)
    columns = {name: few.column(name) for name in asked.columns}
    nothing = np.empty((len(first), 0))
    people = assembled(nothing, few.y, columns, few.weights, few.labels, len(first))
    return Lines(
        source=people,
        people=people,
        rows=np.bincount(place, minlength=len(first)),
        codes=np.stack([key[first] for key in keys]) if keys else np.zeros((1, len(first)), np.int64),
        chances={at: chance[:, first] for at, chance in chances.items()},
        answers=answers[..., first] if kept else None,
        place=place,
        partial=partial,
    )


def _chances(
    model: Judged, answers: Array, asked: Distinctions, classes: int
) -> dict[float | str, Array]:
    """The probability of each decision, (D, n), at each threshold that the model has."""
    if model is NOBODY:
        return {at: np.zeros((classes, answers.shape[-1])) for at in asked.thresholds}
    chances: dict[float | str, Array] = {}
    for at in asked.thresholds:
        if isinstance(at, str) and at not in model.thresholds:
            continue
        decisions = decided_at(answers, model.levels(at) if isinstance(at, str) else at)
        each = [model.chances @ (decisions == place) for place in range(classes)]
        chances[at] = np.stack(each).clip(max=1.0)
    return chances


def _spelled(lines: Lines, model: Judged, name: str) -> Lines:
    """Lines whose predictions are read once all are known: a piece need not have every word."""
    if not model.predicts:
        return lines
    people, predicted = lines.people, lines.answers
    assert predicted is not None
    try:
        what = f"{model.predicts} on population {called(name)!r}"
        places = people.labels.decided(predicted[0], what)
    except ValueError as error:
        which = model.known[0] if model.known else ""
        way = f", or state what is yes, as in '{column_text(which)} == \"approved\"'"
        raise ValueError(f"{error}{way * (not model.inputs)}") from None
    chance = (places == np.arange(people.decisions)[:, None]).astype(float)
    return replace(lines, chances={0.0: chance})


def _too_many(lines: Lines) -> bool:
    """Whether the lines of rows on disk, or with other processes, take too much memory."""
    return len(lines) > _most(lines)


def _most(lines: Lines) -> int:
    """How many such lines may be kept in memory."""
    kept = sum(each.shape[0] for each in lines.chances.values()) + len(lines.people.columns)
    kept += 0 if lines.answers is None else lines.answers[..., :1].size
    return NUMBERS_KEPT // (len(lines.codes) + kept)


def _check_number(lines: Lines, name: str) -> None:
    """Raise if lines of rows on disk, or with other processes, are too many."""
    if _too_many(lines):
        raise ValueError(
            f"population {called(name)!r}: more than {_most(lines):,} of its rows differ in what the "
            "rates ask, and one of each kind is kept in memory. Weights, amounts of costs, scores "
            "that roc_auc and top= compare, and decisions of very many members differ on almost every "
            "row: round weights and amounts, or judge a sample of the rows, "
            "population.only(rows).in_memory()"
        )


def _only(piece: Population, rows: Array) -> Population:
    """Some rows of a piece, which may all weigh nothing."""
    part = assembled(piece.X, piece.y, piece.columns, None, piece.labels, piece.size).only(rows)
    part.weights = None if piece.weights is None else piece.weights[rows]
    return part


def _features(piece: Population, asked: Distinctions) -> list[Array]:
    """What distinguishes the rows (n,) of a piece, besides their decisions."""
    mask, values = masker(piece, absent=True), lru_cache(maxsize=None)(piece.values)
    features = [each for each in (piece.y, piece.weights) if each is not None]
    features += [piece.column(name) for name in asked.amounts]
    if asked.clusters is not None:
        features.append(_by_distinct(values(asked.clusters)))
    for condition in asked.conditions:
        column = _columns(condition)[0]
        try:
            own = values(column)
            features.append(_by_distinct(own) if _by_value(condition, own) else mask(condition))
        except ValueError as error:
            raise asked.blamed(column, error) from None
    return features


def _by_value(condition: Subset, values: ReadColumn) -> bool:
    """Whether the condition can only be checked once all rows are known: then values are distinguished.

    A few rows may not show how decisions are spelled, or whether ordered texts are dates.
    """
    if isinstance(condition, Compare):
        return condition.relation not in ("==", "!=") and values.kinds == {"text"}
    return isinstance(condition, Decision)


def _coded(values: Array) -> Array:
    """Values (n,) as whole numbers, the same for the same value in every piece and process."""
    if values.dtype.kind == "b":  # the usual case, and every row has a number
        return values.view(np.uint8)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        plain = np.where(np.isnan(values), np.nan, values.astype(np.float64) + 0.0)  # no negative zero
        return plain.view(np.int64)
    return _by_distinct(read_values(values.astype(object)))


def _by_distinct(read: ReadColumn) -> Array:
    """A column's values as such numbers; for texts, a digest of each distinct one."""
    if read.codes is None:
        simple = read.values.dtype.kind in "biufmM"
        kind = np.int64 if read.values.dtype.kind in "mM" else read.values.dtype
        # Lists, for example, are all the same: nothing can be compared with them.
        return _coded(read.values.astype(kind)) if simple else np.zeros(len(read.values), np.int64)
    own = [_digest(value) for value in read.values.tolist()]
    return np.array([*own, 0], dtype=np.int64)[read.codes]  # a missing value's code is -1


def _digest(value: Any) -> int:
    said = f"{type(value).__name__} {value!r}".encode()
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "big", signed=True)
