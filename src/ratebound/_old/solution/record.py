"""A model's provenance: what it was trained for, on which rows, how, with what result and versions.

`Record` goes into a model's file, together with `Making`: how the model was made, in plain words and
numbers. `Course` is the candidates that a page draws; it stays in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from ratebound._old.base.extras import versions
from ratebound._old.base.types import Array
from ratebound._old.game.trace import Trace, worst_of
from ratebound._old.problem.problem import Problem, from_plain, to_plain
from ratebound._old.rates.expressions import Constraint
from ratebound._old.solution._checking import flag, numbers
from ratebound._old.solution.certificate import Certificate
from ratebound._old.solution.price import Price
from ratebound._old.solution.status import Status

PLAIN = (
    "setting",
    "seed",
    "data",
    "source",
    "date",
    "versions",
    "audited",
)  # in files, unchanged


@dataclass(frozen=True)
class Making:
    """How a model was made, for making it again.

    >>> Making.from_json(Making("rb.Linear()", {"trained on": 800}).to_json()).rows
    {'trained on': 800}
    """

    call: str = ""  # the call, as one would write it in Python
    rows: dict[str, int] = field(default_factory=dict)  # how many, by their use
    tried: tuple[str, ...] = ()  # the settings that were trained, in words
    compared: tuple[
        str, ...
    ] = ()  # the same for ways to decide that were judged likewise, the chosen one last
    candidates: int = 0  # kept from all of them
    ended: str = ""  # why training ended

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data."""
        return asdict(self) | {"tried": list(self.tried), "compared": list(self.compared)}

    @classmethod
    def from_json(cls, data: Any) -> Making:
        """What `to_json` wrote, checked."""
        names = {each.name for each in fields(cls)}
        if not isinstance(data, dict) or data.keys() | {"compared"} != names:  # old files lack it
            raise ValueError("its description of how it was made is not as it was saved")
        lists = {"tried": tuple(data["tried"]), "compared": tuple(data.get("compared", ()))}
        making = cls(**data | lists)
        words = (making.call, making.ended, *making.tried, *making.compared, *making.rows)
        counts = (making.candidates, *making.rows.values())
        if not all(type(each) is str for each in words):
            raise ValueError("its description of how it was made is not text")
        if not all(type(each) is int and each >= 0 for each in counts):
            raise ValueError(
                "its description of how it was made has counts of rows or candidates "
                "that are not numbers"
            )
        return making


@dataclass(frozen=True, eq=False)
class Course:
    """The candidates that a solution was chosen from, on the rows that they were judged on."""

    setting: Array  # (N,) the setting that each comes from
    round: Array  # (N,) the round after which it was kept
    objectives: Array  # (N,) as the problem states them
    violations: Array  # (N, m), feasible where <= 0
    scale: Array | float  # (m,) the units that violations are compared in
    lower_is_better: bool  # whether the objective is minimised

    def __len__(self) -> int:
        return len(self.objectives)

    @property
    def worst(self) -> Array:
        """Each candidate's worst violation (N,), in units."""
        return worst_of(self.violations, self.scale)

    @property
    def settings(self) -> list[int]:
        """The settings that have candidates."""
        settings: list[int] = np.unique(self.setting).tolist()
        return settings


def course_of(trace: Trace) -> Course:
    """The candidates of a trace, for a page to draw."""
    shown = trace.problem.shown(trace.objectives)
    down = trace.problem.sense == "minimize"
    return Course(trace.setting, trace.round, shown, trace.violations, trace.scale, down)


@dataclass(frozen=True, eq=False)
class Record:
    """What is known about a model, apart from how it decides.

    `objectives` and `violations` are expectations over the members, by population.
    """

    problem: Problem
    status: Status
    objectives: Mapping[str, float] = field(default_factory=dict)  # "train" and every watched population
    violations: Mapping[str, Array] = field(default_factory=dict)  # (m,) each, feasible where <= 0
    setting: int | None = None  # the setting its members come from; None if from several
    seed: int | None = None  # the seed passed to training, such as random_state=0; None if it was drawn
    data: str | None = None  # the digest of the training rows, `Compiled.digest`
    source: str | None = None  # the digest of the files that these rows come from, if any
    date: str | None = None  # when it was saved, if `save` was given a date
    versions: dict[str, str] = field(
        default_factory=lambda: dict(versions("ratebound", "numpy"))
    )  # installed when it was made
    audited: dict[str, Any] = field(default_factory=dict)  # the audit at the time of saving
    certificate: Certificate | None = None  # from rows it was neither trained nor chosen on
    prices: tuple[Price, ...] = ()  # its promises' prices, if read from a file
    drawn: tuple[float, float] | None = None  # the shares of decisions and of yeses that a draw makes
    made: Making = field(default_factory=Making)  # which call made it, from how many rows
    course: Course | None = None  # the candidates of its training, unless it was read from a file

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The problem's constraints as compiled: an area has one for each budget too."""
        return tuple(demand.words for demand in self.problem.demands)

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data; `from_json` is the way back."""
        constraints = self.constraints
        places = {name: [constraints.index(each) for each in getattr(self.status, name)]
                  for name in ("broken", "conflict")}  # fmt: skip
        status = {"feasible": self.status.feasible, "violation": self.status.violation, **places}
        status |= {"message": self.status.message, "confidence": self.status.confidence}
        said = {"reached": self.status.reached} if self.status.reached else {}
        return {
            **to_plain(self.problem),
            "status": status | said,
            "objectives": dict(self.objectives),
            "violations": {name: values.tolist() for name, values in self.violations.items()},
            **{name: getattr(self, name) for name in PLAIN},
            "made": self.made.to_json(),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "prices": [price.to_dict() for price in self.prices],
            **({} if self.drawn is None else {"drawn": list(self.drawn)}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Record:
        """The record that `to_json` wrote, checked."""
        problem = from_plain(data)
        constraints = tuple(demand.words for demand in problem.demands)
        size = (len(constraints),)
        violations = {n: numbers(v, size, "violations") for n, v in data["violations"].items()}
        objectives = {name: float(value) for name, value in data["objectives"].items()}
        if objectives.keys() != violations.keys():
            raise ValueError("its objectives and its violations are of different populations")
        for name, kind in {"setting": int, "seed": int, "data": str, "source": str, "date": str}.items():
            if data[name] is not None and type(data[name]) is not kind:
                raise ValueError(f"the {name} in its record is {data[name]!r}")
        if not isinstance(data["versions"], dict) or not isinstance(data["audited"], dict):
            raise ValueError("its versions or its audit are not a mapping")
        drawn = data.get("drawn")
        if drawn is not None and not (len(drawn) == 2 and all(0 <= float(each) <= 1 for each in drawn)):
            raise ValueError(f"the shares of draws in its record are {drawn!r}")
        certificate = data.get("certificate")  # older files have none
        return cls(
            problem=problem,
            status=_status(data["status"], constraints),
            objectives=objectives,
            violations=violations,
            **{name: data[name] for name in PLAIN},
            certificate=None if certificate is None else Certificate.from_dict(certificate),
            prices=tuple(Price.from_dict(price) for price in data.get("prices", ())),
            drawn=None if drawn is None else (float(drawn[0]), float(drawn[1])),
            made=Making.from_json(data["made"]),
        )


def _status(data: dict[str, Any], constraints: tuple[Constraint, ...]) -> Status:
    def named(indices: Any) -> tuple[Constraint, ...]:
        if not all(type(i) is int and 0 <= i < len(constraints) for i in indices):
            raise ValueError("its status names constraints it does not have")
        return tuple(constraints[i] for i in indices)

    violation, message = float(data["violation"]), str(data["message"])
    broken, conflict = named(data["broken"]), named(data["conflict"])
    confidence = data.get("confidence")  # older files have none
    if confidence is not None and not 0.0 <= float(confidence) <= 1.0:
        raise ValueError(f"the confidence in its status is {confidence!r}")
    said = str(data.get("reached", ""))
    return Status(flag(data["feasible"]), violation, broken, conflict, message, confidence, said)
