"""Whatever stands in a text, it is read and prints as it reads, or refused in one line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .documented import documented_texts
from .fuzz import DEPTHS, NESTED, fuzz, try_text
from .test_errors import ERRORS

MANY = 3_000
LETTERS = "recall()[]{}>=<.,\"'\\ :+-*/&|~%0123e_\n"
NAUGHTY = [
    "",
    "   ",
    "recall()\x00 >= 0.9",
    "recall(\ud800 == 1) >= 0.9",
    "recall() >= 0.9\nimport os",
    "(\nrecall()\n>= 0.9)",
    "recall(a == 'x\ny') >= 0.9",
    "recall(a == '\\') >= 0.9",
    "recall() >= ٣",  # digits of another script
    "recall() >= ²",
    "recall(größe > 1) >= 1",
    "recall(年齢 > 1) >= 1",
    "recall(a == '" + '\\"' * 5_000,
    "recall(a == '" + "and " * 5_000,
    "recall(a == '" + "“" * 5_000,
    "recall() >= 0.9" + " " * 1_000_000,
    "recall(age == 1" + "0" * 5_000 + ") >= 0.9",
]


def test_mutated_texts_are_read_or_refused():
    outcomes = fuzz([*documented_texts(), *ERRORS], MANY)
    assert set(outcomes) == {"read", "refused"}
    assert min(outcomes.values()) > MANY / 10  # both are tried


@settings(derandomize=True, max_examples=200)
@given(st.text(max_size=100) | st.text(LETTERS, max_size=40))
def test_any_text_is_read_or_refused(text):
    assert try_text(text) in ("read", "refused")


@pytest.mark.parametrize("text", NAUGHTY, ids=lambda text: ascii(text)[:30])
def test_naughty_texts_are_read_or_refused(text):
    assert try_text(text) in ("read", "refused")


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("parts", NESTED, ids=str)
def test_nesting_however_deep_is_read_or_refused(parts, depth):
    start, opening, middle, closing, end = parts
    text = start + opening * depth + middle + closing * depth + end
    assert try_text(text) in ("read", "refused")


@pytest.mark.parametrize(
    "template",
    [
        "{0}",
        "{0} >= 0.9",
        "recall() >= {0}",
        "recall({0}) >= 0.9",
        "recall(x == {0}) >= 0.9",
        "recall({0} == 1) >= 0.9",
        "recall(x in ({0},)) >= 0.9",
        "recall(at={0}) >= 0.9",
        "recall(**{0}) >= 0.9",
        "recall(column({0}) == 1) >= 0.9",
        "f'{{{0}}}' >= 0.9",
        "(lambda: {0})() >= 0.9",
        "(x := {0}) >= 0.9",
    ],
)
def test_nothing_is_ever_run(template, tmp_path):
    target = tmp_path / "touched"
    code = f'__import__("pathlib").Path("{target}").touch()'
    assert try_text(template.format(code)) == "refused"
    assert not target.exists()
