"""Rows whose group is guessed, as rows whose group is known: what `rb.guessed` means on data.

With probabilities, a row becomes a copy for each value that it may have, weighted by that value's
probability. All copies have the same features, and so the same decision; their weights sum to the row's.
So a group's rate weighs each row by its probability of belonging, and every other rate is unchanged:

    positive_rate(race == "a") = Σ p_i(a) [yes_i] / Σ p_i(a)

which is linear in the decisions. Copies of a row were drawn together, and a column identifies them.

With an audited sample, the column holds the true value of audited rows and is missing in all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import some
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.values import ReadColumn
from ratebound._old.rates.expressions import FIRST, Rate
from ratebound._old.rates.grouping import Goal, Promise
from ratebound._old.rates.guesses import Guessed, as_guessed, rates_in, whatever_is_missing
from ratebound._old.rates.kinds import referral_of
from ratebound._old.rates.subsets import (
    Compare,
    In,
    Missing,
    Name,
    column_text,
    columns_in,
    leaves,
    value_text,
)

ROUNDING = 0.005  # the error allowed in a sum of probabilities, which may be rounded
COPIES = "(row)"  # the column that identifies copies of the same row


def with_known_groups(
    problem: Problem, populations: Mapping[str, Population], first: str = ""
) -> dict[str, Population]:
    """The populations with a value in every guessed column that promises use.

    Populations that this function returned are not changed again.

    >>> from ratebound._old import guessed
    >>> race = guessed("race", probabilities=["p_a", "p_b"])
    >>> rows = Population(None, [1, 0], columns={"p_a": [1.0, 0.25], "p_b": [0.0, 0.75]})
    >>> problem = Problem("error_rate()", ['recall(race == "a") >= 0.5'], guessed=race)
    >>> known = with_known_groups(problem, {"train": rows})["train"]
    >>> known.column("race").tolist(), known.weights
    (['a', 'a', 'b'], array([1.  , 0.25, 0.75]))
    """
    if not problem.guessed:
        return dict(populations)
    people = {}
    for name, population in populations.items():
        own = population
        for each in problem.guessed:
            if not _is_asked(problem, each, name):
                continue
            _check_values(problem, each)
            try:
                own = _known(own, each)
            except ValueError as error:
                called = first if first and name == FIRST else name
                raise ValueError(f"{each}: population {called!r}: {error}") from None
        people[name] = own
    return people


def knowing(
    problem: Problem, ways: tuple[Guessed, ...], populations: Mapping[str, Population]
) -> Problem:
    """The problem with `guessed` columns, on these rows.

    If nothing is missing in a column whose missing values may be anything, promises do not change.
    """
    is_open = [each for each in ways if _is_open(each, populations)]
    classes = [each.classes or () for each in populations.values()]
    for each in is_open:
        if each.level == "anything" and any(referral_of(own) is not None for own in classes):
            raise ValueError(
                f"{each}: the worst case over missing values is not known if rows may be referred: "
                "leave refer= out, or audit some rows, and write "
                f"guessed({value_text(each.column)}, audited='column')"
            )
    known = problem.guessing(is_open)
    return known.known_by(as_guessed(dict.fromkeys((*problem.guessed, *ways))))


def whatever_is_missing_here(problem: Problem, populations: Mapping[str, Population]) -> Problem:
    """The problem whose promises hold whatever the missing values in these rows are.

    A model trained on rows without missing values has promises in their own words.
    """
    for each in problem.guessed:
        if each.level == "anything" and _is_open(each, populations):
            promises = [
                promise
                if _is_excused_for(promise, each.column)
                else whatever_is_missing(promise, each.column)
                for promise in problem.subject_to
            ]
            if tuple(promises) != problem.subject_to:
                problem = problem.promising(promises).leaving_out(problem.left_out)
    return problem


def _is_open(each: Guessed, populations: Mapping[str, Population]) -> bool:
    """Whether some row may have any value, as far as is known without reading a file."""
    return each.level != "anything" or any(
        rows.stored or rows.values(each.column).missing.any()
        for rows in populations.values()
        if each.column in rows.column_names
    )


def _is_excused_for(promise: Promise, column: Name) -> bool:
    """Whether a promise already covers whatever is missing in a column."""
    return any(Missing(column) in tuple(leaves(rate.subset)) for rate in rates_in(promise))


def copied_by(problem: Problem) -> Name | None:
    """The column that identifies copies of the same row, if there are copies."""
    calibrated = (each for each in problem.guessed if each.level == "calibrated")
    return COPIES if any(_is_asked(problem, each) for each in calibrated) else None


def _is_asked(problem: Problem, each: Guessed, population: str | None = None) -> bool:
    """Whether a promise or the objective names the column, in this population or in any."""
    goals = (p for p in problem.subject_to if isinstance(p, Goal) and each.column in p.columns)
    if any(population in (None, goal.population) for goal in goals):
        return True
    return any(
        population in (None, rate.population) and each.column in columns_in(rate.subset)
        for rate in _all_rates(problem)
    )


def _all_rates(problem: Problem) -> Iterator[Rate]:
    yield from problem.objective.rates
    for promise in problem.subject_to:
        yield from rates_in(promise)


def _check_values(problem: Problem, each: Guessed) -> None:
    """Raise if a promise names a value that has no probability."""
    if each.level != "calibrated":
        return
    for rate in _all_rates(problem):
        for leaf in leaves(rate.subset):
            if getattr(leaf, "column", None) != each.column:
                continue
            named = leaf.values if isinstance(leaf, In) else (getattr(leaf, "value", None),)
            if isinstance(leaf, Compare) and leaf.relation not in ("==", "!="):
                continue
            for value in named:
                if value is not None and value not in each.values:
                    raise ValueError(
                        f"{rate}: there is no probability that {column_text(each.column)} is "
                        f"{value_text(value)}: {each} has {some(each.values)}. Add a column "
                        "for it, or name one of these"
                    )


def _known(population: Population, each: Guessed) -> Population:
    if population.stored and each.level != "anything":
        raise ValueError(
            "rows are on disk, but guessed columns need rows in memory: give population.in_memory()"
        )
    if each.level == "calibrated":
        return population if COPIES in population.columns else copied(population, each)
    if each.level == "audited":
        return _audited(population, each)
    if not population.stored:
        _check_some(each, population.values(each.column), each.column)
    return population


def _check_some(each: Guessed, column: ReadColumn, name: Name) -> None:
    if column.missing.all():
        remedy = {
            "anything": "nothing can be promised about its groups: audit some rows, and write "
            f"guessed({value_text(name)}, audited='column')",
            "audited": "no row was audited: have some rows audited, drawn at random",
        }[each.level]
        raise ValueError(f"column {name!r} is missing in every row, so {remedy}")


# --- an audited sample -------------------------------------------------------------------------------


def _audited(population: Population, each: Guessed) -> Population:
    """The rows with the true value in the column if they were audited, and a missing one if not."""
    assert each.audited is not None
    population.check_column(each.audited)
    seen = population.values(each.audited)
    _check_some(each, seen, each.audited)
    known = population.only(np.arange(len(population)))
    known.columns = dict(population.columns)
    if guess_of(each) not in known.columns and each.column in population.column_names:
        unseen = population.values(each.column).missing[seen.missing]
        if not len(unseen) or not unseen.all():  # otherwise no unaudited row has a guess
            known.columns[guess_of(each)] = population.column(each.column)
    known.columns[each.column] = population.column(each.audited)
    return known


def guess_of(each: Guessed) -> str:
    """The column with the guesses, if any, once the column itself holds the truth."""
    return f"(guess of {each.column})"


# --- probabilities -----------------------------------------------------------------------------------


def copied(population: Population, each: Guessed) -> Population:
    """A copy of each row for each value that it may have, weighted by its probability."""
    likely = probabilities(population, each)
    row, place = np.nonzero(likely)
    copies = population.only(row)
    weights = likely[row, place]
    copies.weights = weights if copies.weights is None else copies.weights * weights
    values = np.array(each.values, dtype=object)
    copies.columns[each.column] = values[place]
    copies.columns[COPIES] = row
    return copies


def of_copies(population: Population, scores: Array) -> Array:
    """Scores (..., n) of rows repeated for their copies; unchanged if there are no copies."""
    if COPIES not in population.columns:
        return scores
    row = population.columns[COPIES]
    rows = int(row.max()) + 1
    return scores[..., row] if scores.ndim and scores.shape[-1] == rows != len(row) else scores


def as_given(population: Population, given: Population) -> Population:
    """The rows of a part of `given`, each once, as it was given."""
    if COPIES not in population.columns:
        return population
    return given.only(np.unique(population.columns[COPIES]))


def without_copies(population: Population) -> Population:
    """One copy of each row, with the weight of all its copies."""
    if COPIES not in population.columns:
        return population
    _, first, place = np.unique(population.columns[COPIES], return_index=True, return_inverse=True)
    rows = population.only(first)
    weights = np.bincount(place, population.row_weights)
    rows.weights = None if np.allclose(weights, 1.0) else weights
    del rows.columns[COPIES]
    return rows


def probabilities(population: Population, each: Guessed) -> Array:
    """The probability of each value for each row, (n, values), checked; 0 or 1 for known values."""
    likely = np.column_stack([_numbers(population, name) for _, name in each.probabilities])
    known = _known_values(population, each)
    open_rows = known < 0
    own = likely[open_rows]
    _check(own, each)
    likely[open_rows] = own / own.sum(axis=1, keepdims=True)
    rows = np.flatnonzero(~open_rows)
    likely[rows] = 0.0
    likely[rows, known[rows]] = 1.0
    return likely


def _numbers(population: Population, name: Name) -> Array:
    population.check_column(name)
    column = population.values(name)
    if column.kinds - {"numbers"}:
        held = " and ".join(sorted(column.kinds))
        raise ValueError(f"column {name!r} holds {held}, but probabilities are numbers: convert it")
    values = column.values.astype(float)
    return values if column.codes is None else np.append(values, np.nan)[column.codes]


def _known_values(population: Population, each: Guessed) -> Array:
    """The index of each row's known value among the values with a probability, (n,); -1 if unknown."""
    places = np.full(len(population), -1)
    if each.column not in population.column_names:
        return places
    column = population.values(each.column)
    for place, value in enumerate(each.values):
        places[column.equal(value)] = place
    other = (places < 0) & ~column.missing
    if other.any():
        row = int(np.flatnonzero(other)[0])
        value = population.column(each.column)[row]
        raise ValueError(
            f"column {each.column!r} exists too, and in {int(other.sum()):,} rows it holds a value "
            f"without a probability, such as {value!r}: its values are taken as known. If it holds "
            "guesses, use another name for the group in promises"
        )
    return places


def _check(likely: Array, each: Guessed) -> None:
    names = [name for _, name in each.probabilities]
    for place, name in enumerate(names):
        own = likely[:, place]
        if lacking := int(np.isnan(own).sum()):
            raise ValueError(
                f"column {name!r} has no probability in {lacking:,} rows: fill it in, or write "
                f"guessed({value_text(each.column)}, missing='anything')"
            )
        wrong = own[(own < 0) | (own > 1 + ROUNDING)]
        if len(wrong):
            remedy = "write 0 instead" if wrong[0] < 0 else "divide percentages by 100"
            raise ValueError(
                f"column {name!r} holds {wrong[0]:g}, but a probability is between 0 and 1: {remedy}"
            )
    sums = likely.sum(axis=1)
    off = np.flatnonzero(np.abs(sums - 1) > ROUNDING)
    if len(off):
        raise ValueError(
            f"the probabilities {', '.join(map(str, names))} of a row must sum to 1, but in "
            f"{len(off):,} of {len(sums):,} rows they do not: in row {off[0]} they sum to "
            f"{sums[off[0]]:.4g}. Divide by the sum, or add a column for the remaining values"
        )
