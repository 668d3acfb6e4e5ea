"""Adam's direction, for whatever learns in the game besides the model."""

from __future__ import annotations

from ratebound.base.arrays import Array


def adam_direction(
    gradient: Array, moments: tuple[Array, Array] | None, steps: int
) -> tuple[Array, tuple[Array, Array]]:
    """Adam's direction for `gradient`, with the usual constants, and the new moments."""
    first, second = moments if moments is not None else (0.0 * gradient, 0.0 * gradient)
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient * gradient
    unbias = (1 - 0.999**steps) ** 0.5
    step = first / (second**0.5 + 1e-8 * unbias)
    return (unbias / (1 - 0.9**steps)) * step, (first, second)
