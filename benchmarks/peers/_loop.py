"""Code that users of training-loop libraries write: the rates, and the choice of an iterate."""

import numpy as np
import torch
from _judge import judged

STEPS, KEEP = 600, 20
RATES = (0.03, 0.3, 3.0)  # of the multipliers, or strengths of the penalty


def weights(promises, rows):
    """Violations as `matrix @ chances + constants`: every rate is a mean over rows."""
    counted = {"positive_rate": rows.y | ~rows.y, "recall": rows.y, "false_positive_rate": ~rows.y}
    matrix, constants = [], []
    for promise in promises:
        of_all = counted[promise.rate]
        own = of_all & (rows.columns[promise.group[0]] == promise.group[1])
        other = of_all
        if promise.against is not None:
            other = of_all & (rows.columns[promise.against[0]] == promise.against[1])
        sign = 1 if promise.relation == ">=" else -1
        matrix.append(sign * (promise.factor * other / other.sum() - own / own.sum()))
        constants.append(sign * promise.slack)
    return torch.tensor(np.array(matrix)).float(), torch.tensor(constants).float()


def best(models, promises, train, test):
    """Decisions of the iterate with the least error among iterates that keep the training promises.

    If none does, of the one that breaks them least.
    """
    found = []
    for bias, weight in models:
        yes = [(rows.X @ weight + bias >= 0).astype(float) for rows in (train, test)]
        verdict = judged(promises, yes[0], train)
        found.append(((max(verdict.violation, 0), verdict.error), yes))
    return min(found, key=lambda one: one[0])[1]


def parameters(model):
    return float(model.bias.detach()), model.weight.detach().numpy()[0].copy()
