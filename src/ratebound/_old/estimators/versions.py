"""The two models of a release, in any accepted form, and the fresh rows for comparing them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._bridge import accept, make_policy
from ratebound._old.base.types import Array
from ratebound._old.estimators.given import labelled, trained_labels
from ratebound._old.estimators.policy import Policy, as_policy, load
from ratebound._old.problem.frames import as_array, check_order, frame_columns, is_missing, rows_of
from ratebound._old.problem.population import Population
from ratebound._old.rates.subsets import Name, plain_value
from ratebound._old.solution.files import digest_of_mixture
from ratebound._old.solution.mixture import Mixture

RECORD = "release.json"  # in the folder of a release


@dataclass(frozen=True, eq=False)
class Version:
    """A live model, or a candidate."""

    words: str
    model: Any = None  # a policy or another classifier; None if decisions were given
    given: Array | None = None  # decisions, one for each row
    digest: str | None = None  # identifies the model
    line: str | None = None  # the ledger's line that is named by the folder it was read from

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Its possible decisions, if it names them: with two, no and then yes."""
        own = getattr(self.model, "classes", getattr(self.model, "classes_", None))
        return None if own is None else tuple(map(plain_value, own))

    def decisions(self, people: Population, what: str) -> Array:
        """Its decision on each row (n,)."""
        if self.given is not None:
            decided = self.given
        elif people.X is None:
            raise ValueError(
                f"the rows have no features X, so {what}= cannot decide them: give its decisions"
            )
        elif isinstance(self.model, Policy):
            decided = self.model.predict(people)
        else:
            names = getattr(self.model, "feature_names_in_", None)
            known = frame_columns(people.X)
            seen = people.X if names is None or not known else chosen_columns(people.X, list(names))
            decided = np.asarray(self.model.predict(seen))
        if decided.shape != (len(people),):
            raise ValueError(
                f"{what}= gives decisions of shape {decided.shape} for {len(people):,} rows"
            )
        if lacking := int(is_missing(decided).sum()):
            raise ValueError(f"{what}= has no decision on {lacking:,} of {len(people):,} rows")
        return decided

    def on(self, rows: Array) -> Version:
        """The same for some of the rows, by truth values (n,)."""
        decisions = None if self.given is None else self.given[rows]
        return Version(self.words, self.model, decisions, self.digest, self.line)

    def to_dict(self) -> dict[str, Any]:
        """Its entry in a ledger."""
        return {"words": self.words, "digest": self.digest}


class Decided:
    """A classifier whose decisions on some rows are known already."""

    def __init__(self, decisions: Array, classes: tuple[Any, ...] | None) -> None:
        self.decisions = decisions
        if classes is not None:
            self.classes_ = np.asarray(classes)

    def predict(self, X: Any) -> Array:
        """The decisions."""
        return self.decisions


def version_of(given: Any, what: str, trusted: Sequence[str] = ()) -> Version:
    """The version passed as `what`: a path, a model of ours, another classifier, or decisions."""
    if isinstance(given, Version):
        return given
    if isinstance(given, str | Path):
        policy = load(given, trusted=trusted)
        return Version(str(given), policy, digest=digest_of_mixture(policy), line=_line_of(Path(given)))
    if type(given).__module__.startswith("ratebound.learning."):
        given = make_policy(given)
    model = given
    if isinstance(model, Mixture):
        policy = model if isinstance(model, Policy) else as_policy(model)
        return Version(policy.rule, policy, digest=digest_of_mixture(policy))
    if callable(getattr(given, "predict", None)):
        if hasattr(given, "fit") and hasattr(given, "get_params"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(given)
        return Version(type(given).__name__, given, digest=_digest_of_object(given))
    decided = as_array(given)
    if np.ndim(decided) != 1 or not len(decided):
        raise TypeError(
            f"{what}= takes a fitted model, the path of a saved one, or a decision for each row, got "
            f"{type(given).__name__}"
        )
    return Version("decisions", given=decided)


def _line_of(path: Path) -> str | None:
    """The line of a ledger that a folder's record names, if it is the folder of a release."""
    record = path / RECORD
    if not record.is_file():
        return None
    try:
        return str(json.loads(record.read_bytes())["digest"])
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{record} is not the record of a release: restore it") from None


def _digest_of_object(model: Any) -> str | None:
    """Identifies a classifier of another library, as long as its library stays the same."""
    import hashlib

    try:
        return hashlib.sha256(pickle.dumps(model)).hexdigest()
    except Exception:  # a foreign object may raise anything; then it is not identified
        return None


def fresh_rows(rows: Any, label: Name | None, classes: tuple[Any, ...] | None) -> Population:
    """The rows of a release: a population, (X, y), (X, y, columns), or a table whose label is named."""
    rows = accept(rows)
    if isinstance(rows, Population):
        if label is not None:
            raise TypeError("label= is for a table; a population has its own labels")
        return rows.in_memory()
    if isinstance(rows, tuple):
        if not 2 <= len(rows) <= 3 or label is not None:
            raise TypeError("rows takes (X, y) or (X, y, columns), and then no label=")
        X, y, columns = (*rows, None)[:3]
    elif names := frame_columns(rows):
        if label is None:
            raise TypeError("which column of rows is the label? Give label=, or rows=(X, y)")
        if label not in names:
            raise ValueError(f"rows have no column {label!r}: label= names the column with the labels")
        X = chosen_columns(rows, [name for name in names if name != label])
        y, columns = rows[label], None
    else:
        raise TypeError(
            "rows takes a rb.Population, (X, y), (X, y, columns), or a DataFrame with label=, got "
            f"{type(rows).__name__}"
        )
    check_order(X, {"y": y})
    if classes is None:
        return Population(X, y, columns)
    return labelled(X, trained_labels(y, classes), columns, None, classes)


def chosen_columns(table: Any, names: list[Any]) -> Any:
    """These columns of a table (pandas, polars, PyArrow)."""
    lacking = [name for name in names if name not in frame_columns(table)]
    if lacking:
        raise ValueError(f"rows have no column {lacking[0]!r}, which the model was trained on")
    return table.select(names) if hasattr(table, "column_names") else table[names]


def with_column(people: Population, name: str, values: Array) -> Population:
    """The population with one more column."""
    added = people.only(np.arange(len(people)))
    added.columns = added.columns | {name: values}
    if added.X is None:  # decisions are known already, but audits need something to decide on
        added.X = rows_of(np.zeros((len(people), 1)), np.arange(len(people)))
    return added
