"""Prose in plain English: no pattern that docs/style.md warns of in pages, docstrings, comments, errors.

`python tests/test_english.py [path ...]` lists every place. A pattern is a hint and not a proof: `FINE`
lists the sentences that it marks and that are right.
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
PARTS = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
    "src", "tests", "benchmarks", "examples", "experiments", "docs",
)  # fmt: skip

START = r"(?:^|[.:;!?)] |\n\n)"  # of a sentence
CONDITION = (  # what follows a "where" that means "if"
    r"none|nothing|one|only|both|such|not|its|possible|needed|promises|no \w+|that is|there (?:is|are)|"
    r"it (?:is|has|does|was|can|cannot)|they (?:are|have|do)"
)
PATTERNS = {
    "name the subject before 'Of'": START + r"Of (?!course)[a-z0-9]",
    "write 'is not a'": r"\b(?<![Tt]here )(?:is|are|was|were) no (?!longer|more\b|better|worse)[a-z]",
    "write 'if' for a condition": START
    + r"Where (?!to |and |it (?:lives|stands|comes)|this (?:comes|differs)|we )|"
    + rf",? \bwhere (?:{CONDITION})\b",
    "name what is done": r"\b(?:speaks?|spoken|speaking) of\b|"
    r"\b(?:is|are|was|were|be|been) told\b|\b(?:says?|said) of\b",
    "repeat the noun": r"\bthose that\b|\bthat of\b",
    "say it plainly": r"\bto spare\b|\bRead it so\b|\bis nobody\b|\blies there\b|\bno more is nothing\b|"
    r"\b(?:is|are) none\b|\bin no common\b|\bmay be waited for\b",
}
FINE: tuple[str, ...] = (
    "docs/style.md",  # it quotes what it warns of
    "tests/test_english.py",
    "Where ratebound loses",  # a heading, about places
)


def pieces(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a file, in pieces, each with the line it begins in."""
    yield from (_of_page if path.suffix == ".md" else _of_code)(path.read_text("utf-8"))


def _of_page(text: str) -> Iterator[tuple[int, str]]:
    code = re.compile(r"```.*?```|`[^`\n]*`|\$[^$\n]*\$", re.DOTALL)
    text = code.sub(lambda match: "x" + "\n" * match.group().count("\n"), text)
    line = 1
    for part in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) ))", text):
        yield line, part
        line += part.count("\n")


def _of_code(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            shown = re.sub(r"(?m)^\s*(?:>>>|\.\.\.) .*\n?", "", node.value)
            yield node.lineno, _without_code(shown)
    comments: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            first = next((at for at in comments if at + comments[at].count("\n") == line), line)
            comments[first] = comments.get(first, "") + token.string.lstrip("# ") + "\n"
    yield from ((line, _without_code(comment)) for line, comment in comments.items())


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "x", text)


def marked(path: Path) -> Iterator[str]:
    """Every place of a file that a pattern marks."""
    name = str(path.relative_to(ROOT))
    if name in FINE:
        return
    for line, text in pieces(path):
        flat = re.sub(r"[ \t]*\n[ \t]*(?!\n)", " ", text).strip()
        for remedy, pattern in PATTERNS.items():
            for match in re.finditer(pattern, flat):
                around = flat[max(0, match.start() - 30) : match.end() + 40]
                if not any(fine in around for fine in FINE):
                    yield f"{name}:{line}: {remedy}: …{around}…"
    if path.suffix == ".py" and path.is_relative_to(ROOT / "src"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id
            if "found" in (stored, getattr(node, "arg", None)):
                yield f"{name}:{node.lineno}: name it by what it is: found"


def files(*parts: str) -> list[Path]:
    """The pages and modules of some parts of the repository."""
    named = [ROOT / part for part in parts or PARTS]
    every = [path for one in named for path in (one.rglob("*") if one.is_dir() else [one])]
    return sorted(path for path in every if path.suffix in (".md", ".py"))


@pytest.mark.parametrize("part", PARTS)
def test_the_prose_is_plain(part):
    places = [place for path in files(part) for place in marked(path)]
    assert not places, "\n".join(places)


def test_each_pattern_marks_what_it_should():
    was = """Of two models, the cheaper is taken. / A mixture is no model. / Where none passes, stop. /
        It speaks of rows. / those that fail / with room to spare"""
    patterns = PATTERNS.values()
    assert all(re.search(p, text.strip()) for p, text in zip(patterns, was.split("/"), strict=True))
    plain = (
        "There is no file. If none passes, the fit stops. The folder where it lives is not there."
    )
    assert not any(re.search(pattern, plain) for pattern in patterns)


if __name__ == "__main__":
    print("\n".join(place for path in files(*sys.argv[1:]) for place in marked(path)))
