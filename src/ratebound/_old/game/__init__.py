"""Solving a problem: multipliers, proxies, estimates from batches, and the rounds.

`rb.game` lists the parts that training is made of: the players of the multipliers, the rules, and the
types of learners and scorers. Each is imported on demand.
"""

from importlib import import_module

_NAMES = {
    "game": "Game",
    "learner": "Answering Descending Differentiating Fit Growing Learner",
    "players": "ExternalRegret Lagrangian Multipliers Player SwapRegret",
    "players_by_fits": "CuttingPlane Grid",
    "rounds": "play",
    "rules": "Keep Rules Stop",
    "scorer": "Scorer register_scorer",
    "trace": "Trace",
}
_PLACES = {name: place for place, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'ratebound.game' has no attribute {name!r}", name=name)
    return getattr(import_module(f"ratebound._old.game.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
