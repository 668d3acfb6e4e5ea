"""The table of rates: what each rate counts, and among which rows. All else follows from the table.

An event is about a row's decision d, its label y and a live model's decision v. A letter alone means
"is the class in question", and ``~`` before it "is another class". ``==`` and ``!=`` compare two
letters; ``&`` and ``or`` join events. A rate is linear unless d is in its denominator. It needs
labels if y occurs in it, and a live model if v does.
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

# event | among | share | its complement | count | count of the complement | better | rows | rows of the complement
TABLE = """
d     | 1  | positive_rate | negative_rate | predicted_positives | predicted_negatives | either | rows the model says yes to | rows the model says no to
d     | y  | recall | false_negative_rate | true_positives | false_negatives | more | positive rows the model says yes to | positive rows the model says no to
d     | ~y | false_positive_rate | true_negative_rate | false_positives | true_negatives | less | negative rows the model says yes to | negative rows the model says no to
d==y  | 1  | accuracy | error_rate | | errors | more | rows whose decision equals their label | rows whose decision is not their label
y     | d  | precision | false_discovery_rate | | | more | rows the model says yes to that are positive | rows the model says yes to that are negative
~y    | ~d | negative_predictive_value | false_omission_rate | | | more | rows the model says no to that are negative | rows the model says no to that are positive
d & y | d or y | jaccard | | | | more | rows that are both positive and given a yes, among rows that are either |
d=predicted | y=label | confusion | | | | less | rows with one label that the model takes for another class |
y     | 1  | prevalence | | | | neither | rows whose label is positive, whatever the model says |
d!=v  | 1  | churn | | | | less | rows whose decision differs from the live model's |
d!=y  | v==y | loss_only_churn | | losses | | less | rows the live model gets right that the new one gets wrong |
d==y  | v!=y | | | wins | | more | rows the live model gets wrong that the new one gets right |
~decided | 1 | referred | | referrals | decisions | less | rows that are referred to a person | rows that the model decides itself
"""
ALIASES = {"coverage": "positive_rate", "true_positive_rate": "recall"}
LIVE = ("positive_rate", "accuracy", "error_rate", "recall", "false_positive_rate")  # also with by=
OPPOSITE = {"more": "less", "less": "more"}
# Options of goals, which a rate would otherwise take for columns.
GOAL_OPTIONS = ("intersection", "min_rows", "slack", "ratio", "against", "at_least", "at_most")
NAME_OPTIONS = ("on", "versus", "by")
NUMBER_OPTIONS = ("per", "beta", "top", "bins", "at")
OPTION_DEFAULTS = {"beta": 1, "on": FIRST, "at": 0}
LETTER_MEANINGS = {
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
    "**columns : str, number, bool or tuple",
    '    More conditions, as in ``sex="Female"`` or ``race=("Black", "White")``.',
)
RETURNS = ("Returns", "-------", "Sum", "    Compare it with a number or with other rates.")
OPTION_MEANINGS = {
    "of": "The class in question. By default the positive one of two.",
    "label": "The class of the rows that count.",
    "predicted": "The class that the model takes them for.",
    "false_negative": "The cost of a missed row: a number, or the column with each row's own cost.",
    "false_positive": "The cost of a false alarm, in the same form.",
    "column": "The column with the amount that multiplies the costs of each row.",
    "beta": "Recall counts beta squared times as much as precision. By default 1.",
    "versus": "The column with the live model's decisions.",
    "by": "The column with a live model's decisions, which count instead of the model's.",
    "on": "The name of the population whose rows count. By default the first.",
    "at": "The threshold of scores: a number, or a name for one that is learned. By default 0.",
    "bins": "The number of false-positive budgets whose recalls are averaged. By default 10.",
    "top": "Count the rows with the largest scores as yes: a number of rows, or a share.",
    "per": "Scale the count to this many rows. By default to all rows.",
}
EXAMPLE_VALUES = {"versus": '"live_model"', "label": '"cat"', "predicted": '"dog"', "bins": "10"}
EXAMPLE_PRICES = {"beta": 1, "false_negative": 10, "false_positive": 1}
Counted = tuple[tuple[Part, ...], tuple[Part, ...] | None]  # what is counted, and among what
Options = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """One name in the table. Called with conditions and options, it returns a rate."""

    name: str
    meaning: str
    better: str
    parts: Callable[[Options], Counted]
    takes: tuple[str, ...]  # the names of its options
    is_own: bool = False  # defined by a user, who may define it again

    def __post_init__(self) -> None:
        # `help` and the reference read these attributes, as those of a function.
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__doc__", self.describe())
        object.__setattr__(self, "__signature__", self._make_signature())

    def __call__(self, *conditions: Any, **keywords: Any) -> Sum:
        options = {name: keywords.pop(name) for name in OPTIONS if name in keywords}
        self._check_option_names(options, keywords)
        condition: Condition = where(**keywords)  # what is left are columns
        for part in reversed(conditions):
            condition = as_condition(part, self.name) & condition
        options = self._complete_options(options)
        counted, among = self.parts(options)
        rate = Rate(self.name, condition, (), counted, among)
        rate = _use_live_decisions(rate.with_options(**options))
        return Sum([(_restrict_to_decided(rate), 1.0)])

    def __ge__(self, bound: Any) -> Any:
        raise TypeError(f"{self.name} needs parentheses, as in rb.{self.name}() >= 0.9")

    __le__ = __ge__

    def _make_signature(self) -> Signature:
        options = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in self.takes]
        conditions = Parameter("conditions", Parameter.VAR_POSITIONAL)
        columns = Parameter("columns", Parameter.VAR_KEYWORD)
        return Signature([conditions, *options, columns])

    def _check_option_names(self, options: Options, columns: Options) -> None:
        unknown = [name for name in GOAL_OPTIONS if name in columns]
        for name, value in options.items():
            if value is not None and name not in self.takes:
                unknown.append(name)
        if unknown:
            known = ", ".join(f"{option}=" for option in self.takes) or "conditions"
            raise TypeError(
                f"{self.name} does not take {unknown[0]}=, only {known}; "
                f"if this is a column, write rb.column({unknown[0]!r}) == ..."
            )

    def _complete_options(self, options: dict[str, Any]) -> dict[str, Value]:
        """Return checked options, so that two spellings of one rate have the same options."""
        named = {name: as_value(value) for name, value in options.items() if value is not None}
        checked = check_options(self.name, named)
        for name in ("versus", "label", "predicted"):
            is_needed = name in self.takes and self.name != "cost"  # which has other forms
            if is_needed and name not in checked:
                raise TypeError(f'{self.name}: {name}= is needed, as in {self.name}({name}="...")')
        if "bins" in self.takes:
            checked.setdefault("bins", 10)
        for name, default in OPTION_DEFAULTS.items():
            if checked.get(name) == default:
                del checked[name]
        return checked

    def describe(self) -> str:
        """Return the docstring: meaning, formula, options and an example, all from the table."""
        formula = self.formula
        letters = [meaning for letter, meaning in LETTER_MEANINGS.items() if letter in formula]
        lines = [self.meaning, "", f"It is ``{formula}``, where {', '.join(letters)}.", ""]
        lines += ["Parameters", "----------", *CONDITION_PARAMETERS]
        for name in self.takes:
            unit = "number" if name in NUMBER_OPTIONS else "value"
            lines.append(f"{name} : {unit}, default=None")
            lines.append(f"    {OPTION_MEANINGS[name]}")
        lines += [*COLUMN_PARAMETERS, "", *RETURNS]
        example = self.make_example()
        lines += ["", "Examples", "--------", ">>> import ratebound as rb", f">>> {example}"]
        lines += [example.removeprefix("rb."), ""]
        return "\n".join(lines)

    def make_example(self) -> str:
        """Return a constraint on this rate, as in Python."""
        needed = [name for name in EXAMPLE_VALUES if name in self.takes]
        options = [f"{name}={EXAMPLE_VALUES[name]}" for name in needed]
        if self.name == "cost":
            options = ["false_negative=10", "false_positive=1"]
        relation = "<=" if self.better == "less" else ">="
        _, among = self.parts(EXAMPLE_PRICES)
        bound = 100 if among is None else 0.5
        return f"rb.{self.name}({', '.join(options)}) {relation} {bound}"

    @property
    def formula(self) -> str:
        """What it counts, and among what: ``#(ŷ & y) / #(y)``."""
        counted, among = self.parts(EXAMPLE_PRICES)
        above = _format_counts(counted)
        if among is None:
            return above
        share = f"{above} / {_format_counts(among)}"
        if "bins" in self.takes:
            return f"mean across thresholds of {share}"
        return share


KINDS: dict[str, Kind] = {}  # the whole table, by name


def as_condition(condition: Any, name: str) -> Condition:
    """Return a condition; a column stands for each of its values."""
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
    """Return the options with whole numbers as int; raise if a value is of the wrong kind."""
    checked = dict(options)
    for option in NAME_OPTIONS:
        if not isinstance(options.get(option, ""), str):
            raise TypeError(f"{name}: {option}= takes a name, got {options[option]!r}")
    for option in NUMBER_OPTIONS:
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
    """Return the rate of the live model's decisions, if ``by=`` names their column."""
    if rate.option("by") is None:
        return rate
    return _change_events(rate, lambda event: re.sub(r"\bd\b", "v", event))


def _restrict_to_decided(rate: Rate) -> Rate:
    """Return the rate among decided rows, if its condition requires `decided`.

    A decision is not known before there is a model. So `decided` moves from the condition, which
    selects rows, to the events, which select decisions.
    """
    parts = rate.condition.parts if isinstance(rate.condition, All) else (rate.condition,)
    conditions = [part for part in parts if not isinstance(part, Decided)]
    for part in conditions:
        if any(isinstance(leaf, Decided) for leaf in leaves(part)):
            raise ValueError(f"{rate}: combine 'decided' with other conditions by 'and' only")
    if len(conditions) == len(parts):
        return rate
    if rate.among is None:
        raise ValueError(f"{rate}: a count does not take 'decided'; leave it out")
    return _change_events(rate, lambda event: join_event(event, "decided"))


def _change_events(rate: Rate, change: Callable[[str], str]) -> Rate:
    def change_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(replace(part, event=change(part.event)) for part in parts)

    counted = change_parts(rate.counted)
    among = None if rate.among is None else change_parts(rate.among)
    return replace(rate, counted=counted, among=among)


def split_ratio(rate: Rate) -> tuple[Rate, Rate]:
    """Return the numerator and denominator of a ratio, as shares of the rows of its condition."""
    everyone = (Part("1"),)
    assert rate.among is not None
    numerator = replace(rate, name=f"{rate.name} above", among=everyone)
    denominator = replace(rate, name=f"{rate.name} below", counted=rate.among, among=everyone)
    return numerator, denominator


def list_directions(sum_: Sum) -> set[str]:
    """Return the directions, "more", "less" or "either", in which the terms of a sum improve."""
    directions = set()
    for quantity, coefficient in sum_.terms.items():
        better = "either"
        if isinstance(quantity, Rate) and quantity.name in KINDS:
            better = KINDS[quantity.name].better
        directions.add(OPPOSITE.get(better, better) if coefficient < 0 else better)
    return directions - {"neither"}


# --- events ---------------------------------------------------------------------------------------


def evaluate_event(
    event: str, decisions: int, labels: int, of: int, named_classes: Mapping[str, int]
) -> Any:
    """Return where an event holds (decisions, labels, live decisions).

    An axis that the event ignores has length 1. A referral is one more decision than there are
    labels. It is not a class, so "another class" excludes it.
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
            all_hold = all_hold & _evaluate_literal(literal, axes, labels, of, named_classes)
        any_holds = any_holds | all_hold
    return any_holds


def _evaluate_literal(
    literal: str, axes: Mapping[str, Any], labels: int, of: int, named_classes: Mapping[str, int]
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
        left = axes[bare[0]]
        right = axes[bare[3]]
        differs = left != right
        if "y" in bare:  # a referral is not an error
            differs = differs & (left < labels) & (right < labels)
        return differs
    letter, _, option = bare.partition("=")
    wanted = named_classes[option] if option else of
    classes = axes[letter]
    if is_negated:
        return (classes != wanted) & (classes < labels)
    return classes == wanted


def join_event(event: str, literal: str) -> str:
    """Return an event that also requires a literal, in each of its alternatives."""
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
    """Enter a rate into the table: a share of the rows of `among`, or a count if that is None."""
    above = (Part(counted),)
    below = None if among is None else (Part(among),)
    options = _list_options(above, below)
    if name in ("precision", "recall"):
        options += ("top", "per")
    KINDS[name] = Kind(name, meaning, better, lambda _: (above, below), options, is_own)
    return KINDS[name]


def _list_options(counted: tuple[Part, ...], among: tuple[Part, ...] | None) -> tuple[str, ...]:
    """Return the names of the options that follow from what is counted."""
    parts = counted + (among or ())
    events = " & ".join(part.event for part in parts)
    literals = events.replace(" or ", " & ").split(" & ")
    options = []
    if any(literal.removeprefix("~") in ("d", "y", "v") for literal in literals):
        options.append("of")
    named = {literal.partition("=")[2] for literal in literals}  # d=predicted
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
    """Price each kind of error by a number, or by a column with the amount of each row."""
    column = options.get("column")
    parts = []
    for event, price in _list_prices(options).items():
        if isinstance(price, str):
            if column is not None:
                raise ValueError(f"cost: {price!r} is a column already, so leave out column=")
            parts.append(Part(event, 1.0, price))
            continue
        number = as_number(price)
        if number < 0:
            raise ValueError(
                "cost: a cost must not be negative; write a gain as a cost of the wrong decision"
            )
        if number > 0:
            parts.append(Part(event, number, column))
    if not parts:
        raise ValueError("cost: with false_negative=0 and false_positive=0 no error costs anything")
    return tuple(parts), None if "per" in options else (Part("1"),)


def _list_prices(options: Options) -> dict[str, Any]:
    """Return the price of each kind of error."""
    names = options.keys()
    confused = names & {"label", "predicted"}
    priced = names & {"false_negative", "false_positive"}
    if confused:
        if len(confused) < 2 or priced:
            raise TypeError(
                "cost: to price one confusion, give label= and predicted= and no other costs"
            )
        return {"d=predicted & y=label": 1}
    if not priced and "column" not in names:
        raise TypeError(
            'cost: give a cost, as in cost(false_negative=10, false_positive=1) or cost(column="amount")'
        )
    if not priced and "of" not in names:
        return {"d!=y": 1}  # every error costs the amount of its row
    return {
        "~d & y": options.get("false_negative", 1),
        "d & ~y": options.get("false_positive", 1),
    }


def _read_table() -> None:
    """Enter every name of every row of the table."""
    for line in TABLE.strip().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        event, among, share, complement, count, complement_count = cells[:6]
        better, rows, complement_rows = cells[6:]
        negated = _negate(event)
        worse = OPPOSITE.get(better, better)
        # P(y | d) counts y & d; "d or y" already contains what jaccard counts
        if " or " not in among:
            event = join_event(event, among)
            negated = join_event(negated, among)
        if share:
            add_kind(share, event, among, f"Share of {rows}.", better)
        if complement:
            meaning = f"Share of {complement_rows}: 1 - {share}()."
            add_kind(complement, negated, among, meaning, worse)
        if count:
            add_kind(count, event, None, f"Number of {rows}.", better)
        if complement_count:
            add_kind(complement_count, negated, None, f"Number of {complement_rows}.", worse)


def _add_composed() -> None:
    """Enter the rates that count several events, or one event over an unrelated one."""
    add_kind(
        "win_loss_ratio",
        "d==y & v!=y",
        "d!=y & v==y",
        "Wins over losses against a live model.",
        "more",
    )
    KINDS["f_score"] = Kind(
        "f_score",
        "Harmonic mean of precision and recall, with beta squared as the weight of recall.",
        "more",
        _count_f_score,
        ("of", "beta", "by", "on", "at"),
    )
    prices = ("label", "predicted", "false_negative", "false_positive", "column")
    KINDS["cost"] = Kind(
        "cost",
        "Mean cost of the model's errors, over all rows.",
        "less",
        _count_costs,
        ("of", *prices, "by", "on", "at", "per"),
    )
    KINDS["roc_auc"] = Kind(
        "roc_auc",
        "Area under the ROC curve, by the midpoint rule over `bins` false-positive budgets.",
        "more",
        lambda _: ((Part("d & y"),), (Part("y"),)),
        ("of", "on", "bins"),
    )
    KINDS["ranked_right"] = Kind(
        "ranked_right",
        "Share of pairs in the right order. A pair counts as a row, and has a yes if its first row, "
        "which should be higher, is scored above its second.",
        "more",
        lambda _: ((Part("d"),), (Part("1"),)),
        (),
    )


_read_table()
_add_composed()
