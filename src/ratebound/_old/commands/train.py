"""``ratebound train``: a table and its constraints in; a model, its audit and a report out."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ratebound._bridge import make_policy
from ratebound._old.auditing.auditing import audit
from ratebound._old.auditing.provenance import SignOff
from ratebound._old.auditing.report import Audit
from ratebound._old.auditing.wording import summary
from ratebound._old.base.progress import bar, working
from ratebound._old.base.writing import write_whole
from ratebound._old.commands.answers import failing, one_notice, tell
from ratebound._old.commands.folders import check_files, check_folder, whole_folder
from ratebound._old.commands.holdout import divide_rows
from ratebound._old.commands.on_disk import files_of
from ratebound._old.commands.promises import count_all_rows, read_problem
from ratebound._old.commands.rows import Given, called, list_fit_arguments, read_given, tell_columns
from ratebound._old.commands.runs import Run, as_command
from ratebound._old.estimators.policy import Policy
from ratebound._old.rates.kinds import label_classes
from ratebound._old.tables.contents import digest_of, digests_of
from ratebound.learning import learning
from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.problem.problem import Problem
from ratebound.rates.sums import FIRST

INTERRUPTED = 130
FILES = ("model.safetensors", "report.html", "audit.json")


def train(run: Run) -> int:
    """Train, audit on held-out rows and write; the exit status says if constraints are violated."""
    out = _get_out(run)
    check_folder(out, FILES)
    check_files({"--json": run.json}, (*run.data, *run.population.values()))
    read_problem(run)  # errors in the constraints come first
    _check_new(out, run)
    made = make(run)
    made.write(out)
    tell(_describe(made), _list_data(made), run.json)
    if made.ended == "interrupted":
        return INTERRUPTED
    certificate = made.solution.record.certificate
    is_uncertified = certificate is not None and not certificate.holds
    is_feasible = made.model.status_.feasible
    return int(is_uncertified or not is_feasible or failing(made.report, is_feasible, run.fail_on))


def _get_out(run: Run) -> Path:
    if run.out is None:
        raise ValueError("where should the model go? Give --out, or key 'out' in a run file")
    return run.out


def _check_new(out: Path, run: Run) -> None:
    """Refuse to replace another model, unless that is asked for."""
    present = [name for name in FILES if (out / name).exists()]
    if present and not run.force:
        raise ValueError(
            f"--out {out}: {', '.join(present)} is there already: give another folder, or --force to "
            "replace it"
        )


# --- training and audit ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Made:
    """A model that was trained and audited, before it is written."""

    run: Run
    model: Any  # the fitted estimator
    solution: Policy  # the part that is saved
    report: Audit  # on the held-out rows
    trained_on: int  # rows
    held: Given  # the rows it was audited on

    @property
    def ended(self) -> str:
        """Why training ended: "interrupted", "time" or "done"."""
        reasons = {learning.INTERRUPTED: "interrupted", learning.OUT_OF_TIME: "time"}
        first = self.model.status_.remarks[:1]
        return reasons.get(first[0], "done") if first else "done"

    def write(
        self, out: Path, signed: SignOff | None = None, others: Mapping[str, str] | None = None
    ) -> None:
        """Write the model, its report and its audit into a folder, and `others` by name; all or none.

        A signed report names the digest of the model's file.
        """
        title = f"Audit on {'held-out' if self.run.holdout else 'training'} rows"
        report = self.report
        others = {} if others is None else others
        with whole_folder(out, (*FILES, *others)) as folder:
            file = self.solution.save(folder)
            if signed is not None:
                signed = replace(signed, model=hashlib.sha256(file.read_bytes()).hexdigest())
                report = replace(report, signed=signed)
            report.save_html(folder / "report.html", title=title)
            write_whole(folder / "audit.json", f"{report.render('json')}\n".encode())
            for name, text in others.items():
                write_whole(folder / name, text.encode())


def make(run: Run) -> Made:
    """Return the model that a run asks for, trained on some rows and audited on others."""
    problem = read_problem(run)
    with one_notice():
        given = read_given(run, problem)
        run = given.run
        tell_columns(given.people.X, given.features)
        problem = count_all_rows(problem, given.populations)
        training, held = divide_rows(given, problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status says the same
        model = _fit(training, problem)
    solution = replace(make_policy(model), classes=given.classes)
    certificate = solution.record.certificate
    if certificate is not None:
        solution = solution.recorded(certificate=replace(certificate, model="one model"))
    with working("auditing", not run.quiet):
        files = digests_of(files_of(run.data))
        report = audit(solution.problem.asked, solution, held.people, clusters=run.groups, **held.others)
        audited = replace(report, provenance=None, card=None)  # a model's provenance is its record
        solution = solution.recorded(audited=audited.to_dict(), source=digest_of(files))
        report = report.made_by(
            as_command("train", run),
            files,
            unseen=bool(run.holdout),
            label=run.label,
            model=solution,
        )
    trained_on = len(training.people)
    if run.certify is not None:  # some of them were kept for the certificate
        trained_on = solution.record.made.rows.get("trained on", trained_on)
    return Made(run, model, solution, report, trained_on, held)


def _fit(training: Given, problem: Problem) -> Any:
    run = training.run
    populations = {
        name: list_fit_arguments(rows, training) for name, rows in training.populations.items()
    }
    X, y, columns, weights = populations.pop(FIRST)
    labels = label_classes(training.classes)
    with _show_progress(run) as progress:
        model = RateConstrainedClassifier(
            objective=problem,
            model=run.model,
            confidence=run.confidence,
            known=run.known,
            refer=run.refer,
            certify=run.certify,
            features=run.features,
            positive_label=labels[1] if len(labels) == 2 else None,
            time_limit=run.max_time,
            progress=progress,
            random_state=run.seed,
        )
        model.fit(X, y, columns, weights, clusters=run.groups, **populations)
        return model.set_params(progress=None)  # its record says how it was made


@contextmanager
def _show_progress(run: Run) -> Iterator[Callable[[int, int], None]]:
    """A function that shows how many models are learned."""
    with ExitStack() as stack:
        bars: list[Any] = []

        def update(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(bar(total, "fit", not run.quiet)))
            bars[0].update()

        yield update


# --- the answer -----------------------------------------------------------------------------------


def _describe(made: Made) -> str:
    run, report, status = made.run, made.report, made.model.status_
    if run.quiet:
        early = [status.remarks[0]] if made.ended != "done" else []
        return "\n".join([*early, f"{summary(report)}."])
    lines = [f"{'Held-out' if run.holdout else 'Training'} rows:\n\n{report}\n"]
    lines += [f"Training on {made.trained_on:,} rows: {status}"]
    certificate = made.solution.record.certificate
    doubted = any(promise.verdict == "may not hold" for promise in report.promises)
    if certificate is None and doubted and status.confidence is not None:
        audited = next(iter(report.populations.values()))
        lines += [
            f"“May not hold” is what the {audited:,} held-out rows can show alone. The confidence is "
            f"training’s own estimate, from {made.trained_on:,} rows. Only a certificate is proof."
        ]
    if certificate is not None:
        lines.append(f"\n{certificate}\n")
    return "\n".join([*lines, f"Written to {run.out}: {', '.join(FILES)}"])


def _list_data(made: Made) -> dict[str, Any]:
    """Return the same for programs."""
    status = made.model.status_
    certificate = made.solution.record.certificate
    return {
        "feasible": status.feasible,
        "status": str(status),
        "ended": made.ended,
        "rows": made.trained_on,
        **called(made.solution.classes),
        "audit": made.report.to_dict(),
        "certificate": None if certificate is None else certificate.to_dict(),
        "written": [str(_get_out(made.run) / name) for name in FILES],
    }
