"""Loops compiled by numba where it is installed: what NumPy and PyTorch can only say in many passes.

Every such loop has a plain version beside it, which runs where numba is missing and which tests compare
it with.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, partial, update_wrapper
from importlib.util import find_spec
from types import FunctionType
from typing import Any

PLAIN = "RATEBOUND_PLAIN"  # set to 1 it leaves numba alone


@cache
def available() -> bool:
    """Whether loops can be compiled: numba is there and works, and nobody asked to do without it."""
    asked = os.environ.get(PLAIN, "").lower() not in ("", "0", "no", "false", "off")
    if asked or find_spec("numba") is None:
        return False
    try:
        import numba  # noqa: F401
    except Exception as error:  # such as that it does not know this NumPy yet
        warnings.warn(
            f"numba is installed, but cannot be imported ({error}): loops are not compiled, which only "
            f"takes longer. To leave numba alone set {PLAIN}=1",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


class Loop:
    """A function compiled at its first call; numba itself is not imported before that either.

    It may call other loops of its module, which become part of it: functions of their own would be
    compiled by themselves too, and which of the two a process runs, with other last bits, would depend
    on what it has read from disk.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.function, self.options = function, options

    def __call__(self, *given: Any) -> Any:
        return self._compiled(*given)

    @cached_property
    def _compiled(self) -> Any:
        compiled = self._made()
        with suppress(RuntimeError):  # where nothing can be written, it is compiled in every process
            compiled.enable_caching()
        return compiled

    @cached_property
    def _inside(self) -> Any:
        return self._made(inline="always")

    def _made(self, **more: Any) -> Any:
        """What numba makes of the function, with those it names inside."""
        import numba

        code, known = self.function.__code__, self.function.__globals__
        loops = {name: known[name] for name in code.co_names if isinstance(known.get(name), Loop)}
        inside = known | {name: other._inside for name, other in loops.items()}
        function = FunctionType(code, inside, code.co_name, self.function.__defaults__)
        return numba.njit(**self.options, **more)(function)


def loop(**options: Any) -> Callable[[Callable[..., Any]], Loop]:
    """Compile the function below with these options of numba, when it is first called."""
    return partial(Loop, options=options)
