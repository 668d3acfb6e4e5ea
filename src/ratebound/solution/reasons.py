"""Why a row is decided as it is: the parts of its score, what its label says and what each promise adds.

The score of a plug-in model is minus what a decision is expected to cost, in units of one error: a sum
of what the objective says, given how likely each label is, and of what each promise adds, given how
likely the row is one of those that the promise speaks of. A promise that is not binding adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ratebound.base import document as doc
from ratebound.base.rendering import Documented
from ratebound.base.types import Array
from ratebound.problem.deciding import decided
from ratebound.solution.mixture import Mixture

SHOWN = 20  # rows that are printed


@dataclass(frozen=True, eq=False)
class Reasons(Documented):
    """The parts of each row's score; prints as a table.

    Parameters
    ----------
    names : tuple of str
        What the parts are called: the objective, each promise that says something, and a threshold if
        there is one.
    parts : array of shape (n, T)
        What each adds. Of two classes, positive speaks for yes, and a yes is decided from a sum of 0 on.
        Of more, it speaks for the class that is decided rather than the next best.
    probabilities : array of shape (n, D)
        How likely each label is, as `predict_proba` has it.
    decisions : array of shape (n,)
        What is decided.

    Examples
    --------
    >>> import numpy as np, ratebound as rb
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> columns = {"group": np.where(X[:, 1] > 0, "a", "b")}
    >>> model = rb.RateConstrainedClassifier('positive_rate(group == "b") >= 0.4', random_state=0)
    >>> found = model.fit(X, X.sum(axis=1) > 0, columns=columns).reasons(X[:3])
    >>> found.names[0]
    'the objective'
    >>> np.allclose(found.parts.sum(axis=1), model.decision_function(X[:3]))
    True
    """

    names: tuple[str, ...]
    parts: Array
    probabilities: Array
    decisions: Array

    @property
    def scores(self) -> Array:
        """The sums of the parts, (n,)."""
        return np.asarray(self.parts.sum(axis=1))

    def document(self) -> doc.Document:
        heads = doc.heads("row", "decision", "score", *self.names)
        rows = tuple(
            (str(row), str(self.decisions[row]), f"{self.scores[row]:+.4f}", *(f"{p:+.4f}" for p in own))
            for row, own in enumerate(self.parts[:SHOWN])
        )
        more = len(self.parts) - len(rows)
        lead = f"the first {SHOWN} of {len(self.parts):,} rows" if more > 0 else ""
        table = doc.ReportTable("What speaks for each decision", heads, rows)
        return doc.Document("Reasons", lead, (table,), self.to_dict)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types.

        Returns
        -------
        dict
            The names, and lists with an entry for each row.
        """
        return {
            "names": list(self.names),
            "decisions": [each.item() if hasattr(each, "item") else each for each in self.decisions],
            "scores": self.scores.tolist(),
            "parts": self.parts.tolist(),
            "probabilities": self.probabilities.tolist(),
        }

    def to_frame(self) -> Any:
        """The same as a pandas table, with a row for each row.

        Returns
        -------
        DataFrame
            The decision, the score and its parts.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise ImportError(
                "to_frame needs pandas: pip install pandas, or use to_dict(), which needs nothing"
            ) from None
        columns: dict[str, Any] = {"decision": self.decisions, "score": self.scores}
        return pandas.DataFrame(columns | dict(zip(self.names, self.parts.T, strict=True)))


def reasons(model: Mixture, X: Any) -> Reasons:
    """What speaks for each decision of a model on these rows."""
    features = model.features(X)
    told_by = [model.scorer.parts(own, features) for own in model.parameters]
    every = [each for each in told_by if each is not None]
    if not every:
        raise ValueError(
            f"the scores of these models, of kind {model.scorer.kind!r}, have no parts to show: reasons "
            "are those of the plug-in, RateConstrainedClassifier(method='plug-in')"
        )
    names = every[0][0]
    parts = np.stack([each[1] for each in every])  # (B, T, A, n)
    own = parts[model.deciding_member(X), :, :, np.arange(parts.shape[-1])]  # (n, T, A)
    if own.shape[2] == 1:
        told = own[:, :, 0]
    else:
        scores = own.sum(axis=1)
        best = decided(scores.T[None])[0]
        rest = scores.copy()
        rest[np.arange(len(rest)), best] = -np.inf
        rows = np.arange(len(rest))
        told = own[rows, :, best] - own[rows, :, rest.argmax(axis=1)]
    return Reasons(tuple(names), told, model.predict_proba(X), model.predict(X))
