"""Libraries that only some models need, imported on demand, and the versions installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


def import_extra(module: str, called: str, extra: str) -> Any:
    """The library `module`; if it is not installed, an error says what to install."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"this needs {called}: pip install 'ratebound[{extra}]'") from None


def import_torch() -> Any:
    return import_extra("torch", "PyTorch", "torch")


@cache
def versions(*libraries: str) -> dict[str, str]:
    """The versions of Python and of the libraries that are installed."""
    import platform
    from importlib import metadata

    installed = {"python": platform.python_version()}
    for library in libraries:
        try:
            installed[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue  # an extra that is not installed, or ours from a checkout
    return installed
