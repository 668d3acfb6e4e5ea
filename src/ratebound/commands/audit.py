"""``ratebound audit``: the promises a saved model was trained for, on other rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ratebound.auditing import audit as audit_on
from ratebound.base.writing import write_whole
from ratebound.commands.folders import check_file
from ratebound.commands.promises import check_populations
from ratebound.commands.rows import labelled
from ratebound.commands.saved import load_model, table_for, truths
from ratebound.problem.population import Population
from ratebound.solution.mixture import Mixture


def audit(
    model: Path,
    data: Path,
    label: str,
    weight: str | None = None,
    out: Path | None = None,
    json: Path | None = None,
    population: dict[str, str] | None = None,
) -> int:
    """Print the audit, write it where asked; the exit status says whether all promises are kept."""
    for flag, target in (("--out", out), ("--json", json)):
        if target is not None:
            check_file(target, flag)
    mixture = load_model(model)
    people, others = populations_for(mixture, data, population, label, weight)
    report = audit_on(mixture.problem, mixture, people, **others)
    if out is not None:
        shown = {"prices": mixture.prices, "certificate": mixture.certificate}
        report.save_html(out, title=f"Audit on {data.name}", **shown)
    if json is not None:
        write_whole(json, (report.to_json() + "\n").encode())
    print(report)
    return 0 if report.kept else 1


def populations_for(
    mixture: Mixture, data: Path, population: dict[str, str] | None, label: str, weight: str | None
) -> tuple[Population, dict[str, Any]]:
    """The rows that a model's promises speak of: of the table given, and of others by name."""
    others = {name: Path(path) for name, path in (population or {}).items()}
    check_populations(mixture.problem, others)
    found = []
    for path in (data, *others.values()):
        table = table_for(mixture, path, label)
        known, other = truths(mixture, table), path is not data
        found.append(
            labelled(table, label, mixture.classes, mixture.problem, weight, other=other, columns=known)
        )
    return found[0], dict(zip(others, found[1:], strict=True))
