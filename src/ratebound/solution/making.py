"""How a model was made: what was asked for, of which rows, and what training went through.

`Making` is plain words and numbers, and goes into a model's file. `Course` is what a page draws of the
candidates; it stays in memory.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.game.trace import Trace, worst_of

ASIDE = "set aside to certify"  # a use of rows


@dataclass(frozen=True)
class Making:
    """What a model was made by, for those who want to make it again.

    >>> Making.from_json(Making("rb.Linear()", {"trained on": 800}).to_json()).rows
    {'trained on': 800}
    """

    call: str = ""  # what was asked for, as one would write it in Python
    rows: dict[str, int] = field(default_factory=dict)  # how many, by what they were used for
    tried: tuple[str, ...] = ()  # the settings that were trained, in words
    candidates: int = 0  # kept of all of them
    ended: str = ""  # what ended training

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data."""
        return asdict(self) | {"tried": list(self.tried)}

    @classmethod
    def from_json(cls, data: Any) -> Making:
        """What `to_json` wrote, checked."""
        if not isinstance(data, dict) or data.keys() != {each.name for each in fields(cls)}:
            raise ValueError("what it says of how it was made is not as it was saved")
        found = cls(**data | {"tried": tuple(data["tried"])})
        words = (found.call, found.ended, *found.tried, *found.rows)
        counts = (found.candidates, *found.rows.values())
        if not all(type(each) is str for each in words):
            raise ValueError("what it says of how it was made is not words")
        if not all(type(each) is int and each >= 0 for each in counts):
            raise ValueError("what it says of how it was made counts no rows or candidates")
        return found


@dataclass(frozen=True, eq=False)
class Course:
    """The candidates that a solution was chosen from, on the rows that they were judged on."""

    setting: Array  # (N,) that each comes from
    round: Array  # (N,) after which it was kept
    objectives: Array  # (N,) as the problem says them
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
        found: list[int] = np.unique(self.setting).tolist()
        return found


def course_of(trace: Trace) -> Course:
    """What a page draws of a trace."""
    shown = trace.problem.shown(trace.objectives)
    down = trace.problem.sense == "minimize"
    return Course(trace.setting, trace.round, shown, trace.violations, trace.scale, down)
