"""A table as it came out beside the published one: as text for the eye, as JSON for everything else."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ratebound._old.base.extras import versions
from ratebound_experiments.experiment import FREE, Experiment
from ratebound_experiments.published import published
from ratebound_experiments.rows import CALLED, SOLUTIONS, VALUES, Chosen, Row, Summary, summarised
from ratebound_experiments.running import Played, solved

STAND_IN = "Stand-in data: the published table is of other data, which was never public."
RATES = (
    "Violations: kept where at most 0. Learning rates of model/multipliers, chosen on validation rows:"
)
LIBRARIES = ("ratebound", "numpy", "scipy", "torch")
TITLE, NUMBER = 20, 8  # widths of columns


@dataclass(frozen=True)
class Reproduced:
    """One problem's table, and all that is needed to judge it."""

    name: str
    title: str
    words: str
    stand_in: bool
    seeds: list[int]
    epochs: int
    device: str
    seconds: dict[str, float]  # of training, by algorithm, all seeds together
    versions: dict[str, str]
    rows: list[Summary]
    chosen: list[list[Chosen]]  # for each row, of each seed
    published: list[Row]

    @property
    def heading(self) -> str:
        """What was run, in a few words."""
        seeds = (
            f"seed {self.seeds[0]}" if len(self.seeds) == 1 else f"mean ± sd of {len(self.seeds)} seeds"
        )
        return f"{seeds}, {self.epochs} epoch{'s' * (self.epochs != 1)}"

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())

    def published_row(self, row: Row) -> Row | None:
        """The published row of the same algorithm and solution, if there is one."""
        same = (p for p in self.published if (p.algorithm, p.solution) == (row.algorithm, row.solution))
        return next(same, None)


def reproduced(
    experiment: Experiment,
    runs: Sequence[list[Played]],
    device: str | None = None,
) -> Reproduced:
    """The table of an experiment that was run once for each seed, from 0 on."""
    tables = [solved(played) for played in runs]
    seconds: dict[str, float] = {}
    for one in (one for played in runs for one in played):
        seconds[one.algorithm] = seconds.get(one.algorithm, 0.0) + one.seconds
    return Reproduced(
        name=experiment.name,
        title=experiment.title,
        words=experiment.words,
        stand_in=experiment.stand_in,
        seeds=list(range(len(runs))),
        epochs=experiment.epochs,
        device=device or "cpu",
        seconds=seconds,
        versions=versions(*LIBRARIES),
        rows=summarised([[row for row, _ in table] for table in tables]),
        chosen=[[chosen for _, chosen in same] for same in zip(*tables, strict=True)],
        published=published(experiment.name),
    )


def text(table: Reproduced) -> str:
    """The table in fixed width, ours on the left and the published on the right."""
    return "\n".join([*_head(table), *_body(table), "", *_settings(table), _took(table)])


def to_json(table: Reproduced) -> dict[str, Any]:
    """The table as plain values; `rows` are means over the seeds if there are several."""
    own = {name: getattr(table, name) for name in PLAIN}
    rows = [
        row.to_json() | {"learning_rates": [[one.model, one.multipliers] for one in chosen]}
        for row, chosen in zip(table.rows, table.chosen, strict=True)
    ]
    published = [Summary(row, row, 1).to_json() for row in table.published]
    return own | {
        "seconds": table.total_seconds,
        "seconds_by_algorithm": table.seconds,
        "rows": rows,
        "published": published,
    }


def from_json(given: dict[str, Any]) -> Reproduced:
    """The table that `to_json` wrote."""
    own = {name: given[name] for name in PLAIN}
    count = len(own["seeds"])
    return Reproduced(
        **own,
        seconds=given["seconds_by_algorithm"],
        rows=[Summary(_row(row), _row(row, "_sd"), count) for row in given["rows"]],
        chosen=[[Chosen(*pair) for pair in row["learning_rates"]] for row in given["rows"]],
        published=[_row(row) for row in given["published"]],
    )


def number(value: float) -> str:
    """Four digits, and no sign on what is zero to them.

    >>> number(-1e-9), number(-0.01234)
    ('0.0000', '-0.0123')
    """
    return f"{round(value, 4) + 0.0:.4f}"


def chosen_text(chosen: Sequence[Chosen]) -> str:
    """The learning rates of all seeds, each pair once.

    >>> chosen_text([Chosen(0.1, 0.01), Chosen(0.1, 0.01), Chosen(0.1, 1.0)])
    '0.1/0.01 ×2, 0.1/1'
    """
    counts = Counter(map(str, chosen))
    return ", ".join(f"{pair} ×{n}" if n > 1 else pair for pair, n in counts.most_common())


PLAIN = tuple(
    field.name for field in fields(Reproduced)
    if field.name not in ("seconds", "rows", "chosen", "published")
)  # fmt: skip


def _row(given: dict[str, Any], ending: str = "") -> Row:
    values = [given.get(f"{name}{ending}", math.nan) for name in VALUES]
    return Row(given["algorithm"], given["solution"], *values)


def _head(table: Reproduced) -> list[str]:
    half, part = 6 * NUMBER, 3 * NUMBER
    published = "published, other data" if table.stand_in else "published"
    kinds = f"{'error':^{part}}{'worst violation':^{part}}"
    parts = "".join(f"{name:>{NUMBER}}" for name in ("train", "valid", "test")) * 2
    lines = [f"{table.title}: {table.words}"]
    if table.stand_in:
        lines.append(STAND_IN)
    return [
        *lines,
        "",
        f"{'':{TITLE}}{f'ours, {table.heading}':^{half}}   {published:^{half}}".rstrip(),
        f"{'':{TITLE}}{kinds}   {kinds}".rstrip(),
        f"{'':{TITLE}}{parts}   {parts}",
    ]


def _body(table: Reproduced) -> list[str]:
    lines = []
    for summary in table.rows:
        published = table.published_row(summary.row)
        theirs = ["–"] * len(VALUES) if published is None else map(number, published.values())
        ours = _cells(map(number, summary.row.values()))
        lines.append(f"{summary.row.title:{TITLE}}{ours}   {_cells(theirs)}")
        if summary.seeds > 1:
            lines.append(" " * TITLE + _cells(f"±{number(v)}" for v in summary.deviations.values()))
    return lines


def _cells(words: Any) -> str:
    return "".join(f"{word:>{NUMBER}}" for word in words)


def _settings(table: Reproduced) -> list[str]:
    """A line for each algorithm: the learning rates chosen for its solutions."""
    lines = [RATES]
    by_algorithm: dict[str, list[str]] = {}
    for summary, chosen in zip(table.rows, table.chosen, strict=True):
        row, words = summary.row, chosen_text(chosen)
        named = words if row.algorithm in FREE else f"{SOLUTIONS[row.solution]} {words}"
        by_algorithm.setdefault(row.algorithm, []).append(named)
    for algorithm, names in by_algorithm.items():
        line = f"{CALLED[algorithm]:{TITLE}}{'; '.join(names)}"
        lines += textwrap.wrap(line, TITLE + 12 * NUMBER + 3, subsequent_indent=" " * TITLE)
    return lines


def _took(table: Reproduced) -> str:
    each = ", ".join(f"{CALLED[name]} {seconds:.1f}" for name, seconds in table.seconds.items())
    return f"{table.total_seconds:.1f} seconds of training on {table.device}: {each}."
