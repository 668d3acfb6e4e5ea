"""Gradient steps on the flat parameters (K, P) of K settings at once, NumPy or torch alike."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ratebound.base.arrays import Array, as_like, namespace

Optimizer = Literal["sgd", "adam"]


class Descent:
    """Adam or SGD with one learning rate per setting; updates the parameters in place."""

    def __init__(self, parameters: Array, learning_rate: Any, optimizer: Optimizer) -> None:
        rates = np.zeros(len(parameters)) + np.asarray(learning_rate, dtype=float)
        self.rate = as_like(rates[:, None], parameters)
        self.adam = optimizer == "adam"
        self.steps = 0
        if self.adam:
            self.first, self.second = 0 * parameters, 0 * parameters

    def held(self) -> dict[str, Any]:
        """What the next steps depend on, besides the parameters."""
        return {"steps": self.steps} | ({"moments": (self.first, self.second)} if self.adam else {})

    def take_up(self, held: dict[str, Any]) -> None:
        """Continue from what `held` gave."""
        self.steps = held["steps"]
        if self.adam:
            for own, given in zip((self.first, self.second), held["moments"], strict=True):
                own[:] = as_like(given, own)

    def step(self, parameters: Array, gradient: Array) -> None:
        """Move `parameters` against `gradient`, both (K, P)."""
        if not self.adam:
            parameters -= self.rate * gradient
            return
        self.steps += 1
        self.first *= 0.9
        self.first += 0.1 * gradient
        self.second *= 0.999
        gradient *= gradient
        gradient *= 0.001
        self.second += gradient
        # lr · m̂ / (√v̂ + ε), with the bias corrections folded into two numbers
        unbias = (1 - 0.999**self.steps) ** 0.5
        root = namespace(parameters).sqrt(self.second)
        root += 1e-8 * unbias
        parameters -= self.rate * (unbias / (1 - 0.9**self.steps)) * self.first / root


def project_onto_norm_ball(parameters: Array, radius: float) -> None:
    """Scale each setting's parameters (K, P) back into the Euclidean ball of `radius`."""
    norms = (parameters * parameters).sum(-1)[:, None] ** 0.5
    parameters *= radius / norms.clip(min=radius)
