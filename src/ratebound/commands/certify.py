"""``ratebound certify``: a saved model's promises on new rows, shown on rows it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ratebound.base.writing import write_whole
from ratebound.certifying.certify import certify as certify_on
from ratebound.commands.audit import population_for
from ratebound.commands.folders import check_file
from ratebound.commands.promises import check_populations
from ratebound.commands.saved import load_model
from ratebound.solution.files import save as write_model


def certify(
    model: Path,
    data: Path,
    label: str,
    confidence: float = 0.95,
    weight: str | None = None,
    in_expectation: bool = False,
    save: bool = False,
    json: Path | None = None,
    population: dict[str, str] | None = None,
) -> int:
    """Print the certificate, keep it where asked; the exit status says whether it holds."""
    if json is not None:
        check_file(json, "--json")
    mixture = load_model(model)
    others = {name: Path(path) for name, path in (population or {}).items()}
    check_populations(mixture.problem, others)
    people, *rest = (
        population_for(mixture, path, label, weight, other=path is not data)
        for path in (data, *others.values())
    )
    named: dict[str, Any] = dict(zip(others, rest, strict=True))
    found = certify_on(
        mixture.problem,
        mixture,
        people,
        confidence=confidence,
        in_expectation=in_expectation,
        **named,
    )
    if save:
        write_model(mixture.recorded(certificate=found), model)
    if json is not None:
        write_whole(json, (found.to_json() + "\n").encode())
    print(found)
    return 0 if found.holds else 1
