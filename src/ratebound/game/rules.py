"""Groups of options of a game: its rules, its judge, which iterates to keep, when to end early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Literal, get_args

from ratebound.base.checks import check_number, check_whole, check_word
from ratebound.base.parameters import Adjustable
from ratebound.game._estimates import Estimate
from ratebound.game.proxies import PROXIES
from ratebound.game.trace import Trace


@dataclass(frozen=True)
class Rules(Adjustable):
    """What the model minimizes, and how rates are estimated from batches.

    `loss` relaxes the objective and `proxy` the constraints: "hinge", "logistic" or "sigmoid".
    `estimate` is "running" (means over about the last `window` rows of each group) or "unbiased".
    `threshold_rate` is the learning rate of thresholds that are learned with the model. Each pass takes
    the rows in a new order, or without `shuffle` in the order they are in.

    >>> Rules(proxy="hinge").loss
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
class Folds(Adjustable):
    """Cross-fitting as the judge of a game: each row is judged by a model that did not see it.

    One model is trained on all rows and one without each of `count` folds, side by side and at the same
    multipliers. The λ-player, and the objectives and violations of a trace, see the scores out of fold;
    its models are those of all rows.

    >>> Folds(count=4)
    Folds(count=4)
    """

    count: int = 5

    def __post_init__(self) -> None:
        check_whole("count", self.count, least=2)


@dataclass(frozen=True)
class Keep(Adjustable):
    """Which iterates a trace keeps: one per `every` rounds, or one per "epoch".

    They are spaced out to keep at most `at_most` iterates of each setting. `frontier` drops iterates
    that another iterate of the same setting beats or equals in the objective and every constraint.

    With a `folder`, what is kept is also written there every ten seconds while the game is played, in a
    file of its own for each game. A game that was interrupted and is played again, with the same rows
    and the same settings, goes on from its file, and gives what it would have given; a finished game is
    read, unless it was over within seconds. Linear models and networks go on; others, whose rounds are
    long, begin an unfinished game anew.

    >>> Keep(every=10).at_most
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

    The game ends after `max_time` seconds, or once `when` returns True. `when` is a function of the
    trace so far, and is called whenever iterates are kept.

    >>> Stop(max_time=60).when is None
    True
    """

    max_time: float | None = None
    when: Callable[[Trace], bool] | None = None

    def __post_init__(self) -> None:
        if self.max_time is not None:
            check_number("max_time", self.max_time, least=0)
        if self.when is not None and not callable(self.when):
            raise TypeError(f"when takes a function from a trace to a truth value, got {self.when!r}")
