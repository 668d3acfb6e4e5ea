"""The estimator against scikit-learn's own checks, and in the places people put an estimator."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ratebound._old as rb
from ratebound._old.game.learner import SMALL

from ..extras import pd, pl, torch

PROMISE = 'recall(group == "a") >= 0.95 * recall()'


def table(rows=400, seed=0):
    """Scores, a group the labels depend on, and a text; group 'a' has the lower scores."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], size=rows)
    skill = rng.normal(size=rows)
    y = skill + 0.5 * rng.normal(size=rows) > 0
    score = skill - 0.8 * (group == "a") + 0.3 * rng.normal(size=rows)
    city = rng.choice(["north", "south"], size=rows)
    return pd.DataFrame(
        {"score": score, "noise": rng.normal(size=rows), "city": city, "group": group}
    ), y


def worst(model, X, y, **where):
    """0.95 * recall - recall of the group, from the probabilities and the plain definition."""
    yes = model.decision_proba(X)[:, 1]
    chosen = np.asarray(X["group"]) == "a"
    return 0.95 * yes[y].mean() - yes[y & chosen].mean()


IN_OTHER_FOLDS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a row that occurs twice is dealt to other folds"
    for kind in ("dense", "sparse")
}


@pytest.mark.parametrize(
    ("asked", "otherwise"),
    [({}, {}), ({"constraints": "accuracy() >= 0.1"}, IN_OTHER_FOLDS)],
    ids=["plain", "with a promise"],
)
@pytest.mark.filterwarnings("ignore:.*are copies of others")
def test_scikit_learns_own_checks(asked, otherwise):
    """Short games: the checks fit a hundred times, and ask how it behaves rather than how well."""
    model = rb.RateConstrainedClassifier(training=rb.Training(epochs=30), **asked)
    found = check_estimator(model, on_skip=None, expected_failed_checks=otherwise)
    assert {check["status"] for check in found} <= {"passed", "skipped", "xfail"}
    assert sum(check["status"] == "passed" for check in found) >= 55 - len(otherwise)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # some versions of LightGBM
@pytest.mark.parametrize("model", ["linear", "lightgbm", "xgboost", RandomForestClassifier(10)])
@pytest.mark.parametrize("labels", [2, 3])
def test_a_label_that_one_row_has(model, labels):
    """The models of one fold do not see it, and the models of the other folds do."""
    pytest.importorskip(model if model in ("lightgbm", "xgboost") else "sklearn")
    X, y = table(100)
    y = np.where(np.arange(len(X)) == 7, "c", "a" if labels == 2 else np.where(y, "b", "a"))
    model = rb.RateConstrainedClassifier("error_rate() <= 0.5", model=model, random_state=0)
    model.fit(X[["score", "noise"]], y)
    assert model.status_.feasible
    assert model.predict_proba(X[["score", "noise"]]).shape == (100, labels)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (400, {}),
        (SMALL + 500, {}),
        (SMALL + 500, {"player": "external"}),
        (400, {"model": rb.MLP(hidden=(4,)), "training": rb.Training(epochs=200)}),
    ],
    ids=["few", "many", "external", "mlp"],
)
def test_promises_are_kept_on_every_row_given(rows, options):
    if "model" in options:
        pytest.importorskip("torch")
    X, y = table(rows)
    plain = rb.RateConstrainedClassifier(features=["score", "noise"], random_state=0).fit(X, y)
    assert worst(plain, X, y) > 0.05
    options = {"features": ["score", "noise", "city"], "confidence": None, "random_state": 0, **options}
    model = rb.RateConstrainedClassifier(PROMISE, **options).fit(X, y)
    assert worst(model, X, y) <= 1e-9
    assert model.status_.feasible
    assert model.violations_[PROMISE] == pytest.approx(worst(model, X, y), abs=1e-9)
    assert model.multipliers_[PROMISE] >= 0
    assert 1 <= len(model.solution_) <= 2


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_what_the_model_may_not_see_does_not_move_it(brief, library):
    X, y = table()
    as_frame = library.DataFrame(X.to_dict("list"))
    model = rb.RateConstrainedClassifier(PROMISE, features=["score"], random_state=0).fit(as_frame, y)
    swapped = X.assign(group=np.where(X.group == "a", "b", "a"))
    swapped = library.DataFrame(swapped.to_dict("list"))
    np.testing.assert_array_equal(model.predict(as_frame), model.predict(swapped))


@pytest.mark.parametrize(
    ("no", "yes"), [("good", "bad"), ("bad", "good"), (1, 0), (0, 1), (1, -1), (2, 1), (True, False)]
)
def test_decisions_spelled_as_the_labels_are(brief, no, yes):
    X, y = table()
    rng = np.random.default_rng(1)
    labels = np.where(y, yes, no)
    live = np.where(rng.random(len(y)) < 0.2, np.where(y, no, yes), labels)
    promise = 'churn(versus="live") <= 0.25'
    model = rb.RateConstrainedClassifier(
        promise, positive_label=yes, features=["score"], confidence=None, random_state=0
    )
    model.fit(X, labels, columns={"live": live})
    chance = model.decision_proba(X)[:, list(model.classes_).index(yes)]
    churn = np.where(live == yes, 1 - chance, chance).mean()
    assert model.violations_[promise] == pytest.approx(churn - 0.25, abs=1e-9)
    report = model.audit(X, labels, columns={"live": live})
    assert report.promises[0].value == pytest.approx(churn, abs=1e-9)


def test_columns_beside_an_array(brief):
    X, y = table()
    numbers = X[["score", "noise"]].to_numpy()
    for columns in (X[["group"]], {"group": X.group.tolist()}):
        model = rb.RateConstrainedClassifier(PROMISE, confidence=None, random_state=0)
        model.fit(numbers, y, columns=columns)
        assert model.status_.feasible
        assert model.audit(numbers, y, columns=columns).kept
    with pytest.raises(ValueError, match="there is no column 'group'"):
        rb.RateConstrainedClassifier(PROMISE).fit(numbers, y)


def test_in_pipelines_and_searches_with_routed_columns(brief):
    X, y = table()
    numbers, columns = X[["score", "noise"]], X[["group"]]
    model = rb.RateConstrainedClassifier(PROMISE, model=rb.Linear(0.02), confidence=None, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), model)
        assert pipeline.fit(numbers, y, columns=columns)[-1].status_.feasible
        search = GridSearchCV(pipeline, {"rateconstrainedclassifier__model__l2": [0.0, 0.1]}, cv=3)
        assert search.fit(numbers, y, columns=columns).best_score_ > 0.6
        found = cross_validate(pipeline, numbers, y, params={"columns": columns}, cv=3)
        assert found["test_score"].min() > 0.6


def test_the_same_seed_gives_the_same_bits_and_clones_are_unfitted():
    X, y = table(SMALL + 500)
    model = rb.RateConstrainedClassifier(PROMISE, training=rb.Training(epochs=3), random_state=7)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(first.solution_.parameters, second.solution_.parameters)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    assert not hasattr(clone(first), "solution_")


@pytest.mark.parametrize("positive", [None, "yes", "no"])
def test_labels_have_names(brief, positive):
    X, y = table()
    names = np.where(y, "yes", "no")
    model = rb.RateConstrainedClassifier("recall() >= 0.9", positive_label=positive, random_state=0)
    model.fit(X, names)
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.predict(X) == names).mean() > 0.7
    said_yes = model.predict(X) == (positive or "yes")
    assert said_yes[names == (positive or "yes")].mean() >= 0.9 - 0.05  # one draw of the mixture
    probabilities = model.predict_proba(X)
    assert (probabilities[:, 1][names == "yes"]).mean() > 0.6
    assert np.corrcoef(model.decision_function(X), names == "yes")[0, 1] > 0.3


def test_modules_and_functions_that_make_them(brief):
    X, y = table()
    module = torch.nn.Linear(2, 1)
    for model in (module, lambda width: torch.nn.Linear(width, 1)):
        fitted = rb.RateConstrainedClassifier(
            PROMISE, model=model, features=["score", "noise"], confidence=None, random_state=0
        ).fit(X, y)
        assert fitted.status_.feasible


@pytest.mark.parametrize(
    "options",
    [
        {"player": rb.SwapRegret(learning_rate=0.1)},
        {"solution": rb.best_iterate},
        {"model": rb.Linear(0.03), "player": rb.SwapRegret([0.03, 0.1])},
        {"model": rb.Linear([0.01, 0.03, 0.1])},
    ],
    ids=["player", "function", "learner", "every rate with every other"],
)
def test_parts_of_the_engine_may_be_given_as_such(options):
    X, y = table()
    options = {"features": ["score", "noise"], "confidence": None, "random_state": 0, **options}
    if "model" in options:
        options["features"] = ["score"]
    model = rb.RateConstrainedClassifier(PROMISE, **options).fit(X, y)
    assert len(model.trace_.settings) in (2, 3, 9)
    assert model.status_.feasible
    assert len(model.solution_) == 1 or "solution" not in options


def test_weights_count_rows():
    X, y = table(100)
    weights = np.random.default_rng(1).integers(0, 3, size=100)
    model = rb.RateConstrainedClassifier(PROMISE, features=["score"], confidence=None, random_state=0)
    weighed = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(X.loc[X.index.repeat(weights)], np.repeat(y, weights))
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_stopping_early_and_going_on(brief):
    X, y = table()
    model = rb.RateConstrainedClassifier(PROMISE, confidence=None, random_state=0)
    assert clone(model).set_params(training=rb.Training(patience=2)).fit(X, y).trace_.ended == "stopped"
    assert clone(model).set_params(training=rb.Training(max_time=0.0)).fit(X, y).trace_.ended == "time"
    hasty = clone(model).set_params(confidence=0.9, training=rb.Training(max_time=0.0)).fit(X, y)
    assert hasty.trace_.ended == "time"
    assert hasty.status_.confidence is not None
    warm = clone(model).set_params(training=rb.Training(warm_start=True, epochs=20))
    cold = warm.fit(X, y).solution_.objectives["train"]
    assert warm.fit(X, y).solution_.objectives["train"] <= cold + 0.02


def test_saved_and_loaded(brief, tmp_path):
    X, y = table()
    names = np.where(y, "yes", "no")
    model = rb.RateConstrainedClassifier(PROMISE, random_state=0).fit(X, names)
    loaded = rb.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict(X, key=range(400)), model.predict(X, key=range(400)))
    assert str(loaded.problem.subject_to[0]) == PROMISE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "tree"}, "model must be"),
        ({"player": "chess"}, "player must be one of auto"),
        ({"solution": "all"}, "solution must be one of shrink"),
        ({"positive_label": "maybe"}, "positive_label 'maybe' is not among"),
        ({"features": ["skor"]}, "there is no column 'skor'"),
        ({"constraints": "recall(sex == 'F') >= 1"}, "there is no column 'sex'"),
    ],
)
def test_mistakes_are_named(options, message):
    X, y = table(50)
    with pytest.raises(ValueError, match=message):
        rb.RateConstrainedClassifier(**options).fit(X, y)


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_a_loaded_model_answers_as_the_estimator(tmp_path, positive):
    """Whichever label is yes: columns stand as in `classes_`, and a row has one score."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, positive, {"no": "yes", "yes": "no"}[positive])
    model = rb.RateConstrainedClassifier(
        "positive_rate() <= 0.3",
        positive_label=positive,
        training=rb.Training(epochs=20),
        random_state=0,
    ).fit(X, y)
    loaded = rb.load(model.save(tmp_path))
    assert loaded.classes_.tolist() == model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.decision_function(X).shape == (300,)
    column = ["no", "yes"].index(positive)
    assert loaded.decision_proba(X)[:, column].mean() <= 0.3 + 1e-9
    said = np.mean([loaded.predict(X, seed=seed) == positive for seed in range(40)])
    assert said == pytest.approx(loaded.decision_proba(X)[:, column].mean(), abs=0.02)
    rising = np.corrcoef(loaded.decision_function(X), loaded.decision_proba(X)[:, 1])[0, 1]
    assert rising > 0.3


def test_missing_labels_are_counted():
    X, _ = table()
    y = np.array(["good", None, "bad", np.nan] * (len(X) // 4), dtype=object)
    with pytest.raises(ValueError, match=f"y has {len(y) // 2:,} missing labels"):
        rb.RateConstrainedClassifier().fit(X.iloc[: len(y)], y)


def test_an_area_is_said_to_be_measured_by_bins(brief):
    X, y = table()
    model = rb.RateConstrainedClassifier("roc_auc() >= 0.6", features=["score"], random_state=0)
    assert "an audit measures them exactly" in str(model.fit(X, y).status_)
    assert "audit" not in str(rb.RateConstrainedClassifier(random_state=0).fit(X[["score"]], y).status_)


def test_a_label_that_reads_like_a_no_is_not_taken_as_yes_in_silence():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "ja", "nein")
    with pytest.warns(UserWarning, match='"nein" reads like a no and is taken as yes'):
        rb.RateConstrainedClassifier("recall() >= 0.5", random_state=0).fit(X, y)
    for positive in ("ja", "nein"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = rb.RateConstrainedClassifier(
                "recall() >= 0.5", positive_label=positive, random_state=0
            ).fit(X, y)
        assert model.audit(X, y).positive == positive
