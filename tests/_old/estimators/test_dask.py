"""Searches on a Dask cluster, against the same searches without one."""

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

import ratebound._old as rb

from ..extras import dask, pd

FLOORS = [f'recall(group == "a") >= {floor}' for floor in (0.6, 0.9)]


@pytest.fixture
def cluster():
    """A client of two workers; they are threads of this process, which start at once."""
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with dask.LocalCluster(processes=False, **workers) as local, dask.Client(local) as client:
        yield client


def people(rows=300):
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b"], size=rows)
    X = rng.normal(size=(rows, 3))
    y = X[:, 0] - 0.7 * (group == "a") + rng.normal(size=rows) > 0
    return X, y, pd.DataFrame({"group": group})


def recall_of_a(y, decided, columns):
    return np.mean(decided[y & (columns["group"] == "a").to_numpy()])


def test_a_grid_search_on_dask_finds_what_it_finds_without(cluster):
    X, y, columns = people()
    model = rb.RateConstrainedClassifier(
        model=rb.Linear(0.05),
        player=rb.SwapRegret(0.1),
        confidence=None,
        training=rb.Training(epochs=30),
        random_state=0,
    )
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(recall_of_a).set_score_request(columns=True)
        search = GridSearchCV(model, {"constraints": FLOORS}, scoring=scorer, cv=2)
        alone = search.fit(X, y, columns=columns).cv_results_["mean_test_score"]
        with joblib.parallel_config("dask", scatter=[X]), dask.get_task_stream(cluster) as ran:
            search.fit(X, y, columns=columns)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone)
    assert alone[0] < alone[1]
    assert ran.data  # what the workers did
    assert search.best_estimator_.status_.feasible
