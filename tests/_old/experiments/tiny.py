"""Experiments small enough to be run in a test."""

import numpy as np

from ratebound._old.datasets.splits import Splits
from ratebound._old.problem.population import Population
from ratebound._old.rates.named import recall
from ratebound_experiments.experiment import Experiment, Rates, linear


def made(rows, rng):
    X = rng.normal(size=(rows, 3))
    group = rng.choice(["a", "b"], rows)
    y = X @ [1.0, 0.5, 0.0] + (group == "a") + rng.logistic(size=rows) > 0.5
    return Population(X, y, columns={"group": group})


def splits(folder, seed):
    rng = np.random.default_rng(seed)
    return Splits(*(made(rows, rng) for rows in (300, 150, 150)), feature_names=("1", "2", "3"))


def promises(splits):
    return [recall(group=g) >= 0.95 * recall() for g in "ab"]


def tiny(name, **changed):
    """An experiment that takes some hundredths of a second and goes by the name of a published one."""
    few = Rates(model=(0.01, 0.1), swap=(0.1,), ext=(0.1,), hinge=(0.001,))
    settings = {"title": name.capitalize(), "words": "yes or no", "epochs": 4, "rates": few}
    settings |= {"splits": splits, "promises": promises, "model": linear} | changed
    return Experiment(name=name, batch_size=50, **settings)
