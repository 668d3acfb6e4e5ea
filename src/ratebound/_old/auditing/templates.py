"""Forms that others require, filled in from an audit: a model card, the sections of Annex IV.

Missing facts are named blanks, so that a reader sees them. `about` has facts that no program can know:
who owns the model, what it is for, who signed, until when.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ratebound._old.auditing import _document as sections
from ratebound._old.auditing._first_page import state_of
from ratebound._old.auditing.wording import heading, limits, percent, rows_text, summary
from ratebound._old.base import document as doc
from ratebound._old.base.checks import nearest
from ratebound._old.base.rendering import Documented

if TYPE_CHECKING:  # reports make these forms
    from ratebound._old.auditing.report import Audit

# The facts that people can state about a model, and the text of each blank.
ABOUT = {
    "name": "what the system is called",
    "owner": "who answers for it",
    "contact": "whom to ask",
    "version": "its version, and how it relates to earlier ones",
    "intended_use": "what it is for, and who uses it on whom",
    "out_of_scope": "what it must not be used for",
    "human_oversight": "who may overrule it, and how (Article 14)",
    "data": "where the data come from, how they were chosen, labelled and cleaned",
    "hardware": "what it runs on, and which other systems it interacts with",
    "forms": "in which forms it is put into service, such as software to install, or an API",
    "interface": "what its users see, and their instructions",
    "resources": "the computers that it was developed, trained and tested with",
    "input_data": "what its input must be like",
    "outcomes": "unintended outcomes that can be foreseen, and risks to health, safety and rights",
    "metrics": "why the objective and these promises fit the purpose",
    "risks": "the risk management system (Article 9)",
    "changes": "changes through the lifecycle, including planned ones",
    "standards": "harmonised standards that were applied, or other solutions",
    "declaration": "the EU declaration of conformity",
    "monitoring": "the post-market monitoring plan (Article 72)",
    "cybersecurity": "the measures taken",
    "sign_off": "who signed, and when",
    "expires": "until when this holds, as in 2027-06-30",
}
NO_OPINION = (
    "Made from what an audit knows and what people said. It is not a legal opinion, and not a statement "
    "that any law is complied with."
)


@dataclass(frozen=True, eq=False)
class Form(Documented):
    """A filled-in form, and its blank entries.

    Parameters
    ----------
    kind : {"annex-iv", "model-card"}
        The kind of form.
    report : Audit
        The facts known about the model.
    about : dict of str to str
        The facts that people stated.
    """

    kind: str
    report: Audit
    about: Mapping[str, str]

    @property
    def blanks(self) -> list[str]:
        """The entries of the form that are blank."""
        asked = CARD if self.kind == "model-card" else tuple(ABOUT)
        return [key for key in asked if key not in self.about]

    @property
    def expired(self) -> bool:
        """Whether its expiry date has passed."""
        until = self.about.get("expires")
        return until is not None and until < datetime.datetime.now(datetime.UTC).date().isoformat()

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types: what was stated, what is blank, and the audit.

        Returns
        -------
        dict
            The audit's entries, and the form's entries under "form".
        """
        own = {"kind": self.kind, "about": dict(self.about), "blanks": self.blanks}
        return {**self.report.to_dict(), "form": {**own, "expired": self.expired}}

    def document(self) -> doc.Document:
        title, parts = _model_card(self) if self.kind == "model-card" else _annex_iv(self)
        notes = [f"Blank: {', '.join(self.blanks)}."] if self.blanks else []
        notes += [f"It expired on {self.about['expires']}."] if self.expired else []
        state = state_of(self.report)[0]
        said = doc.Conclusion(
            summary(self.report) + ".", "broken" if self.expired else state, notes=tuple(notes)
        )
        return doc.Document(title, heading(self.report), parts, self.to_dict, said, NO_OPINION)


def filled(kind: str, report: Audit, about: Mapping[str, Any] | None = None) -> Form:
    """A form filled in from an audit and from people's statements, checked."""
    if kind not in ("annex-iv", "model-card"):
        raise ValueError(
            f"template takes 'annex-iv' or 'model-card', got {kind!r}; for ratios, rb.impact_ratios"
        )
    said: dict[str, str] = {}
    for key, value in (about or {}).items():
        name = str(key).replace("-", "_")
        if name not in ABOUT:
            raise ValueError(
                f"about has no entry {key!r}{nearest(name, ABOUT)} It has {', '.join(ABOUT)}"
            )
        if isinstance(value, datetime.date):
            value = value.isoformat()
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"about: {key!r} takes a text, got {value!r}")
        said[name] = value
    if (signed := report.signed) is not None:
        known = {"owner": signed.owner, "intended_use": signed.purpose, "expires": signed.expires}
        said = {**known, "sign_off": f"{signed.owner}, {signed.date}", **said}
    if until := said.get("expires"):
        try:
            datetime.date.fromisoformat(until)
        except ValueError:
            raise ValueError(f"about: expires takes a date such as 2027-06-30, got {until!r}") from None
    return Form(kind, report, said)


# --- a model card -------------------------------------------------------------------------------------

CARD = ("name", "owner", "contact", "version", "intended_use", "out_of_scope", "data",
        "human_oversight", "sign_off", "expires")  # fmt: skip
WHAT = doc.heads("entry", doc.Head("what is known", "words"))


def _entry(form: Form, key: str) -> doc.Cell:
    return form.about.get(key) or f"[to be filled in: {ABOUT[key]}]"


def _said(form: Form, *keys: str) -> tuple[doc.Row, ...]:
    return tuple((key.replace("_", " ").capitalize(), _entry(form, key)) for key in keys)


def _model(form: Form) -> tuple[doc.Row, ...]:
    """The file's facts about the model; empty for decisions without one."""
    report = form.report
    if report.card is None:
        return (("What was audited", report.model),)
    record = report.card.mixture.record
    rows = [("What was audited", f"{report.model}, of the kind {report.card.mixture.scorer.kind!r}")]
    rows += [("Made by", record.made.call)] if record.made.call else []
    rows += [("Saved on", record.date)] if record.date else []
    rows.append(("Versions", ", ".join(f"{name} {own}" for name, own in record.versions.items())))
    return tuple(rows)


def _read(form: Form) -> tuple[doc.Row, ...]:
    """The columns that the model reads."""
    card = form.report.card
    encoding = None if card is None else card.mixture.encoding
    if encoding is None or not encoding.from_frame:
        return ()
    names = dict.fromkeys(str(column.name) for column in encoding.columns)
    return (("Columns that it reads", ", ".join(names)),)


def _trained(form: Form) -> tuple[doc.Row, ...]:
    report = form.report
    if report.card is None:
        return (("Rows trained on", "not known here"),)
    record = report.card.mixture.record
    rows = [(use.capitalize(), f"{used:,} rows") for use, used in record.made.rows.items()]
    rows += [("Digest of the rows", record.data)] if record.data else []
    return tuple(rows)


def _audited(form: Form) -> tuple[doc.Row, ...]:
    origin = form.report.provenance
    rows = [("Rows audited", rows_text(form.report))]
    if origin is not None:
        rows += [("Audited on", origin.date), ("Digest of the rows", origin.data)]
        rows += [(f"File {name}, SHA-256", digest) for name, digest in origin.files.items()]
    return tuple(rows)


def _section(title: str, parts: tuple[doc.Part, ...]) -> doc.Section:
    """A section that pages find by its name."""
    return doc.Section(title, parts, re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-"))


def _table(caption: str, rows: tuple[doc.Row, ...]) -> doc.ReportTable:
    return doc.ReportTable(caption, WHAT, rows, stacked=True)


def _results(form: Form) -> list[doc.Part]:
    """The sections of the report that show what was measured."""
    made = (sections.promised, sections.promises, sections.simplest, sections.groups, sections.protected)
    own = (make(form.report) for make in made)
    return [each for each in own if each is not None]


def _model_card(form: Form) -> tuple[str, tuple[doc.Part, ...]]:
    named = form.about.get("name")
    return f"Model card: {named}" if named else "Model card", (
        _section(
            "Model details",
            (_table("The model", (*_said(form, "name", "owner", "contact", "version"), *_model(form))),),
        ),
        _section("Intended use", (_table("Uses", _said(form, "intended_use", "out_of_scope")),)),
        _section("Training data", (_table("Data", (*_said(form, "data"), *_trained(form))),)),
        _section("Evaluation data", (_table("Rows", _audited(form)),)),
        *_results(form),
        _section("Limits and considerations", (doc.Bullets(tuple(limits(form.report))),)),
        _section("Oversight and sign-off", (
            _table("Who answers", _said(form, "human_oversight", "sign_off", "expires")),
        )),
    )  # fmt: skip


# --- Annex IV -----------------------------------------------------------------------------------------


def _annex_iv(form: Form) -> tuple[str, tuple[doc.Part, ...]]:
    """The headings of Annex IV of Regulation (EU) 2024/1689, in order, in our own words."""
    report = form.report
    one = report.objective
    aim = "as low as possible" if one.sense == "minimize" else "as high as possible"
    logic: list[doc.Row] = [
        ("Designed to optimise", f"{one.words}, {aim}, subject to the promises below")
    ]
    if report.decided:
        logic = [("Designed to optimise", "not known: only decisions are audited")]
    if report.card is not None:
        logic += [("How it decides", doc.Quoted(line)) for line in report.card.mixture.rule.splitlines()]
    tested = (
        ("Metrics", "the objective and each promise, with the formulas below"),
        ("Bounds", f"at {percent(report.confidence)} for each end of an interval"),
        ("Test log", summary(report) + "."),
        ("Signed by", _entry(form, "sign_off")),
        ("Holds until", _entry(form, "expires")),
    )
    return "Technical documentation (Annex IV, Regulation (EU) 2024/1689)", (
        _section("1. General description", (_table("The system", (
            *_said(form, "name", "owner", "contact", "version", "intended_use", "out_of_scope",
                   "hardware", "forms", "interface"),
            *_model(form),
        )),)),
        _section("2. Elements and development", (
            _table("Logic and design choices", (*logic, *_said(form, "resources"))),
            _table("Data", (*_said(form, "data"), *_trained(form))),
            _table("Oversight, changes, security",
                   _said(form, "human_oversight", "changes", "cybersecurity")),
            _table("Validation and testing", (*_audited(form), *tested)),
            *_results(form),
        )),
        _section("3. Monitoring, functioning and control", (
            doc.Paragraph("Capabilities and limits, also for groups of persons, as the audit shows:"),
            doc.Bullets(tuple(limits(report))),
            _table("Outcomes, oversight and input",
                   (*_said(form, "outcomes", "human_oversight", "input_data"), *_read(form))),
        )),
        _section("4. Why these metrics are appropriate", (_table("Metrics", _said(form, "metrics")),)),
        _section("5. Risk management", (_table("Article 9", _said(form, "risks")),)),
        _section("6. Changes through the lifecycle", (_table("Changes", _said(form, "changes")),)),
        _section("7. Standards", (_table("Standards", _said(form, "standards")),)),
        _section("8. Declaration of conformity", (_table("Copy", _said(form, "declaration")),)),
        _section("9. Post-market monitoring", (
            _table("Article 72", _said(form, "monitoring")),
            doc.Paragraph("ratebound monitor watches the same promises on rows as they come in."),
        )),
    )  # fmt: skip
