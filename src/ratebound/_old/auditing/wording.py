"""An audit in sentences: what was audited, the result, and what it does not show."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ratebound._old.base.layout import NOTHING, number
from ratebound._old.problem.problem import left_out_words

if TYPE_CHECKING:  # the report words its limits with these functions
    from ratebound._old.auditing.report import Audit, Promise
    from ratebound._old.solution.certificate import Certificate

# Verdicts on new rows, for one promise and for several.
VERBS = {
    "certified": ("is certified", "are certified"),
    "not certified": ("is not certified", "are not certified"),
    "holds": ("holds", "hold"),
    "may not hold": ("may not hold", "may not hold"),
    "broken": ("is broken", "are broken"),
}
TRAINED = "The model was trained on these rows. Promises kept here show nothing about new rows."
FEW_ROWS = 30  # with fewer rows in its smallest set, a promise is hardly known
LISTED = 6  # promises and columns that are named, at most


def heading(report: Audit) -> str:
    """What was audited, on what."""
    positive = "" if report.positive is None else f"; yes is {report.positive!r}"
    return f"Audit of {report.model} on {rows_text(report)}{clusters_text(report)}{positive}"


def clusters_text(report: Audit) -> str:
    """Which rows were drawn together, if known."""
    if report.clusters is None:
        return ""
    column, count = report.clusters
    return f", drawn as {count:,} clusters by {column!r}"


def rows_text(report: Audit) -> str:
    """How many rows each population has, the first one without its name."""
    (_, first), *others = report.populations.items()
    also = ", ".join(f"{name}: {rows:,}" for name, rows in others)
    return f"{first:,} rows ({also})" if also else f"{first:,} rows"


def summary(report: Audit) -> str:
    """The audit in one sentence.

    >>> from ratebound._old import Population, Problem, error_rate, recall
    >>> from ratebound._old.auditing.auditing import audit
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
    words += " that were given to fit" * report.trained
    counts = Counter[str](on_new_rows(report, p) for p in report.promises)
    if report.trained:  # these are not evidence for new rows
        del counts["broken"]
    for verdicts, level in _levels(report):
        new = [f"{counts[each]} {VERBS[each][counts[each] > 1]}" for each in verdicts if counts[each]]
        words += f"; on new rows {', '.join(new)} ({level})" if new else ""
    if missing := counts["not measured"]:
        words += f"; {missing} could not be measured on these rows"
    return words


def _levels(report: Audit) -> list[tuple[tuple[str, ...], str]]:
    """Verdicts, and their confidence: the certificate's, and each promise by itself."""
    certificate, alone = certificate_of(report), "each alone, " if len(report.promises) > 1 else ""
    all_of = "all together, " if certificate is not None and len(certificate.promises) > 1 else ""
    tested = (
        []
        if certificate is None
        else [(tuple(VERBS)[:2], f"{all_of}at {percent(certificate.confidence)}")]
    )
    return [*tested, (tuple(VERBS)[2:], f"{alone}at {percent(report.confidence)}")]


def certificate_of(report: Audit) -> Certificate | None:
    """The model's certificate, if it is about every promise of the report."""
    certificate = None if report.card is None else report.card.mixture.certificate
    if certificate is None or not report.promises:
        return None
    tested = {str(each.constraint) for each in certificate.promises}
    return certificate if all(promise.words in tested for promise in report.promises) else None


def on_new_rows(report: Audit, promise: Promise) -> str:
    """A promise's verdict on new rows: from the certificate if there is one, else from its interval.

    So a promise is not both certified and in doubt. A promise that these rows show to be broken is
    "broken".
    """
    certificate = certificate_of(report)
    if certificate is None or promise.verdict == "broken":
        return promise.verdict
    holds = any(each.holds for each in certificate.promises if str(each.constraint) == promise.words)
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
    beside = 0.0 if signed else None  # for room, the sign decides
    return f"[{number(low, signed=signed, beside=beside)}, {number(high, signed=signed, beside=beside)}]"


def limits(report: Audit) -> list[str]:
    """The known limits of a report, a sentence or two each; the most serious first."""
    return [*_of_rows(report), *_of_promises(report), *_of_model(report), *_of_all(report)]


def _of_rows(report: Audit) -> list[str]:
    """Limits that follow from the choice of audited rows."""
    sentences, origin = [], report.provenance
    if report.trained:
        sentences.append(TRAINED)
    elif origin is not None and origin.unseen is None and not report.decided:
        sentences.append(
            "It is not known here whether the model was trained or chosen on these rows. If it was, "
            "promises kept on them show nothing about new rows."
        )
    if origin is not None and origin.weighted:
        sentences.append("Rows count by their weight, and the intervals take the weights to be right.")
    if report.clusters is None:
        sentences.append(
            "“New rows” come from the same source, independently of each other: not several rows of one "
            "person (clusters= names their column), nor another year or place. Watch the model in use."
        )
    else:
        column, count = report.clusters
        sentences.append(
            f"“New rows” have new values of {column} and come from the same source as these {count:,}, "
            "not of another year or place. Watch the model in use."
        )
    return sentences


def _of_promises(report: Audit) -> list[str]:
    sentences: list[str] = []
    few = [p for p in report.promises if 0 < p.rows < FEW_ROWS]
    if few:
        named = "; ".join(f"{p.words} ({p.rows})" for p in few[:LISTED])
        more = f" and {len(few) - LISTED} more" if len(few) > LISTED else ""
        sentences.append(f"Some promises rest on fewer than {FEW_ROWS} rows: {named}{more}.")
    sentences += [
        f"No interval: {p.words}: {p.why}." for p in report.promises if p.why and p.kept is not None
    ]
    if report.left_out:
        sentences.append(left_out_words(report.left_out))
    missing = [p.words for p in report.promises if p.verdict == "not measured"]
    if missing:
        sentences.append(f"Not measured on these rows: {'; '.join(missing[:LISTED])}.")
    sentences += _unpromised(report)
    if len(report.promises) > 1 and not report.trained and certificate_of(report) is None:
        level = percent(report.confidence)
        sentences.append(
            f"Each verdict has {level} confidence alone, so among {len(report.promises)} promises some "
            "may be wrong by chance. Only a certificate is about all of them together."
        )
    if report.decided:
        sentences.append("Nothing is certified: rb.certify and ratebound certify do that.")
    elif report.card is None or report.card.mixture.certificate is None:
        sentences.append("Nothing is certified: no rows were set aside for that.")
    return sentences


def _unpromised(report: Audit) -> list[str]:
    """Groups without promises, and groups that are too small to show anything."""
    groups, sentences = report.protected, []
    if groups is not None and groups.unnamed:
        sentences.append(
            f"Columns that look protected and that no promise names: {', '.join(groups.unnamed)}."
        )
    if groups is not None and groups.too_few:
        named = ", ".join(groups.too_few[:LISTED])
        more = f" and {len(groups.too_few) - LISTED} more" if len(groups.too_few) > LISTED else ""
        sentences.append(f"Groups too small to show anything: {named}{more}.")
    return sentences


def _of_model(report: Audit) -> list[str]:
    if report.decided:
        return [
            "Decisions are taken as they were made. Who or what made them, and from which facts, is "
            "not known here; a difference between groups does not show its reason."
        ]
    if report.card is None:
        return ["Only the decisions of this model are known, not how it was made or what it sees."]
    sentences, card = [], report.card
    if card.randomised:
        sentences.append(
            "One of several members decides each row, drawn by a hash of it, so two people who differ a "
            "little may be decided differently by chance. Rates are expectations over that draw; rows "
            "whose features many share are counted as they are decided."
        )
    if card.mixture.decider.known:
        by = ", ".join(map(str, card.mixture.decider.known))
        sentences.append(f"It decides by {by}. This report does not say whether that is allowed.")
    hidden = [each.name for each in card.columns if each.use == "promises only"]
    if hidden:
        named = ", ".join(hidden[:LISTED]) + (" and others" if len(hidden) > LISTED else "")
        sentences.append(f"The model does not see {named}, but columns that it sees may act as proxies.")
    if card.mixture.record.made.ended in ("time", "interrupted"):
        sentences.append("Training ended early, so a better model may exist.")
    return sentences


def _of_all(report: Audit) -> list[str]:
    labels = (
        "Labels are taken to be true. If they are mistaken or unfair, so is every rate measured by them."
    )
    if not report.labelled:
        labels = (
            "There are no labels: how often each decision is made is measured, not whether it was right."
        )
    elif report.decided:
        labels += (
            " If the outcome is known only for some decisions, for example repayment only for people "
            "who got a loan, rates by label say nothing about the others."
        )
    return [
        labels,
        "Verdicts are about what was promised. Other groups and rates may be worse than those shown.",
    ]
