"""``ratebound explain``: what constraints mean on a table, before any training for them."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any

from ratebound._old.base.progress import working
from ratebound._old.commands.answers import one_notice, tell
from ratebound._old.commands.folders import check_files
from ratebound._old.commands.promises import read_problem
from ratebound._old.commands.rows import (
    as_new_population,
    called,
    classes_in_words,
    read_given,
    tell_columns,
)
from ratebound._old.commands.runs import Run
from ratebound._old.rates.kinds import label_classes
from ratebound._old.rates.subsets import column_text
from ratebound.learning.explain import explain as explain_problem
from ratebound.rates.sums import FIRST


def explain(run: Run) -> int:
    """Print what each constraint means; the exit status is 1 if no classifier meets them all."""
    problem = read_problem(run)
    if not problem.constraints:
        raise ValueError(
            "which constraint should be explained? Give --require, as in --require 'recall() >= 0.9'"
        )
    check_files({"--json": run.json}, (*run.data, *run.population.values()))
    with one_notice():
        given = read_given(run, problem)
        run = given.run
        tell_columns(given.people.X, given.features)
        populations = {name: as_new_population(rows, given) for name, rows in given.populations.items()}
        first = populations.pop(FIRST)
        with warnings.catch_warnings(), working("explaining", not run.quiet):
            warnings.simplefilter("ignore")  # they were given above
            options: dict[str, Any] = {"known": run.known, "model": run.model, "seed": run.seed}
            explanation = explain_problem(problem, first, **options | populations)
    words = f"{given.name}: {_describe_classes(str(run.label), given.classes)}\n{explanation}"
    data = {
        **called(given.classes),
        "verdict": explanation.verdict,
        "objective": explanation.objective,
        "constraints": [asdict(item) for item in explanation.constraints],
        "conflict": list(explanation.conflict),
        "met_by": list(explanation.met_by),
        "best": explanation.best,
        "quick": None if explanation.quick is None else str(explanation.quick),
    }
    tell(words, data, run.json)
    return 1 if explanation.conflict else 0


def _describe_classes(label: str, classes: tuple[Any, ...]) -> str:
    classes = label_classes(classes)
    if len(classes) > 2:
        return classes_in_words(label, classes)
    return f"positive is {column_text(label)} == {classes[1]!r}, negative {classes[0]!r}"
