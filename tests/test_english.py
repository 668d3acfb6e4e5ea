"""Prose in plain English: the patterns that docs/style.md warns of, in pages, docstrings, comments and errors.

`python tests/test_english.py [path ...]` lists every place. A pattern is a hint and not a proof, so what it
may not flag is listed in `FINE`, each with its reason.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "benchmarks", "experiments")
CODE = ("src", "tests", "benchmarks", "examples", "experiments", "docs")
START = r"(?:^|[.:;!?)] |\n\n)"  # of a sentence

PATTERNS = {
    "a sentence that begins with 'Of': name the subject first": START + r"Of (?!course)[a-z0-9]",
    "'is no X': write 'is not a X'": r"\b(?<!there )(?:is|are|was|were) no (?!longer|more\b|better|worse)[a-z]",
    "'where' for a condition: write 'if'": START
    + r"Where (?!to |and |it (?:lives|stands|comes)|this (?:comes|differs)|we )|"
    r",? \bwhere (?:there (?:is|are)|it (?:is|has|does|was|cannot|can)|they (?:are|have|do)|that is|none|"
    r"nothing|no [a-z]+|one|only|both|such|promises|not|its|possible|needed)\b",
    "'speaks of', 'is told', 'says of': name what is done": r"\b(?:speaks?|spoken|speaking) of\b|"
    r"\b(?:is|are|was|were|be|been) told\b|\b(?:says?|said) of\b",
    "'those that', 'that of': repeat the noun": r"\bthose that\b|\bthat of\b|\bthose of\b|\bthose (?:who|whose)\b",
    "'to spare', 'so that is it', 'Read it so': say it plainly": r"\bto spare\b|\bRead it so\b|\bis nobody\b|"
    r"\blies there\b|\bno more is nothing\b|\bis none\b|\bare none\b|\bin no common\b|\bmay be waited for\b",
}

# Places where a pattern is right English: (pattern's number, a piece of the sentence).
FINE: tuple[str, ...] = (
    "docs/style.md",  # it quotes what it warns of
    "tests/test_english.py",
)


def pieces(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a file, in pieces, each with the line it begins in."""
    text = path.read_text("utf-8")
    yield from (_of_page if path.suffix == ".md" else _of_code)(text)


def _of_page(text: str) -> Iterator[tuple[int, str]]:
    text = re.sub(r"```.*?```|`[^`\n]*`|\$[^$\n]*\$", lambda m: _blank(m.group()), text, flags=re.DOTALL)
    line = 1
    for part in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) ))", text):
        yield line, part
        line += part.count("\n")


def _blank(text: str) -> str:
    return "x" + "\n" * text.count("\n")


def _of_code(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            lines = [line for line in node.value.split("\n") if not re.match(r"\s*(>>>|\.\.\.) ", line)]
            yield node.lineno, re.sub(r"`[^`\n]*`", "x", "\n".join(lines))
    block, first = [], 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            first = first or token.start[0]
            block.append(token.string.lstrip("# "))
        elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT) and block:
            yield first, re.sub(r"`[^`\n]*`", "x", " ".join(block))
            block, first = [], 0


def marked(path: Path) -> Iterator[str]:
    """Every place of a file that a pattern marks."""
    name = str(path.relative_to(ROOT))
    if name in FINE:
        return
    for line, text in pieces(path):
        flat = re.sub(r"[ \t]*\n[ \t]*(?!\n)", " ", text).strip()
        for why, pattern in PATTERNS.items():
            for match in re.finditer(pattern, flat):
                around = flat[max(0, match.start() - 30) : match.end() + 40]
                if not any(fine in around for fine in FINE):
                    yield f"{name}:{line}: {why}: …{around}…"
    if path.suffix == ".py" and path.is_relative_to(ROOT / "src"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
            if called == "found" and not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
                yield f"{name}:{node.lineno}: 'found' is a name for anything: say what it is"


def files(*where: str) -> list[Path]:
    """Pages and modules, in the order of their names."""
    named = [ROOT / one for one in where] or [ROOT / one for one in {*PAGES, *CODE}]
    every = [path for one in named for path in (one.rglob("*") if one.is_dir() else [one])]
    return sorted(path for path in every if path.suffix in (".md", ".py"))


DONE = ("README.md",)  # parts that are rewritten; in the end all of PAGES and CODE


@pytest.mark.parametrize("part", DONE)
def test_the_prose_is_plain(part):
    places = [place for path in files(part) for place in marked(path)]
    assert not places, "\n".join(places)


def test_the_check_marks_what_it_should(tmp_path):
    page = "Of two models, the cheaper is taken.\n\nA mixture is no model. Where none passes, it stops."
    marks = [why for why, pattern in PATTERNS.items() if re.search(pattern, page)]
    assert len(marks) == 3


if __name__ == "__main__":
    for path in files(*sys.argv[1:]):
        for place in marked(path):
            print(place)
