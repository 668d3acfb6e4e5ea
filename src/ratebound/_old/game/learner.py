"""The types of learners, which play θ: ours and your own.

A `Learner` describes a model to train; nothing happens until it is started on rows. A `Fit` is a learner
in training, with K models side by side. There are three kinds: `Descending` steps against the gradient
of its scores, `Growing` also uses their curvature, and `Answering` solves whole weighted problems. The
game sees models only through these types. To add a model, subclass `Learner` and one of the three::

    class Mine(rb.Learner):
        def start(self, rows, settings, seed):
            return MyFit(rows.features, settings)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from ratebound._old.base.arrays import Array
from ratebound._old.base.parameters import Adjustable
from ratebound._old.game.players import Player, SwapRegret, settings_of
from ratebound._old.game.players_by_fits import CuttingPlane
from ratebound._old.game.scorer import Scorer
from ratebound._old.game.trace import Trace, score_pieces, scores_on
from ratebound._old.problem.frames import rows_of
from ratebound._old.problem.general import Modules
from ratebound._old.tables.columns import Style as Style

if TYPE_CHECKING:
    from ratebound._old.problem.compiled import Compiled

Added = Callable[[Any, Modules], Any]  # from scores and modules to an additional term to minimise
ANSWERS = 50  # rounds of an answering learner, each a whole fit
SMALL = 2000  # up to this many rows, every round uses all rows, in double precision


class Rows(Protocol):
    """The rows a learner is started on: a population, or several stacked in a compiled problem."""

    @property
    def features(self) -> Array:
        """The rows as numbers, (n, ...)."""
        ...

    @property
    def inputs(self) -> Any:
        """The rows as they were given; a table stays a table."""
        ...

    @property
    def weights(self) -> Array | None:
        """The weight of each row (n,); None if each counts once."""
        ...

    @property
    def decisions(self) -> int:
        """The number of possible decisions; with more than two, each needs a score."""
        ...


class Fit(ABC):
    """A learner in training on its rows: K models and their scores.

    The base of `Descending`, `Growing` and `Answering`; subclass one of those. A row has A scores. For
    two classes there is one, which means yes from 0 on. For more classes there is one for each, and the
    largest decides.

    Attributes
    ----------
    scorer : Scorer
        Turns its parameters and any rows into scores.
    batched : bool
        Whether kept iterates are best evaluated all at once, by `score_pieces`.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population([[0.0], [1.0]], [0, 1])
    >>> fit = rb.Linear().start(people, settings=2, seed=0)
    >>> fit.parameters().shape, fit.all_scores().shape
    ((2, 2), (2, 1, 2))
    """

    scorer: Scorer  # turns its parameters and any rows into scores
    batched: bool = False  # whether kept iterates are best evaluated all at once, by `score_pieces`

    @abstractmethod
    def parameters(self) -> Array:
        """A copy of the parameters of each model.

        Returns
        -------
        array of shape (K, P)
            A NumPy array.
        """

    def snapshot(self) -> Array:
        """The parameters on the model's device, such as a GPU, without waiting.

        Returns
        -------
        array of shape (K, P)
            The same numbers as `parameters`.
        """
        return self.parameters()

    @abstractmethod
    def all_scores(self) -> Array:
        """Scores of all rows, bit for bit as `scorer` gives them.

        Returns
        -------
        array of shape (K, A, n)
            A NumPy array.
        """

    def watched_scores(self, other: Compiled) -> Array:
        """Scores of all rows of another compiled problem.

        Parameters
        ----------
        other : Compiled
            The problem.

        Returns
        -------
        array of shape (K, A, n)
            A NumPy array.
        """
        return scores_on(other, self.scorer, self.parameters())

    def score_pieces(self, other: Compiled, parameters: Array) -> Iterator[Array]:
        """Scores of any models on a problem, some rows at a time, in order.

        Parameters
        ----------
        other : Compiled
            The problem.
        parameters : array of shape (M, P)
            The models' parameters.

        Returns
        -------
        iterator of array of shape (M, A, b)
            The scores.
        """
        return score_pieces(other, self.scorer, parameters)


class Taking(Fit):
    """A fit that moves in rounds: it gives scores of a batch and receives how they should change."""

    device: Any = None  # where its scores are, as a PyTorch device; None for the CPU
    dtype: str = "float32"  # of its scores and of the game's computations; or "float64"

    @property
    def recordable(self) -> bool:
        """Whether a GPU can record a step once and replay it, as a CUDA graph."""
        return False

    def count_on_device(self) -> None:
        """Count steps on the device, as replayed steps need."""

    @abstractmethod
    def scores(self, rows: Array | None) -> Array:
        """Scores of some rows, for the next step.

        Parameters
        ----------
        rows : array of shape (b,) or None
            Their indices; None for all rows.

        Returns
        -------
        array of shape (K, A, b)
            The scores.
        """

    def judged_scores(self, judge: Compiled, rows: Array | None) -> Array:
        """Scores of rows it does not train on.

        They have no gradient, and do not affect the scores that the next step uses.

        Parameters
        ----------
        judge : Compiled
            The problem on those rows.
        rows : array of shape (b,) or None
            Their indices; None for all rows.

        Returns
        -------
        array of shape (K, A, b)
            The scores.
        """
        given = judge.inputs if self.scorer.tables else judge.features
        if rows is not None:
            given = rows_of(given, np.asarray(rows if self.device is None else rows.cpu()))
        return self.scorer.scores(self.parameters(), given)

    def restore(self, parameters: Array) -> None:
        """Continue from other parameters.

        Parameters
        ----------
        parameters : array of shape (K, P)
            The parameters, as `parameters` returns them.
        """
        raise ValueError("this model cannot start from the parameters of another")

    def held(self) -> dict[str, Any] | None:
        """All state that its next steps need, so that an interrupted game can continue; see `Keep`.

        Returns
        -------
        dict or None
            Arrays and numbers by name; None if the fit does not support it.
        """
        return None

    def take_up(self, held: dict[str, Any]) -> None:
        """Continue from the state that `held` returned.

        Parameters
        ----------
        held : dict
            Arrays and numbers by name.
        """
        raise NotImplementedError(f"{type(self).__name__} does not support resuming (held and take_up)")

    def randomness(self, seed: int) -> AbstractContextManager[None]:
        """A context in which a seed determines all randomness of the training.

        Parameters
        ----------
        seed : int
            The seed.

        Returns
        -------
        context manager
            By default it does nothing.
        """
        return nullcontext()


class Descending(Taking):
    """A fit that steps against a gradient.

    Attributes
    ----------
    device : object
        Where its scores are, as a PyTorch device; None for the CPU.
    dtype : str
        The type of its scores and of the game's computations: "float32" or "float64".

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> class Constant(rb.Descending):  # scores that are the same for every row
    ...     def __init__(self, rows, settings):
    ...         self.size, self.at = len(rows.features), np.zeros((settings, 1))
    ...
    ...     def parameters(self):
    ...         return self.at.copy()
    ...
    ...     def all_scores(self):
    ...         return self.scores(None)
    ...
    ...     def scores(self, rows):
    ...         return np.repeat(self.at[:, None], self.size if rows is None else len(rows), axis=2)
    ...
    ...     def descend(self, gradient):
    ...         self.at = self.at - gradient.sum(axis=2)
    >>> fit = Constant(rb.Population([[0.0], [1.0]], [0, 1]), settings=1)
    >>> fit.descend(np.array([[[0.25, -0.5]]]))
    >>> fit.all_scores()
    array([[[0.25, 0.25]]])
    """

    @abstractmethod
    def descend(self, gradient: Array) -> None:
        """Take one step against the gradient by the last scores.

        Parameters
        ----------
        gradient : array of shape (K, A, b)
            The gradient of the game's loss by each score.
        """


class Differentiating(Descending):
    """A fit that also descends functions of the model itself, as in `constraint`.

    Fits of PyTorch modules are of this kind. Your own can be too, with any library that has gradients:
    see the example in ``docs/own_constraints.md``.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> issubclass(rb.Differentiating, rb.Descending), rb.Torch.fit is rb.Differentiating
    (True, True)
    """

    @abstractmethod
    def modules(self, function: Callable[[int, Any], Any], *, training: bool) -> list[Any]:
        """Call a function with the module of each model in turn.

        Parameters
        ----------
        function : callable
            A function of a model's index, from 0, and its module, the ``model.module`` of constraints.
        training : bool
            Whether its result is to be descended. If not, modules are in evaluation mode, and no
            gradient is needed.

        Returns
        -------
        list
            The function's results for each of K models.
        """

    @abstractmethod
    def descend(self, gradient: Array, added: Added | None = None) -> None:
        """Take one step against the gradient by the last scores, and of an added term.

        Parameters
        ----------
        gradient : array of shape (K, A, b)
            The gradient of the game's loss by each score.
        added : callable, default=None
            A function from scores (K, A, b) with their history, and `modules` in training, to a scalar
            that is also minimised. By default there is no such term.
        """


class Growing(Taking):
    """A fit that steps by gradient and curvature, on all rows in every round.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.Boosted.fit is rb.Growing  # a round grows a tree
    True
    """

    @abstractmethod
    def grow(self, gradient: Array, curvature: Array) -> None:
        """Take one step by gradient and curvature with respect to the last scores.

        Parameters
        ----------
        gradient : array of shape (K, A, n)
            The gradient of the game's loss by each score.
        curvature : array of shape (K, A, n)
            A positive second derivative of the loss.
        """


class Answering(Fit):
    """A fit that answers multipliers by solving a whole weighted problem on all rows.

    Attributes
    ----------
    tolerance : float
        The duality gap at which the rounds end.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.Oracle.fit is rb.Answering  # a round fits an estimator of scikit-learn's kind
    True
    """

    tolerance: float = 0.0

    @abstractmethod
    def answer(self, costs: Iterable[Array]) -> None:
        """Fit a model for each setting.

        Parameters
        ----------
        costs : iterable of array of shape (n, D)
            For each setting, the cost of each decision on each row; only differences matter.
        """

    def respond(self, compiled: Compiled, weights: Array) -> None:
        """Answer multipliers; by default, call `answer` with the costs that they imply.

        Parameters
        ----------
        compiled : Compiled
            The problem on the rows it was started on.
        weights : array of shape (K, 1+m)
            The weights of the objective and of each constraint, for each setting.
        """
        costs = costs_of_rows(compiled, weights)
        self.answer(each.T for each in costs)

    def settled(self, trace: Trace) -> Trace:
        """The trace with its models in the form in which they are stored.

        Parameters
        ----------
        trace : Trace
            The trace as played.

        Returns
        -------
        Trace
            By default the same.
        """
        return trace


def costs_of_rows(compiled: Compiled, weights: Array) -> Iterator[Array]:
    """The cost of each decision on each row, relative to the first, (D, n) for each of K settings.

    `weights` (K, 1+m) are the weights of the rates.
    """
    by_cell, counted = [], []
    for block in compiled.at_zero:
        costs = compiled.spread_each((block.net.T @ (weights / compiled.scale).T).T)
        rounding = 1e-13 * np.abs(costs).max(axis=1, keepdims=True, initial=0.0)
        others = np.where(np.abs(costs) <= rounding, 0.0, costs)
        others = others.reshape(len(weights), -1, compiled.cell_count)
        by_cell.append(np.concatenate([np.zeros_like(others[:, :1]), others], axis=1))
        own = compiled.weights_in(block)
        counted.append(1.0 if own is None else own)
    for setting in range(len(weights)):  # one at a time: there are far more rows than cells
        each = [
            costs[setting][:, compiled.cells] * own for costs, own in zip(by_cell, counted, strict=True)
        ]
        yield each[0] if len(each) == 1 else np.sum(each, axis=0)


class Learner(Adjustable, ABC):
    """A model to train, as a frozen dataclass of its parameters.

    Nothing happens until it is started on rows. To train your own model, subclass it with `start`, which
    returns a fit of one of three kinds; everything else has a default. ``examples/jax_model.py`` is a
    complete example.

    Attributes
    ----------
    fit : type
        The kind of fit that `start` returns: `Descending`, `Growing` or `Answering`.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> isinstance(rb.Linear(), rb.Learner), rb.Linear().fit is rb.Descending
    (True, True)
    """

    fit: ClassVar[Any] = Descending

    @property
    def style(self) -> Style:
        """How a table is encoded for it."""
        return "scaled"

    @property
    def takes_missing(self) -> bool:
        """Whether features may be NaN."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether it accepts sparse matrices; if not, it receives arrays."""
        return False

    @property
    def takes_weights(self) -> bool:
        """Whether rows may have different weights, as multipliers require."""
        return True

    def check_weighing(self) -> None:
        """Raise TypeError if rows may not have different weights, as multipliers require."""

    @property
    def takes_stored(self) -> bool:
        """Whether it can be trained on rows on disk, some rows at a time."""
        return False

    @property
    def initial(self) -> Array | None:
        """Parameters (P,) or (K, P) to start from, as in traces; None for its own start."""
        return None

    @property
    def rounds(self) -> int | None:
        """The default number of rounds; None for learners that take batches in passes over the rows."""
        return ANSWERS if issubclass(self.fit, Answering) else None

    @property
    def settings(self) -> int:
        """The number of models trained side by side."""
        return 1

    @property
    def player(self) -> Player:
        """Its default opponent in `rb.play`."""
        return CuttingPlane() if issubclass(self.fit, Answering) else SwapRegret()

    def prepared(self, names: Sequence[str], codes: Sequence[int], rows: int) -> Self:
        """The learner prepared for a table.

        Parameters
        ----------
        names : sequence of str
            The names of the features.
        codes : sequence of int
            With the style "codes", the indices of features that hold category codes.
        rows : int
            The number of rows.

        Returns
        -------
        Learner
            By default the same.
        """
        return self

    def starting_at(self, parameters: Array) -> Self:
        """The learner that continues from a model.

        Parameters
        ----------
        parameters : array of shape (P,) or (K, P)
            The parameters, as in traces.

        Returns
        -------
        Learner
            A learner that starts there.

        Raises
        ------
        ValueError
            If it always starts from scratch.
        """
        raise ValueError(
            f"{type(self).__name__} cannot continue from a model, it is fitted anew every time: leave "
            "out warm_start"
        )

    @abstractmethod
    def start(self, rows: Rows, settings: int, seed: int) -> Fit:
        """Start training on rows.

        Parameters
        ----------
        rows : Population or Compiled
            Its `features` are numbers (n, ...), its `inputs` the rows as they were given, its `weights`
            (n,) or None, and its `decisions` the number of classes.
        settings : int
            How many models to train side by side.
        seed : int
            Determines all random draws.

        Returns
        -------
        Fit
            A fit of the kind in `fit`.
        """


class Stepping(Learner):
    """A learner with a `learning_rate`; several learning rates mean several settings."""

    learning_rate: Any

    def starting_at(self, parameters: Array) -> Self:
        changed: Any = replace(self, initial=parameters)  # type: ignore[type-var]  # subclasses are dataclasses
        return changed

    @property
    def settings(self) -> int:
        return settings_of(self.learning_rate)
