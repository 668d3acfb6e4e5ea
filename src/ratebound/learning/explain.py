"""Constraints are explained before training: are they feasible, which conflict, what do they cost?

A linear program shows what no classifier can do, even one that saw the labels: it decides any share
of the rows of each *kind*, and kinds are all that constraints and amounts tell apart. A quick model
shows what some classifier can do.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import bmat, eye, kron

from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.learning.influence import RowReader
from ratebound.learning.learning import compile_problem
from ratebound.learning.rules import TOLERANCE
from ratebound.learning.status import ConfidenceNotReached, ConstraintsViolated, Status, join_texts
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.sums import FIRST

LEAST = 1e-7  # violation in units, or price, that the solver tells from 0
FOUR_DIGITS = Context(prec=4, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class Explained:
    """One constraint, on its own and among the others."""

    constraint: str
    rows: int  # of the smallest set that it is about
    violation: float  # of the best classifier for it alone, even one that saw the labels
    relax: float  # by how much, for classifiers to meet all constraints; 0 if not in conflict
    bounds_ratio: bool  # then both are those of its numerator
    met_by: tuple[str, ...]  # simple classifiers

    def __str__(self) -> str:
        start = f"{self.constraint}: {self.rows:,} rows"
        if self.violation:
            return f"{start}; every classifier violates it by {self.format(self.violation)} or more"
        names = ", ".join(self.met_by) or "no simple classifier"
        return f"{start}; met by {names}"

    def format(self, amount: float) -> str:
        """Write by how much the constraint is violated or relaxed."""
        return f"{amount:.4g} in its numerator" if self.bounds_ratio else f"{amount:.4g}"


@dataclass(frozen=True)
class Explanation:
    """Whether constraints can be met, which conflict, and what they cost in the objective."""

    objective: str
    constraints: tuple[Explained, ...]
    met_by: tuple[str, ...]  # classifiers that meet all constraints
    best: float | None  # objective of any classifier that meets all, if it is a sum
    quick: Status | None  # of a quick model, if there are features and labels and no conflict

    @property
    def conflict(self) -> tuple[str, ...]:
        """The constraints that no classifier meets together."""
        return tuple(item.constraint for item in self.constraints if item.relax)

    @property
    def verdict(self) -> str:
        """The constraints are "feasible" or "infeasible" on these rows, or "not shown" to be so."""
        if self.conflict:
            return "infeasible"
        return "feasible" if self.met_by else "not shown"

    def __str__(self) -> str:
        lines = [f"{self.verdict.capitalize()}: {self._give_reason()}"]
        lines += [f"  {item}." for item in self.constraints]
        if self.best is not None:
            best = f"{self.objective} is at best {self.best:z.4f}"  # no -0.0000
            lines.append(f"With all constraints met, {best}, even if labels were known.")
        if self.quick is not None:
            lines.append(f"Status of the quick model: {self.quick}")
        return "\n".join(lines)

    def _give_reason(self) -> str:
        if self.met_by:
            return f"on these rows all constraints are met by {', '.join(self.met_by)}."
        relaxed = [item for item in self.constraints if item.relax]
        if not relaxed:
            return "no conflict is proven, but no classifier tried here meets all constraints."
        texts = [f"{item.constraint} (relax by {item.format(item.relax)})" for item in relaxed]
        conflict = join_texts(texts)
        return f"no classifier meets all constraints on these rows. In conflict: {conflict}."


def explain(
    problem: Any,
    rows: Any,
    *,
    known: Any = None,
    model: Any = "linear",
    seed: int = 0,
    **others: Any,
) -> Explanation:
    """Return whether the constraints can be met on these rows, which conflict, and what they cost.

    Parameters
    ----------
    problem : Problem, or constraints
        The objective and the constraints, or constraints alone.
    rows : Population
        The rows; features and labels may be missing.
    known : str or list of str, default=None
        Columns that a quick model may use when deciding.
    model : str or classifier, default="linear"
        The quick model, as for `RateConstrainedClassifier`.
    seed : int, default=0
        The seed of its training.
    **others : Population
        Other rows, by the names that rates use with ``on=``.

    Returns
    -------
    Explanation
        Its text starts with the verdict.

    Raises
    ------
    ValueError
        If there are no constraints, if a constraint names rows that do not exist, or if it compares
        two ratios; the error says what to write instead.

    Examples
    --------
    >>> import ratebound as rb
    >>> from ratebound.learning.explain import explain
    >>> rows = rb.Population(y=[1, 1, 1, 0])
    >>> explanation = explain([rb.positive_rate() <= 0.25, rb.recall() >= 0.9], rows)
    >>> explanation.verdict, explanation.conflict
    ('infeasible', ('positive_rate() <= 0.25', 'recall() >= 0.9'))
    >>> [item.relax for item in explanation.constraints]
    [0.2429, 0.2429]
    """
    if not isinstance(problem, Problem):
        problem = Problem("error_rate()", problem)
    if not problem.constraints:
        raise ValueError("the problem has no constraints, so there is nothing to explain")
    compiled = compile_problem(problem, {FIRST: rows, **others})
    worth = _compute_worth(compiled)
    relax = _find_relaxations(worth)
    met = _judge_constant_rules(worth, compiled.classes.values)
    best = None
    if compiled.objective.is_sum and not relax.any():
        sign = compiled.objective.sign
        solved = _solve(worth, sign * worth.objective, LEAST, np.zeros(len(relax)))
        best = float(compiled.offset[0] + sign * solved.fun)
    quick = None
    has_features = all(part.X is not None for part in (rows, *others.values()))
    has_labels = rows.y is not None and len(np.unique(rows.y)) > 1
    if has_features and has_labels and not relax.any():
        classifier = RateConstrainedClassifier(
            objective=problem,
            known=known,
            model=model,
            refer=rows.refer,
            positive_label=rows.classes[-1] if len(rows.classes) == 2 else None,
            random_state=seed,
        )
        quick = _fit_quietly(classifier, rows, others)
        rules = classifier.learned_.rules
        violations = rules.get_rule(0).violations / rules.scale
        met["the quick model without constraints"] = violations <= TOLERANCE
        met["the quick model"] = np.array([item.met for item in quick.constraints])
    return Explanation(
        objective=str(problem.objective),
        constraints=_explain_each(compiled, worth, relax, met),
        met_by=tuple(name for name, is_met in met.items() if is_met.all()),
        best=best,
        quick=quick,
    )


def _explain_each(
    compiled: Compiled,
    worth: Worth,
    relax: Any,
    met: Mapping[str, Any],
) -> tuple[Explained, ...]:
    least = worth.offset + np.minimum(worth.decisions.min(axis=1), 0).sum(axis=1)
    violations = np.where(least > LEAST, least, 0.0) * worth.units
    amounts = relax * worth.units * (1 - LEAST)  # rounded up, but not for an error of the solver
    reader = RowReader(compiled)
    items = []
    for index, row in enumerate(compiled.rows):
        item = Explained(
            constraint=row.text,
            rows=min(int(reader.find_among(rate).sum()) for rate in row.sum.rates),
            violation=float(violations[index]),
            relax=float(FOUR_DIGITS.create_decimal_from_float(amounts[index])),
            bounds_ratio=row.ratio is not None,
            met_by=tuple(name for name, is_met in met.items() if is_met[index]),
        )
        items.append(item)
    return tuple(items)


# --- what no classifier can do --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Worth:
    """What decisions but the first add on all rows of a kind, in units of the constraints."""

    objective: Any  # (D - 1, kinds)
    decisions: Any  # (m, D - 1, kinds)
    offset: Any  # (m,) the violations if the first decision is made everywhere
    units: Any  # (m,)


def _compute_worth(compiled: Compiled) -> Worth:
    amounts = [block.amounts for block in compiled.blocks if block.amounts is not None]
    row_keys = np.column_stack([compiled.cell, *amounts])
    keys, kind = np.unique(row_keys, axis=0, return_inverse=True)
    cell = keys[:, 0].astype(int)
    total: Any = 0
    for block in compiled.blocks:
        weight = np.bincount(kind.ravel(), compiled.weight_of(block))
        total = total + compiled.per_cell(block.coefficients)[:, :, cell] * weight
    units = compiled.scale[-len(compiled.rows) :]
    return Worth(
        objective=total[0],
        decisions=total[-len(units) :] / units[:, None, None],
        offset=compiled.offset[-len(units) :] / units,
        units=units,
    )


def _find_relaxations(worth: Worth) -> Any:
    """Return by how much (m,) constraints in conflict are relaxed, so that all can be met."""
    constraints = len(worth.offset)
    no_objective = np.zeros_like(worth.objective)
    relax = np.zeros(constraints)
    is_open = np.ones(constraints, dtype=bool)
    while is_open.any():
        solved = _solve(worth, no_objective, relax, is_open)
        if solved.fun <= LEAST:
            break
        prices = -solved.ineqlin.marginals[:constraints]
        conflict = is_open & (prices > LEAST)
        relax[conflict] = solved.fun
        is_open &= ~conflict
    return relax


def _solve(
    worth: Worth,
    objective: Any,
    limits: Any,
    is_elastic: Any,
) -> Any:
    """Return the cheapest decisions with violations of at most limits + t, where elastic."""
    constraints, decisions, kinds = worth.decisions.shape
    cost = np.append(objective, 1.0)
    of_decisions = worth.decisions.reshape(constraints, -1)
    of_t = -1.0 * is_elastic[:, None]
    once = kron(np.ones((1, decisions)), eye(kinds))
    at_most = bmat([[of_decisions, of_t], [once, None]])
    solved = linprog(cost, at_most, np.append(limits - worth.offset, np.ones(kinds)))
    if solved.x is None:
        raise ValueError(f"the solver could not explain these constraints: {solved.message}")
    return solved


# --- what some classifiers do ---------------------------------------------------------------------


def _judge_constant_rules(worth: Worth, decisions: Sequence[Any]) -> dict[str, Any]:
    """Return which constraints (m,) are met by each decision for everyone."""
    added = worth.decisions.sum(axis=2).T
    violations = worth.offset + np.insert(added, 0, 0.0, axis=0)
    names = [f"{value!r} for everyone" for value in decisions]
    return dict(zip(names, violations <= TOLERANCE, strict=True))


def _fit_quietly(
    classifier: RateConstrainedClassifier,
    rows: Population,
    others: Mapping[str, Population],
) -> Status:
    """Fit a classifier, and return its status, which says what a warning would."""
    tables = {name: (part.X, part.y, part.columns) for name, part in others.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintsViolated)
        warnings.simplefilter("ignore", ConfidenceNotReached)
        classifier.fit(rows.X, rows.y, rows.columns, rows.weights, **tables)
    return classifier.status_
