"""``ratebound audit``: the promises a saved model was trained for, on other rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ratebound.auditing.auditing import audit as audit_on
from ratebound.commands.answers import failing, one_notice, tell, working
from ratebound.commands.folders import check_files
from ratebound.commands.on_disk import files_of, header, labelled_on_disk, on_disk, opened, seen_by
from ratebound.commands.promises import check_populations
from ratebound.commands.rows import labelled, with_labels
from ratebound.commands.runs import Use, as_command
from ratebound.commands.saved import load_model, rows_for, table_for, truths
from ratebound.problem.population import Population
from ratebound.solution.mixture import Mixture
from ratebound.tables.contents import digest_of, digests_of


def audit(use: Use) -> int:
    """Print the audit, write it where asked; the exit status says whether promises are broken."""
    check_files({"--out": use.out, "--json": use.json}, use.files)
    mixture = load_model(use.model, use.trusted)
    with one_notice(), working("auditing", use.quiet):
        people, others = populations_for(mixture, use)
        files = digests_of(files_of(use.data))
        same = bool(files) and mixture.record.source == digest_of(files)
        report = audit_on(mixture.problem, mixture, people, clusters=use.clusters, **others)
        report = report.made_by(
            as_command("audit", use), files, unseen=False if same else None, label=use.label
        )
    if use.out is not None:
        report.save_html(use.out, title=f"Audit on {use.name}")
    tell(str(report), report.to_dict(), use.json)
    return int(failing(report, mixture.status.feasible, use.fail_on))


def populations_for(mixture: Mixture, use: Use) -> tuple[Population, dict[str, Any]]:
    """The rows that a model's promises speak of: of the table given, and of others by name."""
    assert use.label is not None
    check_populations(mixture.problem, use.population)
    populations: list[Population] = []
    for paths in (use.data, *((path,) for path in use.population.values())):
        is_other = bool(populations)
        if on_disk(paths, use.on_disk and not is_other):
            populations.append(_on_disk(mixture, paths, use, is_other))
            continue
        table = table_for(mixture, paths, use.reading, use.label)
        if not is_other:
            table = with_labels(table, use.label, use.drop_unlabelled)
        populations.append(
            labelled(
                table,
                use.label,
                mixture.classes,
                use.weight,
                other=is_other,
                columns=truths(mixture, table),
                rows=rows_for(mixture, table),
            )
        )
    return populations[0], dict(zip(use.population, populations[1:], strict=True))


def _on_disk(mixture: Mixture, paths: Sequence[str], use: Use, is_other: bool) -> Population:
    """Rows that stay on disk; others may lack labels and weights."""
    columns = header(opened(paths, use.on_disk)).columns
    label, weight = use.label, use.weight
    if is_other:
        label, weight = (each if each in columns else None for each in (label, weight))
    drop = use.drop_unlabelled
    return labelled_on_disk(paths, seen_by(mixture), label, mixture.classes, weight, drop)
