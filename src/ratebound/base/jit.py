"""Loops compiled by numba where it is installed: what NumPy and PyTorch can only say in many passes.

Every such loop has a plain version beside it, which runs where numba is missing and which tests compare
it with.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial, update_wrapper
from importlib.util import find_spec
from types import FunctionType
from typing import Any

PLAIN = "RATEBOUND_PLAIN"  # set to anything but nothing or 0, it leaves numba alone


@cache
def available() -> bool:
    """Whether loops can be compiled: numba is installed, and nobody asked to do without it."""
    return os.environ.get(PLAIN, "0") in ("", "0") and find_spec("numba") is not None


class Loop:
    """A function compiled at its first call; numba itself is not imported before that either.

    It may call other loops of its module.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.function, self.options = function, options
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *given: Any) -> Any:
        return (self._compiled or self.compiled())(*given)

    def compiled(self) -> Callable[..., Any]:
        """What numba makes of the function, with the compiled ones of all loops that it names."""
        if self._compiled is None:
            import numba

            code, known = self.function.__code__, self.function.__globals__
            loops = {name: known[name] for name in code.co_names if isinstance(known.get(name), Loop)}
            inside = known | {name: other.compiled() for name, other in loops.items()}
            function = FunctionType(code, inside, code.co_name, self.function.__defaults__)
            self._compiled = numba.njit(cache=True, **self.options)(function)
        return self._compiled


def loop(**options: Any) -> Callable[[Callable[..., Any]], Loop]:
    """Compile the function below with these options of numba, when it is first called."""
    return partial(Loop, options=options)
