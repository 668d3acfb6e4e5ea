"""What promises cost: a parametric linear program over what the best mixture is chosen from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound.base.spelling import nearest
from ratebound.game.pool import Pool
from ratebound.game.trace import Trace
from ratebound.problem.counts import counting, rows_counted
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Constraint, Expression
from ratebound.solution._pricing import price_in
from ratebound.solution.mixture import Mixture
from ratebound.solution.price import Price
from ratebound.solution.solutions import values_on

EXACT = 500  # programs for the price of a trace, more than a curve ever took


def price(model: Any, constraint: Constraint | str, *, on: str = "train") -> Price:
    """What a promise costs: the best objective as a function of its bound, all other promises kept.

    An estimator's candidates are its iterates and the plain model at any threshold, so its curve and
    its `prices_` are about all of these; a trace has the iterates as they were kept.

    Parameters
    ----------
    model : Trace, RateConstrainedClassifier or Mixture
        A trace, a fitted estimator, or a model that an estimator has saved.
    constraint : Constraint or str
        One of its promises, in words or by its name.
    on : str, default="train"
        For a trace, the rows that the program is about: "train", those that bounds are kept on, or a
        watched population. The same mixtures are then judged on all the others.

    Returns
    -------
    Price
        It prints as a table and a sentence.

    Raises
    ------
    ValueError
        If there is no such promise, or the objective is no sum of rates.

    Examples
    --------
    >>> import numpy as np, ratebound as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> people = rb.Population(X, X[:, 0] > 0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> trace = rb.play(rb.compile(problem, people), rb.Linear(0.1), rounds=100, batch_size=None)
    >>> found = rb.price(trace, "positive_rate() <= 0.3")
    >>> print(found.sentence)
    Lowering the bound from 0.3 to 0.29 would cost 0.0100 of error_rate(); 0.31 would gain 0.0100.
    >>> round(found.price, 6), round(found.at(0.4), 6)
    (1.0, 0.1)
    """
    if isinstance(model, Trace):
        promise, own = find(model.problem, constraint), values_on(model, on)
        elsewhere = {name: values_on(model, name) for name in ("train", *model.watched) if name != on}
        pool = Pool(
            own.objectives,
            own.violations,
            np.zeros(len(model), dtype=int),
            own.scale,
            watched={name: values.objectives for name, values in elsewhere.items()},
        )
        return price_in(pool, model.problem, promise, EXACT)
    mixture = getattr(model, "solution_", model)
    if not isinstance(mixture, Mixture):
        raise TypeError(f"price takes a trace, a fitted estimator or a saved model, got {model!r}")
    if on != "train":
        raise ValueError(f"a model knows its prices on the rows trained on, not on {on!r}: give a trace")
    promise = find(mixture.problem, constraint)
    if mixture.record.pool is not None:
        return price_in(mixture.record.pool, mixture.problem, promise)
    wanted = mixture.problem.constraints[promise]
    for found in mixture.record.prices:
        if found.constraint == wanted:
            return found
    raise ValueError(f"this model holds no price of {wanted}: give rb.price the trace it comes from")


def find(problem: Problem, constraint: Constraint | str) -> int:
    """Which of a problem's promises is meant, counted from 0, by its words or its name.

    >>> find(Problem("error_rate()", ["recall() >= 0.9", "precision() >= 0.8"]), "precision() >= .8")
    1
    """
    if not isinstance(problem.objective, Expression):
        raise ValueError(
            f"prices are of sums of rates, and {problem.objective} is none: solve with each bound, or "
            "read what the next unit costs in prices_ of a fitted estimator"
        )
    promises = problem.constraints
    named = [i for i, promise in enumerate(promises) if str(constraint) in (str(promise), promise.name)]
    if named:
        return named[0]
    try:
        (wanted,) = problem.promising([constraint]).constraints
    except (ValueError, TypeError):
        wanted = None
    for form in () if wanted is None else (wanted, _counted(wanted, problem)):
        if form in promises:
            return promises.index(form)
    words = {str(promise) for promise in promises}
    known = "".join(f"\n  {each}" for each in sorted(words))
    raise ValueError(
        f"{constraint} is not among the promises{nearest(str(constraint), words)} There are:{known}"
    )


def _counted(constraint: Constraint, problem: Problem) -> Constraint:
    """The constraint with its counts out of as many rows as the problem's."""
    asked = problem.promising([constraint])
    return counting(asked, rows_counted(problem)).constraints[0]
