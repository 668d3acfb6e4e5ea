"""Processes that ``torchrun`` started: they join, divide the rows, and the first one prints for all."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.extras import import_torch
from ratebound._old.commands.rows import Given
from ratebound._old.problem.population import Population


@contextmanager
def joined() -> Iterator[None]:
    """Join the processes that were started together, if there are several; all except one are silent."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    group, spoken = import_torch().distributed, sys.stdout
    is_new = not group.is_initialized()  # the caller may have initialized it
    if is_new:
        group.init_process_group("gloo")
    try:
        with warnings.catch_warnings(), open(os.devnull, "w") as nowhere:
            if not processes.is_first():
                sys.stdout = nowhere
                warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout = spoken
        if is_new:
            group.destroy_process_group()


def dealt_out(given: Given) -> Given:
    """The share of this process: with N processes every N-th row. Rows on disk are divided already."""
    if processes.count() == 1:
        return given
    others = {name: _share(name, rows) for name, rows in given.others.items()}
    return replace(given, people=_share(given.name, given.people), others=others)


def _share(name: str, rows: Population) -> Population:
    if rows.stored:
        return rows
    if len(rows) < processes.count():
        raise ValueError(
            f"{name} has {len(rows):,} rows for {processes.count()} processes, and each process needs "
            "a row: start fewer (torchrun --nproc-per-node)"
        )
    return rows.only(np.arange(processes.rank(), len(rows), processes.count()))
