"""What has to hold, on small tables."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from ratebound.learning.status import ConstraintsViolated
from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.learning.threshold import ConstrainedThresholdClassifier
from ratebound.learning.folds import digest_rows, deal_folds, find_units
from ratebound.learning.models import Scaler
from ratebound.learning.program import solve_mixture

CONSTRAINT = 'recall(g == "a") >= 0.95 * recall()'


def table(n=1500, seed=0):
    random = np.random.default_rng(seed)
    g = np.where(random.random(n) < 0.3, "a", "b")
    X = random.normal(size=(n, 4))
    y = X[:, 0] + 0.7 * X[:, 1] + random.normal(size=n) > np.where(g == "a", 0.9, 0.2)
    X[:, 0] -= 0.5 * (g == "a")
    return X, y, g


def fitted(constraints=CONSTRAINT, n=1500, **options):
    X, y, g = table(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintsViolated)
        return RateConstrainedClassifier(constraints, random_state=0, **options).fit(
            X, y, columns={"g": g}
        )


# --- the plain model ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_it_is_never_worse_than_the_plain_model_out_of_fold_where_that_meets_the_constraints(seed):
    X, y, g = table(800, seed)
    model = RateConstrainedClassifier("recall() >= 0.3", confidence=None, random_state=seed).fit(
        X, y, columns={"g": g}
    )
    assert model.status_.reached <= model.status_.plain


# --- constraints ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["linear", "lightgbm", "xgboost", RandomForestClassifier(20)])
def test_constraints_are_met_out_of_fold_and_the_status_says_so(model):
    model = fitted(model=model)
    (constraint,) = model.status_.constraints
    assert constraint.met
    assert model.status_.feasible
    assert model.status_.confidence > 0.5
    assert "Feasible" in str(model.status_)


def test_a_constraint_that_one_decision_for_everyone_meets_is_met():
    assert fitted("recall() >= 0.999", confidence=None).status_.feasible
    assert fitted("positive_rate() <= 0.001", confidence=None).status_.feasible


def test_constraints_that_conflict_are_named():
    status = fitted(["accuracy() >= 0.9", "false_positive_rate() <= 0.01"]).status_
    assert not status.feasible
    assert any(each.conflicts for each in status.constraints)
    assert "relax" in str(status)


def test_a_constraint_that_too_few_rows_can_show_is_untestable():
    X, y, g = table(3000)
    g = g.astype("<U3")
    g[np.flatnonzero(y)[:12]] = "few"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status = (
            RateConstrainedClassifier([CONSTRAINT, 'recall(g == "few") >= 0.95'], random_state=0)
            .fit(X, y, columns={"g": g})
            .status_
        )
    (few,) = status.claim.untestable
    assert few.constraint == 'recall(g == "few") >= 0.95'
    assert few.rows == 12
    assert few.needed > 12
    assert status.claim.reached_testable > status.claim.reached


@pytest.mark.parametrize("objective", ["maximize f_score()", 'minimize largest(error_rate(g == "a"), error_rate(g == "b"))',
                                       'maximize smallest(recall(g == "a"), accuracy())', "cost(false_negative=5, false_positive=1)"])  # fmt: skip
def test_objectives_that_are_no_sum_beat_the_plain_model(objective):
    model = fitted("positive_rate() <= 0.95", objective=objective, confidence=None)
    sign = model.learned_.rules.compiled.objective.sign
    assert model.status_.feasible
    assert sign * model.status_.reached <= sign * model.status_.plain + 1e-12


def test_three_classes_and_their_constraints():
    random = np.random.default_rng(0)
    X = random.normal(size=(1200, 3))
    y = np.array(["cat", "cow", "dog"])[
        (X[:, :2] + random.normal(size=(1200, 2))).argmax(axis=1) + (X[:, 2] > 0.8)
    ]
    model = RateConstrainedClassifier('recall(of="cow") >= 0.8', random_state=0).fit(X, y)
    assert model.status_.feasible
    assert set(model.predict(X)) <= {"cat", "cow", "dog"}
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_known_columns_are_used_when_deciding():
    X, y, g = table(4000)
    constraints = ['positive_rate(g == "a") >= 0.95 * positive_rate()']
    blind, known = (
        RateConstrainedClassifier(constraints, known=k, random_state=0).fit(X, y, columns={"g": g})
        for k in (None, "g")
    )
    assert known.status_.reached < blind.status_.reached + 0.005
    changed = (
        known.predict(X, {"g": g}) != known.predict(X, {"g": np.where(g == "a", "b", "a")})
    ).mean()
    assert changed > 0.05
    with pytest.warns(UserWarning, match="that no training row had"):
        assert len(known.predict(X[:2], {"g": np.array(["new", "b"])})) == 2


def test_many_groups_are_learned_as_slices():
    random = np.random.default_rng(0)
    X, y, _ = table(2000)
    flags = {f"f{k}": random.random(2000) < 0.5 for k in range(7)}
    constraints = [f"recall(f{k} == True) >= 0.9 * recall()" for k in range(7)]
    model = RateConstrainedClassifier(constraints, random_state=0).fit(X, y, columns=flags)
    assert not model.model_.forecast.by_cells
    assert model.status_.feasible


def test_costs_by_a_column():
    X, y, g = table()
    amount = np.random.default_rng(0).gamma(2, 100, len(y)) * (1 + (X[:, 2] > 0))
    model = RateConstrainedClassifier(
        "recall() >= 0.5", objective='cost(column="amount")', random_state=0
    )
    model.fit(X, y, columns={"amount": amount})
    assert model.status_.reached <= model.status_.plain


def test_constraints_that_compare_two_ratios_find_their_level():
    model = fitted('precision(g == "a") >= 0.9 * precision()')
    assert model.status_.feasible


# --- what if -----------------------------------------------------------------------------------------


# --- slips ---------------------------------------------------------------------------------------------


def test_texts_and_gaps_in_one_column_have_digests():
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame({"town": ["A", None, 3, float("nan"), "A", 3.0]}, dtype=object)
    assert len(np.unique(digest_rows(mixed))) == 3


def test_flags_are_not_scaled_and_numbers_are():
    X = np.column_stack([np.arange(100.0), np.arange(100) == 7])
    assert Scaler().fit(X).transform(X).std(axis=0) == pytest.approx([1, X[:, 1].std()])


# --- scikit-learn, folds, the program --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_of_thresholds():
    checks = check_estimator(
        ConstrainedThresholdClassifier(LogisticRegression()), on_skip=None, on_fail=None
    )
    failed = {check["check_name"] for check in checks if check["status"] == "failed"}
    assert failed <= {"check_classifiers_train"}  # decisions are not at a probability of a half


def test_copies_are_in_one_fold_and_alike_people_are_not_copies():
    X, y, _ = table(300)
    copies = np.repeat(np.arange(300), 4)
    with pytest.warns(UserWarning, match="copies"):
        unit = find_units(digest_rows(X[copies]), 2 * copies + y[copies], None)
    assert len(np.unique(unit)) == 300
    fold = deal_folds(unit, y[copies], 0)
    assert all(len(np.unique(fold[unit == each])) == 1 for each in range(20))
    few = np.random.default_rng(0).integers(0, 3, size=(500, 2)).astype(float)
    assert (
        len(
            np.unique(
                find_units(digest_rows(few), np.random.default_rng(1).integers(0, 2, 500), None)
            )
        )
        == 500
    )


def test_the_program_finds_the_best_mixture():
    solved = solve_mixture(np.array([[0.1], [0.5]]), np.array([[0.2], [-0.2]]))
    assert solved.value == pytest.approx(0.3)
    assert solved.prices == pytest.approx([1.0])


# --- thresholds ---------------------------------------------------------------------


def test_a_threshold_meets_constraints():
    X, y, g = table(3000)
    model = ConstrainedThresholdClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()),
        "recall() >= 0.8",
        objective="maximize precision()",
    )
    model.fit(X, y)
    assert model.status_.feasible
    assert 0.8 <= model.predict(X)[y].mean() <= 0.88
    assert model.status_.confidence >= 0.85
