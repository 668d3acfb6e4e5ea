"""TunedThreshold: scikit-learn's own checks, brute force out of fold, and the places people put it."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import ratebound._old as rb
from ratebound._old.solution.status import PromisesBroken

from ..extras import pd, pl

RECALL = "recall() >= 0.9"


def rows(n=600, seed=0, weights=(0.7,)):
    return make_classification(n, 6, weights=weights, flip_y=0.1, class_sep=0.8, random_state=seed)


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose score is the first column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


@pytest.mark.parametrize("promises", [(), "accuracy() >= 0.1"], ids=["plain", "with a promise"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learns_own_checks(promises):
    """The one check that is expected to fail is expected to of scikit-learn's own meta-estimator too."""
    model = rb.TunedThreshold(LogisticRegression(C=1), promises, cv=3)
    other = {
        "check_classifiers_train": "decisions are not at a probability of a half, nor at a score of 0"
    }
    found = check_estimator(model, on_skip=None, expected_failed_checks=other)
    assert {check["status"] for check in found} <= {"passed", "skipped", "xfail"}
    assert sum(check["status"] == "passed" for check in found) >= 55


# --- the threshold is the best there is out of fold --------------------------------------------------


@pytest.mark.parametrize(
    ("classifier", "method"),
    [(LogisticRegression(), "predict_proba"), (LinearSVC(), "decision_function")],
)
def test_the_threshold_by_brute_force_on_scores_out_of_fold(classifier, method):
    X, y = rows()
    model = rb.TunedThreshold(classifier, RECALL, maximize="precision()", confidence=None).fit(X, y)
    scores = cross_val_predict(classifier, X, y, cv=5, method=method)
    scores = scores[:, 1] if scores.ndim == 2 else scores
    each = [((y[scores >= t]).mean(), (scores >= t)[y == 1].mean()) for t in np.unique(scores)]
    best = max(precision for precision, recall in each if recall >= 0.9)
    assert model.best_score_ == pytest.approx(best)
    decided = scores >= model.best_threshold_
    assert precision_score(y, decided) == pytest.approx(best)
    assert model.violations_[RECALL] == pytest.approx(0.9 - recall_score(y, decided))
    own = getattr(classifier.fit(X, y), method)(X)
    own = own[:, 1] if own.ndim == 2 else own
    np.testing.assert_array_equal(model.predict(X), (own >= model.best_threshold_).astype(int))


def test_beside_scikit_learns_own():
    """Without promises and among the same thresholds it is the same; among all it is no worse."""
    X, y = rows()
    grid = np.linspace(0.05, 0.95, 37)
    classifier = LogisticRegression().fit(X[:300], y[:300])
    prefit = {"cv": "prefit", "refit": False}
    X, y = X[300:], y[300:]
    theirs = TunedThresholdClassifierCV(classifier, scoring="f1", thresholds=grid, **prefit).fit(X, y)
    same = rb.TunedThreshold(classifier, maximize="f_score()", thresholds=grid, **prefit).fit(X, y)
    every = rb.TunedThreshold(classifier, maximize="f_score()", **prefit).fit(X, y)
    assert same.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_array_equal(same.predict(X), theirs.predict(X))
    assert every.best_score_ >= theirs.best_score_ - 1e-12
    assert f1_score(y, every.predict(X)) == pytest.approx(every.best_score_)
    few = rb.TunedThreshold(classifier, maximize="f_score()", thresholds=10, **prefit).fit(X, y)
    assert few.best_score_ <= every.best_score_
    for name in ("predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(every, name)(X), getattr(classifier, name)(X))
    assert every.estimator_ is classifier


@pytest.mark.parametrize(("no", "yes"), [("good", "bad"), ("bad", "good"), (1, 0), (False, True)])
def test_which_label_means_yes(no, yes):
    X, y = rows()
    labels = np.where(y, yes, no)
    options = {"positive_label": yes, "confidence": None, "cv": "prefit", "refit": False}
    for classifier in (LogisticRegression().fit(X, labels), LinearSVC().fit(X, labels)):
        model = rb.TunedThreshold(classifier, RECALL, maximize="precision()", **options).fit(X, labels)
        decided = model.predict(X)
        assert set(np.unique(decided)) <= {no, yes}
        assert 0.9 <= (decided == yes)[y == 1].mean() < 0.95
        assert model.best_score_ == pytest.approx((labels == yes)[decided == yes].mean())


def test_groups_columns_and_weights():
    X, y = rows(800)
    random = np.random.default_rng(1)
    group, weights = random.choice(["a", "b"], 800), random.choice([0.5, 2.0], 800)
    promise = 'recall(group == "a") >= 0.9'
    model = rb.TunedThreshold(LogisticRegression(), promise, confidence=None, cv=3)
    model.fit(X, y, columns={"group": group}, sample_weight=weights)
    scores = np.empty(800)
    for train, test in StratifiedKFold(3).split(X, y):
        fold = LogisticRegression().fit(X[train], y[train], sample_weight=weights[train])
        scores[test] = fold.predict_proba(X[test])[:, 1]
    inside, errors = (group == "a") & (y == 1), []
    for at in np.unique(scores):
        yes = scores >= at
        if np.average(yes[inside], weights=weights[inside]) >= 0.9 - 1e-12:
            errors.append(np.average(yes != y, weights=weights))
    assert model.best_score_ == pytest.approx(min(errors))
    assert model.audit(X, y, columns={"group": group}, sample_weight=weights).promises[0].value > 0.85


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_columns_of_a_table(library):
    X, y = rows()
    table = library.DataFrame({f"x{i}": X[:, i] for i in range(6)})
    model = rb.TunedThreshold(LogisticRegression(), "recall(x0 > 0) >= 0.9", maximize="precision()")
    model.fit(table, y)
    assert model.feature_names_in_.tolist() == list(table.columns)
    assert (model.n_features_in_, model.status_.feasible) == (6, True)
    assert str(model.constraints_[0]) == "recall(x0 > 0) >= 0.9"
    assert model.audit(table, y).kept


def test_what_may_be_promised():
    X, y = rows(800)
    sex = np.random.default_rng(0).choice(["F", "M"], 800)
    live = LogisticRegression().fit(X[:, :3], y).predict(X[:, :3])
    promises = {
        "predicted_positives() <= 200": 200,
        'churn(versus="live") <= 0.3': None,
        "equal_opportunity(sex, slack=0.1)": None,
        'precision(sex == "F") >= 0.9 * precision(sex == "M")': None,
        "0.5 <= recall() <= 0.95": None,
    }
    for promise in promises:
        model = rb.TunedThreshold(LogisticRegression(), promise, confidence=None, cv=3)
        model.fit(X, y, columns={"sex": sex, "live": live})
        assert model.status_.feasible, promise
        assert max(model.violations_.values()) <= 1e-9
        if promises[promise]:
            scores = cross_val_predict(model.estimator, X, y, cv=3, method="predict_proba")[:, 1]
            assert (scores >= model.best_threshold_).sum() <= promises[promise]
    problem = rb.Problem(maximize="recall()", subject_to=["positive_rate() <= 0.2"])
    assert rb.TunedThreshold(GaussianNB(), problem).fit(X, y).status_.feasible
    objects = rb.TunedThreshold(GaussianNB(), [rb.recall() >= 0.9], maximize=rb.precision()).fit(X, y)
    assert objects.best_score_ == rb.TunedThreshold(
        GaussianNB(), "recall() >= 0.9", maximize="precision()"
    ).fit(X, y).best_score_  # fmt: skip


# --- how rows are scored -------------------------------------------------------------------------------


def test_splits_of_all_kinds():
    X, y = rows(300)
    promise, ids = "recall() >= 0.8", np.repeat(np.arange(100), 3)
    share = rb.TunedThreshold(LogisticRegression(), promise, cv=0.4, refit=False, random_state=0)
    share.fit(X, y)
    again = clone(share).fit(X, y)
    assert again.best_threshold_ == share.best_threshold_
    repeated = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    twice = rb.TunedThreshold(LogisticRegression(), promise, cv=repeated, confidence=None).fit(X, y)
    scores = [
        LogisticRegression().fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        for train, test in repeated.split(X, y)
    ]
    labels = np.concatenate([y[test] for _, test in repeated.split(X, y)])
    recall = (np.concatenate(scores) >= twice.best_threshold_)[labels == 1].mean()
    assert twice.violations_[promise] == pytest.approx(0.8 - recall)
    for cv in (5, GroupKFold(4)):
        model = rb.TunedThreshold(LogisticRegression(), promise, cv=cv).fit(X, y, groups=ids)
        assert model.status_.feasible
    table = np.column_stack([X, ids])
    by_name = rb.TunedThreshold(LogisticRegression(), promise)
    by_name.fit(X, y, columns={"customer": table[:, -1]}, groups="customer")
    assert by_name.best_threshold_ == rb.TunedThreshold(LogisticRegression(), promise).fit(
        X, y, groups=ids
    ).best_threshold_  # fmt: skip
    folds = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    assert rb.TunedThreshold(LogisticRegression(), promise, cv=folds).fit(X, y).status_.feasible


def test_texts_are_passed_on_as_they_are():
    texts = ["good good", "bad", "good", "bad bad", "good bad good", "bad good bad"] * 20
    y = [1, 0, 1, 0, 1, 0] * 20
    model = rb.TunedThreshold(make_pipeline(CountVectorizer(), LogisticRegression()), RECALL)
    assert model.fit(texts, y).predict(["good", "bad"]).tolist() == [1, 0]


def test_results_of_every_threshold():
    X, y = rows(200)
    model = rb.TunedThreshold(GaussianNB(), RECALL, maximize="precision()", store_cv_results=True)
    results = model.fit(X, y).cv_results_
    place = results["thresholds"].tolist().index(model.best_threshold_)
    assert results["scores"][place] == model.best_score_
    assert results["kept"][place]
    assert results["violations"].shape == (len(results["thresholds"]), 1)
    assert not hasattr(model.set_params(store_cv_results=False).fit(X, y), "cv_results_")


# --- new rows ----------------------------------------------------------------------------------------


def test_confidence_leaves_room_and_says_how_sure_it_is():
    X, y = rows(2000)
    plain, sure = (
        rb.TunedThreshold(LogisticRegression(), RECALL, maximize="precision()", confidence=confidence)
        for confidence in (None, 0.9)
    )
    plain.fit(X, y), sure.fit(X, y)
    assert sure.violations_[RECALL] < plain.violations_[RECALL] <= 0
    assert sure.best_score_ < plain.best_score_
    assert plain.status_.confidence is None
    assert 0.9 <= sure.status_.confidence < 0.97
    assert "with a confidence of about 9" in str(sure.status_)


def test_too_few_rows_to_be_sure():
    X, y = rows(80)
    model = rb.TunedThreshold(GaussianNB(), "precision() >= 0.8", maximize="recall()").fit(X, y)
    assert model.status_.feasible
    assert model.status_.confidence < 0.8
    assert "bring more rows" in str(model.status_)


class Recording(LogisticRegression):
    """Keeps the numbers of the rows that it was fitted on."""

    seen: ClassVar[set] = set()

    def fit(self, X, y):
        self.seen |= set(X[:, -1].astype(int).tolist())
        return super().fit(X[:, :-1], y)

    def predict_proba(self, X):
        return super().predict_proba(X[:, :-1])


def test_a_certificate_on_rows_that_nothing_else_saw():
    X, y = rows(3000)
    X = np.column_stack([X, np.arange(3000)])
    Recording.seen.clear()
    model = rb.TunedThreshold(Recording(), RECALL, maximize="precision()", certify=0.4, random_state=0)
    certificate = model.fit(X, y).certificate_
    assert certificate.holds
    assert len(Recording.seen) == 3000 - certificate.populations["certified"] == 1800
    aside = np.setdiff1d(np.arange(3000), list(Recording.seen))
    yes = model.predict(X[aside])
    assert certificate.promises[0].value == pytest.approx(yes[y[aside] == 1].mean())
    assert "certificate" in str(model.status_)
    assert not hasattr(model.set_params(certify=None).fit(X, y), "certificate_")
    few = rb.TunedThreshold(LogisticRegression(), "recall() >= 0.99", certify=0.3, random_state=0)
    certificate = few.fit(X[:200], y[:200]).certificate_
    assert not certificate.holds
    others = rb.certify(model.problem_, model, rb.Population(X[aside], y[aside]))
    assert others.promises[0].rows == (y[aside] == 1).sum()


# --- where people put it -------------------------------------------------------------------------------


def test_in_a_search_and_a_pipeline():
    X, y = rows(400)
    model = rb.TunedThreshold(
        make_pipeline(StandardScaler(), LogisticRegression()), "recall() >= 0.8", maximize="precision()"
    )
    grid = {"estimator__logisticregression__C": [0.01, 1.0], "promises": ["recall() >= 0.8", RECALL]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_estimator_.status_.feasible
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).min() > 0.5
    read = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(read.predict(X), search.predict(X))
    assert str(read.status_) == str(search.best_estimator_.status_)
    assert len(pickle.dumps(read)) < 50_000  # without the training rows
    calibrated = CalibratedClassifierCV(rb.TunedThreshold(GaussianNB(), RECALL), cv=2).fit(X, y)
    assert calibrated.predict(X).shape == (400,)
    inside = rb.RateConstrainedClassifier("positive_rate() <= 0.4", random_state=0)
    assert rb.TunedThreshold(inside, "recall() >= 0.6", cv=2).fit(X, y).status_.feasible


def test_metadata_routing():
    X, y = rows(400)
    weights = np.random.default_rng(0).choice([1.0, 4.0], 400)
    group = pd.DataFrame({"group": np.random.default_rng(1).choice(["a", "b"], 400)})
    promise = 'recall(group == "a") >= 0.8'
    plain = rb.TunedThreshold(LogisticRegression(), promise, cv=3)
    plain.fit(X, y, columns=group, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = LogisticRegression().set_fit_request(sample_weight=True)
        asks_not = LogisticRegression().set_fit_request(sample_weight=False)
        model = rb.TunedThreshold(asks, promise, cv=3).fit(X, y, columns=group, sample_weight=weights)
        other = rb.TunedThreshold(asks_not, promise, cv=3).fit(
            X, y, columns=group, sample_weight=weights
        )
        np.testing.assert_array_equal(model.estimator_.coef_, plain.estimator_.coef_)
        assert model.best_threshold_ == plain.best_threshold_
        assert abs(other.estimator_.coef_ - model.estimator_.coef_).max() > 1e-3
        ids = np.repeat(np.arange(100), 4)
        grouped = rb.TunedThreshold(LogisticRegression(), promise, cv=GroupKFold(3))
        assert grouped.fit(X, y, columns=group, groups=ids).status_.feasible
        tuned = rb.TunedThreshold(asks, promise, cv=3).set_fit_request(sample_weight=True)
        tuned.set_score_request(sample_weight=False)
        search = GridSearchCV(tuned, {"confidence": [None, 0.9]}, cv=3)
        search.fit(X, y, columns=group, sample_weight=weights)
        assert search.best_estimator_.status_.feasible


def test_weights_that_a_classifier_does_not_take():
    X, y = rows(300)
    model = rb.TunedThreshold(make_pipeline(StandardScaler(), LogisticRegression()), RECALL)
    with pytest.warns(UserWarning, match="count only in rates"):
        model.fit(X, y, sample_weight=np.ones(300))


# --- bad input ---------------------------------------------------------------------------------------


def test_promises_that_cannot_be_kept_give_the_nearest_threshold_and_a_warning():
    X, y = rows()
    promises = ["recall() >= 0.99", "positive_rate() <= 0.2"]
    model = rb.TunedThreshold(LogisticRegression(), promises)
    with pytest.warns(PromisesBroken, match=r"TunedThreshold: infeasible: .*\). See status_.$"):
        model.fit(X, y)
    assert not model.status_.feasible
    assert "cannot be kept together by any one threshold" in str(model.status_)
    assert [str(each) for each in model.status_.conflict] == promises
    assert "relax recall() >= 0.99 alone by" in str(model.status_)
    scores = cross_val_predict(LogisticRegression(), X, y, cv=5, method="predict_proba")[:, 1]
    worst = min(
        max(0.99 - (scores >= t)[y == 1].mean(), (scores >= t).mean() - 0.2) for t in np.unique(scores)
    )
    assert max(model.violations_.values()) == pytest.approx(worst)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"y": np.zeros(100)}, ValueError, "1 class"),
        ({"y": np.arange(100) % 3}, ValueError, "Only binary .* rb.RateConstrainedClassifier"),
        ({"y": [1] + [0] * 99}, ValueError, "one row of class 1"),
        ({"y": None}, ValueError, "requires y to be passed"),
        ({"estimator": RidgeClassifier}, TypeError, "takes a classifier"),
        ({"estimator": KMeans(2)}, TypeError, "no predict_proba or decision_function"),
        ({"estimator": LinearSVC(), "response_method": "predict_proba"}, TypeError, "no predict_proba"),
        ({"response_method": "predict"}, ValueError, "response_method"),
        ({"promises": "roc_auc() >= 0.8"}, ValueError, "roc_auc.* threshold other than"),
        ({"promises": "recall(at=0.3) >= 0.8"}, ValueError, "recall.*leave at= out"),
        ({"promises": 'recall(sex == "F") >= 0.8'}, ValueError, "recall.*'sex'"),
        ({"promises": "recall() >= 1.2"}, ValueError, "never above 1"),
        ({"promises": 'positive_rate(on="pool") <= 0.2'}, ValueError, "another population"),
        ({"maximize": "recall()", "minimize": "error_rate()"}, TypeError, "one objective"),
        ({"cv": "prefit", "refit": False}, NotFittedError, "must be fitted"),
        ({"cv": "prefit"}, ValueError, "refit cannot be True"),
        ({"refit": False}, ValueError, "refit cannot be False"),
        ({"cv": 1.5}, ValueError, "cv, if it is a share"),
        ({"confidence": 90}, ValueError, "confidence, a probability"),
        ({"certify": 1}, ValueError, "certify, a share"),
        ({"thresholds": [np.nan]}, ValueError, "thresholds takes numbers"),
        ({"thresholds": 0}, ValueError, "thresholds, if it is a number"),
        ({"positive_label": 7}, ValueError, "positive_label 7"),
        ({"promises": "referred() <= 0.1"}, ValueError, "no row can be referred here"),
        ({"promises": rb.constraint(lambda m, r: 0.0, name="gap")}, ValueError, "gap.* only rates"),
    ],
)
def test_what_is_refused(change, error, words):
    X, y = rows(100)
    change = dict(change)
    y = change.pop("y", y)
    change.setdefault("estimator", LogisticRegression())
    with pytest.raises(error, match=words):
        rb.TunedThreshold(**change).fit(X, y)


def test_scores_that_are_no_numbers():
    X = np.random.default_rng(0).normal(size=(100, 1))
    X[17] = np.nan
    with pytest.raises(ValueError, match=r"Given.decision_function gives nan for row \d+"):
        rb.TunedThreshold(Given(), RECALL).fit(X, np.arange(100) % 2)


def test_arguments_that_fit_does_not_have():
    X, y = rows(100)
    model = rb.TunedThreshold(LogisticRegression(), RECALL)
    with pytest.raises(TypeError, match="columns="):
        model.fit(X, y, sensitive_features=y)
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        model.fit(X, y, monitor=print)
    with pytest.raises(ValueError, match="groups has the shape"):
        model.fit(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match="no column 'customer'"):
        model.fit(X, y, groups="customer")
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.audit(X, y)
    assert not hasattr(rb.TunedThreshold(LinearSVC(), RECALL), "predict_proba")


def test_a_constant_score_has_two_thresholds():
    X, y = np.zeros((60, 1)), np.arange(60) % 3 == 0
    model = rb.TunedThreshold(Given(), RECALL, confidence=None).fit(X, y)
    assert (model.best_threshold_, model.predict(X).all()) == (-np.inf, True)


def test_a_forest_by_its_votes():
    """Many rows have equal scores; a threshold lies between them."""
    X, y = rows(300)
    forest = RandomForestClassifier(10, random_state=0)
    model = rb.TunedThreshold(forest, "recall() >= 0.8", maximize="precision()").fit(X, y)
    assert model.status_.feasible
    assert abs(model.best_threshold_ * 10 % 1) > 1e-6


# --- in files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", ["predict_proba", "decision_function"])
@pytest.mark.parametrize("positive", ["good", "bad"])
def test_a_file_decides_as_it_does(response, positive, tmp_path):
    pytest.importorskip("skops")
    X, y = rows()
    names = np.where(y == 1, "good", "bad")
    how = {"response_method": response, "positive_label": positive, "confidence": None}
    model = rb.TunedThreshold(LogisticRegression(), RECALL, **how).fit(X, names)
    loaded = rb.load(model.save(tmp_path))
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.predict_proba(X) == pytest.approx(model.predict_proba(X))
    assert loaded.decision_proba(X).shape == (len(X), 2)
    assert str(loaded.status) == str(model.status_)
    assert loaded.classes_.tolist() == model.classes_.tolist()
    own, other = model.audit(X, names), loaded.audit(X, names)
    assert own.promises[0].value == pytest.approx(
        recall_score(names, model.predict(X), pos_label=positive)
    )
    assert other.promises == own.promises
    assert loaded.certify(X, names).promises[0].p_value == model.certify(X, names).promises[0].p_value
    scores, said = loaded.decision_function(X), loaded.predict(X)
    assert roc_auc_score(names == loaded.classes_[1], scores) > 0.5
    assert ((scores > 0) == (said == loaded.classes_[1])).all()


def test_a_file_holds_the_certificate_and_a_table_is_read(tmp_path):
    pytest.importorskip("skops")
    pandas = pytest.importorskip("pandas")
    X, y = rows(2000)
    table = pandas.DataFrame(X, columns=[f"x{place}" for place in range(6)])
    inside = make_pipeline(StandardScaler(), LogisticRegression())
    model = rb.TunedThreshold(inside, "recall() >= 0.7", certify=0.3, random_state=0).fit(table, y)
    loaded = rb.load(model.save(tmp_path / "model.safetensors"))
    assert loaded.certificate.holds == model.certificate_.holds
    assert loaded.certificate.to_dict() == model.certificate_.to_dict()
    assert (loaded.predict(table) == model.predict(table)).all()
    assert "aside" in str(loaded.record.made.rows)


def test_yes_to_no_one_in_a_file(tmp_path):
    pytest.importorskip("skops")
    X, y = rows()
    model = rb.TunedThreshold(LogisticRegression(), "positive_rate() <= 0", confidence=None).fit(X, y)
    assert np.isinf(model.best_threshold_)
    assert not rb.load(model.save(tmp_path)).predict(X).any()


def test_types_in_a_file_have_to_be_trusted(tmp_path):
    pytest.importorskip("skops")
    X, y = rows(200)
    model = rb.TunedThreshold(KNeighborsClassifier(), confidence=None).fit(X, y)
    path = model.save(tmp_path)
    with pytest.raises(ValueError, match="not trusted"):
        rb.load(path)
    unsaved = rb.TunedThreshold(LogisticRegression())
    with pytest.raises(NotFittedError):
        unsaved.save(tmp_path)
