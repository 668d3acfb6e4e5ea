"""Writes what the docs say about every rate and goal, from the tables that define them.

`make docs` runs this. It draws images/rates/*.svg: what is counted is dark, and what it is divided by is
light. It also writes the tables of rates in saying.md, and their lists in reference/say.rst.
`tests/_old/rates/test_reference.py` holds what is committed to what is made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import ratebound as rb
from ratebound._old.problem.masks import masker
from ratebound._old.rates.expressions import Rate
from ratebound._old.rates.grouping import GOALS
from ratebound._old.rates.kinds import KINDS, TWO, Atom, Classes, atoms, label_classes
from ratebound._old.rates.subsets import EVERYONE, Referral

FOLDER = Path(__file__).parent / "images" / "rates"
RATES = [name for name in KINDS if hasattr(rb, name)]
PROMISES = [name for name in GOALS if hasattr(rb, name)]
ANIMALS: Classes = ("cat", "dog", "bird")
GROUP = {"group": ("g",)}
SAID: dict[str, dict[str, Any]] = {  # arguments that some rates and goals need
    "confusion": {"label": "cat", "predicted": "dog"},
    "cost": {"false_negative": 10, "false_positive": 1},
    "statistical_parity": {"groups": GROUP, "ratio": 0.8},
    "equal_opportunity": {"groups": GROUP, "ratio": 0.95},
    "equalized_odds": {"groups": GROUP, "ratio": 0.8},
    "equal_accuracy": {"groups": GROUP, "ratio": 0.95},
    "accurate_coverage": {"groups": GROUP, "ratio": 0.9},
    "minimum_coverage": {"groups": GROUP, "at_least": 0.1},
    "minimum_recall": {"groups": GROUP, "at_least": 0.95},
    "minimum_accuracy": {"groups": GROUP, "at_least": 0.8},
    "no_lost_benefits": {"groups": GROUP, "versus": "live"},
    "not_worse_off": {"groups": GROUP, "versus": "live"},
    "limited_churn": {"groups": GROUP, "versus": "live", "at_most": 0.02},
    "steering_examples": {"at_least": 0.67},
    "egregious_examples": {"at_least": 0.99},
    "decision_rule": {"groups": GROUP, "decision": False, "at_least": 0.99},
}
DARK, LIGHT, EMPTY = ("#1d5fa8", "#ffffff"), ("#cfe1f5", "#1b2733"), ("#ffffff", "#6b6b6b")
WIDE, HIGH, LEFT, TOP, BELOW = 68, 28, 66, 20, 22  # of a cell, and around a square


@dataclass(frozen=True)
class Square:
    """The cells that rows fall into: by what they are (lines), and by what the model says (columns)."""

    lines: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


LABELS = Square(("positive", "negative"), ("yes", "no"), (("TP", "FN"), ("FP", "TN")))
RIGHT = Square(
    ("live right", "live wrong"),
    ("right", "wrong"),
    (("both right", "lost"), ("won", "both wrong")),
)
LIVE = Square(
    ("live yes", "live no"), ("yes", "no"), (("still yes", "no longer"), ("newly yes", "still no"))
)
LIVE_LABELS = Square(  # of the live model alone
    ("positive", "negative"), ("live yes", "live no"), (("live TP", "live FN"), ("live FP", "live TN"))
)
CONFUSED = Square(
    tuple(f"a {name}" for name in ANIMALS),
    tuple(f"“{name}”" for name in ANIMALS),
    tuple(tuple(f"{label} as {said}" for said in ANIMALS) for label in ANIMALS),
)
REFERRED = Square(
    ("positive", "negative"),
    ("yes", "no", "refer"),
    (("TP", "FN", "positive referred"), ("FP", "TN", "negative referred")),
)
OR_REFERRED: Classes = (*TWO, Referral("refer"))
Weights = dict[str, float]  # by the name of a cell; those of 0 are left out


def square_of(rate: Rate) -> Square:
    """The cells by which a rate is shown."""
    kind = KINDS[rate.kind]
    if kind.speaks == "two classes":
        return CONFUSED
    if "refer" in (kind.event or ("",))[0]:
        return REFERRED
    if not kind.versus:
        return LABELS
    if kind.event is not None and "v = {c}" in kind.event[0] and kind.labels:
        return LIVE_LABELS
    return RIGHT if kind.labels else LIVE


def counted(rate: Rate, square: Square) -> tuple[Weights, Weights]:
    """How often a row of each cell counts, and how often in what it is divided by; none for a count.

    A cell may hold rows of several labels, or that an existing model decides differently: all that fall
    into a cell must count the same, or the picture would be wrong.
    """
    classes = ANIMALS if square is CONFUSED else OR_REFERRED if square is REFERRED else TWO
    rows = [(label, live) for label in label_classes(classes) for live in classes]
    labels, lives = zip(*rows, strict=True)
    people = rb.Population(None, labels, {"live": lives}, classes=list(classes))
    mask = masker(people, absent=True)
    top, bottom = (np.zeros((len(rows), len(classes))) for _ in range(2))
    for atom in atoms(replace(rate, subset=EVERYONE), classes):
        top += atom.factor * np.outer(mask(atom.given), _decided(atom, classes))
        if atom.over is not None:
            bottom[mask(atom.over)] = 1.0
    sides: tuple[Weights, Weights] = {}, {}
    for (row, column), place in np.ndenumerate(np.arange(top.size).reshape(top.shape)):
        name = _cell(square, *rows[row], classes[column], classes)
        for side, values in zip(sides, (top, bottom), strict=True):
            value = float(values.flat[place])
            assert side.setdefault(name, value) == value, f"{rate}: rows of {name} count differently"
    return sides


def _decided(atom: Atom, classes: Classes) -> np.ndarray:
    """Which decisions an atom counts."""
    named = np.array([each == (classes[-1] if atom.of is None else atom.of) for each in classes])
    return np.ones(len(classes)) if atom.predicted is None else named == atom.predicted


def _cell(square: Square, label: Any, live: Any, decided: Any, classes: Classes) -> str:
    if square is CONFUSED:
        place = classes.index(label), classes.index(decided)
    elif square is REFERRED:
        place = int(not label), 2 if decided == classes[-1] else int(not decided)
    elif square is LIVE_LABELS:
        place = int(not label), int(not live)
    elif square is RIGHT:
        place = int(live != label), int(decided != label)
    else:
        place = int(not (live if square is LIVE else label)), int(not decided)
    return square.cells[place[0]][place[1]]


def sides_of(metric: Any) -> tuple[Square, Weights, Weights]:
    """The square of a rate or ratio, what is counted, and what it is divided by."""
    square = square_of(metric.rates[0])
    if not isinstance(metric, rb.Ratio):
        top, bottom = counted(metric.rates[0], square)
    else:
        parts = []
        for side in (metric.numerator, metric.denominator):
            found = dict.fromkeys((name for line in square.cells for name in line), 0.0)
            for rate, factor in side.terms:
                for name, value in counted(rate, square)[0].items():
                    found[name] += factor * value
            parts.append(found)
        top, bottom = parts
    names = [name for line in square.cells for name in line]
    return square, *({name: side[name] for name in names if side[name]} for side in (top, bottom))


def formula(metric: Any) -> str:
    """What is counted over what it is divided by, in cells."""
    if isinstance(metric, rb.Area):
        return "pairs of a positive and a negative row that the score ranks rightly ÷ all such pairs"
    if is_of_pairs(metric):
        return "pairs whose first has the higher score ÷ pairs"
    square, top, bottom = sides_of(metric)
    if not bottom:
        return _sum(top)
    if len(bottom) == sum(map(len, square.cells)):
        return f"{_grouped(top)} ÷ rows"
    return f"{_grouped(top)} ÷ {_grouped(bottom)}"


def _sum(weights: Weights) -> str:
    return " + ".join(name if value == 1 else f"{value:g} {name}" for name, value in weights.items())


def _grouped(weights: Weights) -> str:
    return f"({_sum(weights)})" if len(weights) > 1 else _sum(weights)


def is_of_pairs(metric: Any) -> bool:
    """Whether a rate is of pairs of rows."""
    return any(KINDS[rate.kind].pairs for rate in metric.rates)


def rate_said(name: str) -> Any:
    """A rate as it is drawn."""
    versus = {"versus": "live"} if KINDS[name].versus else {}
    return getattr(rb, name)(**versus, **SAID.get(name, {}))


def goal_said(name: str) -> list[rb.Constraint]:
    """The constraints that a goal stands for, of one group."""
    found: list[rb.Constraint] = getattr(rb, name)(**SAID[name])
    return found


def goal_formula(name: str) -> str:
    """What a goal asks of one group, in cells; one line for each constraint."""
    return "; ".join(
        f"{formula(c.left)} in {_rows(c.left.rates[0])} {_sign(c)} {_factor(c)}"
        + (f"{formula(c.right)} in {_rows(c.right.rates[0])}" if c.right.rates else "")
        for c in goal_said(name)
    )


def _rows(rate: Rate) -> str:
    return (f"“{rate.on}”" if rate.on else "all") if rate.subset == EVERYONE else "g"


def _sign(constraint: rb.Constraint) -> str:
    return {">=": "≥", "<=": "≤"}[constraint.relation]


def _factor(constraint: rb.Constraint) -> str:
    """What stands before the rate on the right: its factor, or the number alone."""
    terms = constraint.right.terms
    if not terms:
        return f"{constraint.right.constant:g}"
    return "" if terms[0][1] == 1 else f"{terms[0][1]:g} × "


def alt(metric: Any) -> str:
    """The picture in words."""
    if isinstance(metric, rb.Area):
        return "The area under the curve of recall against the false positive rate is shaded."
    if is_of_pairs(metric):
        return "Counted: pairs whose first is scored higher. Divided by: all pairs."
    square, top, bottom = sides_of(metric)
    counted_words = f"Counted: {', '.join(top)}."
    if not bottom:
        return counted_words
    every = len(bottom) == sum(map(len, square.cells))
    return f"{counted_words} Divided by: {'all rows' if every else ', '.join(bottom)}."


def _text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "#1b2733") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def drawn(metric: Any, y: float = 0.0, below: str = "") -> tuple[list[str], float, float]:
    """A square as lines of SVG, with its width and height."""
    square, top, bottom = sides_of(metric)
    lines = [
        _text(LEFT + WIDE * (column + 0.5), y + 14, name) for column, name in enumerate(square.columns)
    ]
    for line, name in enumerate(square.lines):
        lines.append(_text(LEFT - 6, y + TOP + HIGH * (line + 0.5) + 4, name, "end"))
        for column, cell in enumerate(square.cells[line]):
            fill, ink = DARK if cell in top else LIGHT if cell in bottom else EMPTY
            left, up = LEFT + WIDE * column, y + TOP + HIGH * line
            lines.append(
                f'<rect x="{left:g}" y="{up:g}" width="{WIDE}" height="{HIGH}" fill="{fill}" '
                'stroke="#6b7a89"/>'
            )
            times = top.get(cell, bottom.get(cell, 1.0))
            words = cell if times == 1 else f"{times:g} × {cell}"
            lines.append(_text(left + WIDE / 2, up + HIGH / 2 + 4, words, colour=ink))
    width, height = LEFT + WIDE * len(square.columns) + 4.0, TOP + HIGH * len(square.lines) + 4.0
    if below:
        lines.append(_text(LEFT + WIDE * len(square.columns) / 2, y + height + 12, below))
        height += BELOW
    return lines, width, height


def _area() -> tuple[list[str], float, float]:
    """A curve above the diagonal, and the area under it."""
    curve = "M66 76 C70 40 88 24 198 20"
    return [
        f'<path d="{curve} L198 76 Z" fill="{LIGHT[0]}"/>',
        f'<path d="{curve}" fill="none" stroke="{DARK[0]}" stroke-width="2"/>',
        '<path d="M66 20 V76 H198" fill="none" stroke="#6b7a89"/>',
        _text(60, 50, "recall", "end"),
        _text(132, 92, "false positive rate"),
    ], 202, 98  # fmt: skip


def _pairs() -> tuple[list[str], float, float]:
    """Pairs by which of the two is scored higher."""
    lines = [_text(LEFT - 6, TOP + HIGH / 2 + 4, "pairs", "end")]
    for column, (words, colours) in enumerate((("first", DARK), ("second", LIGHT))):
        left = LEFT + WIDE * column
        lines.append(
            f'<rect x="{left:g}" y="{TOP}" width="{WIDE}" height="{HIGH}" fill="{colours[0]}" '
            'stroke="#6b7a89"/>'
        )
        lines.append(_text(left + WIDE / 2, TOP + HIGH / 2 + 4, words, colour=colours[1]))
    lines.append(_text(LEFT + WIDE, 14, "scored higher"))
    return lines, LEFT + WIDE * 2 + 4.0, TOP + HIGH + 4.0


def _goal(name: str) -> tuple[list[str], float, float]:
    """Every constraint of a goal: a square, a sign, and a number or a square below."""
    lines: list[str] = []
    wide = y = 0.0
    for constraint in goal_said(name):
        left, right = constraint.left.rates[0], constraint.right.rates
        sign = f"in {_rows(left)}   {_sign(constraint)}   {_factor(constraint)}".rstrip()
        for rate, below in [(left, sign), *((rate, f"in {_rows(rate)}") for rate in right)]:
            drawing, width, height = drawn(rb.Expression(((rate, 1.0),)), y, below)
            lines += drawing
            wide, y = max(wide, width), y + height
    return lines, wide, y


def picture(name: str) -> str:
    """The SVG of a rate or goal."""
    if name in PROMISES:
        lines, width, height = _goal(name)
        words = f"{name}: {goal_formula(name)}"
    else:
        said = rate_said(name)
        if isinstance(said, rb.Area):
            lines, width, height = _area()
        else:
            lines, width, height = _pairs() if is_of_pairs(said) else drawn(said)
        words = f"{name}: {alt(said)}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" role="img" font-family="sans-serif" font-size="11">',
            f"<title>{escape(words)}</title>",
            '<rect width="100%" height="100%" rx="4" fill="#ffffff"/>',
            *lines,
            "</svg>\n",
        ]
    )


def pictures() -> Iterator[tuple[Path, str]]:
    """Every picture, by its path."""
    for name in (*RATES, *PROMISES):
        yield FOLDER / f"{name}.svg", picture(name)


def section_of(name: str) -> str:
    """The heading in saying.md under which a rate stands."""
    kind, said = KINDS[name], rate_said(name)
    by_unit = {"count": "Counts", "area": "How well the score ranks"}
    if kind.versus:
        return "Against a model in use"
    if kind.unit == "ratio":
        return "How often its yes, or its no, is right"
    if kind.unit in by_unit:
        return by_unit[kind.unit]
    if kind.speaks == "the referral":
        return "How often a row is referred"
    square, _, bottom = sides_of(said)
    if len(bottom) < sum(map(len, square.cells)):
        return "How often it is right, of those with the same label"
    if kind.unit == "cost" or kind.speaks == "every class":
        return "How often it is right in all, and what errors cost"
    return "How often the model says yes"


def row(name: str) -> str:
    """A rate's row in the tables of saying.md."""
    kind, said = KINDS[name], rate_said(name)
    assert kind.example is not None, f"{name} has no example= in rates/named.py"
    sentence, promise = kind.example
    needs = [word for word, needed in (("labels", kind.labels), ("`versus=`", kind.versus)) if needed]
    facts = f"{kind.unit}{', needs ' * bool(needs)}{' and '.join(needs)}"
    same = f" The same as `{kind.same_as}`." * bool(kind.same_as)
    return (
        f"| ![{alt(said)}](images/rates/{name}.svg) | **`{name}`**<br>{formula(said)}<br>*{facts}* | "
        f"{kind.meaning}{same}<br>“{sentence}”<br>`{promise}` |"
    )


def tables(page: str) -> str:
    """saying.md with the table of rates under each of its headings."""
    for heading in dict.fromkeys(map(section_of, RATES)):
        start = page.index("|---|---|---|\n", page.index(f"### {heading}\n")) + len("|---|---|---|\n")
        rows = "".join(f"{row(name)}\n" for name in RATES if section_of(name) == heading)
        page = page[:start] + rows + page[page.index("\n\n", start - 1) + 1 :]
    return page


def lists(page: str) -> str:
    """reference/say.rst with the names of rates under each of its headings."""
    of_headings: dict[str, list[str]] = {
        name: [] for name in ("Rates", "Ratios and areas", "Counts", "Beside an existing model")
    }
    for name in RATES:
        place = {"ratio": 1, "area": 1, "count": 2}.get(KINDS[name].unit, 0)
        of_headings[list(of_headings)[3 if KINDS[name].versus else place]].append(name)
    for heading, names in of_headings.items():
        start = page.index(":nosignatures:\n\n", page.index(f"{heading}\n---")) + len(
            ":nosignatures:\n\n"
        )
        page = (
            page[:start]
            + "".join(f"   {name}\n" for name in names)
            + page[page.index("\n\n", start) + 1 :]
        )
    return page


PAGES = {"saying.md": tables, "reference/say.rst": lists}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, svg in pictures():
        path.write_text(svg, "utf-8")
    for name, written in PAGES.items():
        path = Path(__file__).parent / name
        path.write_text(written(path.read_text("utf-8")), "utf-8")
