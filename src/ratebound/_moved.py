"""`import ratebound.x` gives `ratebound._old.x`, the same module, until a new room is called x.

So the paths that users know (`ratebound.datasets`, `ratebound.solution.onnx`) lead where they led, and a
pickle of before finds its classes. This goes with `_old`.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

import ratebound


class Moved:
    """Finds and loads a module of `_old` by the name that it had before.

    It has no base class, since `importlib.abc` takes longer to import than all the rest.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, place = name.partition(".")
        room = place.partition(".")[0]
        if top != "ratebound" or not room or room.startswith("_"):
            return None
        if PathFinder.find_spec(f"ratebound.{room}", ratebound.__path__):  # a new room
            return None
        within = import_module("ratebound._old").__path__ if place == room else path
        is_there = PathFinder.find_spec(f"ratebound._old.{place}", within)
        return ModuleSpec(name, self) if is_there else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Lets Python make one, which the next method replaces."""

    def exec_module(self, module: ModuleType) -> None:
        place = module.__name__.removeprefix("ratebound.")
        sys.modules[module.__name__] = import_module(f"ratebound._old.{place}")


def install() -> None:
    """Look here first: a package of `_old` would otherwise find its modules twice, by both names."""
    sys.meta_path.insert(0, Moved())
