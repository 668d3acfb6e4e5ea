"""``ratebound audit``: promises of a saved model, or of decisions that someone made."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ratebound._old.auditing.auditing import audit as audit_on
from ratebound._old.auditing.impact import ImpactRatios, impact_ratios
from ratebound._old.auditing.report import Audit
from ratebound._old.base.progress import working
from ratebound._old.base.types import Array
from ratebound._old.base.writing import write_whole
from ratebound._old.commands.answers import failing, one_notice, tell
from ratebound._old.commands.decided import read_decided
from ratebound._old.commands.folders import check_files
from ratebound._old.commands.on_disk import files_of, header, labelled_on_disk, on_disk, opened, seen_by
from ratebound._old.commands.promises import check_populations
from ratebound._old.commands.rows import labelled, with_labels
from ratebound._old.commands.runs import Use, as_command
from ratebound._old.commands.saved import load_model, rows_for, table_for, truths
from ratebound._old.problem.population import Population
from ratebound._old.solution.mixture import Mixture
from ratebound._old.tables.cells import as_ids
from ratebound._old.tables.contents import digest_of, digests_of
from ratebound._old.tables.table import Table


def audit(use: Use) -> int:
    """Print the audit, and write it if asked; the exit status says whether promises are broken."""
    check_files({"--out": use.out, "--json": use.json}, use.files)
    if use.about is not None and use.template not in ("annex-iv", "model-card"):
        raise ValueError("--about goes with --template annex-iv or model-card")
    if (use.by or use.score) and use.template not in ("ll144", "lending"):
        raise ValueError("--by and --score go with --template ll144 or lending")
    if use.template in ("ll144", "lending"):
        with one_notice(), working("auditing", not use.quiet):
            ratios = _ratios(use)
        _write(ratios, None, use)
        return 0
    with one_notice(), working("auditing", not use.quiet):
        report, feasible = _decided(use) if use.decision is not None else _of_model(use)
    if use.template is None:
        _write(report, f"Audit on {use.name}", use)
    else:
        _write(report.template(use.template, _about(use.about)), None, use)
    return int(failing(report, feasible, use.fail_on))


def _write(read: Any, title: str | None, use: Use) -> None:
    """Print it, and if asked write it as a page or as Markdown."""
    if use.out is not None and use.out.suffix.lower() in (".md", ".markdown"):
        write_whole(use.out, read.render("markdown", title=title).encode())
    elif use.out is not None:
        read.save_html(use.out, title=title)
    tell(str(read), read.to_dict(), use.json)


def _ratios(use: Use) -> ImpactRatios:
    """The impact ratios of a saved model, or of decisions that someone made."""
    how: dict[str, Any] = {"by": use.by, "score": use.score, "form": use.template}
    if use.decision is not None:
        given = read_decided(replace(use, label=None))  # the ratios need no labels
        return impact_ratios(decisions=given.decisions, rows=given.people, **how)
    mixture = load_model(use)
    return impact_ratios(mixture, populations_for(mixture, use)[0], **how)


def _about(path: Path | None) -> dict[str, Any]:
    """What people state about a model, in a TOML file; a shared file may have a table [about]."""
    if path is None:
        return {}
    try:
        given = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    about = given.get("about", given)
    if not isinstance(about, dict):
        raise ValueError(f"{path}: about must be a table of texts, [about]")
    return about


def _of_model(use: Use) -> tuple[Audit, bool]:
    """The audit of a saved model, and whether training could keep its promises."""
    mixture = load_model(use)
    people, others = populations_for(mixture, use)
    files = digests_of(files_of(use.data))
    how: dict[str, Any] = {"clusters": use.clusters, "key": use.key}
    report = audit_on(mixture.problem, mixture, people, **how, **others)
    same = report.trained or (files and mixture.record.source == digest_of(files))
    unseen = False if same else None
    made = report.made_by(as_command("audit", use), files, unseen=unseen, label=use.label)
    return made, mixture.status.feasible


def _decided(use: Use) -> tuple[Audit, bool]:
    """The audit of decisions that someone made; there was no training."""
    if use.fail_on == "training":
        raise ValueError("--fail-on training needs a saved model, and --decision has none")
    given = read_decided(use)
    report = audit_on(
        given.problem,
        decisions=given.decisions,
        rows=given.people,
        clusters=use.clusters,
        key=use.key,
        **given.others,
    )
    return report.made_by(as_command("audit", use), digests_of(files_of(use.data)), unseen=None), True


def populations_for(mixture: Mixture, use: Use) -> tuple[Population, dict[str, Any]]:
    """The rows that a model's promises are about: the table given, and others by name."""
    if use.label is None:
        raise ValueError("which column holds the labels? Give --label COLUMN")
    check_populations(mixture.problem, use.population)
    populations: list[Population] = []
    for paths in (use.data, *((path,) for path in use.population.values())):
        is_other = bool(populations)
        if on_disk(paths, use.on_disk and not is_other):
            populations.append(_on_disk(mixture, paths, use, is_other))
            continue
        table = table_for(mixture, paths, use.reading, use.label, key=use.key)
        if not is_other:
            table = with_labels(table, use.label, use.drop_unlabelled)
        populations.append(
            labelled(
                table,
                use.label,
                mixture.classes,
                use.weight,
                other=is_other,
                columns=truths(mixture, table) | _ids(table, use.key),
                rows=rows_for(mixture, table),
            )
        )
    return populations[0], dict(zip(use.population, populations[1:], strict=True))


def _ids(table: Table, key: str | None) -> dict[str, Array]:
    """The column of ids, as `predict` reads them."""
    return {} if key is None else {key: as_ids(table.column(key, "key"))}


def _on_disk(mixture: Mixture, paths: Sequence[str], use: Use, is_other: bool) -> Population:
    """Rows that stay on disk; others may lack labels and weights."""
    columns = header(opened(paths, use.on_disk)).columns
    label, weight = use.label, use.weight
    if is_other:
        label, weight = (each if each in columns else None for each in (label, weight))
    drop = use.drop_unlabelled
    return labelled_on_disk(paths, seen_by(mixture), label, mixture.classes, weight, drop, key=use.key)
