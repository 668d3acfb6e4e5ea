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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from ratebound.base.arrays import Array
from ratebound.base.parameters import Adjustable
from ratebound.game.cutting_plane import CuttingPlane
from ratebound.game.opponents import MANY, opponent
from ratebound.game.players import Player, SwapRegret
from ratebound.game.scorer import Scorer
from ratebound.game.settings import checked_rates, settings_of
from ratebound.game.trace import Trace, score_pieces, scores_on
from ratebound.problem.frames import rows_of
from ratebound.tables.columns import Style as Style

if TYPE_CHECKING:
    from ratebound.problem.compiled import Compiled

FOLDS = 3  # to judge a learner by that may learn rows by heart
ANSWERS = 50  # rounds of a learner that answers, each a whole fit


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
        """How much each row counts (n,); None if each counts once."""
        ...

    @property
    def decisions(self) -> int:
        """How many classes there are to decide among; with more than two, each needs a score."""
        ...


class Fit(ABC):
    """A learner in training on its rows: K models and their scores.

    Where scores are (K, n) here, they are (K, D, n) with D > 2 classes, and gradients have their shape.
    """

    scorer: Scorer  # turns its parameters and any rows into scores
    batched: bool = False  # whether kept iterates are best evaluated all at once, by `score_pieces`

    @abstractmethod
    def parameters(self) -> Array:
        """A copy of the parameters of each model, (K, P)."""

    def snapshot(self) -> Array:
        """The parameters (K, P) as `parameters` gives them, but where the model is: nobody waits."""
        return self.parameters()

    @abstractmethod
    def all_scores(self) -> Array:
        """Scores (K, n) of all rows, bit for bit as `scorer` gives them."""

    def watched_scores(self, other: Compiled) -> Array:
        """Scores (K, n) of all rows of another compiled problem."""
        return scores_on(other, self.scorer, self.parameters())

    def score_pieces(self, other: Compiled, parameters: Array) -> Iterator[Array]:
        """Scores (M, b) of any models (M, P) on some rows of a problem at a time, in order."""
        return score_pieces(other, self.scorer, parameters)


class Taking(Fit):
    """A fit that moves in rounds: it gives the scores of a batch and learns how they should change."""

    device: Any = None  # where its scores are, as a PyTorch device; None for the CPU
    dtype: str = "float32"  # of its scores, and what the game computes in: or "float64"

    @property
    def recordable(self) -> bool:
        """Whether a GPU can record a step once and replay it, as a CUDA graph."""
        return False

    def count_on_device(self) -> None:
        """Count steps on the device, as replayed steps need."""

    @abstractmethod
    def scores(self, rows: Array | None) -> Array:
        """Scores (K, b) of these rows, or of all rows for None."""

    def judged_scores(self, judge: Compiled, rows: Array | None) -> Array:
        """Scores (K, b) of rows it does not train on, or of all of `judge` for None.

        They have no gradient, and leave the scores last given as they were for the next step.
        """
        given = judge.inputs if self.scorer.tables else judge.features
        if rows is not None:
            given = rows_of(given, np.asarray(rows if self.device is None else rows.cpu()))
        return self.scorer.scores(self.parameters(), given)

    def restore(self, parameters: Array) -> None:
        """Continue from parameters (K, P), as `parameters` gives them."""
        raise ValueError("this model cannot start from the parameters of another")

    def held(self) -> dict[str, Any] | None:
        """All that its next steps depend on, arrays and numbers by name; None if that cannot be said.

        With it an interrupted game can go on, see `rb.Keep`.
        """
        return None

    def take_up(self, held: dict[str, Any]) -> None:
        """Continue from what `held` gave."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it holds")

    def randomness(self, seed: int) -> AbstractContextManager[None]:
        """A context in which `seed` determines all randomness of the training."""
        return nullcontext()


class Descending(Taking):
    """A fit that steps against a gradient."""

    @abstractmethod
    def descend(self, gradient: Array) -> None:
        """Take one step against the gradient (K, b) in the last scores."""


class Growing(Taking):
    """A fit that steps by gradient and curvature, on all rows in every round."""

    @abstractmethod
    def grow(self, gradient: Array, curvature: Array) -> None:
        """Take one step by the gradient and the positive curvature (K, n) in the last scores."""


class Answering(Fit):
    """A fit that answers multipliers by solving a whole weighted problem on all rows."""

    tolerance: float = 0.0  # the duality gap at which the rounds end

    @abstractmethod
    def answer(self, costs: Iterable[Array]) -> None:
        """Fit a model for each setting, given the cost (n,) of a yes on each row.

        With D > 2 classes the costs are (n, D), of each decision; only their differences matter.
        """

    def settled(self, trace: Trace) -> Trace:
        """The trace with its models in the form in which they are stored."""
        return trace


class Learner(Adjustable, ABC):
    """A model to train, as a frozen dataclass of its parameters."""

    fit: ClassVar[Any] = Descending  # the kind of fit that `start` gives

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
        """Whether it reads sparse matrices; if not, it is given arrays."""
        return False

    @property
    def takes_stored(self) -> bool:
        """Whether it can be trained on rows on disk, some of them at a time."""
        return False

    @property
    def initial(self) -> Array | None:
        """Parameters (P,) or (K, P) to start from, as traces hold them; None for its own start."""
        return None

    @property
    def rounds(self) -> int | None:
        """The default number of rounds; None for learners that take batches in passes over the rows."""
        return ANSWERS if issubclass(self.fit, Answering) else None

    @property
    def patience(self) -> int | None:
        """The number of rounds without improvement after which the model itself would stop."""
        return None

    @property
    def folds(self) -> int | None:
        """The folds that the estimator judges it by (`rb.Folds`) if promises are to hold on new rows.

        Three judge as well as five, for two thirds of the time (`docs/measured.md`, "Judges"). None
        if it cannot be trained side by side with itself.
        """
        return FOLDS

    @property
    def multiplier_rates(self) -> tuple[float, ...] | None:
        """The multipliers' learning rates to try against it; None for the usual ones."""
        return None

    @property
    def settings(self) -> int:
        """The number of models trained side by side."""
        return 1

    @property
    def player(self) -> Player:
        """Its default opponent in `rb.play`."""
        return CuttingPlane() if issubclass(self.fit, Answering) else SwapRegret()

    def opponent(self, constraints: int) -> Player:
        """Its default opponent in the estimator, with several learning rates to try."""
        if issubclass(self.fit, Answering):
            return CuttingPlane()
        return opponent("swap" if constraints <= MANY else "external", constraints)

    def prepared(self, names: Sequence[str], codes: Sequence[int], rows: int) -> Self:
        """The learner for a table with `rows` rows and features called `names`.

        With the style "codes", `codes` lists the features that hold codes of categories.
        """
        return self

    def repeated(self, times: int) -> Self:
        """The learner with each setting repeated; a single setting can play any number of opponents."""
        if self.settings > 1:
            raise ValueError(f"{self!r} trains the settings it has, and no others")
        return self

    def starting_at(self, parameters: Array) -> Self:
        """The learner, continuing from these parameters; an error if it always starts afresh."""
        raise ValueError(
            f"{type(self).__name__} cannot go on from a model, it is fitted anew every time: leave out "
            "warm_start"
        )

    @abstractmethod
    def start(self, rows: Rows, settings: int, seed: int) -> Fit:
        """Start training on these rows, with `settings` models side by side."""


class Stepping(Learner):
    """A learner with a `learning_rate`; several learning rates mean several settings."""

    learning_rate: Any

    def starting_at(self, parameters: Array) -> Self:
        changed: Any = replace(self, initial=parameters)  # type: ignore[type-var]  # subclasses are dataclasses
        return changed

    @property
    def settings(self) -> int:
        return settings_of(self.learning_rate)

    def repeated(self, times: int) -> Self:
        rates = checked_rates(self.learning_rate)
        if self.settings == 1:
            return self
        changed: Any = replace(self, learning_rate=tuple(np.repeat(rates, times).tolist()))  # type: ignore[type-var]  # subclasses are dataclasses
        return changed
