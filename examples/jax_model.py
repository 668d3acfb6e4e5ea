"""A model of your own, in JAX
===========================

A learner is a class of some forty lines: how its models start, score rows and descend. It is then
trained under promises, saved and loaded like the built-in ones.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from tempfile import TemporaryDirectory

import jax
import jax.numpy as jnp
import numpy as np

import ratebound as rb


def network(flat, X, np=jnp):
    """Scores (n,) of one network with a hidden layer, from its flat vector of parameters."""
    width = X.shape[1] + 1
    hidden = (len(flat) - 1) // (width + 1)
    inner, outer = flat[: hidden * width].reshape(hidden, width), flat[hidden * width :]
    return np.tanh(X @ inner[:, 1:].T + inner[:, 0]) @ outer[1:] + outer[0]


networks = jax.jit(jax.vmap(network, (0, None)))  # K of them on the same rows


@jax.jit
def pulled_back(flat, batch, gradient):
    """The gradient with respect to the parameters, given the one with respect to the scores."""
    return jax.vjp(lambda flat: networks(flat, batch), flat)[1](gradient)[0]


@rb.register_scorer  # the deployed part: parameters and rows in, scores out; `kind` is its name in files
class NetworkScorer(rb.Scorer):
    kind = "network with one hidden layer"

    def scores(self, parameters, X):
        # In double precision and then rounded, a row's score does not depend on the rows beside it.
        wide, rows = np.asarray(parameters, dtype=float), np.asarray(X, dtype=float)
        scores = np.stack([network(flat, rows, np) for flat in wide]).astype(np.float32)
        return scores[:, None]  # (models, 1, rows): one score a row


@dataclass(frozen=True)
class JaxNetwork(rb.Learner):
    hidden: int = 8
    learning_rate: float = 0.5

    def start(self, rows, settings, seed):
        return JaxFit(self, jnp.asarray(rows.features, dtype=jnp.float32), settings, seed)


class JaxFit(rb.Descending):
    scorer = NetworkScorer()

    def __init__(self, learner, X, settings, seed):
        size = learner.hidden * (X.shape[1] + 2) + 1
        drawn = 0.3 * jax.random.normal(jax.random.key(seed), size)
        self.X, self.rate, self.flat = X, learner.learning_rate, jnp.tile(drawn, (settings, 1))

    def scores(self, rows):
        self.batch = self.X if rows is None else self.X[rows]
        return np.asarray(networks(self.flat, self.batch))[:, None]

    def descend(self, gradient):
        self.flat -= self.rate * pulled_back(self.flat, self.batch, gradient[:, 0])

    def parameters(self):
        return np.asarray(self.flat)

    def all_scores(self):
        return self.scorer.scores(self.flat, self.X)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 3000)
    X = rng.normal(size=(3000, 3)) + 0.8 * (group == "a")[:, None]
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=3000) > 1.5
    problem = rb.Problem("error_rate()", ['recall(group == "b") >= 0.95 * recall(group == "a")'])
    compiled = rb.compile(problem, rb.Population(X, y, columns={"group": group}))
    trace = rb.play(compiled, JaxNetwork())
    model = rb.shrink(trace)
    print(model)
    with TemporaryDirectory() as folder:
        loaded = rb.load(model.save(folder))
    same = np.array_equal(loaded.predict(X), model.predict(X))
    print(f"loaded from its file, it decides {'the same' if same else 'otherwise'} on every row")

# %%
# Every iterate of the game, and the star: the best mixture of them that keeps the promise.

if __name__ == "__main__" and find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(layout="constrained")
    rb.plot_trade_off(trace, ax)
    plt.show()
