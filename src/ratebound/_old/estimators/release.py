"""One release of a change plan: certified or refused, with the reasons and the rows needed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ratebound._old.base import document as doc
from ratebound._old.base.layout import number
from ratebound._old.base.rendering import Documented
from ratebound._old.base.writing import write_whole
from ratebound._old.estimators.policy import Policy
from ratebound._old.estimators.versions import RECORD
from ratebound._old.solution.certificate import Certificate, Certified, certificate_parts
from ratebound._old.solution.files import save_certificate

PAGE = "release.html"
PRIVATE = ("row_digests",)  # kept only in the ledger, not in a release's own record


@dataclass(frozen=True, eq=False)
class Release(Documented):
    """A candidate that was tested under a change plan; prints as text.

    `rb.ChangePlan.release` makes one, certified or refused. Both are lines of the plan's ledger.

    Parameters
    ----------
    entry : dict
        The line of the ledger.
    certificate : Certificate
        The result for each promise, at one minus the release's share of the error.
    model : Policy, default=None
        The candidate, if it can be saved. None by default.

    See Also
    --------
    ChangePlan : Makes it.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rows = rb.Population(None, [1] * 500 + [0] * 500)
    >>> plan = rb.ChangePlan("recall() >= 0.9", error=0.05, releases=4)
    >>> release = plan.release(candidate=[1] * 455 + [0] * 545, rows=rows)
    >>> release.certified, release.rows_needed
    (False, 16682)
    """

    entry: dict[str, Any]
    certificate: Certificate
    model: Policy | None = field(default=None, repr=False)

    @property
    def certified(self) -> bool:
        """Whether the candidate may be used."""
        return bool(self.entry["released"])

    @property
    def number(self) -> int:
        """The number of this test in the plan."""
        return int(self.entry["number"])

    @property
    def level(self) -> float:
        """The largest probability with which a candidate that breaks a promise passes."""
        return float(self.entry["level"])

    @property
    def rows(self) -> int:
        """The number of fresh rows that it was tested on."""
        return int(self.entry["rows"])

    @property
    def left_out(self) -> int:
        """Rows that had served in an earlier release and were left out."""
        return int(self.entry["left_out"])

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it was refused; empty if it was certified."""
        return tuple(self.entry["reasons"])

    @property
    def rows_needed(self) -> int | None:
        """How many fresh rows would certify it, at the rates measured; None if no number would."""
        needed: int | None = self.entry["rows_needed"]
        return needed

    @property
    def name(self) -> str:
        """The name of the release."""
        return str(self.entry["version"] or f"release {self.number}")

    @property
    def summary(self) -> str:
        """The verdict in one sentence."""
        if self.certified:
            return f"Released: these rows show that {self.name} keeps every promise of the plan."
        return f"Refused: {self.name} must not be used. {' '.join(self.reasons)}"

    def document(self) -> doc.Document:
        entry = self.entry
        live = f", against {entry['live']['words']}" if entry["live"] else ", without a live model"
        lead = f"Test {self.number}: {entry['candidate']['words']} on {self.rows:,} fresh rows{live}"
        *parts, _ = certificate_parts(self.certificate, "certificate/promises")
        remarks = [f"The p-value of every promise must be at most {self.level:.4g}."]
        if self.left_out:
            remarks.append(f"{self.left_out:,} rows were left out: they served in an earlier release.")
        remarks += [
            f"Not tested, since there is no live model yet: {each}." for each in entry["not_tested"]
        ]
        remarks += entry["notes"]
        facts = [doc.Paragraph(words, apart=place == 0) for place, words in enumerate(remarks)]
        state: doc.State = "kept" if self.certified else "broken"
        return doc.Document(
            title=doc.capital(self.name),
            lead=lead,
            parts=(*parts, *facts),
            data=self.to_dict,
            conclusion=doc.Conclusion(
                self.summary, state, headline="Released" if self.certified else "Refused"
            ),
            footer=f"Line {entry['digest']} of the ledger, {entry['when']}.",
        )

    def to_dict(self) -> dict[str, Any]:
        """The line of the ledger as plain types, without the digests of the rows.

        Returns
        -------
        dict
            The fields by name.
        """
        return {name: value for name, value in self.entry.items() if name not in PRIVATE}

    def save(self, folder: str | Path) -> Path:
        """Write the model with its certificate, the record and a page to a folder.

        Give the folder as ``live=`` of the next release. A model that is not one of ours is not saved:
        then the folder holds the record and the page.

        Parameters
        ----------
        folder : str or path
            The folder to write; made if absent.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        ValueError
            If the release was refused, or the folder holds another.
        """
        if not self.certified:
            raise ValueError(
                f"{self.name} was refused, so it is not saved as a release. Its page is "
                f"release.save_html(...). {' '.join(self.reasons)}"
            )
        target = Path(folder)
        record = target / RECORD
        if record.exists() and json.loads(record.read_bytes()).get("digest") != self.entry["digest"]:
            raise ValueError(f"{target} holds another release: choose another folder")
        if self.model is not None:
            save_certificate(self.certificate, self.model.save(target))
        words = json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)
        write_whole(record, f"{words}\n".encode())
        self.save_html(target / PAGE)
        return target

    def __repr__(self) -> str:
        return f"Release({self.summary})"


def reasons_of(certificate: Certificate, level: float, rows: int) -> list[str]:
    """Why promises are not shown, and how many rows are needed, a sentence for each."""
    return [
        _reason(each, level, rows) for each in certificate.promises if each.p_value > level or each.why
    ]


def rows_in_all(promises: Sequence[Certified], level: float, rows: int) -> int | None:
    """How many rows would show all promises, at the rates measured; None if no number would."""
    unshown = [each for each in promises if each.p_value > level or each.why]
    needed = [_in_all(each, rows) for each in unshown]
    known = [each for each in needed if each is not None]
    return max(known, default=rows) if len(known) == len(needed) else None


def _in_all(promise: Certified, rows: int) -> int | None:
    if promise.rows_needed is None or not promise.rows:
        return None
    return max(math.ceil(promise.rows_needed / promise.rows * rows), rows + 1)


def _reason(promise: Certified, level: float, rows: int) -> str:
    constraint = promise.constraint
    if promise.why:
        return f"{constraint} could not be tested: {promise.why}."
    value = number(promise.value, beside=promise.bound)
    bound = number(promise.bound, beside=promise.value)
    measured = f"{constraint}: it is {value} here, {constraint.relation} {bound} is promised"
    needed = _in_all(promise, rows)
    if needed is None:
        return f"{measured}, and no number of rows would show it at these rates."
    return (
        f"{measured}, and {rows:,} rows do not show it (p-value {promise.p_value:.2g}, at most "
        f"{level:.2g} is needed); about {needed:,} would at these rates."
    )
