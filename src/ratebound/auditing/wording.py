"""An audit in sentences: what was audited, what it comes to, and what it does not show."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ratebound.base.layout import NOTHING, number
from ratebound.problem.problem import left_out_words

if TYPE_CHECKING:  # the report says its limits with these functions
    from ratebound.auditing.report import Audit

PLURAL = {"holds": "hold", "may not hold": "may not hold", "broken": "are broken"}  # said of several
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
    said = Counter[str](p.verdict for p in report.promises)
    new = [f"{said[each]} {_verb(each, said[each])}" for each in PLURAL if said[each]]
    if new:
        alone = "each alone, " if total > 1 else ""
        words += f"; on new rows {', '.join(new)} ({alone}at {percent(report.confidence)})"
    if missing := said["not measured"]:
        words += f"; {missing} could not be measured on these rows"
    return words


def _verb(verdict: str, count: int) -> str:
    return PLURAL[verdict] if count > 1 else "is broken" if verdict == "broken" else verdict


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
    if origin is not None and origin.unseen is False:
        said.append(
            "The model was trained on these rows. What it keeps here shows nothing about new ones."
        )
    elif origin is not None and origin.unseen is None and not report.decided:
        said.append(
            "It is not known here whether the model was trained or chosen on these rows. If it "
            "was, what "
            "it keeps on them shows nothing about new ones."
        )
    if origin is not None and origin.weighted:
        said.append(
            "Rows count by their weight. The intervals take the weights as given, and say nothing about "
            "whether they are right."
        )
    if report.clusters is None:
        said.append(
            "“New rows” are drawn from where these rows were drawn, independently of each other. "
            "Several rows of one person are not, unless clusters= names the column that tells them "
            "apart. Another year or another place is something else: watch the model in use."
        )
    else:
        column, count = report.clusters
        said.append(
            f"“New rows” are those of new values of {column}, drawn from where these {count:,} were "
            "drawn, independently of each other. Another year or another place is something else: "
            "watch the model in use."
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
    if len(report.promises) > 1:
        level = percent(report.confidence)
        said.append(
            f"Each verdict is {level} sure, each alone: of a promise that is just broken, about "
            f"{percent(1 - report.confidence)} of samples like this one say that it holds. Among "
            f"{len(report.promises)} promises some may be wrong by chance; only a certificate speaks of "
            "all together."
        )
    if report.decided:
        said.append("Nothing is certified: that is what rb.certify and ratebound certify are for.")
    elif report.card is None or report.card.mixture.certificate is None:
        said.append(
            "Nothing is certified: no rows were set aside that the model was neither trained nor "
            "chosen on."
        )
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
            "One of several members decides each row, drawn by a hash of it. Rates, counts and "
            "intervals are expectations over that draw, but rows whose features many share are counted "
            "as they are decided. Two people who differ a little may be decided differently by chance."
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
        "Labels are taken to be true. Where they are mistaken, or unfair themselves, so is every rate "
        "that is measured by them."
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
        "Verdicts are about what was promised. Groups by columns that look protected are shown besides; "
        "other groups and rates may be worse than those shown.",
    ]
