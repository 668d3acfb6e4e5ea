"""A grid search on a Dask cluster
===============================

How far above its floor must a recall be trained to be kept? Recall among women must be at least 0.6 on
new rows. A floor that is only just reached in training is missed on other rows, so the search trains for
higher ones too, and scores each model on folds it has not seen: by its accuracy, less what it lacks
there of the floor. Sex goes to the constraint and to the score, which need it, and the model never sees
it.

Every fit runs on a worker of the cluster. Here the workers are two processes on this machine; the
address of a scheduler, ``Client("tcp://scheduler:8786")``, is a cluster of any size.
"""

from importlib.util import find_spec

import joblib
import numpy as np
import pandas
import sklearn
from dask.distributed import Client, LocalCluster
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

import ratebound as rb

FLOOR = 0.6
TRAINED_FOR = [f'recall(sex == "Female") >= {FLOOR + more:.2f}' for more in (0.0, 0.1, 0.2)]


def worth(y, decided, columns):
    """The share of right decisions, less what is lacking to the floor."""
    women = columns["sex"] == "Female"
    return np.mean(decided == y) - max(0.0, FLOOR - np.mean(decided[women & y]))


def main():
    rows = rb.datasets.load_adult().train.only(np.arange(4000))
    columns = pandas.DataFrame({"sex": rows.columns["sex"]})  # a table, which can be cut into folds
    model = rb.RateConstrainedClassifier(confidence=None, random_state=0)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config("dask", scatter=[rows.X]),
    ):
        scorer = make_scorer(worth).set_score_request(columns=True)
        search = GridSearchCV(model, {"constraints": TRAINED_FOR}, scoring=scorer, cv=3)
        search.fit(rows.X, rows.y, columns=columns)
    print(f"{'trained for':36}worth on other rows")
    for promise, found in zip(TRAINED_FOR, search.cv_results_["mean_test_score"], strict=True):
        print(f"{promise:36}{found:.3f}")
    print(f"\nThe best, {search.best_params_['constraints']}, is trained on all {len(rows):,} rows:")
    print(search.best_estimator_.status_)
    return search.cv_results_


if __name__ == "__main__":
    found = main()

# %%
# Dots are folds, and the line is their mean.

if __name__ == "__main__" and find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    folds = [[found[f"split{fold}_test_score"][place] for fold in range(3)] for place in range(3)]
    figure, ax = plt.subplots(layout="constrained")
    ax.plot([0.6, 0.7, 0.8], folds, "o", color="C0", alpha=0.5)
    ax.plot([0.6, 0.7, 0.8], found["mean_test_score"], color="C0")
    ax.set(xlabel="floor trained for", ylabel="worth on rows not seen")
    plt.show()
