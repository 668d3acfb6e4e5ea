"""Updates that keep promises: every new version is tested on fresh rows before it is used.

A plan states in advance what every release must keep, how many releases are tested, and the probability
that any of them may be wrong. Each test has a share of that error. Whatever happened before, a test on
fresh rows passes a candidate that breaks a promise with at most its share, so all tests together err
with at most the sum.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ratebound._old.base import document as doc
from ratebound._old.base.checks import check_number, nearest
from ratebound._old.base.choices import SPENDING
from ratebound._old.base.extras import versions
from ratebound._old.base.rendering import Documented
from ratebound._old.base.types import Array
from ratebound._old.certifying.certify import CERTIFIED, certify
from ratebound._old.certifying.ledger import Entry, Ledger
from ratebound._old.certifying.row_ids import (
    content_columns,
    ids_by_content,
    ids_by_key,
    packed,
    unpacked,
)
from ratebound._old.estimators.plan_page import page_of, state_of
from ratebound._old.estimators.policy import Policy
from ratebound._old.estimators.release import Release, reasons_of, rows_in_all
from ratebound._old.estimators.versions import Decided, Version, fresh_rows, version_of, with_column
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem, promised
from ratebound._old.problem.spelling_out import spelled_out
from ratebound._old.rates.expressions import FIRST, Constraint, Ratio
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.kinds import is_count
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import Name
from ratebound._old.solution.certificate import Certificate

if TYPE_CHECKING:
    from ratebound._old.certifying.monitor import Alarm, Monitor

LIVE = "live"  # the promises' name for the live model: versus="live"
FORMAT, VERSION = "ratebound change plan", 1
STATED = ("promises", "error", "releases", "spending", "key")


class ChangePlan(Documented):
    """What every release must keep, how many are tested, and the error of all tests together.

    Each test gets a share of the error, stated in advance. The probability that any release of the plan
    breaks a promise on the rows' source is at most `error`, whatever the candidates are, as long as the
    rows of each test are fresh: drawn independently from the population on which the model is used,
    after the candidate was chosen. So no row may be used twice, and a refused candidate spends its share
    too.

    Parameters
    ----------
    promises : str, Constraint or list of them
        What every candidate must keep. ``versus="live"`` refers to the live model, whose decisions
        `release` adds: ``churn(versus="live") <= 0.02``, ``error_rate() <= error_rate_of(versus="live")
        + 0.005``. Counts need ``per=``, the number of rows.
    error : float, default=0.05
        The probability that any release breaks a promise.
    releases : int, default=12
        How many candidates may be tested, refused ones too.
    spending : {"equal", "carried"}, default="equal"
        How the error is divided. "equal": each test gets the same. "carried": a test also gets the
        previous test's share if that ended in a release; so only refusals cost error.
    key : str, default=None
        The column with an id for each row. Rows that were used before are then left out and counted. By
        default rows are recognized by their whole content, and rows that were used before are an error.
    ledger : str or path, default=None
        The file with the plan and the record of every test, created if absent and continued if present.
        By default the record ends with the process.

    Raises
    ------
    ValueError
        If the ledger belongs to another plan, was changed, or was cut short.

    See Also
    --------
    certify : The test of each release.
    Monitor : Watches the live model; its alarms go to the ledger.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.5
    >>> live = np.where(rng.random(4000) < 0.03, ~y, y)  # wrong in 3 of 100 rows
    >>> new = np.where(rng.random(4000) < 0.005, ~live, live)
    >>> rows = rb.Population(rng.normal(size=(4000, 2)), y)
    >>> plan = rb.ChangePlan(["recall() >= 0.95", 'churn(versus="live") <= 0.02'], releases=12)
    >>> release = plan.release(live=live, candidate=new, rows=rows)
    >>> release.certified
    True
    >>> plan.spent, plan.rows_used, round(plan.left, 4)
    (1, 4000, 0.0458)
    """

    def __init__(
        self,
        promises: Any,
        error: float = 0.05,
        releases: int = 12,
        *,
        spending: Literal["equal", "carried"] = "equal",
        key: Name | None = None,
        ledger: str | Path | None = None,
    ) -> None:
        self.problem = promised(promises)
        self.promises = tuple(str(each) for each in self.problem.subject_to)
        check_number("error, a probability such as 0.05,", error, above=0, below=1)
        if isinstance(releases, bool) or not isinstance(releases, int) or releases < 1:
            raise ValueError(f"releases takes a whole number from 1 on, got {releases!r}")
        if spending not in SPENDING:
            known = ", ".join(map(repr, SPENDING))
            raise ValueError(f"spending={spending!r} is not one of {known}{nearest(spending, SPENDING)}")
        self.error, self.releases, self.spending, self.key = float(error), releases, spending, key
        _check_promises(self.problem)
        self._ledger = Ledger(None if ledger is None else Path(ledger))
        with self._ledger.alone():
            if self._ledger.entries:
                self._check_same()
            else:
                self._ledger.add(self._stated())

    @classmethod
    def open(cls, ledger: str | Path) -> Self:
        """The plan of a ledger, to continue it.

        Parameters
        ----------
        ledger : str or path
            The file.

        Returns
        -------
        ChangePlan
            It continues where the ledger ends.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        ValueError
            If it is not as it was written.
        """
        path = Path(ledger)
        if not path.is_file():
            raise FileNotFoundError(f"there is no ledger at {path}")
        stated = _plan_in(Ledger(path).entries, path)
        try:
            given = {name: stated[name] for name in STATED}
            return cls(given.pop("promises"), ledger=path, **given)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path} is not the ledger of a change plan: {error}") from None

    @property
    def ledger(self) -> Path | None:
        """The file with the record, if there is one."""
        return self._ledger.path

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The lines of the ledger, in order, each with its digest."""
        return self._ledger.entries

    @property
    def record(self) -> tuple[Release, ...]:
        """Every test so far, in order."""
        return tuple(Release(each, Certificate.from_dict(each["certificate"])) for each in self._tests())

    @property
    def spent(self) -> int:
        """How many tests were made, out of `releases`."""
        return len(self._tests())

    @property
    def rows_used(self) -> int:
        """How many rows have been used."""
        return sum(each["rows"] for each in self._tests())

    @property
    def level(self) -> float:
        """The error of the next test; 0 if no test is left."""
        if self.spent >= self.releases:
            return 0.0
        return self.error / self.releases + self._carried()

    @property
    def left(self) -> float:
        """The error left for all remaining tests."""
        if self.spent >= self.releases:
            return 0.0
        return self.error * (self.releases - self.spent) / self.releases + self._carried()

    def release(
        self,
        *,
        candidate: Any,
        rows: Any,
        live: Any = None,
        label: Name | None = None,
        version: str = "",
    ) -> Release:
        """Test a candidate on fresh rows, and write the outcome to the ledger.

        Parameters
        ----------
        candidate : model, path or array
            The model to release: a fitted estimator, a loaded or saved model, any classifier, or its
            decision on each row.
        rows : Population, DataFrame or tuple
            Fresh rows with labels: a `rb.Population`, a DataFrame with `label`, ``(X, y)`` or ``(X, y,
            columns)``. Neither model was trained on them or chosen by them.
        live : model, path or array, default=None
            The live model. By default a column ``live`` of the rows has its decisions; without one, and
            only before the first release, promises that compare with it are not tested.
        label : str, default=None
            The column of a DataFrame with the labels.
        version : str, default=""
            The name of the release.

        Returns
        -------
        Release
            Certified, or refused with the reasons and the rows needed.

        Raises
        ------
        ValueError
            If all tests are spent, rows were used before, or the rows lack what promises need. Nothing
            is spent then.
        """
        new = version_of(candidate, "candidate")
        old = None if live is None else version_of(live, LIVE)
        people = fresh_rows(rows, label, new.classes)
        with self._ledger.alone():
            return self._tested(new, old, people, version)

    def served(self, rows: Any, label: Name | None = None) -> Array:
        """Which rows were used in a test of this plan.

        Parameters
        ----------
        rows : Population, DataFrame or tuple
            The rows, as in `release`.
        label : str, default=None
            The column of a DataFrame with the labels.

        Returns
        -------
        array of shape (n,)
            Truth values.
        """
        people = fresh_rows(rows, label, None)
        return self._served(self._ids(people)[0])

    def alarm(self, alarms: Monitor | Alarm | Iterable[Alarm]) -> int:
        """Write alarms of the live model to the ledger, each once.

        Parameters
        ----------
        alarms : Monitor, Alarm or list of Alarm
            The alarms.

        Returns
        -------
        int
            How many lines were added.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> monitor = rb.Monitor("recall() >= 0.9")
        >>> _ = monitor.update([1, 0] * 40, labels=[1] * 80)
        >>> plan = rb.ChangePlan("recall() >= 0.9")
        >>> plan.alarm(monitor), plan.alarm(monitor)
        (1, 0)
        """
        raised = getattr(alarms, "alarms", alarms)
        several: list[Any] = list(raised) if isinstance(raised, Iterable) else [raised]
        with self._ledger.alone():
            known = [_alarm_part(each) for each in self._entries("alarm")]
            new = [each for each in map(_alarm, several) if each not in known]
            for each in new:
                self._ledger.add({"entry": "alarm", "when": _now(), **each})
        return len(new)

    def to_dict(self) -> dict[str, Any]:
        """The plan and its record as plain types.

        Returns
        -------
        dict
            The plan, what is spent and left, every test and every alarm.
        """
        return {
            **{name: getattr(self, name) for name in STATED if name != "promises"},
            "promises": list(self.promises),
            "spent": self.spent,
            "rows_used": self.rows_used,
            "level": self.level,
            "left": self.left,
            "tests": [release.to_dict() for release in self.record],
            "alarms": [{**each} for each in self._entries("alarm")],
            "digest": self._ledger.head,
        }

    def document(self) -> doc.Document:
        return page_of(self)

    def __repr__(self) -> str:
        return f"ChangePlan({state_of(self)})"

    # --- one test --------------------------------------------------------------------------------

    def _tested(self, new: Version, old: Version | None, people: Population, version: str) -> Release:
        if self.spent >= self.releases:
            raise ValueError(
                f"all {self.releases} tests of this plan are spent: begin a new plan, with its own "
                "ledger and error, and set its number of releases"
            )
        ids, columns = self._ids(people)
        fresh = ~self._served(ids)
        self._check_fresh(fresh)
        left_out = int((~fresh).sum())
        if left_out:
            people, ids, new = people.only(fresh), ids[fresh], new.on(fresh)
            old = None if old is None else old.on(fresh)
        people, notes = self._beside_live(people, old)
        not_tested, problem = self._testable(people, LIVE in people.columns)
        certificate = _certificate(problem, new, people, 1.0 - self.level)
        if certificate.populations[CERTIFIED] != len(people):
            raise ValueError("rows without weight cannot serve: leave them out")
        reasons = reasons_of(certificate, self.level, len(people))
        reasons += [
            f"{words} was tested before, but these rows have no rows of its group: rows of every "
            "group are needed."
            for words in self._vanished(certificate)
        ]
        needed = rows_in_all(certificate.promises, self.level, len(people))
        notes += self._tested_before(new)
        entry = self._ledger.add(
            {
                "entry": "test",
                "number": self.spent + 1,
                "when": _now(),
                "version": version,
                "candidate": new.to_dict(),
                "live": None if LIVE not in people.columns else (old or _RECORDED).to_dict(),
                "level": self.level,
                "rows": len(people),
                "left_out": left_out,
                "released": not reasons,
                "reasons": reasons,
                "rows_needed": needed if reasons else len(people),
                "not_tested": not_tested,
                "notes": notes,
                "certificate": certificate.to_dict(),
                "columns": columns,
                "row_digests": packed(ids),
            }
        )
        return Release(entry, certificate, new.model if isinstance(new.model, Policy) else None)

    def _beside_live(self, people: Population, old: Version | None) -> tuple[Population, list[str]]:
        """The rows with the live model's decisions, and remarks about that model."""
        there = LIVE in people.column_names
        if old is not None and there:
            raise ValueError(
                f"rows have a column {LIVE!r}, and {LIVE}= is given too: leave out one of them"
            )
        if old is None:
            if not there and any(each["released"] for each in self._tests()):
                raise ValueError("a release of this plan is now the live model: give it, live=")
            added = people.column(LIVE) if there else None
            return (people if added is None else with_column(people, LIVE, added)), []
        people = with_column(people, LIVE, old.decisions(people, LIVE))
        people.existing(LIVE)  # raises if it decides between other classes
        lines = {each["digest"] for each in self._tests()}
        if old.line is not None and old.line not in lines:
            raise ValueError(
                f"{old.words} was released under a line {old.line[:12]} that this ledger does not have: "
                "this is the ledger of another plan, or it was cut short"
            )
        released = {each["candidate"]["digest"] for each in self._tests() if each["released"]}
        first = {each["live"]["digest"] for each in self._tests()[:1] if each["live"]}
        unknown = released and old.digest is not None and old.digest not in released | first
        return people, ["The live model is not a release of this plan."] * bool(unknown)

    def _testable(self, people: Population, compared: bool) -> tuple[list[str], Problem]:
        """The promises that these rows can test, and the words of promises that need a live model."""
        problem = spelled_out(self.problem, {FIRST: people}, CERTIFIED)
        _check_promises(problem)
        lacking = [each for each in problem.subject_to if not compared and LIVE in _versus(each)]
        kept = [each for each in problem.subject_to if each not in lacking]
        if not kept:
            raise ValueError(
                "every promise of the plan compares with the live model, so nothing can be tested "
                "without one: give live="
            )
        return [str(each) for each in lacking], problem.promising(kept).leaving_out(problem.left_out)

    def _tested_before(self, new: Version) -> list[str]:
        """Remarks about a candidate that was tested before."""
        if new.digest is None:
            return []
        before = [each for each in self._tests() if each["candidate"]["digest"] == new.digest]
        numbers = ", ".join(str(each["number"]) for each in before)
        return [f"The same candidate was in test {numbers}."] if before else []

    def _vanished(self, certificate: Certificate) -> list[str]:
        """Promises of earlier tests that this one lacks, for example for a group without rows here."""
        here = {str(each.constraint) for each in certificate.promises}
        before = [words["words"] for each in self._tests() for words in each["certificate"]["promises"]]
        return [words for words in dict.fromkeys(before) if words not in here]

    # --- which rows were used ------------------------------------------------------------------

    def _ids(self, people: Population) -> tuple[Array, list[str] | None]:
        """A number for each row, and the columns it is computed from, if rows have no key."""
        salt = str(self.entries[0]["digest"])
        if self.key is not None:
            return ids_by_key(people, self.key, salt), None
        before = [each["columns"] for each in self._tests()]
        columns = before[0] if before else content_columns(people, frozenset({LIVE}))
        return ids_by_content(people, columns, salt), columns

    def _served(self, ids: Array) -> Array:
        served = [unpacked(each["row_digests"]) for each in self._tests()]
        return np.isin(ids, np.concatenate(served) if served else np.empty(0, dtype=np.uint64))

    def _check_fresh(self, fresh: Array) -> None:
        used = int((~fresh).sum())
        if used and self.key is None:
            raise ValueError(
                f"{used:,} of {len(fresh):,} rows were used in an earlier test of this plan: give "
                "fresh ones. plan.served(rows) shows which they are. If rows of different people may "
                "be equal, a plan needs key=, a column of ids"
            )
        if used == len(fresh):
            raise ValueError(
                f"all {used:,} rows were used in an earlier test of this plan: give fresh ones"
            )

    # --- the ledger ------------------------------------------------------------------------------

    def _entries(self, kind: str) -> list[Entry]:
        return [each for each in self.entries if each["entry"] == kind]

    def _tests(self) -> list[Entry]:
        return self._entries("test")

    def _carried(self) -> float:
        """The part of the last test's error that the next test gets."""
        tests = self._tests()
        if self.spending == "equal" or not tests or not tests[-1]["released"]:
            return 0.0
        return float(tests[-1]["level"])

    def _stated(self) -> Entry:
        """The first line of the ledger."""
        stated = {name: getattr(self, name) for name in STATED} | {"promises": list(self.promises)}
        about = {"entry": "plan", "format": FORMAT, "version": VERSION, **versions("ratebound")}
        return {**about, "when": _now(), **stated}

    def _check_same(self) -> None:
        """Raise unless the ledger belongs to this plan."""
        stated, own = _plan_in(self.entries, self._ledger.path), self._stated()
        for name in STATED:
            if stated.get(name) != own[name]:
                raise ValueError(
                    f"{self._ledger.path} is the ledger of another plan, whose {name} is "
                    f"{stated.get(name)!r}, not {own[name]!r}. A plan does not change: continue with "
                    "rb.ChangePlan.open(...), or begin another ledger"
                )


_RECORDED = Version(f"the column {LIVE}")  # its decisions came with the rows


def _plan_in(entries: tuple[Entry, ...], path: str | os.PathLike[str] | None) -> Entry:
    if not entries or entries[0].get("entry") != "plan" or entries[0].get("format") != FORMAT:
        raise ValueError(f"{path} is not the ledger of a change plan")
    if entries[0].get("version") != VERSION:
        raise ValueError(
            f"{path} has format version {entries[0].get('version')!r}, but this ratebound reads "
            f"{VERSION}"
        )
    return entries[0]


def _certificate(problem: Problem, new: Version, people: Population, confidence: float) -> Certificate:
    model = new.model
    if not isinstance(model, Policy):
        model = Decided(new.decisions(people, "candidate"), new.classes)
        people = people if people.X is not None else with_column(people, "candidate", model.decisions)
    certificate = certify(problem, model, people, confidence=confidence)
    return replace(certificate, model=new.words)


def _check_promises(problem: Problem) -> None:
    """Raise if a plan cannot test a promise."""
    if not problem.subject_to:
        raise ValueError("a plan needs at least one promise, such as 'recall() >= 0.9'")
    refuse_general(problem.subject_to, "a change plan", "Leave it out of the plan.")
    for each in problem.subject_to:
        if not isinstance(each, Constraint | Parity):  # a goal has no groups yet
            continue
        for rate in each.rates:
            if rate.on not in (None, FIRST):
                raise ValueError(
                    f"{each}: a plan is about the fresh rows of a release, but on={rate.on!r} is "
                    "about others: certify it separately, rb.certify"
                )
            counts = is_count(rate) and isinstance(each, Constraint)
            if counts and not isinstance(each.left, Ratio) and rate.per is None:
                raise ValueError(
                    f"{each}: releases have different numbers of rows, so a count needs a number of "
                    f"rows, as in {rate.kind}(per=1000)"
                )


def _versus(promise: Any) -> set[str | None]:
    return {rate.versus for rate in promise.rates}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "promise": str(alarm.constraint),
        "row": alarm.row,
        "evidence": min(float(alarm.evidence), 1e300),
        "value": alarm.value,
        "bound": alarm.bound,
        "words": alarm.words,
    }


def _alarm_part(entry: Entry) -> dict[str, Any]:
    beside = ("entry", "when", "before", "digest")
    return {name: value for name, value in entry.items() if name not in beside}
