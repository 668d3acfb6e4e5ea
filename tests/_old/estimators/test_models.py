"""The estimator with any model: scikit-learn's, boosted trees, pipelines; and with thresholds on top."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import ratebound._old as rb
from ratebound._old.solution.mixture import member

from ..extras import pd

pytestmark = pytest.mark.usefixtures("brief")

PROMISE = 'recall(group == "a") >= 0.95 * recall()'
VISIBLE = ["score", "noise", "city"]


def table(rows=600, seed=0):
    """Scores, a group the labels depend on, and a text; group 'a' has the lower scores."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], size=rows)
    skill = rng.normal(size=rows)
    y = skill + 0.5 * rng.normal(size=rows) > 0
    score = skill - 0.8 * (group == "a") + 0.3 * rng.normal(size=rows)
    # The city tells the groups apart, more or less, so that a model can do something for one.
    city = np.where(rng.random(rows) < 0.8, np.where(group == "a", "north", "south"), "east")
    return pd.DataFrame(
        {"score": score, "noise": rng.normal(size=rows), "city": city, "group": group}
    ), y


def worst(model, X, y):
    """0.95 * recall - recall of the group, from the probabilities and the plain definition."""
    yes = model.decision_proba(X)[:, 1]
    chosen = np.asarray(X["group"]) == "a"
    return 0.95 * yes[y].mean() - yes[y & chosen].mean()


def pipeline():
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder=StandardScaler())
    return make_pipeline(encode, LogisticRegression())


def boosted(library, kind):
    return getattr(pytest.importorskip(library), kind)


MODELS = {
    "logistic": LogisticRegression,
    "forest": lambda: RandomForestClassifier(20, max_depth=4),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=20),
    "bayes": GaussianNB,
    "pipeline": pipeline,
    "oracle": lambda: rb.Oracle(DecisionTreeClassifier(max_depth=3)),
    "lightgbm": lambda: boosted("lightgbm", "LGBMClassifier")(n_estimators=60, verbose=-1, n_jobs=1),
    "xgboost": lambda: boosted("xgboost", "XGBClassifier")(n_estimators=60, n_jobs=1),
    "learner": lambda: rb.Boosted(boosted("lightgbm", "LGBMClassifier")(n_estimators=60, verbose=-1)),
}


@pytest.mark.parametrize("confidence", [None, 0.9], ids=["game", "plug-in"])
@pytest.mark.parametrize("kind", MODELS)
def test_promises_are_kept_by_any_model(kind, confidence):
    X, y = table()
    given = MODELS[kind]()
    before = given if isinstance(given, rb.Oracle | rb.Boosted) else clone(given)
    options = {"features": VISIBLE, "confidence": confidence, "random_state": 0}
    model = rb.RateConstrainedClassifier(PROMISE, model=given, **options).fit(X, y)
    assert model.status_.feasible
    assert worst(model, X, y) <= 1e-9
    assert model.solution_.violations["train"] == pytest.approx(worst(model, X, y), abs=1e-9)
    assert (model.predict(X) != y).mean() < 0.3
    assert str(given) == str(before)  # never changed
    assert not hasattr(given, "classes_")


@pytest.mark.parametrize("confidence", [None, 0.9], ids=["game", "plug-in"])
@pytest.mark.parametrize("kind", ["forest", "pipeline", "lightgbm"])
def test_the_same_seed_gives_the_same_decisions(kind, confidence):
    X, y = table(400)
    given = MODELS[kind]()
    options = {"features": VISIBLE, "confidence": confidence, "random_state": 0}
    model = rb.RateConstrainedClassifier(PROMISE, model=given, **options).fit(X, y)
    again = rb.RateConstrainedClassifier(PROMISE, model=given, **options).fit(X, y)
    np.testing.assert_array_equal(model.decision_proba(X), again.decision_proba(X))


@pytest.mark.parametrize("kind", ["logistic", "pipeline", "lightgbm", "xgboost"])
def test_saved_and_loaded(kind, tmp_path):
    X, y = table()
    model = rb.RateConstrainedClassifier(PROMISE, model=MODELS[kind](), features=VISIBLE, random_state=0)
    model.fit(X, y).save(tmp_path)
    trusted = ["sklearn.preprocessing._encoders.OneHotEncoder"] if kind == "pipeline" else []
    loaded = rb.load(tmp_path, trusted=trusted)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", ["histogram", "lightgbm", "xgboost"])
def test_missing_values_pass_through(kind):
    X, y = table()
    X.loc[::7, "score"] = np.nan
    X.loc[::11, "city"] = None
    model = rb.RateConstrainedClassifier(PROMISE, model=MODELS[kind](), features=VISIBLE, random_state=0)
    assert model.fit(X, y).status_.feasible
    numbers = X[["score", "noise"]].to_numpy()
    model.set_params(features=None).fit(numbers, y, columns=X[["group"]])
    assert model.predict(numbers).shape == y.shape


def test_without_promises_a_model_is_what_it_always_was():
    """Error alone is the estimator's own problem, so its own fit comes back."""
    X, y = table()
    numbers = X[["score", "noise"]].to_numpy()
    for kind in ("logistic", "histogram", "bayes"):
        ours = rb.RateConstrainedClassifier(model=MODELS[kind](), random_state=0).fit(numbers, y)
        np.testing.assert_array_equal(
            ours.predict(numbers), MODELS[kind]().fit(numbers, y).predict(numbers)
        )


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosted_trees_by_name(library):
    pytest.importorskip(library)
    X, y = table()
    model = rb.RateConstrainedClassifier(
        PROMISE, model=library, features=VISIBLE, training=rb.Training(epochs=40), random_state=0
    )
    assert model.fit(X, y).status_.feasible


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM's own, before 4.7
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("promises", [(), PROMISE], ids=["plain", "promise"])
def test_an_estimator_is_fitted_as_it_was_passed(library, promises, tmp_path):
    X, y = table(2000)
    rows = X[["score", "noise"]].to_numpy()
    name, own = {
        "lightgbm": ("LGBMClassifier", {"num_leaves": 5, "class_weight": "balanced", "verbose": -1}),
        "xgboost": ("XGBClassifier", {"max_depth": 2, "scale_pos_weight": 2.0, "base_score": 0.5}),
    }[library]
    stock = boosted(library, name)(n_estimators=7, n_jobs=1, **own)
    model = rb.RateConstrainedClassifier(promises, model=stock, random_state=0)
    model.fit(rows, y, columns=X[["group"]])
    scorer = model.solution_.members.scorer
    labels = scorer.forecast.labels.scorer if promises else scorer
    assert {trees.count for trees in labels.ensembles} == {7}
    if not promises:
        assert np.array_equal(model.predict(rows), stock.fit(rows, y).predict(rows))
    again = rb.load(model.save(tmp_path))  # trees are checked, so nothing has to be trusted
    assert np.array_equal(again.predict(rows), model.predict(rows))


def test_refits_err_less_on_their_rows_than_one_ensemble_against_moving_multipliers():
    X, y = table(3000)
    rows, columns = X[["score", "noise"]].to_numpy(), X[["group"]]
    kind = boosted("lightgbm", "LGBMClassifier")(n_estimators=30, verbose=-1, n_jobs=1)
    errors = []
    for model in (kind, rb.Boosted(kind)):
        fitted = rb.RateConstrainedClassifier(PROMISE, model=model, confidence=None, random_state=0)
        fitted.fit(rows, y, columns=columns)
        assert fitted.status_.feasible
        errors.append(np.abs(fitted.decision_proba(rows)[:, 1] - y).mean())
    assert errors[0] < errors[1] - 0.002


def test_early_stopping_is_the_models_own():
    X, y = table(3000)
    kind = boosted("lightgbm", "LGBMClassifier")
    stopping = kind(n_estimators=300, early_stopping_rounds=5, learning_rate=0.3, verbose=-1, n_jobs=1)
    model = rb.RateConstrainedClassifier(
        PROMISE, model=rb.Boosted(stopping), features=VISIBLE, confidence=None, random_state=0
    ).fit(X, y)
    assert model.trace_.ended == "stopped"
    assert model.trace_.round.max() < 300


def test_what_is_known_sets_thresholds():
    table_, y = table()
    X, groups = table_.drop(columns="group"), table_[["group"]]
    promises = [f'recall(group == "{g}") >= 0.98 * recall()' for g in "ab"]
    options = {"features": ["score", "noise"], "confidence": None, "random_state": 0}
    plain = rb.RateConstrainedClassifier(promises, **options).fit(X, y, columns=groups)
    knows = rb.RateConstrainedClassifier(promises, known=["group"], **options)
    knows.fit(X, y, columns=groups)
    assert knows.status_.feasible
    yes = [plain.decision_proba(X)[:, 1], knows.decision_proba(X, columns=groups)[:, 1]]
    errors = [np.abs(each - y).mean() for each in yes]
    assert errors[1] < errors[0] - 0.01
    with pytest.raises(ValueError, match="decides by group"):
        knows.predict(X)
    assert knows.audit(X, y, columns=groups).kept
    whole = rb.RateConstrainedClassifier(promises, known=["group"], **options).fit(table_, y)
    np.testing.assert_array_equal(whole.predict(table_), knows.predict(X, columns=groups))


def test_models_that_cannot_be_asked():
    X, y = table(100)
    near = rb.RateConstrainedClassifier(PROMISE, model=KNeighborsClassifier(), features=VISIBLE)
    for asked in ({"method": "game"}, {"confidence": None}):
        with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
            clone(near).set_params(**asked).fit(X, y)
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        near.fit(X, y, sample_weight=np.ones(100))
    assert near.fit(X, y).status_.feasible  # what it learns of labels needs no weights
    both = [PROMISE, "accuracy() >= 0.99", "recall() <= 0.5"]  # nor can the game help here
    assert not near.set_params(constraints=both).fit(X, y).status_.feasible
    with pytest.raises(ValueError, match="model must be"):
        rb.RateConstrainedClassifier(PROMISE, model="forest", features=VISIBLE).fit(X, y)


@pytest.mark.parametrize("known", [["town"], "town", ["score"]], ids=["lacking", "text", "many"])
def test_what_cannot_be_known_is_said_before_the_training(known, monkeypatch):
    monkeypatch.setattr("ratebound._old.estimators.search.play", None)
    X, y = table(100)
    with pytest.raises((ValueError, TypeError), match="known"):
        rb.RateConstrainedClassifier(PROMISE, features=VISIBLE, known=known).fit(X, y)


def test_columns_that_are_no_features_need_not_be_there_to_decide():
    X, y = table(200)
    model = rb.RateConstrainedClassifier(
        PROMISE, features=["score"], training=rb.Training(epochs=5), random_state=0
    )
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X[["score"]]), model.predict(X))
    with pytest.raises(ValueError, match="no column 'score', which the model was trained on"):
        model.predict(X[["noise"]])


@pytest.mark.parametrize("share", [0.2533, 0.2567], ids=["first", "second"])
def test_training_goes_on_where_thresholds_were_set(share):
    """From the model whose thresholds are used more often, whichever of the two that is."""
    X, y = table(300)
    model = rb.RateConstrainedClassifier(
        f"positive_rate() <= {share}",
        features=VISIBLE,
        known=["group"],
        model=rb.Linear(0.1, dtype="auto"),
        player=rb.SwapRegret(0.1, objective_weight=0.9),
        training=rb.Training(warm_start=True, epochs=1),
        random_state=0,
    )
    first = model.fit(X, y).solution_
    assert len(first) == 2
    heaviest = member(first, int(np.argmax(first.weights)))
    model.set_params(model__learning_rate=1e-9).fit(X, y)
    assert model.trace_.parameters[0] == pytest.approx(heaviest.parameters[0], abs=1e-6)


@pytest.mark.parametrize("kind", ["logistic", "lightgbm"])
def test_what_is_fitted_anew_has_no_warm_start(kind):
    X, y = table(200)
    model = rb.RateConstrainedClassifier(
        PROMISE, model=MODELS[kind](), features=VISIBLE, training=rb.Training(warm_start=True)
    )
    with pytest.raises(ValueError, match=r"fitted anew.*warm_start"):
        model.fit(X, y)


@pytest.mark.parametrize("as_frame", [False, True], ids=["array", "frame"])
@pytest.mark.parametrize("kind", ["linear", "logistic", "histogram", "lightgbm", "mlp", "lattice"])
def test_every_model_learns_from_what_is_missing(kind, as_frame):
    """The labels say where a value is missing, which no value tells."""
    if kind in ("mlp", "lattice"):
        pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = np.arange(300) % 3 == 0
    X[y, 1] = np.nan
    rows = pd.DataFrame(X, columns=["a", "b"]) if as_frame else X
    model = MODELS[kind]() if kind in MODELS else kind
    training = rb.Training(epochs={"linear": 300, "mlp": 40, "lattice": 40}.get(kind, 10))
    fitted = rb.RateConstrainedClassifier(model=model, training=training, random_state=0)
    assert get_tags(fitted).input_tags.allow_nan
    assert (fitted.fit(rows, y).predict(rows) == y).all()


def test_what_only_looks_like_an_estimator_will_do():
    class Own:
        def fit(self, X, y, sample_weight):
            self.inner = LogisticRegression().fit(X, y, sample_weight)
            return self

        def predict(self, X):
            return self.inner.predict(X)

        def get_params(self, deep=True):
            return {}

        def set_params(self):
            return self

    X, y = table(200)
    fitted = rb.RateConstrainedClassifier(
        PROMISE, model=Own(), features=VISIBLE, confidence=None, training=rb.Training(epochs=3)
    ).fit(X, y)
    assert worst(fitted, X, y) == pytest.approx(fitted.violations_[PROMISE])


def test_scikit_learn_agrees():
    """All of its checks, around an estimator of its own."""
    model = rb.RateConstrainedClassifier(model=LogisticRegression())
    results = check_estimator(model, on_fail=None, on_skip=None)
    assert [each["check_name"] for each in results if each["status"] == "failed"] == []


def test_estimators_that_are_no_classifiers_are_refused():
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.ensemble import IsolationForest
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    for model, what in (
        (LinearRegression(), "a regressor"),
        (pipeline, "a regressor"),
        (KMeans(), "a clusterer"),
        (IsolationForest(), "an? outlier detector"),
        (PCA(), "got PCA"),
    ):
        with pytest.raises(ValueError, match=what if "PCA" in what else f"{what}, not a classifier"):
            rb.RateConstrainedClassifier("positive_rate() <= 0.5", model=model).fit(X, y)
