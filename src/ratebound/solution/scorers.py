"""The scorer that a file describes: the models themselves, checked before anything large is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.game.trace import Scorer
from ratebound.learners.linear import LinearScorer

Array = NDArray[Any]


def read_scorer(
    description: dict[str, Any], tensors: dict[str, Array], module: Any, trusted: Sequence[str]
) -> tuple[Scorer, int | None]:
    """The scorer that `describe` described, and how many features it takes where that is known."""
    parameters = tensors["parameters"]
    kind = description["kind"]
    if kind == "linear":
        dtype = description["dtype"]
        if dtype not in ("float32", "float64") or parameters.shape[1] < 1:
            raise ValueError(f"its linear models are of {dtype!r} with shape {parameters.shape}")
        return LinearScorer(dtype), parameters.shape[1] - 1
    if kind == "boosted":
        from ratebound.learners import boosted

        trees = boosted.read_scorer(description, tensors)
        _check_indices(parameters[:, :2], [len(trees.ensembles), 2**31])
        return trees, trees.ensembles[0].width
    if kind == "oracle":
        from ratebound.learners import oracle

        fitted = oracle.read_scorer(description, tensors, trusted)
        _check_indices(parameters[:, :1], [len(fitted.members)])
        return fitted, None
    if kind != "torch":
        raise ValueError(f"it holds an unknown kind of model, {kind!r}")
    return _torch_scorer(description, parameters.shape[1], module)


def _torch_scorer(description: dict[str, Any], size: int, module: Any) -> tuple[Scorer, int | None]:
    from ratebound.learners.architecture import build, measured
    from ratebound.learners.torch_scorer import TorchScorer

    width = None
    if module is None:
        layers = description["layers"]
        if layers is None:
            raise ValueError(
                f"it holds parameters of a module of your own, {description['module']}: pass it, or a "
                "function making it, as rb.load(path, module=...)"
            )
        width, declared = measured(layers)
        _check_size(size, declared, "what its layers declare")
        module = build(layers)
    scorer = TorchScorer(module)
    held = sum(shape.numel() for shape in scorer.shapes.values())
    _check_size(size, held, type(scorer.module).__name__)
    return scorer, width


def _check_size(size: int, held: int, what: str) -> None:
    if size != held:
        raise ValueError(
            f"it holds {size:,} parameters a model, and {what} has {held:,}: pass the module it was "
            "trained with"
        )


def _check_indices(parameters: Array, ends: Sequence[int]) -> None:
    """Whether each column of parameters holds whole numbers from 0 to below its end."""
    right = parameters.shape[1] == len(ends) and (parameters == np.floor(parameters)).all()
    if not right or (parameters < 0).any() or (parameters >= np.array(ends)).any():
        raise ValueError("its parameters name models that it has not")
