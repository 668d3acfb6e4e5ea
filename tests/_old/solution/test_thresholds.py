"""Thresholds by group against the whole linear program written out, and every policy there is."""

from dataclasses import replace
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.game import programs
from ratebound._old.game.candidates import candidates_of
from ratebound._old.solution.mixture import mixture as mixed
from ratebound._old.tables.fitting import fit_encoding

from ..extras import pd

# Programs this small are whole from the beginning, unless columns are all to be generated.
FROM_SCRATCH = patch.object(programs, "FIRST", 0)
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def steady(examples):
    """The same examples every time, on a machine of any speed."""
    slow = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    return settings(derandomize=True, deadline=None, max_examples=examples, suppress_health_check=slow)


# --- the answer, by other means ------------------------------------------------------------------


def best_mixture(values, groups):
    """Least violation and least objective of columns (k, 1+m), each group's weights summing to 1."""
    f, G = values[:, 0], values[:, 1:]
    sums = (np.arange(groups.max() + 1)[:, None] == groups).astype(float)
    ones, m = np.ones(len(sums)), G.shape[1]
    if not m:
        return 0.0, linprog(f, A_eq=sums, b_eq=ones, method="highs", options=TIGHT).fun
    first = linprog(
        np.append(np.zeros(len(f)), 1.0),
        A_ub=np.column_stack([G.T, -np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=np.column_stack([sums, np.zeros(len(sums))]),
        b_eq=ones,
        method="highs",
        options=TIGHT,
    )
    least = max(first.fun, 0.0) if first.fun > 1e-9 else 0.0
    room = 1e-9 * (least > 0)
    second = linprog(
        f, A_ub=G.T, b_ub=np.full(m, least + room), A_eq=sums, b_eq=ones, method="highs", options=TIGHT
    )
    return least, second.fun


def all_columns(compiled, scores, group):
    """Every group, model and threshold: what its yeses add; what all noes come to is with group 0.

    Constraints are in the units violations are compared in.
    """
    none = np.append(*compiled.evaluate(np.full(len(group), -1.0)))
    values, groups = [], []
    for each, one in product(range(group.max() + 1), np.atleast_2d(scores)):
        for level in [*np.unique(one[group == each]), np.inf]:
            yes = (one >= level) & (group == each)
            found = np.append(*compiled.evaluate(np.where(yes, 1.0, -1.0)))
            values.append(found - none * (each > 0))
            groups.append(each)
    return in_units(compiled, np.array(values)), np.array(groups)


def in_units(compiled, values):
    return values / np.append(1.0, compiled.scale[1:])


def all_policies(compiled, scores, group):
    """Every choice of thresholds by group, as one decision on all rows, to be mixed as a whole."""
    levels = [[*np.unique(scores[group == each]), np.inf] for each in range(group.max() + 1)]
    at = np.array(list(product(*levels)))
    objectives, violations = compiled.evaluate(np.where(scores >= at[:, group], 1.0, -1.0))
    values = in_units(compiled, np.column_stack([objectives, violations]))
    return values, np.zeros(len(at), dtype=int)


def assert_best(policy, compiled, scores, least, best):
    """It is as good and as small as possible, and its record equals what it does."""
    columns = compiled.populations["train"].columns
    found, m = policy.decider, len(compiled.constraints)
    objectives, violations = compiled.evaluate(policy.member_scores(scores, columns=columns).T)
    scale = compiled.scale[1:].max(initial=1.0)
    assert policy.objectives["train"] == pytest.approx(policy.weights @ objectives, abs=1e-12)
    np.testing.assert_allclose(
        policy.violations["train"], policy.weights @ violations, atol=1e-12 * scale
    )
    assert (policy.violations["train"] / compiled.scale[1:] <= least + 1e-9).all()
    assert policy.objectives["train"] <= best + 1e-7 * (least > 0) + 1e-9
    if least == 0:
        assert policy.objectives["train"] >= best - 1e-9
    assert policy.status.feasible == (least <= 1e-9)
    assert len(policy) <= m + 1
    differs = (found.at != found.at[0])[..., 0] | (found.model != found.model[0])
    assert differs.any(axis=0).sum() <= m  # so many groups leave something to chance
    assert policy.weights.min() > 0
    assert policy.weights.sum() == pytest.approx(1, abs=1e-12)


# --- random problems -----------------------------------------------------------------------------

BOUNDS = st.sampled_from([0.0, 0.2, 0.35, 0.5, 0.6, 0.8, 0.95])
GROUPS = st.sampled_from([{}, {"sex": "F"}, {"sex": "M"}, {"old": True}])
CONSTRAINTS = [
    lambda b, g: rb.recall(**g) >= b,
    lambda b, g: rb.recall(**g) >= b * rb.recall(),
    lambda b, g: rb.false_positive_rate(**g) <= b,
    lambda b, g: rb.positive_rate(**g) <= b,
    lambda b, g: rb.positive_rate(**g) >= b * rb.positive_rate(),
    lambda b, g: rb.precision(**g) >= b,
    lambda b, g: rb.churn(versus="live", **g) <= b,
    lambda b, g: rb.accuracy(**g) >= b,
    lambda b, g: rb.predicted_positives(**g) <= 6 * b,
    lambda b, g: rb.true_positives(**g) >= 4 * b,
]
OBJECTIVES = [
    rb.error_rate(),
    rb.false_positive_rate(),
    -rb.recall(),
    rb.error_rate() + rb.churn(versus="live"),
]
promises = st.builds(lambda make, b, g: make(b, g), st.sampled_from(CONSTRAINTS), BOUNDS, GROUPS)


@st.composite
def cases(draw, models=1):
    """A compiled problem, scores full of ties, and known columns."""
    rows = draw(st.integers(4, 12))

    def column(values):
        return np.array(draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows)))

    columns = {"sex": column("FM"), "old": column([False, True]), "live": column([0, 1])}
    weights = column([0.0, 0.5, 1.0, 2.5]) if draw(st.booleans()) else None
    y = column([0, 1])
    assume(weights is None or weights.any())
    problem = rb.Problem(
        draw(st.sampled_from(OBJECTIVES)), draw(st.lists(promises, min_size=0, max_size=5))
    )
    try:
        compiled = rb.compile(problem, rb.Population(None, y, columns=columns, weights=weights))
    except ValueError:  # a group that is not there
        assume(False)
    scores = np.array([column([-1.0, 0.0, 0.25, 1.0, 2.0, 3.0]) for _ in range(models)])
    known = draw(st.sampled_from([[], ["sex"], ["live"], ["sex", "old"], ["old", "live", "sex"]]))
    for name in known:  # a column that happens to be the label is refused
        assume(len(set(zip(columns[name].tolist(), y.tolist(), strict=True))) != 2 or len(set(y)) != 2)
    return compiled, scores, known


@steady(90)
@given(cases())
def test_it_is_the_whole_program_and_the_best_of_all_policies(case):
    compiled, (scores,), known = case
    with FROM_SCRATCH:
        policy = rb.thresholds(compiled.problem, scores, compiled.populations["train"], known=known)
    group = policy.decider.rows(scores, compiled.populations["train"].columns)
    least, best = best_mixture(*all_columns(compiled, scores, group))
    assert_best(policy, compiled, scores, least, best)
    values, groups = all_policies(compiled, scores, group)
    if len(values) <= 3000:
        np.testing.assert_allclose(best_mixture(values, groups), (least, best), atol=1e-7)


@steady(45)
@given(cases(models=3))
def test_it_is_the_whole_program_of_several_models(case):
    compiled, scores, known = case
    with FROM_SCRATCH:
        policy = rb.thresholds(compiled.problem, scores, compiled.populations["train"], known=known)
    group = policy.decider.rows(scores.T, compiled.populations["train"].columns)
    assert_best(policy, compiled, scores.T, *best_mixture(*all_columns(compiled, scores, group)))


def people(rows, seed=0, **options):
    """Two groups of different means, labels that scores only half explain, and a live model."""
    random = np.random.default_rng(seed)
    sex, race = random.choice(["F", "M"], rows), random.choice(["a", "b", "c"], rows)
    x = random.normal(size=rows) + 0.7 * (sex == "M")
    y = x + random.normal(size=rows) > 0.8
    live = x + random.normal(size=rows) > 0.5
    X = np.column_stack([x, random.normal(size=rows)])
    return x, rb.Population(X, y, columns={"sex": sex, "race": race, "live": live}, **options)


PROBLEMS = {
    "opportunity": rb.equal_opportunity({"sex": ("F", "M"), "race": ("a", "b", "c")}, slack=0.005),
    "odds": rb.equalized_odds({"sex": ("F", "M")}, slack=0.01),
    "churn": [rb.churn(versus="live") <= 0.1, rb.recall(sex="F") >= 0.7, rb.precision() >= 0.6],
    "counts": [rb.predicted_positives() <= 180, rb.true_positives(sex="F") >= 31.5],
    "impossible": [rb.recall() >= 0.99, rb.positive_rate() <= 0.2, rb.precision(sex="F") >= 0.7],
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("known", [[], ["sex", "race"], ["live", "sex"]], ids=" ".join)
@pytest.mark.parametrize("name", PROBLEMS)
def test_hundreds_of_thresholds(name, known, weighted):
    weights = np.random.default_rng(1).uniform(0.2, 2, 400) if weighted else None
    scores, population = people(400, weights=weights)
    compiled = rb.compile(rb.Problem(rb.error_rate(), PROBLEMS[name]), population)
    with FROM_SCRATCH:
        policy = rb.thresholds(compiled.problem, scores, population, known=known)
    group = policy.decider.rows(scores, population.columns)
    assert_best(policy, compiled, scores, *best_mixture(*all_columns(compiled, scores, group)))


def test_without_constraints_it_is_the_best_threshold_of_each_group():
    scores, population = people(500)
    policy = rb.thresholds(rb.Problem(rb.error_rate()), scores, population, known=["sex"])
    assert len(policy) == 1
    for (sex,), at in zip(policy.decider.groups, policy.decider.at[0, :, 0], strict=True):
        own = population.columns["sex"] == sex
        errors = [
            np.mean((scores[own] >= t) != population.y[own]) for t in [*scores[own], -np.inf, np.inf]
        ]
        assert np.mean((scores[own] >= at) != population.y[own]) == min(errors)


def test_a_conflict_is_named():
    scores, population = people(300)
    problem = rb.Problem(
        rb.error_rate(), [rb.positive_rate() <= 0.2, rb.recall() >= 0.9, 'churn(versus="live") <= 0.9']
    )
    policy = rb.thresholds(problem, scores, population, known=["sex"])
    assert set(policy.status.conflict) == set(problem.subject_to[:2])
    assert "cannot be kept together by any thresholds on these scores" in str(policy.status)
    assert "use better scores" in str(policy.status)


def test_knowing_more_never_costs():
    scores, population = people(400)
    problem = rb.Problem(rb.error_rate(), PROBLEMS["opportunity"])
    found = [
        rb.thresholds(problem, scores, population, known=known).objectives["train"]
        for known in ([], ["sex"], ["sex", "race"], ["race", "live", "sex"])
    ]
    assert all(np.diff(found) <= 1e-12)


def test_thresholds_lie_between_scores():
    compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(None, [0, 1, 1, 0, 1]))
    close = np.nextafter(1.0, 2.0)
    found = candidates_of(
        compiled, np.array([[1.0, close, 5e-324, 0.0, -1e308]]), np.zeros(5, dtype=int)
    )
    assert found.at(np.arange(6))[:, 0].tolist() == [np.inf, close, 0.5, 5e-324, -5e307, -np.inf]
    apart = candidates_of(compiled, np.array([[1.0, close, 3.0, 0.0, 5.0]]), np.zeros(5, dtype=int), 0.1)
    assert apart.at(np.arange(5))[:, 0].tolist() == [np.inf, 4.0, 2.0, 0.5, -np.inf]


# --- on models -----------------------------------------------------------------------------------

FAIR = rb.Problem(rb.error_rate(), PROBLEMS["opportunity"])


@pytest.fixture(scope="module")
def game():
    _, population = people(1500)
    trace = rb.play(rb.compile(FAIR, population), rb.Linear(0.05), rounds=200, keep=rb.Keep(10))
    return trace, population


@pytest.mark.parametrize("known", [[], ["sex"], ["sex", "race"]], ids=" ".join)
def test_on_top_of_a_game(game, known, tmp_path):
    trace, population = game
    policy = rb.thresholds(FAIR, trace, population, known=known)
    assert policy.objectives["train"] <= rb.shrink(trace).objectives["train"] + 1e-9
    assert policy.status.feasible
    assert len(policy.parameters) == policy.decider.model.max() + 1  # the others are not kept
    compiled = rb.compile(FAIR, population)
    for one in (policy, rb.load(policy.save(tmp_path / "policy"))):
        scores = one.member_scores(population.X, columns=population.columns)
        objectives, violations = compiled.evaluate(scores.T)
        assert one.weights @ objectives == pytest.approx(policy.objectives["train"], abs=1e-12)
        np.testing.assert_allclose(one.weights @ violations, policy.violations["train"], atol=1e-12)
    report = rb.audit(FAIR, policy, population)
    assert report.kept
    assert report.objective.value == pytest.approx(policy.objectives["train"])
    table = pd.DataFrame(population.X).assign(**population.columns)
    np.testing.assert_array_equal(
        policy.predict(population.X, columns=table),
        policy.predict(population.X, columns=population.columns),
    )


def test_a_game_of_whole_program_size(game):
    trace, population = game
    few, rows = trace.only(np.arange(0, len(trace), 7)), np.arange(300)
    some = population.only(rows)
    compiled = rb.compile(FAIR, some)
    scores = few.scorer.scores(few.parameters, some.X)[:, 0]
    policy = rb.thresholds(FAIR, few, some, known=["sex"])
    group = policy.decider.rows(some.X, some.columns)
    least, best = best_mixture(*all_columns(compiled, scores, group))
    assert_best(policy, compiled, some.X, least, best)


def test_on_top_of_a_mixture_with_its_encoding(game):
    trace, population = game
    raw = pd.DataFrame({"x": 10 * population.X[:, 0] + 3, "z": population.X[:, 1]})
    encoding = fit_encoding(raw)
    table = raw.assign(**population.columns)
    given = rb.Population(table, population.y)
    whole = replace(mixed(trace, np.ones(len(trace))), encoding=encoding, classes=("no", "yes"))
    whole = replace(whole, decider=whole.decider.salted(7))
    policy = rb.thresholds(FAIR, whole, given, known=["sex"])
    assert (policy.encoding, policy.classes, policy.decider.draw.salt) == (encoding, ("no", "yes"), 7)
    assert set(policy.predict(table)) == {"no", "yes"}  # the table holds what is known
    np.testing.assert_array_equal(policy.predict(raw, columns=population.columns), policy.predict(table))
    with pytest.raises(ValueError, match="already"):
        rb.thresholds(FAIR, policy, given, known=["sex"])


def test_several_populations():
    scores, population = people(300)
    other_scores, experts = people(200, seed=3)
    problem = rb.Problem(rb.error_rate(), [rb.recall(on="experts") >= 0.8, rb.positive_rate() <= 0.6])
    policy = rb.thresholds(
        problem,
        {"train": scores, "experts": other_scores},
        population,
        experts=experts,
        known=["sex"],
    )
    compiled = rb.compile(problem, population, experts=experts)
    stacked = np.append(scores, other_scores)
    sexes = {"sex": np.append(population.columns["sex"], experts.columns["sex"])}
    group = policy.decider.rows(stacked, sexes)
    least, best = best_mixture(*all_columns(compiled, stacked, group))
    assert least == 0
    assert policy.objectives["train"] == pytest.approx(best, abs=1e-9)
    assert (policy.violations["train"] <= 1e-9).all()
    report = rb.audit(
        problem,
        policy,
        rb.Population(scores, population.y, columns=population.columns),
        experts=rb.Population(other_scores, experts.y, columns=experts.columns),
    )
    assert report.kept


# --- what is refused -----------------------------------------------------------------------------

SCORES, PEOPLE = people(200)
PLAIN = rb.Problem(rb.error_rate())
EXTRA = {
    **PEOPLE.columns,
    "label": np.where(PEOPLE.y, "good", "bad"),
    "age": SCORES,
    "county": np.arange(200) % 15,
    "job": np.arange(200) % 7,
    "day": np.full(200, np.datetime64("2020-01-01")),
}
GIVEN = rb.Population(None, PEOPLE.y, columns=EXTRA)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (["label"], "column 'label' equals the label on every row.*leave it out"),
        (["age"], "column 'age' makes 200 groups.*bin it first"),
        (["county", "job"], "'county', 'job' together make 105 groups.*leave one out"),
        (["sexx"], "no column 'sexx', did you mean 'sex'"),
        (["day"], "make it a text or a number first"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_columns_that_cannot_be_known(known, words):
    with pytest.raises(ValueError, match=words):
        rb.thresholds(PLAIN, SCORES, GIVEN, known=known)


def test_known_is_a_column_or_several():
    one, listed = (rb.thresholds(PLAIN, SCORES, GIVEN, known=known) for known in ("sex", ["sex"]))
    assert one.decider.known == listed.decider.known
    with pytest.raises(TypeError, match=r"known takes columns, .* got 5"):
        rb.thresholds(PLAIN, SCORES, GIVEN, known=5)


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (
            rb.recall(at=0.5) >= 0.9,
            "recall.at=0.5. >= 0.9 is about decisions at a threshold other than.*leave at= out",
        ),
        (rb.recall(at="t") >= 0.9, 'recall.at="t". >= 0.9 is about decisions'),
        (
            rb.roc_auc() >= 0.7,
            "roc_auc.* is about decisions at a threshold other than.*choose scores that keep it",
        ),
    ],
    ids=["at", "learned", "area"],
)
def test_rates_at_other_thresholds(constraint, words):
    with pytest.raises(ValueError, match=words):
        rb.thresholds(rb.Problem(rb.error_rate(), [constraint]), SCORES, GIVEN, known=["sex"])


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (np.where(SCORES > 1, np.nan, SCORES), "NaN or infinite"),
        (np.where(SCORES > 1, np.inf, SCORES), "NaN or infinite"),
        (SCORES[1:], "shape .199,.: expected a number for each of its 200 rows"),
        (np.column_stack([SCORES, SCORES]), "or .B, n. of several models"),
        (SCORES.astype(str), "expected a number"),
    ],
    ids=["nan", "inf", "short", "turned", "text"],
)
def test_scores_that_are_none(scores, words):
    with pytest.raises(ValueError, match=words):
        rb.thresholds(PLAIN, scores, GIVEN, known=["sex"])


def test_populations_that_do_not_fit():
    with pytest.raises(ValueError, match="'experts' are missing"):
        rb.thresholds(PLAIN, {"train": SCORES}, GIVEN, experts=GIVEN, known=["sex"])
    with pytest.raises(TypeError, match="scores are a mapping too"):
        rb.thresholds(PLAIN, SCORES, GIVEN, experts=GIVEN, known=["sex"])
