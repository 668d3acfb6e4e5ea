"""The price of a promise: the objective as a function of its bound, in numbers and in a sentence.

It comes from a pool of candidates: a parametric linear program for each promise, in its own units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratebound._old.base.checks import check_number, check_word
from ratebound._old.base.layout import aligned
from ratebound._old.base.linear_program import TOLERANCE
from ratebound._old.base.parametric import curve
from ratebound._old.base.types import Array
from ratebound._old.game.programs import Pool
from ratebound._old.problem.problem import Problem, constraint_from_plain, constraint_to_plain
from ratebound._old.rates.expressions import Constraint, Ratio
from ratebound._old.rates.kinds import is_count
from ratebound._old.solution._checking import flag, numbers

PROGRAMS = 12  # solved for each price of a model: enough to draw it, few enough to save many prices
STEP = 0.01  # of a rate: how far a bound is moved for the sentence about its cost
TABLE = (-5, -2, -1, 0, 1, 2, 5)  # steps from the present bound at which the table has rows
NO_PRICE = 1e-9  # smaller prices count as zero


@dataclass(frozen=True, eq=False)
class Price:
    """What a promise costs: the best objective as a function of its bound, with all other promises kept.

    The bound is the number on the promise's right side. If that side has rates, as in ``recall(sex ==
    "Female") >= 0.95 * recall()``, the bound is what is added to them: 0 as written here. The objective
    is linear between two neighbouring `bounds`. Beyond the loosest it stays the same; a bound tighter
    than the tightest cannot be kept together with the other promises. It prints as a table.

    Parameters
    ----------
    constraint : Constraint
        The promise.
    objective : str
        What is minimised, in words.
    bounds : array of shape (B,)
        Bounds, ascending; empty if no bound can be kept with the other promises.
    objectives : array of shape (B,)
        The best objective at each.
    here : tuple of (float, float)
        The present bound, and the best objective there; infinite if the bound cannot be kept.
    slope : float
        The slope of the objective at the present bound, towards looser bounds; NaN if the bound cannot
        be kept.
    judged : dict of str to array, default={}
        The objective (B,) of the same mixtures on other rows, by their name.
    exact : bool, default=True
        Whether the objective bends only at `bounds`; otherwise it lies at or below the line between
        them.
    said : str, default=""
        The goal or range that was asked about, if it is several promises; `constraint` is the first of
        them. They move together, and a bound is how much each of them is loosened: 0 as written.

    See Also
    --------
    price : Makes it.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> bounds, objectives = np.array([0.8, 1.0]), np.array([0.1, 0.3])
    >>> promise, here = rb.recall() >= 0.9, (0.9, 0.2)
    >>> price = rb.Price(promise, "error_rate()", bounds, objectives, here, slope=1.0)
    >>> print(price.sentence)
    Raising the bound from 0.9 to 0.91 would cost 0.0100 of error_rate(); 0.89 would gain 0.0100.
    >>> round(price.at(0.95), 6), price.at(0.5), price.at(1.1)
    (0.25, 0.1, inf)
    """

    constraint: Constraint
    objective: str
    bounds: Array  # (B,)
    objectives: Array  # (B,)
    here: tuple[float, float]
    slope: float
    judged: dict[str, Array] = field(default_factory=dict)  # (B,)
    exact: bool = True
    said: str = ""

    @property
    def price(self) -> float:
        """What loosening the bound gains, per unit; the same as the estimator's ``prices_``."""
        return abs(self.slope)

    @property
    def tightest(self) -> float:
        """The tightest bound that can be kept; NaN if none can."""
        return float(self.bounds[-1 if self._rises else 0]) if len(self.bounds) else math.nan

    def at(self, bound: float) -> float:
        """The best objective at another bound.

        Parameters
        ----------
        bound : float
            The number on the right side.

        Returns
        -------
        float
            Infinite where the bound cannot be kept with the other promises.
        """
        check_number("bound", bound)
        return self._read(self.objectives, bound)

    def judged_at(self, bound: float, on: str) -> float:
        """The objective, on other rows, of the mixture that is best at this bound.

        Parameters
        ----------
        bound : float
            The number on the right side.
        on : str
            The name of the rows, one of `judged`.

        Returns
        -------
        float
            Infinite where the bound cannot be kept with the other promises.
        """
        check_number("bound", bound)
        check_word("on", on, self.judged)
        return self._read(self.judged[on], bound)

    def _read(self, values: Array, bound: float) -> float:
        if not len(self.bounds):
            return math.inf
        beyond = bound - self.tightest if self._rises else self.tightest - bound
        if beyond > NO_PRICE * max(1.0, abs(self.tightest)):
            return math.inf
        return float(np.interp(bound, self.bounds, values))

    @property
    def _rises(self) -> bool:
        """Whether a higher bound is tighter."""
        return not self.said and self.constraint.relation == ">="

    @property
    def step(self) -> float:
        """How far the bound is moved for the sentence: a hundredth, or for a count about as much."""
        if not any(map(is_count, self.constraint.rates)) or abs(self.here[0]) < 1:
            return STEP
        return float(f"{max(1.0, STEP * abs(self.here[0])):.1g}")

    @property
    def sentence(self) -> str:
        """What moving the bound a little would cost or gain."""
        bound, objective = self.here
        if not len(self.bounds):
            return "It has no price: the other promises cannot be kept together, whatever its bound."
        if not math.isfinite(objective):
            tightest = (
                f"{self._said(self.tightest)}, at {self.at(self.tightest):.4f} of {self.objective}"
            )
            return f"It cannot be kept with the others. The tightest bound that can is {tightest}."
        tight = self.step if self._rises else -self.step
        cost, gain = self.at(bound + tight) - objective, objective - self.at(bound - tight)
        up, down = ("Raising", "lowering") if self._rises else ("Lowering", "raising")
        moved = f"{up} the bound {self._moved(tight)}"
        if self.said:
            moved, down = f"Tightening all its bounds by {self.step:.6g}", "loosening"
        if math.isinf(cost):
            room = abs(self.tightest - bound)
            moved += " is impossible beside the other promises"
            moved += "" if room < NO_PRICE else f" (the tightest is {self._said(self.tightest)})"
        else:
            moved += f" would cost {_amount(cost)} of {self.objective}"
        gained = f"gain {_amount(gain)}" if gain > NO_PRICE else "gain nothing"
        back = (
            f"{down} {'them' if self.said else 'it'} as much"
            if self._relative
            else f"{bound - tight:.6g}"
        )
        return f"{moved}; {back} would {gained}."

    @property
    def _relative(self) -> bool:
        """Whether the right side has rates, so that a bound is an amount added to them."""
        return bool(self.said or self.constraint.right.terms)

    def _said(self, bound: float) -> str:
        if self.said:
            return f"{float(f'{bound:.4g}')} looser"
        return f"{self.constraint.right - self.constraint.right.constant + float(f'{bound:.4g}')}"

    def _moved(self, by: float) -> str:
        bound = self.here[0]
        return f"by {abs(by):.6g}" if self._relative else f"from {bound:.6g} to {bound + by:.6g}"

    def __str__(self) -> str:
        rows = [
            [
                "looser by" if self.said else "bound",
                self.objective,
                "change",
                *(f"on {name}" for name in self.judged),
            ]
        ]
        for bound in self._shown():
            value = self.at(bound)
            if math.isinf(value):
                rows.append([_bound(bound), "cannot be kept", "", *("" for _ in self.judged)])
                continue
            others = [f"{self.judged_at(bound, name):.4f}" for name in self.judged]
            change = round(value - self.here[1], 4) + 0.0  # never -0
            rows.append([_bound(bound), f"{value:.4f}", f"{change:+.4f}", *others])
            if math.isinf(self.here[1]):
                rows[-1][2] = ""
        table = aligned(rows, right=range(len(rows[0]))) if len(rows) > 1 else []
        note = "Added to the right side." if self._relative and table and not self.said else ""
        head = f"The price of {self.said or self.constraint}"
        return "\n".join([head, "", *table, *filter(None, [note]), "", self.sentence])

    def __repr__(self) -> str:
        return f"Price({self.said or self.constraint}: {self.sentence})"

    def _shown(self) -> list[float]:
        """The bounds of the table: some steps around the present one, up to the first infeasible one."""
        if not len(self.bounds):
            return []
        around = [round(self.here[0] + k * self.step, 12) for k in TABLE]
        if math.isinf(self.here[1]):
            return sorted({round(float(b), 6) for b in self.bounds[:: max(1, len(self.bounds) // 6)]})
        past = [b for b in around if math.isinf(self.at(b))]
        last = (min(past) if self._rises else max(past)) if past else None
        return [b for b in around if b not in past or b == last]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types; `from_dict` is the way back.

        Returns
        -------
        dict
            The fields by name; None stands for values that are not finite.
        """
        return {
            "constraint": constraint_to_plain(self.constraint),
            "objective": self.objective,
            "bounds": self.bounds.tolist(),
            "objectives": self.objectives.tolist(),
            "here": [value if math.isfinite(value) else None for value in self.here],
            "slope": self.slope if math.isfinite(self.slope) else None,
            "judged": {name: values.tolist() for name, values in self.judged.items()},
            "exact": self.exact,
            **({"said": self.said} if self.said else {}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Price:
        """The price that `to_dict` wrote, checked.

        Parameters
        ----------
        data : dict
            What `to_dict` gave.

        Returns
        -------
        Price
            The same.

        Raises
        ------
        ValueError
            If it is not what `to_dict` gave.
        """
        size = (len(data["bounds"]),)
        bounds = numbers(data["bounds"], size, "bounds of a price")
        if (np.diff(bounds) < 0).any():
            raise ValueError("the bounds of a price are not in order")
        bound, objective = (math.inf if value is None else float(value) for value in data["here"])
        return cls(
            constraint_from_plain(data["constraint"]),
            str(data["objective"]),
            bounds,
            numbers(data["objectives"], size, "objectives of a price"),
            (bound, objective),
            math.nan if data["slope"] is None else float(data["slope"]),
            {str(n): numbers(v, size, "judged objectives") for n, v in data["judged"].items()},
            flag(data["exact"]),
            str(data.get("said", "")),
        )


def _amount(value: float) -> str:
    """A difference of objectives: four digits after the point, more if these would show zero.

    >>> _amount(0.0123), _amount(0.00000456), _amount(0.0)
    ('0.0123', '0.0000046', 'nothing')
    """
    if abs(value) <= NO_PRICE:
        return "nothing"
    digits = 4 if abs(value) >= 0.00005 else 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{digits}f}"


def _bound(value: float) -> str:
    return f"{value + 0.0:.4f}" if abs(value) < 10 else f"{value:,.1f}"


# --- from a pool ------------------------------------------------------------------------------------


def price_in(
    pool: Pool, problem: Problem, promises: Sequence[int], programs: int = PROGRAMS, said: str = ""
) -> Price:
    """The price of one of a problem's promises, or of several that `said` names at once.

    They are counted from 0. At most so many `programs` are solved.
    """
    for constraint in (problem.constraints[promise] for promise in promises):
        if not isinstance(constraint.left, Ratio):
            continue
        raise ValueError(
            f"{constraint}: the price of a ratio is not known. A ratio is kept by "
            "cross-multiplying, and the candidates' denominators were not stored, so other bounds "
            "cannot be computed: train with each bound, or bound a rate instead"
        )
    rows = [_row(problem, promise) for promise in promises]
    scale = np.broadcast_to(np.asarray(pool.scale, dtype=float), pool.violations.shape[1])
    by_room = curve(pool.objectives, pool.violations / scale, pool.groups, rows, programs)
    unit = float(scale[rows[0]])
    paid = by_room.price / unit if pool.prices is None else float(pool.prices[rows].sum())
    constraint = problem.constraints[promises[0]]
    rises = not said and constraint.relation == ">="
    order = slice(None, None, -1) if rises else slice(None)
    bound = 0.0  # for several promises: how much all are loosened
    if not said:
        margin = float(np.broadcast_to(pool.margins, pool.violations.shape[1])[rows[0]])
        bound = constraint.right.constant + (margin if rises else -margin)
    objective = math.inf
    if len(by_room.rooms) and by_room.rooms[0] <= TOLERANCE:
        objective = float(np.interp(0.0, by_room.rooms, by_room.objectives))
    weights = by_room.weights[order]
    return Price(
        constraint=constraint,
        objective=str(problem.cost),
        bounds=bound + (-unit if rises else unit) * by_room.rooms[order],
        objectives=by_room.objectives[order],
        here=(bound, objective),
        slope=float(paid if rises else -paid),
        judged={name: weights @ values for name, values in pool.watched.items()},
        exact=by_room.exact,
        said=said,
    )


def _row(problem: Problem, promise: int) -> int:
    """The row of a compiled problem with this promise's bound; an area has others for its budgets."""
    return next(row for row, demand in enumerate(problem.demands) if demand.promise == promise)
