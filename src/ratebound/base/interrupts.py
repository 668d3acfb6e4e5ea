"""Putting an interrupt from the keyboard off until what is being done has come to an end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def put_off(wanted: bool = True) -> Iterator[Callable[[], bool]]:
    """Whether there was an interrupt, which is for the caller to heed; a second one interrupts at once.

    Nothing is put off unless it is `wanted`, nor in threads, nor where others see to interrupts.

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
