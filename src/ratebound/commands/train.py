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
from ratebound.commands.rows import read_given
from ratebound.commands.runs import Run
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.holding_out import parted

INTERRUPTED = 130
FILES = ("model.safetensors", "report.html", "audit.json")


def train(run: Run) -> int:
    """Train, audit on held-out rows, write; the exit status says whether the promises are kept there."""
    if run.out is None:
        raise ValueError("where should the model go? Give --out, or key 'out' in a run file")
    check_folder(run.out, FILES)
    problem = stated(run)
    given = read_given(run, problem)
    fitting, aside = _parted(compile(problem, given.people, **given.others), run)

    model = _fitted(fitting, given.features, run)
    solution = replace(model.solution_, classes=given.classes)
    report = audit(aside.problem, solution, aside.first, **aside.others)
    solution = solution.recorded(audited=report.to_dict(), prices=solution.prices, pool=None)
    _write(solution, report, model.trace_, run.out)
    _tell(report, model, len(fitting.first), run)
    if model.trace_.interrupted:
        return INTERRUPTED
    certificate = solution.record.certificate
    return 0 if report.kept and (certificate is None or certificate.holds) else 1


def _parted(everyone: Compiled, run: Run) -> tuple[Compiled, Compiled]:
    """Rows to train on and rows held out, of every population; the same rows where none are."""
    if not run.holdout:
        return everyone, everyone
    try:
        return parted(everyone, run.holdout, run.seed)
    except ValueError as error:
        raise ValueError(
            f"{error}; there are too few such rows to train and audit on: change --holdout, or --seed"
        ) from None


def _fitted(fitting: Compiled, features: list[str], run: Run) -> Any:
    from ratebound.estimators.choices import Training
    from ratebound.estimators.planning import fitted

    return fitted(
        fitting,
        model=run.model,
        player=run.player,
        solution=run.solution,
        features=features,
        known=run.known,
        confidence=run.confidence,
        certify=run.certify,
        training=Training(epochs=run.epochs, max_time=run.max_time),
        verbose=not run.quiet,
        random_state=run.seed,
    )


def _write(solution: Any, report: Audit, trace: Any, out: Path) -> None:
    with whole_folder(out, FILES) as folder:
        solution.save(folder)
        report.save_html(
            folder / "report.html",
            trace=trace,
            prices=solution.prices,
            certificate=solution.certificate,
            title="Audit on held-out rows",
        )
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
    if (certificate := model.solution_.record.certificate) is not None:
        print(f"\n{certificate}\n")
    print(f"Written to {run.out}: {', '.join(FILES)}")
