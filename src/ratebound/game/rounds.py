"""Playing the game: minibatches, rounds, and the iterates kept on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ratebound.base.arrays import as_like, namespace
from ratebound.game.answering import answer
from ratebound.game.arguments import check_play
from ratebound.game.cutting_plane import CuttingPlane
from ratebound.game.estimates import Estimate
from ratebound.game.game import Game
from ratebound.game.keeping import Keeper
from ratebound.game.players import Player, SwapRegret
from ratebound.game.trace import Trace
from ratebound.game.turns import turns
from ratebound.problem.compiled import Compiled

Array = NDArray[Any]


def play(
    compiled: Compiled,
    learner: Any,
    *,
    multipliers: Player | CuttingPlane | None = None,
    rounds: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = 512,
    loss: str = "logistic",
    proxy: str = "logistic",
    estimate: Estimate = "running",
    window: int = 64,
    keep_every: int | Literal["epoch"] = "epoch",
    keep_at_most: int = 1000,
    frontier: bool = False,
    watch: Mapping[str, Compiled] | None = None,
    stop: Callable[[Trace], bool] | None = None,
    max_time: float | None = None,
    start: Array | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Trace:
    """Train `learner` against `multipliers` and return every iterate kept, with its exact rates.

    Give `rounds` (steps) or `epochs`, passes over the first population; the default is 40 epochs.
    Each round draws `batch_size` rows of every population, or takes all rows for None; boosted trees
    always take all, for as many rounds as they were given trees unless told otherwise. Iterates are
    kept every so many rounds or every epoch, spaced out so that no more than `keep_at_most` are kept
    of each setting; with `frontier` those beaten in everything by another are dropped. `watch` names
    other compiled populations, such as a validation set, on which kept iterates are evaluated too.
    `stop` is asked, whenever iterates are kept, whether what there is is enough; `max_time` ends the
    game after so many seconds. `start` are parameters (P,) or (K, P) to start from, as traces hold them.
    `progress` shows a bar; by default only on a terminal. Interrupting from the keyboard ends the
    game and keeps what there is.

    The remaining arguments are those of `Game`.

    A learner that answers, `rb.Oracle`, is asked for a whole fit on all rows each round; the default
    is then 50 rounds, every fit is kept, and there are no batches, proxies or estimates. What a learner
    has no use for is ignored, but checked all the same.

    >>> import ratebound as rb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> group = np.where(X[:, 1] > 0, "a", "b")
    >>> people = rb.Population(X, X.sum(axis=1) > 0, columns={"group": group})
    >>> goal = [rb.positive_rate(group="b") >= 0.8 * rb.positive_rate()]
    >>> problem = rb.Problem(minimize=rb.error_rate(), subject_to=goal)
    >>> trace = rb.play(rb.compile(problem, people), rb.Linear(), epochs=50, batch_size=100)
    >>> len(trace)
    50
    """
    check_play(compiled, learner, locals())
    if getattr(learner, "newton", False):  # boosted trees: all rows and curvatures every round
        batch_size = None
        rounds = learner.rounds if rounds is None and epochs is None else rounds
    if getattr(learner, "answers", False):
        if epochs is not None or start is not None:
            raise ValueError("an oracle fits anew each round: give rounds=, not epochs= or start=")
        return answer(
            compiled, learner, multipliers=multipliers, rounds=rounds, frontier=frontier,
            watch=watch or {}, stop=stop, max_time=max_time, seed=seed, progress=progress,
        )  # fmt: skip
    if isinstance(multipliers, CuttingPlane):
        raise ValueError("rb.CuttingPlane moves by whole fits: play it with rb.Oracle(estimator)")
    schedule = _Schedule.of(compiled, rounds, epochs, batch_size, keep_every, keep_at_most)
    default = getattr(learner, "multipliers", SwapRegret())
    player = multipliers if multipliers is not None else default
    settings = _settings(learner, player)
    tables = getattr(learner, "tables", False)
    weighed = {"weights": compiled.weights} if getattr(learner, "newton", False) else {}
    fit = learner.start(compiled.inputs if tables else compiled.features, settings, seed, **weighed)
    if start is not None:
        fit.restore(_as_parameters(start, fit.parameters().shape))
    game = Game(
        compiled, player, settings=settings, loss=loss, proxy=proxy, estimate=estimate,
        window=window, device=fit.device, precision=fit.precision,
    )  # fmt: skip
    taking = turns(game, fit, game.start(fit.all_scores(), rounds=schedule.rounds))
    keeper = Keeper(compiled, fit, dict(watch or {}), frontier, isinstance(player, SwapRegret))
    batches = _batches(compiled, game, schedule.batch_size, seed)
    bar = tqdm(total=schedule.rounds, disable=None if progress is None else not progress, unit="round")
    ended, done = "rounds", 0
    deadline = None if max_time is None else time.monotonic() + max_time
    # Numbers that overflow are found where iterates are kept, and reported once.
    with bar, fit.randomness(seed), np.errstate(all="ignore"):
        try:
            while done < schedule.rounds:
                taking.take(*next(batches))
                done += 1
                bar.update()
                if done % schedule.keep_every == 0 or done == schedule.rounds:
                    keeper.keep(taking.state, done)
                    bar.set_postfix_str(keeper.summary(), refresh=False)
                    if stop is not None and keeper.pieces and stop(keeper.trace()):
                        ended = "stopped"
                        break
                if deadline is not None and time.monotonic() > deadline:
                    ended = "time"
                    keeper.keep(taking.state, done)
                    break
        except KeyboardInterrupt:
            ended = "interrupted"
            keeper.keep(taking.state, done)
    return keeper.finished(ended)


@dataclass(frozen=True)
class _Schedule:
    rounds: int
    batch_size: int | None
    keep_every: int

    @staticmethod
    def of(
        compiled: Compiled,
        rounds: int | None,
        epochs: int | None,
        batch_size: int | None,
        keep_every: int | Literal["epoch"],
        keep_at_most: int,
    ) -> _Schedule:
        per_epoch = 1 if batch_size is None else max(1, len(compiled.first) // batch_size)
        total = rounds if rounds is not None else (epochs or 40) * per_epoch
        stride = per_epoch if keep_every == "epoch" else keep_every
        return _Schedule(total, batch_size, max(stride, -(-total // keep_at_most)))


def _as_parameters(start: Any, shape: tuple[int, ...]) -> Array:
    """Parameters to start from, for every setting."""
    given = np.asarray(start)
    if given.shape not in (shape, shape[1:]) or given.dtype.kind not in "buif":
        raise ValueError(
            f"start takes the parameters of a trace, {shape[1]:,} numbers for each of {shape[0]} "
            f"settings or for all of them, got {given.dtype} of shape {given.shape}"
        )
    return np.broadcast_to(given, shape)


def _settings(learner: Any, player: Player) -> int:
    counts = {learner.settings, player.settings} - {1}
    if len(counts) > 1:
        raise ValueError(
            f"the learner has {learner.settings} settings and the multipliers {player.settings}; give "
            "both the same number of learning rates (one pair a setting), or one of them a single rate"
        )
    return counts.pop() if counts else 1


def _batches(
    compiled: Compiled, game: Game, batch_size: int | None, seed: int
) -> Iterator[tuple[Any, Any]]:
    """Rows of each round with the share they stand for: every population in a shuffle of its own."""
    sizes = [len(population) for population in compiled.populations.values()]
    if batch_size is None or all(size <= batch_size for size in sizes):
        while True:
            yield None, 1.0
    drawn = [min(size, batch_size) for size in sizes]
    share: Any = sizes[0] / drawn[0]
    if len(sizes) > 1:
        share = as_like(np.repeat(np.array(sizes) / drawn, drawn), game.example)
    random = np.random.default_rng(seed)
    starts = [where.start for where in compiled.rows.values()]
    streams = [_shuffles(n, b, a, random, game) for n, b, a in zip(sizes, drawn, starts, strict=True)]
    while True:
        rows = [next(stream) for stream in streams]
        yield rows[0] if len(rows) == 1 else namespace(rows[0]).concatenate(rows), share


def _shuffles(
    size: int, batch: int, start: int, random: np.random.Generator, game: Game
) -> Iterator[Any]:
    """Batches of one population; the rows a shuffle leaves over are left out until the next."""
    while True:
        order = game.on_device(random.permutation(size) + start)
        for first in range(0, size - batch + 1, batch):
            yield order[first : first + batch]
