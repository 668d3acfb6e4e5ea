"""A fitted model for users: tables and labels in; decisions, audits and files out.

The estimator, the command line and a loaded model all decide through it, so the same table gets the same
answers and errors everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound._bridge import accept
from ratebound._old.base.types import Array
from ratebound._old.estimators.given import (
    check_whole_population,
    labelled,
    other_populations,
    trained_labels,
)
from ratebound._old.problem.frames import as_array, check_order
from ratebound._old.problem.population import Population
from ratebound._old.rates.subsets import Name
from ratebound._old.solution import files
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.reasons import Reasons, reasons
from ratebound._old.tables.records import as_read, is_records, table_of

if TYPE_CHECKING:
    from ratebound._old.auditing.report import Audit
    from ratebound._old.solution.certificate import Certificate


@dataclass(frozen=True, eq=False)
class Policy(Mixture):
    """A mixture that takes tables and labels as the classifier does that was saved.

    `rb.load` gives one. Rows may also be a population, on disk or in memory, which is decided some
    rows at a time. It has everything that `rb.Mixture` has besides.

    Parameters
    ----------
    members : Members
        The models' parameters, and how often each is used.
    decider : Decider
        How the members' scores become one decision.
    record : Record
        How it was made: problem, status, seed, digest of the rows, versions.
    classes : tuple, default=(False, True)
        The names of the decisions; with two, no and then yes.
    encoding : Encoding, default=None
        How the rows of a table become the features that the models were trained on; None for arrays.
    calibration : Calibration, default=None
        From mean scores to the probability of the label.

    Examples
    --------
    >>> import pandas, tempfile, ratebound as rb
    >>> people = pandas.DataFrame({"score": range(200), "group": ["a", "b"] * 100})
    >>> y = ["no"] * 100 + ["yes"] * 100
    >>> model = rb.RateConstrainedClassifier('recall(group == "a") >= 0.9', features=["score"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy = rb.load(model.fit(people, y).save(folder))
    >>> policy.predict(people[::66]).tolist(), policy.audit(people, y).kept
    (['no', 'no', 'yes', 'yes'], True)
    """

    def predict(
        self,
        X: Any,
        *,
        columns: Any = None,
        key: Any = None,
        seed: Any = None,
        exactly: int | None = None,
    ) -> Array:
        if exactly is not None:  # the best rows are only known among all of them
            X = accept(X)
            if isinstance(X, Population):
                ((X, columns, _),) = self._pieces(X.in_memory(), columns)
            return super().predict(self._table(X), columns=columns, key=key, seed=seed, exactly=exactly)
        draws = None if seed is None else np.random.default_rng(seed)  # one for all pieces
        ids = None if key is None else as_array(key)
        decisions = [
            super(Policy, self).predict(
                rows, columns=known, key=None if ids is None else ids[part], seed=draws
            )
            for rows, known, part in self._pieces(X, columns)
        ]
        return np.concatenate(decisions)

    def predict_proba(self, X: Any) -> Array:
        pieces = self._pieces(X, None)
        return np.concatenate([super(Policy, self).predict_proba(rows) for rows, _, _ in pieces])

    def decision_proba(self, X: Any, *, columns: Any = None) -> Array:
        decide = super().decision_proba
        pieces = self._pieces(X, columns)
        return np.concatenate([decide(rows, columns=known) for rows, known, _ in pieces])

    def decision_function(self, X: Any, *, columns: Any = None) -> Array:
        decide = super().decision_function
        pieces = self._pieces(X, columns)
        return np.concatenate([decide(rows, columns=known) for rows, known, _ in pieces])

    def reasons(self, X: Any, *, columns: Any = None, key: Any = None) -> Reasons:
        """The reasons for each decision: the label, every promise, and the columns that move it.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, dict or list of dict
            The rows.
        columns : DataFrame or mapping, default=None
            The `known` columns that are not in `X`.
        key : array of shape (n,), default=None
            An entity's id for each row, as in `predict`.

        Returns
        -------
        Reasons
            The parts of each row's score, which sum to it, and each column's effect; prints as a table.
        """
        return reasons(self, self._table(X), columns, key)

    def _table(self, X: Any) -> Any:
        """Rows given as dictionaries, as a table; anything else unchanged."""
        if not is_records(X):
            return X
        if self.encoding is None or not self.encoding.from_frame:
            raise TypeError(
                "rows are dictionaries, but the model was trained on an array, whose features have no "
                "names: give an array, or train on a table"
            )
        return as_read(self.encoding, table_of(X, self.encoding, self.decider.known))

    def _pieces(self, X: Any, columns: Any) -> Iterator[tuple[Any, Any, slice]]:
        """Rows to decide, some at a time, with their columns and their places among all rows."""
        X = accept(X)
        if not isinstance(X, Population):
            yield self._table(X), columns, slice(None)
            return
        if columns is not None:
            raise TypeError("columns= is for a table or an array X; a population has its own")
        start = 0
        for piece in X.pieces(self.decider.known, inputs=True):
            yield piece.X, piece.columns, slice(start, start + len(piece))
            start += len(piece)

    def audit(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        clusters: Name | None = None,
        key: Name | None = None,
        **others: Any,
    ) -> Audit:
        """Judge every promise on these rows: its value, bound and interval, and whether it is kept.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or Population
            The rows.
        y : array of shape (n,), default=None
            The labels, spelled as in training; only a population has its own.
        columns : DataFrame or mapping, default=None
            Columns that promises use and `X` does not have.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        clusters : str or int, default=None
            The column whose values tell which rows were drawn together, such as the customer if one has
            several rows. By default each row is drawn alone.
        key : str or int, default=None
            The column of ids that `predict` is given as ``key=``, to count the same decisions.
            By default a mixture hashes the features.
        **others : table, tuple or Population
            Further populations by name: tables, ``(table, labels)`` or `rb.Population`.

        Returns
        -------
        Audit
            Print it, or take it as a frame, JSON or a page.
        """
        from ratebound._old.auditing.auditing import audit  # deciding needs none of it

        people = self._people(X, y, columns, sample_weight)
        populations = other_populations(others, self.classes, self.problem)
        return audit(self.problem.asked, self, people, clusters=clusters, key=key, **populations)

    def certify(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        confidence: float = 0.95,
        in_expectation: bool = False,
        key: Name | None = None,
        **others: Any,
    ) -> Certificate:
        """Whether the promises hold on new rows, tested on unseen rows as by `rb.certify`.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or Population
            Rows that it was neither trained nor chosen on.
        y : array of shape (n,), default=None
            The labels, spelled as in training; only a population has its own.
        columns : DataFrame or mapping, default=None
            Columns that promises use and `X` does not have.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        confidence : float, default=0.95
            A false certificate has a probability of at most one minus this.
        in_expectation : bool, default=False
            Whether to certify a mixture's expectation over its members. By default the decisions that it
            makes are certified, since those are what people get.
        key : str or int, default=None
            The column of ids that `predict` is given as ``key=``, to count the same decisions.
            By default a mixture hashes the features.
        **others : table, tuple or Population
            Further populations by name: tables, ``(table, labels)`` or `rb.Population`.

        Returns
        -------
        Certificate
            What holds, by which test, and how many rows would be needed.
        """
        from ratebound._old.certifying.certify import certify

        people = self._people(X, y, columns, sample_weight)
        return certify(
            self.problem,
            self,
            people,
            confidence=confidence,
            in_expectation=in_expectation,
            key=key,
            **other_populations(others, self.classes, self.problem),
        )

    def _people(self, X: Any, y: Any, columns: Any, sample_weight: Any) -> Population:
        X = accept(X)
        if isinstance(X, Population):
            check_whole_population(X, y=y, columns=columns, sample_weight=sample_weight)
            return X
        X = self._table(X)
        check_order(X, {"y": y, "sample_weight": sample_weight})
        return labelled(X, trained_labels(y, self.classes), columns, sample_weight, self.classes)


def as_policy(mixture: Mixture) -> Policy:
    """The same mixture, for tables and labels."""
    return Policy(**{field.name: getattr(mixture, field.name) for field in fields(mixture)})


def load(
    path: str | Path, module: Callable[[], Any] | Any = None, *, trusted: Sequence[str] = ()
) -> Policy:
    """Read a model that `save` wrote, from its file or folder; it decides as it did before.

    Parameters
    ----------
    path : str or path
        The file or folder.
    module : module or callable, default=None
        For models of your own PyTorch module: the module, or a function that makes it, since a file
        holds its parameters but never its code. Other models need none.
    trusted : list of str, default=()
        Types that a scikit-learn estimator in the file may hold, beyond the types that decide with NumPy
        alone: compiled code, such as trees and support vectors, does not check a file's content. The
        error for an untrusted type says what to write. Empty by default: a file may come from anyone.

    Returns
    -------
    Policy
        It predicts, audits and certifies.

    Raises
    ------
    ValueError
        If the file is not as it was written, or names types that are not trusted.

    Examples
    --------
    >>> import numpy as np, pandas, tempfile, ratebound as rb
    >>> from sklearn.linear_model import LogisticRegression
    >>> people = pandas.DataFrame({"score": np.linspace(0, 1, 200)})
    >>> model = rb.RateConstrainedClassifier("recall() >= 0.9", model=LogisticRegression())
    >>> _ = model.fit(people, [0] * 100 + [1] * 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy = rb.load(model.save(folder))
    >>> policy.predict(people[::66])
    array([0, 0, 1, 1])
    """
    return as_policy(files.load(path, module, trusted=trusted))
