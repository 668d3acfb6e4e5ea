"""A fitted ranker for users: tables in; a score for each row, audits of pairs and files out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ratebound._old.base.types import Array
from ratebound._old.estimators.policy import Policy
from ratebound._old.problem.pairs import Pairs
from ratebound._old.rates.subsets import Name

if TYPE_CHECKING:
    from ratebound._old.auditing.report import Audit


@dataclass(frozen=True, eq=False)
class Ranking(Policy):
    """A model that ranks rows: `decision_function` gives a score for each, and nothing is drawn.

    `RateConstrainedRanker` has one as `solution_`, and `rb.load` gives one for the file of a ranker. It
    does not decide single rows: `predict` takes ``exactly=``, how many of a batch come first.
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
        if exactly is None:
            self._refuse("predict")
        return super().predict(X, columns=columns, key=key, exactly=exactly)

    def predict_proba(self, X: Any) -> NoReturn:
        self._refuse("predict_proba")

    def decision_proba(self, X: Any, *, columns: Any = None) -> NoReturn:
        self._refuse("decision_proba")

    def _refuse(self, name: str) -> NoReturn:
        raise TypeError(
            f"{name}: a ranker puts rows in order and does not decide single rows: sort by "
            "decision_function(X), highest first, or give a number: predict(X, exactly=500)"
        )

    def reasons(self, X: Any, *, columns: Any = None, key: Any = None) -> NoReturn:
        raise TypeError(
            "reasons are for decisions, and a ranker decides no single row: its scores are "
            "decision_function(X), which shap.Explainer or permutation_importance explain"
        )

    def certify(self, X: Any, *given: Any, **how: Any) -> NoReturn:
        raise ValueError(
            "certify tests decisions on independently drawn rows, but pairs share rows, so none of "
            "its tests is valid for them: audit has intervals for pairs, which are not certificates"
        )

    def decision_function(self, X: Any, *, columns: Any = None) -> Array:
        return super().decision_function(X.rows.X if isinstance(X, Pairs) else X)

    def audit(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        query: Any = None,
        clusters: Name | None = None,
        **others: Any,
    ) -> Audit:
        """Judge every promise on the pairs of these rows: its value, bound and interval.

        Parameters
        ----------
        X : Pairs, DataFrame, array or sparse matrix
            Pairs, or the rows to make pairs of.
        y : array of shape (n,), default=None
            The relevance of each row; only pairs have their own.
        columns : DataFrame or mapping, default=None
            Columns that promises use and `X` does not have.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        query : array of shape (n,), default=None
            The query that each row answers. By default any two rows make a pair.
        clusters : str or int, default=None
            Refused: pairs take a `query`.
        **others : table, tuple or Population
            Refused: pairs are of one population.

        Returns
        -------
        Audit
            Print it, or take it as a frame, JSON or a page.
        """
        from ratebound._old.auditing.auditing import audit

        pairs = pairs_of(X, y, columns, query, sample_weight)
        return audit(self.problem.asked, self, pairs, clusters=clusters, **others)


def pairs_of(X: Any, y: Any, columns: Any, query: Any, weights: Any, **how: Any) -> Pairs:
    """The pairs given, or the pairs of the rows given."""
    beside = {"y": y, "columns": columns, "query": query, "sample_weight": weights}
    if not isinstance(X, Pairs):
        return Pairs(X, y, columns, query=query, weights=weights, **how)
    for name, given in beside.items():
        if given is not None:
            raise TypeError(f"{name}= is for a table or an array X; pairs have their own: rb.Pairs(...)")
    return X
