"""``ratebound monitor``: a saved model's promises, watched on the rows that come in."""

from __future__ import annotations

from pathlib import Path

from ratebound.certifying.monitor import Monitor
from ratebound.commands.folders import check_file
from ratebound.commands.predict import decisions
from ratebound.commands.rows import labelled
from ratebound.commands.saved import load_model, table_for, truths
from ratebound.problem.population import columns_by_name
from ratebound.rates.kinds import KINDS
from ratebound.rates.rate import FIRST
from ratebound.solution.mixture import Mixture

CONFIDENCE = 0.95


def monitor(
    model: Path,
    data: Path,
    state: Path,
    label: str | None = None,
    key: str | None = None,
    confidence: float | None = None,
    population: dict[str, str] | None = None,
) -> int:
    """Take in the rows, print the table and write the state; the exit status says whether it is calm."""
    check_file(state, "--state")
    mixture = load_model(model)
    for promise in mixture.problem.constraints:
        if label is None and any(KINDS[rate.kind].labels for rate in promise.rates):
            raise ValueError(f"{promise} cannot be watched without labels: give --label COLUMN")
    watching = _watching(mixture, state, confidence)
    others = {name: Path(path) for name, path in (population or {}).items()}
    for name, path in {FIRST: data, **others}.items():
        _take_in(watching, mixture, path, label, key, name)
    watching.save(state)
    print(watching)
    return 1 if watching.alarms else 0


def _watching(mixture: Mixture, state: Path, confidence: float | None) -> Monitor:
    """The monitor in the file, or a new one where there is none."""
    if not state.exists():
        return Monitor(mixture.problem, CONFIDENCE if confidence is None else confidence)
    found = Monitor.load(state, mixture.problem)
    if confidence not in (None, found.confidence):
        raise ValueError(
            f"{state} was begun with --confidence {found.confidence:g}, which cannot change: begin a "
            "new state file"
        )
    return found


def _take_in(
    watching: Monitor, mixture: Mixture, path: Path, label: str | None, key: str | None, name: str
) -> None:
    table = table_for(mixture, path, label, promises=True)
    people = labelled(
        table,
        label or "",
        mixture.classes,
        mixture.problem,
        None,
        other=label is None or name != FIRST,
        columns=truths(mixture, table),
    )
    said = decisions(mixture, table, key) == mixture.classes[1]
    watching.update(said, people.y, columns_by_name(table) | people.columns, on=name)
