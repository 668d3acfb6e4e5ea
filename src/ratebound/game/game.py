"""One round of the game: scores in, the gradient with respect to them out, multipliers moved.

The model is seen through its scores alone, so any model can play. The θ-player's loss is

    weights[0] · loss(objective) + Σ weights[i] · proxy(constraint i)

whose derivative by a row's scores needs a few numbers per row: what it costs there to miss each target
(with two classes two: what a yes and what a no costs).
The λ-player is shown the true rates (or the proxies, for `Lagrangian`) on the same scores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ratebound.base.arrays import Array, as_given, as_like, example_of, namespace
from ratebound.base.checks import check_whole, check_word
from ratebound.base.processes import total, totals
from ratebound.game._constraints import Models, descended, own_values
from ratebound.game._costs import (
    CellPlaces,
    Costs,
    Exactly,
    Places,
    largest_violations,
    total_decided,
    weighed,
)
from ratebound.game._recording import Rounds
from ratebound.game._state import Batch, GameState, Look, RunningMeans, View, drawn_share, running_means
from ratebound.game.players import Multipliers, Player, SwapRegret
from ratebound.game.proxies import PROXIES, Proxy, Targets, targets_like
from ratebound.game.rules import Rules
from ratebound.kernels.swap import adam_direction
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import less_thresholds, score_count, with_axes
from ratebound.problem.general import Modules, modules_of
from ratebound.problem.sharing import of_all

FLATTEST = 1e-16  # the least curvature, so that a row no rate counts divides nothing by zero


class Game:
    """The rules of play for one compiled problem; see `play` for the whole of training.

    In a training loop of your own::

        game = rb.Game(compiled, player=rb.SwapRegret())
        rounds = game.recorded(game.start(model_scores_on_all_rows))
        for rows in batches:                               # indices into the stacked rows
            scores = model(X[rows])
            scores.backward(rounds(scores, rows))          # and the optimizer's step
        rounds.state.multipliers.weights                   # at any time

    Parameters
    ----------
    compiled : Compiled
        The problem on its rows.
    player : Player, default=None
        Who decides how much each constraint counts. By default ``rb.SwapRegret()``, the paper's.
    settings : int, default=None
        How many models play side by side. By default as many as the player has learning rates.
    rules : Rules, default=None
        What the model descends and how rates are read off batches. By default ``rb.Rules()``.
    device : object, default=None
        Where to play, as PyTorch names it, such as "cuda". By default in NumPy, which is faster for
        tensors on the CPU too.
    precision : {"float32", "float64"}, default="float32"
        What the game computes in. Single precision is enough for gradients; multipliers are always in
        double.

    Examples
    --------
    >>> import numpy as np, ratebound as rb
    >>> X, people = np.array([-2.0, -1.0, 1.0, 2.0]), rb.Population(None, [0, 0, 1, 1])
    >>> compiled = rb.compile(rb.Problem("error_rate()", ["positive_rate() <= 0.25"]), people)
    >>> game, slope = rb.Game(compiled), 1.0
    >>> rounds = game.recorded(game.start(slope * X))
    >>> for _ in range(3):
    ...     slope -= 0.1 * rounds(slope * X) @ X  # a step against the gradient by the scores
    >>> rounds.state.multipliers.steps
    3
    """

    def __init__(
        self,
        compiled: Compiled,
        player: Player | None = None,
        *,
        settings: int | None = None,
        rules: Rules | None = None,
        device: Any = None,
        precision: str = "float32",
    ) -> None:
        check_word("precision", precision, ("float32", "float64"))
        if settings is not None:
            check_whole("settings", settings)
        compiled, split = compiled.descended()
        self.compiled, self.rules = compiled, rules or Rules()
        self.player = player if player is not None else SwapRegret()
        self.settings = settings or self.player.settings
        self.example = example_of(device, precision)
        self.loss, self.proxy = PROXIES[self.rules.loss], PROXIES[self.rules.proxy]
        self._targets = targets_like(split.targets, self.example)
        on_cpu = namespace(self.example) is np
        self._in_numpy = self._targets if on_cpu else targets_like(split.targets, np.empty(0))
        # Of rows on disk, a smaller integer each; those of a batch are made larger when it is drawn.
        self.cells = self.on_device(
            compiled.cells if compiled.stored else compiled.cells.astype(np.intp)
        )
        self.row_weights = None if compiled.weights is None else as_like(compiled.weights, self.example)
        self.blocks = [
            Costs(compiled, block, costs, split.targets, self.example)
            for block, costs in zip(compiled.blocks, split.costs, strict=True)
        ]
        self.offset = as_like(compiled.offset / compiled.scale, self.example)
        self.relaxes = self.player.watches == "proxies"

    @cached_property
    def nats(self) -> float:
        """From a mean in bits to a sum over rows in nats, as libraries of trees count their losses.

        Times this, the gradient of an unconstrained logistic error is theirs: σ(s) - y on each row.
        """
        return sum(of_all(self.compiled.first, self.compiled.first.total_weight)) * math.log(2)

    def on_device(self, integers: Array) -> Array:
        """Integers where the game computes.

        Parameters
        ----------
        integers : array
            In NumPy.

        Returns
        -------
        array
            The same, on its device.
        """
        xp = namespace(self.example)
        return integers if xp is np else xp.as_tensor(integers, device=self.example.device)

    def start(
        self, scores: Any, *, rounds: int | None = None, thresholds: Array | None = None
    ) -> GameState:
        """The state before the first round.

        Parameters
        ----------
        scores : array of shape (n,), (K, n) or (K, D, n), or iterator
            The model's first scores on all rows; an iterator gives those of some rows at a time.
        rounds : int, default=None
            How many there will be; needed for the theorems' step sizes only.
        thresholds : array of shape (K, L), default=None
            Those that are learned with the model. By default they start where budgets on these rows
            allow.

        Returns
        -------
        GameState
            For `recorded` or `round`.
        """
        if self.compiled.budgets and isinstance(scores, Iterator):
            scores = np.concatenate(list(scores), -1)
        if not isinstance(scores, Iterator):
            scores = self._first(scores)
        if thresholds is None:
            thresholds = self.thresholds(scores)
        pieces = scores if isinstance(scores, Iterator) else [scores]
        multipliers = self.player.start(
            len(self.compiled.constraints),
            settings=self.settings,
            like=self.example,
            rounds=rounds,
            bound=self.bound() if self.player.needs_bound else None,
        )
        shape = (self.settings, 1 + len(self.compiled.constraints))
        if not isinstance(multipliers, Multipliers) or multipliers.weights.shape != shape:
            raise TypeError(
                f"{type(self.player).__name__}.start must give rb.Multipliers with weights {shape}"
            )
        counted = self._exact_totals(pieces, thresholds)
        means = tuple(map(self._exact_means, self.blocks, counted))
        return GameState(multipliers, means, as_like(thresholds, self.example))

    def thresholds(self, scores: Any) -> Array:
        """The learnable thresholds to start from, as a state holds them.

        Parameters
        ----------
        scores : array or iterator
            The model's scores on all rows, as `start` takes them.

        Returns
        -------
        array of shape (K, L)
            The thresholds.
        """
        compiled, thresholds = self.compiled, self._zeros()
        if not compiled.budgets:
            return thresholds
        first = self._first(np.concatenate(list(scores), -1) if isinstance(scores, Iterator) else scores)
        spent = compiled.spend_budgets(first, compiled.budgets)
        for j, name in enumerate(compiled.learnable):
            if name in spent:
                thresholds[:, j] = spent[name][:, 0]
        return thresholds

    def _zeros(self) -> Array:
        return np.zeros((self.settings, len(self.compiled.learnable) * (self.compiled.decisions - 1)))

    def _first(self, scores: Any) -> Array:
        """The first scores of every setting, (K, A, n)."""
        compiled = self.compiled
        first = np.atleast_1d(scores.detach().cpu() if hasattr(scores, "detach") else scores)
        models = len(with_axes(first, compiled.decisions))
        if first.shape[-1] != len(compiled.cells) or models not in (1, self.settings):
            sizes = ", ".join(f"{name} {len(p):,}" for name, p in compiled.populations.items())
            shape = self.settings, score_count(compiled.decisions), len(compiled.cells)
            raise ValueError(
                f"start takes scores of shape {shape}, by setting, class (of two, the yes) and row "
                f"({sizes}), got {first.shape}"
            )
        first = self._shaped(first, models)
        return np.broadcast_to(first, (self.settings, *first.shape[1:]))

    def _exact_totals(self, pieces: Iterable[Array], thresholds: Array) -> list[Array]:
        """What all rows total per slice for each block, given their scores (K, A, b) in order."""
        compiled, start = self.compiled, 0
        found: list[Any] = [0.0] * len(self.blocks)
        for scores in pieces:
            rows = slice(start, start + scores.shape[-1])
            start = rows.stop
            places = CellPlaces(
                compiled.cells[rows], compiled.cell_count, Exactly(compiled), np.empty(0)
            )
            for index, shifted in enumerate(self._shifted(thresholds, scores)):
                weights = compiled.weights_in(compiled.blocks[index], rows)
                own = self._totalled(shifted, places, 1.0 if weights is None else weights)
                found[index] = found[index] + own
        return [total(each) for each in found]

    def _exact_means(self, block: Costs, counted: Array) -> RunningMeans:
        """Means to start from, given what all rows total per slice."""
        exact = as_like(counted, self.example) / (block.slice_weight + (block.slice_weight == 0))
        return running_means(exact, block.slice_weight, block.slice_rows, self.rules.window)

    def bound(self) -> float:
        """A bound on the violations shown to the λ-player, for the theorems' step sizes.

        In the norm the player needs. It holds for any scores and any batch that `batch` makes.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        ValueError
            Where the player watches a proxy without a largest value, so that there is none.
        """
        for _, constraint in self.compiled.general:
            raise ValueError(
                f"{constraint}: nobody knows how large a constraint of one's own can be, so "
                "learning_rate='theorem' has no step size: give a number, as in rb.SwapRegret(0.1)"
            )
        if self.relaxes and math.isinf(self.proxy.largest):
            raise ValueError(
                f"{type(self.player).__name__} watches the {self.proxy.name} proxy, which grows with "
                "the scores without bound, so learning_rate='theorem' has no step size: give a number, "
                "or use proxy='sigmoid', or rb.ExternalRegret, which watches the rates"
            )
        sizes = largest_violations(
            self.compiled,
            self.compiled.coefficients.split,
            largest_proxy=self.proxy.largest if self.relaxes else None,
            unbiased=self.rules.estimate == "unbiased",
        )
        return self.player.bound(sizes) if len(sizes) else 1.0

    def batch(self, rows: Array | None, share: Array | float | None = None) -> Batch:
        """The batch of some rows.

        Parameters
        ----------
        rows : array of shape (b,) or None
            Indices of stacked rows; None for all of them.
        share : array or float, default=None
            How many rows of its population each stands for. By default as many as were drawn evenly.

        Returns
        -------
        Batch
            For `round` and `look`.
        """
        if self.compiled.stored and rows is not None:
            rows = self.on_device(rows)
        cells = self.cells if rows is None else self.cells[rows]
        if self.compiled.stored:
            cells = cells.astype(np.intp) if namespace(cells) is np else cells.long()
        weight: Array | float = 1.0
        if self.row_weights is not None:
            weight = self.row_weights if rows is None else self.row_weights[rows]
        share = drawn_share(self.compiled, rows, self.example) if share is None else share
        amounts = (block.amounts for block in self.blocks)
        own = tuple(a if a is None or rows is None else a[rows] for a in amounts)
        return Batch(cells, weight, share, own, rows)

    def recorded(self, state: GameState, *, judge: Game | None = None) -> Rounds:
        """The rounds from a state on, for a loop of one's own.

        On a GPU a round is recorded as a CUDA graph, once for each shape of batch, and the gradient
        holds until the next call.

        Parameters
        ----------
        state : GameState
            What `start` gave.
        judge : Game, default=None
            The game of other rows. Each call then takes the ``judged=(scores, rows)`` that the λ-player
            sees. By default it sees the batch.

        Returns
        -------
        Rounds
            To be called with the scores of a batch and the indices of its rows; each call is a `round`
            and gives the gradient. Its `state` is that after the latest.
        """
        return Rounds(self, state, judge)

    def round(
        self,
        state: GameState,
        scores: Array,
        batch: Batch,
        judged: Look | None = None,
        *,
        models: Models | None = None,
    ) -> tuple[Array, GameState]:
        """Play one round: the gradient by the batch's scores, and the λ-player's step.

        Parameters
        ----------
        state : GameState
            Before the round.
        scores : array of shape (b,), (K, b) or (K, D, b)
            Of the batch's rows.
        batch : Batch
            What `batch` gave.
        judged : Look, default=None
            The `look` of another game, at rows the model does not descend on, for the λ-player to see.
            By default it sees what the batch shows.
        models : Models, default=None
            What constraints of one's own see of the models. By default the batch's scores alone.

        Returns
        -------
        tuple of array and GameState
            The gradient, of the scores' shape and kind, and the state after the round.
        """
        view = self._view(state, scores, batch)
        gradient, slopes = self._gradient(state, view)
        shown = judged
        if shown is None:
            shown = self._with_own(self._look(state, view), scores, batch, models)
        return as_given(gradient, scores), self._moved(state, shown, slopes)

    def look(
        self, state: GameState, scores: Array, batch: Batch, *, models: Models | None = None
    ) -> Look:
        """What the scores of a batch show, with the state's means carried on; nobody moves.

        Parameters
        ----------
        state : GameState
            Before the round.
        scores : array of shape (b,), (K, b) or (K, D, b)
            Of the batch's rows.
        batch : Batch
            What `batch` gave.
        models : Models, default=None
            As in `round`.

        Returns
        -------
        Look
            Estimates of the objective and the violations on all rows.
        """
        return self._with_own(self._look(state, self._view(state, scores, batch)), scores, batch, models)

    def _with_own(self, shown: Look, scores: Array, batch: Batch, models: Models | None) -> Look:
        """What is shown, with the values of constraints of one's own, in their units."""
        general = self.compiled.general
        if not general:
            return shown
        own = own_values(self.compiled, models or Models(), scores, batch.rows, self.relaxes)
        added = np.zeros((len(own), self.compiled.scale.size))
        added[:, [1 + row for row, _ in general]] = own
        return replace(shown, values=shown.values + as_like(added / self.compiled.scale, self.example))

    def descended(
        self,
        weights: Array,
        scores: Any,
        rows: Array | None = None,
        *,
        module: Any = None,
        modules: Modules | None = None,
    ) -> Any:
        """What the model descends of constraints of one's own: their proxies, times their weights.

        Parameters
        ----------
        weights : array of shape (K, 1+m)
            Those of the multipliers.
        scores : array of shape (b,), (K, b) or (K, D, b)
            Of a batch, with their history, so that there is a gradient.
        rows : array of shape (b,), default=None
            Indices of its stacked rows. By default all.
        module : object, default=None
            What the functions see as ``model.module``: for several settings a list.
        modules : Modules, default=None
            The same for those who know what a `Modules` is.

        Returns
        -------
        scalar
            Of the kind that the proxies give, 0.0 where there are none.
        """
        each = modules_of(module, self.settings) if modules is None else modules
        return descended(self.compiled, weights, scores, rows, each)

    def _view(self, state: GameState, scores: Array, batch: Batch) -> View:
        own = self._shaped(self._as_scores(scores), len(state.multipliers.weights))
        if own.shape[-1] != len(batch.cells):
            raise ValueError(f"{own.shape[-1]} scores for a batch of {len(batch.cells)} rows")
        places = [block.places(batch.cells) for block in self.blocks]
        return View(batch, self._shifted(state.thresholds, own), places)

    def _gradient(self, state: GameState, view: View) -> tuple[Array, list[Array]]:
        """The gradient of the θ-player's loss by its scores, and that by each learned threshold."""
        weights = as_like(state.multipliers.weights, self.example)
        gradient, slopes = None, []
        seen = zip(self.blocks, view.shifted, view.places, strict=True)
        for index, (block, shifted, places) in enumerate(seen):
            factor = view.batch.weights(index) * view.batch.share
            slope = self._slope(block, places, weights, shifted) * factor
            gradient = slope if gradient is None else gradient + slope
            if isinstance(block.at, str):
                slopes.append(-slope.sum(-1)[:, 1 - self.compiled.decisions :])  # the first has none
        return gradient, slopes

    def _look(self, state: GameState, view: View) -> Look:
        counts = []  # of each block: what is totalled, and the sizes of slices in the batch
        running = self.rules.estimate == "running"
        for index, (shifted, places) in enumerate(zip(view.shifted, view.places, strict=True)):
            weight = view.batch.weights(index)
            if running:
                counts.append(self._totalled(shifted, places, weight))
                counts.append(
                    places.count() if isinstance(weight, float) else places.total(weight[None])
                )
            else:
                counts.append(self._totalled(shifted, places, weight * view.batch.share))
        summed, values, means = iter(totals(counts)), self.offset, []
        for block, own in zip(self.blocks, state.means, strict=True):
            if running:
                own = own.seen(next(summed), next(summed))
            shown = own.totals() if running else next(summed)
            values = values + (block.relaxed(shown) if self.relaxes else block.rates(shown))
            means.append(own)
        return Look(values, tuple(means))

    def curvature(self, state: GameState, scores: Array, batch: Batch) -> Array:
        """A positive second derivative of the θ-player's loss by each score, for steps of Newton's kind.

        Parameters
        ----------
        state : GameState
            Before the round.
        scores : array of shape (b,), (K, b) or (K, D, b)
            Of the batch's rows.
        batch : Batch
            What `batch` gave.

        Returns
        -------
        array
            Of the shape and kind of the scores. Where a proxy has no curvature, something positive
            stands in for it.
        """
        weights = as_like(state.multipliers.weights, self.example)
        own = self._shaped(self._as_scores(scores), len(weights))
        found: Array = 0.0
        seen = zip(self.blocks, self._shifted(state.thresholds, own), batch.amounts, strict=True)
        for block, shifted, amounts in seen:
            for proxy, costs in self._relaxed(block, block.places(batch.cells), weights):
                bent = proxy.curvature(shifted, self._targets_like(shifted), costs)
                found = found + (bent if amounts is None else bent * amounts)
        factor = batch.weight * batch.share
        return as_given((found * factor).clip(min=FLATTEST), scores)

    def _slope(self, block: Costs, places: Places, weights: Array, shifted: Array) -> Array:
        """Derivative of the θ-player's loss by each score."""
        relaxed = self._relaxed(block, places, weights)
        targets = self._targets_like(shifted)
        slopes = [proxy.slope(shifted, targets, costs) for proxy, costs in relaxed]
        return slopes[0] if len(slopes) == 1 else slopes[0] + slopes[1]

    def _relaxed(self, block: Costs, places: Places, weights: Array) -> list[tuple[Proxy, Array]]:
        """Each proxy the model descends, and the costs (K, T, b) that it stands in for."""
        if self.loss is self.proxy:
            return [(self.proxy, places.spread(block.costs(weights)))]
        objective = 0 * weights
        objective[:, 0] = weights[:, 0]
        return [
            (self.proxy, places.spread(block.costs(weights - objective))),
            (self.loss, places.spread(block.costs(objective))),
        ]

    def _totalled(self, shifted: Array, places: Places, weight: Array | float) -> Array:
        """What is totalled per slice for the λ-player: decisions (K, D - 1, S), or a proxy (K, T, S)."""
        if self.relaxes:
            return places.total(weighed(self.proxy.value(shifted, self._targets_like(shifted)), weight))
        return total_decided(places, shifted, weight)

    def _targets_like(self, scores: Array) -> Targets:
        """The targets as arrays of the kind of the scores; the first ones are NumPy's on a GPU too."""
        return self._in_numpy if namespace(scores) is np else self._targets

    def _shifted(self, thresholds: Array, scores: Array) -> list[Array]:
        """The scores relative to each block's threshold."""
        learned, size = itertools.count(), self.compiled.decisions - 1
        shifted = []
        for block in self.blocks:
            if isinstance(block.at, str):
                start = size * next(learned)
                shifted.append(less_thresholds(scores, thresholds[:, start : start + size]))
            else:
                shifted.append(scores - block.at if block.at else scores)
        return shifted

    def _moved(self, state: GameState, shown: Look, slopes: list[Array]) -> GameState:
        """The state after both the multipliers and the learned thresholds have moved."""
        multipliers = self.player.step(state.multipliers, shown.values[:, 1:])
        moved = replace(state, multipliers=multipliers, means=shown.means)
        if not slopes:
            return moved
        gradient = total(namespace(slopes[0]).concatenate(slopes, -1))
        direction, moments = adam_direction(gradient, state.threshold_moments, multipliers.steps)
        thresholds = state.thresholds - self.rules.threshold_rate * direction
        return replace(moved, thresholds=thresholds, threshold_moments=moments)

    def _shaped(self, scores: Array, models: int) -> Array:
        """The scores of a batch as (K, A, b); where K or A is 1, they may come without its axis."""
        each, rows = score_count(self.compiled.decisions), scores.shape[-1]
        if math.prod(scores.shape) != models * each * rows:
            need = "one score on every row" if each == 1 else "a score for each on every row"
            raise ValueError(
                f"{self.compiled.decisions} classes need {need}, of shape ({models}, {each}, rows), and "
                f"the model gave {tuple(scores.shape)}: use a learner that takes several classes, such "
                "as rb.Linear, rb.MLP or rb.Boosted, or have yours read rows.decisions"
            )
        own = scores.reshape(models, each, rows)
        # NumPy is slow where a row's scores lie side by side, as modules of PyTorch give them.
        return np.ascontiguousarray(own) if namespace(own) is np else own

    def _as_scores(self, scores: Array) -> Array:
        if namespace(self.example) is np and namespace(scores) is not np:  # it shares memory, if it can
            scores = (scores.float() if scores.element_size() < 4 else scores).detach().numpy()
        return as_like(scores, self.example)
