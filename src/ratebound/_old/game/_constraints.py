"""User-defined constraints in a round: λ sees their values, and the model descends their proxies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.base.arrays import Array, as_numpy
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.general import Asked, Model, Modules, models_from, modules_of, number
from ratebound._old.rates.general import General


@dataclass(frozen=True, eq=False)
class Models:
    """The models of a round, as user-defined constraints see them."""

    modules: Modules | None = None  # of each setting; None if functions see only the scores
    whole: Any = None  # scores (K, A, n) of all rows, for constraints with `exact`


def own_values(
    compiled: Compiled, models: Models, scores: Any, rows: Array | None, relaxes: bool
) -> Array:
    """The values (K, g) of user-defined constraints, or of their proxies, in their own units.

    The λ-player sees 0 for a model whose scores are not finite; keeping iterates reports that.
    """
    asked = Asked(compiled, "proxy" if relaxes else "value")
    exact = [place for place, (_, each) in enumerate(compiled.general) if _is_exact(each.left)]
    count = _count(compiled, scores)
    own = np.zeros((count, len(compiled.general)))
    _ask(own, asked, models, scores, rows, [i for i in range(own.shape[1]) if i not in exact])
    if not exact:
        return own
    if rows is None:
        whole = scores
    elif models.whole is None:
        constraint = compiled.general[exact[0]][1]
        raise ValueError(
            f"{constraint}: with exact=True its value is computed on all rows: give each round their "
            "scores too, rounds(scores, rows, whole=scores_of_all_rows), or leave exact= out"
        )
    else:
        whole = models.whole
    _ask(own, asked, models, whole, None, exact)
    return own


def _ask(
    own: Array, asked: Asked, models: Models, scores: Any, rows: Array | None, only: list[int]
) -> None:
    """Fill in the columns `only` of values."""
    if not only:
        return
    each = models.modules or modules_of(None, len(own))
    with_scores = models_from(scores, _shape(asked.compiled, scores, len(own)))

    def answers(place: int, module: Any) -> list[float]:
        model: Model = with_scores(place, module)
        given = zip(only, asked.of(model, rows, only=only), strict=True)
        general = asked.compiled.general
        return [number(general[i][1], asked.part, answer, model.scores) for i, answer in given]

    own[:, only] = np.nan_to_num(np.array(each(answers), dtype=float))


def descended(
    compiled: Compiled, weights: Array, scores: Any, rows: Array | None, modules: Modules
) -> Any:
    """The sum of the proxies of user-defined constraints, times their weights (K, 1+m), in units."""
    asked, own = Asked(compiled, "proxy"), as_numpy(weights) / compiled.scale
    with_scores = models_from(scores, _shape(compiled, scores, len(own)))

    def weighed(place: int, module: Any) -> Any:
        answers = asked.of(with_scores(place, module), rows)
        factors = (own[place, 1 + row] for row, _ in compiled.general)
        # A NumPy number would turn a tensor into an array.
        plain = (float(each) if isinstance(each, np.generic) else each for each in factors)
        return sum(answer * factor for answer, factor in zip(answers, plain, strict=True))

    return sum(modules(weighed))


def _is_exact(metric: Any) -> bool:
    assert isinstance(metric, General)
    return metric.exact


def _count(compiled: Compiled, scores: Any) -> int:
    size = 1
    for length in scores.shape[:-1]:
        size *= int(length)
    return size // score_count(compiled.decisions)


def _shape(compiled: Compiled, scores: Any, count: int) -> tuple[int, int, int]:
    return count, score_count(compiled.decisions), int(scores.shape[-1])
