"""Numbers as people write amounts: with a currency, a percent sign, or commas between thousands.

They are read as the number that is written, so 12% is 12. A comma between thousands is followed by three
digits; where it parts decimals, as in 12,50 €, the text is no amount here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ratebound.base.types import Array

_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
_AMOUNT = re.compile(
    rf"\s*(?P<sign>[+-]?)(?P<before>{_CURRENCY})?\s?(?P<number>\d{{1,3}}(,\d{{3}})+(\.\d+)?|\d+(\.\d+)?)"
    rf"\s?(?P<after>{_CURRENCY}|%)?\s*"
)
CODE = re.compile(r"\s*[+-]?0\d")  # 007 is rather a code than a number
NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def read_numbers(texts: Sequence[str]) -> Array:
    """Texts as numbers (n,), NaN where one is none.

    >>> read_numbers(["3", "3.50", " 2e1", "-$1,200.50", "1_000", "x"])
    array([    3. ,     3.5,    20. , -1200.5,     nan,     nan])
    """
    return np.array([float(t) if NUMERAL.fullmatch(t) else _amount(t) for t in texts])


def are_amounts(texts: Sequence[str]) -> bool:
    """Whether all texts are amounts of one currency, or percents, or have commas between thousands.

    >>> are_amounts(["$5", "$1,200.00"]), are_amounts(["12%", "$5"]), are_amounts(["12", "5"])
    (True, False, False)
    """
    if not all(map(_AMOUNT.fullmatch, texts)):  # which most texts show at once
        return False
    units = {found["before"] or found["after"] for found in map(_AMOUNT.fullmatch, texts) if found}
    return len(units) == 1 and not all(map(NUMERAL.fullmatch, texts))


def _amount(text: str) -> float:
    found = _AMOUNT.fullmatch(text)
    if found is None or (found["before"] and found["after"]):
        return np.nan
    return float(found["sign"] + found["number"].replace(",", ""))
