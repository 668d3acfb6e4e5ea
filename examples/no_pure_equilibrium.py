"""A game without a pure equilibrium
=================================

A λ-player on its own, in a PyTorch loop, on a problem that does not involve rates:

    minimize -(θ + θ²) / 2  subject to  θ - 1/2 <= 0,  for θ in [0, 1]

It has no pure equilibrium. For every multiplier the best θ is 0 or 1, never 1/2, so the iterates chase
the multiplier round and round. The best single θ is 1/2, with objective -3/8. Playing 0 and 1 half the
time each also keeps the constraint on average, with objective -1/2.
"""

from importlib.util import find_spec

import torch
from ratebound.solution import shrink_weights

import ratebound as rb


def worth(theta):
    return -(theta + theta**2) / 2


def iterates(player, rounds=3000, rate=0.02):
    """Play the game and return every θ."""
    theta = torch.tensor(0.6, requires_grad=True)
    multipliers = player.start(constraints=1)
    visited = []
    for _ in range(rounds):
        visited.append(theta.item())
        objective, constraint = worth(theta), theta - 0.5
        weights = torch.as_tensor(multipliers.weights)
        (gradient,) = torch.autograd.grad(weights[0] * objective + weights[1] * constraint, theta)
        with torch.no_grad():
            theta.sub_(rate * gradient).clamp_(0, 1)
        multipliers = player.step(multipliers, constraint.detach().numpy()[None])
    return torch.tensor(visited, dtype=torch.float64)


def main():
    found = {}
    for player in (
        rb.ExternalRegret(learning_rate=0.05, optimizer="sgd"),
        rb.SwapRegret(learning_rate=0.2, optimizer="sgd"),
    ):
        theta = found[type(player).__name__] = iterates(player)
        late = theta[-1000:]
        weights = shrink_weights(worth(theta), (theta - 0.5)[:, None])
        print(type(player).__name__)
        print(f"  the last 1000 iterates swing between θ = {late.min():.2f} and {late.max():.2f}")
        for t in weights.nonzero()[0]:
            print(f"  the mixture plays θ = {theta[t]:.2f} with probability {weights[t]:.2f}")
        value, violation = weights @ worth(theta).numpy(), weights @ (theta - 0.5).numpy()
        print(f"  and is worth {value:.3f} at violation {violation:+.3f} (best single θ: -0.375)")
    return found


if __name__ == "__main__":
    found = main()

# %%
# Neither player's iterates come to rest. Their mean does, and so does the best mixture of two of them.

if __name__ == "__main__" and find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, sharex=True, layout="constrained")
    for ax, (name, theta) in zip(axes, found.items(), strict=True):
        ax.plot(theta, linewidth=1)
        ax.axhline(0.5, color="grey", linewidth=1)
        ax.set(title=name, ylabel="θ")
    axes[1].set_xlabel("round")
    plt.show()
