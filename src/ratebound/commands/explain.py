"""``ratebound explain``: what promises mean on a table, before any training for them."""

from __future__ import annotations

from typing import Any

from ratebound.commands.promises import stated
from ratebound.commands.rows import read_given
from ratebound.commands.runs import Run


def explain(run: Run) -> int:
    """Print what each promise means; the exit status is 1 where no classifier could keep them all."""
    from ratebound.estimators import explaining, planning

    problem = stated(run)
    if not problem.subject_to:
        raise ValueError(
            "which promise should be explained? Give --require, as in --require 'recall() >= 0.9'"
        )
    given = read_given(run, problem)
    no, yes = given.classes
    asked: dict[str, Any] = {
        "known": run.known or (), "model": run.model, "features": given.features, "seed": run.seed,
    } | given.others  # fmt: skip
    found = explaining.explain(problem, given.people, **asked)
    print(f"{run.data}: positive is {run.label} == {yes!r}, negative {no!r}\n{found}")
    if not found.possible:
        return 1
    print(f"\nWhich way to keep {'it' if len(problem.subject_to) == 1 else 'them'}\n")
    try:
        print(planning.plan(problem, given.people, **asked))
    except ValueError as error:
        print(f"This could not be measured on held-out rows: {error}")
    return 0
