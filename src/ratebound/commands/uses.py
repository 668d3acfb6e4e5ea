"""What is asked of a saved model: auditing, certifying, predicting and watching."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ratebound.solution.files import NAME
from ratebound.tables.texts import Reading


@dataclass(frozen=True)
class Use:
    """All that can be asked for; each command looks at its own part."""

    model: Path
    data: tuple[str, ...]  # paths or patterns, or "-"
    label: str | None = None
    drop_unlabelled: bool = False  # leave out rows without a label
    weight: str | None = None
    key: str | None = None  # the column of ids
    clusters: str | None = None  # the column that tells which rows were drawn together
    population: dict[str, str] = field(default_factory=dict)  # other tables, by name
    sep: str | None = None
    encoding: str | None = None
    header: bool | None = None
    on_disk: bool = False  # leave rows on disk, and read some at a time
    trusted: tuple[str, ...] = ()  # types that the model may hold
    confidence: float | None = None
    in_expectation: bool = False
    save: bool = False  # the certificate with the model
    state: Path | None = None  # of a monitor
    strata: tuple[str, ...] = ()  # columns within whose values groups are compared
    decided: str | None = None  # the column that says when a row was
    wait: float | None = None  # until labels are known, in days
    now: str | None = None  # today by default
    probability: bool = False  # of the label
    decision_probability: bool = False
    safe_csv: bool = False
    fail_on: str = "broken"
    out: Path | None = None
    json: str | None = None  # a path, or "-"
    quiet: bool = False

    @property
    def reading(self) -> Reading:
        """How the files are to be read."""
        return Reading(self.sep, self.encoding, self.header)

    @property
    def files(self) -> list[str | Path]:
        """All that is read: tables, and the model's own file."""
        model = self.model / NAME if self.model.is_dir() else self.model
        return [*self.data, *self.population.values(), model]

    @property
    def name(self) -> str:
        """Of the table, for headings."""
        return Path(self.data[0]).name + (
            f" and {len(self.data) - 1} more" if len(self.data) > 1 else ""
        )
