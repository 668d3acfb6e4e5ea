"""The figures of a table with matplotlib: its trade-offs, and how iterates swing while training."""

from __future__ import annotations

import io
from typing import Any

from ratebound._old.base.extras import import_extra
from ratebound._old.solution.solutions import last_iterate, select
from ratebound_experiments.experiment import FREE
from ratebound_experiments.rows import CALLED, SOLUTIONS, Row
from ratebound_experiments.running import Played
from ratebound_experiments.tables import Reproduced

COLOURS = {"unconstrained": "C7", "steering-only": "C4", "hinge": "C0", "swap": "C1", "ext": "C2"}
MARKERS = {"m-stoch": "*", "t-stoch": "s", "best": "o", "last": "^"}


def trade_off(table: Reproduced) -> Any:
    """Error against worst violation of every row, ours left and the published right.

    Filled: test rows; hollow: training rows of the same solution, joined to them by a line. With
    several seeds ours are means, with a cross of one standard deviation.
    """
    figure = _figure(10.5, 4.6)
    alike = not table.stand_in  # other data has other errors: each panel has axes of its own
    ours, theirs = figure.subplots(1, 2, sharex=alike, sharey=alike)
    for summary in table.rows:
        _mark(ours, summary.row)
        if summary.seeds > 1:
            at, spread = summary.row, summary.deviations
            ours.errorbar(
                at.test_violation, at.test_error, spread.test_error, spread.test_violation,
                ecolor=COLOURS[at.algorithm], elinewidth=0.8, fmt="none", zorder=1,
            )  # fmt: skip
    for row in table.published:
        _mark(theirs, row)
    ours.set_title(f"ours, {table.heading}" + (", stand-in data" if table.stand_in else ""))
    theirs.set_title("published" + (", other data" if table.stand_in else ""))
    for ax in (ours, theirs):
        ax.axvline(0.0, linewidth=1, color="grey", zorder=0)
        ax.set_xlabel("worst violation, kept where at most 0")
        ax.locator_params(axis="x", nbins=6)
    ours.set_ylabel("error")
    figure.suptitle(table.title)
    figure.legend(handles=_key(table), loc="outside right upper", frameon=False)
    return figure


def oscillation(played: list[Played], table: Reproduced) -> Any:
    """Error and worst violation on the training rows of every iterate kept, by round.

    Of each algorithm with constraints the setting is shown that was chosen for its last iterate.
    """
    figure = _figure(8.4, 5.6)
    above, below = figure.subplots(2, 1, sharex=True)
    for one in played:
        if one.algorithm in FREE:
            continue
        shown = one.trace.of_setting(select(one.trace, last_iterate).setting)
        style = {"color": COLOURS[one.algorithm], "label": CALLED[one.algorithm], "linewidth": 1.2}
        style |= {"marker": "." if len(shown) <= 60 else None}
        above.plot(shown.round, shown.objectives, **style)
        below.plot(shown.round, shown.violations.max(axis=1), **style)
    below.axhline(0.0, linewidth=1, color="grey", zorder=0)
    above.set_ylabel("error")
    below.set_ylabel("worst violation")
    below.set_xlabel("round")
    data = " (stand-in data)" if table.stand_in else ""
    above.set_title(f"{table.title}{data}: iterates on the training rows, seed {table.seeds[0]}")
    above.legend(frameon=False, ncols=3)
    return figure


def png(figure: Any) -> bytes:
    """A figure as the content of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()


def _mark(ax: Any, row: Row) -> None:
    colour, marker = COLOURS[row.algorithm], MARKERS[row.solution]
    marker = "X" if row.algorithm in FREE else marker
    violations, errors = (row.train_violation, row.test_violation), (row.train_error, row.test_error)
    ax.plot(violations, errors, color=colour, linewidth=0.7, alpha=0.5, zorder=1)
    for at, filled in ((0, False), (1, True)):
        ax.scatter(
            violations[at], errors[at], marker=marker, s=70, edgecolors=colour,
            facecolors=colour if filled else "none", zorder=2 + filled,
        )  # fmt: skip


def _key(table: Reproduced) -> list[Any]:
    """What the colours and markers mean."""
    line = import_extra("matplotlib.lines", "matplotlib", "plot").Line2D
    algorithms = list(dict.fromkeys(summary.row.algorithm for summary in table.rows))
    colours = [
        line([], [], color=COLOURS[name], marker="X" if name in FREE else None, label=CALLED[name],
             linestyle="none" if name in FREE else "-")
        for name in algorithms
    ]  # fmt: skip
    grey = {"color": "0.3", "linestyle": "none"}
    shapes = [line([], [], marker=MARKERS[name], label=SOLUTIONS[name], **grey) for name in SOLUTIONS]
    hollow = line([], [], marker="o", markerfacecolor="none", label="hollow: training rows", **grey)
    return [*colours, *shapes, hollow]


def _figure(width: float, height: float) -> Any:
    made = import_extra("matplotlib.figure", "matplotlib", "plot").Figure
    return made(figsize=(width, height), layout="constrained")
