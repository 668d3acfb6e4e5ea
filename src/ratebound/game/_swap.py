"""The matrix behind `SwapRegret`: how it moves, and the distribution that it leaves as it is.

Where there are many constraints the distribution is found by iterations from the last one, which needs
some ten products of the matrix and a vector. An elimination needs as many of them as there are rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ratebound.base.arrays import Array, diagonal, namespace, solve

LOWEST = math.exp(-20.0)  # entry of the matrix; with far lower ones a direct solve loses precision
BATCHED = 128  # rows up to which a GPU can record the elimination of several matrices
LARGE = 160  # rows from which on iterations take less time than elimination
ITERATIONS = 64  # at most, and no more than would take as long as elimination
PATIENCE = 16  # iterations that must make the residual ten times smaller
ROUNDING = 8 * float(np.finfo(float).eps)  # of the residual, by the solution's size


def raised(matrix: Array, exponents: Array) -> Array:
    """Entries times the exponentials; then columns have a sum of 1, and entries are at least LOWEST."""
    xp = namespace(matrix)
    moved = exponents - xp.amax(exponents, -2)[..., None, :]
    moved = xp.exp(moved, out=moved)
    moved *= matrix
    moved /= moved.sum(-2)[..., None, :]
    return moved.clip(min=LOWEST)


def stationary_distribution(matrix: Array, near: Array | None = None) -> Array:
    """x >= 0 with ``matrix @ x = x`` and sum 1, for left-stochastic matrices (..., s, s).

    Diagonal entries of ``matrix - I`` are computed as minus the sum of the others in their columns,
    which loses no precision when the matrix is close to the identity. A distribution `near` x may save
    time; x does not depend on it but for rounding.
    """
    if namespace(matrix) is not np:
        return squared(matrix) if matrix.is_cuda and matrix.shape[-1] > BATCHED else eliminated(matrix)
    if near is None or matrix.shape[-1] < LARGE:
        return eliminated(matrix)
    found = np.empty(matrix.shape[:-1])
    for place in np.ndindex(found.shape[:-1]):
        flow = matrix[place].copy()
        np.fill_diagonal(flow, 0.0)
        own = iterated(flow, flow.sum(0), near[place])
        found[place] = eliminated(matrix[place]) if own is None else own
    return found


def eliminated(matrix: Array) -> Array:
    """The stationary distributions of matrices (..., s, s), by Gaussian elimination."""
    system = 1.0 * matrix
    entries = diagonal(system)
    entries[...] = 0.0
    entries[...] = -system.sum(-2)
    system[..., -1, :] = 1.0  # one equation follows from the others, so the sum replaces it
    right = namespace(matrix).zeros_like(matrix[..., 0])
    right[..., -1] = 1.0
    found = solve(system, right).clip(min=0)
    return found / found.sum(-1)[..., None]


def squared(matrix: Array) -> Array:
    """The stationary distributions of matrices (..., s, s), by powers: a GPU can record these.

    A walk with the entries of the matrix, that stays with every other step but else never stays, comes
    from anywhere to any place with at least LOWEST / 2. So any two starts meet with s · LOWEST / 2 in
    each step, and after 2^`times` steps where it is no longer depends on where it began, to rounding.
    """
    size = matrix.shape[-1]
    flow = 1.0 * matrix
    diagonal(flow)[...] = 0.0
    leaving = flow.sum(-2)
    walk = 0.5 * flow / leaving[..., None, :]
    diagonal(walk)[...] = 0.5
    times = math.ceil(math.log2(-math.log(ROUNDING / 64) / (size * LOWEST / 2)))
    for _ in range(times):
        walk = walk @ walk
        walk = walk / walk.sum(-2)[..., None, :]
    found = walk.mean(-1) / leaving
    return found / found.sum(-1)[..., None]


def extend(
    flow: Array,
    slow: Array,
    directions: Array,
    images: Array,
    triangle: Array,
    steps: Array,
    done: int,
) -> float:
    """One iteration of `_correction`: the next image, step and residual, and the residual's size."""
    residual, image, before = directions[done], images[done], images[:done]
    np.subtract(residual, flow.dot(slow * residual), out=image)
    triangle[:done, done] = along = before.dot(image)
    image -= along.dot(before)
    triangle[done, done] = length = math.sqrt(image @ image)
    image /= length
    steps[done] = step = residual @ image
    left = np.subtract(residual, step * image, out=directions[done + 1])
    return math.sqrt(left @ left)


def iterated(
    flow: Array, leaving: Array, near: Array, extend: Callable[..., float] = extend
) -> Array | None:
    """The stationary distribution, by iterations from one `near` it; None where they do not reach it.

    `flow` (s, s) is the matrix without its diagonal, and `leaving` (s,) its columns' sums. The unknown
    is y = leaving * x, with ``y = flow @ (y / leaving)``: how often a walk that never stays comes by.
    """
    slow = 1 / leaving
    guess = leaving * near
    guess /= guess.sum()
    before, iterations = math.inf, min(ITERATIONS, len(near) // 8)
    while True:
        walk = flow.dot(slow * guess)
        residual = walk - guess
        residual -= residual.sum() * guess  # which is due to the rounding of `leaving` alone
        size, enough = math.sqrt(residual @ residual), ROUNDING * math.sqrt(guess @ guess)
        if size <= enough:
            found = slow * walk.clip(min=0)
            return found / found.sum()
        if not size < 0.1 * before or iterations == 0:
            return None
        correction, done = _correction(flow, slow, residual, enough / 4, iterations, extend)
        guess += correction
        whole = guess.sum()
        if not whole > 0.5:  # the equation holds for any multiple of the solution
            return None
        guess /= whole
        before, iterations = size, iterations - done


def _correction(
    flow: Array,
    slow: Array,
    residual: Array,
    enough: float,
    iterations: int,
    extend: Callable[..., float],
) -> tuple[Array, int]:
    """z with about ``z - flow @ (z / leaving) = residual``, and the iterations that it took.

    The method is that of generalised conjugate residuals (Eisenstat, Elman & Schultz 1983): residuals
    are the directions, and what the equation makes of them is kept orthogonal.
    """
    directions, images = np.empty((2, iterations + 1, len(slow)))
    triangle, steps = np.zeros((iterations, iterations)), np.zeros(iterations)
    directions[0] = residual
    size = left = math.sqrt(residual @ residual)
    done = 0
    while left > enough and done < iterations and (done < PATIENCE or left < 0.1 * size):
        left = extend(flow, slow, directions, images, triangle, steps, done)
        done += 1
    along = np.linalg.solve(triangle[:done, :done], steps[:done])
    return along.dot(directions[:done]), done
