"""The page's section on how it can be checked: rows and their digests, versions, and what made it."""

from __future__ import annotations

from ratebound.auditing._tables import Section, count, note, table
from ratebound.auditing.report import Audit
from ratebound.base.markup import Markup, tag

WHY = (
    "The same rows have the same digest, so whoever has them can tell whether these are the rows. A "
    "file’s digest is its SHA-256, unpacked, as sha256sum prints it; that of the files that the model "
    "was trained on is taken of theirs, also where it is one. The digest of the rows trained on is of "
    "what the model sees of them, with labels, weights and groups as far as the promises ask: it is not "
    "to be compared with that of the rows audited."
)


def checking(report: Audit) -> Section | None:
    """All that someone needs who wants to make the report again."""
    if report.provenance is None:
        return None
    parts = [table("Rows, by what they were used for", ["Use", "Rows"], _rows(report))]
    parts.append(table("The report", ["What", "Which"], _report(report), left=(0, 1), stacked=True))
    if report.card is not None:
        parts.append(table("The model", ["What", "Which"], _model(report), left=(0, 1), stacked=True))
    return Section("checking", "How this can be checked", (*parts, note(WHY)))


def _rows(report: Audit) -> list[list[object]]:
    found: list[list[object]] = []
    if report.card is not None:
        made = report.card.mixture.record.made
        for use, rows in made.rows.items():
            found.append([use.capitalize(), count(rows, f"card/rows/{use}")])
        own = report.card.mixture.certificate
        for name, rows in own.populations.items() if own is not None else ():
            found.append(
                [_called(name, "Certified on"), count(rows, f"card/certificate/populations/{name}")]
            )
    for name, rows in report.populations.items():
        found.append([_called(name, "Audited"), count(rows, f"populations/{name}")])
    return found


def _called(name: str, first: str) -> str:
    return first if name in ("audited", "certified") else f"{first}, of population {name}"


def _report(report: Audit) -> list[list[object]]:
    origin = report.provenance
    assert origin is not None
    unseen = {True: "none of these rows", False: "these rows", None: "not known here"}[origin.unseen]
    found: list[list[object]] = [
        ["Made on", origin.date],
        ["Made by", _code(origin.command) if origin.command else "a call of audit in Python"],
        ["Versions", _versions(origin.versions)],
        ["Rows audited, digest", _code(origin.data)],
        ["The model was trained on", unseen],
        ["Rows count", "by their weights" if origin.weighted else "once each"],
    ]
    found += [[f"File {name}, SHA-256", _code(digest)] for name, digest in origin.files.items()]
    return found


def _model(report: Audit) -> list[list[object]]:
    assert report.card is not None
    record = report.card.mixture.record
    told = {
        "Made by": record.made.call,
        "Seed": None if record.seed is None else str(record.seed),
        "Rows trained on, digest": record.data,
        "Files they are from, digest": record.source,
    }
    found: list[list[object]] = [[what, _code(words)] for what, words in told.items() if words]
    if record.date is not None:
        found.append(["Saved on", record.date])
    return [*found, ["Versions", _versions(record.versions)]]


def _code(words: str) -> Markup:
    return tag("code", words, class_="long")


def _versions(given: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in given.items())
