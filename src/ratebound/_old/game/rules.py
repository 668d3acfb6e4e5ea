"""Options of a game, in groups: its rules, which iterates to keep, when to end early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Literal, get_args

from ratebound._old.base.checks import check_number, check_whole, check_word
from ratebound._old.base.parameters import Adjustable
from ratebound._old.game._state import Estimate
from ratebound._old.game.proxies import PROXIES
from ratebound._old.game.trace import Trace


@dataclass(frozen=True)
class Rules(Adjustable):
    """What the model minimizes, and how rates are estimated from batches.

    Parameters
    ----------
    loss : {"hinge", "logistic", "sigmoid"}, default="logistic"
        The loss that replaces decisions in the objective, which needs a slope. With the logistic loss,
        scores trained without promises are log odds.
    proxy : {"hinge", "logistic", "sigmoid"}, default="logistic"
        The proxy that replaces decisions in the constraints. By default the same as in the objective, so
        that both have one unit.
    estimate : {"running", "unbiased"}, default="running"
        How the rates that the λ-player sees are estimated from batches: as means over about the last
        `window` rows of each group, or from each batch alone. Running means are the default because a
        batch holds few rows of a rare group, or none.
    window : int, default=64
        About how many rows of a group running means cover. More are steadier but lag behind.
    threshold_rate : float, default=0.01
        The learning rate, with Adam, of thresholds that are learned with the model; the default is the
        same as the λ-players'.
    shuffle : bool, default=True
        Whether each pass takes the rows in a new order, which is safer if rows are sorted. Otherwise
        they keep their order.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.Rules(proxy="hinge").loss
    'logistic'
    """

    loss: str = "logistic"
    proxy: str = "logistic"
    estimate: Estimate = "running"
    window: int = 64
    threshold_rate: float = 0.01
    shuffle: bool = True

    def __post_init__(self) -> None:
        check_word("loss", self.loss, PROXIES)
        check_word("proxy", self.proxy, PROXIES)
        check_word("estimate", self.estimate, get_args(Estimate))
        check_whole("window", self.window)
        check_number("threshold_rate", self.threshold_rate, above=0)


@dataclass(frozen=True)
class Keep(Adjustable):
    """Which iterates a trace keeps.

    With a `folder`, an interrupted game that is played again, with the same rows and settings, continues
    from its file and gives the same result as without the interrupt. A finished game is read, unless it
    took only seconds. Linear models and networks continue. Other models, whose rounds are long, start an
    unfinished game again; so does a finished game of an estimator that `rb.load` would need to trust.
    Settings are compared by content: arrays by their numbers, functions and modules also by their code.
    A setting without content to compare is refused.

    Parameters
    ----------
    every : int or "epoch", default="epoch"
        Keep one iterate after this many rounds, or after each pass over the rows. A pass is the default
        because judging an iterate takes a pass over all rows too.
    at_most : int, default=1000
        Space iterates out to keep at most this many per setting, so that a long game fits in memory.
    frontier : bool, default=False
        Whether to drop iterates that another iterate of the same setting beats or equals in the
        objective and every constraint. By default all stay, because averages and duality gaps need them.
    folder : str or path, default=None
        Also write what is kept to this folder, every ten seconds during the game, in one file per game.
        By default nothing is written.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.Keep(every=10).at_most
    1000
    """

    every: int | Literal["epoch"] = "epoch"
    at_most: int = 1000
    frontier: bool = False
    folder: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.every != "epoch":
            check_whole("every, unless it is 'epoch',", self.every)
        check_whole("at_most", self.at_most)


@dataclass(frozen=True)
class Stop(Adjustable):
    """When to end early and return the trace so far.

    Parameters
    ----------
    max_time : float, default=None
        The seconds after which the game ends. By default there is no limit, so that the same call gives
        the same trace.
    when : callable, default=None
        A function from the trace so far to whether to end; it is called whenever iterates are kept. By
        default no such function is called.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.Stop(max_time=60).when is None
    True
    """

    max_time: float | None = None
    when: Callable[[Trace], bool] | None = None

    def __post_init__(self) -> None:
        if self.max_time is not None:
            check_number("max_time", self.max_time, least=0)
        if self.when is not None and not callable(self.when):
            raise TypeError(f"when takes a function from a trace to True or False, got {self.when!r}")
