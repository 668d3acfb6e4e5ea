"""``ratebound explain``: what promises mean on a table, before any training for them."""

from __future__ import annotations

from typing import Any

from ratebound._old.base.progress import working
from ratebound._old.commands.answers import one_notice, tell
from ratebound._old.commands.folders import check_files
from ratebound._old.commands.promises import stated, ways_of
from ratebound._old.commands.rows import called, classes_in_words, read_given, tell_columns
from ratebound._old.commands.runs import Run
from ratebound._old.problem.guessing import knowing
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.kinds import label_classes
from ratebound._old.rates.subsets import column_text


def explain(run: Run) -> int:
    """Print what each promise means; the exit status is 1 if no classifier could keep them all."""
    from ratebound._old.estimators import explaining, planning

    problem, ways = stated(run), ways_of(run)
    if not problem.subject_to:
        raise ValueError(
            "which promise should be explained? Give --require, as in --require 'recall() >= 0.9'"
        )
    check_files({"--json": run.json}, (*run.data, *run.population.values()))
    with one_notice():
        given = read_given(run, problem, sample=True)
        run = given.run
        problem = knowing(problem, ways, {FIRST: given.people, **given.others})
        tell_columns(given.people.X, given.features)
    asked: dict[str, Any] = {
        "known": run.known or (), "model": run.model, "features": given.features, "seed": run.seed,
    } | given.others  # fmt: skip
    with working("explaining", not run.quiet):
        explanation = explaining.explain(problem, given.people, **asked)
    words = f"{given.name}: {_yes_words(str(run.label), given.classes)}\n{explanation}"
    data = {**called(given.classes), **explanation.to_dict(), "plan": None, "no_plan": None}
    if explanation.possible:
        words += f"\n\nWhich way to keep {'it' if len(problem.subject_to) == 1 else 'them'}\n\n"
        try:
            # As `train` does by default, or as in the run file.
            aim: dict[str, Any] = {"confidence": run.confidence, "progress": not run.quiet}
            planned = planning.plan(problem, given.people, **asked, **aim)
            words, data["plan"] = f"{words}{planned}", planned.to_dict()
        except ValueError as error:
            words += f"This could not be measured on held-out rows: {error}"
            data["no_plan"] = str(error)
    tell(words, data, run.json)
    return 0 if explanation.possible else 1


def _yes_words(label: str, classes: tuple[Any, ...]) -> str:
    classes = label_classes(classes)
    if len(classes) > 2:
        return classes_in_words(label, classes)
    return f"positive is {column_text(label)} == {classes[1]!r}, negative {classes[0]!r}"
