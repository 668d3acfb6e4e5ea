"""``ratebound train``: a table and its promises in; a model, its audit and a report out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ratebound.auditing import Audit, audit
from ratebound.auditing.wording import summary
from ratebound.base.writing import write_whole
from ratebound.commands.folders import check_folder, whole_folder
from ratebound.commands.promises import stated
from ratebound.commands.rows import Given, read_given
from ratebound.commands.runs import Run
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.holding_out import held_out
from ratebound.problem.problem import Problem

INTERRUPTED = 130
FILES = ("model.safetensors", "report.html", "audit.json")


def train(run: Run) -> int:
    """Train, audit on held-out rows, write; the exit status says whether the promises are kept there."""
    if run.out is None:
        raise ValueError("where should the model go? Give --out, or key 'out' in a run file")
    check_folder(run.out, FILES)
    problem = stated(run)
    given, features = read_given(run, problem)
    people, others = given.populations()
    everyone = compile(problem, people, **others)
    problem = everyone.problem  # whose counts speak of all rows, whichever part they are counted on
    fitting, aside = _parted(given, everyone, run)

    model = _fitted(fitting, problem, features, run)
    solution = replace(model.solution_, classes=given.rows.classes)
    people, others = aside.populations()
    report = audit(problem, solution, people, **others)
    _write(solution.recorded(audited=report.to_dict()), report, model.trace_, run.out)
    _tell(report, model, len(fitting.rows), run)
    if model.trace_.interrupted:
        return INTERRUPTED
    return 0 if report.kept else 1


def _parted(given: Given, everyone: Compiled, run: Run) -> tuple[Given, Given]:
    """Rows to train on and rows held out, of every population; the same rows where none are."""
    if not run.holdout:
        return given, given
    aside = held_out(everyone.cells, run.holdout, run.seed)
    parts = given.only(~aside), given.only(aside)
    for name, part in zip(("training", "held-out"), parts, strict=True):
        try:
            people, others = part.populations()
            compile(everyone.problem, people, **others)
        except ValueError as error:
            raise ValueError(
                f"among the {len(part.rows):,} {name} rows: {error}; there are too few such rows to "
                "train and audit on: change --holdout, or --seed"
            ) from None
    return parts


def _fitted(given: Given, problem: Problem, features: list[str], run: Run) -> Any:
    from ratebound.estimators.choices import Training
    from ratebound.estimators.classifier import RateConstrainedClassifier

    model = RateConstrainedClassifier(
        problem.subject_to,
        objective=problem.minimize,
        model=run.model,
        player=run.player,
        solution=run.solution,
        features=features,
        known=run.known,
        training=Training(epochs=run.epochs, max_time=run.max_time),
        verbose=not run.quiet,
        random_state=run.seed,
    )
    rows, (_, others) = given.rows, given.populations()
    return model.fit(rows.table, rows.yes, columns=rows.columns, sample_weight=rows.weights, **others)


def _write(solution: Any, report: Audit, trace: Any, out: Path) -> None:
    with whole_folder(out, FILES) as folder:
        solution.save(folder)
        report.save_html(folder / "report.html", trace=trace, title="Audit on held-out rows")
        write_whole(folder / "audit.json", f"{report.to_json()}\n".encode())


def _tell(report: Audit, model: Any, trained_on: int, run: Run) -> None:
    ended = {"interrupted": "interrupted: this is the model so far", "time": "out of time"}
    if model.trace_.ended in ended:
        print(f"Training ended early, {ended[model.trace_.ended]}.")
    if run.quiet:
        print(summary(report) + ".")
        return
    print(f"{'Held-out' if run.holdout else 'Training'} rows:\n\n{report}\n")
    print(f"Training on {trained_on:,} rows: {model.status_}")
    print(f"Written to {run.out}: {', '.join(FILES)}")
