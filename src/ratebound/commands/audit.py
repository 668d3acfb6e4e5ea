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
    others = {name: Path(path) for name, path in (population or {}).items()}
    check_populations(mixture.problem, others)
    people, *rest = (
        population_for(mixture, path, label, weight, other=path is not data)
        for path in (data, *others.values())
    )
    named: dict[str, Any] = dict(zip(others, rest, strict=True))
    report = audit_on(mixture.problem, mixture, people, **named)
    if out is not None:
        shown = {"prices": mixture.prices, "certificate": mixture.certificate}
        report.save_html(out, title=f"Audit on {data.name}", **shown)
    if json is not None:
        write_whole(json, (report.to_json() + "\n").encode())
    print(report)
    return 0 if report.kept else 1


def population_for(
    mixture: Mixture, path: Path, label: str, weight: str | None, other: bool
) -> Population:
    """The rows of a file as the population that a model's promises speak of."""
    table = table_for(mixture, path, label)
    known = truths(mixture, table)
    return labelled(table, label, mixture.classes, mixture.problem, weight, other=other, columns=known)
