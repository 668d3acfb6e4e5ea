"""Items that are made ahead come in order, one at a time; errors reach the consumer."""

import threading

import pytest

from ratebound._old.base.ahead import ahead


def test_the_next_item_is_made_while_this_one_is_in_use():
    made = threading.Event()

    def items():
        yield 0
        made.set()
        yield 1

    waiting = ahead(items())
    assert next(waiting) == 0
    assert made.wait(timeout=60)  # before it is asked for
    assert list(waiting) == [1]


def test_no_more_than_two_items_exist():
    made, used = [], []

    def items():
        for item in range(20):
            made.append(item)
            yield item

    for item in ahead(items()):
        used.append(item)
        assert len(made) <= len(used) + 1
    assert used == list(range(20))


def test_an_error_comes_where_its_item_would():
    def items():
        yield "a"
        raise OSError("the disk is gone")

    items_ahead = ahead(items())
    assert next(items_ahead) == "a"
    with pytest.raises(OSError, match="the disk is gone"):
        next(items_ahead)


def test_who_leaves_early_leaves_no_thread_behind():
    items_ahead = ahead(iter(range(1000)))
    next(items_ahead)
    items_ahead.close()
    assert not [each for each in threading.enumerate() if each.name.startswith("ratebound-reading")]
