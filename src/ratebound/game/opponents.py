"""The named λ-players, with the learning rates to try side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ratebound.game.players import Ascending, ExternalRegret, Lagrangian, SwapRegret

# All constraints share the other tenth, so the cost of the start does not grow with their number.
OBJECTIVE_WEIGHT = 0.9
MANY = 100  # with more constraints swap regret takes too long: its cost grows with their cube
RATES = {
    "swap": (0.003, 0.01, 0.03),
    "external": (0.03, 0.1, 0.3),  # of all multipliers together
    "lagrangian": (1e-5, 3e-5, 1e-4),  # small, since no model may keep the relaxed constraints
}


def _swap(rates: tuple[float, ...], constraints: int) -> SwapRegret:
    return SwapRegret(rates, objective_weight=OBJECTIVE_WEIGHT)


def _external(rates: tuple[float, ...], constraints: int) -> ExternalRegret:
    # All multipliers may rise at once; their sum should not rise faster with more of them.
    return ExternalRegret(tuple(rate / max(constraints, 1) for rate in rates))


def _lagrangian(rates: tuple[float, ...], constraints: int) -> Lagrangian:
    return Lagrangian(rates, "sgd")


PLAYERS: dict[str, Callable[[tuple[float, ...], int], Ascending]] = {
    "swap": _swap,
    "external": _external,
    "lagrangian": _lagrangian,
}


def opponent(name: str, constraints: int, rates: Sequence[float] | None = None) -> Ascending:
    """The player called `name`, with several learning rates, or only one if there are no constraints.

    >>> opponent("swap", constraints=4)
    SwapRegret(learning_rate=(0.003, 0.01, 0.03), optimizer='adam', objective_weight=0.9)
    """
    tried = tuple(rates or RATES[name])
    return PLAYERS[name](tried if constraints else tried[:1], constraints)
