"""Every learner on more than two classes: promises kept on its rows, and scores that files give back."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb
from ratebound._old.game.trace import scores_on
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.learners.oracle import OracleScorer

CLASSES = ("ape", "bee", "cat", "dog")
D, N = len(CLASSES), 400
rng = np.random.default_rng(11)
X = rng.normal(size=(N, 3))
SIGNAL = np.column_stack([1.5 * X[:, 0], 1.5 * X[:, 1], 0.4 + X[:, 2], np.full(N, -0.6)])
CODES = (SIGNAL + rng.gumbel(size=(N, D))).argmax(axis=1)
Y = np.array(CLASSES)[CODES]
GROUP = np.where(X[:, 0] + rng.normal(size=N) > 0, "a", "b")
RECALL = rb.recall(of="dog") >= 0.5
FLOORS = [RECALL, rb.recall(of="bee", group="a") >= 0.6, rb.positive_rate(of="ape") <= 0.3]
TREES = ["sklearn.tree._tree.Tree"]


def compiled_on(constraints=FLOORS, rows=slice(None), X=X, **options):
    given = X if isinstance(rows, slice) and rows == slice(None) else X[rows]
    people = rb.Population(given, Y[rows], columns={"group": GROUP[rows]}, classes=CLASSES, **options)
    return rb.compile(rb.Problem(rb.error_rate(), list(constraints)), people)


def boosted(library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    if library == "lightgbm":
        return module.LGBMClassifier(n_estimators=60, num_leaves=6, n_jobs=1, verbosity=-1)
    return module.XGBClassifier(n_estimators=60, max_depth=3, n_jobs=1)


LEARNERS = {
    "linear": lambda: rb.Linear(0.05),
    "lightgbm": lambda: rb.Boosted(boosted("lightgbm")),
    "xgboost": lambda: rb.Boosted(boosted("xgboost")),
    "logistic": lambda: rb.Oracle(LogisticRegression()),
    "forest": lambda: rb.Oracle(RandomForestClassifier(10, max_depth=5)),
    "hist": lambda: rb.Oracle(HistGradientBoostingClassifier(max_iter=10)),
    "bayes": lambda: rb.Oracle(GaussianNB()),
    "tree": lambda: rb.Oracle(DecisionTreeClassifier(max_depth=5)),
    "pipeline": lambda: rb.Oracle(make_pipeline(StandardScaler(), LogisticRegression())),
}


def values_by_hand(decisions):
    """The error rate and the violations of FLOORS, of decisions (n,) that are names of classes."""
    bees = (Y == "bee") & (GROUP == "a")
    return np.array(
        [
            (decisions != Y).mean(),
            0.5 - (decisions == "dog")[Y == "dog"].mean(),
            0.6 - (decisions == "bee")[bees].mean(),
            (decisions == "ape").mean() - 0.3,
        ]
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_promises_are_kept_and_counted_by_hand(name):
    rounds = 400 if name == "linear" else None
    mixture = rb.shrink(rb.play(compiled_on(), LEARNERS[name](), rounds=rounds, progress=False))
    assert mixture.status.feasible
    scores = mixture.scorer.scores(mixture.parameters, X)
    assert scores.shape == (len(mixture), D, N)
    members = np.array([values_by_hand(np.array(CLASSES)[each]) for each in scores.argmax(axis=1)])
    found = mixture.weights @ members
    assert found[0] == pytest.approx(mixture.objectives["train"])
    assert found[1:] == pytest.approx(mixture.violations["train"])
    assert found[1:].max() <= 1e-9
    assert found[0] < 0.55  # the most frequent class alone is wrong on more


@pytest.mark.parametrize("name", LEARNERS)
def test_files_give_the_scores_back(name, tmp_path):
    if name in ("forest", "hist", "bayes", "tree", "pipeline"):
        pytest.importorskip("skops")
    mixture = rb.shrink(rb.play(compiled_on([RECALL]), LEARNERS[name](), rounds=6, progress=False))
    path, trusted = mixture.save(tmp_path), TREES
    if name == "hist":
        with pytest.raises(ValueError, match="not trusted") as asked:
            rb.load(path)
        trusted = str(asked.value).split("--trusted ")[1].split()
    loaded = rb.load(path, trusted=trusted)
    np.testing.assert_array_equal(loaded.member_scores(X), mixture.member_scores(X))
    np.testing.assert_array_equal(loaded.predict(X), mixture.predict(X))
    assert set(mixture.predict(X)) <= set(CLASSES)


# --- trees ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_without_constraints_trees_are_those_of_the_library(library):
    model = boosted(library)
    given = {"boost_from_average": False} if library == "lightgbm" else {"base_score": 0.0}
    stock = type(model)(**model.get_params() | given | {"n_estimators": 10}).fit(X, CODES)
    trace = rb.play(compiled_on([]), rb.Boosted(model), rounds=10, progress=False)
    last = trace.scorer.scores(trace.parameters[-1:], X)[0]
    if library == "lightgbm":
        margins = stock.booster_.predict(X, raw_score=True)
    else:
        margins = stock.predict(X, output_margin=True)
    np.testing.assert_allclose(last.T, margins, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("proxy", ["logistic", "sigmoid", "hinge"])
def test_trees_keep_promises_with_any_proxy(library, proxy):
    trace = rb.play(
        compiled_on(), rb.Boosted(boosted(library)), rules=rb.Rules(proxy=proxy), progress=False
    )
    assert rb.shrink(trace).status.feasible


# --- rounds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "lightgbm", "logistic", "bayes"])
def test_watched_scores(name):
    own, other = compiled_on(rows=slice(0, 250)), compiled_on(rows=slice(250, None))
    trace = rb.play(
        own,
        LEARNERS[name](),
        watch={"again": own, "other": other},
        rounds=10,
        progress=False,
    )
    scores = scores_on(other, trace.scorer, trace.parameters)
    objectives, violations = other.evaluate(scores)
    np.testing.assert_allclose(trace.watched["other"].violations, violations, atol=1e-12)
    np.testing.assert_allclose(trace.watched["other"].objectives, objectives, atol=1e-12)
    np.testing.assert_allclose(trace.watched["again"].objectives, trace.objectives, atol=1e-12)


# --- oracles ----------------------------------------------------------------------------------------


class Recording(ClassifierMixin, BaseEstimator):
    """Remembers what it was given; nearest means to decide with."""

    def fit(self, X, y, sample_weight=None):
        self.given_ = (X, y, sample_weight)
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == each].mean(axis=0) for each in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


def test_without_constraints_an_oracle_sees_its_usual_problem():
    rows = X.copy()
    trace = rb.play(compiled_on([], X=rows), rb.Oracle(Recording()))
    given, labels, weights = trace.scorer.members[0].given_
    assert given is rows
    assert np.array_equal(labels, CODES)
    assert (weights == 1.0).all()
    assert (trace.ended, len(trace)) == ("gap", 1)


def test_weighted_rows_are_the_lagrangian_row_by_row():
    trace = rb.play(compiled_on(), rb.Oracle(Recording()), rounds=3)
    for member, multipliers in zip(trace.scorer.members, trace.multipliers, strict=True):
        _, dogs, bees, apes = multipliers
        cost = (np.arange(D) != CODES[:, None]) / N
        cost[Y == "dog", 3] -= dogs / (Y == "dog").sum()
        among = (Y == "bee") & (GROUP == "a")
        cost[among, 1] -= bees / among.sum()
        cost[:, 0] += apes / N
        rows, labels, weights = member.given_
        gains = cost.max(axis=1, keepdims=True) - cost
        gains[gains < 1e-12] = 0
        row, label = np.nonzero(gains)
        np.testing.assert_array_equal(rows, X[row])
        np.testing.assert_array_equal(labels, label)
        expected = gains[row, label]
        np.testing.assert_allclose(weights, expected / expected.sum() * len(np.unique(row)))


CUTS = np.quantile(X[:, 0], np.linspace(0.02, 0.98, 25))


class Stump(ClassifierMixin, BaseEstimator):
    """The best of all stumps on the first feature, by weighted error: an exact oracle."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.arange(D)
        weights = np.stack([sample_weight * (y == each) for each in range(D)])
        best = np.inf
        for cut in CUTS:
            below = weights[:, X[:, 0] <= cut].sum(axis=1)
            above = weights.sum(axis=1) - below
            error = weights.sum() - below.max() - above.max()
            if error < best - 1e-12:
                best, self.rule_ = error, (cut, int(below.argmax()), int(above.argmax()))
        return self

    def predict(self, X):
        cut, low, high = self.rule_
        return np.where(X[:, 0] <= cut, low, high)


def every_stump():
    for cut in CUTS:
        for low in range(D):
            for high in range(D):
                yield np.array(CLASSES)[np.where(X[:, 0] <= cut, low, high)]


def test_an_exact_oracle_finds_the_best_mixture_there_is():
    """Against a linear program over all stumps."""
    floors = [rb.recall(of="dog") >= 0.2, rb.positive_rate(of="ape") <= 0.25]
    problem = compiled_on(floors)
    trace = rb.play(problem, rb.Oracle(Stump(), tolerance=1e-7), rounds=200)
    assert trace.ended == "gap"
    table = np.array(
        [
            [
                (said != Y).mean(),
                0.2 - (said == "dog")[Y == "dog"].mean(),
                (said == "ape").mean() - 0.25,
            ]
            for said in every_stump()
        ]
    )
    best = linprog(
        table[:, 0], table[:, 1:].T, np.zeros(2), np.ones((1, len(table))), [1.0], method="highs"
    )
    mixture = rb.shrink(trace)
    assert mixture.status.feasible
    assert mixture.objectives["train"] == pytest.approx(best.fun, abs=1e-6)


def test_logistic_regressions_are_kept_as_numbers():
    trace = rb.play(compiled_on(), rb.Oracle(LogisticRegression()), rounds=6)
    assert trace.scorer == LinearScorer("float64", D)
    assert trace.parameters.shape == (len(trace), D * 4)
    plain = LogisticRegression().fit(X, CODES)
    first = trace.scorer.scores(trace.parameters[:1], X)[0]
    np.testing.assert_allclose(first.T, plain.decision_function(X), atol=0.02)


def test_a_fit_that_sees_few_classes_decides_among_those():
    """At high prices some classes are not worth deciding anywhere."""
    problem = compiled_on([rb.positive_rate(of="dog") <= 0, rb.positive_rate(of="ape") <= 0.001])
    trace = rb.play(problem, rb.Oracle(DecisionTreeClassifier(max_depth=4)))
    mixture = rb.shrink(trace)
    assert isinstance(mixture.scorer, OracleScorer)
    assert mixture.status.feasible
    assert any(len(getattr(each, "classes_", (0,))) < D for each in trace.scorer.members)
    assert "dog" not in mixture.predict(X)


def test_regressors_are_refused():
    with pytest.raises(TypeError, match="more than two classes need a classifier"):
        rb.play(compiled_on([]), rb.Oracle(LinearRegression()))


# --- tables that scikit-learn ships ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "lightgbm", "xgboost", "logistic", "forest"])
def test_wine(name):
    rows, labels = load_wine(return_X_y=True)
    rows = StandardScaler().fit_transform(rows)
    people = rb.Population(rows, labels)
    assert people.classes == (0, 1, 2)
    floors = [rb.recall(of=each) >= 0.95 for each in people.classes]
    compiled = rb.compile(rb.Problem(rb.error_rate(), floors), people)
    mixture = rb.shrink(rb.play(compiled, LEARNERS[name](), progress=False))
    assert mixture.status.feasible
    assert mixture.objectives["train"] <= 0.03


@pytest.mark.parametrize("name", ["linear", "lightgbm"])
def test_digits_are_told_apart_about_as_well_as_by_a_plain_fit(name):
    rows, labels = load_digits(return_X_y=True)
    rows = rows / 16
    train, test = slice(0, None, 2), slice(1, None, 2)
    compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(rows[train], labels[train]))
    if name == "linear":
        plain, learner = LogisticRegression(max_iter=1000), rb.Linear(0.02)
    else:
        plain = boosted(name)
        learner = rb.Boosted(plain)
    rounds = 300 if name == "linear" else None
    mixture = rb.last_iterate(rb.play(compiled, learner, rounds=rounds, progress=False))
    fitted = type(plain)(**plain.get_params()).fit(rows[train], labels[train])
    if name == "linear":
        expected = fitted.predict(rows[test])
    else:
        expected = fitted.booster_.predict(rows[test]).argmax(axis=1)
    found = (mixture.predict(rows[test]) == labels[test]).mean()
    assert found > (expected == labels[test]).mean() - 0.02


# --- other rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_categories_of_a_table_stay_themselves_after_loading(library, tmp_path):
    pandas = pytest.importorskip("pandas")
    names = np.array(list("uvwxyz"))[rng.integers(0, 6, N)]
    labels = np.where(np.isin(names, list("ux")), "ape", np.where(names == "w", "bee", Y))
    table = pandas.DataFrame({"age": X[:, 0], "kind": pandas.Categorical(names)})
    people = rb.Population(table, labels, columns={"group": GROUP})
    problem = rb.compile(rb.Problem(rb.error_rate(), [rb.recall(of="cat") >= 0.5]), people)
    trace = rb.play(problem, rb.Boosted(boosted(library)), watch={"again": problem}, progress=False)
    np.testing.assert_array_equal(trace.watched["again"].objectives, trace.objectives)
    mixture = rb.shrink(trace)
    assert mixture.status.feasible
    loaded = rb.load(mixture.save(tmp_path))
    other = table.assign(kind=pandas.Categorical(names, categories=list("zyxwvu")))  # other codes
    np.testing.assert_array_equal(loaded.member_scores(other), mixture.member_scores(table))


@pytest.mark.parametrize("name", ["linear", "lightgbm", "logistic"])
def test_sparse_matrices_are_as_good_as_arrays(name):
    sparse = rb.compile(
        rb.Problem(rb.error_rate(), [RECALL]), rb.Population(csr_array(X), Y, classes=CLASSES)
    )
    given = [
        rb.play(each, LEARNERS[name](), rounds=5, progress=False)
        for each in (sparse, compiled_on([RECALL]))
    ]
    scores = [trace.scorer.scores(trace.parameters, X) for trace in given]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["linear", "logistic", "tree"])
def test_a_row_of_weight_two_is_two_rows(name):
    counts = np.random.default_rng(0).integers(1, 3, size=N)
    twice = np.repeat(np.arange(N), counts)
    learner = LEARNERS[name]()
    once = rb.play(compiled_on(weights=counts), learner, rounds=3, batch_size=None, progress=False)
    repeated = rb.play(compiled_on(rows=twice), learner, rounds=3, batch_size=None, progress=False)
    np.testing.assert_allclose(once.objectives, repeated.objectives, atol=0.02)
    np.testing.assert_allclose(once.multipliers, repeated.multipliers, atol=1e-3)


@pytest.mark.parametrize("name", ["linear", "xgboost", "logistic", "tree"])
def test_rows_without_labels_have_promises_too(name):
    train = rb.Population(X, Y, classes=CLASSES)
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(of="cat", on="pool") <= 0.2])
    compiled = rb.compile(problem, train, pool=rb.Population(X[:100] + 0.5))
    mixture = rb.shrink(rb.play(compiled, LEARNERS[name](), progress=False))
    assert mixture.status.feasible
    said = mixture.scorer.scores(mixture.parameters, X[:100] + 0.5).argmax(axis=1)
    assert mixture.weights @ (said == 2).mean(axis=1) <= 0.2 + 1e-9
