"""Deferring a keyboard interrupt until the current step has ended."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def put_off(wanted: bool = True) -> Iterator[Callable[[], bool]]:
    """Yield whether there was an interrupt, for the caller to handle; a second one interrupts at once.

    Nothing is deferred unless `wanted`, nor in threads, nor if other code handles interrupts.

    >>> with put_off() as interrupted:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupted()
    True
    """
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not (wanted and is_ours and threading.current_thread() is threading.main_thread()):
        yield lambda: False
        return
    seen: list[int] = []

    def note(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        seen.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
