"""Groups that are guessed or missing: what is known about a column that promises name.

A promise names the true group. `guessed` states what is known about it, on one of three levels:
probabilities that are assumed to be right, the true group of an audited sample, or only the values that
are present. Nothing here holds data; ``ratebound._old.problem.guessing`` reads the columns.

If nothing is assumed, a promise must hold whatever the missing values are. Such a promise can be written
with counts. Take a rate of a group, where E rows count as a success and N do not. The rate is lowest if
every success without a value lies outside the group, and every other row without a value lies inside:

    lowest = E(surely in the group) / (E(surely in the group) + N(possibly in the group))

It is highest the other way round. Both are ratios of counts, so such a promise is compiled, audited and
certified like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ratebound._old.base.checks import check_number
from ratebound._old.rates.expressions import Constraint, Expression, Rate, Ratio
from ratebound._old.rates.grouping import Goal, Promise
from ratebound._old.rates.kinds import metric_of
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import (
    EVERYONE,
    All,
    Any_,
    Column,
    Combined,
    Compare,
    In,
    Missing,
    Name,
    Not,
    Said,
    Subset,
    Value,
    column_text,
    columns_in,
    plain_value,
    value_text,
)

Level = Literal["calibrated", "audited", "anything"]
# For each rate, the counts of rows that are a success and of rows that are not.
COUNTED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "positive_rate": (("predicted_positives",), ("predicted_negatives",)),
    "coverage": (("predicted_positives",), ("predicted_negatives",)),
    "negative_rate": (("predicted_negatives",), ("predicted_positives",)),
    "recall": (("true_positives",), ("false_negatives",)),
    "true_positive_rate": (("true_positives",), ("false_negatives",)),
    "false_negative_rate": (("false_negatives",), ("true_positives",)),
    "false_positive_rate": (("false_positives",), ("true_negatives",)),
    "true_negative_rate": (("true_negatives",), ("false_positives",)),
    "accuracy": (("true_positives", "true_negatives"), ("false_positives", "false_negatives")),
    "error_rate": (("false_positives", "false_negatives"), ("true_positives", "true_negatives")),
    "precision": (("true_positives",), ("false_positives",)),
    "false_discovery_rate": (("false_positives",), ("true_positives",)),
    "negative_predictive_value": (("true_negatives",), ("false_negatives",)),
    "false_omission_rate": (("false_negatives",), ("true_negatives",)),
    "jaccard": (("true_positives",), ("false_positives", "false_negatives")),
}


@dataclass(frozen=True, repr=False)
class Guessed(Said):
    """What is known about a column that promises name; `guessed` makes one.

    Parameters
    ----------
    column : str or int
        The column that promises name.
    level : {"calibrated", "audited", "anything"}
        The assumption: probabilities are right, audited rows are a random sample, or none.
    probabilities : tuple of (value, str), default=()
        For each value of the column, the column with its probability.
    audited : str or int, default=None
        The column with the true value of audited rows.
    worst : float, default=None
        The confidence with which promises must hold for every grouping that guesses and audited rows
        leave possible. None if promises are counted only on audited rows.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.guessed("race", missing="anything").level
    'anything'
    """

    column: Name
    level: Level
    probabilities: tuple[tuple[Value, Name], ...] = ()
    audited: Name | None = None
    worst: float | None = None

    @property
    def columns(self) -> tuple[Name, ...]:
        """The columns with what is known."""
        own = (name for _, name in self.probabilities)
        return (*own, *(() if self.audited is None else (self.audited,)))

    @property
    def values(self) -> tuple[Value, ...]:
        """The values that have a probability."""
        return tuple(value for value, _ in self.probabilities)

    @property
    def assumed(self) -> str:
        """The assumption behind promises about the column, in a sentence."""
        name = column_text(self.column)
        if self.level == "calibrated":
            columns = ", ".join(str(column) for _, column in self.probabilities)
            return (
                f"Promises about {name} are kept by its probabilities ({columns}), which are assumed to "
                "be right: each row counts in each group by its probability there. Nothing here shows "
                "that they are."
            )
        if self.worst is not None:
            return (
                f"Promises about {name} are asked for every grouping that the guesses in {name} and the "
                f"true values in {self.audited} leave possible, with a confidence of "
                f"{100 * self.worst:.10g}%; audited rows are assumed to be a random sample of all."
            )
        if self.level == "audited":
            return (
                f"Promises about {name} are kept on the rows whose true value {self.audited} holds, "
                "which are assumed to be a random sample of all; other rows count if no group is "
                "named."
            )
        return (
            f"Promises about {name} are kept whatever its missing values are: nothing is assumed about "
            "them."
        )

    def __str__(self) -> str:
        name = value_text(self.column)
        if self.level == "anything":
            return f'guessed({name}, missing="anything")'
        if self.level == "audited":
            worst = "" if self.worst is None else f", worst={self.worst:.10g}"
            return f"guessed({name}, audited={value_text(self.audited or '')}{worst})"
        pairs = ", ".join(f"{value_text(v)}: {value_text(c)}" for v, c in self.probabilities)
        return f"guessed({name}, probabilities={{{pairs}}})"


def guessed(
    column: Name,
    *,
    probabilities: Mapping[Any, Name] | Sequence[Name] | None = None,
    values: Iterable[Any] | None = None,
    audited: Name | None = None,
    worst: float | None = None,
    missing: Literal["anything"] | None = None,
) -> Guessed:
    """What is known about a group that is guessed, or missing in some rows. Promises name it as usual.

    Give one of `probabilities`, `audited` or `missing`; each assumes less than the one before. Pass the
    result to ``RateConstrainedClassifier(guessed=...)`` or ``Problem(guessed=...)``. Status, audits and
    certificates state the assumption.

    Parameters
    ----------
    column : str or int
        The column as promises name it. It need not be in the table.
    probabilities : mapping or sequence, default=None
        The columns with the probability of each value: a mapping from values to columns, or a sequence
        of columns named after the values, such as "p_black" and "p_white" for "black" and "white". A row
        counts in each group by its probability there. If the table has the column itself, its values
        are taken as known, and the probabilities are for rows without a value. The probabilities are
        assumed to be right, given the label and everything the model sees. This cannot be checked, so
        such promises are not certified.
    values : iterable, default=None
        The values that belong to a sequence of columns, in order. By default the columns' names tell.
    audited : str or int, default=None
        The column with the true values of an audited sample, missing in all other rows. Audited rows
        must be drawn at random. A group's rates are counted on them; all rows count for everything else.
    worst : float, default=None
        With `audited`, if the column itself holds guesses: promises must hold for every grouping that
        guesses and audited rows leave possible, with this confidence, such as 0.9. By default they are
        counted on audited rows, and an audit reports the worst case.
    missing : {"anything"}, default=None
        Nothing is assumed about rows without a value: a promise must hold whatever their values are.

    Returns
    -------
    Guessed
        What is known. It holds no data.

    Raises
    ------
    TypeError
        If not exactly one of the three is given.
    ValueError
        If the values for columns of probabilities are unknown, or one is given twice.

    See Also
    --------
    missing : Rows without a value, as a group of their own.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.guessed("race", probabilities=["p_black", "p_white", "p_other"])
    guessed("race", probabilities={"black": "p_black", "white": "p_white", "other": "p_other"})

    If a promise must hold whatever the missing values are, it becomes a promise about ratios of counts:

    >>> race = rb.guessed("race", missing="anything")
    >>> promise = 'recall(race == "black") >= 0.8'
    >>> print(rb.Problem(rb.error_rate(), [promise], guessed=race))
    minimize error_rate()
    subject to
      true_positives(race == "black") / (true_positives(race == "black") + \
false_negatives(race == "black" or missing(race))) >= 0.8
    """
    name = Column(column).name
    given = {"probabilities": probabilities, "audited": audited, "missing": missing}
    said = [option for option, value in given.items() if value is not None]
    if len(said) != 1:
        both = f"{' and '.join(said)} exclude each other" if said else "nothing is given"
        raise TypeError(
            f"guessed({name!r}): {both}: give one of probabilities=[...], if they are right; "
            "audited='column', if the true values of a random sample are known; or "
            "missing='anything', to assume nothing"
        )
    if worst is not None:
        if audited is None:
            raise TypeError(
                f"guessed({name!r}): worst= is about what audited rows leave possible: give "
                "audited='column' too"
            )
        check_number(f"guessed({name!r}): worst, a confidence such as 0.9,", worst, above=0, below=1)
    if values is not None and (probabilities is None or isinstance(probabilities, Mapping)):
        raise TypeError(f"guessed({name!r}): values= goes with a list of columns, probabilities=[...]")
    if missing is not None:
        if missing != "anything":
            raise ValueError(f"guessed({name!r}): missing= takes 'anything', got {missing!r}")
        return Guessed(name, "anything")
    if audited is not None:
        seen = Column(audited).name
        if seen == name:
            raise ValueError(
                f"guessed({name!r}): audited= takes another column, with the true values of some rows. "
                f"If {name!r} itself holds true values and is missing in other rows, leave out "
                "guessed=: promises are counted on the rows with a value; missing='anything' asks for "
                "more"
            )
        return Guessed(name, "audited", audited=seen, worst=worst)
    assert probabilities is not None
    return Guessed(name, "calibrated", _probabilities(name, probabilities, values))


def _probabilities(
    name: Name, given: Mapping[Any, Name] | Sequence[Name], values: Iterable[Any] | None
) -> tuple[tuple[Value, Name], ...]:
    """Each value and the column with its probability."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"guessed({name!r}): probabilities= takes several columns, got {given!r}")
    if isinstance(given, Mapping):
        pairs = [(plain_value(value), Column(each).name) for value, each in given.items()]
    else:
        columns = [Column(each).name for each in given]
        each_value = _by_names(name, columns) if values is None else [plain_value(v) for v in values]
        if len(each_value) != len(columns):
            raise ValueError(
                f"guessed({name!r}): {len(each_value)} values for {len(columns)} columns of "
                "probabilities"
            )
        pairs = list(zip(each_value, columns, strict=True))
    if len(pairs) < 2:
        raise ValueError(f"guessed({name!r}): probabilities of at least two values are needed")
    for what, place in (("value", 0), ("column", 1)):
        twice = [each for each, times in Counter(pair[place] for pair in pairs).items() if times > 1]
        if twice:
            raise ValueError(f"guessed({name!r}): the {what} {twice[0]!r} is given twice")
    return tuple(pairs)


def _by_names(name: Name, columns: Sequence[Name]) -> list[Value]:
    """The values that columns are named after: their names without the prefix they share.

    >>> _by_names("race", ["race_is_black", "race_is_white"])
    ['black', 'white']
    """
    texts = [str(column) for column in columns]
    first, last = min(texts), max(texts)
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    shared = first[: first.rfind("_", 0, same) + 1]  # "p_white" and "p_who" share only "p_"
    own = [text.removeprefix(shared) for text in texts]
    if not shared or not all(own):
        raise ValueError(
            f"guessed({name!r}): the names of {', '.join(map(repr, columns))} do not tell the values: "
            "they share no prefix such as 'p_'. Give values=[...], or a mapping from values to columns"
        )
    return list(own)


OPTIONS = ("audited", "worst", "missing")  # a text may set these instead of columns of probabilities


def read_guessed(text: str) -> Guessed:
    """What is known about a column, read from a text, as on a command line.

    >>> read_guessed("race: p_black, p_white")
    guessed("race", probabilities={"black": "p_black", "white": "p_white"})
    >>> read_guessed("race: 1 = p_black, 2 = p_white")
    guessed("race", probabilities={1: "p_black", 2: "p_white"})
    >>> read_guessed("race: audited = race_seen, worst = 0.9")
    guessed("race", audited="race_seen", worst=0.9)
    >>> read_guessed("race: missing = anything")
    guessed("race", missing="anything")
    """
    column, colon, rest = text.partition(":")
    parts = [[side.strip() for side in part.rpartition("=")] for part in rest.split(",")]
    column, named = column.strip(), [bool(equals) for _, equals, _ in parts]
    given = {key: value for key, _, value in parts}
    mixed = any(named) and not all(named)
    if not column or not colon or mixed or not all(value for *_, value in parts):
        raise ValueError(_not_read(text))
    if not any(named):
        return guessed(column, probabilities=[value for *_, value in parts])
    if "" in given or len(given) < len(parts):
        raise ValueError(_not_read(text))
    if not set(given) & set(OPTIONS):
        return guessed(column, probabilities={_value(key): value for key, value in given.items()})
    if not set(given) <= set(OPTIONS):
        raise ValueError(_not_read(text))
    options: dict[str, Any] = dict(given)
    if "worst" in options:
        options["worst"] = _value(options["worst"])
    try:
        return guessed(column, **options)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _value(text: str) -> Value:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _not_read(text: str) -> str:
    return (
        f"cannot read {text!r}: write 'race: p_black, p_white', 'race: black = p_1, white = p_2', "
        "'race: audited = race_seen', optionally with ', worst = 0.9', or 'race: missing = anything'"
    )


def as_guessed(given: Any) -> tuple[Guessed, ...]:
    """The value of ``guessed=`` as a tuple: none, one or several, each for a different column."""
    several = () if given is None else (given,) if isinstance(given, Guessed) else given
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise TypeError(f"guessed= takes rb.guessed(...), or several in a list, got {given!r}")
    every = tuple(several)
    for each in every:
        if not isinstance(each, Guessed):
            raise TypeError(f"guessed= takes rb.guessed(...), or several in a list, got {each!r}")
    columns = [each.column for each in every]
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"guessed: column {twice!r} is given twice: give it once")
    if sum(each.level == "calibrated" for each in every) > 1:
        raise ValueError(
            "guessed: probabilities of two columns do not give the probabilities of both at once: make "
            "one column of them, with a probability for each pair of values"
        )
    return every


def speaks_of(promise: Promise, column: Name) -> bool:
    """Whether a promise names a column."""
    if isinstance(promise, Goal) and column in promise.columns:
        return True
    return any(column in columns_in(rate.subset) for rate in rates_in(promise))


def rates_in(promise: Promise) -> Iterable[Rate]:
    """The rates of a promise, and the rates that these are made of."""
    for rate in promise.rates:
        yield rate
        metric = metric_of(rate)
        if isinstance(metric, Ratio):
            yield from (*metric.numerator.rates, *metric.denominator.rates)


# --- whatever the missing values are -----------------------------------------------------------------


def whatever_is_missing(promise: Promise, column: Name) -> Promise:
    """The promise that holds if and only if `promise` holds for every possible value of `column`.

    If both sides are rates of groups, each is taken at its worst. If the two groups share no rows, both
    can be at their worst at once, so this is exact. Otherwise it is conservative.
    """
    if not speaks_of(promise, column):
        return promise
    if isinstance(promise, Goal):
        raise ValueError(
            f"{promise}: the groups are not known before there are rows, and {column!r} may be missing: "
            f'write a promise for each value, as in recall({column_text(column)} == "a") >= 0.9 * '
            f"recall(), or in Python rb.equal_opportunity({{{column!r}: ('a', 'b')}}, ratio=0.9)"
        )
    if isinstance(promise, Parity):
        return _compared(promise, column)
    name = promise.name or str(promise)
    if isinstance(promise.left, Ratio):
        _check_rate(promise.left.rate, column, promise)
        assert promise.left.rate is not None
        low = promise.relation == ">="
        worst = _extreme(promise.left.rate, column, low, promise) * promise.left.factor
        return replace(promise, left=worst, name=name)
    if not isinstance(promise.left, Expression):
        raise ValueError(_refusal(promise, column, f"{promise.left} is not a share of a group's rows"))
    return _of_sum(promise, column, name)


def _compared(promise: Parity, column: Name) -> Parity:
    sides = []
    for side, low in (
        (promise.left, promise.relation == ">="),
        (promise.right, promise.relation != ">="),
    ):
        _check_rate(side.rate, column, promise)
        assert side.rate is not None
        sides.append(_extreme(side.rate, column, low, promise) * side.factor)
    return Parity(sides[0], promise.relation, sides[1], name=promise.name or str(promise))


def _of_sum(promise: Constraint, column: Name, name: str) -> Constraint | Parity:
    """A rate against a number, or against a multiple of another rate plus a number."""
    assert isinstance(promise.left, Expression)
    room = promise.left - promise.right  # kept if it is at least 0
    if promise.relation == "<=":
        room = -room
    named = [(rate, c) for rate, c in room.terms if column in columns_in(rate.subset)]
    others = [(rate, c) for rate, c in room.terms if column not in columns_in(rate.subset)]
    if len(room.terms) == 1:
        ((rate, c),) = named
        bound = -room.constant / c
        worst = _extreme(rate, column, c > 0, promise)
        return Constraint(worst, ">=" if c > 0 else "<=", Expression((), bound), name)
    if len(room.terms) > 2 or room.terms[0][1] * room.terms[1][1] > 0:
        raise ValueError(
            _refusal(promise, column, "it compares neither one rate with a number nor two rates")
        )
    assert len(named) + len(others) == 2
    (more, a), (less, b) = sorted(room.terms, key=lambda term: -term[1])
    left, right = _extreme(more, column, True, promise), _extreme(less, column, False, promise)
    # a * left + constant >= -b * right
    above = left.numerator * a + left.denominator * room.constant
    if promise.relation == ">=":
        return Parity(Ratio(above, left.denominator), ">=", right * -b, name)
    above = right.numerator * -b - right.denominator * room.constant
    return Parity(Ratio(above, right.denominator), "<=", left * a, name)


def _extreme(rate: Rate, column: Name, low: bool, promise: Promise) -> Ratio:
    """The lowest or highest possible value of a rate, as a ratio of counts."""
    _check_rate(rate, column, promise)
    counts, others = COUNTED[rate.kind]
    sure, possible = rate.subset, rate.subset
    if column in columns_in(rate.subset):
        sure, possible = surely(rate.subset, column), possibly(rate.subset, column)

    def total(kinds: Iterable[str], subset: Subset) -> Expression:
        terms = (replace(rate, kind=kind, subset=subset, own=()) for kind in kinds)
        return Expression() + Expression(tuple((each, 1.0) for each in terms))

    above = total(counts, sure if low else possible)
    return Ratio(above, above + total(others, possible if low else sure))


def _check_rate(rate: Rate | None, column: Name, promise: Promise) -> None:
    if rate is None or rate.kind not in COUNTED:
        what = "a custom ratio" if rate is None else f"{rate.kind}"
        raise ValueError(_refusal(promise, column, f"{what} is not a share of a group's rows"))


def _refusal(promise: Promise, column: Name, why: str) -> str:
    return (
        f"{promise}: its worst case over missing values of {column!r} cannot be computed, since {why}: "
        f"bound each rate by a number, as in recall({column_text(column)} == ...) >= 0.8, or compare "
        "two rates"
    )


def surely(subset: Subset, column: Name) -> Subset:
    """The rows that are in a subset whatever their missing value is.

    >>> from ratebound._old import column, where
    >>> surely(where(race="black", sex="f"), "race"), surely(column("race") != "black", "race")
    (race == "black" and sex == "f", not (race == "black" or missing(race)))
    """
    if isinstance(subset, Not):
        return ~possibly(subset.parts[0], column)
    if isinstance(subset, Combined):
        return _joined(subset, [surely(part, column) for part in subset.parts])
    if isinstance(subset, Compare) and subset.column == column and subset.relation == "!=":
        return ~possibly(Compare(column, "==", subset.value), column)
    return subset


def possibly(subset: Subset, column: Name) -> Subset:
    """The rows that are in a subset, or could be because their value is missing.

    >>> from ratebound._old import where
    >>> possibly(where(race="black", sex="f"), "race"), possibly(~where(race="black"), "race")
    ((race == "black" or missing(race)) and sex == "f", not race == "black")
    """
    if isinstance(subset, Not):
        return ~surely(subset.parts[0], column)
    if isinstance(subset, Combined):
        return _joined(subset, [possibly(part, column) for part in subset.parts])
    if isinstance(subset, Compare | In) and subset.column == column:
        return subset if getattr(subset, "relation", "") == "!=" else subset | Missing(column)
    return subset


def _joined(subset: Combined, parts: Sequence[Subset]) -> Subset:
    whole = parts[0] if parts else EVERYONE
    for part in parts[1:]:
        whole = whole & part if isinstance(subset, All) else whole | part
    return whole


def is_excused(subset: Subset) -> set[Subset]:
    """Conditions `missing(...)` that may select no rows, since each is one of several alternatives.

    >>> from ratebound._old import missing, where
    >>> is_excused(where(race="black") | missing("race")), is_excused(missing("race"))
    ({missing(race)}, set())
    """
    if not isinstance(subset, Combined):
        return set()
    own = (
        {part for part in subset.parts if isinstance(part, Missing)}
        if isinstance(subset, Any_)
        else set()
    )
    return own.union(*(is_excused(part) for part in subset.parts))


def to_plain(each: Guessed) -> dict[str, Any]:
    """What is known about a column, as JSON."""
    pairs = [list(pair) for pair in each.probabilities]
    plain = {"column": each.column, "level": each.level, "probabilities": pairs, "audited": each.audited}
    return plain if each.worst is None else {**plain, "worst": each.worst}


def from_plain(data: dict[str, Any]) -> Guessed:
    """What `to_plain` wrote, checked."""
    options: dict[str, Any] = {
        "calibrated": {"probabilities": dict(data["probabilities"])},
        "audited": {"audited": data["audited"], "worst": data.get("worst")},
        "anything": {"missing": "anything"},
    }
    if data["level"] not in options:
        raise ValueError(f"guessed: the level is not one of {', '.join(options)}: {str(data)[:200]}")
    return guessed(data["column"], **options[data["level"]])
