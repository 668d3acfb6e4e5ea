"""What promises cost, by a parametric linear program over the candidates of the best mixture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ratebound._old.base.checks import nearest
from ratebound._old.game.programs import Pool
from ratebound._old.game.trace import Trace
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.spelling_out import counting, rows_counted
from ratebound._old.rates.expressions import Constraint, Expression
from ratebound._old.rates.grouping import Goal, Promise
from ratebound._old.rates.ranges import Range
from ratebound._old.rates.subsets import Compare, Missing, Name, Value, leaves
from ratebound._old.rates.text import parse
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.price import Price, price_in
from ratebound._old.solution.solutions import values_on

EXACT = 500  # programs for the price of a trace: more than any curve has needed


def price(model: Any, constraint: Any, *, on: str = "train") -> Price:
    """What a promise costs: the best objective as a function of its bound, with all other promises kept.

    Parameters
    ----------
    model : Trace or Mixture
        A trace, or a model whose record holds prices.
    constraint : Constraint, Range, Goal or str
        One of its promises, in words or by its name, also as a list of one. A goal or a range is several
        promises, whose bounds move together.
    on : str, default="train"
        For a trace, the rows of the program: "train", on which bounds are kept, or a watched population.
        The same mixtures are then judged on all the others.

    Returns
    -------
    Price
        It prints as a table and a sentence.

    Raises
    ------
    ValueError
        If there is no such promise, or the objective is not a sum of rates.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> people = rb.Population(X, X[:, 0] > 0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> trace = rb.play(rb.compile(problem, people), rb.Linear(0.1), rounds=100, batch_size=None)
    >>> price = rb.price(trace, "positive_rate() <= 0.3")
    >>> print(price.sentence)
    Lowering the bound from 0.3 to 0.29 would cost 0.0100 of error_rate(); 0.31 would gain 0.0100.
    >>> round(price.price, 6), round(price.at(0.4), 6)
    (1.0, 0.1)
    """
    if isinstance(constraint, list | tuple):
        constraint = _the_only(constraint)
    if isinstance(model, Trace):
        (promises, said), own = find(model.problem, constraint), values_on(model, on)
        on_others = {name: values_on(model, name) for name in ("train", *model.watched) if name != on}
        pool = Pool(
            own.objectives,
            own.violations,
            np.zeros(len(model), dtype=int),
            own.scale,
            watched={name: values.objectives for name, values in on_others.items()},
        )
        return price_in(pool, model.problem, promises, EXACT, said)
    if not isinstance(model, Mixture):
        raise TypeError(f"price takes a trace or a saved model, got {model!r}")
    if on != "train":
        raise ValueError(f"a model knows its prices on the rows trained on, not on {on!r}: give a trace")
    promises, said = find(model.problem, constraint)
    if said:
        each = "".join(f"\n  {model.problem.constraints[promise]}" for promise in promises)
        raise ValueError(f"a saved model holds prices one by one, so ask for one of {said}:{each}")
    wanted = model.problem.constraints[promises[0]]
    for saved in model.record.prices:
        if saved.constraint == wanted:
            return saved
    raise ValueError(f"this model holds no price of {wanted}: give rb.price the trace it comes from")


def _the_only(constraints: Sequence[Any]) -> Any:
    if len(constraints) != 1:
        raise ValueError(
            f"a price belongs to one promise, but {len(constraints)} were given: ask for each, "
            "[rb.price(model, promise) for promise in promises]"
        )
    return constraints[0]


def find(problem: Problem, constraint: Promise | Range | str) -> tuple[list[int], str]:
    """The numbers of the problem's promises that are meant, from 0, by their words or name.

    If a goal or a range is several promises, its words too.

    >>> promises = ["recall() >= 0.9", "0.1 <= positive_rate() <= 0.2"]
    >>> problem = Problem("error_rate()", promises)
    >>> find(problem, "recall() >= .9"), find(problem, "0.1 <= positive_rate() <= .2")
    (([0], ''), ([1, 2], '0.1 <= positive_rate() <= 0.2'))
    """
    if not isinstance(problem.objective, Expression):
        raise ValueError(
            f"prices need an objective that is a sum of rates, and {problem.objective} is not: solve "
            "with each bound"
        )
    promises = problem.constraints
    named = [i for i, promise in enumerate(promises) if str(constraint) in (str(promise), promise.name)]
    if named:
        return named[:1], ""
    try:
        asked = parse(constraint) if isinstance(constraint, str) else constraint
        wanted = _spelled_out(asked, problem)
    except (ValueError, TypeError):
        asked, wanted = None, []
    for forms in (wanted, [_counted(each, problem) for each in wanted]):
        places = [promises.index(each) for each in forms if each in promises]
        if places and len(places) == len(forms):
            return places, str(asked) if len(places) > 1 else ""
    words = {str(promise) for promise in promises}
    listed = "".join(f"\n  {each}" for each in sorted(words))
    raise ValueError(
        f"{constraint} is not among the promises{nearest(str(constraint), words)} There are:{listed}"
    )


def _spelled_out(asked: Promise | Range, problem: Problem) -> list[Constraint]:
    """A promise's constraints; for a goal on a column, one for each value that the promises name."""
    if not isinstance(asked, Goal):
        return list(problem.promising([asked]).constraints)
    crossed: dict[tuple[Name, ...], dict[tuple[Value | None, ...], None]] = {
        n: {} for n in asked.crossed
    }
    for rate in (rate for promise in problem.constraints for rate in promise.rates):
        values: dict[Name, Value | None] = {}
        for leaf in leaves(rate.subset):
            if isinstance(leaf, Missing):
                values[leaf.column] = None
            elif isinstance(leaf, Compare) and leaf.relation == "==":
                values[leaf.column] = leaf.value
        for names, combinations in crossed.items():
            if all(name in values for name in names):
                combinations[tuple(values[name] for name in names)] = None
    return asked.constraints({names: list(combinations) for names, combinations in crossed.items()})


def _counted(constraint: Constraint, problem: Problem) -> Constraint:
    """The constraint with its counts out of as many rows as in the problem."""
    promised = problem.promising([constraint])
    return counting(promised, rows_counted(problem)).constraints[0]
