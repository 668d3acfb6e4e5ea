"""Other ways to write the same text, and what to write where a text cannot be read.

People paste texts from documents and other languages: their quotes, signs and percents are put into the
one spelling that ``ratebound.parse`` reads. What stands in quotes is never touched.
"""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import suppress
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
_KEYWORD = re.compile(rf"{_QUOTED}|(?<![=!<>])(?P<equals>\s*=\s*)(?!=)")
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


def keywords_anywhere(text: str) -> str:
    """The same text with ``is`` for every ``=``, which may then stand before conditions too.

    >>> keywords_anywhere('recall(of="cat", age <= 40)')
    'recall(of is "cat", age <= 40)'
    """
    return _KEYWORD.sub(lambda found: " is " if found["equals"] else found[0], text)


def _respelled(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind in ("double", "single"):
        return value_text(found[kind])
    if kind == "percent":
        return str(Decimal(found["percent"]) / 100)
    if kind == "word":
        return found["word"].lower()
    return _SIGNS[found["sign"]] if kind == "sign" else found["quoted"]


def tree_of(text: str) -> tuple[str, ast.expr]:
    """The text and its tree; keywords before conditions are written ``is`` to find their tree."""
    try:
        return text, _parsed(text)
    except SyntaxError as error:
        turned = keywords_anywhere(text)
        with suppress(SyntaxError):
            if error.msg.startswith("positional argument follows keyword"):
                return turned, _with_keywords(_parsed(turned))
        raise


def _parsed(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's advice on style is not the user's concern
        return ast.parse(text, mode="eval").body


def _with_keywords(tree: ast.expr) -> ast.expr:
    for node in [each for each in ast.walk(tree) if isinstance(each, ast.Call)]:
        for each in [*node.args]:
            if isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Is):
                node.args.remove(each)
                node.keywords.append(ast.keyword(ast.unparse(each.left), each.comparators[0]))
    return tree


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
