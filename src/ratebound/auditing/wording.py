"""An audit in sentences: what was audited, what it comes to, and what it does not show."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ratebound.base.layout import NOTHING, number
from ratebound.problem.problem import left_out_words

if TYPE_CHECKING:  # the report says its limits with these functions
    from ratebound.auditing.report import Audit, Promise
    from ratebound.solution.certificate import Certificate

# Verdicts on new rows, as said of one promise and of several.
VERBS = {
    "certified": ("is certified", "are certified"),
    "not certified": ("is not certified", "are not certified"),
    "holds": ("holds", "hold"),
    "may not hold": ("may not hold", "may not hold"),
    "broken": ("is broken", "are broken"),
}
TRAINED = "The model was trained on these rows. What it keeps here shows nothing about new ones."
FEW_ROWS = 30  # rows of the smallest set, below which a promise is known badly
LISTED = 6  # promises and columns that are named


def heading(report: Audit) -> str:
    """What was audited, on what."""
    positive = "" if report.positive is None else f"; yes is {report.positive!r}"
    return f"Audit of {report.model} on {rows_text(report)}{clusters_text(report)}{positive}"


def clusters_text(report: Audit) -> str:
    """Which rows were drawn together, where that is known."""
    if report.clusters is None:
        return ""
    column, count = report.clusters
    return f", drawn as {count:,} clusters by {column!r}"


def rows_text(report: Audit) -> str:
    """How many rows of each population, the one audited first without its name."""
    (_, first), *others = report.populations.items()
    also = ", ".join(f"{name}: {rows:,}" for name, rows in others)
    return f"{first:,} rows ({also})" if also else f"{first:,} rows"


def summary(report: Audit) -> str:
    """The audit in one sentence.

    >>> from ratebound import Population, Problem, error_rate, recall
    >>> from ratebound.auditing.auditing import audit
    >>> class Always:
    ...     def predict(self, X):
    ...         return [1] * len(X)
    >>> people = Population([[0.0]] * 4, [1, 1, 0, 0])
    >>> summary(audit(Problem(error_rate(), [recall() >= 0.9]), Always(), people))
    '1 of 1 promises kept on 4 rows; on new rows 1 may not hold (at 95%)'
    """
    total = len(report.promises)
    if not total:
        return f"no promises were made; measured on {rows_text(report)}"
    kept = sum(bool(p.kept) for p in report.promises)
    words = f"{kept} of {total} promises kept on {rows_text(report)}"
    words += " that it was trained on" * report.trained
    said = Counter[str](on_new_rows(report, p) for p in report.promises)
    if report.trained:  # which are not evidence for new rows
        del said["broken"]
    for verdicts, level in _levels(report):
        new = [f"{said[each]} {VERBS[each][said[each] > 1]}" for each in verdicts if said[each]]
        words += f"; on new rows {', '.join(new)} ({level})" if new else ""
    if missing := said["not measured"]:
        words += f"; {missing} could not be measured on these rows"
    return words


def _levels(report: Audit) -> list[tuple[tuple[str, ...], str]]:
    """Verdicts, and the confidence at which they are meant: a certificate's, and each alone."""
    own, alone = certificate_of(report), "each alone, " if len(report.promises) > 1 else ""
    all_of = "all together, " if own is not None and len(own.promises) > 1 else ""
    tested = [] if own is None else [(tuple(VERBS)[:2], f"{all_of}at {percent(own.confidence)}")]
    return [*tested, (tuple(VERBS)[2:], f"{alone}at {percent(report.confidence)}")]


def certificate_of(report: Audit) -> Certificate | None:
    """The model's certificate, if it is about every promise of the report."""
    own = None if report.card is None else report.card.mixture.certificate
    if own is None or not report.promises:
        return None
    tested = {str(each.constraint) for each in own.promises}
    return own if all(promise.words in tested for promise in report.promises) else None


def on_new_rows(report: Audit, promise: Promise) -> str:
    """What is said of a promise on new rows: by the certificate if there is one, else by its interval.

    So one promise is not both certified and in doubt. What these rows show to be broken is said so.
    """
    own = certificate_of(report)
    if own is None or promise.verdict == "broken":
        return promise.verdict
    holds = any(each.holds for each in own.promises if str(each.constraint) == promise.words)
    return "certified" if holds else "not certified"


def percent(probability: float) -> str:
    """A confidence as people write it.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * probability:.4g}%"


def interval_text(low: float | None, high: float | None, *, signed: bool = True) -> str:
    if low is None or high is None:
        return NOTHING
    beside = 0.0 if signed else None  # of room, the sign decides
    return f"[{number(low, signed=signed, beside=beside)}, {number(high, signed=signed, beside=beside)}]"


def limits(report: Audit) -> list[str]:
    """The known limits of a report, a sentence or two each; the gravest first."""
    return [*_of_rows(report), *_of_promises(report), *_of_model(report), *_of_all(report)]


def _of_rows(report: Audit) -> list[str]:
    """What follows from which rows were audited."""
    said, origin = [], report.provenance
    if report.trained:
        said.append(TRAINED)
    elif origin is not None and origin.unseen is None and not report.decided:
        said.append(
            "It is not known here whether the model was trained or chosen on these rows. If it was, "
            "what it keeps on them shows nothing about new ones."
        )
    if origin is not None and origin.weighted:
        said.append("Rows count by their weight, and the intervals take the weights to be right.")
    if report.clusters is None:
        said.append(
            "“New rows” come from the same source, independently of each other: not several rows of one "
            "person (clusters= names their column), nor another year or place. Watch the model in use."
        )
    else:
        column, count = report.clusters
        said.append(
            f"“New rows” are those of new values of {column} from the same source as these {count:,}, "
            "not of another year or place. Watch the model in use."
        )
    return said


def worst_cases(report: Audit) -> list[str]:
    """What promises keep whoever the rows are that were not audited, a sentence each."""
    return [
        f"In the worst case that guesses and audited rows leave possible, {p.words} has a room of "
        f"{number(p.worst, signed=True, beside=0.0)} on these rows (at {percent(report.confidence)})."
        for p in report.promises
        if p.worst is not None
    ]


def _of_promises(report: Audit) -> list[str]:
    said = [*report.guessed, *worst_cases(report)]
    few = [p for p in report.promises if 0 < p.rows < FEW_ROWS]
    if few:
        named = "; ".join(f"{p.words} ({p.rows})" for p in few[:LISTED])
        more = f" and {len(few) - LISTED} more" if len(few) > LISTED else ""
        said.append(f"Some promises rest on fewer than {FEW_ROWS} rows: {named}{more}.")
    said += [
        f"No interval: {p.words}: {p.why}." for p in report.promises if p.why and p.kept is not None
    ]
    if report.left_out:
        said.append(left_out_words(report.left_out))
    missing = [p.words for p in report.promises if p.verdict == "not measured"]
    if missing:
        said.append(f"Not measured on these rows: {'; '.join(missing[:LISTED])}.")
    said += _unpromised(report)
    if len(report.promises) > 1 and not report.trained and certificate_of(report) is None:
        level = percent(report.confidence)
        said.append(
            f"Each verdict is {level} sure alone, so among {len(report.promises)} promises some may be "
            "wrong by chance. Only a certificate is about all of them together."
        )
    if report.decided:
        said.append("Nothing is certified: that is what rb.certify and ratebound certify are for.")
    elif report.card is None or report.card.mixture.certificate is None:
        said.append("Nothing is certified: no rows were set aside for that.")
    return said


def _unpromised(report: Audit) -> list[str]:
    """Which groups nothing is promised about, and which are too small to show anything."""
    own, said = report.protected, []
    if own is not None and own.unnamed:
        said.append(f"Columns that look protected and that no promise names: {', '.join(own.unnamed)}.")
    if own is not None and own.too_few:
        named = ", ".join(own.too_few[:LISTED])
        more = f" and {len(own.too_few) - LISTED} more" if len(own.too_few) > LISTED else ""
        said.append(f"Groups too small to show anything: {named}{more}.")
    return said


def _of_model(report: Audit) -> list[str]:
    if report.decided:
        return [
            "Decisions are taken as they were made. Who or what made them, and from which facts, is not "
            "known here; that a rate differs between groups is not yet a reason."
        ]
    if report.card is None:
        return ["Of this model only its decisions are known: not how it was made, nor what it sees."]
    said, card = [], report.card
    if card.randomised:
        said.append(
            "One of several members decides each row, drawn by a hash of it, so two people who differ a "
            "little may be decided differently by chance. Rates are expectations over that draw; rows "
            "whose features many share are counted as they are decided."
        )
    if card.mixture.decider.known:
        by = ", ".join(map(str, card.mixture.decider.known))
        said.append(f"It decides by {by}. Whether that is allowed is not for this report to say.")
    hidden = [each.name for each in card.columns if each.use == "promises only"]
    if hidden:
        named = ", ".join(hidden[:LISTED]) + (" and others" if len(hidden) > LISTED else "")
        said.append(
            f"The model does not see {named}, but columns that it sees may stand in for what it "
            "does not."
        )
    if card.mixture.record.made.ended in ("time", "interrupted"):
        said.append("Training was ended early, so that a better model may exist.")
    return said


def _of_all(report: Audit) -> list[str]:
    labels = (
        "Labels are taken to be true. If they are mistaken or unfair, so is every rate measured by them."
    )
    if not report.labelled:
        labels = (
            "There are no labels: what is measured is how often each decision is made, and not whether "
            "it was right."
        )
    elif report.decided:
        labels += (
            " If the outcome is only known of some decisions, such as whether those who got a loan "
            "repaid it, rates by label say nothing about the others."
        )
    return [
        labels,
        "Verdicts are about what was promised. Other groups and rates may be worse than those shown.",
    ]
