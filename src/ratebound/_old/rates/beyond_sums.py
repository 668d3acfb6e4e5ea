"""Objectives that are not sums of rates: the worst of several, means that punish a low rate, divergence.

This module holds only objectives that can be solved (Narasimhan et al., 2019): concave functions to
maximise, convex functions to minimise, and the smallest or largest of sums and ratios. It only defines
them; ``problem/reductions`` evaluates them on data and solves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

from ratebound._old.base.checks import as_number
from ratebound._old.rates.expressions import Expression, Metric, OfScores, Rate, Ratio, SingleMetric, Top
from ratebound._old.rates.kinds import wanted
from ratebound._old.rates.naming import say
from ratebound._old.rates.ranges import Absolute
from ratebound._old.rates.subsets import Subset, Value

Sense = Literal["minimize", "maximize"]
CURVES = ("g_mean", "h_mean", "kl_divergence")
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


@dataclass(frozen=True, repr=False)
class Curve(SingleMetric):
    """A concave or convex function of a few rates: a mean that punishes a low rate, or a divergence."""

    rate: Rate  # its name and options

    @property
    def kind(self) -> str:
        """The name of the function."""
        return self.rate.kind

    @property
    def rates(self) -> tuple[Rate, ...]:
        return tuple(rate for part in self.parts() for rate in part.rates)

    @property
    def target(self) -> float | None:
        """The positive rate that a divergence is measured from; None for the labels' prevalence."""
        target = dict(self.rate.own).get("target")
        return None if target is None else float(target)

    def parts(self, classes: Sequence[Value] = ()) -> tuple[Expression, ...]:
        """The rates it is a function of; for more than two classes, one rate for each of `classes`.

        A divergence has the shares of decisions first. If its target is the labels, their shares follow.
        """
        if self.kind == "kl_divergence":
            decided, label = ("positive_rate", "negative_rate"), "prevalence"
        else:
            decided, label = ("recall", "true_negative_rate"), ""
        plain = replace(self.rate, own=())
        if len(classes) > 2 and plain.of is None:
            each = [replace(plain, of=one) for one in classes]
            decisions = [replace(one, kind=decided[0]) for one in each]
            aimed = [replace(one, kind=label) for one in each]
        else:
            decisions = [replace(plain, kind=kind) for kind in decided]
            aimed = [replace(plain, kind=label)]
        labelled = self.kind == "kl_divergence" and self.target is None
        return tuple(Expression(((one, 1.0),)) for one in (*decisions, *(aimed if labelled else ())))

    def _bound(self, other: Any) -> NoReturn:
        raise TypeError(
            f"{self} is an objective and takes no bound: bound a rate, such as {self.parts()[0]}"
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


def g_mean(*subset: Subset, **words: Any) -> Curve:
    """The geometric mean of every class's recall, to maximise: it is 0 if any class is never found.

    For two classes it is the square root of recall times true negative rate.

    Parameters
    ----------
    *subset : Subset
        Conditions on rows, as for rates. Without any, all rows count.
    **words : object
        Columns with their values, ``sex="Female"``, and the options of rates: ``of=`` for one class
        against all others, ``on=`` for another population, ``at=`` for another threshold.

    Returns
    -------
    Curve
        For ``maximize=`` of a `Problem`. It takes no bound: bound the recalls themselves.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.g_mean(sex="Female")
    g_mean(sex == "Female")
    """
    return _curve("g_mean", subset, words)


def h_mean(*subset: Subset, **words: Any) -> Curve:
    """The harmonic mean of every class's recall, to maximise: the lowest recall counts most.

    Parameters
    ----------
    *subset : Subset
        Conditions on rows, as for rates. Without any, all rows count.
    **words : object
        Columns with their values, and the options of rates, as for `g_mean`.

    Returns
    -------
    Curve
        For ``maximize=`` of a `Problem`. It takes no bound: bound the recalls themselves.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.h_mean(on="pool")
    h_mean(on="pool")
    """
    return _curve("h_mean", subset, words)


def kl_divergence(*subset: Subset, target: float | None = None, **words: Any) -> Curve:
    """The Kullback-Leibler divergence of the positive rate from a target, to minimise.

    Parameters
    ----------
    *subset : Subset
        Conditions on rows, as for rates. Without any, all rows count.
    target : float, default=None
        The target positive rate, between 0 and 1. By default the target is the share of positive labels;
        for more than two classes, the share of each class. The divergence is 0 if the model decides for
        each class as often as the labels have it.
    **words : object
        Columns with their values, and the options of rates, as for `g_mean`.

    Returns
    -------
    Curve
        For ``minimize=`` of a `Problem`. It takes no bound: bound the rates themselves.

    Raises
    ------
    ValueError
        If `target` is not between 0 and 1.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.kl_divergence(sex="Female", target=0.3)
    kl_divergence(sex == "Female", target=0.3)
    """
    if target is not None:
        target = as_number(target, "a target rate, as in kl_divergence(target=0.3)")
        if not 0 < target < 1:
            raise ValueError(f"kl_divergence: target= takes a share between 0 and 1, got {target!r}")
    return _curve("kl_divergence", subset, words, target)


def _curve(kind: str, subset: Any, words: dict[str, Any], target: float | None = None) -> Curve:
    metric = say("recall" if target is None else "positive_rate", *subset, **words)
    ((rate, _),) = metric.terms if isinstance(metric, Expression) else ()
    own: tuple[tuple[str, Value], ...] = () if target is None else (("target", target),)
    return Curve(replace(rate, kind=kind, own=own))


def check_objective(sense: Sense, metric: Metric) -> None:
    """Raise, with what to write instead, if an objective asks for the worst model or cannot be solved.

    >>> check_objective("maximize", g_mean())
    >>> check_objective("minimize", say("recall"))
    Traceback (most recent call last):
    ValueError: minimize recall(): more of it is better, so this asks for the worst model. Write \
rb.Problem(maximize='recall()'), objective='maximize recall()' or --maximize 'recall()'
    >>> check_objective("maximize", kl_divergence())
    Traceback (most recent call last):
    ValueError: maximize kl_divergence(): it is convex, and the best mixture for it cannot be \
computed: write minimize=kl_divergence(...), or one problem for each of its parts
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
    bends = {"smallest": "maximize", "largest": "minimize", "g_mean": "maximize", "h_mean": "maximize",
             "kl_divergence": "minimize"}  # fmt: skip
    kind = metric.kind if isinstance(metric, Extreme | Curve) else ""
    if bends.get(kind, sense) != sense:
        shape = "convex" if sense == "maximize" else "concave"
        instead = {"smallest": "largest", "largest": "smallest"}.get(kind)
        words = f"{bends[kind]}={kind}(...)" if instead is None else f"{sense}={instead}(...)"
        raise ValueError(
            f"{sense} {metric}: it is {shape}, and the best mixture for it cannot be computed: write "
            f"{words}, or one problem for each of its parts"
        )
