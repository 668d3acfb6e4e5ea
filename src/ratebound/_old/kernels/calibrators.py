"""Calibrators of lattice models: in plain PyTorch, and as compiled loops.

In the loops, a block of rows goes through one feature's calibrator at a time, forward and backward. So
the share of each piece below each row is never written to memory, nor kept.
"""

# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ratebound._old.kernels.dispatch import EACH, SUMS, loop


class Fixed(NamedTuple):
    """The fixed parts of a lattice model; its features are numbers, then categories."""

    columns: Tensor  # (F,) of the input rows
    start: Tensor  # (numbers, k - 1), the start of each piece of a calibrator
    steepness: Tensor  # (numbers, k - 1), one over its length
    sizes: Tensor  # (categories, 1)
    offsets: Tensor  # (categories, 1), the first value of each
    subsets: Tensor  # (L, D) of the features


def calibrated(numbers: Tensor, categories: Tensor, rows: Tensor, fixed: Fixed) -> Tensor:
    """The calibrated features (K, F, b), numbers first; in [0, 1] once projected.

    Calibrators' values are (K, numbers, k + 1) and (K, values).
    """
    columns = rows.T.index_select(0, fixed.columns)
    x, codes = columns[: len(fixed.start)], columns[len(fixed.start) :]
    # The first keypoint's value, plus the rise of each piece times the share of it below x.
    rises = numbers[..., :-1].diff(dim=-1).transpose(0, 1)
    known = (rises @ _passed(x, fixed)).transpose(0, 1) + numbers[..., :1]
    of_numbers = torch.where(x.isnan(), numbers[..., -1:], known)
    inside = (codes >= 0) & (codes < fixed.sizes)  # False for NaN
    index = torch.where(inside, codes, fixed.sizes).long() + fixed.offsets
    of_categories = categories.index_select(1, index.flatten())
    return torch.cat([of_numbers, of_categories.view(len(categories), *index.shape)], 1)


def _passed(x: Tensor, fixed: Fixed) -> Tensor:
    """(numbers, k - 1, b): the share of each piece of a calibrator that lies below x."""
    beyond = x.nan_to_num()[:, None] - fixed.start[..., None]
    return beyond.mul_(fixed.steepness[..., None]).clamp_(0.0, 1.0)


# --- compiled ------------------------------------------------------------------------------------


@loop(**EACH)
def calibrate(
    rows, columns, start, steepness, sizes, offsets, numbers, categories, inputs, x, shares, first, last
):  # fmt: skip
    """Inputs of lattices in [-1, 1], from `first` up to `last`: numbers, then categories."""
    pieces, one = start.shape[1], rows.dtype.type(1)
    for feature in range(first, last):
        if feature >= len(start):
            place = feature - len(start)
            for row in range(len(rows)):
                code = _code(rows[row, columns[feature]], sizes[place, 0])
                for setting in range(len(categories)):
                    value = categories[setting, offsets[place, 0] + code]
                    inputs[setting, feature, row] = value + value - one
            continue
        for begin in range(0, len(rows), x.shape[1]):
            count = min(x.shape[1], len(rows) - begin)
            block = rows[begin : begin + count]
            _pass(block, columns[feature], start[feature], steepness[feature], x, shares, count)
            for setting in range(len(numbers)):
                values, out = numbers[setting, feature], inputs[setting, feature][begin : begin + count]
                for row in range(count):
                    out[row] = values[0] + values[0] - one
                # Piece after piece, so that the sum never falls if every piece rises.
                for piece in range(pieces):
                    rise = values[piece + 1] - values[piece]
                    rise += rise
                    for row in range(count):
                        out[row] += rise * shares[piece, row]
                missing = values[pieces + 1] + values[pieces + 1] - one
                for row in range(count):
                    out[row] = out[row] if x[0, row] == x[0, row] else missing


@loop(**SUMS)
def add_by_values(
    rows, columns, start, steepness, sizes, offsets, slopes, gradient, by_numbers, by_categories,
    x, own, shares, first, last,
):  # fmt: skip
    """Add the gradients with respect to the values of features from `first` up to `last`.

    The gradient by a calibrated feature is its slope (K, F, b) times the gradient by the totals (K, b).
    """
    pieces, zero = start.shape[1], rows.dtype.type(0)
    for feature in range(first, last):
        if feature >= len(start):
            place = feature - len(start)
            for row in range(len(rows)):
                at = offsets[place, 0] + _code(rows[row, columns[feature]], sizes[place, 0])
                for setting in range(len(by_categories)):
                    given = slopes[setting, feature, row] * gradient[setting, row]
                    by_categories[setting, at] += given + given
            continue
        for begin in range(0, len(rows), x.shape[1]):
            count = min(x.shape[1], len(rows) - begin)
            block = rows[begin : begin + count]
            _pass(block, columns[feature], start[feature], steepness[feature], x, shares, count)
            for setting in range(len(by_numbers)):
                by_values = by_numbers[setting, feature]
                slope = slopes[setting, feature][begin : begin + count]
                by_total = gradient[setting][begin : begin + count]
                known, missing = zero, zero
                for row in range(count):
                    given = (slope[row] + slope[row]) * by_total[row]
                    own[0, row] = given if x[0, row] == x[0, row] else zero
                    known += own[0, row]
                    missing += given - own[0, row]
                by_values[0] += known
                by_values[pieces + 1] += missing
                for piece in range(pieces):
                    by_rise = zero
                    for row in range(count):
                        by_rise += own[0, row] * shares[piece, row]
                    by_values[piece + 1] += by_rise
                    by_values[piece] -= by_rise


@loop(**EACH)
def _pass(rows, column, start, steepness, x, shares, count):
    """The share of each piece of a calibrator below a row's value; all 0 if the value is NaN."""
    zero, one = rows.dtype.type(0), rows.dtype.type(1)
    for row in range(count):
        x[0, row] = rows[row, column]
    for piece in range(len(start)):
        begin, slope = start[piece], steepness[piece]
        for row in range(count):
            share = (x[0, row] - begin) * slope
            share = share if share > zero else zero  # and not NaN
            shares[piece, row] = share if share < one else one


@loop(nogil=True)
def _code(value, size):
    """The index of a category's value; unknown values and NaN come last."""
    return int(value) if 0 <= value < size else size
