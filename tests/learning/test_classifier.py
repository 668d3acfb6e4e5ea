"""The estimator: what users hand over, what it decides by, and what it says."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import ratebound as rb
from ratebound.learning import learning
from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.learning.quota import choose_rows
from ratebound.learning.status import ConfidenceNotReached, ConstraintsViolated

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

CONSTRAINT = 'recall(g == "a") >= 0.95 * recall()'


def make_rows(n=1500, seed=0):
    """Return features, labels and groups; the labels of group "a" are rarer, and its scores lower."""
    random = np.random.default_rng(seed)
    g = np.where(random.random(n) < 0.3, "a", "b")
    X = random.normal(size=(n, 4))
    y = X[:, 0] + 0.7 * X[:, 1] + random.normal(size=n) > np.where(g == "a", 0.9, 0.2)
    X[:, 0] -= 0.5 * (g == "a")
    return X, y, g


def make_table(n=1500, seed=0):
    """Return a table with gaps and texts, and labels."""
    X, y, g = make_rows(n, seed)
    table = pandas.DataFrame(X, columns=["p", "q", "r", "s"])
    table["g"] = g
    table["town"] = np.where(X[:, 2] > 0, "A", "B")
    table.loc[::7, "q"] = np.nan
    table.loc[::11, "town"] = None
    return table, y


def fit(constraints=CONSTRAINT, n=1500, **options):
    X, y, g = make_rows(n)
    model = RateConstrainedClassifier(constraints, **{"random_state": 0, **options})
    return model.fit(X, y, columns={"g": g})


def fit_table(constraints=CONSTRAINT, n=1500, **options):
    table, y = make_table(n)
    return RateConstrainedClassifier(constraints, random_state=0, **options).fit(table, y)


# --- the plain model ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        RandomForestClassifier(20, random_state=3),
        LinearSVC(),
        RidgeClassifier(),
    ],
)
def test_without_constraints_it_is_the_plain_model_bit_for_bit(model):
    X, y, _ = make_rows()
    ours = RateConstrainedClassifier(model=model).fit(X, y)
    model.fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), model.predict(X))
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method) and method == "predict_proba":
            np.testing.assert_array_equal(ours.predict_proba(X), model.predict_proba(X))
    if not hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(ours.decision_function(X), model.decision_function(X))
    assert str(ours.status_) == "There are no constraints: this is the plain model."


@pytest.mark.parametrize("model", [LinearSVC(), make_pipeline(StandardScaler(), RidgeClassifier())])
def test_models_that_only_score_rows_are_calibrated(model):
    X, y, _ = make_rows()
    ours = fit(model=model, confidence=None)
    assert ours.status_.feasible
    logistic = LogisticRegression().fit(X, y)
    difference = ours.predict_proba(X) - logistic.predict_proba(X)
    assert np.abs(difference).mean() < 0.04


IN_OTHER_FOLDS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a row that occurs twice is dealt to other folds"
    for kind in ("dense", "sparse")
}


@pytest.mark.parametrize(
    ("options", "expected_failures"),
    [({}, {}), ({"constraints": "accuracy() >= 0.1"}, IN_OTHER_FOLDS)],
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(options, expected_failures):
    estimator = RateConstrainedClassifier(**options)
    checks = check_estimator(estimator, on_skip=None, expected_failed_checks=expected_failures)
    statuses = [check["status"] for check in checks]
    assert statuses.count("passed") == 61 - len(expected_failures)
    assert statuses.count("xfail") == len(expected_failures)
    assert statuses.count("failed") == 0


# --- what users hand over -------------------------------------------------------------------------


def test_arrays_in_training_and_a_table_later_are_matched_by_position():
    X, _, _ = make_rows()
    model = fit(confidence=None)
    with pytest.warns(UserWarning, match="X has feature names"):
        decisions = model.predict(pandas.DataFrame(X, columns=list("dcba")))
    np.testing.assert_array_equal(decisions, model.predict(X))


LABELS = {
    "list": lambda y: y.tolist(),
    "texts": lambda y: np.where(y, "yes", "no"),
    "pandas": lambda y: pandas.Series(y),
    "category": lambda y: pandas.Series(np.where(y, "yes", "no"), dtype="category"),
    "boolean": lambda y: pandas.Series(y, dtype="boolean"),
    "Int64": lambda y: pandas.Series(y.astype(int), dtype="Int64"),
    "polars": lambda y: polars.Series(y),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_give_the_same_model(kind):
    X, y, g = make_rows(400)
    model = RateConstrainedClassifier(CONSTRAINT, confidence=None, random_state=0)
    expected = clone(model).fit(X, y, columns={"g": g}).predict(X)
    fitted = clone(model).fit(X, LABELS[kind](y), columns={"g": g})
    np.testing.assert_array_equal(fitted.predict(X) == fitted.classes_[1], expected)


def test_a_users_pipeline_reads_tables_as_they_are():
    table, y = make_table(600)
    for frame in (table, polars.from_pandas(table)):
        pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
        model = RateConstrainedClassifier(
            CONSTRAINT, model=pipeline, features=["town", "g"], confidence=None, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about few distinct rows
            model.fit(frame, y)
        assert model.status_.feasible
        assert model.predict(frame).shape == (600,)


# --- which columns are features -------------------------------------------------------------------

PEOPLE = ["p", "q", "r", "s", "g", "town"]
ROLES = {
    "a live model": ({"constraints": 'churn(versus="extra") <= 0.4'}, {}),
    "a live model's rate": (
        {"constraints": 'positive_rate() >= 0.9 * positive_rate(by="extra")'},
        {},
    ),
    "amounts": (
        {"constraints": "recall() >= 0.5", "objective": 'cost(column="extra")'},
        {},
    ),
    "clusters": ({"constraints": CONSTRAINT}, {"clusters": "extra"}),
}


@pytest.mark.parametrize("role", ROLES)
def test_columns_that_are_there_to_count_by_are_not_features(role):
    options, fit_options = ROLES[role]
    table, y = make_table(800)
    values = {"amounts": np.arange(1.0, 801), "clusters": np.arange(800) // 4}
    table["extra"] = values.get(role, y)
    model = RateConstrainedClassifier(confidence=None, random_state=0, **options)
    with pytest.warns(UserWarning, match="does not read 'extra'"):
        model.fit(table, y, **fit_options)
    assert "does not read 'extra'" in str(model.status_)
    assert model.features_ == PEOPLE
    decisions = model.predict(table)
    changed = table.assign(extra=table.extra.to_numpy()[::-1])
    np.testing.assert_array_equal(model.predict(changed), decisions)
    np.testing.assert_array_equal(model.predict(table[PEOPLE]), decisions)

    listed = clone(model).set_params(features=[*PEOPLE, "extra"]).fit(table, y, **fit_options)
    assert listed.features_ == [*PEOPLE, "extra"]


def test_the_status_says_which_groups_the_model_reads_and_what_lenders_may_not():
    table, y = make_table(600)
    table = table.rename(columns={"r": "Age_in_years", "s": "stage"}).assign(sex=table.g)
    model = RateConstrainedClassifier(CONSTRAINT, confidence=None, random_state=0).fit(table, y)
    assert "The model reads 'g', which constraints count by." in str(model.status_)
    lenders = "For lenders: the law may forbid the features 'Age_in_years', 'sex'."
    assert str(model.status_).count(lenders) == 1
    model.set_params(features=["p", "q"]).fit(table, y)
    assert "reads" not in str(model.status_)
    assert "lenders" not in str(model.status_)


# --- groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", ["overall", "pairwise"])
def test_few_rows_are_named_apart_and_rows_without_a_group_are_one_only_if_asked(against):
    X, y, g = make_rows(2000)
    g = g.astype(object)
    g[:3] = "few"
    g[3:63] = None
    parity = "statistical_parity(g{}, slack=0.25, against={!r})"
    constraints = {}
    for groups in ("", ", missing(g)"):
        model = RateConstrainedClassifier(parity.format(groups, against), random_state=0)
        status = model.fit(X, y, {"g": g}).status_
        assert status.feasible
        assert {item.rows for item in status.claim.untestable} == {3}
        assert "The constraints that rows can test hold together" in str(status)
        constraints[groups] = [item.constraint for item in status.constraints]
        assert len(model.audit(X, y, {"g": g}).promises) == len(constraints[groups])
    assert constraints[""] == [
        text for text in constraints[", missing(g)"] if "missing" not in text
    ]
    assert len(constraints[""]) == 6


# --- decisions ------------------------------------------------------------------------------------


def test_a_referral_is_one_more_decision():
    X, y, _ = make_rows()
    model = fit(["referred() <= 0.2", "accuracy(decided) >= 0.85"], refer="ask", confidence=None)
    assert model.status_.feasible
    referred = model.predict(X) == "ask"
    assert 0.05 < referred.mean() < 0.25
    assert model.score(X, y) == pytest.approx((~referred & (model.predict(X) == y)).mean())
    assert model.decision_function(X).shape == (1500, 3)
    assert model.score(X[y][:9], y[y][:9]) <= 1  # of one class alone


def test_other_populations_need_no_labels():
    X, y, _ = make_rows()
    pool = np.random.default_rng(1).normal(size=(500, 4))
    model = RateConstrainedClassifier('positive_rate(on="pool") <= 0.2', random_state=0)
    model.fit(X, y, pool=pool)
    assert model.status_.feasible
    assert model.predict(pool).mean() <= 0.2
    audit = model.audit(X, y, pool=pool)
    assert audit.promises[0].value == pytest.approx(model.predict(pool).mean())


@pytest.mark.parametrize("positive", ["good", "late"])
def test_scores_favour_the_last_class_also_where_yes_is_the_first(positive):
    X, y, _ = make_rows(600)
    labels = np.where(y, "good", "late")
    model = RateConstrainedClassifier("recall() >= 0.5", positive_label=positive, random_state=0)
    model.fit(X, labels)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == "late")
    assert (model.coef_ @ X.T)[0][y].mean() < (model.coef_ @ X.T)[0][~y].mean()


def measure_gap(decisions, g):
    return 0.9 * decisions.mean() - decisions[g == "a"].mean()


@pytest.mark.parametrize("seed", range(12))
def test_a_quota_is_the_best_choice_that_meets_constraints_without_labels(seed):
    """Against every choice of 5 rows among 12."""
    random = np.random.default_rng(seed)
    g = np.array(list("aaaabbbbbbbb"))
    live = random.random(12) < 0.5
    scores = random.normal(size=12) - 1.5 * (g == "a")
    constraints = [
        'positive_rate(g == "a") >= 0.9 * positive_rate()',
        'churn(versus="live") <= 0.5',
    ]
    batch = rb.Population(
        y=np.zeros(12, bool), columns={"g": g, "live": live}, classes=[False, True]
    )
    rows = rb.compile(rb.Problem("error_rate()", [*constraints, "recall() >= 0.9"]),
                      rb.Population(y=live, columns={"g": g, "live": ~live})).rows  # fmt: skip
    best = -np.inf
    for chosen in itertools.combinations(range(12), 5):
        decisions = np.isin(np.arange(12), chosen)
        if measure_gap(decisions, g) <= 1e-9 and (decisions != live).mean() <= 0.5:
            best = max(best, scores[decisions].sum())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        decisions = choose_rows(scores, 5, rows, batch).astype(bool)
    assert decisions.sum() == 5
    if best == -np.inf:
        assert "no such rows meet" in str(caught[0].message)
        return
    assert not caught
    assert measure_gap(decisions, g) <= 1e-9
    assert (decisions != live).mean() <= 0.5
    assert scores[decisions].sum() >= best - 0.15  # prices may miss the very best of few rows


def test_exactly_so_many_yeses():
    table, y = make_table()
    constraints = [CONSTRAINT, 'positive_rate(g == "a") >= 0.95 * positive_rate()']
    model = RateConstrainedClassifier(constraints, confidence=None, random_state=0).fit(table, y)
    for count in (0, 1, 300, 1500):
        assert model.predict(table, exactly=count).sum() == count
    decisions = model.predict(table, exactly=300)
    in_a = (table.g == "a").to_numpy()
    assert decisions[in_a].mean() >= 0.95 * decisions.mean()
    plain = RateConstrainedClassifier(random_state=0).fit(table, y)
    highest = np.argsort(-plain.decision_function(table))[:300]
    np.testing.assert_array_equal(
        np.flatnonzero(plain.predict(table, exactly=300)), np.sort(highest)
    )
    beside = fit(constraints, confidence=None)
    with pytest.warns(UserWarning, match=r"cannot regard positive_rate.*no column 'g'"):
        beside.predict(make_rows()[0], exactly=300)


# --- reasons, coefficients, importances -----------------------------------------------------------


def test_reasons_sum_to_the_score():
    X, _, _ = make_rows()
    model = fit()
    reasons = model.reasons(X[:5])
    np.testing.assert_allclose(reasons.parts.sum(axis=0)[0], model.decision_function(X[:5]))
    assert CONSTRAINT in str(reasons)
    assert reasons.columns == (0, 1, 2, 3)


@pytest.mark.parametrize("columns", [["p", "q"], ["p", "town"]])
def test_effects_of_two_columns_are_shapley_values(columns):
    """They sum to the distance from the score of a typical row, and swap with the columns."""
    model = fit_table(features=columns, confidence=None)
    rows = make_table()[0].iloc[:6]
    typical = rows.assign(p=0.0, q=0.0, town="A")
    for name, index in (("p", 0), ("q", 1)):
        typical[name] = model.typical_[index] if name in columns else 0.0
    reasons = model.reasons(rows)
    assert reasons.columns == tuple(columns)
    if "town" not in columns:
        difference = model.decision_function(rows) - model.decision_function(typical)
        np.testing.assert_allclose(reasons.effects.sum(axis=0)[0], difference, atol=1e-12)
    assert "by column" in str(reasons)


def test_coefficients_are_in_the_units_of_columns():
    X, y, _ = make_rows()
    X[:, 1] *= 1000
    plain = RateConstrainedClassifier().fit(X, y)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    np.testing.assert_allclose(plain.coef_, pipeline[-1].coef_ / pipeline[0].scale_)
    step = np.eye(4)[1] * 1e-3
    logits = [np.log(plain.predict_proba(X[:9] + side)[:, 1] / plain.predict_proba(X[:9] + side)[:, 0])
              for side in (0, step)]  # fmt: skip
    np.testing.assert_allclose((logits[1] - logits[0]) / 1e-3, plain.coef_[0, 1], rtol=1e-4)
    assert not hasattr(plain, "feature_importances_")


def test_importances_are_means_over_folds():
    model = fit(model=RandomForestClassifier(20, max_depth=4, random_state=0))
    own = [fold.feature_importances_ for fold in model.model_.fits]
    np.testing.assert_allclose(model.feature_importances_, np.mean(own, axis=0))
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert not hasattr(model, "coef_")
    names = fit_table(model="lightgbm").get_feature_names_out()
    assert list(names[:4]) == ["p", "q", "r", "s"]
    assert "town == A" in names


# --- what if, pickles -----------------------------------------------------------------------------


def test_what_if_and_prices_need_no_fit():
    model = fit()
    easier = 'recall(g == "a") >= 0.9 * recall()'
    status = model.what_if(easier)
    assert status.feasible
    assert status.reached <= max(model.status_.reached, status.plain) + 1e-9
    (price,) = model.prices()
    assert list(price.objectives) == sorted(price.objectives)
    with pytest.raises(ValueError, match="told apart"):
        model.what_if('positive_rate(g == "a") >= 0.5')
    other = model.with_constraints(easier)
    assert other.status_.confidence > 0.5
    assert other.constraints == easier
    assert model.constraints == CONSTRAINT


def test_a_pickle_of_a_hundred_features_is_small_whatever_the_rows():
    """As many features as Adult has."""
    sizes = []
    for n in (600, 4000):
        table, y = make_table(n)
        table["job"] = [f"job {row % 100}" for row in range(n)]
        model = RateConstrainedClassifier(CONSTRAINT, random_state=0).fit(table, y)
        sizes.append(len(pickle.dumps(model)))
    assert len(model.get_feature_names_out()) == 110
    assert max(sizes) < 42_000
    assert np.ptp(sizes) < 500


def test_a_pickle_holds_no_rows():
    model = fit(confidence=None)
    stored = pickle.dumps(model)
    X, _, _ = make_rows()
    loaded = pickle.loads(stored)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.reasons(X[:3]).parts, model.reasons(X[:3]).parts)
    with pytest.raises(ValueError, match="which a pickle and a model without constraints lack"):
        loaded.what_if(CONSTRAINT)


# --- how long it takes ----------------------------------------------------------------------------


def test_progress_is_by_fold():
    heard = []
    fit(progress=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


@pytest.mark.parametrize("function", ["find_best_rule", "measure_influence"])
def test_an_interrupted_search_returns_the_best_so_far(monkeypatch, function):
    original = getattr(learning, function)
    calls = []

    def interrupt_once(*arguments, **options):
        calls.append(function)
        if len(calls) == 1 + (function == "find_best_rule"):
            raise KeyboardInterrupt
        return original(*arguments, **options)

    monkeypatch.setattr(learning, function, interrupt_once)
    with pytest.warns(RuntimeWarning, match="interrupted: this is the best rule so far"):
        model = fit()
    assert "Training was interrupted" in str(model.status_)
    assert model.status_.confidence is not None
    assert len(model.predict(make_rows()[0])) == 1500


def test_models_that_are_interrupted_leave_nothing_to_go_on_with(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(LogisticRegression, "fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit()


def test_a_time_limit_ends_the_search():
    with pytest.warns(RuntimeWarning, match="time was over"):
        model = fit(time_limit=1e-6)
    assert "The time was over" in str(model.status_)
    assert len(model.learned_.rules.weights) == 3  # the plain model and constants


# --- groups known by probabilities ----------------------------------------------------------------


def fit_uncertain(**options):
    X, y, g = make_rows(4000)
    random = np.random.default_rng(1)
    chance = np.where(g == "a", random.beta(4, 2, 4000), random.beta(1, 5, 4000))
    race = rb.uncertain_group("race", probabilities=["p_a", "p_b"])
    model = RateConstrainedClassifier(
        'recall(race == "a") >= 0.95 * recall()', uncertain=race, random_state=0, **options
    )
    columns = {"p_a": chance, "p_b": 1 - chance}
    return model, X, y, columns


def test_copies_of_a_row_get_one_decision_and_stay_in_one_fold():
    model, X, y, columns = fit_uncertain()
    model.fit(X, y, columns=columns)
    unit = model.learned_.unit
    rules = model.learned_.rules
    assert len(np.unique(unit)) == 4000 < len(unit)
    first = np.unique(unit, return_index=True)[1]
    np.testing.assert_array_equal(rules.forecast, rules.forecast[:, first][:, unit])
    assert model.predict(X).shape == (4000,)


def test_the_claim_says_first_that_it_rests_on_probabilities():
    model, X, y, columns = fit_uncertain()
    text = str(model.fit(X, y, columns=columns).status_)
    condition = "the probabilities of 'race' are right"
    claim = text[: text.index("% sure")]
    assert condition in claim
    share = columns["p_a"][y].sum() / len(y)  # of the rows that recall counts in the group
    assert f"about {np.ceil(385 / share):,.0f} random rows" in text
    audit = model.audit(X, y, columns=columns)
    decided = model.predict(X)
    hits = (columns["p_a"] * decided)[y].sum() / columns["p_a"][y].sum()
    assert audit.promises[0].value == pytest.approx(hits)
    with pytest.raises(ValueError, match="leave out uncertain="):
        model.certify(X, y, columns=columns)


def test_probabilities_of_groups_are_not_features():
    model, X, y, columns = fit_uncertain(confidence=None)
    table = pandas.DataFrame(X, columns=list("pqrs")).assign(**columns)
    with pytest.warns(UserWarning, match="does not read 'p_a', 'p_b'"):
        model.fit(table, y)
    assert model.features_ == ["p", "q", "r", "s"]


# --- evidence -------------------------------------------------------------------------------------


def test_certify_is_an_option_and_a_method():
    model = RateConstrainedClassifier(CONSTRAINT, certify=0.3)
    assert model.get_params()["certify"] == 0.3
    assert "certify=0.3" in repr(model)
    for other in (clone(model), pickle.loads(pickle.dumps(model))):
        assert other.get_params()["certify"] == 0.3
    model.certify = None
    assert model.get_params()["certify"] is None
    assert callable(model.certify)


def test_a_certificate_is_of_rows_that_were_kept_apart():
    model = fit("recall() >= 0.6", certify=0.3, n=3000)
    assert model.certificate_.populations == {"certified": 900}
    assert model.learned_.rules.forecast.shape[1] == 2100
    assert model.certificate_.holds
    X, y, _ = make_rows(2000, seed=5)
    assert y[model.predict(X)].sum() / y.sum() >= 0.6
    assert not hasattr(model.with_constraints("recall() >= 0.5"), "certificate_")
    failed = fit('recall(g == "a") >= 1.1 * recall()', certify=0.05, n=1000)
    assert not failed.certificate_.holds
    assert "No rule passed its test" in str(failed.status_)
    without = fit('recall(g == "a") >= 1.1 * recall()', n=1000)
    assert failed.status_.reached <= without.status_.reached + 0.05
    model.set_params(certify=None)
    assert not hasattr(model.fit(X, y), "certificate_")


@pytest.mark.parametrize("known", [None, "g"])
def test_audit_and_certify_count_its_decisions(known):
    X, y, g = make_rows(2000)
    model = fit(known=known)
    columns = {"g": g}
    decided = model.predict(X, columns)
    audit = model.audit(X, y, columns=columns)
    assert audit.promises[0].value == pytest.approx(decided[y & (g == "a")].mean())
    certificate = model.certify(X, y, columns=columns, confidence=0.8)
    assert certificate.promises[0].value == pytest.approx(decided[y & (g == "a")].mean())
    assert certificate.confidence == 0.8


# --- values never seen ----------------------------------------------------------------------------


def test_values_never_seen_are_warned_of():
    table, _ = make_table(800)
    model = fit_table(n=800, confidence=None)
    odd = table.assign(town=np.where(np.arange(800) < 3, "C", "A"))
    with pytest.warns(
        UserWarning, match=r"unlike any in training, of 800 rows: 'town' in 3 \('C'\)"
    ):
        model.predict(odd)
    known = fit_table(n=800, features=["p", "q"], confidence=None, known="g")
    with pytest.warns(UserWarning, match=r"known=\['g'\] have values .* rows: 800\."):
        known.predict(table.assign(g="c"))


def test_rare_texts_share_a_flag_and_new_ones_are_like_them():
    table, y = make_table(300)
    table["town"] = np.where(np.arange(300) < 150, [f"t{row}" for row in range(300)], "A")
    with pytest.warns(UserWarning, match="the 100 most frequent, and one for all other values"):
        model = RateConstrainedClassifier(random_state=0, features=["p", "town"]).fit(table, y)
    assert model.get_feature_names_out()[-1] == "town == (other)"
    chances = model.predict_proba(table.assign(town="new", p=0.0))
    shared = ~np.isin(
        table.town, [name.partition(" == ")[2] for name in model.get_feature_names_out()]
    )
    np.testing.assert_allclose(
        chances[: shared.sum()], model.predict_proba(table[shared].assign(p=0.0))
    )


# --- slips ----------------------------------------------------------------------------------------


def fit_rows(y=None, options=None, **fit_options):
    X, labels, g = make_rows(200)
    model = RateConstrainedClassifier(**{"constraints": CONSTRAINT, **(options or {})})
    return model.fit(X, labels if y is None else y, **{"columns": {"g": g}, **fit_options})


def with_gaps(y):
    return [None, *y.tolist()[1:]]


OPTION_SLIPS = [
    ({"confidence": 95}, "confidence= takes a number between 0 and 1, or None; got 95"),
    ({"confidence": True}, "confidence= takes"),
    ({"certify": 1.0}, "certify= takes a number between 0 and 1"),
    ({"known": 5.5}, "known= takes the name of a column, or a list of names"),
    ({"known": "sexx"}, "there is no column 'sexx'"),
    ({"features": "age"}, "features= takes a list of columns"),
    ({"features": []}, r"features= takes a list of columns, .* got \[\]"),
    ({"features": [0]}, "features= names columns"),
    ({"refer": 3}, "refer= takes a text"),
    ({"uncertain": "race"}, r"uncertain= takes rb\.uncertain_group"),
    ({"time_limit": 0}, "time_limit= takes a number above 0"),
    ({"progress": "bar"}, "progress= takes a function"),
    ({"model": "lightgmb"}, "did you mean 'lightgbm'"),
    ({"model": LogisticRegression}, "predict_proba or decision_function"),
    ({"positive_label": "maybe"}, "positive_label='maybe' is not one of the labels"),
    ({"constraints": "recal() >= 0.9"}, "recal is not a rate; did you mean recall?"),
    ({"constraints": "equalized_odds(g, slak=0.1)"}, "does not take slak=; did you mean slack=?"),
    ({"constraints": 'recall(gg == "a") >= 0.9'}, "there is no column 'gg'"),
    ({"constraints": 'recall(g == "c") >= 0.9'}, 'no row has g == "c"'),
    ({"constraints": "roc_auc() >= 0.7"}, "rb.play"),
    ({"constraints": None}, "a constraint compares a rate with a number"),
    ({"constraints": [rb.constraint(lambda m, r: 0, name="mine", at_most=1)]}, "rb.play"),
    ({"constraints": 'accuracy(on="pool") >= 0.5'}, "population 'pool' is not given"),
]  # fmt: skip
FIT_SLIPS = [
    ({"sample_weight": np.ones(5)}, r"sample_weight has the shape \(5,\): give .* 200 rows"),
    ({"sample_weight": np.full(200, np.nan)}, "weights must be finite"),
    ({"sample_weights": np.ones(200)}, r"not an argument of fit.* did you mean sample_weight\?"),
    ({"sensitive_features": np.ones(200)}, r"columns=\{'sex': sex\}"),
    ({"pol": np.ones((2, 4))}, "No constraint has on='pol'"),
    ({"columns": {"g": ["a"]}}, "give columns= a data frame"),
    ({"columns": np.ones(200)}, "columns= takes a data frame, or a mapping"),
    ({"clusters": np.ones(3)}, "give an id for each"),
    ({"clusters": [None] * 200}, "no id for 200 rows"),
    ({"clusters": np.arange(200) % 3}, "too few"),
    ({"y": np.ones(200)}, "y has only the class"),
    ({"y": [1, 0]}, "X has 200 rows, and y 2"),
    ({"y": [None, 1] * 100}, "y has 100 missing labels"),
    ({"y": [np.nan, 1.0] * 100}, "y has 100 missing labels"),
    ({"y": [1, "a"] * 100}, "y mixes texts and numbers"),
    ({"y": np.arange(200)}, "200 different labels in 200 rows"),
    ({"y": np.zeros((200, 2))}, "y should be a 1d array"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "words"), OPTION_SLIPS, ids=lambda given: str(given)[:40])
def test_options_that_make_no_sense(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        fit_rows(options=options)


@pytest.mark.parametrize(("fit_options", "words"), FIT_SLIPS, ids=lambda given: str(given)[:40])
def test_rows_that_make_no_sense(fit_options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        fit_rows(**fit_options)


UNCERTAIN = rb.uncertain_group("g", {"a": "p_a", "b": "p_b"})
OTHER_SLIPS = {
    "a referral that is a label": (
        lambda: fit_rows(y=["yes", "no"] * 100, options={"refer": "yes"}),
        "refer='yes' is one of the labels",
    ),
    "a yes among three labels": (
        lambda: fit_rows(y=np.arange(200) % 3, options={"positive_label": 1}),
        "positive_label= is of two labels, and y has 3",
    ),
    "an uncertain group that is known": (
        lambda: fit_rows(options={"uncertain": UNCERTAIN, "known": "g"}),
        "known= names 'g', which is uncertain",
    ),
    "a certificate of an uncertain group": (
        lambda: fit_rows(options={"uncertain": UNCERTAIN, "certify": 0.3}),
        "leave out uncertain=",
    ),
    "clusters of several populations": (
        lambda: fit_rows(
            options={"constraints": 'positive_rate(on="pool") <= 0.9'},
            clusters=np.arange(200),
            pool=np.ones((3, 4)),
        ),
        "give no others",
    ),
    "too many yeses": (lambda: fit_rows().predict(np.zeros((3, 4)), exactly=4), "up to the 3 rows"),
    "part of a yes": (lambda: fit_rows().predict(np.zeros((3, 4)), exactly=1.5), "got 1.5"),
    "known columns that are not there": (
        lambda: fit_rows(options={"known": "g"}).predict(np.zeros((3, 4))),
        r"give columns=\{'g': ...\}",
    ),
    "arrays after tables": (lambda: fit_table(n=200).predict(np.zeros((3, 6))), "give a table"),
    "a table without a column": (
        lambda: fit_table(n=200).predict(make_table(9)[0].drop(columns="q")),
        "no column 'q'",
    ),
    "numbers in a column of texts": (
        lambda: fit_table(n=200).predict(make_table(9)[0].assign(town=3.0)),
        "column 'town' holds numbers .* but in training it held texts",
    ),
    "a column that the table lacks among features": (
        lambda: fit_table(n=200, features=["pp"]),
        "there is no column 'pp'",
    ),
    "a row without a column": (
        lambda: fit_table(n=200, features=["p", "q"]).predict({"p": 1.0}),
        "row 0 has no 'q'",
    ),
    "dictionaries in training": (
        lambda: RateConstrainedClassifier().fit(make_table(9)[0].to_dict("records"), [0, 1] * 4 + [0]),
        "fit takes a table",
    ),
    "dictionaries for a model of arrays": (
        lambda: fit_rows().predict({"p": 1.0}),
        "rows are dictionaries, but the model was trained on an array",
    ),
    "labels of other rows to score": (
        lambda: fit_rows().score(make_rows(9)[0], [True]),
        "inconsistent numbers of samples",
    ),
    "weights of other rows to score": (
        lambda: fit_rows().score(*make_rows(9)[:2], np.ones(3)),
        "inconsistent numbers of samples",
    ),
    "a lazy table": (
        lambda: fit_table(n=200).predict(polars.from_pandas(make_table(9)[0]).lazy()),
        "collect it first",
    ),
    "two columns of one name": (
        lambda: RateConstrainedClassifier().fit(make_table(9)[0][["p", "p"]], [0, 1] * 4 + [0]),
        "unique column names",
    ),
    "labels in another order": (
        lambda: RateConstrainedClassifier().fit(*reverse_labels()),
        r"y names the same rows as X in another order",
    ),
}  # fmt: skip


def reverse_labels():
    table, y = make_table(100)
    return table, pandas.Series(y).iloc[::-1]


@pytest.mark.parametrize("slip", OTHER_SLIPS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_slips_are_named_with_their_remedy(slip):
    function, words = OTHER_SLIPS[slip]
    with pytest.raises((ValueError, TypeError), match=words):
        function()


def test_after_a_fit_that_failed_there_is_no_model(tmp_path):
    X, y, _ = make_rows(200)
    model = fit(confidence=None)
    with pytest.raises(ValueError, match="no column 'g'"):
        model.fit(X, y)
    for method in (model.predict, model.predict_proba, model.reasons, model.audit, model.certify):
        with pytest.raises(NotFittedError):
            method(X)
    with pytest.raises(NotFittedError):
        model.save(tmp_path)


def test_cross_validation_splits_tables_of_columns_and_refuses_dictionaries():
    X, y, g = make_rows(300)
    model = RateConstrainedClassifier(CONSTRAINT, confidence=None, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        columns = pandas.DataFrame({"g": g})
        scores = cross_validate(model, X, y, params={"columns": columns}, cv=3)
        assert scores["test_score"].min() > 0.6
        with pytest.raises(ValueError, match="splits no dictionary: give columns= a data frame"):
            cross_validate(model, X, y, params={"columns": {"g": g}}, cv=3, error_score="raise")


# --- warnings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "is_warned"), [(("ja", "nein"), True), (("bad", "good"), False)]
)
def test_a_label_that_reads_like_a_no_is_not_taken_as_yes_in_silence(labels, is_warned):
    X, y, _ = make_rows(200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RateConstrainedClassifier().fit(X, np.where(y, *labels))
    assert [str(item.message) for item in caught] == is_warned * [
        "'nein' is the last label and so means yes: give positive_label= to say which does"
    ]


@pytest.mark.parametrize(
    ("constraints", "category", "words"),
    [
        (["accuracy() >= 0.95", "positive_rate() <= 0.1"], ConstraintsViolated, "^Infeasible: "),
        ('recall(g == "a") >= 1.4 * recall()', ConfidenceNotReached, "^Feasible on .*90% asked"),
    ],
)  # fmt: skip
def test_what_was_not_reached_is_warned_of_in_the_first_words(constraints, category, words):
    with pytest.warns(category, match=words) as caught:
        model = fit(constraints, n=400)
    assert str(model.status_).startswith(str(caught[0].message))
