"""Objectives that are not sums of rates: the smallest or largest of sums and ratios.

It only defines them; ``problem/reductions`` evaluates them on data and solves them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from ratebound._old.rates.expressions import Expression, Metric, OfScores, Rate, Ratio, SingleMetric, Top
from ratebound._old.rates.kinds import wanted
from ratebound._old.rates.ranges import Absolute

Sense = Literal["minimize", "maximize"]
EXTREMES = ("smallest", "largest")


@dataclass(frozen=True, repr=False)
class Extreme(SingleMetric):
    """The smallest or the largest of several sums and ratios, such as the recall of the worst group.

    >>> from ratebound._old import recall
    >>> smallest(recall(sex=s) for s in ("Female", "Male"))
    smallest(recall(sex == "Female"), recall(sex == "Male"))
    """

    kind: Literal["smallest", "largest"]
    parts: tuple[Expression | Ratio, ...]
    rate: None = None

    @property
    def rates(self) -> tuple[Rate, ...]:
        return tuple(dict.fromkeys(rate for part in self.parts for rate in part.rates))

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.parts))})"

    def _bound(self, other: Any) -> NoReturn:
        raise TypeError(
            f"{self.kind}(...) is an objective; as a promise, bound each part: "
            f"{self.parts[0]} {'>=' if self.kind == 'smallest' else '<='} {other}, and so on"
        )


def smallest(*parts: Metric | Iterable[Metric]) -> Extreme:
    """The smallest of several rates, sums or ratios. Maximise it to make the worst group best.

    Parameters
    ----------
    *parts : Expression or Ratio
        Rates, sums of rates and ratios; or one iterable of them.

    Returns
    -------
    Extreme
        For ``maximize=`` of a `Problem`. It takes no bound: as a promise, bound each part.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> print(rb.Problem(maximize=rb.smallest(rb.recall(race=r) for r in ("Black", "White"))))
    maximize smallest(recall(race == "Black"), recall(race == "White"))
    """
    return _extreme("smallest", parts)


def largest(*parts: Metric | Iterable[Metric]) -> Extreme:
    """The largest of several rates, sums or ratios. Minimise it to make the worst group best.

    Parameters
    ----------
    *parts : Expression or Ratio
        Rates, sums of rates and ratios; or one iterable of them.

    Returns
    -------
    Extreme
        For ``minimize=`` of a `Problem`. It takes no bound: as a promise, bound each part.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> worst = rb.largest(rb.error_rate(sex="Female"), rb.error_rate(sex="Male"))
    >>> print(rb.Problem(minimize=worst))
    minimize largest(error_rate(sex == "Female"), error_rate(sex == "Male"))
    """
    return _extreme("largest", parts)


def _extreme(kind: Literal["smallest", "largest"], given: Any) -> Extreme:
    if len(given) == 1 and isinstance(given[0], Iterable) and not isinstance(given[0], Metric):
        (given,) = given
    parts = tuple(given)
    for part in parts:
        if not isinstance(part, Expression | Ratio) or not part.rates:
            raise TypeError(
                f"{kind} takes rates, sums of rates and ratios such as rb.recall(sex='Female'), got "
                f"{part!r}"
            )
    if not parts:
        raise ValueError(f"{kind} got no rates: give it some, as in rb.{kind}(rb.recall(sex='Female'))")
    return Extreme(kind, tuple(dict.fromkeys(parts)))


def check_objective(sense: Sense, metric: Metric) -> None:
    """Raise, with what to write instead, if an objective asks for the worst model or cannot be solved.

    >>> from ratebound._old import accuracy, recall
    >>> check_objective("minimize", recall())
    Traceback (most recent call last):
    ValueError: minimize recall(): more of it is better, so this asks for the worst model. Write \
rb.Problem(maximize='recall()'), objective='maximize recall()' or --maximize 'recall()'
    >>> check_objective("maximize", largest(recall(), accuracy()))
    Traceback (most recent call last):
    ValueError: maximize largest(recall(), accuracy()): it is convex, and the best mixture for it \
cannot be computed: write maximize=smallest(...), or one problem for each of its parts
    """
    if isinstance(metric, OfScores):
        others = "minimise a sum of rates"
        if isinstance(metric, Top):
            others += (
                '; or name a threshold, maximize true_positives(at="short list") with the promise '
                f'predicted_positives(at="short list") <= {metric.rate.top}'
            )
        raise TypeError(
            f"{metric} cannot be an objective: bound it instead, as in {metric} {metric.example}, and "
            f"{others}"
        )
    if isinstance(metric, Absolute):
        inner = metric.expression
        raise TypeError(f"{metric} cannot be an objective: minimize largest({inner}, {-inner}) instead")
    parts = metric.parts if isinstance(metric, Extreme) else (metric,)
    worse = "more" if sense == "minimize" else "less"
    if set().union(*map(wanted, parts)) == {worse}:
        other = "maximize" if sense == "minimize" else "minimize"
        words = repr(str(metric))
        raise ValueError(
            f"{sense} {metric}: {worse} of it is better, so this asks for the worst model. Write "
            f"rb.Problem({other}={words}), objective={f'{other} {metric}'!r} or --{other} {words}"
        )
    bends = {"smallest": "maximize", "largest": "minimize"}
    if isinstance(metric, Extreme) and bends[metric.kind] != sense:
        shape = "convex" if sense == "maximize" else "concave"
        instead = {"smallest": "largest", "largest": "smallest"}[metric.kind]
        raise ValueError(
            f"{sense} {metric}: it is {shape}, and the best mixture for it cannot be computed: write "
            f"{sense}={instead}(...), or one problem for each of its parts"
        )
