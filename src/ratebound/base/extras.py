"""Libraries that only some models need, imported when a model asks for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_extra(module: str, called: str, extra: str) -> Any:
    """The library `module`; where it is not installed, an error that says what to install."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"this needs {called}: pip install 'ratebound[{extra}]'") from None


def import_torch() -> Any:
    return import_extra("torch", "PyTorch", "torch")
