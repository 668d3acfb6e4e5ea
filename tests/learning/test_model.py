"""What has to hold, on small tables."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ratebound as rb2
from ratebound.learning.status import ConstraintsViolated
from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.learning.ranker import RateConstrainedRanker
from ratebound.learning.threshold import ConstrainedThresholdClassifier
from ratebound.learning.explain import explain
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


@pytest.mark.parametrize(
    "model", [LogisticRegression(), RandomForestClassifier(20, random_state=3)]
)
def test_without_constraints_it_is_the_plain_model_bit_for_bit(model):
    X, y, _ = table()
    ours = RateConstrainedClassifier(model=model).fit(X, y)
    assert np.array_equal(ours.predict_proba(X), model.fit(X, y).predict_proba(X))
    assert np.array_equal(ours.predict(X), model.predict(X))


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


def test_a_referral_is_one_more_decision():
    model = fitted(
        ["referred() <= 0.2", "accuracy(decided) >= 0.85"], refer="ask", objective="error_rate()"
    )
    assert model.status_.feasible
    X, _, _ = table()
    assert (model.predict(X) == "ask").mean() < 0.25


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
    assert len(known.predict(X[:2], {"g": np.array(["new", "b"])})) == 2


def test_other_populations_and_rows_without_labels():
    X, y, g = table()
    pool = np.random.default_rng(1).normal(size=(500, 4))
    model = RateConstrainedClassifier('positive_rate(on="pool") <= 0.2', random_state=0).fit(
        X, y, columns={"g": g}, pool=pool
    )
    assert model.status_.feasible
    assert model.predict(pool).mean() <= 0.2


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


def test_tables_with_texts_and_gaps():
    pandas = pytest.importorskip("pandas")
    X, y, g = table()
    frame = pandas.DataFrame(
        {"x0": X[:, 0], "x1": X[:, 1], "g": g, "town": np.where(X[:, 2] > 0, "A", "B")}
    )
    frame.loc[::7, "x1"] = np.nan
    frame.loc[::11, "town"] = None
    for model in ("linear", "lightgbm"):
        fit = RateConstrainedClassifier(
            CONSTRAINT, model=model, features=["x0", "x1", "town"], random_state=0
        ).fit(frame, y)
        assert fit.status_.feasible
        assert len(fit.predict(frame[:10])) == 10


# --- what if -----------------------------------------------------------------------------------------


def test_what_if_and_prices_need_no_fit():
    model = fitted()
    rule, status = model.what_if('recall(g == "a") >= 0.9 * recall()')
    assert status.feasible
    assert status.reached <= model.status_.reached + 1e-9
    (price,) = model.prices()
    assert list(price.objectives) == sorted(price.objectives)
    with pytest.raises(ValueError, match="told apart"):
        model.what_if('positive_rate(g == "a") >= 0.5')
    assert model.with_constraints('recall(g == "a") >= 0.9 * recall()').status_.confidence > 0.5


def test_exactly_so_many_yeses_and_reasons():
    model = fitted()
    X, _, _ = table()
    assert model.predict(X, exactly=100).sum() == 100
    reasons = model.reasons(X[:5])
    assert np.allclose(reasons.parts.sum(axis=0)[0], model.decision_function(X[:5]))
    assert CONSTRAINT in str(reasons)


# --- slips ---------------------------------------------------------------------------------------------


def fit_columns(columns, **more):
    X, y, _ = table(300)
    return RateConstrainedClassifier(CONSTRAINT, known="g", random_state=0).fit(
        X, y, columns=columns, **more
    )


@pytest.mark.parametrize(("slip", "error", "words"), [
    (lambda g: fit_columns({"g": g}, sensitive_features=g), TypeError, "no constraint has on='sensitive_features'"),
    (lambda g: fit_columns({"g": g}).predict(np.zeros((3, 4))), ValueError, "give columns={'g': ...}"),
    (lambda g: fitted("roc_auc() >= 0.7"), ValueError, "rb.ProxyLagrangianClassifier"),
    (lambda g: fitted(model="lightgmb"), ValueError, "did you mean 'lightgbm'"),
])  # fmt: skip
def test_a_slip_is_told_with_its_remedy(slip, error, words):
    with pytest.raises(error) as raised:
        slip(table(300)[2])
    assert words in str(raised.value)


def test_labels_in_another_order_than_the_table_are_refused():
    pandas = pytest.importorskip("pandas")
    X, y, g = table(300)
    frame = pandas.DataFrame(X, columns=list("pqrs"))
    with pytest.raises(ValueError, match="in another order"):
        RateConstrainedClassifier("recall() >= 0.5").fit(frame, pandas.Series(y).iloc[::-1])


def test_texts_and_gaps_in_one_column_have_digests():
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame({"town": ["A", None, 3, float("nan"), "A", 3.0]}, dtype=object)
    assert len(np.unique(digest_rows(mixed))) == 3


def test_flags_are_not_scaled_and_numbers_are():
    X = np.column_stack([np.arange(100.0), np.arange(100) == 7])
    assert Scaler().fit(X).transform(X).std(axis=0) == pytest.approx([1, X[:, 1].std()])


def test_scores_favour_the_last_class_also_where_yes_is_the_first():
    X, y, _ = table(600)
    labels = np.where(y, "good", "late")
    model = RateConstrainedClassifier("recall() >= 0.5", positive_label="good", random_state=0).fit(
        X, labels
    )
    assert ((model.decision_function(X) > 0) == (model.predict(X) == "late")).all()


# --- scikit-learn, folds, the program --------------------------------------------------------------------

IN_OTHER_FOLDS = {f"check_sample_weight_equivalence_on_{kind}_data": "a row that occurs twice is dealt to other folds"
                  for kind in ("dense", "sparse")}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "otherwise"), [({}, {}), ({"constraints": "accuracy() >= 0.1"}, IN_OTHER_FOLDS)]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(asked, otherwise):
    checks = check_estimator(
        RateConstrainedClassifier(**asked), on_skip=None, expected_failed_checks=otherwise
    )
    assert sum(check["status"] == "passed" for check in checks) >= 55 - len(otherwise)


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


# --- thresholds, rankers, explanations ---------------------------------------------------------------------


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


def test_a_ranker_meets_constraints_about_pairs():
    X, y, g = table(900)
    constraint = 'ranked_right(first.g == "a", second.g == "b") >= 0.7'
    model = RateConstrainedRanker(constraint, random_state=0, pairs=20_000).fit(
        X, y, columns={"g": g}
    )
    assert model.status_.feasible
    assert model.decision_function(X).shape == (900,)


def test_explain_names_conflicts_and_prices():
    people = rb2.Population(None, [1, 1, 1, 0])
    explanation = explain(
        rb2.Problem("error_rate()", ["positive_rate() <= 0.25", "recall() >= 0.9"]), people
    )
    assert explanation.conflict == ("positive_rate() <= 0.25", "recall() >= 0.9")
    assert explanation.relax == pytest.approx(0.2429, abs=1e-4)
    assert explain(
        rb2.Problem("error_rate()", ["positive_rate() <= 0.5"]), people
    ).at_least == pytest.approx(0.25)
