"""The forecast, against models that cannot know, scikit-learn's own numbers, and shares of rows."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

import ratebound as rb
from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.learning.forecast import learn_forecast
from ratebound.learning.known import find_group_chances, find_known_groups
from ratebound.learning.models import (
    Scaler,
    fit_clone,
    list_rounds,
    make_group_model,
    make_label_model,
    make_regression,
    predict_probabilities,
)

FLOOR = 'recall(g == "a") >= 0.9 * recall()'


def learn_labels(people, model="linear", weights=None, constraints=FLOOR, fold=None, **options):
    """Return the forecast of people in three folds."""
    columns = {"g": people.g, "amount": people.amount}
    population = rb.Population(None, people.y, columns, weights)
    compiled = rb.compile(rb.Problem("error_rate()", constraints), population)
    if fold is None:
        fold = np.arange(len(people.y)) % 3
    return compiled, learn_forecast(compiled, people.X, fold, model, people.y, **options)


# --- out of fold ----------------------------------------------------------------------------------


def test_no_row_is_judged_by_a_model_that_saw_it(draw):
    """The nearest row to a row is itself: a model that saw it knows its random label."""
    people = draw(600)
    people.y = np.random.default_rng(1).integers(0, 2, 600)
    _, learned = learn_labels(people, KNeighborsClassifier(1), constraints="accuracy() >= 0.1")
    fold = np.arange(600) % 3
    out_of_fold = learned.predict_out_of_fold(people.X, fold, None, np.empty(0, int))
    deployed = learned(people.X)
    assert np.mean((out_of_fold[2] > 0.5) == people.y) < 0.6
    assert np.mean((deployed[2] > 0.5) == people.y) > 0.9
    shared = learned.predict_out_of_fold(people.X, fold, None, np.arange(5))
    assert shared[:, :5] == pytest.approx(deployed[:, :5])


@pytest.mark.parametrize("model", ["linear", "lightgbm"])
def test_probabilities_of_labels_and_cells_add_up(draw, model):
    people = draw(900, classes=3)
    constraints = ["recall(g == 'a', of=1) >= 0.1", "positive_rate(g == 'b', of=2) <= 0.9"]
    compiled, learned = learn_labels(people, model, constraints=constraints)
    forecast = learned(people.X)
    assert learned.by_cells
    assert forecast[0] == pytest.approx(1)
    assert forecast[1:4].sum(axis=0) == pytest.approx(1)
    assert forecast[4:].sum(axis=0) == pytest.approx(1)
    shares = np.bincount(compiled.cell) / 900
    assert forecast[4:].mean(axis=1) == pytest.approx(shares, abs=0.02)


def test_many_groups_are_learned_as_slices(draw):
    people = draw(2000)
    random = np.random.default_rng(0)
    flags = {f"f{number}": random.random(2000) < 0.5 for number in range(7)}
    flags["f0"] = people.X[:, 0] > 0
    constraints = [f"recall({name} == True) >= 0.9 * recall()" for name in flags]
    population = rb.Population(None, people.y, flags)
    compiled = rb.compile(rb.Problem("error_rate()", constraints), population)
    learned = learn_forecast(compiled, people.X, np.arange(2000) % 3, "linear", people.y)
    assert not learned.by_cells
    forecast = learned(people.X)[3:]
    inside = np.unpackbits(compiled.bits[compiled.cell], axis=1, count=compiled.slices)
    assert forecast.mean(axis=1) == pytest.approx(inside.mean(axis=0), abs=0.02)
    is_served = flags["f0"] & (people.y == 1)
    (index,) = np.flatnonzero((is_served == inside.T).all(axis=1))
    assert np.corrcoef(forecast[index], is_served)[0, 1] > 0.3


def test_rare_cells_have_their_share(draw):
    people = draw(600)
    people.g[np.flatnonzero(people.y)[:2]] = "rare"
    constraints = [FLOOR, 'recall(g == "rare") >= 0.1']
    compiled, learned = learn_labels(people, constraints=constraints)
    cell = compiled.cell[people.g == "rare"][0]
    forecast = learned(people.X)
    expected = forecast[2] * 2 / people.y.sum()
    assert forecast[3 + cell] == pytest.approx(expected)


def test_amounts_are_expected_in_their_cells(draw):
    people = draw(1500)
    people.amount = np.maximum(100 + 50 * people.X[:, 2], 0)
    constraints = 'cost(false_negative="amount", false_positive=1) <= 60'
    compiled, learned = learn_labels(people, constraints=constraints)
    forecast = learned(people.X)
    (block,) = [b for b, part in enumerate(compiled.blocks) if part.amounts is not None]
    start = 3 + block * learned.width
    for cell in np.unique(compiled.cell[people.y == 1]):
        inside = compiled.cell == cell
        expected = (people.amount * inside).mean()
        assert forecast[start + cell].mean() == pytest.approx(expected, rel=0.05)
        assert np.corrcoef(forecast[start + cell], people.X[:, 2])[0, 1] > 0.1


def test_several_populations_share_the_features(draw):
    people = draw(600)
    pool = rb.Population(None, None, {"g": draw(300, 1).g})
    first = rb.Population(None, people.y, {"g": people.g})
    problem = rb.Problem("error_rate()", ['positive_rate(on="pool") <= 0.2'])
    compiled = rb.compile(problem, first, pool=pool)
    X = np.concatenate([people.X, draw(300, 1).X + 2])
    learned = learn_forecast(compiled, X, np.arange(900) % 3, "linear", people.y)
    forecast = learned(X)
    assert forecast[3:].sum(axis=0) == pytest.approx(1)
    of_pool = 3 + compiled.cell[-1]
    assert forecast[of_pool, 600:].mean() > 0.6 > 0.4 > forecast[of_pool, :600].mean()


# --- weights --------------------------------------------------------------------------------------


def test_a_constant_factor_of_weights_changes_nothing(draw):
    people = draw(300)
    weights = 0.5 + np.random.default_rng(0).random(300)
    forecasts = [learn_labels(people, weights=f * weights)[1](people.X) for f in (1, 1700, 1e-6)]
    assert forecasts[1] == pytest.approx(forecasts[0], abs=1e-6)
    assert forecasts[2] == pytest.approx(forecasts[0], abs=1e-6)


def test_a_row_twice_is_a_row_of_weight_two_and_none_of_weight_zero(draw):
    people = draw(400)
    fold = np.arange(400) % 3
    times = np.ones(400, dtype=int)
    times[:20] = 2
    times[20:30] = 0
    _, weighted = learn_labels(people, weights=times.astype(float), fold=fold)
    rows = np.repeat(np.arange(400), times)
    repeated = type(people)(**{name: values[rows] for name, values in vars(people).items()})
    _, doubled = learn_labels(repeated, fold=fold[rows])
    gap = np.abs(weighted(people.X) - doubled(people.X))
    assert gap.max() < 0.01
    _, plain = learn_labels(people, fold=fold)
    assert np.abs(weighted(people.X) - plain(people.X)).max() > 2 * gap.max()


# --- rounds of boosting ---------------------------------------------------------------------------


def test_the_number_of_rounds_is_the_likeliest_on_the_first_fold(draw, monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    fitted = []

    def fit(self, *args, **options):
        fitted.append(self.n_estimators)
        return original(self, *args, **options)

    original = lightgbm.LGBMClassifier.fit
    monkeypatch.setattr(lightgbm.LGBMClassifier, "fit", fit)
    people = draw(1200)
    fold = np.arange(1200) % 3
    _, learned = learn_labels(people, "lightgbm", constraints="accuracy() >= 0.1", fold=fold)
    model = make_label_model("lightgbm", 1200)
    rounds = list_rounds("lightgbm", model, 1200)
    assert max(rounds) == 300
    assert fitted[0] == 300  # once
    losses = []
    for number in rounds:
        train = fold != 0
        few = fit_clone(model.set_params(n_estimators=number), people.X[train], people.y[train])
        losses.append(log_loss(people.y[~train], few.predict_proba(people.X[~train])))
    best = rounds[int(np.argmin(losses))]
    assert best < 300
    assert [of_fold.n_estimators for of_fold in learned.labels.fits] == [best] * 3
    assert fitted[1:4] == [best] * 3


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_a_hard_problem_gets_more_rounds_than_usual(name):
    pytest.importorskip(name)
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 3))
    y = (np.sin(5 * X[:, 0]) * np.sin(5 * X[:, 1]) > 0).astype(int)
    population = rb.Population(None, y)
    compiled = rb.compile(rb.Problem("error_rate()", "accuracy() >= 0.1"), population)
    learned = learn_forecast(compiled, X, np.arange(3000) % 3, name, y)
    assert learned.labels.fits[0].n_estimators > 100
    assert list_rounds(name, make_label_model(name, 30_000), 30_000)[-1] == 100


def test_a_classifier_of_ones_own_keeps_its_rounds(draw):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=7, verbose=-1)
    _, learned = learn_labels(draw(300), model)
    assert [of_fold.n_estimators for of_fold in learned.labels.fits] == [7] * 3
    assert list_rounds(model, model, 300) == list_rounds("linear", LogisticRegression(), 300) == []


@pytest.mark.parametrize("sharpness", [0.5, 3.0])
def test_models_that_are_too_sure_or_not_sure_enough_are_corrected(draw, sharpness):
    people = draw(3000)

    class Bent(LogisticRegression):
        def predict_proba(self, X):
            odds = np.exp(sharpness * self.decision_function(X))
            return np.column_stack([1 / (1 + odds), odds / (1 + odds)])

    _, bent = learn_labels(people, Bent())
    _, straight = learn_labels(people, LogisticRegression())
    expected = straight.predict_labels(people.X)
    assert bent.predict_labels(people.X) == pytest.approx(expected, abs=0.03)
    assert bent.labels.sharpness == pytest.approx(straight.labels.sharpness / sharpness, rel=0.1)


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_sparse", [False, True])
def test_flags_are_not_scaled_and_numbers_are(as_sparse):
    X = np.column_stack([np.arange(100.0), np.arange(100) == 7])
    given = csr_matrix(X) if as_sparse else X
    scaled = Scaler(with_mean=not as_sparse).fit(given).transform(given)
    spreads = np.asarray(scaled.todense() if as_sparse else scaled).std(axis=0)
    assert spreads == pytest.approx([1, X[:, 1].std()])


@pytest.mark.parametrize("name", ["linear", "lightgbm", "xgboost"])
def test_group_models_are_small_models_of_the_same_kind(draw, name):
    if name != "linear":
        pytest.importorskip(name)
    people = draw(300)
    group_model = make_group_model(make_label_model(name, 300))
    groups = np.unique(people.g.astype(str), return_inverse=True)[1]
    fit = fit_clone(group_model, people.X, groups, np.ones(300), seed=0)
    chances = predict_probabilities(fit, people.X, 3)
    assert chances.sum(axis=0) == pytest.approx(1)
    assert chances.mean(axis=1) == pytest.approx(np.bincount(groups) / 300, abs=0.02)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_regressions_take_weights_gaps_and_sparse_rows(as_sparse):
    X = np.random.default_rng(0).normal(size=(200, 3))
    targets = X @ [1.0, 0.0, -2.0]
    given = csr_matrix(X) if as_sparse else X
    fit = fit_clone(make_regression(), given, targets, np.ones(200), seed=0)
    assert np.corrcoef(fit.predict(given), targets)[0, 1] > 0.99


def test_with_one_label_a_model_knows_its_share():
    fit = fit_clone(LogisticRegression(), np.zeros((5, 1)), np.ones(5, dtype=int))
    assert predict_probabilities(fit, np.zeros((2, 1)), 3).tolist() == [[0, 0], [1, 1], [0, 0]]


# --- known groups ---------------------------------------------------------------------------------


def test_known_groups_say_which_cells_are_possible():
    group = np.array([0, 0, 1, 1, 1, 3])
    inside = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [0, 0], [0, 1]], dtype=bool)
    chances = find_group_chances(group, 3, inside)
    expected = [[1, 0], [np.nan, 0], [np.nan, np.nan], [0, 1]]  # nobody is in group 2
    assert chances == pytest.approx(np.array(expected), nan_ok=True)


@pytest.mark.filterwarnings("ignore:known=")
@pytest.mark.parametrize(
    ("trained_on", "later", "groups"),
    [
        (["a", "b", "a"], ["b", "a", "new"], [1, 0, 2]),
        ([1, 2, 2], [2.0, 1.0, 3.0], [1, 0, 2]),
        (["a", None, "a"], [None, "a"], [0, 1]),  # missing values come first
        ([True, False], [False, True], [0, 1]),
    ],
)
def test_groups_are_found_again_by_their_values(trained_on, later, groups):
    def rows(values):
        return rb.Population(None, columns={"g": np.array(values, object)}, allow_absent=True)

    known = find_known_groups("g", rows(trained_on))
    assert known.find(rows(later)).tolist() == groups
    assert known.count == len(set(trained_on))


def test_known_groups_are_never_in_anothers_cells(draw):
    people = draw(600)
    population = rb.Population(None, people.y, {"g": people.g})
    known = find_known_groups("g", population)
    group = known.find(population)
    compiled, learned = learn_labels(people, known=known, group=group)
    forecast = learned(people.X, group)
    for cell in range(learned.width):
        outside = ~np.isin(people.g, people.g[compiled.cell == cell])
        assert (forecast[3 + cell, outside] == 0).all()
    assert forecast[3:].sum(axis=0) == pytest.approx(1)


def test_known_columns_are_used_when_deciding(draw):
    people = draw(3000, gap=1.0)
    columns = {"g": people.g}
    constraint = 'positive_rate(g == "a") >= 0.95 * positive_rate()'
    reached = []
    for known in (None, "g"):
        model = RateConstrainedClassifier(constraint, known=known, random_state=0)
        reached.append(model.fit(people.X, people.y, columns=columns).status_.reached)
    assert reached[1] < reached[0] - 0.01
    others = {"g": np.where(people.g == "a", "c", "a")}
    assert np.mean(model.predict(people.X, columns) != model.predict(people.X, others)) > 0.05


class NeverFitted(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise AssertionError("fitted before known= was checked")

    def predict_proba(self, X):
        return X


def test_too_many_known_groups_are_refused_before_a_model_is_fitted(draw, learn):
    people = draw(300)
    population = rb.Population(None, people.y, {"g": people.g, "amount": people.amount})
    with pytest.raises(ValueError, match=r"makes 300 groups, and 64 is the most: band the values"):
        find_known_groups("amount", population)
    model = RateConstrainedClassifier(FLOOR, model=NeverFitted(), known="amount")
    with pytest.raises(ValueError, match="64 is the most"):
        model.fit(people.X, people.y, columns={"g": people.g, "amount": people.amount})


def test_progress_is_told_by_fold(draw):
    told = []
    learn_labels(draw(200), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
