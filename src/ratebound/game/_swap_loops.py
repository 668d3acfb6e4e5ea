"""The swap matrix's step in compiled loops: two passes over its entries, where NumPy takes fifteen.

`ratebound.game._swap` and `_adam` say the same plainly.
"""

from __future__ import annotations

import math

import numpy as np

from ratebound.base import jit
from ratebound.base.arrays import Array, namespace
from ratebound.game._adam import FIRST, SECOND
from ratebound.game._swap import LOWEST, eliminated, iterated

FIRST_KEPT, FIRST_ADDED = FIRST
SECOND_KEPT, SECOND_ADDED = SECOND

LEAST, MANY = 64, 2**15  # rows, and entries in all, from which on loops are worth loading numba for
STEEPEST = 8.0  # more than any direction of Adam's: 0.1 / √(0.001 (1 - 0.81 / 0.999)) is 7.3

# The exponential in vectors: e^x = 2^n e^r for the n that leaves |r| < 0.35, and e^r by Taylor's series.
# Adding ROUNDER rounds a number to a whole one, and leaves that in its last bits.
REACH = 300.0  # the largest exponents
LOG2_E = math.log2(math.e)
LN2_HIGH, LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6
ROUNDER = 1.5 * 2**52
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1 / math.factorial(k) for k in range(2, 14))


@jit.loop(fastmath={"contract"}, error_model="numpy")
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
    """Write a step's matrix (s, s), Adam's moments and the sum (s,) of each column but its diagonal.

    The step raises entries by `rate` times the gradient ``shown[:, None] * weights``, or by `rate` times
    ``first / (√second + tiny)`` where Adam's moments count.
    """
    size = len(weights)
    exponent, total = np.empty(size), np.zeros(size)
    for i in range(size):
        old, row = matrix[i], new[i]
        by = shown[i]
        if adam:  # loops of few arrays each: only of those can the compiler tell that none overlap
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
            row[j] = LOWEST if share < LOWEST else share  # and what is not a number stays so
        stays, row[i] = row[i], 0.0
        for j in range(size):
            leaving[j] += row[j]
        row[i] = stays


@jit.loop(fastmath={"contract", "reassoc"}, error_model="numpy")
def extend(
    flow: Array,
    slow: Array,
    directions: Array,
    images: Array,
    triangle: Array,
    steps: Array,
    done: int,
) -> float:
    """`ratebound.game._swap.extend`; images are made orthogonal one after the other."""
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
    # One block of memory, and as large in every step, is found again by the allocator. Of several the
    # system takes some back each time, and getting pages anew takes longer than everything else.
    block = np.empty((3 if adam else 1, *matrix.shape))
    new, found, leaving = block[0], np.empty_like(weights), np.empty(matrix.shape[-1])
    # Loops are compiled for arrays that can be written to, which those read from a file may not be.
    matrix, weights = _writable(matrix), _writable(weights)
    before = after = (matrix, new)  # which plain ascent leaves alone
    if adam:
        zeros = (np.zeros_like(matrix),) * 2
        before = tuple(map(_writable, moments or zeros))
        after = block[1], block[2]
    for k in np.ndindex(rates.shape):
        own, moved = (before[0][k], before[1][k]), (after[0][k], after[1][k])
        raise_matrix(
            matrix[k], shown[k], weights[k], float(rates[k]), adam, tiny, own, new[k], moved, leaving
        )
        found[k] = _settled(new[k], leaving, weights[k])
    return new, found, after if adam else None


def _settled(matrix: Array, leaving: Array, near: Array) -> Array:
    """The stationary distribution of a matrix that nobody else looks at yet."""
    diagonal = matrix.diagonal().copy()
    np.fill_diagonal(matrix, 0.0)
    found = iterated(matrix, leaving, near, extend)
    np.fill_diagonal(matrix, diagonal)
    return eliminated(matrix) if found is None else found


def _writable(array: Array) -> Array:
    return np.require(array, requirements=("C", "W"))


def worth_compiling(matrix: Array) -> bool:
    """Whether loops can be compiled, and take less time than NumPy for a matrix as large as this."""
    large = matrix.shape[-1] >= LEAST and math.prod(matrix.shape) >= MANY
    return large and namespace(matrix) is np and jit.available()


def within_reach(weights: Array, shown: Array, rate: Array | float, adam: bool) -> bool:
    """Whether the exponents of a step are small enough for the loops."""
    steepest = STEEPEST if adam else abs(shown).max() * weights.max()
    return bool(np.max(rate) * steepest <= REACH)
