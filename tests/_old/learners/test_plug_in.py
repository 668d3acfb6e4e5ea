"""The plug-in learner: forecasts of cells, and rules at multipliers."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import ratebound._old as rb
from ratebound._old.auditing.influence import covariance, row_moves
from ratebound._old.auditing.judged import scored as judged_scores
from ratebound._old.auditing.tallying import NOBODY, tallied
from ratebound._old.estimators.rules import Finer, rules_for, rules_of
from ratebound._old.game.folding import folded
from ratebound._old.learners.forecast import learn
from ratebound._old.learners.oracle import Oracle
from ratebound._old.learners.plug_in import PlugIn, expected, scored, terms_of

from ..small_tables import animals, people

PARITY = rb.positive_rate(group="b") >= 0.9 * rb.positive_rate(group="a")


class Known(ClassifierMixin, BaseEstimator):
    """A classifier that knows the probabilities: the features are these, one column for each answer."""

    def __init__(self, first=0, count=2):
        self.first, self.count = first, count

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.arange(self.count)
        return self

    def predict_proba(self, X):
        own = np.asarray(X)[:, self.first : self.first + self.count]
        return own / own.sum(axis=1, keepdims=True)


def compiled_people(n=600, seed=0, promises=(PARITY,), **how):
    table = people(n, seed, shift=0.8, **how)
    return rb.compile(rb.Problem("error_rate()", list(promises)), table.population())


def rules_on(compiled, model="linear", seed=0):
    learner, split = PlugIn(model), folded(compiled, 5, seed)
    forecast, outside = learner.learn(compiled, split, seed)
    return rules_of(compiled, forecast, outside, split.splits[0], seed)


def test_what_decisions_cost_is_the_sum_over_cells():
    rules = rules_on(compiled_people())
    compiled, weights = rules.compiled, np.array([[1.0, 0.7], [1.0, 0.0]])
    costs = weights @ compiled.matrix * len(compiled.cells)  # λ · C, cell by cell
    by_hand = -(costs @ rules.outside)
    np.testing.assert_allclose(rules.scores(weights)[:, 0], by_hand, atol=1e-12)


def test_forecasts_are_probabilities_and_nearly_true():
    compiled = compiled_people(4000)
    rules = rules_on(compiled)
    np.testing.assert_allclose(rules.outside.sum(axis=0), 1.0, atol=1e-9)
    shares = np.bincount(compiled.cells, minlength=compiled.cell_count) / len(compiled.cells)
    np.testing.assert_allclose(rules.outside.mean(axis=1), shares, atol=0.01)


def test_with_true_probabilities_no_rule_is_better():
    """By brute force: rows of few kinds, whose cells have known chances; all decisions are tried."""
    random = np.random.default_rng(0)
    kinds = random.dirichlet(np.ones(4), size=8)  # P(label, group | kind)
    kind = np.repeat(np.arange(8), 500)
    cell = np.array([random.choice(4, p=kinds[k]) for k in kind])
    y, group = cell >= 2, np.where(cell % 2 == 0, "a", "b")
    likely = np.column_stack([kinds[:, :2].sum(1), kinds[:, 2:].sum(1), kinds])[kind]
    population = rb.Population(likely, y, columns={"group": group})
    compiled = rb.compile(rb.Problem("error_rate()", [rb.recall(group="b") >= 0.9]), population)
    labels = Oracle(Known(0, 2))
    split = folded(compiled, 5, 0)
    forecast, outside = learn(compiled, labels, Oracle(Known(4, 2)), split.of, 5, 0)
    rules = rules_of(compiled, forecast, outside, split.splits[0], 0)
    best = rules.best(np.zeros(1))
    tried = [
        compiled.evaluate(np.array(each)[kind]) for each in itertools.product((-1.0, 1.0), repeat=8)
    ]
    least = min(float(objective) for objective, violations in tried if violations[0] <= 0)
    assert best.violations[0] <= 1e-9
    assert best.objective <= least + 0.02  # what chances leave open: kinds are decided as a whole


@pytest.mark.parametrize("promises", [[PARITY], [PARITY, rb.recall() >= 0.75]])
def test_no_multipliers_on_a_grid_do_better(promises):
    rules = rules_on(compiled_people(800, promises=promises))
    best = rules.best(np.zeros(len(promises)))
    assert (best.violations <= 1e-9).all()
    grid = np.array(list(itertools.product(np.linspace(0, 2, 41), repeat=len(promises))))
    values = rules.ask(np.column_stack([np.ones(len(grid)), grid]))
    fine = (values[:, 1:] <= 0).all(axis=1)
    assert best.objective <= values[fine, 0].min(initial=np.inf) + 2e-3


def test_at_no_multipliers_it_decides_as_the_plain_model_does():
    table = people(900, shift=0.8)
    compiled = rb.compile(rb.Problem("error_rate()", [PARITY]), table.population())
    rules = rules_on(compiled, LogisticRegression())
    split = rules.split.of["train"][1]
    for fold in range(5):
        held = split == fold
        plain = LogisticRegression().fit(table.X[~held], table.y[~held])
        own = rules.decided(np.array([1.0, 0.0]))[held]
        np.testing.assert_array_equal(own.astype(bool), plain.predict(table.X[held]))


def test_rows_move_promises_as_their_covariance_says():
    table = people(500, shift=0.8)
    promises = [PARITY, rb.accuracy(group="a") >= 0.5, rb.recall() >= 0.2, rb.true_positives() >= 10]
    for weighted in (False, True):
        population = table.population(weighted=weighted)
        compiled = rb.compile(rb.Problem("error_rate()", promises), population)
        scores = np.where(table.X[:, 0] > 0.3, 1.0, -1.0)
        demands = compiled.problem.demands
        rates = [rate for demand in demands for rate in demand.expression.rates]
        known = tallied(judged_scores({"train": scores}, ""), {"train": population}, rates)
        moves = row_moves(tallied(NOBODY, compiled.populations, rates), demands)
        moved, variances, _ = moves.of((scores > 0).astype(int))
        np.testing.assert_allclose(variances, np.diag(covariance(known, demands)), rtol=0.02)
        np.testing.assert_allclose(moved.sum(axis=1), 0.0, atol=1e-9)


def test_copies_vary_as_the_rows_they_are_copies_of():
    table = people(200, shift=0.8)
    compiled = rb.compile(rb.Problem("error_rate()", [PARITY]), table.population())
    four = rb.compile(compiled.problem, table.population(np.repeat(np.arange(200), 4)))
    found = []
    for each, together in ((compiled, None), (four, np.repeat(np.arange(200), 4))):
        demands = each.problem.demands
        rates = [rate for demand in demands for rate in demand.expression.rates]
        moves = row_moves(tallied(NOBODY, each.populations, rates), demands, together)
        found.append(moves.of((each.first.X[:, 0] > 0.3).astype(int))[1][0])
    assert found[1] == pytest.approx(found[0], rel=0.05)


def test_other_promises_of_the_same_rows_need_no_other_forecast():
    rules = rules_on(compiled_people(promises=[PARITY, rb.recall(group="a") >= 0.5]))
    coarser = rb.compile(rb.Problem("error_rate()", [rb.recall() >= 0.9]), rules.compiled.first)
    other = rules_for(coarser, rules)
    direct = terms_of(coarser, rules_on(coarser).scorer.forecast)
    weights = np.array([[1.0, 0.8]])
    cell = rules.compiled.cells
    by_hand = (weights @ direct)[0][coarser.cells]
    own = (weights @ other.scorer.terms[:2])[0][cell]  # less the threshold
    np.testing.assert_allclose(own, by_hand)
    finer = rb.compile(
        rb.Problem("error_rate()", [rb.recall(live=True) >= 0.5]),
        rb.Population(coarser.first.X, coarser.first.y, columns={"live": coarser.first.X[:, 0] > 0}),
    )
    with pytest.raises(Finer, match="distinguished"):
        rules_for(finer, rules)


def test_a_row_has_the_same_score_alone_and_among_others():
    trace = rb.play(compiled_people(), PlugIn("linear"))
    X = people(50, 1, shift=0.8).X
    every = trace.scorer.scores(trace.parameters[-2:], X)
    alone = np.concatenate(
        [trace.scorer.scores(trace.parameters[-2:], X[[i]]) for i in range(50)], axis=2
    )
    np.testing.assert_array_equal(every, alone)


def test_a_game_with_it_is_judged_out_of_fold():
    compiled = compiled_people()
    trace = rb.play(compiled, PlugIn("linear"))
    assert trace.folds is not None
    assert trace.ended == "gap"
    objectives, violations = compiled.evaluate(trace.scores(compiled))
    np.testing.assert_allclose(trace.objectives, objectives)
    np.testing.assert_allclose(trace.violations, violations)


def test_estimators_that_take_no_weights_will_do():
    trace = rb.play(compiled_people(), PlugIn(KNeighborsClassifier(25)))
    assert rb.shrink(trace).status.feasible


def test_several_classes_are_decided_by_the_least_cost():
    table = animals(900)
    compiled = rb.compile(
        rb.Problem("error_rate()", ['recall(sex == "F", of="cat") >= 0.95 * recall(of="cat")']),
        table.population(),
    )
    rules = rules_on(compiled)
    weights = np.array([[1.0, 0.5]])
    costs = (weights @ rules.scorer.terms).reshape(2, -1)
    told = expected(weights @ rules.scorer.terms, rules.outside)[0]
    np.testing.assert_allclose(told, costs @ rules.outside)
    scores = scored(weights @ rules.scorer.terms, rules.outside)[0]
    assert (scores[0] == 0).all()
    assert rules.best(np.zeros(1)).violations[0] <= 1e-9


def test_a_thousand_promises():
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 5))
    columns = {"group": random.integers(1000, size=3000)}
    y = X[:, 0] + random.normal(size=3000) > 0
    promises = [rb.positive_rate(group=k) <= 0.99 for k in range(1000) if (columns["group"] == k).any()]
    compiled = rb.compile(
        rb.Problem("error_rate()", [*promises, rb.positive_rate() <= 0.3]),
        rb.Population(X, y, columns=columns),
    )
    rules = rules_on(compiled)
    margins = np.append(np.full(len(promises), -1.0), 0.0)
    assert rules.best(margins).violations[-1] <= 0
    assert rules.scorer.forecast.width < compiled.cell_count


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": "lightgmb"}, "lightgbm"),
        ({"folds": 1}, "folds"),
        ({"model": PlugIn()}, "more than that"),
    ],
)
def test_refused(given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        PlugIn(**given)
