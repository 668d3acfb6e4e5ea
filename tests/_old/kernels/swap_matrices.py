"""Left-stochastic matrices whose stationary distributions are hard to compute."""

import math

import numpy as np

from ratebound._old.kernels.swap import LOWEST

LOWEST_LOG = math.log(LOWEST)


def peaked(size, seed, how):
    """A left-stochastic matrix whose logarithms reach down to LOWEST_LOG."""
    rng = np.random.default_rng(seed)
    logs = rng.uniform(LOWEST_LOG, 0, size=(size, size))
    if how == "identity":  # every column keeps nearly all of its weight
        logs -= 3
        np.fill_diagonal(logs, 0)
    elif how == "cycle":  # every column hands nearly all of its weight on
        logs -= 3
        logs[(np.arange(size) + 1) % size, np.arange(size)] = 0
    elif how == "floor":  # every entry but one per column is as low as possible
        logs[:] = LOWEST_LOG
        logs[rng.integers(size, size=size), np.arange(size)] = 0
    elif how == "blocks":  # two halves that hardly exchange anything
        half = np.arange(size) < size / 2
        logs = np.where(half[:, None] == half[None], rng.uniform(-2, 0, size=(size, size)), LOWEST_LOG)
    elif how == "even":  # entries of one size
        logs = rng.uniform(-2, 0, size=(size, size))
    logs = np.maximum(logs, LOWEST_LOG)
    matrix = np.exp(logs)
    return matrix / matrix.sum(axis=0)
