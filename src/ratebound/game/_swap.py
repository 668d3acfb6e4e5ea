"""The matrix behind `SwapRegret`, and the distribution that it leaves as it is."""

from __future__ import annotations

from ratebound.base.arrays import Array, eye, namespace, solve

LOWEST_LOG = -20.0  # of its entries; with far lower ones a direct solve loses precision


def stationary_distribution(matrix: Array) -> Array:
    """x >= 0 with ``matrix @ x = x`` and sum 1, for left-stochastic matrices (..., s, s).

    The system is solved directly. Each diagonal entry of ``matrix - I`` is computed as minus the sum of
    the others in its column, which loses no precision when the matrix is close to the identity.
    """
    xp = namespace(matrix)
    size = matrix.shape[-1]
    identity = eye(size, matrix)
    off = matrix * (1 - identity)
    system = off - identity * off.sum(-2)[..., None, :]
    system[..., -1, :] = 1.0  # one equation follows from the others, so the sum replaces it
    found = solve(system, identity[-1] + xp.zeros_like(matrix[..., 0])).clip(min=0)
    return found / found.sum(-1)[..., None]
