"""Promises as sentences with gaps, and the meaning of each in the library's terms.

The page fills the gaps: a column, a group, another group, and a bound. `stated` turns a filled-in
sentence into text that `rb.parse`, run files and reports share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratebound._old.certifying.rows_needed import rows_needed
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates import goals, named
from ratebound._old.rates.expressions import Constraint, Expression
from ratebound._old.rates.formulas import sentence
from ratebound._old.rates.subsets import EVERYONE, Compare, Subset
from ratebound._old.rates.text import parse
from ratebound._old.studio.table import Opened, group_mask, group_name, group_subset, groups_of

Spec = Mapping[str, Any]  # a kind, and the values for its gaps
SMALLEST = 30  # goals on columns leave out groups with fewer rows
MARGINS = (
    0.005,
    0.01,
    0.02,
    0.03,
    0.05,
    0.1,
    0.2,
)  # margins of kept promises that rows may show


@dataclass(frozen=True)
class Kind:
    """A sentence with gaps in braces."""

    title: str
    says: str
    law: str
    bound: float
    least: float
    most: float
    build: Callable[[Opened, Spec], list[Any]]
    ready: bool = False  # whether it is one that laws commonly use
    points: bool = False  # whether the bound is in percentage points


def _parity(opened: Opened, spec: Spec) -> list[Any]:
    return _goal(goals.statistical_parity, opened, spec, ratio=spec["bound"])


def _opportunity(opened: Opened, spec: Spec) -> list[Any]:
    return _goal(goals.equal_opportunity, opened, spec, slack=spec["bound"])


def _odds(opened: Opened, spec: Spec) -> list[Any]:
    return _goal(goals.equalized_odds, opened, spec, slack=spec["bound"])


def _goal(goal: Any, opened: Opened, spec: Spec, **options: Any) -> list[Any]:
    """A goal on the groups of a column, without groups that are too small to measure."""
    if spec.get("against") == "each":
        options["against"] = "pairwise"
    groups = groups_of(opened, spec["column"])
    large = [each for each in groups if int(group_mask(opened, each).sum()) >= SMALLEST]
    if len(large) < 2:
        raise ValueError(
            f"{spec['column']} has fewer than two groups of {SMALLEST} rows: choose another column"
        )
    if spec.get("spelled") or spec["column"] not in opened.values:
        return list(goal([group_subset(each) for each in large], **options))
    if len(large) < len(groups):
        options["min_rows"] = SMALLEST
    return list(goal(spec["column"], **options))


def _recall(opened: Opened, spec: Spec) -> list[Any]:
    return [named.recall(*_where(spec.get("group"))) >= spec["bound"]]


def _false_alarms(opened: Opened, spec: Spec) -> list[Any]:
    return [named.false_positive_rate(*_where(spec.get("group"))) <= spec["bound"]]


def _precision(opened: Opened, spec: Spec) -> list[Any]:
    return [named.precision(*_where(spec.get("group"))) >= spec["bound"]]


def _capacity(opened: Opened, spec: Spec) -> list[Any]:
    return [named.positive_rate() <= spec["bound"]]


def _as_often(opened: Opened, spec: Spec) -> list[Any]:
    one, other = _where(spec["group"]), _where(spec.get("other"))
    return [named.positive_rate(*one) >= spec["bound"] * named.positive_rate(*other)]


def _found_as_often(opened: Opened, spec: Spec) -> list[Any]:
    one, other = _where(spec["group"]), _where(spec.get("other"))
    return [named.recall(*one) >= spec["bound"] * named.recall(*other)]


def _churn(opened: Opened, spec: Spec) -> list[Any]:
    return [named.churn(versus=spec["column"]) <= spec["bound"]]


def _where(group: Mapping[str, Any] | None) -> list[Any]:
    return [] if group is None else [group_subset(group)]


KINDS: dict[str, Kind] = {
    "eighty": Kind(
        "80% rule",
        "Every group of {column} gets a yes at least {bound}% as often as {against}.",
        "The four-fifths rule of the US Uniform Guidelines on employee selection, 29 CFR 1607.4(D).",
        0.8, 0.5, 1.0, _parity, ready=True,
    ),
    "opportunity": Kind(
        "Equal opportunity",
        "Among people who should get a yes, every group of {column} gets one about as often as "
        "everyone, within {bound} percentage points.",
        "Equal true positive rates (Hardt, Price and Srebro, 2016).",
        0.05, 0.0, 0.3, _opportunity, ready=True, points=True,
    ),
    "odds": Kind(
        "Equalized odds",
        "Among people who should get a yes, and among people who should not, every group of {column} "
        "gets one about as often as everyone, within {bound} percentage points.",
        "Equal true and false positive rates (Hardt, Price and Srebro, 2016).",
        0.05, 0.0, 0.3, _odds, ready=True, points=True,
    ),
    "recall": Kind(
        "Recall floor",
        "Among {group} who should get a yes, at least {bound}% get one.",
        "Recall, sensitivity, the true positive rate.",
        0.8, 0.0, 1.0, _recall, ready=True,
    ),
    "capacity": Kind(
        "Capacity",
        "At most {bound}% of all people get a yes.",
        "What can be served: beds, loans, interviews.",
        0.2, 0.0, 1.0, _capacity, ready=True,
    ),
    "as_often": Kind(
        "One group beside another",
        "{group} get a yes at least {bound}% as often as {other}.",
        "A ratio of selection rates.",
        0.8, 0.5, 1.2, _as_often,
    ),
    "found_as_often": Kind(
        "One group’s recall beside another’s",
        "Among people who should get a yes, {group} get one at least {bound}% as often as {other}.",
        "A ratio of true positive rates.",
        0.95, 0.5, 1.2, _found_as_often,
    ),
    "false_alarms": Kind(
        "False alarms",
        "Among {group} who should not get a yes, at most {bound}% get one.",
        "The false positive rate.",
        0.1, 0.0, 1.0, _false_alarms,
    ),
    "precision": Kind(
        "Precision",
        "Of {group} who get a yes, at least {bound}% should.",
        "Precision, the positive predictive value.",
        0.7, 0.0, 1.0, _precision,
    ),
    "churn": Kind(
        "Few changes",
        "At most {bound}% of the decisions in {column} change.",
        "Churn: how much the live model's decisions may change.",
        0.05, 0.0, 0.5, _churn,
    ),
}  # fmt: skip


def kinds() -> dict[str, Any]:
    """The page's data about every kind."""
    shown = ("title", "says", "law", "bound", "least", "most", "ready", "points")
    return {name: {each: getattr(kind, each) for each in shown} for name, kind in KINDS.items()}


def stated(opened: Opened, spec: Spec) -> list[str]:
    """The promise of a filled-in sentence, as text that `rb.parse` reads.

    Raises ValueError, in words for the page, if a gap is empty or makes no sense.
    """
    kind = KINDS.get(str(spec.get("kind")))
    if kind is None:
        raise ValueError(f"there is no promise of the kind {spec.get('kind')!r}")
    bound = spec.get("bound")
    if not isinstance(bound, int | float) or isinstance(bound, bool) or not 0 <= bound <= 2:
        raise ValueError(f"{kind.title}: the bound must be a number from 0 to 200%")
    if "{column}" in kind.says and not isinstance(spec.get("column"), str):
        raise ValueError(f"{kind.title}: choose a column")
    if kind.says.startswith("{group}") and not spec.get("group"):
        raise ValueError(f"{kind.title}: choose a group")
    if spec.get("group") is not None and spec.get("group") == spec.get("other"):
        raise ValueError(f"{kind.title}: choose two different groups")
    for gap in ("group", "other"):
        if spec.get(gap) is not None:
            mask = group_mask(opened, spec[gap])
            if not mask.any():
                raise ValueError(f"{kind.title}: no row has {group_name(spec[gap])}")
    return [str(promise) for promise in kind.build(opened, spec)]


def spelled(opened: Opened, spec: Spec) -> list[Constraint]:
    """The same promise as a constraint for each group, for what-if solutions."""
    stated(opened, spec)
    return list(KINDS[spec["kind"]].build(opened, {**spec, "spelled": True}))


def columns_in(specs: Sequence[Spec]) -> list[str]:
    """The columns whose groups promises name."""
    names: list[str] = []
    for spec in specs:
        names += [each["column"] for each in (spec.get("group"), spec.get("other")) if each]
        if "every group of {column}" in KINDS[spec["kind"]].says.lower():
            names.append(spec["column"])
    return list(dict.fromkeys(names))


# --- in words ------------------------------------------------------------------------------------------

RATES = {  # who gets what, in everyday words
    "positive_rate": "{who} get a yes",
    "recall": "{who} who should get a yes get one",
    "false_positive_rate": "{who} who should not get a yes get one",
    "precision": "{who} who get a yes should get it",
    "churn": "decisions change",
}


def said(constraint: Constraint) -> str:
    """A constraint in everyday words; the report's own sentence if there is no shorter one.

    >>> from ratebound._old import parse
    >>> said(parse('positive_rate(sex == "F") >= 0.8 * positive_rate(sex == "M")'))
    'sex: F get a yes at least 80% as often as sex: M.'
    >>> said(parse('recall(age < 40) <= recall() + 0.05'))
    'age under 40 who should get a yes get one at most 5 points more often than everyone.'
    >>> said(parse('positive_rate() <= 0.2'))
    'At most 20% of everyone get a yes.'
    """
    left, right, least = constraint.left, constraint.right, constraint.relation == ">="
    rate = left.rates[0] if isinstance(left, Expression) else getattr(left, "rate", None)
    words = None if rate is None else RATES.get(rate.kind)
    if rate is None or words is None or not isinstance(right, Expression):
        return sentence(constraint)
    who, bound = who_is(rate.subset), "at least" if least else "at most"
    if not right.terms:
        of = words.format(who=f"of {who}") if "{who}" in words else words
        return f"{bound.capitalize()} {_percent(right.constant)} {of}."
    (other, factor), *more = right.terms
    if more or other.kind != rate.kind:
        return sentence(constraint)
    one, reference = words.format(who=who), who_is(other.subset)
    if not right.constant:
        return f"{one} {bound} {_percent(factor)} as often as {reference}."
    way = "more" if right.constant > 0 else "less"
    allowed = "at most" if least == (right.constant < 0) else "at least"
    points = _percent(abs(right.constant)).rstrip("%")
    return f"{one} {allowed} {points} points {way} often than {reference}."


def in_words(text: str) -> str:
    """A constraint's text in everyday words."""
    try:
        promise = parse(text)
    except ValueError:
        return text
    return said(promise) if isinstance(promise, Constraint) else text


def who_is(subset: Subset) -> str:
    """A set of rows in everyday words."""
    if subset == EVERYONE:
        return "everyone"
    if isinstance(subset, Compare):
        name, value = subset.column, subset.value
        ways = {"==": f"{name}: {value}", "<": f"{name} under {value:g}" if _is_number(value) else "",
                ">=": f"{name} {value:g} or more" if _is_number(value) else ""}  # fmt: skip
        return ways.get(subset.relation) or str(subset)
    return str(subset)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


# --- what rows can show -------------------------------------------------------------------------------


def evidence(
    people: Population, texts: Sequence[str], confidence: float, held: float = 1.0
) -> list[dict[str, Any]]:
    """For each constraint: the rows of its smallest group, and the least margin that they can show.

    The held-out rows show it, `held` times as many as these. `margin` is None if they could not even
    show a promise that is kept by 20 points.
    """
    needs = rows_needed(
        Problem("error_rate()", list(texts)), people, margin=list(MARGINS), confidence=confidence
    )
    by: dict[Constraint, list[Any]] = {}
    for each in needs.promises:
        by.setdefault(each.constraint, []).append(each)
    told = []
    for constraint, every in by.items():
        rows = round(held * every[0].rows)
        shown = [e.margin for e in every if e.rows_needed is not None and e.rows_needed <= rows]
        five = next((e for e in every if e.margin == 0.05), every[0])
        told.append(
            {
                "words": str(constraint),
                "sentence": said(constraint),
                "rows": every[0].rows,
                "held": rows,
                "margin": min(shown, default=None),
                "needed": five.rows_needed,
                "why": every[0].why,
            }
        )
    return told
