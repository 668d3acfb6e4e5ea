"""Learning a table once, and the effect of any promises on it: true rates, out of fold.

`learn` forecasts what each row counts as, by models that did not see it. From then on a rule is a few
multipliers. `quick` finds them on a sample, in milliseconds, and decides all rows by them; `exact`
searches all rows, as training would, and knows the confidence on new rows.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from ratebound._old.base.linear_program import TOLERANCE
from ratebound._old.base.progress import bar
from ratebound._old.base.types import Array
from ratebound._old.commands.holdout import divide_rows
from ratebound._old.commands.rows import (
    Given,
    classes_of,
    labelled,
    list_fit_arguments,
    visible,
    with_labels,
)
from ratebound._old.commands.runs import Run
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile, compile_again
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates import named
from ratebound._old.rates.expressions import Constraint, Expression, Ratio
from ratebound._old.studio.promises import KINDS, Spec, columns_in, said, spelled
from ratebound._old.studio.table import Opened, group_mask, group_name, group_subset, groups_of, plain
from ratebound.learning import learning as room
from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.learning.folds import FOLDS
from ratebound.learning.forecast import MOST_CELLS
from ratebound.learning.given import as_problem
from ratebound.learning.influence import measure_influence
from ratebound.learning.rules import Rules
from ratebound.learning.solve import FEW_ROWS, find_best_rule, rebuild_rules
from ratebound.learning.status import Status, make_status
from ratebound.rates.sums import FIRST

AROUND = 1.0  # additional standard errors of a band over many rules
CURVE = 9  # bounds whose cost a curve shows


@dataclass(frozen=True)
class Choices:
    """The choices about a table before any promise."""

    label: str
    positive: Any = None  # the label that is yes
    hidden: tuple[str, ...] = ()  # columns that the model must not see
    live: str | None = None  # the column with the live model's decisions
    model: str = "linear"

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Choices:
        """The choices that a page sends."""
        label, live = given.get("label"), given.get("live") or None
        hidden, model = given.get("hidden", []), given.get("model", "linear")
        if not isinstance(label, str):
            raise ValueError("choose the column with the right answers: the label")
        if not isinstance(hidden, list) or not all(isinstance(each, str) for each in hidden):
            raise ValueError("hidden columns are a list of names")
        if live == label:
            raise ValueError("the label cannot also be the live model: choose another column for it")
        return cls(label, given.get("positive"), tuple(hidden), live, str(model))

    def run(self, opened: Opened, **others: Any) -> Run:
        """The run of `ratebound train` with these choices."""
        hidden = tuple(dict.fromkeys([*self.hidden, *([self.live] if self.live else [])]))
        return Run(
            opened.paths,
            label=self.label,
            positive=self.positive,
            exclude=tuple(name for name in hidden if name != self.label),
            model=self.model,
            drop_unlabelled=True,
            holdout_by_label=True,
            **others,
        )


@dataclass(frozen=True, eq=False)
class Labelled:
    """The rows of a table that have a label, except for the rows held out for the audit."""

    opened: Opened  # only these rows
    choices: Choices
    given: Given
    unlabelled: int  # rows that are left out
    held: int  # rows that stay unseen until the model is made
    _grouped: dict[str, tuple[list[Any], Array]] = field(default_factory=dict, init=False, repr=False)

    @property
    def people(self) -> Population:
        """The rows, with labels."""
        return self.given.people

    @property
    def classes(self) -> tuple[Any, ...]:
        """No, then yes."""
        return self.given.classes

    @property
    def share(self) -> float:
        """How many rows are held out per row here."""
        return self.held / len(self.people)

    def grouped(self, name: str) -> tuple[list[Any], Array]:
        """The groups of a column, and for each row (n,) 4 · its group's place + 4 + 2 · [right].

        Rows of no group come before the first. Computed once.
        """
        if name not in self._grouped:
            groups = groups_of(self.opened, name)
            places = np.zeros(len(self.people), dtype=np.int64)
            for place, group in enumerate(groups):
                places[group_mask(self.opened, group)] = 4 * (place + 1)
            self._grouped[name] = groups, places + 2 * self.right
        return self._grouped[name]

    @cached_property
    def right(self) -> Array:
        """Which rows (n,) should get a yes."""
        assert self.people.y is not None
        return np.asarray(self.people.y == 1)

    @cached_property
    def live(self) -> Array | None:
        """The live model's decisions (n,), if there is one."""
        if self.choices.live is None:
            return None
        return decisions_in(self.opened.table[self.choices.live], self.classes, self.choices.live)


def choose(opened: Opened, choices: Choices) -> Labelled:
    """The rows with a label, except for the rows that training will hold out; two labels must occur."""
    with quietly():
        table = with_labels(opened.table, choices.label, drop=True)
    if choices.live is not None:
        table.check(choices.live, "live")
    for name in choices.hidden:
        table.check(name, "hidden")
    classes = classes_of(table, choices.label, choices.positive)
    if len(classes) != 2:
        raise ValueError(
            f"column {choices.label!r} has {len(classes)} different values, but the studio is for "
            "decisions between yes and no: choose a column with two values"
        )
    run = choices.run(opened)
    populations = {FIRST: labelled(table, choices.label, classes, None)}
    everyone = Given(populations, classes, visible(table, run), table.name, run)
    given, held = divide_rows(everyone, as_problem("error_rate()", ()))
    unlabelled = len(opened.table) - len(table)
    of_rows = Opened(opened.paths, given.people.X)
    chosen = Labelled(of_rows, choices, given, unlabelled, len(held.people))
    _ = chosen.live  # raises now if it holds no decisions
    return chosen


def decisions_in(values: Array, classes: tuple[Any, ...], name: str) -> Array:
    """A column of decisions as truth values: labels, or 0 and 1, yes and no, true and false."""
    meaning = {str(classes[1]).casefold(): True, str(classes[0]).casefold(): False}
    for no, yes in (("0", "1"), ("0.0", "1.0"), ("false", "true"), ("no", "yes"), ("n", "y")):
        meaning = {no: False, yes: True} | meaning
    codes, places = np.unique(np.asarray(values).astype(str), return_inverse=True)
    unknown = [each for each in codes if each.strip().casefold() not in meaning]
    if unknown:
        raise ValueError(
            f"column {name!r} holds {unknown[0]!r}, which is not a decision: it needs {classes[0]!r} "
            f"and {classes[1]!r}, or 0 and 1, in every row"
        )
    return np.array([meaning[each.strip().casefold()] for each in codes])[places]


@contextmanager
def quietly() -> Iterator[None]:
    """Without notices: the page shows their content itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- learning ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned of all rows, once, and the plain model's decisions."""

    rows: Labelled
    base: room.Learned  # for the constraints of `learned_for`
    counted: Compiled  # the same constraints, to count both of their sides
    plain: Array  # (n,) the same model's decisions without promises
    seconds: float

    @property
    def sample(self) -> int:
        """About how many rows a moved bound is searched on."""
        return min(FEW_ROWS, len(self.plain))

    @cached_property
    def texts(self) -> frozenset[str]:
        """The constraints that it was learned for."""
        return frozenset(map(str, self.counted.problem.subject_to))


def learn(rows: Labelled, specs: Sequence[Spec]) -> Learned:
    """Learn about rows what promises of these kinds need; other bounds need no more."""
    start = time.monotonic()
    constraints = learned_for(rows.opened, specs)
    counted = compile(Problem("error_rate()", constraints), rows.people)
    several = max(len(np.unique(counted.cells[rows.right == yes])) for yes in (False, True))
    if several > MOST_CELLS:
        raise ValueError(
            f"the promises are about {several} groups at once ({', '.join(columns_in(specs))}), and the "
            f"studio learns up to {MOST_CELLS}: promise about fewer columns, or about columns with "
            "fewer values; `ratebound train` has no such limit"
        )
    with quietly(), bar(FOLDS, "model", True) as shown:
        model = RateConstrainedClassifier(
            [str(each) for each in constraints],
            model=rows.choices.model,
            confidence=None,
            positive_label=rows.classes[1],
            progress=lambda *_: shown.update(),
            random_state=rows.given.run.seed,
        )
        base = model.fit(*list_fit_arguments(rows.people, rows.given)).learned_
    plain = _yes(base.rules, base.rules.plain_weights)
    return Learned(rows, base, counted, plain, time.monotonic() - start)


def _yes(rules: Rules, weights: Array) -> Array:
    """The rows (n,) that a rule says yes to, out of fold."""
    return np.asarray(rules.decide(weights[None])[0] == 1)


def learned_for(opened: Opened, specs: Sequence[Spec]) -> list[Constraint]:
    """The constraints to learn for: every group of the promises' columns, and changes of decisions.

    These constraints demand nothing. They only distinguish rows, so that no promise about these groups
    needs further learning.
    """
    every = [named.positive_rate() >= 0]
    every += [named.churn(versus=spec["column"]) <= 1 for spec in specs if spec["kind"] == "churn"]
    groups = [group for name in columns_in(specs) for group in groups_of(opened, name)]
    for group in (spec.get(gap) for spec in specs for gap in ("group", "other")):
        if group is not None and group not in groups:
            groups.append(group)
    return [*every, *(named.positive_rate(group_subset(group)) >= 0 for group in groups)]


# --- answers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """The promises, their confidence, and the objective."""

    specs: tuple[Any, ...] = ()
    confidence: float | None = 0.9  # that all hold on new rows; None for only these rows
    false_positive: float = 1.0  # the cost of a wrong yes
    false_negative: float = 1.0  # the cost of a wrong no
    by_cost: bool = False  # whether to minimize cost instead of the number of errors

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Asked:
        """The request that a page sends."""
        specs, confidence = given.get("promises", []), given.get("confidence")
        costs = [given.get("false_positive", 1.0), given.get("false_negative", 1.0)]
        if confidence is not None and not (_is_number(confidence) and 0.5 <= confidence < 1):
            raise ValueError("the confidence is a number from 50% to below 100%, or none")
        if not all(_is_number(cost) and cost >= 0 for cost in costs) or not any(costs):
            raise ValueError("costs must be at least 0, and one of them above 0")
        if not isinstance(specs, list) or not all(isinstance(each, dict) for each in specs):
            raise ValueError("promises must be a list of filled-in sentences")
        key = tuple(json.dumps(each, sort_keys=True) for each in specs)
        wrong_yes, wrong_no = map(float, costs)
        return cls(key, confidence, wrong_yes, wrong_no, bool(given.get("by_cost")))

    @property
    def promises(self) -> list[Spec]:
        """The filled-in sentences."""
        return [json.loads(each) for each in self.specs]

    @property
    def objective(self) -> str:
        """The objective to minimize."""
        if not self.by_cost:
            return "error_rate()"
        return f"cost(false_negative={self.false_negative:g}, false_positive={self.false_positive:g})"

    def constraints(self, opened: Opened) -> list[Constraint]:
        """The constraints that training would keep, one for each group."""
        return [constraint for spec in self.promises for constraint in spelled(opened, spec)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class NotLearned(ValueError):
    """Promises name groups that were not learned."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A rule for a request."""

    asked: Asked
    rules: Rules
    weights: Array  # (T,)
    yes: Array  # (n,) the rows it says yes to, out of fold
    status: Status | None = None  # with the confidence that all promises hold on new rows, if known


def quick(learned: Learned, asked: Asked) -> Solved:
    """The rule that is best on a sample, counted on all rows."""
    rules = rules_on(learned, asked)
    nothing = np.zeros(rules.constraint_count)
    margins = nothing
    if asked.confidence is not None and rules.constraint_count:
        influence = measure_influence(rules.compiled, learned.base.unit)
        errors = influence.compute_errors(learned.plain.astype(int))
        margins = (ndtri(asked.confidence) + AROUND) * errors
    rule = find_best_rule(rules, margins, FEW_ROWS)
    if margins is not nothing and not rules.meets(rule, margins):
        rule = find_best_rule(rules, nothing, FEW_ROWS)
    return Solved(asked, rules, rule.weights, _yes(rules, rule.weights))


def exact(learned: Learned, asked: Asked) -> Solved:
    """The rule from all rows, as training would search for it, with its confidence on new rows."""
    rules = rules_on(learned, asked)
    rules.evaluate(quick(learned, asked).weights[None])  # a rule that is known is in the search
    base = replace(learned.base, rules=rules)
    choice = base.choose_rule(asked.confidence)
    weights = choice.rule.weights
    status = make_status(rules, choice.rule, choice.claim)
    return Solved(asked, rules, weights, _yes(rules, weights), status)


def rules_on(learned: Learned, asked: Asked) -> Rules:
    """The rules for a request, on all rows."""
    opened = learned.rows.opened
    constraints = [str(each) for each in asked.constraints(opened)]
    lacking = {str(each) for each in learned_for(opened, asked.promises)} - learned.texts
    if lacking:
        raise NotLearned(f"nothing was learned about {', '.join(sorted(lacking))}")
    problem = as_problem(asked.objective, constraints)
    return rebuild_rules(problem, learned.base.rules, learned.base.forecast)


def promised(learned: Learned, solved: Solved) -> list[dict[str, Any]]:
    """Each constraint with both of its sides, on all rows that are not held out."""
    problem = Problem("error_rate()", solved.asked.constraints(learned.rows.opened))
    compiled = compile_again(learned.counted, problem)
    told: list[dict[str, Any]] = []
    of = [place for place, spec in enumerate(solved.asked.promises)
          for _ in spelled(learned.rows.opened, spec)]  # fmt: skip
    for place, (constraint, (left, right)) in enumerate(
        zip(compiled.constraints, _sides(compiled, solved.yes), strict=True)
    ):
        room = right - left if constraint.relation == "<=" else left - right
        told.append(
            {
                "promise": of[place],
                "words": str(constraint),
                "sentence": said(constraint),
                "value": _finite(left),
                "bound": _finite(right),
                "relation": constraint.relation,
                "room": _finite(room),
                "kept": bool(room >= -TOLERANCE),
            }
        )
    return told


def _sides(compiled: Compiled, yes: Array) -> list[tuple[float, float]]:
    """The values of both sides of every constraint."""
    sums: dict[Expression, float] = {}
    for each in compiled.constraints:
        for side in (each.left, each.right):
            parts = (side.numerator, side.denominator) if isinstance(side, Ratio) else (side,)
            sums |= {part: part.constant for part in parts if isinstance(part, Expression)}
    open_ones = [part for part in sums if part.terms]
    measured = compile_again(compiled, Problem("error_rate()", [part >= 0 for part in open_ones]))
    _, violations, _ = measured.measure(np.where(yes, 1.0, -1.0)[None, None])
    sums |= dict(zip(open_ones, (-violations[0]).tolist(), strict=True))

    def value(side: Any) -> float:
        if not isinstance(side, Ratio):
            return sums[side]
        below = sums[side.denominator]
        return side.factor * sums[side.numerator] / below if below else math.nan

    return [(value(each.left), value(each.right)) for each in compiled.constraints]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# --- what decisions do ---------------------------------------------------------------------------------


def outcome(asked: Asked, yes: Array, right: Array) -> dict[str, Any]:
    """The results of decisions (n,), given which rows should get a yes (`right`)."""
    false_positives, false_negatives = int((yes & ~right).sum()), int((~yes & right).sum())
    money = asked.false_positive * false_positives + asked.false_negative * false_negatives
    return {
        "error": (false_positives + false_negatives) / len(yes),
        "yes": float(yes.mean()),
        "false_positives": false_positives,
        "false_negatives": false_negatives,
        "money": money,
        "money_per_1000": 1000 * money / len(yes),
    }


def by_group(rows: Labelled, name: str, decisions: Mapping[str, Array]) -> list[dict[str, Any]]:
    """The results of decisions for each group of a column."""
    groups, places = rows.grouped(name)
    counts = {
        model: np.bincount(places + yes, minlength=4 * len(groups) + 4)[4:].reshape(-1, 2, 2)
        for model, yes in decisions.items()
    }  # by group, by whether a yes is right, and by decision
    told = []
    for place, group in enumerate(groups):
        of_group = {model: each[place].astype(float) for model, each in counts.items()}
        whole = next(iter(of_group.values()))
        if not whole.sum():
            continue
        told.append(
            {
                "group": {key: plain(value) for key, value in group.items()},
                "name": group_name(group),
                "rows": int(whole.sum()),
                "should": int(whole[1].sum()),
                "rates": {model: _rates(each) for model, each in of_group.items()},
            }
        )
    return told


def _rates(counts: Array) -> dict[str, float | None]:
    """A group's rates, from how many rows (2, 2) should get a yes, and do."""
    (right_no, wrong_yes), (wrong_no, right_yes) = counts.tolist()
    rows = counts.sum()
    return {
        "yes": (wrong_yes + right_yes) / rows,
        "recall": right_yes / (right_yes + wrong_no) if counts[1].any() else None,
        "false_alarms": wrong_yes / (wrong_yes + right_no) if counts[0].any() else None,
        "error": (wrong_yes + wrong_no) / rows,
    }


def everyone(learned: Learned, solved: Solved | None) -> dict[str, Array]:
    """The decisions to compare: as asked for, plain, live, and no for everyone."""
    decisions = {} if solved is None else {"asked": solved.yes}
    decisions["plain"] = learned.plain
    if (live := learned.rows.live) is not None:
        decisions["live"] = live
    return decisions | {"nobody": np.zeros(len(learned.plain), dtype=bool)}


def curve(learned: Learned, asked: Asked, place: int) -> list[tuple[float, float]]:
    """What other bounds of one promise would cost, from the sample: bounds and objectives."""
    spec = asked.promises[place]
    kind = KINDS[spec["kind"]]
    near = np.linspace(kind.least, kind.most, CURVE)
    bounds = sorted({round(float(each), 4) for each in [*near, spec["bound"]]})
    points = []
    for bound in bounds:
        moved = [*asked.promises]
        moved[place] = {**spec, "bound": bound}
        specs = tuple(json.dumps(each, sort_keys=True) for each in moved)
        rules = rules_on(learned, replace(asked, specs=specs))
        nothing = np.zeros(rules.constraint_count)
        rule = find_best_rule(rules, nothing, FEW_ROWS)
        if rules.meets(rule, nothing):
            points.append((bound, rule.objective))
    return points
