"""Train classifiers to keep promises: goals as rate constraints, on any model."""

__version__ = "0.2.0"

from ratebound import _moved, _old

_moved.install()


def __getattr__(name: str) -> object:
    """A public name that no new room has yet."""
    return getattr(_old, name)


def __dir__() -> list[str]:
    return dir(_old)
