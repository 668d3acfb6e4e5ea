"""Your own loop: JAX
==================

A small network as a function of one flat array, and plain gradient steps. `jax.vjp` gives the scores of
a batch and a function that takes a gradient back from the scores to the parameters; `rb.Game` gives
that gradient. A `rb.Scorer` says how the snapshots score rows, and is what is deployed and saved.
Paragraphs that begin with `# Promise:` are all that the promise adds. (A model in JAX that the
estimator trains is in `jax_model.py`.)
"""

import jax
import numpy as np

import ratebound as rb


def network(flat, X, np=jax.numpy):  # scores (n,) of a network with one hidden layer of 8
    inner, outer = flat[:-9].reshape(8, -1), flat[-9:]
    return np.tanh(X @ inner[:, 1:].T + inner[:, 0]) @ outer[1:] + outer[0]


rng = np.random.default_rng(0)
group = rng.choice(["a", "b"], 12_000)
X = (rng.normal(size=(12_000, 3)) + 0.8 * (group == "a")[:, None]).astype(np.float32)
y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=12_000) > 1.5
train, new = (rb.Population(X[i::2], y[i::2], {"group": group[i::2]}) for i in (0, 1))
flat = 0.3 * jax.random.normal(jax.random.key(0), 8 * 4 + 9)


# Promise: how snapshots score rows, in double precision, so that no row depends on those beside it.
@rb.register_scorer
class Network(rb.Scorer):
    kind = "the network of loop_jax.py"

    def scores(self, parameters, X):
        wide, rows = parameters.astype(float), X.astype(float)
        return np.stack([network(flat, rows, np) for flat in wide])[:, None]  # one score a row


# Promise: what is promised, what is asked of training, and the game of it on the training rows.
promised = rb.Problem(rb.error_rate(), ['recall(group == "b") >= 0.95 * recall(group == "a")'])
asked = rb.Problem(rb.error_rate(), ['recall(group == "b") >= recall(group == "a")'])
compiled = rb.compile(asked, train)
game = rb.Game(compiled, rules=rb.Rules(proxy="sigmoid"))
rounds = game.recorded(game.start(network(flat, train.X)))

snapshots = []
for _ in range(30):
    for rows in np.array_split(rng.permutation(len(train)), 12):
        scores, back = jax.vjp(lambda flat, batch=train.X[rows]: network(flat, batch), flat)

        # Promise: this gradient stands where the loss's would be.
        (gradient,) = back(rounds(scores, rows))

        flat -= 0.5 * gradient
    snapshots.append(flat)

# Promise: the best mixture of the snapshots, by exact rates; then both kinds of rows.
mixture = rb.shrink(rb.trace_of(compiled, snapshots, scorer=Network()))
print(rb.audit(promised, mixture, train))
print(rb.audit(promised, mixture, new))
