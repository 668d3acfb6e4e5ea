"""Estimators as oracles: against scikit-learn's own fits, and through files and back."""

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.learners.oracle import OracleScorer

rng = np.random.default_rng(7)
X = rng.normal(size=(300, 3))
GROUP = np.where(X[:, 1] + rng.normal(size=300) > 0.6, "a", "b")
Y = X @ [1.0, 0.8, -0.5] + 0.7 * rng.normal(size=300) > 0
PROBLEM = rb.Problem(
    rb.error_rate(), [rb.recall(group="b") >= 0.98 * rb.recall(), rb.positive_rate() <= 0.45]
)
TREES = ["sklearn.tree._tree.Tree"]
HIST = ["sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]  # and what it is held by


def compiled_on(rows=X, problem=PROBLEM, **options):
    return rb.compile(problem, rb.Population(rows, Y, columns={"group": GROUP}, **options))


def table():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"x": X[:, 0], "z": X[:, 2], "group": GROUP})


def holes():
    return np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)


def forest():
    return RandomForestClassifier(5, max_depth=4)


def reader():
    encode = make_column_transformer((OneHotEncoder(), ["group"]), remainder=StandardScaler())
    return make_pipeline(encode, LogisticRegression())


def twice_scaled():
    return make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LinearSVC()))


ANY = {
    "pipeline": (lambda: make_pipeline(StandardScaler(), LogisticRegression()), lambda: X, []),
    "pipelines": (twice_scaled, lambda: X, []),
    "forest": (forest, lambda: X, TREES),
    "hist": (lambda: HistGradientBoostingClassifier(max_iter=5), holes, HIST),
    "table": (reader, table, ["sklearn.preprocessing._encoders.OneHotEncoder"]),
    "bayes": (GaussianNB, lambda: X, []),
    "svc": (lambda: SVC(), lambda: X, ["sklearn.svm._classes.SVC"]),
}
LINEAR = {
    "logistic": LogisticRegression,
    "liblinear": lambda: LogisticRegression(solver="liblinear"),
    "svc": LinearSVC,
    "kernel": lambda: SVC(kernel="linear"),
    "sgd": SGDClassifier,
    "ridge": RidgeClassifier,
    "perceptron": Perceptron,
}


class Recording(ClassifierMixin, BaseEstimator):
    """Remembers what it was given; a nearest mean to decide with."""

    def fit(self, X, y, sample_weight=None):
        self.given_ = (X, y, sample_weight)
        self.direction_ = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        return self

    def predict(self, X):
        return (X @ self.direction_ > 0).astype(int)


# --- what the estimator is asked -----------------------------------------------------------------


def test_without_constraints_it_sees_its_usual_problem():
    rows = X.copy()
    trace = rb.play(compiled_on(rows, rb.Problem(rb.error_rate())), rb.Oracle(Recording()))
    given, labels, weights = trace.scorer.members[0].given_
    assert given is rows
    assert np.array_equal(labels, Y.astype(int))
    assert (weights == 1.0).all()
    assert (trace.ended, len(trace)) == ("gap", 1)


def test_weights_are_the_costs_of_a_yes():
    """By the definition of the Lagrangian, row by row, in the second round."""
    trace = rb.play(compiled_on(), rb.Oracle(Recording()), rounds=2)
    _, recall, coverage = trace.multipliers[1]
    positive, b = Y.astype(float), (GROUP == "b")
    cost = (1 - 2 * positive) / 300 + coverage / 300
    cost += recall * (0.98 * positive / positive.sum() - positive * b / (positive * b).sum())
    _, labels, weights = trace.scorer.members[1].given_
    assert np.array_equal(labels, cost < 0)
    assert weights == pytest.approx(np.abs(cost) / np.abs(cost).mean())


def test_rows_that_cost_nothing_are_left_out():
    problem = rb.Problem(rb.error_rate(group="a"))
    trace = rb.play(compiled_on(problem=problem), rb.Oracle(Recording()))
    given, labels, weights = trace.scorer.members[0].given_
    assert np.array_equal(given, X[GROUP == "a"])
    assert np.array_equal(labels, Y[GROUP == "a"])
    assert (weights == 1.0).all()


def test_the_first_answer_is_the_usual_fit_with_weights():
    weights = rng.integers(1, 4, size=300).astype(float)
    compiled = compiled_on(problem=rb.Problem(rb.error_rate()), weights=weights)
    trace = rb.play(compiled, rb.Oracle(LogisticRegression(tol=1e-10)))
    own = LogisticRegression(tol=1e-10).fit(X, Y, sample_weight=weights)
    assert trace.parameters[0, :3] == pytest.approx(own.coef_[0], abs=1e-6)


def test_a_row_of_weight_two_is_two_rows():
    """To a regularised model too, and under constraints."""
    counts = np.random.default_rng(0).integers(0, 3, size=300)
    rows = np.repeat(np.arange(300), counts)
    columns = {"group": GROUP[rows]}
    repeated = rb.compile(PROBLEM, rb.Population(X[rows], Y[rows], columns=columns))
    oracle = rb.Oracle(LogisticRegression(C=0.01, tol=1e-10, max_iter=1000))
    once = rb.play(compiled_on(weights=counts), oracle, rounds=3)
    assert once.parameters == pytest.approx(rb.play(repeated, oracle, rounds=3).parameters, abs=1e-5)


def test_a_search_hands_weights_to_what_it_searches():
    search = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}, cv=2)
    trace = rb.play(compiled_on(), rb.Oracle(search), rounds=3)
    assert len(trace) > 1
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        rb.play(compiled_on(), rb.Oracle(GridSearchCV(KNeighborsClassifier(), {"p": [1, 2]})))


def test_going_on_from_the_last_fit_changes_nothing_once_converged():
    """A logistic regression begins where the last one ended; its optimum is the same from anywhere."""
    oracle = rb.Oracle(LogisticRegression(tol=1e-10, max_iter=1000))
    trace = rb.play(compiled_on(), oracle, rounds=5)
    for multipliers, found in zip(trace.multipliers, trace.parameters, strict=True):
        _, recall, coverage = multipliers
        cost = (1 - 2.0 * Y) / 300 + coverage / 300
        cost += recall * (0.98 * Y / Y.sum() - Y * (GROUP == "b") / (Y & (GROUP == "b")).sum())
        weights = np.abs(cost) / np.abs(cost).mean()
        cold = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, cost < 0, sample_weight=weights)
        assert found == pytest.approx(np.append(cold.coef_, cold.intercept_), abs=1e-4)


# --- many estimators -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANY)
def test_any_estimator_plays_and_comes_back_from_a_file(name, tmp_path):
    make, rows, trusted = ANY[name]
    given, estimator = rows(), make()
    before = repr(estimator.get_params())
    compiled = compiled_on(given)
    trace = rb.play(compiled, rb.Oracle(estimator), rounds=8)
    mixture = rb.shrink(trace)
    assert repr(estimator.get_params()) == before
    assert not [key for key in vars(estimator) if key.endswith("_")]  # never fitted itself
    assert isinstance(mixture.scorer, OracleScorer)
    assert len(mixture.scorer.members) == len(mixture)
    violations = compiled.evaluate(mixture.member_scores(given).T)[1]
    assert mixture.weights @ violations == pytest.approx(mixture.violations["train"])

    pytest.importorskip("skops")
    path = mixture.save(tmp_path / "model.safetensors")
    if trusted:
        with pytest.raises(ValueError, match=rf"{trusted[0]}.*rb\.load\(path, trusted=") as asked:
            rb.load(path)
        named = str(asked.value).split("--trusted ")[1].split()
        assert named == trusted or name == "hist"
        trusted = named
    again = rb.load(path, trusted=trusted)
    assert np.array_equal(again.predict(given), mixture.predict(given))
    assert np.array_equal(again.member_scores(given), mixture.member_scores(given))


@pytest.mark.parametrize("name", LINEAR)
def test_linear_estimators_are_kept_as_numbers(name, tmp_path):
    trace = rb.play(compiled_on(), rb.Oracle(LINEAR[name]()), rounds=6)
    assert trace.scorer == LinearScorer("float64")
    assert trace.parameters.shape == (len(trace), 4)
    mixture = rb.shrink(trace)
    scores = mixture.member_scores(X)
    assert scores == pytest.approx(X @ mixture.parameters[:, :3].T + mixture.parameters[:, 3])
    again = rb.load(mixture.save(tmp_path))
    assert np.array_equal(again.predict(X), mixture.predict(X))


def test_linear_mixtures_run_in_onnx(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    from ratebound._old.solution.onnx import to_onnx

    mixture = rb.shrink(rb.play(compiled_on(), rb.Oracle(LogisticRegression())))
    session = runtime.InferenceSession(to_onnx(mixture, tmp_path / "m.onnx"))
    ids = np.arange(300)
    (decided,) = session.run(["decision"], {"features": X.astype("float32"), "key": ids})
    assert (decided == mixture.predict(X, key=ids)).mean() > 0.99


def test_what_only_looks_linear_is_not_kept_as_numbers():
    class Squared(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X**2, y, sample_weight)

        def decision_function(self, X):
            return super().decision_function(X**2)

    trace = rb.play(compiled_on(), rb.Oracle(Squared()), rounds=2)
    assert isinstance(trace.scorer, OracleScorer)


def test_constants_are_members_like_others(tmp_path):
    """Everyone must be said yes to: at high multipliers the best answer is one decision for all."""
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate() >= 0.999])
    linear = rb.play(compiled_on(problem=problem), rb.Oracle(LogisticRegression()))
    mixture = rb.shrink(linear)
    assert mixture.status.feasible
    assert [0.0, 0.0, 0.0, 1.0] in linear.parameters.tolist()

    pytest.importorskip("skops")
    trees = rb.play(compiled_on(problem=problem), rb.Oracle(DecisionTreeClassifier(max_depth=2)))
    assert True in trees.scorer.members
    mixture = rb.shrink(trees)
    again = rb.load(mixture.save(tmp_path), trusted=TREES)
    assert np.array_equal(again.member_scores(X), mixture.member_scores(X))


BOOSTED = {
    "lightgbm": lambda own: own.LGBMClassifier(n_estimators=5, n_jobs=1),
    "xgboost": lambda own: own.XGBClassifier(n_estimators=5, n_jobs=1),
    "forest": lambda own: own.LGBMClassifier(
        n_estimators=5, n_jobs=1, boosting_type="rf", subsample=0.6, subsample_freq=1
    ),
}


@pytest.mark.parametrize("as_table", [False, True], ids=["array", "table"])
@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_boosting_libraries_are_deployed_as_their_trees(kind, as_table, tmp_path, capfd):
    oracle = rb.Oracle(BOOSTED[kind](pytest.importorskip(kind)))
    rows = table()[["x", "z"]] if as_table else table()[["x", "z"]].to_numpy()
    trace = rb.play(compiled_on(rows), oracle, rounds=3)
    assert trace.scorer.kind == "boosted"
    mixture = rb.shrink(trace)
    again = rb.load(mixture.save(tmp_path))  # they are checked, so nothing has to be trusted
    assert np.array_equal(again.member_scores(rows), mixture.member_scores(rows))
    assert capfd.readouterr().out == ""  # LightGBM is silent unless it is asked not to be


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_a_constant_among_trees_is_a_leaf(kind, tmp_path):
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0])
    rows = table()[["x", "z"]].to_numpy()
    trace = rb.play(
        compiled_on(rows, problem=problem), rb.Oracle(BOOSTED[kind](pytest.importorskip(kind)))
    )
    assert trace.scorer.kind == "boosted"
    assert (rb.shrink(trace).predict(rows) == 0).all()


def test_trees_that_are_not_summed_are_kept_as_estimators(tmp_path):
    pytest.importorskip("skops")
    oracle = rb.Oracle(BOOSTED["forest"](pytest.importorskip("lightgbm")))
    rows = table()[["x", "z"]]
    mixture = rb.shrink(rb.play(compiled_on(rows), oracle, rounds=3))
    path = mixture.save(tmp_path)
    with pytest.raises(ValueError, match=r"lightgbm\.sklearn\.LGBMClassifier"):
        rb.load(path)
    known = ["lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier", "collections.OrderedDict"]
    again = rb.load(path, trusted=known)
    assert np.array_equal(again.member_scores(rows), mixture.member_scores(rows))


def test_regressors_and_searches_play_too():
    least_squares = rb.play(compiled_on(), rb.Oracle(LinearRegression()), rounds=2)
    assert least_squares.objectives[0] < 0.3
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
    assert rb.play(compiled_on(), rb.Oracle(search), rounds=2).objectives[0] < 0.3


# --- chance, and jobs ----------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits():
    def scores(estimator, seed):
        trace = rb.play(compiled_on(), rb.Oracle(estimator), rounds=3, seed=seed)
        return trace.scorer.scores(trace.parameters, X)

    assert np.array_equal(scores(forest(), 1), scores(forest(), 1))
    assert not np.array_equal(scores(forest(), 1), scores(forest(), 2))
    fixed = RandomForestClassifier(5, max_depth=4, random_state=3)
    assert np.array_equal(scores(fixed, 1), scores(fixed, 2))
    piped = [make_pipeline(StandardScaler(), forest()) for _ in range(2)]
    assert np.array_equal(scores(piped[0], 1), scores(piped[1], 1))


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_jobs_change_nothing(backend):
    grid = rb.Grid(4, radius=1.0)
    alone = rb.play(compiled_on(), rb.Oracle(forest()), player=grid)
    with joblib.parallel_config(backend=backend):
        parallel = rb.play(compiled_on(), rb.Oracle(forest(), n_jobs=2), player=grid)
    assert np.array_equal(alone.objectives, parallel.objectives)
    assert np.array_equal(alone.violations, parallel.violations)
    assert len(parallel.scorer.members) == 4


# --- the scorer ----------------------------------------------------------------------------------


class Counting:
    def __init__(self):
        self.asked = 0

    def predict_proba(self, X):
        self.asked += 1
        return np.tile([0.25, 0.75], (len(X), 1))


def test_a_member_that_occurs_twice_is_asked_once():
    member = Counting()
    scorer = OracleScorer((member, False))
    scores = scorer.scores(np.array([[0], [1], [0]]), X[:2])
    odds = np.log(3.0)
    assert scores[:, 0].tolist() == [[odds, odds], [-1.0, -1.0], [odds, odds]]
    assert member.asked == 1


def test_members_that_are_not_needed_are_dropped():
    scorer, parameters = OracleScorer((1, True, 3, False)).kept(np.array([[3], [1], [3]]))
    assert scorer.members == (True, False)
    assert parameters.tolist() == [[1], [0], [1]]


# --- what is refused -----------------------------------------------------------------------------


def test_what_takes_no_weights_is_refused_at_the_start():
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        rb.play(compiled_on(), rb.Oracle(KNeighborsClassifier()))
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        rb.play(compiled_on(), rb.Oracle(make_pipeline(StandardScaler(), KNeighborsClassifier())))


@pytest.mark.parametrize("estimator", [LogisticRegression, "logistic"], ids=["class", "name"])
def test_an_oracle_takes_an_estimator(estimator):
    with pytest.raises(TypeError, match=r"takes an (estimator to clone and fit|instance)"):
        rb.Oracle(estimator)


def test_scores_that_are_no_numbers_are_refused():
    class Lost(Recording):
        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="round 1: Lost gives NaN or infinite scores"):
        rb.play(compiled_on(), rb.Oracle(Lost()))


def test_what_cannot_be_stored_says_so_and_nothing_is_written(tmp_path):
    pytest.importorskip("skops")
    unnamed = make_pipeline(FunctionTransformer(lambda rows: rows), GaussianNB())
    mixture = rb.shrink(rb.play(compiled_on(), rb.Oracle(unnamed), rounds=2))
    with pytest.raises(ValueError, match="skops cannot store this Pipeline, so nothing was written"):
        mixture.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
    assert len(mixture.predict(X)) == 300
