"""A fitted model as people use it: their tables and their labels in; decisions, audits and files out.

The estimator, the command line and a model read from a file all decide through it, so that the same
table gets the same answers, and the same errors, wherever the model comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ratebound.auditing import Audit, audit
from ratebound.certifying.certify import certify
from ratebound.estimators._people import labelled, other_populations, trained_labels
from ratebound.problem.frames import check_order
from ratebound.problem.population import Population
from ratebound.solution import files
from ratebound.solution.certificate import Certificate
from ratebound.solution.mixture import Mixture


@dataclass(frozen=True, eq=False)
class Policy(Mixture):
    """A mixture that takes tables and labels as the classifier does, before and after it is saved.

    `predict`, `predict_proba`, `decision_proba` and `decision_function` are those of a mixture.

    >>> import pandas, tempfile, ratebound as rb
    >>> people = pandas.DataFrame({"score": [1, 2, 3, 4] * 50, "group": ["a", "b"] * 100})
    >>> y = ["no", "no", "yes", "yes"] * 50
    >>> model = rb.RateConstrainedClassifier('recall(group == "a") >= 0.9', features=["score"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy = rb.load(model.fit(people, y).save(folder))
    >>> policy.predict(people[:4]).tolist(), policy.audit(people, y).kept
    (['no', 'no', 'yes', 'yes'], True)
    """

    def audit(
        self, X: Any, y: Any, columns: Any = None, sample_weight: Any = None, **others: Any
    ) -> Audit:
        """Judge every promise on these rows: its value, bound and interval, and whether it is kept.

        `others` are further populations by name: tables, ``(table, labels)`` or `rb.Population`.
        """
        people = self._people(X, y, columns, sample_weight)
        return audit(self.problem.asked, self, people, **other_populations(others, self.classes))

    def certify(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        confidence: float = 0.95,
        in_expectation: bool = False,
        **others: Any,
    ) -> Certificate:
        """Whether the promises hold on new rows, shown on rows it has not seen, as by `rb.certify`."""
        people = self._people(X, y, columns, sample_weight)
        return certify(
            self.problem,
            self,
            people,
            confidence=confidence,
            in_expectation=in_expectation,
            **other_populations(others, self.classes),
        )

    def _people(self, X: Any, y: Any, columns: Any, sample_weight: Any) -> Population:
        check_order(X, {"y": y, "sample_weight": sample_weight})
        return labelled(X, trained_labels(y, self.classes), columns, sample_weight, self.classes)


def as_policy(mixture: Mixture) -> Policy:
    """The same mixture, for tables and labels."""
    return Policy(**{field.name: getattr(mixture, field.name) for field in fields(mixture)})


def load(
    path: str | Path, module: Callable[[], Any] | Any = None, *, trusted: Sequence[str] = ()
) -> Policy:
    """Read a model that `save` wrote, from its file or folder; it decides as it did before.

    `module` is needed for models of a PyTorch module of your own: the module, or a function making it,
    since a file holds its parameters but never its code. `trusted` names types that a scikit-learn
    estimator in the file may hold, beyond those skops trusts; the error for one that is not trusted
    says what to write.
    """
    return as_policy(files.load(path, module, trusted=trusted))
