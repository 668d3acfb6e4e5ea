"""error-parity: thresholds by group on a fitted model, by a convex program; decisions are drawn."""

import numpy as np
from _asking import loosest
from error_parity import RelaxedThresholdOptimizer
from sklearn.linear_model import LogisticRegression

PARITIES = {
    "positive_rate": "demographic_parity",
    "recall": "true_positive_rate_parity",
    "false_positive_rate": "false_positive_rate_parity",
}


def thresholds(train, test, promises):
    score = LogisticRegression(solver="liblinear").fit(train.X, train.y)
    scores = lambda X: score.predict_proba(X)[:, 1]  # noqa: E731

    def fit(tolerance):
        asked = {"constraint": PARITIES[promises[0].rate], "tolerance": tolerance}
        model = RelaxedThresholdOptimizer(predictor=scores, **asked)
        model.fit(train.X, train.y.astype(int), group=train.cells)
        return np.asarray(model.predict(train.X, group=train.cells), float), model

    model = loosest(fit, [0.2, 0.1, 0.05, 0.02, 0.01, 0.0], promises, train)
    return [model.predict(rows.X, group=rows.cells) for rows in (train, test)]
