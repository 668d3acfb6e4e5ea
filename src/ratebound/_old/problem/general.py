"""User-defined constraints on data: the arguments of their functions, and the use of their results.

A function is called with a `Model` and `ModelRows`. If it fails, the error names the constraint. In a
compiled problem such a constraint is a row without coefficients, whose offset is the negative of its
bound. Its value is added to that row, so that all constraints form one vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ratebound._old.base.arrays import namespace
from ratebound._old.base.types import Array
from ratebound._old.problem.deciding import as_shown
from ratebound._old.problem.frames import is_sparse, rows_of
from ratebound._old.problem.population import Population
from ratebound._old.problem.sharing import any_shared
from ratebound._old.rates.expressions import Constraint, Expression
from ratebound._old.rates.general import General
from ratebound._old.rates.subsets import Name

if TYPE_CHECKING:
    from ratebound._old.problem.compiled import Compiled
    from ratebound._old.problem.problem import Problem

Part = Literal["value", "proxy"]  # which of its two functions is called
FARTHEST = 1e12  # the largest score: beyond it a model has diverged, and squares soon overflow
# Calls a function of (index, module) for each of K models in turn, and returns the results.
Modules = Callable[[Callable[[int, Any], Any]], list[Any]]


# --- the arguments of functions -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Model:
    """One model, as the functions of `rb.constraint` see it.

    Parameters
    ----------
    scores : array or tensor of shape (n,) or (D, n)
        Its scores of the rows. With two classes the decision is yes from 0 on; with more, the largest
        score decides.
    module : object, default=None
        The PyTorch module, in the state to evaluate. In a training loop of the user's, the value of
        ``module=``; for other models, their flat parameters (P,).
    """

    scores: Any
    module: Any = None


class ModelRows:
    """Rows of one population, as the functions of `rb.constraint` see them.

    If the model's scores are tensors, numbers are tensors on the same device; otherwise all is NumPy.
    """

    def __init__(self, population: Population, index: Array | None, scores: Any) -> None:
        self._population, self._index, self._like = population, index, scores

    def __len__(self) -> int:
        return len(self._population) if self._index is None else len(self._index)

    @cached_property
    def X(self) -> Any:
        """The features, (n, ...)."""
        features = self._population.features
        return self._given(features if self._index is None else rows_of(features, self._index))

    @cached_property
    def y(self) -> Any:
        """The labels (n,): 1 for yes and 0 for no; with more classes, the index of each."""
        y = self._population.y
        if y is None:
            raise ValueError("these rows have no labels: rb.Population(X, y)")
        return self._given(self._some(y.astype(float) if y.dtype == bool else y))

    @cached_property
    def weights(self) -> Any:
        """The weight of each row (n,), 1 if rows are not weighted."""
        return self._given(self._some(self._population.row_weights))

    @property
    def columns(self) -> Mapping[Name, Any]:
        """The columns by name, (n,) each."""
        return _Columns(self)

    def column(self, name: Name) -> Any:
        """One column (n,): numbers and booleans are arrays of the scores' kind, texts are NumPy."""
        return self._given(self._some(self._population.column(name)))

    @property
    def column_names(self) -> list[Name]:
        """The names of the columns."""
        return self._population.column_names

    def _some(self, values: Array) -> Array:
        return values if self._index is None else values[self._index]

    def _given(self, values: Any) -> Any:
        """Values as arrays of the scores' kind."""
        torch = namespace(self._like)
        if torch is np or is_sparse(values) or values.dtype.kind not in "buif":
            return values
        writable = np.require(values, requirements=["W"])  # otherwise PyTorch warns
        tensor = torch.as_tensor(writable, device=self._like.device)
        return tensor.to(self._like.dtype) if tensor.is_floating_point() else tensor


class _Columns(Mapping[Name, Any]):
    def __init__(self, rows: ModelRows) -> None:
        self._rows = rows

    def __getitem__(self, name: Name) -> Any:
        return self._rows.column(name)

    def __iter__(self) -> Iterator[Name]:
        return iter(self._rows.column_names)

    def __len__(self) -> int:
        return len(self._rows.column_names)


# --- calling them --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Asked:
    """The user-defined constraints of a compiled problem, and the part that is called."""

    compiled: Compiled
    part: Part

    def of(self, model: Model, rows: Array | None, *, only: Sequence[int] | None = None) -> list[Any]:
        """The results for one model, whose scores belong to these stacked rows, or to all.

        They are numbers; for a proxy that the model descends, anything with a gradient. `only` gives the
        indices of some of the constraints, by default all.
        """
        chosen = range(len(self.compiled.general)) if only is None else only
        return [self._one(self.compiled.general[each][1], model, rows) for each in chosen]

    def _one(self, constraint: Constraint, model: Model, rows: Array | None) -> Any:
        metric = constraint.left
        assert isinstance(metric, General)
        population = self.compiled.populations[metric.population]
        where = self.compiled.rows[metric.population]
        scores, index = _within(model.scores, rows, where)
        seen = ModelRows(population, index, scores)
        return called(constraint, self.part, Model(scores, model.module), seen)


def _within(scores: Any, rows: Array | None, where: slice) -> tuple[Any, Array | None]:
    """The scores of one population, and its row numbers; None for all of them."""
    if rows is None:
        whole = scores.shape[-1] == where.stop - where.start
        return (scores if whole else scores[..., where]), None
    index = np.asarray(rows.cpu() if hasattr(rows, "cpu") else rows)
    inside = (index >= where.start) & (index < where.stop)
    if inside.all():
        return scores, index - where.start
    places = np.flatnonzero(inside)
    return scores[..., places], index[places] - where.start


def called(constraint: Constraint, part: Part, model: Model, rows: ModelRows) -> Any:
    """The checked result of a constraint's function: a number, or a scalar with a gradient."""
    metric = constraint.left
    assert isinstance(metric, General)
    function = getattr(metric, part)
    if function is None:
        raise ValueError(needs_function(metric))
    try:
        answer = function(model, rows)
    except Exception as error:  # a user's function may raise anything
        missing = model.module is None and isinstance(error, AttributeError | TypeError)
        hint = ". It received no model.module: give module=, here and in each round" * missing
        raise ValueError(f"{_who(metric, part)} raised {type(error).__name__}: {error}{hint}") from error
    _check_one_number(metric, part, answer)
    torch = namespace(model.scores)
    descended = part == "proxy" and torch is not np and torch.is_grad_enabled()
    if descended and not getattr(answer, "requires_grad", False):
        raise ValueError(
            f"{_who(metric, part)} has no gradient, so the model cannot descend it: compute it "
            "with PyTorch from model.scores or model.module, without .item(), .detach() and NumPy"
            + (", or give proxy=" if metric.proxy is metric.value else "")
        )
    if descended:
        _finite(metric, part, float(answer.detach()), model.scores.detach())
    return answer


def needs_function(metric: General) -> str:
    """The error for a constraint that was read from a file, which holds no functions."""
    return (
        f"{metric}: a file holds the name of a user-defined constraint, not its function: give the "
        f"problem with rb.constraint(value=..., name={metric.name!r}) again"
    )


def number(constraint: Constraint, part: Part, answer: Any, scores: Any) -> float:
    """A result as a plain number; NaN only if the model's own scores are not finite."""
    metric = constraint.left
    assert isinstance(metric, General)
    try:
        plain = float(answer.detach() if hasattr(answer, "detach") else answer)
    except (TypeError, ValueError):
        raise ValueError(f"{_who(metric, part)} gave {answer!r}: it must return one number") from None
    return _finite(metric, part, plain, scores)


def _check_one_number(metric: General, part: Part, answer: Any) -> None:
    if answer is None:
        raise ValueError(f"{_who(metric, part)} gave None: it must return one number")
    shape = tuple(getattr(answer, "shape", ()))
    if shape or isinstance(answer, str | bytes | Sequence | Mapping):
        kind = f"an array of shape {shape}" if shape else f"a {type(answer).__name__}"
        raise ValueError(
            f"{_who(metric, part)} gave {kind}: it must return one number, such as the .mean() or "
            ".max() of that"
        )


def _finite(metric: General, part: Part, answer: float, scores: Any) -> float:
    if math.isfinite(answer):
        return answer
    if not within_reach(scores[None])[0]:
        return math.nan  # the model has diverged, which is reported as such
    raise ValueError(
        f"{_who(metric, part)} gave {answer} for scores that are all finite: look for a division by "
        "0, such as the mean over rows of which a batch has none"
    )


def within_reach(scores: Any) -> Array:
    """Which models (K,) have scores (K, ...) small enough to compute with."""
    small = abs(scores) < FARTHEST  # neither is NaN
    return np.array([bool(each.all()) for each in small], dtype=bool)


def _who(metric: General, part: Part) -> str:
    shared = part == "proxy" and metric.proxy is metric.value
    return f"{metric}: its function {'value' if shared else part}="


def models_of(scores: Any, modules: Any, shape: tuple[int, int, int]) -> list[Model]:
    """K models with scores as they were given; with all axes their shape is (K, A, n).

    `modules` has one for each of them, or is None.
    """
    return modules_of(modules, shape[0])(models_from(scores, shape))


def models_from(scores: Any, shape: tuple[int, int, int]) -> Callable[[int, Any], Model]:
    """A function from the index and the module of a model to the `Model` that users see."""
    each = scores if hasattr(scores, "reshape") else np.asarray(scores)
    each = as_shown(each.reshape(shape))
    return lambda place, module: Model(each[place], module)


def modules_of(given: Any, count: int) -> Modules:
    """Modules as users give them: one, a list with one for each model, or None."""
    modules = list(given) if isinstance(given, list | tuple) else [given]
    if given is None:
        modules = [None] * count
    if len(modules) != count:
        raise ValueError(
            f"module= takes a list of what user-defined constraints see of each of {count} models, "
            f"got {len(modules)}"
        )
    return lambda function: [function(place, module) for place, module in enumerate(modules)]


def values_of_models(compiled: Compiled, models: Sequence[Model]) -> Array:
    """The exact values of each of K models (K, g), given their scores on all stacked rows."""
    asked = Asked(compiled, "value")
    table = [
        [
            number(constraint, "value", answer, model.scores)
            for (_, constraint), answer in zip(compiled.general, asked.of(model, None), strict=True)
        ]
        for model in models
    ]
    return np.array(table, dtype=float).reshape(len(models), len(compiled.general))


def with_values(compiled: Compiled, violations: Array, own: Array) -> Array:
    """Violations (K, m) with values (K, g) added to the rows of the user-defined constraints."""
    whole = np.array(violations, dtype=float)
    for place, (row, _) in enumerate(compiled.general):
        whole[:, row] += own[:, place]
    return whole


# --- their conditions -----------------------------------------------------------------------------


def check_general(problem: Problem, populations: Mapping[str, Population]) -> None:
    """Raise if a user-defined constraint cannot be compiled on these rows."""
    for constraint in problem.constraints:
        metric = constraint.left
        if not isinstance(metric, General):
            continue
        if metric.value is None:
            raise ValueError(needs_function(metric))
        if metric.population not in populations:
            known = ", ".join(map(repr, populations))
            raise ValueError(
                f"{constraint}: population {metric.population!r} is not given, only {known}. Pass it "
                f"as a keyword, {metric.population}=..., beside the first population"
            )
        if any(population.stored for population in populations.values()):
            raise ValueError(
                f"{constraint}: a user-defined function is called with all rows, but some of these are "
                "on disk: load them into memory with population.in_memory()"
            )
        if any_shared(dict(populations)):
            raise ValueError(
                f"{constraint}: a user-defined function is called with all rows, but each process has "
                "a share: train in one process"
            )
        if not isinstance(problem.objective, Expression):
            raise ValueError(
                f"{constraint}: with user-defined constraints the objective must be a sum of rates, but "
                f"{problem.objective} is not: minimize error_rate(), for example, and promise the rest"
            )
