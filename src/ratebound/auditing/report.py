"""The audit's findings, and the ways to read them: text, JSON, DataFrame, a page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, Literal

from ratebound.auditing._confusions import Confusion
from ratebound.auditing._groups import Group
from ratebound.auditing._intervals import Interval
from ratebound.auditing.wording import as_text, summary
from ratebound.base.markup import document
from ratebound.base.writing import write_whole
from ratebound.game.trace import Trace
from ratebound.rates.beyond_sums import Sense
from ratebound.rates.expressions import Bound, Constraint
from ratebound.solution.certificate import Certificate
from ratebound.solution.price import Price
from ratebound.tables.treatments import Treatment

Verdict = Literal["holds", "may not hold", "broken", "not measured"]
Unit = Literal["rate", "ratio", "rows", "cost"]
Method = Literal["exact", "score", "weighted", "delong", "normal", "none"]
Measured = tuple[float | None, float | None, Interval | None, Method]  # left, right, of the difference


@dataclass(frozen=True)
class Promise:
    """One constraint: what was promised, what was measured, and how sure that is.

    `kept` speaks of the rows audited, `verdict` of new rows from the same source: the promise "holds"
    where the whole interval of its room keeps it, is "broken" where none of it does, and otherwise "may
    not hold". That is for this promise alone, and an interval is not a certificate.
    """

    words: str
    name: str
    relation: Bound
    value: float | None = None  # of the left side; None where a ratio has nothing below its line
    bound: float | None = None  # the value of the right side
    slack: float | None = None  # room to the bound in the constraint's own units, negative where broken
    slack_low: float | None = None  # the interval of the room
    slack_high: float | None = None
    violation: float = math.nan  # as training counts it, but for areas, which are judged themselves
    kept: bool | None = None  # on these rows; None where it cannot be measured on them
    verdict: Verdict = "not measured"  # on new rows
    rows: int = 0  # of the smallest set involved, unweighted
    unit: Unit = "rate"
    method: Method = "none"  # of the interval
    why: str = ""  # it cannot be measured


@dataclass(frozen=True)
class Objective:
    """What was minimised or maximised, and its interval."""

    words: str
    value: float
    low: float | None
    high: float | None
    rows: int
    method: Method
    sense: Sense = "minimize"

    @property
    def cost(self) -> float:
        """What is minimised: the value, or its negative where it is maximised."""
        return self.value if self.sense == "minimize" else -self.value


@dataclass(frozen=True)
class Audit:
    """What was promised and what was kept. Print it, or take it as a frame, JSON or a page."""

    level: float  # of the intervals
    model: str  # what was audited: one model, or a mixture of several
    populations: dict[str, int]  # rows of each, first of those called "audited"
    objective: Objective
    promises: tuple[Promise, ...]
    groups: tuple[Group, ...]
    training: tuple[float, float] | None  # objective and worst violation where it was trained
    positive: Any = None  # the label that is yes, where that is not 1 or True
    confusions: tuple[Confusion, ...] = ()  # of each group, where there are more than two classes

    @property
    def kept(self) -> bool:
        """Whether every promise is kept on these rows; one that cannot be measured is not."""
        return all(promise.kept for promise in self.promises)

    @property
    def certain(self) -> bool:
        """Whether every promise holds on new rows, each judged alone: no certificate of them all."""
        return all(promise.verdict == "holds" for promise in self.promises)

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return f"Audit({summary(self)})"

    def _repr_html_(self) -> str:
        from ratebound.auditing._page import fragment

        return fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain types only: texts, truth values, finite numbers and None."""
        found = {"summary": summary(self), "kept": self.kept, "certain": self.certain, **vars(self)}
        del found["training"]  # which is not of these rows
        found["confusions"] = [{**vars(each), "shares": each.shares} for each in self.confusions]
        return {name: plain(value) for name, value in found.items()}

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)

    def to_frame(self, what: Literal["promises", "groups", "confusions"] = "promises") -> Any:
        """A DataFrame with one row per promise, per group, or per group, label and decision."""
        if what not in ("promises", "groups", "confusions"):
            raise ValueError(f"to_frame takes 'promises' or 'groups' or 'confusions', got {what!r}")
        try:
            import pandas  # type: ignore[import-untyped]  # its types are a package apart
        except ImportError:
            raise ImportError(
                "to_frame needs pandas: pip install pandas, or use to_dict(), which needs nothing"
            ) from None
        if what == "confusions":
            return pandas.DataFrame([entry for each in self.confusions for entry in each.entries()])
        kind = Promise if what == "promises" else Group
        return pandas.DataFrame(self.to_dict()[what], columns=list(kind.__dataclass_fields__))

    def to_html(
        self,
        *,
        trace: Trace | None = None,
        prices: Sequence[Price] = (),
        certificate: Certificate | None = None,
        columns: Sequence[Treatment] = (),
        title: str = "Audit",
    ) -> str:
        """One page that needs nothing else.

        With a `trace` it shows how training got there, with `prices` what each promise costs, with a
        `certificate` what was certified, and with `columns` what the model sees of each column. A
        mixture has the last three: ``model.solution_.prices``, ``model.solution_.certificate`` and
        ``model.solution_.encoding.treatments``.
        """
        from ratebound.auditing._page import fragment

        shown: dict[str, Any] = {"prices": prices, "certificate": certificate, "columns": columns}
        body = fragment(self, trace=trace, title=title, **shown)
        return document(title, body)

    def save_html(self, path: str | Path, **shown: Any) -> None:
        """Write the page to a file; what it shows is said as in `to_html`."""
        write_whole(path, self.to_html(**shown).encode())


def plain(value: Any) -> Any:
    """The value as texts, truth values, finite numbers, None, lists and dictionaries."""
    if isinstance(value, Constraint):
        return str(value)
    if is_dataclass(value):
        return plain(vars(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
