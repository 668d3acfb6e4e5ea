"""Groups of options of a game: its rules, its judge, which iterates to keep, when to end early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal, get_args

from ratebound.base.checks import check_number, check_whole, check_word
from ratebound.base.parameters import Adjustable
from ratebound.game._state import Estimate
from ratebound.game.proxies import PROXIES
from ratebound.game.trace import Trace


@dataclass(frozen=True)
class Rules(Adjustable):
    """What the model minimizes, and how rates are estimated from batches.

    Parameters
    ----------
    loss : {"hinge", "logistic", "sigmoid"}, default="logistic"
        What stands in for decisions in the objective, which has to have a slope. The logistic loss makes
        scores that are log odds where nothing is promised.
    proxy : {"hinge", "logistic", "sigmoid"}, default="logistic"
        What stands in for them in the constraints. By default the same as in the objective, so that both
        are in one unit.
    estimate : {"running", "unbiased"}, default="running"
        How the rates that the λ-player sees are read off batches: as means over about the last `window`
        rows of each group, or from each batch alone. Running means are the default since a batch holds
        few rows of a rare group, or none.
    window : int, default=64
        Over about how many rows of a group running means are taken. More are steadier and later.
    threshold_rate : float, default=0.01
        The learning rate of thresholds that are learned with the model, by Adam; the default is the
        λ-players' own.
    shuffle : bool, default=True
        Whether each pass takes the rows in a new order, which is safer where rows are sorted. Without it
        they come in the order they are in.

    Examples
    --------
    >>> import ratebound as rb
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
class Folds(Adjustable):
    """Cross-fitting as the judge of a game: each row is judged by a model that did not see it.

    One model is trained on all rows and one without each of `count` folds, side by side and at the same
    multipliers. The λ-player, and the objectives and violations of a trace, see the scores out of fold;
    its models are those of all rows.

    Parameters
    ----------
    count : int, default=5
        The number of folds, at least 2. More leave each model more rows, and take more time; the
        default leaves it four fifths.
    together : array of shape (n,), default=None
        A number for each row, the same for rows that belong together, as those of one customer: they are
        in the same fold. By default each row is by itself.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.Folds(count=4)
    Folds(count=4)
    """

    count: int = 5
    together: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_whole("count", self.count, least=2)


@dataclass(frozen=True)
class Keep(Adjustable):
    """Which iterates a trace keeps.

    With a `folder`, a game that was interrupted and is played again, with the same rows and the same
    settings, goes on from its file, and gives what it would have given; a finished game is read, unless
    it was over within seconds. Linear models and networks go on; others, whose rounds are long, begin an
    unfinished game anew, and also a finished one of an estimator that `rb.load` asks to trust. Settings
    are the same by their content: arrays by their numbers, functions and modules by their code too. One
    that has no content to compare is refused.

    Parameters
    ----------
    every : int or "epoch", default="epoch"
        Keep one iterate after so many rounds, or after each pass over the rows. A pass is the default,
        since judging an iterate takes a look at all rows too.
    at_most : int, default=1000
        Space iterates out to keep no more of each setting, so that a long game stays within memory.
    frontier : bool, default=False
        Whether to drop iterates that another one of the same setting beats or equals in the objective
        and every constraint. By default all stay, as averages and duality gaps need them.
    folder : str or path, default=None
        Also write what is kept there, every ten seconds while the game is played, in a file of its own
        for each game. By default nothing is written.

    Examples
    --------
    >>> import ratebound as rb
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
        The seconds after which the game ends. By default it takes the time its rounds take, so that the
        same call gives the same trace.
    when : callable, default=None
        A function from the trace so far to whether to end; it is called whenever iterates are kept. By
        default there is none.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.Stop(max_time=60).when is None
    True
    """

    max_time: float | None = None
    when: Callable[[Trace], bool] | None = None

    def __post_init__(self) -> None:
        if self.max_time is not None:
            check_number("max_time", self.max_time, least=0)
        if self.when is not None and not callable(self.when):
            raise TypeError(f"when takes a function from a trace to a truth value, got {self.when!r}")
