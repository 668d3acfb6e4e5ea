"""The new rooms: what each may import, and how large it is. Old ones are in tests/_old."""

import ast
import io
import sys
import tokenize
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ratebound

ROOT = Path(ratebound.__file__).parent
# In order: each imports from itself and from those before it. Some are still to come.
ROOMS = ["rates", "problem", "base", "tables", "learning", "game", "policies", "evidence", "report",
         "engines", "datasets", "commands", "studio"]  # fmt: skip
FRUGAL = ["rates", "problem"]
FRONT = {"_old", "_bridge", "_moved"}  # what goes when the last old room does
LIBRARIES = {"numpy", "ratebound"} | sys.stdlib_module_names
INSIDE_FUNCTIONS = {"narwhals", "torch"}  # imported by those who have frames or tensors
ON_DEMAND = {"problem/frames.py"}  # a module that needs such a library, and is imported on demand

# Types of the language. Outside its rooms nothing asks for them; tables and `form` say what is what.
LANGUAGE = {
    *("Rate", "Sum", "Constraint", "Goal", "Quotient", "Computed", "Distance", "Shape"),
    *("Compare", "In", "Missing", "Every", "Decided", "All", "AnyOf", "Not", "Condition", "Column"),
}
MOST_TYPES_ABROAD = 9

# The size of each room as it was when last changed on purpose, in tokens: names, numbers, operators
# and texts, without comments and docstrings, so that joining two lines saves nothing.
ROOM_TOKENS = {"rates": 14_937, "problem": 21_030, "learning": 36_700}
ROOM_TO_GROW = 1.03

MODULES = {}
for path in sorted(ROOT.rglob("*.py")):
    name = path.relative_to(ROOT)
    if name.parts[0] != "_old":
        MODULES[str(name)] = path
IN_ROOMS = [module for module in MODULES if "/" in module]
NEW_ROOMS = sorted({module.partition("/")[0] for module in IN_ROOMS})
ABROAD = [module for module in MODULES if module.partition("/")[0] not in {*FRUGAL, "_bridge.py"}]


@cache
def parse_module(module):
    return ast.parse(MODULES[module].read_text("utf-8"))


def find_room(module):
    """Return the room of ``problem/compile.py`` or of ``ratebound.problem.compile``."""
    if module.endswith(".py"):
        return module.partition("/")[0]
    _, *parts = module.split(".")
    return parts[0] if parts else ""


def find_imports(nodes):
    """Return the absolute names of all modules that are imported by some nodes."""
    names = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names += _name_modules(node)
    return names


def _name_modules(node):
    """Return what ``from ratebound import x`` and ``from ratebound.x import y`` import from."""
    if node.module != "ratebound":
        return [node.module]
    return [f"ratebound.{alias.name}" for alias in node.names]


def find_imports_at_the_top(module):
    return find_imports(parse_module(module).body)


def find_all_imports(module):
    return find_imports(ast.walk(parse_module(module)))


# --- imports --------------------------------------------------------------------------------------


def test_every_room_has_its_place():
    assert set(NEW_ROOMS) <= set(ROOMS)


@pytest.mark.parametrize("module", IN_ROOMS)
def test_imports_go_one_way(module):
    allowed = ["_bridge", *ROOMS[: ROOMS.index(find_room(module)) + 1]]
    for name in find_all_imports(module):
        if name.partition(".")[0] == "ratebound":
            assert find_room(name) in allowed, f"{module} imports {name}"


@pytest.mark.parametrize("module", [name for name in IN_ROOMS if find_room(name) in FRUGAL])
def test_rates_and_problems_need_numpy_and_little_else(module):
    for name in find_imports_at_the_top(module):
        library = name.partition(".")[0]
        is_allowed = library in LIBRARIES
        if module in ON_DEMAND:
            is_allowed = is_allowed or library in INSIDE_FUNCTIONS
        assert is_allowed, f"{module} imports {name}"
    for name in find_all_imports(module):
        assert name.partition(".")[0] in LIBRARIES | INSIDE_FUNCTIONS, f"{module} imports {name}"


@pytest.mark.parametrize("module", ON_DEMAND)
def test_modules_on_demand_are_imported_inside_functions(module):
    name = "ratebound." + module.removesuffix(".py").replace("/", ".")
    importers = [other for other in MODULES if name in find_imports_at_the_top(other)]
    assert importers == []


@pytest.mark.parametrize("module", MODULES)
def test_no_module_has_an_underscore(module):
    for part in Path(module).with_suffix("").parts:
        is_special = part.startswith("__") or (part in FRONT and "/" not in module)
        assert is_special or not part.startswith("_")


def test_any_module_can_be_the_first_to_be_imported():
    """No module waits for itself: a CycleError names the modules that do."""
    needs = {}
    for module in IN_ROOMS:
        names = find_imports_at_the_top(module)
        files = [name.removeprefix("ratebound.").replace(".", "/") + ".py" for name in names]
        needs[module] = [file for file in files if file in MODULES]
    assert sum(map(len, needs.values())) > len(IN_ROOMS)
    TopologicalSorter(needs).prepare()


# --- the language stays at home -------------------------------------------------------------------


@pytest.mark.parametrize("module", ABROAD)
def test_nobody_abroad_asks_for_a_type_of_the_language(module):
    for call in ast.walk(parse_module(module)):
        function = getattr(getattr(call, "func", None), "id", "")
        if function in ("isinstance", "issubclass"):
            asked = {find_last_name(node) for node in ast.walk(call.args[1])}
            assert not asked & LANGUAGE, f"{module}:{call.lineno}"


def find_last_name(node):
    return getattr(node, "attr", getattr(node, "id", ""))


def test_few_types_of_the_language_go_abroad():
    abroad = set()
    for module in ABROAD:
        for node in ast.walk(parse_module(module)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("ratebound.rates"):
                abroad |= {alias.name for alias in node.names} & LANGUAGE
    assert len(abroad) <= MOST_TYPES_ABROAD


# --- size -----------------------------------------------------------------------------------------

NOT_COUNTED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER),
    *(tokenize.INDENT, tokenize.DEDENT),
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count_tokens(text):
    """Return the number of tokens that are neither comments, docstrings nor line ends."""
    docstrings = find_docstring_lines(text)
    count = 0
    depth = 0  # of f-strings, which are many tokens from Python 3.12 on
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in NOT_COUNTED or token.start[0] in docstrings:
            continue
        if tokenize.tok_name[token.type] == "FSTRING_END":
            depth -= 1
            continue
        if depth == 0:
            count += 1
        if tokenize.tok_name[token.type] == "FSTRING_START":
            depth += 1
    return count


def find_docstring_lines(text):
    lines = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines |= set(range(docstring.lineno, docstring.end_lineno + 1))
    return lines


@pytest.mark.parametrize("room", NEW_ROOMS)
def test_a_room_is_as_large_as_when_last_changed_on_purpose(room):
    texts = [path.read_text("utf-8") for path in (ROOT / room).rglob("*.py")]
    tokens = sum(map(count_tokens, texts))
    assert room in ROOM_TOKENS, f"{room} holds {tokens:,} tokens: enter it into ROOM_TOKENS"
    message = f"{room} holds {tokens:,} tokens: if this is on purpose, say so in ROOM_TOKENS"
    assert tokens <= ROOM_TO_GROW * ROOM_TOKENS[room], message


def test_tokens_are_counted_as_meant():
    text = '"""A docstring."""\n\nx = f"{1 + 1}"  # a comment\n\n\ndef f():\n    """Two\n    lines."""\n'
    assert count_tokens(text) == len(["x", "=", 'f"{1 + 1}"', "def", "f", "(", ")", ":"])
