"""Every number of an audit against a direct computation that shares no code with the package."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import ratebound._old as rb
from ratebound._old.auditing.auditing import audit
from ratebound._old.solution.deciders import Vote
from ratebound._old.solution.mixture import Members

from .conftest import draw, mixture

WEIGHTS = np.array([0.5, 0.2, 0.3])


def audited(constraint, model, people, **others):
    problem = rb.Problem(rb.error_rate(), [constraint])
    report = audit(problem, model, people, confidence=0.975, **others)
    return report.promises[0]


def direct(people, at=0.0):
    """Columns to write definitions with: probability of yes, label, women, existing model, weight."""
    f = np.greater_equal(people.X, at) @ WEIGHTS
    v = np.ones(len(people)) if people.weights is None else people.weights
    return f, people.y, people.columns["sex"] == "F", people.columns["live"], v


def mean(values, rows, v):
    return (v * values)[rows].sum() / v[rows].sum()


DEFINITIONS = {
    "recall": (rb.recall(sex="F") >= 0.9, lambda f, y, w, h, v: mean(f, y & w, v)),
    "false positives": (rb.false_positive_rate() <= 0.1, lambda f, y, w, h, v: mean(f, ~y, v)),
    "accuracy": (rb.accuracy(sex="F") >= 0.8, lambda f, y, w, h, v: mean(np.where(y, f, 1 - f), w, v)),
    "churn": (
        rb.churn(versus="live") <= 0.1,
        lambda f, y, w, h, v: mean(np.where(h, 1 - f, f), v > 0, v),
    ),
    "lost": (
        rb.loss_only_churn(versus="live") <= 0.1,
        lambda f, y, w, h, v: mean(np.where(h, 1 - f, f), h == y, v),
    ),
    "count": (
        rb.predicted_positives(sex="F", per=1000) <= 300,
        lambda f, y, w, h, v: (v * f)[w].sum() * 1000 / v.sum(),
    ),
    "precision": (
        rb.precision(sex="F") >= 0.7,
        lambda f, y, w, h, v: (v * f)[y & w].sum() / (v * f)[w].sum(),
    ),
    "win-loss": (
        rb.win_loss_ratio(versus="live") >= 1.2,
        lambda f, y, w, h, v: (
            ((v * f)[y & ~h].sum() + (v * (1 - f))[~y & h].sum())
            / ((v * f)[~y & ~h].sum() + (v * (1 - f))[y & h].sum())
        ),
    ),
    "several": (
        2 * rb.recall(sex="F") - rb.positive_rate() / 2 >= 0.1,
        lambda f, y, w, h, v: 2 * mean(f, y & w, v) - mean(f, v > 0, v) / 2,
    ),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_left_sides(name, people):
    constraint, definition = DEFINITIONS[name]
    promise = audited(constraint, mixture(WEIGHTS), people)
    wanted = definition(*direct(people))
    bound = constraint.right.constant
    assert promise.value == pytest.approx(wanted, abs=1e-12)
    assert promise.bound == bound
    room = wanted - bound if constraint.relation == ">=" else bound - wanted
    assert promise.slack == pytest.approx(room, abs=1e-12)
    assert promise.kept == (room >= -1e-9)
    assert promise.slack_low <= promise.slack <= promise.slack_high
    assert promise.words == str(constraint)


def test_right_sides_are_measured_too(people):
    promise = audited(rb.recall(sex="F") >= 0.95 * rb.recall() + 0.01, mixture(WEIGHTS), people)
    f, y, _, _, v = direct(people)
    assert promise.bound == pytest.approx(0.95 * mean(f, y, v) + 0.01)
    assert promise.violation == pytest.approx(-promise.slack)


def test_the_objective_and_its_interval(people):
    report = audit(rb.Problem(rb.error_rate()), mixture(WEIGHTS), people)
    f, y, _, _, v = direct(people)
    assert report.objective.value == pytest.approx(mean(np.where(y, 1 - f, f), v > 0, v))
    assert report.objective.low < report.objective.value < report.objective.high
    assert report.kept
    assert "no promises" in str(report)


def test_thresholds_fixed_and_learned(people):
    fixed = audited(rb.recall(at=0.7) - rb.recall(at=-0.2) >= -0.5, mixture(WEIGHTS), people)
    (high, y, _, _, v), (low, *_) = direct(people, 0.7), direct(people, -0.2)
    assert fixed.value == pytest.approx(mean(high, y, v) - mean(low, y, v))
    own = np.array([0.3, -0.1, 1.0])
    learned = audited(rb.recall(at="t") >= 0.5, mixture(WEIGHTS, {"t": own}), people)
    assert learned.value == pytest.approx(mean(np.greater_equal(people.X, own) @ WEIGHTS, y, v))


@pytest.mark.parametrize("at", [0.7, 0.1, -0.7, -0.1, 1 / 3, 0.5])
def test_scores_tied_with_a_threshold_are_judged_alike_everywhere(at):
    """In single precision 0.7 is below 0.7, and 0.1 above 0.1."""
    scores = np.repeat(np.float32([at, np.nextafter(np.float32(at), np.float32(9))]), 10)
    people = rb.Population(scores[:, None], np.ones(20, dtype=bool))
    promise = rb.recall(at=at) >= 0.9
    compiled = rb.compile(rb.Problem(rb.error_rate(), [promise]), people)
    expected = float(np.mean([float(score) >= at for score in scores]))
    _, violations = compiled.evaluate(scores)
    assert violations[0] == pytest.approx(0.9 - expected)
    assert audited(promise, mixture(np.ones(1)), people).value == pytest.approx(expected)
    game = rb.Game(compiled)
    shown = game.look(game.start(scores), scores, game.batch(None)).values
    assert shown[0, 1] == pytest.approx(0.9 - expected)


def test_several_thresholds_whose_order_differs_by_member(people):
    own = {"s": np.array([0.3, -0.1, 1.0]), "t": np.array([-0.3, 0.4, 0.0])}
    promise = audited(rb.recall(at="s") <= rb.recall(at="t"), mixture(WEIGHTS, own), people)
    _, y, _, _, v = direct(people)
    left, right = (mean(np.greater_equal(people.X, own[t]) @ WEIGHTS, y, v) for t in "st")
    assert (promise.value, promise.bound) == pytest.approx((left, right))


def test_areas_are_means_over_members(people):
    promise = audited(rb.roc_auc(bins=4) >= 0.6, mixture(WEIGHTS), people)
    areas = [roc_auc_score(people.y, scores, sample_weight=people.weights) for scores in people.X.T]
    assert promise.value == pytest.approx(WEIGHTS @ areas, abs=1e-12)
    assert promise.method == "delong"
    assert promise.rows == min(people.y.sum(), (~people.y).sum())
    assert promise.slack_low < promise.slack < promise.slack_high


@pytest.mark.parametrize("levels", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("bins", [1, 10])
def test_ties_count_half_in_areas(people, levels, bins):
    tied = np.digitize(people.X, np.linspace(-1, 2, levels - 1)).astype(float)
    given = rb.Population(tied, people.y, weights=people.weights)
    promise = audited(rb.roc_auc(bins=bins) >= 0.5, mixture([1.0]), given)
    wanted = roc_auc_score(people.y, tied[:, 0], sample_weight=people.weights)
    assert promise.value == pytest.approx(wanted, abs=1e-12)
    assert 0 <= promise.slack_low + 0.5 <= wanted + 1e-12 <= promise.slack_high + 0.5 + 1e-12 <= 1 + 1e-9


def test_an_area_is_judged_by_itself():
    """One negative row in twenty above every positive one: the budgets' midpoints see none of them."""
    y = np.arange(1400) < 400
    scores = np.where(y, 1.0, np.where(np.arange(1400) < 450, 2.0, 0.0))
    people = rb.Population(scores[:, None], y)
    for bound, kept in ((0.94, True), (0.96, False)):
        promise = audited(rb.roc_auc() >= bound, mixture([1.0]), people)
        assert promise.value == pytest.approx(0.95)
        assert promise.kept is kept
        assert promise.violation == pytest.approx(bound - 0.95)


@pytest.mark.parametrize(("positive", "negative"), [(1, 1), (3, 50), (40, 40)])
def test_a_perfect_area_of_few_rows_proves_little(positive, negative):
    y = np.arange(positive + negative) < positive
    people = rb.Population(np.where(y, 1.0, 0.0)[:, None], y)
    promise = audited(rb.roc_auc() >= 0.5, mixture([1.0]), people)
    low, high = promise.slack_low + 0.5, promise.slack_high + 0.5
    assert (promise.value, high) == (1.0, 1.0)
    rows = min(positive, negative)
    assert low == pytest.approx(0.025 ** (1 / rows))  # as of a proportion of the smaller class


def test_several_populations():
    people, experts = draw(0), draw(1, n=50)
    promise = audited(
        rb.accuracy(on="steering") >= rb.accuracy(), mixture(WEIGHTS), people, steering=experts
    )
    for value, given in ((promise.value, experts), (promise.bound, people)):
        f, y, *_ = direct(given)
        assert value == pytest.approx(np.where(y, f, 1 - f).mean())
    assert promise.rows == 50


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("no", "yes")])
def test_any_classifier(labels):
    people = draw()
    y = np.array(labels)[people.y.astype(int)]
    classifier = LogisticRegression().fit(people.X, y)
    positive = "yes" if labels[1] == "yes" else None
    given = rb.Population(people.X, y, columns=people.columns, positive=positive)
    promise = audited(rb.recall() >= 0.5, classifier, given)
    assert promise.value == pytest.approx((classifier.predict(people.X) == labels[1])[people.y].mean())
    assert promise.method == "exact"


def test_an_estimator_is_audited_by_its_solution():
    class Estimator:
        solution_ = mixture(WEIGHTS)

    people, constraint = draw(), rb.recall() >= 0.5
    assert audited(constraint, Estimator(), people) == audited(constraint, mixture(WEIGHTS), people)


def test_a_trained_mixture_agrees_with_its_own_record():
    people = draw()
    problem = rb.Problem(
        rb.error_rate(), [rb.recall(sex="F") >= 0.95 * rb.recall(), rb.precision() >= 0.5]
    )
    trace = rb.play(rb.compile(problem, people), rb.Linear(), rounds=60)
    solution = rb.shrink(trace)
    report = audit(problem, solution, people)
    assert report.objective.value == pytest.approx(solution.objectives["train"])
    np.testing.assert_allclose([p.violation for p in report.promises], solution.violations["train"])
    assert report.training == pytest.approx(
        (solution.objectives["train"], solution.violations["train"].max())
    )
    assert "objective against worst violation" in report.render("html")


def test_groups(people):
    problem = rb.Problem(rb.error_rate(), [rb.recall(sex="F") >= 0.5, rb.recall(sex="F") <= 0.9])
    everyone, women = audit(problem, mixture(WEIGHTS), people).groups
    f, y, w, _, v = direct(people)
    assert (everyone.words, women.words) == ("everyone", 'sex == "F"')
    assert (women.rows, women.positives) == (w.sum(), (w & y).sum())
    assert women.positive_rate == pytest.approx(mean(f, w, v))
    assert women.recall == pytest.approx(mean(f, w & y, v))
    assert women.false_positive_rate == pytest.approx(mean(f, w & ~y, v))
    assert women.precision == pytest.approx((v * f)[w & y].sum() / (v * f)[w].sum())
    assert everyone.accuracy == pytest.approx(mean(np.where(y, f, 1 - f), v > 0, v))


def test_undefined_rates_are_none():
    people = rb.Population(np.full((4, 1), -1.0), [0, 0, 0, 0])
    problem = rb.Problem(rb.positive_rate(), [rb.precision() >= 0.8])
    report = audit(problem, mixture([1.0]), people)
    promise, everyone = report.promises[0], report.groups[0]
    assert (promise.value, promise.slack, promise.slack_low, promise.rows) == (None, None, None, 0)
    assert promise.kept  # no yes is wrong
    assert promise.verdict == "may not hold"
    assert (everyone.recall, everyone.precision, everyone.false_positive_rate) == (None, None, 0.0)
    unlabelled = rb.Population(np.ones((3, 1)))
    everyone = audit(rb.Problem(rb.positive_rate()), mixture([1.0]), unlabelled).groups[0]
    assert (everyone.positives, everyone.accuracy, everyone.positive_rate) == (None, None, 1.0)
    assert "–" in str(report)


def test_wins_without_a_loss_have_no_value_but_an_interval():
    people = rb.Population(np.ones((80, 1)), [1] * 80, columns={"live": [0] * 50 + [1] * 30})
    promise = audited(rb.win_loss_ratio(versus="live") >= 2, mixture([1.0]), people)
    assert promise.value is None
    assert promise.slack_low > 0
    assert promise.verdict == "holds"


def test_a_vote_is_audited_as_it_decides():
    """Members that say always no and always yes: their vote says no, the mixture yes in 40%."""
    people = rb.Population(np.zeros((10, 1)), np.arange(10) < 5)
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.5])
    trace = rb.play(rb.compile(problem, people), rb.Linear(), rounds=2, keep=rb.Keep(1))
    chosen = rb.shrink(trace)
    members = Members(np.array([0.6, 0.4]), np.array([[0, -1.0], [0, 1.0]]), chosen.scorer)
    constant = replace(chosen, members=members)
    for model, expected in ((constant, 0.4), (replace(constant, decider=Vote()), 0.0)):
        assert rb.audit(problem, model, people).promises[0].value == pytest.approx(expected)
        assert model.decision_proba(people.X)[:, 1].mean() == pytest.approx(expected)
