"""The audit's findings, and the ways to read them: text, JSON, DataFrame, a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ratebound._old.auditing._document import printed, shown, whole
from ratebound._old.auditing._groups import Confusion, Group
from ratebound._old.auditing._intervals import Interval
from ratebound._old.auditing.provenance import Card, Provenance, SignOff
from ratebound._old.auditing.unpromised import ProtectedGroups
from ratebound._old.auditing.wording import limits, summary
from ratebound._old.base.document import Document
from ratebound._old.base.rendering import Documented, as_fragment, as_text
from ratebound._old.problem.problem import LeftOut
from ratebound._old.rates.beyond_sums import Sense
from ratebound._old.rates.expressions import Bound, Constraint
from ratebound._old.solution.baselines import Baseline
from ratebound._old.solution.mixture import Mixture

Verdict = Literal["holds", "may not hold", "broken", "not shown", "not measured"]
Unit = Literal["rate", "ratio", "rows", "cost", "own"]
Method = Literal["exact", "score", "weighted", "delong", "top", "skewed", "none"]
Measured = tuple[float | None, float | None, Interval | None, Method]  # left, right, of the difference


@dataclass(frozen=True)
class Promise:
    """One constraint: what was promised, what was measured, and the uncertainty.

    `kept` is about the audited rows, `verdict` about new rows from the same source: the promise "holds"
    if the whole interval of its room keeps it, is "broken" if none of it does, and otherwise "may not
    hold". That is for this promise alone, and an interval is not a certificate. Rows that the model was
    trained on are not evidence for new rows: there the verdict is "not shown", or "broken".
    """

    words: str
    name: str
    relation: Bound
    value: float | None = None  # of the left side; None if a ratio has an empty denominator
    bound: float | None = None  # the value of the right side
    slack: float | None = None  # room to the bound in the constraint's own units, negative if broken
    slack_low: float | None = None  # the interval of the room
    slack_high: float | None = None
    violation: float = math.nan  # as in training, except for areas, which are measured themselves
    kept: bool | None = None  # on these rows; None if it cannot be measured on them
    verdict: Verdict = "not measured"  # on new rows
    rows: int = 0  # of the smallest set involved, unweighted
    unit: Unit = "rate"
    method: Method = "none"  # of the interval
    why: str = ""  # why it cannot be measured, or has no interval
    formula: str = ""
    sentence: str = ""  # the promise in plain words
    rows_needed: int | None = None  # of that set, to certify it at these rates; None if none is enough


@dataclass(frozen=True)
class Objective:
    """What was minimised or maximised, and its interval."""

    words: str
    value: float | None  # None if rows lack the labels that it needs
    low: float | None
    high: float | None
    rows: int
    method: Method
    sense: Sense = "minimize"
    formula: str = ""
    why: str = ""  # why it is not measured

    @property
    def cost(self) -> float:
        """What is minimised: the value, or its negative if it is maximised."""
        value = math.nan if self.value is None else self.value
        return value if self.sense == "minimize" else -value


@dataclass(frozen=True)
class Audit(Documented):
    """What was promised and what was kept. Print it, or convert it to a frame, JSON or a page.

    Parameters
    ----------
    confidence : float
        The confidence of each verdict, and of each end of an interval.
    model : str
        What was audited: one model, or a mixture of several.
    populations : dict of str to int
        Rows of each, first of those called "audited".
    objective : Objective
        What was minimised or maximised: its `words`, `value`, interval (`low`, `high`) and `rows`.
    promises : tuple of Promise
        Each with its `words`, `value`, `bound` and `slack`, the room to the bound, with an interval
        (`slack_low`, `slack_high`). `kept` is about the audited rows, `verdict` about new rows from the
        same source.
    groups : tuple of Group
        The rates of everyone and of each group that promises name.
    training : tuple of (float, float) or None
        Objective and worst violation on the training rows, if known.
    positive : label, default=None
        The label that is yes, if that is not 1 or True.
    confusions : tuple of Confusion, default=()
        Labels by decisions of each group, with more than two classes.
    clusters : tuple of (str, int), default=None
        The column whose values say which rows were drawn together, and how many values it has, if
        intervals take that into account.
    left_out : tuple of LeftOut, default=()
        The groups without promises because of ``min_rows=``, each with its number of rows: audited rows
        if goals are spelled out on these, otherwise training rows.
    provenance : Provenance, default=None
        Its origin: dates, versions, digests, and the command that made it.
    card : Card, default=None
        A description of the model, if it is ours: how it was made, what it decides by and what it sees.
    decided : bool, default=False
        Whether given decisions were audited, without a model.
    labelled : bool, default=True
        Whether the first population has labels.
    signed : SignOff, default=None
        Who is responsible for the model, for which purpose and until when. By default nobody has signed.
    baselines : tuple of Baseline, default=()
        The model itself, and the simplest ones beside it: without promises, one decision for everyone,
        and the existing models that promises name.
    protected : ProtectedGroups, default=None
        The groups by columns that look protected, whether promises name them or not, the largest
        differences first.
    drawn : int, default=None
        The number of rows in the first population whose decision is left to a draw. By default that was
        not counted.
    beside : tuple of str, default=()
        What `baselines` show: the cost of the promises, and whether one decision for everyone is as
        good.

    See Also
    --------
    audit : Makes it.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> class Always:
    ...     def predict(self, X):
    ...         return [1] * len(X)
    >>> people = rb.Population([[0.0]] * 4, [1, 1, 0, 0])
    >>> report = rb.audit(rb.Problem(rb.error_rate(), [rb.recall() >= 0.9]), Always(), people)
    >>> report.kept, report.certain, report.objective.value
    (True, False, 0.5)
    >>> report.to_frame()[["words", "kept", "verdict"]].values.tolist()
    [['recall() >= 0.9', True, 'may not hold']]
    """

    confidence: float
    model: str
    populations: dict[str, int]
    objective: Objective
    promises: tuple[Promise, ...]
    groups: tuple[Group, ...]
    training: tuple[float, float] | None
    positive: Any = None
    confusions: tuple[Confusion, ...] = ()
    clusters: tuple[str, int] | None = None
    left_out: tuple[LeftOut, ...] = ()
    provenance: Provenance | None = field(default=None, compare=False)
    card: Card | None = field(default=None, repr=False, compare=False)
    decided: bool = False
    labelled: bool = True
    signed: SignOff | None = None
    baselines: tuple[Baseline, ...] = ()
    protected: ProtectedGroups | None = None
    drawn: int | None = None
    beside: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether every promise is kept on these rows; an unmeasured one is not."""
        return all(promise.kept for promise in self.promises)

    @property
    def certain(self) -> bool:
        """Whether every promise holds on new rows, each by itself; this is not a joint certificate."""
        return all(promise.verdict == "holds" for promise in self.promises)

    def made_by(
        self,
        command: str,
        files: dict[str, str],
        unseen: bool | None,
        label: str | None = None,
        model: Mixture | None = None,
    ) -> Audit:
        """The same report with the command that made it, and the digests of its files.

        Parameters
        ----------
        command : str
            The command as typed.
        files : dict of str to str
            The digest of each file.
        unseen : bool or None
            Whether the model was trained on other rows; None if that is not known. If it was trained on
            these, there are no verdicts on new rows.
        label : str, default=None
            The column of the labels, which a model cannot see.
        model : Mixture, default=None
            The model as saved. By default the audited one.

        Returns
        -------
        Audit
            A copy.
        """
        assert self.provenance is not None
        named = {Path(path).name: digest for path, digest in files.items()}
        origin = replace(self.provenance, command=command, files=named, unseen=unseen)
        card = self.card
        if card is not None:
            shown = tuple(each for each in card.columns if each.name != label)
            card = replace(card, mixture=card.mixture if model is None else model, columns=shown)
        promises = self.promises
        if unseen is False:  # training rows show nothing about new rows
            promises = tuple(
                replace(each, verdict="not shown") if each.verdict in ("holds", "may not hold") else each
                for each in promises
            )
        return replace(self, provenance=origin, card=card, promises=promises)

    @property
    def trained(self) -> bool:
        """Whether it is known that the model was trained on these rows."""
        return self.provenance is not None and self.provenance.unseen is False

    @property
    def limits(self) -> list[str]:
        """What this report does not show."""
        return limits(self)

    def document(self) -> Document:
        """The whole report: the verdict, what it rests on, and what it does not show.

        For a model made by ratebound it also says how the model was made, what it decides by and sees,
        its certificate, and what each promise costs. Printing an audit, and a notebook, show a part.

        Returns
        -------
        Document
            The source of every format.
        """
        return whole(self)

    def template(self, kind: str, about: Mapping[str, Any] | None = None) -> Documented:
        """A form that others require, filled in from this report; missing facts are named blanks.

        Parameters
        ----------
        kind : {"model-card", "annex-iv"}
            A model card, or the headings of Annex IV of the EU AI Act.
        about : dict of str to str, default=None
            Facts that no program can know, such as ``{"owner": "Credit risk", "expires":
            "2027-06-30"}``. By default these are blank.

        Returns
        -------
        Documented
            Print it, or ``render("markdown")``. It is not a legal opinion.
        """
        from ratebound._old.auditing.templates import filled

        return filled(kind, self, about)

    def __str__(self) -> str:
        return as_text(printed(self))

    def _repr_html_(self) -> str:
        return as_fragment(shown(self))

    def __repr__(self) -> str:
        return f"Audit({summary(self)})"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types: texts, truth values, finite numbers and None.

        Returns
        -------
        dict
            Everything that the page shows, by name.
        """
        data = {"summary": summary(self), "kept": self.kept, "certain": self.certain, **vars(self)}
        del data["training"]  # it is not about these rows
        data["limits"] = self.limits
        data["card"] = None if self.card is None else self.card.to_dict()
        data["confusions"] = [{**vars(each), "shares": each.shares} for each in self.confusions]
        return {name: plain(value) for name, value in data.items()}

    def to_frame(self, what: Literal["promises", "groups", "confusions"] = "promises") -> Any:
        """A DataFrame with one row per promise, per group, or per group, label and decision.

        Parameters
        ----------
        what : {"promises", "groups", "confusions"}, default="promises"
            What its rows are.

        Returns
        -------
        pandas.DataFrame
            Its columns are the fields.

        Raises
        ------
        ImportError
            If pandas is not installed; `to_dict` needs nothing.
        """
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
        return pandas.DataFrame(plain(getattr(self, what)), columns=list(kind.__dataclass_fields__))


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
