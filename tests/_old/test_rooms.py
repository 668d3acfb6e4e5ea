"""The old rooms, in order: each imports only from itself and from those before it."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ratebound._old as ratebound

# "" is the package itself, `import ratebound._old`, which is made of those before it.
ROOMS = [
    "base",
    "kernels",
    "rates",
    "problem",
    "tables",
    "game",
    "learners",
    "solution",
    "auditing",
    "certifying",
    "estimators",
    "datasets",
    "",
    "commands",
    "studio",
]
# What a room may import from elsewhere, at the top of its modules; the others are not so frugal.
LIBRARIES = {
    "base": {"numpy", "safetensors", "scipy", "tqdm"},
    "kernels": {"numba", "numpy", "torch", "triton"},
    "rates": set(),
    "problem": {"numpy", "scipy"},
    "tables": {"numpy", "scipy"},
    "solution": {"numpy", "scipy", "safetensors", "onnx"},
}

BRIDGE = "ratebound._bridge"  # which takes what users hand over from new rooms to these
ROOT = Path(ratebound.__file__).parent
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.glob("*/**/*.py"))}


@cache
def parsed(path):
    return ast.parse(path.read_text("utf-8"))


def before(module):
    """The name that a module had before the rooms were moved."""
    return module.replace("ratebound._old", "ratebound")


def imported(tree, path):
    """The absolute names of all modules that are imported anywhere in `tree`."""
    package = ["ratebound", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (before(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([before(node.module)] if node.module else [])])
            # `from ratebound._old import x` names a room in its second half.
            yield from (
                [f"ratebound.{alias.name}" for alias in node.names] if start == "ratebound" else [start]
            )


def test_every_room_has_its_place():
    assert {module.split("/")[0] for module in MODULES} <= set(ROOMS)


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module):
    path, room = MODULES[module], module.split("/")[0]
    earlier = ROOMS[: ROOMS.index(room) + 1]
    for name in imported(parsed(path), path):
        if name == BRIDGE:
            continue
        top, _, rest = name.partition(".")
        part = rest.split(".")[0]
        if top == "ratebound":
            assert (part if part in ROOMS else "") in earlier, f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_what_is_underscored_belongs_to_its_room_alone(module):
    path, room = MODULES[module], module.split("/")[0]
    for name in imported(parsed(path), path):
        top, *rest = name.split(".")
        if name != BRIDGE and top == "ratebound" and any(part.startswith("_") for part in rest):
            assert rest[0] == room, f"{module} imports {name}"


@pytest.mark.parametrize("module", [m for m in MODULES if m.split("/")[0] in LIBRARIES])
def test_words_need_no_library_and_problems_need_arrays_only(module):
    path = MODULES[module]
    for name in imported(parsed(path), path):
        top = name.partition(".")[0]
        allowed = sys.stdlib_module_names | LIBRARIES[module.split("/")[0]] | {"ratebound"}
        assert top in allowed, f"{module} imports {name}"


def test_any_module_can_be_the_first_to_be_imported():
    """Modules are imported in whatever order their names are asked for, so none may wait for itself."""
    needs = {}
    for module, path in MODULES.items():
        body = [node for node in parsed(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
        top = ast.Module(body, [])
        names = [f"{place}.{name}" for place, name in imported_names(top)]
        own = ["/".join(name.split(".")[1:]) + ".py" for name in (*names, *imported(top, path))]
        needs[module] = [other for other in own if other in MODULES]
    assert sum(map(len, needs.values())) > len(MODULES)
    TopologicalSorter(needs).prepare()  # CycleError, which names them


def imported_names(tree):
    """Each module that something is imported from, and what: a name, or a module in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((before(node.module or ""), alias.name) for alias in node.names)


# --- the seams have types ------------------------------------------------------------------------

SEAMS = {"learner", "fit", "player", "scorer", "decider"}
# The concrete classes behind each seam, and the only places that may test them with `isinstance`.
CONCRETE = {
    "learners": "Linear LinearFit Network Torch TorchFit MLP Lattice "
    "Boosted BoostedFit Oracle OracleFit",
    "game/players.py": "Ascending SwapRegret ExternalRegret Lagrangian",
    "game/players_by_fits.py": "CuttingPlane Grid",
}


def calls(path, *names):
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node


def last_name(node):
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def test_the_concrete_classes_are_all_of_them():
    def below(kind):
        for each in kind.__subclasses__():
            yield each
            yield from below(each)

    for seam in (ratebound.Learner, ratebound.Fit, ratebound.Player):
        own = {each for each in below(seam) if each.__module__.startswith("ratebound.")}
        abstract = {
            each for each in own if each.__abstractmethods__ and each.__module__ == seam.__module__
        }
        found = {each.__name__ for each in own - abstract}
        assert found <= set(" ".join(CONCRETE.values()).split())


@pytest.mark.parametrize("module", MODULES)
def test_no_flag_is_looked_for_on_a_learner_or_a_player(module):
    for call in calls(MODULES[module], "getattr", "hasattr"):
        assert last_name(call.args[0]) not in SEAMS, f"{module}:{call.lineno}"


@pytest.mark.parametrize("module", MODULES)
def test_learners_and_players_are_told_apart_in_their_own_rooms_only(module):
    elsewhere = {
        name
        for place, names in CONCRETE.items()
        if not module.startswith(place)
        for name in names.split()
    }
    for call in calls(MODULES[module], "isinstance", "issubclass"):
        kinds = {last_name(node) for node in ast.walk(call.args[1])}
        assert not kinds & elsewhere, f"{module}:{call.lineno} asks for {kinds & elsewhere}"


def test_what_tests_and_scripts_import_is_there():
    """A module of tests that cannot be imported would be passed over: doctests forgive that."""
    repository = Path(__file__).parents[2]
    folders = [repository / name for name in ("tests", "benchmarks", "examples", "experiments")]
    lacking = []
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ratebound":
                lacking += [
                    f"{path.name}: {node.module}.{a.name}"
                    for a in node.names
                    if not is_there(node.module, a.name)
                ]
    assert lacking == []


def is_there(module, name):
    """Whether a module of ours has a name: as its own, or as a module inside. Nothing is imported."""
    place = ROOT.parents[1] / module.replace(".", "/")
    if not (place.is_dir() or place.with_suffix(".py").exists()):  # a path of before
        place = ROOT.joinpath(*module.split(".")[1:])
    if (
        name == "*"
        or module in ("ratebound", "ratebound._old")
        or (place / f"{name}.py").exists()
        or (place / name).is_dir()
    ):
        return True
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return file.exists() and name in names_in(file)


@cache
def names_in(file):
    """All names that a module defines or imports."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names
