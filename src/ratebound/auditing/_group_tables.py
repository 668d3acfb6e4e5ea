"""The page's sections on groups: their rates, and what rows of each label are decided to be."""

from __future__ import annotations

from ratebound.auditing._confusions import ALL, Confusion, cells
from ratebound.auditing._figures import bar
from ratebound.auditing._groups import Group, heads
from ratebound.auditing._tables import Section, count, note, table, value
from ratebound.auditing.report import Audit
from ratebound.auditing.wording import CONFUSED
from ratebound.base.markup import Markup, tag

CELLS = {
    "true_positives": "Yes, rightly (TP)",
    "false_positives": "Yes, wrongly (FP)",
    "false_negatives": "No, wrongly (FN)",
    "true_negatives": "No, rightly (TN)",
}


def groups(report: Audit) -> Section:
    """The rates of every group, and how its rows were decided."""
    several = bool(report.confusions)
    everyone = {g.population: g for g in reversed(report.groups) if g.words == "everyone"}
    names = ["Group", "Rows", *["Positive"] * (not several)]
    rates = heads(several)
    rows = [
        _rates(g, f"groups/{i}", everyone.get(g.population), rates, several)
        for i, g in enumerate(report.groups)
    ]
    names += [head.capitalize() for head in rates.values()]
    left = (0, *range(len(names) - len(rates), len(names)))
    parts = [
        table("Rates of every group", names, rows, left=left, sortable=True),
        note("Bars run from 0 to 1; the tick marks everyone’s rate."),
    ]
    labelled = [(i, g) for i, g in enumerate(report.groups) if g.true_positives is not None]
    if labelled:
        counts = [[tag("code", name_of(g)), *(_cell(g, i, cell) for cell in CELLS)] for i, g in labelled]
        named = ["Group", *CELLS.values()]
        parts += [
            table("How the rows of every group were decided", named, counts, sortable=True),
            note(
                "Decisions by label. Rows count by their weight, and of a mixture these are "
                "expectations, which need not be whole numbers."
            ),
        ]
    return Section("groups", "Groups", tuple(parts))


def name_of(group: Group) -> str:
    """What tables call a group."""
    return group.words if group.population is None else f"{group.population}: {group.words}"


def _rates(
    group: Group, at: str, everyone: Group | None, rates: dict[str, str], several: bool
) -> list[object]:
    positives = [count(group.positives, f"{at}/positives")] * (not several)
    found: list[object] = [tag("code", name_of(group)), count(group.rows, f"{at}/rows"), *positives]
    for rate in rates:
        own: float | None = getattr(group, rate)
        drawn = bar(own, getattr(everyone, rate, None))
        found.append(Markup(tag("div", value(own, f"{at}/{rate}")) + drawn))
    return found


def _cell(group: Group, place: int, cell: str) -> Markup:
    own: float = getattr(group, cell)
    whole = abs(own - round(own)) < 1e-9
    return value(own, f"groups/{place}/{cell}", text=f"{own:,.0f}" if whole else f"{own:,.1f}")


def confusions(report: Audit) -> Section:
    """What rows of each label are decided to be, of more than two classes."""
    tables = [_confusion(each, f"confusions/{i}") for i, each in enumerate(report.confusions)]
    said = note(f"Each table shows {CONFUSED}; rows count by their weight.")
    return Section("confusions", "Labels and decisions", (*tables, said))


def _confusion(confusion: Confusion, at: str) -> Markup:
    """The table of one group under its name."""
    names = ["Label", *map(str, confusion.classes), ALL]
    rows: list[list[object]] = []
    for place, (head, counts) in enumerate(confusion.lines):
        total = place == len(confusion.lines) - 1
        source = f"{at}/decided" if total else f"{at}/counts/{place}"
        shown: list[object] = []
        for i, (text, share) in enumerate(cells(counts)):
            last = i == len(counts)
            own = tag("span", text) if last else value(counts[i], f"{source}/{i}", text=text)
            shown.append(Markup(own + tag("small", share)))
        rows.append([head, *shown])
    return table(confusion.name, names, rows)
