"""``ratebound certify``: a saved model's promises on new rows, shown on rows it has not seen."""

from __future__ import annotations

from pathlib import Path

from ratebound.base.writing import write_whole
from ratebound.certifying.certify import certify as certify_on
from ratebound.commands.audit import populations_for
from ratebound.commands.folders import check_file
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
    people, others = populations_for(mixture, data, population, label, weight)
    found = certify_on(
        mixture.problem,
        mixture,
        people,
        confidence=confidence,
        in_expectation=in_expectation,
        **others,
    )
    if save:
        write_model(mixture.recorded(certificate=found), model)
    if json is not None:
        write_whole(json, (found.to_json() + "\n").encode())
    print(found)
    return 0 if found.holds else 1
