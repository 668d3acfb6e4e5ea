"""Code that users of several peers need: promises in terms of a parity of rates."""

import numpy as np
from _judge import judged


def parity(promises, train):
    """The ratio to everyone's rate or the distance from it that implies the promises.

    Between two groups, `u >= f * p` is `u >= r * everyone` with a ratio r that depends on their shares;
    of the two directions the first is used, since plain models break that one.
    """
    first = promises[0]
    if first.factor == 1:
        return {"difference_bound": first.slack}
    if first.against is None:
        return {"ratio_bound": first.factor}
    column, group = first.group
    share = np.mean(train.columns[column] == group)
    return {"ratio_bound": first.factor / (1 - (1 - first.factor) * share)}


def loosest(fit, tolerances, promises, train):
    """The model with the first tolerance that keeps the promises on training rows, or with the last."""
    for tolerance in tolerances:
        on_train, model = fit(tolerance)
        if judged(promises, on_train, train).kept:
            break
    return model
