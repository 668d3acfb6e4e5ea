"""The plot of the comparison: error against the worst violation on new rows, by problem."""

from collections.abc import Sequence
from pathlib import Path

from _running import Found
from _tables import kept, mean, solved

COLOURS = {"ours": "#0b5cad", "peer": "#b3541e", "floor": "#555555"}


def draw(every: Sequence[Found], file: Path) -> None:
    """Numbers stand for contenders, as in the legend; a ring means that decisions look at the group."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update({"svg.hashsalt": "ratebound", "font.size": 8, "svg.fonttype": "none"})
    problems = list(dict.fromkeys(found.problem for found in every))
    ways = list(dict.fromkeys(found.way for found in every))
    figure, panels = plt.subplots(-(-len(problems) // 2), 2, figsize=(9, 3 * -(-len(problems) // 2)))
    for panel, problem in zip(panels.flat, problems, strict=False):
        for found in every:
            if found.problem is not problem or not solved(found):
                continue
            way = found.way
            kind = "ours" if way.ours else "floor" if way.floor else "peer"
            at = mean(found, lambda fit: fit.test.violation), mean(found, lambda fit: fit.test.error)
            full = kept(found) == len(found.fits)
            panel.plot(*at, "o", color=COLOURS[kind], alpha=0.9 if full else 0.35, ms=5,
                       mfc="none" if way.known else COLOURS[kind])  # fmt: skip
            panel.annotate(str(ways.index(way) + 1), at, textcoords="offset points", xytext=(4, 3),
                           color=COLOURS[kind], fontsize=7)  # fmt: skip
        panel.axvline(0, color="#999999", lw=0.8)
        panel.set_title(problem.title)
        panel.set_xlabel("mean worst violation on new rows (kept: left of the line)")
        panel.set_ylabel("mean error")
    for panel in list(panels.flat)[len(problems) :]:
        panel.axis("off")
    names = [f"{number} {way.name}" for number, way in enumerate(ways, 1)]
    figure.text(0.01, 0.005, "\n".join(
        "     ".join(names[i : i + 4]) for i in range(0, len(names), 4)
    ), fontsize=7, va="bottom")  # fmt: skip
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
