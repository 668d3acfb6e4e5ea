"""Thresholds against loops over thresholds, exact tests of SciPy, known curves and scikit-learn."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy.stats import binomtest, norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import ratebound as rb
from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.learning.floors import SEARCHED, cut_scores, measure_confidences, read_share
from ratebound.learning.status import ConfidenceNotReached, ConstraintsViolated
from ratebound.learning.threshold import ConstrainedThresholdClassifier
from ratebound.problem.compile import compile
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem

pytestmark = pytest.mark.filterwarnings("ignore:Feasible:UserWarning")


class FirstColumn(ClassifierMixin, BaseEstimator):
    """A classifier whose score is the first column, or whose probabilities are all columns."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]


class Recording(FirstColumn):
    """Remembers the scores of the rows that it was fitted on."""

    def fit(self, X, y):
        self.trained_on_ = np.unique(X)
        return super().fit(X, y)


class Probabilities(FirstColumn):
    def predict_proba(self, X):
        return X


def make_rows(rows=600, seed=0, **shape):
    options = {"weights": [0.7], "flip_y": 0.1, "class_sep": 0.8, "random_state": seed} | shape
    X, y = make_classification(rows, 6, n_informative=4, **options)
    random = np.random.default_rng(seed)
    columns = {
        "g": random.choice(["a", "b"], rows, p=[0.3, 0.7]),
        "live": random.integers(0, 2, rows),
        "amount": random.gamma(2, 50, rows),
    }
    return X, y, columns


def make_scores(rows, seed, apart=1.5, share=0.3):
    """Return normal scores, and labels whose scores are so far apart."""
    random = np.random.default_rng(seed)
    y = (random.random(rows) < share).astype(int)
    return random.normal(size=rows) + apart * y, y


def fit_scores(scores, y, constraints, **options):
    """Fit a threshold on scores as they are."""
    X = scores[:, None]
    model = ConstrainedThresholdClassifier(
        FirstColumn().fit(X, y), constraints, cv="prefit", random_state=0, **options
    )
    return model.fit(X, y)


def measure_normal(threshold, apart=1.5, share=0.3):
    """Return the true rates of a threshold on such scores."""
    recall = norm.sf(threshold - apart)
    false_positives = norm.sf(threshold)
    positives = share * recall + (1 - share) * false_positives
    return {
        "recall": recall,
        "false_positive_rate": false_positives,
        "precision": share * recall / positives if positives > 0 else 1.0,
    }


# --- the exact floor ------------------------------------------------------------------------------

# A constraint, the rows that count and the rows that they are a share of by decisions d, labels y,
# live decisions v and a group, the bound, and whether thresholds are searched.
RATES = {
    "recall() >= 0.6": (lambda d, y, v, g: d & y, lambda d, y, v, g: y, 0.6, False),
    'recall(g == "a") >= 0.6': (lambda d, y, v, g: d & y & g, lambda d, y, v, g: y & g, 0.6, False),
    "false_negative_rate() <= 0.3": (lambda d, y, v, g: ~d & y, lambda d, y, v, g: y, -0.3, False),
    "false_positive_rate() <= 0.2": (lambda d, y, v, g: d & ~y, lambda d, y, v, g: ~y, -0.2, False),
    "positive_rate() <= 0.4": (lambda d, y, v, g: d, lambda d, y, v, g: d | ~d, -0.4, False),
    "2 * positive_rate() >= 0.2": (lambda d, y, v, g: d, lambda d, y, v, g: d | ~d, 0.1, False),
    "precision() >= 0.5": (lambda d, y, v, g: d & y, lambda d, y, v, g: d, 0.5, True),
    "false_discovery_rate() <= 0.5": (lambda d, y, v, g: d & ~y, lambda d, y, v, g: d, -0.5, True),
    "false_omission_rate() <= 0.2": (lambda d, y, v, g: ~d & y, lambda d, y, v, g: ~d, -0.2, True),
    "accuracy() >= 0.7": (lambda d, y, v, g: d == y, lambda d, y, v, g: d | ~d, 0.7, True),
    "jaccard() >= 0.3": (lambda d, y, v, g: d & y, lambda d, y, v, g: d | y, 0.3, True),
    'churn(versus="live") <= 0.5': (
        lambda d, y, v, g: d != v,
        lambda d, y, v, g: d | ~d,
        -0.5,
        True,
    ),
    "true_positives() / predicted_positives() >= 0.5": (
        lambda d, y, v, g: d & y,
        lambda d, y, v, g: d,
        0.5,
        True,
    ),
}  # fmt: skip
# Constraints that are met whoever the rows are if none passes, or if all do.
CERTAIN = {
    "recall() >= 0.6": (False, True),
    'recall(g == "a") >= 0.6': (False, True),
    "false_negative_rate() <= 0.3": (False, True),
    "false_positive_rate() <= 0.2": (True, False),
    "positive_rate() <= 0.4": (True, False),
    "2 * positive_rate() >= 0.2": (False, True),
    "precision() >= 0.5": (True, False),
    "false_discovery_rate() <= 0.5": (True, False),
    "false_omission_rate() <= 0.2": (False, True),
    "true_positives() / predicted_positives() >= 0.5": (True, False),
}


def compile_scores(constraint, y, columns, weights=None):
    rows = Population(None, y, columns, weights)
    return compile(Problem("error_rate()", [constraint]), rows)


def measure(compiled, scores, unit=None):
    rows = len(scores)
    decisions = np.stack([np.zeros(rows, dtype=int), np.ones(rows, dtype=int)])
    share = read_share(compiled.rows[0], compiled, decisions)
    weights = np.ones(rows) if compiled.weights is None else compiled.weights
    return measure_confidences(scores, share, weights, np.arange(rows) if unit is None else unit)


@pytest.mark.parametrize("constraint", RATES)
def test_confidences_are_those_of_binomial_tests(constraint):
    _, y, columns = make_rows(90, seed=3)
    scores = (np.random.default_rng(3).normal(size=90) + y).round(1)  # some are equal
    counted, among, bound, is_searched = RATES[constraint]
    expected = []
    for threshold in cut_scores(scores).thresholds:
        rows = scores >= threshold, y == 1, columns["live"] == 1, columns["g"] == "a"
        n = int(among(*rows).sum())
        k = int((counted(*rows) & among(*rows)).sum())
        alternative = "greater" if bound > 0 else "less"
        p = binomtest(k, n, abs(bound), alternative=alternative).pvalue if n else 1.0
        expected.append(1 - min(p * (SEARCHED if is_searched else 1), 1))
    for end, is_certain in zip((0, -1), CERTAIN.get(constraint, (False, False)), strict=True):
        expected[end] = 1.0 if is_certain else expected[end]
    compiled = compile_scores(constraint, y, columns)
    np.testing.assert_allclose(measure(compiled, scores), expected, atol=1e-9)


def test_copies_and_weights_count_as_the_independent_rows_that_they_are():
    _, y, columns = make_rows(80)
    scores = np.random.default_rng(0).normal(size=80) + y
    for constraint in ("recall() >= 0.6", "precision() >= 0.4"):
        expected = measure(compile_scores(constraint, y, columns), scores)
        heavy = compile_scores(constraint, y, columns, np.full(80, 1700.0))
        np.testing.assert_allclose(measure(heavy, scores), expected)
        four = np.repeat(np.arange(80), 4)
        copies = {name: values[four] for name, values in columns.items()}
        confidences = measure(compile_scores(constraint, y[four], copies), scores[four], four)
        np.testing.assert_allclose(confidences, expected)
        uneven = np.random.default_rng(1).gamma(1, 1, 80)
        weighted = measure(compile_scores(constraint, y, columns, uneven), scores)
        middle = len(scores) // 2
        assert np.abs(weighted - expected)[middle] > 1e-3


@pytest.mark.parametrize("constraint", [
    "cost(false_negative=5, false_positive=1) <= 0.5",
    "f_score() >= 0.5",
    'recall(g == "a") >= 0.9 * recall()',
    'recall(g == "a") / recall() >= 0.9',
    "predicted_positives() <= 30",
    "false_positives() / true_positives() <= 0.5",
])  # fmt: skip
def test_constraints_that_no_binomial_test_is_for(constraint):
    _, y, columns = make_rows(90)
    compiled = compile_scores(constraint, y, columns)
    decisions = np.stack([np.zeros(90, dtype=int), np.ones(90, dtype=int)])
    assert read_share(compiled.rows[0], compiled, decisions) is None


def test_a_group_with_one_label_is_no_certainty():
    """All rows of the group are positive here, but not in every sample."""
    y = np.array([1] * 5 + [0, 1] * 20)
    columns = {"g": np.array(["a"] * 5 + ["b"] * 40)}
    compiled = compile_scores('precision(g == "a") >= 0.8', y, columns)
    confidences = measure(compiled, np.linspace(1, 0, 45))
    assert confidences[0] == 1
    assert confidences[1:].max() == pytest.approx(1 - 0.8**5)


# --- claims ---------------------------------------------------------------------------------------

DRAWS = 150
BOUNDS = {
    ("recall() >= 0.8",): {"recall": 0.8},
    ("false_positive_rate() <= 0.1",): {"false_positive_rate": -0.1},
    ("precision() >= 0.7",): {"precision": 0.7},
    ("recall() >= 0.6", "false_positive_rate() <= 0.4"): {
        "recall": 0.6,
        "false_positive_rate": -0.4,
    },
}


def is_met(rates, bounds):
    return all((rates[name] - abs(bound)) * np.sign(bound) >= 0 for name, bound in bounds.items())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [60, 300])
@pytest.mark.parametrize("constraints", BOUNDS)
def test_claims_are_rarely_false(constraints, rows):
    """If .9 is claimed, constraints are violated in truth in one of ten samples at most."""
    false = 0
    for seed in range(DRAWS):
        scores, y = make_scores(rows, seed)
        objective = "maximize precision()" if "recall" in constraints[0] else "maximize recall()"
        model = fit_scores(scores, y, constraints, objective=objective)
        rates = measure_normal(model.best_threshold_)
        claimed = model.status_.claim.reached
        false += claimed >= 0.9 and not is_met(rates, BOUNDS[constraints])
    assert false <= 0.1 * DRAWS + 2 * np.sqrt(0.09 * DRAWS)


@pytest.mark.filterwarnings("ignore")
def test_margins_of_constraints_that_compare_groups_claim_what_holds():
    false = 0
    for seed in range(40):
        scores, y = make_scores(400, seed)
        g = np.random.default_rng(seed + 1000).choice(["a", "b"], 400)
        scores = scores - 0.3 * (g == "a")
        X = scores[:, None]
        constraint = 'recall(g == "a") >= 0.9 * recall(g == "b")'
        model = ConstrainedThresholdClassifier(
            FirstColumn().fit(X, y), constraint, cv="prefit", random_state=0
        )
        model.fit(X, y, columns={"g": g})
        of_a, of_b = norm.sf(model.best_threshold_ - np.array([1.2, 1.5]))
        false += model.status_.claim.reached >= 0.9 and of_a < 0.9 * of_b
    assert false <= 0.1 * 40 + 2 * np.sqrt(0.09 * 40)


def test_the_cheapest_threshold_that_is_sure_enough_is_chosen():
    scores, y = make_scores(500, 0)
    sure = fit_scores(scores, y, "recall() >= 0.8", objective="maximize precision()")
    thresholds = cut_scores(scores).thresholds
    precision = []
    for threshold in thresholds:
        hits = int((scores >= threshold)[y == 1].sum())
        is_shown = binomtest(hits, int(y.sum()), 0.8, alternative="greater").pvalue <= 0.1
        precision.append(y[scores >= threshold].mean() if is_shown else -1)
    assert sure.best_score_ == pytest.approx(max(precision))
    assert 0.9 <= sure.status_.confidence < 0.95
    plain = fit_scores(
        scores, y, "recall() >= 0.8", objective="maximize precision()", confidence=None
    )
    assert plain.best_score_ > sure.best_score_
    assert plain.status_.confidence is None


@pytest.mark.parametrize(("constraint", "label"), [
    ("recall() >= 0.8", 1),
    ("true_negative_rate() >= 0.8", 0),
    ('recall(g == "a") >= 0.7', 1),
])  # fmt: skip
def test_the_classifier_takes_the_same_floor_for_one_constraint(constraint, label):
    X, y, columns = make_rows(900)
    model = RateConstrainedClassifier(constraint, random_state=0).fit(X, y, columns)
    rules = model.learned_.rules
    assert len(rules.compiled.rows) == 1
    (decisions,) = rules.decide(model.model_.weights[None])
    rows = (y == label) & ((columns["g"] == "a") | ("g" not in constraint))
    hits = int((decisions == label)[rows].sum())
    bound = float(constraint[-3:])
    p = binomtest(hits, int(rows.sum()), bound, alternative="greater").pvalue
    assert p <= 0.1
    assert model.status_.claim.reached == pytest.approx(1 - p)
    assert model.prices()[0].objectives
    both = RateConstrainedClassifier([constraint, "positive_rate() >= 0.1"], random_state=0)
    claim = both.fit(X, y, columns).status_.claim
    assert claim.reached != pytest.approx(1 - p)


def test_a_confidence_that_no_threshold_reaches_is_claimed_as_it_is():
    scores, y = make_scores(60, 0)
    with pytest.warns(ConfidenceNotReached, match="90% asked"):
        model = fit_scores(scores, y, "accuracy() >= 0.78", objective="maximize recall()")
    assert model.status_.feasible
    assert model.status_.confidence < 0.9


def test_one_decision_for_all_rows_is_warned_of():
    scores, y = make_scores(40, 0)
    with pytest.warns(UserWarning, match="Every row gets the decision 0"):
        model = fit_scores(scores, y, "precision() >= 0.95", objective="maximize recall()")
    assert model.best_threshold_ == np.inf
    assert not model.predict(scores[:, None]).any()
    assert (model.decision_function(scores[:, None]) < 0).all()


# --- the best threshold, by loops -----------------------------------------------------------------


def list_decisions(scores):
    return [(scores >= threshold).astype(int) for threshold in cut_scores(scores).thresholds]


def cost(d, y, columns, weights):
    price = np.where(y == 1, 5 * columns["amount"], 1.0)
    return np.average(price * (d != y), weights=weights)


def error(d, y, columns, weights):
    return np.average(d != y, weights=weights)


def minus_f_score(d, y, columns, weights):
    return (
        -2 * weights[(d & y) == 1].sum() / max(weights[d == 1].sum() + weights[y == 1].sum(), 1e-9)
    )


def recall_of_a(d, y, columns, weights):
    rows = (y == 1) & (columns["g"] == "a")
    return np.average(d[rows], weights=weights[rows]) - 0.8


def recalls_differ(d, y, columns, weights):
    rates = []
    for group in "ab":
        rows = (y == 1) & (columns["g"] == group)
        rates.append(np.average(d[rows], weights=weights[rows]))
    return 0.1 - abs(rates[0] - rates[1])


def few_positives(d, y, columns, weights):
    return 100 - d @ weights


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(("constraint", "room"), [
    ('recall(g == "a") >= 0.8', recall_of_a),
    ("equal_opportunity(g, slack=0.1, against=\"pairwise\")", recalls_differ),
    ("predicted_positives() <= 100", few_positives),
    ((), lambda *rows: 0.0),
])  # fmt: skip
@pytest.mark.parametrize(("objective", "value"), [
    ('cost(false_negative="amount5", false_positive=1)', cost),
    ("error_rate()", error),
    ("maximize f_score()", minus_f_score),
])  # fmt: skip
def test_the_best_of_all_thresholds(objective, value, constraint, room, is_weighted):
    _, y, columns = make_rows(150)
    random = np.random.default_rng(5)
    scores = (random.normal(size=150) + y).round(2)
    weights = random.choice([0.5, 2.0], 150) if is_weighted else np.ones(150)
    columns["amount5"] = 5 * columns["amount"]
    X = scores[:, None]
    model = ConstrainedThresholdClassifier(
        FirstColumn().fit(X, y), constraint, objective=objective, confidence=None, cv="prefit"
    )
    model.fit(X, y, columns=columns, sample_weight=weights if is_weighted else None)
    values = []
    for decisions in list_decisions(scores):
        rows = decisions, y, columns, weights
        values.append(value(*rows) if room(*rows) >= -1e-9 else np.inf)
    assert value(model.predict(X), y, columns, weights) == pytest.approx(min(values))
    assert abs(model.best_score_) == pytest.approx(abs(min(values)))


def test_one_of_several_labels_against_the_others():
    random = np.random.default_rng(0)
    probabilities = random.dirichlet([1, 1, 1], 300)
    y = np.array([random.choice(["x", "y", "z"], p=row) for row in probabilities])
    inside = Probabilities().fit(probabilities, y)
    options = {"positive_label": "x", "confidence": None, "cv": "prefit"}
    model = ConstrainedThresholdClassifier(inside, 'recall(of="x") >= 0.7', **options)
    model.fit(probabilities, y)
    most_likely = np.where(probabilities[:, 1] >= probabilities[:, 2], "y", "z")
    errors = []
    for threshold in cut_scores(probabilities[:, 0]).thresholds:
        decisions = np.where(probabilities[:, 0] >= threshold, "x", most_likely)
        is_met = (decisions == "x")[y == "x"].mean() >= 0.7
        errors.append((decisions != y).mean() if is_met else 1.0)
    assert (model.predict(probabilities) != y).mean() == pytest.approx(min(errors))
    assert model.best_score_ == pytest.approx(min(errors))
    threshold = model.best_threshold_
    assert model.set_params(confidence=0.9).fit(probabilities, y).best_threshold_ < threshold


@pytest.mark.parametrize("labels", [2, 3])
def test_rows_below_a_threshold_are_referred(labels):
    random = np.random.default_rng(1)
    probabilities = random.dirichlet(np.ones(labels), 400)
    y = np.array([random.choice(labels, p=row) for row in probabilities])
    inside = Probabilities().fit(probabilities, y)
    options = {"refer": "ask", "objective": "referred()", "cv": "prefit"}
    model = ConstrainedThresholdClassifier(
        inside, "error_rate(decided) <= 0.25", confidence=None, **options
    )
    decisions = model.fit(probabilities, y).predict(probabilities)
    largest = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == y
    referred = []
    for threshold in cut_scores(largest).thresholds:
        passed = largest >= threshold
        errors = (~is_right)[passed].mean() if passed.any() else 0.0
        referred.append((~passed).mean() if errors <= 0.25 else 1.0)
    assert (decisions == "ask").mean() == pytest.approx(min(referred))
    decided = decisions != "ask"
    assert (decisions[decided] == probabilities.argmax(axis=1)[decided]).all()
    model.set_params(confidence=0.9).fit(probabilities, y)
    assert (model.predict(probabilities) == "ask").mean() > min(referred)
    assert model.status_.confidence >= 0.9


# --- what is judged is deployed -------------------------------------------------------------------


def test_the_model_that_was_judged_is_deployed():
    X, y, _ = make_rows(600)
    split = ShuffleSplit(1, test_size=0.5, random_state=0)
    model = ConstrainedThresholdClassifier(LogisticRegression(), "recall() >= 0.8", cv=split)
    model.fit(X, y)
    ((_, test),) = split.split(X, y)
    assert (model.predict(X[test]) != y[test]).mean() == pytest.approx(model.best_score_)
    (fit,) = model.estimators_
    assert model.predict_proba(X) == pytest.approx(fit.predict_proba(X))
    inside = LogisticRegression().fit(X[:300], y[:300])
    prefit = ConstrainedThresholdClassifier(inside, "recall() >= 0.8", cv="prefit")
    prefit.fit(X[300:], y[300:])
    assert prefit.estimators_ == [inside]
    assert (prefit.predict(X[300:]) != y[300:]).mean() == pytest.approx(prefit.best_score_)


@pytest.mark.parametrize("classifier", [LogisticRegression(), LinearSVC()])
@pytest.mark.parametrize(("no", "yes"), [("good", "bad"), ("bad", "good"), (1, 0), (False, True)])
def test_which_label_means_yes(classifier, no, yes):
    X, y, _ = make_rows(600)
    labels = np.where(y, yes, no)
    model = ConstrainedThresholdClassifier(
        classifier, "recall() >= 0.8", positive_label=yes, random_state=0
    ).fit(X, labels)
    decisions = model.predict(X)
    assert set(np.unique(decisions)) == {no, yes}
    assert 0.8 <= (decisions == yes)[y == 1].mean() < 0.95
    favours_last = model.decision_function(X) > 0
    assert (favours_last == (decisions == model.classes_[1])).all()
    same = ConstrainedThresholdClassifier(classifier, "recall() >= 0.8", random_state=0).fit(X, y)
    assert (same.predict(X) == (decisions == yes)).all()


def test_scores_are_of_the_method_asked_for():
    X, y, _ = make_rows(400)
    options = {"random_state": 0, "confidence": None}
    model = ConstrainedThresholdClassifier(LogisticRegression(), "recall() >= 0.8", **options)
    of_probabilities = model.fit(X, y).best_threshold_
    model.set_params(response_method="decision_function").fit(X, y)
    assert model.best_threshold_ == pytest.approx(
        np.log(of_probabilities / (1 - of_probabilities)), abs=0.02
    )
    assert not hasattr(ConstrainedThresholdClassifier(LinearSVC()), "predict_proba")


def test_splits_of_all_kinds():
    X, y, _ = make_rows(300)
    ids = np.repeat(np.arange(100), 3)
    half = np.arange(300) < 150
    indices = np.arange(300)
    splitters = [
        2,
        GroupKFold(4),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        [(indices[half], indices[~half]), (indices[~half], indices[half])],
    ]
    for splitter in splitters:
        model = ConstrainedThresholdClassifier(
            LogisticRegression(), "predicted_positives() <= 100", cv=splitter, random_state=0
        )
        model.fit(X, y, clusters=ids if isinstance(splitter, GroupKFold) else None)
        assert model.status_.feasible
        assert model.predict(X).sum() <= 110
    split = (indices[half], indices[~half])
    thresholds = []
    for splits in ([split], [split, split]):  # a row that is scored twice counts once
        model = ConstrainedThresholdClassifier(LogisticRegression(), "recall() >= 0.7", cv=splits)
        thresholds.append(model.fit(X, y).best_threshold_)
    assert thresholds[0] == thresholds[1]


def test_copies_are_in_one_fold_and_count_once():
    scores, y = make_scores(200, 0)
    four = np.repeat(np.arange(200), 4)
    X = scores[:, None]
    model = ConstrainedThresholdClassifier(
        FrozenEstimator(FirstColumn().fit(X, y)), "recall() >= 0.7", cv="prefit"
    )
    model.set_params(objective="maximize precision()").fit(X, y)
    with pytest.warns(UserWarning, match="copies"):
        copied = clone(model).fit(X[four], y[four])
    assert copied.best_threshold_ == model.best_threshold_
    assert copied.status_.confidence == model.status_.confidence
    apart = clone(model).fit(X[four], y[four], clusters=np.arange(800))
    assert apart.best_threshold_ > model.best_threshold_
    folds = ConstrainedThresholdClassifier(Recording(), "recall() >= 0.5", random_state=0)
    with pytest.warns(UserWarning, match="copies"):
        folds.fit(X[four], y[four])
    trained = [np.isin(scores, fit.trained_on_) for fit in folds.estimators_]
    assert np.sum(trained, axis=0).tolist() == [4] * 200  # out of five folds


# --- where people put it --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("constraints", [(), "accuracy() >= 0.1"], ids=["plain", "constrained"])
def test_scikit_learns_checks(constraints):
    model = ConstrainedThresholdClassifier(LogisticRegression(), constraints)
    expected = {"check_classifiers_train": "decisions are not at a probability of a half"}
    checks = check_estimator(model, on_skip=None, expected_failed_checks=expected)
    assert sum(check["status"] == "passed" for check in checks) >= 60


def test_texts_tables_and_sparse_matrices():
    texts = ["good good", "bad", "good", "bad bad", "good bad good", "bad good bad"] * 20
    y = np.array([1, 0, 1, 0, 1, 0] * 20)
    words = make_pipeline(CountVectorizer(), LogisticRegression())
    ids = np.arange(120)
    model = ConstrainedThresholdClassifier(words, "recall() >= 0.9").fit(texts, y, clusters=ids)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]
    sparse = CountVectorizer().fit_transform(texts)
    same = ConstrainedThresholdClassifier(LogisticRegression(), "recall() >= 0.9")
    assert (same.fit(sparse.tocoo(), y, clusters=ids).predict(sparse) == y).all()
    clone(model).set_params(confidence=None).fit(texts, y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_constraints_name_the_columns_of_a_table(library):
    frames = pytest.importorskip(library)
    X, y, _ = make_rows(600)
    table = frames.DataFrame({f"x{index}": X[:, index] for index in range(6)})
    constraint = "recall(x0 > 0) >= 0.8"
    model = ConstrainedThresholdClassifier(LogisticRegression(), constraint, random_state=0)
    model.fit(table, y)
    decisions = model.predict(table)
    assert decisions[(X[:, 0] > 0) & (y == 1)].mean() >= 0.8
    assert model.feature_names_in_.tolist() == list(table.columns)
    beside = ConstrainedThresholdClassifier(LogisticRegression(), constraint, random_state=0)
    beside.fit(X, y, columns={"x0": X[:, 0]})
    assert (beside.predict(X) == decisions).all()


def test_in_a_search_a_pipeline_and_a_pickle():
    X, y, _ = make_rows(400)
    inside = make_pipeline(StandardScaler(), LogisticRegression())
    model = ConstrainedThresholdClassifier(inside, "recall() >= 0.8", random_state=0)
    grid = {
        "estimator__logisticregression__C": [0.01, 1.0],
        "constraints": ["recall() >= 0.8", "precision() >= 0.6"],
    }
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_estimator_.status_.feasible
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).min() > 0.3
    text = pickle.dumps(model.fit(X, y))
    assert len(text) < 50_000  # without the rows
    assert (pickle.loads(text).predict(X) == model.predict(X)).all()
    assert str(pickle.loads(text).status_) == str(model.status_)


def test_weights_reach_the_classifier():
    X, y, _ = make_rows(400)
    weights = np.random.default_rng(0).choice([1.0, 4.0], 400)
    for inside in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        model = ConstrainedThresholdClassifier(inside, "recall() >= 0.7", random_state=0)
        plain = clone(model).fit(X, y).predict_proba(X)
        assert abs(model.fit(X, y, sample_weight=weights).predict_proba(X) - plain).max() > 1e-3
    model = ConstrainedThresholdClassifier(KNeighborsClassifier(), "recall() >= 0.7")
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        assert model.fit(X, y, sample_weight=weights).status_.feasible


def test_metadata_routing():
    X, y, columns = make_rows(400)
    weights = np.random.default_rng(0).choice([1.0, 4.0], 400)
    ids = np.repeat(np.arange(100), 4)
    options = {"constraints": 'recall(g == "a") >= 0.6', "random_state": 0}
    plain = ConstrainedThresholdClassifier(LogisticRegression(), **options)
    plain.fit(X, y, columns=columns, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = LogisticRegression().set_fit_request(sample_weight=True)
        model = ConstrainedThresholdClassifier(asks, **options)
        model.fit(X, y, columns=columns, sample_weight=weights)
        assert model.best_threshold_ == plain.best_threshold_
        asks_not = LogisticRegression().set_fit_request(sample_weight=False)
        other = ConstrainedThresholdClassifier(asks_not, **options)
        other.fit(X, y, columns=columns, sample_weight=weights)
        assert abs(other.predict_proba(X) - model.predict_proba(X)).max() > 1e-3
        grouped = ConstrainedThresholdClassifier(asks, cv=GroupKFold(3), **options)
        assert grouped.fit(X, y, columns=columns, groups=ids).status_.feasible
        pandas = pytest.importorskip("pandas")
        tuned = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(tuned, {"confidence": [None, 0.9]}, cv=3)
        search.fit(X, y, columns=pandas.DataFrame(columns), sample_weight=weights)
        assert search.best_estimator_.status_.feasible


def test_a_certificate_on_rows_that_it_never_saw():
    X, y, _ = make_rows(3000)
    model = ConstrainedThresholdClassifier(
        LogisticRegression(), "recall() >= 0.7", objective="maximize precision()", random_state=0
    )
    model.fit(X[:1500], y[:1500])
    certificate = model.certify(X[1500:], y[1500:])
    hits = int(model.predict(X[1500:])[y[1500:] == 1].sum())
    p = binomtest(hits, int(y[1500:].sum()), 0.7, alternative="greater").pvalue
    assert certificate.holds == (p <= 0.05)
    assert certificate.promises[0].p_value == pytest.approx(p, rel=1e-6)
    audit = model.audit(X[1500:], y[1500:])
    assert audit.promises[0].value == pytest.approx(hits / y[1500:].sum())
    ids = {"customer": np.repeat(np.arange(750), 2)}
    clustered = model.audit(X[1500:], y[1500:], ids, clusters="customer")
    assert clustered.promises[0].value == audit.promises[0].value


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "error", "words"), [
    ({"y": np.zeros(100)}, ValueError, "one class"),
    ({"y": np.arange(100) % 3}, ValueError, "Only binary .* positive_label=0"),
    ({"y": [1] + [0] * 99}, ValueError, "no row of class 1.*cv='prefit'"),
    ({"y": None}, ValueError, "y"),
    ({"y": [1, 0] * 49}, ValueError, "100 rows.* 98"),
    ({"estimator": LinearSVC(), "response_method": "predict_proba"}, AttributeError, "LinearSVC"),
    ({"response_method": "predict"}, ValueError, "response_method= takes .*'decision_function'"),
    ({"constraints": "roc_auc() >= 0.8"}, ValueError, "roc_auc.*rb.play"),
    ({"constraints": "recall(at=0.3) >= 0.8"}, ValueError, "at=.*rb.play"),
    ({"constraints": rb.constraint(lambda m, r: 0.0, name="gap")}, ValueError, "rb.play"),
    ({"constraints": 'recall(sex == "F") >= 0.8'}, ValueError, "no column 'sex'"),
    ({"constraints": 'recall(g == "c") >= 0.8'}, ValueError, 'no row has g == "c"'),
    ({"constraints": 'positive_rate(on="pool") <= 0.2'}, ValueError, "pool"),
    ({"constraints": 'precision(g == "a") >= 0.9 * precision()'}, ValueError, "level between them"),
    ({"constraints": "referred() <= 0.1"}, ValueError, "no row can be referred"),
    ({"confidence": 90}, ValueError, "confidence= takes a number between 0 and 1"),
    ({"refer": ""}, ValueError, "refer= takes a text"),
    ({"refer": "1", "y": np.array(["0", "1"] * 50)}, ValueError, "refer='1' is one of the labels"),
    ({"estimator": LinearSVC}, TypeError, r"estimator= takes a classifier, as in Logistic"),
    ({"estimator": "linear"}, TypeError, "got 'linear'"),
    ({"cv": "prefit"}, NotFittedError, "not fitted"),
    ({"cv": 1}, ValueError, "at least one"),
    ({"positive_label": 7}, ValueError, r"positive_label=7 is not one of the labels \[0, 1\]"),
])  # fmt: skip
def test_what_is_refused(change, error, words):
    X, y, columns = make_rows(100)
    options = {"estimator": LogisticRegression()} | change
    y = options.pop("y", y)
    with pytest.raises(error, match=words):
        ConstrainedThresholdClassifier(**options).fit(X, y, columns=columns)


def test_scores_and_weights_that_are_no_numbers():
    X, y, _ = make_rows(100)
    scores = X[:, :1].copy()
    scores[17] = np.nan
    model = ConstrainedThresholdClassifier(FirstColumn(), "recall() >= 0.5")
    with pytest.raises(ValueError, match=r"FirstColumn.decision_function gives NaN"):
        model.fit(scores, y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(scores)
    model = ConstrainedThresholdClassifier(LogisticRegression())
    for weights in (np.full(100, np.nan), -np.ones(100), np.zeros(100), np.ones(7)):
        with pytest.raises(ValueError, match="weight"):
            model.fit(X, y, sample_weight=weights)


def test_arguments_that_fit_does_not_have():
    X, y, _ = make_rows(100)
    model = ConstrainedThresholdClassifier(LogisticRegression(), "recall() >= 0.5")
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.fit(X, y, monitor=print)
    with pytest.raises(ValueError, match="clusters has the shape"):
        model.fit(X, y, clusters=[1, 2])
    with pytest.raises(ValueError, match="no column 'customer'"):
        model.fit(X, y, clusters="customer")
    for method in (model.predict, model.predict_proba, model.decision_function, model.certify):
        with pytest.raises(NotFittedError):
            method(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="clusters has the shape"):
        model.fit(X, y, clusters=[1, 2])
    with pytest.raises(NotFittedError):  # it would decide by a model that is not the one asked for
        model.predict(X)


def test_constraints_that_conflict_give_the_nearest_threshold_and_a_warning():
    scores, y = make_scores(300, 0)
    constraints = ["recall() >= 0.99", "positive_rate() <= 0.2"]
    with pytest.warns(ConstraintsViolated, match="is violated by"):
        model = fit_scores(scores, y, constraints)
    worst = []
    for decisions in list_decisions(scores):
        worst.append(max(0.99 - decisions[y == 1].mean(), decisions.mean() - 0.2))
    violations = [item.violation for item in model.status_.constraints]
    assert max(violations) == pytest.approx(min(worst))
    assert not all(item.met for item in model.status_.constraints)
    with pytest.raises(ValueError, match="no model meets this"):
        fit_scores(scores, y, "recall() >= 1.2")


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_a_constant_score_has_two_thresholds(confidence):
    y = (np.arange(60) % 3 == 0).astype(int)
    model = fit_scores(np.zeros(60), y, "recall() >= 0.9", confidence=confidence)
    assert model.best_threshold_ <= 0
    assert model.predict(np.zeros((5, 1))).all()


def test_huge_and_tiny_scores():
    scores, y = make_scores(300, 0)
    expected = fit_scores(scores, y, "recall() >= 0.8").predict(scores[:, None])
    for scale in (1e-150, 1e150):
        scaled = scores * scale
        assert (fit_scores(scaled, y, "recall() >= 0.8").predict(scaled[:, None]) == expected).all()
