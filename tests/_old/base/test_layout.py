"""Printed text appears as written: no character moves the cursor or reorders others."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ratebound._old.base.layout import aligned, printable

HOSTILE = [
    "\x1b[2J",
    "\r",
    "\b",
    "\x7f",
    "\x9b1A",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u2028",
    "\ud800",
    "\x00",
]


@given(st.text(st.sampled_from([*"ab ü漢\n", *"".join(HOSTILE)])))
def test_no_character_is_left_that_a_terminal_obeys(text):
    shown = printable(text)
    left = {unicodedata.category(each) for each in shown.replace("\n", "")}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.count("\n") == text.count("\n")
    shown.encode()  # a half of a letter could not be written
    if text.replace("\n", "").isprintable():
        assert shown == text


def test_what_only_shapes_letters_stays():
    for text in ("می‌خواهم", "👩‍💻", "naïve café", "a\u00a0b", "two\nlines"):
        assert printable(text) == text


def test_a_cell_stays_on_its_line():
    lines = aligned([["promise", "verdict"], ["a\x1b[1A", "broken\nb  kept"]], right=[])
    assert lines[2:] == ["a\\x1b[1A  broken\\nb  kept"]
