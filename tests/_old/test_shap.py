"""Which columns matter, by others' tools on raw tables: the recipe for SHAP, permutation importance."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

import ratebound as rb

pandas = pytest.importorskip("pandas")
inspection = pytest.importorskip("sklearn.inspection")


@pytest.fixture(scope="module")
def fitted():
    """A model of a table with numbers, texts, missing values, and a column that does not matter."""
    random, n = np.random.default_rng(0), 800
    table = pandas.DataFrame(
        {
            "income": np.where(random.random(n) < 0.1, np.nan, random.normal(10, 3, n)),
            "sex": random.choice(["F", "M"], n),
            "city": random.choice(["x", "y", None], n),
            "debt": random.normal(size=n),
        }
    )
    shown = (table["income"].fillna(10) - 10) / 3 + (table["sex"] == "F") - table["debt"]
    y = np.where(shown + random.normal(0, 0.7, n) > 0.5, "yes", "no")
    features = ["income", "sex", "debt"]
    model = rb.RateConstrainedClassifier("recall() >= 0.5", features=features, random_state=0)
    return model.fit(table, y), table, y


def test_permutation_importance_takes_the_table_as_it_is(fitted):
    model, table, y = fitted
    found = inspection.permutation_importance(model, table, y, n_repeats=3, random_state=0)
    by_name = dict(zip(table.columns, found.importances_mean, strict=True))
    assert by_name["city"] == 0
    assert min(by_name["income"], by_name["debt"], by_name["sex"]) > 0.02


def test_the_recipe_for_shap_on_a_raw_table(fitted):
    """Its values are Shapley's, by the formula over all subsets of columns."""
    shap = pytest.importorskip("shap")
    model, table, _ = fitted

    class OtherRows(shap.maskers.Masker):
        def __init__(self, table):
            self.table, self.shape, self.feature_names = table, table.shape, list(table)

        def __call__(self, shown, row):
            rows = self.table.copy()
            for name, seen, value in zip(self.feature_names, shown, row, strict=True):
                if seen:
                    rows[name] = value
            return (rows,)

    def probability(rows):
        frame = pandas.DataFrame(rows, columns=table.columns).infer_objects()
        return model.predict_proba(frame)[:, 1]

    hide = OtherRows(table.head(30))
    values = shap.Explainer(probability, hide, algorithm="exact")(table.head(3))
    names = list(table.columns)
    for place in range(3):
        row = table.iloc[place].to_numpy(dtype=object)

        def worth(subset, row=row):
            seen = [name in subset for name in names]
            return probability(hide(seen, row)[0]).mean()

        for at, name in enumerate(names):
            others, value = [each for each in names if each != name], 0.0
            for size in range(len(names)):
                weight = factorial(size) * factorial(len(others) - size) / factorial(len(names))
                for subset in combinations(others, size):
                    value += weight * (worth({*subset, name}) - worth(set(subset)))
            assert values.values[place, at] == pytest.approx(value, abs=1e-9)
    assert np.abs(values.values[:, names.index("city")]).max() == pytest.approx(0.0, abs=1e-12)
