"""Adam's direction, for whatever learns in the game besides the model."""

from __future__ import annotations

from typing import Any

from ratebound.base.arrays import Array, namespace

FIRST, SECOND = (0.9, 0.1), (0.999, 0.001)  # what stays of a moment in a step, and what is added
TINY = 1e-8


def adam_direction(
    gradient: Array, moments: tuple[Array, Array] | None, steps: int
) -> tuple[Array, tuple[Array, Array]]:
    """Adam's direction for `gradient`, with the usual constants, and the new moments."""
    first, second = moments if moments is not None else (0.0 * gradient, 0.0 * gradient)
    first, second = FIRST[0] * first, SECOND[0] * second
    first += FIRST[1] * gradient
    square = SECOND[1] * gradient
    square *= gradient
    second += square
    factor, tiny = adam_factors(steps)
    xp = namespace(second)
    root = xp.sqrt(second, out=square)
    root += tiny
    direction = xp.divide(first, root, out=root)
    direction *= factor
    return direction, (first, second)


def adam_factors(steps: int) -> tuple[Any, Any]:
    """What undoes the moments' start at 0: (f, ε) of the direction f · first / (√second + ε)."""
    unbias = (1 - SECOND[0] ** steps) ** 0.5
    return unbias / (1 - FIRST[0] ** steps), TINY * unbias
