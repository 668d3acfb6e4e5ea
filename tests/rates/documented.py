"""The constraints and goals that docs/saying.md states, as texts."""

import re
from doctest import DocTestParser
from pathlib import Path

from ratebound.rates.goals import GOALS

SAYING = Path(__file__).parents[2] / "docs" / "saying.md"
CODE_BLOCK = re.compile(r"```.*?```", re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
PARSED = re.compile(r"""rb\.parse\((?:"([^"]+)"|'([^']+)')\)""")
DEFINED = re.compile(r"""rb\.(?:rate|ratio)\(\s*"(\w+)"|def (\w+)\(groups""")
COMPARISON = re.compile(r"-?[\w.]+.*\(.*[<>]=")
ELSEWHERE = ("rb.", "...")


def documented_texts() -> list[str]:
    """Return the texts that the page says can be read, each once."""
    page = SAYING.read_text("utf-8")
    texts = SPAN.findall(CODE_BLOCK.sub("", page))
    for example in DocTestParser().get_examples(page):
        if example.exc_msg is not None:  # this one shows an error
            continue
        texts += [double or single for double, single in PARSED.findall(example.source)]
        texts += example.want.splitlines()
    strange = [*ELSEWHERE, *_find_defined(page)]
    statements = []
    for text in map(str.strip, texts):
        if is_statement(text) and not any(word in text for word in strange):
            statements.append(text)
    return list(dict.fromkeys(statements))


def _find_defined(page: str) -> set[str]:
    """Return the names of rates and goals that the page defines itself."""
    return {rate or goal for rate, goal in DEFINED.findall(page)}


def is_statement(text: str) -> bool:
    is_goal = text.partition("(")[0] in GOALS and text.endswith(")")
    return is_goal or COMPARISON.match(text) is not None
