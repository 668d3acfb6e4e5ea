"""What a learner is: who plays θ, ours and an outsider's alike.

A `Learner` says what is to be trained; nothing happens until it is started on rows. A `Fit` is a learner
at work, K models side by side, and is one of three: `Descending` steps against the gradient of its
scores, `Growing` takes their curvature too, and `Answering` solves whole weighted problems. The game
sees models through these alone. To add one, subclass `Learner` and one of the three::

    class Mine(rb.Learner):
        def start(self, rows, settings, seed):
            return MyFit(rows.features, settings)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np

from ratebound.base.arrays import Array
from ratebound.base.parameters import Adjustable
from ratebound.game.opponents import MANY, opponent
from ratebound.game.players import Player, SwapRegret
from ratebound.game.scorer import Scorer
from ratebound.game.settings import checked_rates, settings_of
from ratebound.game.trace import Trace, scores_on

if TYPE_CHECKING:
    from ratebound.problem.compiled import Compiled

# How a table is encoded for a model. "scaled" standardises numbers and makes texts one-hot, for models
# that descend gradients; "plain" leaves numbers as they are, the missing ones NaN; "codes" also numbers
# the texts, as boosted trees want them; "table" hands over the columns, for pipelines of one's own.
Style = Literal["scaled", "plain", "codes", "table"]


class Rows(Protocol):
    """The rows a learner is started on: a population, or several stacked in a compiled problem."""

    @property
    def features(self) -> Array:
        """The rows as numbers, (n, ...)."""
        ...

    @property
    def inputs(self) -> Any:
        """The rows as they were given: a table stays one."""
        ...

    @property
    def weights(self) -> Array | None:
        """How often each row counts (n,); None where each counts once."""
        ...


class Learner(Adjustable, ABC):
    """A model to be trained, as a frozen dataclass of its parameters."""

    @property
    def style(self) -> Style:
        """How it wants a table encoded."""
        return "scaled"

    @property
    def takes_missing(self) -> bool:
        """Whether features may be NaN."""
        return False

    @property
    def initial(self) -> Array | None:
        """Parameters (P,) or (K, P) to start from, as traces hold them; None for its own beginning."""
        return None

    @property
    def rounds(self) -> int | None:
        """How many there are when nobody says; None for learners that take batches, pass after pass."""
        return None

    @property
    def patience(self) -> int | None:
        """After how many rounds without improvement the model itself would stop."""
        return None

    @property
    def multiplier_rates(self) -> tuple[float, ...] | None:
        """The multipliers' learning rates worth trying against it, where others than usual are."""
        return None

    @property
    def settings(self) -> int:
        """How many models are trained side by side."""
        return 1

    @property
    def player(self) -> Player:
        """Whom it plays against in `rb.play` when nobody says."""
        return SwapRegret()

    def opponent(self, constraints: int) -> Player:
        """Whom it plays against in the estimator when nobody says; several learning rates are tried."""
        return opponent("swap" if constraints <= MANY else "external", constraints)

    def prepared(self, names: Sequence[str], codes: Sequence[int], rows: int) -> Self:
        """Itself for a table of so many rows, whose features are called `names`.

        `codes` lists the features that hold codes of categories, where the style is "codes".
        """
        return self

    def repeated(self, times: int) -> Self:
        """Each of its settings so many times over; a single one can play any number of opponents."""
        if self.settings > 1:
            raise ValueError(f"{self!r} trains the settings it has, and no others")
        return self

    def starting_at(self, parameters: Array) -> Self:
        """Itself, to go on from these parameters; those that are always fitted anew raise an error."""
        raise ValueError(
            f"{type(self).__name__} is fitted anew every time and cannot go on from a model: leave out "
            "warm_start"
        )

    @abstractmethod
    def start(self, rows: Rows, settings: int, seed: int) -> Fit:
        """The learner at work on these rows, with `settings` models side by side."""


class Stepping(Learner):
    """A learner with a `learning_rate`, of which several are several settings."""

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


class Fit(ABC):
    """A learner at work on its rows: K models, and how they score."""

    scorer: Scorer  # of its parameters, on any rows

    @abstractmethod
    def parameters(self) -> Array:
        """What a snapshot keeps of each model, (K, P)."""

    @abstractmethod
    def all_scores(self) -> Array:
        """Scores (K, n) of all rows, bit for bit as `scorer` gives them."""

    def watched_scores(self, other: Compiled) -> Array:
        """Scores (K, n) of all rows of another compiled problem."""
        return scores_on(other, self.scorer, self.parameters())


class Taking(Fit):
    """A fit that takes rounds: it shows the scores of a batch, and is told how they should change."""

    device: Any = None  # where its scores are, as PyTorch names devices; None for the CPU
    precision: str = "float32"

    @property
    def recordable(self) -> bool:
        """Whether a GPU can record a step once and replay it, as a CUDA graph."""
        return False

    def count_on_device(self) -> None:
        """Count steps where they are taken, for those that are replayed."""

    @abstractmethod
    def scores(self, rows: Array | None) -> Array:
        """Scores (K, b) of these rows, or of all rows for None."""

    def restore(self, parameters: Array) -> None:
        """Go on from parameters (K, P), as `parameters` gives them."""
        raise ValueError("this model cannot start from the parameters of another")

    def randomness(self, seed: int) -> AbstractContextManager[None]:
        """Where a seed rules over what chance there is in training."""
        return nullcontext()


class Descending(Taking):
    """A fit that steps against a gradient."""

    @abstractmethod
    def descend(self, gradient: Array) -> None:
        """One step against the gradient (K, b) with respect to the scores last given."""


class Growing(Taking):
    """A fit that steps by gradient and curvature, on all rows every round."""

    @abstractmethod
    def grow(self, gradient: Array, curvature: Array) -> None:
        """One step, by the gradient and the positive curvature (K, n) of the scores last given."""


class Answering(Fit):
    """A fit that answers multipliers with a whole weighted problem solved, on all rows."""

    tolerance: float = 0.0  # the duality gap at which the rounds end

    @abstractmethod
    def answer(self, costs: Iterable[Array]) -> None:
        """Fit a model for each setting, where saying yes to a row costs (n,)."""

    def settled(self, trace: Trace) -> Trace:
        """The trace with its models as they are best kept."""
        return trace
