"""One round of the game: from scores to the gradient with respect to them; the multipliers move.

The game sees the model only through its scores, so any model can play. The θ-player's loss is

    weights[0] · loss(objective) + Σ weights[i] · proxy(constraint i)

Its derivative by a row's scores needs a few numbers per row: the cost of missing each target there
(with two classes, the cost of a yes and of a no).
The λ-player sees the true rates (or the proxies, for `Lagrangian`) on the same scores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base.arrays import Array, as_given, as_like, example_of, namespace
from ratebound._old.base.checks import check_whole, check_word
from ratebound._old.base.processes import total, totals
from ratebound._old.game._constraints import Models, descended, own_values
from ratebound._old.game._costs import (
    CellPlaces,
    Costs,
    Exactly,
    Places,
    largest_violations,
    total_decided,
    weighed,
)
from ratebound._old.game._recording import Rounds
from ratebound._old.game._state import (
    Batch,
    GameState,
    Look,
    RunningMeans,
    View,
    drawn_share,
    running_means,
)
from ratebound._old.game.players import Multipliers, Player, SwapRegret
from ratebound._old.game.proxies import PROXIES, Proxy, Targets, targets_like
from ratebound._old.game.rules import Rules
from ratebound._old.kernels.swap import adam_direction
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import less_thresholds, score_count, with_axes
from ratebound._old.problem.general import Modules, modules_of
from ratebound._old.problem.sharing import of_all

FLATTEST = 1e-16  # the least curvature, so that a row that no rate counts never divides by zero


class Game:
    """The game of one compiled problem, round by round; see `play` for a whole training.

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
        The player that sets the constraints' weights. By default ``rb.SwapRegret()``, the paper's.
    settings : int, default=None
        The number of models that play side by side. By default one for each of the player's rates.
    rules : Rules, default=None
        What the model descends, and how rates are estimated. By default ``rb.Rules()``.
    device : object, default=None
        The device to play on, as PyTorch names it, such as "cuda". By default NumPy, which is faster for
        tensors on the CPU too.
    precision : {"float32", "float64"}, default="float32"
        The precision of the game. Single precision is enough for gradients; multipliers are always in
        double precision.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
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
        from ratebound._bridge import accept

        compiled = accept(compiled)
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
        # Rows on disk have a smaller integer each; the integers of a batch are widened when it is drawn.
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
        """The factor from a mean in bits to a sum over rows in nats, as tree libraries count losses.

        Times this factor, the gradient of an unconstrained logistic error is σ(s) - y on each row.
        """
        return sum(of_all(self.compiled.first, self.compiled.first.total_weight)) * math.log(2)

    def on_device(self, integers: Array) -> Array:
        """Integers on the game's device.

        Parameters
        ----------
        integers : array
            A NumPy array.

        Returns
        -------
        array
            The same, on the game's device.
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
            The model's first scores on all rows; an iterator gives scores of some rows at a time.
        rounds : int, default=None
            The number of rounds to come; needed only for the theorems' step sizes.
        thresholds : array of shape (K, L), default=None
            The thresholds that are learned with the model. By default they start at the values that
            budgets on these rows allow.

        Returns
        -------
        GameState
            The state for `recorded` or `round`.
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
        """The totals of all rows per slice for each block, given their scores (K, A, b) in order."""
        compiled, start = self.compiled, 0
        totals: list[Any] = [0.0] * len(self.blocks)
        for scores in pieces:
            rows = slice(start, start + scores.shape[-1])
            start = rows.stop
            places = CellPlaces(
                compiled.cells[rows], compiled.cell_count, Exactly(compiled), np.empty(0)
            )
            for index, shifted in enumerate(self._shifted(thresholds, scores)):
                weights = compiled.weights_in(compiled.blocks[index], rows)
                own = self._totalled(shifted, places, 1.0 if weights is None else weights)
                totals[index] = totals[index] + own
        return [total(each) for each in totals]

    def _exact_means(self, block: Costs, counted: Array) -> RunningMeans:
        """Means to start from, given the totals of all rows per slice."""
        exact = as_like(counted, self.example) / (block.slice_weight + (block.slice_weight == 0))
        return running_means(exact, block.slice_weight, block.slice_rows, self.rules.window)

    def bound(self) -> float:
        """A bound on the violations shown to the λ-player, for the theorems' step sizes.

        It is in the norm that the player needs, and holds for any scores and any batch from `batch`.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        ValueError
            If the player watches a proxy without a largest value, so that there is no bound.
        """
        for _, constraint in self.compiled.general:
            raise ValueError(
                f"{constraint}: the size of a user-defined constraint has no known bound, so "
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
            How many rows of its population each stands for. By default rows count as drawn evenly.

        Returns
        -------
        Batch
            The batch for `round` and `look`.
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

    def recorded(self, state: GameState) -> Rounds:
        """The rounds from a state on, for your own training loop.

        On a GPU a round is recorded as a CUDA graph, once for each shape of batch, and the gradient is
        valid until the next call.

        Parameters
        ----------
        state : GameState
            The state from `start`.

        Returns
        -------
        Rounds
            Call it with the scores of a batch and the indices of its rows; each call is a `round` and
            returns the gradient. Its `state` is the state after the latest call.
        """
        return Rounds(self, state)

    def round(
        self,
        state: GameState,
        scores: Array,
        batch: Batch,
        *,
        models: Models | None = None,
    ) -> tuple[Array, GameState]:
        """Play one round: the gradient by the batch's scores, and the λ-player's step.

        Parameters
        ----------
        state : GameState
            The state before the round.
        scores : array of shape (b,), (K, b) or (K, D, b)
            The scores of the batch's rows.
        batch : Batch
            The batch from `batch`.
        models : Models, default=None
            The models as user-defined constraints see them. By default only the batch's scores.

        Returns
        -------
        tuple of array and GameState
            The gradient, in the shape and kind of the scores, and the state after the round.
        """
        view = self._view(state, scores, batch)
        gradient, slopes = self._gradient(state, view)
        shown = self._with_own(self._look(state, view), scores, batch, models)
        return as_given(gradient, scores), self._moved(state, shown, slopes)

    def look(
        self, state: GameState, scores: Array, batch: Batch, *, models: Models | None = None
    ) -> Look:
        """The rates that a batch's scores show, with updated means; no player moves.

        Parameters
        ----------
        state : GameState
            The state before the round.
        scores : array of shape (b,), (K, b) or (K, D, b)
            The scores of the batch's rows.
        batch : Batch
            The batch from `batch`.
        models : Models, default=None
            As in `round`.

        Returns
        -------
        Look
            Estimates of the objective and the violations on all rows.
        """
        return self._with_own(self._look(state, self._view(state, scores, batch)), scores, batch, models)

    def _with_own(self, shown: Look, scores: Array, batch: Batch, models: Models | None) -> Look:
        """The rates shown, with the values of user-defined constraints, in their units."""
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
        """The sum of the proxies of user-defined constraints, times their weights, for descent.

        Parameters
        ----------
        weights : array of shape (K, 1+m)
            The weights of the multipliers.
        scores : array of shape (b,), (K, b) or (K, D, b)
            The scores of a batch, with their history, so that there is a gradient.
        rows : array of shape (b,), default=None
            Indices of its stacked rows. By default all rows.
        module : object, default=None
            The ``model.module`` that functions see: for several settings, a list.
        modules : Modules, default=None
            The same as a `Modules` function.

        Returns
        -------
        scalar
            A scalar of the proxies' kind; 0.0 without user-defined constraints.
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
        """The gradients of the θ-player's loss by its scores and by each learned threshold."""
        weights = as_like(state.multipliers.weights, self.example)
        gradient, slopes = None, []
        seen = zip(self.blocks, view.shifted, view.places, strict=True)
        for index, (block, shifted, places) in enumerate(seen):
            factor = view.batch.weights(index) * view.batch.share
            slope = self._slope(block, places, weights, shifted) * factor
            gradient = slope if gradient is None else gradient + slope
            if isinstance(block.at, str):
                slopes.append(-slope.sum(-1)[:, 1 - self.compiled.decisions :])  # not of the first class
        return gradient, slopes

    def _look(self, state: GameState, view: View) -> Look:
        counts = []  # for each block: the totals, and the sizes of slices in the batch
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
            The state before the round.
        scores : array of shape (b,), (K, b) or (K, D, b)
            The scores of the batch's rows.
        batch : Batch
            The batch from `batch`.

        Returns
        -------
        array
            The curvature, in the shape and kind of the scores. If a proxy has no curvature, a positive
            number replaces it.
        """
        weights = as_like(state.multipliers.weights, self.example)
        own = self._shaped(self._as_scores(scores), len(weights))
        curved: Array = 0.0
        seen = zip(self.blocks, self._shifted(state.thresholds, own), batch.amounts, strict=True)
        for block, shifted, amounts in seen:
            for proxy, costs in self._relaxed(block, block.places(batch.cells), weights):
                bent = proxy.curvature(shifted, self._targets_like(shifted), costs)
                curved = curved + (bent if amounts is None else bent * amounts)
        factor = batch.weight * batch.share
        return as_given((curved * factor).clip(min=FLATTEST), scores)

    def _slope(self, block: Costs, places: Places, weights: Array, shifted: Array) -> Array:
        """The derivative of the θ-player's loss by each score."""
        relaxed = self._relaxed(block, places, weights)
        targets = self._targets_like(shifted)
        slopes = [proxy.slope(shifted, targets, costs) for proxy, costs in relaxed]
        return slopes[0] if len(slopes) == 1 else slopes[0] + slopes[1]

    def _relaxed(self, block: Costs, places: Places, weights: Array) -> list[tuple[Proxy, Array]]:
        """Each proxy that the model descends, and the costs (K, T, b) that it replaces."""
        if self.loss is self.proxy:
            return [(self.proxy, places.spread(block.costs(weights)))]
        objective = 0 * weights
        objective[:, 0] = weights[:, 0]
        return [
            (self.proxy, places.spread(block.costs(weights - objective))),
            (self.loss, places.spread(block.costs(objective))),
        ]

    def _totalled(self, shifted: Array, places: Places, weight: Array | float) -> Array:
        """Totals per slice for the λ-player: decisions (K, D - 1, S), or a proxy (K, T, S)."""
        if self.relaxes:
            return places.total(weighed(self.proxy.value(shifted, self._targets_like(shifted)), weight))
        return total_decided(places, shifted, weight)

    def _targets_like(self, scores: Array) -> Targets:
        """The targets as arrays of the scores' kind; the first scores are in NumPy on a GPU too."""
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
        """The scores of a batch as (K, A, b); if K or A is 1, its axis may be missing."""
        each, rows = score_count(self.compiled.decisions), scores.shape[-1]
        if math.prod(scores.shape) != models * each * rows:
            need = "one score on every row" if each == 1 else "a score for each on every row"
            raise ValueError(
                f"{self.compiled.decisions} classes need {need}, of shape ({models}, {each}, rows), but "
                f"the model gave {tuple(scores.shape)}: use a learner for several classes, such as "
                "rb.Linear, rb.MLP or rb.Boosted, or have yours read rows.decisions"
            )
        own = scores.reshape(models, each, rows)
        # NumPy is slow if a row's scores are adjacent in memory, as PyTorch modules return them.
        return np.ascontiguousarray(own) if namespace(own) is np else own

    def _as_scores(self, scores: Array) -> Array:
        if namespace(self.example) is np and namespace(scores) is not np:  # sharing memory if possible
            scores = (scores.float() if scores.element_size() < 4 else scores).detach().numpy()
        return as_like(scores, self.example)
