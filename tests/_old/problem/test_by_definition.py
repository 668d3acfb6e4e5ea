"""Every rate on random problems, counted row by row straight from its (corrected) definition.

The definitions below are plain loops over rows and share no code with the package.
"""

from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.rates.kinds import KINDS, wanted


def steady(examples):
    """The same examples every time, on a machine of any speed."""
    slow = [HealthCheck.too_slow]
    return settings(derandomize=True, deadline=None, max_examples=examples, suppress_health_check=slow)


# What a rate counts (of decision f, label y, existing decision h), among which rows (None: a count).
DEFINITIONS = {
    "positive_rate": (lambda f, y, h: f, lambda y, h: True),
    "coverage": (lambda f, y, h: f, lambda y, h: True),
    "negative_rate": (lambda f, y, h: not f, lambda y, h: True),
    "recall": (lambda f, y, h: f, lambda y, h: y),
    "true_positive_rate": (lambda f, y, h: f, lambda y, h: y),
    "false_negative_rate": (lambda f, y, h: not f, lambda y, h: y),
    "false_positive_rate": (lambda f, y, h: f, lambda y, h: not y),
    "true_negative_rate": (lambda f, y, h: not f, lambda y, h: not y),
    "accuracy": (lambda f, y, h: f == y, lambda y, h: True),
    "error_rate": (lambda f, y, h: f != y, lambda y, h: True),
    "prevalence": (lambda f, y, h: y, lambda y, h: True),
    "predicted_positives": (lambda f, y, h: f, None),
    "predicted_negatives": (lambda f, y, h: not f, None),
    "true_positives": (lambda f, y, h: f and y, None),
    "false_positives": (lambda f, y, h: f and not y, None),
    "true_negatives": (lambda f, y, h: not f and not y, None),
    "false_negatives": (lambda f, y, h: not f and y, None),
    "errors": (lambda f, y, h: f != y, None),
    "decisions": (lambda f, y, h: True, None),
    "churn": (lambda f, y, h: f != h, lambda y, h: True),
    "loss_only_churn": (lambda f, y, h: f != y and h == y, lambda y, h: h == y),
    "wins": (lambda f, y, h: f == y and h != y, None),
    "losses": (lambda f, y, h: f != y and h == y, None),
    "positive_rate_of": (lambda f, y, h: h, lambda y, h: True),
    "accuracy_of": (lambda f, y, h: h == y, lambda y, h: True),
    "error_rate_of": (lambda f, y, h: h != y, lambda y, h: True),
    "recall_of": (lambda f, y, h: h, lambda y, h: y),
    "false_positive_rate_of": (lambda f, y, h: h, lambda y, h: not y),
}
# Quotients: what the numerator and the denominator count.
RATIOS = {
    "precision": (lambda f, y, h: f and y, lambda f, y, h: f),
    "false_discovery_rate": (lambda f, y, h: f and not y, lambda f, y, h: f),
    "negative_predictive_value": (lambda f, y, h: not f and not y, lambda f, y, h: not f),
    "false_omission_rate": (lambda f, y, h: not f and y, lambda f, y, h: not f),
    "jaccard": (lambda f, y, h: f and y, lambda f, y, h: f or y),
    "f_score": (lambda f, y, h: 2 * int(f and y), lambda f, y, h: int(f) + int(y)),
    "win_loss_ratio": (DEFINITIONS["wins"][0], DEFINITIONS["losses"][0]),
}
# Options of a cost, and what a false negative and a false positive cost on a row.
COSTS = [
    ({"false_negative": 10, "false_positive": 1}, lambda row: (10, 1)),
    ({"false_positive": 2.5}, lambda row: (1, 2.5)),
    ({"false_negative": 0, "false_positive": 3}, lambda row: (0, 3)),
    ({"column": "loan"}, lambda row: (row.loan, row.loan)),
    ({"false_negative": 3, "column": "loan"}, lambda row: (3 * row.loan, row.loan)),
    ({"false_negative": "loan", "false_positive": "fee"}, lambda row: (row.loan, row.fee)),
    ({"false_negative": "loan", "false_positive": 0.5}, lambda row: (row.loan, 0.5)),
]
VERSUS = {
    "churn",
    "loss_only_churn",
    "wins",
    "losses",
    "positive_rate_of",
    "accuracy_of",
    "error_rate_of",
    "recall_of",
    "false_positive_rate_of",
    "win_loss_ratio",
}
COUNTS = {kind for kind, (_, among) in DEFINITIONS.items() if among is None}
TOTALS = COUNTS | {"cost"}  # rates that may be given per a number of rows
WITHOUT_LABELS = {"positive_rate", "coverage", "negative_rate", "predicted_positives",
                  "predicted_negatives", "decisions", "churn", "positive_rate_of"}  # fmt: skip


class Undefined(Exception):
    """The definition divides by zero, or names a value or label that does not occur."""


@dataclass
class Data:
    """Rows as plain objects."""

    rows: list[Any]
    labelled: bool


@dataclass
class Words:
    """A rate or a condition in the package's words, beside what it means."""

    said: Any
    meant: Any


def measure(spec, data, scores, thresholds):
    """The value of a rate; for a quotient its two counts and the weight of the subset, as a tuple."""
    population = data[spec.on or "train"]
    if not population.labelled and spec.kind not in WITHOUT_LABELS:
        raise Undefined
    for column, value in spec.subset.meant.needs:
        if not any(getattr(row, column) == value for row in population.rows):
            raise Undefined
    at = 0 if spec.at is None else thresholds.get(spec.at, spec.at)
    yes = {id(row): s >= at for row, s in zip(population.rows, scores[spec.on or "train"], strict=True)}
    inside = [row for row in population.rows if spec.subset.meant.holds(row)]

    def total(counted):
        return sum(row.weight * counted(yes[id(row)], row.y, row.live) for row in inside)

    if spec.kind in RATIOS:
        over = total(lambda f, y, h: True)
        if over == 0:
            raise Undefined
        return *map(total, RATIOS[spec.kind]), over
    if spec.kind == "cost":
        return cost(spec, population, inside, yes)
    counted, among = DEFINITIONS[spec.kind]
    if among is None:
        everyone = sum(row.weight for row in population.rows)
        return total(counted) * (1 if spec.per is None else spec.per / everyone)
    over = total(lambda f, y, h: among(y, h))
    if over == 0:
        raise Undefined
    return total(lambda f, y, h: among(y, h) and counted(f, y, h)) / over


def cost(spec, population, inside, yes):
    """The cost of errors: the mean over the rows `inside`, or the total per a number of all rows."""
    options, costs = spec.costs
    if "loan" in options.values() and not any(row.loan for row in population.rows):
        raise Undefined
    total, over = 0.0, sum(row.weight for row in (inside if spec.per is None else population.rows))
    for row in inside:
        missed, false_alarm = costs(row)
        wrong = yes[id(row)] != row.y
        total += row.weight * (missed if row.y else false_alarm) * wrong
    if over == 0:
        raise Undefined
    return total / over * (1 if spec.per is None else spec.per)


# ---- random data -------------------------------------------------------------------------------------

SCORES = st.sampled_from([-2.0, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 3.0])  # some tie with thresholds
COLUMNS = ("sex", "age", "member", "loan", "fee")
THRESHOLDS = {"t": 0.5, "a longer name": -1.0}
rows = st.builds(
    SimpleNamespace,
    sex=st.sampled_from("FM"),
    age=st.integers(0, 3),
    member=st.booleans(),
    y=st.booleans(),
    live=st.booleans(),
    weight=st.sampled_from([0.0, 0.5, 1.0, 2.5]),
    loan=st.sampled_from([0.0, 0.5, 20.0, 300.0]),
    fee=st.sampled_from([1, 7]),
)


def one_of_each():
    """Rows that hold every value of every column, so that most rates are defined on them."""
    every = product("FM", (False, True), (False, True))
    return [SimpleNamespace(sex=s, age=i % 4, member=i % 3 == 0, y=y, live=h, weight=1.5, loan=i, fee=2)
            for i, (s, y, h) in enumerate(every)]  # fmt: skip


@st.composite
def populations(draw, labelled=True, thorough=False):
    """A population of the package, beside its plain rows."""
    people = draw(st.lists(rows, min_size=4, max_size=10)) + (one_of_each() if thorough else [])
    weighted = draw(st.booleans())
    if not weighted:
        for row in people:
            row.weight = 1
    assume(any(row.weight for row in people))
    no, yes = draw(st.sampled_from([(0, 1), (-1, 1), (False, True), (0.0, 1.0)]))
    columns = {name: [getattr(row, name) for row in people] for name in COLUMNS}
    columns["live"] = [yes if row.live else no for row in people]
    y = [yes if row.y else no for row in people] if labelled else None
    weights = [row.weight for row in people] if weighted else None
    return Words(rb.Population(None, y, columns=columns, weights=weights), Data(people, labelled))


@st.composite
def worlds(draw, thorough=False):
    """Populations by name, and scores (K, n) for each."""
    by_name = {
        "train": draw(populations(thorough=thorough)),
        "pool": draw(populations(labelled=False, thorough=thorough)),
        "experts": draw(populations(thorough=thorough)),
    }
    K = draw(st.integers(1, 3))
    scores = {name: np.array([[draw(SCORES) for _ in p.meant.rows] for _ in range(K)])
              for name, p in by_name.items()}  # fmt: skip
    return by_name, scores


# ---- random words ------------------------------------------------------------------------------------


def condition(said, holds, *needs):
    return Words(said, SimpleNamespace(holds=holds, needs=needs))


age, sex, member = rb.column("age"), rb.column("sex"), rb.column("member")
EVERYONE = condition(rb.where(), lambda r: True)
CONDITIONS = [
    condition(sex == "F", lambda r: r.sex == "F", ("sex", "F")),
    condition(sex != "M", lambda r: r.sex != "M", ("sex", "M")),
    condition(sex < "M", lambda r: r.sex < "M"),
    condition(age == 2, lambda r: r.age == 2, ("age", 2)),
    condition(age < 2, lambda r: r.age < 2),
    condition(age <= 2.5, lambda r: r.age <= 2.5),
    condition(age > 1, lambda r: r.age > 1),
    condition(age >= 1, lambda r: r.age >= 1),
    condition(age.isin([0, 1]), lambda r: r.age in (0, 1), ("age", 0), ("age", 1)),
    condition(member == True, lambda r: r.member, ("member", True)),  # noqa: E712
    condition(member == 0, lambda r: not r.member, ("member", False)),
]


def both(a, b):
    holds = lambda r: a.meant.holds(r) and b.meant.holds(r)  # noqa: E731
    return condition(a.said & b.said, holds, *a.meant.needs, *b.meant.needs)


def either(a, b):
    holds = lambda r: a.meant.holds(r) or b.meant.holds(r)  # noqa: E731
    return condition(a.said | b.said, holds, *a.meant.needs, *b.meant.needs)


def neither(a):
    return condition(~a.said, lambda r: not a.meant.holds(r), *a.meant.needs)


subsets = st.just(EVERYONE) | st.recursive(
    st.sampled_from(CONDITIONS),
    lambda inner: (
        st.builds(both, inner, inner) | st.builds(either, inner, inner) | st.builds(neither, inner)
    ),
    max_leaves=3,
)


@st.composite
def rates(draw, kinds):
    kind = draw(st.sampled_from(kinds))
    places = [None, "train", "experts", "pool"] * 5
    if kind not in WITHOUT_LABELS:
        places = [p for p in places if p != "pool"] + ["pool"]  # a mistake now and then
    spec = SimpleNamespace(
        kind=kind,
        subset=draw(subsets),
        on=draw(st.sampled_from(places)),
        at=draw(st.sampled_from([None, None, 0.0, -0.5, 1.0, *THRESHOLDS])),
        per=draw(st.sampled_from([None, 40, 2.5])) if kind in TOTALS else None,
        costs=draw(st.sampled_from(COSTS)) if kind == "cost" else ({}, None),
    )
    options = {"versus": "live"} if spec.kind in VERSUS else spec.costs[0].copy()
    options |= {} if spec.per is None else {"per": spec.per}
    said = getattr(rb, spec.kind)(spec.subset.said, on=spec.on, at=spec.at, **options)
    return Words(said, spec)


coefficients = st.sampled_from([1.0, -1.0, 0.5, -2.0, 0.3, 1e-3])


@st.composite
def sums(draw):
    """Two expressions without a rate in common, and the terms and constants they are made of."""
    kinds = rates([*DEFINITIONS, "cost"])
    some = st.lists(kinds, min_size=1, max_size=4, unique_by=lambda w: str(w.said))
    terms = draw(some)
    cut = draw(st.integers(1, len(terms)))
    sides = []
    for part in (terms[:cut], terms[cut:]):
        factors = [draw(coefficients) for _ in part]
        constant = draw(st.sampled_from([0.0, 0.2, -0.7]))
        said = sum((c * w.said for c, w in zip(factors, part, strict=True)), rb.Expression()) + constant
        sides.append(Words(said, (factors, [w.meant for w in part], constant)))
    return sides


def total(side, *world):
    factors, specs, constant = side.meant
    return sum(c * measure(spec, *world) for c, spec in zip(factors, specs, strict=True)) + constant


@st.composite
def promises(draw):
    """A constraint, beside a function from data to its violation."""
    if draw(st.integers(0, 3)) == 0:
        ratio, bound = draw(rates(list(RATIOS))), draw(st.sampled_from([0.3, 0.7, 1.3]))
        least = draw(st.booleans())

        def violated(*world):
            top, bottom, over = measure(ratio.meant, *world)
            value = (bound * bottom - top) / over * (1 if least else -1)
            if bottom > 0 and abs(value) > 1e-9:  # the cross-multiplied sign is the ratio's own
                assert (value <= 0) == (top / bottom >= bound if least else top / bottom <= bound)
            return value

        return Words(ratio.said >= bound if least else ratio.said <= bound, violated)
    left, right = draw(sums())
    if draw(st.booleans()):
        return Words(left.said <= right.said, lambda *w: total(left, *w) - total(right, *w))
    return Words(left.said >= right.said, lambda *w: total(right, *w) - total(left, *w))


# ---- the properties ----------------------------------------------------------------------------------


def is_in_reach(constraint, data, scores):
    """Whether the promise is not refused as one that no model keeps; if so, these models break it."""
    try:
        rb.Problem("error_rate()", [constraint.said])
    except ValueError:
        with suppress(Undefined):
            assert constraint.meant(data, {n: s[0] for n, s in scores.items()}, THRESHOLDS) >= 0
        return False
    return True


def check(objective, constraints, world):
    """Compile, evaluate K scores in every possible way, and compare with the definitions."""
    populations, scores = world
    given_populations = {name: p.said for name, p in populations.items()}
    data = {name: p.meant for name, p in populations.items()}
    constraints = [c for c in constraints if is_in_reach(c, data, scores)]
    high = wanted(objective.said) == {"more"}  # so it cannot be minimised
    problem = rb.Problem(
        subject_to=[c.said for c in constraints], **{"maximize" if high else "minimize": objective.said}
    )
    sign = -1 if high else 1
    measures = [lambda *w: sign * total(objective, *w), *(c.meant for c in constraints)]
    try:
        rb.compile(problem, **given_populations)
    except ValueError as error:  # a count that these rows cannot reach
        if "no model can keep this" in str(error):
            return
    K = len(scores["train"])
    try:
        expected = np.array(
            [
                [m(data, {n: s[k] for n, s in scores.items()}, THRESHOLDS) for m in measures]
                for k in range(K)
            ]
        )
    except Undefined:
        with pytest.raises(ValueError, match=r"population '\w+': .*\(in the (objective|constraint)"):
            rb.compile(problem, **given_populations)
        return
    compiled = rb.compile(problem, **given_populations)
    assert compiled.constraints == compiled.problem.subject_to
    assert len(compiled.constraints) == len(problem.subject_to)

    def evaluate(scores):
        objective, violations = compiled.evaluate(scores, thresholds=THRESHOLDS)
        return np.concatenate([np.asarray(objective)[..., None], violations], axis=-1)

    stacked = np.concatenate([scores[name] for name in given_populations], axis=1)
    together = evaluate(stacked)
    np.testing.assert_allclose(together, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(evaluate(scores), together)
    for k in range(K):
        np.testing.assert_allclose(evaluate(stacked[k]), together[k], rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(
            evaluate({n: s[k] for n, s in scores.items()}), evaluate(stacked[k])
        )


@pytest.mark.parametrize("kind", [*DEFINITIONS, "cost", *RATIOS])
def test_each_rate(kind):
    """As the only constraint, on any population and subset, at any threshold."""
    plain = Words(
        rb.positive_rate(), SimpleNamespace(kind="positive_rate", subset=EVERYONE, on=None, at=None)
    )
    objective = Words(plain.said, ([1.0], [plain.meant], 0.0))

    @steady(20)
    @given(worlds(), rates([kind]))
    def holds(world, rate):
        if kind in RATIOS:

            def violated(*w):
                top, bottom, over = measure(rate.meant, *w)
                return (0.6 * bottom - top) / over

            return check(objective, [Words(rate.said >= 0.6, violated)], world)
        check(objective, [Words(rate.said <= 0.6, lambda *w: measure(rate.meant, *w) - 0.6)], world)

    holds()


@steady(100)
@given(sums(), st.lists(promises(), min_size=1, max_size=4), worlds(thorough=True))
def test_random_problems(objectives, constraints, world):
    check(objectives[0], constraints, world)


def test_every_rate_of_the_language_has_a_definition_here():
    ours = {name: kind for name, kind in KINDS.items() if hasattr(rb, name)}  # others may define some
    del ours["confusion"]  # of two classes together; see `test_several_classes`
    del ours["referred"], ours["referrals"]  # of a third decision; see `test_refer`
    del ours["ranked_right"]  # of pairs; see `test_pairs`
    assert {name for name, kind in ours.items() if kind.counts} == {*DEFINITIONS, "cost"}
    assert {name for name, kind in ours.items() if kind.sides} == set(RATIOS)
    assert {name for name, kind in ours.items() if kind.unit == "count"} == COUNTS
    assert {name for name, kind in ours.items() if kind.versus} == VERSUS
    assert {name for name, kind in ours.items() if not kind.labels} == WITHOUT_LABELS


@pytest.mark.parametrize("thresholds", [0.5, [0.5], [0.5, -1.0], np.array([[0.5], [-1.0]])])
def test_learned_thresholds_may_differ_between_models(thresholds):
    people = rb.Population(None, [0, 1, 1])
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.recall(at="t") >= 1]), people)
    scores = np.array([[-2.0, 0.4, 0.6]] * max(1, np.size(thresholds)))
    _, violations = compiled.evaluate(scores, thresholds={"t": thresholds})
    np.testing.assert_allclose(violations, [[0.5], [0.0]][: len(scores)])
    assert compiled.learnable == ("t",)
    with pytest.raises(ValueError, match=r"threshold 't' is learned.*thresholds="):
        compiled.evaluate(scores)
