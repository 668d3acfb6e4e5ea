"""Numbers as people write amounts: with a currency, a percent sign, or marks between thousands.

They are read as the number that is written, so 12% is 12. Each is read by itself: 1,200.50 and 1,200 as
in English, and 7.844,59, 1.234.567 and 12,50, which English does not write, as in most of Europe. A
column that has both is not read as numbers, since its 1.234 and 1,234 could be either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from ratebound.base.types import Array

_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
_ENGLISH = r"\d{1,3}(,\d{3})+(\.\d+)?|\d+\.\d+"
_EUROPEAN = r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}|\d+,(\d{1,2}|\d{4,})"
_AMOUNT = re.compile(
    rf"\s*(?P<sign>[+-]?)(?P<before>{_CURRENCY})?\s?"
    rf"((?P<european>{_EUROPEAN})|(?P<english>{_ENGLISH})|(?P<whole>\d+))"
    rf"\s?(?P<after>{_CURRENCY}|%)?\s*"
)
CODE = re.compile(r"\s*[+-]?0\d")  # 007 is rather a code than a number
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
BARE = re.compile(rf"{NUMERAL.pattern}|\s*[+-]?\d+,\d+\s*")  # what is not an amount alone


def read_numbers(texts: Sequence[str]) -> Array:
    """Texts as numbers (n,), NaN where one is none.

    >>> read_numbers(["3", "3.50", " 2e1", "-$1,200.50", "1_000", "x"])
    array([    3. ,     3.5,    20. , -1200.5,     nan,     nan])
    """
    return np.array([float(t) if NUMERAL.fullmatch(t) else _amount(t) for t in texts])


def is_id(text: str) -> bool:
    """Whether a text is a whole number that is too long for 64 bits, and so rather an id.

    >>> is_id("9223372036854775807"), is_id("9223372036854775808"), is_id("1e40")
    (False, True, False)
    """
    if not _WHOLE.fullmatch(text):
        return False
    return len(text.strip()) > 30 or not -(2**63) <= int(text) < 2**63


def amount_unit(text: str) -> str | None:
    """The currency or percent sign of an amount, "" where it has none; None where it is no amount.

    >>> [amount_unit(text) for text in ("$1,200.00", "12%", "1,200", "12,50 €", "1,2,3")]
    ['$', '%', '', '€', None]
    """
    amount = _AMOUNT.fullmatch(text)
    return None if amount is None else amount["before"] or amount["after"] or ""


def decimal_mark(text: str) -> str:
    """What parts decimals, a point or a comma, as far as a number shows it; "" where it does not.

    >>> [decimal_mark(text) for text in ("1,200", "1.5", "7.844,59", "1.234.567", "12", "1e3")]
    ['.', '.', ',', ',', '', '']
    """
    amount = _AMOUNT.fullmatch(text)
    if amount is None or amount["whole"]:
        return ""
    return "," if amount["european"] else "."


def are_amounts(texts: Sequence[str]) -> bool:
    """Whether all texts are amounts of one currency, or percents, or have marks between thousands.

    >>> are_amounts(["$5", "$1,200.00"]), are_amounts(["12%", "$5"]), are_amounts(["12", "5"])
    (True, False, False)
    >>> are_amounts(["7.844,59", "12,50"]), are_amounts(["7.844,59", "1.234"]), are_amounts(["1,5", "2"])
    (True, False, False)
    """
    units = set()
    for text in texts:  # of which most show at once that they are none
        if (unit := amount_unit(text)) is None:
            return False
        units.add(unit)
    return len(units) == 1 and are_alike(texts) and not all(map(BARE.fullmatch, texts))


def are_alike(texts: Iterable[str]) -> bool:
    """Whether numbers are not written in two ways, with points and with commas before decimals."""
    return len({decimal_mark(text) for text in texts} - {""}) < 2


def _amount(text: str) -> float:
    amount = _AMOUNT.fullmatch(text)
    if amount is None or (amount["before"] and amount["after"]):
        return np.nan
    if amount["european"]:
        return float(amount["sign"] + amount["european"].replace(".", "").replace(",", "."))
    return float(amount["sign"] + (amount["english"] or amount["whole"]).replace(",", ""))
