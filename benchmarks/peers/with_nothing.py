"""The floor: models without promises."""

from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression


def logistic(train, test, promises):
    model = LogisticRegression(solver="liblinear").fit(train.X, train.y)
    return [model.predict(rows.X) for rows in (train, test)]


def lightgbm(train, test, promises):
    model = LGBMClassifier(n_jobs=1, verbosity=-1).fit(train.X, train.y)
    return [model.predict(rows.X) for rows in (train, test)]
