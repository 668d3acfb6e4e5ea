"""Reading ahead: a thread makes the next piece while the current one is in use."""

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
            yield item  # type: ignore[misc]  # it is not END
            del item  # frees memory for the item after the next
