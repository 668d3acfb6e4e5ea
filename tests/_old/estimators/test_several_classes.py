"""The estimator with more than two classes: promises kept, scikit-learn's tools, files, bad input."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ratebound._old as rb
from ratebound._old.game.learner import SMALL

from ..extras import pd

pytestmark = pytest.mark.usefixtures("brief")

ANIMALS = np.array(["bird", "cat", "dog"])
QUICK = {  # one learning rate, and few rounds
    "features": ["x", "y", "z"],
    "model": rb.Linear(0.05),
    "confidence": None,
    "training": rb.Training(epochs=200),
    "random_state": 0,
}
FLOORS = [f'recall(group == "{group}", of="cat") >= 0.6' for group in "ab"]


def table(rows=600, seed=0):
    """Three numbers that tell three animals apart, worse in group 'a', where cats look like dogs."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, rows, p=[0.5, 0.2, 0.3])
    group = rng.choice(["a", "b"], rows)
    centers = 1.3 * np.eye(3)[y]
    centers[(y == 1) & (group == "a")] = [0.0, 0.5, 0.9]
    X = pd.DataFrame(centers + rng.normal(size=(rows, 3)), columns=["x", "y", "z"])
    return X.assign(group=group), ANIMALS[y]


def recalls(model, X, y, of, columns=None):
    """The recall of a class in each group, by the plain definition."""
    said = model.decision_proba(X)[:, list(model.classes_).index(of)]
    return {g: said[(y == of) & (np.asarray(X["group"]) == g)].mean() for g in ("a", "b")}


def fitted(X, y, promises=FLOORS, **options):
    return rb.RateConstrainedClassifier(promises, **QUICK | options).fit(X, y)


@pytest.fixture(scope="module")
def people():
    return table()


PLUGGED = {"model": "linear", "confidence": 0.9}


@pytest.fixture(scope="module", params=[{}, PLUGGED], ids=["game", "plug-in"])
def model(people, request):
    return fitted(*people, **request.param)


def test_floors_are_kept_that_the_plain_model_breaks(people, model):
    X, y = people
    plain = fitted(X, y, ())
    assert min(recalls(plain, X, y, "cat").values()) < 0.5
    assert min(recalls(model, X, y, "cat").values()) >= 0.6 - 1e-6
    assert model.status_.feasible
    assert (model.predict(X) == y).mean() > 0.5
    violations = model.solution_.violations["train"]
    for words, value in zip(model.violations_, violations, strict=True):
        group = "a" if '"a"' in words else "b"
        assert value == pytest.approx(0.6 - recalls(model, X, y, "cat")[group], abs=1e-6)
    assert model.prices_.keys() == model.violations_.keys()


def test_answers_have_a_column_for_each_class(people, model):
    X, y = people
    assert model.classes_.tolist() == ANIMALS.tolist()
    assert set(model.predict(X)) == set(ANIMALS)
    for answer in (model.predict_proba(X), model.decision_proba(X), model.decision_function(X)):
        assert answer.shape == (len(X), 3)
    for chances in (model.predict_proba(X), model.decision_proba(X)):
        assert chances.min() >= 0
        assert np.allclose(chances.sum(axis=1), 1)
    share = np.mean(ANIMALS[model.predict_proba(X).argmax(axis=1)] == y)
    assert share > 0.5
    mean = model.predict_proba(X).mean(axis=0)
    assert np.allclose(mean, [np.mean(y == animal) for animal in ANIMALS], atol=0.05)


def test_saved_models_decide_alike(people, model, tmp_path):
    X, y = people
    policy = rb.load(model.save(tmp_path))
    assert (policy.predict(X) == model.predict(X)).all()
    assert np.array_equal(policy.decision_proba(X), model.decision_proba(X))
    report, again = model.audit(X, y).to_dict(), policy.audit(X, y).to_dict()
    assert report["card"].pop("by_setting")  # what training went through is not in the file
    assert again["card"].pop("by_setting") == []
    assert report == again
    assert report["kept"]
    assert report["confusions"][0]["words"] == "everyone"
    new = table(seed=5)
    certificate = policy.certify(*new, confidence=0.9)
    assert len(certificate.promises) == 2
    assert certificate.promises[0].rows > 0
    with pytest.raises(
        ValueError, match="not in training: 'fox'; the trained labels are 'bird', 'cat', 'dog'"
    ):
        policy.audit(X, np.where(y == "cat", "fox", y))


def test_whole_numbers_are_classes_too(people):
    X, y = people
    codes = np.searchsorted(ANIMALS, y) + 3
    model = fitted(X, codes, [words.replace('"cat"', "4") for words in FLOORS])
    assert model.predict(X).dtype.kind == "i"
    assert set(model.predict(X)) == {3, 4, 5}
    assert min(recalls(model, X, codes, 4).values()) >= 0.6 - 1e-6


@pytest.mark.parametrize("rows", [700, 2100])
def test_margins_for_new_rows(rows):
    X, y = table(rows)
    model = fitted(X, y, confidence=0.9, training=rb.Training(epochs=30 if rows > SMALL else 200))
    assert model.status_.confidence > 0.5
    assert min(recalls(model, X, y, "cat").values()) > 0.6
    assert model.solution_.calibration is not None


def test_rows_set_aside_certify(people):
    X, y = table(2000, seed=3)
    easy = [words.replace("0.6", "0.3") for words in FLOORS]
    model = fitted(X, y, easy, certify=0.4, confidence=0.9)
    assert model.certificate_.populations["certified"] == pytest.approx(800, abs=10)
    assert all(promise.p_value < 1 for promise in model.certificate_.promises)


def test_known_groups_have_offsets_of_their_own(people):
    X, y = people
    model = fitted(X, y, known=["group"])
    assert min(recalls(model, X, y, "cat").values()) >= 0.6 - 1e-6
    with pytest.raises(ValueError, match="group"):
        model.predict(X[["x", "y", "z"]])


def test_other_populations(people):
    X, y = people
    pool, labelled = table(300, seed=1), table(300, seed=2)
    promises = ['positive_rate(of="dog", on="pool") <= 0.3', 'recall(of="cat", on="steering") >= 0.5']
    model = fitted_with(X, y, promises, pool=pool[0], steering=labelled)
    assert model.decision_proba(pool[0])[:, 2].mean() <= 0.3 + 1e-6
    cats = labelled[1] == "cat"
    assert model.decision_proba(labelled[0])[cats, 1].mean() >= 0.5 - 1e-6
    with pytest.raises(ValueError, match="steering: y holds labels that were not in training: 'fox'"):
        fitted_with(X, y, promises, pool=pool[0], steering=(labelled[0], ["fox"] * 300))


def fitted_with(X, y, promises, **others):
    return rb.RateConstrainedClassifier(promises, **QUICK).fit(X, y, **others)


def test_training_goes_on_from_where_it_was(people):
    X, y = people
    training = rb.Training(warm_start=True, epochs=5)
    model = fitted(X, y, training=training)
    again = model.fit(X, y)
    assert min(recalls(again, X, y, "cat").values()) >= 0.6 - 1e-6


def test_plan_and_explain(people):
    X, y = people
    rows = rb.Population(X, y, columns={"group": X["group"]})
    problem = rb.Problem(rb.error_rate(), FLOORS)
    found = rb.explain(problem, rows, features=["x", "y", "z"], model=QUICK["model"])
    assert found.possible
    assert found.classes == tuple(ANIMALS)
    assert {'always "cat"', "perfect", "unconstrained"} <= found.promises[0].classifiers.keys()
    assert found.promises[0].classifiers['always "cat"'].value == 1.0
    assert "600 rows, 3 classes" in str(found)
    assert "positive" not in str(found)
    both = [*FLOORS, 'positive_rate(of="cat") <= 0.05']
    assert not rb.explain(rb.Problem(rb.error_rate(), both), rows, features=["x", "y", "z"]).possible
    planned = rb.plan(problem, rows, features=["x", "y", "z"], model=QUICK["model"], splits=1)
    assert planned.options["training"].violations[0] < planned.options["as it is"].violations[0]


def test_scikit_learns_tools(people):
    X, y = people
    model = rb.RateConstrainedClassifier(FLOORS, **QUICK)
    scores = cross_val_score(model, X, y, cv=2)
    assert (scores > 0.5).all()
    assert (cross_val_score(model, X, y, cv=2, scoring="roc_auc_ovr") > 0.7).all()
    grid = GridSearchCV(model, {"constraints": [(), FLOORS]}, cv=2, scoring="neg_log_loss").fit(X, y)
    assert grid.best_estimator_.predict(X).shape == (len(X),)
    seen = permutation_importance(grid.best_estimator_, X, y, n_repeats=2, random_state=0)
    assert seen.importances_mean[:3].min() > seen.importances_mean[3] == 0


def test_a_pipeline_of_digits_keeps_a_floor_for_each():
    X, y = load_digits(return_X_y=True)
    floors = [f"recall(of={digit}) >= 0.97" for digit in range(10)]
    options = {name: QUICK[name] for name in ("model", "confidence", "training", "random_state")}
    model = make_pipeline(StandardScaler(), rb.RateConstrainedClassifier(floors, **options))
    model.fit(X, y)
    proba = model[-1].decision_proba(model[:-1].transform(X))
    assert min(proba[y == digit, digit].mean() for digit in range(10)) >= 0.97 - 1e-6
    assert model.predict_proba(X).shape == (len(X), 10)


def test_two_classes_said_as_several_are_the_same_model(people):
    X, y = people
    cats = np.where(y == "cat", "cat", "other")
    short = [words.replace(', of="cat"', "") for words in FLOORS]
    one = fitted(X, cats, short, positive_label="cat")
    two = fitted(X, cats, FLOORS, positive_label="cat")
    assert np.array_equal(one.solution_.parameters, two.solution_.parameters)
    assert np.array_equal(one.decision_proba(X), two.decision_proba(X))


def test_bad_input(people):
    X, y = people
    with pytest.raises(ValueError, match="two classes or more, but has 1 class, 'cat'"):
        fitted(X, np.full(len(X), "cat"), ())
    with pytest.raises(
        ValueError, match=r"positive_label .* y has 3: leave it out.*recall\(of=\"cat\"\)"
    ):
        fitted(X, y, positive_label="cat")
    with pytest.raises(ValueError, match='no class "cta", did you mean "cat"'):
        fitted(X, y, ['recall(of="cta") >= 0.5'])
    with pytest.raises(ValueError, match=r'there are 3 classes, so name one.*recall\(of="bird"\)'):
        fitted(X, y, ["recall() >= 0.5"])
    with pytest.raises(ValueError, match=r'no row .*group == "a" and the label is "cat"'):
        fitted(X[(y != "cat") | (X.group == "b")], y[(y != "cat") | (X.group == "b")])
    with pytest.raises(ValueError, match="600 different labels in 600 rows"):
        fitted(X, np.arange(600), ())
    with pytest.raises(ValueError, match="Unknown label type"):
        fitted(X, np.random.default_rng(0).normal(size=600), ())
    with pytest.raises(ValueError, match="different kinds"):
        fitted(X, np.where(y == "cat", 1, y.astype(object)), ())
