"""The table of rates: what each counts, and among which rows, as data. All else follows from it.

An event is about a row's decision d, label y and live decision v. A letter alone means "is the
class that the rate is about", ``~`` that it is another class; ``==`` and ``!=`` compare two
letters, ``&`` and ``or`` join events. A rate is linear unless d is in its denominator; it needs
labels if y occurs in it, a live model if v does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from ratebound.rates.conditions import (
    All,
    Column,
    Condition,
    Decided,
    Every,
    Value,
    as_value,
    leaves,
    where,
)
from ratebound.rates.sums import FIRST, OPTIONS, Part, Rate, Sum, as_number, mentions_letter

# event | among | share | 1 - share | count | count of the complement | better | which rows | which rows in the complement
TABLE = """
d     | 1  | positive_rate | negative_rate | predicted_positives | predicted_negatives | either | rows the model says yes to | rows the model says no to
d     | y  | recall | false_negative_rate | true_positives | false_negatives | more | positive rows the model says yes to | positive rows the model says no to
d     | ~y | false_positive_rate | true_negative_rate | false_positives | true_negatives | less | negative rows the model says yes to | negative rows the model says no to
d==y  | 1  | accuracy | error_rate | | errors | more | rows whose decision equals their label | rows whose decision is not their label
y     | d  | precision | false_discovery_rate | | | more | rows the model says yes to that are positive | rows the model says yes to that are negative
~y    | ~d | negative_predictive_value | false_omission_rate | | | more | rows the model says no to that are negative | rows the model says no to that are positive
d & y | d or y | jaccard | | | | more | rows that are positive or get a yes that are both |
d=predicted | y=label | confusion | | | | less | rows with one label that the model takes for another class |
y     | 1  | prevalence | | | | neither | rows whose label is positive, whatever the model says |
d!=v  | 1  | churn | | | | less | rows whose decision differs from the live model's |
d!=y  | v==y | loss_only_churn | | losses | | less | rows the live model gets right and the new one wrong |
d==y  | v!=y | | | wins | | more | rows the live model gets wrong and the new one right |
~decided | 1 | referred | | referrals | decisions | less | rows that are referred to a person | rows that the model decides itself
"""
ALIASES = {"coverage": "positive_rate", "true_positive_rate": "recall"}
LIVE = ("positive_rate", "accuracy", "error_rate", "recall", "false_positive_rate")  # also with by=
OPPOSITE = {"more": "less", "less": "more"}
# Options of goals, which a rate would otherwise take for columns.
GOAL_OPTIONS = ("intersection", "min_rows", "slack", "ratio", "against", "at_least", "at_most")
NAMES = ("on", "versus", "by")
DEFAULTS = {"beta": 1, "on": FIRST, "at": 0}
NUMBERS = ("per", "beta", "top", "bins", "at")
LETTERS = {
    "#": "# is the number of rows, or their weight",
    "(1)": "1 stands for every row",
    "~": "~ for not",
    "ŷ": "ŷ for a yes of the model",
    "y": "y for a positive label",
    "v": "v for a yes of the live model",
}
CONDITION_PARAMETERS = (
    "*conditions : Condition",
    '    Which rows count, as in ``rb.column("age") < 25``. By default all.',
)
COLUMN_PARAMETERS = (
    "**columns : text, number, truth value or tuple",
    '    More conditions, as in ``sex="Female"`` or ``race=("Black", "White")``.',
)
RETURNS = ("Returns", "-------", "Sum", "    Compare it with a number or with other rates.")
OPTION_MEANINGS = {
    "of": "The class it is about. By default the positive one of two.",
    "label": "The class of the rows that count.",
    "predicted": "The class that the model takes them for.",
    "false_negative": "The cost of a missed row: a number, or the column with each row's own cost.",
    "false_positive": "The cost of a false alarm, in the same form.",
    "column": "The column with the amount by which the costs of a row are multiplied.",
    "beta": "Recall counts beta squared times as much as precision. By default 1.",
    "versus": "The column with the live model's decisions.",
    "by": "The column with a live model's decisions, which count instead of the model's.",
    "on": "The name of the population whose rows count. By default the first.",
    "at": "The threshold of scores: a number, or a name for one that is learned. By default 0.",
    "bins": "The number of false-positive budgets whose recalls are averaged. By default 10.",
    "top": "Count the rows with the largest scores as yes: a number of rows, or a share.",
    "per": "Scale the count to this many rows. By default to all rows given.",
}
EXAMPLE_VALUES = {"versus": '"live_model"', "label": '"cat"', "predicted": '"dog"', "bins": "10"}
EXAMPLE_PRICES = {"beta": 1, "false_negative": 10, "false_positive": 1}
Counted = tuple[tuple[Part, ...], tuple[Part, ...] | None]  # what is counted, and among what
Options = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """One name of one row of the table. Called with conditions and options, it makes a rate."""

    name: str
    meaning: str
    better: str
    parts: Callable[[Options], Counted]
    takes: tuple[str, ...]  # its options
    is_own: bool = False  # defined by a user, and so free to be defined again

    def __post_init__(self) -> None:
        object.__setattr__(self, "__name__", self.name)  # for `help` and the reference
        object.__setattr__(self, "__doc__", self.describe())
        object.__setattr__(self, "__signature__", self._make_signature())

    def __call__(self, *conditions: Any, **words: Any) -> Sum:
        options = {name: words.pop(name) for name in OPTIONS if name in words}
        self._refuse_options(options, words)
        condition: Condition = where(**words)
        for part in reversed(conditions):
            condition = as_condition(part, self.name) & condition
        options = self._complete_options(options)
        counted, among = self.parts(options)
        rate = Rate(self.name, condition, (), counted, among)
        rate = _use_live_decisions(rate.with_options(**options))
        return Sum([(_restrict_to_decided(rate), 1.0)])

    def _make_signature(self) -> Signature:
        options = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in self.takes]
        conditions = Parameter("conditions", Parameter.VAR_POSITIONAL)
        columns = Parameter("columns", Parameter.VAR_KEYWORD)
        return Signature([conditions, *options, columns])

    def _refuse_options(self, options: Options, columns: Options) -> None:
        wrong = [name for name in GOAL_OPTIONS if name in columns]
        for name, value in options.items():
            if value is not None and name not in self.takes:
                wrong.append(name)
        for name in wrong:
            known = ", ".join(f"{option}=" for option in self.takes)
            raise TypeError(
                f"{self.name} does not take {name}=, only {known}; "
                f"if this is a column, write rb.column({name!r}) == ..."
            )

    def _complete_options(self, options: dict[str, Any]) -> dict[str, Value]:
        """Check options, leave out what says nothing, and fill in defaults."""
        stated = {name: as_value(value) for name, value in options.items() if value is not None}
        checked = check_options(self.name, stated)
        for name in ("versus", "label", "predicted"):
            if name in self.takes and name not in checked and self.name != "cost":
                raise TypeError(f'{self.name}: {name}= is needed, as in {self.name}({name}="...")')
        if "bins" in self.takes:
            checked.setdefault("bins", 10)
        for name, default in DEFAULTS.items():  # one spelling for one rate
            if checked.get(name) == default:
                del checked[name]
        return checked

    def describe(self) -> str:
        """Return the docstring: meaning, formula, options and an example, all from the table."""
        letters = [LETTERS[letter] for letter in LETTERS if letter in self.formula]
        lines = [self.meaning, "", f"It is ``{self.formula}``, where {', '.join(letters)}.", ""]
        lines += ["Parameters", "----------", *CONDITION_PARAMETERS]
        for name in self.takes:
            unit = "number" if name in NUMBERS else "value"
            lines += [f"{name} : {unit}, default=None", f"    {OPTION_MEANINGS[name]}"]
        lines += [*COLUMN_PARAMETERS, "", *RETURNS]
        example = self.make_example()
        lines += ["", "Examples", "--------", ">>> import ratebound as rb", f">>> {example}"]
        return "\n".join([*lines, example.removeprefix("rb."), ""])

    def make_example(self) -> str:
        """Return a constraint on this rate, as in Python."""
        needed = [f"{name}={value}" for name, value in EXAMPLE_VALUES.items() if name in self.takes]
        if self.name == "cost":
            needed = ["false_negative=10", "false_positive=1"]
        relation = "<=" if self.better == "less" else ">="
        is_count = self.parts(EXAMPLE_PRICES)[1] is None
        return f"rb.{self.name}({', '.join(needed)}) {relation} {100 if is_count else 0.5}"

    @property
    def formula(self) -> str:
        """What it counts, among what, in the letters of decisions, labels and live decisions."""
        counted, among = self.parts(EXAMPLE_PRICES)
        above = _format_counts(counted)
        if among is None:
            return above
        share = f"{above} / {_format_counts(among)}"
        return f"mean across thresholds of {share}" if "bins" in self.takes else share


KINDS: dict[str, Kind] = {}  # the table by name


def as_condition(condition: Any, name: str) -> Condition:
    """Return a condition; a column means every one of its values."""
    if isinstance(condition, str):
        condition = Column(condition)
    if isinstance(condition, Column):
        return Every(condition.name)
    if not isinstance(condition, Condition):
        raise TypeError(
            f"{name} takes conditions such as sex='Female' or rb.column('age') < 25, got {condition!r}"
        )
    return condition


def check_options(name: str, options: dict[str, Value]) -> dict[str, Value]:
    """Return options with whole numbers as such; an error says what to write."""
    checked = dict(options)
    for option in NAMES:
        if not isinstance(options.get(option, ""), str):
            raise TypeError(f"{name}: {option}= takes a name, got {options[option]!r}")
    for option in NUMBERS:
        value = options.get(option)
        if value is None or (option == "at" and isinstance(value, str)):
            continue
        number = as_number(value)
        if option != "at" and number <= 0:
            raise ValueError(f"{name}: {option}= takes a number above 0, got {value!r}")
        must_be_whole = option == "bins" or (option == "top" and number > 1)
        if must_be_whole and not number.is_integer():
            raise ValueError(f"{name}: {option}={value!r} is not a whole number")
        checked[option] = int(number) if number.is_integer() else number
    for option in ("at", "by"):
        if "top" in options and option in options:
            raise TypeError(f"{name}: top= determines the decisions, so leave out {option}=")
    return checked


def _use_live_decisions(rate: Rate) -> Rate:
    """Return the same rate of the live model's decisions, if ``by=`` names their column."""
    if rate.option("by") is None:
        return rate
    return _change_events(rate, lambda event: re.sub(r"\bd\b", "v", event))


def _restrict_to_decided(rate: Rate) -> Rate:
    """Return the rate among the rows that the model decides, if its condition says so."""
    parts = rate.condition.parts if isinstance(rate.condition, All) else (rate.condition,)
    conditions = [part for part in parts if not isinstance(part, Decided)]
    for part in conditions:
        if any(isinstance(leaf, Decided) for leaf in leaves(part)):
            raise ValueError(f"{rate}: join 'decided' to other conditions by 'and' only")
    if len(conditions) == len(parts):
        return rate
    if rate.among is None:
        raise ValueError(f"{rate}: {rate.name} only counts decided rows, so leave out 'decided'")
    return _change_events(rate, lambda event: join_event(event, "decided"))


def _change_events(rate: Rate, change: Callable[[str], str]) -> Rate:
    def change_all(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(replace(part, event=change(part.event)) for part in parts)

    counted = change_all(rate.counted)
    among = None if rate.among is None else change_all(rate.among)
    return replace(rate, counted=counted, among=among)


def split_ratio(rate: Rate) -> tuple[Rate, Rate]:
    """Return numerator and denominator of a ratio, as shares of the rows of its condition."""
    everyone = (Part("1"),)
    assert rate.among is not None
    numerator = replace(rate, name=f"{rate.name} above", among=everyone)
    denominator = replace(rate, name=f"{rate.name} below", counted=rate.among, among=everyone)
    return numerator, denominator


def list_directions(sum_: Sum) -> set[str]:
    """Return the ways, "more" or "less", in which the terms of a sum become better."""
    directions = set()
    for quantity, coefficient in sum_.terms.items():
        better = "either"
        if isinstance(quantity, Rate) and quantity.name in KINDS:
            better = KINDS[quantity.name].better
        directions.add(OPPOSITE.get(better, better) if coefficient < 0 else better)
    return directions - {"neither"}


# --- events ---------------------------------------------------------------------------------------


def evaluate_event(
    event: str, decisions: int, labels: int, of: int, named: Mapping[str, int]
) -> Any:
    """Return where an event holds (decisions, labels, live decisions); 1 on an axis it ignores.

    A referral is one more decision than labels. It is not a class, so "another class" excludes it.
    """
    axes = {
        "d": np.arange(decisions)[:, None, None],
        "y": np.arange(labels)[None, :, None],
        "v": np.arange(decisions)[None, None, :],
    }
    any_holds = np.zeros((1, 1, 1), dtype=bool)
    for alternative in event.split(" or "):
        all_hold = np.ones((1, 1, 1), dtype=bool)
        for literal in alternative.split(" & "):
            all_hold = all_hold & _evaluate_literal(literal, axes, labels, of, named)
        any_holds = any_holds | all_hold
    return any_holds


def _evaluate_literal(
    literal: str, axes: Mapping[str, Any], labels: int, of: int, named: Mapping[str, int]
) -> Any:
    bare = literal.removeprefix("~")
    is_negated = bare != literal
    if bare == "1":
        return np.ones((1, 1, 1), dtype=bool)
    if bare == "decided":
        return (axes["d"] < labels) != is_negated
    if "==" in bare:
        return axes[bare[0]] == axes[bare[3]]
    if "!=" in bare:
        left, right = axes[bare[0]], axes[bare[3]]
        both_classes = (left < labels) & (right < labels)
        differs = left != right
        return differs & both_classes if "y" in bare else differs
    letter, _, option = bare.partition("=")
    wanted = named[option] if option else of
    classes = axes[letter]
    if is_negated:
        return (classes != wanted) & (classes < labels)
    return classes == wanted


def join_event(event: str, literal: str) -> str:
    """Return the event that also requires a literal."""
    if literal == "1" or literal in event.split(" & "):
        return event
    alternatives = []
    for alternative in event.split(" or "):
        alternatives.append(literal if alternative == "1" else f"{alternative} & {literal}")
    return " or ".join(alternatives)


def _negate(literal: str) -> str:
    if "==" in literal:
        return literal.replace("==", "!=")
    return literal.removeprefix("~") if literal.startswith("~") else f"~{literal}"


def _format_counts(parts: tuple[Part, ...]) -> str:
    counts = []
    for part in parts:
        event = re.sub(r"\bd\b", "ŷ", part.event)
        price = "" if part.price == 1 else f"{part.price:g} "
        counts.append(f"{price}#({event})")
    total = " + ".join(counts)
    return total if len(counts) == 1 else f"({total})"


# --- the rows -------------------------------------------------------------------------------------


def add_kind(
    name: str,
    counted: str,
    among: str | None,
    meaning: str,
    better: str,
    is_own: bool = False,
) -> Kind:
    """Enter a rate into the table; it counts one event among another, or alone if `among` is None."""
    above = (Part(counted),)
    below = None if among is None else (Part(among),)
    options = _list_options(above, below)
    if name in ("precision", "recall"):
        options += ("top", "per")
    KINDS[name] = Kind(name, meaning, better, lambda _: (above, below), options, is_own)
    return KINDS[name]


def _list_options(counted: tuple[Part, ...], among: tuple[Part, ...] | None) -> tuple[str, ...]:
    """Return the options that follow from what is counted."""
    parts = counted + (among or ())
    events = " & ".join(part.event for part in parts)
    literals = events.replace(" or ", " & ").split(" & ")
    named = {literal.partition("=")[2] for literal in literals}
    options = []
    if any(literal.removeprefix("~") in ("d", "y", "v") for literal in literals):
        options.append("of")
    options += sorted(named & {"label", "predicted"})
    if mentions_letter(parts, "v"):
        options.append("versus")
    elif re.search(r"\bd\b", events):
        options.append("by")
    options.append("on")
    if mentions_letter(parts, "d"):
        options.append("at")
    if among is None:
        options.append("per")
    return tuple(options)


def _count_f_score(options: Options) -> Counted:
    square = float(options.get("beta", 1)) ** 2
    hits = Part("d & y", 1 + square)
    return (hits,), (Part("d"), Part("y", square))


def _count_costs(options: Options) -> Counted:
    """Price each kind of error by a number, or by the column with the amount of each row."""
    column = options.get("column")
    parts = []
    for event, price in _list_prices(options).items():
        if isinstance(price, str) and column is not None:
            raise ValueError(f"cost: {price!r} is a column already, so leave out column=")
        amounts = price if isinstance(price, str) else column
        number = 1.0 if isinstance(price, str) else as_number(price)
        if number < 0:
            raise ValueError(
                "cost: a cost is not negative; add a gain to the cost of the wrong decision"
            )
        if number:
            parts.append(Part(event, number, amounts))
    if not parts:
        raise ValueError("cost: with false_negative=0 and false_positive=0 no error costs anything")
    return tuple(parts), None if "per" in options else (Part("1"),)


def _list_prices(options: Options) -> dict[str, Any]:
    """Return the price of each kind of error."""
    if "label" in options or "predicted" in options:
        if not ("label" in options and "predicted" in options) or "false_negative" in options:
            raise TypeError(
                "cost: of one class taken for another, give label= and predicted= and no other costs"
            )
        return {"d=predicted & y=label": 1}
    if not options.keys() & {"false_negative", "false_positive", "column"}:
        raise TypeError(
            'cost: give a cost, as in cost(false_negative=10, false_positive=1) or cost(column="amount")'
        )
    if options.keys() <= {"column", "on", "at", "per", "by"}:
        return {"d!=y": 1}  # every error costs the amount of its row
    return {
        "~d & y": options.get("false_negative", 1),
        "d & ~y": options.get("false_positive", 1),
    }


def _read_table() -> None:
    """Enter every name of every row."""
    for line in TABLE.strip().splitlines():
        event, among, share, rest, count, count_rest, better, *meanings = map(
            str.strip, line.split("|")
        )
        rows, rows_of_rest = meanings
        negated = _negate(event)
        worse = OPPOSITE.get(better, better)
        # P(y | d) counts y & d; "d or y" already contains what jaccard counts
        is_nested = " or " not in among
        counted = join_event(event, among) if is_nested else event
        not_counted = join_event(negated, among) if is_nested else negated
        if share:
            add_kind(share, counted, among, f"Share of {rows}.", better)
        if rest:
            add_kind(rest, not_counted, among, f"Share of {rows_of_rest}: 1 - {share}().", worse)
        if count:
            add_kind(count, counted, None, f"Number of {rows}.", better)
        if count_rest:
            add_kind(count_rest, not_counted, None, f"Number of {rows_of_rest}.", worse)


def _add_composed() -> None:
    """Enter the rates that count several events, or one event over an unrelated one."""
    add_kind("win_loss_ratio", "d==y & v!=y", "d!=y & v==y",
             "Wins over losses against a live model.", "more")  # fmt: skip
    for kind in (
        Kind("f_score", "Harmonic mean of precision and recall; recall counts beta squared times.",
             "more", _count_f_score, ("of", "beta", "by", "on", "at")),
        Kind("cost", "Mean cost of the model's errors, over all rows.", "less", _count_costs,
             ("of", "label", "predicted", "false_negative", "false_positive", "column", "by", "on", "at", "per")),
        Kind("roc_auc", "Area under the ROC curve, by the midpoint rule over `bins` false-positive budgets.",
             "more", lambda _: ((Part("d & y"),), (Part("y"),)), ("of", "on", "bins")),
    ):  # fmt: skip
        KINDS[kind.name] = kind


_read_table()
_add_composed()
