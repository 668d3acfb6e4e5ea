"""What a report rests on, so that others can check it: rows, versions, the date, and the model itself.

It is gathered during an audit and only goes into the report; everything on the page is also in the
report's JSON.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ratebound._old.base.extras import versions
from ratebound._old.game.trace import worst_of
from ratebound._old.problem.frames import frame_columns
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.kinds import label_classes
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.price import Price
from ratebound._old.solution.record import Course

Use = Literal["seen", "known", "left out", "promises only", "beside", "not seen"]
LIBRARIES = ("ratebound", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class UsedColumn:
    """A column of the audited rows, and how the model uses it."""

    name: str
    use: Use
    holds: str = ""
    missing: int | None = None  # in the training rows
    distinct: int | None = None
    words: str = ""  # its treatment, or why it was left out


@dataclass(frozen=True)
class Provenance:
    """The origin of a report.

    `unseen` says whether the model was not trained on any audited row; None if that is not known.
    `files` has the SHA-256 of the files that the rows come from, by name.
    """

    date: str
    versions: dict[str, str]
    data: str  # the digest of the audited rows
    weighted: bool = False  # whether rows have weights
    unseen: bool | None = None
    command: str = ""  # the command line that made the report
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SignOff:
    """Who is responsible for a model, and for what: a record, not a cryptographic signature."""

    owner: str
    purpose: str
    limits: tuple[str, ...]  # the limits that were read and accepted
    expires: str  # the day from which it must be reviewed again
    date: str  # the day of signing
    model: str = ""  # the SHA-256 of the model's file, which ties the report to it


def provenance(data: str, weighted: bool) -> Provenance:
    """The provenance of a report that is made here, today."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Provenance(today, dict(versions(*LIBRARIES)), data, weighted)


MOST = 10  # features that are named


@dataclass(frozen=True, eq=False)
class Card:
    """A report's description of the model itself: how it was made, how it decides, and what it sees."""

    mixture: Mixture
    columns: tuple[UsedColumn, ...]

    @cached_property
    def prices(self) -> tuple[Price, ...]:
        """What its promises cost; computed when first read, since that takes a moment."""
        return self.mixture.prices

    @property
    def randomised(self) -> bool:
        """Whether decisions involve chance."""
        return len(self.mixture) > 1 and self.mixture.decider.draw is not None

    @property
    def drawn(self) -> dict[str, float] | None:
        """The shares of decisions and of yeses that a draw makes; None if they were not counted."""
        shares = {"decisions": self.mixture.drawn}
        if len(label_classes(self.mixture.classes)) == 2:
            shares["yeses"] = self.mixture.drawn_yeses
        return None if math.isnan(shares["decisions"]) else shares

    @property
    def worst(self) -> dict[str, float]:
        """The worst violation on each population that it was judged on."""
        violations = self.mixture.violations.items()
        return {name: float(worst_of(values[None])[0]) for name, values in violations}

    @property
    def counts_most(self) -> list[tuple[str, float]]:
        """The features with the largest coefficients, or importances to trees; with two classes."""
        own = self.mixture.coefficients or self.mixture.importances
        numbers = [(name, value) for name, value in own.items() if isinstance(value, float) and value]
        return sorted(numbers, key=lambda each: -abs(each[1]))[:MOST]

    def to_dict(self) -> dict[str, Any]:
        """Plain types only."""
        model, record = self.mixture, self.mixture.record
        return {
            "decides": model.rule.splitlines(),
            "randomised": self.randomised,
            "kind": model.scorer.kind,
            "drawn": self.drawn,
            "weights": model.weights.tolist(),
            "counts_most": [{"feature": name, "value": value} for name, value in self.counts_most],
            "thresholds": {name: values.tolist() for name, values in model.thresholds.items()},
            "known": {name: list(values) for name, values in model.decider.known.items()},
            "classes": [np.asarray(each).item() for each in model.classes],
            "promised": [str(promise) for promise in model.problem.subject_to],
            "status": str(record.status),
            "feasible": record.status.feasible,
            "confidence": record.status.confidence,
            "objectives": model.objectives,
            "worst": self.worst,
            **record.made.to_json(),
            "setting": record.setting,
            "seed": record.seed,
            "data": record.data,
            "source": record.source,
            "date": record.date,
            "versions": record.versions,
            "certificate": None if record.certificate is None else record.certificate.to_dict(),
            "prices": [price.to_dict() | {"sentence": price.sentence} for price in self.prices],
            "columns": list(self.columns),
            "by_setting": [] if record.course is None else by_setting(record.course),
        }


def card_of(model: Any, problem: Problem, population: Population) -> Card | None:
    """The card of a model of ours; None for other models, since only their decisions are known."""
    return (
        Card(model, tuple(_columns(model, problem, population))) if isinstance(model, Mixture) else None
    )


def _columns(model: Mixture, problem: Problem, population: Population) -> list[UsedColumn]:
    """Every column, by how the model uses it."""
    promised = [*problem.columns, *(rate.versus for rate in problem.rates if rate.versus)]
    known, spoken_of = set(map(str, model.decider.known)), dict.fromkeys(map(str, promised))
    treatments = () if model.encoding is None else model.encoding.treatments
    columns = []
    for each in treatments:
        out = each.action == "left out"
        use: Use = "left out" if out else "seen"
        if out and str(each.name) in known | spoken_of.keys():
            use = "known" if str(each.name) in known else "promises only"
        told = each.holds, each.missing, each.distinct, each.words
        columns.append(UsedColumn(str(each.name), use, *told))
    listed = {each.name for each in columns}
    numbered = {str(each) for each in problem.columns if isinstance(each, int)}  # features of an array
    given = [] if population.stored else [*frame_columns(population.X), *population.columns]
    for name in dict.fromkeys([*sorted(known), *spoken_of, *map(str, given)]):
        if name not in listed and (treatments or name in known | spoken_of.keys()):
            rest: Use = "promises only" if treatments else "beside"  # features of arrays have no names
            rest = rest if name in spoken_of else "not seen"
            if name in known | numbered:
                rest = "known" if name in known else "seen"
            columns.append(UsedColumn(name, rest))
    return columns


def by_setting(course: Course) -> list[dict[str, Any]]:
    """For each setting, the number of its candidates, and the best one that keeps the promises.

    If none does, it is the one that breaks them least.
    """
    worst, rows = course.worst, []
    for setting in course.settings:
        own = np.flatnonzero(course.setting == setting)
        keeping = own[worst[own] <= 1e-9]
        best = _best(course, keeping) if len(keeping) else own[np.argmin(worst[own])]
        rows.append(
            {
                "setting": setting,
                "candidates": len(own),
                "keeping": len(keeping),
                "objective": _finite(course.objectives[best]),
                "worst": _finite(worst[best]),
            }
        )
    return rows


def _best(course: Course, among: Any) -> Any:
    costs = course.objectives[among]
    return among[np.argmin(costs)] if course.lower_is_better else among[np.argmax(costs)]


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
