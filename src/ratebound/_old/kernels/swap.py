"""The matrix behind `SwapRegret`: its update, and its stationary distribution.

If there are many constraints, the distribution is computed by iterations from the last one, which need
about ten products of the matrix and a vector. Elimination needs as many products as there are rows. The
update of a large matrix is compiled: two passes over its entries, where NumPy takes fifteen.
Adam's direction is here too, in both versions. Everything that learns in the game, except the model,
uses the NumPy version.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ratebound._old.base.arrays import Array, diagonal, namespace, solve
from ratebound._old.kernels import dispatch
from ratebound._old.kernels.dispatch import loop

LOWEST = math.exp(-20.0)  # the least entry of the matrix; below it a direct solve loses precision
BATCHED = 128  # rows up to which a GPU can record the elimination of several matrices
LARGE = 160  # from this many rows on, iterations take less time than elimination
ITERATIONS = 64  # at most, and fewer if elimination would take less time
PATIENCE = 16  # iterations that must make the residual ten times smaller
ROUNDING = 8 * float(np.finfo(float).eps)  # of the residual, relative to the solution


# --- Adam --------------------------------------------------------------------------------------

FIRST, SECOND = (0.9, 0.1), (0.999, 0.001)  # the share of a moment that a step keeps, and adds
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
    """The correction for moments that start at 0: (f, ε) in f · first / (√second + ε)."""
    unbias = (1 - SECOND[0] ** steps) ** 0.5
    return unbias / (1 - FIRST[0] ** steps), TINY * unbias


# --- plain -------------------------------------------------------------------------------------


def raised(matrix: Array, exponents: Array) -> Array:
    """Entries times the exponentials, with columns scaled to sum to 1 and entries >= LOWEST."""
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
    time; x depends on it only by rounding.
    """
    if namespace(matrix) is not np:
        return squared(matrix) if matrix.is_cuda and matrix.shape[-1] > BATCHED else eliminated(matrix)
    if near is None or matrix.shape[-1] < LARGE:
        return eliminated(matrix)
    distributions = np.empty(matrix.shape[:-1])
    for place in np.ndindex(distributions.shape[:-1]):
        flow = matrix[place].copy()
        np.fill_diagonal(flow, 0.0)
        own = iterated(flow, flow.sum(0), near[place])
        distributions[place] = eliminated(matrix[place]) if own is None else own
    return distributions


def eliminated(matrix: Array) -> Array:
    """The stationary distributions of matrices (..., s, s), by Gaussian elimination."""
    system = 1.0 * matrix
    entries = diagonal(system)
    entries[...] = 0.0
    entries[...] = -system.sum(-2)
    system[..., -1, :] = 1.0  # one equation follows from the others, so the sum replaces it
    right = namespace(matrix).zeros_like(matrix[..., 0])
    right[..., -1] = 1.0
    solution = solve(system, right).clip(min=0)
    return solution / solution.sum(-1)[..., None]


def squared(matrix: Array) -> Array:
    """The stationary distributions of matrices (..., s, s), by powers: a GPU can record these.

    Consider a walk with the entries of the matrix that stays put in every other step and otherwise
    always moves. It reaches any place from anywhere with probability at least LOWEST / 2. So any two
    starts meet with probability s · LOWEST / 2 in each step, and after 2^`times` steps its position no
    longer depends on its start, up to rounding.
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
    limit = walk.mean(-1) / leaving
    return limit / limit.sum(-1)[..., None]


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
    """The stationary distribution, by iterations from a guess `near` it; None if they do not converge.

    `flow` (s, s) is the matrix without its diagonal, and `leaving` (s,) its columns' sums. The unknown
    is y = leaving * x, with ``y = flow @ (y / leaving)``: how often a walk that never stays put passes
    by.
    """
    slow = 1 / leaving
    guess = leaving * near
    guess /= guess.sum()
    before, iterations = math.inf, min(ITERATIONS, len(near) // 8)
    while True:
        walk = flow.dot(slow * guess)
        residual = walk - guess
        residual -= residual.sum() * guess  # which is due only to the rounding of `leaving`
        size, enough = math.sqrt(residual @ residual), ROUNDING * math.sqrt(guess @ guess)
        if size <= enough:
            distribution = slow * walk.clip(min=0)
            return distribution / distribution.sum()
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
    """An approximate z with ``z - flow @ (z / leaving) = residual``, and the iterations it took.

    This is the method of generalised conjugate residuals (Eisenstat, Elman & Schultz 1983): residuals
    are the directions, and their images under the equation are kept orthogonal.
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


# --- compiled ----------------------------------------------------------------------------------

FIRST_KEPT, FIRST_ADDED = FIRST
SECOND_KEPT, SECOND_ADDED = SECOND

LEAST, MANY = 64, 2**15  # from this many rows, and entries in all, loops are worth importing numba
STEEPEST = 8.0  # above any direction of Adam's: 0.1 / √(0.001 (1 - 0.81 / 0.999)) is 7.3

# The exponential in vectors: e^x = 2^n e^r for the n that leaves |r| < 0.35, and e^r by Taylor's series.
# Adding ROUNDER rounds a number to an integer, which is left in its last bits.
REACH = 300.0  # the largest exponents
LOG2_E = math.log2(math.e)
LN2_HIGH, LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6
ROUNDER = 1.5 * 2**52
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1 / math.factorial(k) for k in range(2, 14))


@loop(fastmath={"contract"}, error_model="numpy")
def raise_matrix(
    matrix: Array,
    shown: Array,
    weights: Array,
    rate: float,
    adam: bool,
    tiny: float,
    moments: tuple[Array, Array],
    new: Array,
    new_moments: tuple[Array, Array],
    leaving: Array,
) -> None:
    """Write a step's matrix (s, s), Adam's moments and each column's sum (s,) without its diagonal.

    The step raises entries by `rate` times the gradient ``shown[:, None] * weights``, or, with Adam, by
    `rate` times ``first / (√second + tiny)``.
    """
    size = len(weights)
    exponent, total = np.empty(size), np.zeros(size)
    for i in range(size):
        old, row = matrix[i], new[i]
        by = shown[i]
        if adam:  # few arrays per loop: only then can the compiler prove that none overlap
            first, second = new_moments[0][i], new_moments[1][i]
            first_before, second_before = moments[0][i], moments[1][i]
            for j in range(size):
                first[j] = FIRST_KEPT * first_before[j] + FIRST_ADDED * (by * weights[j])
            for j in range(size):
                gradient = by * weights[j]
                second[j] = SECOND_KEPT * second_before[j] + SECOND_ADDED * gradient * gradient
            for j in range(size):
                exponent[j] = rate * first[j] / (math.sqrt(second[j]) + tiny)
        else:
            for j in range(size):
                exponent[j] = rate * by * weights[j]
        for j in range(size):
            x = exponent[j]
            rounded = x * LOG2_E + ROUNDER
            n = rounded - ROUNDER
            r = (x - n * LN2_HIGH) - n * LN2_LOW
            p = r * (r * (r * (r * (r * (r * C13 + C12) + C11) + C10) + C9) + C8) + C7
            p = r * (r * (r * (r * (r * (r * (r * p + C6) + C5) + C4) + C3) + C2) + 1.0) + 1.0
            power = np.int64((np.float64(rounded).view(np.int64) + 1023) << 52).view(np.float64)
            row[j] = old[j] * p * power
        for j in range(size):
            total[j] += row[j]
    for j in range(size):
        total[j] = 1.0 / total[j]
        leaving[j] = 0.0
    for i in range(size):
        row = new[i]
        for j in range(size):
            share = row[j] * total[j]
            row[j] = LOWEST if share < LOWEST else share  # and NaN stays NaN
        stays, row[i] = row[i], 0.0
        for j in range(size):
            leaving[j] += row[j]
        row[i] = stays


@loop(fastmath={"contract", "reassoc"}, error_model="numpy")
def extend_compiled(
    flow: Array,
    slow: Array,
    directions: Array,
    images: Array,
    triangle: Array,
    steps: Array,
    done: int,
) -> float:
    """As `extend`; images are made orthogonal one after the other."""
    residual, image, following = directions[done], images[done], directions[done + 1]
    scaled = slow * residual
    for i in range(len(slow)):
        row, coming = flow[i], 0.0
        for j in range(len(slow)):
            coming += row[j] * scaled[j]
        image[i] = residual[i] - coming
    for k in range(done):
        before, along = images[k], 0.0
        for i in range(len(slow)):
            along += before[i] * image[i]
        for i in range(len(slow)):
            image[i] -= along * before[i]
        triangle[k, done] = along
    length, step, left = 0.0, 0.0, 0.0
    for i in range(len(slow)):
        length += image[i] * image[i]
        step += residual[i] * image[i]
    length = math.sqrt(length)
    step /= length
    for i in range(len(slow)):
        image[i] /= length
        following[i] = residual[i] - step * image[i]
        left += following[i] * following[i]
    triangle[done, done], steps[done] = length, step
    return math.sqrt(left)


Step = tuple[Array, Array, tuple[Array, Array] | None]  # the matrices, their weights and Adam's moments


def stepped(
    matrix: Array,
    weights: Array,
    shown: Array,
    rate: Array | float,
    moments: tuple[Array, Array] | None,
    factors: tuple[float, float] | None,
) -> Step:
    """A step of matrices (..., s, s), each with its stationary distribution, by compiled loops.

    `shown` (..., s) are the gradient's rows by `weights`; `factors` are Adam's, None for plain ascent.
    """
    adam = factors is not None
    factor, tiny = factors or (1.0, 0.0)
    rates = factor * np.broadcast_to(rate, (*matrix.shape[:-2], 1, 1))[..., 0, 0]
    # The allocator reuses one block of memory of the same size in every step. If there were several, the
    # system would take some back each time, and new pages would take longer than everything else.
    block = np.empty((3 if adam else 1, *matrix.shape))
    new, after_weights, leaving = block[0], np.empty_like(weights), np.empty(matrix.shape[-1])
    # Loops are compiled for writable arrays; arrays read from a file may be read-only.
    matrix, weights = _writable(matrix), _writable(weights)
    before = after = (matrix, new)  # plain ascent does not change them
    if adam:
        zeros = (np.zeros_like(matrix),) * 2
        before = tuple(map(_writable, moments or zeros))
        after = block[1], block[2]
    for k in np.ndindex(rates.shape):
        own, moved = (before[0][k], before[1][k]), (after[0][k], after[1][k])
        raise_matrix(
            matrix[k], shown[k], weights[k], float(rates[k]), adam, tiny, own, new[k], moved, leaving
        )
        after_weights[k] = _settled(new[k], leaving, weights[k])
    return new, after_weights, after if adam else None


def _settled(matrix: Array, leaving: Array, near: Array) -> Array:
    """The stationary distribution of a matrix that no other code uses yet."""
    diagonal = matrix.diagonal().copy()
    np.fill_diagonal(matrix, 0.0)
    distribution = iterated(matrix, leaving, near, extend_compiled)
    np.fill_diagonal(matrix, diagonal)
    return eliminated(matrix) if distribution is None else distribution


def _writable(array: Array) -> Array:
    return np.require(array, requirements=("C", "W"))


def worth_compiling(matrix: Array) -> bool:
    """Whether loops can be compiled and beat NumPy for a matrix of this size."""
    large = matrix.shape[-1] >= LEAST and math.prod(matrix.shape) >= MANY
    return large and namespace(matrix) is np and dispatch.numba_works()


def within_reach(weights: Array, shown: Array, rate: Array | float, adam: bool) -> bool:
    """Whether the exponents of a step are small enough for the loops."""
    steepest = STEEPEST if adam else abs(shown).max() * weights.max()
    return bool(np.max(rate) * steepest <= REACH)
