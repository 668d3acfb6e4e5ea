"""``ratebound explain``: what promises mean on a table, before any training for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ratebound.auditing import audit
from ratebound.commands.findings import PERFECT, Findings, as_text
from ratebound.commands.possible import Least, least_violation
from ratebound.commands.rows import Rows, check_known, rows_of, stated, visible
from ratebound.commands.runs import Run
from ratebound.commands.tables import read_table
from ratebound.problem.compiling import compile
from ratebound.problem.problem import Problem
from ratebound.rates.named import demands

CERTAIN = 1e6  # a score beyond any threshold


def explain(run: Run) -> int:
    """Print what each promise means; the exit status is 1 where no classifier could keep them all."""
    problem = stated(run)
    if not problem.subject_to:
        raise ValueError(
            "which promise should be explained? Give --require, as in --require 'recall() >= 0.9'"
        )
    table = read_table(run.data)
    rows, features = rows_of(table, run, problem), visible(table, run)
    check_known(table, run)
    found = findings(problem, rows, features, run.seed)
    print(as_text(found, run.label))
    if not found.together.possible:
        return 1
    print(f"\nWhich way to keep {'it' if len(problem.subject_to) == 1 else 'them'}\n")
    print(_plan(problem, rows, features, run))
    return 0


def _plan(problem: Problem, rows: Rows, features: list[str], run: Run) -> Any:
    """Thresholds, training or both, as measured; or why that cannot be measured."""
    from ratebound.estimators.planning import plan

    known = run.known or ()
    try:
        return plan(
            problem, rows.population(), known=known, model=run.model, features=features, seed=run.seed
        )
    except ValueError as error:
        return f"This could not be measured on held-out rows: {error}"


def findings(problem: Problem, rows: Rows, features: list[str], seed: int) -> Findings:
    people = rows.population()
    compiled = compile(problem, people)
    simple = {
        "always no": _scored(np.full(len(rows), -CERTAIN)),
        "always yes": _scored(np.full(len(rows), CERTAIN)),
        PERFECT: _scored(np.where(rows.yes, CERTAIN, -CERTAIN)),
        "unconstrained": _unconstrained(problem, rows, features, seed),
    }
    audits = {name: audit(problem, model, people) for name, model in simple.items()}
    parts = _compiled_rows(problem)
    alone = [least_violation(compiled, part) for part in parts]
    together = least_violation(compiled, [row for part in parts for row in part])
    return Findings(
        problem, rows, audits, alone, _by_constraint(together, parts), len(compiled.blocks) == 1
    )


def _scored(scores: Any) -> Any:
    """A classifier with these scores, whatever it is shown."""
    return SimpleNamespace(weights=[1.0], thresholds={}, member_scores=lambda X: scores)


def _unconstrained(problem: Problem, rows: Rows, features: list[str], seed: int) -> Any:
    from ratebound.estimators.classifier import RateConstrainedClassifier

    model = RateConstrainedClassifier(
        (), objective=problem.minimize, features=features, epochs=20, random_state=seed
    )
    model.fit(rows.table, rows.yes, columns=rows.columns, sample_weight=rows.weights)
    return model.solution_


def _compiled_rows(problem: Problem) -> list[list[int]]:
    """Which rows of the compiled problem each constraint became."""
    found: list[list[int]] = []
    for constraint in problem.subject_to:
        first = found[-1][-1] + 1 if found else 0
        found.append(list(range(first, first + len(demands(constraint)))))
    return found


def _by_constraint(least: Least, parts: list[list[int]]) -> Least:
    binding = [i for i, part in enumerate(parts) if set(part) & set(least.binding)]
    return Least(least.violation, tuple(binding))
