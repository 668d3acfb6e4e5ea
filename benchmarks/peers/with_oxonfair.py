"""OxonFair: thresholds by group on a fitted model, found on a grid."""

import numpy as np
from oxonfair import FairPredictor
from oxonfair import group_metrics as metrics
from sklearn.linear_model import LogisticRegression

RATES = {
    "positive_rate": metrics.pos_pred_rate,
    "recall": metrics.recall,
    "false_positive_rate": metrics.false_pos_rate,
}


def thresholds(train, test, promises):
    rate, first = RATES[promises[0].rate], promises[0]
    model = LogisticRegression(solver="liblinear").fit(train.X, train.y)
    data = {"data": train.X, "target": train.y.astype(int), "groups": train.cells}
    fair = FairPredictor(model, data)
    if first.factor < 1:
        fair.fit(metrics.accuracy, rate.min_ratio, first.factor)
    else:
        fair.fit(metrics.accuracy, rate.max_diff, first.slack)
    other = {
        "data": test.X,
        "target": np.zeros(len(test.X), int),
        "groups": test.cells,
    }  # it requires one
    return [np.asarray(fair.predict(part)) for part in (data, other)]
