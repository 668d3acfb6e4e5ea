"""Lines of user code: the length of a contender's function, from data to decisions.

The same rule for all: the lines of the function and of every function and class it uses from its own
module or neighbouring modules, formatted alike, without blank lines, comments and documentation.
Imports, tables of names and the judge do not count.
"""

import ast
from pathlib import Path

FREE = ("_judge", "_common")  # available to all contenders


def user_lines(path: Path, function: str) -> int:
    """How many lines a function of a module takes, with everything it uses.

    The first line of each is its name, and counts.
    """
    known = definitions(path)
    wanted, seen = [function], set()
    while wanted:
        name = wanted.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        node = known[name][1]
        wanted += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    return sum(counted(*known[name]) for name in seen)


def definitions(path: Path) -> dict[str, tuple[list[str], ast.AST]]:
    """The functions and classes of a module and its neighbours, with the module's lines."""
    text = path.read_text("utf-8")
    tree, found = ast.parse(text), {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("_"):
            beside = path.with_name(f"{node.module}.py")
            if node.module not in FREE and beside.exists():
                found |= definitions(beside)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = (text.splitlines(), node)
    return found


def counted(lines: list[str], node: ast.AST) -> int:
    """The lines of a definition that are code."""
    left = set(range(node.lineno, node.end_lineno + 1))
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(each) is not None:
            left -= set(range(each.body[0].lineno, each.body[0].end_lineno + 1))
    texts = [lines[number - 1].strip() for number in left]
    return sum(bool(text) and not text.startswith("#") for text in texts)
