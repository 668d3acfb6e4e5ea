"""Rules decide without chance: each is a model and a threshold for every group.

Mixtures draw among them. Their scores are computed some rows at a time, so the exact rates of many rules
on rows on disk are counted in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Scorer
from ratebound._old.game.trace import AT_ONCE, NO_SETTING, Trace
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import rows_between
from ratebound._old.solution.deciders import Draw, GroupThresholds
from ratebound._old.solution.mixture import Mixture


@dataclass(frozen=True, eq=False)
class ThresholdRules:
    """M rules on the scores of models."""

    scorer: Scorer
    parameters: Array  # (B, P) of the models
    decider: GroupThresholds  # with M members

    def __len__(self) -> int:
        return len(self.decider.at)

    def scores(self, compiled: Compiled) -> Iterator[Array]:
        """Scores (M, A, b) of all rules, for some rows of a problem at a time, in order."""
        each = max(len(self), len(self.parameters)) * score_count(compiled.decisions)
        many, known = max(1, AT_ONCE // 4 // each), self.decider.columns
        for population in compiled.populations.values():
            for piece in population.pieces(known, inputs=True):
                columns = {name: piece.column(name) for name in known}
                for start in range(0, len(piece), many):
                    stop = min(start + many, len(piece))
                    X = rows_between(piece.X, start, stop)
                    own = {name: values[start:stop] for name, values in columns.items()}
                    yield self._each(self.scorer.scores(self.parameters, X), X, own)

    def _each(self, scores: Array, X: Any, columns: dict[str, Array]) -> Array:
        """The scores of the rules, from those of the models."""
        if self.decider.columns:
            return self.decider.member_scores(scores, X, columns)
        relative = scores[self.decider.model[:, 0]].astype(float)  # all rows are one group
        relative -= self.decider.at[:, 0, :, None]
        return relative

    def drawn(self, mixture: Mixture) -> Mixture:
        """The mixture of rules for a `mixture` whose parameters are the numbers of rules."""
        chosen = mixture.parameters[:, 0].astype(int)
        used, model = np.unique(self.decider.model[chosen], return_inverse=True)
        decider = replace(self.decider, model=model.reshape(len(chosen), -1), at=self.decider.at[chosen])
        scorer, parameters = self.scorer.kept(self.parameters[used])
        return replace(
            mixture,
            members=replace(mixture.members, parameters=parameters, scorer=scorer),
            decider=decider,
        )


def rules_of_candidates(trace: Trace) -> ThresholdRules:
    """The candidates of a trace, at their own thresholds."""
    unmoved = np.zeros((len(trace), score_count(len(trace.classes))))
    at = unmoved if trace.at is None else trace.at
    draw = Draw(feature_scale=trace.feature_scale)
    models, model = np.unique(trace.parameters, axis=0, return_inverse=True)  # at several thresholds
    decider = GroupThresholds((), ((),), model.reshape(-1, 1), at[:, None], draw)
    return ThresholdRules(trace.scorer, models, decider)


def rules_of_mixtures(mixtures: Sequence[Mixture]) -> ThresholdRules:
    """The rules that mixtures with the same known groups draw among."""
    models, start = [], 0
    deciders = [each.decider for each in mixtures if isinstance(each.decider, GroupThresholds)]
    for mixture, decider in zip(mixtures, deciders, strict=True):
        models.append(decider.model + start)
        start += len(mixture.parameters)
    decider = replace(
        deciders[0], model=np.concatenate(models), at=np.concatenate([one.at for one in deciders])
    )
    parameters = np.concatenate([mixture.parameters for mixture in mixtures])
    return ThresholdRules(mixtures[0].scorer, parameters, decider)


def numbered(trace: Trace, count: int) -> Trace:
    """A trace of `count` rules, whose parameters are their numbers and whose values are not known."""
    few = trace.only(np.zeros(count, dtype=int))
    setting, numbers = np.full(count, NO_SETTING), np.arange(count)[:, None]
    return replace(few, parameters=numbers, setting=setting, at=None)
