"""Rows whose groups may be used when deciding, and a forecast's rules for each of these groups.

A rule weighs the cost of each promise. In a known group, the weights use the information in that group.
So a rule is one model for each group, and the decider takes the model of a row's own group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import score_count
from ratebound._old.rates.subsets import Value
from ratebound._old.solution.deciders import GroupThresholds
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.thresholds import known_groups

MOST_KNOWN = 64  # groups, at most, each with its own model


@dataclass(frozen=True, eq=False)
class KnownRows:
    """The known groups, and which of them each row is in."""

    columns: tuple[str, ...]
    groups: tuple[tuple[Value | None, ...], ...]  # (G,) a value of each column, None if missing
    of: Array  # (n,)

    def by_group(self, rules: Mixture) -> Mixture:
        """A mixture of rules with a model for each group, chosen by a row's group."""
        members, count = rules.members, len(self.groups)
        parameters = np.repeat(members.parameters, count, axis=0)
        parameters[:, 1] = np.tile(np.arange(count), len(rules))
        model = np.arange(len(parameters)).reshape(len(rules), count)
        at = np.zeros((*model.shape, score_count(len(rules.classes))))
        largest, draw = int(np.bincount(self.of).argmax()), rules.decider.draw
        assert draw is not None  # each member is a model
        decider = GroupThresholds(self.columns, self.groups, model, at, draw, largest)
        return replace(rules, members=replace(members, parameters=parameters), decider=decider)


def known_rows(compiled: Compiled, known: Sequence[str] | None) -> KnownRows | None:
    """The known groups of all rows, if there are columns that may be used."""
    return KnownRows(*known_groups(known, compiled)) if known else None
