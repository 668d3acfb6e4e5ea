"""CatBoost, by its name and as a classifier; it is saved through skops, with its types to be trusted."""

import numpy as np
import pytest
from tests._old.small_tables import people

import ratebound._old as rb

TRUSTED = ["builtins.bytes", "catboost.core.CatBoostClassifier"]


@pytest.fixture
def small():
    library = pytest.importorskip("catboost")
    return library.CatBoostClassifier(
        iterations=10, depth=3, verbose=0, thread_count=1, allow_writing_files=False
    )


@pytest.mark.parametrize("method", ["plug-in", "game"])
def test_it_keeps_promises_and_is_saved(small, method, tmp_path):
    table = people(400)
    options = {} if method == "plug-in" else {"confidence": None, "training": rb.Training(epochs=3)}
    model = rb.RateConstrainedClassifier(
        'positive_rate(group == "a") <= 0.5', model=small, method=method, random_state=0, **options
    ).fit(table.X, table.y, columns=table.columns)
    assert model.status_.feasible
    pytest.importorskip("skops")
    path = model.save(tmp_path)
    with pytest.raises(ValueError, match=r"catboost\.core\.CatBoostClassifier"):
        rb.load(path)
    loaded = rb.load(path, trusted=TRUSTED)
    np.testing.assert_array_equal(loaded.predict(table.X), model.predict(table.X))


def test_its_name_is_its_classifier():
    library = pytest.importorskip("catboost")
    from ratebound._old.estimators.choices import as_learner, plug_in_for

    assert isinstance(as_learner("catboost").estimator, library.CatBoostClassifier)
    labels = plug_in_for("catboost").labels(1000)
    assert isinstance(labels.estimator, library.CatBoostClassifier)
