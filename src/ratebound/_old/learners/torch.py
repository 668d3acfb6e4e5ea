"""Any PyTorch module that gives one score per row, or one per class; K settings are stacked."""

from __future__ import annotations

import copy
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.checks import check_number, check_whole
from ratebound._old.base.drawing import drawing_from, drawing_nothing, seeded_on
from ratebound._old.base.extras import import_torch
from ratebound._old.base.types import Array
from ratebound._old.game.learner import Added, Differentiating, Rows, Stepping
from ratebound._old.game.players import checked_rates
from ratebound._old.learners._modules import (
    OnDevice,
    backward_in,
    check_alike,
    check_kinds,
    check_precision,
    forward_in,
    holder,
    stacked_forward,
)
from ratebound._old.learners._torch_scorer import TorchScorer, as_tensor, scores_from, unflatten
from ratebound._old.learners.linear import Descent
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import as_dense
from ratebound._old.problem.stored import StoredRows

if TYPE_CHECKING:
    import torch

    from ratebound._old.problem.compiled import Compiled


class Network(Stepping):
    """A learner that trains a module of PyTorch, which it makes itself or is given."""

    fit: ClassVar[Any] = Differentiating
    optimizer: Any
    l2: float
    device: str | None
    precision: str = "float32"
    regularizer: Any = None

    def __post_init__(self) -> None:
        checked_rates(self.learning_rate)
        check_number("l2", self.l2, least=0)
        if not callable(self.optimizer) and self.optimizer not in ("sgd", "adam"):
            raise ValueError(f"optimizer must be 'sgd', 'adam' or a function, got {self.optimizer!r}")
        check_precision(self.precision, self.device)
        self.check_settings(self.settings)

    def check_settings(self, settings: int) -> None:
        """Raise where so many models cannot be trained side by side.

        Parameters
        ----------
        settings : int
            How many.

        Raises
        ------
        ValueError
            If there are several, and the optimizer or the regularizer is a function: it knows one model
            alone.
        """
        if settings > 1 and (callable(self.optimizer) or self.regularizer is not None):
            raise ValueError(
                "an optimizer or regularizer of your own needs one setting at a time: one learning rate "
                "of the model and one of the player, and no folds"
            )

    @abstractmethod
    def network(self, features: Array, outputs: int = 1) -> Any:
        """The module to train on these rows, not shared with anyone.

        Parameters
        ----------
        features : array of shape (n, ...)
            The rows.
        outputs : int, default=1
            How many scores it gives a row: one for two classes, or one for each of more.

        Returns
        -------
        torch.nn.Module
            A fresh one, which training changes.
        """

    def start(self, rows: Rows, settings: int, seed: int) -> TorchFit:
        torch, features = import_torch(), as_dense(rows.features, type(self).__name__)
        self.check_settings(settings)
        outputs = score_count(rows.decisions)
        with seeded_on(self.device, seed), drawing_from(torch.Generator().manual_seed(seed)):
            module = self.network(features, outputs)
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"expected a torch.nn.Module, got {type(module).__name__}")
        if processes.count() > 1:
            check_alike(module)
            module.load_state_dict(processes.of_first(module.state_dict()))
        fit = TorchFit(self, module, features, settings, outputs)
        fit.rows_there[id(rows)] = rows, fit.X
        return fit


@dataclass(frozen=True)
class Torch(Network):
    """A PyTorch module as the model, or a function that makes one; needs ``ratebound[torch]``.

    Parameters
    ----------
    module : torch.nn.Module or callable
        It gives (b,) or (b, 1) scores for (b, ...) rows, and with D > 2 classes (b, D). A function that
        makes one takes nothing, or the number of features, or that and the number of scores. The module
        given is copied, never changed.
    learning_rate : float or list of float, default=0.001
        Step size; the default is Adam's usual one. Several are several settings from the same initial
        parameters, trained side by side.
    optimizer : {"adam", "sgd"} or callable, default="adam"
        How steps are taken; for one setting, a function from parameters to a `torch.optim.Optimizer`.
        The default needs the least tuning.
    l2 : float, default=0.0
        Adds ``l2/2 · |θ|²`` to what is minimized. By default nothing.
    regularizer : callable, default=None
        Adds any function of the module, for one setting. By default nothing.
    device : str, default=None
        Where it is trained, such as "cuda". None is the CPU.
    precision : {"float32", "tf32", "bf16"}, default="float32"
        Of its passes in training; "tf32" is for a GPU. Parameters, the game and the rates of kept
        iterates are in full precision with any of them, and the default is too.
    initial : array of shape (P,) or (K, P), default=None
        Parameters to start from, as traces hold them. By default the module's own.

    Examples
    --------
    >>> import numpy as np, torch, ratebound._old as rb
    >>> X = np.random.default_rng(0).normal(size=(200, 2)).astype("float32")
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> learner = rb.Torch(lambda features: torch.nn.Linear(features, 1), learning_rate=0.01)
    >>> trace = rb.play(compiled, learner, rounds=50, batch_size=None)
    >>> rb.shrink(trace).predict(X).shape
    (200,)
    """

    module: torch.nn.Module | Callable[..., torch.nn.Module]
    learning_rate: float | Sequence[float] = 0.001
    optimizer: str | Callable[[Any], torch.optim.Optimizer] = "adam"
    l2: float = 0.0
    regularizer: Callable[[torch.nn.Module], torch.Tensor] | None = None
    device: str | None = None
    precision: str = "float32"
    initial: Array | None = field(default=None, compare=False)

    takes_stored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        import_torch()
        if not callable(self.module):  # as modules are too
            raise TypeError(f"Torch takes a module, or a function that makes one, got {self.module!r}")
        super().__post_init__()

    def network(self, features: Array, outputs: int = 1) -> Any:
        """A copy of the module, or what the function makes, given what numbers it asks for.

        Parameters
        ----------
        features : array of shape (n, ...)
            The rows.
        outputs : int, default=1
            How many scores it gives a row.

        Returns
        -------
        torch.nn.Module
            A fresh one, which training changes.
        """
        make: Any = self.module
        if isinstance(make, import_torch().nn.Module):
            return copy.deepcopy(make)
        for given in ((), (features.shape[1],)):
            try:
                inspect.signature(make).bind(*given)
            except TypeError:
                continue
            return copy.deepcopy(make(*given))
        return copy.deepcopy(make(features.shape[1], outputs))


class TorchFit(Differentiating):
    """Modules being trained; `scores` for a batch, then `descend` its gradient."""

    scorer: TorchScorer

    def __init__(
        self, spec: Network, module: torch.nn.Module, features: Array, settings: int, outputs: int
    ) -> None:
        torch = import_torch()
        takes_missing = getattr(module, "takes_missing", False)
        stored = isinstance(features, StoredRows)
        if not stored and (
            np.isinf(features).any() or not (takes_missing or np.isfinite(features).all())
        ):
            raise ValueError("the features X hold NaN or infinite values: fill or scale them first")
        self.spec, self.settings, self.outputs = spec, settings, outputs
        self.scorer = TorchScorer(module, outputs)
        self.target = torch.device(spec.device or "cpu")
        self.device = None if self.target.type == "cpu" else self.target
        self.batched = self.device is not None
        self.gpu = self.target if self.target.type == "cuda" else None
        self.X: Any = features if stored else as_tensor(features).to(self.target)
        self.rows_there: dict[int, tuple[Rows, Any]] = {}  # of problems, on the device
        self.module = module.to(self.target).train()
        self.chance = torch.Generator()  # of dropout and the like; a GPU has its own
        self.checked = False  # that its gradient draws nothing
        trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
        check_kinds(trained)
        self.shapes = {name: p.shape for name, p in trained.items()}
        start = torch.cat([p.detach().reshape(-1) for p in trained.values()])
        self.flat = start.repeat(settings, 1)
        self.flat.grad = torch.zeros_like(self.flat)
        if settings == 1:
            # The module's own parameters and gradients become views of the flat ones.
            for name, view in unflatten(self.flat[0], self.shapes).items():
                trained[name].data = view
            for name, view in unflatten(self.flat.grad[0], self.shapes).items():
                trained[name].grad = view
        else:
            self.flat.requires_grad_()
            self._stacked = stacked_forward(self.module, set(self.shapes))
        # A module may have a shape to keep, such as a monotone one, after every step.
        self._project: Callable[[dict[str, Any]], None] | None = getattr(module, "project", None)
        self.own_optimizer: Any = None
        if callable(spec.optimizer):
            self.own_optimizer = spec.optimizer(list(trained.values()))
        else:
            kind: Any = spec.optimizer
            self.descent = Descent(self.flat.detach(), spec.learning_rate, kind)
            farther: dict[str, float] = getattr(module, "steps", {})  # times the learning rate, by name
            if farther:
                factors = [torch.full_like(p.data, farther.get(n, 1.0)) for n, p in trained.items()]
                self.descent.rate = self.descent.rate * torch.cat([f.reshape(-1) for f in factors])

    @contextmanager
    def randomness(self, seed: int) -> Iterator[None]:
        """A context in which `seed` decides all chance in training, such as dropout."""
        seed += processes.rank()
        self.chance.manual_seed(seed)
        with seeded_on(self.gpu, seed) if self._may_draw else nullcontext():
            yield

    @property
    def _may_draw(self) -> bool:
        """Whether training may use random numbers; plain chains and lattices do not by themselves."""
        own = self.own_optimizer is not None or self.spec.regularizer is not None
        return own or self.scorer.layers is None

    def _drawing(self) -> AbstractContextManager[Any]:
        """A context in which what is drawn comes from the seed."""
        return drawing_from(self.chance) if self._may_draw else nullcontext()

    @property
    def recordable(self) -> bool:
        """Whether a step is the same sequence of kernels every time, so that a GPU can replay it."""
        nn = import_torch().nn
        chance = (nn.Dropout, nn.modules.dropout._DropoutNd)
        return (
            self.gpu is not None
            and not isinstance(self.X, StoredRows)
            and processes.count() == 1
            and self.own_optimizer is None
            and self.spec.regularizer is None
            and not any(isinstance(part, chance) for part in self.module.modules())
        )

    def count_on_device(self) -> None:
        """Count the steps on the device, for a step that is replayed."""
        torch = import_torch()
        self.descent.steps = torch.tensor(self.descent.steps, dtype=torch.float64, device=self.target)

    def judged_scores(self, judge: Compiled, rows: Any) -> torch.Tensor:
        """Scores of these rows of another problem, as the model would give them if deployed."""
        torch, X = import_torch(), self._rows_of(judge)
        self.module.eval()  # or they would move its running statistics
        with torch.no_grad():
            index = None if rows is None else torch.as_tensor(rows, device=self.target)
            scores = self._in_training(X if index is None else X.index_select(0, index))
        self.module.train()
        return scores

    def _rows_of(self, other: Compiled) -> Any:
        """The rows of a problem where the model is; it is kept, so that its id is not reused."""
        if id(other) not in self.rows_there:
            self.rows_there[id(other)] = other, as_tensor(other.features).to(self.target)
        return self.rows_there[id(other)][1]

    def scores(self, rows: Any) -> torch.Tensor:
        """(K, A, b) scores of these rows, detached; the graph is kept for `descend`."""
        if isinstance(self.X, StoredRows):
            given = as_tensor(self.X.everything() if rows is None else self.X.take(rows)).to(self.target)
        elif rows is None:
            given = self.X
        else:
            given = self.X.index_select(0, import_torch().as_tensor(rows, device=self.target))
        self._scores = self._in_training(given)
        return self._scores.detach()

    def _in_training(self, batch: torch.Tensor) -> torch.Tensor:
        with self._drawing(), forward_in(self.spec.precision, self.target):
            return self._forward(batch).float()

    def _forward(self, batch: torch.Tensor) -> torch.Tensor:
        if self.settings == 1:
            return scores_from(self.module(batch), len(batch), self.outputs)[None]
        return scores_from(self._stacked(self._state(), batch), len(batch), self.outputs, self.settings)

    def _state(self) -> dict[str, Any]:
        """Views of every setting's parameters by name, (K, ...)."""
        return unflatten(self.flat, self.shapes)

    def modules(self, function: Callable[[int, Any], Any], *, training: bool) -> list[Any]:
        """Call a function with the module of each setting; it then has that setting's parameters."""
        torch = import_torch()
        if training:
            return self._asked(function)
        self.module.eval()
        with torch.no_grad():
            answers = self._asked(function)
        self.module.train()
        return answers

    def _asked(self, function: Callable[[int, Any], Any]) -> list[Any]:
        if self.settings == 1:
            return [function(0, self.module)]
        holding = holder(self.module)
        call, states = import_torch().func.functional_call, self._state()
        each = ({f"module.{n}": p[k] for n, p in states.items()} for k in range(self.settings))
        return [call(holding, own, (partial(function, k),)) for k, own in enumerate(each)]

    def descend(self, gradient: torch.Tensor, added: Added | None = None) -> None:
        """One step against the gradient with respect to the scores last given, of their shape."""
        torch = import_torch()
        scores, roots = self._scores, [self._scores]
        slopes: list[Any] = [gradient]
        del self._scores  # a graph kept alive ties its parameters to the stream it was made on
        if added is not None:
            roots.append(added(scores, partial(self.modules, training=True)))
            slopes.append(None)
        assert self.flat.grad is not None
        self.flat.grad.zero_()
        unsure = self._may_draw and self.gpu is None and not self.checked
        guard = drawing_nothing() if unsure else nullcontext()
        with backward_in(self.spec.precision), guard:
            torch.autograd.backward(roots, slopes)
        self.checked = True
        del scores, roots
        if processes.count() > 1:
            self.flat.grad.copy_(processes.total(self.flat.grad))
        if self.spec.regularizer is not None:
            with self._drawing():
                self.spec.regularizer(self.module).backward()
        with torch.no_grad():
            if self.spec.l2:
                self.flat.grad += self.spec.l2 * self.flat
            if self.own_optimizer is not None:
                with self._drawing():
                    self.own_optimizer.step()
            else:
                self.descent.step(self.flat, self.flat.grad)
            if self._project is not None:
                self._project(self._state())

    def held(self) -> dict[str, Any] | None:
        if self.own_optimizer is not None:
            return None
        states = [self.chance.get_state()]
        if self.gpu is not None and self._may_draw:
            states.append(import_torch().cuda.get_rng_state(self.gpu))
        everyone = processes.gathered(tuple(state.numpy() for state in states))
        return {"parameters": self.parameters(), "descent": self.descent.held(), "chance": everyone}

    def take_up(self, held: dict[str, Any]) -> None:
        self._take_over(held["parameters"])
        self.descent.take_up(held["descent"])
        torch, states = import_torch(), held["chance"][processes.rank()]
        self.chance.set_state(torch.from_numpy(states[0]))
        if len(states) > 1:
            torch.cuda.set_rng_state(torch.from_numpy(states[1]), self.gpu)

    def restore(self, parameters: Array) -> None:
        self._take_over(parameters)
        if self._project is not None:
            with import_torch().no_grad():
                self._project(self._state())

    def _take_over(self, parameters: Array) -> None:
        """Take over parameters and float buffers (K, P), as `parameters` gives them."""
        given = unflatten(as_tensor(parameters).to(self.target), self.scorer.shapes)
        buffers = dict(self.module.named_buffers())
        with import_torch().no_grad():
            for name, part in self._state().items():
                part.copy_(given[name])
            for name in given.keys() & buffers.keys():
                buffers[name].copy_(given[name][0])

    def parameters(self) -> Array:
        """Parameters and float buffers of every setting, flat, on the CPU."""
        flat: Array = self.snapshot().cpu().numpy()
        return flat

    def snapshot(self) -> torch.Tensor:
        """A copy of the same where the model is."""
        fixed = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        held = {
            name: fixed[name].expand(self.settings, *shape) for name, shape in self.scorer.shapes.items()
        }
        parts = [part.reshape(self.settings, -1) for part in (held | self._state()).values()]
        scores: torch.Tensor = import_torch().cat(parts, dim=1).detach()
        return scores

    def all_scores(self) -> Array:
        """(K, A, n) scores of all rows, as the deployed model gives them."""
        if self.device is None:
            return self.scorer.scores(self.parameters(), self.X.numpy())
        return self._whole(self.X)

    def watched_scores(self, other: Compiled) -> Array:
        """Scores of all rows of another compiled problem, computed where the model is."""
        if self.device is None:
            return self.scorer.scores(self.parameters(), other.features)
        return self._whole(self._rows_of(other))

    def score_pieces(self, other: Compiled, parameters: Array) -> Iterator[Any]:
        if self.device is None or other.stored:
            return super().score_pieces(other, parameters)
        return self._on_device.pieces(parameters, self._rows_of(other))

    def _whole(self, X: torch.Tensor) -> Array:
        pieces = list(self._on_device.pieces(self.parameters(), X))
        scores: Array = import_torch().cat(pieces, dim=-1).cpu().numpy()
        return scores

    @cached_property
    def _on_device(self) -> OnDevice:
        return OnDevice(self.scorer, self.target, together=self.settings > 1)


# --- plain networks -----------------------------------------------------------------------------


@dataclass(frozen=True)
class MLP(Network):
    """A network with hidden layers of these sizes; for any other module there is `rb.Torch`.

    Linear layers with ReLU between them, in PyTorch. It gives one score a row for two classes, and one
    for each class for more.

    Parameters
    ----------
    hidden : list of int, default=(32,)
        The sizes of the hidden layers. The default is small: enough for most tables, and fast.
    learning_rate : float or list of float, default=0.01
        Step size. Several are several settings, trained side by side.
    optimizer : {"adam", "sgd"} or callable, default="adam"
        How steps are taken; a function from parameters to a `torch.optim.Optimizer` for one setting.
    l2 : float, default=0.0
        Adds ``l2/2 · |θ|²`` to what is minimized. By default nothing.
    device : str, default=None
        Where it is trained, such as "cuda". None is the CPU.
    precision : {"float32", "tf32", "bf16"}, default="float32"
        Of the passes in training, as in `rb.Torch`.
    initial : array of shape (P,) or (K, P), default=None
        Parameters to start from, as traces hold them. By default PyTorch's own start, from the seed.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] * X[:, 1] > 0))
    >>> trace = rb.play(compiled, rb.MLP(hidden=(8,)), rounds=50, batch_size=None)
    >>> rb.shrink(trace).predict(X).shape
    (200,)
    """

    hidden: Sequence[int] = (32,)
    learning_rate: float | Sequence[float] = 0.01
    optimizer: str = "adam"
    l2: float = 0.0
    device: str | None = None
    precision: str = "float32"
    initial: Array | None = field(default=None, compare=False)

    takes_stored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Sequence):
            raise ValueError(f"hidden takes the sizes of layers, as in (32,), got {self.hidden!r}")
        for size in self.hidden:
            check_whole("hidden: a layer", size)
        super().__post_init__()

    def network(self, features: Array, outputs: int = 1) -> Any:
        nn = import_torch().nn
        sizes = [features.shape[1], *self.hidden]
        layers: list[Any] = []
        for inside, outside in pairwise(sizes):
            layers += [nn.Linear(inside, outside), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))
