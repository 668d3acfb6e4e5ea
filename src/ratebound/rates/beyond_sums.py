"""Objectives that are no sums of rates: the worst of several, means that punish a low one, divergences.

Only what can be solved is here (Narasimhan et al., 2019): concave functions to be maximised, convex ones
to be minimised, and the smallest or largest of sums and ratios. Words alone; what they come to on data,
and how they are solved, is in ``problem/reductions``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

from ratebound.base.checks import as_number
from ratebound.rates.expressions import Expression, Metric, OfScores, Rate, Ratio, SingleMetric, Top
from ratebound.rates.kinds import wanted
from ratebound.rates.naming import say
from ratebound.rates.ranges import Absolute
from ratebound.rates.subsets import Subset, Value

Sense = Literal["minimize", "maximize"]
CURVES = ("g_mean", "h_mean", "kl_divergence")
EXTREMES = ("smallest", "largest")


@dataclass(frozen=True, repr=False)
class Extreme(SingleMetric):
    """The smallest or the largest of several sums and ratios, such as the recall of the worst group.

    >>> from ratebound import recall
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
            f"{self.kind}(...) is an objective; as a promise it is one of each part: "
            f"{self.parts[0]} {'>=' if self.kind == 'smallest' else '<='} {other}, and so on"
        )


@dataclass(frozen=True, repr=False)
class Curve(SingleMetric):
    """A function of a few rates that bends one way: a mean that punishes a low rate, or a divergence."""

    rate: Rate  # its words

    @property
    def kind(self) -> str:
        """The name of the function."""
        return self.rate.kind

    @property
    def rates(self) -> tuple[Rate, ...]:
        return tuple(rate for part in self.parts() for rate in part.rates)

    @property
    def target(self) -> float | None:
        """Of a divergence, the share of yeses that it is measured from; None for that of the labels."""
        target = dict(self.rate.own).get("target")
        return None if target is None else float(target)

    def parts(self, classes: Sequence[Value] = ()) -> tuple[Expression, ...]:
        """The rates it is a function of; of several classes, one for each of `classes`.

        Of a divergence these are the shares decided, and then those aimed at where labels say them.
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
        raise TypeError(f"{self} is an objective and takes no bound: bound {self.parts()[0]}, say")


def smallest(*parts: Metric | Iterable[Metric]) -> Extreme:
    """The smallest of several rates, sums or ratios, to be maximised: the worst group at its best.

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
    >>> import ratebound as rb
    >>> print(rb.Problem(maximize=rb.smallest(rb.recall(race=r) for r in ("Black", "White"))))
    maximize smallest(recall(race == "Black"), recall(race == "White"))
    """
    return _extreme("smallest", parts)


def largest(*parts: Metric | Iterable[Metric]) -> Extreme:
    """The largest of several rates, sums or ratios, to be minimised: the worst group at its best.

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
    >>> import ratebound as rb
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
        raise ValueError(f"{kind} of nothing: give it rates, as in rb.{kind}(rb.recall(sex='Female'))")
    return Extreme(kind, tuple(dict.fromkeys(parts)))


def g_mean(*subset: Subset, **words: Any) -> Curve:
    """The geometric mean of the recall of every class, to be maximised: no class may be given up.

    Of two classes that is the root of recall times true negative rate.

    Parameters
    ----------
    *subset : Subset
        Conditions on rows, as rates take them. Without any, all rows count.
    **words : object
        Columns with their values, ``sex="Female"``, and the options of rates: ``of=`` for one class
        against all others, ``on=`` for another population, ``at=`` for another threshold.

    Returns
    -------
    Curve
        For ``maximize=`` of a `Problem`. It takes no bound: bound the recalls themselves.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.g_mean(sex="Female")
    g_mean(sex == "Female")
    """
    return _curve("g_mean", subset, words)


def h_mean(*subset: Subset, **words: Any) -> Curve:
    """The harmonic mean of the recall of every class, to be maximised: a low one counts most.

    Parameters
    ----------
    *subset : Subset
        Conditions on rows, as rates take them. Without any, all rows count.
    **words : object
        Columns with their values, and the options of rates, as for `g_mean`.

    Returns
    -------
    Curve
        For ``maximize=`` of a `Problem`. It takes no bound: bound the recalls themselves.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.h_mean(on="pool")
    h_mean(on="pool")
    """
    return _curve("h_mean", subset, words)


def kl_divergence(*subset: Subset, target: float | None = None, **words: Any) -> Curve:
    """How far the share of yeses is from a target, to be minimised: Kullback and Leibler's divergence.

    Parameters
    ----------
    *subset : Subset
        Conditions on rows, as rates take them. Without any, all rows count.
    target : float, default=None
        The share of yeses aimed at, between 0 and 1. By default that of the labels; of every class where
        there are more than two. So a model that decides as often as the labels do has 0.
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
    >>> import ratebound as rb
    >>> rb.kl_divergence(sex="Female", target=0.3)
    kl_divergence(sex == "Female", target=0.3)
    """
    if target is not None:
        target = as_number(target, "a share of yeses, as in kl_divergence(target=0.3)")
        if not 0 < target < 1:
            raise ValueError(f"kl_divergence: target= takes a share between 0 and 1, got {target!r}")
    return _curve("kl_divergence", subset, words, target)


def _curve(kind: str, subset: Any, words: dict[str, Any], target: float | None = None) -> Curve:
    metric = say("recall" if target is None else "positive_rate", *subset, **words)
    ((rate, _),) = metric.terms if isinstance(metric, Expression) else ()
    own: tuple[tuple[str, Value], ...] = () if target is None else (("target", target),)
    return Curve(replace(rate, kind=kind, own=own))


def check_objective(sense: Sense, metric: Metric) -> None:
    """Raise, with what to write, if an objective asks for the worst or its best cannot be found.

    >>> check_objective("maximize", g_mean())
    >>> check_objective("minimize", say("recall"))
    Traceback (most recent call last):
    ValueError: minimize recall(): more of it is better, so this asks for the worst. Write \
rb.Problem(maximize='recall()'), objective='maximize recall()' or --maximize 'recall()'
    >>> check_objective("maximize", kl_divergence())
    Traceback (most recent call last):
    ValueError: maximize kl_divergence(): it is convex, so what is the best among mixtures cannot be \
found step by step: write minimize=kl_divergence(...), or one problem for each of its parts
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
        raise TypeError(f"{metric} is written largest({inner}, {-inner}) where it is minimised")
    parts = metric.parts if isinstance(metric, Extreme) else (metric,)
    worse = "more" if sense == "minimize" else "less"
    if set().union(*map(wanted, parts)) == {worse}:
        other = "maximize" if sense == "minimize" else "minimize"
        words = repr(str(metric))
        raise ValueError(
            f"{sense} {metric}: {worse} of it is better, so this asks for the worst. Write "
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
            f"{sense} {metric}: it is {shape}, so what is the best among mixtures cannot be found step "
            f"by step: write {words}, or one problem for each of its parts"
        )
