"""A certificate: which promises hold on new rows, at what confidence, and on what assumptions.

It travels with a mixture, as its status does. `rb.certify` makes one from rows that the model was
neither trained nor chosen on; here it is only kept, printed, written and read back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from ratebound._old.base import document as doc
from ratebound._old.base.rendering import Documented
from ratebound._old.problem.problem import promise_from_plain, promise_to_plain
from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.ranges import Parity

VERDICT = doc.Head("", "verdict")
HEADS = doc.heads("promise", "value", "bound", "p-value", "rows", "rows needed", VERDICT)


@dataclass(frozen=True)
class Certified:
    """One promise: what was measured, and how strongly that shows that it holds on new rows.

    `p_value` bounds the probability of a sample this good if the promise does not hold. It is 1 if the
    promise could not be tested; `why` gives the reason.
    """

    constraint: Constraint | Parity
    value: float | None  # of the left side, as the audit has it
    bound: float | None  # of the right side
    p_value: float
    holds: bool  # if all hold together, with the others; otherwise by Holm's correction
    rows: int  # of the smallest set involved
    rows_needed: int | None  # of that set, for a chance of 80% at these rates; None if none is enough
    method: str
    why: str = ""  # it could not be tested

    def __post_init__(self) -> None:
        if not 0.0 <= self.p_value <= 1.0:
            raise ValueError(f"{self.constraint}: a p-value lies between 0 and 1, got {self.p_value!r}")

    def to_dict(self) -> dict[str, Any]:
        """Plain types only: texts, truth values, finite numbers and None."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return values | {"words": str(self.constraint), "constraint": promise_to_plain(self.constraint)}


@dataclass(frozen=True)
class Certificate(Documented):
    """What was certified. It holds if all promises hold together at its confidence; prints as text.

    `rb.certify` makes one, and a saved model carries it.

    Parameters
    ----------
    confidence : float
        If a model breaks a promise, its certificate holds with a probability of at most one minus this.
    model : str
        What was certified, in words.
    populations : dict of str to int
        The rows of each population; the certified one is first.
    promises : tuple of Certified
        Each with its `constraint`, the `value` and `bound` measured, its `p_value`, whether it `holds`,
        its `rows`, the `rows_needed`, the `method`, and `why` it could not be tested, if it could not.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> from ratebound._old.solution.certificate import Certified
    >>> measured = {"value": 0.95, "bound": 0.9, "rows": 400, "rows_needed": 250, "method": "binomial"}
    >>> promise = Certified(rb.recall() >= 0.9, p_value=0.0002, holds=True, **measured)
    >>> print(rb.Certificate(0.95, "one model", {"certified": 1000}, (promise,)))
    Certificate of one model on 1,000 rows
    <BLANKLINE>
    promise           value      bound  p-value  rows  rows needed
    ─────────────────────────────────────────────────────────────────────
    recall() >= 0.9  0.9500  >= 0.9000   0.0002   400          250  holds
    By binomial.
    <BLANKLINE>
    Certified: the promise holds on new rows like these, at 95% confidence.
    """

    confidence: float
    model: str
    populations: dict[str, int]
    promises: tuple[Certified, ...]

    @property
    def holds(self) -> bool:
        """Whether all promises hold together: the largest p-value is at most 1 - confidence."""
        return all(promise.p_value <= 1.0 - self.confidence for promise in self.promises)

    @property
    def summary(self) -> str:
        """The verdict in one sentence."""
        count, level = len(self.promises), f"{100 * self.confidence:.10g}% confidence"
        if not count:
            return "No promise was made, so there was nothing to certify."
        if self.holds:
            which = "the promise holds" if count == 1 else f"all {count} promises hold"
            return f"Certified: {which} on new rows like these, at {level}."
        shown = sum(promise.holds for promise in self.promises)
        refused = sum(bool(promise.why) for promise in self.promises)
        some = f"; {shown} of {count} are shown to hold" if shown else ""
        untested = f"; {refused} could not be tested" if refused else ""
        all_of = "the promise holds" if count == 1 else "all promises hold"
        return f"Not certified: these rows do not show at {level} that {all_of}{some}{untested}."

    def document(self) -> doc.Document:
        (first, *others) = self.populations.items()
        also = "".join(f", {name}: {rows:,}" for name, rows in others)
        lead = f"Certificate of {self.model} on {first[1]:,} rows{also}"
        *parts, conclusion = certificate_parts(self, "promises")
        return doc.Document("Certificate", lead, tuple(parts), self.to_dict, conclusion)

    def __repr__(self) -> str:
        return f"Certificate({self.summary})"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types; `from_dict` is the way back.

        Returns
        -------
        dict
            The fields by name, with the verdict and its words; numbers are finite or None.
        """
        return {
            "summary": self.summary,
            "holds": self.holds,
            "confidence": self.confidence,
            "model": self.model,
            "populations": dict(self.populations),
            "promises": [promise.to_dict() for promise in self.promises],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """The certificate that `to_dict` wrote, checked: its verdict must agree with its numbers.

        Parameters
        ----------
        data : dict
            What `to_dict` gave.

        Returns
        -------
        Certificate
            The same.

        Raises
        ------
        ValueError
            If it is not what `to_dict` gave.
        """
        populations = data["populations"]
        if not isinstance(populations, dict) or not populations:
            raise ValueError("its certificate names no rows")
        confidence = _number(data["confidence"], "confidence of its certificate")
        if not 0 < confidence < 1:
            raise ValueError(f"the confidence of its certificate is {confidence!r}")
        certificate = cls(
            confidence=confidence,
            model=_text(data["model"]),
            populations={_text(name): _whole(rows) for name, rows in populations.items()},
            promises=tuple(_certified(promise) for promise in data["promises"]),
        )
        if certificate.to_dict() != data:
            raise ValueError("the verdict of its certificate does not agree with its numbers")
        return certificate


def certificate_parts(
    own: Certificate, at: str
) -> tuple[*tuple[doc.ReportTable | doc.Paragraph, ...], doc.Conclusion]:
    """The parts of a document that has the promises at a place in its data, the verdict last."""
    parts: list[doc.ReportTable | doc.Paragraph] = []
    if own.promises:
        rows = tuple(_row(each, f"{at}/{place}") for place, each in enumerate(own.promises))
        parts.append(doc.ReportTable("Every promise on the rows set aside", HEADS, rows, stacked=True))
    reasons = [f"Not tested: {each.constraint}: {each.why}" for each in own.promises if each.why]
    tests = dict.fromkeys(each.method for each in own.promises if not each.why)
    reasons += ["By " + "; ".join(tests) + "."] if tests else []
    parts += [doc.Paragraph(words, apart=False) for words in reasons]
    return (*parts, doc.Conclusion(own.summary, "kept" if own.holds else "broken"))


def _certified(data: dict[str, Any]) -> Certified:
    promise = Certified(
        constraint=promise_from_plain(data["constraint"]),
        value=None if data["value"] is None else _number(data["value"], "value of a promise"),
        bound=None if data["bound"] is None else _number(data["bound"], "bound of a promise"),
        p_value=_number(data["p_value"], "p-value of a promise"),
        holds=data["holds"] is True,
        rows=_whole(data["rows"]),
        rows_needed=None if data["rows_needed"] is None else _whole(data["rows_needed"]),
        method=_text(data["method"]),
        why=_text(data["why"]),
    )
    if promise.why and (promise.holds or promise.p_value < 1):
        raise ValueError(f"its certificate calls {promise.constraint} untested and tested at once")
    return promise


def _row(promise: Certified, at: str) -> doc.Row:
    value, bound, p_value = promise.value, promise.bound, promise.p_value
    return (
        doc.Quoted(str(promise.constraint)),
        doc.rate(value, f"{at}/value", beside=bound),
        doc.rate(bound, f"{at}/bound", beside=value, sign=promise.constraint.relation),
        doc.Datum(p_value, "< 0.0001" if p_value < 0.0001 else f"{p_value:.4f}", f"{at}/p_value"),
        doc.count(promise.rows, f"{at}/rows"),
        doc.count(promise.rows_needed, f"{at}/rows_needed"),
        _standing(promise),
    )


def _standing(promise: Certified) -> doc.Standing:
    if promise.holds:
        return doc.Standing("holds", "kept")
    return doc.Standing("not tested") if promise.why else doc.Standing("NOT SHOWN", "broken")


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"the {what} is {value!r}, not a number")
    return float(value)


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"its certificate counts {value!r} rows")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"its certificate says {value!r} where words were expected")
    return value
