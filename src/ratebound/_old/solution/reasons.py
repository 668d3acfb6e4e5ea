"""Why a row is decided as it is: the parts of its score, from its label and from each promise.

The score of a rule is minus the expected cost of a decision, in units of one error. It is a
sum: the objective's part, given how likely each label is, and each promise's part, given how likely the
row is among the rows that the promise is about. A promise that is not binding adds nothing. Other models
have one part, the score itself.

A column's move is the difference between the score and the score with a typical value in that column,
averaged over the row itself and an otherwise typical row. Moves need not sum to the score: two columns
may carry the same information.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ratebound._old.base import document as doc
from ratebound._old.base.rendering import Documented
from ratebound._old.base.types import Array
from ratebound._old.problem.deciding import decided
from ratebound._old.problem.frames import as_array, frame_columns, is_missing, is_sparse
from ratebound._old.solution.mixture import Mixture
from ratebound._old.tables.columns import Code, Number, Plain, width_of

SHOWN = 20  # rows that are printed
MOST = 4  # reasons per decision, as is customary for adverse-action notices
SCORE, THRESHOLD = "the score", "the threshold"
NOTHING = "no single column, compared with its typical value"
SLIGHT = 1e-9  # smaller moves count as zero


@dataclass(frozen=True, eq=False)
class Reasons(Documented):
    """The parts of each row's score; prints as a table.

    Parameters
    ----------
    names : tuple of str
        The names of the parts: the objective, each promise that adds something, and a threshold if there
        is one.
    parts : array of shape (n, T)
        What each adds. With two classes, positive favors yes, and a yes is decided from a sum of 0 on.
        With more, positive favors the decided class over the next best.
    probabilities : array of shape (n, D)
        The probability of each label, as in `predict_proba`.
    decisions : array of shape (n,)
        The decisions.
    columns : tuple of str, default=()
        The columns that the model reads; empty if a pipeline reads the table itself.
    moves : array of shape (n, C), default=None
        How much each column moves the score, compared with a typical value in its place.
    values : tuple of tuple of str, default=()
        Each row's value in each column, in words.
    no : label, default=None
        With two classes, the decision that is a no.

    Examples
    --------
    >>> import numpy as np, ratebound as rb
    >>> from ratebound._bridge import make_policy
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> columns = {"group": np.where(X[:, 1] > 0, "a", "b")}
    >>> model = rb.RateConstrainedClassifier('positive_rate(group == "b") >= 0.4', random_state=0)
    >>> policy = make_policy(model.fit(X, X.sum(axis=1) > 0, columns=columns))
    >>> told = policy.reasons(X[:3])
    >>> told.names[0]
    'error_rate()'
    >>> np.allclose(told.parts.sum(axis=1), policy.decision_function(X[:3]))
    True
    """

    names: tuple[str, ...]
    parts: Array
    probabilities: Array
    decisions: Array
    columns: tuple[str, ...] = ()
    moves: Array | None = None
    values: tuple[tuple[str, ...], ...] = ()
    no: Any = None

    def against(self, most: int = MOST) -> list[list[str]]:
        """Why rows are decided no: the columns that move them most towards no, in words.

        Parameters
        ----------
        most : int, default=4
            The largest number of reasons per row; four is customary for adverse-action notices.

        Returns
        -------
        list of list of str
            For each row, the largest first; empty for rows that are decided yes. With more than two
            classes, the columns that most favor the decision.

        Examples
        --------
        >>> import numpy as np, pandas, ratebound as rb
        >>> from ratebound._bridge import make_policy
        >>> X = np.random.default_rng(0).normal(size=(1000, 3))
        >>> people = pandas.DataFrame(X[:, :2], columns=["income", "debt"])
        >>> model = rb.RateConstrainedClassifier("positive_rate() <= 0.4", random_state=0)
        >>> policy = make_policy(model.fit(people, X[:, 0] - X[:, 1] + X[:, 2] > 0))
        >>> policy.reasons({"income": -1.0, "debt": 2.0}).against()
        [['debt is 2 (typically ...)', 'income is -1 (typically ...)']]
        """
        if self.moves is None:
            return [[] for _ in self.decisions]
        signs = np.ones(len(self.moves))
        if self.no is not None:
            signs = np.where(self.decisions == self.no, -1.0, 0.0)
        ranked = []
        for own, moved in zip(self.values, self.moves * signs[:, None], strict=True):
            first = np.argsort(-moved, kind="stable")[:most]
            ranked.append([own[place] for place in first if moved[place] > SLIGHT])
        return [
            own or [NOTHING] * bool(sign and self.columns)
            for own, sign in zip(ranked, signs, strict=True)
        ]

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
        against = [(str(row), "; ".join(own)) for row, own in enumerate(self.against()[:SHOWN]) if own]
        title = "What speaks most for it" if self.no is None else "What speaks most against a yes"
        why = doc.ReportTable(title, doc.heads("row", "columns, the strongest first"), tuple(against))
        return doc.Document("Reasons", lead, (table, why) if against else (table,), self.to_dict)

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
            "columns": list(self.columns),
            "moves": [] if self.moves is None else self.moves.tolist(),
            "against": self.against(),
        }

    def to_frame(self) -> Any:
        """The same as a pandas table, with a row for each row.

        Returns
        -------
        DataFrame
            The decision, the score, its parts, and what speaks against a yes.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise ImportError(
                "to_frame needs pandas: pip install pandas, or use to_dict(), which needs nothing"
            ) from None
        columns: dict[str, Any] = {"decision": self.decisions, "score": self.scores}
        columns |= dict(zip(self.names, self.parts.T, strict=True))
        columns["reasons"] = ["; ".join(of_row) for of_row in self.against()]
        return pandas.DataFrame(columns)


def reasons(model: Mixture, X: Any, columns: Any = None, key: Any = None) -> Reasons:
    """The reasons for each decision of a model on these rows."""
    features = model.features(X)
    chosen = model.deciding_member(X, columns=columns, key=key)
    rows = np.arange(len(chosen))

    def scores_with(changed: Any) -> Array:
        """Scores (n, A) by which rows with these features would be decided, by the same members."""
        return model.choices_of(X, changed, columns)[1][chosen, :, rows]

    scores = scores_with(features)
    ends = _ends(scores)
    decisive = _deciding(scores, ends)
    models = model.decider.models(chosen, X, columns)
    names, parts = _parts(model, features, models, decisive, ends)
    moved = moves_of(model, features, lambda changed: _deciding(scores_with(changed), ends), decisive)
    values = {name: _cells(X, features, name) for name in moved}
    typical_words = typical_values(model)
    return Reasons(
        names,
        parts,
        model.predict_proba(X),
        model.predict(X, columns=columns, key=key),
        tuple(map(str, moved)),
        np.stack([*moved.values()], axis=1) if moved else np.zeros((len(rows), 0)),
        tuple(
            tuple(_words(name, values[name][row], typical_words.get(name)) for name in moved)
            for row in range(len(rows))
        ),
        model.classes[0] if len(model.classes) == 2 else None,
    )


def _ends(scores: Array) -> tuple[Array, Array] | None:
    """With more than two classes, the decided one and the next best, (n,) each; None for one score."""
    if scores.shape[1] == 1:
        return None
    best = decided(scores.T[None])[0]
    rest = scores.copy()
    rest[np.arange(len(rest)), best] = -np.inf
    return best, rest.argmax(axis=1)


def _deciding(scores: Array, ends: tuple[Array, Array] | None) -> Array:
    """One number for each row (n,) of scores (n, A): the score, or the decided class's lead."""
    if ends is None:
        return scores[:, 0]
    rows = np.arange(len(scores))
    ahead: Array = scores[rows, ends[0]] - scores[rows, ends[1]]
    return ahead


def _parts(
    model: Mixture,
    features: Any,
    models: Array,
    decisive: Array,
    ends: tuple[Array, Array] | None,
) -> tuple[tuple[str, ...], Array]:
    """The names and values (n, T) of the deciding score's parts; the score itself if it has none.

    `models` (n,) are the models that decide the rows.
    """
    each = [model.scorer.parts(own, features) for own in model.parameters]
    if any(one is None for one in each):
        return (SCORE,), decisive[:, None]
    named = [one for one in each if one is not None]
    values = np.stack([own for _, own in named])  # (B, T, A, n)
    rows = np.arange(values.shape[-1])
    own = values[models, :, :, rows]  # (n, T, A)
    parts = np.stack([_deciding(own[:, part], ends) for part in range(own.shape[1])], axis=1)
    names, rest = tuple(named[0][0]), decisive - parts.sum(axis=1)
    if np.abs(rest).max(initial=0.0) <= 1e-9 * max(1.0, float(np.abs(decisive).max(initial=0.0))):
        return names, parts
    return (*names, THRESHOLD), np.column_stack([parts, rest])


def moves_of(
    model: Mixture, features: Any, deciding: Callable[[Any], Array], decisive: Array
) -> dict[Any, Array]:
    """How much each column that the model reads moves the `decisive` (n,), by its name.

    Typical is the middle of the training rows: the median of a number, and for a category the value that
    more than half of the rows have, or none. A category that is one number (`Code`) has no middle, so
    all of its values are tried. Two columns may each be reason enough for a low score, so that replacing
    one of them changes nothing. So half of a move is what the row loses without its value, and half is
    what an otherwise typical row gains with it. For two columns these are Shapley's values.
    """
    encoding, middle = model.encoding, _middle(model)
    if encoding is None or middle is None or encoding.style == "table":
        return {}
    places: dict[Any, list[int]] = {}
    codes: dict[Any, int] = {}
    first = 0
    for column in encoding.columns:
        places.setdefault(column.name, []).extend(range(first, first + width_of(column)))
        if isinstance(column, Code):
            codes[column.name] = len(column.values)
        first += width_of(column)

    def without(rows: Any, name: Any) -> Array:
        """The scores of these rows with a typical value in a column."""
        values = np.arange(float(codes[name]))[:, None] if name in codes else [middle[places[name]]]
        each = [deciding(_replaced(rows, places[name], np.asarray(own))) for own in values]
        mean: Array = np.mean(each, axis=0)
        return mean

    if is_sparse(features):  # a typical row of these may be dense
        return {name: decisive - without(features, name) for name in places}
    typical = np.repeat(middle[None], len(decisive), axis=0).astype(features.dtype)
    moves = {}
    for name, own in places.items():
        alone = typical.copy()
        alone[:, own] = features[:, own]
        moves[name] = (decisive - without(features, name) + deciding(alone) - without(typical, name)) / 2
    return moves


def _middle(model: Mixture) -> Array | None:
    """The middle of every feature in training (d,), if it is known."""
    draw = model.decider.draw
    if draw is not None and draw.feature_scale is not None:
        return np.array(draw.feature_scale.center)
    encoding = model.encoding  # scaled numbers have their mean at 0
    return np.zeros(encoding.width) if encoding is not None and encoding.style == "scaled" else None


def _replaced(features: Any, places: list[int], values: Array) -> Any:
    """The features with these values (k,) at some places, in all rows."""
    if not is_sparse(features):
        changed = np.array(features)
        changed[:, places] = values
        return changed
    from scipy.sparse import csr_array, diags_array

    keep, put = np.ones(features.shape[1]), np.zeros(features.shape[1])
    keep[places], put[places] = 0.0, values
    replaced = features @ diags_array(keep)
    if put.any():
        replaced = replaced + csr_array(np.ones((features.shape[0], 1))) @ csr_array(put[None])
    return csr_array(replaced).astype(features.dtype)


def typical_values(model: Mixture) -> dict[Any, float]:
    """The middle of each column of numbers in training, in its own units."""
    encoding, middle = model.encoding, _middle(model)
    if encoding is None or middle is None or encoding.style == "table":
        return {}
    typical: dict[Any, float] = {}
    first = 0
    for column in encoding.columns:
        if isinstance(column, Number | Plain) and column.read_as == "number":
            value = float(middle[first])
            typical[column.name] = (
                column.center + column.scale * value if isinstance(column, Number) else value
            )
        first += width_of(column)
    return typical


def _cells(X: Any, features: Any, name: Any) -> list[Any]:
    """The values of a column as passed."""
    values = as_array(X[name] if frame_columns(X) else features[:, [int(name)]]).reshape(-1)
    missing = is_missing(values)
    return [None if absent else value for value, absent in zip(values.tolist(), missing, strict=True)]


def _words(name: Any, value: Any, typical: float | None) -> str:
    """A row's value in a column, with the typical value.

    >>> _words("income", 18039.85, 29420.3), _words("job", "nurse", None), _words("age", None, 40.0)
    ('income is 18,039.85 (typically 29,420)', 'job is nurse', 'age is missing')
    """
    if value is None:
        return f"{name} is missing"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    shown = _number(value, 6) if is_number else str(value)
    return f"{name} is {shown}" + ("" if typical is None else f" (typically {_number(typical, 4)})")


def _number(value: float, digits: int) -> str:
    """A number with so many digits; a large one with all whole digits, as people write amounts.

    >>> _number(18039.85, 6), _number(29420.3, 4), _number(0.000123456, 4), _number(2024, 4)
    ('18,039.85', '29,420', '0.0001235', '2024')
    """
    if not 1e4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    return f"{value:,.0f}" if digits <= 4 else f"{value:,.2f}".removesuffix("00").rstrip(".")
