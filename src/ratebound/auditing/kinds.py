"""Rows folded into kinds: those that a problem and a model treat alike, once, and how many they are.

What an audit says of rows depends on their labels, on what is decided of them, and on which conditions
they meet; of millions of rows few differ in these. So rows that are on disk are read once, some at a
time, and one row of each kind is kept. All that is measured on the kinds, each counted as many
times as it has rows, is what would be measured on the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ratebound.base.progress import bar
from ratebound.base.types import Array
from ratebound.problem.masks import masker
from ratebound.problem.population import Population, assembled
from ratebound.problem.sharing import of_all
from ratebound.problem.values import Values, read_values
from ratebound.rates.costs import cost_columns
from ratebound.rates.expressions import Ratio
from ratebound.rates.kinds import KINDS, Classes, atoms, counted_over, metric_of
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import Compare, Decision, In, Label, Name, Subset, columns_in, leaves

MOST = 2**25  # numbers that kinds are kept with; in all an audit takes some four times their memory
PART = 2**24  # numbers that a model computes at a time
FEW = 2**20  # codes that are counted sooner than sorted
PILED = 2**16  # kinds of several pieces that are told apart together


@dataclass(frozen=True)
class Answering:
    """How a model answers on rows."""

    # From some rows to its answers (..., n), and to what of them matters, (n,) each.
    told: Callable[[Population], tuple[Array, list[Array]]]
    known: tuple[Name, ...] = ()  # columns that it looks at
    width: int = 1  # numbers that it computes for each row


class Kinds(Population):
    """One row of each kind, in the order in which they first occur.

    `weights` are those of all rows of a kind together.
    """

    everywhere = True

    def __init__(self, like: Population, found: _Pile) -> None:
        super().__init__(np.empty((len(found.times), 0)), columns=found.columns)
        self.like = like  # the population whose rows these are
        self.spelling, self.y = like.spelling, found.y
        self.times = found.times  # (kinds,) how many rows there are of each
        self.weighted = found.weights is not None
        self.each_weight = np.ones(len(found.times)) if found.weights is None else found.weights
        self.weights = found.times * self.each_weight
        self.answers = found.answers  # (..., kinds) of the model


@dataclass(frozen=True)
class Asked:
    """What rates ask of the rows of one population."""

    conditions: tuple[Subset, ...]  # simple ones
    amounts: tuple[Name, ...]  # columns of costs
    thresholds: tuple[float | str, ...]  # at which decisions are taken
    areas: bool  # whether scores are compared with each other

    @property
    def columns(self) -> tuple[Name, ...]:
        """The columns that it takes to answer."""
        conditions = (name for condition in self.conditions for name in _columns(condition))
        return tuple(dict.fromkeys([*conditions, *self.amounts]))


def asked_of(rates: Iterable[Rate], name: str, classes: Classes) -> Asked:
    """What `rates` ask of the population `name`.

    >>> from ratebound import recall
    >>> asked_of(recall(sex="Female", at=0.5).rates, "train", (False, True)).columns
    ('sex',)
    """
    own = [part for rate in rates if rate.population == name for part in _parts(rate)]
    subsets = [rate.subset for rate in own]
    for rate in own:
        try:
            counts = atoms(rate, classes) if KINDS[rate.kind].counts is not None else ()
            subsets += [*counted_over(rate, classes), *(atom.given for atom in counts)]
        except ValueError as error:
            raise ValueError(f"{rate}: {error}") from None
    conditions = dict.fromkeys(each for subset in subsets for each in _simple(subset))
    return Asked(
        conditions=tuple(each for each in conditions if not isinstance(each, Label)),
        amounts=tuple(dict.fromkeys(name for rate in own for name in cost_columns(rate))),
        thresholds=tuple(dict.fromkeys([0.0, *(rate.at for rate in own if rate.at is not None)])),
        areas=any(rate.bins is not None for rate in own),
    )


def _simple(subset: Subset) -> Iterator[Subset]:
    """The conditions in a subset, each value of several by itself: none of them may be absent."""
    for leaf in leaves(subset):
        if isinstance(leaf, In):
            yield from (Compare(leaf.column, "==", value) for value in leaf.values)
        else:
            yield leaf


def _parts(rate: Rate) -> Sequence[Rate]:
    """The rates that the words of a rate stand for."""
    metric = metric_of(rate)
    if isinstance(metric, Ratio):
        return [*metric.numerator.rates, *metric.denominator.rates]
    return [rate]


def _columns(condition: Subset) -> list[Name]:
    return [condition.versus] if isinstance(condition, Decision) else columns_in(condition)


def fold(population: Population, asked: Asked, answering: Answering | None, words: str) -> Kinds:
    """The kinds of a population's rows, of all processes together; errors call it by `words`."""
    columns = tuple(dict.fromkeys([*asked.columns, *(answering.known if answering else ())]))
    some = max(PART // (answering.width if answering else 1), 1024)
    try:
        for name in columns:
            population.check_column(name)
    except ValueError as error:
        raise ValueError(f"population {words!r}: {error}") from None
    piles: list[_Pile] = []
    with bar(len(population), "row") as shown:
        for piece in population.pieces(columns, inputs=answering is not None):
            for rows in range(0, len(piece), some):
                part = piece if some >= len(piece) else _part(piece, np.arange(len(piece))[rows:][:some])
                piles.append(_pile_of(part, asked, answering, words))
            if sum(len(pile.times) for pile in piles[1:]) > max(PILED, len(piles[0].times)):
                piles = [_merged(piles, words)]
            shown.update(len(piece))
    return Kinds(population, _merged(of_all(population, _merged(piles, words)), words))


@dataclass(frozen=True, eq=False)
class _Pile:
    """Kinds of some rows: what tells them apart, and one row of each."""

    codes: Array  # (features, kinds) the same for the same in all pieces
    times: Array  # (kinds,)
    y: Array | None
    weights: Array | None
    answers: Array  # (..., kinds)
    columns: dict[Name, Array]


def _pile_of(piece: Population, asked: Asked, answering: Answering | None, words: str) -> _Pile:
    """The kinds of the rows of a piece."""
    try:
        features = _features(piece, asked)
    except ValueError as error:
        raise ValueError(f"population {words!r}: {error}") from None
    nothing = np.zeros((1, len(piece)))
    answers, told = (nothing, []) if answering is None else answering.told(piece)
    codes = [_coded(feature) for feature in (*told, *features)] or [nothing[0].astype(np.int64)]
    kept, times = _told_apart(codes, np.ones(len(piece), dtype=np.int64))
    few = _part(piece, kept)
    return _Pile(
        codes=np.stack([code[kept] for code in codes]),
        times=times,
        y=few.y,
        weights=few.weights,
        answers=answers[..., kept],
        columns={name: few.column(name) for name in asked.columns},
    )


def _part(piece: Population, rows: Array) -> Population:
    """Some rows of a piece, which may all weigh nothing."""
    part = assembled(piece.X, piece.y, piece.columns, None, piece.spelling, piece.size).only(rows)
    part.weights = None if piece.weights is None else piece.weights[rows]
    return part


def _features(piece: Population, asked: Asked) -> list[Array]:
    """What the rows (n,) of a piece are told apart by, beside what is decided of them."""
    mask, values = masker(piece, absent=True), lru_cache(maxsize=None)(piece.values)
    found = [each for each in (piece.y, piece.weights) if each is not None]
    found += [piece.column(name) for name in asked.amounts]
    for condition in asked.conditions:
        own = values(_columns(condition)[0])
        found.append(_by_distinct(own) if _by_value(condition, own) else mask(condition))
    return found


def _by_value(condition: Subset, values: Values) -> bool:
    """Whether what it says of a row is only known once all rows are: then values are told apart.

    How decisions are spelled, and whether texts in an order are dates, may not show in a few rows.
    """
    if isinstance(condition, Compare):
        return condition.relation not in ("==", "!=") and values.kinds == {"text"}
    return isinstance(condition, Decision)


def _coded(values: Array) -> Array:
    """Values (n,) as whole numbers, the same for the same value in every piece and process."""
    if values.dtype.kind == "b":  # most are, and there is a number for every row
        return values.view(np.uint8)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        plain = np.where(np.isnan(values), np.nan, values.astype(np.float64) + 0.0)  # no negative zero
        return plain.view(np.int64)
    return _by_distinct(read_values(values.astype(object)))


def _by_distinct(read: Values) -> Array:
    """A column's values as such numbers; texts by a digest of each distinct one."""
    if read.codes is None:
        simple = read.values.dtype.kind in "biufmM"
        kind = np.int64 if read.values.dtype.kind in "mM" else read.values.dtype
        # Lists, say, are all the same: nothing can be compared with them.
        return _coded(read.values.astype(kind)) if simple else np.zeros(len(read.values), np.int64)
    own = [_digest(value) for value in read.values.tolist()]
    return np.array([*own, 0], dtype=np.int64)[read.codes]  # a missing value's code is -1


def _digest(value: Any) -> int:
    said = f"{type(value).__name__} {value!r}".encode()
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "big", signed=True)


def _told_apart(codes: Sequence[Array], times: Array) -> tuple[Array, Array]:
    """The first of each kind by `codes` (n,), in order, and how many `times` (n,) it has in all.

    >>> _told_apart([np.array([7, 3, 7]), np.array([0, 0, 0])], np.array([1, 5, 2]))
    (array([0, 1]), array([3, 5]))
    """
    code, size = np.zeros(len(times), dtype=np.int64), 1
    for own in codes:
        low, high = int(own.min()), int(own.max())
        span = high - low + 1
        if span > FEW:
            values, own = np.unique(own, return_inverse=True)
            low, span = 0, len(values)
        if size * span > FEW:  # there are seldom so many kinds, and codes must not overflow
            code, size = _renumbered(code, size)
        code = code * span + (own - low)
        size *= span
    code, size = _renumbered(code, size)
    first = np.empty(size, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    order = np.argsort(first)
    return first[order], np.bincount(code, times, size).astype(np.int64)[order]


def _renumbered(code: Array, size: int) -> tuple[Array, int]:
    """Codes below `size` numbered without gaps; without sorting where there can only be few."""
    if size <= FEW:
        place = np.cumsum(np.bincount(code, minlength=size) > 0)
        return (place - 1)[code], int(place[-1])
    values, found = np.unique(code, return_inverse=True)
    return found, len(values)


def _merged(piles: Sequence[_Pile], words: str) -> _Pile:
    """The kinds of several pieces, told apart together; raises where they are too many."""

    def joined(parts: Sequence[Array | None]) -> Any:
        given = [part for part in parts if part is not None]
        return np.concatenate(given, axis=-1) if given else None

    codes = joined([pile.codes for pile in piles])
    kept, times = _told_apart(list(codes), joined([pile.times for pile in piles]))
    most = MOST // (len(codes) + piles[0].answers[..., :1].size + len(piles[0].columns))
    if len(times) > most:
        raise ValueError(
            f"population {words!r}: more than {most:,} of its rows differ in what is asked of them, and "
            "one of each kind is kept in memory. Weights, amounts of costs, scores that roc_auc "
            "compares, and decisions of very many members differ on almost every row: round weights and "
            "amounts, or judge a sample of the rows, population.only(rows).in_memory()"
        )
    y, weights = joined([pile.y for pile in piles]), joined([pile.weights for pile in piles])
    return _Pile(
        codes=codes[:, kept],
        times=times,
        y=None if y is None else y[kept],
        weights=None if weights is None else weights[kept],
        answers=joined([pile.answers for pile in piles])[..., kept],
        columns={
            name: joined([pile.columns[name] for pile in piles])[kept] for name in piles[0].columns
        },
    )
