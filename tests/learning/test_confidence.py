"""Errors against derivatives and loops over rows, and claims against new rows."""

import numpy as np
import pytest

import ratebound as rb
from ratebound.learning.confidence import MarginSearch
from ratebound.learning.influence import measure_influence
from ratebound.learning.rules import Rules
from ratebound.learning.solve import find_best_rule

FLOOR = 'recall(g == "a") >= 0.9 * recall()'
BALANCE = "statistical_parity(g, slack={})"


def search(learned, asked=0.9, seed=0):
    rules = Rules(learned.rules.compiled, learned.rules.terms, learned.rules.forecast)
    return MarginSearch(
        rules, lambda margins: find_best_rule(rules, margins), learned.influence, asked, seed
    )


def decide_plain(learned):
    rules = learned.rules
    return rules.decide(rules.plain_weights[None])[0]


# --- errors ---------------------------------------------------------------------------------------

CONSTRAINTS = [
    'recall(g == "a") >= 0.9 * recall()',
    'false_positive_rate(g == "b") <= 0.2',
    'accuracy(g == "b") >= accuracy(g == "c")',
    'positive_rate(g == "a") <= 0.5',
]


def compile_people(constraints, people, weights):
    columns = {"g": people.g, "amount": people.amount}
    population = rb.Population(None, people.y, columns, weights)
    return rb.compile(rb.Problem("error_rate()", constraints), population)


def differentiate(constraints, people, weights, decisions, units):
    """Return how far the weight of each unit moves each violation (units, m), by differences."""
    moves = []
    for unit in range(units.max() + 1):
        values = []
        for factor in (1 - 1e-4, 1 + 1e-4):
            changed = np.where(units == unit, factor, 1.0) * weights
            compiled = compile_people(constraints, people, changed)
            counts = compiled.count_decisions(decisions)
            values.append(compiled.values(counts)[0, len(compiled.objective.pieces) :])
        moves.append((values[1] - values[0]) / 2e-4)
    return np.array(moves)


def imagine_units(compiled, people, weights, decisions, units):
    """Return variances (m,) of two units beside each share, one that it counts and one that not."""
    variances = []
    for row in compiled.rows:
        total = 0.0
        for rate, coefficient in row.sum.terms.items():
            group = compiled.populations["train"][0].mask(rate.condition)
            among, counts = {
                "recall": (group & (people.y == 1), decisions == 1),
                "false_positive_rate": (group & (people.y == 0), decisions == 1),
                "accuracy": (group, decisions == people.y),
                "positive_rate": (group, decisions == 1),
            }[rate.name]
            share = np.average(counts[among], weights=weights[among])
            weight = (weights[among] ** 2).sum() / weights[among].sum() ** 2
            weight *= among.sum() / len(np.unique(units[among]))
            total += (coefficient * weight) ** 2 * ((1 - share) ** 2 + share**2)
        variances.append(total)
    return np.array(variances)


@pytest.mark.parametrize("kind", ["alone", "weights", "clusters", "weights and clusters"])
def test_errors_are_sums_over_units_of_derivatives(draw, learn, kind):
    people = draw(90)
    random = np.random.default_rng(1)
    weights = random.random(90) + 0.5 if "weights" in kind else np.ones(90)
    units = random.integers(0, 30, 90) if "clusters" in kind else np.arange(90)
    units = np.unique(units, return_inverse=True)[1]
    given = weights if "weights" in kind else None
    compiled = compile_people(CONSTRAINTS, people, given)
    decisions = (people.X[:, 1] > 0).astype(int)
    moves = differentiate(CONSTRAINTS, people, weights, decisions, units)
    imagined = imagine_units(compiled, people, weights, decisions, units)
    errors = measure_influence(compiled, units).compute_errors(decisions)
    assert errors**2 == pytest.approx((moves**2).sum(axis=0) + imagined, rel=1e-3)


def test_amounts_move_sums_of_costs(draw):
    people = draw(60)
    constraint = 'cost(column="amount") <= 30'
    compiled = compile_people([constraint], people, None)
    decisions = (people.X[:, 1] > 0).astype(int)
    units = np.arange(60)
    moves = differentiate([constraint], people, np.ones(60), decisions, units)
    errors = measure_influence(compiled, units).compute_errors(decisions)
    imagined = errors[0] ** 2 - (moves**2).sum()
    largest = people.amount.max()
    assert 0 < imagined <= 2 * (largest / 60) ** 2


def test_a_constant_is_certain_where_labels_do_not_matter(draw, learn):
    learned = learn([FLOOR, "precision() >= 0", 'accuracy(g == "a") >= 0.3'], draw())
    for decision in (0, 1):
        same = np.full(1500, decision)
        errors = learned.influence.compute_errors(same)
        assert errors[0] < 1e-9
        assert errors[2] > 0.01
    ten_of_ten = learn('recall(g == "a") >= 0.9', draw(100))
    people = draw(100)
    decisions = np.where(people.g == "a", 1, 0)
    assert ten_of_ten.influence.compute_errors(decisions)[0] > 0.02


def test_a_row_twice_is_a_row_of_weight_two(draw):
    people = draw(80)
    twice = np.repeat(np.arange(80), 2)
    doubled = replace_people(people, twice)
    decisions = (people.X[:, 1] > 0).astype(int)
    heavy = measure_influence(compile_people(CONSTRAINTS, people, np.full(80, 2.0)), np.arange(80))
    rows = measure_influence(compile_people(CONSTRAINTS, doubled, None), twice)
    plain = measure_influence(compile_people(CONSTRAINTS, people, None), np.arange(80))
    expected = plain.compute_errors(decisions)
    assert heavy.compute_errors(decisions) == pytest.approx(expected)
    assert rows.compute_errors(decisions[twice]) == pytest.approx(expected)


def replace_people(people, rows):
    return type(people)(**{name: values[rows] for name, values in vars(people).items()})


def test_correlations_are_those_of_moves(draw):
    people = draw(70)
    compiled = compile_people(CONSTRAINTS, people, None)
    units = np.arange(70)
    rules = [(people.X[:, 1] > cut).astype(int) for cut in (-0.3, 0.4)]
    columns = []
    for decisions in rules:
        moves = differentiate(CONSTRAINTS, people, np.ones(70), decisions, units)
        imagined = np.diag(np.sqrt(imagine_units(compiled, people, np.ones(70), decisions, units)))
        columns.append(np.vstack([moves, imagined]))
    together = np.hstack(columns)
    lengths = np.linalg.norm(together, axis=0)
    expected = together.T @ together / np.outer(lengths, lengths)
    influence = measure_influence(compiled, units)
    correlation = influence.correlate(rules, np.random.default_rng(0))
    assert correlation == pytest.approx(expected, abs=2e-3)


# --- claims ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [0.6, 0.9, 0.99])
def test_what_is_asked_is_reached_where_it_costs_little(draw, learn, asked):
    learned = learn([FLOOR, "positive_rate() <= 0.6"], draw(3000))
    margins = search(learned, asked)
    best, claim = margins.choose()
    assert claim.reached >= asked
    assert claim.reached == claim.reached_testable
    assert claim.extra_cost == 0
    assert claim.growth <= 1
    assert (best.room > 0).all()


def test_more_confidence_costs_more(draw, learn):
    learned = learn([FLOOR, "positive_rate() <= 0.45"], draw(2000))
    costs = [search(learned, asked).choose()[0].cost for asked in (0.55, 0.8, 0.95)]
    assert costs == sorted(costs)


def test_the_price_of_confidence_is_at_most_that_of_a_constant(draw, learn):
    """Everyone alike meets parity for sure: what is asked cannot cost more than that."""
    learned = learn(BALANCE.format(0.02), draw(2000, gap=1.5))
    margins = search(learned)
    best, claim = margins.choose()
    constants = [rule.objective for rule in margins.rules.list_constant_rules()]
    assert best.cost < min(constants) - 0.02
    assert claim.reached < 0.9
    assert claim.highest == 1
    assert claim.growth > 1
    assert 0 < claim.extra_cost <= min(constants) - best.cost + 1e-9


@pytest.mark.parametrize("slack", [0.02, 0.05, 0.1])
def test_no_confidence_is_worth_a_constant(draw, learn, slack):
    """A rule that meets the constraints on these rows is preferred to one for everyone."""
    margins = search(learn(BALANCE.format(slack), draw(1000, gap=1.0)), 0.99)
    best, _ = margins.choose()
    constants = [rule.objective for rule in margins.rules.list_constant_rules()]
    assert best.cost < min(constants) - 0.1
    assert (best.rule.violations <= 1e-9).all()


def test_without_constraints_that_can_be_tested_the_claim_is_of_all(draw, learn):
    margins = search(learn(BALANCE.format(0.01), draw(400)))
    _, claim = margins.choose()
    assert len(claim.untestable) == 6
    assert claim.reached == claim.reached_testable < 0.5


def test_the_claim_is_of_the_surest_if_nothing_is_sure(draw, learn):
    learned = learn(["recall() >= 0.75", "false_positive_rate() <= 0.25"], draw(500))
    margins = search(learned, 0.999)
    best, claim = margins.choose()
    confidences = [margins.measure_confidence(item) for item in margins.candidates]
    assert claim.highest == max(confidences)
    assert claim.reached <= claim.highest < 0.999
    assert best in margins.candidates


@pytest.mark.parametrize("case", ["few favoured", "few between"])
def test_constraints_that_too_few_rows_can_show_are_named_apart(draw, learn, case):
    people = draw(3000)
    if case == "few favoured":
        rows = np.flatnonzero(people.y)[:12]
        constraints = [FLOOR, 'recall(g == "few") >= 0.95']
    else:  # one bound alone could be shown by deciding all of them alike
        rows = np.arange(60)
        limit = "positive_rate(g == 'few') {} positive_rate() {} 0.05"
        constraints = [FLOOR, limit.format("<=", "+"), limit.format(">=", "-")]
    people.g[rows] = "few"
    margins = search(learn(constraints, people))
    _, claim = margins.choose()
    assert len(claim.untestable) == len(constraints) - 1
    for item in claim.untestable:
        assert "few" in item.constraint
        assert item.rows == len(rows)
        assert item.needed > item.rows
    assert claim.reached_testable >= 0.9
    assert claim.reached <= claim.reached_testable


def test_few_rows_that_clearly_violate_a_constraint_count(draw, learn):
    people = draw(3000)
    people.g[np.flatnonzero(people.y)[:12]] = "few"
    people.X[people.g == "few", 1] -= 5
    constraints = ['recall(g == "few") >= 0.95', "positive_rate() <= 0.3"]
    _, claim = search(learn(constraints, people)).choose()
    assert not claim.untestable


def test_three_rows_do_not_sink_the_others(draw, learn):
    people = draw(2000)
    people.g[np.flatnonzero(people.y)[:3]] = "few"
    learned = learn("statistical_parity(g, slack=0.25)", people)
    margins = search(learned)
    best, claim = margins.choose()
    assert {item.rows for item in claim.untestable} == {3}
    assert claim.reached_testable >= 0.9
    testable = best.rule.violations[margins.is_testable]
    assert (testable <= 1e-9).all()


def test_contradictions_are_not_called_untestable(draw, learn):
    constraints = ["positive_rate() >= 0.5", "positive_rate() <= 0.4"]
    margins = search(learn(constraints, draw()))
    best, claim = margins.choose()
    assert not claim.untestable
    assert claim.reached == 0
    assert best.rule.violations.max() == pytest.approx(0.05, abs=0.01)


def test_a_constant_factor_of_weights_changes_no_claim(draw, learn):
    claims = []
    for factor in (1.0, 1700.0):
        weights = factor * (0.5 + np.random.default_rng(0).random(800))
        learned = learn(FLOOR, draw(800), weights=weights)
        claims.append(search(learned).choose()[1])
    assert claims[0].reached == pytest.approx(claims[1].reached, abs=0.01)
    assert claims[0].extra_cost == pytest.approx(claims[1].extra_cost, abs=1e-3)


def test_copies_of_rows_make_no_claim_more_certain(draw, learn):
    people = draw(400)
    growths = []
    for times in (1, 5):
        rows = np.repeat(np.arange(400), times)
        learned = learn(FLOOR, replace_people(people, rows), clusters=rows)
        errors = learned.influence.compute_errors(decide_plain(learned))
        growths.append(errors[0])
    assert growths[0] == pytest.approx(growths[1], rel=0.1)


@pytest.mark.parametrize("asked", [0.8])
def test_claims_are_false_as_often_as_they_may_be(learn, draw, asked):
    """Chances are known here, so that only the choice of a rule can mislead."""
    crowd = draw(60_000, seed=999)
    chances = 1 / (1 + np.exp(0.3 - 1.6 * crowd.X[:, 1] + crowd.X[:, 0]))
    random = np.random.default_rng(5)
    crowd.y = (random.random(60_000) < chances).astype(int)
    constraints = [FLOOR, "positive_rate() <= 0.45", 'false_positive_rate(g == "b") <= 0.3']
    template = learn(constraints, replace_people(crowd, np.arange(500)))

    def make_rules(rows):
        part = replace_people(crowd, rows)
        compiled = compile_people(constraints, part, None)
        forecast = np.zeros((template.forecast.size, len(rows)))
        forecast[0] = 1
        forecast[1] = 1 - chances[rows]
        forecast[2] = chances[rows]
        for cell in range(len(compiled.bits)):
            example = np.flatnonzero(compiled.cell == cell)[0]
            share = np.mean(crowd.g == part.g[example])
            forecast[3 + cell] = forecast[1 + part.y[example]] * share
        return Rules(compiled, template.rules.terms, forecast)

    everyone = make_rules(np.arange(60_000))
    false = 0
    for seed in range(30):
        rows = np.random.default_rng(seed).choice(60_000, 600, replace=False)
        rules = make_rules(rows)
        influence = measure_influence(rules.compiled, np.arange(600))
        margins = MarginSearch(
            rules, lambda of_each, rules=rules: find_best_rule(rules, of_each), influence, asked, 0
        )
        best, claim = margins.choose()
        decisions = everyone.decide(best.rule.weights[None])
        is_violated = everyone.compute_values(decisions)[0, 1:].max() > 0
        false += is_violated and claim.reached >= asked
    expected = (1 - asked) * 30
    assert false <= expected + 2 * np.sqrt(expected * asked)
