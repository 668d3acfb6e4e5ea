"""Fairlearn. Its groups cannot overlap, so it gets the combinations of the columns."""

import numpy as np
from _asking import loosest, parity
from fairlearn import reductions
from fairlearn.postprocessing import ThresholdOptimizer
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

MOMENTS = {
    "positive_rate": reductions.DemographicParity,
    "recall": reductions.TruePositiveRateParity,
    "false_positive_rate": reductions.FalsePositiveRateParity,
}
PARITIES = {
    "positive_rate": "demographic_parity",
    "recall": "true_positive_rate_parity",
    "false_positive_rate": "false_positive_rate_parity",
}


def exponentiated_gradient(train, test, promises):
    moment = MOMENTS[promises[0].rate](**parity(promises, train))
    model = reductions.ExponentiatedGradient(LogisticRegression(solver="liblinear"), moment)
    model.fit(train.X, train.y.astype(int), sensitive_features=train.cells)
    return [model._pmf_predict(rows.X)[:, 1] for rows in (train, test)]


def exponentiated_gradient_lightgbm(train, test, promises):
    moment = MOMENTS[promises[0].rate](**parity(promises, train))
    model = reductions.ExponentiatedGradient(LGBMClassifier(n_jobs=1, verbosity=-1), moment)
    model.fit(train.X, train.y.astype(int), sensitive_features=train.cells)
    return [model._pmf_predict(rows.X)[:, 1] for rows in (train, test)]


def grid_search(train, test, promises):
    moment = MOMENTS[promises[0].rate](**parity(promises, train))
    model = reductions.GridSearch(LogisticRegression(solver="liblinear"), moment)
    model.fit(train.X, train.y.astype(int), sensitive_features=train.cells)
    return [model.predict(rows.X) for rows in (train, test)]


def threshold_optimizer(train, test, promises):
    score = LogisticRegression(solver="liblinear").fit(train.X, train.y)
    asked = {"constraints": PARITIES[promises[0].rate], "predict_method": "predict_proba"}

    def fit(tolerance):
        model = ThresholdOptimizer(estimator=score, prefit=True, tol=tolerance, **asked)
        model.fit(train.X, train.y.astype(int), sensitive_features=train.cells)
        return model._pmf_predict(train.X, sensitive_features=train.cells)[:, 1], model

    model = loosest(fit, [0.2, 0.1, 0.05, 0.02, 0.01, None], promises, train)
    parts = [model._pmf_predict(rows.X, sensitive_features=rows.cells) for rows in (train, test)]
    return [np.asarray(part)[:, 1] for part in parts]
