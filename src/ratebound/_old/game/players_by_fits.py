"""λ-players for oracles, whose every answer is a whole fit, so few are affordable.

For λ >= 0 the dual is the best value of the Lagrangian, d(λ) = min_θ f(θ) + λ·g(θ). It is concave, and
the answers so far bound it from above, d(λ) <= min_t f_t + λ·g_t. Each answer to a λ also gives a lower
bound on the objective of any mixture that keeps the constraints. The duality gap is their difference.

Cutting planes: the dual is least known at the λ where that upper bound is largest. The next λ is between
it and the best λ so far (Wentges' smoothing). If an answer brings nothing new at its own λ, the next λ
is the maximum of the bound itself. If that brings nothing new either, the best mixture of the answers is
optimal. A grid does not move: its multipliers are fixed in advance, and each is answered once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import numpy as np

from ratebound._old.base.arrays import Array, as_like, namespace
from ratebound._old.base.checks import check_number, check_whole
from ratebound._old.base.linear_program import worst_violation
from ratebound._old.base.simplex import least_fined
from ratebound._old.base.solver import Unsolved, solve, weights_of
from ratebound._old.game.players import (
    Averaging,
    ExternalRegret,
    LearningRate,
    Multipliers,
    Optimizer,
    Player,
)

LEAST_WEIGHT = 1e-6  # of the objective; dividing by less leaves few digits of a bound
FEW = 30  # constraints, up to which programs are solved by a simplex method of our own
NEW = 1e-12  # by how much a new answer must beat the others to bring anything new


@dataclass(frozen=True)
class Answers:
    """All fits so far, round by round, in the units of games."""

    values: Array  # (N, 1+m) the objective and violations of each fit
    tried: Array  # (N, 1+m) the weights that each fit answered

    def __len__(self) -> int:
        return len(self.values)

    def and_also(self, values: Array, weights: Array) -> Answers:
        """The answers with one more round: fits with `values` (K, 1+m) to `weights` (K, 1+m)."""
        return Answers(np.vstack([self.values, values]), np.vstack([self.tried, weights]))

    def best(self, weights: Array) -> Array:
        """Which fit answers each setting's weights (K, 1+m) best, (K,): the latest, or one before it.

        An oracle need not be exact, so an earlier fit may have a lower Lagrangian at these weights.
        """
        settings = len(weights)
        fits = np.arange(len(self)).reshape(-1, settings).T  # (K, rounds)
        lagrangians = (self.values[fits] @ weights[:, :, None])[:, :, 0]
        beaten = lagrangians.min(axis=1) < lagrangians[:, -1] - NEW
        earlier = fits[np.arange(settings), lagrangians.argmin(axis=1)]
        best: Array = np.where(beaten, earlier, fits[:, -1])
        return best

    def gap(self, radius: float) -> float:
        """At most how far the best mixture is from the optimum, with violations fined by `radius`."""
        inside = self.tried[:, 1:].sum(axis=1) <= radius * self.tried[:, 0] * (1 + 1e-9)
        lower = lower_bounds(self.values, self.tried[inside]).max(initial=-np.inf)
        return elastic(self.values, radius).value - float(lower)


def no_answers(constraints: int) -> Answers:
    """The answers before the first round."""
    none = np.empty((0, 1 + constraints))
    return Answers(none, none)


@dataclass(frozen=True)
class Elastic:
    """The best mixture of iterates if violations are allowed at a price."""

    value: float  # objective + radius · worst violation
    weights: Array  # (1+m,) 1 and the prices of the constraints
    shares: Array = field(repr=False)  # (N,) of the iterates


def elastic(values: Array, radius: float) -> Elastic:
    """The best mixture of iterates with `values` (N, 1+m); a worst violation t is fined by radius · t.

    Its prices are the λ, with Σλ <= radius, at which the upper bound on the dual is largest:

        min_{p, t >= 0}  f·p + radius·t   with  Gᵀp <= t,  Σp = 1

    >>> elastic(np.array([[0.1, 0.2], [0.5, -0.2]]), radius=10.0)
    Elastic(value=0.3, weights=array([1., 1.]))
    """
    count, m = len(values), values.shape[1] - 1
    if m == 0:
        best = np.arange(count) == values[:, 0].argmin()
        return Elastic(float(values.min()), np.ones(1), best.astype(float))
    few = least_fined(values, radius) if m <= FEW else None
    if few is not None:
        value = few[0] @ values[:, 0] + radius * worst_violation(few[0] @ values[:, 1:])
        return Elastic(float(value), np.append(1.0, few[1]), few[0])
    A = np.column_stack([values[:, 1:].T, -np.ones(m)])
    try:
        solved = solve(np.append(values[:, 0], radius), A, np.zeros(m), np.zeros(count, dtype=int))
    except Unsolved:  # then the best single iterate, without prices
        fined = values[:, 0] + radius * worst_violation(values[:, 1:])
        alone = (np.arange(count) == fined.argmin()).astype(float)
        return Elastic(float(fined.min()), np.eye(1 + m)[0], alone)
    weights = weights_of(solved, np.zeros(count, dtype=int))
    value = weights @ values[:, 0] + radius * worst_violation(weights @ values[:, 1:])
    return Elastic(float(value), np.append(1.0, solved.prices), weights)


def lower_bounds(values: Array, tried: Array) -> Array:
    """A lower bound on the objective of any mixture that keeps the constraints, for each of `tried`.

    By weak duality: for such a mixture λ·g <= 0, so its objective is at least the Lagrangian's minimum
    over all models, taken here over models with `values` (N, 1+m). The weights `tried` are (T, 1+m). The
    bound is -inf if the objective hardly counts.

    >>> lower_bounds(np.array([[0.1, 0.2], [0.5, -0.2]]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([0.1, 0.3])
    """
    least = (tried @ values.T).min(axis=1)
    counts = tried[:, 0] >= LEAST_WEIGHT
    return np.where(counts, least / np.where(counts, tried[:, 0], 1.0), -np.inf)


@dataclass(frozen=True)
class CuttingPlane(Player):
    """Moves to the multipliers at which the fits so far say least, for `rb.Oracle`.

    Parameters
    ----------
    radius : float, default=100.0
        The bound on the sum of the multipliers: the most that a violation may cost, in units of the
        objective. At the default, a rate that is one point off costs as much as an error on every row.
    smoothing : float, default=0.5
        How close the next multipliers stay to the best so far, from 0 up to 1. The default goes half the
        way, since bounds from few fits can be far off.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> values = np.array([[0.1, 0.2], [0.5, -0.2]])  # the objective and violation of two fits
    >>> rb.CuttingPlane().next(values, np.array([[1.0, 0.0], [1.0, 100.0]]))
    array([1. , 0.5])
    """

    radius: float = 100.0
    smoothing: float = 0.5

    by_fits: ClassVar[bool] = True
    averaging: ClassVar[Averaging] = "all fits"  # its moves depend on all fits, not on one answer

    def __post_init__(self) -> None:
        check_number("radius", self.radius, above=0)
        check_number("smoothing", self.smoothing, least=0, below=1)

    @property
    def reach(self) -> float:
        return self.radius

    def start(self, constraints: int, **_: Any) -> Multipliers:
        """Start with all weight on the objective; there is one setting.

        Parameters
        ----------
        constraints : int
            The number m of constraints.
        **_ : object
            Arguments of other players; not used.

        Returns
        -------
        Multipliers
            The first weights, (1, 1+m).
        """
        weights = np.eye(1 + constraints)[:1]
        return Multipliers(weights, weights)

    def step(self, multipliers: Multipliers, violations: Array) -> NoReturn:
        raise ValueError("rb.CuttingPlane moves by whole fits: play it with rb.Oracle(estimator)")

    def after(self, multipliers: Multipliers, answers: Answers) -> Multipliers:
        weights = self.next(answers.values, answers.tried)[None]
        return Multipliers(weights, weights)

    def next(self, values: Array, tried: Array) -> Array:
        """The weights to try next.

        Parameters
        ----------
        values : array of shape (N, 1+m)
            The objective and violations of the fits so far.
        tried : array of shape (N, 1+m)
            The weights that each fit answered.

        Returns
        -------
        array of shape (1+m,)
            The next weights.
        """
        prices = elastic(values, self.radius).weights
        best = tried[np.argmax(lower_bounds(values, tried))]
        at_last = values @ tried[-1]
        told = at_last[-1] < at_last[:-1].min(initial=np.inf) - NEW
        stay = self.smoothing if told else 0.0
        return stay * best + (1 - stay) * prices


DECADES = 4  # the range of the sums of the multipliers, below the radius


@dataclass(frozen=True)
class Grid(ExternalRegret):
    """Multipliers at `points` fixed points; each point is a setting that never moves.

    The first point is 0. The sums of the others are spaced geometrically over four decades up to
    `radius`, since prices differ by orders of magnitude. A low-discrepancy sequence divides each sum
    among the constraints. `rb.Oracle` answers all points in one round, in parallel.

    Parameters
    ----------
    points : int, default=32
        The number of points, each of which takes a fit. The default is enough for a few constraints; for
        many, a player that moves is better.
    radius : float, default=10.0
        The largest sum of the multipliers, in units of the objective. Points far out would be spent on
        models that only keep promises, so it is less than for other players.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.Grid(points=4, radius=10.0).start(constraints=1).weights[:, 1].round(6).tolist()
    [0.0, 0.001, 0.1, 10.0]
    """

    points: int = 32
    radius: float = field(default=10.0, kw_only=True)
    learning_rate: LearningRate = field(default=1.0, init=False, repr=False)
    optimizer: Optimizer = field(default="sgd", init=False, repr=False)

    fits: ClassVar[int | None] = 1  # each point is answered once

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("points", self.points)

    @property
    def settings(self) -> int:
        return self.points

    def start(
        self,
        constraints: int,
        *,
        settings: int | None = None,
        like: Array | None = None,
        rounds: int | None = None,
        bound: float | None = None,
    ) -> Multipliers:
        """The multipliers of every point.

        Parameters
        ----------
        constraints : int
            The number m of constraints.
        settings : int, default=None
            Not used: each point is a setting.
        like : array, default=None
            An array whose kind and device to use. By default NumPy's.
        rounds : int, default=None
            Not used: the points do not move.
        bound : float, default=None
            Not used.

        Returns
        -------
        Multipliers
            The weights, (points, 1+m).
        """
        from scipy.stats import qmc

        state = np.zeros((self.points, constraints))
        if constraints and self.points > 1:
            sums = self.radius * np.logspace(-DECADES, 0, self.points - 1)
            halton = qmc.Halton(constraints, scramble=False).fast_forward(1)  # skips its first point, 0
            shares = -np.log(halton.random(self.points - 1))  # uniform over the simplex, once normalised
            state[1:] = sums[:, None] * shares / shares.sum(axis=1, keepdims=True)
        if like is not None and namespace(like) is not np:
            state = as_like(state, like.new_empty(0, dtype=namespace(like).float64))
        return Multipliers(self._weights(state), state)

    def step(self, multipliers: Multipliers, violations: Array) -> Multipliers:
        """The same multipliers, for any violations.

        Parameters
        ----------
        multipliers : Multipliers
            The current multipliers.
        violations : array of shape (..., m)
            Not used.

        Returns
        -------
        Multipliers
            The same multipliers.
        """
        return multipliers
