"""What `play` takes, checked alike for every learner, also where one has no use for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from ratebound.base.checks import check_number, check_whole, check_word
from ratebound.game.cutting_plane import CuttingPlane
from ratebound.game.estimates import Estimate
from ratebound.game.players import Player
from ratebound.game.proxies import PROXIES
from ratebound.problem.compiled import Compiled


def check_play(compiled: Any, learner: Any, given: Mapping[str, Any]) -> None:
    """Raise where an argument of `play` cannot be meant; nothing has been trained by then."""
    if not isinstance(compiled, Compiled):
        raise TypeError(f"play takes what rb.compile gives first, got {type(compiled).__name__}")
    if isinstance(learner, type) or not (hasattr(learner, "start") and hasattr(learner, "settings")):
        raise TypeError(f"play takes a learner such as rb.Linear() second, got {learner!r}")
    player = given["multipliers"]
    if player is not None and not isinstance(player, Player | CuttingPlane):
        raise TypeError(f"multipliers takes a player such as rb.SwapRegret(), got {player!r}")
    if given["rounds"] is not None and given["epochs"] is not None:
        raise ValueError("give rounds or epochs, not both")
    for name in ("rounds", "epochs", "batch_size"):
        if given[name] is not None:
            check_whole(name, given[name])
    for name in ("window", "keep_at_most"):
        check_whole(name, given[name])
    if given["keep_every"] != "epoch":
        check_whole("keep_every, unless it is 'epoch',", given["keep_every"])
    check_whole("seed", given["seed"], least=0)
    for name, words in (("loss", PROXIES), ("proxy", PROXIES), ("estimate", get_args(Estimate))):
        check_word(name, given[name], words)
    if given["max_time"] is not None:
        check_number("max_time", given["max_time"], least=0)
    if given["stop"] is not None and not callable(given["stop"]):
        raise TypeError(f"stop takes a function from a trace to a truth value, got {given['stop']!r}")
    watch = given["watch"] or {}
    if not isinstance(watch, Mapping) or not all(isinstance(c, Compiled) for c in watch.values()):
        raise TypeError("watch takes compiled populations by name: {'validation': rb.compile(...)}")
