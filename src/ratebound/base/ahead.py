"""Reading ahead: while one piece is worked on, the next one is made in a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
END = object()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items in order, each made while the one before it is in use; never more than two exist.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1, "ratebound-reading") as thread:
        coming = thread.submit(next, iterator, END)
        while True:
            item = coming.result()
            if item is END:
                return
            coming = thread.submit(next, iterator, END)
            yield item  # type: ignore[misc]  # it is no END
            del item  # so that the one after the next finds room
