"""Small tables that tests draw: people of two groups, and animals of several classes."""

from dataclasses import dataclass

import numpy as np

import ratebound._old as rb


@dataclass(frozen=True)
class SmallTable:
    """Rows with features, labels, weights, and columns of which the first is the group."""

    X: np.ndarray
    y: np.ndarray
    columns: dict
    weights: np.ndarray

    def __iter__(self):
        """`X, y, group = people()`."""
        return iter((self.X, self.y, next(iter(self.columns.values()))))

    def population(self, rows=slice(None), *, weighted=False, **given):
        """These rows as a population, with what is given in place of their own."""
        own = {"X": self.X[rows], "y": self.y[rows], "weights": self.weights[rows] if weighted else None}
        columns = {name: values[rows] for name, values in self.columns.items()}
        return rb.Population(**(own | {"columns": columns} | given))


def people(
    n=300, seed=0, *, slopes=(1.0, 0.0), lift=0.0, noise=1.0, cut=0.0,
    by="group", groups=("a", "b"), share=0.5, shift=0.0, also=(),
):  # fmt: skip
    """Rows that are positive if `X @ slopes + lift of the first group + noise > cut`.

    A share of them is of the first group, whose features are higher by `shift`, one for all or for each.
    """
    random = np.random.default_rng(seed)
    first = random.random(n) < share
    X = random.normal(size=(n, len(slopes))) + first[:, None] * np.asarray(shift)
    signal = X @ slopes + lift * first
    y, live = (signal + size * random.normal(size=n) > cut for size in (noise, 1.0))
    group = np.where(first, groups[0], random.choice(groups[1:], n))
    return _table(random, X, y, {by: group}, live, also)


def animals(
    n=300, seed=0, *, classes=("bird", "cat", "dog"), chances=None, apart=1.2,
    by="sex", groups=("F", "M"), share=0.5, also=(),
):  # fmt: skip
    """Rows of several classes, each of which has a feature that is higher by `apart` in its rows."""
    random, classes = np.random.default_rng(seed), np.asarray(classes)
    labels, other = (random.choice(len(classes), n, p=chances) for _ in range(2))
    X = random.normal(size=(n, len(classes))) + apart * np.eye(len(classes))[labels]
    live = classes[np.where(random.random(n) < 0.7, labels, other)]
    group = np.where(random.random(n) < share, *groups)
    return _table(random, X, classes[labels], {by: group}, live, also)


def _table(random, X, y, group, live, also):
    """A table with what else is asked for: an existing model's decisions, amounts, fees, ages."""
    n = len(y)
    more = {"live": live, "loan": random.lognormal(3, 1, n), "fee": random.integers(1, 9, n)}
    more["age"] = random.integers(18, 80, n)
    columns = group | {name: more[name] for name in also}
    return SmallTable(X, y, columns, random.choice([0.5, 1.0, 3.0], n))
