"""ratebound's own methods, with their defaults."""

from _common import warm_up

import ratebound as rb

warm_up()


def linear(train, test, promises):
    model = rb.RateConstrainedClassifier(
        [str(promise) for promise in promises], random_state=0, confidence=None
    )
    model.fit(train.X, train.y, columns=train.columns)
    return [model.predict(rows.X).astype(float) for rows in (train, test)]


def linear_confident(train, test, promises):
    asked = [str(promise) for promise in promises]
    model = rb.RateConstrainedClassifier(asked, confidence=0.9, random_state=0)
    model.fit(train.X, train.y, columns=train.columns)
    return [model.predict(rows.X).astype(float) for rows in (train, test)]


def lightgbm(train, test, promises):
    asked = [str(promise) for promise in promises]
    model = rb.RateConstrainedClassifier(asked, model="lightgbm", random_state=0, confidence=None)
    model.fit(train.X, train.y, columns=train.columns)
    return [model.predict(rows.X).astype(float) for rows in (train, test)]


def lightgbm_confident(train, test, promises):
    asked = [str(promise) for promise in promises]
    model = rb.RateConstrainedClassifier(asked, model="lightgbm", confidence=0.9, random_state=0)
    model.fit(train.X, train.y, columns=train.columns)
    return [model.predict(rows.X).astype(float) for rows in (train, test)]


def linear_known(train, test, promises):
    asked, known = [str(promise) for promise in promises], [*train.columns]
    model = rb.RateConstrainedClassifier(asked, known=known, random_state=0, confidence=None)
    model.fit(train.X, train.y, columns=train.columns)
    return [model.predict(rows.X, columns=rows.columns).astype(float) for rows in (train, test)]


def lightgbm_known_confident(train, test, promises):
    asked, how = [str(promise) for promise in promises], {"known": [*train.columns], "confidence": 0.9}
    model = rb.RateConstrainedClassifier(asked, model="lightgbm", random_state=0, **how)
    model.fit(train.X, train.y, columns=train.columns)
    return [model.predict(rows.X, columns=rows.columns).astype(float) for rows in (train, test)]
