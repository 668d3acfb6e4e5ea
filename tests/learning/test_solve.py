"""The search, against loops over rows, grids of multipliers and known optima."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score

import ratebound as rb
from ratebound.learning.confidence import MarginSearch
from ratebound.learning.program import RADIUS, solve_mixture
from ratebound.learning.rules import Rules, compute_costs
from ratebound.learning.sample import take_sample
from ratebound.learning.solve import compute_price, find_best_rule, rebuild_rules

FLOORS = ['recall(g == "a") >= 0.9 * recall()', "positive_rate() <= 0.45"]
ODDS = "equalized_odds(g, slack={})"


def solve_at(learned, margin=0.0, **options):
    rules = learned.rules
    return find_best_rule(rules, np.full(rules.constraint_count, margin), **options)


def copy_rules(rules):
    return Rules(rules.compiled, rules.terms, rules.forecast)


def find_worst(rules, rule, margins=0.0):
    return ((rule.violations + margins) / rules.scale).max(initial=0.0)


# --- the linear program ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heights", "violations", "value", "prices"),
    [
        ([0.1, 0.5], [[0.2], [-0.2]], 0.3, [1.0]),
        ([0.1, 0.5], [[-0.2], [-0.2]], 0.1, [0.0]),  # it never binds
        ([0.1, 0.5], [[0.2, -1.0], [-0.2, -1.0]], 0.3, [1.0, 0.0]),
        ([0.0, 0.0], [[0.5, -0.5], [-0.5, 0.5]], 0.0, None),
        ([0.0], [[0.3, 0.1]], 0.3 * RADIUS, [RADIUS, 0.0]),  # infeasible
    ],
)
def test_the_program_finds_known_mixtures(heights, violations, value, prices):
    solved = solve_mixture(np.array(heights)[:, None], np.array(violations))
    assert solved.value == pytest.approx(value, abs=1e-9)
    assert solved.shares.sum() == pytest.approx(1)
    if prices is not None:
        assert solved.prices == pytest.approx(prices, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_no_random_mixture_is_better_than_the_programs(seed):
    random = np.random.default_rng(seed)
    heights = random.random((6, 2))
    violations = random.normal(size=(6, 3))
    solved = solve_mixture(heights, violations)
    shares = random.dirichlet(np.full(6, 0.3), 20_000)
    worst = np.maximum((shares @ violations).max(axis=1), 0)
    costs = (shares @ heights).max(axis=1) + RADIUS * worst
    assert solved.value <= costs.min() + 1e-9


# --- rules ----------------------------------------------------------------------------------------


def test_values_are_those_that_scikit_learn_counts(draw, learn):
    people = draw()
    constraints = ['recall(g == "a") >= 0.7', 'false_positive_rate(g == "b") <= 0.2']
    rules = learn([*constraints, 'precision(g == "c") >= 0.6'], people).rules
    weights = rules.plain_weights + np.linspace(0, 0.2, len(rules.plain_weights))
    index = rules.evaluate(weights[None])[0]
    decisions = rules.decide(weights[None])[0]
    found = rules.get_rule(index)
    a, b, c = (people.g == name for name in "abc")
    truth = people.y
    recall = recall_score(truth[a], decisions[a])
    of_no = confusion_matrix(truth[b], decisions[b])[0]
    assert found.objective == pytest.approx(np.mean(truth != decisions))
    assert found.violations[:2] == pytest.approx([0.7 - recall, of_no[1] / of_no.sum() - 0.2])
    precision = precision_score(truth[c], decisions[c])
    assert (found.violations[2] <= 0) == (precision >= 0.6)


@pytest.mark.parametrize("classes", [2, 3])
def test_constants_make_one_decision_for_everyone(draw, learn, classes):
    people = draw(400, classes=classes)
    rules = learn("accuracy() >= 0.1", people).rules
    assert rules.constants.tolist() == list(range(1, 1 + classes))
    for decision, index in enumerate(rules.constants):
        rule = rules.get_rule(index)
        assert (rules.decide(rule.weights[None]) == decision).all()
        assert rule.objective == pytest.approx(np.mean(people.y != decision))


def test_a_rows_costs_do_not_depend_on_the_other_rows(draw, learn):
    rules = learn(FLOORS, draw(200)).rules
    weights = np.random.default_rng(0).random((2, rules.weights.shape[1]))
    together = compute_costs(rules.terms, weights, rules.forecast)
    for row in range(20):
        alone = compute_costs(rules.terms, weights, rules.forecast[:, [row]])
        assert alone[:, :, 0].tolist() == together[:, :, row].tolist()
    assert (rules.decide(weights) == (together[:, 0] <= 0)).mean() > 0.999


def test_of_rules_that_violate_as_much_the_cheapest_is_the_nearest(draw, learn):
    rules = learn("recall() >= 0.5", draw(300)).rules
    rules.values = np.array([[0.3, 0.3], [0.1, 0.4], [0.2, 0.2], [0.3, 0.2]])
    assert rules.find_cheapest(0.0).objective == 0.2
    assert rules.find_cheapest(-0.25).objective == 0.2
    assert rules.find_cheapest(-0.5).objective == 0.3  # the plain model meets the constraint


# --- the search -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_few_rules_of_a_grid_are_better(draw, learn, seed):
    """A tenth of the grid's rules meet the bounds. Some are better: of so few rows, by chance."""
    rules = learn(FLOORS, draw(700, seed)).rules
    grid = copy_rules(rules)
    steps = np.linspace(0, 0.6, 30)
    pairs = itertools.product(steps, steps)
    grid.evaluate(np.array([grid.join_weights([1.0], pair) for pair in pairs]))
    worst = (grid.values[:, 1:] / grid.scale).max(axis=1)
    bound = np.quantile(worst, 0.1)
    best = find_best_rule(rules, np.full(2, -bound))
    assert find_worst(rules, best, -bound) <= 1e-9
    of_feasible = grid.get_objectives()[worst <= bound]
    assert best.objective <= np.quantile(of_feasible, 0.3)


@pytest.mark.parametrize(
    ("objective", "constraints"),
    [
        ("maximize f_score()", "positive_rate() <= 0.95"),
        ("maximize f_score()", ()),
        ("maximize precision()", "recall() >= 0.5"),
        ("minimize false_negative_rate()", "false_positive_rate() <= 0.1"),
        ("cost(false_negative=5, false_positive=1)", "positive_rate() <= 0.6"),
    ],
)
def test_every_threshold_on_the_forecast_is_not_better(draw, learn, objective, constraints):
    people = draw(800)
    learned = learn(constraints, people, objective)
    best = solve_at(learned)
    rules = learned.rules
    chances = rules.forecast[2]
    decisions = chances >= np.sort(chances)[:, None]
    values = rules.compute_values(decisions.astype(int))
    meets = (values[:, rules.piece_count :] <= 1e-9).all(axis=1)
    objectives = rules.compiled.objective.value(values[:, : rules.piece_count])
    assert find_worst(rules, best) <= 1e-9
    assert best.objective <= objectives[meets].min() + 0.004
    if not constraints:
        scores = [f1_score(people.y, of_threshold) for of_threshold in decisions[::40]]
        assert -best.objective >= max(scores) - 0.004


def test_the_worst_of_several_is_better_than_for_the_plain_model(draw, learn):
    worst = 'minimize largest(error_rate(g == "a"), error_rate(g == "b"), error_rate(g == "c"))'
    learned = learn("positive_rate() <= 0.95", draw(), worst)
    assert solve_at(learned).objective <= learned.rules.get_rule(0).objective


@pytest.mark.parametrize("seed", range(4))
def test_it_is_never_worse_than_a_plain_model_that_meets_the_constraints(draw, learn, seed):
    learned = learn("recall() >= 0.3", draw(600, seed))
    assert solve_at(learned).objective <= learned.rules.get_rule(0).objective


@pytest.mark.parametrize("constraint", ["recall() >= 0.999", "positive_rate() <= 0.001"])
def test_constraints_that_a_constant_meets_are_met(draw, learn, constraint):
    learned = learn(constraint, draw())
    assert find_worst(learned.rules, solve_at(learned)) == 0


def test_a_class_of_three_is_found_as_often_as_asked(draw, learn):
    people = draw(classes=3)
    learned = learn("recall(of=1) >= 0.8", people)
    best = solve_at(learned)
    decisions = learned.rules.decide(best.weights[None])[0]
    recalls = recall_score(people.y, decisions, average=None)
    assert recalls[1] >= 0.8
    assert recalls[1] < 0.84
    assert len(np.unique(decisions)) == 3


@pytest.mark.parametrize("slack", [0.12, 0.08])
def test_five_classes_do_not_collapse_to_a_constant(draw, learn, slack):
    """A constant has equal rates in every group, and so meets all of these 60 constraints."""
    people = draw(4000, classes=5, gap=1.0)
    people.X = np.column_stack([people.X, people.g == "a", people.g == "b"])
    learned = learn(ODDS.format(slack), people)
    rules = learned.rules
    assert rules.constraint_count == 60
    plain = rules.get_rule(0)
    best = solve_at(learned)
    cheapest_constant = min(rule.objective for rule in rules.list_constant_rules())
    assert find_worst(rules, plain) > 0.02
    assert find_worst(rules, best) == 0
    assert best.objective < plain.objective + 0.2 * (cheapest_constant - plain.objective)


def test_no_constant_where_a_rule_violates_and_errs_less(draw, learn):
    """No rule for infeasible constraints violates less, or as much and errs less."""
    learned = learn(["accuracy() >= 0.95", "false_positive_rate() <= 0.01"], draw())
    rules = learned.rules
    best = solve_at(learned)
    worst = rules.get_worst_violations(0.0)
    assert find_worst(rules, best) <= worst.min() + 1e-9
    assert best.objective <= rules.get_objectives()[worst <= worst.min() + 1e-12].min()
    assert len(np.unique(rules.decide(best.weights[None]))) == 2


def test_infeasible_problems_take_no_more_rules(draw, learn):
    counts = []
    for constraints in (FLOORS, ["recall() >= 0.95", "false_positive_rate() <= 0.05"]):
        learned = learn(constraints, draw())
        learned.choose_rule(0.9)
        counts.append(len(learned.rules.weights))
    assert counts[1] <= counts[0]


# --- samples --------------------------------------------------------------------------------------


def test_a_sample_keeps_weights_and_rare_cells(draw, learn):
    people = draw(6000)
    people.g[:100] = "rare"
    weights = np.random.default_rng(0).random(6000)
    rules = learn('recall(g == "rare") >= 0.5 * recall()', people, weights=weights).rules
    sample = take_sample(rules, 1000)
    assert sample.row_count < 2000
    count = len(rules.compiled.bits)
    of_cells = np.bincount(rules.compiled.cell, rules.compiled.weights, count)
    of_sample = np.bincount(sample.compiled.cell, sample.compiled.weights, count)
    assert of_sample == pytest.approx(of_cells)
    rows = np.bincount(rules.compiled.cell)
    is_rare = rows < 150
    assert is_rare.any()
    assert (np.bincount(sample.compiled.cell)[is_rare] == rows[is_rare]).all()
    constants = zip(sample.list_constant_rules(), rules.list_constant_rules(), strict=True)
    for of_part, of_all in constants:  # cells determine what constants do
        assert of_part.violations == pytest.approx(of_all.violations)


def test_amounts_of_a_sample_are_those_of_its_rows(draw, learn):
    rules = learn("positive_rate() <= 0.4", draw(2000), 'cost(column="amount")').rules
    sample = take_sample(rules, 600)
    exact = rules.get_rule(0).objective
    assert sample.get_rule(0).objective == pytest.approx(exact, rel=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_rules_found_on_a_sample_meet_constraints_on_all_rows(draw, learn, seed):
    learned = learn(FLOORS, draw(6000, seed))
    rules = copy_rules(learned.rules)
    best = find_best_rule(rules, np.zeros(2), most_rows=2000)
    assert find_worst(rules, best) == 0
    exact = solve_at(learned)
    assert best.objective <= exact.objective + 0.006
    assert len(rules.weights) < 20  # judged on all rows


@pytest.mark.parametrize("share", [0.6, 0.66, 0.68])
def test_a_sample_that_is_off_makes_nothing_infeasible(draw, learn, share):
    """Its rates differ by some .03 from those of all rows, either way: that is corrected."""
    constraints = [f"recall(g == '{name}') >= {share}" for name in "abc"]
    learned = learn([*constraints, "positive_rate() <= 0.45"], draw(12_000))
    exact = find_best_rule(copy_rules(learned.rules), np.zeros(4))
    assert find_worst(learned.rules, exact) == 0
    best = find_best_rule(copy_rules(learned.rules), np.zeros(4), most_rows=1000)
    assert find_worst(learned.rules, best) == 0
    assert best.objective <= exact.objective + 0.0025


# --- other bounds ---------------------------------------------------------------------------------


def test_other_bounds_need_no_fit(draw, learn):
    learned = learn([*FLOORS, 'recall(g == "b") >= 0.1'], draw())
    problem = rb.Problem("error_rate()", ['recall(g == "a") >= 0.7', "positive_rate() <= 0.6"])
    rules = rebuild_rules(problem, learned.rules, learned.forecast)
    best = find_best_rule(rules, np.zeros(2))
    decisions = rules.decide(best.weights[None])[0]
    people = draw()
    in_a = people.g == "a"
    assert recall_score(people.y[in_a], decisions[in_a]) >= 0.7 - 1e-9
    assert decisions.mean() <= 0.6 + 1e-9


@pytest.mark.parametrize(
    ("constraints", "problem", "words"),
    [
        (FLOORS, 'positive_rate(g == "b") >= 0.5', "not told apart"),
        ("recall() >= 0.5", 'cost(column="amount") <= 40', "not told apart"),
        ([f"recall(amount > {10 * k}) >= 0.1" for k in range(30)], "recall() >= 0.5", "so many"),
    ],
)
def test_other_sets_of_rows_need_a_fit(draw, learn, constraints, problem, words):
    learned = learn(constraints, draw(600))
    with pytest.raises(ValueError, match=words):
        rebuild_rules(rb.Problem("error_rate()", problem), learned.rules, learned.forecast)


def test_prices_rise_and_none_is_higher_than_a_constants(draw, learn):
    learned = learn("recall() >= 0.9", draw())
    rules = learned.rules
    changes = (-0.05, 0.0, 0.05, 0.0999, 0.2)
    price = compute_price(rules, learned.forecast, np.zeros(1), 0, changes)
    *feasible, infeasible = price.objectives
    assert feasible == sorted(feasible)
    assert np.isnan(infeasible)
    everyone = rules.list_constant_rules()[1]
    assert everyone.violations[0] == pytest.approx(-0.1)
    assert max(feasible) <= everyone.objective + 1e-9
    title, header, *rows = str(price).splitlines()
    assert title == "recall() >= 0.9"
    assert header.split() == ["asks", "more", "objective"]
    assert rows[0].split() == ["-0.050", f"{feasible[0]:.4f}"]
    assert rows[-1].split() == ["+0.200", "infeasible"]
    assert len({len(line) for line in (header, *rows)}) == 1


def test_the_price_of_a_ratio_is_that_of_its_bound(draw, learn):
    """As for the best of all thresholds."""
    people = draw(2000)
    learned = learn(["precision() >= 0.8", "recall() >= 0.3"], people)
    changes = (-0.05, 0.0, 0.04, 0.19)
    price = compute_price(learned.rules, learned.forecast, np.zeros(2), 0, changes)
    chances = learned.rules.forecast[2]
    is_yes = chances >= np.sort(chances)[:, None]
    hits = is_yes @ people.y
    errors = np.mean(is_yes != people.y, axis=1)
    expected = []
    for change in changes:
        is_met = (hits >= (0.8 + change) * is_yes.sum(axis=1)) & (hits >= 0.3 * people.y.sum())
        expected.append(errors[is_met].min() if is_met.any() else np.nan)
    assert price.objectives == pytest.approx(expected, abs=0.004, nan_ok=True)
    assert expected[0] < expected[2] - 0.005
    assert np.isnan(expected[3])


def test_constraints_that_compare_two_ratios_find_their_level(draw, learn):
    constraint = 'precision(g == "a") >= 0.9 * precision()'
    people = draw()
    learned = learn(constraint, people)
    level = learned.rules.compiled.problem.levels[constraint]
    best = solve_at(learned)
    decisions = learned.rules.decide(best.weights[None])[0]
    in_a = people.g == "a"
    of_a = precision_score(people.y[in_a], decisions[in_a])
    of_all = precision_score(people.y, decisions)
    assert 0.9 * of_all - 1e-9 <= level <= of_a + 1e-9
    problem = learned.rules.compiled.problem
    for other_level in np.linspace(0.5, 0.95, 10):
        at_level = problem.at_levels({constraint: other_level})
        rules = rebuild_rules(at_level, learned.rules, learned.forecast)
        assert best.objective <= find_best_rule(rules, np.zeros(2)).objective + 0.005


def test_many_constraints_are_searched_on_few_evaluations(draw, learn):
    """Nothing loops over constraints: 60 do not take ten times as many evaluations as 6."""
    counts = []
    for groups in (6, 60):
        people = draw(3000)
        people.g = np.random.default_rng(0).integers(0, groups, 3000)
        constraints = [f"positive_rate(g == {group}) <= 0.9" for group in range(groups)]
        learned = learn(constraints, people)
        search = MarginSearch(
            learned.rules,
            lambda margins, rules=learned.rules: find_best_rule(rules, margins),
            learned.influence,
            0.9,
            0,
        )
        search.choose()
        counts.append(len(learned.rules.weights))
    assert counts[1] <= 4 * counts[0]
