"""One model in place of a mixture, for when chance is unwanted, and what that costs in each promise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ratebound._old.base.layout import aligned
from ratebound._old.base.linear_program import kept, worst_violation
from ratebound._old.base.types import Array
from ratebound._old.game.trace import models_on
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.general import Model
from ratebound._old.rates.general import refuse_general
from ratebound._old.solution.mixture import Mixture, member
from ratebound._old.solution.solutions import best_by_rank
from ratebound._old.solution.status import status_there


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a model does on some rows; of a mixture, in expectation."""

    objective: float
    violations: Array  # (m,) feasible where <= 0


@dataclass(frozen=True, eq=False)
class Determined:
    """A model without chance, and how it compares with the mixture it stands in for; prints as a table.

    Parameters
    ----------
    model : Mixture
        One member, or all of them voting.
    before : Outcome
        The `objective` and the `violations` (m,) of the mixture, in expectation.
    after : Outcome
        The same for the model.
    scale : array of shape (m,) or float, default=1.0
        The constraints' units: 1 for rates, rows for counts.

    See Also
    --------
    determinize : Makes it.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> scores = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> people = rb.Population(scores, [0, 0, 1, 1])
    >>> problem = rb.Problem("error_rate()", ["positive_rate() <= 0.375"])
    >>> drawn = rb.thresholds(problem, scores[:, 0], people, known=[])
    >>> determined = rb.determinize(drawn, rb.compile(problem, people))
    >>> round(determined.before.objective, 4), round(determined.after.objective, 4)
    (0.125, 0.5)
    """

    model: Mixture
    before: Outcome
    after: Outcome
    scale: Array | float = 1.0  # (m,)

    def __str__(self) -> str:
        kind = "one model" if len(self.model) == 1 else self.model.decider.how
        rows, problem = [["", "before", "after", ""]], self.model.problem
        rows += [[problem.aim, f"{problem.shown(self.before.objective):.4f}",
                  f"{problem.shown(self.after.objective):.4f}", ""]]  # fmt: skip
        fine = kept(self.after.violations, self.scale)
        values = zip(
            self.model.constraints, self.before.violations, self.after.violations, fine, strict=True
        )
        for constraint, before, after, is_kept in values:
            verdict = "kept" if is_kept else "broken"
            rows += [[str(constraint), f"{before:+z.4f}", f"{after:+z.4f}", verdict]]
        lines = aligned(rows, right=[1, 2], ruled=False)
        return "\n".join([f"{kind} in place of the mixture; constraints are kept where <= 0", *lines])


def determinize(
    mixture: Any, compiled: Compiled, method: Literal["best", "vote"] = "best"
) -> Determined:
    """One model that decides without chance in place of `mixture`, judged on the rows of `compiled`.

    Either method may break promises that the mixture keeps: print what comes back to see which. The
    areas of `roc_auc` are taken at the thresholds their budgets allow on these rows.

    Parameters
    ----------
    mixture : Mixture or RateConstrainedClassifier
        What a solution or `rb.thresholds` gives, or a fitted estimator.
    compiled : Compiled
        The problem on the rows to judge by, as `rb.compile` gives it.
    method : {"best", "vote"}, default="best"
        "best" is the member with the lowest objective among the members that keep every constraint
        there; if none does, it is the member that `best_iterate` would rank first. "vote" says yes if
        the mixture's probability of yes is at least one half; of several classes it decides the
        likeliest. The default is the simpler to deploy and to explain: one model.

    Returns
    -------
    Determined
        The model, and objective and violations before and after.

    Examples
    --------
    >>> import numpy as np
    >>> import ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> people = rb.Population(X, X[:, 0] > 0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, people)
    >>> mixture = rb.shrink(rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None))
    >>> determined = rb.determinize(mixture, compiled, "vote")
    >>> print(determined)
    the members' vote in place of the mixture; constraints are kept where <= 0
                              before     after
    minimize error_rate()     0.2000    0.2500
    positive_rate() <= 0.3   +0.0000   -0.0500  kept
    >>> determined.model.predict([[1.0], [2.0]])
    array([False,  True])
    """
    mixture = getattr(mixture, "solution_", mixture)
    if not isinstance(mixture, Mixture) or not isinstance(compiled, Compiled):
        got = f"{type(mixture).__name__} and {type(compiled).__name__}"
        raise TypeError(
            f"determinize takes a mixture or a fitted estimator and what rb.compile gives, got {got}"
        )
    scale = compiled.scale[1:]
    if method == "best":
        objectives, violations, _ = compiled.measure(*_members(mixture, compiled))
        worst = worst_violation(violations, scale)
        model = member(mixture, best_by_rank(objectives, worst))
    elif method == "vote":
        remedy = "Take a member, method='best'."
        refuse_general(compiled.constraints, "a vote, which is not a single model,", remedy)
        model = _voting(mixture)
    else:
        raise ValueError(f"method must be 'best' or 'vote', got {method!r}")
    before, after = evaluate(mixture, compiled), evaluate(model, compiled)
    fine = "feasible: every constraint is kept on the rows that it was determinized on"
    status = status_there(compiled.constraints, after.violations, scale, fine)
    model = model.recorded(problem=compiled.problem, status=status, certificate=None)
    return Determined(model, before, after, scale)


def _voting(mixture: Mixture) -> Mixture:
    """The mixture as a vote; a vote of thresholds on one model is again thresholds."""
    weights, decider = mixture.decider.voting(mixture.weights)
    learned = mixture.thresholds if len(weights) == len(mixture) else {}
    members = replace(mixture.members, weights=weights, thresholds=learned)
    vote = replace(mixture, members=members, decider=decider)
    return vote.recorded(objectives={}, violations={}, certificate=None, prices=(), pool=None)


def evaluate(mixture: Mixture, compiled: Compiled) -> Outcome:
    """What a mixture does on the rows of `compiled`: the expectation over members, or their vote."""
    if mixture.decider.draw is not None:
        return Outcome(*compiled.expected(mixture.weights, *_members(mixture, compiled)))
    learned = [name for name in compiled.learnable if name not in compiled.budgets]
    if learned:
        raise ValueError(
            f"each member has learned its own threshold {learned[0]!r}, so they cannot vote at it: "
            "use method='best'"
        )
    pieces = (
        mixture.decider.choices(mixture.weights, scores)[1] for scores in _pieces(mixture, compiled)
    )
    objectives, violations = compiled.evaluate(pieces)
    return Outcome(float(objectives[0]), violations[0])


def outcomes_as_they_fall(
    mixture: Mixture, compiled: Compiled, salts: Iterable[int]
) -> Iterator[Outcome]:
    """The same for decisions as they fall by each of these salts, on rows with shared features."""

    def parts() -> Iterator[tuple[Array, Array, Any]]:
        for population in compiled.populations.values():
            for rows in population.pieces(mixture.decider.known, inputs=True):
                yield mixture.choices(rows.X, columns=rows.columns)

    models = _members(mixture, compiled)[2]  # whose own constraints do not depend on the draw
    in_memory = list(parts()) if compiled.all_in_memory else None
    for salt in salts:
        decider = mixture.decider.salted(salt)
        each = parts() if in_memory is None else in_memory
        pieces = (decider.as_they_fall(*part) for part in each)
        yield Outcome(*compiled.expected(mixture.weights, pieces, models=models))


def _members(
    mixture: Mixture, compiled: Compiled
) -> tuple[Iterator[Array] | Array, dict[str, Array], list[Model] | None]:
    """Scores of the members, the thresholds they have learned, and the models behind them."""
    learned = {n: values for n, values in mixture.thresholds.items() if n not in compiled.budgets}
    if not compiled.general:
        return _pieces(mixture, compiled), learned, None
    scores = np.concatenate(list(_pieces(mixture, compiled)), axis=-1)
    return scores, learned, models_on(compiled, mixture.scorer, mixture.parameters, scores)


def _pieces(mixture: Mixture, compiled: Compiled) -> Iterator[Array]:
    """Scores (M, A, b) of the members on all rows, some at a time."""
    for name, population in compiled.populations.items():
        if population.X is None:
            raise ValueError(f"population {name!r} has no features X, so no model can decide there")
    for population in compiled.populations.values():
        for rows in population.pieces(mixture.decider.known, inputs=True):
            yield mixture.scores_of_members(rows.X, rows.columns)
