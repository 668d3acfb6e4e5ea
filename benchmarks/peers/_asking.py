"""What users of several peers have to write: a promise in the words of libraries that know parity."""

import numpy as np
from _judge import judged


def parity(promises, train):
    """The ratio to everyone's rate or the distance from it that implies the promises.

    Between two groups, `u >= f * p` is `u >= r * everyone` with a ratio r that depends on their shares;
    of the two ways round the first is asked for, which is the one that plain models break.
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
    """The model of the first tolerance that keeps the promises on training rows, else of the last."""
    for tolerance in tolerances:
        on_train, model = fit(tolerance)
        if judged(promises, on_train, train).kept:
            break
    return model
