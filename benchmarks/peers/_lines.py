"""The output of a part of the comparison: its lines, as JSON, one for each task and peer."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Result:
    """The time it took, and the result."""

    time: float
    error: float | None = None  # on the training rows, like the worst violation
    violation: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Line:
    """A peer on one task, and ratebound's methods in the same process.

    A `floor` is not a peer: the same work without any promise.
    """

    task: str
    unit: str
    peer: str
    result: Result
    own: dict[str, Result] = field(default_factory=dict)
    floor: bool = False


def hand_over(parts: Mapping[str, Callable[[], Iterable[Line]]]) -> None:
    """Print the lines of the part that the command line names."""
    lines = [asdict(line) for line in parts[sys.argv[1]]()]
    print(json.dumps(lines, default=float))
