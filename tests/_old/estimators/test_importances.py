"""What counts most: importances of trees against their libraries', and the section of a report."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import ratebound._old as rb

from ..extras import pd

RANDOM = np.random.default_rng(0)
TABLE = {name: RANDOM.normal(size=600) for name in ("age", "hours", "noise")}
Y = (TABLE["age"] - 0.5 * TABLE["hours"] + 0.3 * RANDOM.normal(size=600)) > 0


def fitted(model):
    table = pd.DataFrame(TABLE)
    promised = rb.RateConstrainedClassifier(
        "recall() >= 0.5", model=model, method="plug-in", random_state=0
    )
    return promised.fit(table, Y), table


def test_importances_are_those_of_the_fold_models():
    model, _ = fitted(RandomForestClassifier(20, max_depth=4, random_state=0))
    labels = model.solution_.scorer.forecast.labels.scorer
    expected = np.mean([each.feature_importances_ for each in labels.members], axis=0)
    np.testing.assert_allclose(model.feature_importances_, expected)
    assert list(model.get_feature_names_out()) == list(TABLE)
    assert max(model.solution_.importances, key=model.solution_.importances.get) == "age"


def test_importances_of_boosted_trees_count_their_splits(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    params = {"n_estimators": 12, "num_leaves": 6, "verbosity": -1, "n_jobs": 1}
    booster = lightgbm.LGBMClassifier(**params).fit(np.column_stack([*TABLE.values()]), Y)
    model, _ = fitted(lightgbm.LGBMClassifier(**params))
    own = model.feature_importances_
    assert own.sum() == pytest.approx(1.0)
    assert own.argmax() == booster.feature_importances_.argmax() == 0
    assert own.argmin() == booster.feature_importances_.argmin() == 2
    again = rb.load(model.save(tmp_path / "model"))
    assert again.importances == model.solution_.importances


def test_linear_models_have_coefficients_instead():
    model, table = fitted("linear")
    assert not hasattr(model, "feature_importances_")
    report = model.audit(table, Y)
    told = report.to_dict()["card"]["counts_most"]
    assert [each["feature"] for each in told][:2] == ["age", "hours"]
    assert told[0]["value"] == pytest.approx(model.solution_.coefficients["age"])
    assert told[1]["value"] < 0
    page = report.render("html")
    assert "What counts most" in page
    assert f"{told[0]['value']:+.4f}" in page.replace("\N{MINUS SIGN}", "-")
