"""``ratebound audit``: the promises a saved model was trained for, on other rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ratebound.auditing import audit as audit_on
from ratebound.base.writing import write_whole
from ratebound.commands.folders import check_file
from ratebound.commands.rows import with_classes
from ratebound.commands.saved import load_model, table_for, truths


def audit(
    model: Path,
    data: Path,
    label: str,
    weight: str | None = None,
    out: Path | None = None,
    json: Path | None = None,
) -> int:
    """Print the audit, write it where asked; the exit status says whether all promises are kept."""
    for flag, target in (("--out", out), ("--json", json)):
        if target is not None:
            check_file(target, flag)
    mixture = load_model(model)
    table = table_for(mixture, data, label)
    rows = with_classes(table, label, mixture.classes, mixture.problem, weight)
    rows = replace(rows, columns=rows.columns | truths(mixture, table))
    report = audit_on(mixture.problem, mixture, rows.population())
    if out is not None:
        report.save_html(out, title=f"Audit on {data.name}")
    if json is not None:
        write_whole(json, (report.to_json() + "\n").encode())
    print(report)
    return 0 if report.kept else 1
