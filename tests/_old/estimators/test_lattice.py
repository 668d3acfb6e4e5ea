"""The estimator with lattice models: promises of shape beside promises of rates."""

import numpy as np
import pytest

import ratebound._old as rb

from ..extras import pd

pytestmark = pytest.mark.usefixtures("brief")

pytest.importorskip("torch")
PROMISE = 'recall(group == "a") >= 0.95 * recall()'
SIGNS = {"income": 1, "debt": -1}


def table(rows=600, seed=0):
    """Loans: better with income, worse with debt; a text, a gap here and there, and a group."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], size=rows)
    income, debt = rng.gamma(2.0, size=rows), rng.gamma(2.0, size=rows)
    y = income - debt - 0.5 * (group == "a") + rng.normal(size=rows) > 0
    X = pd.DataFrame({"income": income, "debt": debt, "town": rng.choice(["x", "y"], size=rows)})
    X.loc[::17, "income"] = np.nan
    return X.assign(group=group), y


def fitted(**options):
    X, y = table()
    return rb.RateConstrainedClassifier(
        PROMISE,
        model=rb.Lattice(monotone=SIGNS, learning_rate=(0.003, 0.01, 0.03)),
        confidence=None,
        training=rb.Training(epochs=30),
        random_state=0,
        **options,
    ).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted(features=["income", "debt", "town"])


def test_both_kinds_of_promises_are_kept(model):
    assert model.status_.feasible
    assert rb.check_monotone(model)
    assert model.score(*table()) > 0.6


def test_a_mixture_of_monotone_models_is_monotone_in_the_probability_of_yes(model):
    X, _ = table(200, seed=1)
    X = X.dropna()
    before = model.decision_proba(X)[:, 1]
    for column, sign in SIGNS.items():
        moved = X.assign(**{column: X[column] * 1.5})
        assert (sign * (model.decision_proba(moved)[:, 1] - before) >= -1e-9).all()


def test_saved_loaded_and_proved_again(model, tmp_path):
    X, _ = table()
    loaded = rb.load(model.save(tmp_path))
    np.testing.assert_array_equal(loaded.decision_proba(X), model.decision_proba(X))
    assert rb.check_monotone(loaded)


def test_a_learner_as_such_gets_the_codes():
    X, y = table()
    learner = rb.Lattice(lattices=4, rank=2, monotone={0: 1}, learning_rate=0.03)
    model = rb.RateConstrainedClassifier(
        PROMISE,
        model=learner,
        features=["income", "debt", "town"],
        confidence=None,
        training=rb.Training(epochs=40),
        random_state=0,
    ).fit(X, y)
    assert rb.check_monotone(model)
    assert model.solution_.encoding.codes == [2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotone": {"wage": 1}}, "no column 'wage' that the model sees"),
        ({"monotone": {"town": 1}}, "column 'town' holds texts"),
        ({"monotone": {"debt": 2}}, r"column 'debt' takes 1 \(rising\)"),
        ({"monotone": ["debt"]}, "monotone takes a mapping"),
    ],
    ids=["column", "texts", "sign", "mapping"],
)
def test_mistakes_are_named(options, message):
    X, y = table(100)
    features = ["income", "debt", "town"]
    with pytest.raises(ValueError, match=message):
        rb.RateConstrainedClassifier(PROMISE, model=rb.Lattice(**options), features=features).fit(X, y)
