"""``ratebound explain``: what promises mean on a table, before any training for them."""

from __future__ import annotations

from ratebound.commands.rows import check_known, rows_of, stated, visible
from ratebound.commands.runs import Run
from ratebound.commands.tables import read_table


def explain(run: Run) -> int:
    """Print what each promise means; the exit status is 1 where no classifier could keep them all."""
    from ratebound.estimators import explaining, planning

    problem = stated(run)
    if not problem.subject_to:
        raise ValueError(
            "which promise should be explained? Give --require, as in --require 'recall() >= 0.9'"
        )
    table = read_table(run.data)
    rows, features = rows_of(table, run, problem), visible(table, run)
    check_known(table, run)
    people, (no, yes) = rows.population(), rows.classes
    known = run.known or ()
    found = explaining.explain(
        problem, people, known=known, model=run.model, features=features, seed=run.seed
    )
    print(f"{table.name}: positive is {run.label} == {yes!r}, negative {no!r}\n{found}")
    if not found.possible:
        return 1
    print(f"\nWhich way to keep {'it' if len(problem.subject_to) == 1 else 'them'}\n")
    try:
        print(
            planning.plan(
                problem, people, known=known, model=run.model, features=features, seed=run.seed
            )
        )
    except ValueError as error:
        print(f"This could not be measured on held-out rows: {error}")
    return 0
