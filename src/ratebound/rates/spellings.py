"""Other ways to write the same text, and what to write where a text cannot be read.

People paste texts from documents and other languages: their quotes, signs and percents are put into the
one spelling that ``ratebound.parse`` reads. What stands in quotes is never touched.
"""

from __future__ import annotations

import re
from decimal import Decimal

from ratebound.rates.subsets import WORDS, column_text, value_text

_QUOTED = r""""(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?"""  # to the end where a quote is not closed
_CURLY = r'[“”„](?P<double>[^“”„"]*)[“”]|[‘’‚](?P<single>[^‘’‚]*)[‘’]'
_SPELLING = re.compile(
    rf"(?P<quoted>{_QUOTED})|{_CURLY}"
    r"|(?<![\w.])(?P<percent>\d+(?:\.\d*)?|\.\d+)\s*%(?!\s*[\w.(])"
    rf"|\b(?P<word>{'|'.join(WORDS).upper()})\b"
    r"|(?P<sign>=>|=<|&&?|\|\|?|[≥≤≠−×~])"
)
_SIGNS = {
    "=>": ">=", "=<": "<=", "≥": ">=", "≤": "<=", "≠": "!=", "−": "-", "×": "*",
    "&": " and ", "&&": " and ", "|": " or ", "||": " or ", "~": " not ",
}  # fmt: skip
# What stands between a bracket, a comma or a connective and a comparison or the end of an argument.
_OPERAND = re.compile(
    r"(?:[(,&|~]|\band\b|\bor\b|\bnot\b)\s*([^(),&|~<>=!≤≥≠\"']+?)\s*(?:[,)&|<>=!≤≥≠]|\bin\b)", re.I
)


def respelled(text: str) -> str:
    """The same text in the spelling that is read.

    >>> respelled("recall(sex == “Female” & age ≥ 25) >= 95% * recall()")
    'recall(sex == "Female"  and  age >= 25) >= 0.95 * recall()'
    """
    return _SPELLING.sub(_respelled, text)


def _respelled(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind in ("double", "single"):
        return value_text(found[kind])
    if kind == "percent":
        return str(Decimal(found["percent"]) / 100)
    if kind == "word":
        return found["word"].lower()
    return _SIGNS[found["sign"]] if kind == "sign" else found["quoted"]


def hint(text: str, reason: str) -> str:
    """What to write instead, where `text` is not even Python and `reason` is what Python says of it.

    >>> hint("recall(hours per week > 40) >= 0.9", "invalid syntax")
    'the column "hours per week" is written column("hours per week")'
    """
    for operand in _OPERAND.findall(re.sub(f"{_QUOTED}|{_CURLY}", '""', text)):
        written = column_text(operand)
        if written != operand and re.search(r"[^\W\d]", operand):
            return f"the column {value_text(operand)} is written {written}"
    if "'=='" in reason or '"=="' in reason:
        return 'equality is written ==, as in sex == "Female"'
    if reason.startswith("invalid syntax"):
        return f'{reason} (a column whose name is not one plain word is written column("two words"))'
    return reason
