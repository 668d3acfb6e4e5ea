"""The page's sections on the model: how it was trained and chosen, how it decides, and what it sees."""

from __future__ import annotations

from ratebound.auditing._figures import LINES, course_figures
from ratebound.auditing._tables import Section, count, note, table, value
from ratebound.auditing.provenance import Card, Column, by_setting, used
from ratebound.auditing.report import Audit
from ratebound.base.markup import Markup, tag

MEMBERS = 40  # that are listed
COLUMNS = 200  # that are listed of each use
ENDED = {
    "rounds": "all rounds were played",
    "gap": "the solution could not get better",
    "stopped": "it had stopped getting better",
    "time": "its time was over",
    "interrupted": "it was interrupted",
}
USES = {
    "seen": ("Seen by the model", "What it decides by."),
    "known": ("Known when deciding", "They set the thresholds; the model’s score does not use them."),
    "left out": ("Left out", "They were given, and hold nothing that a model could use."),
    "beside": (
        "Named beside the features",
        "Promises speak of them. The features were given without names, so it is not known here whether "
        "the model sees the same in them.",
    ),
    "promises only": ("Used by promises only", "Promises speak of them; the model does not see them."),
    "not seen": (
        "Not seen",
        "They are in the rows audited, and neither the model nor a promise uses them.",
    ),
}
CHOICE = (
    "A setting is chosen by its best mixture on the rows it is judged on, with thresholds moved, and "
    "with the promises tightened where they are to hold on new rows. Those that keep every promise go "
    "before those that do not, and the lowest cost wins among them. Where none keeps them all, "
    "objective and worst violation are ranked, and the setting whose larger rank is smallest is chosen. "
    "Another setting may therefore have the better single candidate."
)


def training(report: Audit) -> Section | None:
    """How training got there, and which setting was chosen."""
    card = report.card
    if card is None:
        return None
    record = card.mixture.record
    parts = [tag("p", tag("strong", "On the rows trained on: "), str(record.status))]
    parts.append(tag("p", *_reached(card)))
    if record.course is not None:
        parts += _settings(card)
        drawn = tag("div", *course_figures(record.course, report), class_="charts")
        parts += [drawn, note(_chart_words(report, card))]
    elif record.made.tried:
        made = record.made
        tried = f"{len(made.tried)} settings were tried, and {made.candidates:,} candidates kept"
        parts.append(tag("p", f"{tried}. {_ended(card)}"))
        parts.append(note(CHOICE))
    return Section("training", "Training and choice", tuple(parts))


def _reached(card: Card) -> list[object]:
    """The objective and the worst violation on each population that it was judged on."""
    found: list[object] = []
    for name, objective in card.mixture.objectives.items():
        found += [
            f"On “{name}” the objective is ",
            value(objective, f"card/objectives/{name}"),
            " and the worst violation ",
            value(card.worst[name], f"card/worst/{name}", signed=True),
            " (kept where not above 0). ",
        ]
    return found


def _ended(card: Card) -> str:
    ended = card.mixture.record.made.ended
    return f"Training ended because {ENDED[ended]}." if ended in ENDED else ""


def _settings(card: Card) -> list[Markup]:
    record = card.mixture.record
    assert record.course is not None
    tried, rows = record.made.tried, []
    for place, each in enumerate(by_setting(record.course)):
        at, setting = f"card/by_setting/{place}", each["setting"]
        words = tried[place] if place < len(tried) else "as it is"
        chosen = "chosen" if setting == record.setting else ""
        rows.append(
            [
                words,
                count(each["candidates"], f"{at}/candidates"),
                count(each["keeping"], f"{at}/keeping"),
                value(each["objective"], f"{at}/objective"),
                value(each["worst"], f"{at}/worst", signed=True),
                tag("span", chosen, class_="chip kept"),
            ]
        )
    heads = ["Setting", "Candidates", "That keep all", "Best objective", "Its worst violation", "Chosen"]
    found = table("Every setting that was trained", heads, rows, left=(0, 5), sortable=True)
    said = (
        "“Best” is the candidate that keeps every promise at the best objective, or the one that breaks "
        f"them least where none does. {CHOICE} {_ended(card)}"
    )
    return [found, note(said)]


def _chart_words(report: Audit, card: Card) -> str:
    course = card.mixture.record.course
    assert course is not None
    words = f"{len(course):,} candidates of {len(course.settings)} settings, where they were judged. "
    if report.training is not None:
        words += "Filled: the solution on the rows trained on. "
    words += "Ring: the solution on the rows audited."
    if len(course.settings) > LINES:
        words += f" Curves: the first {LINES} settings."
    return words


def deciding(report: Audit) -> Section | None:
    """By what the model decides: thresholds, or members and their weights."""
    card = report.card
    if card is None:
        return None
    model = card.mixture
    rules = [tag("li", tag("code", line)) for line in model.rule.splitlines()]
    parts = [tag("ul", *rules, class_="rules")]
    if len(model) > 1:
        rows = [
            [f"Member {i + 1}", value(float(weight), f"card/weights/{i}")]
            for i, weight in enumerate(model.weights[:MEMBERS].tolist())
        ]
        for name, levels in list(model.thresholds.items()):
            for i, row in enumerate(rows):
                row.append(_threshold(levels[i].tolist(), f"card/thresholds/{name}/{i}"))
        heads = ["Member", "Weight", *(f"Threshold {name}" for name in model.thresholds)]
        parts.append(table("Members, and how often each decides", heads, rows))
        if len(model) > MEMBERS:
            parts.append(note(f"The first {MEMBERS} of {len(model):,} members."))
    said = "A member is one of the models, which are numbered from 0, at thresholds. " * (len(model) > 1)
    said += f"The scores are those of a model of the kind “{model.scorer.kind}”."
    if card.randomised:
        said += (
            " One member decides each row, drawn by a hash of the row or of its id: the same row always "
            "gets the same decision."
        )
    if model.calibration is not None:
        on = model.calibration
        said += f" Probabilities of the label are calibrated on {on.rows:,} rows ({on.on})."
    return Section("deciding", "How it decides", (*parts, note(said)))


def _threshold(level: float | list[float], at: str) -> Markup:
    if isinstance(level, list):
        return Markup(", ".join(value(each, f"{at}/{i}") for i, each in enumerate(level)))
    return value(level, at)


def columns(report: Audit) -> Section | None:
    """What the model sees, and what it does not."""
    card = report.card
    if card is None:
        return None
    parts: list[Markup] = []
    places = {id(each): place for place, each in enumerate(card.columns)}
    for use, own in used(card.columns).items():
        title, why = USES[use]
        parts.append(tag("h3", f"{title} ({len(own):,})"))
        parts.append(tag("p", why))
        if all(each.missing is None for each in own):
            names = [tag("li", tag("code", each.name)) for each in own[:COLUMNS]]
            parts.append(tag("ul", *names, class_="names"))
        else:
            heads = ["Column", "Holds", "Missing", "Distinct", "What was done"]
            rows = [_column(each, places[id(each)]) for each in own[:COLUMNS]]
            parts.append(table(title, heads, rows, left=(0, 1, 4), sortable=True, stacked=True))
        if len(own) > COLUMNS:
            parts.append(note(f"The first {COLUMNS} of {len(own):,}; all of them are in the JSON."))
    if not card.columns:
        parts.append(tag("p", "It sees features without names, as they were given."))
    elif any(each.missing is not None for each in card.columns):
        parts.append(note("Missing and distinct values are counted on the rows trained on."))
    return Section("columns", "What the model sees", tuple(parts))


def _column(each: Column, place: int) -> list[object]:
    at = f"card/columns/{place}"
    missing, distinct = count(each.missing, f"{at}/missing"), count(each.distinct, f"{at}/distinct")
    return [tag("code", each.name), each.holds, missing, distinct, each.words]
