"""What the benchmarks share: tables, aims and their verdicts, and words for the machine they ran on.

A script prints its tables. Its aims it hands to `tell`, which prints them as a table too, or, where
`--json FILE` was given, writes them there with every number that was measured: `page.py` makes the page
of all scripts from those files, and `before_after.py` compares two versions by them.
"""

import argparse
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

HEADER = ["aim", "peer", "floor", "measured", "ratio", "at most", "verdict"]


@dataclass(frozen=True)
class Aim:
    """What is to be at most so much: a ratio to a floor or to a peer of the same run, or it itself.

    A floor is what cannot be saved, such as the same learner's unconstrained step; a peer is another
    library (`who`) that does the same. A `note` says which of several cases it is, or what else matters.
    """

    what: str
    most: float
    measured: float
    unit: str = "ms"
    floor: float | None = None
    peer: float | None = None
    who: str = ""
    by: Literal["floor", "peer", "itself"] = "floor"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the floor it is, or the peer if it is judged by that."""
        base = self.peer if self.by == "peer" else self.floor
        return None if base is None else self.measured / base

    @property
    def reached(self) -> Any:
        """What is to be at most `most`."""
        return self.measured if self.by == "itself" else self.ratio

    @property
    def met(self) -> bool:
        return self.reached <= self.most

    def row(self) -> list[str]:
        def cell(value: float | None) -> str:
            return "" if value is None else f"{value:.3g} {self.unit}"

        most = f"{self.most:g} {self.unit}" if self.by == "itself" else f"{self.most:g}x {self.by}"
        return [
            f"{self.what} ({self.note})" if self.note else self.what,
            f"{self.who} {cell(self.peer)}".strip(),
            cell(self.floor),
            cell(self.measured),
            "" if self.ratio is None else f"{self.ratio:.2f}x",
            most,
            "met" if self.met else "**MISSED**",
        ]


def worst_of(cases: Sequence[Aim]) -> Aim:
    """One aim for all of its cases: the one that is furthest above it, and how many are not."""
    worst = max(cases, key=lambda case: case.reached)
    kept = sum(case.met for case in cases)
    if len(cases) == 1:
        return worst
    return replace(worst, note=f"{kept} of {len(cases)} cases; the worst: {worst.note}")


def options(about: str) -> argparse.ArgumentParser:
    """The arguments of a script whose docstring is `about`."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers and the aims to this file")
    return parser


def tell(cells: Mapping[str, float], aims: Sequence[Aim], file: Path | None) -> None:
    """Print the aims, or write them with what was measured; the smaller a cell's number, the better."""
    if file is not None:
        found = {"cells": dict(cells), "aims": [asdict(aim) for aim in aims]}
        file.write_text(json.dumps(found, indent=1, default=float))
    elif aims:
        print(f"\n### Aims\n\n{aims_table(aims)}")


def aims_table(aims: Iterable[Aim]) -> str:
    return markdown(HEADER, [aim.row() for aim in aims])


def warm_up() -> None:
    """Have what is imported when it is first used imported now, before anything is measured."""
    import ratebound._old as rb

    few = rb.Population([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], columns={"g": ["a", "b"] * 2})
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(g="a") <= 0.5])
    rb.shrink(rb.play(rb.compile(problem, few), rb.Linear(), rounds=2, progress=False))


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table whose columns line up in a terminal too."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


def machine() -> str:
    """The processor, the number of cores and the version of Python."""
    about = Path("/proc/cpuinfo")  # Linux alone has it
    lines = about.read_text().splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"
