"""Models that are not here: each row holds their scores, for tests of what decides by scores."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ratebound._old.game.scorer import Scorer, check_indices, register_scorer


@register_scorer
@dataclass(frozen=True)
class GivenScores(Scorer):
    """Scores that rows hold, (n, B * A) of B models; a model's parameter is its number."""

    models: int
    each: int  # A, one for two classes, else one for each
    kind: ClassVar[str] = "given"

    def scores(self, parameters: Any, X: Any) -> Any:
        one = tuple(size for size in (self.models, self.each) if size > 1)
        shapes = [one, (self.models, self.each), (self.models * self.each,)]
        if X.shape[1:] not in shapes or X.dtype.kind not in "buif":
            wanted = " x ".join(map(str, one or (1,)))
            raise ValueError(f"decides on scores, {wanted} a row, but got {X.dtype} of shape {X.shape}")
        every = X.reshape(len(X), self.models, self.each).astype(float)
        return np.ascontiguousarray(every.transpose(1, 2, 0)[parameters[:, 0].astype(int)])

    def width(self, parameters: Any) -> int:
        return self.models * self.each

    def describe(self) -> Any:
        return {"models": self.models, "each": self.each}, {}

    @classmethod
    def read(cls, saved: Any) -> "GivenScores":
        sizes = saved.description["models"], saved.description["each"]
        if any(type(size) is not int or size < 1 for size in sizes):
            raise ValueError(f"its scores are {sizes[1]!r} a row of {sizes[0]!r} models")
        check_indices(saved.parameters, [sizes[0]])
        return cls(*sizes)

    def to_graph(self, graph: Any, parameters: Any, features: str) -> str:
        every = graph("Reshape", features, np.array([-1, self.models, self.each]))
        return graph("Gather", every, parameters[:, 0].astype(np.int64), axis=1)
