"""Interpolation in many small lattices as compiled loops; `model_loops.py` calls them.

A block of rows goes through one lattice at a time: its products, sums and slopes stay in the cache next
to the processor, where the plain version writes those of many lattices to memory in every pass. Rows
are the innermost loop everywhere, and tables are taken four products at a time, so that compilers turn
rows into vectors and keep the coefficients in registers. Arrays are z (K, F, b) of the inputs, tables
(K, L, 2^⌈D/2⌉, 2^⌊D/2⌋) of the coefficients, subsets (L, D), and room for blocks of rows.
"""

# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

from ratebound.base import jit
from ratebound.learners.lattices.loops import EACH, SUMS


@jit.loop(nogil=True)
def transform(work, table, turned):
    """The coefficients, and the same with upper and lower half exchanged, from values (K, 2^D, L).

    The values are overwritten. Input by input, so that equal ones cancel to the last bit.
    """
    settings, corners, lattices = work.shape
    lower, half = table.shape[3], work.dtype.type(0.5)
    for setting in range(settings):
        own, step = work[setting], 1
        while step < corners:
            for corner in range(corners):
                if corner & step == 0:
                    low, high = own[corner], own[corner + step]
                    for lattice in range(lattices):
                        below, above = low[lattice], high[lattice]
                        low[lattice] = (below + above) * half
                        high[lattice] = (above - below) * half
            step *= 2
        for lattice in range(lattices):
            for corner in range(corners):
                i, j = corner // lower, corner % lower
                table[setting, lattice, i, j] = own[corner, lattice]
                turned[setting, lattice, j, i] = own[corner, lattice]


@jit.loop(nogil=True)
def turn_back(by_table, found):
    """The gradient by values (K, 2^D, L) from that by coefficients."""
    settings, corners, lattices = found.shape
    lower, half = by_table.shape[3], found.dtype.type(0.5)
    for setting in range(settings):
        own, step = found[setting], 1
        for corner in range(corners):
            i, j = corner // lower, corner % lower
            for lattice in range(lattices):
                own[corner, lattice] = by_table[setting, lattice, i, j]
        while step < corners:
            for corner in range(corners):
                if corner & step == 0:
                    low, high = own[corner], own[corner + step]
                    for lattice in range(lattices):
                        of_mean, of_slope = low[lattice], high[lattice]
                        low[lattice] = (of_mean - of_slope) * half
                        high[lattice] = (of_mean + of_slope) * half
            step *= 2


@jit.loop(**EACH)
def interpolate(
    inputs, table, turned, subsets, slopes, means, z, slope, low, high, by_low, by_high, first, last
):
    """Means (K, b) over lattices, of rows from `first` to before `last`, and slopes of their totals.

    Slopes (K, F, b) are added to what they were, and none are taken where they have no rows.
    """
    lattices, rank = subsets.shape
    middle, share = rank // 2, 1 / means.dtype.type(lattices)
    for setting in range(len(means)):
        for start in range(first, last, z.shape[1]):
            count = min(z.shape[1], last - start)
            mean = means[setting][start : start + count]
            for row in range(count):
                mean[row] = 0
            for lattice in range(lattices):
                subset = subsets[lattice]
                _gather(inputs[setting], subset, start, z, count)
                _multiply(z, 0, middle, low, count)
                _multiply(z, middle, rank, high, count)
                _combine(table[setting, lattice], low, by_high, count)
                _fold(by_high, z, middle, rank, high, slope, count)
                for row in range(count):
                    mean[row] += by_high[0, row]
                if slopes.shape[2]:
                    _combine(turned[setting, lattice], high, by_low, count)
                    _fold(by_low, z, 0, middle, low, slope, count)
                    for place in range(rank):
                        of_feature = slopes[setting, subset[place]][start : start + count]
                        for row in range(count):
                            of_feature[row] += slope[place, row]
            for row in range(count):
                mean[row] *= share


@jit.loop(**SUMS)
def add_by_table(inputs, subsets, gradient, found, z, low, high, first, last):
    """Add the gradients of tables from `first` to before `last`, from that by totals (K, b)."""
    lattices, rank = subsets.shape
    middle, rows = rank // 2, inputs.shape[2]
    for number in range(first, last):
        setting, lattice = number // lattices, number % lattices
        for start in range(0, rows, z.shape[1]):
            count = min(z.shape[1], rows - start)
            _gather(inputs[setting], subsets[lattice], start, z, count)
            _multiply(z, 0, middle, low, count)
            _multiply(z, middle, rank, high, count)
            by_total = gradient[setting][start : start + count]
            for place in range(len(high)):
                for row in range(count):
                    high[place, row] *= by_total[row]
            _add_products(high, low, found[setting, lattice], count)


@jit.loop(**EACH)
def _gather(inputs, subset, start, z, count):
    """The inputs (D, count) of one lattice."""
    for place in range(len(subset)):
        chosen = inputs[subset[place]][start : start + count]
        for row in range(count):
            z[place, row] = chosen[row]


@jit.loop(**EACH)
def _multiply(z, start, end, products, count):
    """The products of the subsets of inputs from `start` to before `end`.

    Bit d says whether the d-th of these is in.
    """
    for row in range(count):
        products[0, row] = 1
    for d in range(end - start):
        for i in range(1 << d):
            for row in range(count):
                products[(1 << d) + i, row] = products[i, row] * z[start + d, row]


@jit.loop(**EACH)
def _combine(table, products, found, count):
    """The table (p, q) times products (q, count), four products for two sums at a time."""
    sums, terms = table.shape
    if sums < 2 or terms < 4:
        for i in range(sums):
            for row in range(count):
                found[i, row] = table[i, 0] * products[0, row]
            for j in range(1, terms):
                for row in range(count):
                    found[i, row] += table[i, j] * products[j, row]
        return
    for i in range(0, sums, 2):
        for j in range(0, terms, 4):
            a0, a1, a2, a3 = table[i, j], table[i, j + 1], table[i, j + 2], table[i, j + 3]
            k = i + 1
            b0, b1, b2, b3 = table[k, j], table[k, j + 1], table[k, j + 2], table[k, j + 3]
            if j == 0:
                for row in range(count):
                    p0, p1 = products[j, row], products[j + 1, row]
                    p2, p3 = products[j + 2, row], products[j + 3, row]
                    found[i, row] = a0 * p0 + a1 * p1 + a2 * p2 + a3 * p3
                    found[k, row] = b0 * p0 + b1 * p1 + b2 * p2 + b3 * p3
            else:
                for row in range(count):
                    p0, p1 = products[j, row], products[j + 1, row]
                    p2, p3 = products[j + 2, row], products[j + 3, row]
                    found[i, row] += a0 * p0 + a1 * p1 + a2 * p2 + a3 * p3
                    found[k, row] += b0 * p0 + b1 * p1 + b2 * p2 + b3 * p3


@jit.loop(**EACH)
def _fold(sums, z, start, end, products, slope, count):
    """Sums times products of inputs from `start` to before `end`, added up into the first; and slopes.

    As in Horner's rule, inputs are factored out from the last on, the last three of them at once.
    """
    for d in range(end - start - 1, 2, -1):
        half = 1 << d
        for row in range(count):
            slope[start + d, row] = 0
        for i in range(0, half, 4):
            for row in range(count):
                x = z[start + d, row]
                s0, s1 = sums[half + i, row], sums[half + i + 1, row]
                s2, s3 = sums[half + i + 2, row], sums[half + i + 3, row]
                p0, p1 = products[i, row], products[i + 1, row]
                p2, p3 = products[i + 2, row], products[i + 3, row]
                slope[start + d, row] += s0 * p0 + s1 * p1 + s2 * p2 + s3 * p3
                sums[i, row] += s0 * x
                sums[i + 1, row] += s1 * x
                sums[i + 2, row] += s2 * x
                sums[i + 3, row] += s3 * x
    if end - start >= 3:
        for row in range(count):
            x0, x1, x2 = z[start, row], z[start + 1, row], z[start + 2, row]
            s1, s3, s5, s7 = sums[1, row], sums[3, row], sums[5, row], sums[7, row]
            without = sums[2, row] + s3 * x0
            with_it = sums[6, row] + s7 * x0
            last = sums[4, row] + s5 * x0 + with_it * x1
            slope[start, row] = s1 + s3 * x1 + (s5 + s7 * x1) * x2
            slope[start + 1, row] = without + with_it * x2
            slope[start + 2, row] = last
            sums[0, row] += s1 * x0 + without * x1 + last * x2
    elif end - start == 2:
        for row in range(count):
            x0, x1 = z[start, row], z[start + 1, row]
            last = sums[2, row] + sums[3, row] * x0
            slope[start, row] = sums[1, row] + sums[3, row] * x1
            slope[start + 1, row] = last
            sums[0, row] += sums[1, row] * x0 + last * x1
    elif end - start == 1:
        for row in range(count):
            slope[start, row] = sums[1, row]
            sums[0, row] += sums[1, row] * z[start, row]


@jit.loop(**SUMS)
def _add_products(high, low, found, count):
    """Add to `found` (p, q) the sums over rows of `high` (p, count) times `low` (q, count)."""
    if len(high) < 4 or len(low) < 4:
        for i in range(len(high)):
            for j in range(len(low)):
                total = high[i, 0] * low[j, 0]
                for row in range(1, count):
                    total += high[i, row] * low[j, row]
                found[i, j] += total
        return
    for i in range(0, len(high), 4):
        for j in range(0, len(low), 4):
            a00 = a01 = a02 = a03 = a10 = a11 = a12 = a13 = found.dtype.type(0)
            a20 = a21 = a22 = a23 = a30 = a31 = a32 = a33 = found.dtype.type(0)
            for row in range(count):
                h0, h1, h2, h3 = high[i, row], high[i + 1, row], high[i + 2, row], high[i + 3, row]
                l0, l1, l2, l3 = low[j, row], low[j + 1, row], low[j + 2, row], low[j + 3, row]
                a00, a01, a02, a03 = a00 + h0 * l0, a01 + h0 * l1, a02 + h0 * l2, a03 + h0 * l3
                a10, a11, a12, a13 = a10 + h1 * l0, a11 + h1 * l1, a12 + h1 * l2, a13 + h1 * l3
                a20, a21, a22, a23 = a20 + h2 * l0, a21 + h2 * l1, a22 + h2 * l2, a23 + h2 * l3
                a30, a31, a32, a33 = a30 + h3 * l0, a31 + h3 * l1, a32 + h3 * l2, a33 + h3 * l3
            sums = ((a00, a01, a02, a03), (a10, a11, a12, a13),
                    (a20, a21, a22, a23), (a30, a31, a32, a33))  # fmt: skip
            for k in range(4):
                for m in range(4):
                    found[i + k, j + m] += sums[k][m]
