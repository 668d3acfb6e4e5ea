"""A problem: what to minimise or maximise, and the promises to keep. Data enters at `compile`.

Files hold problems as plain data, with sums term by term, so that their length is not limited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

from ratebound._old.base.checks import as_number
from ratebound._old.rates.beyond_sums import Sense, check_objective
from ratebound._old.rates.costs import cost_columns
from ratebound._old.rates.demands import Demand, demands
from ratebound._old.rates.expressions import (
    FLIPPED,
    Constraint,
    Expression,
    Metric,
    MixedSum,
    Rate,
    Ratio,
    SingleMetric,
)
from ratebound._old.rates.general import General, general
from ratebound._old.rates.grouping import Goal, Promise
from ratebound._old.rates.kinds import wanted
from ratebound._old.rates.ranges import Parity, Range
from ratebound._old.rates.reach import check_reach
from ratebound._old.rates.subsets import Name, columns_in, only_decided
from ratebound._old.rates.text import parse, parse_objective, read_rate

Promises = Iterable["Promise | Range | str | Promises"]
Asked: TypeAlias = "Problem | Promise | Range | str | Promises"  # promises alone: minimise errors
GROUPS_NAMED = 10  # how many excluded groups a sentence names

SENSES: dict[str, Sense] = {
    "minimize": "minimize", "minimise": "minimize", "maximize": "maximize", "maximise": "maximize"
}  # fmt: skip


@dataclass(frozen=True)
class LeftOut:
    """A group that a goal's ``min_rows=`` leaves out, so nothing is promised about it."""

    goal: str
    group: str
    rows: int  # to count on

    def __str__(self) -> str:
        return f"{self.group} ({self.rows:,})"


def left_out_words(groups: Sequence[LeftOut]) -> str:
    """A sentence that names the first groups left out.

    >>> left_out_words([LeftOut("minimum_recall(race, at_least=0.9, min_rows=30)", 'race == "B"', 12)])
    'Nothing is promised of groups that had too few rows to count on for min_rows=: race == "B" (12).'
    """
    named = ", ".join(map(str, groups[:GROUPS_NAMED]))
    more = f" and {len(groups) - GROUPS_NAMED:,} more" if len(groups) > GROUPS_NAMED else ""
    few = "groups that had too few rows to count on for min_rows="
    return f"Nothing is promised of {few}: {named}{more}."


@dataclass(frozen=True, init=False)
class Problem:
    """Minimise or maximise an objective subject to promises; all may be given as text.

    A goal on the values of a column stays as written until `compile` sees rows. In arrays, the objective
    is always minimised: to maximise is to minimise the negative. A mixture reports the objective as
    asked.

    Parameters
    ----------
    minimize : Expression, Ratio or str, default=None
        The quantity to minimise: a rate, a sum of rates, a ratio, or an objective such as `largest`.
        Give this or `maximize`. There is no default, so nobody optimises what they did not ask for.
    subject_to : iterable, default=()
        The promises: constraints, ranges, goals and texts, in lists or nested lists, as goals return
        them. By default none.
    maximize : Expression, Ratio or str, default=None
        The quantity to maximise.

    Attributes
    ----------
    objective : Expression, Ratio or other objective
        The quantity that is minimised or maximised.
    sense : {"minimize", "maximize"}
        Which of the two.
    subject_to : tuple of Constraint, Goal or Parity
        The promises, one by one.
    left_out : tuple of LeftOut
        The groups that goals leave out with ``min_rows=``, once compiled on rows.

    Raises
    ------
    TypeError
        If there is no objective, or there are two.
    ValueError
        If a text cannot be read; if no model could keep a promise; if the best mixture for the objective
        cannot be computed; or if the objective asks for the worst: to minimise a rate of which more is
        better, such as recall, or to maximise one of which less is better.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> fair = rb.equal_opportunity({"sex": ("Female", "Male")}, ratio=0.95)
    >>> print(rb.Problem(minimize=rb.error_rate(), subject_to=[fair, "positive_rate() <= 0.2"]))
    minimize error_rate()
    subject to
      recall(sex == "Female") >= 0.95 * recall()
      recall(sex == "Male") >= 0.95 * recall()
      positive_rate() <= 0.2
    """

    objective: Metric
    sense: Sense
    subject_to: tuple[Promise, ...]
    left_out: tuple[LeftOut, ...] = field(default=(), compare=False, repr=False)

    def __init__(
        self,
        minimize: Metric | str | None = None,
        subject_to: Promises = (),
        *,
        maximize: Metric | str | None = None,
    ) -> None:
        if (minimize is None) == (maximize is None):
            raise TypeError("a problem has one objective: give minimize= or maximize=, not both")
        sense: Sense = "minimize" if maximize is None else "maximize"
        objective = _objective(sense, minimize if maximize is None else maximize)
        self._state(sense, objective, subject_to)

    def _state(self, sense: Sense, objective: Metric, subject_to: Promises) -> None:
        object.__setattr__(self, "sense", sense)
        object.__setattr__(self, "left_out", ())
        object.__setattr__(self, "objective", objective)
        try:
            object.__setattr__(self, "subject_to", tuple(_flatten(subject_to)))
        except RecursionError:
            raise ValueError("subject_to holds itself, or lists in lists without end") from None
        for promise in self.subject_to:
            if isinstance(promise, Constraint):
                check_reach(promise)
        names = Counter(each.name for each in general(self.subject_to))
        for name, times in names.items():
            if times > 1:
                raise ValueError(
                    f"{name}: {times} user-defined constraints have this name, by which reports and "
                    "files identify them: give each its own name="
                )

    @property
    def aim(self) -> str:
        """The objective with its sense, in words.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> rb.Problem(maximize="recall()").aim
        'maximize recall()'
        """
        return f"{self.sense} {self.objective}"

    @property
    def cost(self) -> Expression:
        """The sum of rates that is minimised.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> rb.Problem(maximize="recall()").cost
        -recall()
        """
        assert isinstance(self.objective, Expression), f"{self.objective} is not a sum of rates"
        return self.objective if self.sense == "minimize" else -self.objective

    def shown(self, objective: Any) -> Any:
        """A minimised objective in the sense of the problem.

        Parameters
        ----------
        objective : float or array
            The objective as arrays hold it.

        Returns
        -------
        float or array
            The same, or its negative if the problem maximises.
        """
        return objective if self.sense == "minimize" else -objective

    def promising(self, subject_to: Promises) -> Problem:
        """The same objective with other promises.

        Parameters
        ----------
        subject_to : iterable
            The new promises.

        Returns
        -------
        Problem
            The new problem.
        """
        return self.derived(self.objective, subject_to)

    def leaving_out(self, groups: Iterable[LeftOut]) -> Problem:
        """The same problem, with groups that its goals leave out.

        Parameters
        ----------
        groups : iterable of LeftOut
            The groups, in addition to the ones already left out.

        Returns
        -------
        Problem
            The new problem.
        """
        problem = self.promising(self.subject_to)
        object.__setattr__(problem, "left_out", tuple(dict.fromkeys([*self.left_out, *groups])))
        return problem

    def derived(
        self, objective: Metric, subject_to: Promises = (), sense: Sense | None = None
    ) -> Problem:
        """A problem that is solved or reported on the way to solving this one.

        Parameters
        ----------
        objective : Expression, Ratio or other objective
            The objective. A part of it may have a sense that nobody would ask for by itself, so that is
            not refused here.
        subject_to : iterable, default=()
            The promises. By default none.
        sense : {"minimize", "maximize"}, default=None
            The sense. By default this problem's.

        Returns
        -------
        Problem
            The other problem.
        """
        problem = Problem.__new__(Problem)
        problem._state(self.sense if sense is None else sense, objective, subject_to)
        object.__setattr__(problem, "left_out", self.left_out)
        return problem

    @staticmethod
    def stated(objective: Metric | str | Problem, subject_to: Promises = ()) -> Problem:
        """A problem from another's objective, or from a text that may begin with its sense.

        Parameters
        ----------
        objective : Problem, Expression, Ratio or str
            A text may begin with "minimize" or "maximize". A sum without either is minimised if less of
            some part of it is better, as with errors; anything else must say.
        subject_to : iterable, default=()
            The promises. By default none.

        Returns
        -------
        Problem
            The problem.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> print(rb.Problem.stated("maximize recall()", ["false_positive_rate() <= 0.1"]))
        maximize recall()
        subject to
          false_positive_rate() <= 0.1
        """
        from ratebound._bridge import accept

        objective = accept(objective)
        if isinstance(objective, Problem):
            return objective.promising(subject_to)
        sense, metric = "minimize", objective
        if isinstance(objective, str):
            word, _, rest = objective.strip().partition(" ")
            if word.lower() in SENSES:
                sense, metric = SENSES[word.lower()], rest
            else:
                metric = objective = parse_objective(objective)
        if metric is objective and isinstance(metric, Metric):
            by_itself = "less" in wanted(metric) and _minimised_by_itself(metric)
            if not by_itself and wanted(metric) != {"more"}:  # which is refused with a remedy
                raise ValueError(
                    f"{metric}: say whether to minimize or maximize it, as in "
                    f"{f'minimize {metric}'!r} or {f'maximize {metric}'!r}"
                )
        return Problem(subject_to=subject_to, **cast(dict[str, Any], {sense: metric}))

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Every rate in it, once."""
        of_promises = [rate for promise in self.subject_to for rate in promise.rates]
        return tuple(dict.fromkeys([*self.objective.rates, *of_promises]))

    @property
    def columns(self) -> tuple[Name, ...]:
        """Every column that a condition, a cost or a goal uses, once.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> promises = ["recall(age < 40) >= 0.9", "equalized_odds(sex, ratio=0.9)"]
        >>> rb.Problem("error_rate()", promises).columns
        ('age', 'sex')
        """
        goals = [name for goal in self.subject_to if isinstance(goal, Goal) for name in goal.columns]
        own = (name for r in self.rates for name in (*columns_in(r.subset), *cost_columns(r)))
        return tuple(dict.fromkeys([*own, *goals]))

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints in `subject_to` once its goals are spelled out, as in ``compiled.problem``."""
        for promise in self.subject_to:
            if isinstance(promise, Goal):
                raise ValueError(
                    f"{promise}: its groups are not known before there are rows: "
                    "rb.compile(problem, rows).problem has its constraints"
                )
            if isinstance(promise, Parity):
                raise ValueError(
                    f"{promise}: the best level for it is not known before there is a model: "
                    "rb.RateConstrainedClassifier searches for it; for a game write two constraints "
                    "with a number between the two ratios"
                )
        return tuple(promise for promise in self.subject_to if isinstance(promise, Constraint))

    @property
    def leveled(self) -> tuple[Ratio, ...]:
        """The ratios that others are compared with, each at a level that must be searched for."""
        return tuple(dict.fromkeys(p.right for p in self.subject_to if isinstance(p, Parity)))

    def at_levels(self, levels: Mapping[Ratio, float | None]) -> Problem:
        """The problem with every ratio that others are compared with at a level.

        Parameters
        ----------
        levels : mapping
            From each ratio in `leveled` to its level; None leaves out the promises that compare with it.

        Returns
        -------
        Problem
            Each such promise becomes two, each between a ratio and a number.
        """
        promises: list[Promise] = []
        for promise in self.subject_to:
            if not isinstance(promise, Parity):
                promises.append(promise)
            elif (level := levels[promise.right]) is not None:
                promises += [each for each in promise.at(level) if each not in promises]
        return self.promising(promises)

    @property
    def asked(self) -> Problem:
        """The problem without levels: comparisons of ratios as they were asked for.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> fair = rb.Problem("error_rate()", ['precision(sex == "Female") >= 0.95 * precision()'])
        >>> fair.at_levels({fair.leveled[0]: 0.5}).asked == fair
        True
        """
        promises: list[Promise] = []
        for promise in self.subject_to:
            asked = promise.keeps if isinstance(promise, Constraint) else None
            if asked is None or asked not in promises:  # it became several promises
                promises.append(promise if asked is None else asked)
        return self.promising(promises)

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """The demands of the promises on plain rates, in order; each is one row once compiled."""
        promises = enumerate(self.constraints)
        return tuple(demand for index, promise in promises for demand in demands(promise, index))

    def __str__(self) -> str:
        promises = "".join(f"\n  {constraint}" for constraint in self.subject_to)
        return self.aim + (f"\nsubject to{promises}" if promises else "")


def _objective(sense: Sense, given: Any) -> Metric:
    from ratebound._bridge import accept

    given = accept(given)
    if isinstance(given, str):
        given = parse_objective(given)
    if not isinstance(given, Metric):
        raise TypeError(f"{sense} takes an expression of rates, got {given!r}")
    check_objective(sense, given)
    if not given.rates:
        raise TypeError(f"{sense} takes an expression of rates, got {given!r}")
    return given


def promised(promises: Asked, maximize: Any = None, minimize: Any = None) -> Problem:
    """The problem with these promises; it minimises errors unless another objective is given.

    >>> print(promised("recall() >= 0.9"))
    minimize error_rate()
    subject to
      recall() >= 0.9
    """
    from ratebound._bridge import accept

    promises = accept(promises)
    if isinstance(promises, Problem):
        if maximize is not None or minimize is not None:
            raise TypeError("a problem has its own objective: leave maximize= and minimize= out")
        return promises
    if maximize is None and minimize is None:
        minimize = "error_rate()"
    return Problem(minimize, [promises], maximize=maximize)


def as_problem(asker: str, given: Asked) -> Problem:
    """The problem given to `asker`, or promises alone, as `RateConstrainedClassifier` takes them.

    >>> as_problem("audit", 3)
    Traceback (most recent call last):
    TypeError: audit takes promises first, such as "recall() >= 0.9", or a rb.Problem, got int
    """
    from ratebound._bridge import accept

    given = accept(given)
    if isinstance(given, str | Problem | Constraint | Goal | Range | Parity | list | tuple):
        return promised(given)
    raise TypeError(
        f'{asker} takes promises first, such as "recall() >= 0.9", or a rb.Problem, '
        f"got {type(given).__name__}"
    )


def _minimised_by_itself(metric: Metric) -> bool:
    """Whether it is minimised by default, because less of it is better."""
    if isinstance(metric, Ratio):
        return metric.rate is not None and only_decided(metric.rate.subset)[0]
    return isinstance(metric, Expression | MixedSum)


def _flatten(promises: Promises | Promise | Range | str) -> Iterable[Promise]:
    from ratebound._bridge import accept

    promises = accept(promises)
    if isinstance(promises, Goal) and not promises.columns:
        yield from promises.constraints({})
    elif isinstance(promises, Range):
        yield from promises.constraints
    elif isinstance(promises, Constraint | Goal | Parity):
        yield promises
    elif isinstance(promises, str):
        yield from _flatten(parse(promises))
    elif isinstance(promises, Iterable):
        for promise in promises:
            yield from _flatten(promise)
    else:
        remedy = "; == and != only test whether two rates are the same" * isinstance(promises, bool)
        if isinstance(promises, Problem):
            remedy = "; a problem is passed as objective=, with its constraints"
        raise TypeError(
            f"subject_to takes constraints such as recall() >= 0.9, got {promises!r}{remedy}"
        )


def to_plain(problem: Problem) -> dict[str, Any]:
    """The problem as plain data for JSON.

    >>> to_plain(Problem("error_rate()", ["precision() >= 0.8"]))["subject_to"]
    [{'left': 'precision()', 'relation': '>=', 'right': {'terms': [], 'constant': 0.8}, 'name': ''}]
    """
    promises = [
        promise_to_plain(each)
        for each in (problem.subject_to if problem.leveled else problem.constraints)
        if isinstance(each, Constraint | Parity)
    ]
    plain = {problem.sense: _side(problem.objective), "subject_to": promises}
    left_out = [vars(group) for group in problem.left_out]
    return plain | ({"left_out": left_out} if left_out else {})


def from_plain(data: dict[str, Any]) -> Problem:
    """The problem that `to_plain` wrote."""
    promises = [promise_from_plain(promise) for promise in data["subject_to"]]
    sense = "maximize" if "maximize" in data else "minimize"
    objective: dict[str, Any] = {sense: _read(data[sense])}
    problem = Problem(subject_to=promises, **objective)
    return problem.leaving_out(map(_left_out, data.get("left_out", ())))


def _left_out(data: dict[str, Any]) -> LeftOut:
    if type(data["rows"]) is not int or not all(isinstance(data[k], str) for k in ("goal", "group")):
        raise ValueError(f"a group left out is not in the expected form: {str(data)[:200]}")
    return LeftOut(data["goal"], data["group"], data["rows"])


def promise_to_plain(promise: Constraint | Parity) -> dict[str, Any]:
    """A promise of either kind as plain data for JSON."""
    return _ratios(promise) if isinstance(promise, Parity) else constraint_to_plain(promise)


def promise_from_plain(data: dict[str, Any]) -> Constraint | Parity:
    """The promise that `promise_to_plain` wrote."""
    return constraint_from_plain(data) if "name" in data else _parity(data)


def constraint_to_plain(constraint: Constraint) -> dict[str, Any]:
    """One promise as plain data for JSON."""
    return {
        "left": _side(constraint.left),
        "relation": constraint.relation,
        "right": _side(constraint.right),
        "name": constraint.name,
        **({} if constraint.keeps is None else {"keeps": _ratios(constraint.keeps)}),
    }


def constraint_from_plain(data: dict[str, Any]) -> Constraint:
    """The promise that `constraint_to_plain` wrote."""
    left, right = _read(data["left"]), _read(data["right"])
    if data["relation"] not in (("<=",) if isinstance(left, General) else ("<=", ">=")):
        raise ValueError(f"a promise compares by {data['relation']!r}, not by <= or >=")
    if not isinstance(right, Expression) or not isinstance(data["name"], str):
        raise ValueError(f"a promise is not in the expected form: {str(data)[:200]}")
    keeps = _parity(data["keeps"]) if "keeps" in data else None
    return Constraint(left, data["relation"], right, data["name"], keeps=keeps)


def _ratios(parity: Parity) -> dict[str, Any]:
    return {"left": _side(parity.left), "relation": parity.relation, "right": _side(parity.right)}


def _parity(data: dict[str, Any]) -> Parity:
    left, right = _read(data["left"]), _read(data["right"])
    if not isinstance(left, Ratio) or not isinstance(right, Ratio) or data["relation"] not in FLIPPED:
        raise ValueError(f"{str(data)[:200]} does not compare two ratios")
    return Parity(left, data["relation"], right)


def _side(side: Metric) -> str | dict[str, Any]:
    if isinstance(side, General):  # files do not hold its functions
        on = {} if side.on is None else {"on": side.on}
        return {"general": side.name, "scale": side.scale, **on}
    if isinstance(side, Ratio) and side.rate is not None and side.factor != 1.0:
        return {"factor": side.factor, "of": str(side.rate)}
    if isinstance(side, Ratio) and side.rate is None:
        return {"numerator": _side(side.numerator), "denominator": _side(side.denominator)}
    if isinstance(side, MixedSum):
        return {"ratio": _side(side.ratio), "rest": _side(side.rest)}
    if isinstance(side, SingleMetric):
        return str(side)
    assert isinstance(side, Expression)
    return {"terms": [[c, str(rate)] for rate, c in side.terms], "constant": side.constant}


def _read(side: Any) -> Metric:
    if isinstance(side, str):
        metric = read_rate(side)
        if not isinstance(metric, SingleMetric):
            raise ValueError(f"{side[:200]} is not a ratio, an area or a rate of the top")
        return metric
    if "general" in side:
        return _general(side)
    if "factor" in side:
        ratio = read_rate(side["of"])
        if not isinstance(ratio, Ratio):
            raise ValueError(f"{str(side)[:200]} is not a multiple of a ratio")
        multiple: Ratio = ratio * as_number(side["factor"], "a factor")
        return multiple
    if "ratio" in side:
        ratio, rest = _read(side["ratio"]), _read(side["rest"])
        if isinstance(ratio, Ratio) and isinstance(rest, Expression):
            return MixedSum(ratio, rest)
        raise ValueError(f"{str(side)[:200]} is not a sum of a ratio and rates")
    if "numerator" in side:
        numerator, denominator = _read(side["numerator"]), _read(side["denominator"])
        if isinstance(numerator, Expression) and isinstance(denominator, Expression):
            return Ratio(numerator, denominator)
        raise ValueError(f"{str(side)[:200]} is not a ratio of sums")
    terms = []
    for coefficient, words in side["terms"]:
        rate = read_rate(words)
        if not isinstance(rate, Expression):
            raise ValueError(f"{words[:200]} is not a term of a sum")
        ((one, _),) = rate.terms
        terms.append((one, as_number(coefficient, "a coefficient")))
    return Expression(tuple(terms), as_number(side["constant"], "a constant"))


def _general(side: dict[str, Any]) -> General:
    """A user-defined constraint as read from a file: a name without functions."""
    name, on, scale = side["general"], side.get("on"), as_number(side["scale"], "a scale")
    if not isinstance(name, str) or not isinstance(on, str | None) or scale <= 0:
        raise ValueError(f"{str(side)[:200]} is not a user-defined constraint")
    return General(name, None, None, on=on, scale=scale)
