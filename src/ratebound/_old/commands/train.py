"""``ratebound train``: a table and its promises in; a model, its audit and a report out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ratebound._old.auditing.auditing import audit
from ratebound._old.auditing.provenance import SignOff
from ratebound._old.auditing.report import Audit
from ratebound._old.auditing.wording import summary
from ratebound._old.base import processes
from ratebound._old.base.progress import working
from ratebound._old.base.writing import write_whole
from ratebound._old.commands.answers import failing, note, one_notice, tell
from ratebound._old.commands.folders import check_files, check_folder, whole_folder
from ratebound._old.commands.on_disk import files_of
from ratebound._old.commands.promises import stated, ways_of
from ratebound._old.commands.rows import Given, called, read_given, tell_columns
from ratebound._old.commands.runs import Run, as_command
from ratebound._old.commands.together import dealt_out, joined
from ratebound._old.commands.unfinished import alone_in, forget, games_of, is_kept, tell_of_others
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile, compile_again, divided, set_aside
from ratebound._old.problem.guessing import as_given, copied_by, knowing
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.ranges import Parity
from ratebound._old.solution.record import ASIDE
from ratebound._old.solution.thresholds import known_groups
from ratebound._old.tables.contents import digest_of, digests_of
from ratebound._old.tables.treatments import Features

T = TypeVar("T")
INTERRUPTED = 130
EARLY = {"interrupted": "interrupted: this is the model so far", "time": "out of time"}
GOES_ON = "the same command with --resume continues from there"
FILES = ("model.safetensors", "report.html", "audit.json")


def train(run: Run) -> int:
    """Train, audit on held-out rows and write; the exit status says whether promises are broken there.

    With several processes (``torchrun``) each has a share of the rows, and the first prints and writes.
    """
    with joined():
        own = run if processes.is_first() else replace(run, quiet=True, json=None)
        return processes.of_first(_trained(own))


def _trained(run: Run) -> int:
    out = _out(run)
    check_folder(out, FILES)
    check_files({"--json": run.json}, (*run.data, *run.population.values()))
    stated(run)  # errors in the promises come first
    _check_new(out, run)
    return made(run, _written)


def _out(run: Run) -> Path:
    if run.out is None:
        raise ValueError("where should the model go? Give --out, or key 'out' in a run file")
    return run.out


@dataclass(frozen=True, eq=False)
class Made:
    """A model that was trained and audited, before it is written."""

    run: Run
    model: Any  # the fitted estimator
    solution: Any  # the part that is saved
    report: Audit  # on the held-out rows
    trained_on: int  # rows
    held: Compiled  # the rows it was audited on
    games: Path  # what was kept during training

    def write(
        self, out: Path, signed: SignOff | None = None, others: Mapping[str, str] | None = None
    ) -> None:
        """Write the model, its report and its audit into a folder, and `others` by name; all or none.

        A signed report names the digest of the model's file.
        """
        title, report = f"Audit on {'held-out' if self.run.holdout else 'training'} rows", self.report
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


def made(run: Run, then: Callable[[Made], T]) -> T:
    """The result of `then` on the model that a run asks for, trained on some rows and audited on others.

    Meanwhile no other process trains into the run's folder.
    """
    out, problem, ways = _out(run), stated(run), ways_of(run)
    with one_notice():
        given = dealt_out(read_given(run, problem))
        run = given.run
        problem = knowing(problem, ways, {FIRST: given.people, **given.others})
        measurable = problem.at_levels(dict.fromkeys(problem.leveled))
        fitting, aside = _parted(compile(measurable, given.people, **given.others), run)
        # Ratios that are compared with ratios are compiled at levels, which training searches for.
        compared = [promise for promise in problem.subject_to if isinstance(promise, Parity)]
        promised = fitting.problem.promising([*fitting.problem.subject_to, *compared])
        if not fitting.stored:
            tell_columns(fitting.first.X, given.features)
        games = games_of(run, out, fitting)
        if run.resume:
            tell_of_others(games)
    with alone_in(out):
        if not run.resume:
            forget(games)
        return then(_audited(run, given, fitting, aside, promised, games))


def _check_new(out: Path, run: Run) -> None:
    """Refuse to replace another model, unless that is asked for."""
    there = [name for name in FILES if (out / name).exists()]
    if there and not run.force and not run.resume:
        raise ValueError(
            f"--out {out}: {', '.join(there)} is there already: give another folder, --force to replace "
            "it, or --resume to continue an interrupted run"
        )


def _audited(
    run: Run, given: Given, fitting: Compiled, aside: Compiled, promised: Problem, games: Path
) -> Made:
    """Train, keeping partial results in `games`, and audit."""
    try:
        with one_notice() if fitting.stored else nullcontext():  # about columns, once they are read
            model = _fitted(fitting, promised, given.features, run, games)
    except (SystemExit, KeyboardInterrupt):  # it was terminated, or interrupted between two games
        if processes.is_first() and is_kept(games):
            note(f"what was trained so far is in {games}: {GOES_ON}")
        raise
    solution = replace(model.solution_, classes=given.classes)
    with working("auditing", not run.quiet):
        files = digests_of(files_of(run.data))
        others: dict[str, Any] = {
            name: as_given(rows, given.others[name]) for name, rows in aside.others.items()
        }
        people = as_given(aside.first, given.people)
        report = audit(promised, solution, people, clusters=run.groups, **others)
        # The model's provenance is its record.
        audited = replace(report, provenance=None, card=None).to_dict()
        recorded = {
            "audited": audited,
            "prices": solution.prices,
            "pool": None,
            "source": digest_of(files),
        }
        solution = solution.recorded(**recorded)
        report = report.made_by(
            as_command("train", run),
            files,
            unseen=bool(run.holdout),
            label=run.label,
            model=solution,
        )
    trained_on = len(as_given(fitting.first, given.people)) - solution.record.made.rows.get(ASIDE, 0)
    return Made(run, model, solution, report, trained_on, aside, games)


def _written(own: Made) -> int:
    """Write and tell; the exit status."""
    run, model, solution, report = own.run, own.model, own.solution, own.report
    if processes.is_first():
        own.write(_out(run))
    ended = model.trace_.ended
    if ended not in EARLY:
        forget(own.games)
    words = _words(report, model, own.trained_on, run, is_kept(own.games))
    tell(words, _data(report, solution, model, own.trained_on, run), run.json)
    if ended == "interrupted":
        return INTERRUPTED
    certificate, feasible = solution.record.certificate, solution.status.feasible
    uncertified = certificate is not None and not certificate.holds
    return int(uncertified or not feasible or failing(report, feasible, run.fail_on))


def _parted(everyone: Compiled, run: Run) -> tuple[Compiled, Compiled]:
    """Rows to train on and held-out rows, of every population; the same rows if none are held out.

    Rows that belong together are on one side, as are copies of a row.
    """
    from ratebound._old.estimators.belonging import together

    groups = copied_by(everyone.problem) if run.groups is None else run.groups
    told = run.confidence is not None
    if not run.holdout:
        together(everyone, groups, told=told)
        return everyone, everyone
    by = compile_again(everyone, Problem("error_rate()")) if run.holdout_by_label else everyone
    belonging = together(by, groups, told=told)
    known = None if not run.known else known_groups(run.known, everyone)[2]
    try:
        return divided(everyone, set_aside(by, run.holdout, run.seed, known, belonging))
    except ValueError as error:
        raise ValueError(
            f"{error}; there are too few such rows for training and audit: change --holdout, or --seed"
        ) from None


def _fitted(fitting: Compiled, promised: Problem, features: Features, run: Run, games: Path) -> Any:
    from ratebound._old.estimators.choices import Training
    from ratebound._old.estimators.classifier import fitted

    return fitted(
        fitting,
        promised,
        groups=run.groups,
        model=run.model,
        player=run.player,
        solution=run.solution,
        features=features,
        known=run.known,
        confidence=run.confidence,
        method=run.method,
        certify=run.certify,
        training=Training(epochs=run.epochs, max_time=run.max_time, folder=games),
        verbose=not run.quiet,
        random_state=run.seed,
    )


def _words(report: Audit, model: Any, trained_on: int, run: Run, kept: bool) -> str:
    early = EARLY.get(model.trace_.ended)
    lines = [f"Training ended early, {early}{f'; {GOES_ON}' if kept else ''}."] if early else []
    if run.quiet:
        return "\n".join([*lines, f"{summary(report)}."])
    lines += [f"{'Held-out' if run.holdout else 'Training'} rows:\n\n{report}\n"]
    lines += [f"Training on {trained_on:,} rows: {model.status_}"]
    certificate, sure = model.solution_.record.certificate, model.status_.confidence
    doubted = any(promise.verdict == "may not hold" for promise in report.promises)
    if certificate is None and doubted and sure is not None:
        audited = next(iter(report.populations.values()))
        lines += [
            f"“May not hold” is what the {audited:,} held-out rows can show alone. The confidence is "
            f"training’s own estimate, from {trained_on:,} rows. Only a certificate is proof."
        ]
    if certificate is not None:
        lines.append(f"\n{certificate}\n")
    return "\n".join([*lines, f"Written to {run.out}: {', '.join(FILES)}"])


def _data(report: Audit, solution: Any, model: Any, trained_on: int, run: Run) -> dict[str, Any]:
    """The same for programs."""
    certificate = solution.record.certificate
    return {
        "feasible": solution.status.feasible,
        "status": str(solution.status),
        "ended": model.trace_.ended,
        "rows": trained_on,
        **called(solution.classes),
        "audit": report.to_dict(),
        "certificate": None if certificate is None else certificate.to_dict(),
        "written": [str(Path(str(run.out)) / name) for name in FILES],
    }
