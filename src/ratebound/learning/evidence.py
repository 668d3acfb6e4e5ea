"""What estimators share: decisions by name, evidence about them on rows, and a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ratebound.learning.given import (
    Columns,
    Read,
    Rows,
    check_order,
    check_rows,
    read_population,
    split_rows,
)
from ratebound.learning.uncertain import ROW
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.conditions import Name
from ratebound.rates.sums import FIRST

DECISION = "(decision)"  # the column of decisions
CERTIFIED = 0.95  # the confidence of a certificate, if none was asked for
OF_KNOWN_GROUPS = (
    "a certificate is of groups that are known: leave out uncertain=, and give rows with the column "
    "of the group"
)


class Audited:
    """A classifier that can be saved, and whose decisions can be named, audited and certified."""

    problem_: Problem
    classes_: Any
    positive_label: Any
    refer: str | None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "status_")

    def save(self, folder: str | Path) -> Path:
        """Write what decides to a file, which `ratebound.load` reads. It holds no rows and no code.

        Parameters
        ----------
        folder : str or path
            The folder, or a file whose name ends in ``.safetensors``.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import numpy as np, pandas, tempfile, ratebound as rb
        >>> people = pandas.DataFrame({"score": np.linspace(0, 1, 200), "group": ["a", "b"] * 100})
        >>> repays = ["no"] * 100 + ["yes"] * 100
        >>> model = rb.RateConstrainedClassifier("recall() >= 0.9", random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     loaded = rb.load(model.fit(people, repays).save(folder))
        >>> loaded.predict([{"score": 0.1, "group": "a"}, {"score": 0.9, "group": "b"}]).tolist()
        ['no', 'yes']
        """
        from ratebound._bridge import make_policy  # until the room of files stands

        path: Path = make_policy(self).save(folder)
        return path

    @property
    def labels_(self) -> list[Any]:
        """The labels in order, with the positive one last."""
        labels = self.classes_.tolist()
        positive = self.positive_label
        if positive is None:
            return labels
        if positive not in labels:
            raise ValueError(f"positive_label={positive!r} is not one of the labels {labels}")
        labels.remove(positive)
        return [*labels, positive]

    @property
    def decisions_(self) -> Any:
        """All decisions: the labels, the positive one last, and the referral if there is one."""
        if self.refer is None:
            return np.array(self.labels_)
        return np.array([*self.labels_, self.refer], dtype=object)

    def audit(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        confidence: float = CERTIFIED,
        clusters: Name | None = None,
        **populations: Any,
    ) -> Any:
        """Judge each constraint on rows, with an interval, as `ratebound.audit` does.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            The rows, as for `fit`.
        y : array of shape (n,), default=None
            The labels, if constraints need them.
        columns : data frame or mapping, default=None
            More columns, as for `fit`.
        sample_weight : array of shape (n,), default=None
            How many rows each row counts as. By default 1.
        confidence : float, default=0.95
            Of each verdict.
        clusters : str, default=None
            The column that says which rows were drawn together.
        **populations : table or tuple
            Other rows, as for `fit`.

        Returns
        -------
        Audit
            Print it.
        """
        populations = {FIRST: (X, y, columns, sample_weight), **populations}
        rows, options = self._list_rows(populations)
        if clusters is None and ROW in rows[FIRST].columns:
            clusters = ROW
        options |= {"clusters": clusters, "confidence": confidence}
        return judge("audit", self.problem_, rows, **options)

    def certify(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        confidence: float = CERTIFIED,
        **populations: Any,
    ) -> Any:
        """Test whether the constraints hold on new rows, as `ratebound.certify` does.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            Rows, as for `fit`, that nothing was trained or chosen on.
        y : array of shape (n,), default=None
            The labels, if constraints need them.
        columns : data frame or mapping, default=None
            More columns, as for `fit`.
        sample_weight : array of shape (n,), default=None
            How many rows each row counts as. By default 1.
        confidence : float, default=0.95
            A false certificate has a probability of at most one minus this.
        **populations : table or tuple
            Other rows, as for `fit`.

        Returns
        -------
        Certificate
            What holds, by which test, and how many rows would be needed.
        """
        populations = {FIRST: (X, y, columns, sample_weight), **populations}
        rows, options = self._list_rows(populations)
        if ROW in rows[FIRST].columns:
            raise ValueError(OF_KNOWN_GROUPS)
        return judge("certify", self.problem_, rows, confidence=confidence, **options)

    def _check_table(self, X: Rows) -> Any:
        """Return rows that can be decided."""
        return check_rows(self, X)

    def _read_rows(
        self,
        X: Rows,
        y: Any,
        columns: Columns,
        **options: Any,
    ) -> Population:
        decisions = {"classes": self.labels_, "refer": self.refer}
        return read_population(X, y, columns, **decisions, **options)

    def _read(self, populations: Mapping[str, Any]) -> dict[str, Read]:
        """Return rows by population: a table, or a tuple of it, labels, columns and weights."""
        read = {}
        for name, parts in populations.items():
            table, labels, columns, weights = split_rows(parts)
            check_order(table, labels, columns)
            table = self._check_table(table)
            read[name] = Read(table, self._read_rows(table, labels, columns, weights=weights))
        return read

    def _list_rows(
        self,
        populations: Mapping[str, Any],
    ) -> tuple[dict[str, Population], dict[str, Any]]:
        """Return rows by population, and what decides them: a policy knows the rows it saw."""
        check_is_fitted(self)
        read = self._read(populations)
        if not self._has_policy:
            return self._decide(read), {"decisions": DECISION}
        rows = {name: replace(item.rows, X=item.table) for name, item in read.items()}
        return rows, {"model": self}

    @property
    def _has_policy(self) -> bool:
        raise NotImplementedError

    def _decide(self, read: Mapping[str, Read]) -> dict[str, Population]:
        """Return rows by population, with the column `DECISION`."""
        decided = {}
        for name, (table, rows) in read.items():
            columns = rows.columns | {DECISION: self._predict(table, rows)}
            decided[name] = replace(rows, X=None, columns=columns)
        return decided

    def _predict(self, table: Rows, rows: Population) -> Any:
        raise NotImplementedError


def judge(
    function: str,
    problem: Problem,
    rows: Mapping[str, Population],
    **options: Any,
) -> Any:
    """Return the evidence on rows by population, by the old room until a new one stands."""
    from ratebound._bridge import find_old_name

    others = dict(rows)
    of_decisions = "rows" if "decisions" in options else "population"
    options[of_decisions] = others.pop(FIRST)
    return find_old_name(function)(problem, **others, **options)
