"""Compiling: a problem on data becomes a few small arrays.

Every rate is an offset plus a weighted sum of yes-decisions over *slices*, sets of rows that some
atom counts. Rows that are in the same slices share a *cell*. So each row is one integer, and which
cell is in which slice is one bit. A constraint uses few slices, however many cells there are:

    value = offset + Σ_slices coefficient · (weight of the yeses in the slice)

With more than two classes there is such a coefficient for every decision but the first, with which the
others are compared: a rate of the first class is what remains after the other decisions.

For an upper bound that a model can descend, decisions need non-negative costs *per row*, after all rates
of the constraint are summed there. Those costs, too, are written over slices (see `split`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from scipy import sparse

from ratebound._old.base.processes import check_same, count
from ratebound._old.base.types import Array
from ratebound._old.problem._drawing_up import Drawn, Queries, draw_part, draw_up, membership
from ratebound._old.problem.coefficients import Block, Coefficients
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.general import check_general
from ratebound._old.problem.masks import NoSuchValue
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.reductions import mixed, ratios
from ratebound._old.problem.reductions.goal import (
    Linearization,
    NonlinearObjective,
    least_sum,
    linear_at,
    start_of,
    whole_of,
)
from ratebound._old.problem.sharing import check_alike, classes_of, of_all
from ratebound._old.problem.spelling_out import counting, spelled_out
from ratebound._old.rates.beyond_sums import Extreme
from ratebound._old.rates.demands import budgets_of
from ratebound._old.rates.expressions import FIRST, Expression, OfScores, Rate, Ratio, Top
from ratebound._old.rates.general import General
from ratebound._old.rates.kinds import (
    ANY,
    YES,
    Atom,
    Classes,
    atoms,
    check_decided,
    class_of,
    is_cost,
    place_of,
    referral_of,
)
from ratebound._old.rates.subsets import EVERYONE, Name, Subset, value_text

Key = tuple[float | str, Name | None]  # a threshold, and a column of amounts
PLAIN: Key = (0.0, None)  # decisions at 0, every row counted once
ROWS_AT_ONCE = 2**22  # rows sorted at a time


def compile(problem: Problem, train: Population, **others: Population) -> Compiled:
    """Compile a problem on data into a few small arrays.

    A count that does not say out of how many rows refers to all rows given here, and
    ``compiled.problem`` says so. A goal on a column covers every value that the column has here. To
    compile a part of the rows, use ``compiled.problem``: counts are then scaled to the whole, and groups
    are the same.

    Parameters
    ----------
    problem : Problem
        The objective and the promises.
    train : Population
        The rows that rates without ``on=`` refer to.
    **others : Population
        Other rows, by the names that rates use with ``on=``.

    Returns
    -------
    Compiled
        For `play`, `select` and the like; its ``evaluate`` gives the exact rates of any scores.

    Raises
    ------
    ValueError
        If a promise names a column, a value, a class or a population that does not exist, or a group
        without rows; the error names it and says what to do.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population(None, [1, 1, 0, 0], columns={"sex": ["F", "M", "F", "M"]})
    >>> problem = rb.Problem(minimize=rb.error_rate(), subject_to=[rb.recall(sex="F") >= 0.9])
    >>> compiled = rb.compile(problem, people)
    >>> objective, violations = compiled.evaluate([-1.0, 1.0, -1.0, -1.0])
    >>> float(objective), violations
    (0.25, array([0.9]))
    """
    people = {FIRST: train, **others}
    if count() > 1:
        check_same("the problem", str(problem))
        check_alike(people)
    return _to_train(compile_on(problem, people))


class NoRows(ValueError):
    """A rate is a share of a group without rows."""


def compile_on(problem: Problem, populations: dict[str, Population], first: str = FIRST) -> Compiled:
    """`compile`, with the populations by name; errors call the first of them `first`.

    To judge decisions: to train for it, the objective must have a value whatever keeps the promises.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"compile takes a rb.Problem first, got {type(problem).__name__}")
    for name, population in populations.items():
        if not isinstance(population, Population):
            raise TypeError(f"{name} must be a rb.Population, got {type(population).__name__}")
    classes = classes_of(populations, first)
    if len(classes) > 2:
        populations = {name: each.among(classes) for name, each in populations.items()}
    problem = _in_full(problem, populations, classes, first)
    check_general(problem, populations)
    if not isinstance(problem.objective, Expression):
        return _with_goal(problem, classes, lambda whole: compile_on(whole, populations, first))
    compiled = _entered(problem, populations, classes, first)
    _check_tops(compiled, first)
    return compiled


def compile_part(compiled: Compiled, chosen: Array) -> Compiled:
    """The same problem on some of its rows, which are not read again; counts are scaled to the whole.

    >>> from ratebound._old import Population, Problem, recall
    >>> people = Population(None, [0, 1, 1, 1], columns={"sex": ["F", "F", "M", "M"]})
    >>> whole = compile(Problem("error_rate()", [recall(sex="M") >= 0.9]), people)
    >>> compile_part(whole, np.array([True, False, True, True]))
    Compiled(1 constraints, 3 rows, 2 cells, 3 slices)
    """
    if (whole := compiled.whole) is not None:
        part = _with_goal(compiled.problem, compiled.classes, lambda _: compile_part(whole, chosen))
        return _to_train(part)
    rows = {name: chosen[own] for name, own in compiled.rows.items()}
    people = {name: each.only(rows[name]) for name, each in compiled.populations.items()}
    drawn = {name: draw_part(compiled.drawn[name], rows[name], each) for name, each in people.items()}
    return _entered(compiled.problem, people, compiled.classes, drawn=drawn)


def compile_again(compiled: Compiled, problem: Problem) -> Compiled:
    """Another problem on the same rows, which are read again only if it uses other subsets of them."""
    if not isinstance(problem.objective, Expression):
        return _to_train(compile_on(problem, compiled.populations))
    classes, populations = compiled.classes, compiled.populations
    problem = _in_full(problem, populations, classes, FIRST)
    return _entered(problem, populations, classes, drawn=compiled.drawn)


def _in_full(
    problem: Problem, populations: dict[str, Population], classes: Classes, first: str
) -> Problem:
    """A problem with its goals spelled out, checked against these rows."""
    check_decided(problem.rates, classes)
    weights = {name: _weight(each) for name, each in populations.items()}
    problem = counting(spelled_out(problem, populations, first, countable=True), weights)
    if len(classes) > 2:
        _check_said(problem, classes)
    return problem


def _entered(
    problem: Problem,
    populations: dict[str, Population],
    classes: Classes,
    first: str = FIRST,
    drawn: dict[str, Drawn] | None = None,
) -> Compiled:
    """A problem whose objective is a sum and whose goals are spelled out, as arrays."""
    check_general(problem, populations)
    book = _Book(problem, populations, first, classes, drawn or {})
    book.enter(0, problem.cost, f"the objective {problem.objective}")
    for row, demand in enumerate(problem.demands, start=1):
        book.enter(row, demand.expression, f"the constraint {demand.words}", demand.per_row)
        if isinstance(demand.words.left, General):
            book.scale[row] = demand.words.left.scale
        if isinstance(demand.words.left, Top) or demand.spent:  # counts as shares of so many rows
            book.scale[row] = 1.0
    starts = np.cumsum([0] + [len(p) for p in populations.values()])
    cells, membership = book.cells()
    nets = book.net()
    blocks = tuple(Block(at, net, book.stacked(column)) for (at, column), net in nets.items())
    return Compiled(
        problem=problem,
        populations=populations,
        rows={name: slice(*starts[i : i + 2]) for i, name in enumerate(populations)},
        cells=cells,
        membership=membership,
        slice_count=len(book.slices),
        blocks=blocks,
        offset=book.offset,
        scale=np.where(book.scale > 0, book.scale, 1.0),
        weights=_stacked_weights(populations),
        coefficients=Coefficients(blocks, membership, len(book.slices), len(classes)),
        budgets=_budgets(problem, book),
        classes=classes,
        drawn=book.drawn,
    )


def _weight(population: Population) -> float:
    """The weight of all rows, over all processes."""
    return float(sum(of_all(population, population.total_weight)))


def _check_said(problem: Problem, classes: Classes) -> None:
    """Raise if an area or a ratio does not fit several classes; the error quotes the promise."""
    for promise in problem.constraints:
        if isinstance(promise.left, OfScores):
            what = "a rate of the largest scores" if isinstance(promise.left, Top) else "an area"
            if referral_of(classes) is not None:
                raise ValueError(
                    f"{promise}: {what} needs one score per row, but with referrals it has several: "
                    "bound rates instead, as in recall() >= 0.8"
                )
            raise ValueError(
                f"{promise}: {what} needs two classes, but there are {len(classes)}: bound "
                f"rates of a class instead, as in recall(of={value_text(classes[-1])}) >= 0.8"
            )
    objective = problem.objective
    said = [objective, *(promise.left for promise in problem.constraints)]
    for metric in [*said, *(objective.parts if isinstance(objective, Extreme) else ())]:
        if isinstance(metric, Ratio) and metric.rate is not None:
            try:
                class_of(metric.rate, classes)
            except ValueError as error:
                raise ValueError(f"{metric}: {error}") from None


def goal_of(problem: Problem) -> NonlinearObjective | None:
    """The objective as a function of sums of rates; None if it is a sum itself.

    >>> goal_of(Problem(maximize="smallest(recall(), accuracy())")).pieces
    (-recall(), -accuracy())
    """
    if ratios.accepts(problem):
        return ratios.apply(problem)
    return mixed.apply(problem) if mixed.accepts(problem) else None


def _with_goal(problem: Problem, classes: Classes, measured: Callable[[Problem], Compiled]) -> Compiled:
    """A problem whose objective is not a sum: its pieces, `measured`, and the first linear problem."""
    goal = goal_of(problem)
    assert goal is not None
    try:
        whole = measured(whole_of(problem, goal))
    except ValueError as error:
        said = str(error).partition(" (in the ")
        raise type(error)(f"{said[0]} (in {problem.objective} or a promise)") from None
    linear = compile_again(whole, linear_at(problem, goal, start_of(goal, whole)))
    return replace(linear, problem=problem, goal=goal, whole=whole, piece_count=len(goal.pieces))


def _to_train(compiled: Compiled) -> Compiled:
    """The same; raises if its goal may have no value although all promises are kept."""
    goal, whole = compiled.goal, compiled.whole
    if goal is None or whole is None:
        return compiled
    return replace(compiled, goal=goal.checked(partial(least_sum, whole, len(compiled.problem.demands))))


def at_point(compiled: Compiled, point: Linearization) -> Compiled:
    """The linear problem at a point on the way to a goal; margins do not change."""
    assert compiled.goal is not None
    linear = compile_again(compiled, linear_at(compiled.problem, compiled.goal, point))
    own = len(compiled.offset)
    offset = np.concatenate([linear.offset[:1], compiled.offset[1:], linear.offset[own:]])
    return replace(linear, offset=offset, whole=compiled.whole, piece_count=compiled.piece_count)


class _Book:
    """Collects the atoms of all expressions, once everything they need from the rows is known."""

    def __init__(
        self,
        problem: Problem,
        populations: dict[str, Population],
        first: str,
        classes: Classes,
        known: dict[str, Drawn],
    ) -> None:
        self.populations, self.first, self.classes = populations, first, classes
        self.totals = {name: _weight(each) for name, each in populations.items()}
        self.offset = np.zeros(1 + len(problem.demands))
        self.scale = np.zeros(1 + len(problem.demands))
        self.slices: dict[tuple[str, Subset], int] = {}
        # For each threshold and column of amounts: row, decision and slice -> coefficient.
        self.entries: dict[Key, dict[tuple[int, int, int], float]] = {PLAIN: defaultdict(float)}
        self.atoms: Callable[[Rate], tuple[Atom, ...]] = lru_cache(maxsize=None)(
            lambda rate: atoms(rate, classes)
        )
        self.asked = {name: Queries() for name in populations}
        self._ask(problem.cost, per_row=False)
        for demand in problem.demands:
            self._ask(demand.expression, demand.per_row)
        if not any(asked.slices for asked in self.asked.values()):  # no decision has any effect
            self.asked[FIRST].slices[EVERYONE] = None
        self.drawn = {
            name: known[name]
            if name in known and known[name].asked.same_as(self.asked[name])
            else draw_up(each, self.asked[name])
            for name, each in populations.items()
        }

    def _ask(self, expression: Expression, per_row: bool) -> None:
        """Register the queries that `enter` needs. Errors in the words are raised by `enter`."""
        for rate, _ in expression.terms:
            if rate.population not in self.populations:
                continue
            asked = self.asked[rate.population]
            with suppress(ValueError):
                for atom in self.atoms(rate):
                    among = rate.subset if per_row else atom.over
                    if among is not None:
                        asked.weighed[among, None] = None
                    asked.weighed[atom.given, atom.amounts] = None
                    if atom.predicted is not ANY:
                        asked.slices[atom.given] = None

    def enter(self, row: int, expression: Expression, words: str, per_row: bool = False) -> None:
        """Enter an expression; with `per_row` its counts are shares of their subset."""
        self.offset[row] += expression.constant
        for rate, coefficient in expression.terms:
            try:
                self._enter_rate(row, rate, coefficient, per_row)
            except ValueError as error:
                kind = type(error) if isinstance(error, NoRows | NoSuchValue) else ValueError
                name = rate.on or self.first
                raise kind(f"{rate}: population {name!r}: {error} (in {words})") from None

    def _enter_rate(self, row: int, rate: Rate, coefficient: float, per_row: bool) -> None:
        name = rate.population
        if name not in self.populations:
            known = ", ".join(repr(self.first if each == FIRST else each) for each in self.populations)
            raise ValueError(
                f"it is not given, only {known}. Pass it as a keyword, {name}=..., beside the first "
                "population"
            )
        at = rate.at if rate.at is not None else 0.0
        if len(self.classes) > 2 and not isinstance(at, str) and at != 0:
            raise ValueError(
                f"with {len(self.classes)} classes there is no single score to compare with {at}: name "
                f'the threshold, as in at="cautious", and an offset for each class is learned'
            )
        largest = 0.0  # its largest possible value, if it is a cost
        for atom in self.atoms(rate):
            among = rate.subset if per_row else atom.over
            if among is None:
                assert rate.per is not None  # every other count has it by now
                share = coefficient * (rate.per / self.totals[name])
            else:
                over = self.drawn[name].weigh(among)
                if over <= 0:
                    raise NoRows(
                        f"no row (or no weight) where {_words(among)}, so this rate does not "
                        "exist here: widen the group, or leave the constraint out"
                    )
                share = coefficient / over
            share *= atom.factor
            if atom.predicted is not YES:
                self.offset[row] += share * self.drawn[name].weigh(atom.given, atom.amounts)
            if atom.predicted is not ANY:
                sign = 1.0 if atom.predicted is YES else -1.0
                self._enter_decision(row, at, atom, name, sign * share)
            if is_cost(rate):
                largest += abs(share / coefficient) * self.drawn[name].weigh(atom.given, atom.amounts)
        self.scale[row] = max(self.scale[row], largest if is_cost(rate) else max(1.0, rate.per or 1.0))

    def _enter_decision(self, row: int, at: float | str, atom: Atom, name: str, share: float) -> None:
        """Enter the coefficient of the atom's class; the first class is what the others leave."""
        entries = self.entries.setdefault((at, atom.amounts), defaultdict(float))
        decision, index = place_of(atom.of, self.classes), self._slice(name, atom.given)
        if decision > 0:
            entries[row, decision, index] += share
            return
        self.offset[row] += share * self.drawn[name].weigh(atom.given, atom.amounts)
        for other in range(1, len(self.classes)):
            entries[row, other, index] -= share

    def stacked(self, column: Name | None) -> Array | None:
        """The amounts (n,) of all rows in a column, 0 for rows that no cost uses."""
        if column is None:
            return None
        parts = [
            self.drawn[name].amounts.get(column, np.zeros(len(population)))
            for name, population in self.populations.items()
        ]
        return np.nan_to_num(np.concatenate(parts))

    def _slice(self, name: str, subset: Subset) -> int:
        self.drawn[name].check(subset)
        return self.slices.setdefault((name, subset), len(self.slices))

    def net(self) -> dict[Key, sparse.csr_array]:
        """Coefficients of decisions per slice, (1+m, (D - 1) * slices) for each key."""
        shape, matrices = (len(self.offset), (len(self.classes) - 1) * len(self.slices)), {}
        for key, entries in self.entries.items():
            if entries or key == PLAIN:
                row, decision, index = np.array(list(entries), dtype=np.int64).reshape(-1, 3).T
                column = (decision - 1) * len(self.slices) + index
                matrix = sparse.csr_array((list(entries.values()), (row, column)), shape=shape)
                matrix.eliminate_zeros()
                matrices[key] = matrix
        if len(matrices) > 1 and not matrices[PLAIN].nnz:
            del matrices[PLAIN]
        return matrices

    def cells(self) -> tuple[Array, Array]:
        """Each row's cell (n,), and the packed membership of cells in slices, at least one."""
        if not self.slices:
            self._slice(FIRST, EVERYONE)
        cells, memberships, first = [], [], 0
        for name, drawn in self.drawn.items():
            own = [self.slices[name, subset] for subset in self.asked[name].slices]
            cells.append(drawn.cells + np.int32(first) if first else drawn.cells)
            memberships.append(membership(drawn, own, len(self.slices)))
            first += len(drawn.patterns)
        together = cells[0] if len(cells) == 1 else np.concatenate(cells)
        return together, np.concatenate(memberships)


def _budgets(problem: Problem, book: _Book) -> dict[str, tuple[int, float]]:
    """For each threshold of an area or a top: the slice of rows it is measured on, and their share."""
    budgets: dict[str, tuple[int, float]] = {}
    for metric in (c.left for c in problem.constraints if isinstance(c.left, OfScores)):
        for name, budget in budgets_of(metric).items():
            (spent,) = budget.left.rates
            (atom,) = book.atoms(spent)
            on, share = spent.population, budget.right.constant
            if atom.over is None:
                assert spent.per is not None  # every count has it by now
                share *= book.totals[on] / spent.per / book.drawn[on].weigh(atom.given)
            budgets[name] = book.slices[on, atom.given], share
    return budgets


def _check_tops(compiled: Compiled, first: str) -> None:
    """Raise if a promise about the largest scores asks for more rows than there are."""
    for promise in compiled.problem.constraints:
        if isinstance(promise.left, Top) and compiled.budgets[str(promise.left)][1] > 1:
            rate = promise.left.rate
            assert rate.top is not None
            rows = rate.top / compiled.budgets[str(promise.left)][1]
            raise NoRows(
                f"{promise.left}: population {rate.on or first!r}: where {_words(rate.subset)} there "
                f"are {rows:,.4g} of every {rate.per:,} rows, so there are no {rate.top:,} largest "
                f"scores: ask for fewer, or for a share of them, as in {rate.kind}(top=0.1) (in the "
                f"constraint {promise})"
            )


def _stacked_weights(populations: dict[str, Population]) -> Array | None:
    if all(population.weights is None for population in populations.values()):
        return None
    return np.concatenate([population.row_weights for population in populations.values()])


def _words(subset: Subset) -> str:
    return str(subset) or "there are rows at all"


def parted(
    compiled: Compiled,
    share: float,
    seed: int,
    groups: Array | None = None,
    together: Array | None = None,
) -> tuple[Compiled, Compiled]:
    """The same problem on training rows, and on the share of every cell that is held out.

    Counts refer to all rows, whichever part they are counted on. Each of `groups`, given by their
    numbers (n,), keeps at least one row to train on. Rows with the same number in `together` (n,) stay
    together.

    >>> from ratebound._old import Population, Problem, compile, recall
    >>> people = Population(None, [0, 1] * 50, columns={"sex": ["F"] * 50 + ["M"] * 50})
    >>> parts = parted(compile(Problem("error_rate()", [recall(sex="F") >= 0.9]), people), 0.2, seed=0)
    >>> [len(part.first) for part in parts], [int(part.first.y.sum()) for part in parts]
    ([80, 20], [40, 10])
    """
    return divided(compiled, set_aside(compiled, share, seed, groups, together))


def divided(compiled: Compiled, aside: Array) -> tuple[Compiled, Compiled]:
    """The same problem on all rows but those held out (n,), and on those."""
    return _on(compiled, ~aside, "training"), _on(compiled, aside, "held-out")


def set_aside(
    compiled: Compiled,
    share: float,
    seed: int,
    groups: Array | None = None,
    together: Array | None = None,
) -> Array:
    """Which rows `parted` holds out (n,)."""
    if together is None:
        aside = held_out(compiled.cells, share, seed)
    else:
        first = np.unique(together, return_index=True)[1]
        aside = held_out(compiled.cells[first], share, seed)[together]
    if groups is not None:
        aside[np.unique(groups, return_index=True)[1]] = False
    if aside.all() or not aside.any():
        empty, other = ("training", "smaller") if aside.all() else ("held-out", "larger")
        raise ValueError(f"with 0 {empty} rows nothing can be measured: choose a {other} share")
    return aside


def _on(compiled: Compiled, chosen: Array, called: str) -> Compiled:
    try:
        return compile_part(compiled, chosen)
    except ValueError as error:
        raise ValueError(f"among the {chosen.sum():,} {called} rows: {error}") from None


def held_out(cells: Array, share: float, seed: int) -> Array:
    """Which rows to hold out (n,): the same share of every cell, up to rounding, drawn at random.

    Rows are sorted by cell, shuffled within each, and taken at even distances. So every group and label
    has its share, however small the cells. Very many rows are processed `ROWS_AT_ONCE` at a time.
    """
    random = np.random.default_rng(seed)
    chosen = np.zeros(len(cells), dtype=bool)
    for start in range(0, len(cells), ROWS_AT_ONCE):
        some = cells[start : start + ROWS_AT_ONCE]
        order = np.lexsort((random.random(len(some)), some))
        passed = np.floor((np.arange(len(some) + 1) * share) + random.random())
        chosen[start + order] = np.diff(passed) > 0
    return chosen
