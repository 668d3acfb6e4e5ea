"""A sign of life on the standard error from what takes long and has no bar of its own."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

AFTER = 2.0  # seconds until the first sign; each further one takes twice as long


@contextmanager
def working(what: str, quiet: bool) -> Iterator[None]:
    """Say now and then that it is still `what` it is doing, and for how long."""
    if quiet:
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_say_so, args=(what, done, AFTER), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _say_so(what: str, done: threading.Event, pause: float) -> None:
    start = time.monotonic()
    while not done.wait(pause):
        with suppress(OSError):
            print(f"ratebound: {what}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        pause *= 2
