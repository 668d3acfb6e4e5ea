"""The progress of something long: what it is doing, how far it is, and the time left.

On a terminal and in a notebook, progress is shown of all that takes longer than two seconds. Elsewhere,
as in logs and tests, it is shown only if it is asked for.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Self

from ratebound._old.base.processes import is_first

AFTER = 2.0  # seconds until the first line; the wait doubles with each further line
Listener = Callable[[int, int, str], None]  # how many of how many are done, and of what
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_working: ContextVar[bool] = ContextVar("working", default=False)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """A context in which `listener` is called in place of every bar.

    >>> heard = []
    >>> with heard_by(lambda *told: heard.append(told)), bar(3, "fit") as shown:
    ...     shown.update(2)
    >>> heard
    [(0, 3, 'fit'), (2, 3, 'fit')]
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def is_watched() -> bool:
    """Whether somebody watches standard error: it is a terminal, or this is a notebook."""
    if sys.stderr.isatty():
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def working(what: str, progress: bool | None = None) -> Iterator[None]:
    """Say now and then what is being done, and for how long, if it takes long.

    `progress` is as for `bar`. Work inside other such work says nothing of its own.
    """
    wanted = progress or (progress is None and is_watched())
    if not wanted or _working.get() or _listener.get() is not None or not is_first():
        yield
        return
    done, before = threading.Event(), _working.set(True)
    thread = threading.Thread(target=_say_so, args=(what, done, AFTER), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        _working.reset(before)


def _say_so(what: str, done: threading.Event, pause: float) -> None:
    start = time.monotonic()
    while not done.wait(pause):
        with suppress(OSError):
            print(f"ratebound: {what}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        pause *= 2


def bar(total: int, unit: str, progress: bool | None = None) -> Any:
    """Something to `update`: a bar if somebody watches; elsewhere, lines if `progress` is True.

    If `progress` is False there is neither. None asks for a bar only, so that scripts stay silent. With
    several processes, only the first shows progress. A listener (`heard_by`) receives every update.
    """
    if (listener := _listener.get()) is not None:
        return Heard(total, unit, listener)
    progress = progress if is_first() else False
    watched = is_watched()
    if progress and not watched:
        return Lines(total, unit)
    if progress is False or not watched:
        return Silent()
    from tqdm import tqdm  # slow to load

    return tqdm(total=total, unit=unit, unit_scale=unit == "row", delay=AFTER)


class Silent:
    """The methods of a bar that are used here, showing nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def update(self, count: int = 1) -> None:
        """Do nothing."""

    def set_postfix_str(self, text: str, refresh: bool = False) -> None:
        """Do nothing."""

    def set_description_str(self, text: str, refresh: bool = False) -> None:
        """Do nothing."""


class Heard(Silent):
    """The methods of a bar that are used here, for a listener."""

    def __init__(self, total: int, unit: str, listener: Listener) -> None:
        self.total, self.unit, self.done, self.listener = total, unit, 0, listener
        listener(0, total, unit)

    def update(self, count: int = 1) -> None:
        """Count, and call the listener."""
        self.done += count
        self.listener(self.done, self.total, self.unit)


class Lines(Silent):
    """The methods of a bar that are used here, as lines on standard error."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit, self.done, self.note, self.phase = total, unit, 0, "", ""
        self.start, self.pause = time.monotonic(), AFTER
        self.next = self.start + self.pause

    def update(self, count: int = 1) -> None:
        """Count rounds, and print the count if the last line is old enough."""
        self.done += count
        now = time.monotonic()
        if now < self.next:
            return
        self.pause *= 2
        self.next = now + self.pause
        left = (now - self.start) * (self.total - self.done) / self.done
        words = f"{self.done:,} of {self.total:,} {self.unit}s, {now - self.start:.0f} s"
        note = f"; {self.note}" if self.note else ""
        phase = f"{self.phase}: " if self.phase else ""
        print(f"ratebound: {phase}{words}, about {left:.0f} s left{note}", file=sys.stderr, flush=True)

    def set_postfix_str(self, text: str, refresh: bool = False) -> None:
        """Keep a note for the end of the next line."""
        self.note = text

    def set_description_str(self, text: str, refresh: bool = False) -> None:
        """Keep what is being done, to say at the start of the next line."""
        self.phase = text
