"""The λ-players, which set the weight of each constraint.

A player starts, and then responds to violations with new multipliers. It knows nothing about rates or
models, so it works with any objective and constraints, in any loop::

    player = SwapRegret(learning_rate=0.1)
    multipliers = player.start(constraints=2)
    for ...:
        weights = multipliers.weights              # (1+m,): the objective's weight first
        ...descend  weights @ [objective, *proxy constraints]
        multipliers = player.step(multipliers, violations)        # (m,), feasible where <= 0

All arrays may have leading axes (one row per setting), and may be NumPy arrays or torch tensors.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from ratebound._old.base.arrays import Array, as_like, count_to, descending, namespace
from ratebound._old.base.checks import check_number, check_word
from ratebound._old.base.parameters import Adjustable
from ratebound._old.kernels.swap import (
    adam_direction,
    adam_factors,
    raised,
    stationary_distribution,
    stepped,
    within_reach,
    worth_compiling,
)

if TYPE_CHECKING:
    from ratebound._old.game.players_by_fits import Answers

Rates = float | tuple[float, ...]
Optimizer = Literal["sgd", "adam"]
# How `rb.average` weighs iterates. The iterates that answered the multipliers count equally ("alike") or
# by the objective's weight; or all fits of an oracle count equally, answers or not ("all fits").
Averaging = Literal["alike", "by objective", "all fits"]
LearningRate = float | Sequence[float] | Literal["theorem"]


@dataclass(frozen=True)
class Multipliers:
    """The state of a λ-player between steps.

    Parameters
    ----------
    weights : array of shape (..., 1+m)
        The weight of the objective, then of each constraint.
    state : array
        λ itself (..., m), or the swap matrix (..., 1+m, 1+m).
    moments : tuple of two arrays, default=None
        Adam's moments. By default none, as before the first step.
    steps : int, default=0
        The number of steps taken. By default 0.
    rate : array or float, default=0.0
        The learning rate, one per setting if there are several. By default 0, as for players without
        steps.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.SwapRegret().start(constraints=1).weights
    array([0.5, 0.5])
    """

    weights: Array
    state: Array
    moments: tuple[Array, Array] | None = None
    steps: int = 0
    rate: Array | float = 0.0


class Player(Adjustable, ABC):
    """A player of λ: what it sees, how it starts and moves, and how its iterates are averaged.

    The base of all players, including your own: subclass it with `start` and `step`.

    Attributes
    ----------
    watches : {"rates", "proxies"}
        What `step` sees: true rates, or the proxies that the model descends.
    averaging : {"alike", "by objective", "all fits"}
        How `average` weighs its iterates.
    by_fits : bool
        Whether it needs the whole fits of an oracle.
    fits : int or None
        The number of rounds with an oracle; None for any number.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> class Fixed(rb.Player):
    ...     def start(self, constraints, *, settings=None, **_):
    ...         weights = np.ones((settings or 1, 1 + constraints))
    ...         return rb.Multipliers(weights, weights)
    ...
    ...     def step(self, multipliers, violations):
    ...         return multipliers
    >>> Fixed().start(constraints=2).weights
    array([[1., 1., 1.]])
    """

    watches: ClassVar[Literal["rates", "proxies"]] = "rates"  # what `step` sees
    averaging: ClassVar[Averaging] = "alike"
    by_fits: ClassVar[bool] = False  # whether it needs the whole fits of an oracle
    fits: ClassVar[int | None] = None  # the number of rounds with an oracle; None for any number

    @property
    def settings(self) -> int:
        """The number of settings it plays side by side."""
        return 1

    @property
    def reach(self) -> float:
        """The largest total weight of the constraints if the objective's weight is 1; for the gap."""
        return 100.0

    @property
    def needs_bound(self) -> bool:
        """Whether `start` needs to know `rounds` and `bound`."""
        return False

    def bound(self, sizes: Array) -> float:
        """The bound that it needs on all violations, given a bound on each: their 2-norm.

        Parameters
        ----------
        sizes : array of shape (m,)
            A bound on each violation that it sees.

        Returns
        -------
        float
            The bound.
        """
        return float(np.linalg.norm(sizes))

    @abstractmethod
    def start(
        self,
        constraints: int,
        *,
        settings: int | None = None,
        like: Array | None = None,
        rounds: int | None = None,
        bound: float | None = None,
    ) -> Multipliers:
        """The first multipliers.

        Parameters
        ----------
        constraints : int
            The number m of constraints.
        settings : int, default=None
            The number of settings, played side by side. By default one, without its own axis.
        like : array, default=None
            An array whose kind and device to use. By default NumPy's.
        rounds : int, default=None
            The number of rounds to come; needed only for the theorems' step sizes.
        bound : float, default=None
            A bound on the size of the violations; needed only for the theorems' step sizes.

        Returns
        -------
        Multipliers
            The state before the first step.
        """

    @abstractmethod
    def step(self, multipliers: Multipliers, violations: Array) -> Multipliers:
        """Multipliers after seeing violations.

        Parameters
        ----------
        multipliers : Multipliers
            The multipliers that led to the violations.
        violations : array of shape (..., m)
            The violation of each constraint, feasible if <= 0.

        Returns
        -------
        Multipliers
            The next multipliers.
        """

    def after(self, multipliers: Multipliers, answers: Answers) -> Multipliers:
        """Multipliers after an oracle's answers: a step by the violations of the best answer.

        Parameters
        ----------
        multipliers : Multipliers
            The multipliers that the last fit answers.
        answers : Answers
            All fits so far, with their `values` and the weights they `tried`.

        Returns
        -------
        Multipliers
            The next multipliers.
        """
        return self.step(multipliers, answers.values[answers.best(multipliers.weights), 1:])


@dataclass(frozen=True)
class Ascending(Player):
    """A player that takes gradient steps, by SGD or Adam."""

    learning_rate: LearningRate = 0.01
    optimizer: Optimizer = "adam"

    def __post_init__(self) -> None:
        check_word("optimizer", self.optimizer, get_args(Optimizer))
        if not self.needs_bound:
            checked_rates(self.learning_rate)
        elif self.optimizer != "sgd":
            raise ValueError("learning_rate='theorem' is the step of optimizer='sgd'")

    @property
    def settings(self) -> int:
        return 1 if self.needs_bound else settings_of(self.learning_rate)

    @property
    def needs_bound(self) -> bool:
        return isinstance(self.learning_rate, str) and self.learning_rate == "theorem"

    @abstractmethod
    def theorem_rate(self, constraints: int, rounds: int, bound: float) -> float:
        """The step size of the player's theorem.

        Parameters
        ----------
        constraints : int
            The number m of constraints.
        rounds : int
            The number T of rounds.
        bound : float
            The bound B on the violations.

        Returns
        -------
        float
            The step size.
        """

    @abstractmethod
    def _initial_state(self, constraints: int) -> Array:
        """The state before the first step."""

    @abstractmethod
    def _weights(self, state: Array, near: Array | None = None) -> Array:
        """The weights (..., 1+m) of a state, perhaps `near` those of the last one."""

    def start(
        self,
        constraints: int,
        *,
        settings: int | None = None,
        like: Array | None = None,
        rounds: int | None = None,
        bound: float | None = None,
    ) -> Multipliers:
        rate: Any = None if self.needs_bound else checked_rates(self.learning_rate)
        if rate is None:
            if rounds is None or bound is None:
                raise ValueError("learning_rate='theorem' needs rounds= and bound= at start")
            rate = self.theorem_rate(constraints, rounds, bound)
        state = self._initial_state(constraints)
        if settings is not None:
            state = np.tile(state, (settings,) + (1,) * state.ndim)
            rate = np.zeros(settings) + np.asarray(rate, dtype=float)
            rate = rate.reshape((settings,) + (1,) * (state.ndim - 1))
        elif isinstance(rate, tuple):
            raise ValueError("several learning rates need settings= at start")
        if like is not None and namespace(like) is not np:
            double = like.new_empty(0, dtype=namespace(like).float64)
            state, rate = as_like(state, double), as_like(rate, double)
        return Multipliers(self._weights(state), state, None, 0, rate)

    def step(self, multipliers: Multipliers, violations: Array) -> Multipliers:
        gradient = self._gradient(multipliers, _checked(violations, multipliers))
        steps = multipliers.steps + 1
        moments = multipliers.moments
        if self.optimizer == "adam":
            gradient, moments = adam_direction(gradient, moments, steps)
        state = self._moved(multipliers.state, multipliers.rate * gradient)
        weights = self._weights(state, multipliers.weights)
        return Multipliers(weights, state, moments, steps, multipliers.rate)

    @abstractmethod
    def _gradient(self, multipliers: Multipliers, violations: Array) -> Array:
        """The direction of ascent for these violations, in the shape of the state."""

    @abstractmethod
    def _moved(self, state: Array, ascent: Array) -> Array:
        """The feasible state that a step leads to."""


@dataclass(frozen=True)
class ExternalRegret(Ascending):
    """Projected gradient ascent on the true rates, within the 1-norm ball of `radius` (Algorithm 4).

    Parameters
    ----------
    learning_rate : float, sequence of float or "theorem", default=0.01
        The size of a step; several mean several settings, played side by side. The default suits Adam's
        steps. "theorem" is the step of the player's theorem, for ``optimizer="sgd"``, which needs the
        number of rounds and a bound on violations at the start.
    optimizer : {"adam", "sgd"}, default="adam"
        How steps are taken. Adam's steps have one size whatever the constraints' units, so it needs less
        tuning; the theorems hold for "sgd".
    radius : float, default=100.0
        The bound on the sum of the multipliers: the most that a violation may cost, in units of the
        objective. At the default, a rate that is one point off costs as much as an error on every row.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> player = rb.ExternalRegret(learning_rate=0.5, optimizer="sgd")
    >>> multipliers = player.start(constraints=2)
    >>> player.step(multipliers, np.array([0.2, -0.1])).weights
    array([1. , 0.1, 0. ])
    """

    radius: float = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("radius", self.radius, above=0)

    @property
    def reach(self) -> float:
        return self.radius

    def theorem_rate(self, constraints: int, rounds: int, bound: float) -> float:
        """The step size R / (B √(2T)), where B is a bound on the 2-norm of the violations.

        Parameters
        ----------
        constraints : int
            The number m of constraints.
        rounds : int
            The number T of rounds.
        bound : float
            The bound B on the violations.

        Returns
        -------
        float
            The step size.
        """
        return self.radius / (bound * math.sqrt(2 * rounds))

    def _initial_state(self, constraints: int) -> Array:
        return np.zeros(constraints)

    def _weights(self, state: Array, near: Array | None = None) -> Array:
        xp = namespace(state)
        return xp.concatenate([xp.ones_like(state.sum(-1))[..., None], state], -1)

    def _gradient(self, multipliers: Multipliers, violations: Array) -> Array:
        return violations

    def _moved(self, state: Array, ascent: Array) -> Array:
        return project_onto_ball(state + ascent, self.radius)


@dataclass(frozen=True)
class Lagrangian(ExternalRegret):
    """Like `ExternalRegret`, but it sees the proxies: both players relaxed (Algorithm 5, the baseline).

    Parameters
    ----------
    learning_rate : float, sequence of float or "theorem", default=0.01
        The size of a step; several mean several settings, played side by side. The default suits Adam's
        steps. "theorem" is the step of the player's theorem, for ``optimizer="sgd"``, which needs the
        number of rounds and a bound on violations at the start.
    optimizer : {"adam", "sgd"}, default="adam"
        How steps are taken. Adam's steps have one size whatever the constraints' units, so it needs less
        tuning; the theorems hold for "sgd".
    radius : float, default=100.0
        The bound on the sum of the multipliers: the most that a violation may cost, in units of the
        objective. At the default, a rate that is one point off costs as much as an error on every row.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.Lagrangian(learning_rate=0.001).watches
    'proxies'
    """

    watches: ClassVar[Literal["rates", "proxies"]] = "proxies"


@dataclass(frozen=True)
class SwapRegret(Ascending):
    """Multiplicative updates of a left-stochastic matrix, whose fixed point is λ (Algorithm 3).

    With ``optimizer="adam"`` the theorem does not apply: the swap-regret bound is proved for "sgd" only.

    Parameters
    ----------
    learning_rate : float, sequence of float or "theorem", default=0.01
        The size of a step; several mean several settings, played side by side. The default suits Adam's
        steps. "theorem" is the step of the player's theorem, for ``optimizer="sgd"``, which needs the
        number of rounds and a bound on violations at the start.
    optimizer : {"adam", "sgd"}, default="adam"
        How steps are taken. Adam's steps have one size whatever the constraints' units, so it needs less
        tuning; the theorems hold for "sgd".
    objective_weight : float, default=None
        The objective's weight at the start, between 0 and 1; the constraints share the rest. By default
        the matrix starts uniform, as in the paper, so the weight is 1/(m+1).

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> player = rb.SwapRegret(learning_rate=1.0, optimizer="sgd")
    >>> multipliers = player.start(constraints=1)
    >>> multipliers.weights
    array([0.5, 0.5])
    >>> player.step(multipliers, np.array([0.4])).weights.round(3)
    array([0.45, 0.55])
    """

    objective_weight: float | None = None

    averaging: ClassVar[Averaging] = "by objective"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective_weight is not None:
            check_number("objective_weight", self.objective_weight, above=0, below=1)

    def bound(self, sizes: Array) -> float:
        """The largest of the bounds on violations.

        Parameters
        ----------
        sizes : array of shape (m,)
            A bound on each violation that it sees.

        Returns
        -------
        float
            The bound.
        """
        return float(sizes.max())

    def theorem_rate(self, constraints: int, rounds: int, bound: float) -> float:
        """The step size √((m+1) ln(m+1) / (T B²)), where B is a bound on the largest violation.

        Parameters
        ----------
        constraints : int
            The number m of constraints.
        rounds : int
            The number T of rounds.
        bound : float
            The bound B on the violations.

        Returns
        -------
        float
            The step size.
        """
        size = constraints + 1
        return math.sqrt(size * math.log(size) / (rounds * bound**2))

    def _initial_state(self, constraints: int) -> Array:
        size = constraints + 1
        column = np.full(size, 1.0 / size)
        if self.objective_weight is not None and constraints:
            column[0] = self.objective_weight
            column[1:] = (1 - self.objective_weight) / constraints
        return np.tile(column[:, None], (1, size))

    def _weights(self, state: Array, near: Array | None = None) -> Array:
        return stationary_distribution(state, near)

    def step(self, multipliers: Multipliers, violations: Array) -> Multipliers:
        state, weights, rate = multipliers.state, multipliers.weights, multipliers.rate
        if not worth_compiling(state):
            return super().step(multipliers, violations)
        shown = _with_objective(_checked(violations, multipliers), weights)
        adam = self.optimizer == "adam"
        if not within_reach(weights, shown, rate, adam):
            return super().step(multipliers, violations)
        steps = multipliers.steps + 1
        factors = adam_factors(steps) if adam else None
        state, weights, moments = stepped(state, weights, shown, rate, multipliers.moments, factors)
        return Multipliers(weights, state, moments, steps, rate)

    def _gradient(self, multipliers: Multipliers, violations: Array) -> Array:
        shown = _with_objective(violations, multipliers.weights)
        return shown[..., :, None] * multipliers.weights[..., None, :]

    def _moved(self, state: Array, ascent: Array) -> Array:
        return raised(state, ascent)


def _checked(violations: Array, multipliers: Multipliers) -> Array:
    """Violations as an array of the multipliers' kind; there must be one per constraint."""
    constraints = multipliers.weights.shape[-1] - 1
    if violations.shape[-1] != constraints:
        raise ValueError(f"{violations.shape[-1]} violations for {constraints} constraints")
    return as_like(violations, multipliers.state)


def _with_objective(violations: Array, weights: Array) -> Array:
    """Violations (..., m) preceded by a 0 for the objective: (..., 1+m)."""
    xp = namespace(violations)
    return xp.concatenate([xp.zeros_like(weights[..., :1]), violations], -1)


def checked_rates(learning_rate: Any) -> Rates:
    """`learning_rate` as a number, or a tuple of numbers for several settings.

    >>> checked_rates([0.01, 0.1])
    (0.01, 0.1)
    """
    try:
        rates = np.asarray(learning_rate, dtype=float)
    except (TypeError, ValueError):
        rates = np.array([np.nan])
    if rates.ndim > 1 or not rates.size or not (np.isfinite(rates) & (rates > 0)).all():
        raise ValueError(f"a learning rate is a positive number, or several, got {learning_rate!r}")
    return float(rates) if rates.ndim == 0 else tuple(rates.tolist())


def settings_of(learning_rate: Any) -> int:
    """The number of settings that a learning rate describes."""
    return int(np.size(learning_rate))


def project_onto_ball(vector: Array, radius: float) -> Array:
    """The nearest point, in Euclidean distance, with entries >= 0 and a sum of at most `radius`.

    If clipping at 0 leaves a sum of at most `radius`, that is the point. Otherwise all entries are first
    lowered by the same τ, with τ = max_j (sum of the j largest - radius) / j, and then clipped.
    """
    xp = namespace(vector)
    clipped = vector.clip(min=0)
    outside = clipped.sum(-1) > radius
    if vector.shape[-1] == 0 or (xp is np and not outside.any()):
        return clipped
    largest = descending(vector)
    excess = xp.amax((largest.cumsum(-1) - radius) / count_to(vector.shape[-1], vector), -1)
    return xp.where(outside[..., None], (vector - excess[..., None]).clip(min=0), clipped)


# All constraints share the other tenth, so the cost of the start does not grow with their number.
OBJECTIVE_WEIGHT = 0.9
