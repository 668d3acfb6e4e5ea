"""Rows that are held out: models are judged on them, and learn nothing of them.

Rows drawn together are on one side, as are copies of a row. Every group has its share on both sides.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.commands.rows import Given, as_new_population, list_fit_arguments
from ratebound.learning.given import read_clusters
from ratebound.learning.known import find_known_groups
from ratebound.learning.learning import draw_rows, read_sample
from ratebound.problem.columns import encode_values
from ratebound.problem.problem import Problem
from ratebound.rates.sums import FIRST


def divide_rows(given: Given, problem: Problem) -> tuple[Given, Given]:
    """Return the rows to train on, and those held out; all rows twice if none are held out."""
    mask = draw_held_out(given, problem)
    if not given.run.holdout:
        return given, given
    training = {}
    held = {}
    start = 0
    for name, rows in given.populations.items():
        is_held = mask[start : start + len(rows)]
        start += len(rows)
        training[name] = rows.only(~is_held)
        held[name] = rows.only(is_held)
    return given.with_rows(training), given.with_rows(held)


def draw_held_out(given: Given, problem: Problem) -> Array:
    """Return which rows (n,) of the populations, one after another, are held out.

    Whatever training would refuse in the constraints is refused here, before it begins.
    """
    run = given.run
    populations = {}
    for name, rows in given.populations.items():
        populations[name] = replace(as_new_population(rows, given), X=None)
    clusters = None
    if run.groups is not None:
        if len(populations) > 1:
            raise ValueError("--groups is of rows of one table: leave out --population")
        clusters = read_clusters(run.groups, populations[FIRST])
    if run.known:
        find_known_groups(run.known, populations[FIRST])
    features = _number_features(given)
    sample = read_sample(problem, populations, features, clusters)
    drawn_by = sample
    if run.holdout_by_label:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given above
            drawn_by = read_sample(Problem("error_rate()"), populations, features, clusters)
    is_held = draw_rows(drawn_by, run.holdout, run.seed)
    if run.holdout:
        try:
            sample.select(is_held)
            sample.select(~is_held)
        except ValueError as error:
            raise ValueError(
                f"{error}; there are too few such rows for training and audit: change --holdout, or "
                "--seed"
            ) from None
    return is_held


def _number_features(given: Given) -> Any:
    """Return a number for every value of features (n, d), the same for equal values."""
    tables = [list_fit_arguments(rows, given)[0] for rows in given.populations.values()]
    codes = []
    for name in tables[0].columns:
        values = np.concatenate([table[name] for table in tables])
        if values.dtype.kind in "mM":
            values = values.astype(np.int64)
        codes.append(encode_values(values).codes)
    return np.column_stack(codes)
